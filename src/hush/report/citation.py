"""BibTeX entries for hush and for the papers that a noise uses. The papers are in noise/references.bib."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from typing import Any

from hush.calibration.ranking import Plan
from hush.errors import InvalidParameter, shown
from hush.ledger.entry import hush_version
from hush.noise.catalogue import family, family_of
from hush.noise.contract import Law, Noise
from hush.privacy.charge import Charge
from hush.privacy.theorem import theorems_for
from hush.sampling.mechanism import Mechanism

__all__ = ["Citation", "cite", "entries"]


class Citation(str):
    """BibTeX text that prints without quotes at the Python prompt."""

    def __repr__(self) -> str:
        return str(self)


@cache
def entries() -> dict[str, str]:
    """The entry of hush, then every entry of references.bib, by key."""
    title = "hush: Differentially Private Answers with the Least Noise that Provable Privacy Allows"
    fields = {
        "author": "{The hush authors}",
        "title": title,
        "year": "2026",
        "note": f"Python library, version {hush_version()}",
    }
    found = {
        "hush": "\n".join(["@misc{hush,", *(f"  {name.ljust(6)} = {{{text}}}," for name, text in fields.items()), "}"])
    }
    for entry in files("hush.noise").joinpath("references.bib").read_text(encoding="utf-8").strip().split("\n\n"):
        found[entry[entry.index("{") + 1 : entry.index(",")]] = entry
    return found


def cite(what: Any = None) -> Citation:
    """BibTeX entries for a noise, its class or its family name; for a plan, a mechanism or a charge, also for the
    theorems that prove its privacy. Without an argument: hush and every paper that a privacy proof in it names.

    >>> print(cite("laplace").splitlines()[0])
    @inproceedings{dwork2006,
    >>> from hush import Discrete, Gaussian
    >>> cite(Discrete(Gaussian(2.0))).count("@")
    3
    """
    keys = tuple(entries()) if what is None else _keys(what)
    return Citation("\n\n".join(_entry(key) for key in dict.fromkeys(keys)))


def _entry(key: str) -> str:
    """The BibTeX entry of a key; a whole entry is returned as it is."""
    if key.lstrip().startswith("@"):
        return key.strip()
    if key not in entries():
        raise InvalidParameter(
            f"cites has the key {shown(key)}, which src/hush/noise/references.bib does not have; add the entry there, "
            "or write the whole BibTeX entry in cites."
        )
    return entries()[key]


def _keys(what: Any) -> tuple[str, ...]:
    """Keys of references.bib; a registered family may have BibTeX entries instead of keys."""
    if isinstance(what, Plan):
        what = Charge(what.noise, what.sensitivity)
    elif isinstance(what, Mechanism):
        what = what.charge
    if isinstance(what, Charge):
        proofs = (key for theorem in theorems_for(what.once) for key in theorem.cites)
        return (*(_keys(what.noise) if isinstance(what.noise, Noise) else ()), *proofs)
    if isinstance(what, str):
        return family(what).cites
    if isinstance(what, Law) and what.continuous is not what:
        row = family_of(what.continuous)
        return (*(() if row is None else row.lattice_cites), *_keys(what.continuous))
    row = family_of(what) if isinstance(what, type | Noise) else None
    if row is None:
        raise InvalidParameter(
            f"cite takes a noise, its class, a family's name or a plan, got {shown(what)}; write "
            "hush.cite('gaussian'), or hush.cite()."
        )
    return row.cites
