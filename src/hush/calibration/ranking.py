"""The least noise for a budget: the smallest noise of every family, the best family, and why."""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from hush.calibration.request import LOSSES, CalibrationRequest, half_width
from hush.calibration.scale import typical
from hush.errors import HushError, InvalidParameter, Unsupported, budgets, called_like, deltas, one_of, positive, whole
from hush.noise import gaussian, laplace
from hush.noise.catalogue import in_words, ranked
from hush.noise.contract import Law
from hush.noise.family import Family
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import TIED, up
from hush.privacy.charge import Guarantee
from hush.privacy.sensitivity import Sensitivity

__all__ = ["LOSSES", "Plan", "RankedNoise", "calibrate"]


#: What answers may be.
VALUES = ("real", "integer")

#: Below this the optimum over all noises was within 1 % of the best family wherever it was computed; above, it is
#: worth a linear programme.
_LARGE_DELTA = 0.005


@dataclass(frozen=True)
class RankedNoise:
    """One row of a ranking: a calibrated noise, or the reason why the family is absent."""

    family: str
    noise: Law | None = None
    loss: float = math.inf
    reason: str = ""

    @property
    def variance(self) -> float:
        """E X^2 of the noise."""
        return self.noise.variance if self.noise is not None else math.inf

    @property
    def mean_abs(self) -> float:
        """E |X| of the noise."""
        return self.noise.mean_abs if self.noise is not None else math.inf

    @property
    def half_width999(self) -> float:
        """Half the width of the interval that holds the noise 99.9 % of the time."""
        return half_width(self.noise, 0.001) if self.noise is not None else math.inf


def _optimal(demand: CalibrationRequest) -> Law:
    from hush.calibration.limit import optimal

    if not demand.plain or demand.count != 1 or demand.loss not in ("variance", "mae") or demand.step is not None:
        raise Unsupported("the optimal noise is computed for one number, and for variance or mae")
    return optimal(demand.epsilon, demand.delta, demand.shift, loss=demand.loss)


def _calibrated(demand: CalibrationRequest, row: Family) -> Law:
    """The family's best noise for the demand."""
    if row.calibrate is not None:
        return row.calibrate(demand)
    if row.shape is not None:
        return demand.search(row)
    if row.unit is None:
        raise Unsupported("no rule to calibrate this family; its Family needs calibrate, shape or unit")
    unit = row.unit()
    return demand.at_scale(unit, demand.rough_size / max(typical(unit), 1e-300))


@dataclass(frozen=True)
class Plan:
    """A calibrated noise, with everything it was compared with.

    `ranking` lists one `RankedNoise` per family, best first, then the absent ones with their reasons.
    """

    noise: Law
    family: str
    epsilon: float
    delta: float
    sensitivity: Sensitivity
    times: int
    loss: str
    notion: str
    step: float | None
    ranking: tuple[RankedNoise, ...] = field(repr=False)

    @property
    def guarantee(self) -> Guarantee:
        """What the noise keeps, over all releases."""
        return Guarantee(self.epsilon, self.delta, self.times, self.notion, self.sensitivity.neighbours)

    @property
    def variance(self) -> float:
        """E X^2 of the chosen noise."""
        return self.noise.variance

    @property
    def mean_abs(self) -> float:
        """E |X| of the chosen noise."""
        return self.noise.mean_abs

    @property
    def value(self) -> float:
        """The loss that was made least."""
        return LOSSES[self.loss](self.noise)

    @cached_property
    def limit(self) -> Bracket | None:
        """The least loss that any additive noise can have, for one number and variance or mae; None where no limit is
        known.
        """
        box = (
            self.sensitivity.is_box
            and self.sensitivity.l0 == 1
            and self.times == 1
            and not isinstance(self.sensitivity.linf, tuple)
        )
        if not box or self.loss not in ("variance", "mae") or self.noise.discrete or self.notion != "dp":
            return None
        from hush.calibration.limit import limit

        return limit(self.epsilon, self.delta, self.sensitivity.linf, loss=self.loss)  # type: ignore[arg-type]

    @property
    def why(self) -> str:
        """One sentence: what to use, and what the alternatives would cost."""
        present = [choice for choice in self.ranking if choice.noise is not None]
        text = f"Use {in_words(self.noise)}{', the optimum over all noises' if self.family == 'optimal' else ''}"
        text += f": its {self.loss} is {self.value:.6g}"
        equal = [c.family for c in present if c.loss < self.value]
        if equal:  # see _ranked
            text += f"; {' and '.join(equal)}, less plain, would save under 0.01 %"
        rival = next((c for c in present if c.noise is not self.noise and c.loss > self.value), None)
        if rival is not None:
            text += f"; next comes {'the family ' * (self.family == 'optimal')}{rival.family} at {rival.loss / self.value:.4g} times that"
        for name in (laplace.FAMILY.name, gaussian.FAMILY.name):
            other = next((c for c in present if c.family == name), None)
            if other is not None and name not in (self.family, rival.family if rival else ""):
                text += f", {name} at {other.loss / self.value:.4g} times"
        return text + "."


@called_like("calibrate(epsilon=1.0, delta=1e-6)")
def calibrate(
    epsilon: float,
    delta: float,
    sensitivity: Any = 1.0,
    *,
    family: str | None = None,
    loss: str = "variance",
    times: int = 1,
    notion: str = "dp",
    step: float | None = None,
    values: str = "real",
) -> Plan:
    """The least noise that gives (epsilon, delta) for a sensitivity, released `times` times.

    family=None ranks every family that has a proof for this sensitivity; a name takes that one ("optimal" solves for
    the best of all noises, one number only). loss: "variance", "mae", "p95" or "p999". delta = 0 keeps to pure
    mechanisms. notion="pdp" is probabilistic privacy (Gaussian only). step= calibrates noise that lives on the
    lattice of that step. values="integer" promises that answers are whole numbers that move by whole numbers, such as
    counts: then noise on the whole numbers is compared as well.

    Guarantees: hush.delta(plan.noise, epsilon, sensitivity, times=times) <= delta; never worse than the better of
    Laplace and Gaussian.

    >>> plan = calibrate(1.0, 1e-6)
    >>> plan.family, round(plan.variance, 4)
    ('staircase', 1.9181)
    >>> round(calibrate(1.0, 1e-6, values="integer").variance, 4)
    1.8413
    """
    demand = _demand(epsilon, delta, sensitivity, loss, times, notion, step)
    one_of("values", values, VALUES)
    if family == "optimal":
        noise = _optimal(demand)
        return _plan(demand, (RankedNoise("optimal", noise, demand.value(noise)),))
    rows = ranked(lattice=step is not None)
    if family is not None:
        one_of("family", family, (*(row.name for row in rows), "optimal"))
        rows = tuple(row for row in rows if row.name == family)
    choices = [_choice(demand, row) for row in rows]
    if family is None and demand.delta >= _LARGE_DELTA:
        choices += _optimal_if_better(demand, choices)
    if values == "integer":
        choices = _on_whole_numbers(demand, choices)
    present = _ranked([c for c in choices if c.noise is not None])
    if not present:
        reasons = "; ".join(f"{c.family}: {c.reason}" for c in choices)
        raise Unsupported(f"no family meets epsilon = {demand.epsilon:g}, delta = {demand.delta:g} here ({reasons}).")
    return _plan(demand, (*present, *(c for c in choices if c.noise is None)))


def _on_whole_numbers(demand: CalibrationRequest, choices: list[RankedNoise]) -> list[RankedNoise]:
    """Replaces a choice by its whole-number version if that has less loss.

    It is tried only if every sensitivity is a whole number and the family has `on_whole_numbers`; the pure member is
    looked at first, and a calibration follows only if that is near the best. Other noises are rounded to a fine
    lattice, which costs under 0.1 %.
    """
    if (
        demand.step is not None
        or not demand.bound.is_box
        or not all(float(shift).is_integer() for shift, _ in demand.bound.shifts)
    ):
        return choices
    best, lattice = min((c.loss for c in choices), default=math.inf), dataclasses.replace(demand, step=1.0)
    total = math.fsum(shift * count for shift, count in demand.bound.shifts) * demand.times
    found = []
    for choice in choices:
        row = next((row for row in ranked() if row.name == choice.family), None)
        on_lattice = (
            None if row is None or row.on_whole_numbers is None else row.on_whole_numbers(total / demand.epsilon)
        )
        if row is not None and on_lattice is not None and demand.value(on_lattice) <= 1.1 * best:
            found.append(min(choice, _choice(lattice, row), key=lambda c: c.loss))
        else:
            found.append(choice)
    return found


def _optimal_if_better(demand: CalibrationRequest, choices: list[RankedNoise]) -> list[RankedNoise]:
    """The optimum over all noises, where it beats every family by more than 1 %."""
    try:
        noise = _optimal(demand)
    except HushError:
        return []
    value = demand.value(noise)
    return [RankedNoise("optimal", noise, value)] if value < 0.99 * min(c.loss for c in choices) else []


def _ranked(choices: list[RankedNoise]) -> list[RankedNoise]:
    """Least loss first; of those within 1e-4 of the least, the plainest family (the catalogue's order) leads."""
    ranked = sorted(choices, key=lambda c: c.loss)
    tied = [c for c in choices if c.loss <= up(ranked[0].loss, TIED)] if ranked else []
    return tied[:1] + [c for c in ranked if c is not tied[0]] if tied else ranked


def _demand(
    epsilon: Any, delta: Any, sensitivity: Any, loss: str, times: int, notion: str, step: float | None
) -> CalibrationRequest:
    budget, share = budgets("epsilon", epsilon), deltas("delta", delta, zero=True)
    if budget.ndim or share.ndim:
        raise InvalidParameter("calibrate takes one epsilon and one delta; call it once for each pair.")
    one_of("loss", loss, LOSSES)
    one_of("notion", notion, ("dp", "pdp"))
    lattice = None if step is None else positive("step", step)
    return CalibrationRequest(
        float(budget), float(share), Sensitivity.of(sensitivity), whole("times", times), loss, lattice, notion
    )


def _choice(demand: CalibrationRequest, row: Family) -> RankedNoise:
    if demand.notion not in row.notions:
        return RankedNoise(row.name, reason="probabilistic privacy is calibrated for the Gaussian only")
    try:
        noise = _calibrated(demand, row)
    except HushError as failure:
        return RankedNoise(row.name, reason=str(failure).rstrip("."))
    value = demand.value(noise)
    if not math.isfinite(value):
        return RankedNoise(row.name, reason=f"its {demand.loss} is infinite")
    return RankedNoise(row.name, noise, value)


def _plan(demand: CalibrationRequest, ranking: tuple[RankedNoise, ...]) -> Plan:
    best = ranking[0]
    assert best.noise is not None
    return Plan(
        best.noise,
        best.family,
        demand.epsilon,
        demand.delta,
        demand.bound,
        demand.times,
        demand.loss,
        demand.notion,
        demand.step,
        ranking,
    )
