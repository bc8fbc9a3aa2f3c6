"""The question which groups exist: its plan, and its answer, a list of keys."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hush.calibration.extreme import asked_budget, extreme_budgets
from hush.errors import InvalidParameter, Unsupported, called_like, shown, whole
from hush.privacy.budget import Budget
from hush.tables.answer import Answer
from hush.tables.chart import wrapped
from hush.tables.column_noise import Shares, Spending
from hush.tables.counts import CountUnits
from hush.tables.description import UNITS, QueryDescription, TableDescription
from hush.tables.group import Grouping
from hush.tables.key_noise import RULE
from hush.tables.noise_choice import spending
from hush.tables.query_plan import QueryPlan
from hush.tables.which.spent import weighted_spending

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["KeysPlan", "KeysQuery", "keys_query", "weights_in_words"]

_FEW_GROUPS = 3  # with so few groups, the best rule for one group beats weights


def keys_query(table: TableDescription, grouping: Grouping) -> KeysQuery:
    """The question about the groups of a table, checked."""
    if grouping.keys is not None or not grouping.names:
        raise InvalidParameter(
            'keys() finds groups in the data; write group_by("ward", keys="private", groups_per_unit=8).keys().'
        )
    if grouping.open_limit:
        raise Unsupported("keys() needs a declared limit; write groups_per_unit=8 in the place of 'private'.")
    people = CountUnits(shown=False).prepare(UNITS, table.relation, table.limits)
    return KeysQuery(table, grouping, (people,), UNITS)


@dataclass(frozen=True)
class KeysQuery(QueryDescription):
    """Which groups of a table exist. `plan()` shows the threshold; `answer()` spends the budget."""

    @called_like("plan(epsilon=1.0, delta=1e-6)")
    def plan(self, epsilon: float, delta: float, *, hash: str | None = None, first: str = "rank") -> KeysPlan:
        """The noise, the threshold and the weights of people for this budget. Nothing is spent.

        `hash` and `first` are those of `aggregates`.
        """
        self.table.access(None).allow(Budget(*asked_budget(epsilon, delta)))
        return self.planned(epsilon, delta, hash=hash, first=first)

    def planned(self, epsilon: float, delta: float, *, hash: str | None = None, first: str = "rank") -> KeysPlan:
        """The plan, without a look at the policy's limits; see `Query.planned`."""
        total = asked_budget(epsilon, delta)
        if total[1] == 0.0:
            raise InvalidParameter("keys() needs a delta greater than 0, because finding groups can fail.")
        with extreme_budgets(*total):
            spent = self._spending(*total)
        options = {"hash": hash, "first": first}
        return KeysPlan(replace(self, ladder=spent.ladder), spent, options, Shares(*total))

    def _spending(self, epsilon: float, delta: float) -> Spending:
        """The best rule for one group where people have few groups, otherwise weights."""
        if self.grouping.groups <= _FEW_GROUPS:
            with contextlib.suppress(Unsupported):
                return spending(self.sensitivity, epsilon, delta, units=UNITS, family=RULE)
        return weighted_spending(self.grouping.groups, epsilon, delta)

    @called_like("answer(epsilon=1.0, delta=1e-6, ledger=hush.Ledger('budget.ledger', epsilon=3.0, delta=1e-5))")
    def answer(self, epsilon: float, delta: float, *, ledger: Ledger | None, label: str = "", **options: Any) -> Answer:
        """Spend the budget and answer: `plan(...)` and its `answer` in one call."""
        return self.plan(epsilon, delta, **options).answer(ledger=ledger, label=label)


def weights_in_words(ladder: Sequence[Sequence[int]]) -> str:
    """What a person adds to each group, by the number of this person's groups."""
    each = [f"{weight} with at most {most} group{'s' * (most > 1)}" for most, weight in ladder]
    return f"a person adds {', '.join(each)}"


@dataclass(frozen=True, repr=False)
class KeysPlan(QueryPlan):
    """The noise and the threshold with which groups are found. `plan.answer(ledger=...)` spends and answers.

    Nothing in it depends on the data: it may be shown to anyone.
    """

    def errors(self, rows: int = 1000) -> dict[str, float]:
        """Nothing: no number is published."""
        return {}

    def what_if(self) -> list[dict[str, Any]]:
        """Nothing: no number is published."""
        return []

    def size_shown(self, groups: int) -> float:
        """The number of people, with so many groups each, whose group is shown with probability 0.9."""
        if whole("groups", groups, 1, "write size_shown(groups=1)") > self.query.grouping.groups:
            raise InvalidParameter(f"groups must be from 1 to {self.query.grouping.groups}, got {shown(groups)}.")
        spent: Spending = self.spent
        assert spent.rule is not None
        size = spent.rule.size_shown(spent.mechanisms[UNITS])
        return size / next((weight for most, weight in spent.ladder if groups <= most), 1)

    def described(self, *, rows: int = 1000) -> str:
        """The plan in words."""
        spent, most = self.spent, self.query.grouping.groups
        lines = [*self._summary(), "", "only keys are published, without any number"]
        if spent.ladder:
            rule = f"a group is shown if the noisy sum of weights is at least {spent.threshold:.6g}"
            lines += wrapped(f"{weights_in_words(spent.ladder)}; {rule}")
        else:
            lines += wrapped(f"a group is shown if its noisy number of people is at least {spent.threshold:.4g}")
        sizes = [f"{self.size_shown(d):.3g} people with {d}" for d in sorted({1, max(1, most // 4), most})]
        lines += wrapped(f"shown with probability 0.9: groups of {', or '.join(sizes)} group{'s' * (most > 1)} each")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        from hush.ledger.notebook import card

        return card(self._summary()[0], lines=self.described().splitlines()[1:])
