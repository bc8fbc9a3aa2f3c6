"""One SELECT as a hush query and the shape of its answer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from hush.errors import shown
from hush.tables.policy.rules import is_private
from hush.tables.sql.aggregates import Measures, has_aggregate, is_aggregate, named
from hush.tables.sql.catalogue import Catalogue
from hush.tables.sql.from_clause import scope_of
from hush.tables.sql.keys import Key, grouped, keys_of
from hush.tables.sql.makers import people
from hush.tables.sql.number import Number, formula
from hush.tables.sql.output import Ordered, Output, Shape
from hush.tables.sql.plain import check_plain
from hush.tables.sql.refusal import Refused, allow_only, refuse_clauses
from hush.tables.sql.rewrites import refuse_distinct
from hush.tables.sql.scope import Scope, matching
from hush.tables.sql.windows import over_groups, with_windows

__all__ = ["Question", "question_of"]

_CLAUSES = {"expressions", "from_", "joins", "where", "group", "having", "order", "limit", "offset", "with_"}
#: Nodes that only group by themselves: text and truth made from released values.
_FUNCTIONS = ("Case", "If", "EQ", "NEQ", "LT", "LTE", "GT", "GTE", "And", "Or", "Not", "Between", "In", "Is", "Like")


@dataclass(frozen=True)
class Question:
    """A statement as a query, with the shape of its answer."""

    name: str  # of the table in the policy
    query: Any
    shape: Shape
    notes: tuple[str, ...] = ()


def question_of(select: Any, policy: Catalogue, dialect: str, options: Mapping[str, Any]) -> Question:
    """The query of a SELECT. Nothing runs and nothing is spent."""
    refuse_clauses(select, {*_CLAUSES, "distinct"})
    group = select.args.get("group")
    scope = scope_of(select, policy, dialect)
    refuse_distinct(select, scope)
    scope = with_windows(scope, [*select.expressions, *([group] if group is not None else [])])
    _check_unit(scope, options)
    keys = keys_of(select, scope, has_aggregate)
    rows = _tighter("max_rows_contributed", options, scope.rule.rows_per_unit, "rows_per_unit")
    measures = Measures(scope, rows, taken={key.name for key in keys})
    translator = _Select(select, scope, keys, measures)
    outputs = translator.outputs()
    shape = translator.shape(outputs)
    if not measures.made:
        raise Refused(
            "the statement has no aggregate, and rows of people are not shown; name an aggregate, such as "
            f"{people(scope).sql()}",
            select,
        )
    table, names = scope.filtered(), dict[str, str]()
    if keys:
        most = 1 if scope.table.whose.each_row else scope.rule.groups_per_unit
        groups = _tighter("max_groups_contributed", options, most, "groups_per_unit")
        if groups is None:
            raise Refused(
                "GROUP BY needs the number of groups in which one person counts; declare groups_per_unit of "
                f"{scope.name} in the policy",
                select.args["group"],
            )
        table, names = grouped(table, keys, scope, groups)
    query = table.aggregate(**measures.made)
    _check_formulas(shape, measures)
    return Question(scope.name, query, _named(shape, names), translator.notes())


def _check_formulas(shape: Shape, measures: Measures) -> None:
    """Refuse formulas over bounds that are still to be found: their intervals need the bounds."""
    sought = {name for name, measure in measures.made.items() if measure.wants_bounds}
    for text, number in shape.numbers.items():
        if len(number.uses) > 1 and number.uses & sought:
            raise Refused(
                f"{text} is a formula over a column whose bounds are found privately; ask its parts by themselves"
            )


def _named(shape: Shape, names: Mapping[str, str]) -> Shape:
    """The shape with the names of the keys' columns in the engine instead of the texts of their expressions."""
    outputs = tuple(replace(output, key=names[output.key]) if output.key else output for output in shape.outputs)
    keys = {text: names[key] for text, key in shape.keys.items()}
    return replace(shape, outputs=outputs, keys=keys)


def _check_unit(scope: Scope, options: Mapping[str, Any]) -> None:
    given = options.get("privacy_unit_column")
    if given is not None and matching(str(given).rpartition(".")[2], scope.units) is None:
        raise Refused(f"the policy protects {scope.unit}, and the statement names {given} as the unit")


def _tighter(option: str, options: Mapping[str, Any], most: Any, name: str) -> Any:
    """A limit of the policy, or a smaller one of the statement; "private" if it is to be chosen."""
    given = options.get(option)
    if given is None:
        return most
    if given < 1:
        raise Refused(f"{option} must be at least 1, got {given}")
    if most is not None and not is_private(most) and given > most:
        raise Refused(
            f"{option} is {given}, but the policy has {name} = {shown(most)}, and a statement may only be tighter"
        )
    return int(given)


class _Select:
    """The clauses of a SELECT that are about released values."""

    def __init__(self, select: Any, scope: Scope, keys: tuple[Key, ...], measures: Measures) -> None:
        self.select, self.scope, self.measures = select, scope, measures
        self.keys = {key.text: key for key in keys}
        #: numbers and keys by the text of the expression, also of aliases
        self.numbers: dict[str, Number] = {}
        self.known_keys: dict[str, str] = {text: text for text in self.keys}

    def outputs(self) -> tuple[Output, ...]:
        """The columns of SELECT."""
        made: list[Output] = []
        for part in self.select.expressions:
            node = part.unalias()
            if type(node).__name__ == "Star":
                raise Refused(
                    f"SELECT * shows rows of people; name an aggregate, such as {people(self.scope).sql()}",
                    self.select,
                )
            made += self._output(node, part.alias, part)
        names = [name.lower() for output in made for name in output.columns]
        for name in names:
            if names.count(name) > 1:
                raise Refused(f"two columns of the answer are called {name}; give one another name", self.select)
        return tuple(made)

    def _output(self, node: Any, alias: str, part: Any) -> list[Output]:
        text = node.sql()
        if text in self.keys:
            name = alias or self.keys[text].name
            self._alias(alias, key=text)
            return [Output(name, key=text)]
        if type(node).__name__ == "Anonymous" and str(node.this).lower().startswith("dp_interval_"):
            made = self.select.copy()
            made.expressions[self.select.expressions.index(part)].pop()
            sentence = "every number of the answer has its interval, in the columns name_low and name_high"
            raise Refused(sentence, self.select, made if made.expressions else None)
        if not has_aggregate(node):
            self._refuse_bare(node, part)
        if is_aggregate(node):
            return self._aggregate(node, alias)
        name = alias or f"column_{self.select.expressions.index(part) + 1}"
        if type(node).__name__ in _FUNCTIONS:
            self._register(node)
            check_plain(node, self._known)
            return [Output(name, node=node)]
        number = formula(node, self.measures.of)
        self._alias(alias, number)
        self.numbers[text] = number
        return [Output(name, number=number)]

    def _aggregate(self, node: Any, alias: str) -> list[Output]:
        numbers = self.measures.several(node, alias)
        if len(numbers) == 1:
            number = numbers[0]
            self.numbers[node.sql()] = number
            self._alias(alias, number)
            return [Output(alias or number.plain or named(node), number=number)]
        return [Output(number.label or str(number.plain), number=number) for number in numbers]

    def _refuse_bare(self, node: Any, part: Any) -> None:
        if self.scope.is_unit(node):
            raise Refused(
                f"{node.sql()} identifies people and is not shown; count it: COUNT(DISTINCT {self.scope.unit})", part
            )
        self.scope.rows.of(node)  # the reason why the expression itself is refused comes first
        if self.select.args.get("group") is None:
            sentence = f"{node.sql()} is a value of each row, and rows of people are not shown; group by it"
            raise Refused(sentence, self.select, self._grouped_too(part))
        raise Refused(
            f"{node.sql()} is neither an aggregate nor in GROUP BY; add it to GROUP BY",
            self.select,
            self._grouped_too(part),
        )

    def _grouped_too(self, part: Any) -> Any:
        import sqlglot

        made = self.select.copy()
        if not any(has_aggregate(shown) for shown in made.expressions):
            return None
        group = made.args.get("group") or sqlglot.exp.Group(expressions=[])
        group.append("expressions", part.unalias().copy())
        made.set("group", group)
        return made

    def _alias(self, alias: str, number: Number | None = None, key: str = "") -> None:
        """Let HAVING and ORDER BY use the alias."""
        if not alias:
            return
        import sqlglot

        text = sqlglot.exp.column(alias).sql()
        if number is not None:
            self.numbers[text] = number
        else:
            self.known_keys.setdefault(text, key)

    # -- HAVING, ORDER BY, LIMIT ---------------------------------------------------------------------------------

    def shape(self, outputs: tuple[Output, ...]) -> Shape:
        """The outputs with HAVING, ORDER BY and LIMIT."""
        having = self.select.args.get("having")
        if having is not None:
            self._register(having.this)
            check_plain(having.this, self._known)
        order = tuple(self._ordered(node, outputs) for node in self._order_nodes())
        limit, offset = self._whole("limit"), self._whole("offset")
        where = having.this if having is not None else None
        return Shape(outputs, self.known_keys, self.numbers, where, order, limit, offset or 0)

    def _order_nodes(self) -> list[Any]:
        order = self.select.args.get("order")
        if order is None:
            return []
        allow_only(order, "expressions", what="ORDER BY")
        return list(order.expressions)

    def _ordered(self, node: Any, outputs: tuple[Output, ...]) -> Ordered:
        allow_only(node, "this", "desc", "nulls_first", what="ORDER BY")
        inner = node.this
        if type(inner).__name__ == "Literal" and not inner.is_string and str(inner.this).isdigit():
            place = int(inner.this)
            if not 1 <= place <= len(self.select.expressions):
                raise Refused(f"ORDER BY {place} names a place that SELECT does not have", node)
            inner = self.select.expressions[place - 1].unalias()
        self._register(inner)
        check_plain(inner, self._known)
        return Ordered(inner, bool(node.args.get("desc")), bool(node.args.get("nulls_first")))

    def _whole(self, clause: str) -> int | None:
        found = self.select.args.get(clause)
        if found is None:
            return None
        allow_only(found, "expression", what=clause.upper())
        text = str(found.expression.name)
        if type(found.expression).__name__ != "Literal" or not text.isdigit():
            raise Refused(f"{clause.upper()} takes a whole number", found)
        return int(text)

    def _register(self, node: Any) -> None:
        """Ask for the aggregates of an expression that are not in SELECT; they are charged as the others."""
        text = node.sql()
        if text in self.numbers or text in self.known_keys:
            return
        if type(node).__name__ == "Window":
            raise over_groups(node)
        if is_aggregate(node):
            number = self.measures.of(node)
            assert number is not None
            self.numbers[text] = number
            return
        for part in node.iter_expressions():
            self._register(part)

    def _known(self, node: Any) -> str:
        """The kind of values of a key or a number; KeyError if the node is neither."""
        text = node.sql()
        if text in self.known_keys:
            return self.keys[self.known_keys[text]].cell.family
        return self.numbers[text].shown_as.removesuffix(" in UTC") or "number"

    def notes(self) -> tuple[str, ...]:
        """What a reader of the plan should know about the translation."""
        found = []
        for text, number in self.numbers.items():
            if len(number.uses) > 1:
                found.append(f"{text}: its interval combines {len(number.uses)} intervals that hold at once")
        kinds = {type(node).__name__ for node in self.select.walk()}
        if kinds & {"Min", "Max"}:
            found.append("MIN and MAX are the outermost values that clearly have rows, not those of a single person")
        return tuple(dict.fromkeys(found))
