"""Proposed events that distinguish two inputs: half lines, and unions of values or intervals by likelihood ratio."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.auditing.event import Event, Outputs, Pair, Proposal, View, by_ratio, choose
from hush.auditing.target import Target
from hush.auditing.vector_views import vector_views

__all__ = ["coordinates", "set_proposals", "views"]

_INTERVALS = (32, 256, 2048)  # cells: few wide ones have stable ratios, many narrow ones follow an irregular law
_VALUES = 4096  # at most this many single values are separate cells
_REPEATED = 10  # a value that occurs this often is a separate cell
_COORDINATES = 16  # at most this many coordinates of a vector are tested one by one
_FEW = 4  # the same, where many pairs of inputs are tried; and how many views of whole vectors are searched in full
_TRIED = 4000  # draws of each input with which views of whole vectors are compared
_LOOSE = 0.01  # the risk of a bound by which views are compared
_SCORED = 256  # the score uses at most this many coordinates


# -- views of an output --------------------------------------------------------------------------------------


def coordinates(rank: Pair, *, few: bool = False) -> list[View]:
    """Each coordinate; for a long vector, those that move most between the inputs."""
    width = rank[0].shape[1]
    if width == 1:
        return [View("output", lambda y: y[:, 0])]
    order = np.argsort(-np.abs(_moves(rank)), kind="stable")[: _FEW if few else _COORDINATES]
    return [_coordinate(int(j)) for j in np.sort(order)]


def _coordinate(j: int) -> View:
    return View(f"coordinate {j}", lambda y: y[:, j])


def views(rank: Pair, target: Target, *, few: bool = False) -> list[View]:
    """Coordinates. For vectors, first the projection on the shift, the best linear combination, a likelihood-ratio
    score, and the most telling views of vector_views.py.
    """
    width, shift = rank[0].shape[1], target.shift
    if width == 1:
        return coordinates(rank)
    found = []
    if shift is not None and shift.size == width and shift.any():
        found.append(View("projection on the shift", lambda y: y @ shift))
    if width <= _SCORED:
        weights = _discriminant(rank)
        found.append(View("linear combination of all coordinates", lambda y: y @ weights))
    return [*found, _score(rank), *_telling(vector_views(rank, target), rank), *coordinates(rank, few=few)]


def _telling(found: list[View], rank: Pair) -> list[View]:
    """The views that show most on some of the draws, in their order."""
    half = min(_TRIED, rank[0].shape[0]) // 2
    parts = tuple(r[:half] for r in rank), tuple(r[half : 2 * half] for r in rank)
    shown = []
    for view in found:
        chosen = choose(set_proposals(view, parts[0], parts[1], _INTERVALS[:1]), half, 0.0, _LOOSE)  # type: ignore[arg-type]
        shown.append(max((one.bound for one in chosen), default=0.0))
    return [found[i] for i in sorted(np.argsort(-np.array(shown), kind="stable")[:_FEW])]


def _discriminant(rank: Pair) -> NDArray[np.float64]:
    """Fisher's linear discriminant: it finds noise that coordinates share, which can be subtracted."""
    spread = np.cov(rank[0], rowvar=False) + np.cov(rank[1], rowvar=False)
    ridge = 1e-9 * np.trace(spread) + 1e-300
    found: NDArray[np.float64] = np.linalg.solve(
        spread + ridge * np.eye(len(spread)), rank[1].mean(axis=0) - rank[0].mean(axis=0)
    )
    return found


def _moves(rank: Pair) -> NDArray[np.float64]:
    """How far each coordinate's median moves, in units of its spread."""
    low, middle, high = np.quantile(rank[0].astype(np.float64), [0.25, 0.5, 0.75], axis=0)
    spread = high - low
    return (np.median(rank[1], axis=0) - middle) / np.where(spread > 0.0, spread, 1.0)


def _score(rank: Pair) -> View:
    """The sum over coordinates of the estimated log likelihood ratio: best for independent coordinates."""
    columns = np.arange(rank[0].shape[1])
    if columns.size > _SCORED:
        columns = np.sort(np.argsort(-np.abs(_moves(rank)), kind="stable")[:_SCORED])
    tables = []
    for j in columns:
        cells = Cells.of(np.concatenate([rank[0][:, j], rank[1][:, j]]), 64)
        first, second = (np.bincount(cells.number(r[:, j]), minlength=cells.count) for r in rank)
        tables.append((int(j), cells, np.log(first + 1.0) - np.log(second + 1.0)))

    def score(y: Outputs) -> Outputs:
        total = np.zeros(y.shape[0])
        for j, cells, ratio in tables:
            total += ratio[cells.number(y[:, j])]
        return total

    return View("likelihood-ratio score of all coordinates", score)


# -- proposals -----------------------------------------------------------------------------------------------


def set_proposals(view: View, rank: Pair, hold: Pair, resolutions: tuple[int, ...] = _INTERVALS) -> Iterator[Proposal]:
    """Events on one view: sets are constructed with the draws `rank`, hits are counted on the draws `hold`."""
    ranked, held = view.pair(rank), view.pair(hold)
    pooled = np.sort(np.concatenate(ranked))
    yield from _half_lines(view, pooled, held)
    done = 0
    for intervals in resolutions:
        cells = Cells.of(pooled, intervals)
        if cells.count != done:  # if all values are separate cells, the resolutions are equal
            done = cells.count
            numbers = cells.number(ranked[0]), cells.number(ranked[1])
            ids = cells.number(held[0]), cells.number(held[1])
            yield from by_ratio(numbers, ids, lambda chosen, cells=cells: cells.event(view, chosen))  # type: ignore[misc]


def _half_lines(view: View, pooled: Outputs, held: Pair) -> Iterator[Proposal]:
    size = pooled.size
    from_end = np.unique(np.geomspace(1.0, size / 2.0, 100).astype(np.int64)) - 1
    places = np.unique(np.concatenate([from_end, size - 1 - from_end, np.linspace(0, size - 1, 201).astype(np.int64)]))
    cuts = np.unique(pooled[places])
    below = [np.searchsorted(np.sort(h), cuts, side="right") for h in held]
    name = view.name
    yield Proposal((below[0], below[1]), lambda i: Event(f"{name} <= {cuts[i]:.6g}", view, lambda y: y <= cuts[i]))
    above = (held[0].size - below[0], held[1].size - below[1])
    yield Proposal(above, lambda i: Event(f"{name} > {cuts[i]:.6g}", view, lambda y: y > cuts[i]))


@dataclass(frozen=True)
class Cells:
    """The real line divided into intervals at `edges`, with `values` as separate cells.

    Numbers: interval i is i (edges[i-1] < y <= edges[i]), value j is len(edges) + 1 + j.
    """

    edges: Outputs
    values: Outputs

    @classmethod
    def of(cls, pooled: Outputs, intervals: int) -> Cells:
        """All values if they are few; otherwise the frequent ones, and quantiles of the draws for the rest."""
        values, counts = np.unique(pooled, return_counts=True)
        if values.size <= _VALUES:
            return cls(values[:0], values)
        frequent = counts >= _REPEATED
        if frequent.sum() > _VALUES:
            frequent &= counts > np.sort(counts)[-_VALUES]
        rest = np.repeat(values[~frequent], counts[~frequent])
        places = (np.arange(1, intervals) * rest.size) // intervals
        return cls(np.unique(rest[places]) if rest.size else rest, values[frequent])

    @property
    def count(self) -> int:
        return self.edges.size + 1 + self.values.size

    def number(self, y: Outputs) -> NDArray[np.int64]:
        inside: NDArray[Any] = np.searchsorted(self.edges, y, side="left")
        if self.values.size:
            near = np.minimum(np.searchsorted(self.values, y), self.values.size - 1)
            inside = np.where(self.values[near] == y, self.edges.size + 1 + near, inside)
        return inside

    def event(self, view: View, chosen: NDArray[np.int64]) -> Event:
        """The union of the chosen cells."""
        mask = np.zeros(self.count, dtype=bool)
        mask[chosen] = True
        return Event(f"{view.name} {self._text(chosen)}", view, lambda y: mask[self.number(y)])

    def _text(self, chosen: NDArray[np.int64]) -> str:
        spans = [i for i in chosen if i <= self.edges.size]
        singles = [self.values[i - self.edges.size - 1] for i in chosen if i > self.edges.size]
        values = ", ".join(f"{v:.6g}" for v in singles[:3])
        ends = [
            (self.edges[i - 1] if i else -np.inf, self.edges[i] if i < self.edges.size else np.inf) for i in spans[:3]
        ]
        shown = ", ".join(f"({low:.6g}, {high:.6g}]" for low, high in ends)
        parts = (
            [f"one of {len(singles)} values such as {values}" if len(singles) > 1 else f"= {values}"] if singles else []
        )
        parts += (
            [f"in one of {len(spans)} intervals such as {shown}" if len(spans) > 1 else f"in {shown}"] if spans else []
        )
        return " or ".join(parts)
