"""`hush answer`: private statistics of a table; `hush sample`: a made-up table to try them on."""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
from datetime import date
from pathlib import Path
from typing import Any

from hush.cli.ledger import opened
from hush.cli.text import Command, number
from hush.errors import InvalidParameter

__all__ = ["register"]

_EXAMPLES = {
    "answer": """examples:
  hush sample visits --out visits.parquet
  hush answer visits.parquet --unit patient_id --by ward --keys private --groups-per-unit 3 --count --mean stay_days:0:30 \\
      --epsilon 1 --delta 1e-6
  hush answer visits.parquet --unit patient_id --count-units --sum cost:0:20000 --where "age>=65" --epsilon 0.5 --pure
  hush answer visits.parquet --unit patient_id --quantile cost:0.5:0:20000 --epsilon 1 --delta 1e-6 --plan
  hush ledger new visits.ledger --epsilon 3 --delta 1e-5
  hush answer visits.parquet ... --ledger visits.ledger --out answer.parquet

--plan shows the errors to expect and spends nothing. Bounds are yours to declare: low and high of a value (a value beyond them is
clipped), how many groups of one unit count (--groups-per-unit), how many rows of one unit in a group (a fourth part, as in
--mean stay_days:0:30:2).""",
    "sample": """examples:
  hush sample visits --rows 100000 --out visits.parquet
  hush sample visits --rows 1000 --out visits.csv""",
}
_CONDITION = re.compile(r"^\s*(\w[\w .]*?)\s*(==|!=|<=|>=|<|>|=)\s*(.+?)\s*$")
_COMPARE = {"==": "__eq__", "=": "__eq__", "!=": "__ne__", "<=": "__le__", ">=": "__ge__", "<": "__lt__", ">": "__gt__"}


def _split(text: str, flag: str, form: str, least: int, most: int) -> list[str]:
    parts = text.split(":")
    if not least <= len(parts) <= most:
        raise InvalidParameter(f"--{flag} needs {form}, got {text!r}.")
    return parts


def _bounds(parts: list[str], flag: str) -> dict[str, Any]:
    """low, high and perhaps rows_per_unit from the parts after the column."""
    if parts[:1] == ["private"]:
        return {"low": "private", "high": "private"} | ({"rows_per_unit": _whole(parts[1], flag)} if len(parts) > 1 else {})
    if len(parts) < 2:
        raise InvalidParameter(f"--{flag} needs column:low:high (or column:private), got no bounds; they are yours to declare.")
    given: dict[str, Any] = {"low": _value(parts[0], flag), "high": _value(parts[1], flag)}
    return given | ({"rows_per_unit": _whole(parts[2], flag)} if len(parts) > 2 else {})


def _value(text: str, flag: str) -> Any:
    for read in (int, date.fromisoformat, number):
        try:
            return read(text)
        except ValueError:
            continue
        except argparse.ArgumentTypeError as failure:
            raise InvalidParameter(f"--{flag}: {failure}, nor a date such as 2025-12-31.") from failure
    raise InvalidParameter(f"--{flag}: {text!r} is not a number.")


def _whole(text: str, flag: str) -> int:
    if not text.isdigit():
        raise InvalidParameter(f"--{flag}: {text!r} is not a whole number of rows.")
    return int(text)


def _measures(options: argparse.Namespace) -> dict[str, Any]:
    """The aggregates asked for, by the name of their column in the answer."""
    from hush import tables

    made: dict[str, Any] = {}
    if options.count is not None:
        made["count"] = tables.count(rows_per_unit=options.count)
    if options.count_units:
        made["units"] = tables.count_units()
    for flag, function in (("sum", tables.sum_), ("mean", tables.mean), ("variance", tables.variance)):
        for text in getattr(options, flag):
            column, *rest = _split(text, flag, "column:low:high or column:low:high:rows", 2, 4)
            if f"{column}_{flag}" in made:
                raise InvalidParameter(f"--{flag} {column} is asked for twice; ask once, or from Python under two names.")
            made[f"{column}_{flag}"] = function(column, **_bounds(rest, flag))
    for text in options.histogram:
        column, edges = _split(text, "histogram", "column:edge,edge,edge", 2, 2)
        made[f"{column}_histogram"] = tables.histogram(column, edges=[_value(edge, "histogram") for edge in edges.split(",")])
    for text in options.quantile:
        column, level, *rest = _split(text, "quantile", "column:q:low:high", 4, 5)
        q = float(_value(level, "quantile"))
        made[f"{column}_q{level}".replace(".", "_")] = tables.quantile(column, q, **_bounds(rest, "quantile"))
    if not made:
        raise InvalidParameter("nothing is asked for; add --count, --count-units, --sum, --mean, --variance, --histogram or --quantile.")
    return made


def _filtered(table: Any, conditions: list[str]) -> Any:
    for text in conditions:
        found = _CONDITION.match(text)
        if not found:
            raise InvalidParameter(f"--where needs a comparison such as age>=18 or ward==surgery, got {text!r}.")
        column = table[found[1]]
        value: Any = found[3].strip("'\"")
        if column.type().is_numeric() or column.type().is_date():
            value = _value(value, "where")
        elif column.type().is_boolean():
            value = value.lower() in ("true", "1", "yes")
        table = table.filter(getattr(column, _COMPARE[found[2]])(value))
    return table


def _keys(options: argparse.Namespace, table: Any, names: list[str]) -> Any:
    """Public keys from the command line, in the column's own type."""
    if options.keys is None:
        raise InvalidParameter("--by needs --keys: a list of the groups to answer for, or private to find them with part of delta.")
    if options.keys == "private":
        return "private"
    if len(names) > 1:
        raise InvalidParameter("--keys lists the values of one column; with several columns write --keys private, or ask from Python.")
    texts = [text.strip() for text in options.keys.split(",")]
    kind = table[names[0]].type()
    if kind.is_boolean():
        return [text.lower() in ("true", "1", "yes") for text in texts]
    return [_value(text, "keys") for text in texts] if kind.is_numeric() or kind.is_date() else texts


def _answer(options: argparse.Namespace) -> None:
    from hush import tables

    if options.pure and options.delta:
        raise InvalidParameter("--pure means delta = 0; leave --delta out.")
    if not options.pure and options.delta is None:
        raise InvalidParameter("--delta is needed (for example --delta 1e-6), or --pure for delta = 0.")
    table = _filtered(tables.table(options.source, unit=options.unit, name=options.table, engine=options.engine), options.where)
    measures = _measures(options)
    names = [name.strip() for name in options.by.split(",")] if options.by else []
    if names:
        if options.groups_per_unit is None:
            raise InvalidParameter("--by needs --groups-per-unit: the most groups in which one unit counts.")
        query = table.group_by(*names, keys=_keys(options, table, names), groups_per_unit=options.groups_per_unit).aggregate(**measures)
    else:
        query = table.aggregate(**measures)
    plan = query.plan(options.epsilon, 0.0 if options.pure else options.delta, family=options.family)
    if options.plan:
        print(json.dumps({"errors": plan.errors(), "what_if": plan.what_if(), "why": plan.why}, indent=2) if options.json else plan)
        return
    if options.out and Path(options.out).suffix not in (".parquet", ".csv"):
        raise InvalidParameter(f"--out must end in .parquet or .csv, got {options.out!r}.")
    stream = options.engine != "duckdb" and (options.out or "").endswith(".parquet")  # executors write; the driver need not hold it
    if options.plot is not None:
        from hush.show.file import ready

        ready(options.plot)  # before anything is spent
        if stream:
            raise InvalidParameter("--plot draws an answer that is held in memory; leave it out where Spark writes the file.")
    if options.out and "://" not in options.out:
        _must_be_writable(options.out)
    ledger = opened(options.ledger) if options.ledger else None
    try:
        if stream:
            receipt = plan.write(options.out, ledger=ledger, label=options.label, progress=_progress)
        else:
            made = plan.answer(ledger=ledger, label=options.label, progress=_progress)
    finally:
        if ledger is not None:
            ledger.close()
    if not stream:
        _write(options, made)
        return
    _progress("")
    print(json.dumps({"file": options.out, "receipt": receipt}, indent=2) if options.json else f"written to {options.out}")


def _must_be_writable(out: str) -> None:
    """Before anything is spent: an answer that cannot be written would be paid for all the same."""
    folder = Path(out).absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK):
        raise InvalidParameter(f"--out {out} cannot be written: {folder} is no folder that may be written to; nothing was spent.")
    if Path(out).is_dir() or (Path(out).exists() and not os.access(out, os.W_OK)):
        raise InvalidParameter(f"--out {out} cannot be written: choose another name; nothing was spent.")


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text} ..." if text else "\r\033[K", end="", file=sys.stderr, flush=True)


def _write(options: argparse.Namespace, made: Any) -> None:
    _progress("")
    if options.out:
        (made.to_parquet if options.out.endswith(".parquet") else made.to_csv)(options.out)
        print(f"{len(made)} groups written to {options.out}", file=sys.stderr)
    if options.json:
        print(json.dumps({"answer": made.to_arrow().to_pylist(), "receipt": dict(made.receipt)}, default=str, indent=2))
    elif not options.out:
        print(made)
    if options.plot is not None:
        from hush import show  # last: the answer is paid for, and must not be lost with a drawing

        show.save(show.release(made), options.plot)
        print(f"the chart is in {options.plot}", file=sys.stderr)


def _sample(options: argparse.Namespace) -> None:
    from hush.tables.sample import sample

    out = options.out or f"{options.name}.parquet"
    table = sample(options.name, options.rows)
    if out.endswith(".csv"):
        import pyarrow.csv

        pyarrow.csv.write_csv(table, out)
    elif out.endswith(".parquet"):
        import pyarrow.parquet

        pyarrow.parquet.write_table(table, out)
    else:
        raise InvalidParameter(f"--out must end in .parquet or .csv, got {out!r}.")
    print(
        json.dumps({"file": out, "rows": table.num_rows}) if options.json else f"{table.num_rows} made-up {options.name} written to {out}"
    )


def register(command: Command) -> None:
    """Add both commands."""
    answer = command("answer", _answer, "private statistics of a table, with error bars and a receipt", _EXAMPLES["answer"])
    answer.add_argument("source", help="a Parquet, CSV or DuckDB file, a folder or a glob of files")
    answer.add_argument("--unit", required=True, metavar="COLUMN", help="the column that says whose each row is")
    answer.add_argument("--table", metavar="NAME", help="the table of a DuckDB file")
    answer.add_argument("--by", metavar="COLUMNS", help="columns to group by, a comma list")
    answer.add_argument("--keys", metavar="LIST", help="the groups to answer for, a comma list, or private")
    answer.add_argument("--groups-per-unit", type=int, metavar="N", help="the most groups in which one unit counts")
    answer.add_argument("--where", action="append", default=[], metavar="TEXT", help="keep rows with, for example, age>=18 (repeatable)")
    answer.add_argument("--count", type=int, nargs="?", const=1, metavar="ROWS", help="rows, at most ROWS of a unit in a group (default 1)")
    answer.add_argument("--count-units", action="store_true", help="units")
    for flag, form in (
        ("sum", "C:LOW:HIGH"),
        ("mean", "C:LOW:HIGH"),
        ("variance", "C:LOW:HIGH"),
        ("histogram", "C:E,E,E"),
        ("quantile", "C:Q:LOW:HIGH"),
    ):
        answer.add_argument(f"--{flag}", action="append", default=[], metavar=form, help=f"{flag} of a column (repeatable)")
    answer.add_argument("--epsilon", type=number, required=True, metavar="E")
    answer.add_argument("--delta", type=number, metavar="D")
    answer.add_argument("--pure", action="store_true", help="delta = 0")
    answer.add_argument("--family", metavar="NAME", help="one noise family instead of the best")
    answer.add_argument("--ledger", metavar="FILE", help="charge this ledger (see `hush ledger new`)")
    answer.add_argument("--label", default="", metavar="TEXT", help="what the ledger's entry is called")
    answer.add_argument("--engine", default="duckdb", metavar="NAME", help="duckdb (default), spark, or sc://host:port")
    answer.add_argument("--out", metavar="FILE", help="write the answer to a .parquet or .csv file")
    answer.add_argument("--plot", metavar="FILE", help="draw values and intervals into a .png, .svg or .html file")
    answer.add_argument("--plan", action="store_true", help="show the errors to expect; nothing is spent")

    made = command("sample", _sample, "write a made-up table to try things on", _EXAMPLES["sample"])
    made.add_argument("name", choices=("visits",), help="which table")
    made.add_argument("--rows", type=int, default=100_000, metavar="N", help="how many rows (default 100000)")
    made.add_argument("--out", metavar="FILE", help="a .parquet or .csv file (default visits.parquet)")
