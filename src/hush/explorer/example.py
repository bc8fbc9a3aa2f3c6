"""A made-up table of counts, before and after noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import hush
from hush.explorer.analysis import best
from hush.explorer.state import State
from hush.explorer.wording import power, up
from hush.ledger import unaccounted

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
    """The wards with the best noise: exact, from secure entropy, on a lattice that the sensitivity is a whole number
    of steps of.

    The true numbers are public (they are written above), so nothing is charged; whole numbers are made of the result,
    which is free.
    `bar` holds the truth 95 % of the time or more: to the noise's own reach it adds what each rounding can move a
    value by, that of the truth to the lattice, of the noise to the lattice, and of the result to a whole number.
    """
    chosen = best(state)
    halvings = max(0, math.ceil(math.log2(_STEPS * state.sensitivity / chosen.standard_error)))
    step = math.ldexp(state.sensitivity, -halvings)
    mechanism = hush.Mechanism(chosen.noise, state.bound, step, coordinates=len(WARDS))
    placed = mechanism.on_lattice(list(WARDS.values()))
    noisy = unaccounted([mechanism.charge]).noise(mechanism, placed)  # the wards are made up, and public
    made = np.asarray(mechanism.value_of(noisy))
    moved = float(np.abs(np.asarray(mechanism.value_of(placed)) - list(WARDS.values())).max())
    bar = chosen.error95 + moved + 0.5 * step + (0.0 if step.is_integer() else 0.5)
    rows = [
        {"ward": ward, "true": true, "noisy": round(float(noisy))}
        for (ward, true), noisy in zip(WARDS.items(), made, strict=True)
    ]
    return {"query": state.query, "bar": bar, "rows": rows, "note": _note(state, chosen.error95)}


def _note(state: State, error: float) -> str:
    change = (
        "" if state.sensitivity == 1.0 else f", where one person may change each number by {power(state.sensitivity)}"
    )
    times = "" if state.releases == 1 else f", one of {state.releases} releases"
    return (
        f"Eight rows of a larger table{change}{times}, drawn just now. Every row gets the same noise, 95 % of the time within "
        f"± {up(error)}: {_felt(error)}. The bars add what rounding takes; the pictures share a square-root scale."
    )


def _felt(error: float) -> str:
    """What this error does to the wards; a twentieth of a count is hardly noticed."""
    least, most = min(WARDS.values()), max(WARDS.values())
    if error <= least / 20.0:
        return "even the smallest count hardly notices"
    if error <= most / 20.0:
        return f"large counts hardly notice, small ones {'drown' if error >= least / 2.0 else 'do'}"
    return "even the largest count feels it, and small ones drown" if error < most else "every count here drowns in it"
