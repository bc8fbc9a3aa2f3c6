"""Principal components from one noisy matrix of products.

With the middles m of the public ranges and one common unit h, the root mean square of half the ranges, a row is
u = (x - m)/h and the constant 1: its length is at most sqrt(K + 1). The sums of products of these rows are released
once (`hush.learn.moment_solver` proves what one replaced row moves). They give the mean and the covariance, whose
eigenvectors are the components. One unit for all columns keeps the angles of the data. Mean, covariance and components
are post-processing of the released matrix (Dwork, Talwar, Thakurta and Zhang 2014, "Analyze Gauss").
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, reject, whole, within
from hush.learn.construction import explained
from hush.learn.moment_solver import Products, products, products_wish
from hush.learn.scaling import Span
from hush.learn.scikit_learn import ClassNamePrefixFeaturesOutMixin, TransformerMixin, check_is_fitted
from hush.learn.sum_model import SumModel, common_unit
from hush.learn.whole_sums import MOST_ROWS
from hush.learn.wide_bounds import Seen

__all__ = ["PCA"]

Array = NDArray[np.float64]


@explained
@dataclass(kw_only=True, eq=False, repr=False)
class PCA(ClassNamePrefixFeaturesOutMixin, TransformerMixin, SumModel):
    """Private principal components: the eigenvectors of a noisy covariance matrix.

    n_components: the number of components; None is all columns. whiten: divide the components of `transform` by their
    spreads. clip: rows are shortened to this part of the largest length that `bounds` allow; the noise is proportional
    to its square, so choose a small one if most rows lie far inside of the bounds. `SumModel` describes the other
    parameters. A fit sets components_ (the largest entry of each in size is positive, as in scikit-learn), mean_,
    explained_variance_ and its ratio, singular_values_, noise_variance_, and error_, the standard deviation of the
    noise of a covariance of two columns. The noise of a variance is about 7/5 times as large.

    Guarantees: all attributes of the fitted estimator together are (epsilon, delta)-private for one replaced row.

    >>> import numpy as np, hush.learn
    >>> rng = np.random.default_rng()
    >>> X = rng.normal(size=(10_000, 1)) * [2.0, 1.0, 0.0] + 0.1 * rng.normal(size=(10_000, 3))
    >>> model = hush.learn.PCA(epsilon=1.0, delta=1e-6, bounds=(-8, 8), n_components=1).fit(X)
    >>> bool(abs(model.components_[0] @ [2.0, 1.0, 0.0]) > 2.1), model.transform(X).shape
    (True, (10000, 1))
    """

    n_components: int | None = None
    whiten: bool = False
    clip: float = 1.0

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the components; y is ignored."""
        with self._fitting() as seen:
            rows = self._checked(X, ensure_min_samples=2)
            span, kept = self._span(), self._kept(rows.shape)
            if not isinstance(self.whiten, bool | np.bool_):
                raise reject("whiten", self.whiten, "True or False")
            radius = within("clip", self.clip, 1e-3, 1.0, "write clip=1.0") * math.sqrt(rows.shape[1] + 1.0)
            parts = self._planned(products_wish(len(rows), rows.shape[1] + 1, radius, 1.0))
            paid = self._paid(parts, len(rows), [])
            found = products(_scaled(rows, span), len(rows), radius, parts[0] if parts else None, paid)
            self.limits_ = np.stack([span.low, span.high], axis=1)
            covariance = self._write(found, len(rows), kept, span)
            if parts:  # the noise of a variance is at most 7/5 of error_
                error = 1.4 * self.error_ / span.half**2
                variance = np.maximum(np.diag(covariance), error * span.half**2)
                seen.append(Seen(self.mean_, np.sqrt(variance), error, span))
        return self

    def _kept(self, shape: tuple[int, int]) -> int:
        """The number of components."""
        most = min(shape)
        if self.n_components is None:
            return most
        count = whole("n_components", self.n_components, 1, "write n_components=2")
        if count > most:
            raise InvalidParameter(
                f"n_components must be at most {most}, the smaller of rows and columns, got {count}; write "
                f"n_components={most}."
            )
        return count

    def _write(self, found: Products, rows: int, kept: int, span: Span) -> Array:
        """Set the fitted attributes; the covariance."""
        # a shortened row has a smaller weight: the last entry is the mean of the squared factors, which are >= clip
        share = 1.0 if self.clip == 1.0 else float(np.clip(found.matrix[-1, -1], self.clip**2, 1.0))
        unit, middle = common_unit(span), found.matrix[:-1, -1] / share
        again = rows / (rows - 1.0)  # the unbiased variance, as in scikit-learn
        covariance = again * unit**2 * (found.matrix[:-1, :-1] / share - np.outer(middle, middle))
        values, vectors = np.linalg.eigh(covariance)
        values, components = np.maximum(values[::-1], 0.0), vectors.T[::-1]
        largest = np.abs(components).argmax(axis=1)
        components = components * np.sign(components[np.arange(len(components)), largest])[:, None]
        total = float(values.sum())
        self.mean_ = np.clip(span.middle + unit * middle, span.low, span.high)
        self.components_, self.explained_variance_ = components[:kept], values[:kept]
        self.explained_variance_ratio_ = values[:kept] / total if total > 0.0 else np.zeros(kept)
        self.singular_values_ = np.sqrt(values[:kept] * (rows - 1.0))
        self.noise_variance_ = float(values[kept:].mean()) if kept < len(values) else 0.0
        self.error_ = again * unit**2 * found.error / share
        self.n_components_, self.n_samples_, self._n_features_out = kept, rows, kept
        return np.asarray(covariance)

    def transform(self, X: Any) -> Array:
        """The components of rows, whose values are limited to the bounds."""
        made = (self._limited(X) - self.mean_) @ self.components_.T
        return made / self._spreads() if self.whiten else made

    def inverse_transform(self, X: Any) -> Array:
        """Rows in the units of the data from components."""
        check_is_fitted(self)
        made = np.asarray(X, dtype=np.float64)
        return (made * self._spreads() if self.whiten else made) @ self.components_ + self.mean_

    def _spreads(self) -> Array:
        """The spreads of the components, where noise left one."""
        least = np.finfo(np.float64).eps * max(float(self.explained_variance_.max(initial=0.0)), 1e-300)
        return np.sqrt(np.maximum(self.explained_variance_, least))


def _scaled(rows: Array, span: Span) -> Iterator[Array]:
    """Parts of the rows (u, 1) in the common unit."""
    unit = common_unit(span)
    for start in range(0, len(rows), MOST_ROWS):
        part = np.clip(rows[start : start + MOST_ROWS], span.low, span.high)
        yield np.column_stack([(part - span.middle) / unit, np.ones(len(part))])
