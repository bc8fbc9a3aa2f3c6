"""An engine's integers beside the reference's, exactly."""

from __future__ import annotations

from typing import Any

from tables import reference
from tables.messy import COLUMNS

import hush.tables

SALT = bytes(range(32))


def found(
    query: hush.tables.Query, salt: bytes = SALT, hash: str = "portable", **options: Any
) -> dict[tuple[Any, ...], dict[str, int]]:
    """What the engine computes: group key -> integer columns."""
    result = query.aggregates(salt=salt, hash=hash, **options)
    rows = result.to_arrow().to_pylist()
    keys = [tuple(row[name] for name in result.keys) for row in rows]
    assert len(set(keys)) == len(keys), "a group came back twice"
    return {key: {column: row[column] for column in result.columns} for key, row in zip(keys, rows, strict=True)}


def assert_exact(
    table: hush.tables.Table,
    rows: list[dict[str, Any]],
    by: list[str],
    keys: Any,
    groups: int,
    measures: dict[str, Any],
    salt: bytes = SALT,
) -> dict[tuple[Any, ...], dict[str, int]]:
    """The engine and the reference agree on every group and every integer; returns them."""
    query = (
        table.group_by(*by, keys=keys, groups_per_unit=groups).aggregate(**measures)
        if by
        else table.aggregate(**measures)
    )
    expected = reference.aggregates(
        rows,
        unit=(table.unit, COLUMNS[table.unit][1]),
        names=[(name, COLUMNS[name][1]) for name in by],
        keys=None if keys == "private" else (keys if by else [()]),
        groups=groups,
        measures=measures,
        salt=salt,
    )
    got = found(query, salt)
    if query.threshold == ".units":
        got = {
            key: {name: value for name, value in columns.items() if name != ".units"} for key, columns in got.items()
        }
    assert got == expected
    return got
