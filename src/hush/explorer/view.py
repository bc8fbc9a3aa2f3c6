"""Everything the page shows for one position of the sliders, as plain values for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

import hush
from hush.explorer import precomputed
from hush.explorer.analysis import Absence, AnalysedNoise, best, epsilon_grid, findings
from hush.explorer.state import State
from hush.explorer.wording import bound, down, figure, more, per_cent, power, privacy, up

__all__ = ["answer", "command_line", "python_lines"]

_POINTS = 160  # of a density, on either side
_CROWDS = (10, 100, 1000)
_TIE = "Another noise is less by a hair: ties within 0.01 % go to the simpler family."


def answer(state: State) -> dict[str, Any]:
    """The whole page in numbers and sentences; every epsilon and delta is an upper bound of hush for the noise that
    is shown.
    """
    chosen, found = best(state), findings(state)
    present = [one for one in found if isinstance(one, AnalysedNoise)]
    shown = [one for one in present if one is chosen or one.family in state.show]
    known = _limit(state)
    return {
        "query": state.query,
        "best": {"family": chosen.family, "noise": chosen.words, "delta": chosen.delta},
        "headline": _headline(state, chosen, present),
        "odds": _odds(state, chosen),
        "ranking": [_ranked(one, chosen, known) for one in found],
        "limit": _limit_sentence(chosen, known),
        "densities": _densities(chosen, shown),
        "curves": _curves(state, shown),
        "crowd_note": _crowd_note(state, chosen),
        "crowds": [_crowd(state, chosen, people) for people in _CROWDS],
        "python": python_lines(state),
        "command": command_line(state),
    }


def _headline(state: State, chosen: AnalysedNoise, present: list[AnalysedNoise]) -> dict[str, str]:
    where = "every number" if state.count > 1 else "the number"
    least = chosen.variance <= min(one.variance for one in present)
    return {"half": up(chosen.median_error), "mostly": up(chosen.error95), "where": where, "tie": "" if least else _TIE}


def _odds(state: State, chosen: AnalysedNoise) -> dict[str, Any]:
    """How often a best guess at "is this person in the data?" is right, from a coin's 50 %: of this noise, and of the
    promise alone.

    The best test between two equally likely cases is right (1 + TV)/2 of the time, and the total variation TV is
    delta at epsilon 0. Under (epsilon, delta) alone its two error rates add up to at least hush.error_sum, so it is
    right at most 1 - error_sum/2 of the time.
    """
    promise = 1.0 - 0.5 * hush.error_sum(state.epsilon, state.delta)
    noise = min(
        0.5 * (1.0 + chosen.delta_at_zero), promise
    )  # both hold; a bracket's upper end may pass the promise by its width
    texts = {"noise_text": bound(noise), "promise_text": bound(promise)}
    note = f"The promise alone ({privacy(state.epsilon, state.delta)}) caps it at {bound(promise)}, whatever the noise and the attacker."
    return {"noise": noise, "promise": promise, **texts, "note": note}


def _ranked(found: AnalysedNoise | Absence, chosen: AnalysedNoise, known: hush.Bracket | None) -> dict[str, Any]:
    if isinstance(found, Absence):
        return {"family": found.family, "reason": found.reason}
    ratio = found.variance / chosen.variance
    to_limit = None if known is None else found.variance / float(known.lower)
    numbers = {"standard_error": found.standard_error, "error95": found.error95, "variance": found.variance}
    texts = {name: figure(value) for name, value in numbers.items()} | {"error95": up(found.error95)}
    texts |= {
        "ratio": "least" if found is chosen else more(ratio),
        "to_limit": "" if to_limit is None else more(to_limit),
    }
    named = {"family": found.family, "noise": found.words, "delta": found.delta}
    return {**named, **numbers, "ratio": ratio, "to_limit": to_limit, "texts": texts}


def _limit(state: State) -> hush.Bracket | None:
    """The limit for this sensitivity: a variance scales with its square."""
    unit = precomputed.limit(state.epsilon, state.delta, state.count)
    square = state.sensitivity**2
    return None if unit is None else hush.Bracket(unit.lower * square, unit.upper * square)


def _limit_sentence(chosen: AnalysedNoise, known: hush.Bracket | None) -> str:
    if known is None:
        return "For more than one number or release, the least noise that any method could add is not known, so no distance to it is given."
    low = float(known.lower)
    distance = more(chosen.variance / low)
    reached = "is within 0.05 % of that limit" if distance == "same" else f"is {distance.lstrip('+')} above that"
    return f"No noise added to one number can have a variance below {down(low)} under this promise; {chosen.family} {reached}."


def _densities(chosen: AnalysedNoise, shown: list[AnalysedNoise]) -> dict[str, Any]:
    """Densities on x >= 0, out to where the best noise all but ends; they are symmetric."""
    x = np.linspace(0.0, 1.1 * chosen.reach, _POINTS)
    return {"x": _short(x), "series": {one.family: _short(one.noise.pdf(x)) for one in shown}}


def _curves(state: State, shown: list[AnalysedNoise]) -> dict[str, Any]:
    floor = state.delta / 1000.0 if state.delta > 0.0 else 1e-12
    return {
        "epsilon": _short(epsilon_grid(state.epsilon)),
        "series": {one.family: _short(one.drawn) for one in shown},
        "floor": floor,
    }


def _short(values: Any) -> list[float]:
    """Enough digits for a picture."""
    return [float(f"{value:.5g}") for value in np.asarray(values).tolist()]


def _crowd_note(state: State, chosen: AnalysedNoise) -> str:
    each = "" if state.sensitivity == 1.0 else f", each adding up to {power(state.sensitivity)}"
    return f"The same ± {up(chosen.error95)} hides in a crowd. Beside the total of so many people{each}, it is"


def _crowd(state: State, chosen: AnalysedNoise, people: int) -> dict[str, Any]:
    """The error beside what so many people can add up to."""
    total = people * state.sensitivity
    share = chosen.error95 / total
    of = f"of {people:,} people" if state.sensitivity == 1.0 else f"of {total:,.0f}, from {people:,} people"
    return {"people": people, "total": total, "share": share, "share_text": per_cent(share), "text": of}


def python_lines(state: State) -> str:
    """Python that calibrates, explains and releases the same noise."""
    times = f", times={state.releases}" if state.releases > 1 else ""
    sensitivity = f"hush.Sensitivity(linf={state.sensitivity!r}, l0={state.groups})"
    return (
        "import hush\n\n"
        f"plan = hush.calibrate({state.epsilon!r}, {power(state.delta)}, {sensitivity}{times})\n"
        "print(plan.why)\n"
        f"ledger = hush.Ledger(None, epsilon={state.epsilon!r}, delta={power(state.delta)})\n"
        "print(hush.release([3, 12, 27, 58], plan, ledger=ledger))"
    )


def command_line(state: State) -> str:
    """The same calibration on the command line."""
    share = "--pure" if state.delta == 0.0 else f"--delta {power(state.delta)}"
    groups = f" --l0 {state.groups}" if state.groups > 1 else ""
    times = f" --times {state.releases}" if state.releases > 1 else ""
    return f"hush calibrate --epsilon {power(state.epsilon)} {share} --linf {power(state.sensitivity)}{groups}{times}"
