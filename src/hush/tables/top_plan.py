"""The plan for the largest groups of a public list: which noise finds them, and what is published.

There are two ways, with the same guarantee:

    selection  k choices (docs/maths/top.md). One person may be in any number of groups. Names only;
               with `counts`, half of the budget then buys the numbers of people of the chosen groups.
    counts     noisy numbers of people of all listed groups, of which the largest k are kept. They are published too.

The way with the smaller standard deviation of the noise that decides is taken. This depends on public facts only.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.ledger.access import Access, digest
from hush.ledger.kept import KeptAnswer
from hush.ledger.payment import Payment
from hush.noise import selection
from hush.noise.catalogue import plain_values
from hush.noise.contract import Noise
from hush.privacy.budget import Budget
from hush.privacy.by_selection import least_selection
from hush.privacy.charge import Charge, Guarantee
from hush.privacy.sensitivity import Sensitivity
from hush.releasing.receipt import Receipt
from hush.tables.answer import Answer
from hush.tables.arrow import arrow, chosen_rows, number_column, plain_numbers
from hush.tables.asking import Answerable, Asking
from hush.tables.chart import wrapped
from hush.tables.column_draws import noisy_columns
from hush.tables.exact_aggregates import Aggregates
from hush.tables.noise_choice import quick_spending
from hush.tables.output import Recipe, answer_table
from hush.tables.publish.basis import Basis
from hush.tables.query_plan import QueryPlan
from hush.tables.question import question_digest

if TYPE_CHECKING:
    from hush.tables.top_query import TopQuery

__all__ = ["PEOPLE", "TopPlan", "least_noise"]

#: The name of the column of numbers of people.
PEOPLE = "people"
_NAMES = 0.5  # the share of the budget that finds the names, if numbers of people are published too
_GAIN = 3.0  # the noise of the best family is at least this part of that of Laplace or Gaussian noise


@dataclass(frozen=True)
class TopPlan(Answerable):
    """How the k largest groups are found, and with what noise. Nothing in it depends on the data.

    `plan.answer(ledger=...)` spends and answers.
    """

    query: TopQuery
    budget: Budget
    #: the charge of the choices by Gumbel noise; None if noisy numbers of people decide
    charge: Charge | None
    #: the plan of the noisy numbers of people: of all groups, or of the chosen ones; None if none are published
    numbers: QueryPlan | None
    #: the standard deviations of the noise that decides, in people: of Gumbel noise and of numbers of people
    deviations: tuple[float, float]

    @property
    def way(self) -> str:
        """ "selection" or "counts"."""
        return "counts" if self.charge is None else selection.FAMILY.name

    @property
    def deviation(self) -> float:
        """The standard deviation of the noise that decides which groups are the largest, in people."""
        return self.deviations[self.charge is None]

    @property
    def why(self) -> str:
        """Which noise decides, and why."""
        choices, counts = (f"{deviation:.3g}" for deviation in self.deviations)
        grouping, unit = self.query.grouped.grouping, self.query.grouped.table.whose.words
        limit = grouping.groups
        stated = "" if grouping.no_limit else f", with at most {limit} group{'s' * (limit > 1)} of a {unit}"
        if self.charge is None:
            return (
                f"noisy numbers of people decide, with a standard deviation of {counts}{stated}; Gumbel noise would "
                f"have {choices}"
            )
        return (
            f"Gumbel noise with a standard deviation of {choices} people decides, with no limit on the groups of a "
            f"{unit}; noisy numbers of people would have about {counts}{stated}"
        )

    @property
    def published(self) -> str:
        """What is published, in words."""
        if self.charge is None:
            return "names and noisy numbers of people, the largest first"
        if self.numbers is None:
            return "names only, the largest first; top(..., counts=True) publishes numbers of people too"
        return (
            "names, the largest first, and for the other half of the budget their numbers of people, with noise of "
            f"standard deviation {self._spread(self.numbers):.3g}"
        )

    @staticmethod
    def _spread(plan: QueryPlan) -> float:
        return float(np.sqrt(np.max(plan.spent.noise.variance)))

    def described(self, *, rows: int = 1000) -> str:
        """The plan in words."""
        keys, whose = self.query.grouped.grouping.keys, self.query.grouped.table.whose
        pair = f"(epsilon, delta) = ({self.budget.epsilon:.6g}, {self.budget.delta:.6g})"
        first = f"{pair} for each {whose.words}: the {self.query.k} largest of {len(keys or ())} listed groups"
        lines = [first, *(wrapped(f"not covered: {whose.not_protected}", hang=13) if whose.not_protected else [])]
        return "\n".join([*lines, *wrapped(self.why), *wrapped(f"published: {self.published}", hang=11)])

    def __repr__(self) -> str:
        return self.described()

    # -- the answer ------------------------------------------------------------------------------------------

    def answered(self, asked: Asking) -> Answer:
        """The largest groups, the largest first."""
        asked.must_be_one_release()
        if self.charge is None:
            assert self.numbers is not None
            return self.numbers.finished(asked, self._largest)
        access = self.query.grouped.table.access(asked.ledger, label=asked.label, account=asked.account)
        access.check()
        exact = self._prepared(asked)
        while (payment := self._pay(access)).kept is None:
            made, content = self._drawn(exact, payment, asked)
            if payment.keep(content) == content:
                return made
            if not self.query.grouped.table.in_memory:
                break  # what another process kept first is the answer of both; of another frame it is not
        return Answer.from_kept(KeptAnswer.from_bytes(payment.kept))

    def _pay(self, access: Access) -> Payment:
        return access.pay(self.question, list(self.charges), budget=self.budget, about=self._in_words)

    def _drawn(self, exact: Any, payment: Payment, asked: Asking) -> tuple[Answer, bytes]:
        """The answer and what a ledger keeps of it; a failure is one constant sentence."""
        return payment.attempt(lambda: self._run(exact, payment, asked))

    def _largest(self, released: Answer) -> Answer:
        """The largest groups of noisy numbers of people."""
        found = released.top(self.query.k, by=PEOPLE)
        more = {"top": {"k": self.query.k, "way": self.way}, "why": f"{self.why}. {found.receipt['why']}"}
        return replace(found, receipt=found.receipt | more)

    @property
    def question(self) -> str:
        """The digest of what is asked: the query, its sources and the budget."""
        query, budget = self.query.everywhere, self.budget
        rows, how = sorted(root.words for root in query.table.roots), ["top", self.query.k, self.query.counts]
        return digest(question_digest(query), rows, budget.epsilon, budget.delta, how)

    @property
    def _in_words(self) -> str:
        """What is asked, for the ledger."""
        return f"the {self.query.k} largest of {len(self.query.grouped.grouping.keys or ())} listed groups"

    def _prepared(self, asked: Asking) -> Aggregates:
        """What the engine will run. What can be refused is refused before anything is spent."""
        if self.numbers is not None:
            query, spent = self.numbers.query, self.numbers.spent
            for made in spent.sources.values():
                made.prepare()
            Recipe.of(query, spent, asked.level), Basis.of(query, spent, asked.level)
        exact = self.query.everywhere.aggregates()
        exact.check()
        return exact

    def _run(self, aggregates: Aggregates, payment: Payment, asked: Asking) -> tuple[Answer, bytes]:
        """Count, choose and draw; the answer, and the answer as a ledger keeps it."""
        assert self.charge is not None
        asked.progress("aggregating in the engine")
        exact = aggregates.to_arrow()
        asked.progress("choosing the largest groups")
        places = payment.choose(self.charge, plain_numbers(exact.column(PEOPLE)).astype(np.int64))
        made = self._made(exact, places, payment, asked.level)
        return made, made.to_kept().to_bytes()

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What a ledger is charged."""
        found = [self.charge] if self.charge is not None else []
        return (*found, *([self.numbers.spent.charge] if self.numbers is not None else []))

    def _made(self, exact: Any, places: Any, payment: Payment, level: float) -> Answer:
        """The answer from the chosen places."""
        rows = chosen_rows(exact, places)
        keys = rows.select(list(self.query.grouped.grouping.names))
        receipt = self._receipt(payment, level) | {"groups": int(places.size)}
        if self.numbers is None:
            return Answer(keys, receipt, arrow().table({}), ())
        query, spent = self.numbers.query, self.numbers.spent
        released = noisy_columns({PEOPLE: plain_numbers(rows.column(PEOPLE))}, spent, spent.open(payment, "answers"))
        recipe, noisy = Recipe.of(query, spent, level), {n: number_column(c) for n, c in released.items()}
        table = answer_table(recipe, keys, released)
        return Answer(table, receipt, arrow().table(noisy), recipe.names, Basis.of(query, spent, level))

    def _receipt(self, payment: Payment, level: float) -> Receipt:
        """The receipt; it depends on public facts only."""
        table, k = self.query.grouped.table, self.query.k
        assert self.charge is not None and isinstance(self.charge.noise, Noise)
        bounds = [f"the {k} largest of {self.charge.sensitivity.dimension} listed groups, by their numbers of people"]
        noise = self.charge.noise if self.numbers is None else self.numbers.spent.noise
        about = {
            "source": table.fingerprint,
            "engine": table.engine,
            "filters": list(table.filters),
            "belongs": table.belongs,
            "aggregates": {} if self.numbers is None else {PEOPLE: "count_units"},
            "bounds": bounds,
            "noise": plain_values(noise),
            "why": f"{self.why}; published: {self.published}",
            "threshold": None,
            "key_delta": 0.0,
            "level": level,
            "top": {"k": k, "way": self.way},
        }
        if table.whose.not_protected:
            about |= {"unit_columns": list(table.whose.columns), "not_protected": table.whose.not_protected}
        promised = {"unit": table.whose.words, "groups_per_unit": None, "linf": 1.0, "l0": None}
        guarantee = Guarantee(self.budget.epsilon, self.budget.delta)
        return Receipt.of("answer", guarantee, self.charges, ledger=payment.receipt, promised=promised, about=about)


def least_noise(query: TopQuery, budget: Budget, family: str | None) -> TopPlan:
    """The way with less noise in the numbers that decide. With `family` one way is prescribed."""
    keys = query.grouped.grouping.keys
    assert keys is not None
    share = _NAMES if query.counts else 1.0
    noise = least_selection(query.k, share * budget.epsilon, share * budget.delta)
    bound = Sensitivity(linf=1.0, dimension=len(keys), one_sided=True)
    charge, own = Charge(noise, bound, times=query.k), math.sqrt(noise.variance)
    other = quick_spending(query.limited.sensitivity, budget.epsilon, budget.delta)
    others = math.sqrt(float(np.max(other.noise.variance)))
    if family != selection.FAMILY.name and (family is not None or others <= _GAIN * own):
        numbers = query.limited.plan(budget.epsilon, budget.delta, limits_share=0.0, family=family)
        assert isinstance(numbers, QueryPlan)
        others = TopPlan._spread(numbers)
        if family is not None or others <= own:
            return TopPlan(query, budget, None, numbers, (own, others))
    if not query.counts:
        return TopPlan(query, budget, charge, None, (own, others))
    left = 1.0 - _NAMES
    numbers = query.of_chosen(keys[: query.k]).plan(left * budget.epsilon, left * budget.delta, limits_share=0.0)
    assert isinstance(numbers, QueryPlan)
    return TopPlan(query, budget, charge, numbers, (own, others))
