"""calibrate: the least noise of every family for a budget, ranked, and the reason for the choice."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from typing import Any

from hush.calibration.arguments import demand_of, family_names, must_have_pair, no_effect, other_budget
from hush.calibration.concentrated import for_sum_model, plan_for
from hush.calibration.extreme import extreme_budgets
from hush.calibration.fewer_facts import fewer_facts, least_possible
from hush.calibration.kept import kept_or_found
from hush.calibration.on_samples import choices_on_samples, must_fit_samples
from hush.calibration.optimum import optimal_choice, optimal_if_better
from hush.calibration.plan import Plan, RankedNoise, plan_of
from hush.calibration.request import LOSSES, VALUES, CalibrationRequest
from hush.calibration.scale import typical
from hush.calibration.units import as_scaled, best_of_each, in_box, in_unit_body, is_uneven, scaled_choices
from hush.errors import HushError, Unsupported, called_like, one_of
from hush.noise.catalogue import load_plugin, ranked, ranked_joint
from hush.noise.contract import Law
from hush.noise.family import Family
from hush.numerics.rounding import TIED, up
from hush.privacy.budget import Budget
from hush.privacy.sensitivity import Sensitivity

__all__ = ["LOSSES", "Plan", "RankedNoise", "calibrate"]

#: Below this delta, the optimum over all noises was within 1 % of the best family wherever it was computed. From it on,
#: a linear programme is solved.
_LARGE_DELTA = 0.005
#: Joint noise with less than this share of the loss of all closed forms is not compared with slow families.
_FAR = 0.8
#: Steps. A noise on the whole numbers of at least this scale has practically the loss of the continuous noise: the
#: gain is 1 part in 6 scale^2.
_WIDE = 500.0
#: The name that stands for all families of independent noise: it leaves joint noise out of the ranking.
_INDEPENDENT = "independent"


def _calibrated(demand: CalibrationRequest, row: Family) -> Law:
    """The family's best noise for the request."""
    if row.calibrate is not None:
        return row.calibrate(demand)
    if row.shape is not None:
        return demand.search(row)
    if row.unit is None:
        raise Unsupported("this family has no calibration rule; its Family needs calibrate, shape or unit")
    unit = row.unit()
    return demand.at_scale(unit, demand.rough_size / max(typical(unit), 1e-300))


@called_like("calibrate(epsilon=1.0, delta=1e-6)")
def calibrate(
    epsilon: float | None = None,
    delta: float | None = None,
    sensitivity: Any = 1.0,
    *,
    family: str | None = None,
    loss: str = "variance",
    times: int = 1,
    notion: str = "dp",
    step: float | None = None,
    values: str = "real",
    weights: Sequence[float] | None = None,
    rho: float | None = None,
    mu: float | None = None,
    rate: float | None = None,
) -> Plan:
    """The least noise that gives (epsilon, delta) for a sensitivity, released `times` times. In place of the pair,
    rho= is a budget of zero-concentrated privacy and mu= one of Gaussian differential privacy.

    family=None ranks every family that has a proof for this sensitivity; a name selects that family ("optimal" solves
    for the best of all noises, for one number only). loss is "variance", "mae", "p95" or "p999". delta = 0 allows pure
    mechanisms only. notion="pdp" is probabilistic privacy (Gaussian only). step= calibrates noise on the lattice of
    that step. values="integer" states that answers are whole numbers that move by whole numbers, such as counts: then
    noise on the whole numbers is compared as well. That has an effect only if every sensitivity is a whole number
    (linf, with l0 or dimension) and step is not given; otherwise `plan.why` states that it had none. weights=(1, 2, 1)
    minimises the weighted average of the losses of the numbers; it is never worse than equal weights by this measure.
    rate= states that each release is made on its own Poisson sample of the people, as in `hush.subsample`; independent
    noise is compared then.

    Guarantees: hush.delta(plan.noise, epsilon, sensitivity, times=times) <= delta (with a rate, that of
    hush.compose([hush.subsample(plan.noise, rate, sensitivity, times=times)])). The noise is never worse than the
    better of Laplace and Gaussian.

    >>> plan = calibrate(1.0, 1e-6)
    >>> plan.family, round(plan.variance, 4)
    ('staircase', 1.9181)
    >>> round(calibrate(1.0, 1e-6, values="integer").variance, 4)
    1.8413
    """
    one_of("values", values, VALUES)
    share = None if rate is None else must_fit_samples(rate, notion, weights, (rho, mu))
    if rho is not None or mu is not None:
        given = (sensitivity, loss, times, notion, step, weights)
        return _other_budget(other_budget(epsilon, delta, rho, mu), given, family, values)
    must_have_pair(epsilon, delta)
    demand = demand_of(epsilon, delta, sensitivity, loss, times, notion, step, weights, share)
    demand = dataclasses.replace(demand, rival=math.inf if family in (None, _INDEPENDENT) else None)
    if family == "optimal" and share is None:
        return plan_of(demand, tuple(kept_or_found(demand, family, values, lambda: [optimal_choice(demand)])))
    remark = no_effect(demand) if values == "integer" else ""
    if share is not None:
        remark = f"each release is on its own Poisson sample of rate {share:g}"
    whole_numbers = values == "integer" and not remark
    with extreme_budgets(demand.epsilon, demand.delta, lattice=False):
        choices = kept_or_found(demand, family, values, lambda: _choices(demand, family, whole_numbers=whole_numbers))
    present = _ranked([c for c in choices if c.noise is not None])
    if not present:
        reasons = "; ".join(f"{c.family}: {c.reason}" for c in choices)
        raise Unsupported(f"no family meets epsilon = {demand.epsilon:g}, delta = {demand.delta:g} here ({reasons}).")
    ranking = (*present, *(c for c in choices if c.noise is None))
    return plan_of(demand, ranking, remark, "real" if remark else values)


def _other_budget(budget: Budget, given: tuple[Any, ...], family: str | None, values: str) -> Plan:
    """The plan for a budget in rho or mu."""
    sensitivity, loss, times, notion, step, weights = given
    demand = demand_of(budget.epsilon, budget.delta, sensitivity, loss, times, notion, step, weights)
    pure = for_sum_model(budget, demand.times)
    options = {"family": family, "loss": loss, "step": step, "values": values, "weights": weights}
    return plan_for(budget, demand, family, lambda: calibrate(pure, 0.0, sensitivity, **options))


def _choices(demand: CalibrationRequest, family: str | None, *, whole_numbers: bool) -> list[RankedNoise]:
    """The least noise of every family to compare, or the reason why a family has none."""
    if demand.rate is not None:
        return choices_on_samples(demand, family, _calibrated)
    load_plugin(family)
    rows, joint = ranked(lattice=demand.step is not None), _joint_rows(demand, family)
    if family not in (None, _INDEPENDENT):
        one_of("family", family, family_names(lattice=demand.step is not None))
        rows = tuple(row for row in rows if row.name == family)
    together = _joint_choices(demand, joint, whole_numbers=whole_numbers)
    if demand.weights:  # what is best for equal weights is compared too
        equal = _choices(dataclasses.replace(demand, weights=()), family, whole_numbers=whole_numbers)
        again = [c if c.noise is None else dataclasses.replace(c, loss=demand.value(c.noise)) for c in equal]
        return best_of_each([*again, *together, *_with_factors(in_box(demand), rows, joint)])
    box = in_box(demand)
    uneven = family is None and is_uneven(box)
    if uneven:
        boxed = [] if box is demand else _joint_choices(box, joint, whole_numbers=whole_numbers)
        together = best_of_each([*together, *boxed, *_with_factors(box, rows, joint)])
    left_out: list[RankedNoise] = []
    if family is None and together:
        rows, left_out = _worth_comparing(demand, rows, min(c.loss for c in together))
    choices = _of_each(demand, rows)
    if not uneven:
        choices = _with_fewer_facts(demand, rows, choices)
    elif (fewer := fewer_facts(demand.bound)) is not None:
        choices = [_or_for(fewer, demand, row, found) for row, found in zip(rows, choices, strict=True)]
    if family is None and demand.delta >= _LARGE_DELTA:
        choices += optimal_if_better(demand, choices)
    if whole_numbers:
        choices = _on_whole_numbers(demand, choices)
    return best_of_each([*choices, *together, *left_out])


def _of_each(demand: CalibrationRequest, rows: tuple[Family, ...]) -> list[RankedNoise]:
    """The choice of each family. Those that may be left out come last, when the losses of the others are known."""
    last = {row.name for row in rows if row.shape is not None and row.shape.like_laplace is None}
    found: dict[str, RankedNoise] = {}
    for row in sorted(rows, key=lambda row: row.name in last):
        best = min((choice.loss for choice in found.values()), default=math.inf)
        rival = None if demand.rival is None else min(demand.rival, best)
        found[row.name] = _for_these_facts(dataclasses.replace(demand, rival=rival), row)
    return [found[row.name] for row in rows]


def _with_factors(demand: CalibrationRequest, rows: tuple[Family, ...], joint: tuple[Family, ...]) -> list[RankedNoise]:
    """Noise with a factor for each number, where closed forms give the factors: independent numbers, and ball noise."""
    if demand.step is not None or not is_uneven(demand) or demand.bound.columns is not None:
        return []
    used = [row for row in rows if row.closed_form] + [row for row in joint if not row.type.discrete]
    return [c for c in scaled_choices(demand, used, _for_these_facts) if c.noise is not None]


def _joint_choices(demand: CalibrationRequest, rows: tuple[Family, ...], *, whole_numbers: bool) -> list[RankedNoise]:
    """The least noise of every joint family. Noise on a lattice is tried on the whole numbers too."""
    real, factors = in_unit_body(demand.of_one_group)
    whole = [dataclasses.replace(real, step=1.0), real] if whole_numbers and factors is None else [real]
    tried = {row.name: whole if row.type.discrete else [real] for row in rows}
    best = [min((_choice(one, row) for one in tried[row.name]), key=lambda c: c.loss) for row in rows]
    best = [as_scaled(demand, choice, factors) for choice in best]
    fewer = fewer_facts(demand.bound) if whole_numbers and factors is not None else None
    if fewer is None:
        return best
    largest = dataclasses.replace(demand, bound=fewer)  # noise on the whole numbers needs one bound for all of them
    return best_of_each([*best, *_joint_choices(largest, rows, whole_numbers=True)])


def _worth_comparing(
    demand: CalibrationRequest, rows: tuple[Family, ...], joint: float
) -> tuple[tuple[Family, ...], list[RankedNoise]]:
    """The families that can compete with joint noise of this loss, and the others with the reason.

    Families with closed forms are always compared. If joint noise has less than 0.8 times the loss of all of them, the
    slow families are left out: wherever they were computed for several numbers, they had at least 0.86 times the loss
    of the best closed form.
    """
    quick = tuple(row for row in rows if row.closed_form)
    best = min((_for_these_facts(demand, row).loss for row in quick), default=math.inf)
    if not joint < _FAR * best:
        return rows, []
    why = "not compared: joint noise has much less loss than Laplace, staircase and Gaussian noise"
    return quick, [RankedNoise(row.name, reason=why) for row in rows if row not in quick]


def _joint_rows(demand: CalibrationRequest, family: str | None) -> tuple[Family, ...]:
    """The joint noises to compare: those that are named, or all of them if several numbers are known to move."""
    several = len(demand.bound.of_one_group.each_move) > 1
    return tuple(row for row in ranked_joint() if row.name == family or (family is None and several))


def _on_whole_numbers(demand: CalibrationRequest, choices: list[RankedNoise]) -> list[RankedNoise]:
    """Replace a choice by its whole-number version if that has less loss.

    It is tried only if the family has `on_whole_numbers` and the scale of pure noise is small. The pure member is
    evaluated first, and a calibration follows only if that is near the best. Other noises are rounded to a fine
    lattice, which costs under 0.1 %.
    """
    best, lattice = min((c.loss for c in choices), default=math.inf), dataclasses.replace(demand, step=1.0)
    scale = math.fsum(shift * count for shift, count in demand.bound.shifts) * demand.times / demand.epsilon
    rules = {row.name: row for row in ranked() if row.on_whole_numbers is not None} if scale < _WIDE else {}
    found = []
    for choice in choices:
        row = rules.get(choice.family)
        on_lattice = None if row is None or row.on_whole_numbers is None else row.on_whole_numbers(scale)
        if row is not None and on_lattice is not None and demand.value(on_lattice) <= 1.1 * best:
            found.append(min(choice, _choice(lattice, row), key=lambda c: c.loss))
        else:
            found.append(choice)
    return found


def _ranked(choices: list[RankedNoise]) -> list[RankedNoise]:
    """Least loss first. Of those within 1e-4 of the least, the simplest family (in the catalogue's order) comes
    first.
    """
    ranked = sorted(choices, key=lambda c: c.loss)
    tied = [c for c in choices if c.loss <= up(ranked[0].loss, TIED)] if ranked else []
    return tied[:1] + [c for c in ranked if c is not tied[0]] if tied else ranked


def _choice(demand: CalibrationRequest, row: Family) -> RankedNoise:
    """The family's best noise: for all facts together, or for fewer facts, if its rule for those finds less noise."""
    return _with_fewer_facts(demand, (row,), [_for_these_facts(demand, row)])[0]


def _with_fewer_facts(
    demand: CalibrationRequest, rows: Sequence[Family], choices: list[RankedNoise]
) -> list[RankedNoise]:
    """Each choice, or the one for fewer facts. Those are not tried if no noise for them can beat the best choice."""
    fewer, best = fewer_facts(demand.bound), min((c.loss for c in choices), default=math.inf)
    if fewer is None or best < least_possible(demand, fewer):
        return choices
    if demand.rival is not None:
        demand = dataclasses.replace(demand, rival=min(demand.rival, best))
    return [_or_for(fewer, demand, row, found) for row, found in zip(rows, choices, strict=True)]


def _or_for(fewer: Sensitivity, demand: CalibrationRequest, row: Family, found: RankedNoise) -> RankedNoise:
    if found.noise is not None and demand.bound.is_box:  # rules for boxes use every fact
        return found
    other = _for_these_facts(dataclasses.replace(demand, bound=fewer), row)
    try:
        return other if other.loss < found.loss and other.noise is not None and demand.meets(other.noise) else found
    except HushError:  # no theorem covers the noise under all facts together
        return found


def _for_these_facts(demand: CalibrationRequest, row: Family) -> RankedNoise:
    if demand.notion not in row.notions:
        return RankedNoise(row.name, reason="probabilistic privacy is calibrated for the Gaussian only")
    try:
        noise = _calibrated(demand, row)
    except HushError as failure:
        return RankedNoise(row.name, reason=str(failure).rstrip("."))
    value = demand.value(noise)
    if not math.isfinite(value):
        return RankedNoise(row.name, reason=f"its {demand.loss} is infinite")
    return RankedNoise(row.name, noise=noise, loss=value)
