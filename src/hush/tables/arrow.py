"""All code that makes Arrow tables: from frames, from public keys, and from an engine's aggregates.

`pyarrow.array` and `to_numpy` load pandas if it is installed, which takes longer than many queries. So numbers and
texts go in and out of Arrow by their bytes.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, needs, shown

__all__ = [
    "as_arrow",
    "as_floats",
    "batch_of",
    "chosen_rows",
    "day_column",
    "filled",
    "key_table",
    "named",
    "named_schema",
    "number_column",
    "plain_numbers",
    "text_column",
    "time_column",
    "whole_table",
]

_FEW = 10_000  # runs of rows that are copied one by one


def arrow() -> Any:
    """The module pyarrow, loaded when first needed."""
    with needs("pyarrow", "hush.tables", extra="tables"):
        import pyarrow

    return pyarrow


def as_arrow(frame: Any) -> Any:
    """A pandas, polars or Arrow frame as an Arrow table. Categories are replaced by their values, because the order of
    categories would change comparisons. A column that Arrow cannot hold is left out, with a warning that names it: its
    values may be those of people, and are in no message.
    """
    pa, family = arrow(), type(frame).__module__.partition(".")[0]
    _must_be_a_frame(frame, family)
    if family == "pandas":
        table = _from_pandas(frame)
    elif family == "polars":
        table = _from_polars(frame.collect() if hasattr(frame, "collect") else frame)
    elif hasattr(frame, "collect") and not hasattr(frame, "__arrow_c_stream__"):
        table = pa.table(frame.collect())
    elif hasattr(frame, "read_all"):
        table = frame.read_all()
    elif hasattr(frame, "to_table"):
        table = frame.to_table()
    else:
        table = pa.table(frame)
    if len(set(table.column_names)) < table.num_columns:
        raise InvalidParameter("source has two columns of one name; rename one of them.")
    plain = {field.name: _plain(table.column(i), field.type) for i, field in enumerate(table.schema)}
    return table if all(one is None for one in plain.values()) else _replaced(table, plain)


def _must_be_a_frame(frame: Any, family: str) -> None:
    """Refuse a single column, and columns of one name, which the libraries refuse in their own words."""
    if family in ("pandas", "polars") and type(frame).__name__ in ("Series", "Index", "MultiIndex"):
        raise InvalidParameter(f"source is a {family} {type(frame).__name__}, which is one column; write .to_frame().")
    if family == "pandas" and not frame.columns.is_unique:
        raise InvalidParameter("source has two columns of one name; rename one of them.")


def _from_pandas(frame: Any) -> Any:
    """A pandas frame; without its index."""
    pa = arrow()
    try:
        return pa.Table.from_pandas(frame, preserve_index=False)
    except Exception:  # the message quotes a cell
        columns = {
            str(name): _one_column(lambda i=i: pa.Array.from_pandas(frame.iloc[:, i])) for i, name in enumerate(frame)
        }
    return _kept(columns)


def _from_polars(frame: Any) -> Any:
    """A polars frame."""
    pa = arrow()
    try:
        return pa.table(frame)
    except Exception:
        columns = {
            name: _one_column(lambda name=name: pa.table(frame.select(name)).column(0)) for name in frame.columns
        }
    return _kept(columns)


def _only_column(frame: Any) -> Any:
    return arrow().table(frame).column(0)


def _one_column(made: Any) -> Any:
    """A column as Arrow; None if Arrow cannot hold it."""
    try:
        return made()
    except Exception:  # the message quotes a cell
        return None


def _kept(columns: Mapping[str, Any]) -> Any:
    """The columns that Arrow can hold."""
    _warn_of([name for name, column in columns.items() if column is None])
    return arrow().table({name: column for name, column in columns.items() if column is not None})


def _warn_of(names: list[str]) -> None:
    """Name the columns that are left out."""
    if names:
        text = (
            f"columns are left out, because they mix values of several types or have a type that is not supported: "
            f"{', '.join(map(shown, names[:20]))}; cast them first, for example to text."
        )
        warnings.warn(text, stacklevel=2)


def _plain(column: Any, kind: Any) -> Any:
    """A column in a type that DuckDB reads and compares; None if it is in one."""
    pa = arrow()
    if pa.types.is_dictionary(kind):
        if pa.types.is_string(kind.value_type) or not _is_text(kind.value_type):
            return column.cast(kind.value_type)
        chunks = [chunk.dictionary.cast(pa.large_string()).take(chunk.indices) for chunk in column.chunks]
        return pa.chunked_array(chunks, pa.large_string())
    if pa.types.is_string_view(kind):  # the text type of polars, which DuckDB 1 cannot filter
        return column.cast(pa.large_string())
    if pa.types.is_float16(kind):
        return column.cast(pa.float32())
    return column.cast(pa.float64()) if pa.types.is_decimal256(kind) else None


def _is_text(kind: Any) -> bool:
    pa = arrow()
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind) or pa.types.is_string_view(kind))


def _replaced(table: Any, plain: Mapping[str, Any]) -> Any:
    """The table with these columns in the place of its own."""
    for i, (name, column) in enumerate(plain.items()):
        table = table if column is None else table.set_column(i, name, column)
    return table


def key_table(columns: Mapping[str, tuple[str, Sequence[Any]]]) -> Any:
    """A table of public values: for each column the name of its Arrow type, and the values."""
    pa = arrow()

    def column(kind: str, values: Sequence[Any]) -> Any:
        if kind == "string":
            return text_column(values)
        if kind == "int64" and None not in values:
            return number_column(np.array(values, dtype=np.int64))
        return pa.array(values, pa.type_for_alias(kind))

    return pa.table({name: column(*given) for name, given in columns.items()})


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


def plain_numbers(column: Any) -> NDArray[Any]:
    """A column as a numpy array. `to_numpy` is called only for other types than int64 and float64, because it loads
    pandas.
    """
    kind = {arrow().int64(): np.int64, arrow().float64(): np.float64}.get(column.type)
    if kind is None or column.null_count:
        return np.asarray(column.to_numpy(zero_copy_only=False))
    pieces = column.chunks if hasattr(column, "chunks") else [column]
    found = [np.frombuffer(piece.buffers()[1], kind, len(piece), 8 * piece.offset) for piece in pieces if len(piece)]
    return np.concatenate([np.zeros(0, dtype=kind), *found])


def number_column(values: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Any:
    """Numbers (int64 or float64) as an Arrow array. Missing ones are null."""
    whole = values.dtype == np.int64
    plain = np.ascontiguousarray(values, dtype=np.int64 if whole else np.float64)
    return _from_bytes(arrow().int64() if whole else arrow().float64(), plain, missing)


def day_column(days: NDArray[Any], missing: NDArray[np.bool_] | None = None) -> Any:
    """Days since 1970 as an Arrow array of dates. Missing ones are null."""
    return _from_bytes(arrow().date32(), np.ascontiguousarray(days, dtype=np.int32), missing)


def time_column(moments: NDArray[Any], kind: Any, missing: NDArray[np.bool_] | None = None) -> Any:
    """Microseconds since 1970 as an Arrow array of times. Missing ones are null."""
    return _from_bytes(kind, np.ascontiguousarray(moments, dtype=np.int64), missing)


def as_floats(column: Any) -> NDArray[np.float64]:
    """A column of numbers, dates (days since 1970) or times (microseconds) as floats; null is NaN."""
    pa = arrow()
    for kind, plain in ((pa.types.is_date32, pa.int32()), (pa.types.is_timestamp, pa.int64())):
        column = column.cast(plain) if kind(column.type) else column
    return np.asarray(plain_numbers(column), np.float64)


def _from_bytes(kind: Any, plain: NDArray[Any], missing: NDArray[np.bool_] | None) -> Any:
    pa = arrow()
    known = None if missing is None or not missing.any() else pa.py_buffer(np.packbits(~missing, bitorder="little"))
    return pa.Array.from_buffers(kind, len(plain), [known, pa.py_buffer(plain)])


def text_column(values: Sequence[str | None]) -> Any:
    """Texts and nulls as an Arrow array."""
    pa = arrow()
    parts = [b"" if value is None else value.encode() for value in values]
    ends = np.cumsum([0, *map(len, parts)], dtype=np.int64)
    if ends[-1] > np.iinfo(np.int32).max:
        return pa.array(values, pa.string())
    known = np.packbits(np.array([value is not None for value in values], dtype=bool), bitorder="little")
    buffers = [pa.py_buffer(known), pa.py_buffer(ends.astype(np.int32)), pa.py_buffer(b"".join(parts))]
    return pa.Array.from_buffers(pa.string(), len(parts), buffers)


def chosen_rows(table: Any, places: NDArray[np.int64]) -> Any:
    """Copies of some rows of a table, in the order of their places, and nothing of the others.

    Few rows are copied as slices, run by run, because `take` loads pandas. An Arrow slice shares the memory of all
    rows, those of groups that are not shown included, so the slices are joined into new arrays.
    """
    pa = arrow()
    if not len(places):
        return table.schema.empty_table()
    runs = np.split(places, np.flatnonzero(np.diff(places) != 1) + 1)
    if len(runs) > _FEW:
        return table.take(number_column(places))
    columns = []
    for column in table.combine_chunks().columns:
        whole = column.chunk(0)
        pieces = [whole.slice(0, 0), *(whole.slice(run[0], len(run)) for run in runs)]
        columns.append(pa.concat_arrays(pieces))
    return pa.Table.from_arrays(columns, schema=table.schema)


def filled(batches: Iterable[Any], keys: dict[str, Any], count: int, names: Sequence[str], size: int) -> Iterator[Any]:
    """Batches of all `count` public groups in the order of the list: the engine's totals, and zeros for groups without
    rows.

    The engine's columns are the place of the key in the list, then the totals. Without keys there is one group.
    """
    pa = arrow()
    totals = np.zeros((len(names), count), dtype=np.int64)
    for batch in batches:
        columns = [plain_numbers(column).astype(np.int64) for column in batch.columns]
        places = columns.pop(0) if keys else np.zeros(batch.num_rows, dtype=np.int64)
        for total, column in zip(totals, columns, strict=True):
            total[places] = column
    table = pa.table({**keys, **{name: number_column(total) for name, total in zip(names, totals, strict=True)}})
    yield from table.to_batches(max_chunksize=size)
