"""What a query would cost and give, before anything is spent."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.errors import HushError, InvalidParameter, called_like, must_be_level, whole
from hush.ledger.entry import text_of
from hush.ledger.refusal import must_be_ledger
from hush.releasing.receipt import Receipt
from hush.tables.answer import Answer
from hush.tables.chart import text_table, wrapped
from hush.tables.column_noise import Shares, Spending, spending
from hush.tables.contribution import Reach
from hush.tables.execution import Request
from hush.tables.left_out import limits_in_words
from hush.tables.measure import Prepared
from hush.tables.noise_sum import MOST_LEVEL
from hush.tables.uncertainty import interval

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.tables.query import Query

__all__ = ["QueryPlan"]

_KEYS = 5  # of a public list, as many are shown
_QUICK = ("laplace", "gaussian", "asinh")  # families that calibrate fast


@dataclass(frozen=True)
class QueryPlan:
    """The noise chosen for a query, the error to expect of each answer, and how it would change with the bounds.

    Nothing in it depends on the data: it may be shown to anyone. `plan.answer(ledger=...)` spends and answers.
    """

    query: Query
    spent: Spending
    options: Mapping[str, Any]
    #: the whole budget, and what of it goes to finding bounds and to measuring what the limits leave out
    shares: Shares

    @property
    def why(self) -> str:
        """The chosen family, and what the others would cost."""
        return self.spent.plan.why

    def errors(self, rows: int = 1000) -> dict[str, float]:
        """Half the width of each answer's 95 % noise interval, for a group in which `rows` rows count (means depend
        on it, counts do not).
        """
        rows = whole("rows", rows, 1, "write errors(rows=1000)")
        return {
            measure.name: self._error(measure, rows)
            for measure in self.query.measures
            if not measure.name.startswith(".")
        }

    def _error(self, measure: Prepared, rows: int) -> float:
        columns = {name: np.zeros(1) for part in measure.parts for name in part.columns}
        for name in columns:
            if name.endswith(".count"):
                columns[name] = np.full(1, float(rows))
            elif name in measure.bin_columns:
                columns[name] = np.full(1, rows / measure.bins)
        low, high = interval(measure, columns, self.spent.mechanisms, 0.95)
        return float(np.max(high - low)) / 2.0

    def what_if(self) -> list[dict[str, Any]]:
        """How all errors would change with groups_per_unit, as multiples of the present ones. With the family that
        was asked for; where none was, with the best of a few that are quick to calibrate, so another may be a little
        better still.
        """
        reach, now = self.spent.reach, self.spent.plan.variance
        rows = []
        for groups in sorted({max(1, reach.groups // 2), reach.groups, reach.groups * 2, reach.groups * 4}):
            other = self._spending(replace(reach, groups=groups))
            if other is not None:
                rows.append(
                    {
                        "groups_per_unit": groups,
                        "error": float(np.sqrt(other.plan.variance / now)),
                        "threshold": other.threshold,
                    }
                )
        return rows

    def _spending(self, reach: Reach) -> Spending | None:
        spent, asked = self.spent, self.shares.family
        if reach == spent.reach:
            return spent
        share = spent.key_delta / spent.delta if spent.units is not None else 0.1
        found = []
        for family in (asked,) if asked is not None else dict.fromkeys((spent.plan.family, *_QUICK)):
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
        level = must_be_level(level, MOST_LEVEL)
        text_of("label", label)
        if not callable(progress):
            raise InvalidParameter(
                f"progress must be a function of a text, got {progress!r}; leave it out, or write progress=print."
            )
        return Request(self.query, self.spent, self.options, self.shares, ledger, label, level, progress)

    @called_like("answer(ledger=hush.Ledger('budget.ledger', epsilon=3.0, delta=1e-5))")
    def answer(
        self,
        *,
        ledger: Ledger | None,
        label: str = "",
        level: float = 0.95,
        progress: Callable[[str], None] = lambda text: None,
    ) -> Answer:
        """Spend, run, add noise."""
        return self._request(ledger, label, level, progress).answer()

    @called_like("write('answer.parquet', ledger=hush.Ledger('budget.ledger', epsilon=3.0, delta=1e-5))")
    def write(
        self,
        path: str | os.PathLike[str],
        *,
        ledger: Ledger | None,
        label: str = "",
        level: float = 0.95,
        progress: Callable[[str], None] = lambda text: None,
    ) -> Receipt:
        """The answer to a Parquet file, never whole in memory; on Spark private groups get their noise on the
        executors, and the file is a folder. Returns the receipt. The charge comes first here: a failure on the way
        wastes it.
        """
        return self._request(ledger, label, level, progress).write(path)

    def __repr__(self) -> str:
        return self.described()

    def described(self, *, rows: int = 1000) -> str:
        """The plan in words and tables, with errors for a group in which `rows` rows count."""
        spent, shares, query = self.spent, self.shares, self.query
        pair = f"(epsilon, delta) = ({shares.epsilon:.6g}, {shares.delta:.6g})"
        lines = [
            f"{pair} for each {query.table.unit}, at most {spent.reach.groups} group{'s' * (spent.reach.groups > 1)}"
        ]
        lines += wrapped(self.why)
        if query.table.filters:
            lines += wrapped("rows: only where " + ", and ".join(query.table.filters), hang=6)
        if query.grouping.names and query.grouping.keys is not None:
            lines += wrapped(f"groups: {_listed(query.grouping.names, query.grouping.keys)}", hang=8)
        sought = {measure.name for measure in query.search.measures} if query.search else set()
        errors = self.errors(rows)
        table = [
            [
                measure.name,
                f"+-{errors[measure.name]:.4g}",
                f"{measure.name}: found privately; error per unit of range"
                if measure.name in sought
                else measure.bounds_text,
            ]
            for measure in query.measures
            if measure.name in errors
        ]
        lines += ["", *text_table(["answer", f"95 % error, group of {rows} rows", "bounds"], table, [])]
        lines += ["", *wrapped("errors are of noise only" + "".join(f"; {words}" for words in limits_in_words(query)))]
        if shares.limits is not None:
            part = shares.limits.epsilon / shares.epsilon
            lines += wrapped(
                f"{100.0 * part:.2g} % of the budget measures how much the limits leave out (limits_share=0 switches it off)"
            )
        if spent.threshold is not None:
            failure = f"(failure {spent.key_delta:.3g}, part of delta)"
            lines += ["", f"private keys: a group is shown from {spent.threshold:.4g} noisy units on {failure}"]
        return "\n".join([*lines, "", *self._alternatives()])

    def _alternatives(self) -> list[str]:
        """How errors change with the bounds."""
        heads = ["groups per unit", "error"] + ["key threshold"] * (self.spent.threshold is not None)
        rows = [
            [
                str(row["groups_per_unit"]),
                f"x {row['error']:.3g}",
                "" if row["threshold"] is None else f"{row['threshold']:.4g}",
            ]
            for row in self.what_if()
        ]
        last = "halving the range of low and high halves the error of sums and means, and clips more"
        return [*text_table(heads, [row[: len(heads)] for row in rows], []), last]


def _listed(names: Sequence[str], keys: Sequence[Sequence[Any]]) -> str:
    """The first few keys, each as it was read, and how many there are."""
    shown = [repr(key[0]) if len(key) == 1 else repr(tuple(key)) for key in keys[:_KEYS]]
    more = f", and {len(keys) - _KEYS} more" if len(keys) > _KEYS else ""
    return f"{', '.join(names)} = {', '.join(shown)}{more} ({len(keys)} listed)"
