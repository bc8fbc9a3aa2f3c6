"""The rule of an adaptive ledger: several filters that share delta. A release is accepted while one of them holds.

    filter   holds while                                                 its part of delta
    first    all releases are Gaussian and mu^2 adds up to its limit;    75 % (50 % if the first release uses delta in
             or, if the first is another noise, all are equal to it      its pair or can fail), or what its plan needs
    renyi    Renyi divergences of one order add up to its limit          15 %, or none if the first needs more
    basic    epsilons add up to the cap's, and deltas to its part        the rest, or what the first and the release
                                                                         that it states to follow need

Guarantees: the cap's (epsilon, delta), for mechanisms chosen after seeing earlier answers. Each filter i alone
guarantees (epsilon, d_i), and once it fails for a list of releases it fails for every longer list. Let E_i be the event
that filter i is the first in the table that holds for all releases. On E_i the answers are those of a ledger that stops
when filter i fails, so P(S and E_i) <= e^epsilon Q(S and E_i) + d_i for every set S of answers. Added up over i:
P(S) <= e^epsilon Q(S) + sum d_i. The parts depend on the first release only, which was chosen before any answer.
docs/maths/budgets.md has the proof of every filter.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

from hush.errors import HushError, Unsupported
from hush.ledger.account import Account, Nonadaptive, within
from hush.ledger.entry import Cap, Entry
from hush.ledger.filter import Filter, filter_cap
from hush.ledger.sums import Basic, Normal, pair_of, root_up
from hush.noise.gaussian import Gaussian
from hush.numerics.rounding import FEW_ROUNDINGS, down, round_down
from hush.privacy import gaussian
from hush.privacy.budget import Budget
from hush.privacy.charge import Charge
from hush.privacy.concentrated import gaussian_mu
from hush.privacy.theorem import theorems_for

__all__ = ["Filters", "filters_cap"]

#: The parts of delta for releases like the first, and for the Renyi filter. The rest is for basic composition.
FIRST, RENYI = 0.75, 0.15
#: The first part is multiplied by this if the first release has a failure probability, or was calibrated for a pair
#: with a delta: different releases of this kind that follow use delta in proportion to their number.
_WITH_PAIRS = Fraction(2, 3)
#: The part of the Renyi filter's delta that is kept for failure probabilities.
_RESERVE = 0.25
#: A first release that needs more than its part gets what it needs, in units of this share of delta.
_UNIT = Fraction(1, 1000)
#: Noise was calibrated for N equal releases if they need at least this share of delta, and no more than all of it. N is
#: at most 24: more of them lose little without this.
_EXACT, _MOST_EQUAL = Fraction(99, 100), 24


def filters_cap(epsilon: float, delta: float) -> Cap:
    """The cap of an adaptive ledger, with the terms of its filters.

    >>> cap = filters_cap(1.0, 1e-6)
    >>> cap.first, cap.renyi, round(cap.order, 1)
    (0.75, 0.15, 26.0)
    """
    terms = filter_cap(epsilon, RENYI * delta, None, reserve=_RESERVE)
    return replace(terms, delta=delta, first=FIRST, renyi=RENYI, equal=_MOST_EQUAL)


@dataclass(frozen=True, eq=False)
class _Alike(Nonadaptive):
    """The first release, and further ones that are all equal: equal to the first, or as its plan states. Their
    mechanisms are fixed with the first, and only their number is chosen later. A ledger that stops early releases less,
    so the composition of as many as fit covers every choice.
    """

    one: Entry | None = None

    def plus(self, entries: Iterable[Entry]) -> Self:
        rows = list(entries)
        assert self.one is not None
        for place, entry in enumerate(rows):
            if not _same(entry, self.one.next_one if self.totals or place else self.one):
                raise Unsupported("this release differs from those that follow the first one.")
        return super().plus(rows)

    @property
    def left(self) -> Budget:
        """Nothing but releases like the first one fits."""
        return Budget(0.0, 0.0)


def _same(entry: Entry, other: Entry) -> bool:
    return entry.charges == other.charges and entry.extra_delta == other.extra_delta


@dataclass(frozen=True, eq=False)
class Filters(Account):
    """Several filters that share delta; see the module. `members` are those that may still hold."""

    rule = "filters"
    first: Entry | None = None
    members: tuple[Account, ...] = ()

    def plus(self, entries: Iterable[Entry]) -> Self:
        rows = list(entries)
        found = super().plus(rows)
        for charge in {charge.once for entry in rows for charge in entry.charges}:
            theorems_for(charge)  # raises if no theorem covers the release
        if not rows:
            return found
        first = self.first or rows[0]
        members = self.members if self.first is not None else tuple(_members(self.cap, first))
        grown = tuple(more for each in members if (more := _grown(each, rows)) is not None)
        return replace(found, first=first, members=grown)

    def covered(self) -> bool:
        return self.first is None or any(each.covered() for each in self.members)

    def settled(self) -> Self | None:
        if self.first is None:
            return self
        kept = tuple(held for each in self.members if (held := each.settled()) is not None)
        return replace(self, members=kept) if kept else None

    @cached_property
    def _holding(self) -> tuple[Account, ...]:
        """The filters that hold; all of them if none does."""
        return tuple(each for each in self.members if each.covered()) or self.members

    @cached_property
    def spent(self) -> Budget:
        """The least that one of the filters that hold counts."""
        if self.first is None:
            return Budget(0.0, 0.0)
        least = min((each.spent for each in self._holding), key=lambda each: each.epsilon, default=None)
        return least if least is not None else Budget(math.inf, 1.0)

    @cached_property
    def left(self) -> Budget:
        """The most that one of the filters that hold still takes."""
        if self.first is None:
            return Budget(self.cap.epsilon, self.cap.delta)
        left = [each.left for each in self.members if each.covered()]
        return Budget(max((e.epsilon for e in left), default=0.0), max((e.delta for e in left), default=0.0))

    @property
    def share(self) -> float:
        return min((each.share for each in self._holding), default=1.0) if self.first is not None else 0.0


def _grown(account: Account, rows: list[Entry]) -> Account | None:
    """The filter with more releases; None if it cannot hold for them."""
    try:
        return account.plus(rows)
    except HushError:
        return None


def _members(cap: Cap, first: Entry) -> Iterator[Account]:
    """The filters, with their parts of delta, for a ledger that starts with this release."""
    assert cap.first is not None and cap.renyi is not None
    delta, whole = Fraction(cap.delta), Nonadaptive(Cap(cap.epsilon, cap.delta, "nonadaptive"))
    for_renyi = Fraction(cap.renyi) * delta
    reserved = _reserved(cap, first)
    if reserved > delta - Fraction(cap.first) * delta - for_renyi:
        yield from _beside_reserve(cap, first, reserved)
        return
    part = Fraction(cap.first) * delta * (_WITH_PAIRS if _uses_delta(first) else 1)
    planned = _planned(cap, first)
    try:
        needed = whole.plus(planned).delta
    except HushError:
        needed = None
    if needed is None or not within(needed, cap.delta):
        part = Fraction(0)
    elif needed > part:
        part = min(delta, _UNIT * delta * math.ceil(needed / (_UNIT * delta)))
        yield _for_plan(cap.epsilon, round_down(part), planned)
    else:
        yield _like(cap.epsilon, round_down(part), first)
    rest = delta - part
    if rest >= for_renyi:
        yield _renyi(cap, for_renyi)
        rest -= for_renyi
    yield Basic(Cap(cap.epsilon, round_down(rest), "adaptive"))


def _renyi(cap: Cap, part: Fraction) -> Account:
    """The Renyi filter; its order and its limit were chosen for this part of delta."""
    return Filter(replace(cap, delta=round_down(part), first=None, renyi=None, equal=None, accounts=None))


def _reserved(cap: Cap, first: Entry) -> Fraction:
    """The delta of basic composition of the first release and the one that it states to follow it; 0 if none is stated,
    or if they do not fit.
    """
    pair = None if first.followed_by is None else pair_of(first)
    if pair is None or first.followed_by is None:
        return Fraction(0)
    epsilon, delta = pair[0] + Fraction(first.followed_by.epsilon), pair[1] + Fraction(first.followed_by.delta)
    return delta if within(epsilon, cap.epsilon) and within(delta, cap.delta) else Fraction(0)


def _beside_reserve(cap: Cap, first: Entry, reserved: Fraction) -> Iterator[Account]:
    """The filters if basic composition has a reserved part of delta; the others divide the rest."""
    assert cap.renyi is not None
    rest, for_renyi = max(Fraction(cap.delta) - reserved, Fraction(0)), Fraction(cap.renyi) * Fraction(cap.delta)
    if rest >= for_renyi:
        yield _renyi(cap, for_renyi)
        rest -= for_renyi
    if round_down(rest) > 0.0:
        yield _like(cap.epsilon, round_down(rest), first)
    yield Basic(Cap(cap.epsilon, round_down(reserved), "adaptive"))


def _planned(cap: Cap, first: Entry) -> list[Entry]:
    """The releases that the ledger starts with: the plan of the first one. Without a plan, and without a pair that it
    was calibrated for, it is the first of N equal ones if N of them use the budget exactly.
    """
    if first.turn is not None or first.epsilon is not None or cap.equal is None:
        return first.planned
    whole = Cap(cap.epsilon, cap.delta, "nonadaptive")
    return [first] * _calibrated_for(first.charges, first.extra_delta, whole, cap.equal)


@lru_cache(maxsize=64)
def _calibrated_for(charges: tuple[Charge, ...], extra: float, cap: Cap, most: int) -> int:
    """The number N of equal releases, at most `most`, that need all of the cap's delta or slightly less; 1 if there is
    none.
    """
    one, whole = Entry(0, "", "", charges, extra_delta=extra), Nonadaptive(cap)

    def needed(number: int) -> Fraction:
        return whole.plus([one] * number).delta

    try:
        low, high = 1, most + 1
        if not within(needed(low), cap.delta) or within(needed(high), cap.delta):
            return 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if within(needed(middle), cap.delta) else (low, middle)
        return low if needed(low) >= _EXACT * Fraction(cap.delta) else 1
    except HushError:
        return 1


def _for_plan(epsilon: float, delta: float, planned: list[Entry]) -> Account:
    """The filter for a plan that needs this delta: by mu^2 if all of it is Gaussian, so that other Gaussian releases
    may take the place of those that are not made.
    """
    found, whole = _like(epsilon, delta, planned[0]), Cap(epsilon, delta, "nonadaptive")
    grown = _grown(found, planned)
    if isinstance(grown, Normal):
        if grown.covered():
            return found
        mu = root_up(grown.used)  # the limit was rounded down; the sum of the plan is another one, if it keeps the pair
        merged = Charge.of((Gaussian(down(1.0 / mu, FEW_ROUNDINGS)), 1.0))
        if Nonadaptive(whole).plus([Entry(0, "", "", (merged,))]).delta <= Fraction(delta):
            return Normal(Cap(mu=mu, delta=delta))
    return _Alike(whole, one=planned[0])


def _uses_delta(entry: Entry) -> bool:
    """Will releases like this one need delta for basic composition?"""
    return _can_fail(entry) or bool(entry.delta)


def _can_fail(entry: Entry) -> bool:
    """Does the release have a failure probability: one that is stated, or that of keys found in the data?"""
    return entry.extra_delta > 0.0 or any(charge.keys is not None for charge in entry.charges)


def _like(epsilon: float, delta: float, first: Entry) -> Account:
    """The filter for releases like the first one: all Gaussian, or all equal."""
    if not _can_fail(first) and all(gaussian_mu(charge) is not None for charge in first.charges):
        sigma = float(gaussian.sigma(epsilon, delta))
        return Normal(Cap(mu=down(1.0 / sigma, FEW_ROUNDINGS), delta=delta))
    return _Alike(Cap(epsilon, delta, "nonadaptive"), one=first)
