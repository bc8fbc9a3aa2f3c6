"""The plan of `hush answer`: what the options ask for, and its output for `--plan`."""

from __future__ import annotations

import argparse
import json
from typing import Any

from hush.cli.ledger import listed_in_json
from hush.cli.query_options import query_of
from hush.cli.text import delta_of, number
from hush.cli.top_options import of_largest, planned_top, top_facts
from hush.errors import InvalidParameter, shown
from hush.releasing.progress import working

__all__ = ["planned", "show_plan", "streamed"]


def planned(options: argparse.Namespace) -> Any:
    """The plan of the query: its noise is calibrated, nothing is read or spent."""
    delta = delta_of(options)
    if options.rows is not None and not options.plan:
        raise InvalidParameter("--rows is the group size for the errors of --plan; add --plan, or leave --rows out.")
    query = query_of(options)
    if options.which_groups:
        return _planned_keys(options, query, delta)
    if of_largest(query):
        return planned_top(options, query, delta, streamed(options))
    hint = "" if options.family else " (--family gaussian is quick)"
    given = {"family": options.family, "limits_share": options.limits_share, "weights": _weights(options)}
    given |= {"times": options.times, "series": options.series, "other": options.other}
    if options.times > 1 and not options.ledger and not options.plan:
        raise InvalidParameter("--times needs --ledger, which records the releases that were made.")
    given["keys_for"] = options.keys_for
    with working(f"finding the least noise{hint}"):
        return query.plan(options.epsilon, delta, **given)


def _planned_keys(options: argparse.Namespace, query: Any, delta: float) -> Any:
    """The plan of --which-groups. Options about numbers have no meaning there."""
    given = [name for name in ("family", "weight", "series") if getattr(options, name)]
    if given or options.times > 1:
        raise InvalidParameter(f"--which-groups does not go with --{given[0] if given else 'times'}; leave it out.")
    with working("finding noise and threshold"):
        return query.plan(options.epsilon, delta)


def _weights(options: argparse.Namespace) -> dict[str, float] | None:
    """The weights of --weight, by aggregate."""
    found: dict[str, float] = {}
    for text in options.weight:
        name, sign, value = text.rpartition("=")
        if not sign or not name:
            raise InvalidParameter(f"--weight needs name=number, such as units=2, got {shown(text)}.")
        try:
            found[name] = number(value)
        except argparse.ArgumentTypeError as failure:
            raise InvalidParameter(f"--weight {text}: {failure}.") from failure
    return found or None


def streamed(options: argparse.Namespace) -> bool:
    """Whether Spark's executors write the file, so that the answer need not fit into memory."""
    return options.engine != "duckdb" and (options.out or "").endswith(".parquet")


def show_plan(options: argparse.Namespace, plan: Any) -> None:
    rows = 1000 if options.rows is None else options.rows
    if options.json:
        about = top_facts(plan) if of_largest(plan) else {"errors": plan.errors(rows), "what_if": plan.what_if()}
        print(json.dumps(about | {"why": plan.why} | listed_in_json(plan), indent=2))
    else:
        print(plan.described(rows=rows))
