"""k-means: Lloyd's steps with noisy counts and sums of the clusters, from a start that is spread like the data.

With the middles m of the public ranges and one common unit h, the root mean square of half the ranges, a row is the
vector of integers q = trunc(G (x - m)/h), no longer than g = floor(G sqrt(K)) up to rounding (`whole_rows` makes sure
of it). In a step a row adds g and q to the block of its nearest centre. If one row is replaced, and both rows have the
same nearest centre, the block moves by |q - q'| <= 2 g. If not, two blocks move by at most sqrt(g^2 + g^2) each, which
is 2 g together. The count costs nothing. In l1 the move is at most 2 g + 2 sqrt(K) g.

The nearest centre of a row is found in exact integers, so it depends on this row and on released centres only. The
start uses the noisy means and spreads of the columns (`hush.learn.means_and_spreads`). Labels of rows are not released.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm, qmc

from hush.errors import InvalidParameter, whole
from hush.learn.budget import Wish
from hush.learn.caution import about_labels
from hush.learn.construction import explained
from hush.learn.descent import Noise
from hush.learn.means_and_spreads import moment_sums, moments_wish, private_scaling
from hush.learn.relation import REPLACED_ROW
from hush.learn.scaling import GRAIN, Scaling, Span
from hush.learn.scikit_learn import ClusterMixin, TransformerMixin, absent
from hush.learn.sum_model import SumModel, common_unit
from hush.learn.wide_bounds import Seen
from hush.numerics.rounding import FEW_ROUNDINGS, TWO_ROUNDINGS, up

__all__ = ["KMeans", "cluster_sums", "clusters_wish", "grain_of", "whole_rows"]

Array = NDArray[np.float64]
_START_SHARE = 0.1  # of the budget, for the means and spreads of the columns
_PASSES, _PASSES_WITHOUT_NOISE = 6, 300
_CANDIDATES = 32  # points of a start for each cluster, of which the most distant are kept
_SPARE = 64  # sets of points for clusters that are empty
_PART = 1 << 14  # rows of one part
_SEEN = 3.0  # a cluster is empty if its noisy count is below so many standard deviations


def grain_of(columns: int) -> tuple[float, float]:
    """G, a power of 2 for which the products of a row and a centre are exact in floats, and g = floor(G sqrt(K))."""
    grain = 2.0 ** min(20, math.floor((50.0 - math.log2(columns)) / 2.0))
    return grain, math.floor(grain * math.sqrt(columns))


def clusters_wish(columns: int, clusters: int, passes: int, share: float) -> Wish:
    """The release of the counts and sums of all clusters in every step."""
    _, longest = grain_of(columns)
    l2, alone = 2.0 * longest, up(math.sqrt(2.0) * longest, FEW_ROUNDINGS)
    alone_l1, numbers = up(longest * (1.0 + math.sqrt(columns)), FEW_ROUNDINGS), clusters * (columns + 1)
    return Wish(
        "counts and sums of the clusters",
        share,
        REPLACED_ROW.bound(replaced={"l2": l2}, alone={"l2": alone}, dimension=numbers),
        REPLACED_ROW.bound(
            replaced={"l1": 2.0 * alone_l1, "l2": l2}, alone={"l1": alone_l1, "l2": alone}, dimension=numbers
        ),
        numbers,
        passes,
    )


def whole_rows(rows: Array, span: Span) -> Array:
    """Rows or centres as integers q of length at most g, held as floats."""
    grain, longest = grain_of(rows.shape[1])
    made = (np.clip(rows, span.low, span.high) - span.middle) * (grain / common_unit(span))
    length = np.sqrt(np.einsum("nk,nk->n", made, made))
    inside = longest * (1.0 - TWO_ROUNDINGS.share * (rows.shape[1] + 16))  # the computed length can be too small
    made *= np.minimum(1.0, inside / np.maximum(length, 1.0))[:, None]
    return np.trunc(made, out=made)


def cluster_sums(rows: Array, centres: Array, span: Span) -> NDArray[np.int64]:
    """For each centre g times the number of its rows, and the sums of their q: exact integers."""
    _, longest = grain_of(rows.shape[1])
    made = np.zeros((len(centres), rows.shape[1] + 1), dtype=np.int64)
    for start in range(0, len(rows), _PART):
        q = whole_rows(rows[start : start + _PART], span)
        places = _nearest(q, whole_rows(centres, span))
        for place in range(len(centres)):
            own = q[places == place]
            made[place] += np.array([longest * len(own), *own.sum(axis=0)], dtype=np.int64)
    return made


def _nearest(q: Array, centres: Array) -> NDArray[np.int64]:
    """The places of the nearest centres: |c|^2 - 2 q.c is an integer below 2^53 in any order of its sums."""
    return np.asarray(((centres * centres).sum(axis=1) - 2.0 * (q @ centres.T)).argmin(axis=1))


@explained
@dataclass(kw_only=True, eq=False, repr=False)
class KMeans(ClusterMixin, TransformerMixin, SumModel):
    """Private k-means: cluster centres from noisy counts and sums of the clusters.

    n_clusters: the number of clusters. passes: Lloyd's steps, each of which has noise; None is 6. `SumModel`
    describes the other parameters. A fit sets cluster_centers_, start_ (the first centres) and n_iter_. It sets no
    labels_, which would be about single rows; `predict` gives the label of any row. Columns should have one unit.

    Guarantees: all attributes of the fitted estimator together are (epsilon, delta)-private for one replaced row.

    >>> import numpy as np, hush.learn
    >>> rng = np.random.default_rng()
    >>> X = rng.normal(size=(10_000, 2)) + 10 * rng.integers(0, 2, (10_000, 1))
    >>> model = hush.learn.KMeans(epsilon=1.0, delta=1e-6, bounds=(-5, 15), n_clusters=2).fit(X)
    >>> bool(np.abs(np.sort(model.cluster_centers_[:, 0]) - [0.0, 10.0]).max() < 1.0)
    True
    """

    n_clusters: int = 8
    passes: int | None = None

    labels_ = absent(
        "labels_ does not exist: it would hold a label for each row of the fit, which is not private; write "
        "predict(new_rows), and do not publish the labels of the rows of the fit."
    )
    inertia_ = absent(
        "inertia_ does not exist: it would be a sum over the rows without noise; write -score(rows) for public rows."
    )

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn the centres; y is ignored."""
        with self._fitting() as seen:
            rows = self._checked(X, ensure_min_samples=2)
            span, clusters = self._span(), whole("n_clusters", self.n_clusters, 1, "write n_clusters=8")
            if clusters > len(rows):
                raise InvalidParameter(f"n_samples={len(rows)} should be >= n_clusters={clusters}.")
            default = _PASSES_WITHOUT_NOISE if self.epsilon == math.inf else _PASSES
            passes = default if self.passes is None else whole("passes", self.passes, 1, "write passes=6")
            columns = rows.shape[1]
            steps = clusters_wish(columns, clusters, passes, 1.0 - _START_SHARE)
            parts = self._planned(moments_wish(columns, _START_SHARE), steps)
            paid = self._paid(parts, len(rows), [])
            first, second = parts or (None, None)
            if first is None:
                scaling = Scaling.of_data(rows.T.copy(), span)
            else:
                scaling = private_scaling(moment_sums(rows, span), len(rows), span, first, paid)
                each = np.full(columns, first.deviation / (len(rows) * GRAIN))
                seen.append(Seen(scaling.centre, scaling.spread, each, span))
            self.limits_ = np.stack([span.low, span.high], axis=1)
            self.start_ = _distant(_points(_CANDIDATES * clusters, scaling, span), clusters, scaling)
            noise, error = Noise(second, paid), 0.0 if second is None else second.deviation
            self._lloyd(rows, span, scaling, noise, error, passes)
        return self

    def _lloyd(self, rows: Array, span: Span, scaling: Scaling, noise: Noise, error: float, passes: int) -> None:
        """Steps from the start. Centres are shrunk towards the centre of all rows in proportion to their noise."""
        centres, grain, longest = self.start_.copy(), *grain_of(rows.shape[1])
        unit, clusters, doubt = common_unit(span) / grain, len(centres), error / longest  # of a count
        spare = _points(_SPARE * clusters, scaling, span).reshape(_SPARE, clusters, -1)
        for index in range(passes):
            sums = cluster_sums(rows, centres, span)
            released = noise.on(sums.ravel()).reshape(sums.shape)
            count, before = released[:, :1] / longest, centres
            sure = np.maximum(count, max(doubt, 1.0))
            found = np.clip(span.middle + unit * released[:, 1:] / sure, span.low, span.high)
            signal = float((scaling.spread**2).sum())
            centres = scaling.centre + (found - scaling.centre) * signal / (
                signal + rows.shape[1] * (unit * error / sure) ** 2
            )
            empty, self.n_iter_ = count <= max(_SEEN * doubt, 0.5), index + 1
            if empty.any() and index + 1 < passes:  # an empty cluster gets a point near the largest one
                centres = np.where(empty, 0.5 * (centres[count.argmax()] + spare[index % _SPARE]), centres)
            elif error == 0.0 and np.array_equal(centres, before):
                break
        self.cluster_centers_, self._n_features_out = centres, clusters

    def predict(self, X: Any) -> NDArray[np.int64]:
        """The place of the nearest centre of each row, whose values are limited to the bounds."""
        return np.asarray(self.transform(X).argmin(axis=1))

    def fit_predict(self, X: Any, y: Any = None) -> NDArray[np.int64]:
        """Fit, then predict the same rows, with a warning: the labels are about single rows and not private."""
        about_labels("KMeans", "fit_predict")
        return self.fit(X).predict(X)

    def fit_transform(self, X: Any, y: Any = None) -> Array:
        """Fit, then transform the same rows, with a warning: the distances are about single rows and not private."""
        about_labels("KMeans", "fit_transform")
        return self.fit(X).transform(X)

    def transform(self, X: Any) -> Array:
        """The distance of each row to each centre."""
        rows = self._limited(X)
        return np.stack([np.sqrt(((rows - centre) ** 2).sum(axis=1)) for centre in self.cluster_centers_], axis=1)

    def score(self, X: Any, y: Any = None) -> float:
        """Minus the sum of squared distances to the nearest centres. It is not private if the rows are not public."""
        return -float((self.transform(X).min(axis=1) ** 2).sum())


def _points(count: int, scaling: Scaling, span: Span) -> Array:
    """Points that are spread like the data, from a public sequence without randomness."""
    uniform = qmc.Halton(scaling.centre.size, scramble=False).random(count + 1)[1:]
    return np.clip(scaling.centre + 1.2 * scaling.spread * norm.ppf(uniform), span.low, span.high)


def _distant(points: Array, count: int, scaling: Scaling) -> Array:
    """Points of which each is the most distant from those before it; the first is the most central one."""
    scaled = (points - scaling.centre) / scaling.spread
    kept = [int((scaled * scaled).sum(axis=1).argmin())]
    while len(kept) < count:
        apart = np.min([((points - points[place]) ** 2).sum(axis=1) for place in kept], axis=0)
        kept.append(int(apart.argmax()))
    return points[kept]
