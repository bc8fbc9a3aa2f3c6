"""Questions about the bins of a line: cumulative counts, ranges, and the counts that a median is found from.

A question is a row of weights, one for each bin. Blocks of s neighbouring bins matter for the error: for every
workload, `block_norms(s)` adds up the squared lengths of all questions after each block is replaced by its mean. The
line is continued by empty bins, so that it consists of whole blocks.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, called_like, whole
from hush.privacy.charge import Budget
from hush.releasing.receipt import Receipt
from hush.workload.blocks import BlockStrategy
from hush.workload.counts import MOST_ROWS, whole_array
from hush.workload.line_answer import LineAnswer
from hush.workload.line_strategies import makers
from hush.workload.plan import WorkloadPlan, chosen
from hush.workload.root import RootStrategy

__all__ = ["Line", "Prefixes", "Quantiles", "Ranges"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

_MOST_BINS = 1 << 20


@dataclass(frozen=True)
class Line:
    """Questions about `bins` ordered bins. A person has at most `rows_per_person` rows, each in one bin."""

    bins: int
    #: What the questions are, in words.
    kind: ClassVar[str] = "questions"
    by_attributes: ClassVar[bool] = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "bins", whole("bins", self.bins, 1, f"write {type(self).__name__}(128)"))
        if self.bins > _MOST_BINS:
            raise InvalidParameter(f"bins must be at most {_MOST_BINS}, got {self.bins}.")

    @property
    def questions(self) -> int:
        """The number of questions."""
        return self.bins

    @property
    def objective(self) -> str:
        """What the plan minimises, in words."""
        return f"mean squared error of all {self.kind}"

    def block_norms(self, size: int, padded: int) -> Array:
        """The squared length of each question after every block of this size is replaced by its mean. The line is
        continued to `padded` bins.
        """
        raise Unsupported(f"{type(self).__name__} has no block norms.")

    def block_norm(self, size: int, padded: int) -> float:
        """The sum of `block_norms` over all questions."""
        return float(self.block_norms(size, padded).sum())

    def root_error(self, root: RootStrategy) -> float:
        """The sum of the squared errors of all questions under the root of cumulative sums."""
        raise Unsupported(f"{type(self).__name__} are not made from cumulative counts.")

    def matrix(self) -> Array:
        """All questions as rows, for short lines."""
        raise Unsupported(f"{type(self).__name__} has no matrix.")

    @called_like("Prefixes(128).plan(1.0, 1e-6)")
    def plan(self, epsilon: float, delta: float, *, rows_per_person: int = 1) -> WorkloadPlan:
        """The strategy and the noise of least mean squared error for this budget.

        Compared are nested blocks of bins with whole-number Laplace noise and with Gaussian noise (each bin alone is
        one of them), and other strategies with Gaussian noise.
        """
        budget, rows = Budget.asked(epsilon, delta), whole("rows_per_person", rows_per_person)
        return chosen(self, budget, rows, makers(self, budget, rows))

    def counted(self, histogram: Any) -> Whole:
        """The count of each bin, checked."""
        array = whole_array("histogram", histogram)
        if array.shape != (self.bins,):
            raise InvalidParameter(f"histogram must be a list of {self.bins} counts, got the shape {array.shape}.")
        if float(np.abs(array).astype(np.float64).sum()) > MOST_ROWS:
            raise InvalidParameter("the counts must be those of at most 2^40 rows.")
        return array

    def answer_of(self, plan: WorkloadPlan, estimated: Any, receipt: Receipt) -> LineAnswer:
        """The answer from the estimated bins."""
        return LineAnswer(self, plan.strategy, estimated, receipt)

    def variances(self, strategy: Any) -> Array:
        """The variance of each question."""
        if isinstance(strategy, BlockStrategy):
            return strategy.variances(self.block_norms)
        if isinstance(strategy, RootStrategy):
            return self.root_variances(strategy)
        return np.array([strategy.variance_of(row) for row in self.matrix()])

    def root_variances(self, root: RootStrategy) -> Array:
        """The variance of each question under the root of cumulative sums."""
        raise Unsupported("the variances of so many questions are not listed; use the plan's rmse, or answer.range.")

    def mean_squared_error(self, strategy: Any) -> float:
        """The mean over all questions."""
        return float(strategy.error)

    def __repr__(self) -> str:
        return f"{self.kind} of {self.bins} bins"


@dataclass(frozen=True, repr=False)
class Prefixes(Line):
    """Cumulative counts: how many rows are in the first k bins, for k = 1, ..., bins.

    >>> round(Prefixes(128).plan(1.0, 1e-6).mse, 1)
    48.4
    """

    kind: ClassVar[str] = "cumulative counts"

    def block_norms(self, size: int, padded: int) -> Array:
        k = np.arange(1.0, self.bins + 1.0)
        rest = k % size
        return (k - rest) + rest**2 / size

    def block_norm(self, size: int, padded: int) -> float:
        first, second = _sums_of_rests(self.bins, size)
        return 0.5 * self.bins * (self.bins + 1.0) - first + second / size

    def root_error(self, root: RootStrategy) -> float:
        return float(root.prefix_variances().sum())

    def root_variances(self, root: RootStrategy) -> Array:
        return root.prefix_variances()

    def matrix(self) -> Array:
        return np.tri(self.bins)


@dataclass(frozen=True, repr=False)
class Quantiles(Line):
    """Counts for quantiles: the rows in the first k bins less half of all rows, for k = 1, ..., bins.

    The sign of such a count says on which side of bin k the median is. The same measured numbers answer all quantiles.
    """

    kind: ClassVar[str] = "cumulative counts less half of all"

    def block_norms(self, size: int, padded: int) -> Array:
        k = np.arange(1.0, self.bins + 1.0)
        rest = k % size
        cut = rest > 0
        whole_blocks: Array = 0.25 * (padded - size * cut.astype(np.float64))
        return whole_blocks + np.where(cut, (2.0 * rest - size) ** 2 / (4.0 * size), 0.0)

    def block_norm(self, size: int, padded: int) -> float:
        first, second = _sums_of_rests(self.bins, size)
        cut = self.bins - self.bins // size
        of_cut = (4.0 * second - 4.0 * size * first + float(size) ** 2 * cut) / (4.0 * size)
        return 0.25 * (float(padded) * self.bins - float(size) * cut) + of_cut

    def root_error(self, root: RootStrategy) -> float:
        return float(self.root_variances(root).sum())

    def root_variances(self, root: RootStrategy) -> Array:
        each = root.prefix_variances()
        return np.asarray(each - root.covariances_with_all() + 0.25 * each[-1])

    def matrix(self) -> Array:
        return np.tri(self.bins) - 0.5


@dataclass(frozen=True, repr=False)
class Ranges(Line):
    """All ranges: how many rows are in the bins i, ..., j - 1, for all 0 <= i < j <= bins."""

    kind: ClassVar[str] = "ranges"

    @property
    def questions(self) -> int:
        return self.bins * (self.bins + 1) // 2

    def block_norms(self, size: int, padded: int) -> Array:
        """In the order (0, 1), (0, 2), ..., (1, 2), ...; for up to 2,000 bins."""
        if self.bins > 2000:
            raise Unsupported("the variances of so many ranges are not listed; use the plan's rmse, or answer.range.")
        i, j = np.triu_indices(self.bins + 1, 1)
        first, last = i // size, j // size
        a, b = i % size, j % size
        same = (b - a) ** 2 / size
        apart = (size - a) ** 2 / size + (last - first - 1.0) * size + b**2 / size
        return np.where(first == last, same, apart)

    def block_norm(self, size: int, padded: int) -> float:
        return _range_norm(self.bins, size)

    def root_error(self, root: RootStrategy) -> float:
        """The sum over all pairs of |g_j - g_i|^2 is (bins + 1) times the sum of |g_k|^2, less |sum of g_k|^2."""
        return float((self.bins + 1.0) * root.prefix_variances().sum() - root.variance_of_sum())

    def matrix(self) -> Array:
        i, j = np.triu_indices(self.bins + 1, 1)
        k = np.arange(self.bins)
        return ((k >= i[:, None]) & (k < j[:, None])).astype(np.float64)


def _sums_of_rests(bins: int, size: int) -> tuple[float, float]:
    """The sums of k % size and of its square, over k = 1, ..., bins."""
    whole_turns, last = divmod(bins, size)
    first = whole_turns * (size * (size - 1) // 2) + last * (last + 1) // 2
    second = whole_turns * ((size - 1) * size * (2 * size - 1) // 6) + last * (last + 1) * (2 * last + 1) // 6
    return float(first), float(second)


@lru_cache(maxsize=4096)
def _range_norm(bins: int, size: int) -> float:
    """The sum over i < j of |P w_i|^2 + |P w_j|^2 - 2 w_i P w_j, where w_k has ones in the first k bins.

    w_i P w_j is i if the two ends are in different blocks; else it is the whole blocks before plus a b/size.
    """
    k = np.arange(0.0, bins + 1.0)
    rest = k % size
    own = (k - rest) + rest**2 / size
    total = bins * own.sum() - 2.0 * (k * (bins - k)).sum()  # each k is an end of `bins` pairs; i counts bins - i times
    # pairs of one block: replace i = start + a by start + a b/size
    ends = np.minimum(k - rest + size, bins + 1.0)  # the block of i has the ends k < ends
    later = ends - k - 1.0
    sum_b = later * (rest + 1.0 + rest + later) / 2.0
    return float(total + 2.0 * (rest * later - rest * sum_b / size).sum())
