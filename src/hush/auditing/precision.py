"""The precision attack: low bits of floating-point outputs that one input can produce and the other cannot (Mironov
2012).

A float is an odd number times 2^g; g is the position of its lowest set bit. Near zero, 0 + noise keeps all 53 bits,
so g is far below. 1 + noise can get there only from noise near -1, whose bits end at 2^-53, and so do the bits of the
sum. The event "the lowest set bit is below 2^-53" is then common for input 0 and impossible for input 1: the
densities are right to sixteen digits, but the reachable floats differ.

Nothing is assumed about the sampler. Outputs are counted by (sign, magnitude, position of the lowest set bit), only at
magnitudes that both inputs reach, so that an event found here is about the bits and not about the size of the noise.
For integers the same counts show parity and other powers of two. Zero has separate cells, one for each sign: -0.0 can
reveal information too.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hush.auditing.event import Event, Outputs, Pair, Proposal, View, by_ratio

__all__ = ["bit_proposals", "places"]

Places = NDArray[np.int64]

_BOTH_LAND = 10  # ranking draws that each input must have at a magnitude
_SPAN = 4096  # more than the number of exponents of a float
_ZERO = -1100  # the magnitude that represents zero


def places(y: Outputs) -> tuple[Places, Places]:
    """(magnitude, lowest): y = odd * 2^lowest, and 2^magnitude <= |y| < 2^(magnitude + 1).

    >>> magnitude, lowest = places(np.array([1.5, 6.0, 2.0**-60, 0.0]))
    >>> magnitude.tolist(), lowest.tolist()
    ([0, 2, -60, -1100], [-1, 1, -60, 0])
    """
    fraction, exponent = np.frexp(np.abs(y.astype(np.float64)))
    if y.dtype.kind == "i":
        odd, offset = y, np.zeros(y.shape, dtype=np.int64)  # exact where an integer has more bits than a float
    else:
        odd, offset = (fraction * 2.0**53).astype(np.int64), exponent.astype(np.int64) - 53
    lowest = np.frexp(np.abs((odd & -odd).astype(np.float64)))[1].astype(np.int64) - 1 + offset
    zero = y == 0
    return np.where(zero, _ZERO, exponent.astype(np.int64) - 1), np.where(zero, 0, lowest)


def bit_proposals(view: View, rank: Pair, hold: Pair) -> Iterator[Proposal]:
    """Rules "lowest set bit below 2^k (or not), magnitude below 2^j", then unions of (sign, magnitude, lowest bit)."""
    ranked, held = view.pair(rank), view.pair(hold)
    common = np.intersect1d(_frequent(places(ranked[0])[0]), _frequent(places(ranked[1])[0]))
    if not common.size:
        return
    yield from _rules(view, common, held)

    known = np.unique(np.concatenate([_codes(r) for r in ranked]))
    known = known[np.isin((known // _SPAN) % _SPAN + _ZERO, common)]

    def number(y: Outputs) -> Places:
        """The cell of each output; the number after the last cell for unknown outputs."""
        codes = _codes(y)
        near = np.minimum(np.searchsorted(known, codes), known.size - 1)
        return np.where(known[near] == codes, near, known.size)

    def event(chosen: Places) -> Event:
        mask = np.zeros(known.size + 1, dtype=bool)
        mask[chosen] = True
        return Event(_cells_text(view, known[mask[:-1]]), view, lambda y: mask[number(y)])

    first, second = (n[n < known.size] for n in map(number, ranked))
    # relative to the same sign and magnitude: the other search covers the size of the noise
    groups = np.append(np.unique(known // _SPAN, return_inverse=True)[1], 0)
    yield from by_ratio((first, second), (number(held[0]), number(held[1])), event, groups)


def _frequent(magnitude: Places) -> Places:
    values, counts = np.unique(magnitude, return_counts=True)
    return values[counts >= _BOTH_LAND]


def _codes(y: Outputs) -> Places:
    """(sign, magnitude, lowest bit) as one number."""
    magnitude, lowest = places(y)
    return (np.signbit(y).astype(np.int64) * _SPAN + (magnitude - _ZERO)) * _SPAN + (lowest - _ZERO)


def _cells_text(view: View, codes: Places) -> str:
    shown = []
    for code in codes[:3]:
        sign = "-" if code >= _SPAN * _SPAN else ""
        magnitude, lowest = (code // _SPAN) % _SPAN + _ZERO, code % _SPAN + _ZERO
        shown.append(
            f"{sign}0.0"
            if magnitude == _ZERO
            else f"{sign}(2^{magnitude} to 2^{magnitude + 1}) with lowest set bit 2^{lowest}"
        )
    if codes.size == 1:
        return f"{view.name} of the kind {shown[0]}"
    return f"{view.name} of one of {codes.size} kinds such as {'; '.join(shown)}"


def _rules(view: View, common: Places, held: Pair) -> Iterator[Proposal]:
    """Both kinds of rule for every (j, k) at once, by summing a table of counts."""
    nonzero = common[common > _ZERO]
    if not nonzero.size:
        return
    counted = []
    for y in held:
        magnitude, lowest = places(y)
        inside = np.isin(magnitude, nonzero)
        counted.append((np.searchsorted(nonzero, magnitude[inside]), lowest[inside]))
    levels = np.unique(np.concatenate([lowest for _, lowest in counted]))
    if levels.size < 2:
        return
    tables = []
    for row, lowest in counted:
        table = np.zeros((nonzero.size, levels.size), dtype=np.int64)
        np.add.at(table, (row, np.searchsorted(levels, lowest)), 1)
        tables.append(table.cumsum(axis=0).cumsum(axis=1))
    tables = [table[::-1] for table in tables]  # the widest range of magnitudes first: the simplest rule wins a tie

    def rule(i: int, *, fine: bool) -> Event:
        j, k = divmod(i, levels.size - 1)
        kept, level = nonzero[: nonzero.size - j], levels[k + 1]

        def contains(y: Outputs) -> NDArray[np.bool_]:
            magnitude, lowest = places(y)
            return np.isin(magnitude, kept) & ((lowest < level) if fine else (lowest >= level))

        text = f"lowest set bit {'below' if fine else 'at least'} 2^{level}, magnitude 2^{kept[0]} to 2^{kept[-1] + 1}"
        return Event(text if view.name == "output" else f"{view.name} with {text}", view, contains)

    fine = [table[:, :-1] for table in tables]
    coarse = [table[:, -1:] - table[:, :-1] for table in tables]
    yield Proposal((fine[0].ravel(), fine[1].ravel()), lambda i: rule(i, fine=True))
    yield Proposal((coarse[0].ravel(), coarse[1].ravel()), lambda i: rule(i, fine=False))
