"""The base class of the linear models: parameters, checks, the fit, and the linear predictor."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, reject, whole
from hush.learn.block_rows import HELD_SOLVERS, MemoryRows
from hush.learn.caution import NoRandomState, about_callers, about_weights
from hush.learn.coefficient_interval import IntervalMethods
from hush.learn.counting import must_need
from hush.learn.defaults import MOST_DRAWS
from hush.learn.fit_caution import about_fit, noise_of
from hush.learn.fit_receipt import convergence, guarantee, of_chain, receipt, started_words
from hush.learn.from_table import fit_table
from hush.learn.given_rows import is_table
from hush.learn.planning import checked_budget
from hush.learn.relation import Relation
from hush.learn.scaling import span_of, to_be_found
from hush.learn.scikit_learn import (
    Absent,
    BaseEstimator,
    check_is_fitted,
    checked_rows,
    fitting,
    limit_of_weight,
    shares_of_weight,
    sharing_clone,
)
from hush.learn.training import Fit, Request
from hush.ledger import Ledger
from hush.ledger.entry import Entry
from hush.sampling.entropy import Entropy

__all__ = ["LinearModel"]

Array = NDArray[np.float64]

#: Parameters that are copied into a request without change.
_SETTINGS = (
    *("epsilon", "delta", "fit_intercept", "penalise", "solver", "family", "accounting"),
    *("scaling", "scaling_share", "winsorise", "passes", "step", "clip", "interval_share"),
)


@dataclass(kw_only=True, eq=False, repr=False)
class LinearModel(IntervalMethods, NoRandomState, BaseEstimator, ABC):
    """A generalised linear model with a private fit. Every estimator has these parameters, all keyword-only:

    epsilon, delta: the budget of one fit. epsilon = inf gives the same model without noise and without privacy.
    bounds: the public ranges of the features: one pair (low, high), a pair per feature, or a mapping from column
        names to pairs. Values outside are moved to the nearest end. "private" finds them with 5 % of the budget (up to
        20 % if there are few rows).
    refine_bounds: True finds narrower bounds within the given ones in the same way, for the features and the target.
        Use it if the given bounds may be much too wide.
    n_features_to_keep: fit only this many features, those that agree best with the target, chosen privately with about
        30 % of the budget; the coefficients of the others are 0. "all" fits all of them. "auto" chooses a number if
        the penalty has an l1 part and there are far more columns than the rows and the budget can support.
    fit_intercept: as in scikit-learn.
    penalise: "scaled" penalises coefficients of standardised columns and, in a regression, of a standardised target.
        "original" penalises coefficients in the units of X, as scikit-learn does.
    solver: "whitened" releases all products once and then a few gradients in their geometry, "statistics" releases
        all products once, "cd" is coordinate descent, "gd" uses full gradients without the products, and "auto"
        chooses by rows, columns and budget. For a regression with few rows it can release only the mean of the target.
    family: the name of a noise family, such as "gaussian" or "laplace"; None chooses the least noise
        that the ledger covers: Gaussian noise if the ledger has a budget of rho or mu.
    accounting: "exact", or "zcdp" for the looser accounting of the flipped Huber paper (families "gaussian" and
        "flipped_huber" only; there None means "gaussian").
    scaling: "private" releases means and spreads with `scaling_share` of the budget, "public" uses the ranges only,
        and "paper" uses the means and spreads of the data without noise: it reproduces the paper and has no guarantee.
    winsorise: values further than this many spreads from the centre are moved to that distance; None applies only
        the ranges.
    passes, step, clip: parameters of the descent; None computes them from public facts. For "cd" and "gd" clip can be
        a list with one bound per coordinate, the intercept's last: the noise of each coordinate is proportional to
        its bound. For "whitened" it is one number: the gradient of a row is at most clip sqrt(K) long.
    ledger: a hush.Ledger that is charged before any noise is drawn.
    warm_start: start from the last fit, on the same columns and with the same classes. It needs a ledger, and
        `guarantee_` then covers all fits that the coefficients depend on. "auto" becomes "whitened", because
        "statistics" has no start.
    max_weight: the public upper limit of a row's weight, if `fit` is given weights; None is 1, with a warning. Weights
        outside [0, max_weight] are moved to the nearest end.
    interval_share: the share of the budget for intervals and standard errors of the coefficients, such as 0.3; see
        `coef_interval`. 0 makes none.
    neighbours: the data sets that the guarantee compares. "replace": one row takes the place of another, and the number
        of rows is public. "add-remove": one row more or less; the noise of gradients is half as large, and the number
        of rows is released first with 3 % of epsilon, unless `fit` is given `n_rows`. None is "replace" for arrays, and
        "add-remove" for tables, where it is the only choice.
    verbose: 0, 1 for a progress bar, 2 for a line per pass.
    entropy: a secure source of random bits; None is the operating system.

    A fit sets coef_, intercept_ and the following attributes, all of them public or released:

    guarantee_, receipt_: the guarantee, and everything public about the fit.
    kept_features_: the places of the features that were fitted.
    limits_: the range in which the values of each feature are used.
    centre_, spread_: the numbers that columns are centred at and divided by: features first, then the target of a
        regression.
    noise_: the noise of the updates, or of the products, in units of their integer sums. Multiply it by
        clip/(B rows) to get the noise of a mean gradient, with clip and B from receipt_["clip"] and receipt_["grain"].
    trace_: for each pass the "weights" (in scaled units, the intercept last; times the target's spread over a
        feature's spread they are coefficients), the length of the noisy gradient, and the length of the move.
    """

    epsilon: float
    delta: float
    bounds: Any
    fit_intercept: bool = True
    penalise: str = "scaled"
    solver: str = "auto"
    family: str | None = None
    accounting: str = "exact"
    scaling: str = "private"
    scaling_share: float = 0.25
    winsorise: float | None = 3.0
    passes: int | None = None
    step: float | None = None
    clip: Any = None
    ledger: Ledger | None = None
    warm_start: bool = False
    max_weight: float | None = None
    verbose: int = 0
    entropy: Entropy | None = None
    refine_bounds: bool = False
    n_features_to_keep: Any = "auto"
    interval_share: float = 0.0
    neighbours: str | None = None
    #: whether a search chose the family of the noise, which was None
    _searched = False

    def __sklearn_clone__(self) -> Self:
        made: Self = sharing_clone(self)
        return made

    @property
    def _target_bounds(self) -> Any:
        """The declared bounds of the target; a classifier has none."""
        return getattr(self, "target_bounds", None)

    @abstractmethod
    def _request_for(self, rows: int) -> Request:
        """The request of a fit on this many rows: everything that a plan needs, and nothing that depends on data."""

    @abstractmethod
    def _fitted(self, rows: Any, target: Any, weights: Array | None = None, n_rows: int | None = None) -> Self:
        """`fit` for rows and targets that were already checked, weights in [0, 1], and the number of rows if it is
        declared.
        """

    def _classes_of_table(self) -> Any:
        """The classes of a classifier that is fitted on a table; None for a regression."""

    def _write_classes(self, known: Any) -> None:
        """Set what a classifier has besides: its classes, and coefficients as a matrix."""

    @property
    def _relation(self) -> Relation:
        """Which arrays are neighbours."""
        return Relation.of_arrays(self.neighbours)

    @property
    def checked_max_weight(self) -> float:
        """The public limit of a row's weight."""
        return limit_of_weight(self.max_weight)

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        features: Sequence[str] | None = None,
        rows_per_unit: int | None = None,
        n_rows: int | None = None,
    ) -> Self:
        """Learn coef_ and intercept_; guarantee_, receipt_ and trace_ describe the fit.

        X holds the rows as an array, a frame or a scipy sparse matrix, and y the targets. `sample_weight` are the
        weights of the rows; `max_weight` is their public limit.

        X can also be a table that `hush.tables.table` has opened. Then y is the name of the target's column, and
        sample_weight that of a column of weights. `features` names the other columns; it can be left out if `bounds` is
        a mapping. At most `rows_per_unit` rows of a person are used (default 1, or what a policy declares), and the
        guarantee is for one person who is added or removed.

        `n_rows` is for tables and for neighbours="add-remove": the number of rows if it is public, which may be
        rounded. None releases it with 3 % of epsilon.
        """
        about_callers(ledger=self.ledger, private=self.epsilon != np.inf)
        about_weights(sample_weight, self.max_weight)
        table = is_table(X)
        with fitting(self):
            if table:
                fit_table(self, X, y, sample_weight, features, rows_per_unit, n_rows)
            else:
                if features or rows_per_unit:
                    name = "features" if features else "rows_per_unit"
                    raise Unsupported(f"{name}= is for a table of hush.tables, and X is of another kind; leave it out.")
                must_need(n_rows, self._relation)
                rows, target = self._checked(X, y)
                hidden = self._relation.hides_rows
                shares = shares_of_weight(sample_weight, rows, self.max_weight, hidden=hidden)
                self._fitted(rows, target, shares, n_rows)
        plain = sample_weight is None and not self.warm_start and (table or isinstance(rows, np.ndarray))
        about_fit(self, table=table, refine=plain, n_rows=n_rows)
        return self

    @property
    def partial_fit(self) -> Any:
        """Not supported; the error says why."""
        raise Absent(
            "partial_fit is not supported, because each call would release numbers about its rows that must be "
            "charged; write warm_start=True and ledger=..., and call fit for each part of the rows."
        )

    def _request(self, l1: float, l2: float, **changed: Any) -> Request:
        settings = {name: getattr(self, name) for name in _SETTINGS} | changed
        settings["epsilon"], settings["delta"] = checked_budget(self)
        if not isinstance(self.fit_intercept, bool | np.bool_):
            raise reject("fit_intercept", self.fit_intercept, "True or False")
        settings |= {"fit_intercept": bool(self.fit_intercept), "relation": self._relation, "searched": self._searched}
        span = span_of("bounds", self.bounds, self.n_features_in_, getattr(self, "feature_names_in_", None))
        self._check_descent(span.low.size + settings["fit_intercept"])
        if not isinstance(self.refine_bounds, bool | np.bool_):
            raise reject("refine_bounds", self.refine_bounds, "True or False")
        refine = bool(self.refine_bounds)
        find = (refine or to_be_found(self.bounds), refine or to_be_found(self._target_bounds))
        return Request(span=span, l1=l1, l2=l2, find_bounds=find, keep=self.n_features_to_keep, **settings)

    def _check_descent(self, columns: int) -> None:
        """Reject descent options when the solver is not iterative, and iteration counts too large to finish."""
        given = [name for name in ("passes", "step", "clip") if getattr(self, name) is not None]
        if self.solver == "statistics" and given:
            raise Unsupported(
                f"solver='statistics' is not iterative and has no {given[0]}; leave it out, or write solver='cd'."
            )
        if (
            self.passes is not None
            and self.epsilon != np.inf
            and whole("passes", self.passes, 1, "write passes=10") * columns > MOST_DRAWS
        ):
            raise Unsupported(
                f"passes={self.passes} over {columns} columns need more than {MOST_DRAWS:,} noisy numbers, each with "
                "a negligible share of the budget; write passes=20."
            )

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Array, Any]:
        if is_table(X):
            raise Unsupported("a search is for arrays, and X is a table; write fit(table, 'target') of one estimator.")
        fresh = not (self.warm_start and hasattr(self, "coef_"))  # a warm start needs the columns of the last fit
        settings = {"reset": fresh, "dtype": np.float64, "accept_sparse": "csr"} | options
        hidden = self._relation.hides_rows
        settings["ensure_min_samples"] = 0 if hidden else 2
        return checked_rows(self, X, y, hidden=hidden, **settings)

    def _write(self, fit: Fit, entry: Entry | None, started_from: list[int], ledger: Ledger | None) -> None:
        width, promise = fit.coefficients.shape[-1], guarantee(fit.plan)
        if started_from and ledger is not None and entry is not None:
            chain = [known for known in ledger.entries if known.number in started_from]
            # the noise of a fit depends on a released number of rows, so it was not fixed in advance
            fixed = ledger.mode == "nonadaptive" and fit.plan.counted is None
            earlier = started_words(len(chain), counted=fit.plan.counted is not None)
            promise = of_chain(promise, [*chain, entry], nonadaptive=fixed, earlier=earlier)
        self.coef_: Any = fit.coefficients
        self.intercept_: Any = float(fit.intercept) if fit.intercept.ndim == 0 else fit.intercept
        self.n_iter_ = len(fit.trace.weights)
        self.limits_ = np.stack([fit.scaling.low[:width], fit.scaling.high[:width]], axis=1)
        self.centre_, self.spread_ = fit.scaling.centre.copy(), fit.scaling.spread.copy()
        self.kept_features_ = np.arange(width) if fit.kept is None else fit.kept
        self.guarantee_ = promise
        self._intervals, self._noise = fit.intervals, noise_of(fit.plan)
        self.noise_ = fit.plan.parts[-1].mechanism.noise if fit.plan.parts else None
        self.receipt_ = receipt(fit, type(self).__name__, entry, promise, started_from)
        self.trace_ = convergence(fit)

    def _margin(self, X: Any) -> Array:
        """Return X times the coefficients plus the intercept; the features are limited as in training."""
        check_is_fitted(self)
        return self._linear(checked_rows(self, X, dtype=np.float64, accept_sparse="csr", reset=False))

    def _linear(self, rows: Any) -> Array:
        if not isinstance(rows, np.ndarray):  # a sparse matrix: its limits may not be 0 where it stores nothing
            parts = [self._linear(X) for X, _ in MemoryRows(rows, np.empty(rows.shape[0])).blocks()]
            return np.concatenate(parts)
        limited = np.clip(rows, self.limits_[:, 0], self.limits_[:, 1])
        if np.ndim(self.coef_) == 2 and len(self.coef_) > 1:  # three or more classes: a margin for each
            return np.asarray(limited @ self.coef_.T + self.intercept_)
        return np.asarray(limited @ np.ravel(self.coef_) + np.ravel(self.intercept_)[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # every fit draws new noise
        tags.input_tags.sparse = self.solver not in HELD_SOLVERS
        return tags
