"""`hush answer`: private statistics of a table."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from hush.cli.answer_plan import planned, show_plan
from hush.cli.answer_plan import streamed as is_streamed
from hush.cli.ledger import opened
from hush.cli.output_options import add_shape, check_shape, document, in_words, must_be_format, saved, shaped
from hush.cli.paid_output import add_overwrite, check_output, paid_output
from hush.cli.plot import add_plot, check_plot, draw_plot
from hush.cli.query_options import add_query
from hush.cli.text import Command, add_budget, number
from hush.cli.top_options import of_largest
from hush.errors import HushError, InvalidParameter
from hush.ledger import Ledger
from hush.ledger.series import showing
from hush.releasing.progress import working

__all__ = ["add_intervals", "add_keys_for", "add_out", "add_series", "register", "written"]

_EXAMPLES = """examples:
  hush sample visits --out visits.parquet
  hush answer visits.parquet --unit patient_id --by ward --keys private --groups-per-unit 8 --count \\
      --mean stay_days:0:30 --epsilon 1 --delta 1e-6
  hush answer visits.parquet --unit patient_id --count-units --sum cost:0:20000 --where "age>=65" --epsilon 0.5 --pure
  hush answer visits.parquet --unit patient_id --quantile cost:0.5:0:20000 --epsilon 1 --delta 1e-6 --plan
  hush answer visits.parquet --unit patient_id --let "month=date_trunc('month', day)" --by ward,month --keys private \\
      --groups-per-unit 8 --count-units --share units --total units --non-negative --epsilon 1 --delta 1e-6 --all
  hush answer visits.parquet --unit patient_id --by ward --keys "surgery,burns,cardiology,maternity" --top 2 \\
      --epsilon 1 --pure
  hush ledger new visits.ledger --epsilon 3 --delta 1e-5
  hush answer visits.parquet ... --ledger visits.ledger --out answer.parquet
  hush answer 2025-01.parquet ... --population hospital --ledger year.ledger --times 12 --release 1
  hush answer visits.parquet --unit patient_id --by ward,year --keys private --groups-per-unit 8 --which-groups \\
      --epsilon 1 --delta 1e-6
  hush answer --policy hush.toml --table visits --by ward --count --mean stay_days --epsilon 1 --delta 1e-6

--plan shows the expected errors and spends nothing.

You declare the bounds; do not take them from the data:
  low and high of a value                     values outside are clipped
  the groups that one person contributes to   --groups-per-unit
  the rows of one person in one group         default 1; --count 3, or a fourth part: --mean stay_days:0:30:2
'private' in the place of such a number chooses it with a part of the budget: --groups-per-unit private --count private.
With the default, --count counts each person once in a group, whatever the number of rows.
With --policy these facts are declared there: leave them out, or state narrower ones.

--where takes a comparison or a condition in SQL and can be repeated: --where "age>=18" --where "ward IN ('a', 'b')".
--let adds a column that is computed from one row: --let "band=CASE WHEN age < 18 THEN 'young' ELSE 'old' END".
--keys is a comma list; write a key that contains a comma in double quotes: --keys 'maths,"art, music"'.
For several columns: --by ward,year --keys ward=surgery,burns --keys year=2024,2025 publishes all combinations.
The bins of --histogram age:0,50,100 are [0, 50) and [50, 100]; --histogram ward:surgery,burns counts categories,
and --histogram pclass:categories:1,2,3 categories of numbers.
--quantile age:0.25,0.5,0.75:0:100 measures once and answers age_q25, age_q50 and age_q75.

The ending of --out chooses the form: .csv, .parquet, .xlsx, .md, .tex, .html or .json.
--total, --share and --ratio are made from the released numbers, with intervals, and cost no privacy.

The search for the best noise takes seconds; --family gaussian is the quick choice."""


def add_keys_for(budget: Any) -> None:
    """Add the option that says what noise and threshold of private keys are chosen for."""
    text = "with private keys: the least group that is shown (default), the least variance, or the least threshold"
    budget.add_argument("--keys-for", choices=("shown", "variance", "threshold"), default="shown", help=text)


def add_series(budget: Any) -> None:
    """Add the options of several releases that are planned together."""
    several = (
        "the budget is for N releases of this question, such as one for each month; each is charged when it is made"
    )
    budget.add_argument("--times", type=int, default=1, metavar="N", help=several)
    which = (
        "with --times: the number of this release (default: the next); one that was made is shown again, for nothing"
    )
    budget.add_argument("--release", type=int, metavar="K", help=which)
    named = "with --times: a name for the releases, so that --where may differ between them"
    budget.add_argument("--series", metavar="NAME", help=named)


def _answer(options: argparse.Namespace) -> None:
    plan = planned(options)
    if options.plan:
        show_plan(options, plan)
        return
    streamed = is_streamed(options)
    _check_files(options, streamed)
    if not of_largest(plan):
        check_shape(options, plan, streamed)
    ledger = opened(options.ledger) if options.ledger else None
    if ledger is None:
        print("hush: no ledger: nothing keeps count of what is spent; see `hush ledger new --help`.", file=sys.stderr)
    with showing():
        try:
            made = _asked(options, plan, ledger, streamed)
        finally:
            if ledger is not None:
                ledger.close()
        if streamed:
            with paid_output(made):
                _receipt(options, made, f"written to {options.out}")
        else:
            _write(options, made)


def _asked(options: argparse.Namespace, plan: Any, ledger: Ledger | None, streamed: bool) -> Any:
    """The answer; its receipt alone where the engine writes the file."""
    with working() as show:
        intervals = {"level": options.level, "together": options.together}
        given = {"ledger": ledger, "label": options.label, **intervals, "progress": show}
        given |= {"release": options.release, "account": options.account}
        if streamed:
            return plan.write(options.out, **given)
        return plan.answer(**given)


def _check_files(options: argparse.Namespace, streamed: bool) -> None:
    """Reject files that cannot be written, before anything is spent."""
    must_be_format(options.out)
    check_plot(options)
    if options.plot is not None and streamed:
        raise InvalidParameter("--plot needs the answer in memory; leave it out where Spark writes the file.")
    check_output(options, folder=streamed and options.keys == ["private"])


# -- output --------------------------------------------------------------------------------------------------


def _receipt(options: argparse.Namespace, receipt: Any, where: str) -> None:
    """Print the receipt of an answer that is in a file."""
    from hush.tables.answer import summary_of

    if options.json:
        print(json.dumps({"file": options.out, "receipt": dict(receipt)}, default=str, indent=2))
    else:
        print(summary_of(receipt))
    print(where, file=sys.stderr)


def written(options: argparse.Namespace, made: Any) -> None:
    """Write the answer to its file, or print it, as the options ask for it."""
    with paid_output(made.receipt):
        try:
            shown, figures, tables = shaped(options, made)
            where = saved(options.out, shown, figures, tables) if options.out else ""
        except HushError:
            print(made)  # it is paid for
            raise
        _print(options, shown, figures, tables, where)


def _print(options: argparse.Namespace, shown: Any, figures: list[Any], tables: list[Any], where: str) -> None:
    """Print the answer, or the receipt of an answer that is in a file."""
    from hush.tables.answer import ALL_GROUPS

    if options.json:
        print(document(shown, figures, tables))
        print(where, file=sys.stderr) if where else None
    elif where:
        _receipt(options, shown.receipt, where)
    else:
        print(shown.described() if options.all else str(shown).replace(ALL_GROUPS, "--all shows all", 1))
    if not options.json:
        if figures:
            print("", *map(in_words, figures), sep="\n")
        for table in tables:
            print("", table.text(), sep="\n")


def _write(options: argparse.Namespace, made: Any) -> None:
    written(options, made)
    with paid_output(made.receipt):
        draw_plot(
            options, lambda report: report.release_chart(made)
        )  # last: a failed drawing must not lose a paid answer


# -- options -------------------------------------------------------------------------------------------------


def _add_budget(parser: argparse.ArgumentParser) -> None:
    budget = parser.add_argument_group("noise", "example: --epsilon 1 --delta 1e-6 --weight units=2")
    add_budget(budget)
    budget.add_argument("--ledger", metavar="FILE", help="charge this ledger (see `hush ledger new`)")
    budget.add_argument("--label", default="", metavar="TEXT", help="the label of the ledger's entry")
    budget.add_argument("--account", default="", metavar="NAME", help="the sub-account of the ledger to charge")
    add_series(budget)
    budget.add_argument(
        "--limits-share",
        type=number,
        default=0.03,
        metavar="S",
        help="share of the budget for measuring how much the declared bounds leave out (default 0.03; 0: off)",
    )
    add_keys_for(budget)
    text = "make the error of an aggregate that many times smaller, at the cost of the others (repeatable)"
    budget.add_argument("--weight", action="append", default=[], metavar="NAME=W", help=text)
    budget.add_argument(
        "--family", metavar="NAME", help="one noise family instead of the best; gaussian is quick to calibrate"
    )


def _add_output(parser: argparse.ArgumentParser) -> None:
    output = parser.add_argument_group("output", "example: --share units --out answer.xlsx")
    output.add_argument("--plan", action="store_true", help="show the expected errors; nothing is spent")
    output.add_argument(
        "--rows", type=int, metavar="N", help="with --plan: errors for a group of N counted rows (default 1000)"
    )
    add_out(output)
    add_plot(output, "values and intervals")
    add_intervals(output)


def add_out(output: Any) -> None:
    """Add --out, and the options that change the answer after it is released."""
    text = "write the answer to a .csv, .parquet, .xlsx, .md, .tex, .html or .json file"
    output.add_argument("--out", metavar="FILE", help=text)
    add_overwrite(output)
    add_shape(output)


def add_intervals(output: Any) -> None:
    """Add --level and --together."""
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
    source = (
        "a Parquet, CSV, JSON, DuckDB or SQLite file, a folder, a pattern such as '2025-*.parquet', or "
        "postgresql://...; left out with --policy"
    )
    answer.add_argument("source", nargs="?", help=source)
    add_query(answer)
    _add_budget(answer)
    _add_output(answer)
