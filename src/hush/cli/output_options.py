"""The options that decide what is shown and written: totals, shares, long tables, and the file by its ending."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from hush.cli.text import listed
from hush.errors import InvalidParameter, shown
from hush.releasing.destination import part_file, write_text

__all__ = [
    "ENDINGS",
    "add_shape",
    "add_view",
    "check_shape",
    "document",
    "in_words",
    "must_be_format",
    "saved",
    "shaped",
    "write_table",
]

#: The endings of --out, and whether the file holds the receipt.
ENDINGS = {".csv": False, ".parquet": True, ".xlsx": True, ".md": True, ".tex": True, ".html": True, ".json": True}


def add_view(output: Any) -> None:
    """Add --all and --long."""
    output.add_argument("--all", action="store_true", help="print every group; otherwise the first 20")
    output.add_argument("--long", action="store_true", help="one row for each group and number or bin")


def add_shape(output: Any) -> None:
    """Add the options that change the answer after it is released; they cost no privacy."""
    add_view(output)
    text = "show negative counts, and sums that cannot be negative, as 0"
    output.add_argument("--non-negative", action="store_true", help=text)
    text = "widen the intervals of numbers of people, so that they also hold people whom --groups-per-unit leaves out"
    output.add_argument("--unlimited", action="store_true", help=text)
    text = "also print the total over the groups, for example --total units; --total units:year for each year"
    output.add_argument("--total", action="append", default=[], metavar="NAME", help=f"{text} (repeatable)")
    text = "add each group's share of the total, for example --share units (repeatable)"
    output.add_argument("--share", action="append", default=[], metavar="NAME", help=text)
    text = "add one number divided by another one, for example --ratio count/units (repeatable)"
    output.add_argument("--ratio", action="append", default=[], metavar="A/B", help=text)


def must_be_format(out: str | None) -> None:
    """Reject a file whose ending is unknown, or whose library is missing, before anything is spent."""
    if not out:
        return
    ending = Path(out).suffix
    if ending not in ENDINGS:
        known = list(ENDINGS)
        raise InvalidParameter(f"--out must end in {', '.join(known[:-1])} or {known[-1]}, got {shown(out)}.")
    if ending == ".xlsx":
        from hush.tables.publish.workbook import must_have_excel

        must_have_excel()


def check_shape(options: argparse.Namespace, plan: Any, streamed: bool) -> None:
    """Reject totals, shares and ratios of columns that have none, before anything is spent."""
    wanted = [*options.total, *options.share, *options.ratio]
    if streamed and (wanted or options.long or options.non_negative or options.unlimited or options.top):
        raise InvalidParameter(
            "--total, --share, --ratio, --long, --unlimited, --non-negative and --top need the answer in memory; leave "
            "them out where Spark writes the file."
        )
    if options.unlimited and (options.together or options.limits_share == 0.0):
        raise InvalidParameter("--unlimited needs --limits-share above 0, and does not go with --together.")
    from hush.tables.publish.basis import Basis
    from hush.tables.publish.reshape import must_suit_long

    basis = Basis.of(plan.query, plan.spent, options.level)
    for text in options.total:
        name, by = _name_and_keys(text)
        basis.form(name, "total")
        basis.must_be_keys(by, "total")
    for name in options.share:
        basis.share_form(name)
    for text in options.ratio:
        for name in _two(text):
            basis.form(name, "ratio")
    if options.unlimited and not basis.people:
        raise InvalidParameter("--unlimited is for numbers of people; add --count-units.")
    if options.long:
        must_suit_long(basis.keys)


def shaped(options: argparse.Namespace, made: Any) -> tuple[Any, list[Any], list[Any]]:
    """The answer as the options ask for it, the totals as figures, and the totals by key as tables."""
    from hush.tables.publish.reshape import beside

    figures: list[Any] = []
    tables: list[Any] = []
    if not hasattr(options, "total"):  # `hush sql` says these in its statement
        return (made.long() if options.long else made), figures, tables
    for text in options.total:
        name, by = _name_and_keys(text)
        (tables if by else figures).append(made.total(name, by=by or None))
    others = [made.share(name) for name in options.share] + [made.ratio(*_two(text)) for text in options.ratio]
    kept = made.unlimited() if options.unlimited else made
    kept = kept.non_negative() if options.non_negative else kept
    kept = beside(kept, others, ["; ".join([in_words(figure), *figure.notes[1:]]) for figure in figures])
    kept = kept.top(options.top) if _cut(options, kept) else kept
    return (kept.long() if options.long else kept), figures, tables


def _cut(options: argparse.Namespace, made: Any) -> bool:
    """Is the answer of more groups than --top asks for?"""
    return getattr(options, "top", None) is not None and "top" not in made.receipt


def in_words(figure: Any) -> str:
    """A total with its interval: total of units: 412 [400, 424]."""
    return f"{figure.notes[0]}: {repr(figure).partition(' (')[0]}"


def _name_and_keys(text: str) -> tuple[str, list[str]]:
    """NAME, or NAME:KEYS."""
    name, _, by = text.partition(":")
    return name, listed(by, "total") if by else []


def _two(text: str) -> list[str]:
    parts = text.split("/")
    if len(parts) != 2:
        raise InvalidParameter(f"--ratio needs two columns such as count/units, got {shown(text)}.")
    return parts


# -- files ---------------------------------------------------------------------------------------------------


def document(made: Any, figures: list[Any], tables: list[Any]) -> str:
    """The answer, its totals and its receipt as JSON."""
    held: dict[str, Any] = {"answer": made.to_arrow().to_pylist()}
    totals = [{"value": f.value, "low": f.low, "high": f.high, "notes": list(f.notes)} for f in figures]
    if totals:
        held["totals"] = totals
    if tables:
        held["totals_by_key"] = [table.to_arrow().to_pylist() for table in tables]
    return json.dumps(held | {"receipt": dict(made.receipt)}, default=str, indent=2)


def saved(out: str, made: Any, figures: list[Any], tables: list[Any]) -> str:
    """Write the answer to the file; return a sentence about the contents of the file."""
    ending = Path(out).suffix
    if ending in (".parquet", ".csv", ".xlsx"):
        {".parquet": made.to_parquet, ".csv": made.to_csv, ".xlsx": made.to_excel}[ending](out)
    else:
        write_text(out, _text(ending, made, figures, tables))
    kept = 'the receipt is in its metadata, under "hush"' if ending == ".parquet" else "it holds the receipt"
    if not ENDINGS[ending]:
        kept = "a CSV file holds no receipt: keep the lines above"
    what = "row" if made.long_form else "group"
    return f"{len(made)} {what}{'' if len(made) == 1 else 's'} written to {out}; {kept}"


def write_table(out: str, table: Any) -> None:
    """Write an Arrow table by the ending of the file: .csv, .parquet or .json."""
    import pyarrow.csv
    import pyarrow.parquet

    with part_file(out) as part:
        if out.endswith(".json"):
            part.write_text(json.dumps(table.to_pylist(), default=str, indent=1), encoding="utf-8")
        elif out.endswith(".parquet"):
            pyarrow.parquet.write_table(table, part)
        else:
            pyarrow.csv.write_csv(table, str(part))


def _text(ending: str, made: Any, figures: list[Any], tables: list[Any]) -> str:
    """The file as text: the answer, tables of totals by key, and the facts of the receipt."""
    from hush.report.answer_page import answer_page
    from hush.tables.facts import facts_of

    if ending == ".json":
        return document(made, figures, tables)
    if ending == ".html":
        return answer_page(made)
    facts = facts_of(made.receipt)
    if ending == ".tex":
        parts = [table.to_latex() for table in (made, *tables)]
        return "\n".join([*(f"% {name}: {text}" for name, text in facts), *parts])
    parts = [table.to_markdown() for table in (made, *tables)]
    return "\n".join([*parts, *(f"- {name}: {text}" for name, text in facts)]) + "\n"
