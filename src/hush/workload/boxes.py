"""`Boxes`: products of questions about several columns, such as all ranges of age times all ranges of hours, by sex."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, called_like, each, made_like, whole, within
from hush.numerics.rounding import SPARE, down
from hush.privacy.charge import Budget
from hush.releasing.receipt import Receipt
from hush.workload.block_search import best_blocks, gains
from hush.workload.box_answer import BoxesAnswer
from hush.workload.box_shares import best_box_shares, block_cells, box_precisions
from hush.workload.box_strategy import BoxBlocks, BoxMatrices, BoxStrategy
from hush.workload.counts import Counts, from_histogram
from hush.workload.dense import dense_rows
from hush.workload.line import Line
from hush.workload.plan import WorkloadPlan, chosen
from hush.workload.strategy import Strategy, gaussian_part, laplace_part, spared

__all__ = ["Boxes", "Categories"]

Array = NDArray[np.float64]

_MOST_CELLS = 1 << 22
_MOST_DENSE = 256  # bins of an axis for which all matrices are computed
_SCALE = 1 << 22  # the whole number that stands for a share of 1 of the l2 sensitivity
_MOST_LEVELS = 64  # levels of all axes together that are compared
_MOST_ENTRY = 1 << 22  # the product of the largest entries of all matrices of whole numbers
_EXAMPLE = 'Boxes({"age": Ranges(20), "hour": Ranges(24), "sex": 2})'


class Categories(Line):
    """The count of each bin by itself: the values of a column without an order."""

    kind: ClassVar[str] = "single values"

    def block_norms(self, size: int, padded: int) -> Array:
        return np.full(self.bins, 1.0 / size)

    def matrix(self) -> Array:
        return np.eye(self.bins)


@made_like(_EXAMPLE)
@dataclass(frozen=True, repr=False)
class Boxes:
    """Counts of boxes of a grid. `axes` gives the questions about each column: `Ranges(n)`, `Prefixes(n)` or
    `Questions(...)` for n ordered bins, or a number of values, each of which is asked by itself. A question of the
    workload is a product of one question about each column.

    >>> from hush.workload import Ranges
    >>> round(Boxes({"age": Ranges(16), "sex": 2}).plan(1.0, 1e-6).mse, 2)
    11.05
    """

    axes: Mapping[str, Line | int]
    by_attributes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.axes, Mapping) or not self.axes:
            raise InvalidParameter(f"axes must give the questions about each column; write {_EXAMPLE}.")
        sizes = [one for one in self.axes.values() if not isinstance(one, Line)]
        each(within, "axes", each(whole, "axes", sizes, 1, instead=f"write {_EXAMPLE}"), 1, _MOST_CELLS)
        found = {str(name): one if isinstance(one, Line) else Categories(int(one)) for name, one in self.axes.items()}
        object.__setattr__(self, "axes", found)
        if math.prod(self.shape) > _MOST_CELLS:
            raise InvalidParameter(f"the grid has {math.prod(self.shape)} cells; at most {_MOST_CELLS} are allowed.")

    @property
    def lines(self) -> list[Line]:
        """The questions about each column."""
        return [one for one in self.axes.values() if isinstance(one, Line)]

    @property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.axes)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins of each column."""
        return tuple(line.bins for line in self.lines)

    @property
    def questions(self) -> int:
        """The number of all boxes."""
        return math.prod(line.questions for line in self.lines)

    @property
    def objective(self) -> str:
        """What the plan minimises, in words."""
        return "mean squared error of all boxes"

    @called_like(f"{_EXAMPLE}.plan(1.0, 1e-6)")
    def plan(self, epsilon: float, delta: float, *, rows_per_person: int = 1) -> WorkloadPlan:
        """The strategy and the noise of least mean squared error for this budget.

        Compared are noise on each cell, nested blocks along all axes with whole-number Laplace noise and with Gaussian
        noise, and products of the best Gaussian strategies of the axes.
        """
        budget, rows = Budget.asked(epsilon, delta), whole("rows_per_person", rows_per_person)
        flat = tuple((1,) for _ in self.lines)
        makers: list[tuple[str, Callable[[], Strategy]]] = [
            ("Laplace noise on each cell", partial(_laplace, self, budget, rows, [flat])),
            ("Laplace noise on blocks", partial(_laplace, self, budget, rows, _block_sizes(self, budget, rows))),
            ("Gaussian noise on blocks", partial(_gaussian, self, budget, rows)),
            ("Gaussian noise on products of the best combinations", partial(_dense, self, budget, rows)),
        ]
        return chosen(self, budget, rows, makers)

    def counted(self, histogram: Any) -> Counts:
        """The count of each cell, checked: an array with an axis for each column."""
        return histogram if isinstance(histogram, Counts) else from_histogram(histogram, self.shape)

    def answer_of(self, plan: WorkloadPlan, estimated: Any, receipt: Receipt) -> BoxesAnswer:
        """The answer from the estimated cells."""
        assert isinstance(plan.strategy, BoxStrategy)
        return BoxesAnswer(self, plan.strategy, estimated, receipt)

    def variances(self, strategy: BoxStrategy) -> Any:
        """Boxes are too many to list; the variance of each follows from its answer."""
        raise Unsupported("the variances of all boxes are not listed; use the plan's rmse, or answer.box(...).")

    def mean_squared_error(self, strategy: BoxStrategy) -> float:
        """The mean over all boxes."""
        return strategy.error

    def __repr__(self) -> str:
        return "boxes of " + ", ".join(f"{name}: {line}" for name, line in self.axes.items())

    def __hash__(self) -> int:
        return hash((self.names, self.shape))


Sizes = tuple[tuple[int, ...], ...]


def _block_sizes(boxes: Boxes, budget: Budget, rows: int) -> list[Sizes]:
    """Block sizes to compare: for each axis those that are best for it alone, with one to three levels."""
    choices: list[list[tuple[int, ...]]] = []
    for line in boxes.lines:
        own: list[tuple[int, ...]] = [(1,)]
        for levels in (2, 3):
            if line.bins >= 4**levels // 2 and not isinstance(line, Categories):
                for part in (1, 2, 4):  # an axis has a part of the budget: its best blocks are larger or smaller
                    epsilon = spared(budget.epsilon) / rows / part
                    own.append(best_blocks(line.block_norm, line.bins, epsilon, levels).sizes)
        choices.append(list(dict.fromkeys(own)))
    return [sizes for sizes in product(*choices) if math.prod(map(len, sizes)) <= _MOST_LEVELS]


def _gains(boxes: Boxes, sizes: Sizes) -> Array:
    """t_l of every level."""
    found = np.ones(())
    for line, own in zip(boxes.lines, sizes, strict=True):
        found = np.multiply.outer(found, gains(line.block_norm, line.bins, own))
    return found


def _laplace(boxes: Boxes, budget: Budget, rows: int, choices: Sequence[Sizes]) -> BoxBlocks:
    epsilon = spared(budget.epsilon) / rows
    tried = []
    for sizes in choices:
        shares, total = best_box_shares(
            _gains(boxes, sizes),
            block_cells(sizes),
            lambda share: 2.0 * np.sinh(0.5 * epsilon * share) ** 2,  # 1/V = cosh - 1
            lambda share: epsilon * np.sinh(epsilon * share),
        )
        tried.append((total, sizes, shares))
    total, sizes, shares = min(tried, key=lambda one: one[0])
    each = np.where(shares > 0.0, down(epsilon * shares, SPARE), 0.0)
    inverse = 2.0 * np.sinh(0.5 * each) ** 2
    levels = [tuple(int(k) for k in level) for level in np.argwhere(inverse > 0.0)]
    parts = tuple(
        laplace_part(float(each[level]) * rows, _blocks(boxes.shape, sizes, level), 1, rows) for level in levels
    )
    single = len(levels) == 1
    name = "Laplace noise on each cell" if single else f"Laplace noise on blocks of {_words(sizes)} bins"
    epsilons = tuple(float(each[level]) for level in levels)
    error = float((_gains(boxes, sizes) / box_precisions(block_cells(sizes), inverse)).sum()) / boxes.questions
    return BoxBlocks(name, parts, error, shape=boxes.shape, sizes=sizes, inverse=inverse, epsilons=epsilons)


def _blocks(shape: Sequence[int], sizes: Sizes, level: Sequence[int]) -> int:
    return math.prod(-(-n // own[k]) for n, own, k in zip(shape, sizes, level, strict=True))


def _words(sizes: Sizes) -> str:
    return " x ".join(f"({', '.join(map(str, own))})" for own in sizes)


def _powers(bins: int, ratio: int) -> tuple[int, ...]:
    sizes = [1]
    while sizes[-1] * ratio <= bins:
        sizes.append(sizes[-1] * ratio)
    return tuple(sizes[::-1])


def _gaussian(boxes: Boxes, budget: Budget, rows: int) -> BoxBlocks:
    if budget.delta == 0.0:
        raise Unsupported("Gaussian noise needs a delta above 0")
    tried = []
    for ratio in (2, 4, 8, 16):
        sizes = tuple((1,) if isinstance(line, Categories) else _powers(line.bins, ratio) for line in boxes.lines)
        if math.prod(map(len, sizes)) <= _MOST_LEVELS:
            shares, total = best_box_shares(
                _gains(boxes, sizes), block_cells(sizes), lambda share: share, lambda share: np.ones(share.shape)
            )
            tried.append((total, sizes, shares))
    if not tried:
        raise Unsupported("the grid has too many levels of blocks")
    _, sizes, shares = min(tried, key=lambda one: one[0])
    factors = np.floor(_SCALE * np.sqrt(shares)).astype(np.int64)
    levels = [tuple(int(k) for k in level) for level in np.argwhere(factors > 0)]
    multiples = tuple(int(factors[level]) for level in levels)
    count = sum(_blocks(boxes.shape, sizes, level) for level in levels)
    part = gaussian_part(rows * math.sqrt(sum(k * k for k in multiples)), count, budget)
    inverse = factors.astype(np.float64) ** 2 / float(np.max(part.noise.variance))
    error = float((_gains(boxes, sizes) / box_precisions(block_cells(sizes), inverse)).sum()) / boxes.questions
    name = f"Gaussian noise on blocks of {_words(sizes)} bins"
    return BoxBlocks(name, (part,), error, shape=boxes.shape, sizes=sizes, inverse=inverse, multiples=multiples)


def _dense(boxes: Boxes, budget: Budget, rows: int) -> BoxMatrices:
    """The product of the best Gaussian strategies of the axes, with whole coefficients."""
    if budget.delta == 0.0:
        raise Unsupported("Gaussian noise needs a delta above 0")
    if max(boxes.shape) > _MOST_DENSE:
        raise Unsupported(f"it is computed for at most {_MOST_DENSE} bins of a column")
    scale = int(_MOST_ENTRY ** (1.0 / len(boxes.shape)))
    identity = [isinstance(line, Categories) for line in boxes.lines]
    each = [
        np.eye(line.bins, dtype=np.int64) if same else dense_rows(line, scale)
        for line, same in zip(boxes.lines, identity, strict=True)
    ]
    longest = math.prod(max(sum(int(k) ** 2 for k in column) for column in one.T) for one in each)
    part = gaussian_part(rows * math.sqrt(longest), math.prod(len(one) for one in each), budget)
    error = float(np.max(part.noise.variance))
    for line, one in zip(boxes.lines, each, strict=True):
        error *= float(np.sum((line.matrix() @ np.linalg.pinv(one.astype(np.float64))) ** 2)) / line.questions
    name = "Gaussian noise on products of the best combinations"
    return BoxMatrices(name, (part,), error, shape=boxes.shape, rows=tuple(each))
