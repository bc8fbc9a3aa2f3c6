"""A statement that is ready to be planned and answered, and its plan."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hush.errors import IncompleteCall, InvalidParameter, shown
from hush.tables.advice.plan import LimitsPlan
from hush.tables.answer import Answer
from hush.tables.asking import Asking
from hush.tables.chart import wrapped
from hush.tables.policy import Policy
from hush.tables.query_plan import QueryPlan
from hush.tables.sql.catalogue import Catalogue
from hush.tables.sql.grouping_sets import OfStatement, SetsPlan, SetsQuestion, has_grouping_sets, sets_question
from hush.tables.sql.output import finished
from hush.tables.sql.parse import Parsed, parsed
from hush.tables.sql.refusal import Refused
from hush.tables.sql.select import Question, question_of
from hush.tables.sql.suggestion import same_statement

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["Statement", "StatementPlan", "statement"]

#: The most characters of a statement that become the label of a ledger's entry.
_LABEL = 200


def statement(text: str, policy: Policy, dialect: str = "duckdb") -> Statement:
    """A SELECT over a table of the policy. What cannot be answered is refused, with a statement that
    means the same and is answered, if there is one."""
    if not isinstance(policy, Policy):
        raise InvalidParameter(
            f"policy must be a hush.tables.Policy, got {shown(policy)}; write Policy.read('hush.toml')."
        )

    tables = Catalogue(policy)

    def translate(tree: Any, options: Mapping[str, Any] | None = None) -> Any:
        translated = sets_question if has_grouping_sets(tree) else question_of
        return translated(tree, tables, dialect, options or {})

    try:
        read = parsed(text, dialect)
    except Refused as failure:
        found = "" if failure.node is None else same_statement(failure.node, failure, translate, dialect)
        raise Refused(failure.sentence, instead=found) from failure
    try:
        return Statement(read, policy, translate(read.tree, read.options))
    except Refused as failure:
        found = same_statement(read.tree, failure, translate, dialect)
        raise Refused(failure.sentence, instead=found) from failure
    except RecursionError as failure:
        raise Refused("the statement is nested too deeply; write it shorter") from failure


@dataclass(frozen=True)
class Statement:
    """A statement and the query that it means. Nothing has run."""

    parsed: Parsed
    policy: Policy
    question: Question | SetsQuestion

    @property
    def query(self) -> Any:
        """The same question as the Python interface asks it."""
        return self.question.query

    @property
    def several(self) -> bool:
        """Does the statement ask for several tables at once?"""
        return isinstance(self.question, SetsQuestion)

    def plan(self, epsilon: float | None = None, delta: float | None = None, **options: Any) -> Any:
        """The noise and the errors to expect; nothing is spent. `options` are those of `Query.plan`."""
        spent = [self._budget(name, given) for name, given in (("epsilon", epsilon), ("delta", delta))]
        self.policy.check_budget(self.question.name, spent[0], spent[1])
        planned = self.query.plan(spent[0], spent[1], **options)
        return SetsPlan(self, planned) if isinstance(self.question, SetsQuestion) else StatementPlan(self, planned)

    @contextmanager
    def charged(self, given: Ledger | None) -> Iterator[Ledger | None]:
        """The ledger that is charged: the given one, or else that of the policy."""
        own = self.policy.ledger(self.question.name) if given is None else None
        try:
            yield given if own is None else own
        finally:
            if own is not None:
                own.close()

    def _budget(self, name: str, given: float | None) -> float:
        """The budget of the call, or a smaller one of the statement's OPTIONS."""
        stated = self.parsed.options.get(name)
        if given is None and stated is None:
            example = "1.0" if name == "epsilon" else "1e-6"
            raise IncompleteCall(f"sql is missing {name}; write hush.sql(..., {name}={example}).")
        if given is not None and stated is not None and stated > given:
            raise InvalidParameter(
                f"the statement asks for {name} = {stated:g}, but the call allows {given:g}; ask for less."
            )
        return float(stated if stated is not None else given)  # type: ignore[arg-type]  # one of them is a number


@dataclass(frozen=True)
class StatementPlan(OfStatement):
    """The plan of a statement: its query's plan, and what is computed from the released values. Nothing is spent."""

    statement: Statement
    plan: QueryPlan | LimitsPlan

    def answered(self, asked: Asking) -> Answer:
        """Without a label, the statement is the label of the ledger's entry."""
        text = asked.label or _short(self.statement.parsed.text)
        with self.statement.charged(asked.ledger) as ledger:
            request = replace(asked, ledger=ledger, label=text, together=False)
            plan = self.plan.settled(request)  # limits that are found privately decide the noise
            return plan.finished(request, lambda released: self._finished(plan, released, asked))

    def _finished(self, plan: QueryPlan, released: Answer, asked: Asking) -> Answer:
        """The answer of the statement, from the released numbers of its query."""
        question: Any = self.statement.question
        table, names = finished(question.shape, plan.after(released.receipt), released, asked.level, asked.together)
        about: dict[str, Any] = {
            "statement": self.statement.parsed.text,
            "dialect": self.statement.parsed.dialect,
            **({"together": True} if asked.together else {}),
            "groups": table.num_rows,
        }
        return replace(released, table=table, receipt=released.receipt | about, names=names, basis=None)

    def described(self, *, rows: int = 1000) -> str:
        """The plan in words and tables, with errors for a group in which `rows` rows count."""
        lines = [*wrapped(f"statement: {' '.join(self.statement.parsed.text.split())}", hang=11)]
        lines += [self.plan.described(rows=rows)]
        for note in self.statement.question.notes:
            lines += wrapped(note, hang=2)
        return "\n".join([*lines, "nothing was spent"])

    def errors(self, rows: int = 1000) -> dict[str, float]:
        """Half the width of the 95 % noise interval of each aggregate, for a group in which `rows` rows count."""
        return self.plan.errors(rows)

    def __repr__(self) -> str:
        return self.described()


def _short(text: str) -> str:
    """A statement in one line, for a label."""
    line = " ".join(text.split())
    return line if len(line) <= _LABEL else f"{line[: _LABEL - 4]} ..."
