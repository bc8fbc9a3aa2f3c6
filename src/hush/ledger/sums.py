"""Rules that add up one number for each release: rho, mu^2, or pairs of epsilon and delta.

Each of them holds for mechanisms that are chosen after earlier answers were seen (docs/maths/budgets.md).
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property
from typing import Self

from hush.errors import HushError
from hush.ledger.account import Account, as_decimal, fits, keeps, pure_sum, within
from hush.ledger.entry import Entry
from hush.numerics.rounding import next_down, next_up, round_down, round_up
from hush.privacy.budget import Budget, epsilon_of_mu, epsilon_of_rho
from hush.privacy.charge import Charge
from hush.privacy.concentrated import epsilon_with_mu, epsilon_with_rho, mu_squared, rho

__all__ = ["Basic", "Concentrated", "Normal", "pair_of", "root_down", "root_up"]


def root_up(square: Fraction) -> float:
    """A float that is not below the root of a fraction."""
    near = math.sqrt(square)
    while Fraction(near) ** 2 < square:
        near = next_up(near)
    return near


def root_down(square: Fraction) -> float:
    """A float that is not above the root of a fraction, and not below 0."""
    near = math.sqrt(max(square, Fraction(0)))
    while near > 0.0 and Fraction(near) ** 2 > square:
        near = next_down(near)
    return near


@dataclass(frozen=True, eq=False)
class _Sum(Account):
    """One number for each release, which may add up to a limit. No failure probability is possible: such a release is
    not covered.
    """

    @property
    @abstractmethod
    def limit(self) -> Fraction:
        """The most that the numbers may add up to."""

    @cached_property
    @abstractmethod
    def used(self) -> Fraction:
        """The sum."""

    @abstractmethod
    def implied(self, amount: Fraction) -> float:
        """The epsilon that this sum implies at the cap's delta."""

    @abstractmethod
    def fitting(self, amount: Fraction) -> float:
        """The largest pure epsilon of a release that adds at most this amount."""

    def plus(self, entries: Iterable[Entry]) -> Self:
        found = super().plus(entries)
        found.used  # noqa: B018 - raises here if no theorem gives a number for a release
        return found

    def covered(self) -> bool:
        return self.extra == 0 and within(self.used, round_up(self.limit))

    @cached_property
    def spent(self) -> Budget:
        epsilon = self.implied(self.used)
        return Budget(min(epsilon, self.cap.epsilon) if self.covered() else epsilon, min(round_up(self.extra), 1.0))

    @cached_property
    def left(self) -> Budget:
        return Budget(self.fitting(max(self.limit - self.used, Fraction(0))), 0.0)

    @property
    def share(self) -> float:
        return min(float(self.used / self.limit), 1.0)


@dataclass(frozen=True, eq=False)
class Concentrated(_Sum):
    """rho adds up (Bun and Steinke 2016; for adaptive choice Feldman and Zrnic 2021, Lecuyer 2021)."""

    rule = "rho"

    @property
    def limit(self) -> Fraction:
        return Fraction(self.cap.rho or 0.0)

    @cached_property
    def used(self) -> Fraction:
        return sum((times * rho(one) for one, times in self.totals.items()), Fraction(0))

    def implied(self, amount: Fraction) -> float:
        return epsilon_of_rho(round_up(amount), self.cap.delta)

    def fitting(self, amount: Fraction) -> float:
        return epsilon_with_rho(round_down(amount))


@dataclass(frozen=True, eq=False)
class Normal(_Sum):
    """mu^2 adds up (Dong, Roth and Su 2022; for adaptive choice Smith and Thakurta 2022)."""

    rule = "mu"

    @property
    def limit(self) -> Fraction:
        return Fraction(self.cap.mu or 0.0) ** 2

    @cached_property
    def used(self) -> Fraction:
        return sum((times * mu_squared(one) for one, times in self.totals.items()), Fraction(0))

    def implied(self, amount: Fraction) -> float:
        return epsilon_of_mu(root_up(amount), self.cap.delta)

    def fitting(self, amount: Fraction) -> float:
        return epsilon_with_mu(root_down(amount))


@dataclass(frozen=True, eq=False)
class Basic(Account):
    """Epsilons add up, and deltas add up (Rogers, Roth, Ullman and Vadhan 2016).

    The pair of a release is its pure epsilon, with its failure probability as delta; or else the pair that it was
    calibrated for, also if the pure epsilon is larger than what is left. A release has both pairs, and which one counts
    depends on the releases before it alone, so the sums hold on every path.
    """

    rule = "basic"
    epsilons: Fraction = Fraction(0)
    deltas: Fraction = Fraction(0)
    #: the same sums of decimals
    decimals: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))

    def plus(self, entries: Iterable[Entry]) -> Self:
        rows = list(entries)
        found, epsilons, deltas, decimals = super().plus(rows), self.epsilons, self.deltas, self.decimals
        for entry in rows:
            pair = pair_of(entry, left=Fraction(self.cap.epsilon) - epsilons)
            if pair is None:
                raise HushError("this release has no pair (epsilon, delta).")
            epsilons, deltas = epsilons + pair[0], deltas + pair[1]
            decimals = (decimals[0] + as_decimal(pair[0]), decimals[1] + as_decimal(pair[1]))
        return replace(found, epsilons=epsilons, deltas=deltas, decimals=decimals)

    def covered(self) -> bool:
        one, two = self.decimals
        return fits(self.epsilons, one, self.cap.epsilon) and fits(self.deltas, two, self.cap.delta)

    @cached_property
    def spent(self) -> Budget:
        epsilon, delta = round_up(self.epsilons), min(round_up(self.deltas), 1.0)
        return (
            Budget(min(epsilon, self.cap.epsilon), min(delta, self.cap.delta))
            if self.covered()
            else Budget(epsilon, delta)
        )

    @property
    def share(self) -> float:
        shares = [self.epsilons / Fraction(self.cap.epsilon)]
        shares += [self.deltas / Fraction(self.cap.delta)] if self.cap.delta else []
        return min(float(max(shares)), 1.0)


def pair_of(entry: Entry, left: Fraction | None = None) -> tuple[Fraction, Fraction] | None:
    """The pair of one entry; None if it has neither a pure epsilon nor a stated pair. A pure epsilon that is larger
    than what is `left`, and larger than the stated one, does not count if there is a stated pair.
    """
    totals: dict[Charge, int] = {}
    for charge in entry.charges:
        totals[charge.once] = totals.get(charge.once, 0) + charge.times
    pure, extra = pure_sum(totals), Fraction(entry.extra_delta)
    stated = Fraction(0 if entry.epsilon is None else entry.epsilon)
    if pure is not None and (not stated or left is None or pure <= max(stated, left)):
        return pure, extra
    if entry.epsilon is None or entry.delta is None or not keeps(entry.charges, entry.epsilon, entry.delta):
        return None if pure is None else (pure, extra)
    within_it = round_down(Fraction(entry.delta) - extra)  # most callers state a delta that includes the failures
    if extra and not (within_it > 0.0 and keeps(entry.charges, entry.epsilon, within_it)):
        return Fraction(entry.epsilon), Fraction(entry.delta) + extra
    return Fraction(entry.epsilon), Fraction(entry.delta)
