"""What all private estimators share: parameters, checks, the fit, and the linear predictor. The one place that meets scikit-learn."""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, reject
from hush.learn.progress import reporter
from hush.learn.receipt import guarantee, receipt
from hush.learn.scaling import Span
from hush.learn.training import Fit, Plan, Request, pay, plan, train
from hush.ledger import Ledger
from hush.ledger.entry import Entry
from hush.sampling.entropy import Entropy

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
    from sklearn.model_selection import ParameterGrid
    from sklearn.utils import get_tags
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_is_fitted, validate_data
except ImportError as failure:
    raise ImportError("hush.learn needs scikit-learn 1.6 or newer; install it with: pip install 'hush[learn]'") from failure

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "LinearModel",
    "MetaEstimatorMixin",
    "ParameterGrid",
    "RegressorMixin",
    "available_if",
    "check_classification_targets",
    "check_is_fitted",
    "clone",
    "get_tags",
    "ledger_of",
    "sharing_clone",
    "span_of",
]

Array = NDArray[np.float64]

#: Parameters that go into a request as they are.
_SETTINGS = (
    *("epsilon", "delta", "fit_intercept", "penalise", "solver", "noise", "accounting", "scaling", "scaling_share", "winsorise"),
    *("passes", "step", "clip"),
)
_LARGEST_BOUND = 1e150  # beyond it squares overflow


@dataclass(kw_only=True, eq=False, repr=False)
class LinearModel(BaseEstimator):
    """A generalised linear model learned privately. Every estimator has these parameters, all keywords:

    epsilon, delta: the budget of one fit; epsilon = inf gives the same model without noise, and no privacy.
    bounds: public ranges of the features: one pair (low, high), a pair per feature, or a mapping from column names to pairs. Values outside
        are moved to the nearest end.
    fit_intercept: as in scikit-learn. penalise: "original" puts the penalty on coefficients in the units of X, as scikit-learn does;
        "scaled" on coefficients of standardised columns.
    solver: "cd" coordinate descent, "gd" full gradients, "statistics" one release of all products, "auto" by rows, columns and budget.
    noise: a family's name, or "auto" for the least noise. accounting: "exact", or "zcdp" for the flipped Huber paper's looser route.
    scaling: "private" (means and spreads released with `scaling_share` of the budget), "public" (ranges only), "paper" (the data's own
        means and spreads: reproduces the paper and has no guarantee).
    winsorise: values further than this many spreads from the centre are moved there; None for no limit inside the ranges.
    passes, step, clip: of the descent; None for closed-form rules in public facts. clip may also be a list, one bound per coordinate
        (the intercept's last): noise is then in proportion to them.
    ledger: a hush.Ledger that is charged before any noise is drawn. warm_start: start from the last fit; needs a ledger.
    verbose: 1 for a progress bar, 2 for a line per pass. entropy: where random bits come from; None is the operating system.
    """

    epsilon: float
    delta: float
    bounds: Any
    fit_intercept: bool = True
    penalise: str = "original"
    solver: str = "auto"
    noise: str = "auto"
    accounting: str = "exact"
    scaling: str = "private"
    scaling_share: float = 0.25
    winsorise: float | None = 3.0
    passes: int | None = None
    step: float | None = None
    clip: Any = None
    ledger: Ledger | None = None
    warm_start: bool = False
    verbose: int = 0
    entropy: Entropy | None = None

    def __sklearn_clone__(self) -> Self:
        return sharing_clone(self)

    def _asked(self, rows: int) -> Request:
        """What is asked for with so many rows: everything that a plan needs, and nothing of the data."""
        raise NotImplementedError

    def _fitted(self, rows: Array, target: Any) -> Self:
        """`fit`, for rows and targets that were checked."""
        raise NotImplementedError

    def _request(self, l1: float, l2: float, **changed: Any) -> Request:
        settings = {name: getattr(self, name) for name in _SETTINGS} | changed
        span = span_of("bounds", self.bounds, self.n_features_in_, getattr(self, "feature_names_in_", None))
        return Request(span=span, l1=l1, l2=l2, **settings)

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Array, Any]:
        rows, target = validate_data(self, X, y, dtype=np.float64, accept_sparse=False, ensure_min_samples=2, **options)
        return rows, target

    def _learn(self, rows: Array, target: Array | Callable[[Plan], Array], request: Request) -> None:
        """Plan, pay, train, and write what may be known onto the estimator. A target that is a function is called when it is paid for."""
        ledger = ledger_of(self.ledger)
        made = plan(request, rows.shape[0])
        if self.warm_start and made.setting.solver == "statistics":
            raise Unsupported("solver='statistics' solves at once and has no start to be warm; write warm_start=False, or solver='cd'.")
        before, after_pass = self._before(ledger), reporter(self.verbose, made.setting.passes, type(self).__name__)
        entry = pay(made, ledger, f"fit of {type(self).__name__}")
        numbers = target(made) if callable(target) else target
        fit = train(made, rows, numbers, before=before, after_pass=after_pass, entropy=self.entropy)
        self._write(fit, entry)

    def _before(self, ledger: Ledger | None) -> tuple[Array, float] | None:
        """Released weights to start from: allowed only where every fit is charged to one ledger."""
        if not self.warm_start:
            return None
        if ledger is None:
            raise Unsupported(
                "warm_start=True would reuse what an earlier fit learned from the data without charging it; give a ledger=, which then "
                "pays for every fit, or write warm_start=False."
            )
        if not hasattr(self, "coef_"):
            return None
        if not _charged(self.receipt_["ledger"], ledger):
            raise Unsupported("warm_start=True starts from the last fit, but that fit was not charged to this ledger; clone the estimator.")
        return np.ravel(self.coef_).astype(np.float64), float(np.ravel(self.intercept_)[0])

    def _write(self, fit: Fit, entry: Entry | None) -> None:
        width = fit.coefficients.size
        self.coef_: Any = fit.coefficients
        self.intercept_: Any = fit.intercept
        self.n_iter_ = len(fit.trace.weights)
        self.limits_ = np.stack([fit.scaling.low[:width], fit.scaling.high[:width]], axis=1)
        self.guarantee_ = guarantee(fit.plan)
        self.noise_ = fit.plan.parts[-1].mechanism.noise if fit.plan.parts else None
        self.receipt_ = receipt(fit, type(self).__name__, entry)
        self.trace_ = _convergence(fit)

    def _margin(self, X: Any) -> Array:
        """Rows limited as in training, times the coefficients, plus the intercept."""
        check_is_fitted(self)
        return self._linear(validate_data(self, X, dtype=np.float64, accept_sparse=False, reset=False))

    def _linear(self, rows: Array) -> Array:
        limited = np.clip(rows, self.limits_[:, 0], self.limits_[:, 1])
        return np.asarray(limited @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # fresh noise at every fit
        tags.input_tags.sparse = False
        return tags


def _charged(entry: Any, ledger: Ledger) -> bool:
    """Does the ledger hold this entry of a receipt?"""
    return entry is not None and any((known.number, known.time) == (entry["number"], entry["time"]) for known in ledger.entries)


def sharing_clone(model: Any) -> Any:
    """scikit-learn's clone, but with the same ledger and the same entropy: a copied budget would be another budget, and bits copied with
    their source would be drawn twice."""
    plain = copy.copy(model)
    plain.ledger = plain.entropy = None
    made = BaseEstimator.__sklearn_clone__(plain)
    made.ledger, made.entropy = model.ledger, model.entropy
    return made


def ledger_of(given: Any) -> Ledger | None:
    """A ledger or none; nothing else."""
    if given is None or isinstance(given, Ledger):
        return given
    raise reject("ledger", given, "a hush.Ledger or None", "write ledger=hush.Ledger('budget.db', epsilon=1.0, delta=1e-6)")


def span_of(name: str, bounds: Any, width: int, names: Any = None) -> Span:
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
