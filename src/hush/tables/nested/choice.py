"""When are blocks of bins measured in the place of a histogram? Where quantiles then have clearly less error.

Blocks and histogram are both calibrated for the same budget, and compared by the mean squared error of the counts from
which the quantiles are found. Other columns of the query may not get more noise. Nothing depends on the data.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from hush.errors import HushError
from hush.noise import gaussian, laplace
from hush.tables.column_noise import Spending
from hush.tables.contribution import Reach
from hush.tables.description import QueryDescription
from hush.tables.measure import Prepared
from hush.tables.nested.blocks import Nested

__all__ = ["in_blocks"]

_CLEAR = 0.98  # blocks are measured if their mean squared error is at most this share of the histogram's
_TIE = 1.002  # the variance of another column may grow by this factor: no reader sees it
_SMALLER = (1.0, 0.98, 0.95, 0.9)  # of the shares of all blocks, so that other columns have no more noise
_FREE = (None, "independent")  # the family that is asked for: any
Make = Callable[[Reach, str], Spending]


@dataclass(frozen=True)
class _Histogram:
    """Bins that only quantiles are made from."""

    owner: Prepared
    users: tuple[str, ...]
    levels: tuple[float, ...]

    def error(self, spent: Spending, nested: Nested | None) -> float:
        """The mean squared error of F(k) - q N over all bins and all levels of the users."""
        from hush.tables.nested.search import excess_error

        sizes = (1,) if nested is None else nested.sizes
        columns = [self.owner.bin_columns[0] if nested is None else nested.columns(size)[0] for size in sizes]
        variances = tuple(_variance(spent, column) for column in columns)
        return excess_error(self.owner.bins, self.levels, sizes, variances)

    def nested(self, kind: str, smaller: float) -> Nested | None:
        """The blocks for a kind of noise; None where single bins are best."""
        from hush.tables.nested.search import levels_for

        sizes, shares = levels_for(kind, self.owner.bins, self.levels)
        if len(sizes) == 1:
            return None
        return Nested(self.owner.bin_columns, sizes, tuple(smaller * share for share in shares))


Blocks = dict[str, Nested]


def in_blocks(
    query: QueryDescription, flat: Spending, family: str | None, make: Make
) -> tuple[QueryDescription, Spending]:
    """The query and its noise with blocks in the place of histograms, where that is clearly better; else as given.
    `make` calibrates a family for the columns of a `Reach`.
    """
    found = _histograms(query)
    reason = _why_not(query)
    if not found or reason:
        return _with_notes(query, {one.owner.name: reason for one in found}), flat
    if any(one.error(flat, None) == 0.0 for one in found):  # so large a budget that there is no noise to save
        return query, flat
    best, least = None, np.inf
    for blocks, spent in _candidates(query, flat, family, make, found):
        errors = [one.error(spent, blocks.get(one.owner.name)) / one.error(flat, None) for one in found]
        fits = all(e <= (_CLEAR if one.owner.name in blocks else _TIE) for e, one in zip(errors, found, strict=True))
        if fits and _no_more_noise(query, flat, spent, found) and (mean := float(np.mean(errors))) < least:
            best, least = (blocks, spent), mean
    if best is None:
        return query, flat
    return _rewritten(query, flat, found, *best), best[1]


def _variance(spent: Spending, column: str) -> float:
    return float(np.asarray(spent.mechanisms[column].noise.variance))


def _histograms(query: QueryDescription) -> list[_Histogram]:
    """The bins that only quantiles between 0 and 1 are made from, and that are many."""
    from hush.tables.nested.search import LEAST_BINS

    found, shared = [], query.shared
    for owner in query.measures:
        if owner.bins < LEAST_BINS or owner.bin_columns[0] in shared:
            continue
        first = owner.bin_columns[0]
        users = [m for m in query.measures if m.bins and shared.get(m.bin_columns[0], m.bin_columns[0]) == first]
        if all(hasattr(m.answer, "in_blocks") for m in users):
            levels = {level for m in users for level in getattr(m.answer, "levels", ())}
            if min(levels) > 0.0 and max(levels) < 1.0:
                found.append(_Histogram(owner, tuple(m.name for m in users), tuple(sorted(levels))))
    return found


def _why_not(query: QueryDescription) -> str:
    """Why no blocks are measured, for all histograms of the query; empty if they may be."""
    if query.threshold is not None:
        return "its groups are found privately"
    return "its bounds are found privately" if query.search is not None else ""


def _candidates(
    query: QueryDescription, flat: Spending, family: str | None, make: Make, found: list[_Histogram]
) -> Iterator[tuple[Blocks, Spending]]:
    """Blocks with their noise. Whole-number noise needs columns with equal shares and no others."""
    alone = len(flat.drawn) == 1
    kinds = [("equal", laplace.FAMILY.name)] * alone + [("sum", laplace.FAMILY.name)]
    kinds += [("squares", gaussian.FAMILY.name)] * (flat.delta > 0.0)
    for kind, name in kinds:
        if family not in (*_FREE, name):
            continue
        for smaller in (1.0,) if alone else _SMALLER:
            made = {one.owner.name: one.nested(kind, smaller) for one in found}
            blocks = {owner: nested for owner, nested in made.items() if nested is not None}
            if blocks:
                try:
                    yield blocks, make(_reach(query, blocks), name)
                except HushError:  # this family has no noise for so small a budget
                    continue


def _reach(query: QueryDescription, blocks: Blocks) -> Reach:
    """How far one person moves the columns that are measured."""
    reach, parts = query.sensitivity, []
    for part in reach.parts:
        nested = blocks.get(part.aggregate)
        parts += [part] if nested is None or part.columns != nested.bins else list(nested.parts(part))
    return replace(reach, parts=tuple(parts))


def _no_more_noise(query: QueryDescription, flat: Spending, spent: Spending, found: list[_Histogram]) -> bool:
    """Do the columns of other aggregates have no more noise than with the histogram?"""
    users = {name for one in found for name in one.users}
    columns = [column for part in query.sensitivity.parts if part.aggregate not in users for column in part.columns]
    return all(_variance(spent, column) <= _TIE * _variance(flat, column) for column in columns)


def _rewritten(
    query: QueryDescription, flat: Spending, found: list[_Histogram], blocks: Blocks, spent: Spending
) -> QueryDescription:
    """The query with estimates from blocks."""
    changed: dict[str, Prepared] = {}
    for one in found:
        nested = blocks.get(one.owner.name)
        if nested is None:
            continue
        sizes = " and ".join(str(size) for size in nested.sizes[::-1])
        share = one.error(spent, nested) / one.error(flat, None)
        note = f"measured are blocks of {sizes} bins; the mean squared error is {share:.2g} times that of the histogram"
        for measure in query.measures:
            if measure.name in one.users:
                answer = measure.answer.in_blocks(nested)  # type: ignore[attr-defined]  # _histograms has checked it
                changed[measure.name] = replace(measure, answer=answer, note=f"{measure.name}: {note}")
    return replace(query, measures=tuple(changed.get(m.name, m) for m in query.measures))


def _with_notes(query: QueryDescription, reasons: dict[str, str]) -> QueryDescription:
    """The query with the reasons why the histogram is measured, for plans and receipts."""
    noted = [
        replace(m, note=f"{m.name}: measured is each bin by itself, because {reasons[m.name]}")
        if reasons.get(m.name)
        else m
        for m in query.measures
    ]
    return replace(query, measures=tuple(noted))
