"""The bounding semantics in plain Python, written from the documentation and sharing no code with hush.tables.

Rows are dictionaries; measures are given as hush describes them (their declared numbers are read, none of their
methods). The result maps each group's key to its integer columns.
"""

from __future__ import annotations

import datetime
import hashlib
import itertools
import math
from collections import defaultdict
from collections.abc import Callable, Iterable
from fractions import Fraction
from functools import cache
from typing import Any

STEPS, FINE = 2**20, 2**20  # steps in a bound and fine steps in a step, for max_rows = 2^40
FURTHEST_ROW = 2**62
MASK = 2**32 - 1
EPOCH = datetime.date(1970, 1, 1)
Row = dict[str, Any]


# -- the keyed hash ------------------------------------------------------------------------------------------


def secret_odds(salt: bytes, purpose: str, count: int, below: int) -> list[int]:
    stream = hashlib.shake_256(salt + purpose.encode()).digest(8 * count)
    return [(int.from_bytes(stream[8 * i : 8 * i + 8], "big") % below) | 1 for i in range(count)]


def keyed_hash(salt: bytes, purpose: str, parts: list[tuple[Any, str]]) -> int:
    """Of (value, kind) pairs, kind being "whole" (numbers, dates, truth values) or "text"."""
    plain = [((value - EPOCH).days if isinstance(value, datetime.date) else value, kind) for value, kind in parts]
    if any(kind == "text" for _, kind in plain):
        message = hashlib.sha256(salt + purpose.encode()).hexdigest()
        for value, kind in plain:
            text = value if kind == "text" or value is None else str(int(value))
            message += ";" + ("null" if text is None else f"{len(text)}:{text}")
        return int(hashlib.md5(message.encode()).hexdigest()[-8:], 16)
    words = []
    for value, _ in plain:
        if value is None:
            value = secret_odds(salt, f"{purpose} null", 1, 2**62)[0]
        whole = int(value) % 2**64  # two's complement
        words += [whole & MASK, whole >> 32]
    state = secret_odds(salt, f"{purpose} start", 1, 2**32)[0]
    for word, odd in zip(words, secret_odds(salt, f"{purpose} linear", len(words), 2**31), strict=True):
        state = (state + word * odd) % 2**32
    for shift, odd in zip((16, 13), secret_odds(salt, f"{purpose} mix", 2, 2**31), strict=True):
        state = (state ^ (state >> shift)) * odd % 2**32
    return state


# -- values --------------------------------------------------------------------------------------------------


@cache
def finest(size: float, steps: int, largest: float = 0.0) -> Fraction:
    """The largest of 1, 2, 5 times a power of ten with size * scale <= steps (and largest * scale <= 2^51)."""
    limit = Fraction(steps) / Fraction(size)
    if largest:
        limit = min(limit, Fraction(2**51) / Fraction(largest))
    scales = (Fraction(m) * Fraction(10) ** k for k in range(-320, 320) for m in (1, 2, 5))
    return max(scale for scale in scales if scale <= limit)


def steps_of(x: float, scale: Fraction, parts: int) -> int | float:
    """x in steps of which `parts` make a step of the grid, rounded half up; infinities stay."""
    y = (x * float(scale) if scale >= 1 else x / float(1 / scale)) * parts
    return y if math.isinf(y) else math.floor(y + 0.5)


def parts_of(scale: Fraction, largest: float) -> int:
    """Fine steps in a step: 2^20, or as many as leave the largest number below 2^60 of them."""
    return min(FINE, 2 ** (60 - math.ceil(scale * Fraction(largest)).bit_length()))


def number(x: Any) -> float | None:
    """A value as a float; None where the row has none."""
    if isinstance(x, datetime.date):
        return float((x - EPOCH).days)
    if x is None or math.isnan(x):
        return None
    return float(x)


def clip(x: Any, low: int, high: int) -> int:
    return int(min(max(x, low), high))


def place_of(x: float, edges: list[float]) -> int | None:
    for i, (a, b) in enumerate(itertools.pairwise(edges)):
        if a <= x < b or (x == b == edges[-1]):
            return i
    return None


# -- measures ------------------------------------------------------------------------------------------------


class Told:
    """A measure's value of a row, its sample size, and what it makes of the kept values: {column: integer}."""

    def __init__(self, name: str, measure: Any) -> None:
        self.name, self.kind = name, type(measure).__name__
        self.rows = getattr(measure, "rows_per_unit", None)
        if self.rows is None and self.kind != "Sum":  # left out: one row; a sum without it bounds a person's total
            self.rows = 1
        self.measure = measure
        if self.kind in ("Sum", "Mean", "Variance", "Extreme"):
            low, high = number(measure.low), number(measure.high)
            assert low is not None and high is not None
            size, steps = {
                "Sum": (max(abs(low), abs(high)), STEPS - 1),
                "Extreme": (high - low, getattr(measure, "bins", 0) - 2),
            }.get(self.kind, ((high - low) / 2, STEPS - 1))
            largest = 0.0 if self.kind == "Sum" else max(abs(low), abs(high))
            self.scale = finest(size, steps, largest)
            self.parts = 1 if self.kind == "Extreme" else parts_of(self.scale, max(size, largest))
            self.low, self.high = (int(steps_of(end, self.scale, self.parts)) for end in (low, high))
            self.middle = (self.low + self.high) // 2
            self.reach = self.high - self.middle

    @property
    def samples(self) -> bool:
        return self.kind not in ("Count", "CountUnits") and self.rows is not None

    def value(self, row: Row) -> int | None:
        if self.kind in ("Count", "CountUnits"):
            return 0
        raw = row[self.measure.column]
        if self.kind == "Histogram" and self.measure.categories is not None:
            return self.measure.categories.index(raw) if raw in self.measure.categories and raw is not None else None
        x = number(raw)
        if x is None:
            return None
        if self.kind in ("Histogram", "BinnedQuantile"):
            return place_of(x, [number(edge) for edge in self.measure.edges])  # type: ignore[misc]
        if self.kind == "Sum" and self.rows is None:
            return clip(steps_of(x, self.scale, self.parts), -FURTHEST_ROW, FURTHEST_ROW)
        inside = clip(steps_of(x, self.scale, self.parts), self.low, self.high)
        return inside - {"Sum": 0, "Extreme": self.low}.get(self.kind, self.middle)

    def totals(self, values: list[int], rows: int) -> dict[str, int]:
        """From the kept values of one (unit, group), and its number of rows; in fine steps."""
        if self.kind == "Count":
            return {self.name: min(rows, self.rows)}
        if self.kind == "CountUnits":
            return {self.name: 1}
        if self.kind in ("Histogram", "Extreme", "BinnedQuantile"):
            return {column: values.count(i) for i, column in enumerate(self.columns())}
        if self.kind == "Sum":
            bounds = (
                (self.low, self.high)
                if self.rows is None
                else (min(0, self.rows * self.low), max(0, self.rows * self.high))
            )
            return {self.name: clip(sum(values), *bounds) if values else 0}
        result = {f"{self.name}.sum": sum(values), f"{self.name}.count": len(values)}
        if self.kind == "Variance":
            fine = self.parts.bit_length() - 1
            shift = max(0, 2 * (-(-self.reach // self.parts)).bit_length() - STEPS.bit_length())
            shift += (shift + fine) % 2

            def square(c: int) -> int:
                return math.floor(Fraction(c * c, 2 ** (shift + fine)) + Fraction(1, 2))

            middle = square(self.reach) // 2 // self.parts * self.parts
            result[f"{self.name}.square"] = sum(square(c) - middle for c in values)
        return result

    def rounded(self, column: str, total: int) -> int:
        """A group's total, from fine steps to whole ones."""
        fine = self.kind in ("Sum", "Mean", "Variance") and not column.endswith(".count")
        return math.floor(Fraction(total, self.parts) + Fraction(1, 2)) if fine else total

    def columns(self) -> list[str]:
        if self.kind in ("Histogram", "BinnedQuantile"):
            categories = getattr(self.measure, "categories", None)
            count = len(categories) if categories is not None else len(self.measure.edges) - 1
            return [f"{self.name}.{i}" for i in range(count)]
        if self.kind == "Extreme":
            return [f"{self.name}.{i}" for i in range(self.high - self.low + 1)]
        ends = {"Mean": (".sum", ".count"), "Variance": (".sum", ".square", ".count")}
        return [self.name + end for end in ends.get(self.kind, ("",))]


# -- the whole -----------------------------------------------------------------------------------------------


def aggregates(
    rows: Iterable[Row],
    *,
    unit: tuple[str, str],
    names: list[tuple[str, str]],
    keys: list[Any] | None,
    groups: int,
    measures: dict[str, Any],
    salt: bytes,
) -> dict[tuple[Any, ...], dict[str, int]]:
    """Group key -> integer columns. `unit` and `names` are (column, kind of hash); `keys` None means private; ()
    means one group.
    """
    told = [Told(name, measure) for name, measure in measures.items()]
    listed = None if keys is None else [key if isinstance(key, tuple) else (key,) for key in keys]
    pairs: dict[Any, dict[tuple[Any, ...], list[Row]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        key = tuple(row[name] for name, _ in names)
        if row[unit[0]] is not None and (listed is None or key in listed):
            pairs[row[unit[0]]][key].append(row)

    def hashed(purpose: str, who: Any, key: tuple[Any, ...]) -> int:
        if listed is None:
            parts = list(zip(key, [kind for _, kind in names], strict=True))
        else:
            parts = [(listed.index(key), "whole")] if names else []
        return keyed_hash(salt, purpose, [(who, unit[1]), *parts])

    result: dict[tuple[Any, ...], dict[str, int]] = {}
    zeros = {column: 0 for measure in told for column in measure.columns()}
    for key in listed or []:
        result[key] = dict(zeros)
    for who, theirs in pairs.items():
        order: Callable[[tuple[Any, ...]], Any] = lambda key, who=who: (  # noqa: E731
            hashed("groups", who, key) >> 1,
            listed.index(key) if listed is not None else tuple((part is None, part) for part in key),
        )
        kept = sorted(theirs, key=order)[:groups]
        for key in kept:
            entry = result.setdefault(key, dict(zeros))
            for measure in told:
                for column, total in measure.totals(
                    chosen(measure, theirs[key], hashed("rows", who, key)), len(theirs[key])
                ).items():
                    entry[column] += total
    owners = {column: measure for measure in told for column in measure.columns()}
    return {
        key: {column: owners[column].rounded(column, total) for column, total in entry.items()}
        for key, entry in result.items()
    }


def chosen(measure: Told, rows: list[Row], hashed: int) -> list[int]:
    """The values that count: all of them, or an even sample of the sorted ones."""
    values = sorted(value for row in rows if (value := measure.value(row)) is not None)
    if not measure.samples or not values:
        return values
    n, most = len(values), measure.rows
    start = hashed * n >> 32
    return [value for p, value in enumerate(values) if (p * most + start) % n < most]
