"""Everything that the page shows for one position of the sliders, as a dictionary for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np

import hush
from hush.explorer import precomputed, several
from hush.explorer.analysis import Absence, AnalysedNoise, best, findings
from hush.explorer.proof import epsilon_grid
from hush.explorer.state import State
from hush.explorer.wording import bound, down, figure, more, per_cent, power, privacy, up

__all__ = ["answer", "command_line", "distance", "python_lines"]

_POINTS = 240  # points of a density, on one side: enough for densities that fall in stairs
_CROWDS = (10, 100, 1000)  # people
_TIE = "Another noise is better by less than 0.01 %; the simpler one is shown."

_SKIPPED = "Some slow families are not compared here; hush.calibrate compares them, and may find a little less noise."
#: Shown until the answer of `distance`.
_LATER = "The least variance that a noise can have is being computed."


def answer(state: State) -> dict[str, Any]:
    """The content of the page; every epsilon and delta is an upper bound, proved for the noise that is shown."""
    chosen, found = best(state), findings(state)
    present = [one for one in found if isinstance(one, AnalysedNoise)]
    shown = [one for one in present if one is chosen or one.family in state.show]
    known = None if state.numbers > 1 else _limit(state)
    return {
        "query": state.query,
        "best": {"family": chosen.family, "noise": chosen.words, "delta": chosen.delta},
        "headline": _headline(state, chosen, found),
        "odds": _odds(state, chosen),
        "ranking": [_ranked(one, chosen, known) for one in found],
        "limit": _LATER if state.numbers > 1 else _limit_sentence(state, chosen, known),
        "why": several.plan(state, found).why if state.numbers > 1 else "",
        "densities": _densities(chosen, shown),
        "curves": _curves(state, shown),
        "crowd_note": _crowd_note(state, chosen),
        "crowds": [_crowd(state, chosen, people) for people in _CROWDS],
        "python": python_lines(state),
        "command": command_line(state),
    }


def _headline(state: State, chosen: AnalysedNoise, found: list[AnalysedNoise | Absence]) -> dict[str, str]:
    present = [one for one in found if isinstance(one, AnalysedNoise)]
    skipped = any(isinstance(one, Absence) and one.reason == several.TOO_SLOW for one in found)
    where = "every number" if max(state.count, state.numbers) > 1 else "the number"
    least = chosen.variance <= min(one.variance for one in present)
    return {
        "half": up(chosen.median_error),
        "mostly": up(chosen.error95),
        "where": where,
        "tie": "" if least else _TIE,
        "skipped": _SKIPPED if skipped else "",
    }


def _odds(state: State, chosen: AnalysedNoise) -> dict[str, Any]:
    """The largest probability of a correct guess whether a person is in the data, where both cases are equally likely:
    for this noise, and for (epsilon, delta) alone.

    The best test between two equally likely cases is right with probability (1 + TV)/2, and the total variation TV is
    delta at epsilon 0. Under (epsilon, delta) alone the two error rates of a test add up to at least hush.error_sum, so
    it is right with probability at most 1 - error_sum/2.
    """
    promise = 1.0 - 0.5 * hush.error_sum(state.epsilon, state.delta)
    noise = min(0.5 * (1.0 + chosen.delta_at_zero), promise)  # both are upper bounds
    texts = {"noise_text": bound(noise), "promise_text": bound(promise)}
    pair = privacy(state.epsilon, state.delta)
    note = f"The guarantee alone ({pair}) allows at most {bound(promise)}, for every noise and every attacker."
    return {"noise": noise, "promise": promise, **texts, "note": note}


def _ranked(found: AnalysedNoise | Absence, chosen: AnalysedNoise, known: hush.Bracket | None) -> dict[str, Any]:
    if isinstance(found, Absence):
        return {"family": found.family, "reason": found.reason}
    ratio = found.variance / chosen.variance
    to_limit = None if known is None else found.variance / float(known.lower)
    numbers = {"standard_error": found.standard_error, "error95": found.error95, "variance": found.variance}
    texts = {name: figure(value, 4) for name, value in numbers.items()} | {"error95": up(found.error95)}
    texts |= {
        "ratio": "least" if found is chosen else more(ratio),
        "to_limit": "" if to_limit is None else more(to_limit),
    }
    named = {"family": found.family, "noise": found.words, "delta": found.delta}
    return {**named, **numbers, "ratio": ratio, "to_limit": to_limit, "texts": texts}


def distance(state: State) -> dict[str, Any]:
    """The limit of all noises, and the distance of each family to it. For several numbers it takes up to a second, so
    the page asks for it after the rest.
    """
    chosen, found, known = best(state), findings(state), _limit(state)
    rows = [_ranked(one, chosen, known) for one in found if isinstance(one, AnalysedNoise)]
    texts = {row["family"]: row["texts"]["to_limit"] for row in rows}
    return {"query": state.query, "limit": _limit_sentence(state, chosen, known), "to_limit": texts}


def _limit(state: State) -> hush.Bracket | None:
    """The limit for this sensitivity; a variance scales with its square."""
    if state.numbers > 1:
        return several.plan(state, findings(state)).limit
    unit = precomputed.limit(state.epsilon, state.delta, state.count)
    square = state.sensitivity**2
    return None if unit is None else hush.Bracket(unit.lower * square, unit.upper * square)


def _limit_sentence(state: State, chosen: AnalysedNoise, known: hush.Bracket | None) -> str:
    if known is None:
        return "For more than one number or release, the least variance that any noise can have is not known."
    low = float(known.lower)
    above = more(chosen.variance / low)
    if state.numbers > 1:
        proof = f"No noise for these {state.numbers} numbers can have a variance per number below {down(low)}"
        place = "reaches it" if above == "same" else f"has {figure(chosen.variance / low)} times as much"
        return (
            f"{proof}. This is a proved lower bound; the true limit may be larger. The noise {chosen.family} {place}."
        )
    reached = "within 0.05 % of this limit" if above == "same" else f"{above.lstrip('+')} above this limit"
    least = f"Under this guarantee, no noise that is added to one number can have a variance below {down(low)}"
    return f"{least}; {chosen.family} noise is {reached}."


def _densities(chosen: AnalysedNoise, shown: list[AnalysedNoise]) -> dict[str, Any]:
    """Densities for x >= 0 only, because they are symmetric; x ends where larger values of the best noise are rare."""
    x = np.linspace(0.0, 1.1 * chosen.reach, _POINTS)
    return {"x": _short(x), "series": {one.family: _short(one.density(x)) for one in shown}}


def _curves(state: State, shown: list[AnalysedNoise]) -> dict[str, Any]:
    floor = state.delta / 1000.0 if state.delta > 0.0 else 1e-12
    return {
        "epsilon": _short(epsilon_grid(state.epsilon)),
        "series": {one.family: _short(one.drawn) for one in shown},
        "floor": floor,
    }


def _short(values: Any) -> list[float]:
    """Numbers with enough digits for a chart."""
    return [float(f"{value:.5g}") for value in np.asarray(values).tolist()]


def _crowd_note(state: State, chosen: AnalysedNoise) -> str:
    each = "" if state.sensitivity == 1.0 else f", each adding up to {power(state.sensitivity)}"
    return f"The 95 % error of ± {up(chosen.error95)} as a share of the total of this many people{each}:"


def _crowd(state: State, chosen: AnalysedNoise, people: int) -> dict[str, Any]:
    """The error as a share of the largest total of this many people."""
    total = people * state.sensitivity
    share = chosen.error95 / total
    of = f"of {people:,} people" if state.sensitivity == 1.0 else f"of {total:,.0f}, from {people:,} people"
    return {"people": people, "total": total, "share": share, "share_text": per_cent(share), "text": of}


def python_lines(state: State) -> str:
    """Python lines that calibrate, explain and release the same noise."""
    times = f", times={state.releases}" if state.releases > 1 else ""
    sensitivity = f"hush.{state.bound}"
    values = "[3, 12, 27, 58]" if state.numbers == 1 else f"[12] * {state.numbers}"
    return (
        "import hush\n\n"
        f"plan = hush.calibrate({state.epsilon}, {power(state.delta)}, {sensitivity}{times})\n"
        "print(plan.why)\n"
        f"ledger = hush.Ledger(None, epsilon={state.epsilon}, delta={power(state.delta)})\n"
        f"print(hush.release({values}, plan, ledger=ledger))"
    )


def command_line(state: State) -> str:
    """The same calibration on the command line."""
    share = "--pure" if state.delta == 0.0 else f"--delta {power(state.delta)}"
    groups = f" --l0 {state.groups}" if state.groups > 1 else ""
    times = f" --times {state.releases}" if state.releases > 1 else ""
    several = f" --dimension {state.numbers}{' --one-sided' * (state.direction == 'one')}" if state.numbers > 1 else ""
    facts = f"--linf {power(state.sensitivity)}{groups}{several}{times}"
    return f"hush calibrate --epsilon {power(state.epsilon)} {share} {facts}"
