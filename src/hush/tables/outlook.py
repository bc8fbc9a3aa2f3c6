"""What a query would cost and give, before anything is spent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.errors import HushError, whole
from hush.ledger.refusal import must_be_ledger
from hush.tables.answer import Answer
from hush.tables.chart import text_table
from hush.tables.measure import Prepared
from hush.tables.reach import Reach
from hush.tables.run import Request
from hush.tables.spending import Spending, spending
from hush.tables.uncertainty import interval

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.tables.query import Query

__all__ = ["QueryPlan"]


@dataclass(frozen=True)
class QueryPlan:
    """The noise chosen for a query, the error to expect of each answer, and how it would change with the bounds.

    Nothing in it depends on the data: it may be shown to anyone. `plan.answer(ledger=...)` spends and answers.
    """

    query: Query
    spent: Spending
    options: Mapping[str, Any]
    #: the part of the budget that finds bounds, if any are to be found
    for_bounds: Spending | None = None

    @property
    def why(self) -> str:
        """The chosen family, and what the others would cost."""
        return self.spent.plan.why

    def errors(self, rows: int = 1000) -> dict[str, float]:
        """Half the width of each answer's 95 % interval, for a group in which `rows` rows count (means depend on it, counts do not)."""
        rows = whole("rows", rows, 1, "write errors(rows=1000)")
        return {measure.name: self._error(measure, rows) for measure in self.query.measures if not measure.name.startswith(".")}

    def _error(self, measure: Prepared, rows: int) -> float:
        columns = {name: np.zeros(1) for part in measure.parts for name in part.columns}
        for name in columns:
            if name.endswith(".count"):
                columns[name] = np.full(1, float(rows))
            elif name in measure.bin_columns:
                columns[name] = np.full(1, rows / measure.bins + 1e9 * (measure.kind == "histogram"))  # far from 0, where ends are cut
            elif measure.kind in ("count", "count_units"):
                columns[name] = np.full(1, 1e9)
        low, high = interval(measure, columns, self.spent.mechanisms, 0.95)
        return float(np.max(high - low)) / 2.0

    def what_if(self) -> list[dict[str, Any]]:
        """How all errors would change with groups_per_unit, as multiples of the present ones."""
        reach, now = self.spent.reach, self.spent.plan.variance
        rows = []
        for groups in sorted({max(1, reach.groups // 2), reach.groups, reach.groups * 2, reach.groups * 4}):
            other = self._spending(replace(reach, groups=groups))
            if other is not None:
                rows.append({"groups_per_unit": groups, "error": float(np.sqrt(other.plan.variance / now)), "threshold": other.threshold})
        return rows

    def _spending(self, reach: Reach) -> Spending | None:
        if reach == self.spent.reach:
            return self.spent
        spent = self.spent
        share = spent.key_delta / spent.delta if spent.units is not None else 0.1
        found = []
        for family in dict.fromkeys(
            (spent.plan.family, "gaussian", "asinh")
        ):  # quick, and the best of them is never far from the best of all
            try:
                found.append(
                    spending(
                        reach,
                        spent.epsilon,
                        spent.delta,
                        weights=spent.weights,
                        family=family,
                        units=spent.units,
                        key_share=share,
                        shared=spent.shared,
                    )
                )
            except HushError:
                continue
        return min(found, key=lambda other: other.plan.variance, default=None)

    def _request(self, ledger: Ledger | None, label: str, level: float, progress: Callable[[str], None]) -> Request:
        must_be_ledger(ledger)
        return Request(self.query, self.spent, self.options, self.for_bounds, ledger, label, level, progress)

    def answer(
        self, *, ledger: Ledger | None, label: str = "", level: float = 0.95, progress: Callable[[str], None] = lambda text: None
    ) -> Answer:
        """Spend, run, add noise."""
        return self._request(ledger, label, level, progress).answer()

    def write(
        self,
        path: str | os.PathLike[str],
        *,
        ledger: Ledger | None,
        label: str = "",
        level: float = 0.95,
        progress: Callable[[str], None] = lambda text: None,
    ) -> dict[str, Any]:
        """The answer to a Parquet file, never whole in memory; on Spark private groups get their noise on the executors, and the file is
        a folder. Returns the receipt. The charge comes first here: a failure on the way wastes it."""
        return self._request(ledger, label, level, progress).write(path)

    def __repr__(self) -> str:
        spent, rows = self.spent, 1000
        extra = self.for_bounds
        epsilon, delta = spent.epsilon + (extra.epsilon if extra else 0.0), spent.delta + (extra.delta if extra else 0.0)
        pair = f"(epsilon, delta) = ({epsilon:.6g}, {delta:.6g})"
        head = f"{pair} for each {self.query.table.unit}, at most {spent.reach.groups} group{'s' * (spent.reach.groups > 1)}"
        errors = [[name, f"+-{error:.4g}"] for name, error in self.errors(rows).items()]
        sought = {measure.name for measure in self.query.search.measures} if self.query.search else set()
        bounds = [
            [f"{measure.name}: found privately; error per unit of range" if measure.name in sought else measure.bounds_text]
            for measure in self.query.measures
            if not measure.name.startswith(".")
        ]
        lines = [head, self.why, ""]
        lines += text_table(
            ["answer", f"95 % error, group of {rows} rows", "bounds"], [a + b for a, b in zip(errors, bounds, strict=True)], []
        )
        if spent.threshold is not None:
            lines += [
                "",
                f"private keys: a group is shown from {spent.threshold:.4g} noisy units on (failure {spent.key_delta:.3g}, part of delta)",
            ]
        table = [
            [str(row["groups_per_unit"]), f"x {row['error']:.3g}", "" if row["threshold"] is None else f"{row['threshold']:.4g}"]
            for row in self.what_if()
        ]
        lines += [
            "",
            *text_table(
                ["groups per unit", "error", "key threshold"][: 3 if spent.threshold is not None else 2],
                [r[: 3 if spent.threshold is not None else 2] for r in table],
                [],
            ),
        ]
        lines += ["halving the range of low and high halves the error of sums and means, and clips more"]
        return "\n".join(lines)
