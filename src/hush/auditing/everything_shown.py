"""Everything that one run of a function shows, as lines of text that can be compared: what it returns, prints, warns,
logs, raises and writes.
"""

from __future__ import annotations

import contextlib
import dataclasses
import enum
import hashlib
import io
import logging
import random
import re
import shutil
import stat
import warnings
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["Shown", "shown_by"]

_DEEPEST = 12  # objects inside of objects
_LISTED = 4096  # numbers of an array that are compared one by one; a larger array is compared by its digest
_ADDRESS = re.compile(r"0x[0-9a-f]{6,}")
_MOMENT = re.compile(r"\d{4}-\d\d-\d\d[T ]\d\d:\d\d(:\d\d)?(\.\d+)?(\+00:00|Z)?")
#: Packages whose objects are handles to something outside: only their type is compared.
_HANDLES = ("_thread", "threading", "weakref", "sqlite3", "_duckdb", "duckdb", "ibis", "functools", "types")


@dataclasses.dataclass(frozen=True)
class Shown:
    """What a run showed, by kind and place."""

    lines: dict[tuple[str, str], str]

    @property
    def raised(self) -> str:
        """The exception that ended the run; empty if there was none."""
        return self.lines.get(("raised", "exception 1"), "")

    def differences(self, other: Shown) -> Iterator[tuple[str, str, str, str]]:
        """Kind, place and both texts of whatever differs."""
        for kind, place in dict.fromkeys([*self.lines, *other.lines]):
            ours, theirs = (one.lines.get((kind, place), "nothing") for one in (self, other))
            if ours != theirs:
                yield kind, place, ours, theirs


def shown_by(function: Callable[..., Any], arguments: tuple[Any, ...], folder: Path) -> Shown:
    """Run a function and keep everything that it shows. The random states of numpy and Python start alike, and the
    folder is empty at the start.
    """
    begun = datetime.now(UTC)
    lines: dict[tuple[str, str], str] = {}
    out, err, logged, result = io.StringIO(), io.StringIO(), _Lines(), None
    states = np.random.get_state(), random.getstate()
    np.random.seed(0)
    random.seed(0)
    _emptied(folder)
    with (
        warnings.catch_warnings(record=True) as warned,
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
        logged.kept(),
    ):
        warnings.simplefilter("always")
        try:
            result = function(*arguments)
            lines |= {("returned", place): text for place, text in _flat(result, "result", 0, ())}
        except Exception as failure:
            for depth, cause in enumerate(_chain(failure), 1):
                lines["raised", f"exception {depth}"] = f"{type(cause).__name__}: {cause}"
        finally:
            np.random.set_state(states[0])
            random.setstate(states[1])
    for name, text in (("output", out.getvalue()), ("error output", err.getvalue())):
        lines |= {("printed", f"{name}, line {number}"): line for number, line in enumerate(text.splitlines(), 1)}
    for number, one in enumerate(warned, 1):
        lines["warned", f"warning {number}"] = f"{one.category.__name__}: {one.message}"
    lines |= {("logged", f"record {number}"): line for number, line in enumerate(logged.lines, 1)}
    lines |= dict(_files(folder))
    ended = datetime.now(UTC)
    return Shown({where: _without_time(text, begun, ended) for where, text in lines.items()})


class _Lines(logging.Handler):
    """The records of all loggers."""

    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(f"{record.levelname} {record.name}: {record.getMessage()}")

    @contextlib.contextmanager
    def kept(self) -> Iterator[None]:
        logging.getLogger().addHandler(self)
        try:
            yield
        finally:
            logging.getLogger().removeHandler(self)


def _chain(failure: BaseException | None) -> Iterator[BaseException]:
    """An exception and its causes, which a traceback shows."""
    for _ in range(_DEEPEST):
        if failure is None:
            return
        yield failure
        failure = failure.__cause__ or (None if failure.__suppress_context__ else failure.__context__)


def _without_time(text: str, begun: datetime, ended: datetime) -> str:
    """A text without addresses, and without moments that lie within the run."""

    def hidden(found: re.Match[str]) -> str:
        try:
            moment = datetime.fromisoformat(found[0].replace("Z", "+00:00"))
        except ValueError:
            return found[0]
        moment, second = moment if moment.tzinfo else moment.replace(tzinfo=UTC), timedelta(minutes=1)
        return "<now>" if begun - second <= moment <= ended + second else found[0]

    return _ADDRESS.sub("<address>", _MOMENT.sub(hidden, text))


# -- files ---------------------------------------------------------------------------------------------------------


def _emptied(folder: Path) -> None:
    for one in folder.iterdir():
        if one.is_dir() and not one.is_symlink():
            shutil.rmtree(one)
        else:
            one.unlink()


def _files(folder: Path) -> Iterator[tuple[tuple[str, str], str]]:
    """Names, modes, sizes and contents. The times of files are not compared."""
    for path in sorted(folder.rglob("*")):
        name, kind = str(path.relative_to(folder)), path.lstat()
        yield ("file", f"{name}: kind"), f"{stat.filemode(kind.st_mode)}"
        if path.is_file():
            content = path.read_bytes()
            yield ("file", f"{name}: size"), f"{len(content)} bytes"
            try:
                for number, line in enumerate(content.decode().splitlines(), 1):
                    yield ("file", f"{name}: line {number}"), line
            except UnicodeDecodeError:
                yield ("file", f"{name}: content"), hashlib.sha256(content).hexdigest()


# -- values --------------------------------------------------------------------------------------------------------


def _flat(value: Any, place: str, depth: int, above: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    """Types, shapes and values inside of a value, by place."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}"
    package = kind.partition(".")[0]
    if value is None or isinstance(value, bool | int | float | str | bytes | complex | enum.Enum | type):
        yield place, kind + " " + repr(value)
    elif isinstance(value, np.ndarray):
        yield f"{place}: dtype", str(value.dtype)
        yield f"{place}: shape", str(value.shape)
        yield from _array(value, place, depth, above)
    elif package in _HANDLES or callable(value) or depth > _DEEPEST or id(value) in above:
        yield place, kind
    elif package in ("pyarrow", "pandas", "polars"):
        yield from _frame(value, place, kind)
    else:
        yield from _inside(value, place, kind, depth, (*above, id(value)))


def _array(value: Any, place: str, depth: int, above: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    if value.size > _LISTED and value.dtype != object:
        yield f"{place}: values", hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()
        return
    for index, one in zip(np.ndindex(value.shape), value.ravel().tolist(), strict=True):
        yield from _flat(one, f"{place}{list(index)}", depth + 1, above)


def _frame(value: Any, place: str, kind: str) -> Iterator[tuple[str, str]]:
    """A frame, column or schema of a table library: its types and what its columns hold."""
    yield place, kind
    for name in ("schema", "dtypes", "dtype", "type", "shape", "num_rows", "index"):
        if (fact := getattr(value, name, None)) is not None and not callable(fact):
            yield f"{place}.{name}", str(fact)
    held = getattr(value, "to_pydict", None) or getattr(value, "to_dict", None)
    if held is not None:
        made = held(as_series=False) if kind.startswith("polars") and kind.endswith("DataFrame") else held()
        yield from _flat(made, place, 1, ())
    elif hasattr(value, "to_pylist"):
        yield from _flat(value.to_pylist(), place, 1, ())
    elif hasattr(value, "to_list"):
        yield from _flat(value.to_list(), place, 1, ())
    else:
        yield f"{place}: text", str(value)


def _inside(value: Any, place: str, kind: str, depth: int, above: tuple[int, ...]) -> Iterator[tuple[str, str]]:
    if isinstance(value, Mapping):
        yield f"{place}: type", f"{kind}, keys {[str(key) for key in value]}"
        for key, one in value.items():
            yield from _flat(one, place + "[" + repr(key) + "]", depth + 1, above)
    elif isinstance(value, list | tuple):
        yield f"{place}: type", f"{kind} of {len(value)}"
        for number, one in enumerate(value):
            yield from _flat(one, f"{place}[{number}]", depth + 1, above)
    elif isinstance(value, set | frozenset):
        yield place, f"{kind} {sorted(map(repr, value))}"
    else:
        yield f"{place}: text", kind + " " + repr(value)
        for name, one in _attributes(value):
            yield from _flat(one, f"{place}.{name}", depth + 1, above)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:
    """Everything that an object holds, private names too: whoever has the object can read them."""
    slots = [name for one in type(value).__mro__ for name in getattr(one, "__slots__", ())]
    held = {name: getattr(value, name) for name in slots if hasattr(value, name)} | dict(getattr(value, "__dict__", {}))
    yield from held.items()
