"""What a fit does before it scales its columns: it finds bounds, and it keeps the best columns, by private choices.

The steps are planned from public facts, and their charges are paid with those of the fit. The rest of the fit then has
narrower bounds and fewer columns. Its noise is found by the exact composition with the choices.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.learn.choices import Choice, gaussian_amount, share_of
from hush.learn.row_source import RowSource
from hush.learn.scaling import Scaling, Span
from hush.learn.screening import KeptColumns, Screen, columns_to_keep, screen_plan
from hush.learn.windows import Windows, windows_plan
from hush.privacy.charge import Charge

if TYPE_CHECKING:
    from hush.learn.paid import Paid
    from hush.learn.planning import Plan, Request
    from hush.learn.training import Fit

__all__ = ["NO_STEPS", "FirstSteps", "first_steps", "take"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class FirstSteps:
    """The plan of the first steps: nothing, bounds, columns or both; and the number of columns that are left."""

    width: int
    windows: Windows | None = None
    screen: Screen | None = None
    #: the part of the budget that the choices use, about
    share: float = 0.0

    @property
    def choices(self) -> tuple[Choice, ...]:
        return tuple(choice for step in (self.windows, self.screen) if step is not None for choice in step.choices)

    @property
    def charges(self) -> tuple[Charge, ...]:
        return tuple(choice.charge for choice in self.choices if math.isfinite(choice.range))


NO_STEPS = FirstSteps(0)


def first_steps(request: Request, rows: int, epsilon: float, delta: float) -> FirstSteps:
    """The plan of the first steps, from public facts."""
    span, target, (in_features, in_target) = request.span, request.target_span, request.find_bounds
    private = not math.isinf(epsilon)
    amount = gaussian_amount(epsilon, max(delta, 1e-9)) if private else 0.0
    relation = request.relation
    keep = columns_to_keep(request.keep, span.low.size, rows / relation.moves, amount, sparse=request.l1 > 0.0)
    windows, bounds = None, in_features or (in_target and target is not None)
    if private and request.accounting != "exact" and (bounds or keep is not None):
        raise Unsupported(
            "zCDP accounting has no theorem for private bounds or for a choice of columns; write accounting='exact'."
        )
    if bounds:
        sought = span if in_features else None, target if in_target else None
        windows = windows_plan(*sought, rows, epsilon, delta, relation=relation)
    screen = None
    if keep is not None:
        screen = screen_plan(keep, span, target, rows, epsilon, delta, found=in_features, relation=relation)
    made = FirstSteps(span.low.size if keep is None else keep, windows, screen)
    if not made.choices or not private:
        return made
    used = math.fsum(share_of(choice.range, choice.times, epsilon, delta) for choice in made.choices)
    return replace(made, share=used)


@dataclass(frozen=True)
class Taken:
    """The first steps of a fit, done: its plan with the bounds and columns that are left, and the kept columns."""

    plan: Plan
    #: the kept columns of the rows
    source: RowSource
    #: the bounds of all columns
    span: Span
    kept: NDArray[np.int64] | None

    def whole(self, fit: Fit, made: Plan) -> Fit:
        """The fit with a coefficient 0 for every column that was not kept."""
        if self.kept is None:
            return replace(fit, plan=made)
        width, kept = self.span.low.size, self.kept
        coefficients = np.zeros((*fit.coefficients.shape[:-1], width))
        coefficients[..., kept] = fit.coefficients
        outer, inner = Scaling.public(self.span), fit.scaling
        parts = {}
        for name in ("centre", "spread", "low", "high"):
            values = getattr(outer, name).copy()
            values[kept] = getattr(inner, name)[: kept.size]
            parts[name] = np.concatenate([values, getattr(inner, name)[kept.size :]])
        return replace(fit, coefficients=coefficients, scaling=Scaling(**parts), plan=made, kept=kept)


def take(made: Plan, source: RowSource, paid: Paid) -> Taken:
    """Find the bounds and the columns of a fit that was paid for."""
    request, first = made.request, made.first
    span, target, kept = request.span, request.target_span, None
    if first.windows is not None:
        span, target = first.windows.found(span, target, source, paid)
    if first.screen is not None:
        kept = first.screen.kept(span, target, source, paid)
    left, columns = span, source
    if kept is not None:
        left, columns = Span(span.low[kept], span.high[kept]), KeptColumns(source, kept)
    return Taken(replace(made, request=replace(request, span=left, target_span=target)), columns, span, kept)
