"""The effect of lost parties on a sum of shares: its error and its true epsilon."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.errors import as_float, called_like, each, reject, whole
from hush.federated.noise_share import Share, share
from hush.federated.stable import one_delta
from hush.noise.contract import Noise
from hush.numerics.rounding import rounded_up
from hush.releasing.text import text_table
from hush.sampling.entropy import Entropy

__all__ = ["Dropout", "DropoutTable", "dropout"]

_GONE = "write gone=(0.0, 0.1, 0.3)"


@dataclass(frozen=True)
class Dropout:
    """One case: a fraction `gone` of the parties is lost, and the shares were planned for `honest` parties.

    `epsilon` is the planned epsilon, `true_epsilon` the epsilon of the noise of the parties that answered. `error` is
    the median |noise| of the sum by its law, `measured` the median of `runs` simulated sums (nan if runs = 0).
    """

    gone: float
    answering: int
    honest: int
    planned: bool
    epsilon: float
    true_epsilon: float
    error: float
    measured: float

    @property
    def kept(self) -> bool:
        """Whether the true epsilon is at most the planned one."""
        return self.true_epsilon <= self.epsilon


@dataclass(frozen=True)
class DropoutTable:
    """A list of `Dropout` cases; `str` formats it as a table."""

    noise: Noise
    parties: int
    delta: float
    rows: tuple[Dropout, ...]

    def __str__(self) -> str:
        head = f"{self.parties} parties, {type(self.noise).__name__} shares, delta {self.delta:g}"
        heads = ("gone", "plan", "answering", "planned", "true epsilon", "median error", "measured")
        rows = [
            (
                f"{100 * row.gone:.0f}%",
                f"for {row.honest} of {self.parties}",
                str(row.answering),
                f"{row.epsilon:.4g}",
                rounded_up(row.true_epsilon, 4) + ("" if row.kept else " !"),
                f"{row.error:.4g}",
                f"{row.measured:.4g}",
            )
            for row in self.rows
        ]
        return "\n".join([head, *text_table(heads, rows, right=range(len(heads)))])


@called_like("dropout(noise, 100, delta=0.0)")
def dropout(
    noise: Noise,
    parties: int,
    *,
    delta: float,
    sensitivity: Any = 1.0,
    gone: Iterable[float] = (0.0, 0.1, 0.3),
    runs: int = 0,
    entropy: Entropy | None = None,
) -> DropoutTable:
    """The error and the true epsilon of a sum when parties are lost, with and without a plan for the worst case.

    gone: the fractions of parties that are lost. Without a plan (honest = parties) the noise is least if all parties
    answer, but each lost party removes its share of the noise, and the true epsilon exceeds the planned one. A plan
    for the worst case (honest = the parties that remain then) keeps epsilon in all cases, but adds more noise if all
    parties answer.

    Guarantees: both epsilons are upper bounds (hush.federated.Share.central).

    >>> from hush import Stable
    >>> table = dropout(Stable(1.5, 2.0), 100, delta=0.0)
    >>> [row.kept for row in table.rows]
    [True, False, False, True, True, True]
    """
    count, share_of = whole("parties", parties), one_delta(delta)
    parts = _parts(gone)
    left = {part: count - math.ceil(part * count - 1e-9) for part in parts}  # in floats, 0.07 * 100 > 7
    worst = min(left.values())
    if worst < 1:
        raise reject("gone", parts[-1], "a fraction that leaves at least one party", _GONE)
    plans = [(False, share(noise, count))] + ([(True, share(noise, count, honest=worst))] if worst < count else [])
    rows = [
        _row(plan, planned, part, left[part], share_of, sensitivity, runs, entropy)
        for planned, plan in plans
        for part in parts
    ]
    return DropoutTable(noise, count, share_of, tuple(rows))


def _parts(gone: Any) -> list[float]:
    try:
        parts = sorted(set(each(_part, "gone", gone, instead=_GONE)))
    except TypeError:
        parts = []
    if not parts:
        raise reject("gone", gone, "a list with at least one fraction", _GONE)
    return parts


def _part(name: str, value: Any) -> float:
    allowed = "a list of fractions from 0 to below 1"
    part = as_float(name, value, allowed)
    if not 0.0 <= part < 1.0:
        raise reject(name, value, allowed)
    return part


def _row(
    plan: Share,
    planned: bool,
    part: float,
    answering: int,
    delta: float,
    sensitivity: Any,
    runs: int,
    entropy: Entropy | None,
) -> Dropout:
    promised, true = (
        float(np.asarray(plan.central(sensitivity, answering=m).epsilon(delta))) for m in (plan.honest, answering)
    )
    error = float(np.asarray(plan.sum_of(answering).marginal.isf(0.25)))
    return Dropout(
        part, answering, plan.honest, planned, promised, true, error, _measured(plan, answering, runs, entropy)
    )


def _measured(plan: Share, answering: int, runs: int, entropy: Entropy | None) -> float:
    """The median |sum| of simulated sums of shares, each drawn on a fine lattice."""
    if runs == 0:
        return math.nan
    step = math.ldexp(1.0, math.frexp(float(np.asarray(plan.noise.marginal.isf(0.25))) / 256.0)[1])
    sums = plan.draw(whole("runs", runs), step, entropy=entropy)
    for _ in range(answering - 1):
        sums += plan.draw(len(sums), step, entropy=entropy)
    return float(np.median(np.abs(sums))) * step
