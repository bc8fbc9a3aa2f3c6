"""How far the exact inputs of two runs moved, against the sensitivity that was charged."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.auditing.recorded import Choice, Draw
from hush.privacy.sensitivity import Sensitivity

__all__ = ["broken_facts", "moves_of"]

Moves = NDArray[np.float64]
_SLACK = 1e-9  # relative: moves are sums of floats


def moves_of(before: Draw | Choice, after: Draw | Choice) -> Moves:
    """By how much each number of the second run is above that of the first; a group that one run lacks counts as 0."""
    step = 1.0 if isinstance(before, Choice) else _steps(before)
    if isinstance(before, Draw) and isinstance(after, Draw) and before.cells is not None and after.cells is not None:
        return _by_cells(before, after) * step
    return np.asarray((after.exact - before.exact).astype(np.float64) * step)


def _steps(draw: Draw) -> Any:
    each = draw.mechanism.steps
    return draw.mechanism.step if each is None else np.resize(each, draw.exact.size).reshape(draw.exact.shape)


def _by_cells(before: Draw, after: Draw) -> Moves:
    names = list(dict.fromkeys([*(before.cells or ()), *(after.cells or ())]))
    placed = []
    for one in (before, after):
        table = np.moveaxis(one.exact, one.axis, 0)
        full = np.zeros((len(names), *table.shape[1:]))
        for name, row in zip(one.cells or (), table, strict=True):
            full[names.index(name)] = row
        placed.append(np.moveaxis(full, 0, one.axis))
    return np.asarray(placed[1] - placed[0])


def broken_facts(bound: Sensitivity, moves: Moves, coordinates: int) -> Iterator[str]:
    """Each fact of a sensitivity that the moves break, in words. A draw may hold several vectors."""
    if bound.columns is not None:
        yield from _broken_columns(bound, moves.reshape(-1, len(bound.columns)))
        return
    for vector in moves.reshape(-1, max(coordinates, 1)):
        yield from _broken_vector(bound, vector)


def _broken_columns(bound: Sensitivity, moves: Moves) -> Iterator[str]:
    limits = np.asarray(bound.columns)
    far = np.abs(moves) > limits * (1.0 + _SLACK)
    if far.any():
        column = int(np.argwhere(far)[0][1])
        yield f"a number of column {column + 1} moved by {np.abs(moves[:, column]).max():g}, charged {limits[column]:g}"
    groups = int(moves.any(axis=1).sum())
    if bound.l0 is not None and groups > bound.l0:
        yield f"{groups} groups moved, charged {bound.l0}"
    yield from _broken_directions(moves[:, [i for i, one in enumerate(bound.each_one_sided) if one]])
    if bound.people is not None:
        own = np.abs(moves[:, bound.people])
        if (np.abs(own[moves.any(axis=1)] - limits[bound.people]) > _SLACK * limits[bound.people]).any():
            yield "a group moved whose number of people did not move by one"


def _broken_vector(bound: Sensitivity, moves: Moves) -> Iterator[str]:
    most = np.abs(moves)
    if bound.linf is not None:
        limits = np.broadcast_to(np.asarray(bound.linf, dtype=np.float64), moves.shape)
        if (most > limits * (1.0 + _SLACK)).any():
            place = int(np.argmax(most - limits))
            yield f"a number moved by {most[place]:g}, charged {limits[place]:g}"
    moved = int((most > 0.0).sum())
    if bound.l0 is not None and moved > bound.l0:
        yield f"{moved} numbers moved, charged {bound.l0}"
    norms = (("l1", bound.l1, float(most.sum())), ("l2", bound.l2, float(np.sqrt((most**2).sum()))))
    for name, limit, norm in norms:
        if limit is not None and norm > limit * (1.0 + _SLACK):
            yield f"the {name} norm of the moves is {norm:g}, charged {limit:g}"
    flags = bound.one_sided
    if flags is not False:
        yield from _broken_directions(moves if flags is True else moves[np.asarray(flags)])


def _broken_directions(moves: Moves) -> Iterator[str]:
    if (moves > 0.0).any() and (moves < 0.0).any():
        yield "numbers moved in both directions, charged for one"
