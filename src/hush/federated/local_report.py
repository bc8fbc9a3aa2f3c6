"""Local privacy: each device draws a private report of its person's value, and only the report leaves the device.

A value is clipped to [low, high] and rounded to a lattice of 2^20 steps across the range. The report is drawn by
`LocalMean`, or it is the value plus noise: any change of a person's value moves it by at most 2^20 lattice steps,
exactly, rounding included, and an exact draw is added on that lattice.
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
from hush.errors import HushError, InvalidParameter, as_float, called_like, one_of, reject, shown
from hush.federated.mean_report import BEST_FROM, BEST_TO, STEPS, LocalMean, local_mean
from hush.federated.stable import calibrate_stable, one_budget, one_delta
from hush.federated.unbiased import bounded
from hush.ledger.payment import unaccounted
from hush.noise import catalogue
from hush.noise.catalogue import in_words
from hush.noise.contract import Law
from hush.numerics.rounding import ELEMENTARY, down, rounded_up
from hush.privacy.compose import curve
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.entropy import Entropy, must_be_entropy
from hush.sampling.mechanism import Mechanism

__all__ = ["STEPS", "Reports", "gather", "local", "local_noise", "local_range", "variance_of"]

#: A person's value can change to any other value, so it moves by at most the range. Lengths are in units of the range.
WHOLE_RANGE = Sensitivity(linf=1.0, l0=1, neighbours="replace")
#: The variance of the bounded estimate is almost constant for alpha from 1 to 1.3; at 1.3 an average has a mean too.
LOCAL_ALPHA = 1.3
#: "optimal" is no noise family: `LocalMean` draws the report itself.
OPTIMAL = "optimal"
LOCAL_FAMILIES = (OPTIMAL, "laplace", "staircase", "stable", "gaussian")
_SMALL_DELTA = 0.01  # times min(1, epsilon): up to here no noise has less variance than a `LocalMean`
#: Families whose shape is chosen for many reports instead of a single answer.
_SHAPED: dict[str, Callable[[float], Law]] = {
    "stable": lambda epsilon: calibrate_stable(epsilon, alpha=LOCAL_ALPHA).noise
}


@dataclass(frozen=True, eq=False)
class Reports:
    """Private reports of one or more people, and the public facts that an estimator needs.

    `steps` are lattice steps above `low`, 2^20 across the range. `noise` is the law that was added, in units of the
    range, or the `LocalMean` that drew the reports. Nothing else about a person is stored.
    """

    steps: NDArray[np.int64] = field(repr=False)
    noise: Law | LocalMean
    low: float
    high: float
    epsilon: float
    delta: float

    @property
    def count(self) -> int:
        """The number of people who reported."""
        return int(self.steps.size)

    @property
    def width(self) -> float:
        """high - low."""
        return self.high - self.low

    @property
    def step(self) -> float:
        """The lattice step in the units of the values."""
        return self.width / STEPS

    @property
    def places(self) -> NDArray[np.float64]:
        """The reports in units of the range: 0 is low, 1 is high."""
        return self.steps / float(STEPS)

    @property
    def values(self) -> NDArray[np.float64]:
        """The noisy values."""
        return self.low + self.width * self.places

    def __str__(self) -> str:
        pair = f"epsilon = {rounded_up(self.epsilon)}" + (f", delta = {rounded_up(self.delta)}" if self.delta else "")
        law = self.noise
        drawn = str(law) if isinstance(law, LocalMean) else f"{in_words(law)} in units of the range"
        return (
            f"{self.count} reports of values in [{self.low:g}, {self.high:g}], {drawn}; "
            f"{pair} for each person, against everyone who sees the report"
        )


def gather(reports: Iterable[Reports]) -> Reports:
    """Combine the reports of many devices; all must have the same noise, range and budget."""
    parts = list(reports) if isinstance(reports, Iterable) else []
    if not parts or not all(isinstance(part, Reports) for part in parts):
        raise InvalidParameter(
            "reports must be a list with at least one result of federated.local; write gather([first, second])."
        )
    first = parts[0]
    same = ("noise", "low", "high", "epsilon", "delta")
    for part in parts:
        odd = [name for name in same if getattr(part, name) != getattr(first, name)]
        if odd:
            raise InvalidParameter(
                f"reports that differ in {', '.join(odd)} cannot be combined; estimate from each kind separately."
            )
    return replace(first, steps=np.concatenate([part.steps for part in parts]))


@called_like("local(values, 1.0, low=0, high=100, delta=0.0)")
def local(
    values: Any,
    epsilon: float,
    low: float,
    high: float,
    *,
    delta: float,
    family: str | None = None,
    noise: Law | LocalMean | None = None,
    entropy: Entropy | None = None,
) -> Reports:
    """Clip each value to [low, high], round it to a lattice and draw its report: the work of each person's device.

    family: "optimal" (a `LocalMean`), "laplace", "staircase", "stable", "gaussian" (needs delta > 0), or another family
    of hush.calibrate. None chooses the one of these five whose estimate of a mean has the least variance: up to epsilon
    = 10, and for delta up to 0.01 min(1, epsilon), that is always "optimal".
    noise: a `LocalMean` or a noise in units of the range, such as `plan.best.noise` of `reports_needed`, instead of a
    family.

    Guarantees: each report is (epsilon, delta)-private for any change of a person's value, against everyone who sees
    the report (SaS paper, Definition 8). low and high must be public. Draws are exact, and no central party needs to
    be trusted. No ledger is charged: each device must keep account of its person's earlier reports.

    >>> reports = local([31, 47, 64], 1.0, 0, 100, delta=0.0, family="laplace")
    >>> reports.count, reports.noise
    (3, Laplace(scale=1.000000000000001))
    """
    start, end = local_range(low, high)
    must_be_entropy(entropy)
    chosen = local_noise(epsilon, delta=delta, family=family, noise=noise)
    held = _held(values)
    placed = _on_lattice(held.ravel(), start, end)  # one number alone has no axis
    if isinstance(chosen, LocalMean):
        return Reports(chosen.draw(placed, entropy), chosen, start, end, float(epsilon), float(delta))
    made = Mechanism(chosen, WHOLE_RANGE, 1.0 / STEPS, coordinates=max(held.size, 1))  # one number per person
    made.prepare()
    steps = unaccounted(made.charge).noise(made, placed, entropy=entropy) if held.size else placed
    return Reports(steps, chosen, start, end, float(epsilon), float(delta))


def _held(values: Any) -> NDArray[np.float64]:
    """The values as finite numbers; the error message does not quote them, because they are private."""
    try:
        array = np.asarray(values)
        if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
            raise TypeError
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(
            "values must be finite numbers, one for each person; drop missing values first, "
            "or replace them by a public value."
        ) from None
    if array.ndim > 1:
        raise InvalidParameter(
            f"values must be one number for each person, got an array with {array.ndim} axes; a person who reports "
            "several numbers pays for each: write one local(values[:, 0], ...) for each, with a part of epsilon."
        )
    return array.astype(np.float64)


def local_noise(
    epsilon: float, *, delta: float, family: str | None = None, noise: Law | LocalMean | None = None
) -> Law | LocalMean:
    """The noise, in units of the range, that `local` adds, or the `LocalMean` that it draws with."""
    budget, share = one_budget(epsilon), one_delta(delta)
    if noise is not None:
        return _given_noise(budget, share, family, noise)
    pure = _pure_epsilon(budget, share)
    clear = (
        share <= _SMALL_DELTA * min(1.0, budget) and BEST_FROM <= pure <= BEST_TO
    )  # the comparison of variances is known to end so
    if family == OPTIMAL or (family is None and clear):
        return local_mean(pure)
    if family is None:
        return min(_candidates(budget, share), key=variance_of)
    one_of("family", family, (OPTIMAL, *(row.name for row in catalogue.ranked(lattice=False))))
    if share == 0.0 and not catalogue.family(family).pure:
        raise InvalidParameter(f"{family} noise has no pure epsilon; write delta=1e-6, or family='laplace'.")
    if family in _SHAPED:
        return _SHAPED[family](budget)
    return calibrate(budget, share, WHOLE_RANGE, family=family).law


def _pure_epsilon(epsilon: float, delta: float) -> float:
    """A pure epsilon p that gives (epsilon, delta), rounded down: e^p = (e^epsilon + delta)/(1 - delta).

    Let P and Q be the reports' laws and a = P(S), b = Q(S). Pure privacy says a <= e^p b and 1 - b <= e^p (1 - a). The
    largest a - e^epsilon b under both is (e^p - e^epsilon)/(1 + e^p), where both are equalities, and this is delta.
    """
    if delta == 0.0:
        return epsilon
    return down(epsilon + math.log1p(delta * math.exp(-epsilon)) - math.log1p(-delta), ELEMENTARY)


def _given_noise(epsilon: float, delta: float, family: str | None, noise: Any) -> Law | LocalMean:
    """A noise object, checked against the budget."""
    if not isinstance(noise, Law | LocalMean):
        raise reject("noise", noise, "a noise such as Laplace(1.0)", "give the name of a family as family=")
    if family is not None:
        raise InvalidParameter(f"give either family={shown(family)} or noise=, not both.")
    if isinstance(noise, LocalMean):
        if noise.epsilon > _pure_epsilon(epsilon, delta):
            raise InvalidParameter(
                f"this LocalMean has epsilon {noise.epsilon:g}, which is too much for epsilon {epsilon:g} at delta "
                f"{delta:g}; leave noise= out."
            )
        return noise
    found = float(np.asarray(curve(noise, WHOLE_RANGE).epsilon(delta)))
    if found > epsilon:
        raise InvalidParameter(
            f"{in_words(noise)} has epsilon {found:.6g} at delta {delta:g}, more than {epsilon:g}; "
            "use a larger scale, or leave noise= out."
        )
    return noise


def _candidates(epsilon: float, delta: float) -> list[Law | LocalMean]:
    found: list[Law | LocalMean] = []
    for name in LOCAL_FAMILIES if delta > 0.0 else LOCAL_FAMILIES[:-1]:
        try:
            found.append(local_noise(epsilon, delta=delta, family=name))
        except HushError:  # this family has no member for this budget
            continue
    return found


def variance_of(noise: Law | LocalMean) -> float:
    """The variance of one report in the best estimate of a mean, in squared ranges."""
    if isinstance(noise, LocalMean):
        return noise.variance
    plain = noise.plain()
    try:
        return min(bounded(plain).variance, plain.variance)
    except HushError:
        return plain.variance


def local_range(low: Any, high: Any) -> tuple[float, float]:
    """The public range of the values, checked."""
    start, end = as_float("low", low, "a finite number"), as_float("high", high, "a finite number")
    if not (math.isfinite(start) and math.isfinite(end) and start < end and math.isfinite(end - start)):
        raise reject("high", high, f"a finite number greater than low = {start:g}", "write low=0, high=100")
    return start, end


def _on_lattice(values: NDArray[np.float64], low: float, high: float) -> NDArray[np.int64]:
    """floor((v - low)/(high - low) 2^20 + 1/2) for the clipped v; fractions decide where floats are near a tie."""
    clipped = np.clip(values, low, high)
    place = (clipped - low) / (high - low) * STEPS + 0.5
    steps = np.floor(place).astype(np.int64)
    for i in np.flatnonzero(np.abs(place - np.rint(place)) < 1e-6):  # the error of the floats is below 1e-9 here
        exact = (Fraction(float(clipped[i])) - Fraction(low)) / (Fraction(high) - Fraction(low))
        steps[i] = math.floor(exact * STEPS + Fraction(1, 2))
    return np.clip(steps, 0, STEPS)
