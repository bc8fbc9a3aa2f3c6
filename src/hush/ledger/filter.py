"""A Renyi filter of one order, fixed when the ledger is created: the rule of a ledger with order=, and a part of the
rule of every adaptive ledger (filters.py).
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cached_property, lru_cache
from typing import Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, as_float, reject
from hush.ledger.account import Account, within
from hush.ledger.entry import Cap, Entry
from hush.numerics.rounding import round_down, round_up
from hush.numerics.search import narrowed_minimum
from hush.privacy.charge import Budget, Charge
from hush.privacy.conversion import rdp_to_delta, rdp_to_epsilon
from hush.privacy.failure import ButFor, divergence_but_for
from hush.privacy.theorem import theorems_for

__all__ = ["Filter", "filter_cap"]

#: The share of delta that is reserved for extra_delta; the rest is used by the conversion from Renyi divergence.
RESERVE = 0.1


@dataclass(frozen=True, eq=False)
class Filter(Account):
    """The sum of Renyi divergences of one order must be at most a budget B, which implies the cap.

    Guarantees: the cap's (epsilon, delta), for mechanisms chosen after seeing earlier answers (Feldman and Zrnic
    2021; Lecuyer 2021). With P and Q the laws of all answers on two neighbours and r_t the divergence of release t
    given the answers before it, the products over t of (p_t/q_t)^a e^(-(a - 1) r_t) are a supermartingale under Q. If
    r_1 + r_2 + ... <= B on every path, E_Q (P/Q)^a <= e^((a - 1) B): the answers together have divergence at most B,
    and B was chosen so that rdp_to_delta(a, B, epsilon) <= delta - reserve. This holds for an order fixed beforehand;
    whether *some* order fits may depend on the answers, so no other order is used.

    Failure probabilities: given the past, release t is with weight 1 - d_t one of the stated divergence, on both data
    sets. The product w of these weights along a path is the same function on both, at least 1 - sum d_t >= 1 -
    reserve; w P' against w Q' has no more hockey-stick divergence than P' against Q'; and P is w P' but for a mass of
    at most the reserve, Q at least w Q'. So delta is at most (delta - reserve) + reserve: a union bound along every
    path (Whitehouse, Ramdas, Rogers and Wu 2023 do this for zCDP).
    """

    rule = "adaptive"

    def plus(self, entries: Iterable[Entry]) -> Self:
        """The account with these entries. Bounded noise and private keys also add a failure probability."""
        found = super().plus([_with_failures(entry, self._terms[0]) for entry in entries])
        found.used  # noqa: B018 - raises here if no finite divergence is proved for a release
        return found

    @property
    def _terms(self) -> tuple[float, float, float]:
        """Order, budget, reserve."""
        order, divergence, reserve = self.cap.order, self.cap.divergence, self.cap.reserve
        assert order is not None and divergence is not None and reserve is not None
        return order, divergence, reserve

    @cached_property
    def used(self) -> Fraction:
        """The sum of the divergences."""
        order, _, _ = self._terms
        return sum((times * Fraction(_divergence(one, order)) for one, times in self.totals.items()), Fraction(0))

    def covered(self) -> bool:
        order, divergence, reserve = self._terms
        implied = rdp_to_delta(order, divergence, self.cap.epsilon) <= _conversion(self.cap.delta, reserve)
        return implied and within(self.used, divergence) and within(self.extra, reserve)

    @cached_property
    def spent(self) -> Budget:
        order, _, reserve = self._terms
        if not self.totals:
            return Budget(0.0, 0.0)
        used = round_up(self.used)
        epsilon = rdp_to_epsilon(order, used, _conversion(self.cap.delta, reserve))
        delta = min(round_up(Fraction(rdp_to_delta(order, used, self.cap.epsilon)) + self.extra), 1.0)
        return (
            Budget(min(epsilon, self.cap.epsilon), min(delta, self.cap.delta))
            if self.covered()
            else Budget(epsilon, delta)
        )

    @cached_property
    def left(self) -> Budget:
        """epsilon: what is left of the divergence budget (a release of pure epsilon e has a divergence of at most e).
        delta: what is left of the reserve.
        """
        _, divergence, reserve = self._terms
        return Budget(round_down(Fraction(divergence) - self.used), round_down(Fraction(reserve) - self.extra))

    @property
    def share(self) -> float:
        return min(float(self.used / Fraction(self._terms[1])), 1.0)

    @property
    def cost(self) -> float:
        return round_up(self.used)


def _with_failures(entry: Entry, order: float) -> Entry:
    """The entry, with the failure probabilities of its charges added to its own."""
    failures = [charge.times * Fraction(_but_for(charge.once, order).failure) for charge in entry.charges]
    return replace(entry, extra_delta=round_up(sum(failures, Fraction(entry.extra_delta))))


@lru_cache(maxsize=1024)
def _but_for(one: Charge, order: float) -> ButFor:
    try:
        return divergence_but_for(one, order)
    except Unsupported:
        theorems_for(one)  # raises with the reason if no theorem covers the sensitivity
        return ButFor(math.inf, 0.0)


def _divergence(one: Charge, order: float) -> float:
    """The Renyi divergence of one release, but for its failure probability, as an upper bound."""
    value = _but_for(one, order).divergence
    if not math.isfinite(value):
        raise Unsupported(
            f"no finite Renyi divergence of order {order:g} is proved for {one.noise} at this sensitivity, so an "
            'adaptive ledger cannot accept it; fix the mechanisms in advance and use a ledger with mode="nonadaptive".'
        )
    return value


# -- the divergence budget, at creation ----------------------------------------------------------------------


def _conversion(delta: float, reserve: float) -> float:
    """The part of delta that the conversion uses, rounded down."""
    return round_down(Fraction(delta) - Fraction(reserve))


def _budget(order: float, epsilon: float, delta: float) -> float:
    """Slightly less than the largest divergence of the order that implies (epsilon, delta); at most 0 if none does."""
    a = order - 1.0
    found = epsilon + (math.log(delta) + math.log(a) - order * math.log1p(-1.0 / order)) / a
    # the reduction exceeds any rounding of logarithms, so that the file has the same meaning on every machine
    found, less = (
        found - 1e-12 * epsilon,
        1e-12 * epsilon,
    )  # relative to epsilon, because the number itself may be near 0
    while found > 0.0 and rdp_to_delta(order, found, epsilon) > delta:
        found, less = found - less, 2.0 * less
    return found


def _best_order(epsilon: float, delta: float) -> float:
    """The order that allows the most Gaussian releases: their divergence is order rho, so budget(order)/order is
    maximised.
    """

    def lost(grid: NDArray[np.float64]) -> NDArray[np.float64]:
        return np.array([-_budget(1.0 + math.exp(t), epsilon, delta) / (1.0 + math.exp(t)) for t in grid])

    place = narrowed_minimum(lost, math.log(1e-3), math.log(1e12), points=(33,) * 12)[0]
    return float(f"{1.0 + math.exp(place):.7g}")


def filter_cap(epsilon: float, delta: float, order: float | None, *, reserve: float = RESERVE) -> Cap:
    """The cap of a ledger with one Renyi filter: order (default: the best for Gaussian noise), divergence budget, and
    the part of delta that is reserved for failure probabilities.

    >>> cap = filter_cap(1.0, 1e-6, None)
    >>> round(cap.order, 2), round(cap.divergence, 4)
    (22.18, 0.5351)
    """
    kept_back = delta * reserve
    kept = _conversion(delta, kept_back)
    if kept <= 0.0:
        raise reject(
            "delta", delta, "0, or large enough to be divided", "write delta=0.0, or a delta of at least 1e-300"
        )
    if order is None:
        chosen = _best_order(epsilon, kept)
    else:
        chosen = as_float("order", order, "a finite number greater than 1")
        if not 1.0 < chosen < math.inf:
            raise reject(
                "order", order, "a finite number greater than 1", "leave order out for the best one for Gaussian noise"
            )
    budget = _budget(chosen, epsilon, kept)
    if budget <= 0.0:
        raise InvalidParameter(
            f"order {chosen:g} leaves no budget for epsilon {epsilon:g} and delta {delta:g}; use a larger order, or "
            "leave order out."
        )
    return Cap(epsilon, delta, "adaptive", order=chosen, divergence=budget, reserve=kept_back)
