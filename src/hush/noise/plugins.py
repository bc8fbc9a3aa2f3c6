"""Noise families and engines of other packages, found by their entry points.

A package that declares an entry point of the group `hush.families` or `hush.engines` need not be imported by hand. hush
looks for an entry point only when somebody names a family or an engine that is not known. So an installed package never
changes a ranking by itself, and programs that name no plug-in do not search for any.
"""

from __future__ import annotations

from typing import Any

from hush.errors import Unsupported, shown

__all__ = ["ENGINES", "FAMILIES", "names", "plugin"]

FAMILIES = "hush.families"
ENGINES = "hush.engines"


def names(group: str) -> dict[str, str]:
    """Return the entry points of a group that are installed: the name of each, and its package with the version."""
    from importlib.metadata import entry_points

    found = {}
    for point in entry_points(group=group):
        package = "" if point.dist is None else f"{point.dist.name} {point.dist.version}"
        found[point.name] = package or point.value
    return found


def plugin(group: str, name: str) -> Any | None:
    """Return the object that an entry point of this name refers to; None if there is no such entry point."""
    from importlib.metadata import entry_points

    found = list(entry_points(group=group, name=name))
    if not found:
        return None
    if len({point.value for point in found}) > 1:
        places = ", ".join(sorted(point.value for point in found))
        raise Unsupported(
            f"several installed packages declare {shown(name)} in {group}: {places}; uninstall all but one."
        )
    try:
        return found[0].load()
    except Exception as error:  # the code of a stranger may raise anything
        raise Unsupported(
            f"the plug-in {found[0].value} for {shown(name)} cannot be imported ({type(error).__name__}: {error})."
        ) from error
