"""`hush sql`: a SELECT over a table of a policy, answered privately."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from hush.cli.answer import add_intervals, add_keys_for, add_series, written
from hush.cli.ledger import opened
from hush.cli.output_options import add_view, must_be_format
from hush.cli.paid_output import add_overwrite, check_output
from hush.cli.text import Command, number
from hush.errors import InvalidParameter
from hush.ledger.series import showing
from hush.releasing.progress import working

__all__ = ["register"]

_EXAMPLES = """examples:
  hush sql "SELECT ward, COUNT(DISTINCT patient_id) AS people, AVG(stay_days) FROM visits WHERE age >= 18
            GROUP BY ward" --policy hush.toml --epsilon 1 --delta 1e-6
  hush sql "SELECT DATE_TRUNC('month', day) AS month, MEDIAN(cost) FROM visits GROUP BY month ORDER BY month" \\
      --policy hush.toml --epsilon 1 --delta 1e-6 --out months.csv
  hush sql "SELECT 100 * COUNTIF(stay_days > 7) / COUNT(*) AS long_stays FROM visits" --policy hush.toml \\
      --epsilon 0.5 --pure
  hush sql "EXPLAIN SELECT AVG(cost) FROM visits" --policy hush.toml --epsilon 1 --delta 1e-6
  hush sql question.sql --policy hush.toml --epsilon 1 --delta 1e-6 --dialect bigquery

The policy declares the tables, the person that each row belongs to, and the bounds of the columns; see
`hush policy --help`.
EXPLAIN SELECT shows the noise and the errors to expect, and spends nothing.
A statement that cannot be private is refused with the nearest one that can.
epsilon and delta may also stand in the statement:
SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon = 1, delta = 1e-6) ..."""


def _asked(options: argparse.Namespace) -> Any:
    """The statement of the command line."""
    from hush.tables.policy import Policy
    from hush.tables.sql import statement

    text = options.statement
    if text.endswith(".sql") and "\n" not in text and " " not in text.strip():
        text = Path(text).read_text()
    return statement(text, Policy.read(options.policy), options.dialect)


def _sql(options: argparse.Namespace) -> None:
    if options.pure and options.delta:
        raise InvalidParameter("--pure means delta = 0; leave --delta out.")
    asked, delta = _asked(options), 0.0 if options.pure else options.delta
    _must_have_budget(asked.parsed.options, options.epsilon, delta)
    must_be_format(options.out)
    hint = "" if options.family else " (--family gaussian is quick)"
    with working(f"finding the least noise{hint}"):
        plan = asked.plan(options.epsilon, delta, **_given(options, asked))
    if asked.parsed.explain:
        _explained(options, plan)
        return
    _answered(options, plan)


def _given(options: argparse.Namespace, asked: Any) -> dict[str, Any]:
    """The options of the plan. Several tables at once (ROLLUP, CUBE, GROUPING SETS) have noise of their own."""
    if not asked.several:
        given = {"family": options.family, "limits_share": options.limits_share, "keys_for": options.keys_for}
        return given | {"times": options.times, "series": options.series}
    if options.family:
        raise InvalidParameter("ROLLUP, CUBE and GROUPING SETS choose their own noise; leave --family out.")
    if options.times != 1 or options.series is not None:
        raise InvalidParameter("ROLLUP, CUBE and GROUPING SETS are planned for one release; leave --times out.")
    return {}


def _must_have_budget(stated: Any, epsilon: float | None, delta: float | None) -> None:
    """Refuse a call in which neither an option nor the statement gives epsilon and delta."""
    if epsilon is None and "epsilon" not in stated:
        raise InvalidParameter("--epsilon is needed, for example --epsilon 1.")
    if delta is None and "delta" not in stated:
        raise InvalidParameter("--delta is needed (for example --delta 1e-6), or --pure for delta = 0.")


def _explained(options: argparse.Namespace, plan: Any) -> None:
    if options.json:
        print(json.dumps({"errors": plan.errors(), "what_if": plan.plan.what_if(), "why": plan.plan.why}, indent=2))
    else:
        print(plan)


def _answered(options: argparse.Namespace, plan: Any) -> None:
    check_output(options)
    ledger = opened(options.ledger) if options.ledger else None
    with showing():
        try:
            with working() as show:
                given = {"level": options.level, "together": options.together, "release": options.release}
                made = plan.answer(ledger=ledger, label=options.label, progress=show, **given)
        finally:
            if ledger is not None:
                ledger.close()
        if made.receipt["ledger"] is None:
            words = "no ledger: nothing keeps count of what is spent; see `hush ledger new --help`."
            print(f"hush: {words}", file=sys.stderr)
        written(options, made)


def register(command: Command) -> None:
    """Add the command."""
    sql = command("sql", _sql, "answer a SELECT over a table of a policy, with error bars and a receipt", _EXAMPLES)
    sql.add_argument("statement", help="SELECT ..., EXPLAIN SELECT ..., or a file whose name ends in .sql")
    sql.add_argument("--policy", required=True, metavar="FILE", help="the policy, such as hush.toml")
    sql.add_argument(
        "--dialect", default="duckdb", metavar="NAME", help="duckdb (default), postgres, spark, bigquery, snowflake"
    )
    budget = sql.add_argument_group("privacy budget")
    budget.add_argument("--epsilon", type=number, metavar="E", help="the privacy loss that is allowed")
    budget.add_argument("--delta", type=number, metavar="D", help="the extra probability, for example 1e-6")
    budget.add_argument("--pure", action="store_true", help="delta = 0")
    budget.add_argument("--ledger", metavar="FILE", help="charge this ledger, where the policy names none")
    label = "the label of the ledger's entry (default: the statement)"
    budget.add_argument("--label", default="", metavar="TEXT", help=label)
    add_series(budget)
    share = "share of the budget for measuring how much the bounds leave out (default 0.03; 0: off)"
    budget.add_argument("--limits-share", type=number, default=0.03, metavar="S", help=share)
    add_keys_for(budget)
    budget.add_argument("--family", metavar="NAME", help="one noise family instead of the best; gaussian is quick")
    output = sql.add_argument_group("output")
    text = "write the answer to a .csv, .parquet, .xlsx, .md, .tex, .html or .json file"
    output.add_argument("--out", metavar="FILE", help=text)
    add_overwrite(output)
    add_view(output)
    add_intervals(output)
