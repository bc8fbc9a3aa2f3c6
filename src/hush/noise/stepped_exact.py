"""The tail of a step density in ball arithmetic."""

from __future__ import annotations

from functools import lru_cache

from hush.numerics.ball import Ball, Tail, flint_module, precision

__all__ = ["tail"]


def tail(width: float, heights: tuple[float, ...], ratio: float, period: int) -> Tail:
    """Return the function x -> P(|X| > x): the mass from x on, divided by the mass of all cells."""

    def beyond(x: Ball) -> Ball:
        arb = flint_module().arb
        cell = (x / width).floor().unique_fmpz()
        if cell is None:
            return arb.nan()  # the precision is too low to know the cell; the caller repeats with more bits
        n, cells, past = len(heights), int(cell), 0
        if cells >= n:
            if ratio == 0.0:
                return arb(0)
            past = (cells - n) // period + 1
            cells -= past * period
        sums = _sums(heights, ratio, period, flint_module().ctx.prec)
        part = x / width - int(cell)
        rest = sums[cells] - part * heights[cells]
        return rest * arb(ratio) ** past / sums[0]

    return beyond


@lru_cache(maxsize=16)
def _sums(heights: tuple[float, ...], ratio: float, period: int, bits: int) -> list[Ball]:
    """Return for every i the sum of the heights from cell i on, including the repeated cells."""
    arb = flint_module().arb
    with precision(bits):
        recurring = sum((arb(h) for h in heights[-period:]), arb(0))
        total = recurring * ratio / (1 - arb(ratio))
        sums = [total]
        for height in reversed(heights):
            total = total + height
            sums.append(total)
        return sums[::-1]
