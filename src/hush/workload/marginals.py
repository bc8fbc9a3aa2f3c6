"""`Marginals`: contingency tables of some attributes, such as all tables of two attributes."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import combinations
from typing import Any, ClassVar

import numpy as np

from hush.errors import InvalidParameter, Unsupported, called_like, made_like, one_of, positive, shown, whole
from hush.privacy.charge import Budget
from hush.releasing.receipt import Receipt
from hush.workload.counts import Counts, from_histogram, from_records, from_tables
from hush.workload.measured_tables import measured_tables
from hush.workload.one_way import one_way
from hush.workload.plan import WorkloadPlan, chosen
from hush.workload.residual import Subset, cell_variance, parts_of
from hush.workload.residual_noise import residual_noise
from hush.workload.table_answer import MarginalsAnswer
from hush.workload.table_strategy import TableStrategy, TableTask

__all__ = ["Marginals"]

_WEIGHTS = ("cells", "tables", "worst")
_EXAMPLE = 'Marginals({"sex": 2, "age": 10, "ward": 5}, order=2)'


@made_like(_EXAMPLE)
@dataclass(frozen=True, repr=False)
class Marginals:
    """Tables of counts by attributes. `domain` gives the number of values of each attribute, as a public fact.

    order=2 asks for all tables of two attributes, order=(1, 2) for those of one and of two, and `tables` lists
    attributes instead: tables=[("sex", "age"), ("ward",), ()]. A person is in exactly one cell of each table, so an
    unknown value needs a cell of its own.

    `weights` says which error is the least: "cells", the mean squared error of all cells; "tables", the mean over the
    tables of the mean squared error of their cells; "worst", the largest variance of a cell; or a weight for the cells
    of each table, {("sex", "age"): 1.0, ("ward",): 4.0}.

    >>> plan = Marginals({"sex": 2, "age": 10, "ward": 5}, order=2).plan(1.0, 1e-6)
    >>> round(plan.rmse, 2)
    2.63
    """

    domain: Mapping[str, int]
    order: int | Sequence[int] | None = None
    tables: Sequence[Sequence[str]] | None = None
    weights: str | Mapping[Any, float] = "cells"
    #: Are the counts those of cells of several attributes?
    by_attributes: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not isinstance(self.domain, Mapping) or not self.domain:
            raise InvalidParameter(f"domain must give the number of values of each attribute; write {_EXAMPLE}.")
        sizes = {str(name): whole("domain", size, 1, f"write {_EXAMPLE}") for name, size in self.domain.items()}
        object.__setattr__(self, "domain", sizes)
        if (self.order is None) == (self.tables is None):
            raise InvalidParameter(f"give either order or tables; write {_EXAMPLE}.")
        if isinstance(self.weights, str):
            one_of("weights", self.weights, _WEIGHTS)
        elif set(self._weights_by_table) - set(self.asked):
            raise InvalidParameter("weights names a table that is not asked for.")
        _ = self.asked

    # -- the questions ---------------------------------------------------------------------------------------

    @property
    def names(self) -> tuple[str, ...]:
        """The attributes."""
        return tuple(self.domain)

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of values of each attribute."""
        return tuple(self.domain.values())

    @cached_property
    def asked(self) -> tuple[Subset, ...]:
        """The tables that are asked for, by the places of their attributes."""
        if self.tables is not None:
            found = [self.place(table) for table in self.tables]
        else:
            orders = self.order if isinstance(self.order, Iterable) else [self.order]
            each = [whole("order", size, 0, f"write {_EXAMPLE}") for size in orders]
            if max(each, default=0) > len(self.domain):
                raise InvalidParameter(f"order must be at most {len(self.domain)}, the number of attributes.")
            found = [subset for size in sorted(set(each)) for subset in combinations(range(len(self.domain)), size)]
        if not found:
            raise InvalidParameter(f"the workload asks for no table; write {_EXAMPLE}.")
        return tuple(dict.fromkeys(found))

    def place(self, table: str | Sequence[str]) -> Subset:
        """The places of named attributes, in the order of the domain."""
        names = (table,) if isinstance(table, str) else tuple(table)
        unknown = [name for name in names if name not in self.domain]
        if unknown or len(set(names)) != len(names):
            raise InvalidParameter(
                f"a table lists different attributes of {shown(list(self.names))}, got {shown(list(names))}."
            )
        return tuple(sorted(self.names.index(name) for name in names))

    @property
    def questions(self) -> int:
        """The number of cells of all tables."""
        return sum(self.cells(table) for table in self.asked)

    def cells(self, table: Subset) -> int:
        """The number of cells of a table."""
        return math.prod(self.sizes[i] for i in table)

    @property
    def _weights_by_table(self) -> dict[Subset, float]:
        assert not isinstance(self.weights, str)
        return {self.place(table): positive("weights", weight) for table, weight in self.weights.items()}

    @property
    def objective(self) -> str:
        """What the plan minimises, in words."""
        words = {
            "cells": "mean squared error of all cells",
            "tables": "mean over the tables of the mean squared error of their cells",
            "worst": "largest variance of a cell",
        }
        return words[self.weights] if isinstance(self.weights, str) else "weighted mean squared error of the cells"

    @cached_property
    def task(self) -> TableTask:
        """The tables with the weight of their cells, for the strategies."""
        given = {} if isinstance(self.weights, str) else self._weights_by_table
        if self.weights == "tables":
            given = {table: 1.0 / self.cells(table) for table in self.asked}
        weights = {table: given.get(table, 1.0) for table in self.asked}
        return TableTask(self.sizes, self.asked, weights, worst=self.weights == "worst")

    # -- planning and answering ------------------------------------------------------------------------------

    @called_like('Marginals({"sex": 2, "age": 10}, order=1).plan(1.0, 1e-6)')
    def plan(self, epsilon: float, delta: float, *, rows_per_person: int = 1) -> WorkloadPlan:
        """The strategy and the noise of least error for this budget. A person has at most `rows_per_person` rows.

        Compared are Gaussian noise (and ball noise, for few numbers) on the residuals, whole-number Laplace noise on
        the histogram or on the tables, and joint noise for all tables of one attribute.
        """
        budget, rows = Budget.asked(epsilon, delta), whole("rows_per_person", rows_per_person)
        return chosen(self, budget, rows, [(name, partial(make, self.task, budget, rows)) for name, make in _MAKERS])

    def counted(self, records: Any = None, *, histogram: Any = None, tables: Mapping[Any, Any] | None = None) -> Counts:
        """Exact counts from records, from the whole histogram or from tables: one of the three."""
        if sum(given is not None for given in (records, histogram, tables)) != 1:
            raise InvalidParameter("give one of records, histogram and tables; write plan.answer(records, ledger=...).")
        if isinstance(records, Counts):
            return records
        if histogram is not None:
            return from_histogram(histogram, self.sizes)
        if tables is not None:
            return from_tables({self.place(table): values for table, values in tables.items()}, self.sizes)
        return from_records(records, self.sizes)

    def answer_of(self, plan: WorkloadPlan, estimated: Any, receipt: Receipt) -> MarginalsAnswer:
        """The answer from the estimated residuals."""
        assert isinstance(plan.strategy, TableStrategy)
        return MarginalsAnswer(self, plan.strategy, estimated, receipt)

    # -- errors ----------------------------------------------------------------------------------------------

    def variances(self, strategy: TableStrategy) -> dict[tuple[str, ...], float]:
        """The variance of a cell of each table."""
        found = {table: cell_variance(table, strategy.spreads, self.sizes) for table in self.asked}
        return {tuple(self.names[i] for i in table): value for table, value in found.items()}

    def mean_squared_error(self, strategy: TableStrategy) -> float:
        """The mean over all cells of all tables."""
        each = [(self.cells(table), cell_variance(table, strategy.spreads, self.sizes)) for table in self.asked]
        return float(np.dot(*np.array(each, dtype=np.float64).T)) / self.questions

    def __repr__(self) -> str:
        domain = ", ".join(f"{name}: {size}" for name, size in list(self.domain.items())[:20])
        more = ", ..." if len(self.domain) > 20 else ""
        return f"{len(self.asked)} tables, {self.questions} cells, of {domain}{more}"

    def __hash__(self) -> int:
        return hash((self.names, self.sizes, self.asked))


def largest(task: TableTask) -> list[Subset]:
    """The tables that are not a part of another table that is asked for."""
    smaller = {part for table in task.tables for part in parts_of(table) if part != table}
    return [table for table in task.tables if table not in smaller]


def _on_histogram(task: TableTask, budget: Budget, rows: int) -> TableStrategy:
    return measured_tables(task, budget, rows, [tuple(range(len(task.sizes)))])


def _on_tables(task: TableTask, budget: Budget, rows: int) -> TableStrategy:
    found = largest(task)
    if len(found) == 1 and len(found[0]) == len(task.sizes):
        raise Unsupported("it is the same as noise on the histogram")
    return measured_tables(task, budget, rows, found)


_MAKERS: tuple[tuple[str, Callable[[TableTask, Budget, int], TableStrategy]], ...] = (
    ("Gaussian noise on residuals", partial(residual_noise, False)),
    ("ball noise on residuals", partial(residual_noise, True)),
    ("Laplace noise on the histogram", _on_histogram),
    ("Laplace noise on each table", _on_tables),
    ("joint noise on one-way tables", one_way),
)
