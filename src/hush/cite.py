"""What to cite: BibTeX for the papers that a noise rests on, and for hush itself; the papers are in cite.bib, beside this file."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from hush.calibrate import Plan
from hush.errors import InvalidParameter
from hush.mechanism import Mechanism
from hush.noise.catalogue import EVERY, family
from hush.noise.contract import Law
from hush.noise.discrete import Discrete
from hush.noise.laplace import Laplace
from hush.privacy.subsampling import Subsampled
from hush.version import __version__

__all__ = ["RESTS_ON", "Citation", "cite", "entries"]

#: The papers of each family in the catalogue.
RESTS_ON: dict[str, tuple[str, ...]] = {
    "gaussian": ("zhao2019", "balle2018"),
    "laplace": ("dwork2006",),
    "osgt": ("sadeghi2022",),
    "flipped_huber": ("muthukrishnan2023",),
    "stable": ("zawacki2023",),
    "staircase": ("geng2014", "geng2016"),
    "truncated_laplace": ("geng2020",),
    "exponential_power": ("subbotin1923", "liu2019"),
    "asinh": ("hush",),
    "stepped": ("hush",),
    "discrete": ("canonne2020", "ghosh2012"),
    "skellam": ("agarwal2021",),
    "gamma_difference": ("kotz2001",),
    "polya_difference": ("goryczka2017",),
}


class Citation(str):
    """BibTeX text that also looks like itself at the Python prompt."""

    def __repr__(self) -> str:
        return str(self)


@cache
def entries() -> dict[str, str]:
    """Every entry of cite.bib by its key, after hush's own."""
    title = "hush: Differentially Private Answers with the Least Noise that Provable Privacy Allows"
    fields = {"author": "{The hush authors}", "title": title, "year": "2026", "note": f"Python library, version {__version__}"}
    found = {"hush": "\n".join(["@misc{hush,", *(f"  {name.ljust(6)} = {{{text}}}," for name, text in fields.items()), "}"])}
    for entry in files("hush").joinpath("cite.bib").read_text(encoding="utf-8").strip().split("\n\n"):
        found[entry[entry.index("{") + 1 : entry.index(",")]] = entry
    return found


def cite(what: Any = None) -> Citation:
    """BibTeX for what a noise rests on: a noise, its class or family name, a plan or mechanism; everything if nothing is named.

    Everything is hush itself and every paper that a privacy proof in it names.

    >>> print(cite("laplace").splitlines()[0])
    @inproceedings{dwork2006,
    >>> cite(Discrete(family("gaussian").type(2.0))).count("@")
    3
    """
    keys = tuple(entries()) if what is None else _keys(what)
    return Citation("\n\n".join(entries()[key] for key in dict.fromkeys(keys)))


def _keys(what: Any) -> tuple[str, ...]:
    if isinstance(what, Plan | Mechanism):
        what = what.noise
    if isinstance(what, str):
        return RESTS_ON[family(what).name]
    if isinstance(what, Subsampled):
        return (*_keys(Subsampled), *_keys(what.whole.noise))
    if what is Subsampled:
        return ("ballebarthe2018",)
    if isinstance(what, Discrete) and isinstance(what.noise, Law):
        return ("ghosh2012" if isinstance(what.noise, Laplace) else "canonne2020", *_keys(what.noise))
    kind = what if isinstance(what, type) else type(what)
    row = next((row for row in EVERY if row.type is kind), None)
    if row is None:
        raise InvalidParameter(
            f"cite takes a noise, its class, a family's name or a plan, got {what!r:.60}; write hush.cite('gaussian'), or hush.cite()."
        )
    return RESTS_ON[row.name]
