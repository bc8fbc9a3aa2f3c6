"""`hush answer`: private statistics of a table; `hush sample`: a made-up table to try them on."""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any

from hush.cli.ledger import opened
from hush.cli.text import Command, condition, listed, number
from hush.errors import InvalidParameter

__all__ = ["register"]

_EXAMPLES = {
    "answer": """examples:
  hush sample visits --out visits.parquet
  hush answer visits.parquet --unit patient_id --by ward --keys private --groups-per-unit 8 --count --mean stay_days:0:30 \\
      --epsilon 1 --delta 1e-6
  hush answer visits.parquet --unit patient_id --count-units --sum cost:0:20000 --where "age>=65" --epsilon 0.5 --pure
  hush answer visits.parquet --unit patient_id --quantile cost:0.5:0:20000 --epsilon 1 --delta 1e-6 --plan
  hush ledger new visits.ledger --epsilon 3 --delta 1e-5
  hush answer visits.parquet ... --ledger visits.ledger --out answer.parquet

--plan shows the errors to expect and spends nothing. Bounds are yours to declare: low and high of a value (a value beyond them is
clipped), how many groups of one unit count (--groups-per-unit), how many rows of one unit in a group (1 unless said: --count 3, or a
fourth part, as in --mean stay_days:0:30:2). So --count counts each unit once in a group, however many rows it has there.

--where takes one comparison and may be repeated: --where "age>=18" --where "ward == 'surgery'". --keys is a comma list; a key with a
comma in it stands in double quotes: --keys 'maths,"art, music"'. The bins of --histogram age:0,50,100 are [0, 50) and [50, 100];
values outside are dropped.

Finding the best of all noises takes seconds; --family gaussian is the quick calibration.""",
    "sample": """examples:
  hush sample visits --rows 100000 --out visits.parquet
  hush sample visits --rows 1000 --out visits.csv""",
}
_TRUTH = {"true": True, "1": True, "yes": True, "false": False, "0": False, "no": False}
_LARGE_DELTA = 1e-4
_COMPARE = {"==": "__eq__", "=": "__eq__", "!=": "__ne__", "<=": "__le__", ">=": "__ge__", "<": "__lt__", ">": "__gt__"}


def _split(text: str, flag: str, form: str, least: int, most: int) -> list[str]:
    parts = text.split(":")
    if not least <= len(parts) <= most:
        raise InvalidParameter(f"--{flag} needs {form}, got {text!r}.")
    return parts


def _bounds(parts: list[str], flag: str) -> dict[str, Any]:
    """low, high and perhaps rows_per_unit from the parts after the column."""
    if parts[:1] == ["private"]:
        return {"low": "private", "high": "private"} | (
            {"rows_per_unit": _whole(parts[1], flag)} if len(parts) > 1 else {}
        )
    if len(parts) < 2:
        raise InvalidParameter(
            f"--{flag} needs column:low:high (or column:private), got no bounds; they are yours to declare."
        )
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
    for flag, function in (("sum", tables.sum), ("mean", tables.mean), ("variance", tables.variance)):
        for text in getattr(options, flag):
            column, *rest = _split(text, flag, "column:low:high or column:low:high:rows", 2, 4)
            if f"{column}_{flag}" in made:
                raise InvalidParameter(
                    f"--{flag} {column} is asked for twice; ask once, or from Python under two names."
                )
            made[f"{column}_{flag}"] = function(column, **_bounds(rest, flag))
    for text in options.histogram:
        column, edges = _split(text, "histogram", "column:edge,edge,edge", 2, 2)
        made[f"{column}_histogram"] = tables.histogram(
            column, edges=[_value(edge, "histogram") for edge in edges.split(",")]
        )
    for text in options.quantile:
        name, measure = _quantile(text)
        made[name] = measure
    if not made:
        raise InvalidParameter(
            "nothing is asked for; add --count, --count-units, --sum, --mean, --variance, --histogram or --quantile."
        )
    return made


def _filtered(table: Any, conditions: list[str]) -> Any:
    """The rows for which every --where holds; the receipt says how each was read."""
    from hush.tables.expression import must_have

    for text in conditions:
        name, sign, value = condition(text)
        column = table[must_have(table.columns, name, "--where")]
        typed = _typed(value, column.type(), "where")
        kept = table.filter(getattr(column, _COMPARE[sign])(typed))
        told = (
            f"{name} {'==' if sign == '=' else sign} {typed!r}"
            if isinstance(typed, str | bool)
            else f"{name} {sign} {typed}"
        )
        table = replace(kept, filters=(*table.filters, told))
    return table


def _typed(text: str, kind: Any, flag: str) -> Any:
    """A value of the command line in the column's own type."""
    if kind.is_numeric() or kind.is_date():
        return _value(text, flag)
    if not kind.is_boolean():
        return text
    if text.lower() not in _TRUTH:
        raise InvalidParameter(f"--{flag}: {text!r} is neither true nor false; write true or false.")
    return _TRUTH[text.lower()]


def _keys(options: argparse.Namespace, table: Any, names: list[str]) -> Any:
    """Public keys from the command line, in the column's own type."""
    from hush.tables.expression import must_have

    if options.keys is None:
        raise InvalidParameter(
            "--by needs --keys: a list of the groups to answer for, or private to find them with part of delta."
        )
    if options.keys == "private":
        return "private"
    if len(names) > 1:
        raise InvalidParameter(
            "--keys lists the values of one column; with several columns write --keys private, or ask from Python."
        )
    kind = table[must_have(table.columns, names[0], "--by")].type()
    return [_typed(text, kind, "keys") for text in listed(options.keys, "keys")]


def _quantile(text: str) -> tuple[str, Any]:
    """The name and the aggregate of COLUMN:Q:LOW:HIGH; the order of --mean with the level last is met with the right
    one.
    """
    from hush import tables

    form = "COLUMN:Q:LOW:HIGH, for example cost:0.5:0:20000 for the median,"
    column, level, *rest = _split(text, "quantile", form, 3, 5)
    q = float(_value(level, "quantile"))
    given = _bounds(rest, "quantile") if len(rest) > 1 or rest == ["private"] else {}
    numbers = all(isinstance(given.get(end), int | float) for end in ("low", "high"))
    if not given or not 0.0 <= q <= 1.0 or (numbers and given["low"] >= given["high"]):
        raise InvalidParameter(f"--quantile needs {form} got {text!r}; q comes before the bounds.")
    return f"{column}_q{level}".replace(".", "_"), tables.quantile(column, q, **given)


def _planned(options: argparse.Namespace) -> Any:
    """The plan of what the command line asks for."""
    from hush import tables

    if options.pure and options.delta:
        raise InvalidParameter("--pure means delta = 0; leave --delta out.")
    if not options.pure and options.delta is None:
        raise InvalidParameter("--delta is needed (for example --delta 1e-6), or --pure for delta = 0.")
    if options.rows is not None and not options.plan:
        raise InvalidParameter(
            "--rows is the size of a group for which --plan shows errors; add --plan, or leave it out."
        )
    table = _filtered(
        tables.table(options.source, unit=options.unit, name=options.table, engine=options.engine), options.where
    )
    measures = _measures(options)
    names = listed(options.by, "by") if options.by else []
    if names:
        if options.groups_per_unit is None:
            raise InvalidParameter("--by needs --groups-per-unit: the most groups in which one unit counts.")
        query = table.group_by(
            *names, keys=_keys(options, table, names), groups_per_unit=options.groups_per_unit
        ).aggregate(**measures)
    else:
        query = table.aggregate(**measures)
    _progress("finding the least noise" + ("" if options.family else " (--family gaussian is quick)"))
    try:
        delta = 0.0 if options.pure else options.delta
        return query.plan(options.epsilon, delta, family=options.family, limits_share=options.limits_share)
    finally:
        _progress("")


def _answer(options: argparse.Namespace) -> None:
    from hush.tables.destination import must_be_writable

    plan = _planned(options)
    if options.plan:
        _warn_of_delta(options)
        rows = 1000 if options.rows is None else options.rows
        document = {"errors": plan.errors(rows), "what_if": plan.what_if(), "why": plan.why} if options.json else None
        print(json.dumps(document, indent=2) if options.json else plan.described(rows=rows))
        return
    if options.out and Path(options.out).suffix not in (".parquet", ".csv"):
        raise InvalidParameter(f"--out must end in .parquet or .csv, got {options.out!r}.")
    stream = options.engine != "duckdb" and (options.out or "").endswith(
        ".parquet"
    )  # executors write; the driver need not hold it
    if options.plot is not None:
        from hush.report.chart_file import ready

        ready(options.plot)  # before anything is spent
        if stream:
            raise InvalidParameter(
                "--plot draws an answer that is held in memory; leave it out where Spark writes the file."
            )
    if options.out:
        must_be_writable(options.out, role="--out", folder=stream and options.keys == "private")
    ledger = opened(options.ledger) if options.ledger else None
    _warn_of_delta(options)
    if ledger is None:
        print("hush: no ledger: nothing keeps count of what is spent; see `hush ledger new --help`.", file=sys.stderr)
    try:
        if stream:
            receipt = plan.write(
                options.out, ledger=ledger, label=options.label, level=options.level, progress=_progress
            )
        else:
            made = plan.answer(ledger=ledger, label=options.label, level=options.level, progress=_progress)
    finally:
        if ledger is not None:
            ledger.close()
        _progress("")
    if stream:
        _receipt(options, receipt, f"written to {options.out}")
        return
    _write(options, made)


def _warn_of_delta(options: argparse.Namespace) -> None:
    if options.delta and options.delta > _LARGE_DELTA:
        text = f"delta {options.delta:g} is large: of N people up to N x {options.delta:g} may be exposed outright; take a delta far below 1/N"
        print(f"hush: warning: {text}.", file=sys.stderr)


def _progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text} ..." if text else "\r\033[K", end="", file=sys.stderr, flush=True)


def _receipt(options: argparse.Namespace, receipt: Any, where: str) -> None:
    """What was promised and charged, for an answer that went to a file."""
    from hush.tables.answer import summary_of

    print(
        json.dumps({"file": options.out, "receipt": dict(receipt)}, default=str, indent=2)
        if options.json
        else summary_of(receipt)
    )
    print(where, file=sys.stderr)


def _write(options: argparse.Namespace, made: Any) -> None:
    if options.out:
        columnar = options.out.endswith(".parquet")
        (made.to_parquet if columnar else made.to_csv)(options.out)
        kept = (
            'the receipt is in its metadata, under "hush"'
            if columnar
            else "a CSV file holds no receipt: keep the lines above"
        )
        written = f"{len(made)} group{'' if len(made) == 1 else 's'} written to {options.out}; {kept}"
    if options.json:
        print(json.dumps({"answer": made.to_arrow().to_pylist(), "receipt": dict(made.receipt)}, default=str, indent=2))
        print(written, file=sys.stderr) if options.out else None
    elif options.out:
        _receipt(options, made.receipt, written)
    else:
        print(made)
    if options.plot is not None:
        from hush import report  # last: the answer is paid for, and must not be lost with a drawing

        report.save_chart(report.release_chart(made), options.plot)
        print(f"the chart is in {options.plot}", file=sys.stderr)


def _sample(options: argparse.Namespace) -> None:
    from hush.tables.sample_table import sample

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
        json.dumps({"file": out, "rows": table.num_rows})
        if options.json
        else f"{table.num_rows} made-up {options.name} written to {out}"
    )


def register(command: Command) -> None:
    """Add both commands."""
    answer = command(
        "answer", _answer, "private statistics of a table, with error bars and a receipt", _EXAMPLES["answer"]
    )
    answer.add_argument("source", help="a Parquet, CSV or DuckDB file, a folder or a glob of files")
    answer.add_argument(
        "--unit", required=True, metavar="COLUMN", help="the column that identifies the person each row belongs to"
    )
    answer.add_argument("--table", metavar="NAME", help="the table of a DuckDB file")
    answer.add_argument("--by", metavar="COLUMNS", help="columns to group by, a comma list")
    answer.add_argument(
        "--keys", metavar="LIST", help='the groups to answer for, a comma list ("a, b" in quotes is one), or private'
    )
    answer.add_argument("--groups-per-unit", type=int, metavar="N", help="the most groups in which one unit counts")
    answer.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="TEXT",
        help="keep rows with, for example, age>=18; one comparison, repeatable",
    )
    at_most = "count rows, at most ROWS per person in each group (default 1)"
    answer.add_argument("--count", type=int, nargs="?", const=1, metavar="ROWS", help=at_most)
    answer.add_argument("--count-units", action="store_true", help="units")
    for flag, form, more in (
        ("sum", "COLUMN:LOW:HIGH", ""),
        ("mean", "COLUMN:LOW:HIGH", ""),
        ("variance", "COLUMN:LOW:HIGH", ""),
        ("histogram", "COLUMN:E,E,E", ", by edges; values outside them are dropped"),
        ("quantile", "COLUMN:Q:LOW:HIGH", ", 0.5 for the median"),
    ):
        answer.add_argument(
            f"--{flag}", action="append", default=[], metavar=form, help=f"{flag} of a column{more} (repeatable)"
        )
    answer.add_argument("--epsilon", type=number, required=True, metavar="E")
    answer.add_argument("--delta", type=number, metavar="D")
    answer.add_argument("--pure", action="store_true", help="delta = 0")
    answer.add_argument(
        "--family", metavar="NAME", help="one noise family instead of the best; gaussian is quick to calibrate"
    )
    answer.add_argument(
        "--level",
        type=number,
        default=0.95,
        metavar="L",
        help="how often intervals hold the answer without noise (default 0.95)",
    )
    answer.add_argument(
        "--limits-share",
        type=number,
        default=0.03,
        metavar="S",
        help="part of the budget that measures what the limits leave out (default 0.03; 0 switches it off)",
    )
    answer.add_argument("--ledger", metavar="FILE", help="charge this ledger (see `hush ledger new`)")
    answer.add_argument("--label", default="", metavar="TEXT", help="what the ledger's entry is called")
    answer.add_argument("--engine", default="duckdb", metavar="NAME", help="duckdb (default), spark, or sc://host:port")
    answer.add_argument("--out", metavar="FILE", help="write the answer to a .parquet or .csv file")
    answer.add_argument("--plot", metavar="FILE", help="draw values and intervals into a .png, .svg or .html file")
    answer.add_argument("--plan", action="store_true", help="show the errors to expect; nothing is spent")
    answer.add_argument(
        "--rows", type=int, metavar="N", help="with --plan: errors for a group in which N rows count (default 1000)"
    )

    made = command("sample", _sample, "write a made-up table to try things on", _EXAMPLES["sample"])
    made.add_argument("name", choices=("visits",), help="which table")
    made.add_argument("--rows", type=int, default=100_000, metavar="N", help="how many rows (default 100000)")
    made.add_argument("--out", metavar="FILE", help="a .parquet or .csv file (default visits.parquet)")
