"""The question for the largest groups of a public list, by their numbers of people."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, cast

from hush.calibration.arguments import family_names
from hush.calibration.extreme import asked_budget, extreme_budgets
from hush.errors import InvalidParameter, called_like, one_of, shown, whole
from hush.noise import selection
from hush.privacy.budget import Budget
from hush.tables.answer import Answer
from hush.tables.counts import count_units
from hush.tables.group import Grouping
from hush.tables.top_plan import PEOPLE, TopPlan, least_noise

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.tables.query import GroupedTable, Query, Table

__all__ = ["TopQuery", "WithTop"]


class WithTop:
    """What asks for the largest groups."""

    table: Table
    grouping: Grouping

    @called_like("top(10)")
    def top(self, k: int, *, counts: bool = False) -> TopQuery:
        """The k listed groups with the most people, the largest first. With `counts`, their numbers of people too.

        The names are found by choices, which need no limit on the groups of a person, or by noisy numbers of
        people with the limit `groups_per_unit`: by the one that has less noise.
        """
        keys = self.grouping.keys
        if keys is None or not self.grouping.names:
            raise InvalidParameter(
                "top needs a public list of keys; write group_by('film', keys=[...]).top(10). Where keys are found "
                "privately, ask for count_units(), and then answer.top(10), which costs nothing."
            )
        k = whole("k", k, 1, "write top(10)")
        if k > len(keys):
            raise InvalidParameter(f"k is {k}, but only {len(keys)} groups are listed; write a smaller k.")
        if not isinstance(counts, bool):
            raise InvalidParameter(f"counts must be True or False, got {shown(counts)}; write top(10, counts=True).")
        grouped = cast("GroupedTable", self)
        if self.grouping.open_limit:  # nothing needs to be chosen: choices need no limit
            grouped = replace(grouped, grouping=self.grouping.limited(len(keys)).without_limit())
        return TopQuery(grouped, k, counts)


@dataclass(frozen=True)
class TopQuery:
    """The question for the k largest of the listed groups. `plan()` shows the noise; `answer()` spends the budget."""

    grouped: GroupedTable
    k: int
    counts: bool = False

    @property
    def everywhere(self) -> Query:
        """The exact number of people of each listed group, without a limit on the groups of a person."""
        keys = self.grouped.grouping.keys
        assert keys is not None
        return self._counted(self.grouped.grouping.limited(1 if self.grouped.table.one_row else len(keys)))

    @property
    def limited(self) -> Query:
        """The numbers of people, with the limit on the groups of a person, if there is one."""
        return self._counted(self.grouped.grouping.limited(self.grouped.grouping.groups))

    def of_chosen(self, keys: tuple[tuple[Any, ...], ...]) -> Query:
        """The numbers of people of chosen groups: nobody is in more than all of them."""
        groups = 1 if self.grouped.table.one_row else len(keys)
        return self._counted(replace(self.grouped.grouping.limited(groups), keys=keys))

    def _counted(self, grouping: Grouping) -> Query:
        return replace(self.grouped, grouping=grouping).aggregate(**{PEOPLE: count_units()})

    @called_like("plan(epsilon=1.0, delta=1e-6)")
    def plan(self, epsilon: float, delta: float, *, family: str | None = None) -> TopPlan:
        """The way with the least noise, and that noise. Nothing is spent. `family` names the noise of numbers of
        people, or "selection".
        """
        budget = Budget(*asked_budget(epsilon, delta))
        if family is not None:
            one_of("family", family, (*family_names(), selection.FAMILY.name))
        self.grouped.table.access(None).allow(budget)
        with extreme_budgets(budget.epsilon, budget.delta):
            return least_noise(self, budget, family)

    @called_like("answer(epsilon=1.0, delta=1e-6, ledger=hush.Ledger('budget.ledger', epsilon=3.0, delta=1e-5))")
    def answer(self, epsilon: float, delta: float, *, ledger: Ledger | None, label: str = "", **options: Any) -> Answer:
        """Spend the budget and answer: `plan(...)` and its `answer` in one call."""
        return self.plan(epsilon, delta, **options).answer(ledger=ledger, label=label)
