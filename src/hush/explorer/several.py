"""Noise for several numbers that one person changes at once: joint noises beside independent ones.

The ranking is that of `hush.calibrate`, with one difference: where it would search slow families for seconds, they are
taken from the precomputed file, or left out with this reason if the file does not contain this many numbers.
"""

from __future__ import annotations

import hush
from hush.calibration.plan import RankedNoise
from hush.errors import HushError
from hush.explorer import precomputed
from hush.explorer.proof import Absence, AnalysedNoise, proved
from hush.explorer.state import State, joint_names, names
from hush.noise.catalogue import families, family
from hush.numerics.rounding import TIED, up

__all__ = ["TOO_SLOW", "plan", "ranked"]

#: As in `hush.calibrate`: slow families are not compared if joint noise has less than this share of the variance of
#: every closed form.
_FAR = 0.8
_FAR_WORSE = "not compared: joint noise has much less variance than Laplace, staircase and Gaussian noise"
#: The reason for a slow family that the file does not contain.
TOO_SLOW = "not compared here, because its calibration takes seconds; hush.calibrate compares it"


def ranked(state: State) -> list[AnalysedNoise | Absence]:
    """The noises for several numbers, least variance first, and then the absent families.

    Of noises within 0.01 % of the least, the simplest (in the catalogue's order) is first, as in `hush.calibrate`.
    """
    found = _compared(state)
    order = [row.name for row in families()]
    present = [one for one in found if isinstance(one, AnalysedNoise)]
    present.sort(key=lambda one: one.variance)
    if present:
        tied = [one for one in present if one.variance <= up(present[0].variance, TIED)]
        first = min(tied, key=lambda one: order.index(one.family))
        present = [first, *(one for one in present if one is not first)]
    return [*present, *(one for one in found if isinstance(one, Absence))]


def _compared(state: State) -> list[AnalysedNoise | Absence]:
    joint = [proved(state, name, _joint(state, name), 1.0) for name in joint_names()]
    quick = [name for name in names() if family(name).closed_form]
    closed = _independent(state, quick)
    return joint + closed + _slow(state, [name for name in names() if name not in quick], joint, closed)


def _joint(state: State, name: str) -> hush.Noise | str:
    """The least joint noise of a family, or the reason why there is none."""
    try:
        return hush.calibrate(state.epsilon, state.delta, state.bound, family=name).noise
    except HushError as failure:
        return _reason(str(failure), name)


def _reason(text: str, name: str) -> str:
    """The reason of one family, without the sentence around it."""
    start = f"({name}: "
    return text.split(start, 1)[1].removesuffix(").") if start in text else text.rstrip(".")


def _independent(state: State, wanted: list[str]) -> list[AnalysedNoise | Absence]:
    row = precomputed.row(state.epsilon, state.delta, state.numbers, wanted)
    return [proved(state, name, unit, state.sensitivity) for name, unit in row]


def _slow(
    state: State, slow: list[str], joint: list[AnalysedNoise | Absence], closed: list[AnalysedNoise | Absence]
) -> list[AnalysedNoise | Absence]:
    """The families whose calibration takes seconds: from the file, or absent with the reason."""
    if _least(joint) < _FAR * _least(closed):
        return [Absence(name, _FAR_WORSE) for name in slow]
    stored = [name for name in slow if precomputed.has(name, state.epsilon, state.delta, state.numbers)]
    return _independent(state, stored) + [Absence(name, TOO_SLOW) for name in slow if name not in stored]


def _least(found: list[AnalysedNoise | Absence]) -> float:
    return min((one.variance for one in found if isinstance(one, AnalysedNoise)), default=float("inf"))


def plan(state: State, found: list[AnalysedNoise | Absence]) -> hush.Plan:
    """The plan that this ranking stands for; its `why` and its `limit` are those of the library."""
    ranking = tuple(
        RankedNoise(one.family, reason=one.reason)
        if isinstance(one, Absence)
        else RankedNoise(one.family, noise=one.noise, loss=one.variance)
        for one in found
    )
    first = ranking[0]
    assert first.noise is not None
    guarantee = (state.epsilon, state.delta, state.bound, state.releases)
    return hush.Plan(first.noise, first.family, *guarantee, "variance", "dp", None, ranking)
