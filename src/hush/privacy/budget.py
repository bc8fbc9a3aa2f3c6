"""What may be spent, and what is promised.

Budget      a pair (epsilon, delta), or an amount of rho (zCDP) or of mu (Gaussian differential privacy)
Guarantee   a pair with its neighbouring relation, its notion of privacy and its number of releases
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from hush.errors import (
    IncompleteCall,
    InvalidParameter,
    Unsupported,
    as_float,
    budgets,
    deltas,
    made_like,
    one_of,
    positive,
    reject,
    warn_if_weak,
    whole,
)
from hush.noise.gaussian import Gaussian
from hush.numerics.rounding import FEW_ROUNDINGS, rounded_up, up
from hush.privacy.conversion import best_epsilon
from hush.privacy.curve import Curve, OneNumber
from hush.privacy.sensitivity import NEIGHBOURS

__all__ = [
    "NEIGHBOURS_IN_WORDS",
    "USUAL_DELTA",
    "Budget",
    "Guarantee",
    "epsilon_of_mu",
    "epsilon_of_rho",
    "one_budget",
]

#: The meaning of the neighbouring relations, as text for users.
NEIGHBOURS_IN_WORDS = {
    "add-remove": "one person more or less",
    "replace": "one row exchanged for any other; the number of rows is public",
}
#: The delta at which the epsilon of a budget in rho or mu is stated, if none is given.
USUAL_DELTA = 1e-6


def _check_pair(pair: Budget | Guarantee) -> None:
    """Both are real numbers: epsilon is 0 or greater (infinite where there is no guarantee), delta is in [0, 1].

    Numbers of other types, such as those of numpy, become floats.
    """
    limits = {"epsilon": (math.inf, "a number, 0 or greater", "1.0"), "delta": (1.0, "a number in [0, 1]", "1e-6")}
    for name, (most, allowed, example) in limits.items():
        value, instead = getattr(pair, name), f"write {name}={example}"
        number = as_float(name, value, allowed, instead)
        if not 0.0 <= number <= most:
            raise reject(name, value, allowed, instead)
        if not isinstance(value, int | float):
            object.__setattr__(pair, name, number)


@lru_cache(maxsize=256)
def epsilon_of_rho(rho: float, delta: float) -> float:
    """An epsilon that rho-zCDP implies at delta: the best over all orders, where D_a <= a rho.

    >>> round(epsilon_of_rho(0.1, 1e-6), 3)
    2.142
    """
    return 0.0 if rho == 0.0 else best_epsilon(lambda order: up(order * rho, FEW_ROUNDINGS), delta)


@lru_cache(maxsize=256)
def epsilon_of_mu(mu: float, delta: float) -> float:
    """The epsilon of mu-Gaussian differential privacy at delta: that of Gaussian noise moved by mu deviations.

    >>> round(epsilon_of_mu(0.5, 1e-6), 3)
    2.254
    """
    return 0.0 if mu == 0.0 else float(np.asarray(OneNumber(Gaussian(1.0), mu).epsilon(delta)))


def one_budget(epsilon: Any, delta: Any, rho: Any, mu: Any, example: str) -> str:
    """The kind of budget that a caller gave, "epsilon", "rho" or "mu"; raises unless it is exactly one."""
    given = [name for name, value in (("epsilon", epsilon), ("rho", rho), ("mu", mu)) if value is not None]
    if len(given) > 1:
        raise InvalidParameter(
            f"{given[0]} and {given[1]} are two kinds of budget; give epsilon with delta, or rho, or mu."
        )
    if not given or (given == ["epsilon"] and delta is None):
        raise InvalidParameter(f"a budget needs both epsilon and delta, or rho, or mu; write {example}.")
    return given[0]


@made_like("Budget(1.0, 1e-6)")
@dataclass(frozen=True, repr=False)
class Budget:
    """A pair (epsilon, delta); or `rho`, for zero-concentrated privacy; or `mu`, for Gaussian differential privacy.

    A budget in rho or mu implies an epsilon at every delta. `epsilon` is the one at `delta`, which is 1e-6 if it is
    left out. float(budget) is the epsilon.

    >>> Budget(1.0, 1e-6).meets(Budget(2.0, 1e-5))
    True
    >>> round(Budget(rho=0.1).epsilon, 3), round(Budget(mu=0.5, delta=1e-9).epsilon, 3)
    (2.142, 2.91)
    """

    epsilon: float = math.nan
    delta: float = math.nan
    _: KW_ONLY
    rho: float | None = None
    mu: float | None = None

    def __post_init__(self) -> None:
        if self.rho is None and self.mu is None:
            for name in ("epsilon", "delta"):
                if isinstance(getattr(self, name), float) and math.isnan(getattr(self, name)):
                    raise IncompleteCall(f"Budget is missing {name}; write Budget(1.0, 1e-6), or Budget(rho=0.1).")
            _check_pair(self)
            return
        name, amount = ("rho", self.rho) if self.mu is None else ("mu", self.mu)
        if self.rho is not None and self.mu is not None:
            raise InvalidParameter("rho and mu are two kinds of budget; give one of them.")
        known = positive(name, amount)
        at = USUAL_DELTA if math.isnan(self.delta) else float(deltas("delta", self.delta, zero=False))
        implied = epsilon_of_rho(known, at) if name == "rho" else epsilon_of_mu(known, at)
        if not math.isnan(self.epsilon) and self.epsilon != implied:
            raise InvalidParameter(f"{name} determines epsilon; leave epsilon out: write Budget({name}={known:g}).")
        for field, value in ((name, known), ("delta", at), ("epsilon", implied)):
            object.__setattr__(self, field, value)

    @classmethod
    def asked(cls, epsilon: Any, delta: Any, *, zero: bool = False) -> Budget:
        """The pair that a caller gave, checked: epsilon > 0 (0 too with zero=True) and 0 <= delta < 1."""
        pair = budgets("epsilon", epsilon, zero=zero), deltas("delta", delta, zero=True)
        if pair[0].ndim or pair[1].ndim:
            raise InvalidParameter("epsilon and delta must be one number each; make one call for each pair.")
        if not zero:
            warn_if_weak(float(pair[0]), float(pair[1]))
        return cls(float(pair[0]), float(pair[1]))

    @property
    def kind(self) -> str:
        """ "epsilon", "rho" or "mu"."""
        return "rho" if self.rho is not None else "mu" if self.mu is not None else "epsilon"

    @property
    def words(self) -> str:
        """The budget in words."""
        if self.kind == "epsilon":
            return f"epsilon {self.epsilon:g}, delta {self.delta:g}"
        return f"{self.kind} {self.rho or self.mu:g} (epsilon {rounded_up(self.epsilon)} at delta {self.delta:g})"

    def __float__(self) -> float:
        return self.epsilon

    def __repr__(self) -> str:
        if self.kind == "epsilon":
            return f"Budget(epsilon={self.epsilon}, delta={self.delta})"
        return f"Budget({self.kind}={self.rho or self.mu}, delta={self.delta})"

    def meets(self, other: Budget) -> bool:
        """Is this guarantee at least as strong as the other? For two pairs: neither epsilon nor delta is larger."""
        if self.kind == other.kind == "rho":
            return (self.rho or 0.0) <= (other.rho or 0.0)
        if self.kind == other.kind == "mu":
            return (self.mu or 0.0) <= (other.mu or 0.0)
        if other.kind != "epsilon":
            raise Unsupported(f"a budget in {self.kind} cannot be compared with one in {other.kind}.")
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def covers(self, curve: Curve) -> bool:
        """Does a release with this curve satisfy the budget?"""
        if self.kind != "epsilon":
            raise Unsupported(
                f"a curve does not determine {self.kind}; charge a Ledger(None, {self.kind}=...) instead."
            )
        if self.delta == 0.0:
            return curve.pure_epsilon <= self.epsilon
        return float(np.asarray(curve.delta(self.epsilon))) <= self.delta


@made_like("Guarantee(1.0, 1e-6, times=1)")
@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-privacy over `times` releases, for neighbouring data sets.

    If there is no guarantee, `reason` gives the reason. notion "dp" is differential privacy, "pdp" is probabilistic
    differential privacy. `covers` names anything else that the guarantee includes. `protects` is what is added or
    removed: a "person", or a "row" of an array, whose rows name no persons.
    """

    epsilon: float
    delta: float
    _: KW_ONLY
    times: int = 1
    notion: str = "dp"
    neighbours: str = "add-remove"
    reason: str = ""
    covers: str = ""
    protects: str = "person"

    def __post_init__(self) -> None:
        _check_pair(self)
        whole("times", self.times)
        one_of("notion", self.notion, ("dp", "pdp"))
        one_of("neighbours", self.neighbours, NEIGHBOURS)
        one_of("protects", self.protects, ("person", "row"))

    @property
    def budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    @property
    def holds(self) -> bool:
        """Is there a guarantee?"""
        return not self.reason

    def __str__(self) -> str:
        if not self.holds:
            return f"no privacy guarantee: {self.reason}"
        kind = "probabilistic differential privacy" if self.notion == "pdp" else "differential privacy"
        of = (f" of {self.covers}" if self.covers else "") + (f" over {self.times} releases" if self.times > 1 else "")
        pair = f"(epsilon = {rounded_up(self.epsilon)}, delta = {rounded_up(self.delta)})"
        words = NEIGHBOURS_IN_WORDS.get(self.neighbours, self.neighbours)
        return (
            f"{pair}-{kind}{of}; neighbours: {words if self.protects == 'person' else words.replace('person', 'row')}"
        )
