"""All code that makes Arrow tables: from frames, from public keys, and from an engine's aggregates."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from hush.errors import needs

__all__ = ["as_arrow", "batch_of", "filled", "key_table", "named", "named_schema", "whole_table"]


def arrow() -> Any:
    """The module pyarrow, loaded when first needed."""
    with needs("pyarrow", "hush.tables", extra="tables"):
        import pyarrow

    return pyarrow


def as_arrow(frame: Any) -> Any:
    """A pandas, polars or Arrow frame as an Arrow table. Categories are replaced by their values, because the order of
    categories would change comparisons.
    """
    pa = arrow()
    if type(frame).__module__.partition(".")[0] == "pandas":
        table = pa.Table.from_pandas(frame, preserve_index=False)
    elif hasattr(frame, "collect") and not hasattr(frame, "__arrow_c_stream__"):
        table = pa.table(frame.collect())  # a lazy polars frame
    elif hasattr(frame, "read_all"):
        table = frame.read_all()
    elif hasattr(frame, "to_table"):
        table = frame.to_table()
    else:
        table = pa.table(frame)
    for i, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            table = table.set_column(i, field.name, table.column(i).cast(field.type.value_type))
        elif pa.types.is_string_view(field.type):  # the text type of polars, which DuckDB 1 cannot filter
            table = table.set_column(i, field.name, table.column(i).cast(pa.large_string()))
    return table


def key_table(columns: Mapping[str, tuple[str, Sequence[Any]]]) -> Any:
    """A table of public values: for each column the name of its Arrow type, and the values."""
    pa = arrow()
    return pa.table({name: pa.array(values, pa.type_for_alias(kind)) for name, (kind, values) in columns.items()})


def batch_of(rows: Iterable[Sequence[Any]], schema: Any) -> Any:
    """Rows of Python values as one record batch."""
    pa = arrow()
    columns = list(zip(*rows, strict=True)) or [()] * len(schema)
    return pa.RecordBatch.from_arrays(
        [pa.array(values, field.type) for values, field in zip(columns, schema, strict=True)], schema=schema
    )


def named(batch: Any, names: Sequence[str]) -> Any:
    """The same columns under their public names."""
    return batch.rename_columns(list(names))


def named_schema(schema: Any, names: Sequence[str]) -> Any:
    """A schema under public names."""
    return arrow().schema([field.with_name(name) for field, name in zip(schema, names, strict=True)])


def whole_table(batches: Iterable[Any], schema: Any) -> Any:
    """All batches as one table."""
    return arrow().Table.from_batches(batches, schema=schema)


def filled(batches: Iterable[Any], keys: dict[str, Any], count: int, names: Sequence[str], size: int) -> Iterator[Any]:
    """Batches of all `count` public groups in the order of the list: the engine's totals, and zeros for groups without
    rows.

    The engine's columns are the place of the key in the list, then the totals. Without keys there is one group.
    """
    pa = arrow()
    totals = np.zeros((len(names), count), dtype=np.int64)
    for batch in batches:
        columns = [column.to_numpy(zero_copy_only=False).astype(np.int64) for column in batch.columns]
        places = columns.pop(0) if keys else np.zeros(batch.num_rows, dtype=np.int64)
        for total, column in zip(totals, columns, strict=True):
            total[places] = column
    table = pa.table({**keys, **dict(zip(names, totals, strict=True))})
    yield from table.to_batches(max_chunksize=size)
