"""CSV and JSON files, read line by line: the rows of `hush.tables.reading` on DuckDB and on Spark.

DuckDB's own CSV reader is used for lines only. It is told that there are no quotes, because with quotes one that is not
closed would take in the lines after it, and it infers nothing. The lines are split into fields by expressions.

A JSON file has one object in each line. Its columns are the fields that a question or a declaration names, as text:
what fields other lines have does not matter. A file that begins with a bracket is one JSON text; it is read as a whole,
or refused if it is no list of objects.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Iterator, Sequence
from typing import Any

from hush.errors import InvalidParameter, shown
from hush.tables.arrow import arrow, text_column
from hush.tables.reading import Reading, as_declared, checked_names, fields_of, pattern

__all__ = ["names_of", "text_on_duckdb", "text_on_spark"]

#: The longest line that is a row, in bytes. Longer lines are left out.
LONGEST_LINE = 2_000_000
#: A separator of fields that no line has, so that DuckDB's reader gives whole lines. A line that has it is cut there.
_NEVER = "\x01\x02\x03\x04"
#: Python's decoder writes this in the place of a wrong byte. A line that has it is left out.
_REPLACED = "\ufffd"
_BLOCK = 1 << 20  # bytes that are decoded at once
_MARK = b"\xef\xbb\xbf"  # of the byte order, which some programs write before UTF-8


def names_of(path: str, files: Sequence[str], form: str, reading: Reading) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of the columns, and the lines that hold them, which are no rows."""
    if form == "json":
        return tuple(reading.types), ()
    if reading.names is not None:
        return reading.names, (reading.delimiter.join(reading.names),)
    if not files:
        raise InvalidParameter(
            f"source {shown(path)} is read from another machine, so its columns must be declared: "
            "csv={'names': [...]}."
        )
    lines = dict.fromkeys(_first_line(path, file, reading) for file in files)
    found = {_names_in(path, line, reading) for line in lines}
    if len(found) > 1:
        raise InvalidParameter(
            f"the files of source {shown(path)} have different first lines, so they are not parts of one table; open "
            "files with the same columns in the same order."
        )
    return found.pop(), tuple(lines)


def _first_line(path: str, file: str, reading: Reading) -> str:
    """The first line of a file, which has the names of its columns."""
    line, wrong = b"", ""
    try:
        with arrow().input_stream(file, compression="detect") as stream:
            while not re.search(rb"[\r\n]", line) and len(line) <= LONGEST_LINE and (more := stream.read(1 << 14)):
                line += more
    except (OSError, ValueError):
        wrong = "cannot be read as CSV: it is not readable, or not compressed as its ending says"
    empty = "is empty" if not line.strip() else "begins with an empty line"
    line = re.split(rb"[\r\n]", line.removeprefix(_MARK), maxsplit=1)[0]
    if not wrong and not line:
        wrong = f"{empty}; a CSV file starts with a line of column names"
    text = line.decode(reading.encoding, "replace")
    if not wrong and (_REPLACED in text or "\x00" in text):
        wrong = (
            f"has a first line that is no text in the encoding {reading.encoding}; declare its encoding, such as "
            "csv={'encoding': 'cp1252'} or 'latin-1', or save it as UTF-8"
        )
    if wrong:
        raise InvalidParameter(f"source {shown(path)} {wrong}.")
    return text


def _names_in(path: str, line: str, reading: Reading) -> tuple[str, ...]:
    """The names in the first line."""
    fields = fields_of(line, reading)
    if fields is None:
        raise InvalidParameter(
            f"the first line of source {shown(path)} has a quote that is not closed, or text after a closing quote; "
            "declare what separates the names, such as csv={'delimiter': ';'}, or csv={'quote': ''} if quotes have no "
            "meaning."
        )
    return checked_names(fields, f"the first line of source {shown(path)}")


# -- DuckDB --------------------------------------------------------------------------------------------------


def text_on_duckdb(backend: Any, path: str, files: Sequence[str], form: str, reading: Reading) -> Any:
    """The rows as an Ibis relation.

    They are read once, into a table of DuckDB, which moves them to disk if memory is short.
    """
    from hush.tables.engines.duckdb import relation_of, sql_of

    names, headers = names_of(path, files, form, reading)
    name = f"hush_{uuid.uuid4().hex}"
    whole = form == "json" and _is_one_text(files)
    read = "[" + ", ".join(map(_text, files or [path])) + "]"
    if whole:
        lines = f"SELECT json AS line FROM read_json_objects({read}, format = 'array')"
    elif reading.encoding == "utf-8":
        lines = f"SELECT line FROM read_csv({read}, {_LINES})"
    else:
        _decode(backend, f"{name}_lines", files, reading.encoding)
        lines = f"SELECT line FROM {name}_lines"
    fields = _json_fields(names) if form == "json" else _csv_fields(names, headers, reading)
    columns = [f"{field} AS {_name(column)}" for field, column in zip(fields[1], names, strict=True)]
    backend.con.execute(
        f"CREATE VIEW {name}_text AS SELECT {', '.join(columns)} FROM "
        f"(SELECT unnest({fields[0]}) AS f FROM ({lines}) AS lines)"
    )
    typed = as_declared(relation_of(backend, f"{name}_text"), reading)
    backend.con.execute(f"CREATE TABLE {name} AS {sql_of(backend, typed)}")  # not temporary: cursors must see it
    backend.con.execute(f"DROP VIEW {name}_text")
    backend.con.execute(f"DROP TABLE IF EXISTS {name}_lines")
    return relation_of(backend, name)


_LINES = (
    f"auto_detect = false, header = false, columns = {{'line': 'VARCHAR'}}, delim = '{_NEVER}', quote = '', "
    f"escape = '', new_line = '\\n', ignore_errors = true, strict_mode = false, max_line_size = {LONGEST_LINE}"
)


def _csv_fields(names: Sequence[str], headers: Sequence[str], reading: Reading) -> tuple[str, list[str]]:
    """In SQL: a list of no or one list of fields, and the text of each field."""
    mark, quote, count = _text(reading.delimiter), _text(reading.quote), len(names)
    split, closed = f"string_split(line, {mark})", "true"
    if reading.quote:
        inside = f"regexp_extract_all(line || {mark}, {_text(pattern(reading))}, 1)"
        split = f"CASE WHEN contains(line, {quote}) THEN {inside} ELSE {split} END"
        closed = f"(NOT contains(line, {quote}) OR array_to_string(f, {mark}) = line)"
    rows = f"line NOT IN ({', '.join(map(_text, headers))}) AND " if headers else ""
    rows += f"line <> '' AND NOT contains(line, chr({ord(_REPLACED)}))"
    kept = f"list_filter([{split}], lambda f: len(f) = {count} AND {closed} AND {rows})"
    return kept, [_unquoted(f"f[{i + 1}]", reading.quote) for i in range(count)]


def _unquoted(part: str, quote: str) -> str:
    """A field without its quotes; an empty field is null, quoted or not."""
    if not quote:
        return f"nullif({part}, '')"
    mark, two = _text(quote), _text(2 * quote)
    inner = f"replace(substr({part}, 2, length({part}) - 2), {two}, {mark})"
    return f"nullif(CASE WHEN starts_with({part}, {mark}) THEN {inner} ELSE {part} END, '')"


def _json_fields(names: Sequence[str]) -> tuple[str, list[str]]:
    """In SQL: a list of no or one list of fields of an object, and the text of each field."""
    places = ", ".join(_text("/" + name.replace("~", "~0").replace("/", "~1")) for name in names)
    fields = f"json_extract_string(line, [{places}])"
    found = f"CASE WHEN json_valid(line) THEN CASE WHEN json_type(line) = 'OBJECT' THEN [{fields}] END END"
    return found, [f"f[{i + 1}]" for i in range(len(names))]


def _is_one_text(files: Sequence[str]) -> bool:
    """Does the first file begin with a bracket, so that all of it is one JSON text?"""
    if not files:
        return False
    try:
        with arrow().input_stream(files[0], compression="detect") as stream:
            start = stream.read(1 << 10).removeprefix(_MARK)
    except (OSError, ValueError):
        return False
    return bool(start.lstrip().startswith(b"["))


def _decode(backend: Any, table: str, files: Sequence[str], encoding: str) -> None:
    """The lines of files with one byte for each character, as a table of DuckDB."""
    backend.con.execute(f"CREATE TABLE {table} (line VARCHAR)")
    for lines in (block for file in files for block in _decoded(file, encoding)):
        backend.con.register("hush_lines", arrow().table({"line": text_column(lines)}))
        backend.con.execute(f"INSERT INTO {table} SELECT line FROM hush_lines")
        backend.con.unregister("hush_lines")


def _decoded(file: str, encoding: str) -> Iterator[list[str]]:
    """Blocks of the lines of a file."""
    with arrow().input_stream(file, compression="detect") as stream:
        rest = b""
        while more := stream.read(_BLOCK):
            *whole, rest = re.split(rb"[\r\n]", rest + more)
            yield [line.decode(encoding, "replace") for line in whole if len(line) <= LONGEST_LINE]
            rest = rest[: LONGEST_LINE + 1]  # the rest of a longer line is not needed: it is left out
        yield [rest.decode(encoding, "replace")] if len(rest) <= LONGEST_LINE else []


def _text(value: str) -> str:
    return "'" + value.replace("'", "''") + "'"


def _name(value: str) -> str:
    return '"' + value.replace('"', '""') + '"'


# -- Spark ---------------------------------------------------------------------------------------------------


def text_on_spark(session: Any, path: str, files: Sequence[str], reading: Reading) -> Any:
    """The rows of CSV files as a Spark frame of texts."""
    from pyspark.sql import functions as F  # noqa: N812  # its name in every page about Spark

    names, headers = names_of(path, files, "csv", reading)
    if reading.encoding != "utf-8":
        raise InvalidParameter("engine='spark' reads CSV files in UTF-8 only; convert the file first.")
    lines = session.read.text(list(files)).withColumnRenamed("value", "line")
    line, mark = F.regexp_replace("line", "^\ufeff", ""), F.lit(reading.delimiter)
    valid = "is_valid_utf8(line)" if int(session.version.partition(".")[0]) >= 4 else _VALID_BEFORE_4
    lines = lines.filter(F.expr(f"{valid} AND octet_length(line) <= {LONGEST_LINE}")).withColumn("line", line)
    for header in headers:
        lines = lines.filter(F.col("line") != F.lit(header))
    lines = lines.filter((F.col("line") != "") & ~F.contains(F.col("line"), F.lit(_REPLACED)))
    split = F.split("line", re.escape(reading.delimiter), -1)
    if reading.quote:
        inside = F.regexp_extract_all(F.concat("line", mark), F.lit(pattern(reading)), F.lit(1))
        split = F.when(F.contains(F.col("line"), F.lit(reading.quote)), inside).otherwise(split)
    lines = lines.withColumn("f", split)
    lines = lines.filter((F.size("f") == len(names)) & (F.array_join("f", reading.delimiter) == F.col("line")))
    return lines.select([_field_on_spark(F, F.col("f")[i], reading.quote).alias(n) for i, n in enumerate(names)])


_VALID_BEFORE_4 = f"NOT contains(decode(cast(line AS binary), 'UTF-8'), '{_REPLACED}')"


def _field_on_spark(F: Any, part: Any, quote: str) -> Any:
    """A field without its quotes; an empty field is null, quoted or not."""
    if quote:
        inner = F.replace(F.substring(part, F.lit(2), F.length(part) - 2), F.lit(2 * quote), F.lit(quote))
        part = F.when(F.startswith(part, F.lit(quote)), inner).otherwise(part)
    return F.when(part != "", part)
