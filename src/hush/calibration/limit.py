"""The least loss that any additive noise can have: a bracket for one number, for a vector, and on a lattice."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from hush.calibration.lower_limit import lower_limit
from hush.calibration.one_number import checked, least, reached, spread_cost
from hush.calibration.plan import Plan, RankedNoise
from hush.calibration.ranking import calibrate
from hush.calibration.request import VALUES
from hush.errors import Unsupported, one_of
from hush.noise.contract import Noise
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import FEW_ROUNDINGS, SPECIAL_FUNCTION, down, up
from hush.privacy.sensitivity import Sensitivity

__all__ = ["limit", "limit_of_plan"]


def limit(
    epsilon: float, delta: float, sensitivity: Any = 1.0, *, loss: str = "variance", values: str = "real"
) -> Bracket:
    """A bracket on the least variance (or mean absolute error, loss="mae") of any additive (epsilon, delta)-private
    noise. For several numbers it is the average over the numbers.

        inf over laws of X of E X^2 (or E |X|), where P(X + s in S) <= e^eps P(X in S) + delta for all S and every move
        s that the sensitivity allows

    Guarantees: lower <= infimum <= upper, for every law: symmetric or not, unimodal or not, discrete or continuous.
    values="real": answers and moves are real numbers. values="integer": answers, moves and noise are whole numbers.

    One number. Why symmetric is enough: X and -X have the same loss and the same privacy (shifts come in both signs),
    and the hockey-stick divergence is convex, so half of each is as private and as small; the mean may be subtracted,
    so the least variance is the least E X^2. The lower end has three steps.

    1. Rounding. For answers that are whole multiples of h = sensitivity/m, round the output to one of its two lattice
       neighbours at random and without bias: post-processing, so the rounded X is a private lattice noise. It costs f
       (1 - f) h^2 <= h^2/4 of variance, and no mean absolute error at all, as |x| is linear between lattice points.
       Hence V >= V_lattice - h^2/4 (better than (sqrt V_lattice - h/2)^2) and M >= M_lattice.
    2. Duality. Any weights mu_j >= 0 and tests 0 <= phi_j(t) <= 1 give E c(X) >= lambda - delta sum_j mu_j as soon
       as, at every lattice point x, c(x) + sum_j mu_j (phi_j(x) - e^eps phi_j(x - j h)) >= lambda. HiGHS proposes
       them; lambda is recomputed in floating point with its round-off subtracted. Beyond the last listed point each
       phi_j is constant (0 or 1) and c grows, so one more inequality covers the whole tail: the range is not truncated.
    3. Where the noise is wide against the sensitivity, group privacy coarsens the lattice: a shift by g sensitivities
       is (g eps, delta (e^(g eps) - 1)/(e^eps - 1))-private, and truncated Laplace noise shows that little is lost.

    The upper end is the loss of an explicit noise: `optimal`, staircase, truncated Laplace or Laplace, whichever is
    least. At delta = 0 the staircase is optimal (Geng and Viswanath 2014, Theorems 4 and 5) and both ends are its loss.
    Width, measured: 0.3 % or less (0.4 % for the mean absolute error) for epsilon up to 7 and delta up to 1e-3, 1.5 %
    for delta up to 0.1; it grows for delta near 1 and for epsilon above 10, where the lattice is coarse against the
    first step.

    Several numbers. The lower end is the largest of these bounds, proved in docs/maths/limit.md: weighted sums of the
    numbers are noise for one number (every delta); a linear programme for few whole numbers that move by 1; the volume
    of the moves, and a vector field (delta = 0). The upper end is the noise that `calibrate` chooses, so this takes as
    long as `calibrate`. Except for few whole numbers the bracket is wide: the true limit is not known. An l0 without a
    dimension assumes that there are at least l0 numbers.

    >>> bracket = limit(0.3, 1e-6)
    >>> bracket.contains(22.1283), bracket.width < 0.02
    (True, True)
    >>> ten = limit(1.0, 0.0, Sensitivity(linf=1.0, dimension=10))
    >>> round(ten.lower, 2), round(ten.upper, 2)
    (19.18, 44.0)
    """
    epsilon, delta, loss = checked(epsilon, delta, loss)
    bound, step = Sensitivity.of(sensitivity), 1.0 if one_of("values", values, VALUES) == "integer" else None
    if step is None and _is_one_number(bound):
        scale = bound.shifts[0][0] ** (2 if loss == "variance" else 1)
        return Bracket(least(epsilon, delta, loss) * scale, reached(epsilon, delta, loss) * scale)
    lower = lower_limit(epsilon, delta, bound, loss, step)
    return Bracket(lower, _reached(calibrate(epsilon, delta, bound, loss=loss, values=values).ranking, loss, step))


def limit_of_plan(plan: Plan) -> Bracket | None:
    """The limit for the noises of a plan's ranking, continuous or on their lattices; None where no limit is known."""
    present = [c for c in plan.ranking if c.noise is not None]
    if plan.weights or any(c.noise.factors is not None for c in present if c.noise is not None):
        return _limit_of_uneven_plan(plan, present)
    steps = {c.noise.step if c.noise.discrete else None for c in present if c.noise is not None}
    steps |= {1.0} if plan.values == "integer" else set()
    try:
        if steps == {None} and _is_one_number(plan.sensitivity):
            return limit(plan.epsilon, plan.delta, plan.sensitivity, loss=plan.loss)
        epsilon, delta, loss = checked(plan.epsilon, plan.delta, plan.loss)
        lower = min(lower_limit(epsilon, delta, plan.sensitivity, loss, step) for step in steps)
        if plan.values == "integer":  # every noise becomes one on the whole numbers by rounding without bias
            cost = 0.25 if loss == "variance" and steps != {1.0} else 0.0
            lower = max(lower, lower_limit(epsilon, delta, plan.sensitivity, loss, 1.0) - cost)
    except Unsupported:
        return None
    return Bracket(lower, up(min(c.loss for c in present), SPECIAL_FUNCTION))


def _limit_of_uneven_plan(plan: Plan, present: list[RankedNoise]) -> Bracket | None:
    """The limit if the bounds or the weights of the numbers differ.

    The weighted average of the losses is the average of the losses of the numbers times w_j^(1/p), divided by the
    average weight (p = 2 for the variance, else 1). Those are numbers whose bounds are multiplied by w_j^(1/p). A noise
    on a lattice becomes a real one if its points are spread over their cells.
    """
    epsilon, delta, loss = checked(plan.epsilon, plan.delta, plan.loss)
    bound, power = plan.sensitivity, 0.5 if loss == "variance" else 1.0
    count = len(bound.each_move)
    weights = plan.weights or (1.0,) * count
    moves = tuple(down(move * w**power, FEW_ROUNDINGS) for move, w in zip(bound.each_move, weights, strict=True))
    wider = replace(bound, linf=moves[0] if len(set(moves)) == 1 else moves, dimension=count)
    real = down(lower_limit(epsilon, delta, wider, loss, None) * count / math.fsum(weights), FEW_ROUNDINGS)
    noises = [c.noise for c in present if c.noise is not None]
    each = {noise: max(real - up(spread_of(noise, loss, weights), FEW_ROUNDINGS), 0.0) for noise in noises}
    if not plan.weights:  # noise on one lattice for all numbers has a bound of its own
        plain = {noise.step for noise in noises if noise.discrete and noise.factors is None}
        own = {step: lower_limit(epsilon, delta, bound, loss, step) for step in plain}
        each |= {n: max(each[n], own[n.step]) for n in noises if n.discrete and n.factors is None}
    lower = min(each.values())
    return Bracket(lower, up(min(c.loss for c in present), SPECIAL_FUNCTION))


def spread_of(noise: Noise, loss: str, weights: tuple[float, ...] = ()) -> float:
    """The weighted average cost of spreading the points of a lattice noise over their cells; 0 for other noises."""
    if not noise.discrete:
        return 0.0
    steps = [noise.step * factor for factor in noise.factors or (1.0,) * (noise.dimension or 1)]
    shares = weights or (1.0,) * len(steps)
    costs = (share * spread_cost(step, loss) for share, step in zip(shares, np.resize(steps, len(shares)), strict=True))
    return math.fsum(costs) / math.fsum(shares)


def _is_one_number(bound: Sensitivity) -> bool:
    return bound.one_number is not None and not isinstance(bound.linf, tuple)


def _reached(ranking: Iterable[RankedNoise], loss: str, step: float | None) -> float:
    """The least loss in a ranking, if every noise is brought to the real numbers or to the lattice of `step`.

    A noise on a finer or equal lattice becomes a real one if its points are spread over their cells. A continuous noise
    becomes a lattice noise by rounding at random without bias, which adds at most step^2/4 to E X^2, and nothing to
    E |X|, because |x| is linear between lattice points.
    """
    found = []
    for noise, value in ((c.noise, c.loss) for c in ranking if c.noise is not None):
        cost = 0.0
        if noise.discrete and (step is None or noise.factors is not None):
            cost = spread_of(noise, loss) + (0.25 * (step or 0.0) ** 2 if loss == "variance" else 0.0)
        elif not noise.discrete and step is not None and loss == "variance":
            cost = 0.25 * step * step
        found.append(value + cost)
    return up(min(found), SPECIAL_FUNCTION)
