"""How many equal releases fit into an adaptive ledger, compared with composition in advance.

Run: python bench/ledgers.py. It prints the two tables of docs/maths/budgets.md.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import hush
from hush.ledger.account import Account, Nonadaptive
from hush.ledger.entry import Cap, Entry
from hush.ledger.filter import Filter, filter_cap
from hush.ledger.filters import Filters, filters_cap

EPSILON, DELTA = 1.0, 1e-6
_BOX = hush.Sensitivity(linf=1.0, dimension=2)
KINDS: dict[str, Callable[[float], Any]] = {
    "Gaussian": lambda scale: (hush.Gaussian(scale), 1.0),
    "Laplace": lambda scale: (hush.Laplace(scale), 1.0),
    "joint (cube, two numbers)": lambda scale: (hush.Cube(2, scale, 1.0 / 64.0), _BOX),
}


def fitting(start: Account, part: Any) -> int:
    """The most equal releases that fit, by doubling and halving."""
    entry = Entry(0, "", "", (hush.Charge.of(part),))

    def fits(number: int) -> bool:
        return start.plus([entry] * number).covered()

    low, high = 0, 1
    while fits(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if fits(middle) else (low, middle)
    return low


def scale_for(make: Callable[[float], Any], times: int) -> float:
    """The least scale at which composition in advance fits `times` releases."""
    low, high = 0.5, 8.0 * times
    for _ in range(40):
        middle = math.sqrt(low * high)
        kept = float(hush.compose([(*make(middle), times)]).delta(EPSILON)) <= DELTA
        low, high = (low, middle) if kept else (middle, high)
    return high


def table() -> str:
    """The table as Markdown."""
    lines = ["| noise | in advance | adaptive | share | one Renyi order |", "|---|---|---|---|---|"]
    for name, make in KINDS.items():
        for times in (12, 100, 1000):
            part = make(scale_for(make, times) * math.sqrt((times + 0.5) / times))  # and half of one more
            known = fitting(Nonadaptive(Cap(EPSILON, DELTA, "nonadaptive")), part)
            adaptive = fitting(Filters(filters_cap(EPSILON, DELTA)), part)
            one = fitting(Filter(filter_cap(EPSILON, DELTA, None)), part)
            lines.append(f"| {name} | {known} | {adaptive} | {adaptive / known:.3f} | {one} |")
    return "\n".join(lines)


def exact_table() -> str:
    """The same for noise that was calibrated for exactly so many releases, as Markdown."""
    lines = ["| noise | calibrated for | adaptive | share |", "|---|---|---|---|"]
    for name, make in KINDS.items():
        for times in (12, 24, 100, 1000):
            adaptive = fitting(Filters(filters_cap(EPSILON, DELTA)), make(scale_for(make, times)))
            lines.append(f"| {name} | {times} | {adaptive} | {adaptive / times:.3f} |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(table(), exact_table(), sep="\n\n")
