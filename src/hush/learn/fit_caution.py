"""Warnings after a fit of a linear model: ranges that do not fit, a large delta, few rows, a model without features.

They depend on public facts and on released numbers only.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from hush.errors import say
from hush.learn.caution import about_delta, about_used_rows
from hush.learn.class_level import FEWEST
from hush.learn.level import LEVEL
from hush.learn.scaling import GRAIN, span_of, to_be_found
from hush.learn.wide_bounds import Seen, about_features, about_target, one_of_these

if TYPE_CHECKING:
    from hush.learn.model import LinearModel
    from hush.learn.training import Plan

__all__ = ["about_fit", "noise_of"]


class NoiseOfFit(NamedTuple):
    """The deviations of the noise of a mean of z in [-1, 1] and of the number of rows; None if it was not released.

    `rows_epsilon` is the number of rows times epsilon, for neighbours with the effect of one replaced row.
    """

    means: float | None
    rows: float | None
    rows_epsilon: float


def noise_of(plan: Plan) -> NoiseOfFit:
    """What the warnings about a fit need from its plan."""
    part = plan.part("means and spreads") or plan.part(LEVEL)
    counted = None if plan.counted is None else plan.counted.mechanism
    return NoiseOfFit(
        None if part is None else part.deviation / (plan.rows * GRAIN),
        None if counted is None else math.sqrt(counted.noise.variance) * counted.step,
        plan.rows / plan.request.relation.moves * plan.budget.epsilon,
    )


def about_fit(model: LinearModel, *, table: bool, refine: bool, n_rows: Any) -> None:
    """Warn after a fit with noise. `refine` says that refine_bounds=True is possible for these rows.

    `fit` calls this. The runs of a search do not: a warning would show released numbers of a run that is not published.
    """
    rows = model.receipt_["rows"]
    if model.epsilon == np.inf:
        return
    about_delta(model.delta, rows)
    if model.receipt_["solver"] == "mean":
        say(
            "the budget is too small to learn more from so few rows: the model is the mean of the target, and all "
            "coefficients are 0.",
            "only the mean",
        )
    noise = model._noise
    if hasattr(model, "classes_") and noise.rows_epsilon < FEWEST:
        say(
            "the budget is too small to learn more from so few rows: noise decides which class is predicted most "
            f"often, even if it is rare; use at least {FEWEST:g}/epsilon rows.",
            "few rows of classes",
        )
    if table and noise.rows is not None:
        about_used_rows(rows, noise.rows, classes=hasattr(model, "classes_"))
    if model.refine_bounds or noise.means is None:
        return
    others = ["write refine_bounds=True"] * refine + [f"correct n_rows={n_rows}"] * (n_rows is not None)
    kept, error = model.kept_features_, noise.means
    if not to_be_found(model.bounds):
        seen = _seen(model, "bounds", model.bounds, kept, error)
        names = getattr(model, "feature_names_in_", None)
        about_features(seen, kept if names is None else names[kept], one_of_these("declare narrower bounds", *others))
    target = model._target_bounds
    if target is not None and not to_be_found(target):
        about_target(
            _seen(model, "target_bounds", target, np.array([-1]), error),
            one_of_these("declare a narrower range", *others),
        )


def _seen(model: LinearModel, name: str, bounds: Any, places: Any, error: float) -> Seen:
    """The released numbers of some columns."""
    names = getattr(model, "feature_names_in_", None)
    span = span_of(name, bounds, model.n_features_in_ if name == "bounds" else 1, names)[places]
    centre, spread = model.centre_[places], model.spread_[places]
    return Seen(centre, spread, np.full(spread.size, error), span, model.fit_intercept)
