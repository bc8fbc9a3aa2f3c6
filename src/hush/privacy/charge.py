"""What a release costs and what it promises: one type for each noun.

    Charge      noise under a sensitivity, released a number of times, perhaps on a Poisson sample of the units
    Budget      a pair (epsilon, delta)
    Guarantee   a budget with the relation, the notion and the number of releases that it speaks of

`Charge.of` is the one place that reads what callers write; `to_plain` and `from_plain` are the one way into JSON and
back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, Unsupported, budgets, deltas, one_of, reject, whole
from hush.noise.catalogue import from_plain_values, plain_values
from hush.noise.contract import Law, Noise
from hush.numerics.rounding import rounded_up
from hush.privacy.curve import Curve
from hush.privacy.exchange import Imported
from hush.privacy.sensitivity import NEIGHBOURS, Sensitivity
from hush.privacy.subsampling import Subsampled, sampling_rate

__all__ = ["NEIGHBOURS_IN_WORDS", "Budget", "Charge", "Guarantee", "charges"]

#: What the relations between data sets mean, for people.
NEIGHBOURS_IN_WORDS = {
    "add-remove": "one unit more or less",
    "replace": "one row exchanged for any other; the number of rows is public",
}
_HINT = "write (Gaussian(1.0), 1.0, 1)"


def _check_pair(epsilon: Any, delta: Any) -> None:
    """Both are numbers: epsilon is 0 or greater (infinite where nothing is promised), delta lies in [0, 1]."""
    if not isinstance(epsilon, int | float) or not epsilon >= 0.0:
        raise reject("epsilon", epsilon, "a number, 0 or greater", "write epsilon=1.0")
    if not isinstance(delta, int | float) or not 0.0 <= delta <= 1.0:
        raise reject("delta", delta, "a number in [0, 1]", "write delta=1e-6")


@dataclass(frozen=True)
class Budget:
    """A pair (epsilon, delta). float() gives the epsilon.

    >>> Budget(1.0, 1e-6).meets(Budget(2.0, 1e-5))
    True
    """

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        _check_pair(self.epsilon, self.delta)

    @classmethod
    def asked(cls, epsilon: Any, delta: Any, *, zero: bool = False) -> Budget:
        """The pair that a caller asks for, checked: epsilon > 0 (0 too with zero=True) and 0 <= delta < 1."""
        pair = budgets("epsilon", epsilon, zero=zero), deltas("delta", delta, zero=True)
        if pair[0].ndim or pair[1].ndim:
            raise InvalidParameter("epsilon and delta must be one number each; make one call for each pair.")
        return cls(float(pair[0]), float(pair[1]))

    def __float__(self) -> float:
        return self.epsilon

    def meets(self, other: Budget) -> bool:
        """Does this budget promise at least as much as the other?"""
        return self.epsilon <= other.epsilon and self.delta <= other.delta

    def covers(self, curve: Curve) -> bool:
        """Is everything on the curve within this budget?"""
        if self.delta == 0.0:
            return curve.pure_epsilon <= self.epsilon
        return float(np.asarray(curve.delta(self.epsilon))) <= self.delta


@dataclass(frozen=True)
class Guarantee:
    """(epsilon, delta)-privacy over `times` releases, for neighbouring data sets; if there is none, `reason` says why.

    notion "dp" is differential privacy, "pdp" the probabilistic kind. `covers` names anything more that the guarantee
    includes.
    """

    epsilon: float
    delta: float
    times: int = 1
    notion: str = "dp"
    neighbours: str = "add-remove"
    reason: str = ""
    covers: str = ""

    def __post_init__(self) -> None:
        _check_pair(self.epsilon, self.delta)
        whole("times", self.times)
        one_of("notion", self.notion, ("dp", "pdp"))
        one_of("neighbours", self.neighbours, NEIGHBOURS)

    @property
    def budget(self) -> Budget:
        return Budget(self.epsilon, self.delta)

    @property
    def holds(self) -> bool:
        """Is there a guarantee at all?"""
        return not self.reason

    def __str__(self) -> str:
        if not self.holds:
            return f"no privacy guarantee: {self.reason}"
        kind = "probabilistic differential privacy" if self.notion == "pdp" else "differential privacy"
        of = (f" of {self.covers}" if self.covers else "") + (f" over {self.times} releases" if self.times > 1 else "")
        pair = f"(epsilon = {rounded_up(self.epsilon)}, delta = {rounded_up(self.delta)})"
        return f"{pair}-{kind}{of}; neighbours: {NEIGHBOURS_IN_WORDS.get(self.neighbours, self.neighbours)}"


@dataclass(frozen=True)
class Charge:
    """`noise` under a `sensitivity`, released `times` times; with a `rate`, on a Poisson sample of the units, each
    kept with that chance.

    A charge fully determines its cost: `hush.compose` adds charges up, a ledger writes them down.

    >>> from hush import Laplace
    >>> Charge.of((Laplace(2.0), 1.0, 3)).times
    3
    """

    noise: Noise | Imported
    sensitivity: Sensitivity
    times: int = 1
    rate: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.noise, Noise | Imported):
            raise reject("noise", self.noise, "a noise family", "write for example Gaussian(1.0)")
        object.__setattr__(self, "sensitivity", Sensitivity.of(self.sensitivity))
        object.__setattr__(self, "times", whole("times", self.times))
        made_for = self.noise.dimension if isinstance(self.noise, Noise) else None
        listed = len(self.sensitivity.linf) if isinstance(self.sensitivity.linf, tuple) else None
        known = self.sensitivity.dimension or listed or max(self.sensitivity.l0 or 0, made_for or 0)
        if made_for is not None and known != made_for:
            raise InvalidParameter(
                f"{type(self.noise).__name__} noise is for {made_for} numbers, the sensitivity for {known}."
            )
        if self.rate is not None:
            object.__setattr__(self, "rate", sampling_rate(self.rate))
            self.subsampled  # noqa: B018 - what no theorem covers is refused here

    # -- how callers write it --------------------------------------------------------------------------------

    @classmethod
    def of(cls, value: Any) -> Charge:
        """A charge from a charge, a noise, an imported curve, (noise, sensitivity, times) or (curve, times)."""
        if isinstance(value, Charge):
            return value
        if isinstance(getattr(value, "charge", None), Charge):  # a mechanism
            own: Charge = value.charge
            return own
        items = tuple(value) if isinstance(value, tuple | list) else (value,)
        first = items[0] if items else None
        if isinstance(first, Imported):
            if len(items) > 2:
                raise InvalidParameter("write an imported curve as (curve, times): it contains its sensitivity.")
            return cls(first, Sensitivity.of(1.0), items[1] if len(items) == 2 else 1)
        if not isinstance(first, Noise):
            raise reject("noise", first, "a noise family", "write for example Gaussian(1.0)")
        if len(items) > 3:
            raise InvalidParameter(f"a release is (noise, sensitivity, times), got {len(items)} items; {_HINT}.")
        return cls(first, Sensitivity.of(items[1] if len(items) > 1 else 1.0), items[2] if len(items) > 2 else 1)

    # -- what follows ----------------------------------------------------------------------------------------

    @property
    def neighbours(self) -> str:
        return self.sensitivity.neighbours

    @property
    def once(self) -> Charge:
        """One release, with the noise under its simplest name, so that two names of the same law count as one
        charge.
        """
        plain = self.noise.plain() if isinstance(self.noise, Noise) else self.noise
        return self if self.times == 1 and plain is self.noise else dataclasses.replace(self, noise=plain, times=1)

    def repeated(self, times: int) -> Charge:
        """The same release, so many times."""
        return dataclasses.replace(self, times=times)

    def widened(self, factor: float) -> Charge:
        """The same release with noise `factor` times as wide."""
        if not isinstance(self.noise, Noise):
            raise Unsupported("a ready-made curve has no noise that could be larger.")
        return dataclasses.replace(self, noise=self.noise.widened(factor))

    @property
    def subsampled(self) -> Subsampled:
        """The curve of one release on a Poisson sample."""
        if self.rate is None:
            raise InvalidParameter("this charge has no sampling rate.")
        if not isinstance(self.noise, Law):  # numbers that do not move tell of a joint noise too
            raise Unsupported(
                "sampling is proved here for the noise of one number, not for joint noise or a ready-made curve."
            )
        return Subsampled(self.noise, self.rate, self.sensitivity)

    def __str__(self) -> str:
        what = str(self.noise) if self.rate is None else str(self.subsampled)
        return what + (f" x {self.times}" if self.times > 1 else "")

    # -- plain values ----------------------------------------------------------------------------------------

    def to_plain(self) -> dict[str, Any]:
        """The charge as JSON holds it, with every digit."""
        if not isinstance(self.noise, Noise):
            raise Unsupported(
                "an imported loss distribution cannot be written down; spend the noise itself, or hush.subsample(noise, rate)."
            )
        sampled = {} if self.rate is None else {"rate": self.rate}
        return {
            "noise": plain_values(self.noise),
            **sampled,
            "sensitivity": self.sensitivity.to_plain(),
            "times": self.times,
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Charge:
        """The charge that `to_plain` wrote, in this version or an earlier one."""
        unknown = sorted(set(values) - {"noise", "rate", "sensitivity", "times"})
        if unknown:
            raise InvalidParameter(f"a charge has no field {unknown[0]!r}; this hush may be too old to read it.")
        sensitivity = Sensitivity.from_plain(values["sensitivity"])
        return cls(from_plain_values(values["noise"]), sensitivity, values["times"], values.get("rate"))


def charges(value: Any) -> tuple[Charge, ...]:
    """One release or a list of releases, checked."""
    starts = isinstance(value, tuple) and value and isinstance(value[0], Noise | Imported)
    if starts or isinstance(value, Charge | Noise | Imported):
        return (Charge.of(value),)
    if isinstance(getattr(value, "charge", None), Charge):
        return (Charge.of(value),)
    if isinstance(value, Mapping | str) or not isinstance(value, Iterable):
        kinds = "a Charge, a Mechanism, a tuple (noise, sensitivity, times), or a list of releases"
        raise reject("releases", value, kinds, "write [(Gaussian(1.0), 1.0, 1)]; of a plan, hush.Mechanism.of(plan)")
    rows = tuple(Charge.of(row) for row in value)
    if not rows:
        raise InvalidParameter("releases must hold at least one release; write [(Gaussian(1.0), 1.0, 1)].")
    return rows
