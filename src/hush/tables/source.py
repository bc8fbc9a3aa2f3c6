"""Opening a source of rows: a file, a frame, a DuckDB relation, an Ibis table or a Spark frame."""

from __future__ import annotations

import errno
import glob
import hashlib
import os
import uuid
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from hush.errors import HushError, InvalidParameter, nearest, reject, shown
from hush.tables.arrow import as_arrow
from hush.tables.engines import engine_of, must_not_be_compile_only
from hush.tables.engines import pyspark as spark
from hush.tables.engines.contract import WITHHELD, Source
from hush.tables.engines.duckdb import PARQUET_OPTIONS, relation_of, was_interrupted
from hush.tables.expression import first_line, ibis, must_be_rowwise, must_have, operations
from hush.tables.interrupt import in_thread
from hush.tables.reading import Reading, as_declared, reading_of
from hush.tables.source_label import described, file_label, short, without_password
from hush.tables.sqlite_file import copy_table, is_sqlite
from hush.tables.text_file import text_on_duckdb, text_on_spark
from hush.tables.total import must_be_total, total_tree

__all__ = ["is_text_file", "open_source", "short"]

ADDRESSES = ("postgresql://", "postgres://")
PARQUET, CSV, TSV = (".parquet", ".pq"), (".csv", ".csv.gz", ".csv.zst"), (".tsv", ".tsv.gz")
JSON = (".json", ".jsonl", ".ndjson", ".json.gz", ".jsonl.gz", ".ndjson.gz")
DATABASE = (".duckdb", ".ddb", ".db", ".sqlite", ".sqlite3")
#: The formats of files, and the endings of their names.
FORMATS = (("parquet", PARQUET), ("csv", CSV), ("tsv", TSV), ("json", JSON))
FRAMES = ("pandas", "polars", "pyarrow")


def open_source(
    source: Any,
    *,
    name: str | None = None,
    engine: Any = "duckdb",
    types: Any = None,
    csv: Any = None,
    fields: Iterable[str] = (),
) -> Source:
    """Open a source of rows. `name` is the table of a database; `engine` is "duckdb", "spark", a Spark session or
    "sc://host:port". `types` and `csv` say how a file of text is read (`hush.tables.reading`); `fields` are columns of
    a JSON file that need no type.

    A DuckDB relation, such as `duckdb.sql("SELECT ... FROM visits JOIN patients USING (id)")`, is run once, here, and
    its rows are held in memory as Arrow. Ledgers recognise it by its columns, like a frame. Ctrl-C ends the wait for
    it, but DuckDB continues, because a relation does not give access to its connection.
    """
    if is_duckdb_relation(source):
        source = rows_of(source)
    family = type(source).__module__.partition(".")[0]
    must_be_text_file(source, types, csv)
    if isinstance(source, str) and source.startswith(ADDRESSES):
        return on_postgres(source, name, engine)
    if isinstance(source, str) and "://" in source:
        must_not_be_compile_only(source)
    if name is not None and not (isinstance(source, str | Path) and str(source).endswith(DATABASE)):
        raise InvalidParameter(
            f"name chooses a table of a database, but the source is of another kind (name={shown(name)}); leave it out."
        )
    if family == "ibis":
        return from_ibis(source)
    if family == "pyspark":
        backend = spark.connect(source.sparkSession)
        return checked(Source(spark.view_of(backend, source), backend, described(source.columns)))
    if engine != "duckdb":
        backend = spark.connect(None if engine == "spark" else engine)
        label = file_label(str(source)) if isinstance(source, str | Path) else described(as_arrow(source).column_names)
        return checked(spark_source(backend, source, family, label, types, csv))
    if family in FRAMES or hasattr(source, "__arrow_c_stream__"):
        return from_frame(source)
    if isinstance(source, str | Path):
        return from_file(str(source), name, reading=(types, csv, tuple(fields)))
    raise InvalidParameter(
        "source must be a file, an address postgresql://..., a pandas, polars or Arrow frame, a DuckDB relation, an "
        f"Ibis table or a Spark frame, got {type(source).__name__}; several files are a folder or a pattern, such as "
        "'visits-*.parquet'; "
        "write table('visits.parquet', unit='patient_id')."
    )


def on_postgres(address: str, name: str | None, engine: Any) -> Source:
    """A table of a PostgreSQL server, which is also its engine."""
    from hush.tables.engines.postgres.connection import open_address

    if engine not in ("duckdb", "postgres"):
        raise InvalidParameter("a PostgreSQL table is queried in its own server; leave engine out.")
    return open_address(address, name)


def is_duckdb_relation(thing: Any) -> bool:
    """Is it a relation of the duckdb package? This does not load duckdb."""
    return type(thing).__name__ == "DuckDBPyRelation"


def rows_of(relation: Any) -> Any:
    """The rows of a DuckDB relation as an Arrow table. If DuckDB fails, its message is hidden: it may quote a row."""
    stopped = False
    try:
        return in_thread(lambda: as_arrow(relation.to_arrow_table()))
    except Exception as failure:
        stopped = was_interrupted(failure)
    if stopped:
        raise KeyboardInterrupt
    raise HushError(WITHHELD)


def checked(source: Source) -> Source:
    engine_of(source.backend).check(source)
    return source


def from_ibis(table: Any) -> Source:
    """An Ibis table that is computed row by row. The rows of a database table or view are the data."""
    if not hasattr(table, "schema") or not hasattr(table, "select"):
        raise InvalidParameter(f"source must be an Ibis table, got an Ibis {type(table).__name__}.")
    must_be_rowwise(table.op().find(operations().Node), "source")
    must_be_total(table.op().find(operations().Node), "source")
    table = total_tree(table)
    names = sorted(str(node.name) for node in table.op().find(operations().PhysicalTable))
    return checked(Source(table, table.get_backend(), short(f"table {', '.join(names)}", f"{len(names)} tables")))


def own_connection() -> Any:
    """A new DuckDB in memory, which hush owns."""
    return ibis().duckdb.connect()


def from_frame(frame: Any, backend: Any = None) -> Source:
    backend, name = backend or own_connection(), f"hush_{uuid.uuid4().hex}"
    table = as_arrow(frame)
    trouble = ""
    try:
        backend.con.register(name, table)
        relation = relation_of(backend, name)
    except Exception:
        trouble = "source has a column of a type that DuckDB does not support, among " + ", ".join(
            sorted({str(f.type) for f in table.schema})
        )
    if trouble:
        raise InvalidParameter(f"{trouble[:400]}; cast it first, for example to float64 or text.") from None
    if list(relation.columns) != table.column_names:
        raise InvalidParameter("source has two columns whose names differ in case only; rename one of them.")
    return Source(
        relation,
        backend,
        described(table.column_names),
        owned=True,
        frames={name: table},
        reopen=partial(from_frame, table),
    )


def from_file(path: str, name: str | None, backend: Any = None, *, reading: Any = (None, None, ())) -> Source:
    """A Parquet, CSV, JSON, DuckDB or SQLite file, a glob, or a folder of files of one kind."""
    backend = backend or own_connection()
    if path.endswith(DATABASE):
        return from_database(backend, path, name)
    form, found = format_of(path)
    trouble, untyped = "", dict[str, Reading]()
    try:  # in a thread, because DuckDB reads all of a file of text before it checks for an interruption
        if form == "parquet":
            relation = in_thread(partial(parquet_view, backend, found), backend.con.interrupt)
        else:
            options = options_of(form, *reading)
            files = [] if "://" in found else sorted(glob.glob(found, recursive=True))
            read = partial(text_on_duckdb, backend, found, files, "json" if form == "json" else "csv", options)
            relation = in_thread(read, backend.con.interrupt)
            untyped = {name: options for name in relation.columns if options.types.get(name) is None}
    except InvalidParameter:
        raise
    except Exception as failure:
        trouble = why_unreadable(failure, form)
    if trouble:  # raised here, not where it was caught: the engine's message may quote a row
        raise InvalidParameter(without_password(f"source {shown(path)} {trouble}.")) from None
    reopen = partial(from_file, path, name, reading=reading)
    return Source(
        relation, backend, file_label(path), owned=True, reopen=reopen, untyped=untyped, headed=form in ("csv", "tsv")
    )


def parquet_view(backend: Any, found: str) -> Any:
    """A view of Parquet files as an Ibis relation. It is not temporary: cursors must see it."""
    view, quoted = f"hush_{uuid.uuid4().hex}", found.replace("'", "''")
    backend.con.execute(f"CREATE VIEW {view} AS SELECT * FROM read_parquet('{quoted}', {PARQUET_OPTIONS})")
    return relation_of(backend, view)


def options_of(form: str, types: Any, csv: Any, fields: Iterable[str]) -> Reading:
    """How a file of text is read."""
    if form == "json" and csv is not None:
        raise InvalidParameter("csv says how a CSV file is read, and the source is a JSON file; leave it out.")
    found = reading_of(csv, types, delimiter="\t" if form == "tsv" else ",")
    if form != "json":
        return found
    made = {**dict.fromkeys(fields), **found.types}
    if not made:
        raise InvalidParameter(
            "a JSON file has no line of column names, so its columns must be declared; write types={'age': 'number', "
            "'ward': 'text'}."
        )
    return replace(found, types=made)


def is_text_file(path: str) -> bool:
    """Is it a CSV or JSON file, or a folder of such files?"""
    if path.startswith(ADDRESSES) or path.endswith((*DATABASE, *PARQUET)):
        return False
    return path.endswith((*CSV, *TSV, *JSON)) or (Path(path).is_dir() and format_of(path)[0] != "parquet")


def must_be_text_file(source: Any, types: Any, csv: Any) -> None:
    """Refuse the options of files of text for another source, which has types of its own."""
    if (types is None and csv is None) or (isinstance(source, str | Path) and is_text_file(str(source))):
        return
    path = str(source) if isinstance(source, str | Path) else ""
    if not path or path.startswith(ADDRESSES) or path.endswith((*DATABASE, *PARQUET)) or Path(path).is_dir():
        word = "types" if types is not None else "csv"
        raise InvalidParameter(f"{word} is for CSV and JSON files; this source states the types of its columns.")


def why_unreadable(failure: Exception, form: str) -> str:
    """Why a file cannot be opened. The engine's message is used where it cannot quote a row: it has read only the
    footer of a Parquet file, and nothing of a file that it could not reach.
    """
    import duckdb

    safe = form == "parquet" or isinstance(failure, duckdb.IOException)
    if form == "json":
        return "cannot be read as JSON: write one object in each line, or a list of objects in one file"
    what = {"parquet": "Parquet"}.get(form, form.upper())
    reason = first_line(failure) if safe else "the engine's message is hidden because it may quote the data"
    return f"cannot be read as {what}: {reason}"


def from_database(backend: Any, path: str, name: str | None) -> Source:
    """One table of a DuckDB or SQLite file, opened for reading only."""
    if not Path(path).exists():
        raise missing(path)
    if is_sqlite(path):
        view = f"hush_{uuid.uuid4().hex}"
        return database_source(backend, path, in_thread(partial(copy_table, backend.con, path, name, view)), view, name)
    quoted = path.replace("'", "''")
    # one name for one file: two of its tables may be joined on one connection, which attaches a file only once
    alias = f"source_{hashlib.sha256(str(Path(path).resolve()).encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    try:
        backend.con.execute(f"ATTACH IF NOT EXISTS '{quoted}' AS {alias} (READ_ONLY)")
    except Exception as failure:
        raise InvalidParameter(
            f"source {shown(path)} cannot be opened as a DuckDB file: {first_line(failure)}."
        ) from failure
    tables = backend.con.sql(
        f"SELECT table_name FROM information_schema.tables WHERE table_catalog = '{alias}' ORDER BY 1"
    ).fetchall()
    names = [row[0] for row in tables]
    if name is None and len(names) != 1:
        raise InvalidParameter(
            f"source {shown(path)} has {len(names)} tables; choose one with name=: {', '.join(map(repr, names))}."
        )
    chosen = names[0] if name is None else must_have(names, name, "name")
    view = f"hush_{uuid.uuid4().hex}"
    quoted = chosen.replace('"', '""')
    backend.con.execute(f'CREATE VIEW {view} AS SELECT * FROM {alias}."{quoted}"')
    return database_source(backend, path, chosen, view, name)


def database_source(backend: Any, path: str, table: str, view: str, name: str | None) -> Source:
    label = short(f"{file_label(path)}, table {table}", f"{len(table)} characters of a table's name")
    return checked(
        Source(relation_of(backend, view), backend, label, owned=True, reopen=partial(from_file, path, name))
    )


def missing(path: str) -> InvalidParameter:
    """The error for a file that does not exist, with a similar name in the same folder if there is one."""
    folder = Path(path).parent
    near = nearest(Path(path).name, sorted(file.name for file in folder.iterdir())) if folder.is_dir() else ""
    where = "" if folder.is_dir() else f"; there is no folder {shown(str(folder))} either"
    return InvalidParameter(
        f"source names the file {shown(path)}, which does not exist{f'; {near}?' if near else where + '.'}"
    )


def format_of(path: str) -> tuple[str, str]:
    """The format and the path to read. A folder becomes a glob of its files."""
    try:
        os.stat(path)
    except OSError as failure:
        if failure.errno == errno.ENAMETOOLONG:  # the content of a file instead of its name
            raise reject("source", path, "the name of a file") from None
    if Path(path).is_dir():
        for form, endings in FORMATS:
            for ending in endings:
                if any(Path(path).rglob(f"*{ending}")):
                    return form, str(Path(path) / "**" / f"*{ending}")
        raise InvalidParameter(f"source names the folder {shown(path)}, which contains no Parquet, CSV or JSON file.")
    if not glob.glob(path, recursive=True) and "://" not in path:
        raise missing(path)
    for form, endings in FORMATS:
        if path.endswith(endings):
            return form, path
    raise InvalidParameter(
        f"source {shown(without_password(path))} has an unknown ending; it must end in "
        f"{', '.join((*PARQUET, *CSV, *TSV, *JSON, *DATABASE))}."
    )


def spark_source(backend: Any, source: Any, family: str, label: str, types: Any, csv: Any) -> Source:
    """A file or a frame as a Spark view."""
    if family in FRAMES or hasattr(source, "__arrow_c_stream__"):
        return Source(spark.view_of(backend, as_arrow(source)), backend, label)
    if isinstance(source, str | Path) and not str(source).endswith(DATABASE):
        path = str(source)
        form, found = format_of(path)
        if form == "parquet":
            return Source(spark.read_parquet(backend, path), backend, label)
        if form != "json":
            options = options_of(form, types, csv, ())
            frame = text_on_spark(spark.session_of(backend), path, sorted(glob.glob(found, recursive=True)), options)
            view = spark.view_of(backend, frame)
            untyped = {name: options for name in view.columns if options.types.get(name) is None}
            return Source(as_declared(view, options), backend, label, untyped=untyped, headed=True)
    raise InvalidParameter(
        "engine='spark' reads Parquet, CSV, frames and Spark frames; write a DuckDB table or JSON to Parquet first."
    )
