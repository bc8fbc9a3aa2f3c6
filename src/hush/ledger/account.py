"""The rules of composition: what all entries cost together, and whether the cap covers them.

    cap                      rule           what is added up
    delta > 0, adaptive      `Filters`      several rules that share delta: for adaptive choice (filters.py)
    delta > 0, nonadaptive   `Nonadaptive`  loss distributions, by hush.compose: tight, for mechanisms fixed in advance
    a list of releases       `Listed`       the whole list, composed in advance: for every order (listed.py)
    delta > 0, one order     `Filter`       Renyi divergences of one order: for adaptive choice (filter.py)
    delta = 0, either mode   `Pure`         pure epsilons: basic composition, valid for both
    rho                      `Concentrated` rho of zCDP: for adaptive choice (sums.py)
    mu                       `Normal`       mu^2 of Gaussian differential privacy: for adaptive choice (sums.py)

An account never changes. `plus(entries)` returns a new one; `settled()` returns the account if its cap covers it, and
None if not.

Sums are exact (fractions of the floats). A cap and the charges compared with it are decimals that somebody wrote, and a
float holds each to one part in 2^53. A comparison tolerates these two roundings, at most one part in 2^51, so that ten
times 0.1 is not more than 1. Sums of epsilon that are above the cap by so little are added up again as decimals, and
must be at most the decimal of the cap: ten times 0.1 fit in 1, and then nothing more does, not even 1e-16.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import ClassVar, Self

from hush.errors import InvalidParameter, Unsupported, shown
from hush.ledger.entry import Cap, Entry
from hush.numerics.rounding import FEW_ROUNDINGS, round_down, round_up, up
from hush.privacy.charge import Budget, Charge
from hush.privacy.compose import compose
from hush.privacy.curve import Curve
from hush.privacy.theorem import GAUSSIAN, pure_epsilon

__all__ = ["Account", "Nonadaptive", "Pure", "as_decimal", "fits", "keeps", "pure_sum", "within"]

_TOLERATED = 1 + Fraction(1, 2**51)


def within(total: Fraction, cap: float) -> bool:
    """Is the exact total at most the cap, up to the rounding of both from decimals to floats?

    >>> within(10 * Fraction(0.1), 1.0), within(10 * Fraction(0.1000000000000001), 1.0)
    (True, False)
    """
    return total <= Fraction(cap) * _TOLERATED


@lru_cache(maxsize=4096)
def as_decimal(value: Fraction) -> Fraction:
    """The shortest decimal that a float holds as it holds this number; it differs by at most one part in 2^52."""
    return Fraction(repr(float(value)))


def fits(total: Fraction, decimals: Fraction, cap: float) -> bool:
    """Is a sum at most the cap: exactly, or, within the tolerance of `within`, as the sum of the decimals?

    >>> ten, more = 10 * Fraction(0.1), 10 * as_decimal(Fraction(0.1))
    >>> fits(ten, more, 1.0), fits(ten + Fraction(1e-16), more + as_decimal(Fraction(1e-16)), 1.0)
    (True, False)
    """
    return total <= Fraction(cap) or (within(total, cap) and decimals <= as_decimal(Fraction(cap)))


@dataclass(frozen=True, eq=False)
class Account(ABC):
    """What all rules share: how often each charge occurred, and the sum of the failure probabilities."""

    cap: Cap
    totals: Mapping[Charge, int] = field(default_factory=dict)
    extra: Fraction = Fraction(0)
    #: The name of the rule in statements, and whether the mechanisms may be chosen after earlier answers were seen.
    rule: ClassVar[str] = ""
    adaptive: ClassVar[bool] = True

    def plus(self, entries: Iterable[Entry]) -> Self:
        """The account with these entries added, even if they exceed the cap."""
        totals, extra = dict(self.totals), self.extra
        for entry in entries:
            for charge in entry.charges:
                one = charge.once
                _check_relation(one, next(iter(totals), one))
                totals[one] = totals.get(one, 0) + charge.times
            extra += Fraction(entry.extra_delta)
        return replace(self, totals=totals, extra=extra)

    def settled(self) -> Self | None:
        """This account if its cap covers it; None if not."""
        return self if self.covered() else None

    def alone(self, entry: Entry) -> Self:
        """The account of a ledger with the same cap and no other entry."""
        return type(self)(self.cap).plus([entry])

    @property
    def releases(self) -> list[Charge]:
        """Everything spent; equal releases are merged into one charge."""
        return [one.repeated(times) for one, times in self.totals.items()]

    @abstractmethod
    def covered(self) -> bool:
        """Does the cap cover all entries?"""

    @property
    @abstractmethod
    def spent(self) -> Budget:
        """Upper bounds: epsilon at the cap's delta, and delta at the cap's epsilon."""

    @cached_property
    def left(self) -> Budget:
        """epsilon: a release of this pure epsilon, less 1 %, is still within the cap (the grid of a composition costs
        up to that). delta: the sum of extra_delta that still fits.
        """
        epsilon = (
            Fraction(self.cap.epsilon) - Fraction(self.spent.epsilon)
            if math.isfinite(self.spent.epsilon)
            else Fraction(0)
        )
        return Budget(round_down(epsilon), round_down(Fraction(self.cap.delta) - Fraction(self.spent.delta)))

    @property
    def share(self) -> float:
        """The share of the budget that was spent, from 0 to 1."""
        return min(self.spent.epsilon / self.cap.epsilon, 1.0)

    @property
    def cost(self) -> float:
        """How much these entries reduce `left.epsilon`."""
        return self.spent.epsilon


def _check_relation(one: Charge, other: Charge) -> None:
    """Reject different neighbouring relations: no epsilon covers both."""
    if one.neighbours != other.neighbours:
        raise InvalidParameter(
            f"the releases of this ledger have neighbours={shown(other.neighbours)}, and this one has "
            f"neighbours={shown(one.neighbours)}; no epsilon covers both, so use a separate ledger for each."
        )


# -- pure epsilons -------------------------------------------------------------------------------------------


def pure_sum(totals: Mapping[Charge, int]) -> Fraction | None:
    """The sum of all pure epsilons; None if one of them is infinite."""
    total = Fraction(0)
    for one, times in totals.items():
        pure = pure_epsilon(one)
        if pure is None:
            return None
        total += times * pure
    return total


@dataclass(frozen=True, eq=False)
class Pure(Account):
    """delta = 0: pure epsilons add up, also where the next mechanism is chosen after seeing answers (Rogers, Roth,
    Ullman, Vadhan 2016).
    """

    rule = "pure"

    @cached_property
    def total(self) -> Fraction | None:
        return pure_sum(self.totals)

    def covered(self) -> bool:
        if self.total is None or self.extra != 0:
            return False
        decimals = sum(times * as_decimal(pure_epsilon(one) or Fraction(0)) for one, times in self.totals.items())
        return fits(self.total, Fraction(decimals), self.cap.epsilon)

    @cached_property
    def spent(self) -> Budget:
        if self.total is None:
            return Budget(math.inf, 0.0)
        return Budget(min(round_up(self.total), self.cap.epsilon) if self.covered() else round_up(self.total), 0.0)


# -- nonadaptive ---------------------------------------------------------------------------------------------

#: From this many different mechanisms on, one curve for the new mechanism is cheaper than a new composition of all.
_MANY = 8
#: The quick check accepts only with these margins in epsilon and delta. A later composition of all
#: entries has a step of 0.4 % of a typical loss, so its result can be larger by about 0.4 %. The margins cover this.
_EPSILON_MARGIN, _DELTA_MARGIN = 0.99, 0.9


@dataclass(frozen=True, eq=False)
class Nonadaptive(Account):
    """Composed loss distributions: delta at the cap's epsilon, plus the failure probabilities, must be at most the
    cap's delta.

    Guarantees: valid if every mechanism (noise, sensitivity, times) was fixed before the first answer. The queries may
    depend on earlier answers: the curve of each charge bounds every pair of neighbours, and such bounds compose
    adaptively (Zhu, Dong and Wang 2022, on dominating pairs).
    """

    rule = "nonadaptive"
    adaptive = False
    proved: Curve | None = None  # the curve of the last composition of everything
    since: Mapping[Charge, int] = field(default_factory=dict)  # the charges after that composition

    def plus(self, entries: Iterable[Entry]) -> Self:
        found = super().plus(entries)
        since = dict(self.since)
        for one, times in found.totals.items():
            more = times - self.totals.get(one, 0)
            if more:
                since[one] = since.get(one, 0) + more
        found = replace(found, since=since)
        if found.totals:
            found.curve  # noqa: B018 - raises here if no theorem composes these charges, whatever the budget
        return found

    @cached_property
    def curve(self) -> Curve:
        """The curve of everything spent."""
        return self.proved if self.proved is not None and not self.since else compose(self.releases)

    @cached_property
    def delta(self) -> Fraction:
        """delta at the cap's epsilon, with the failure probabilities."""
        if not self.totals:
            return self.extra
        value = float(self.curve.delta(self.cap.epsilon))
        available = round_down(Fraction(self.cap.delta) - self.extra)
        if value > available:
            # Far beyond all losses, a composition may return only its round-off. delta falls with epsilon, so delta at
            # a smaller epsilon is a bound too.
            near = float(self.curve.epsilon(available))
            smaller = (near, 0.5 * (near + self.cap.epsilon)) if near < self.cap.epsilon else ()
            value = min([value, *(float(self.curve.delta(e)) for e in smaller)])
        return Fraction(value) + self.extra

    def covered(self) -> bool:
        return within(self.extra, self.cap.delta) and within(self.delta, self.cap.delta)

    def settled(self) -> Self | None:
        if self._quickly_covered():
            return self
        return replace(self, proved=self.curve, since={}) if self.covered() else None

    def _quickly_covered(self) -> bool:
        """Basic composition of the last curve with all charges since: sound and quick. What this does not accept,
        `covered` decides.

        (e1, d1) and (e2, d2) give (e1 + e2, d1 + d2), so the last curve is evaluated at the epsilon that remains.
        """
        # all Gaussians merge into one, however many there are
        many = sum(not GAUSSIAN.covers(one) for one in self.totals) >= _MANY
        pairs = [(_pair(one, self.cap.delta, many), times) for one, times in self.since.items()]
        if any(pair is None for pair, _ in pairs):
            return False
        epsilon = up(math.fsum(times * pair[0] for pair, times in pairs if pair is not None), FEW_ROUNDINGS)
        delta = up(math.fsum(times * pair[1] for pair, times in pairs if pair is not None), FEW_ROUNDINGS)
        remaining = Fraction(self.cap.epsilon * _EPSILON_MARGIN) - Fraction(epsilon)
        if remaining < 0:
            return False
        total = self.extra + Fraction(delta)
        if self.proved is not None:
            total += Fraction(float(self.proved.delta(round_down(remaining))))
        return total <= Fraction(self.cap.delta * _DELTA_MARGIN)

    @cached_property
    def spent(self) -> Budget:
        if not self.totals:
            return Budget(0.0, 0.0)
        try:
            epsilon = float(self.curve.epsilon(round_down(Fraction(self.cap.delta) - self.extra)))
            delta = min(round_up(self.delta), 1.0)
        except Unsupported:  # no grid can hold all these losses; basic composition may still apply
            total = pure_sum(self.totals)
            if total is None:
                raise
            return Budget(round_up(total), round_up(self.extra))
        # if the cap is proved to cover everything, it is an upper bound too
        return (
            Budget(min(epsilon, self.cap.epsilon), min(delta, self.cap.delta))
            if self.covered()
            else Budget(epsilon, delta)
        )


@lru_cache(maxsize=256)
def keeps(releases: tuple[Charge, ...], epsilon: float | None, delta: float | None) -> bool:
    """Do the releases together satisfy the pair that they were stated to be calibrated for?"""
    if epsilon is None or delta is None:
        return True
    cap = Cap(epsilon, delta, "nonadaptive")
    account: Account = Pure(cap) if delta == 0.0 else Nonadaptive(cap)
    return account.plus([Entry(0, "", "", releases)]).covered()


@lru_cache(maxsize=512)
def _pair(one: Charge, delta: float, many: bool) -> tuple[float, float] | None:
    """An (epsilon, delta) that one release satisfies, rounded up, with delta a small part of the cap's; None where
    finding one would not save work.
    """
    pure = pure_epsilon(one)
    if pure is not None:
        return round_up(pure), 0.0
    epsilon = float(compose([one]).epsilon(delta / 64.0)) if many and delta / 64.0 > 0.0 else math.inf
    return (epsilon, delta / 64.0) if math.isfinite(epsilon) else None
