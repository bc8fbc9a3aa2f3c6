"""The plan of a query whose contribution limits are chosen privately: first the limits, then the answer."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

from hush.errors import InvalidParameter, whole
from hush.ledger.access import digest
from hush.ledger.entry import Entry
from hush.ledger.notebook import card
from hush.privacy.charge import Budget
from hush.releasing.receipt import Receipt
from hush.tables.advice.choice import ladder
from hush.tables.advice.search import SHARE, Search, must_be_adaptive, search_of
from hush.tables.answer import Answer
from hush.tables.asking import Answerable, Asking
from hush.tables.chart import wrapped
from hush.tables.column_noise import Spending
from hush.tables.limits_chart import LimitError, error_bars, error_lines
from hush.tables.query_plan import QueryPlan
from hush.tables.question import question_digest

if TYPE_CHECKING:
    from hush.tables.query import Query

__all__ = ["LimitsPlan"]

_SHOWN = 8  # limits that a plan compares


@dataclass(frozen=True)
class LimitsPlan(Answerable):
    """The search for contribution limits, and the errors to expect with each of them. Nothing is spent.

    `plan.answer(ledger=...)` spends a small part of the budget on the limits and the rest on the answer: two entries of
    the ledger. The noise of the answer is chosen after the limits are known, so the ledger must be adaptive.
    """

    query: Query
    search: Search
    options: Mapping[str, Any]

    @classmethod
    def of(cls, query: Query, budget: Budget, times: int, options: Mapping[str, Any]) -> LimitsPlan:
        """The plan of a query, for a budget. Several releases with the same noise cannot be planned."""
        if times > 1:
            raise InvalidParameter(
                "times= plans releases with the same noise, but limits that are found privately decide it; write "
                "a number for groups_per_unit and rows_per_unit."
            )
        return cls(query, search_of(query, budget, SHARE), options)

    @cached_property
    def spent(self) -> Spending:
        """The noise with the smallest limits: it stands for the noise of the answer where only its form matters."""
        return self._with(1, 1).spent

    @property
    def why(self) -> str:
        """Which limits are chosen, and at what price."""
        share = 100.0 * self.search.spent.epsilon / self.search.budget.epsilon
        what = ["groups_per_unit"] * self.query.grouping.open_limit + ["rows_per_unit"] * bool(self.query.open_rows)
        return (
            f"{' and '.join(what)}: chosen privately, with {share:.2g} % of epsilon, for the least error of noise and "
            "of what the limits leave out"
        )

    def errors(self, rows: int = 1000) -> dict[str, float]:
        """The errors with the smallest limits, as `QueryPlan.errors` gives them: they cannot be smaller."""
        return self._with(1, 1).errors(whole("rows", rows, 1, "write errors(rows=1000)"))

    def what_if(self) -> list[dict[str, Any]]:
        """The error of each answer for the limits that may be chosen."""
        most = self.query.grouping.groups if self.query.grouping.open_limit else self.query.sensitivity.groups
        rows = 1 if self.query.open_rows else None
        limits = ladder(most)[:_SHOWN] if self.query.grouping.open_limit else [most]
        return [{"groups_per_unit": groups, "errors": self._with(groups, rows).errors()} for groups in limits]

    def _with(self, groups: int, rows: int | None) -> QueryPlan:
        """The plan with these limits. Its noise is of a family that calibrates quickly."""
        left = self.search.left
        family = self.options["family"] or ("gaussian" if left.delta else "laplace")
        given = {**self.options, "family": family, "limits_share": 0.0}
        made = self.query.with_limits(groups, rows).plan(left.epsilon, left.delta, **given)
        assert isinstance(made, QueryPlan)
        return made

    def entries(self) -> list[Entry]:
        """Refused: the limits that are found decide the noise, so nobody knows it before."""
        raise InvalidParameter(
            "limits that are found privately decide the noise, so the releases cannot be listed in advance; write a "
            "number for groups_per_unit and rows_per_unit."
        )

    def answered(self, asked: Asking) -> Answer:
        return self.settled(asked).answered(asked)

    def written(self, path: str | os.PathLike[str], asked: Asking) -> Receipt:
        return self.settled(asked).written(path, asked)

    def settled(self, asked: Asking) -> QueryPlan:
        """The plan with the limits that are found. What can be refused is refused before anything is spent."""
        must_be_adaptive(asked.ledger)
        self._with(1, 1).must_answer(asked)
        access = self.query.table.access(asked.ledger, label=asked.label, account=asked.account)
        found = self.search.run(access, self.question, step="contribution limits", progress=asked.progress)
        made = found.query.plan(found.budget.epsilon, found.budget.delta, **self.options)
        assert isinstance(made, QueryPlan)
        return replace(made, shares=replace(made.shares, found=found.found), run=self.question)

    @property
    def question(self) -> str:
        """The digest of what is asked: the query with open limits, its sources, the budget and the options."""
        rows, budget = sorted(root.words for root in self.query.table.roots), self.search.budget
        how = [[name, repr(self.options[name])] for name in sorted(self.options) if name != "salt"]
        return digest(question_digest(self.query), rows, budget.epsilon, budget.delta, how)

    def __repr__(self) -> str:
        return self.described()

    def described(self, *, rows: int = 1000) -> str:
        """The plan in words, with the errors for a group in which `rows` rows count."""
        budget, query = self.search.budget, self.query
        pair = f"(epsilon, delta) = ({budget.epsilon:.6g}, {budget.delta:.6g})"
        lines = [f"{pair} for each {query.table.whose.words}", *wrapped(self.why), ""]
        names, found = [measure.name for measure in query.shown], self.what_if()
        table = [[str(row["groups_per_unit"]), *(f"+-{row['errors'][name]:.4g}" for name in names)] for row in found]
        drawn = self.limit_errors(rows)
        if any(error.share is not None for error in drawn):
            table = [
                [*row, f"{100.0 * (e.share or 0.0):.2g} % of a group"] for row, e in zip(table, drawn, strict=True)
            ]
            names = [*names, "as much as leaving out"]
        return "\n".join([*lines, *error_lines(drawn, ["groups per person", *names], table)])

    def limit_errors(self, rows: int = 1000) -> list[LimitError]:
        """The error of noise for the limits that may be chosen, of the first answer; see `QueryPlan.limit_errors`."""
        counts = next((m.name for m in self.query.shown if m.counts_people or m.counts_rows), None)
        first = self.query.shown[0].name
        return [
            LimitError(
                row["groups_per_unit"],
                row["errors"][first],
                share=None if counts is None else min(row["errors"][counts] / rows, 1.0),
            )
            for row in self.what_if()
        ]

    def _repr_html_(self) -> str:
        """The noise of the limits that may be chosen, with bars."""
        found = self.limit_errors()
        cells = [[str(error.groups_per_unit), f"+-{error.noise:.4g}"] for error in found]
        heads = ["groups per person", self.query.shown[0].name]
        return card(self.why, heads=heads, rows=cells, bars=error_bars(found), heading="error")
