"""The registry of theorems: which theorem covers which noise under which sensitivity.

A theorem states which charges it covers. It gives their pairs of laws (for curves and composition), their Renyi
divergence, their pure epsilon, its sources and a description. All other modules read this registry; no other file
decides what is proved. Where several theorems cover a charge, all of them hold, so the best is used at every epsilon
and every order.

    theorem       noise                        facts                   result
    GAUSSIAN      Gaussian                     any                     exact for the l2 bound that the facts imply
    INDEPENDENT   every other law              numbers that move       l0 full shifts, composed: exact for linf with l0
    LAPLACE_L1    Laplace                      an l1 bound             one number takes the whole move: exact for l1;
                                                                       on a lattice, pure epsilon l1/scale
    STABLE_SCORE  Stable                       an l1 bound             pure epsilon l1 sup|score|
    OSGT_VECTOR   OSGT                         l2, numbers that move   OSGT paper, Theorem 2
    HUBER_VECTOR  FlippedHuber, once           l2, numbers that move   FH paper, Theorem 8
    BALL          Ball                         any                     exact for the l2 bound that the facts imply
    CORRELATED    Correlated                   any                     as its noise, for the longest move in its metric
    JOINT         a joint noise                numbers that move       pure epsilon: largest change of the log density
    LIFTED        Lifted                       columns and people      its law and Gaussian noise, composed
    RULE          OptimalRule                  people, one column      an (epsilon, delta) pair: randomised response
                                                                       but for a failure
    OWN           a noise that defines `pair`  as the noise states     the curve that the noise defines
    SAMPLED       one pair, on a sample        as without the sample   Balle, Barthe and Gaboardi 2018
    IMPORTED      a loss distribution          included                as dp_accounting states it
    SELECTION     Selection                    the largest move        the worst curve of losses in an interval
    ONE_BY_ONE    Selection, few and alone     the largest move        the worst curve of one of them, composed
    KEYS          any, with keys               equal groups            the max rule over groups that are new
"""

from __future__ import annotations

import math
from fractions import Fraction
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, shown
from hush.noise.contract import Law, Noise
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gaussian import Gaussian
from hush.noise.osgt import OSGT
from hush.noise.stable import Stable
from hush.numerics.rounding import FEW_ROUNDINGS, up
from hush.privacy.by_ball import (
    ball_covers,
    ball_pairs,
    ball_pure,
    ball_renyi,
    correlated_covers,
    correlated_pairs,
    correlated_pure,
    correlated_renyi,
)
from hush.privacy.by_box import box_covers, box_pairs, box_pure, box_renyi
from hush.privacy.by_joint import covered_facts, finite, joint_loss, joint_pairs, own_curve, own_pairs, own_pure
from hush.privacy.by_keys import keyed_pairs, noise_of
from hush.privacy.by_lift import lifted_covers, lifted_pairs
from hush.privacy.by_norm import (
    by_norm,
    huber_pairs,
    in_a_ball,
    laplace_covers,
    laplace_pairs,
    laplace_pure,
    laplace_renyi,
    osgt_pairs,
    osgt_renyi,
    score_bound,
    sigma_of,
)
from hush.privacy.by_rule import rule_covers, rule_pairs
from hush.privacy.by_sample import sampled_curve
from hush.privacy.by_selection import ONE_BY_ONE, SELECTION
from hush.privacy.charge import Charge
from hush.privacy.divergence import gaussian_divergence, pure_divergence
from hush.privacy.exchange import Imported
from hush.privacy.merged_gaussian import merged_gaussians
from hush.privacy.subsampling import Subsampled
from hush.privacy.theorem_class import Theorem

__all__ = ["THEOREMS", "Theorem", "pure_epsilon", "renyi_divergence", "sampled", "theorems_for", "words"]

Array = NDArray[np.float64]


GAUSSIAN = Theorem(
    "gaussian",
    "exact: the numbers that move are equivalent to one number that moves by the l2 norm of all moves (Zhao et al. "
    "2019, Lemma 15); Balle and Wang 2018, Theorem 8; Zhao et al. 2019, Theorem 2",
    ("zhao2019", "balle2018"),
    covers=lambda charge: isinstance(charge.noise, Gaussian) and charge.rate is None is charge.keys,
    pairs=lambda charge: [(merged_gaussians([charge]), 1)],
    renyi=lambda charge, order: gaussian_divergence(charge.sensitivity.l2_bound / sigma_of(charge), order),
)

INDEPENDENT = Theorem(
    "independent",
    "exact: for symmetric noise whose density falls away from 0, the divergence grows with the shift, so in the worst "
    "case every number that can move makes its full move; the curve is the composition of these",
    (),
    covers=box_covers,
    pairs=box_pairs,
    renyi=box_renyi,
    pure=box_pure,
)
LAPLACE_L1 = Theorem(
    "laplace, l1",
    "exact: the worst case is the whole move on one number (Dwork, McSherry, Nissim and Smith 2006, Proposition 1); an "
    "l2 bound gives an l1 bound, sqrt(K) times as large for K numbers; on a lattice, the pure epsilon l1/scale",
    ("dwork2006",),
    covers=laplace_covers,
    pairs=laplace_pairs,
    renyi=laplace_renyi,
    pure=laplace_pure,
)
STABLE_SCORE = Theorem(
    "stable, l1",
    "a bound by the largest score of the density: pure epsilon at most l1 sup|score|; an l2 bound gives an l1 bound, "
    "sqrt(K) times as large for K numbers",
    ("zawacki2023",),
    covers=lambda charge: by_norm(charge, Stable),
    pairs=lambda charge: [(score_bound(charge), charge.times)],
    pure=lambda charge: Fraction(score_bound(charge).pure),
)
OSGT_VECTOR = Theorem(
    "osgt, l2",
    "a bound in every direction by Renyi divergences: Sadeghi and Korki 2022, Theorem 2",
    ("sadeghi2022",),
    covers=lambda charge: in_a_ball(charge, OSGT),
    pairs=osgt_pairs,
    renyi=osgt_renyi,
    alone=True,
)
HUBER_VECTOR = Theorem(
    "flipped huber, l2",
    "a bound in every direction, for one vector: Muthukrishnan and Kalyani 2023, Theorem 8, with its hypothesis "
    "corrected",
    ("muthukrishnan2023",),
    # a second vector may be requested after the first answer, which the theorem does not cover
    covers=lambda charge: in_a_ball(charge, FlippedHuber) and charge.times == 1,
    pairs=huber_pairs,
    alone=True,
)


BALL = Theorem(
    "ball",
    "exact: the level sets are balls, so the longest move is the worst; its loss is the difference of two distances, "
    "whose density is known, and delta is one integral",
    ("hardt2010", "joseph2025"),
    covers=ball_covers,
    pairs=ball_pairs,
    renyi=ball_renyi,
    pure=ball_pure,
)
CORRELATED = Theorem(
    "correlated, one-sided",
    "exact: the inverse root of the correlation matrix maps the noise to uncorrelated noise and every move to one of "
    "known l2 norm; of all moves in one direction, the longest moves some numbers fully and no others (Lebeda 2024)",
    ("lebeda2024",),
    covers=correlated_covers,
    pairs=correlated_pairs,
    renyi=correlated_renyi,
    pure=correlated_pure,
)
JOINT = Theorem(
    "joint",
    "a pure epsilon: the log density of the joint noise changes by at most this much under every allowed move",
    (),
    covers=lambda charge: joint_loss(charge) is not None,
    pairs=joint_pairs,
    renyi=lambda charge, order: pure_divergence(joint_loss(charge), order),
    pure=joint_loss,
)
LIFTED = Theorem(
    "lifted",
    "the number of people moves by exactly 1, and a column less half the number of people by at most 1/2: the curve is "
    "the composition of the noise of both",
    (),
    covers=lifted_covers,
    pairs=lifted_pairs,
)
RULE = Theorem(
    "optimal rule",
    "the number of people moves by exactly 1: the probabilities of neighbouring values differ by a factor of at most "
    "e^epsilon, but for delta at one end; several groups compose as randomised responses with failures",
    ("desfontaines2022", "kairouz2015"),
    covers=rule_covers,
    pairs=rule_pairs,
)
OWN = Theorem(
    "own",
    "the theorem of the noise, as its family states it",
    (),
    covers=lambda charge: own_curve(charge) is not None,
    pairs=own_pairs,
    pure=own_pure,
)


def sampled(charge: Charge) -> Subsampled:
    """The curve of one release on a sample."""
    return sampled_curve(charge, theorems_for(charge.unsampled))


SAMPLED = Theorem(
    "sampled",
    "exact for one person more or less: Balle, Barthe and Gaboardi 2018, Theorems 8 and 13; a bound for fixed batches",
    ("ballebarthe2018",),
    covers=lambda charge: charge.rate is not None,
    pairs=lambda charge: [(sampled(charge), charge.times)],
    pure=lambda charge: finite(sampled(charge).pure_epsilon),
)
IMPORTED = Theorem(
    "imported",
    "as the imported loss distribution states it",
    (),
    covers=lambda charge: isinstance(charge.noise, Imported),
    pairs=lambda charge: [(charge.noise, charge.times)],  # type: ignore[list-item]
    pure=lambda charge: finite(charge.noise.pure_epsilon),  # type: ignore[union-attr]
)

KEYS = Theorem(
    "keys",
    "the max rule: for every number of groups that hold one person alone, the probability that one of them is shown "
    "and the noise of the other groups; the worst number counts (Wilkins et al. 2024 for Gaussian noise)",
    ("wilkins2024",),
    covers=lambda charge: charge.keys is not None,
    pairs=keyed_pairs,
)

THEOREMS: tuple[Theorem, ...] = (
    GAUSSIAN, INDEPENDENT, LAPLACE_L1, STABLE_SCORE, OSGT_VECTOR, HUBER_VECTOR,
    BALL, CORRELATED, JOINT, LIFTED, RULE, OWN, SAMPLED, IMPORTED, SELECTION, ONE_BY_ONE, KEYS,
)  # fmt: skip


@lru_cache(maxsize=1024)
def theorems_for(charge: Charge) -> tuple[Theorem, ...]:
    """Every theorem that covers the charge; raises `Unsupported` with the nearest call that is covered if none does."""
    charge = charge.by_group
    if charge.keys is not None:  # theorems of the noise do not cover the keys, but one of them is needed too
        return (KEYS,) if theorems_for(noise_of(charge)) else ()
    found = tuple(theorem for theorem in THEOREMS if theorem.covers(charge))
    if not found:
        raise Unsupported(_refusal(charge))
    return found


def _refusal(charge: Charge) -> str:
    bound, name = charge.sensitivity, type(charge.noise).__name__
    if isinstance(charge.noise, Noise) and charge.noise.dimension is not None:
        facts = f"{name}, a noise of {charge.noise.dimension} numbers, under {shown(bound)}"
        known = covered_facts(charge.noise)
        return f"no theorem covers {facts}; {'use another noise' if known is None else f'write {shown(known)}'}."
    norm = f"l2={shown(bound.l2)}" if bound.l2 is not None else f"l1={shown(bound.l1)}"
    return (
        f"no theorem covers {name} under {norm} alone: it needs the number of coordinates that move; write "
        f"Sensitivity({norm}, l0=K), or Sensitivity(linf=..., l0=...), or use Gaussian(sigma)."
    )


def words(charge: Charge) -> str:
    """What proves the curve of a charge, as text."""
    texts = [theorem.words for theorem in theorems_for(charge.once)]
    if charge.keys is not None:
        return f"{KEYS.words}; for the noise: {words(noise_of(charge))}"
    if isinstance(charge.noise, Law) and charge.noise.discrete and charge.rate is None:
        texts = [f"exact, by sums over the lattice; {text.removeprefix('exact: ')}" for text in texts]
    return "; or, where that is better, ".join(texts)


# -- one release ---------------------------------------------------------------------------------------------


@lru_cache(maxsize=1024)
def pure_epsilon(charge: Charge) -> Fraction | None:
    """The pure epsilon of one release: the least that a theorem gives, or None."""
    one = charge.once.by_group
    known = [theorem.pure(one) for theorem in theorems_for(one)]
    least = min((value for value in known if value is not None), default=None)
    return None if least is None else least * one.times


@lru_cache(maxsize=1024)
def renyi_divergence(charge: Charge, order: float) -> float:
    """The Renyi divergence of one release: the least upper bound that a theorem gives; infinite where none does."""
    values, refused, one = [], None, charge.once.by_group
    for theorem in theorems_for(one):
        try:
            value = theorem.renyi(one, order)
            values.append(value if one.times == 1 else up(value * one.times, FEW_ROUNDINGS))
        except Unsupported as failure:
            refused = failure
    best = min([*values, pure_divergence(pure_epsilon(charge), order)])
    if math.isinf(best) and refused is not None:
        raise refused
    return best
