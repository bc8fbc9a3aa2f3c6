"""A workload over a table: its plan, its exact counts from the engine, and its answer with the table's own values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.calibration.extreme import extreme_budgets
from hush.errors import called_like
from hush.ledger.refusal import must_be_ledger
from hush.privacy.charge import Budget
from hush.tables.description import TableDescription
from hush.tables.linear.coding import CodedColumn, counted_cells
from hush.tables.linear.grid_answer import GridAnswer
from hush.tables.linear.labelled import RangesAnswer, TablesAnswer
from hush.tables.policy.limits import must_be_allowed, must_charge

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.workload.plan import WorkloadPlan

__all__ = ["TableWorkload", "TableWorkloadPlan"]


@dataclass(frozen=True)
class TableWorkload:
    """Many counts of a table. `plan(epsilon, delta)` chooses what is measured and with which noise."""

    table: TableDescription
    workload: Any
    columns: tuple[CodedColumn, ...]
    rows_per_unit: int

    @called_like("plan(epsilon=1.0, delta=1e-6)")
    def plan(self, epsilon: float, delta: float) -> TableWorkloadPlan:
        """The least noise for this budget, and the errors to expect. Nothing is spent."""
        asked = Budget.asked(epsilon, delta)
        must_be_allowed(self.table.rule, asked.epsilon, asked.delta)
        with extreme_budgets(asked.epsilon, asked.delta):
            return TableWorkloadPlan(self, self.workload.plan(epsilon, delta, rows_per_person=self.rows_per_unit))

    @called_like("answer(epsilon=1.0, delta=1e-6, ledger=hush.Ledger('budget.ledger', epsilon=3.0, delta=1e-5))")
    def answer(self, epsilon: float, delta: float, *, ledger: Ledger | None, label: str = "") -> Any:
        """Spend the budget and answer: `plan(...)` and its `answer` in one call."""
        return self.plan(epsilon, delta).answer(ledger=ledger, label=label)

    def exact(self, *, salt: bytes | None = None) -> Any:
        """The exact counts, as the strategies measure them. They are not private."""
        from hush.workload.counts import from_cells

        places, counts = counted_cells(self.table, self.columns, self.rows_per_unit, salt=salt)
        if self.workload.by_attributes:
            return from_cells(places, counts, [column.size for column in self.columns])
        bins = np.bincount(places[:, 0], weights=counts, minlength=self.columns[0].size)
        return bins.astype(np.int64)


@dataclass(frozen=True, repr=False)
class TableWorkloadPlan:
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
        """Count in the engine, charge the ledger, and return the answer. A failure of the engine spends nothing.
        `account` names a sub-account of the ledger.
        """
        from hush.workload.plan import released

        asked, table = self.asked, self.asked.table
        must_be_ledger(ledger)
        must_charge(table.rule, ledger)
        if ledger is not None:
            ledger.must_protect(table.fingerprint)
        steps = self.plan.strategy.measured(asked.exact())
        noisy, receipt = released(
            self.plan,
            steps,
            ledger=ledger,
            label=label,
            source=table.fingerprint,
            about=_about(asked),
            account=account,
        )
        receipt = receipt | {"guarantee": {**receipt["guarantee"], **_promised(asked)}, "why": self.why}
        answer = asked.workload.answer_of(self.plan, self.plan.strategy.estimated(noisy), receipt)
        return _labelled(asked.columns, answer)

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
