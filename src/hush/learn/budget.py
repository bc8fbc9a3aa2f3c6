"""One budget, turned into noise for the parts of a fit, all fixed before the data are looked at.

With delta > 0 shares are of mu^2 = (sensitivity/sigma)^2, which adds up exactly over Gaussian releases; with delta =
0 they are of epsilon.
The updates of a descent are numbers that move by at most 2B each, so that every family may serve them; sums of
vectors (moments, products) have an l2 bound, for which Gaussian noise is exact and no other family has a proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hush.calibration.ranking import calibrate
from hush.errors import NotCertified, Unsupported
from hush.learn import zcdp
from hush.noise.catalogue import family, family_of, ranked
from hush.noise.contract import Law
from hush.noise.gaussian import Gaussian
from hush.numerics.rounding import COARSE_SEARCH, PURE_EPSILON, SPARE, up
from hush.numerics.search import safe_end
from hush.privacy import gaussian
from hush.privacy.charge import Budget, Charge, Guarantee
from hush.privacy.compose import compose
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.mechanism import Mechanism

__all__ = ["ACCOUNTING", "NOISES", "Part", "Wish", "allot", "saved_over_zcdp"]

ACCOUNTING = ("exact", "zcdp")
#: Words for noise=: the families that are calibrated one number at a time and have a variance, and "auto".
NOISES = ("auto", *(row.name for row in ranked(lattice=False) if row.vectors))

#: Beyond this r = 2T/(epsilon sigma_1)^2 no shape has more than 1 % less variance than the Gaussian (docs/learn.md):
#: not worth seconds.
_GAUSSIAN_BEYOND = 5.0


@dataclass(frozen=True)
class Wish:
    """One part of a fit: its share of the budget, how many numbers, how often, and how far they move.

    `bound` is a box (each number moves by itself: any family may serve) or an l2 ball; `pure` is the bound to use
    when delta = 0.
    """

    name: str
    share: float
    bound: Sensitivity
    pure: Sensitivity
    numbers: int = 1
    times: int = 1

    @property
    def count(self) -> int:
        """How many single numbers are released in all."""
        return self.numbers * self.times


@dataclass(frozen=True)
class Part:
    """A wish with its noise on a lattice."""

    wish: Wish
    mechanism: Mechanism

    @property
    def charge(self) -> Charge:
        """All releases of this part."""
        return self.mechanism.charge.repeated(self.wish.times)

    @property
    def deviation(self) -> float:
        """The noise's standard deviation, in units of the sum."""
        return math.sqrt(self.mechanism.noise.variance)


@lru_cache(maxsize=256)
def allot(epsilon: float, delta: float, wishes: tuple[Wish, ...], *, noise: str, accounting: str) -> tuple[Part, ...]:
    """The least noise for each wish so that all together are (epsilon, delta)-private.

    Guarantees: compose(part.charge for all parts) meets (epsilon, delta); with accounting="zcdp" by the looser zCDP
    route of the flipped Huber paper, so with more noise than needed.
    """
    if noise == "auto" and accounting == "zcdp":
        noise = "gaussian"
    _check_family(wishes, noise, delta, accounting)
    noises = _noises(epsilon, delta, wishes, noise, accounting)
    parts = tuple(Part(wish, _mechanism(wish, law, epsilon, delta)) for wish, law in zip(wishes, noises, strict=True))
    if not Budget(epsilon, delta).covers(compose([part.charge for part in parts])):
        raise NotCertified("the parts of this fit together pass the budget; nothing was spent.")
    return parts


def _vector_family(delta: float) -> str:
    """The family that serves sums of vectors: the one with an exact theorem for their norm."""
    return "laplace" if delta == 0.0 else "gaussian"


def _check_family(wishes: tuple[Wish, ...], noise: str, delta: float, accounting: str) -> None:
    """A family that was asked for by name must serve some part: sums of vectors have one family each."""
    vectors = _vector_family(delta)
    if delta == 0.0 and noise != "auto" and not family(noise).pure and accounting == "exact":
        raise Unsupported(
            f"{noise} noise has no pure epsilon, which delta = 0 asks for; write noise='laplace', or a delta such as 1e-6."
        )
    if noise not in ("auto", vectors) and not any(
        (wish.pure if delta == 0.0 else wish.bound).is_box for wish in wishes
    ):
        raise Unsupported(
            f"sums of products take {vectors} noise at this delta, not {noise}; write noise='auto', or solver='cd'."
        )


def _noises(epsilon: float, delta: float, wishes: tuple[Wish, ...], noise: str, accounting: str) -> tuple[Law, ...]:
    if accounting == "zcdp":
        return tuple(_by_zcdp(epsilon, delta, wishes, wish, noise) for wish in wishes)
    if delta == 0.0:
        # a hair less, so that rounding cannot carry the sum of the parts past the promise
        return tuple(_pure(epsilon * wish.share / PURE_EPSILON.above, wish, noise) for wish in wishes)
    amount = up(float(np.asarray(gaussian.sigma(epsilon, delta))), SPARE)
    gaussians: list[Law] = [
        Gaussian(amount * wish.bound.l2_bound * math.sqrt(wish.times / wish.share)) for wish in wishes
    ]
    for place, wish in enumerate(wishes):
        if wish.bound.is_box and not _is_gaussian(epsilon, amount, wish, noise):
            others = [
                Charge(law, w.bound, times=w.times) for law, w in zip(gaussians, wishes, strict=True) if w is not wish
            ]
            found = _shaped(epsilon, delta, wish, None if noise == "auto" else noise, others)
            if found is None and noise != "auto":
                raise Unsupported(f"{noise} noise does not fit beside the private scaling; write noise='gaussian'.")
            if found is not None and (noise != "auto" or found.variance < gaussians[place].variance):
                gaussians[place] = found
    return tuple(gaussians)


def _is_gaussian(epsilon: float, amount: float, wish: Wish, noise: str) -> bool:
    return noise == _vector_family(1.0) or (
        noise == "auto" and 2.0 * wish.count / (epsilon * amount) ** 2 > _GAUSSIAN_BEYOND
    )


def _shaped(epsilon: float, delta: float, wish: Wish, family: str | None, others: list[Charge]) -> Law | None:
    """The family's best shape for the whole budget, then enlarged until it fits beside the other parts; None if it
    never does.
    """
    law = calibrate(epsilon, delta, wish.bound, family=family, times=wish.times).noise
    if not others:
        return law

    def fits(factor: float) -> bool:
        return Budget(epsilon, delta).covers(
            compose([*others, Charge(law.scaled(factor), wish.bound, times=wish.times)])
        )

    low, high = 1.0, 1.0 / math.sqrt(wish.share) * 1.02
    while not fits(high):
        low, high = high, 1.3 * high
        if high > 1e6:
            return None
    return law.scaled(safe_end(fits, low, high, relative=COARSE_SEARCH.share, geometric=True))


def _pure(epsilon: float, wish: Wish, noise: str) -> Law:
    """delta = 0: every part has its own epsilon, and they add up."""
    family = noise if wish.pure.is_box and noise != "auto" else None
    return calibrate(epsilon, 0.0, wish.pure, family=family, times=wish.times).noise


def _by_zcdp(epsilon: float, delta: float, wishes: tuple[Wish, ...], wish: Wish, noise: str) -> Law:
    route = zcdp.ROUTES.get(noise)
    if route is None:
        raise Unsupported(
            f"zCDP accounting has a theorem for {' and '.join(zcdp.ROUTES)}, not for {noise!r}; write accounting='exact'."
        )
    whole_eta = zcdp.eta_left(epsilon, delta) if delta > 0.0 else 0.0
    if wish.bound.is_box:
        kept = math.fsum(w.share for w in wishes if w is not wish) * whole_eta
        return route(epsilon, delta, wish.count, kept=kept).scaled(up(_each(wish), SPARE))
    zcdp.gaussian(epsilon, delta, 1)  # refuses delta = 0
    return Gaussian(up(wish.bound.l2_bound * math.sqrt(wish.times / (2.0 * whole_eta * wish.share)), SPARE))


def saved_over_zcdp(parts: tuple[Part, ...]) -> float | None:
    """The share of the last part's noise variance that exact accounting saves over the flipped Huber paper's zCDP
    route.

    For the same shares of the budget, and flipped Huber noise against flipped Huber noise; every other family against
    the Gaussian.
    """
    wishes, last = tuple(part.wish for part in parts), parts[-1].mechanism
    if last.guarantee is None or last.guarantee.delta == 0.0:
        return None
    pair, own = last.guarantee.budget, family_of(last.noise)
    route = own.name if own is not None and own.name in zcdp.ROUTES else "gaussian"
    return 1.0 - float(last.noise.variance) / _by_zcdp(pair.epsilon, pair.delta, wishes, wishes[-1], route).variance


def _mechanism(wish: Wish, noise: Law, epsilon: float, delta: float) -> Mechanism:
    """On a lattice: single numbers on one that divides their bound, vectors of whole numbers on the whole numbers."""
    bound = wish.pure if delta == 0.0 else wish.bound
    promise = Guarantee(epsilon, delta, times=wish.times, neighbours=bound.neighbours)
    return Mechanism.fitted(noise, bound, promise, integers=not bound.is_box, coordinates=wish.numbers)


def _each(wish: Wish) -> float:
    """How far each number of a box moves."""
    assert isinstance(wish.bound.linf, float)
    return wish.bound.linf
