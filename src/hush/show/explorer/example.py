"""A made-up table of counts, before and after noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import hush
from hush.show.explorer.finding import best
from hush.show.explorer.stop import State
from hush.show.explorer.wording import figure, power

__all__ = ["WARDS", "drawn"]

#: Eight groups of a larger table: small counts, where noise is felt, and large ones, where it is not.
WARDS = {
    "Rare diseases": 3,
    "Sleep clinic": 12,
    "Burns": 27,
    "Neurology": 58,
    "Cardiology": 140,
    "Surgery": 390,
    "Maternity": 1020,
    "Emergency": 2400,
}
_STEPS = 16.0  # of the lattice in a standard error: its rounding is then not felt


def drawn(state: State) -> dict[str, Any]:
    """The wards with the best noise: exact, from secure entropy, on a lattice that the sensitivity is a whole number of steps of.

    The true numbers are public (they are written above), so nothing is charged; whole numbers are made of the result, which is free.
    """
    chosen = best(state)
    halvings = max(0, math.ceil(math.log2(_STEPS * state.sensitivity / chosen.standard_error)))
    mechanism = hush.Mechanism(chosen.noise, state.bound, math.ldexp(state.sensitivity, -halvings), coordinates=len(WARDS))
    made = np.asarray(mechanism.value_of(mechanism.noisy(mechanism.on_lattice(list(WARDS.values())))))
    rows = [{"ward": ward, "true": true, "noisy": round(float(noisy))} for (ward, true), noisy in zip(WARDS.items(), made, strict=True)]
    return {"query": state.query, "error95": chosen.error95, "rows": rows, "note": _note(state, chosen.error95)}


def _note(state: State, error: float) -> str:
    change = "" if state.sensitivity == 1.0 else f", where one person may change each number by {power(state.sensitivity)}"
    times = "" if state.releases == 1 else f", one of {state.releases} releases"
    return (
        f"Eight rows of a larger table{change}{times}, drawn just now. Every row gets the same noise, mostly within ± {figure(error)}: "
        "large counts hardly notice, small ones drown. The pictures share a square-root scale."
    )
