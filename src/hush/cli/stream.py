"""`hush stream new|add|show`: counts that are published period by period, with state in a ledger."""

from __future__ import annotations

import argparse
import shlex
from typing import TYPE_CHECKING, Any

import hush
from hush.cli.ledger import listed_in_json, opened
from hush.cli.paid_output import paid_output
from hush.cli.text import Command, add_budget, delta_of, emit, finite, number, subcommands, table
from hush.cli.text_file_options import add_reading, reading_of_options
from hush.errors import InvalidParameter, shown

if TYPE_CHECKING:  # the packages of streams are loaded when a command needs them
    from hush.ledger import Ledger
    from hush.stream import RunningStream, StreamAnswer, StreamPlan

__all__ = ["register"]

_LAST = 10  # periods that are shown without --all


def _running(ledger: Ledger, name: str, secret: str | None = None) -> RunningStream:
    from hush.stream import opened as opened_stream

    return opened_stream(ledger, name, secret=secret)


def _asked(options: argparse.Namespace) -> StreamPlan:
    if (options.horizon is None) == (not options.endless):
        raise InvalidParameter("--horizon N is needed, the number of periods; or --endless if it is not known.")
    question = int(options.question) if options.question.isdecimal() else options.question
    return hush.stream(
        horizon=options.horizon,
        question=question,
        appears=options.appears,
        apart=options.apart,
        corrections=options.corrections,
    ).plan(options.epsilon, delta_of(options))


def _about(plan: StreamPlan) -> dict[str, Any]:
    candidates = [{"name": c.name, "error": finite(c.error), "reason": c.reason} for c in plan.candidates]
    about = {"stream": repr(plan.stream), "strategy": plan.strategy.name, "mse": plan.mse, "rmse": plan.rmse}
    return about | {"epsilon": plan.budget.epsilon, "delta": plan.budget.delta, "candidates": candidates}


def _plan_text(plan: StreamPlan) -> str:
    rows = [{"name": c.name, "error": c.error if not c.reason else None, "why": c.reason} for c in plan.candidates]
    columns = {"name": "strategy", "error": "mean squared error", "why": ""}
    return f"{shown(plan.stream)}\n{table(rows, columns, left=1)}"


def _new(options: argparse.Namespace) -> None:
    plan = _asked(options)
    if options.plan:
        emit(options, {"planned": _about(plan)} | listed_in_json(plan), f"{_plan_text(plan)}\nnothing was spent")
        return
    with opened(options.file) as ledger:
        running = plan.start(
            ledger=ledger,
            name=options.name,
            label=options.label,
            account=options.account,
            population=options.population,
            secret=options.secret,
        )
        entry = running.answer().entry["number"]
    text = f"{options.name}: {shown(plan.stream)}\n{plan.strategy.name}, root mean squared error {plan.rmse:.4g}"
    text += f"\ncharged once: entry {entry} of {options.file}"
    emit(options, {"name": options.name, "entry": entry} | _about(plan), text)


def _add(options: argparse.Namespace) -> None:
    from_table = (options.source, options.unit, options.date, options.on)
    if (options.count is None) == (options.source is None):
        raise InvalidParameter("give the count of the period, or --from FILE with the table of its people.")
    if options.until is not None and options.on is None:
        raise InvalidParameter("--until needs --on, the first day of the period; for example --on 2026-01-01.")
    if options.source is not None and None in from_table:
        raise InvalidParameter(
            "--from needs --unit, --date and --on; for example --unit id --date day --on 2026-01-31."
        )
    with opened(options.file) as ledger:
        running = _running(ledger, options.name, options.secret)
        if options.source is None:
            answer = running.add(options.count, period=_period(options))
        else:
            answer = running.add(people=_people(options), period=_period(options))
    last = answer.latest
    text = f"period {answer.period}: {last.value:.1f}, 95 % interval {last.low:.1f} to {last.high:.1f}"
    text += f" ({answer.plan.stream.asked})"
    document = {"name": options.name, "period": answer.period, "value": last.value, "low": last.low, "high": last.high}
    with paid_output({}, again=shlex.join(["hush", "stream", "show", options.file, options.name])):
        emit(options, document, text)


def _period(options: argparse.Namespace) -> int | str | None:
    """The number or the name of the period. Days name a period too, so that a day is never added twice."""
    if options.period is not None:
        return int(options.period) if options.period.isdecimal() else str(options.period)
    return options.on if options.until is None else f"{options.on} to {options.until}"


def _people(options: argparse.Namespace) -> list[Any]:
    from hush.stream.people import people_between

    rows = {"first": options.on, "until": options.until, "table": options.table}
    rows |= reading_of_options(options, options.source)
    return people_between(options.source, unit=options.unit, column=options.date, **rows)


def _show(options: argparse.Namespace) -> None:
    with opened(options.file) as ledger:
        if options.name is None:
            from hush.ledger.streams import Streams

            every = [_running(ledger, name) for name in Streams(ledger).names()]
            _list(options, every)
            return
        answer = _running(ledger, options.name).answer()
    rows = _rows(answer, options.level, every=options.all or options.json)
    document = {"name": options.name, "periods": answer.period, "rows": rows} | _about(answer.plan)
    lines = [
        f"{options.name}: {shown(answer.plan.stream)}",
        f"{answer.period} periods published, {answer.plan.strategy.name}",
    ]
    if options.window is not None:
        found = answer.window(*_ends(options.window), level=options.level)
        document["window"] = found._asdict()
        lines.append(f"periods {options.window}: {found.value:.1f}, interval {found.low:.1f} to {found.high:.1f}")
    elif rows:
        share = f"{100.0 * options.level:g} %"
        columns = {
            "period": "period",
            "name": "name",
            "published": "published",
            "total": "total now",
            "low": f"low ({share})",
        }
        lines.append(table(rows, columns | {"high": "high"}, left=2))
    emit(options, document, "\n".join(lines))


def _rows(answer: StreamAnswer, level: float, *, every: bool) -> list[dict[str, Any]]:
    """The answers as they were published, and the running totals from everything known now, with intervals."""
    first = 1 if every else max(1, answer.period - _LAST + 1)
    rows = []
    for t in range(first, answer.period + 1):
        now, then = answer.window(1, t, level=level), answer.at(t)
        row = {
            "period": t,
            "published": float(then.estimates[max(0, t - answer.plan.stream.window) :].sum()),
            "total": now.value,
            "low": now.low,
            "high": now.high,
        }
        rows.append({name: round(value, 2) for name, value in row.items()} | {"name": answer.labels[t - 1]})
    return rows


def _list(options: argparse.Namespace, every: list[RunningStream]) -> None:
    rows = [
        {"name": one.name, "what": repr(one.plan.stream), "periods": one.periods, "strategy": one.plan.strategy.name}
        for one in every
    ]
    columns = {"name": "stream", "what": "question", "strategy": "strategy", "periods": "periods published"}
    text = table(rows, columns, left=3) if rows else f"{options.file}: no streams"
    emit(options, {"file": options.file, "streams": rows}, text)


def _ends(text: str) -> tuple[int, int]:
    first, sign, last = text.partition(":")
    if not (sign and first.isdecimal() and last.isdecimal()):
        raise InvalidParameter(f"--window needs first:last, such as 8:14, got {shown(text)}.")
    return int(first), int(last)


_EXAMPLES = {
    "stream": """examples:
  hush stream new budget.ledger visits --horizon 365 --epsilon 1 --delta 1e-6
  hush stream add budget.ledger visits 412
  hush stream show budget.ledger visits""",
    "new": """examples:
  hush stream new budget.ledger visits --horizon 365 --epsilon 1 --delta 1e-6 --plan      nothing is spent
  hush stream new budget.ledger visits --horizon 365 --epsilon 1 --delta 1e-6
  hush stream new budget.ledger sales --horizon 52 --appears 12 --apart 4 --epsilon 1 --delta 1e-6
  hush stream new budget.ledger beds --horizon 365 --question 7 --epsilon 1 --pure""",
    "add": """examples:
  hush stream add budget.ledger visits 412
  hush stream add budget.ledger visits 412 --period 2026-01-31     a second run for this day changes nothing
  hush stream add budget.ledger visits --from visits.duckdb --table visits --unit id --date day --on 2026-01-31""",
    "show": """examples:
  hush stream show budget.ledger                         all streams of the ledger
  hush stream show budget.ledger visits
  hush stream show budget.ledger visits --window 8:14    the total of the periods 8 to 14""",
}


def _add_new(new: argparse.ArgumentParser) -> None:
    new.add_argument("name", metavar="NAME", help="the name of the stream: letters, digits, - and _")
    new.add_argument("--horizon", type=int, metavar="N", help="the number of periods")
    new.add_argument("--endless", action="store_true", help="the number of periods is not known")
    asked = "totals (default), counts, or the number of periods of a window; the plan minimises its error"
    new.add_argument("--question", default="totals", metavar="Q", help=asked)
    new.add_argument("--appears", type=int, default=1, metavar="K", help="a person is in at most K periods (default 1)")
    apart = "and two of them are at least B periods apart (default 1)"
    new.add_argument("--apart", type=int, default=1, metavar="B", help=apart)
    lower = "a person may also lower a count by 1 (a late correction)"
    new.add_argument("--corrections", action="store_true", help=lower)
    add_budget(new)
    new.add_argument("--plan", action="store_true", help="show the expected errors; nothing is spent")
    new.add_argument("--label", default="", metavar="TEXT", help="the label of the ledger's entry")
    new.add_argument("--account", default="", metavar="NAME", help="the sub-account of the ledger to charge")
    people = "the name of the people that are counted; needed if the ledger protects the people of tables"
    new.add_argument("--population", metavar="NAME", help=people)
    new.add_argument("--secret", metavar="PATH", help="the secret file (default: beside the ledger)")


def _add_add(add: argparse.ArgumentParser) -> None:
    add.add_argument("name", metavar="NAME", help="the name of the stream")
    add.add_argument("count", nargs="?", type=int, metavar="COUNT", help="the exact count of the period")
    which = "the number of the period, or a name such as 2026-01-31 (default: the next one, or the days of --on)"
    add.add_argument("--period", metavar="T", help=which)
    add.add_argument("--from", dest="source", metavar="TABLE", help="a file with the people of the period")
    add.add_argument("--table", metavar="NAME", help="the table, if the file is a database")
    add.add_argument("--unit", metavar="COLUMN", help="the column that identifies a person")
    add.add_argument("--date", metavar="COLUMN", help="the column of dates, or of whole numbers of periods")
    add_reading(add)
    add.add_argument("--on", metavar="DAY", help="the day of the period, or its first day")
    add.add_argument("--until", metavar="DAY", help="the first day after the period, if it has several days")
    add.add_argument("--secret", metavar="PATH", help="the secret file (default: beside the ledger)")


def register(command: Command) -> None:
    """Add `hush stream` and its three commands."""
    stream = command("stream", None, "publish counts period by period, charged once", _EXAMPLES["stream"])
    sub = subcommands(stream, "stream_command", "new|add|show", _EXAMPLES)
    _add_new(sub("new", _new, "plan a stream, charge a ledger once, and start it"))
    _add_add(sub("add", _add, "measure one more period and print the answer"))
    show = sub("show", _show, "show what a stream has published")
    show.add_argument("name", nargs="?", metavar="NAME", help="the name of the stream (default: list all)")
    show.add_argument("--all", action="store_true", help="show every period")
    show.add_argument("--window", metavar="A:B", help="the total of the periods A to B")
    show.add_argument("--level", type=number, default=0.95, metavar="L", help="of the intervals (default 0.95)")
