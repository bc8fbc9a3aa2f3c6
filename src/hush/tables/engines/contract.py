"""The contract of an engine: what hush needs to know about it, and how its rows become Arrow batches.

Each engine has one file (or one folder) beside this one, with an `ENGINE`. The guide is docs/add_an_engine.md. The
tests in `tests/engines` check that the results of all engines are equal to the bit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from hush.errors import HushError, Unsupported, shown
from hush.tables.expression import ibis, operations, translation_error
from hush.tables.row_rule import PLAIN, TITLES

__all__ = ["FAILURES_SHOWN", "WITHHELD", "Engine", "Source", "memory_tables", "step_by_step"]

#: The only message when an engine fails. The engine's message may quote a row, and no budget was spent to show one.
WITHHELD = (
    "the query failed in the engine, perhaps because a value could not be converted or read; the engine's message is "
    "hidden because it may quote the data; run the expression in the engine to see it."
)

#: For developers only: the engine's error becomes the cause of the constant one, so that Python prints both. Nothing in
#: hush sets it, and no environment variable or option of a command does: `pytest --engine-messages` sets it, in tests.
FAILURES_SHOWN: ContextVar[bool] = ContextVar("FAILURES_SHOWN", default=False)

#: Turns a source and an Ibis expression into Arrow batches of the given number of rows.
Stream = Callable[["Source", Any, int], Iterator[Any]]


@dataclass(frozen=True)
class Source:
    """The rows of a table: an Ibis relation, its connection, and whether hush opened that connection (`owned`).

    `label` is its name for people and ledgers. `frames` are the tables held in memory, by name: a DuckDB cursor does
    not see frames that were registered on its parent. `reopen` opens the same rows on another connection that hush
    owns, so that two sources can be joined; None if hush cannot do that.
    """

    relation: Any
    backend: Any
    label: str
    owned: bool = False
    frames: Mapping[str, Any] = field(default_factory=dict)
    #: opens another connection of the same kind, for one query; None if the connection is used directly
    again: Callable[[], Any] | None = field(default=None, repr=False)
    reopen: Callable[[Any], Source] | None = field(default=None, repr=False)
    #: the columns of a file of text whose type nobody declared, and how the file is read (`hush.tables.reading`): they
    #: are text until a question says what they are
    untyped: Mapping[str, Any] = field(default_factory=dict, repr=False)
    #: are its names the first line of a file? Without a line of names that is a person's row, so no error shows them
    headed: bool = False


@contextmanager
def step_by_step() -> Iterator[None]:
    """Ibis writes each step of an expression as a query of its own. To merge them takes Ibis a third of its time, and
    the engine merges them anyway. (Spark takes longer for that than Ibis.)
    """
    options = ibis().options.sql
    before, options.fuse_selects = options.fuse_selects, False
    try:
        yield
    finally:
        options.fuse_selects = before


@dataclass(frozen=True)
class Engine:
    """An engine and its capabilities. Only `name` and `stream` have no default."""

    #: its name in Ibis
    name: str
    #: how it runs a query; None if hush can only write the SQL of this engine (compile only)
    stream: Stream | None
    #: the collation that compares text byte by byte, or a function of sqlglot expressions that applies it
    binary: str | Callable[[Any], Any] = "binary"
    #: a fast hash of columns and of a secret number, both Ibis expressions, as 64 bits; None if there is none
    hash: Callable[[list[Any], Any], Any] | None = None
    #: the number of the last eight digits of a hexadecimal text, if it has a faster way than one by one
    digits: Callable[[Any], Any] | None = None
    #: raises an error if a source cannot be used
    check: Callable[[Source], None] = lambda source: None
    #: does an error mean that somebody stopped the query?
    stopped: Callable[[Exception], bool] = lambda failure: False
    #: how it computes an operation of Ibis for every row: one of the three ways of `hush.tables.row_rule`
    rule: Callable[[Any], str] = lambda operation: PLAIN
    #: a sqlglot expression in a form that is null where it would fail; None: nothing fails, or nothing runs
    tries: Callable[[Any], Any] | None = None
    #: the SQL of an Ibis expression
    compile: Callable[[Any, Any], str] = lambda backend, relation: str(backend.compile(relation))
    #: may a decimal column that allows no null hold NaN?
    nan_decimals: bool = False
    #: does it fail on dates outside the years 1 to 9999 that are moved or truncated?
    usual_dates: bool = False
    #: does it compute a table (WITH ...) once that a query uses twice?
    reuses: bool = False
    #: is its sum of int64 exact beyond 64 bits?
    wide_sums: bool = False
    #: can it add noise and write the answers in its own tasks?
    executors: bool = False

    @property
    def title(self) -> str:
        """Its name for readers."""
        return TITLES.get(self.name, self.name)

    @property
    def compile_only(self) -> bool:
        """Is only the SQL written, and nothing run?"""
        return self.stream is None

    def batches(self, source: Source, relation: Any, size: int) -> Iterator[Any]:
        """The rows of an expression as Arrow batches. A failure of the engine raises one constant sentence. A query
        that somebody stopped raises KeyboardInterrupt.

        Both are raised after the handler has ended, so that the engine's message is not kept as their context, where a
        crash reporter would find it. Translation errors pass: Ibis makes them from the expression before it reads any
        data.
        """
        if self.stream is None:
            raise Unsupported(
                f"hush only writes SQL for the engine {shown(self.name)} and does not run it; copy the table to "
                "DuckDB, PostgreSQL or Spark."
            )
        try:
            yield from self.stream(source, relation, size)
            return
        except (HushError, translation_error()):
            raise
        except Exception as failure:
            stopped, cause = self.stopped(failure), failure if FAILURES_SHOWN.get() else None
        if stopped:
            raise KeyboardInterrupt
        raise HushError(WITHHELD) from cause


def memory_tables(relation: Any) -> dict[str, Any]:
    """The tables that an expression holds in memory, as Arrow, by their names in the expression."""
    return {node.name: node.data.to_pyarrow(node.schema) for node in relation.op().find(operations().InMemoryTable)}
