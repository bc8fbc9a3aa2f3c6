"""Audit targets: functions that take the number of an input and a number of draws, and return one row per draw."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.auditing.event import Outputs, Pair
from hush.errors import HushError, InvalidParameter, reject

__all__ = ["Target", "collect", "named", "of_callable", "of_moves", "pair_of", "shown"]

Vector = NDArray[np.float64]

_SHAPE = "write a target f(value, size) that returns an array of `size` outputs, or f(value) that returns one"
_SHOWN = 60  # characters of an input


@dataclass(frozen=True)
class Target:
    """A release under two inputs, and what is known about it besides its outputs.

    centres: the two inputs, if both are numbers or vectors. loss: the log of the ratio of the densities of an output
    under the first and the second input, if the noise is known.
    """

    draw: Callable[[int, int], Any]
    inputs: tuple[str, str]
    centres: tuple[Vector, Vector] | None = None
    loss: Callable[[Outputs], Vector] | None = None

    @property
    def shift(self) -> Vector | None:
        """The second input minus the first."""
        return None if self.centres is None else self.centres[1] - self.centres[0]


def of_callable(function: Callable[..., Any], inputs: Any, vectorised: bool | None) -> Target:
    """The target of f(value, size), or of f(value), which is called once for each draw."""
    pair = pair_of(inputs)
    whole = _takes_size(function) if vectorised is None else bool(vectorised)

    def draw(which: int, size: int) -> Any:
        value = pair[which]
        return function(value, size) if whole else [np.asarray(function(value)) for _ in range(size)]

    return Target(draw, (shown(pair[0]), shown(pair[1])), _vectors(pair))


def of_moves(
    function: Callable[..., Any], start: Vector, moves: list[tuple[str, Vector]], vectorised: bool | None
) -> list[Target]:
    """The targets of a function of vectors: the start, and the start with each move added."""
    made = [of_callable(function, (start, start + move), vectorised) for _, move in moves]
    return [replace(one, inputs=named(start, move, name)) for one, (name, move) in zip(made, moves, strict=True)]


def named(start: Vector, move: Vector, name: str) -> tuple[str, str]:
    """The names of two inputs: the vectors if they are short, else what moved."""
    first, second = shown(start), shown(start + move)
    return (first, name) if second.endswith("...") else (first, second)


def pair_of(inputs: Any) -> tuple[Any, Any]:
    """Two neighbouring inputs."""
    try:
        first, second = inputs
    except (TypeError, ValueError):
        raise reject("inputs", inputs, "a pair of neighbouring inputs", "write inputs=(0.0, 1.0)") from None
    return first, second


def _takes_size(function: Callable[..., Any]) -> bool:
    """Does the function have a second argument that is required or named size?"""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError) as failure:
        raise InvalidParameter(
            "the signature of the target cannot be read; write vectorised=True for f(value, size), or vectorised=False "
            "for f(value)."
        ) from failure
    places = [p for p in parameters if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    return len(places) > 1 and (places[1].default is inspect.Parameter.empty or places[1].name == "size")


def shown(value: Any) -> str:
    """An input as text, cut off if it is long."""
    text = repr(value.tolist() if isinstance(value, np.ndarray | np.generic) else value)
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."


def _vectors(pair: tuple[Any, Any]) -> tuple[Vector, Vector] | None:
    try:
        first, second = (np.asarray(value, dtype=np.float64).ravel() for value in pair)
    except (TypeError, ValueError):
        return None  # inputs may be anything, for example a data set
    return (first, second) if first.shape == second.shape and np.isfinite(second - first).all() else None


# -- drawing -------------------------------------------------------------------------------------------------


def collect(target: Target, samples: int, batch: int, progress: Callable[[int, int], None] | None) -> Pair:
    """`samples` checked draws from each input, as two arrays of one type."""
    parts: tuple[list[Outputs], list[Outputs]] = ([], [])
    done, width = 0, None
    while done < samples:
        size = min(batch, samples - done)
        for which in (0, 1):
            rows = _rows(target, which, size)
            width = rows.shape[1] if width is None else width
            if rows.shape[1] != width:
                raise InvalidParameter(
                    f"the target's outputs differ in length, {width} and {rows.shape[1]} numbers; {_SHAPE}."
                )
            parts[which].append(rows)
        done += size
        if progress is not None:
            progress(done, samples)
    first, second = np.concatenate(parts[0]), np.concatenate(parts[1])
    kind = np.result_type(first, second)
    return first.astype(kind, copy=False), second.astype(kind, copy=False)


def _rows(target: Target, which: int, size: int) -> Outputs:
    """One batch, as `size` rows of float64 or int64."""
    name = target.inputs[which]
    try:
        given = target.draw(which, size)
    except HushError:
        raise
    except Exception as failure:
        raise InvalidParameter(f"the target raised {type(failure).__name__} at input {name}: {failure}.") from failure
    try:
        outputs = np.asarray(given)
    except ValueError as failure:
        raise InvalidParameter(f"the target's outputs differ in shape at input {name}; {_SHAPE}.") from failure
    if outputs.ndim == 0 or outputs.shape[0] != size:
        got = "one number" if outputs.ndim == 0 else f"{outputs.shape[0]} outputs"
        raise InvalidParameter(f"the target returned {got} instead of {size} outputs at input {name}; {_SHAPE}.")
    if outputs.dtype.kind not in "biuf" or outputs.size == 0:
        raise InvalidParameter(
            f"the target's outputs must be numbers, got {outputs.dtype} of shape {outputs.shape} at input {name}."
        )
    if not np.isfinite(outputs).all():
        raise InvalidParameter(f"the target returned NaN or infinity at input {name}; outputs must be finite numbers.")
    exact = outputs.dtype.kind in "bi" or (outputs.dtype.kind == "u" and outputs.max() < 2**63)
    return outputs.reshape(size, -1).astype(np.int64 if exact else np.float64)
