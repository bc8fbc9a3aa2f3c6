"""Divide one budget among the parts of a fit and calibrate the noise of each part, before any data are read.

If delta > 0, the shares divide mu^2 = (sensitivity/sigma)^2, which adds up exactly over Gaussian releases. If delta =
0, they divide epsilon.
Each update of a descent releases single numbers that move by at most 2B, so every noise family can be used. Sums of
vectors (moments, products) have an l2 bound. For this bound the curves of Gaussian noise and of ball noise are exact,
and no other family has a proof.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from hush.calibration.ranking import calibrate
from hush.errors import NotCertified, Unsupported, one_of, shown
from hush.learn import zcdp
from hush.learn.noise_beside import amount_beside, shaped
from hush.learn.vector_noise import BALL, noise_of_vectors
from hush.noise import catalogue
from hush.noise import gaussian as gaussian_noise
from hush.noise.contract import Law, Noise
from hush.noise.gaussian import Gaussian
from hush.numerics.rounding import PURE_EPSILON, SPARE, up
from hush.privacy import gaussian
from hush.privacy.charge import Budget, Charge, Guarantee
from hush.privacy.compose import compose
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.mechanism import Mechanism

__all__ = [
    "ACCOUNTING",
    "Part",
    "Wish",
    "allot",
    "allowed_families",
    "must_be_allowed",
    "pure_part",
    "saved_over_zcdp",
    "vector_families",
]

ACCOUNTING = ("exact", "zcdp")

#: Above this r = 2T/(epsilon sigma_1)^2 no family saves more than 1 % of the Gaussian's variance
#: (docs/learn_settings.md), so the search over families, which takes seconds, is skipped.
_GAUSSIAN_BEYOND = 5.0


@dataclass(frozen=True)
class Wish:
    """One part of a fit that needs noise: its share of the budget, its size and its sensitivity.

    `bound` is a box (each number moves separately, so every family can be used) or an l2 ball of known dimension.
    `pure` is the bound that is used if delta = 0.
    """

    name: str
    share: float
    bound: Sensitivity
    pure: Sensitivity
    numbers: int = 1
    times: int = 1

    @property
    def count(self) -> int:
        """The number of single numbers that are released in total."""
        return self.numbers * self.times


@dataclass(frozen=True)
class Part:
    """A `Wish` with its calibrated noise on a lattice."""

    wish: Wish
    mechanism: Mechanism
    #: the pure epsilon of a part that shares no budget with the other parts
    own_epsilon: float | None = None

    @property
    def charge(self) -> Charge:
        """The cost of all releases of this part."""
        return self.mechanism.charge.repeated(self.wish.times)

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise, in units of the released sum."""
        return math.sqrt(self.mechanism.noise.variance)


def allowed_families() -> tuple[str, ...]:
    """Names of the families that can be used in a fit, registered ones included.

    A family must be calibrated one number at a time and have a finite variance after any number of updates. Ball noise
    is for fits that release vectors.
    """
    return (*(row.name for row in catalogue.ranked(lattice=False) if row.vectors), BALL)


def must_be_allowed(family: object) -> str | None:
    """The given family name, or None; raises if the accounting of a fit does not cover the family."""
    if family is None:
        return None
    allowed = allowed_families()
    row = next((row for row in catalogue.families() if row.name == family), None)
    if row is None or row.name in allowed:
        return one_of("family", family, allowed)
    if row.joint and row.ranked:
        reason = "is joint noise, which family=None uses where it has the least variance"
    elif row.type.discrete:
        reason = "is defined on a lattice, and a fit calibrates noise on the real line"
    elif not row.ranked:
        reason = "is not one of the families that hush.calibrate can calibrate"
    else:
        reason = "has no calibrated member of finite variance for many updates"
    raise Unsupported(
        f"family={shown(row.name)} cannot be used in hush.learn: {row.name} noise {reason}; "
        f"write family=None, or one of {', '.join(allowed)}."
    )


def allot(
    epsilon: float,
    delta: float,
    wishes: tuple[Wish, ...],
    *,
    family: str | None,
    accounting: str,
    others: tuple[Charge, ...] = (),
    choices: bool = False,
) -> tuple[Part, ...]:
    """The least noise for each part so that all parts together are (epsilon, delta)-private.

    `others` are charges of the same fit whose noise is known. The shares of the wishes divide what they leave. If there
    are `choices` among them, no ball noise is searched for.

    Guarantees: compose(others and part.charge for all parts) meets (epsilon, delta). With accounting="zcdp" the noise
    comes from the looser zCDP route of the flipped Huber paper, so it is larger than needed.
    """
    return _allotted(epsilon, delta, wishes, family, accounting, others, choices, catalogue.families())


@lru_cache(maxsize=256)
def _allotted(
    epsilon: float,
    delta: float,
    wishes: tuple[Wish, ...],
    family: str | None,
    accounting: str,
    others: tuple[Charge, ...],
    choices: bool,
    registered: tuple[catalogue.Family, ...],  # part of the cache key: `register` may change what a name means
) -> tuple[Part, ...]:
    if family is None and accounting == "zcdp":
        family = "gaussian"
    _check_family(wishes, family, delta, accounting)
    noises = _noises(epsilon, delta, wishes, family, accounting, others, choices=choices)
    parts = tuple(Part(wish, _mechanism(wish, law, epsilon, delta)) for wish, law in zip(wishes, noises, strict=True))
    if not Budget(epsilon, delta).covers(compose([*others, *(part.charge for part in parts)])):
        raise NotCertified("the parts of this fit together exceed the budget; nothing was spent.")
    return parts


def vector_families(delta: float) -> tuple[str, ...]:
    """The families with an exact theorem for sums of vectors: ball noise; Laplace noise (l1) or Gaussian noise (l2)."""
    return ("laplace" if delta == 0.0 else gaussian_noise.FAMILY.name, BALL)


def _check_family(wishes: tuple[Wish, ...], family: str | None, delta: float, accounting: str) -> None:
    """Reject a named family that has no pure epsilon if delta = 0, or that no part of the fit can use."""
    if family is None:
        return
    if delta == 0.0 and not catalogue.family(family).pure and accounting == "exact":
        raise Unsupported(
            f"{family} noise has no pure epsilon, which delta = 0 requires; "
            "write family='laplace', or a delta such as 1e-6."
        )
    boxes = [wish for wish in wishes if (wish.pure if delta == 0.0 else wish.bound).is_box]
    if family == BALL and boxes and all(wish.numbers == 1 for wish in boxes):
        raise Unsupported(
            "ball noise is drawn for several numbers at once, and this fit releases its updates one number at a time; "
            "write family=None, or solver='statistics' or 'gd'."
        )
    vectors = vector_families(delta)
    if family not in vectors and not boxes:
        raise Unsupported(
            f"sums of products need {' or '.join(vectors)} noise at this delta, not {family}; "
            "write family=None, or solver='cd'."
        )


def _noises(
    epsilon: float,
    delta: float,
    wishes: tuple[Wish, ...],
    family: str | None,
    accounting: str,
    before: tuple[Charge, ...],
    *,
    choices: bool,
) -> tuple[Noise, ...]:
    if accounting == "zcdp":
        return tuple(_by_zcdp(epsilon, delta, wishes, wish, family) for wish in wishes)
    if delta == 0.0:
        # slightly less epsilon for each part, so that rounding cannot push the sum above the budget
        left = epsilon - (compose(list(before)).pure_epsilon if before else 0.0)
        return tuple(_pure(left * wish.share / PURE_EPSILON.above, wish, family) for wish in wishes)
    amount = up(float(np.asarray(gaussian.sigma(epsilon, delta))), SPARE)
    if before:
        amount = amount_beside(Budget(epsilon, delta), amount, before)
    plain = [Gaussian(amount * wish.bound.l2_bound * math.sqrt(wish.times / wish.share)) for wish in wishes]
    if not any(wish.bound.is_box for wish in wishes):
        return noise_of_vectors(Budget(epsilon, delta), amount, wishes, family, plain, before, choices=choices)
    chosen: list[Noise] = [*plain]
    for place, wish in enumerate(wishes):
        if wish.bound.is_box and not _is_gaussian(epsilon, amount, wish, family):
            others = [*before] + [
                Charge(noise, w.bound, times=w.times) for noise, w in zip(chosen, wishes, strict=True) if w is not wish
            ]
            found = shaped(epsilon, delta, wish, family, others)
            if found is None and family is not None:
                raise Unsupported(
                    f"{family} noise and the private scaling together exceed the budget at any scale; "
                    "write family='gaussian'."
                )
            if found is not None and (family is not None or found.variance < chosen[place].variance):
                chosen[place] = found
    return tuple(chosen)


def _is_gaussian(epsilon: float, amount: float, wish: Wish, family: str | None) -> bool:
    """Is the noise Gaussian without a search: by name, or because no other family saves anything?

    For several numbers at once, `joint` is the variance of cube noise of pure epsilon, divided by the Gaussian's.
    """
    if family is not None:
        return family == gaussian_noise.FAMILY.name
    many = (epsilon * amount) ** 2
    joint = wish.times * (wish.numbers + 1) * (wish.numbers + 2) / (3.0 * wish.numbers * many)
    return 2.0 * wish.count / many > _GAUSSIAN_BEYOND and (wish.numbers == 1 or joint > 1.0)


def _pure(epsilon: float, wish: Wish, family: str | None) -> Noise:
    """The noise of one part if delta = 0: each part has its share of epsilon, and the shares add up."""
    usable = wish.pure.is_box or family in vector_families(0.0)
    return calibrate(epsilon, 0.0, wish.pure, family=family if usable else None, times=wish.times).noise


def _by_zcdp(epsilon: float, delta: float, wishes: tuple[Wish, ...], wish: Wish, family: str | None) -> Law:
    route = zcdp.ROUTES.get(family or "")
    if route is None:
        raise Unsupported(
            f"zCDP accounting has a theorem for {' and '.join(zcdp.ROUTES)}, not for {shown(family)}; "
            "write accounting='exact'."
        )
    whole_eta = zcdp.eta_left(epsilon, delta) if delta > 0.0 else 0.0
    if wish.bound.is_box:
        kept = math.fsum(w.share for w in wishes if w is not wish) * whole_eta
        return route(epsilon, delta, wish.count, kept=kept).scaled(up(_each(wish), SPARE))
    zcdp.gaussian(epsilon, delta, 1)  # raises if delta = 0
    return Gaussian(up(wish.bound.l2_bound * math.sqrt(wish.times / (2.0 * whole_eta * wish.share)), SPARE))


def saved_over_zcdp(parts: tuple[Part, ...]) -> float | None:
    """The fraction of the last part's noise variance that exact accounting saves over the flipped Huber paper's route.

    Both use the same shares of the budget. Flipped Huber noise is compared with flipped Huber noise, every other
    family with the Gaussian. A part with a pure epsilon of its own leaves the paper's route that much less epsilon.
    """
    last = parts[-1]
    if last.mechanism.guarantee is None or last.mechanism.guarantee.delta == 0.0:
        return None
    wishes = tuple(part.wish for part in parts if part.own_epsilon is None)
    pair, row = last.mechanism.guarantee.budget, catalogue.family_of(last.mechanism.noise)
    left = pair.epsilon - math.fsum(part.own_epsilon or 0.0 for part in parts)
    route = row.name if row is not None and row.name in zcdp.ROUTES else "gaussian"
    other = _by_zcdp(left, pair.delta, wishes, wishes[-1], route)
    return 1.0 - float(last.mechanism.noise.variance) / other.variance


def pure_part(wish: Wish, epsilon: float) -> Part:
    """A part with the least noise for a pure epsilon of its own; its charge is one of the `others` of `allot`."""
    return Part(wish, _mechanism(wish, _pure(epsilon, wish, None), epsilon, 0.0), epsilon)


def _mechanism(wish: Wish, noise: Noise, epsilon: float, delta: float) -> Mechanism:
    """The noise on a lattice: a divisor of the bound for single numbers, the integers for vectors of integers."""
    bound = wish.pure if delta == 0.0 else wish.bound
    promise = Guarantee(epsilon, delta, times=wish.times, neighbours=bound.neighbours)
    return Mechanism.fitted(noise, bound, promise, integers=not bound.is_box, coordinates=wish.numbers)


def _each(wish: Wish) -> float:
    """The largest move of a single number of a box."""
    assert isinstance(wish.bound.linf, float)
    return wish.bound.linf
