"""What all private estimators share: parameters, checks, the fit, and the linear predictor. The one place that meets
scikit-learn.
"""

from __future__ import annotations

import contextlib
import copy
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, needs, reject, whole
from hush.learn.fit_receipt import guarantee, of_chain, receipt
from hush.learn.paid import Paid
from hush.learn.progress import reporter
from hush.learn.scaling import span_of
from hush.learn.training import Fit, Plan, Request, pay, plan, train
from hush.ledger import Ledger
from hush.ledger.entry import Entry
from hush.ledger.payment import must_be_secure
from hush.ledger.refusal import must_be_ledger
from hush.sampling.entropy import Entropy

with needs("scikit-learn 1.6 or newer", "hush.learn", extra="learn"):
    from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin, clone
    from sklearn.model_selection import ParameterGrid
    from sklearn.utils import get_tags
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.validation import check_is_fitted, validate_data

__all__ = [
    "BaseEstimator",
    "ClassifierMixin",
    "LinearModel",
    "MetaEstimatorMixin",
    "ParameterGrid",
    "RegressorMixin",
    "available_if",
    "check_is_fitted",
    "clone",
    "get_tags",
    "sharing_clone",
]

Array = NDArray[np.float64]

#: Parameters that go into a request as they are.
_SETTINGS = (
    *(
        "epsilon",
        "delta",
        "fit_intercept",
        "penalise",
        "solver",
        "noise",
        "accounting",
        "scaling",
        "scaling_share",
        "winsorise",
    ),
    *("passes", "step", "clip"),
)
_MOST_DRAWS = 5_000_000


@dataclass(kw_only=True, eq=False, repr=False)
class LinearModel(BaseEstimator, ABC):
    """A generalised linear model learned privately. Every estimator has these parameters, all keywords:

    epsilon, delta: the budget of one fit; epsilon = inf gives the same model without noise, and no privacy.
    bounds: public ranges of the features: one pair (low, high), a pair per feature, or a mapping from column names to
    pairs. Values outside
        are moved to the nearest end.
    fit_intercept: as in scikit-learn. penalise: "original" puts the penalty on coefficients in the units of X, as
    scikit-learn does;
        "scaled" on coefficients of standardised columns and, in a regression, of a standardised target.
    solver: "cd" coordinate descent, "gd" full gradients, "statistics" one release of all products, "auto" by rows,
    columns and budget.
    noise: a family's name, or "auto" for the least noise. accounting: "exact", or "zcdp" for the flipped Huber
    paper's looser route
        (gaussian or flipped_huber noise; "auto" is gaussian there).
    scaling: "private" (means and spreads released with `scaling_share` of the budget), "public" (ranges only),
    "paper" (the data's own
        means and spreads: reproduces the paper and has no guarantee).
    winsorise: values further than this many spreads from the centre are moved there; None for no limit inside the
    ranges.
    passes, step, clip: of the descent; None for closed-form rules in public facts. clip may also be a list, one bound
    per coordinate
        (the intercept's last): noise is then in proportion to them.
    ledger: a hush.Ledger that is charged before any noise is drawn. warm_start: start from the last fit, on the same
    columns; needs a
        ledger, and `guarantee_` is then of all fits together that the coefficients come from.
    verbose: 0, 1 for a progress bar, 2 for a line per pass. entropy: where random bits come from, a secure source;
    None is the operating
        system.

    After a fit, beside coef_ and intercept_, all of it public or released:
    guarantee_, receipt_: what is promised, and everything public about the fit. limits_: the range in which values
    are used, per feature.
    centre_, spread_: what columns are centred at and divided by, features first, then the target of a regression.
    noise_: the noise of the updates, or of the products. It is in units of their sums of whole numbers: times clip/(B
    rows) it is that of a
        mean gradient, with clip and B from receipt_["clip"] and receipt_["grain"].
    trace_: per pass "weights" (in scaled units, the intercept last: times the target's spread over a feature's spread
    they are
        coefficients), the length of the noisy gradient, and the move.
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

    @abstractmethod
    def _asked(self, rows: int) -> Request:
        """What is asked for with so many rows: everything that a plan needs, and nothing of the data."""

    @abstractmethod
    def _fitted(self, rows: Array, target: Any) -> Self:
        """`fit`, for rows and targets that were checked."""

    def _request(self, l1: float, l2: float, **changed: Any) -> Request:
        settings = {name: getattr(self, name) for name in _SETTINGS} | changed
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise reject("fit_intercept", self.fit_intercept, "True or False")
        settings["fit_intercept"] = bool(self.fit_intercept)
        span = span_of("bounds", self.bounds, self.n_features_in_, getattr(self, "feature_names_in_", None))
        self._check_descent(span.low.size + settings["fit_intercept"])
        return Request(span=span, l1=l1, l2=l2, **settings)

    def _check_descent(self, columns: int) -> None:
        """What was set for a descent must have one to serve, and one that ends."""
        given = [name for name in ("passes", "step", "clip") if getattr(self, name) is not None]
        if self.solver == "statistics" and given:
            raise Unsupported(
                f"solver='statistics' solves at once and has no {given[0]}; leave {given[0]} out, or write solver='cd'."
            )
        if self.passes is not None and self.epsilon != np.inf and whole("passes", self.passes) * columns > _MOST_DRAWS:
            raise Unsupported(
                f"passes={self.passes} over {columns} columns are more than {_MOST_DRAWS:,} noisy numbers, each with almost nothing of the "
                "budget; write passes=20."
            )

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Array, Any]:
        fresh = not (self.warm_start and hasattr(self, "coef_"))  # a warm start needs the columns that it had
        settings = {"reset": fresh, "dtype": np.float64, "accept_sparse": False, "ensure_min_samples": 2} | options
        try:
            rows, target = validate_data(self, X, y, **settings)
        except ValueError as failure:
            words = _without_values(str(failure))
            if words is None:
                raise
        else:
            return rows, target
        raise InvalidParameter(words)  # here, so that the first error and its text are not carried along

    @contextlib.contextmanager
    def _whole_or_not_at_all(self) -> Iterator[None]:
        """A fit that fails, or is interrupted, leaves the estimator as it was."""
        before = dict(vars(self))
        try:
            yield
        except BaseException:
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _learn(self, rows: Array, target: Array | Callable[[Plan, Paid], Array], request: Request) -> None:
        """Plan, pay, train, and write what may be known onto the estimator. A target that is a function is called
        when it is paid for.
        """
        ledger, entropy = self.ledger, self.entropy
        must_be_ledger(ledger)
        must_be_secure(entropy)
        made = plan(request, rows.shape[0])
        if self.warm_start and made.setting.solver == "statistics":
            raise Unsupported(
                "solver='statistics' solves at once and has no start to be warm; write warm_start=False, or solver='cd'."
            )
        before, started_from = self._before(ledger) or (None, [])
        with reporter(self.verbose, _known_passes(made), type(self).__name__) as after_pass:
            payment = pay(made, ledger, f"fit of {type(self).__name__}")
            values = target(made, Paid(payment, entropy)) if callable(target) else target
            fit = train(made, rows, values, before=before, after_pass=after_pass, payment=payment, entropy=entropy)
        self._write(fit, None if payment is None else payment.entry, started_from, ledger)

    def _before(self, ledger: Ledger | None) -> tuple[tuple[Array, float], list[int]] | None:
        """Released weights to start from, and the ledger entries that paid for them: allowed only where one ledger
        paid for all.
        """
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
            raise Unsupported(
                "warm_start=True starts from the last fit, but that fit was not charged to this ledger; clone the estimator."
            )
        start = np.ravel(self.coef_).astype(np.float64), float(np.ravel(self.intercept_)[0])
        return start, [*self.receipt_.get("started_from", []), self.receipt_["ledger"]["number"]]

    def _write(self, fit: Fit, entry: Entry | None, started_from: list[int], ledger: Ledger | None) -> None:
        width, promise = fit.coefficients.size, guarantee(fit.plan)
        if started_from and ledger is not None and entry is not None:
            chain = [known for known in ledger.entries if known.number in started_from]
            promise = of_chain(promise, [*chain, entry], nonadaptive=ledger.mode == "nonadaptive")
        self.coef_: Any = fit.coefficients
        self.intercept_: Any = fit.intercept
        self.n_iter_ = len(fit.trace.weights)
        self.limits_ = np.stack([fit.scaling.low[:width], fit.scaling.high[:width]], axis=1)
        self.centre_, self.spread_ = fit.scaling.centre.copy(), fit.scaling.spread.copy()
        self.guarantee_ = promise
        self.noise_ = fit.plan.parts[-1].mechanism.noise if fit.plan.parts else None
        self.receipt_ = receipt(fit, type(self).__name__, entry, promise, started_from)
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


def _without_values(text: str) -> str | None:
    """Our words for those errors of numpy and scikit-learn that quote values of the data; None for all others."""
    if text.startswith("Complex data not supported"):  # scikit-learn prints the array
        return "Complex data not supported: X, and the target of a regression, must hold real numbers."
    if text.startswith("could not convert string"):  # numpy prints the text
        return "X, and the target of a regression, must hold numbers; a text that is no number is among them."
    return None


def _known_passes(made: Plan) -> int | None:
    """How many passes there will be; None without noise, where the descent ends when nothing moves."""
    if made.setting.solver == "statistics":
        return 1
    return made.setting.passes if made.request.private else None


def _charged(entry: Any, ledger: Ledger) -> bool:
    """Does the ledger hold this entry of a receipt?"""
    return entry is not None and any(
        (known.number, known.time) == (entry["number"], entry["time"]) for known in ledger.entries
    )


def sharing_clone(model: Any) -> Any:
    """scikit-learn's clone, but with the same ledger and the same entropy: a copied budget would be another budget,
    and bits copied with their source would be drawn twice."""
    plain = copy.copy(model)
    plain.ledger = plain.entropy = None
    made = BaseEstimator.__sklearn_clone__(plain)
    made.ledger, made.entropy = model.ledger, model.entropy
    return made


def _convergence(fit: Fit) -> dict[str, Any]:
    """Data for a convergence plot, all of it released: per pass the weights, the noisy gradient's length and the
    move.
    """
    return {
        "pass": list(range(1, len(fit.trace.weights) + 1)),
        "weights": np.array(fit.trace.weights),
        "noisy_gradient": np.array([float(np.linalg.norm(g)) for g in fit.trace.gradients]),
        "move": fit.trace.changes,
    }
