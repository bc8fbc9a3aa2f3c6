"""A made-up table of counts, with and without noise."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

import hush
from hush.explorer.analysis import best
from hush.explorer.proof import AnalysedNoise
from hush.explorer.state import State
from hush.explorer.wording import power, up
from hush.ledger import unaccounted

__all__ = ["OWN", "WARDS", "drawn"]

#: Eight groups of a larger table: noise matters for the small counts, and hardly for the large ones.
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
#: The most counts of the reader's own that the page shows.
OWN = 20
_STEPS = 16.0  # lattice steps per standard error, so that rounding to the lattice hardly matters


def drawn(state: State) -> dict[str, Any]:
    """The wards with the best noise, drawn exactly from secure entropy, on a lattice such that the sensitivity is a
    whole number of steps.

    The true counts are public (they are above), so nothing is charged. The results are rounded to whole numbers, which
    costs no privacy. `bar` contains the truth with probability at least 95 %: it is the 95 % error of the noise plus
    the largest effect of each rounding: of the truth to the lattice, of the noise to the lattice, and of the result to
    a whole number.

    `own` has the same noise without the wards. The page adds it to the counts that a reader types; they are not sent.
    """
    chosen, true_values = best(state), _true_values(state)
    step = _step(state, chosen)
    mechanism = hush.Mechanism(chosen.noise, state.bound, step, coordinates=len(true_values))
    placed = mechanism.on_lattice(true_values)
    steps = unaccounted([mechanism.charge]).noise(mechanism, placed)  # the wards are made up, and public
    made = np.asarray(mechanism.value_of(steps))
    moved = float(np.abs(np.asarray(mechanism.value_of(placed)) - true_values).max())
    rounding = 0.5 * step + (0.0 if step.is_integer() else 0.5)
    rows = [
        {"ward": ward, "true": true, "noisy": round(float(noisy))}
        for (ward, true), noisy in zip(WARDS.items(), made, strict=False)
    ]
    errors = np.asarray(mechanism.value_of(steps - placed))[:OWN].tolist()
    own = {"step": step, "errors": errors} | _own_bar(chosen.error95 + rounding, step)
    bar = chosen.error95 + moved + rounding
    return {"query": state.query, "bar": bar, "rows": rows, "note": _note(state, chosen.error95), "own": own}


def _own_bar(reach: float, step: float) -> dict[str, Any]:
    """The bar for any whole number: it is a point of the lattice if 1 is a whole number of steps, else it is moved by
    up to half a step.
    """
    bar = reach + (0.0 if (1.0 / step).is_integer() else 0.5 * step)
    return {"bar": bar, "bar_text": up(bar)}


def _true_values(state: State) -> list[int]:
    """The wards, and zeros for the noise of the reader's own counts; for several numbers of one person, exactly so
    many numbers.
    """
    wards = list(WARDS.values()) + [0] * max(OWN, state.numbers)
    return wards[: OWN if state.numbers == 1 else state.numbers]


def _step(state: State, chosen: AnalysedNoise) -> float:
    """The step of the lattice: that of the noise if it has one, else a fine one that divides the sensitivity."""
    if chosen.noise.discrete:
        return chosen.noise.step
    halvings = max(0, math.ceil(math.log2(_STEPS * state.sensitivity / chosen.standard_error)))
    return math.ldexp(state.sensitivity, -halvings)


def _note(state: State, error: float) -> str:
    change = (
        "" if state.sensitivity == 1.0 else f", where one person may change each number by {power(state.sensitivity)}"
    )
    times = "" if state.releases == 1 else f", one of {state.releases} releases"
    return (
        f"{_which(state)}{change}{times}, with noise drawn just now. Each row gets noise of the same "
        f"size, within ± {up(error)} with probability 95 %: {_felt(error)}. The bars include rounding. All bars share "
        "one square-root scale."
    )


def _which(state: State) -> str:
    if state.numbers == 1:
        return "Eight rows of a larger table"
    shown = "Eight" if state.numbers > len(WARDS) else "All"
    return f"{shown} of the {state.numbers} numbers that one person may change at once"


def _felt(error: float) -> str:
    """The effect of this error on the wards; an error of a twentieth of a count is small."""
    least, most = min(WARDS.values()), max(WARDS.values())
    if error <= least / 20.0:
        return "the error is small even for the smallest count"
    if error <= most / 20.0:
        return (
            f"the error is small for large counts, and {'hides' if error >= least / 2.0 else 'matters for'} small ones"
        )
    return "the error matters even for the largest count" if error < most else "the error is larger than every count"
