"""`hush answer --top` with listed keys: the largest groups, without numbers of all groups."""

from __future__ import annotations

import argparse
from typing import Any

from hush.errors import InvalidParameter
from hush.releasing.progress import working

__all__ = ["of_largest", "planned_top", "top_facts"]


def of_largest(asked: Any) -> bool:
    """Is it a query or a plan for the largest of listed groups?"""
    from hush.tables import TopPlan, TopQuery

    return isinstance(asked, TopPlan | TopQuery)


def planned_top(options: argparse.Namespace, query: Any, delta: float, streamed: bool) -> Any:
    """The plan for the largest of listed groups; options that it cannot use are refused."""
    given = [options.total, options.share, options.ratio, options.weight, options.long, options.unlimited]
    if options.times > 1 or options.plot is not None or streamed or options.other or any(given):
        raise InvalidParameter(
            "--top with listed keys takes no --times, --total, --share, --ratio, --weight, --long, --unlimited, "
            "--other or --plot; leave them out."
        )
    with working("finding the least noise"):
        return query.plan(options.epsilon, delta, family=options.family)


def top_facts(plan: Any) -> dict[str, Any]:
    """The facts of a plan for the largest groups, for JSON."""
    return {"way": plan.way, "deviation": plan.deviation, "published": plan.published}
