"""`hush sample`: a made-up table to try hush on."""

from __future__ import annotations

import argparse
import json

from hush.cli.output_options import write_table
from hush.cli.text import Command
from hush.errors import InvalidParameter, shown
from hush.releasing.progress import working

__all__ = ["register"]

_EXAMPLES = """examples:
  hush sample visits --rows 100000 --out visits.parquet
  hush sample visits --rows 1000 --out visits.csv"""


def _sample(options: argparse.Namespace) -> None:
    from hush.tables.sample_table import sample

    out = options.out or f"{options.name}.parquet"
    if not out.endswith((".csv", ".parquet")):
        raise InvalidParameter(f"--out must end in .parquet or .csv, got {shown(out)}.")
    with working(f"making {options.rows:,} rows") as show:
        table = sample(options.name, options.rows)
        show(f"writing {out}")
        write_table(out, table)
    made = {"file": out, "rows": table.num_rows}
    print(json.dumps(made) if options.json else f"{table.num_rows} made-up {options.name} written to {out}")


def register(command: Command) -> None:
    """Add the command."""
    made = command("sample", _sample, "write a made-up table to try hush on", _EXAMPLES)
    made.add_argument("name", choices=("visits",), help="the name of the table")
    made.add_argument("--rows", type=int, default=100_000, metavar="N", help="number of rows (default 100000)")
    made.add_argument("--out", metavar="FILE", help="a .parquet or .csv file (default visits.parquet)")
