"""Calls of an engine's own functions, as Ibis expressions."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from hush.tables.expression import ibis

__all__ = ["call", "hash_of_any_arguments"]


def call(name: str, arguments: list[Any], result: str) -> Any:
    """A call of the engine's function `name`, with a result of the Ibis type `result`."""
    kinds = tuple(argument.type() for argument in arguments)

    def function() -> Any: ...

    places = [inspect.Parameter(f"argument{i}", inspect.Parameter.POSITIONAL_OR_KEYWORD) for i in range(len(kinds))]
    function.__signature__ = inspect.Signature(places)  # type: ignore[attr-defined]  # Ibis reads the number of arguments here
    return ibis().udf.scalar.builtin(function, name=name, signature=(kinds, result))(*arguments)


def hash_of_any_arguments(name: str) -> Callable[[list[Any], Any], Any]:
    """The hash of an engine whose function takes any number of arguments."""
    return lambda columns, key: call(name, [*columns, key], "uint64")
