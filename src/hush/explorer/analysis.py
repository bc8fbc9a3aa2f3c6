"""The analysis of each noise that the page shows. Precomputed parameters save the search; the proof is always done for
the noise that is shown.
"""

from __future__ import annotations

import dataclasses
from functools import lru_cache

from hush.errors import Unsupported
from hush.explorer import precomputed, several
from hush.explorer.proof import Absence, AnalysedNoise, proved
from hush.explorer.state import State
from hush.explorer.wording import privacy
from hush.noise.catalogue import families
from hush.noise.family import Family

__all__ = ["Absence", "AnalysedNoise", "best", "findings"]


def findings(state: State) -> list[AnalysedNoise | Absence]:
    """Every family in the order of its rank, each with its analysis; families that do not meet the budget are last."""
    made = _analysed(dataclasses.replace(state, show=()), families())
    return sorted(made, key=lambda found: isinstance(found, Absence))


def best(state: State) -> AnalysedNoise:
    """The family with the least noise for this budget."""
    found = findings(state)[0]
    if isinstance(found, Absence):
        raise Unsupported(
            f"no family meets {privacy(state.epsilon, state.delta)} here ({found.family}: {found.reason})."
        )
    return found


@lru_cache(maxsize=64)
def _analysed(state: State, known: tuple[Family, ...]) -> tuple[AnalysedNoise | Absence, ...]:
    """`known` are the registered families: a part of the cache key, so that a new family is shown at once."""
    if state.numbers > 1:
        return tuple(several.ranked(state))
    row = precomputed.row(state.epsilon, state.delta, state.count)
    return tuple(proved(state, family, unit, state.sensitivity) for family, unit in row)
