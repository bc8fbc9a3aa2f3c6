"""Events: named sets of outputs, and the choice of the best of many proposed ones on training draws."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.auditing.bound import epsilon_lower

__all__ = ["Choice", "Event", "Outputs", "Pair", "Proposal", "View", "by_ratio", "choose"]

Outputs = NDArray[Any]  # one row per draw, float64 or int64
Numbers = NDArray[np.int64]
Pair = tuple[Outputs, Outputs]  # draws from the first and from the second input

#: How much more epsilon a less simple event must show: a simple one is easier to understand.
_SIMPLICITY = 0.003
_EXACTLY = 32  # events of one proposal whose bound is computed


@dataclass(frozen=True)
class View:
    """A number computed from every output."""

    name: str
    of: Callable[[Outputs], Outputs]

    def pair(self, draws: Pair) -> Pair:
        return self.of(draws[0]), self.of(draws[1])


@dataclass(frozen=True)
class Event:
    """The outputs whose view is in a set."""

    text: str
    view: View
    contains: Callable[[Outputs], NDArray[np.bool_]]

    def hits(self, outputs: Outputs) -> NDArray[np.bool_]:
        return self.contains(self.view.of(outputs))


@dataclass(frozen=True)
class Choice:
    """A chosen event: the input that makes it likelier, and the bound on epsilon that it showed on training draws."""

    likelier: int
    event: Event
    bound: float


@dataclass(frozen=True)
class Proposal:
    """Many events at once: their hits under each input, and a function that makes one of them.

    `serves` is the input under which they should be likelier (None: either).
    """

    hits: tuple[Numbers, Numbers]
    event: Callable[[int], Event]
    serves: int | None = None


def by_ratio(
    rank: tuple[Numbers, Numbers],
    hold: tuple[Numbers, Numbers],
    event: Callable[[Numbers], Event],
    groups: Numbers | None = None,
) -> Iterator[Proposal]:
    """Unions of cells in the order of their likelihood ratio: by Neyman and Pearson the best sets are of this form,
    for any delta.

    `rank` are the cell numbers of the draws that order the cells, `hold` those of the draws that are counted. If the
    same draws did both, rare cells would all look informative. Cells that do not occur in `rank` belong to no set.
    With `groups` (the group of each cell) the ratio of a cell is relative to that of its group, so that only
    differences inside groups matter.
    """
    size = 1 + max(int(numbers.max(initial=0)) for numbers in (*rank, *hold))
    seen = [np.bincount(numbers, minlength=size) for numbers in rank]
    counted = [np.bincount(numbers, minlength=size) for numbers in hold]
    met = np.flatnonzero(seen[0] + seen[1])
    ratio = _log_ratio(seen[0][met], seen[1][met])
    if groups is not None:
        whole = [np.bincount(groups[met], weights=s[met])[groups[met]] for s in seen]
        ratio -= _log_ratio(whole[0], whole[1])
    order = met[np.argsort(-ratio, kind="stable")]
    for serves, line in ((0, order), (1, order[::-1])):
        sums = (np.cumsum(counted[0][line]), np.cumsum(counted[1][line]))
        yield Proposal(sums, lambda i, line=line: event(line[: i + 1]), serves)  # type: ignore[misc]


def _log_ratio(first: Numbers, second: Numbers) -> NDArray[np.float64]:
    return np.log(first + 1.0) - np.log(second + 1.0)


def choose(
    proposals: Iterable[Proposal], trials: int, delta: float, risk: float, enough: float = math.inf
) -> list[Choice]:
    """For each input, the event with the highest bound in its favour, if any was proposed.

    A later proposal must be better than an earlier, simpler one by `_SIMPLICITY`, and by 1/2 if that one already shows
    1/2 more than `enough`.
    """
    best: list[tuple[float, Event] | None] = [None, None]
    for proposal in proposals:
        for side in (0, 1) if proposal.serves is None else (proposal.serves,):
            if not proposal.hits[side].size:
                continue
            near = _promising(proposal.hits[side], proposal.hits[1 - side], trials, delta, risk)
            bounds = epsilon_lower(proposal.hits[side][near], proposal.hits[1 - side][near], trials, delta, risk)
            i = int(np.argmax(bounds))
            held = best[side]
            if held is None or bounds[i] > held[0] + (0.5 if held[0] > enough + 0.5 else _SIMPLICITY):
                best[side] = float(bounds[i]), proposal.event(int(near[i]))
    return [Choice(side, held[1], held[0]) for side, held in enumerate(best) if held is not None]


def _promising(hits: Numbers, other: Numbers, trials: int, delta: float, risk: float) -> Numbers:
    """Where the bound may be highest, by an approximation that costs far less than the bound itself."""
    if hits.size <= _EXACTLY:
        return np.arange(hits.size)
    from scipy.special import ndtri

    z = -float(ndtri(risk))
    low, high = _approximate(hits, trials, -z) - delta, _approximate(other + 1, trials, z)
    return np.sort(np.argpartition(-np.maximum(low, 0.0) / high, _EXACTLY)[:_EXACTLY])


def _approximate(hits: Numbers, trials: int, z: float) -> NDArray[np.float64]:
    """The end of an interval for a probability: the arcsine of the root of a share has a constant spread."""
    share = np.minimum(hits / trials, 1.0)
    angle = np.clip(np.arcsin(np.sqrt(share)) + 0.5 * z / math.sqrt(trials), 0.0, 0.5 * np.pi)
    found: NDArray[np.float64] = np.sin(angle) ** 2 + z * z / (10.0 * trials) * (1.0 - share)
    return found
