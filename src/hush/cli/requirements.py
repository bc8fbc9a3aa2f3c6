"""The packages that hush declares, and whether they are installed in a version that it accepts."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator
from dataclasses import dataclass

__all__ = ["Requirement", "declared"]

#: Extras for the developers of hush, and the union of the others.
_NOT_FOR_USERS = frozenset({"all", "dev", "docs"})


@dataclass(frozen=True)
class Requirement:
    """A package that hush needs, or that one of its extras needs (`extra` is "" for hush itself)."""

    extra: str
    name: str
    #: The accepted versions, such as ">=1.26".
    wanted: str

    @property
    def installed(self) -> str | None:
        """The version that is installed; None if there is none."""
        try:
            return importlib.metadata.version(self.name)
        except importlib.metadata.PackageNotFoundError:
            return None

    def accepts(self, version: str) -> bool:
        """Whether a version is among the accepted ones."""
        from packaging.specifiers import SpecifierSet

        return SpecifierSet(self.wanted).contains(version, prereleases=True)


def declared() -> Iterator[Requirement]:
    """The requirements in the metadata of the installed hush: its own first, then those of each extra."""
    from packaging.requirements import Requirement as Declared

    found = [one for line in importlib.metadata.requires("hush") or () if (one := Declared(line)).name != "hush"]
    extras = importlib.metadata.metadata("hush").get_all("Provides-Extra") or ()
    for extra in ("", *(name for name in extras if name not in _NOT_FOR_USERS)):
        chosen: dict[Requirement, None] = {}  # an extra may name a package twice, the second time with a part of it
        for one in found:
            needed = one.marker is None or one.marker.evaluate({"extra": extra})
            if needed and (not extra or (one.marker is not None and not one.marker.evaluate({"extra": ""}))):
                chosen[Requirement(extra, one.name, _ordered(str(one.specifier)))] = None
        yield from chosen


def _ordered(wanted: str) -> str:
    """The bounds of a specifier with the lower one first."""
    return ",".join(sorted(filter(None, wanted.split(",")), reverse=True))
