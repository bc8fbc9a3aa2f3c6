"""Local privacy: every value is noised where it is, and only reports leave.

A value is clipped to [low, high] and put on a lattice of 2^20 steps across the range; a person's change of value,
from any to any other, then moves it by at most the range, exactly 2^20 steps, whatever the rounding did. An exact
draw is added on that lattice.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.ranking import calibrate
from hush.errors import HushError, InvalidParameter, as_float, one_of, reject
from hush.federated.stable import calibrate_stable, one_budget, one_delta
from hush.federated.unbiased import bounded
from hush.ledger.payment import unaccounted
from hush.noise.catalogue import family, in_words, ranked
from hush.noise.contract import Law
from hush.numerics.rounding import rounded_up
from hush.privacy.compose import curve
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.entropy import Entropy
from hush.sampling.mechanism import Mechanism

__all__ = ["STEPS", "Reports", "gather", "local", "local_noise", "local_range", "variance_of"]

#: Lattice steps across the range: rounding then moves a value by less than a millionth of it.
STEPS = 1 << 20
#: One person may change from any value to any other: the range, in units of itself.
WHOLE_RANGE = Sensitivity(linf=1.0, l0=1, neighbours="replace")
#: For reports the variance of the bounded estimate matters, flat between alpha 1 and 1.3, and at this end an average
#: still has a mean.
LOCAL_ALPHA = 1.3
LOCAL_FAMILIES = ("laplace", "staircase", "stable", "gaussian")
#: Families whose shape is chosen for reports, not for a single answer.
_SHAPED: dict[str, Callable[[float], Law]] = {
    "stable": lambda epsilon: calibrate_stable(epsilon, alpha=LOCAL_ALPHA).noise
}


@dataclass(frozen=True, eq=False)
class Reports:
    """Locally noised values and what an estimator has to know about them.

    `steps` counts lattice steps above `low`, 2^20 of them across the range; `noise` is the law added, in units of the
    range. Nothing else about a person is in here.
    """

    steps: NDArray[np.int64] = field(repr=False)
    noise: Law
    low: float
    high: float
    epsilon: float
    delta: float

    @property
    def count(self) -> int:
        """How many people reported."""
        return int(self.steps.size)

    @property
    def width(self) -> float:
        """high - low."""
        return self.high - self.low

    @property
    def step(self) -> float:
        """The lattice's step in the values' units."""
        return self.width / STEPS

    @property
    def places(self) -> NDArray[np.float64]:
        """The reports in units of the range: 0 is low, 1 is high."""
        return self.steps / float(STEPS)

    @property
    def values(self) -> NDArray[np.float64]:
        """The noisy values themselves."""
        return self.low + self.width * self.places

    def __str__(self) -> str:
        pair = f"epsilon = {rounded_up(self.epsilon)}" + (f", delta = {rounded_up(self.delta)}" if self.delta else "")
        return (
            f"{self.count} reports of values in [{self.low:g}, {self.high:g}], {in_words(self.noise)} in units of the range; "
            f"{pair} for each person, whoever sees a report"
        )


def gather(reports: Iterable[Reports]) -> Reports:
    """The reports of many devices as one; they must have been made alike."""
    parts = list(reports) if isinstance(reports, Iterable) else []
    if not parts or not all(isinstance(part, Reports) for part in parts):
        raise InvalidParameter(
            "reports must be a list of what local() returned, at least one; write gather([first, second])."
        )
    first = parts[0]
    same = ("noise", "low", "high", "epsilon", "delta")
    for part in parts:
        odd = [name for name in same if getattr(part, name) != getattr(first, name)]
        if odd:
            raise InvalidParameter(
                f"reports that differ in {', '.join(odd)} cannot be put together; estimate from each kind by itself."
            )
    return replace(first, steps=np.concatenate([part.steps for part in parts]))


def local(
    values: Any,
    epsilon: float,
    low: float,
    high: float,
    *,
    delta: float = 0.0,
    noise: str | Law = "auto",
    entropy: Entropy | None = None,
) -> Reports:
    """Every value clipped to [low, high], put on a lattice and noised by itself: what each person's device does.

    noise: "laplace", "staircase", "stable", "gaussian" (needs delta > 0), another family of hush.calibrate, a noise
    in units of the range, or "auto", the one whose estimate of a mean has the least variance.

    Guarantees: a report is (epsilon, delta)-private for a person's change from any value to any other, against
    whoever sees it (SaS paper, Definition 8). low and high must be public. Draws are exact; no central party is
    trusted. No ledger is charged: each device answers for its own person, and has to count what it has reported before.

    >>> reports = local([31, 47, 64], 1.0, 0, 100, noise="laplace")
    >>> reports.count, reports.noise
    (3, Laplace(scale=1.000000000000001))
    """
    start, end = local_range(low, high)
    chosen = local_noise(epsilon, delta=delta, noise=noise)
    held = _held(values)
    made = Mechanism(chosen, WHOLE_RANGE, 1.0 / STEPS, coordinates=max(held.size, 1))  # one number of each person
    made.prepare()
    placed = _on_lattice(held.ravel(), start, end)
    steps = unaccounted(made.charge).noise(made, placed, entropy=entropy) if held.size else placed
    return Reports(steps, chosen, start, end, float(epsilon), float(delta))


def _held(values: Any) -> NDArray[np.float64]:
    """Finite numbers; the message does not quote them, for they are what is to be kept."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
            raise TypeError
        return array.astype(np.float64)
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(
            "values must be finite numbers, one for each person; drop missing values before, or give them a public stand-in."
        ) from None


def local_noise(epsilon: float, *, delta: float = 0.0, noise: str | Law = "auto") -> Law:
    """The noise, in units of the range, that `local` adds."""
    budget, share = one_budget(epsilon), one_delta(delta)
    if isinstance(noise, Law):
        given = float(np.asarray(curve(noise, WHOLE_RANGE).epsilon(share)))
        if given > budget:
            raise InvalidParameter(
                f"{in_words(noise)} has epsilon {given:.6g} at delta {share:g}, more than {budget:g}; write noise='auto'."
            )
        return noise
    if noise == "auto":
        return min(_candidates(budget, share), key=variance_of)
    one_of("noise", noise, ("auto", *(row.name for row in ranked(lattice=False))))
    if share == 0.0 and not family(noise).pure:
        raise InvalidParameter(f"noise={noise!r} has no pure epsilon; write delta=1e-6, or noise='laplace'.")
    if noise in _SHAPED:
        return _SHAPED[noise](budget)
    return calibrate(budget, share, WHOLE_RANGE, family=noise).noise


def _candidates(epsilon: float, delta: float) -> list[Law]:
    found: list[Law] = []
    for name in LOCAL_FAMILIES if delta > 0.0 else LOCAL_FAMILIES[:-1]:
        try:
            found.append(local_noise(epsilon, delta=delta, noise=name))
        except HushError:  # a family that has nothing for this budget
            continue
    return found


def variance_of(noise: Law) -> float:
    """The variance, in squared ranges, of one report's part in the best estimate of a mean."""
    plain = noise.plain()
    try:
        return min(bounded(plain).variance, plain.variance)
    except HushError:
        return plain.variance


def local_range(low: Any, high: Any) -> tuple[float, float]:
    """The public range of the values."""
    start, end = as_float("low", low, "a finite number"), as_float("high", high, "a finite number")
    if not (math.isfinite(start) and math.isfinite(end) and start < end and math.isfinite(end - start)):
        raise reject("high", high, f"a finite number greater than low = {start:g}", "write low=0, high=100")
    return start, end


def _on_lattice(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.int64]:
    """floor((v - low)/(high - low) 2^20 + 1/2) for the clipped v; floats decide unless a tie is near, then fractions
    do.
    """
    clipped = np.clip(values, low, high)
    place = (clipped - low) / (high - low) * STEPS + 0.5
    steps = np.floor(place).astype(np.int64)
    for i in np.flatnonzero(np.abs(place - np.rint(place)) < 1e-6):  # floats are right to 1e-9 here
        exact = (Fraction(float(clipped[i])) - Fraction(low)) / (Fraction(high) - Fraction(low))
        steps[i] = math.floor(exact * STEPS + Fraction(1, 2))
    return np.clip(steps, 0, STEPS)
