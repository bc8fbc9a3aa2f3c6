"""Columns that equal another column of the same query: they are measured once.

Two integer columns are equal by construction if the engine computes them from the same rows in the same way, whatever
the rows are. `Prepared.same_column` and `Prepared.same_bins` decide that from public facts:

- the number of rows of a person, at most r: of a count, and of a mean whose column has a value in every row;
- the number of people: of `count_units()`, of `count()`, and of the threshold of private keys;
- the sum, the number and the squares of the same value of the same rows: of means, variances and sums;
- the counts of the same bins: of histograms and quantiles.

Noise is drawn and charged for the first of them only. The others show the same noisy numbers, which costs no privacy:
they are computed from numbers that are released anyway. A mistake here could make an answer wrong, but not less
private.

A sum beside a mean of the same values is computed from the columns of the mean (`Prepared.instead`). With m the middle
of [low, high] and h half its length, noise of variance s^2 in a column that moves by 1 gives that sum the variance
(m^2 + h^2) s^2. A column of its own would have (|m| + h)^2 s^2, which is never less, and would make s larger.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from hush.tables.measure import Prepared, Total

__all__ = ["equal_columns", "in_other_forms", "shared_in_words"]


def equal_columns(measures: Iterable[Prepared]) -> dict[str, str]:
    """Columns that equal a column of an earlier aggregate, and that column."""
    totals: list[tuple[Prepared, Total]] = []
    histograms: list[Prepared] = []
    found = {}
    for measure in measures:
        for total in measure.totals:
            first = next((t for m, t in totals if m.same_column(t, measure, total)), None)
            if first is None:
                totals.append((measure, total))
            else:
                found[total.name] = first.name
        if measure.bins:
            same = next((other for other in histograms if other.same_bins(measure)), None)
            if same is None:
                histograms.append(measure)
            else:
                found |= dict(zip(measure.bin_columns, same.bin_columns, strict=True))
    return found


def in_other_forms(measures: Iterable[Prepared], apart: Collection[str]) -> tuple[Prepared, ...]:
    """Each aggregate in its other form, where other aggregates measure all columns of that form. Those in `apart` stay
    as they are, and no other one uses their columns: their bounds are still to be found.
    """
    given = tuple(measures)
    declared = [measure for measure in given if measure.name not in apart]

    def measured(form: Prepared, total: Total) -> bool:
        return any(m.same_column(t, form, total) for m in declared if m.name != form.name for t in m.totals)

    def settled(measure: Prepared) -> Prepared:
        form = measure.instead
        if form is None or measure.name in apart or not all(measured(form, total) for total in form.totals):
            return replace(measure, instead=None)
        return form

    return tuple(settled(measure) for measure in given)


def shared_in_words(measures: Iterable[Prepared], shared: Mapping[str, str]) -> list[str]:
    """Which answers share noisy columns, one sentence each; public."""
    users: dict[str, dict[str, None]] = {}  # column: its aggregates, in order
    words = []
    for measure in measures:
        name = measure.name if measure.shown else "the threshold"
        for column in (*(total.name for total in measure.totals), *measure.bin_columns):
            users.setdefault(shared.get(column, column), {})[name] = None
        if measure.one_source:
            words.append(f"the answers of {name} use the same noisy counts")
    columns: dict[tuple[str, ...], int] = {}
    for found in users.values():
        columns[tuple(found)] = columns.get(tuple(found), 0) + 1
    for names, number in columns.items():
        if len(names) == 1:
            continue
        listed = f"{', '.join(names[:-1])} and {names[-1]}"
        words.append(f"{listed} share {number} noisy column{'s' * (number > 1)}")
    return words
