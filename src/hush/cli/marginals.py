"""`hush marginals`: private contingency tables that agree with each other, and synthetic rows that follow them."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from hush.cli.ledger import listed_in_json, opened
from hush.cli.output_options import write_table
from hush.cli.paid_output import add_overwrite, check_output, paid_output
from hush.cli.policy_options import opened_table
from hush.cli.query_options import add_rows, add_table, in_block
from hush.cli.row_options import keys_of, rows_of
from hush.cli.text import Command, add_budget, delta_of, listed, number, table
from hush.errors import InvalidParameter, must_be_level, shown
from hush.ledger.series import showing
from hush.releasing.progress import working

__all__ = ["register"]

_EXAMPLES = """examples:
  hush sample visits --out visits.parquet
  hush marginals visits.parquet --unit patient_id --columns ward,sex --keys ward=cardiology,surgery --keys sex=F,M \\
      --order 2 --epsilon 1 --delta 1e-6
  hush marginals visits.parquet --unit patient_id --columns ward,sex,band --keys ... --order 1,2 --weights tables \\
      --let "band=CASE WHEN age < 18 THEN 'young' ELSE 'old' END" --epsilon 1 --delta 1e-6 --synthesise 1000 \\
      --out rows.csv --ledger visits.ledger

--keys lists the public values of each column. Rows with other values are left out.
--plan shows the expected error and spends nothing.
--synthesise N writes N made-up rows that follow the released tables. They are made from the released numbers alone, so
they cost no further privacy. The report says which tables the rows keep, and how far each is from the released one.
--weights tables is the better choice for synthetic rows: it does not favour the tables with many cells."""
_ENDINGS = (".csv", ".parquet", ".json")


def _asked(options: argparse.Namespace) -> Any:
    """The workload that the options describe."""
    found = rows_of(options, in_block(options, opened_table(options)))
    names = listed(options.columns, "columns")
    options.keys = [f"{names[0]}={text}" if len(names) == 1 and "=" not in text else text for text in options.keys]
    keys = keys_of(options, found, names, "--columns")
    if keys == "private":
        raise InvalidParameter("--keys must list the values of each column; private keys have no contingency tables.")
    given = {names[0]: keys} if isinstance(keys, list) else keys
    standard = "1,2" if len(names) > 1 else "1"
    orders = [_order(text) for text in listed(options.order or standard, "order")]
    return found.marginals(
        names, order=orders, keys=given, rows_per_unit=options.rows_per_unit, weights=options.weights
    )


def _order(text: str) -> int:
    if not text.isdecimal():
        raise InvalidParameter(f"--order needs whole numbers such as 2 or 1,2, got {shown(text)}.")
    return int(text)


def _check(options: argparse.Namespace) -> None:
    """Reject what cannot be written, before anything is spent."""
    if options.synthesise is not None and options.synthesise < 0:
        raise InvalidParameter(f"--synthesise needs a number of rows, got {options.synthesise}.")
    if options.synthesise is not None and not options.out:
        raise InvalidParameter("--synthesise writes rows to a file; add --out rows.csv or --out rows.parquet.")
    if options.out and Path(options.out).suffix not in _ENDINGS:
        raise InvalidParameter(f"--out must end in {', '.join(_ENDINGS)}, got {shown(options.out)}.")
    must_be_level(options.level)
    check_output(options)


def _marginals(options: argparse.Namespace) -> None:
    delta = delta_of(options)
    _check(options)
    with working("finding the least noise"):
        plan = _asked(options).plan(options.epsilon, delta)
    if options.plan:
        found = {"rmse": plan.rmse, "noise": repr(plan.noise), "why": plan.why} | listed_in_json(plan)
        print(json.dumps(found, indent=2) if options.json else plan)
        return
    ledger = opened(options.ledger) if options.ledger else None
    if ledger is None:
        print("hush: no ledger: nothing keeps count of what is spent; see `hush ledger new --help`.", file=sys.stderr)
    with showing():
        try:
            with working():
                answer = plan.answer(ledger=ledger, label=options.label)
        finally:
            if ledger is not None:
                ledger.close()
        with paid_output(answer.receipt):
            _show(options, answer)


def _show(options: argparse.Namespace, answer: Any) -> None:
    """Write the rows or the cells to the file, and print the rest."""
    document: dict[str, Any] = {"receipt": dict(answer.receipt)}
    cells = answer.to_long_arrow(level=options.level)
    held = document | {"cells": cells.to_pylist()}
    text = table(cells.to_pylist(), {name: name for name in cells.column_names}, left=len(cells.column_names) - 3)
    try:
        if options.synthesise is not None:
            with working("fitting a model to the released tables"):
                rows = answer.synthesise(options.synthesise)
            write_table(options.out, rows.to_arrow())
            report = rows.report()
            held = document | {"file": options.out, "rows": len(rows), "report": report.as_dicts()}
            text = f"{len(rows)} rows written to {options.out}\n{report}"
        elif options.out:
            write_table(options.out, cells)
    finally:  # what was paid for is printed where the file cannot be written
        print(json.dumps(held, default=str, indent=2) if options.json else f"{text}\n{answer.receipt.guarantee}")


def register(command: Command) -> None:
    """Add the command."""
    made = command(
        "marginals", _marginals, "publish contingency tables that agree with each other, or rows like them", _EXAMPLES
    )
    made.add_argument("source", nargs="?", help="a table, as for `hush answer`; left out with --policy")
    add_table(made.add_argument_group("table", "example: --unit patient_id"))
    add_rows(made.add_argument_group("rows", 'example: --where "age >= 18"'))
    asked = made.add_argument_group("tables", "example: --columns ward,sex --keys ward=a,b --keys sex=F,M --order 2")
    asked.add_argument("--columns", required=True, metavar="COLUMNS", help="the columns of all tables, a comma list")
    text = "the public values of a column: column=list (repeatable)"
    asked.add_argument("--keys", action="append", default=[], metavar="LIST", help=text)
    text = "all tables of so many columns, such as 2 or 1,2 (default 1,2)"
    asked.add_argument("--order", default=None, metavar="K", help=text)
    text = "which error is the least: of all cells (default), of the mean table, or of the worst cell"
    asked.add_argument("--weights", choices=("cells", "tables", "worst"), default="cells", help=text)
    text = "how many rows of one person count (default 1)"
    asked.add_argument("--rows-per-unit", type=int, metavar="N", help=text)
    budget = made.add_argument_group("noise", "example: --epsilon 1 --delta 1e-6")
    add_budget(budget)
    budget.add_argument("--ledger", metavar="FILE", help="charge this ledger (see `hush ledger new`)")
    budget.add_argument("--label", default="", metavar="TEXT", help="the label of the ledger's entry")
    output = made.add_argument_group("output", "example: --synthesise 1000 --out rows.csv")
    output.add_argument("--plan", action="store_true", help="show the expected error; nothing is spent")
    output.add_argument("--synthesise", type=int, metavar="N", help="write N synthetic rows to --out")
    output.add_argument("--out", metavar="FILE", help="a .csv, .parquet or .json file: all cells, or the rows")
    add_overwrite(output)
    output.add_argument("--level", type=number, default=0.95, metavar="L", help="of the intervals (default 0.95)")
