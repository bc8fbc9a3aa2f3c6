"""The estimators: private versions of scikit-learn's models of the same names."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, non_negative, one_of, positive, within
from hush.learn import label, label_search
from hush.learn.construction import explained
from hush.learn.from_arrays import fit_arrays
from hush.learn.given_rows import floats
from hush.learn.model import LinearModel
from hush.learn.objective import LOGISTIC, SQUARED, Objective
from hush.learn.paid import Paid
from hush.learn.scaling import span_of
from hush.learn.scikit_learn import ClassifierMixin, RegressorMixin
from hush.learn.softmax import Softmax, log_chances
from hush.learn.training import Plan, Request
from hush.learn.warm_start import known_classes

__all__ = ["ElasticNet", "Lasso", "LogisticRegression", "Ridge"]

Array = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class _Regression(RegressorMixin, LinearModel):
    """A model with squared loss. `target_bounds` is the public range of y, a pair (low, high)."""

    target_bounds: Any
    alpha: float = 1.0

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.regressor_tags.poor_score = True  # scikit-learn's checks have few rows, and noise may dominate there
        return tags

    @abstractmethod
    def _penalty(self, rows: int) -> tuple[float, float]:
        """(l1, l2) of mean squared loss / 2 + l1 |w| + l2 w^2 / 2."""

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Array, Any]:
        rows, target = super()._checked(X, y, y_numeric=True, **options)
        if target.dtype.kind not in "biuf":
            raise InvalidParameter(
                f"y must hold numbers, got values of the kind {label.kind_of(target)}; "
                "convert dates and durations to a number of days or seconds first."
            )
        return rows, target

    def _request_for(self, rows: int) -> Request:
        l1, l2 = self._penalty(rows)
        if self.penalise != "original" and l1 >= max(1.0, self.checked_max_weight):
            ratio = f" and l1_ratio={self.l1_ratio:g}" if isinstance(self, ElasticNet) else ""
            raise InvalidParameter(
                f"alpha must be below {self.alpha / l1:g} with penalise='scaled'{ratio}, got {self.alpha:g}: columns "
                "and target are divided by their spreads, so all coefficients would be 0; write alpha=0.01."
            )
        return self._request(l1, l2, objective=SQUARED, target_span=span_of("target_bounds", self.target_bounds, 1))

    def _fitted(self, rows: Any, target: Any, weights: Array | None = None, n_rows: int | None = None) -> Self:
        fit_arrays(self, rows, floats(target), weights, n_rows)
        return self

    def predict(self, X: Any) -> Array:
        """The predicted target of each row; feature values are limited to `limits_`, as in training."""
        return self._margin(X)


@explained
@dataclass(kw_only=True, eq=False, repr=False)
class ElasticNet(_Regression):
    """Minimise |y - Xw - b|^2 / (2n) + alpha l1_ratio |w|_1 + alpha (1 - l1_ratio) |w|^2 / 2, privately.

    `target_bounds` is the public range of y, a pair (low, high). `LinearModel` describes the other parameters.

    alpha: the strength of the penalty. With penalise="scaled" columns and target are standardised, so a feature alone
    has a coefficient other than 0 if its correlation with the target is above alpha l1_ratio. From alpha l1_ratio = 1
    on all coefficients are 0, and the fit is refused. The default is 0.01, and not 1 as in scikit-learn.

    Guarantees: all attributes of the fitted estimator together are (epsilon, delta)-private for one replaced row, or
    for one row more or less with neighbours="add-remove" (see `guarantee_`).

    >>> import numpy as np, hush.learn
    >>> rng = np.random.default_rng()
    >>> X = rng.uniform(-1, 1, (5000, 3)); y = X @ [1.0, 0.0, -1.0]
    >>> public = {"bounds": (-1, 1), "target_bounds": (-2, 2)}
    >>> model = hush.learn.ElasticNet(epsilon=1.0, delta=1e-6, alpha=0.01, **public).fit(X, y)
    >>> bool(np.abs(model.coef_ - [1.0, 0.0, -1.0]).max() < 0.5)
    True
    """

    alpha: float = 0.01
    l1_ratio: float = 0.5

    def _penalty(self, rows: int) -> tuple[float, float]:
        alpha = non_negative("alpha", self.alpha, "write alpha=0.01")
        ratio = within("l1_ratio", self.l1_ratio, 0.0, 1.0, "write l1_ratio=0.5")
        return alpha * ratio, alpha * (1.0 - ratio)


@explained
@dataclass(kw_only=True, eq=False, repr=False)
class Lasso(_Regression):
    """Minimise |y - Xw - b|^2 / (2n) + alpha |w|_1, privately; parameters and guarantee as in `ElasticNet`.

    `ElasticNet` says what alpha means; its default is 0.01.
    """

    alpha: float = 0.01

    def _penalty(self, rows: int) -> tuple[float, float]:
        return non_negative("alpha", self.alpha, "write alpha=0.01"), 0.0


@explained
@dataclass(kw_only=True, eq=False, repr=False)
class Ridge(_Regression):
    """Minimise |y - Xw - b|^2 + alpha |w|^2, privately (a sum over rows, as in scikit-learn).

    Parameters and guarantee are those of `ElasticNet`.
    """

    def _penalty(self, rows: int) -> tuple[float, float]:
        return 0.0, non_negative("alpha", self.alpha, "write alpha=1.0") / rows


@explained
@dataclass(kw_only=True, eq=False, repr=False)
class LogisticRegression(ClassifierMixin, LinearModel):
    """Minimise C sum of log-losses + l1_ratio |w|_1 + (1 - l1_ratio) |w|^2 / 2, privately, for two or more classes.

    classes: the labels, which must be public knowledge. None means 0 and 1, or False and True if y is an array of
    booleans. Three or more classes are fitted together: coef_ has a row for each class, decision_function a column,
    and the noise of a gradient does not grow with the number of classes. "private" finds two labels with 5 % of
    epsilon and 10 % of delta; this needs many rows of each label, and a warm start keeps the labels that the last fit
    found. A label that is found is a number, a text, bytes or None. Rows with any other label (NaN in a list, a list,
    an object) are used with weight one half in each class. The kind of an array y (booleans, integers, numbers, text,
    bytes, objects) is treated as public; a list is read label by label. `LinearModel` describes the other parameters.

    Guarantees: all attributes of the fitted estimator together are (epsilon, delta)-private for one replaced row, or
    for one row more or less with neighbours="add-remove".

    >>> import numpy as np, hush.learn
    >>> rng = np.random.default_rng()
    >>> X = rng.uniform(-1, 1, (5000, 2)); y = (X[:, 0] > 0).astype(int)
    >>> model = hush.learn.LogisticRegression(epsilon=1.0, delta=1e-6, bounds=(-1, 1)).fit(X, y)
    >>> bool(model.score(X, y) > 0.8), model.guarantee_.holds
    (True, True)
    """

    C: float = 1.0
    l1_ratio: float = 0.0
    classes: Any = None

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = self._n_classes() > 2
        tags.classifier_tags.poor_score = True  # scikit-learn's checks have few rows, and noise may dominate there
        return tags

    def _checked(self, X: Any, y: Any, **options: Any) -> tuple[Array, Any]:
        return super()._checked(X, label.as_labels(y), **options)

    def _n_classes(self) -> int:
        """The number of declared classes; two by default."""
        return 2 if self.classes is None or isinstance(self.classes, str) else np.asarray(self.classes).size

    def _request_for(self, rows: int) -> Request:
        weight = 1.0 / (positive("C", self.C, "write C=1.0") * rows)
        ratio = within("l1_ratio", self.l1_ratio, 0.0, 1.0, "write l1_ratio=0.0")
        find = label.to_be_found(self.classes) and known_classes(self) is None
        objective: Objective = LOGISTIC
        if self._n_classes() > 2:
            objective = Softmax(len(label.classes_in_order(self.classes)))
        made = self._request(
            weight * ratio, weight * (1.0 - ratio), objective=objective, target_span=None, find_labels=find
        )
        return made if objective is LOGISTIC else replace(made, keep=self._all_columns())

    def _all_columns(self) -> str:
        """The choice of columns needs two classes."""
        if not isinstance(self.n_features_to_keep, str):
            raise Unsupported(
                "n_features_to_keep chooses columns for two classes, and there are more; write "
                "n_features_to_keep='all', and solver='whitened' or 'auto'."
            )
        one_of("n_features_to_keep", self.n_features_to_keep, ("auto", "all"))
        return "all"

    def _fitted(self, rows: Any, labels: Any, weights: Array | None = None, n_rows: int | None = None) -> Self:
        find = label.to_be_found(self.classes)
        # Check nothing else here: before the payment no error or warning may depend on the values of secret labels.
        label.check_type(labels)
        known = known_classes(self) if find else label.declared(self.classes, labels)

        def target(made: Plan, paid: Paid) -> Array:
            nonlocal known
            if known is None:
                known = label_search.found(labels, made.labels, paid)
            places = label.places_of(labels, known, same_type=find)
            return np.where(places < 0, 0.5, places)  # one half for a row with neither of two labels

        fit_arrays(self, rows, target, weights, n_rows, known)
        self._write_classes(known)
        return self

    def _classes_of_table(self) -> Any:
        if label.to_be_found(self.classes):
            raise Unsupported(
                "classes='private' is for arrays, and X is a table; find the labels with "
                "table.group_by(target, keys='private', groups_per_unit=1).keys(...), and write classes=(a, b)."
            )
        return label.classes_in_order((0, 1) if self.classes is None else self.classes)

    def _write_classes(self, known: Any) -> None:
        self.classes_: Any = known
        self.coef_, self.intercept_ = np.atleast_2d(self.coef_), np.atleast_1d(self.intercept_)

    def decision_function(self, X: Any) -> Array:
        """The log-odds of the second class; a column for each class if there are three or more."""
        return self._margin(X)

    @staticmethod
    def _places(margins: Array) -> Any:
        """The places of the most likely classes."""
        return margins.argmax(axis=1) if margins.ndim == 2 else (margins > 0.0).astype(int)

    def predict(self, X: Any) -> Any:
        """The most likely class of each row."""
        places = self._places(self.decision_function(X))  # before classes_ is read: it raises NotFittedError
        return self.classes_[places]

    def predict_proba(self, X: Any) -> Array:
        """The probability of each class."""
        return np.exp(self.predict_log_proba(X))

    def predict_log_proba(self, X: Any) -> Array:
        """The logarithm of the probability of each class."""
        margin = self.decision_function(X)
        if margin.ndim == 2:
            return log_chances(margin)
        return -np.stack([np.logaddexp(0.0, margin), np.logaddexp(0.0, -margin)], axis=1)
