"""The plan of a query: its noise and the errors to expect, before anything is spent."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from hush.errors import HushError, InvalidParameter, shown, whole
from hush.ledger.access import digest
from hush.ledger.entry import Entry, as_entry
from hush.ledger.notebook import card
from hush.ledger.series import Turn
from hush.privacy.charge import Charge
from hush.releasing.receipt import Receipt
from hush.tables.answer import Answer
from hush.tables.asking import Answerable, Asking
from hush.tables.chart import text_table, wrapped
from hush.tables.column_noise import Shares, Spending
from hush.tables.condition_words import only_where
from hush.tables.contribution import Reach
from hush.tables.description import QueryDescription
from hush.tables.execution import Request
from hush.tables.key_noise import BUMP, LIFTED
from hush.tables.left_out import limits_in_words
from hush.tables.limits_chart import LimitError, error_bars, error_lines, in_cells
from hush.tables.measure import Prepared
from hush.tables.noise_choice import spending
from hush.tables.plan_words import keys_in_words, moves_in_words
from hush.tables.planned import series_of, unpacked
from hush.tables.query_receipt import why_of
from hush.tables.question import question_digest
from hush.tables.sharing import shared_in_words

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["QueryPlan"]

_QUICK = ("laplace", "gaussian", "asinh")  # families that calibrate fast
_CLOSED = ("laplace", "gaussian")  # families with closed forms


@dataclass(frozen=True)
class QueryPlan(Answerable):
    """The noise chosen for a query, the error to expect of each answer, and how it would change with the bounds.

    Nothing in it depends on the data: it may be shown to anyone. `plan.answer(ledger=...)` spends and answers.
    """

    query: QueryDescription
    spent: Spending
    options: Mapping[str, Any]
    #: the whole budget, and the parts of it that find bounds and measure what the limits leave out
    shares: Shares
    #: how many releases were planned together, and the name of their series
    times: int = 1
    series: str | None = None
    #: the digest of the question whose limits were found by an earlier entry; empty: the digest of this plan
    run: str = ""

    @property
    def question(self) -> str:
        """The digest of what is asked: the query, its sources, the budget and the options."""
        if self.run:
            return self.run
        shares, rows = self.shares, sorted(root.words for root in self.query.table.roots)
        how = [self.options.get(name) for name in ("hash", "first")]
        return digest(question_digest(self.query), rows, shares.epsilon, shares.delta, how)

    @property
    def why(self) -> str:
        """The chosen family, and what the others would cost."""
        return why_of(self.query, self.spent)

    def errors(self, rows: int = 1000) -> dict[str, float]:
        """Half the width of each answer's 95 % noise interval, for a group in which `rows` rows count. The error of a
        mean depends on `rows`, the error of a count does not.
        """
        rows = whole("rows", rows, 1, "write errors(rows=1000)")
        errors = {}
        for measure in self.query.shown:
            if measure.chosen is not None:
                errors[measure.name] = self._rows_off(measure)
                continue
            typical = {name: np.full(1, number) for name, number in measure.answer.planning_point(rows).items()}
            low, high = measure.interval(typical, self.spent.mechanisms, 0.95)
            errors[measure.name] = float(np.max(high - low)) / 2.0
        return errors

    def _rows_off(self, measure: Prepared) -> float:
        """By how many rows the interval of a quantile is shifted to either side; without one, 95 % of rank errors on
        evenly spaced rows.
        """
        choices, chosen = self.shares.choices, measure.chosen
        assert choices is not None and chosen is not None
        shape = choices.shape(measure)
        if chosen.intervals:
            return max(float(shape.shift(q, chosen.grid.size, 0.05)) for q in chosen.fractions)
        return max(math.log(20.0) / shape.rate * float(shape.move(q)) for q in chosen.fractions)

    def what_if(self) -> list[dict[str, Any]]:
        """How all errors would change with groups_per_unit, as multiples of the present ones.

        The noise has the requested family. Where none was requested, it is the best of a few families that calibrate
        quickly, so another family may be slightly better.
        """
        reach, now = self.spent.reach, self.spent.plan.variance
        rows = []
        sizes = {max(1, reach.groups // 2), reach.groups, reach.groups * 2, reach.groups * 4}
        if self.query.grouping.one_row:
            sizes = {1}
        for groups in sorted({min(size, reach.listed or size) for size in sizes}):
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
        found = []
        quick = _CLOSED if spent.joint is not None else _QUICK
        own = () if spent.plan.family in (BUMP, LIFTED) else (spent.plan.family,)  # those two take seconds
        for family in (asked,) if asked is not None else dict.fromkeys((*own, *quick)):
            try:
                found.append(
                    spending(
                        reach,
                        spent.epsilon,
                        spent.delta,
                        weights=spent.weights,
                        family=family,
                        units=spent.units,
                        keys_for=spent.keys_for,
                        shared=spent.shared,
                        times=spent.times,
                    )
                )
            except HushError:
                continue
        return min(found, key=lambda other: other.plan.variance, default=None)

    def _charges(self, *, later: bool = False) -> tuple[Charge, ...]:
        """The charges of the first release, or of each later one: private bounds are found once."""
        shares = self.shares
        parts = (self.spent, None if later else shares.bounds, shares.limits, shares.other)
        return tuple(part.charge for part in parts if part)

    def entries(self) -> list[Entry]:
        """The entries that a ledger would get, one for each release."""
        shares = self.shares
        if self.times == 1:
            return [as_entry(self._charges(), "", 0.0, shares.epsilon, shares.delta)]
        then = self._charges(later=True)
        turns = [Turn("", release, self.times, then if shares.bounds else ()) for release in range(1, self.times + 1)]
        return [as_entry(self._charges(later=turn.release > 1), "", 0.0, None, None, turn) for turn in turns]

    def _turn(self, ledger: Ledger | None, release: int | None) -> Turn | None:
        """The place of a release in the series: the given one, or the next."""
        if self.times == 1:
            return None
        series = series_of(self.query, self.shares.epsilon, self.shares.delta, self.times, self.series)
        if release is None:
            release = 1 if ledger is None else ledger.next_release(series, self.times)
        return Turn(series, release, self.times, self._charges(later=True) if self.shares.bounds else ())

    def _request(self, asked: Asking) -> Request:
        if self.times == 1:
            asked.must_be_one_release()
        question = "" if self.times > 1 else self.question
        request = Request(self.query, self.spent, self.options, self.shares, asked, question=question)
        request.access.check()
        turn = self._turn(asked.ledger, asked.release)
        if turn is None or turn.release == 1 or self.shares.bounds is None:
            return replace(request, turn=turn)
        first = None if asked.ledger is None else asked.ledger.kept_answer(turn.series, 1)
        if first is None:
            raise InvalidParameter(
                f"release {turn.release} uses the bounds that release 1 finds privately; make release 1 first. Nothing "
                "was spent."
            )
        return replace(request.after(unpacked(first[1])[2]), turn=turn)

    def settled(self, asked: Asking) -> QueryPlan:
        """This plan: its limits are declared."""
        return self

    def after(self, receipt: Receipt) -> QueryPlan:
        """This plan with the bounds that an answer found privately."""
        if self.query.search is None:
            return self
        found = Request(self.query, self.spent, self.options, self.shares, Asking(None)).after(receipt)
        return replace(self, query=found.query, spent=found.spent)

    def answered(self, asked: Asking) -> Answer:
        return self._request(asked).answer()

    def finished(self, asked: Asking, finish: Callable[[Answer], Answer]) -> Answer:
        """The answer that `finish` makes of the released numbers; it is kept as it is shown."""
        return replace(self._request(asked), finish=finish).answer()

    def written(self, path: str | os.PathLike[str], asked: Asking) -> Receipt:
        # the row "other" and quantiles need all keys that are shown
        in_memory = self.times > 1 or self.shares.other is not None or self.shares.choices is not None
        return super().written(path, asked) if in_memory else self._request(asked).write(path)

    def must_answer(self, asked: Asking) -> None:
        """Refuse what can be refused before anything is spent."""
        self._request(asked).prepared()

    def __repr__(self) -> str:
        return self.described()

    def _repr_html_(self) -> str:
        """The errors to expect, with bars for what they would be with other bounds."""
        heads, *rows = self._errors_in_cells(1000)
        found = self.limit_errors()
        names, cells = in_cells(found, self._present())
        first = card(self._summary()[0], heads=heads, rows=rows, left=3, lines=[self.why, *self._cautions()])
        return first + card(heads=names, rows=cells, bars=error_bars(found), heading="error")

    def limit_errors(self, rows: int = 1000) -> list[LimitError]:
        """The error of noise of the first answer, for several limits on the groups of a person, and the share of a
        group of `rows` rows that costs as much if a limit leaves it out.
        """
        counts = next((m.name for m in self.query.shown if m.counts_people or m.counts_rows), None)
        present = self._present(rows)
        return [
            LimitError(
                row["groups_per_unit"],
                present * row["error"],
                share=None if counts is None else min(self.errors(rows)[counts] * row["error"] / rows, 1.0),
                threshold=row["threshold"],
            )
            for row in self.what_if()
        ]

    def _present(self, rows: int = 1000) -> float:
        """The error of the first answer."""
        return next(iter(self.errors(rows).values()))

    def described(self, *, rows: int = 1000) -> str:
        """The plan in words and tables, with errors for a group in which `rows` rows count."""
        return "\n".join([*self._summary(), "", *self._error_table(rows), "", *self._cautions(), "", *self._tips(rows)])

    def _summary(self) -> list[str]:
        """The guarantee, the noise, the rows and the groups."""
        spent, shares, query = self.spent, self.shares, self.query
        pair, groups = f"(epsilon, delta) = ({shares.epsilon:.6g}, {shares.delta:.6g})", spent.reach.groups
        lines = [f"{pair} for each {query.table.whose.words}, at most {groups} group{'s' * (groups > 1)}"]
        if self.times > 1:
            lines += wrapped(f"for {self.times} releases together; the errors are those of each release")
            if self.shares.bounds is not None:
                lines += wrapped("the bounds are found privately with release 1, once, and all releases use them")
        if query.table.whose.not_protected:
            lines += wrapped(f"not covered: {query.table.whose.not_protected}", hang=13)
        lines += wrapped(self.why)
        if spent.joint is not None:
            what = "one draw for the whole table" if spent.whole_table else "one draw for each group"
            lines += wrapped(f"{what}: {moves_in_words(spent.drawn)}")
        if query.table.belongs:
            lines += wrapped(f"whose rows: {query.table.belongs}", hang=12)
        if query.table.filters:
            lines += wrapped(f"rows: {only_where(query.table.filters)}", hang=6)
        if query.grouping.names and query.grouping.keys is not None:
            lines += wrapped(f"groups: {keys_in_words(query.grouping.names, query.grouping.keys)}", hang=8)
        return lines

    def _error_table(self, rows: int) -> list[str]:
        """Each answer with its error and its bounds."""
        heads, *table = self._errors_in_cells(rows)
        return text_table(heads, table, [])

    def _errors_in_cells(self, rows: int) -> list[list[str]]:
        """The headings of that table, and its rows."""
        errors, sought = self.errors(rows), self.query.open_bounds
        found = "found privately; the error is a fraction of the range (high - low)"
        table = [
            [m.name, _error(m, errors[m.name]), f"{m.name}: {found}" if m.name in sought else m.bounds_text]
            for m in self.query.shown
        ]
        return [["answer", f"95 % error, group of {rows} rows", "bounds"], *table]

    def _cautions(self) -> list[str]:
        """What the errors do not include, what is measured once, and the threshold of private keys."""
        spent, shares = self.spent, self.shares
        lines = wrapped("errors are of noise only" + "".join(f"; {words}" for words in limits_in_words(self.query)))
        if shares.limits is not None:
            part = f"{100.0 * shares.limits.epsilon / shares.epsilon:.2g} % of the budget"
            lines += wrapped(f"{part} measures how much the limits leave out (limits_share=0 switches it off)")
        if shares.other is not None:
            part = f"{100.0 * shares.other.epsilon / shares.epsilon:.2g} % of the budget"
            lines += wrapped(f"{part} counts the people who are in at least one group that is not shown (other=True)")
        if measured_once := shared_in_words(self.query.measures, spent.shared):
            lines += wrapped(f"measured once: {'; '.join(measured_once)}", hang=15)
        for measure in self.query.shown:
            lines += wrapped(measure.note, hang=2) if measure.note else []
        if spent.rule is not None:
            words = f"private keys: a group is shown if its noisy number of people is at least {spent.threshold:.4g}"
            alone = f"a group of one person is shown with probability {spent.rule.keys.chance:.2g} at most"
            lines += ["", *wrapped(f"{words} (keys_for={shown(spent.keys_for)}; {alone})")]
        return lines

    def _tips(self, rows: int) -> list[str]:
        """How errors change with the bounds, with bars."""
        found = self.limit_errors(rows)
        tip = "Tip: a narrower [low, high] reduces the error of sums and means in proportion, but clips more values."
        return [*error_lines(found, *in_cells(found, self._present(rows))), tip]


def _error(measure: Prepared, error: float) -> str:
    """The error of an answer, or how many rows a quantile may be off."""
    return f"+-{error:.4g}" if measure.chosen is None else f"within {math.ceil(error):,} rows"
