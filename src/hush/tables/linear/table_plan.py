"""A workload over a table: its plan, its exact counts from the engine, and its answer with the table's own values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.calibration.extreme import extreme_budgets
from hush.errors import called_like
from hush.ledger.access import digest
from hush.privacy.charge import Budget
from hush.tables.description import TableDescription
from hush.tables.exact_aggregates import must_run
from hush.tables.linear.coding import CodedColumn, cells_of, counted_cells
from hush.tables.linear.grid_answer import GridAnswer
from hush.tables.linear.labelled import RangesAnswer, TablesAnswer
from hush.tables.question import rows_digest
from hush.tables.unchanging import Unchanging

if TYPE_CHECKING:
    from collections.abc import Callable

    from hush.ledger import Ledger
    from hush.workload.plan import WorkloadPlan

__all__ = ["TableWorkload", "TableWorkloadPlan"]


@dataclass(frozen=True)
class TableWorkload(Unchanging):
    """Many counts of a table. `plan(epsilon, delta)` chooses what is measured and with which noise."""

    table: TableDescription
    workload: Any
    columns: tuple[CodedColumn, ...]
    rows_per_unit: int

    @called_like("plan(epsilon=1.0, delta=1e-6)")
    def plan(self, epsilon: float, delta: float) -> TableWorkloadPlan:
        """The least noise for this budget, and the errors to expect. Nothing is spent."""
        asked = Budget.asked(epsilon, delta)
        self.table.access(None).allow(asked)
        with extreme_budgets(asked.epsilon, asked.delta):
            return TableWorkloadPlan(self, self.workload.plan(epsilon, delta, rows_per_person=self.rows_per_unit))

    @called_like("answer(epsilon=1.0, delta=1e-6, ledger=hush.Ledger('budget.ledger', epsilon=3.0, delta=1e-5))")
    def answer(self, epsilon: float, delta: float, *, ledger: Ledger | None, label: str = "") -> Any:
        """Spend the budget and answer: `plan(...)` and its `answer` in one call."""
        return self.plan(epsilon, delta).answer(ledger=ledger, label=label)

    def exact(self, *, salt: bytes | None = None) -> Any:
        """The exact counts, as the strategies measure them. They are not private."""
        return self.exact_of(counted_cells(self.table, self.columns, self.rows_per_unit, salt=salt))

    def exact_of(self, counted: Any) -> Any:
        """The same, from the expression that the engine runs."""
        from hush.workload.counts import from_cells

        places, counts = cells_of(self.table, self.columns, counted)
        if self.workload.by_attributes:
            return from_cells(places, counts, [column.size for column in self.columns])
        bins = np.bincount(places[:, 0], weights=counts, minlength=self.columns[0].size)
        return bins.astype(np.int64)


@dataclass(frozen=True, repr=False)
class TableWorkloadPlan(Unchanging):
    """The plan of a workload over a table. Nothing in it depends on the data.

    `rmse` is the root of the mean squared error of all counts, `variance` that of each count, `noise` the noise,
    `why` what was chosen and what else was compared. `answer(ledger=...)` spends and answers.
    """

    asked: TableWorkload
    plan: WorkloadPlan

    @property
    def rmse(self) -> float:
        """The root of the mean squared error of all counts."""
        return self.plan.rmse

    @property
    def mse(self) -> float:
        """The mean squared error of all counts."""
        return self.plan.mse

    @property
    def variance(self) -> Any:
        """The variance of each count, as the workload lists them."""
        return self.plan.variance

    @property
    def noise(self) -> Any:
        """The noise of the measured numbers."""
        return self.plan.noise

    @property
    def charges(self) -> list[Any]:
        """What a ledger is charged."""
        return self.plan.charges

    @property
    def why(self) -> str:
        """What was chosen, and what else was compared."""
        return self.plan.why

    @called_like("answer(ledger=hush.Ledger('budget.ledger', epsilon=3.0, delta=1e-5))")
    def answer(self, *, ledger: Ledger | None, label: str = "", account: str = "") -> Any:
        """Charge the ledger, count in the engine, and return the answer, which is kept before it is shown.
        `account` names a sub-account of the ledger.
        """
        return self.finished(ledger, label, account, lambda answer: answer)

    def finished(self, ledger: Ledger | None, label: str, account: str, finish: Callable[[Any], Any]) -> Any:
        """What `finish` makes of the answer; it is kept as it is shown."""
        from hush.workload.plan import answered

        asked, table = self.asked, self.asked.table
        access = table.access(ledger, label=label, account=account)
        access.check()
        counted = counted_cells(table, asked.columns, asked.rows_per_unit)
        must_run(table.source, counted)
        return answered(
            self.plan,
            lambda: self.plan.strategy.measured(asked.exact_of(counted)),
            access,
            self.question,
            about=_about(asked) | {"why": self.why},
            promised=_promised(asked),
            shown=lambda answer: finish(_labelled(asked.columns, answer)),
            in_memory=table.in_memory,
        )

    @property
    def question(self) -> str:
        """The digest of what is asked: the rows, the columns and the questions."""
        asked, table = self.asked, self.asked.table
        names = [column.name for column in asked.columns]
        rows = [sorted(root.words for root in table.roots), rows_digest(table, names), asked.rows_per_unit]
        columns = [[column.name, repr(column.values), repr(column.edges)] for column in asked.columns]
        return digest(self.plan.in_words, rows, columns)

    def __repr__(self) -> str:
        return repr(self.plan)


def _labelled(columns: tuple[CodedColumn, ...], answer: Any) -> Any:
    """The answer with the values and the edges of the table's columns; that of a tree has its own names already."""
    from hush.workload import BoxesAnswer, LineAnswer, MarginalsAnswer

    if isinstance(answer, MarginalsAnswer):
        return TablesAnswer(answer, {column.name: column.values for column in columns})
    if isinstance(answer, BoxesAnswer):
        return GridAnswer(answer, columns)
    return RangesAnswer(answer, columns[0].name, columns[0].edges) if isinstance(answer, LineAnswer) else answer


def _promised(asked: TableWorkload) -> dict[str, Any]:
    """Who is protected, and with how many rows a person counts."""
    return {"unit": asked.table.whose.words, "groups_per_unit": asked.rows_per_unit}


def _about(asked: TableWorkload) -> dict[str, Any]:
    """What a receipt says about the table."""
    table = asked.table
    return {
        "source": table.fingerprint,
        "unit": table.whose.words,
        "engine": table.engine,
        "filters": list(table.filters),
        "columns": {column.name: column.size for column in asked.columns},
        "bounds": [f"at most {asked.rows_per_unit} rows for each {table.whose.words} in the whole table"],
        "unmeasured": _unmeasured(asked),
        "threshold": None,
        "level": 0.95,
    }


def _unmeasured(asked: TableWorkload) -> list[str]:
    """What the limit leaves out, in words; empty where it can leave nothing out."""
    if asked.table.person is None or asked.table.one_row:
        return []
    most = asked.rows_per_unit
    return [f"rows of a person beyond {most} in the whole table do not count, so a count of all rows may be larger"]
