"""`hush answer`: private statistics of a table."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from hush.cli.ledger import opened
from hush.cli.plot import add_plot, check_plot, draw_plot
from hush.cli.query_options import add_query, query_of
from hush.cli.text import Command, add_budget, delta_of, number
from hush.errors import InvalidParameter
from hush.ledger import Ledger
from hush.releasing.progress import working

__all__ = ["register"]

_EXAMPLES = """examples:
  hush sample visits --out visits.parquet
  hush answer visits.parquet --unit patient_id --by ward --keys private --groups-per-unit 8 --count \\
      --mean stay_days:0:30 --epsilon 1 --delta 1e-6
  hush answer visits.parquet --unit patient_id --count-units --sum cost:0:20000 --where "age>=65" --epsilon 0.5 --pure
  hush answer visits.parquet --unit patient_id --quantile cost:0.5:0:20000 --epsilon 1 --delta 1e-6 --plan
  hush ledger new visits.ledger --epsilon 3 --delta 1e-5
  hush answer visits.parquet ... --ledger visits.ledger --out answer.parquet

--plan shows the expected errors and spends nothing.

You declare the bounds; do not take them from the data:
  low and high of a value                     values outside are clipped
  the groups that one person contributes to   --groups-per-unit
  the rows of one person in one group         default 1; --count 3, or a fourth part: --mean stay_days:0:30:2
With the default, --count counts each person once in a group, whatever the number of rows.

--where takes one comparison and can be repeated: --where "age>=18" --where "ward == 'surgery'".
--keys is a comma list; write a key that contains a comma in double quotes: --keys 'maths,"art, music"'.
The bins of --histogram age:0,50,100 are [0, 50) and [50, 100].
--quantile age:0.25,0.5,0.75:0:100 measures once and answers age_q25, age_q50 and age_q75.

The search for the best noise takes seconds; --family gaussian is the quick choice."""
_LARGE_DELTA = 1e-4


def _planned(options: argparse.Namespace) -> Any:
    """The plan of the query: its noise is calibrated, nothing is read or spent."""
    delta = delta_of(options)
    if options.rows is not None and not options.plan:
        raise InvalidParameter("--rows is the group size for the errors of --plan; add --plan, or leave --rows out.")
    query = query_of(options)
    hint = "" if options.family else " (--family gaussian is quick)"
    with working(f"finding the least noise{hint}"):
        return query.plan(options.epsilon, delta, family=options.family, limits_share=options.limits_share)


def _answer(options: argparse.Namespace) -> None:
    plan = _planned(options)
    if options.plan:
        _warn_of_delta(options)
        _show_plan(options, plan)
        return
    streamed = _streamed(options)
    _check_files(options, streamed)
    ledger = opened(options.ledger) if options.ledger else None
    _warn_of_delta(options)
    if ledger is None:
        print("hush: no ledger: nothing keeps count of what is spent; see `hush ledger new --help`.", file=sys.stderr)
    try:
        made = _asked(options, plan, ledger, streamed)
    finally:
        if ledger is not None:
            ledger.close()
    if streamed:
        _receipt(options, made, f"written to {options.out}")
    else:
        _write(options, made)


def _asked(options: argparse.Namespace, plan: Any, ledger: Ledger | None, streamed: bool) -> Any:
    """The answer; its receipt alone where the engine writes the file."""
    with working() as show:
        intervals = {"level": options.level, "together": options.together}
        given = {"ledger": ledger, "label": options.label, **intervals, "progress": show}
        return plan.write(options.out, **given) if streamed else plan.answer(**given)


def _streamed(options: argparse.Namespace) -> bool:
    """Whether Spark's executors write the file, so that the answer need not fit into memory."""
    return options.engine != "duckdb" and (options.out or "").endswith(".parquet")


def _check_files(options: argparse.Namespace, streamed: bool) -> None:
    """Reject files that cannot be written, before anything is spent."""
    from hush.tables.destination import must_be_writable

    if options.out and Path(options.out).suffix not in (".parquet", ".csv"):
        raise InvalidParameter(f"--out must end in .parquet or .csv, got {options.out!r}.")
    check_plot(options)
    if options.plot is not None and streamed:
        raise InvalidParameter("--plot needs the answer in memory; leave it out where Spark writes the file.")
    if options.out:
        must_be_writable(options.out, role="--out", folder=streamed and options.keys == "private")


# -- output --------------------------------------------------------------------------------------------------


def _show_plan(options: argparse.Namespace, plan: Any) -> None:
    rows = 1000 if options.rows is None else options.rows
    if options.json:
        print(json.dumps({"errors": plan.errors(rows), "what_if": plan.what_if(), "why": plan.why}, indent=2))
    else:
        print(plan.described(rows=rows))


def _warn_of_delta(options: argparse.Namespace) -> None:
    if options.delta and options.delta > _LARGE_DELTA:
        print(
            f"hush: warning: delta {options.delta:g} is large: of N people, up to N x {options.delta:g} may be exposed "
            "completely; choose a delta far below 1/N.",
            file=sys.stderr,
        )


def _receipt(options: argparse.Namespace, receipt: Any, where: str) -> None:
    """Print the receipt of an answer that is in a file."""
    from hush.tables.answer import summary_of

    if options.json:
        print(json.dumps({"file": options.out, "receipt": dict(receipt)}, default=str, indent=2))
    else:
        print(summary_of(receipt))
    print(where, file=sys.stderr)


def _write(options: argparse.Namespace, made: Any) -> None:
    written = _saved(options.out, made) if options.out else ""
    if options.json:
        print(json.dumps({"answer": made.to_arrow().to_pylist(), "receipt": dict(made.receipt)}, default=str, indent=2))
        print(written, file=sys.stderr) if written else None
    elif written:
        _receipt(options, made.receipt, written)
    else:
        print(made)
    draw_plot(options, lambda report: report.release_chart(made))  # last: a failed drawing must not lose a paid answer


def _saved(out: str, made: Any) -> str:
    """Write the answer to the file; return a sentence about the contents of the file."""
    columnar = out.endswith(".parquet")
    (made.to_parquet if columnar else made.to_csv)(out)
    kept = (
        'the receipt is in its metadata, under "hush"'
        if columnar
        else "a CSV file holds no receipt: keep the lines above"
    )
    return f"{len(made)} group{'' if len(made) == 1 else 's'} written to {out}; {kept}"


# -- options -------------------------------------------------------------------------------------------------


def _add_budget(parser: argparse.ArgumentParser) -> None:
    budget = parser.add_argument_group("privacy budget")
    add_budget(budget)
    budget.add_argument("--ledger", metavar="FILE", help="charge this ledger (see `hush ledger new`)")
    budget.add_argument("--label", default="", metavar="TEXT", help="the label of the ledger's entry")
    budget.add_argument(
        "--limits-share",
        type=number,
        default=0.03,
        metavar="S",
        help="share of the budget for measuring how much the declared bounds leave out (default 0.03; 0: off)",
    )
    budget.add_argument(
        "--family", metavar="NAME", help="one noise family instead of the best; gaussian is quick to calibrate"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output")
    output.add_argument("--plan", action="store_true", help="show the expected errors; nothing is spent")
    output.add_argument(
        "--rows", type=int, metavar="N", help="with --plan: errors for a group of N counted rows (default 1000)"
    )
    output.add_argument("--out", metavar="FILE", help="write the answer to a .parquet or .csv file")
    add_plot(output, "values and intervals")
    output.add_argument(
        "--level",
        type=number,
        default=0.95,
        metavar="L",
        help="probability that an interval contains the answer without noise (default 0.95)",
    )
    output.add_argument(
        "--together", action="store_true", help="the level holds for all intervals of a row at once; they are wider"
    )


def register(command: Command) -> None:
    """Add the command."""
    answer = command(
        "answer", _answer, "publish private statistics of a table, with error bars and a receipt", _EXAMPLES
    )
    sources = (
        "a Parquet, CSV, JSON, DuckDB or SQLite file, a folder, a pattern such as '2025-*.parquet', or postgresql://..."
    )
    answer.add_argument("source", help=sources)
    answer.add_argument("--engine", default="duckdb", metavar="NAME", help="duckdb (default), spark, or sc://host:port")
    add_query(answer)
    _add_budget(answer)
    _add_output(answer)
