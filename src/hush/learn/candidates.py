"""The candidates of a private search: the settings of a parameter grid, checked before anything is charged."""

from __future__ import annotations

from typing import Any

from hush.errors import Unsupported, reject
from hush.learn import label
from hush.learn.estimator import LogisticRegression
from hush.learn.model import LinearModel
from hush.learn.scaling import to_be_found
from hush.learn.scikit_learn import ParameterGrid

__all__ = ["candidates_of", "searched_names"]

#: Parameters that a grid must not contain: the budget, and everything that must be equal in all runs.
_FIXED = (
    *("epsilon", "delta", "ledger", "bounds", "target_bounds", "classes", "warm_start", "verbose", "entropy"),
    "interval_share",
    "neighbours",
)
_GRID = "write {'alpha': [0.1, 1.0]}"


def candidates_of(estimator: Any, param_grid: Any) -> list[dict[str, Any]]:
    """All settings of the grid, in scikit-learn's order; raises if the estimator or the grid cannot be searched."""
    _check_estimator(estimator)
    try:
        candidates = list(ParameterGrid(param_grid))
    except (TypeError, ValueError):
        raise reject("param_grid", param_grid, "a dictionary of lists, or a list of these", _GRID) from None
    if not candidates:
        raise reject("param_grid", param_grid, "a grid with at least one setting", _GRID)
    _check_names(estimator, candidates)
    if any(one.get("scaling") == "paper" for one in candidates):
        raise Unsupported(
            "scaling='paper' has no privacy guarantee, so a search cannot charge for it; remove it from param_grid."
        )
    return candidates


def searched_names(param_grid: Any) -> list[str]:
    """The names of all parameters in the grid."""
    return sorted({name for one in ParameterGrid(param_grid) for name in one})


def _check_estimator(model: Any) -> None:
    if not isinstance(model, LinearModel):
        raise reject(
            "estimator",
            model,
            "LogisticRegression, Ridge, Lasso or ElasticNet of hush.learn",
            "write PrivateSearchCV(hush.learn.Ridge(...), ...)",
        )
    if model.ledger is not None or model.warm_start:
        raise Unsupported(
            "the search pays for all runs at once: give the ledger to PrivateSearchCV, "
            "and set neither ledger nor warm_start on the estimator."
        )
    if model.entropy is not None:
        raise Unsupported(
            "all runs use the entropy of the search: give entropy= to PrivateSearchCV, and not to the estimator."
        )
    if model.interval_share:
        raise Unsupported(
            "the best of several runs has no valid intervals, because its noise was chosen; "
            "write interval_share=0 on the estimator of a search, and fit the best setting to other rows."
        )
    if model.scaling == "paper":
        raise Unsupported(
            "scaling='paper' has no privacy guarantee, so a search cannot charge for it; write scaling='private'."
        )
    if isinstance(model, LogisticRegression) and label.to_be_found(model.classes):
        raise Unsupported(
            "classes='private' would search for the labels again in every run; "
            "write classes=(a, b) on the estimator of a search."
        )
    if to_be_found(getattr(model, "target_bounds", None)):
        raise Unsupported(
            "target_bounds='private' would be found again in every run, and scores need one range of the target; "
            "write target_bounds=(low, high) on the estimator of a search."
        )


def _check_names(model: LinearModel, candidates: list[dict[str, Any]]) -> None:
    known = model.get_params(deep=False)
    for name in sorted({name for one in candidates for name in one}):
        if name in _FIXED:
            raise Unsupported(
                f"{name} cannot be searched over, because it must be the same in all runs; "
                "set it on the estimator or on PrivateSearchCV."
            )
        if name not in known:
            raise reject(
                "param_grid",
                name,
                f"a grid of parameters of {type(model).__name__}",
                f"its parameters are {', '.join(sorted(known))}",
            )
