"""What all private estimators share: parameters, checks, the fit, and the linear predictor. The one place that meets scikit-learn."""

from __future__ import annotations

import math
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, non_negative, reject
from hush.learn.objective import Objective
from hush.learn.progress import reporter
from hush.learn.receipt import guarantee, receipt
from hush.learn.scaling import Span
from hush.learn.training import Fit, Request, plan, train
from hush.ledger import Ledger

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as failure:
    raise ImportError("hush.learn needs scikit-learn 1.6 or newer; install it with: pip install 'hush[learn]'") from failure

__all__ = ["ClassifierMixin", "LinearModel", "MetaEstimatorMixin", "RegressorMixin", "check_is_fitted", "clone"]

Array = NDArray[np.float64]

_LARGEST_BOUND = 1e150  # beyond it squares overflow


class LinearModel(BaseEstimator):
    """A generalised linear model learned privately; see the estimators for their parameters."""

    epsilon: float
    delta: float
    bounds: Any
    _objective: Objective

    def _request(self, width: int, l1: float, l2: float, target_span: Span | None, epsilon: float, delta: float) -> Request:
        params = self.get_params(deep=False)
        names = ("penalise", "fit_intercept", "solver", "noise", "accounting", "scaling", "scaling_share", "winsorise")
        settings = {name: params[name] for name in (*names, "passes", "step", "clip")}
        span = _span("bounds", self.bounds, width, getattr(self, "feature_names_in_", None))
        return Request(self._objective, epsilon, delta, span, target_span, non_negative("l1", l1), non_negative("l2", l2), **settings)

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Array, Any]:
        rows, target = validate_data(self, X, y, dtype=np.float64, accept_sparse=False, ensure_min_samples=2, **options)
        return rows, target

    def _learn(self, rows: Array, target: Array, request: Request, **found: Any) -> None:
        """Plan, spend, train, and write what may be known onto the estimator."""
        params = self.get_params(deep=False)
        ledger = _ledger(params["ledger"])
        made = plan(request, rows.shape[0])
        name = type(self).__name__
        fit = train(
            made,
            rows,
            target,
            ledger=ledger,
            label=f"fit of {name}",
            before=self._before(params["warm_start"], ledger),
            after_pass=reporter(params["verbose"], made.setting.passes, name),
            entropy=params["entropy"],
        )
        self._write(fit, found)

    def _before(self, warm_start: Any, ledger: Ledger | None) -> tuple[Array, float] | None:
        """Released weights to start from: allowed only where every fit is charged to one ledger."""
        if not warm_start:
            return None
        if ledger is None:
            raise Unsupported(
                "warm_start=True would reuse what an earlier fit learned from the data without charging it; give a ledger=, which then "
                "pays for every fit, or write warm_start=False."
            )
        if not hasattr(self, "coef_"):
            return None
        return np.ravel(self.coef_).astype(np.float64), float(np.ravel(self.intercept_)[0])

    def _write(self, fit: Fit, found: dict[str, Any]) -> None:
        width = fit.coefficients.size
        self.coef_: Any = fit.coefficients
        self.intercept_: Any = fit.intercept
        self.n_iter_ = len(fit.trace.weights)
        self.limits_ = np.stack([fit.scaling.low[:width], fit.scaling.high[:width]], axis=1)
        self.guarantee_ = guarantee(fit.plan)
        self.noise_ = fit.plan.parts[-1].mechanism.noise if fit.plan.parts else None
        self.receipt_ = receipt(fit, type(self).__name__, found=found)
        self.trace_ = _convergence(fit)

    def _margin(self, X: Any) -> Array:
        """Rows limited as in training, times the coefficients, plus the intercept."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, accept_sparse=False, reset=False)
        limited = np.clip(rows, self.limits_[:, 0], self.limits_[:, 1])
        return np.asarray(limited @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # fresh noise at every fit
        tags.input_tags.sparse = False
        if tags.classifier_tags is not None:
            tags.classifier_tags.multi_class = False
            tags.classifier_tags.poor_score = True  # on the few rows of a check noise may hide everything
        if tags.regressor_tags is not None:
            tags.regressor_tags.poor_score = True
        return tags


def _ledger(given: Any) -> Ledger | None:
    if given is None or isinstance(given, Ledger):
        return given
    raise reject("ledger", given, "a hush.Ledger or None", "write ledger=hush.Ledger('budget.db', epsilon=1.0, delta=1e-6)")


def _span(name: str, bounds: Any, width: int, names: Any = None) -> Span:
    """Public ranges: one pair for all columns, a pair for each, or a mapping from column names to pairs."""
    hint = f"write {name}=(0.0, 100.0), or one (low, high) pair per column"
    if bounds is None:
        raise InvalidParameter(f"{name} must be declared: which values are possible is public knowledge, not read off the data; {hint}.")
    if isinstance(bounds, dict):
        if names is None or set(bounds) != set(names):
            raise reject(name, bounds, "a mapping with exactly the columns of X, which must then have names", hint)
        bounds = [bounds[column] for column in names]
    try:
        pairs = np.asarray(bounds, dtype=np.float64)
    except (TypeError, ValueError) as failure:
        raise reject(name, bounds, "pairs of numbers", hint) from failure
    if pairs.shape == (2,):
        pairs = np.tile(pairs, (width, 1))
    if pairs.shape != (width, 2):
        raise reject(name, bounds, f"one pair (low, high), or {width} pairs", hint)
    low, high = pairs.T
    if not (np.abs(pairs) <= _LARGEST_BOUND).all() or not (high - low > 1e-9 * np.maximum(np.abs(low), np.abs(high))).all():
        raise reject(name, bounds, "pairs of finite numbers with low below high", hint)
    return Span(low.copy(), high.copy())


def _convergence(fit: Fit) -> dict[str, Any]:
    """Data for a convergence plot, all of it released: per pass the weights, the noisy gradient's length and the move."""
    return {
        "pass": list(range(1, len(fit.trace.weights) + 1)),
        "weights": np.array(fit.trace.weights),
        "noisy_gradient": np.array([float(np.linalg.norm(g)) for g in fit.trace.gradients]),
        "move": fit.trace.changes,
    }
