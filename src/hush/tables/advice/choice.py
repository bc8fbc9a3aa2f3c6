"""The limits with the least expected error: noise grows with a limit, what is left out shrinks.

The error of a number is its noise plus the part of the truth that the limits leave out. For each pair of limits the
noise follows from the budget, the better of Laplace and Gaussian noise standing for all families. What is left out
follows from the noisy histogram of people. Sizes of groups are not known: the k-th of all groups is taken to have a
share proportional to 1/k (Zipf's law). Private groups below the threshold lose all of their rows.

Nothing here sees data: the inputs are public facts and released numbers.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hush.numerics import special
from hush.tables.advice.people import ENDS, People
from hush.tables.column_noise import Spending
from hush.tables.description import QueryDescription

__all__ = ["Candidate", "best", "expected", "ladder"]

_MANY = 2000  # groups that are added up one by one; later ones are taken in steps


@dataclass(frozen=True)
class Candidate:
    """Limits, and the errors to expect with them, added up over all groups and all answers in rows (or people)."""

    groups_per_unit: int
    rows_per_unit: int | None
    #: the standard deviation of the noise in a group, in rows
    noise: float
    #: the share of all rows (or people, where people are counted) that the limits leave out
    left_out: float
    #: the expected sum of absolute errors over groups
    error: float
    #: the same if nothing were left out: the part of the noise
    of_noise: float = 0.0


def ladder(most: int) -> list[int]:
    """Limits to compare, at most `most`: the ends of the bins, and `most` itself."""
    return [*(end for end in ENDS if end < most), most]


def best(found: Iterable[Candidate]) -> Candidate:
    """The candidate with the least error; of equal ones the smallest limits."""
    return min(found, key=lambda c: (c.error, c.groups_per_unit, c.rows_per_unit or 0))


def expected(
    query: QueryDescription, spent: Spending, people: People, limits: tuple[int, int | None], by_rows: Collection[str]
) -> Candidate:
    """The errors to expect of a query with these limits on groups and rows and with this noise. The aggregates in
    `by_rows` count rows, also where the limit is one row.
    """
    groups, rows = limits
    errors, of_noise, noises, shares = [], [], [], []
    for measure in query.shown:
        column = measure.totals[0].name if measure.totals else measure.bin_columns[0]
        one_row = measure.rows is None or (measure.counts_people and measure.name not in by_rows)
        all_of, counted = (
            (people.pairs(), people.pairs(groups))
            if one_row
            else (people.counted_rows(), people.counted_rows(groups, measure.rows or 1))
        )
        law = spent.mechanisms[column]
        most = spent.reach.linf[column] / (1 if one_row else measure.rows or 1)  # what one row can add
        noise = math.sqrt(float(np.asarray(law.noise.variance))) / most
        bins = max(measure.bins, 1)
        sizes, weights = _sizes(all_of / bins, query.sensitivity.listed)
        left_out = 1.0 - counted / all_of if all_of else 0.0
        errors.append(bins * _sum_of_errors(sizes, weights, noise, left_out, spent.threshold))
        of_noise.append(bins * _sum_of_errors(sizes, weights, noise, 0.0, None))
        noises.append(noise)
        shares.append(left_out)
    total, alone = float(np.sum(errors)), float(np.sum(of_noise))
    return Candidate(groups, rows, float(np.mean(noises)), float(np.max(shares)), total, min(alone, total))


def _sizes(total: float, listed: int | None) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Sizes of groups by Zipf's law that add up to `total`, and how many groups each size stands for. Without a list
    of groups the smallest has one row.
    """
    count = listed if listed is not None else max(int(total / math.log(total + math.e)), 1)
    ranks = np.arange(1.0, min(count, _MANY) + 1.0)
    weights = np.ones_like(ranks)
    if count > _MANY:
        ends = np.unique(np.round(np.geomspace(_MANY, count, 200)))
        ranks = np.concatenate([ranks, np.sqrt(ends[:-1] * ends[1:])])
        weights = np.concatenate([weights, np.diff(ends)])
    shares = 1.0 / ranks
    return total * shares / float(np.sum(shares * weights)), weights


def _sum_of_errors(
    sizes: NDArray[np.float64], weights: NDArray[np.float64], noise: float, left_out: float, threshold: float | None
) -> float:
    """The sum over groups of E|noise - what is left out|, with normal noise; the whole size where a group is hidden."""
    bias = sizes * left_out
    if noise > 0.0:
        z = bias / noise
        errors = noise * math.sqrt(2.0 / math.pi) * np.exp(-z * z / 2.0) + bias * (2.0 * special.ndtr(z) - 1.0)
    else:
        errors = bias
    if threshold is not None:
        errors = np.where(sizes - bias >= threshold, errors, sizes)
    return float(np.sum(errors * weights))
