"""`advise`: buy the histogram of people, and choose the limits of a query by it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.calibration.extreme import asked_budget, extreme_budgets
from hush.errors import InvalidParameter, called_like, within
from hush.ledger.access import Access, digest
from hush.ledger.kept import KeptAnswer
from hush.ledger.notebook import card
from hush.ledger.payment import Payment
from hush.ledger.refusal import must_be_ledger
from hush.numerics.rounding import SPARE, down
from hush.privacy.charge import Budget
from hush.releasing.receipt import Receipt
from hush.tables.advice.choice import Candidate, best, expected, ladder
from hush.tables.advice.people import People, PeopleQuery, people_query
from hush.tables.arrow import plain_numbers
from hush.tables.column_draws import noisy_columns
from hush.tables.column_noise import Shares, Spending
from hush.tables.exact_aggregates import Aggregates
from hush.tables.limits_chart import LimitError, error_bars, error_lines
from hush.tables.noise_choice import quick_spending, spending
from hush.tables.policy.facts import Facts
from hush.tables.query_receipt import receipt_of
from hush.tables.question import question_digest

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.tables.query import Query

__all__ = ["SHARE", "Advice", "Search", "advise"]

#: The part of the budget that finds limits.
SHARE = 0.05
_ROUNDS = 2  # of choosing each limit in turn
_LEVEL = 0.95  # the level that a receipt states; the histogram itself is not shown with intervals


@dataclass(frozen=True, repr=False)
class Advice:
    """The limits that were found, why, and the query with these limits. It is made from released numbers alone."""

    query: Query
    groups_per_unit: int
    rows_per_unit: int | None
    candidates: tuple[Candidate, ...]
    people: People
    #: what is left of the budget for the answer
    budget: Budget
    receipt: Receipt

    @property
    def found(self) -> dict[str, Any]:
        """The limits and their price, as values for JSON."""
        limits = {"groups_per_unit": self.groups_per_unit}
        if self.rows_per_unit is not None:
            limits["rows_per_unit"] = self.rows_per_unit
        paid, entry = self.receipt.guarantee, self.receipt["ledger"]
        return limits | {"epsilon": paid.epsilon, "delta": paid.delta, "entry": entry and entry["number"]}

    def limit_errors(self) -> list[LimitError]:
        """The expected errors of noise and of what is left out, for the limits on groups that were compared with the
        limit on rows that was chosen; sums over all groups.
        """
        same = [c for c in self.candidates if c.rows_per_unit == self.rows_per_unit]
        return [LimitError(c.groups_per_unit, c.of_noise, c.error - c.of_noise) for c in same]

    def _repr_html_(self) -> str:
        """The limits that were compared, with bars of noise and of what is left out."""
        found = self.limit_errors()
        cells = [[str(e.groups_per_unit), f"{e.noise:.3g}", f"{e.bias or 0.0:.3g}"] for e in found]
        heads = ["groups per person", "error of noise", "of what is left out"]
        return card(self._found(), heads=heads, rows=cells, left=0, bars=error_bars(found), heading="error")

    def _found(self) -> str:
        rows = f", rows_per_unit={self.rows_per_unit}" if self.rows_per_unit is not None else ""
        chosen = f"groups_per_unit={self.groups_per_unit}{rows}"
        return f"{chosen} has the least expected error of noise and of what the limits leave out."

    def __repr__(self) -> str:
        rows = self.rows_per_unit is not None
        heads = ["groups per person", *["rows"] * rows, "noise in a group", "left out", "expected error"]
        least = min(c.error for c in self.candidates)
        table = [
            [
                str(c.groups_per_unit),
                *[str(c.rows_per_unit)] * rows,
                f"{c.noise:.3g}",
                f"{100.0 * c.left_out:.1f} %",
                "least" if c.error == least else f"x {c.error / least:.3g}" if least else "0",
            ]
            for c in self.candidates
        ]
        drawn = [LimitError(c.groups_per_unit, c.of_noise, c.error - c.of_noise) for c in self.candidates]
        return "\n".join([self._found(), "", *error_lines(drawn, heads, table)])


@dataclass(frozen=True)
class Search:
    """The search for the limits of a query, and its noise."""

    query: Query
    asked: PeopleQuery
    spent: Spending
    budget: Budget  # of the search and the answer

    @property
    def left(self) -> Budget:
        """What the search leaves of the budget, less a billionth for rounding."""
        return Budget(
            down(self.budget.epsilon - self.spent.epsilon, SPARE), max(self.budget.delta - self.spent.delta, 0.0)
        )

    def run(
        self, access: Access, question: str, *, step: str = "", progress: Callable[[str], None] = lambda text: None
    ) -> Advice:
        """Pay, count people in the engine, and choose. A run that was not finished takes what it has found before."""
        self.prepare()
        counted = self.asked.query.aggregates()
        counted.check()
        budget = Budget(self.spent.epsilon, self.spent.delta)
        payment = access.pay(question, [self.spent.charge], budget=budget, about=self.about, step=step)
        content = payment.kept
        if content is None:
            progress("counting groups and rows of each person")
            content = payment.keep(payment.attempt(lambda: self._counted(counted, payment)))
        held = KeptAnswer.from_bytes(content)
        released = {name: np.asarray(numbers, dtype=np.float64) for name, numbers in held.numbers.items()}
        return self.chosen(self.asked.people(released, self.spent), Receipt(held.receipt))

    @property
    def about(self) -> str:
        """What is asked, in words."""
        return "how many people have how many groups and rows, to choose contribution limits"

    def _counted(self, counted: Aggregates, payment: Payment) -> bytes:
        """The noisy histogram of people, as a ledger keeps it."""
        exact = counted.to_arrow()
        columns = {name: plain_numbers(exact.column(name)) for name in self.spent.mechanisms}
        released = noisy_columns(columns, self.spent, self.spent.open(payment, "limits"))
        numbers = {name: np.ravel(column).tolist() for name, column in released.items()}
        receipt = receipt_of(
            self.asked.query, self.spent, Shares(self.spent.epsilon, self.spent.delta), _LEVEL, payment.receipt
        )
        lines = [f"{name}: {', '.join(f'{number:g}' for number in column)}" for name, column in numbers.items()]
        text = "\n".join([f"{self.about} (noisy numbers of people)", *lines])
        return KeptAnswer("limits", text, receipt, numbers).to_bytes()

    def prepare(self) -> None:
        """Refuse a budget with which the smallest or the largest limits have no noise: nothing that can fail because of
        the budget may run after the payment.
        """
        for made in self.spent.sources.values():
            made.prepare()
        rows = Facts(self.query.table).most_rows if self.query.open_rows else None
        for groups, each in ((1, rows and 1), (self.query.grouping.groups, rows)):
            _quick(self.query.with_limits(groups, each), self.left)

    def _most(self, people: People) -> tuple[list[int], list[int | None]]:
        """The limits to compare: no larger than anybody needs or the query allows."""
        grouping, (groups, rows) = self.query.grouping, people.needed
        of_groups = ladder(min(groups, grouping.groups)) if grouping.open_limit else [grouping.groups]
        if not self.query.open_rows:
            return of_groups, [None]
        return of_groups, [*ladder(min(rows, Facts(self.query.table).most_rows))]

    def chosen(self, people: People, receipt: Receipt) -> Advice:
        """The limits with the least expected error for these people."""
        tried: dict[tuple[int, int | None], Candidate] = {}

        def error(groups: int, rows: int | None) -> Candidate:
            if (groups, rows) not in tried:
                other = self.query.with_limits(groups, rows)
                tried[groups, rows] = expected(
                    other, _quick(other, self.left), people, (groups, rows), self.query.open_rows
                )
            return tried[groups, rows]

        groups, rows = self._most(people)
        first = best([error(g, rows[-1]) for g in groups])
        for _ in range(_ROUNDS if len(rows) > 1 else 0):  # each limit in turn, the other one as found
            first = best([error(first.groups_per_unit, r) for r in rows])
            first = best([error(g, first.rows_per_unit) for g in groups])
        found = sorted(tried.values(), key=lambda c: (c.groups_per_unit, c.rows_per_unit or 0))
        query = self.query.with_limits(first.groups_per_unit, first.rows_per_unit)
        return Advice(query, first.groups_per_unit, first.rows_per_unit, tuple(found), people, self.left, receipt)


def _quick(query: Query, budget: Budget) -> Spending:
    """The better of Laplace and Gaussian noise for a query: it stands for the noise that will be chosen."""
    shared = query.shared
    units = None if query.threshold is None else shared.get(query.threshold, query.threshold)
    families = {"laplace": 0.0 if units is None else budget.delta} | (
        {"gaussian": budget.delta} if budget.delta else {}
    )
    found = [
        spending(query.sensitivity, budget.epsilon, delta, family=family, units=units, shared=shared)
        for family, delta in families.items()
    ]
    return min(found, key=lambda made: made.plan.variance)


def search_of(query: Query, budget: Budget, share: float) -> Search:
    """The search for the limits of a query, for a share of a budget. Nothing is read or spent."""
    share = within("share", share, 0.001, 0.5, "write share=0.05")
    asked = people_query(query, Facts(query.table).most_rows if query.open_rows else None)
    spent = quick_spending(asked.query.sensitivity, share * budget.epsilon, 0.0)
    return Search(query, asked, spent, budget)


@called_like("advise(query, epsilon=1.0, delta=1e-6, ledger=ledger)")
def advise(
    query: Query,
    epsilon: float,
    delta: float,
    *,
    ledger: Ledger | None,
    share: float = SHARE,
    label: str = "",
) -> Advice:
    """Choose the contribution limits of a query privately.

    `epsilon` and `delta` are the budget of the search and of the answer to come. A `share` of epsilon is spent now, for
    a noisy histogram of people by their number of groups and rows; `advice.budget` is the rest. `advice.query` is the
    query with the limits that have the least expected error of noise and of what is left out. Limits are chosen where
    the query says "private": `groups_per_unit="private"`, `rows_per_unit="private"`.

    The noise of the answer depends on the limits that are found. So the ledger must be adaptive.
    """
    from hush.tables.query import Query as _Query

    if not isinstance(query, _Query):
        raise InvalidParameter(f"query must be a query of a table, got {type(query).__name__}.")
    if not query.open_limits:
        raise InvalidParameter(
            "the query has no limit to choose; write groups_per_unit='private' in group_by, or rows_per_unit='private' "
            "in an aggregate."
        )
    must_be_adaptive(ledger)
    budget, access = Budget(*asked_budget(epsilon, delta)), query.table.access(ledger, label=label)
    access.check()
    access.allow(budget)
    with extreme_budgets(budget.epsilon, budget.delta):
        search = search_of(query, budget, share)
        search.prepare()
    asked = digest("advise", question_digest(query), sorted(root.words for root in query.table.roots), epsilon, delta)
    return search.run(access, asked)


def must_be_adaptive(ledger: Ledger | None) -> None:
    """Refuse a ledger whose composition needs all noise to be fixed in advance."""
    must_be_ledger(ledger)
    if ledger is not None and ledger.mode != "adaptive":
        raise InvalidParameter(
            "limits that are found privately change the noise of the answer, so the ledger must have mode='adaptive'; "
            "this one is nonadaptive, for noise that is fixed in advance."
        )
