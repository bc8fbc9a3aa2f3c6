"""The rules of composition: what everything spent so far costs, and whether it is within the cap.

    cap                      rule        what is added up
    delta > 0, planned       `Planned`   loss distributions, by hush.compose: tight, for mechanisms fixed in advance
    delta > 0, interactive   `Filter`    Renyi divergences of one order: valid for mechanisms chosen along the way (filter.py)
    delta = 0, either mode   `Pure`      pure epsilons: basic composition, valid for both

An account never changes: `plus(entries)` is a new one, and `settled()` is the account itself where its cap covers it, and None where not.

Sums are exact (fractions of the floats as they are). A cap and the numbers charged to it are decimals that somebody wrote, each held by a
float to one part in 2^53; a comparison forgives these two roundings, one part in 2^51 at most, so that ten times 0.1 is not more than 1.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Any, Self

from hush.errors import InvalidParameter, Unsupported
from hush.ledger.entry import Amount, Cap, Entry, Part
from hush.noise.contract import Law
from hush.noise.discrete import Discrete
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.numerics.rounding import round_down, round_up
from hush.privacy.curve import Curve, OneNumber
from hush.privacy.subsampling import Subsampled
from hush.privacy.vector import compose

__all__ = ["Account", "Key", "Planned", "Pure", "pure_epsilon", "within"]

#: What equal releases have in common: (noise, sensitivity), or (subsampled,).
Key = tuple[Any, ...]
_FORGIVEN = 1 + Fraction(1, 2**51)


def within(total: Fraction, cap: float) -> bool:
    """Is the exact total at most the cap, up to the roundings of the decimals they stand for?

    >>> within(10 * Fraction(0.1), 1.0), within(10 * Fraction(0.1000000000000001), 1.0)
    (True, False)
    """
    return total <= Fraction(cap) * _FORGIVEN


def _key(part: Part) -> Key:
    """The law under its simplest name, so that equal ones meet."""
    return (part[0],) if isinstance(part[0], Subsampled) else (part[0].plain(), part[1])


def _relation(key: Key) -> str:
    return "add-remove" if isinstance(key[0], Subsampled) else str(key[1].neighbours)


def _once_only(key: Key) -> bool:
    """Theorem 8 is about one vector with one shift; a second vector may be asked for after the first answer, and is not covered."""
    return isinstance(key[0], FlippedHuber) and not key[1].is_box and key[1].l2 is not None


@dataclass(frozen=True, eq=False)
class Account(ABC):
    """What all rules share: how often each mechanism was used, and the failure probabilities added up."""

    cap: Cap
    totals: Mapping[Key, int] = field(default_factory=dict)
    extra: Fraction = Fraction(0)

    def plus(self, entries: Iterable[Entry]) -> Self:
        """The account with these entries as well, whatever the cap says."""
        totals, extra = dict(self.totals), self.extra
        for entry in entries:
            before = dict(totals)
            for key, times in ((_key(part), part[-1]) for part in entry.parts):
                _check_company(key, before, next(iter(totals), key))
                totals[key] = totals.get(key, 0) + times
            extra += Fraction(entry.extra_delta)
        return replace(self, totals=totals, extra=extra)

    def settled(self) -> Self | None:
        """This account if it is within the cap."""
        return self if self.covered() else None

    def alone(self, entry: Entry) -> Self:
        """The account of a ledger with the same cap and no other entry."""
        return type(self)(self.cap).plus([entry])

    @property
    def releases(self) -> list[Part]:
        return [(*key, times) for key, times in self.totals.items()]

    @abstractmethod
    def covered(self) -> bool:
        """Is all of this within the cap?"""

    @property
    @abstractmethod
    def spent(self) -> Amount:
        """Upper bounds: epsilon at the cap's delta, and delta at the cap's epsilon."""

    @cached_property
    def left(self) -> Amount:
        """epsilon: a release of this pure epsilon is still within the cap (accepted up to 1 % less: composition has a grid). delta: what
        extra_delta may still take."""
        epsilon = Fraction(self.cap.epsilon) - Fraction(self.spent.epsilon) if math.isfinite(self.spent.epsilon) else Fraction(0)
        return Amount(round_down(epsilon), round_down(Fraction(self.cap.delta) - Fraction(self.spent.delta)))

    @property
    def share(self) -> float:
        """How much of the budget is gone, from 0 to 1."""
        return min(self.spent.epsilon / self.cap.epsilon, 1.0)

    @property
    def cost(self) -> float:
        """What all of this takes away from `left.epsilon`."""
        return self.spent.epsilon


def _check_company(key: Key, before: Mapping[Key, int], other: Key) -> None:
    """Releases that no theorem adds up are refused, whatever the budget."""
    if _relation(key) != _relation(other):
        raise InvalidParameter(
            f"this ledger's releases count neighbours {_relation(other)!r}, and this one counts {_relation(key)!r}; "
            "no epsilon speaks of both, so keep one ledger for each."
        )
    if key in before and _once_only(key):
        raise Unsupported(
            "flipped Huber noise under an l2 bound is proved for one vector at a time (Theorem 8); "
            "to release it again write Sensitivity(linf=..., l0=...)."
        )


# -- pure epsilons --------------------------------------------------------------------------------------------------------------------


@lru_cache(maxsize=512)
def pure_epsilon(key: Key) -> Fraction | None:
    """The pure epsilon of one release, as an upper bound; None where there is none."""
    if isinstance(key[0], Law) and key[1].is_box:
        parts = [(_pure_of_one(key[0], shift), count) for shift, count in key[1].shifts]
    else:
        curve = compose([(*key, 1)])
        known = _pure_of_one(curve.noise, curve.shift) if isinstance(curve, OneNumber) else _finite(curve.pure_epsilon)
        parts = [(known, 1)]
    total = Fraction(0)
    for value, count in parts:
        if value is None:
            return None
        total += value * count
    return total


def _pure_of_one(noise: Law, shift: float) -> Fraction | None:
    if isinstance(noise, Laplace):
        return Fraction(shift) / Fraction(noise.scale)  # exactly
    if isinstance(noise, Discrete) and isinstance(noise.noise, Laplace):  # exactly too, for the whole steps that the shift stands for
        steps = round(Fraction(shift) / Fraction(noise.step))
        return max(Fraction(shift), steps * Fraction(noise.step)) / Fraction(noise.noise.scale)
    curve = OneNumber(noise, shift)
    most = curve.pure_epsilon
    if not math.isfinite(most):
        return None
    stated = math.nextafter(most, 0.0)  # the curve rounds its figure up blindly; where it proves delta = 0 one float earlier, that counts
    return Fraction(stated if float(curve.delta_upper(stated)) == 0.0 else most)


def _finite(value: float) -> Fraction | None:
    return Fraction(value) if math.isfinite(value) else None


def _pure_sum(totals: Mapping[Key, int]) -> Fraction | None:
    """The sum of all pure epsilons; None where one of them is infinite."""
    total = Fraction(0)
    for key, times in totals.items():
        one = pure_epsilon(key)
        if one is None:
            return None
        total += times * one
    return total


@dataclass(frozen=True, eq=False)
class Pure(Account):
    """delta = 0: pure epsilons add up, also where the next mechanism is chosen after seeing answers (Rogers, Roth, Ullman, Vadhan 2016)."""

    @cached_property
    def total(self) -> Fraction | None:
        return _pure_sum(self.totals)

    def covered(self) -> bool:
        return self.total is not None and within(self.total, self.cap.epsilon) and self.extra == 0

    @cached_property
    def spent(self) -> Amount:
        if self.total is None:
            return Amount(math.inf, 0.0)
        return Amount(min(round_up(self.total), self.cap.epsilon) if self.covered() else round_up(self.total), 0.0)


# -- planned --------------------------------------------------------------------------------------------------------------------------

#: From so many different mechanisms on, a curve for the new one alone is cheaper than composing all of them anew.
_MANY = 8
#: A glance accepts with this much to spare, in epsilon and in delta, so that a later composition of everything agrees: its grid, 0.4 % of a
#: typical loss, can cost about that much where the largest losses decide.
_EPSILON_MARGIN, _DELTA_MARGIN = 0.99, 0.9


@dataclass(frozen=True, eq=False)
class Planned(Account):
    """Loss distributions composed: delta at the cap's epsilon, plus the failure probabilities, must be at most the cap's delta.

    Guarantees: valid where every mechanism (noise, sensitivity, times) was fixed before the first answer. The questions asked through
    them may depend on earlier answers: each part's curve bounds every pair of neighbours, and such bounds compose adaptively (Zhu, Dong
    and Wang 2022, on dominating pairs).
    """

    proved: Curve | None = None  # the last composition
    since: Mapping[Key, int] = field(default_factory=dict)  # what came after it

    def plus(self, entries: Iterable[Entry]) -> Self:
        found = super().plus(entries)
        since = {key: times - self.totals.get(key, 0) + self.since.get(key, 0) for key, times in found.totals.items()}
        found = replace(found, since={key: times for key, times in since.items() if times})
        if found.totals:
            found.curve  # noqa: B018 - what no theorem composes is refused here, whatever the budget
        return found

    @cached_property
    def curve(self) -> Curve:
        """The curve of everything spent."""
        return self.proved if self.proved is not None and not self.since else compose(self.releases)

    @cached_property
    def _delta(self) -> Fraction:
        """delta at the cap's epsilon, failure probabilities included."""
        if not self.totals:
            return self.extra
        value = float(self.curve.delta_upper(self.cap.epsilon))
        room = round_down(Fraction(self.cap.delta) - self.extra)
        if value > room:
            # far beyond all losses a composition may see only its own round-off; delta falls, so that of a smaller epsilon bounds it
            near = float(self.curve.epsilon_upper(room))
            smaller = (near, 0.5 * (near + self.cap.epsilon)) if near < self.cap.epsilon else ()
            value = min([value, *(float(self.curve.delta_upper(e)) for e in smaller)])
        return Fraction(value) + self.extra

    def covered(self) -> bool:
        return within(self.extra, self.cap.delta) and within(self._delta, self.cap.delta)

    def settled(self) -> Self | None:
        if self._covered_at_a_glance():
            return self
        return replace(self, proved=self.curve, since={}) if self.covered() else None

    def _covered_at_a_glance(self) -> bool:
        """Basic composition of the last curve with all that came since: sound and quick. What it does not accept, `covered` decides.

        (e1, d1) and (e2, d2) make (e1 + e2, d1 + d2), so the last curve is asked at the epsilon that the rest leaves.
        """
        many = sum(not isinstance(key[0], Gaussian) for key in self.totals) >= _MANY  # Gaussians merge into one, whatever their number
        epsilon, delta = Fraction(0), self.extra
        for key, times in self.since.items():
            pair = _pair(key, self.cap.delta, many)
            if pair is None:
                return False
            epsilon, delta = epsilon + times * pair[0], delta + times * pair[1]
        room = Fraction(self.cap.epsilon * _EPSILON_MARGIN) - epsilon
        if room < 0:
            return False
        if self.proved is not None:
            delta += Fraction(float(self.proved.delta_upper(round_down(room))))
        return delta <= Fraction(self.cap.delta * _DELTA_MARGIN)

    @cached_property
    def spent(self) -> Amount:
        if not self.totals:
            return Amount(0.0, 0.0)
        try:
            epsilon = float(self.curve.epsilon_upper(round_down(Fraction(self.cap.delta) - self.extra)))
            delta = min(round_up(self._delta), 1.0)
        except Unsupported:  # no grid holds these losses together; basic composition may
            total = _pure_sum(self.totals)
            if total is None:
                raise
            return Amount(round_up(total), round_up(self.extra))
        # a proof that all is within the cap is a bound too
        return Amount(min(epsilon, self.cap.epsilon), min(delta, self.cap.delta)) if self.covered() else Amount(epsilon, delta)


@lru_cache(maxsize=512)
def _pair(key: Key, delta: float, many: bool) -> tuple[Fraction, Fraction] | None:
    """An (epsilon, delta) that one release keeps, its delta a small part of the cap's; None where finding one would be no shortcut."""
    pure = pure_epsilon(key)
    if pure is not None:
        return pure, Fraction(0)
    epsilon = float(compose([(*key, 1)]).epsilon_upper(delta / 64.0)) if many and delta / 64.0 > 0.0 else math.inf
    return (Fraction(epsilon), Fraction(delta / 64.0)) if math.isfinite(epsilon) else None
