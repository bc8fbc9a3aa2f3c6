"""Made-up rows for the attacks of the museum."""

from __future__ import annotations

from typing import Any

import pyarrow as pa

import hush

__all__ = ["count", "nothing_found", "people"]

#: Laplace noise for one count: epsilon 1.
ONE = hush.calibrate(1.0, 0.0, hush.Sensitivity(linf=1.0, l0=1), family="laplace", values="integer")


def people(number: int, **columns: list[Any]) -> pa.Table:
    """One row for each person: ward a, b or c, an age, and further columns."""
    made = {
        "person": pa.array(range(number), type=pa.int64()),
        "ward": pa.array(["abc"[p % 3] for p in range(number)]),
        "age": pa.array([20.0 + p % 60 for p in range(number)]),
    }
    return pa.table(made | {name: pa.array(values) for name, values in columns.items()})


def count(rows: Any) -> int:
    """A private number of rows, drawn by a payment so that a replay can give it again."""
    return int(hush.release(len(rows), ONE, ledger=None, integers=True).value)


def nothing_found(function: Any, data: Any, neighbour: Any) -> None:
    """Fail if a replay finds anything, or had nothing to compare."""
    found = hush.audit.replay(function, data, neighbour)
    assert found.draws > 0 and found.moved > 0 and not found.raised, found
    assert not found.violated and not found.unsteady, found
