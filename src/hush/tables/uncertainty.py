"""Intervals for answers made of several noisy columns.

A count or a sum has the interval of its own noise. A mean or a variance is a function of several noisy columns: its interval
is found by taking fresh noise of the same law off the released columns, many times over, and reading off the middle share of what the
function gives. That uses released numbers and public parameters only, so it costs no privacy. It holds the truth as often as it says
where the function is nearly linear over the noise, and widens to the declared bounds where the count is lost in its noise.

A quantile is far from linear, but the test whether it is at a value is: that asks whether the rows up to the value, less q times all rows,
are negative. The interval holds all values that the test, at the level asked for, does not rule out; the law of its noise is found by
drawing it. It holds the quantile of the clipped rows at least as often as it says, whatever the rows are.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.mechanism import Mechanism
from hush.noise.lattice import Lattice
from hush.release import Error
from hush.sampling.exact import draw
from hush.tables.aggregate import Quantiles
from hush.tables.measure import Prepared

__all__ = ["interval", "is_linear"]

Array = NDArray[np.float64]
_LINEAR = ("count", "count_units", "sum", "histogram")
_CELLS = 4_000_000  # noise draws to hold at a time
_COPIES = 4000  # of a histogram's noise: they tell the level to a third of a percent


def is_linear(measure: Prepared) -> bool:
    """Is the answer one noisy column, times a constant?"""
    return measure.kind in _LINEAR


def interval(measure: Prepared, columns: Mapping[str, Any], mechanisms: Mapping[str, Mechanism], level: float) -> tuple[Array, Array]:
    """Lower and upper ends of the answer of each group, from its released columns."""
    own = {name: np.asarray(columns[name], dtype=np.float64) for name in _names(measure)}
    if is_linear(measure):
        widths = {name: Error(mechanisms[name].noise, mechanisms[name].step, rounded=False).half_width(level) for name in own}
        low = measure.answer({name: value - widths[name] for name, value in own.items()})
        high = measure.answer({name: value + widths[name] for name, value in own.items()})
        return low, high  # never cut at 0: a noisy -3 would lie outside its own [0, 0]
    if isinstance(measure.answer, Quantiles):
        return measure.answer.ends_where(measure.answer.counts(own), _reach(measure.answer, mechanisms, level))
    groups = next(iter(own.values())).size
    copies = int(np.clip(_CELLS // max(groups * len(own), 1), 200, 2000))
    block = max(1, _CELLS // (copies * len(own)))
    ends = [_resampled({n: v[i : i + block] for n, v in own.items()}, measure, mechanisms, level, copies) for i in range(0, groups, block)]
    return np.concatenate([low for low, _ in ends]), np.concatenate([high for _, high in ends])


def _names(measure: Prepared) -> list[str]:
    return [column for part in measure.parts for column in part.columns]


def _reach(quantiles: Quantiles, mechanisms: Mapping[str, Mechanism], level: float) -> Array:
    """How far noise moves the excess of each bin, up or down, with this probability. It does not depend on the data."""
    made = mechanisms[quantiles.names[0]]  # the bins of a histogram have one law
    step = _coarse(made)
    noise = draw(made.noise, (_COPIES, len(quantiles.names)), step) * step
    moved = np.abs(quantiles.excess(np.asarray(noise, np.float64)))  # noise is symmetric
    return np.asarray(np.quantile(moved, level, axis=0, method="higher")) * (1.0 + 1e-9) + 1e-9


def _resampled(
    own: Mapping[str, Array], measure: Prepared, mechanisms: Mapping[str, Mechanism], level: float, copies: int
) -> tuple[Array, Array]:
    moved = {}
    for name, value in own.items():
        made, step = mechanisms[name], _coarse(mechanisms[name])
        moved[name] = value - draw(made.noise, (copies, value.size), step) * step
    answers = measure.answer(moved)
    outside = 0.5 * (1.0 - level)
    low, high = np.quantile(answers, [outside, 1.0 - outside], axis=0, method="weibull")  # the share beyond an end is right on average
    return low, high


def _coarse(made: Mechanism) -> float:
    """A step that shows what the noise does. The step of a release may be a billionth of its noise, and exact draws on it take long."""
    if isinstance(made.noise, Lattice):
        return made.step
    return max(made.step, float(2.0 ** np.floor(np.log2(np.asarray(made.noise.isf(0.25)) / 64.0))))
