"""The policy: facts about tables that a curator declares once. Analysts need not state them and may not loosen them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from hush.errors import HushError, InvalidParameter, budgets, deltas, nearest, shown, warn_if_weak
from hush.ledger.access import Access
from hush.privacy.budget import Budget
from hush.tables.expression import must_have
from hush.tables.policy.limits import as_its_people
from hush.tables.policy.mistakes import Mistake, mistakes_in_tables, must_be_right
from hush.tables.policy.reading import rules_of, toml_of
from hush.tables.policy.rules import ROW, TableRule, Via

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.tables.engines.contract import Source
    from hush.tables.joining import SideTable
    from hush.tables.query import Table

__all__ = ["Policy"]


@dataclass(frozen=True)
class Policy:
    """The tables that may be asked, and the facts about them: `Policy.read("hush.toml")` or
    `Policy({"visits": TableRule(...)})`.

    Guarantees: a table that `open` returns has no column that the policy hides. Its groups and aggregates take what
    they leave out from the policy and refuse what is looser. Its plans refuse more epsilon or delta than one question
    may spend, and its answers refuse another ledger.
    """

    tables: Mapping[str, TableRule]
    #: the folder that relative paths start from; None: the working directory
    folder: Path | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        must_be_right("the policy", mistakes_in_tables(self.tables))
        for rule in self.tables.values():
            warn_if_weak(rule.max_epsilon or 0.0, rule.max_delta or 0.0)
        object.__setattr__(self, "tables", dict(self.tables))

    @classmethod
    def read(cls, path: str | Path) -> Self:
        """The policy in a TOML file. Relative paths in it start from its folder. All mistakes are reported at once."""
        file = Path(path)
        tables, mistakes = rules_of(file)
        must_be_right(str(path), [*mistakes, *(mistakes_in_tables(tables) if tables or not mistakes else ())])
        return cls(tables, file.absolute().parent)

    @classmethod
    def mistakes_of(cls, path: str | Path) -> list[Mistake]:
        """All mistakes of a file: of its form, and against the schemas of its sources where the form is right."""
        file = Path(path)
        tables, mistakes = rules_of(file)
        mistakes += mistakes_in_tables(tables) if tables or not mistakes else ()
        usable = _without(tables, {mistake.place for mistake in mistakes})
        sound = _sound(usable)
        return mistakes + (cls(sound, file.absolute().parent).mistakes() if sound else [])

    def rule(self, name: str) -> TableRule:
        """What is declared about a table; an unknown name is refused. A table whose rows find their person `via`
        another one has the ledger and the population of that table, and the smaller limits of both.
        """
        if isinstance(name, str) and name in self.tables:
            rule = self.tables[name]
            return rule if rule.via is None else as_its_people(rule, self.rule(rule.via.table))
        known = ", ".join(map(repr, self.tables))
        hint = nearest(name, self.tables)
        raise InvalidParameter(
            f"the policy has no table {shown(name)}; " + (f"{hint}?" if hint else f"its tables are {known}.")
        )

    def open(self, name: str) -> Table:
        """The table, restricted to the columns that may be asked, with its unit. Its aggregates and groups take
        bounds, keys and limits from the policy, and refuse looser ones.
        """
        from hush.tables.quantise import Limits
        from hush.tables.query import Table

        rule = self.rule(name)
        if rule.public:
            raise InvalidParameter(
                f"{shown(name)} is a public table, which protects nobody; join it with another table."
            )
        made = self._with_people(name, lambda columns: [column for column in columns if rule.may_ask(column)])
        made["roots"] = tuple(replace(root, rule=rule, called=name) for root in made["roots"])
        return Table(**made, limits=Limits(2**40), rule=replace(rule, ledger=self.ledger_path(name)))

    def lookup(self, name: str) -> SideTable:
        """A public table with the columns that may be asked, to be joined:
        `visits.join(policy.lookup("wards"), on="ward")`.
        """
        from hush.tables.joining import SideTable
        from hush.tables.opening import with_columns
        from hush.tables.root import Root

        rule = self.rule(name)
        if not rule.public:
            raise InvalidParameter(f"{shown(name)} is not a public table of the policy; its rows are protected.")
        opened = self._opened(name, rule)
        visible = [column for column in opened.relation.columns if rule.may_ask(column)]
        if not visible:
            raise InvalidParameter(f"the policy allows no column of the public table {shown(name)}.")
        return SideTable(Root(with_columns(opened, visible)))

    def ledger(self, name: str) -> Ledger | None:
        """The ledger of a table, opened; None if the policy names none."""
        from hush.ledger import Ledger

        path = self.ledger_path(name)
        if path is None:
            return None
        if not Path(path).exists():
            raise InvalidParameter(_no_ledger(path))
        return Ledger(path)

    def ledger_path(self, name: str) -> str | None:
        """The file of the table's ledger; None if the policy names none."""
        declared = self.rule(name).ledger
        return None if declared is None else self._place(declared)

    def check_budget(self, name: str, epsilon: float, delta: float) -> None:
        """Refuse a question that asks for more than the policy allows for one question."""
        rule = self.rule(name)
        asked = Budget.asked(float(budgets("epsilon", epsilon)), float(deltas("delta", delta, zero=True)), zero=True)
        Access(None, max_epsilon=rule.max_epsilon, max_delta=rule.max_delta).allow(asked)

    def mistakes(self) -> list[Mistake]:
        """What does not fit the sources and the ledgers, each with its place. Schemas are read, rows are not."""
        return [mistake for name, rule in self.tables.items() for mistake in self._mistakes(name, rule)]

    def text(self) -> str:
        """The policy as TOML."""
        return toml_of(self.tables)

    # -- steps -----------------------------------------------------------------------------------------------

    def _place(self, path: str) -> str:
        """A path that starts from the policy's folder; an address is unchanged."""
        return path if "://" in path or self.folder is None else str(self.folder / path)

    def _source(self, rule: TableRule) -> Source:
        from hush.tables.source import is_text_file, open_source

        given = rule.source
        source = self._place(str(given)) if isinstance(given, str | Path) else given
        typed: dict[str, Any] = {}
        if isinstance(source, str | Path) and is_text_file(str(source)):
            lines = rule.columns or {}
            types = {name: word for name, line in lines.items() if (word := line.as_text) is not None}
            keys = [key for other in self.tables.values() for key in other.keys_of(rule, self.tables)]
            typed = {"types": types, "csv": rule.csv, "fields": [*rule.owners, *keys, *lines]}
        elif rule.csv is not None:
            typed = {"csv": rule.csv}
        return open_source(source, name=rule.name, engine=rule.engine or "duckdb", **typed)

    def _with_people(self, name: str, choose: Callable[[Iterable[str]], list[str]] | None = None) -> dict[str, Any]:
        """The rows of a table with the key of their person, and the columns that `choose` keeps."""
        from hush.tables.linking import with_link
        from hush.tables.opening import with_unit
        from hush.tables.unit import each_row

        rule = self.rule(name)
        opened = self._opened(name, rule)
        visible = None if choose is None else choose(opened.relation.columns)
        if rule.via is None:
            unit = each_row if rule.unit == ROW else rule.unit
            return with_unit(opened, unit, visible=visible, population=rule.population)
        (parent,) = self._with_people(rule.via.table)["roots"]
        try:
            return with_link(opened, parent, rule.via.on, visible=visible)
        except HushError as failure:
            must_be_right("the policy", [Mistake(f"tables.{name}.via", str(failure))])
            raise

    def _opened(self, name: str, rule: TableRule) -> Source:
        """The source of a table whose rule fits its schema."""
        from hush.tables.policy.schema import mistakes_in_schema

        opened = self._source(rule)
        must_be_right("the policy", mistakes_in_schema(f"tables.{name}", rule, opened.relation))
        return opened

    def _mistakes(self, name: str, rule: TableRule) -> Iterator[Mistake]:
        from hush.tables.policy.schema import mistakes_in_schema

        place = f"tables.{name}"
        try:
            found = list(mistakes_in_schema(place, rule, self._source(rule).relation))
        except HushError as failure:
            found = [Mistake(f"{place}.source", str(failure))]
        if rule.via is not None and not found:
            found = list(self._in_way(name, rule.via))
        yield from found
        if rule.ledger is not None:
            try:
                ledger = self.ledger(name)
                assert ledger is not None
                with ledger:
                    if not found:
                        ledger.must_protect(self.open(name).fingerprint)
            except HushError as failure:
                yield Mistake(f"{place}.ledger", str(failure))

    def _in_way(self, name: str, via: Via) -> Iterator[Mistake]:
        """What is wrong with the columns that lead to the person, by the schemas of both tables."""
        other = self._source(self.rule(via.table)).relation
        here = self._source(self.rule(name)).relation
        for place, known, names in (("column", here, via.on), ("key", other, via.on.values())):
            for column in names:
                try:
                    must_have(known.columns, column, "it")
                except HushError as failure:
                    yield Mistake(f"tables.{name}.via.{place}", str(failure))
                    return
        try:
            self._with_people(name)
        except HushError as failure:
            yield Mistake(f"tables.{name}.via", str(failure).partition(".via: ")[2] or str(failure))


def _sound(tables: Mapping[str, TableRule]) -> dict[str, TableRule]:
    """The tables without a mistake, with all tables that lead to their people."""
    kept = dict(tables)
    while wrong := [name for name in kept if any(_is_about(m, name) for m in mistakes_in_tables(kept))]:
        kept = {name: rule for name, rule in kept.items() if name not in wrong}
    return kept


def _is_about(mistake: Mistake, name: str) -> bool:
    return f"{mistake.place}.".startswith(f"tables.{name}.")


def _without(tables: Mapping[str, TableRule], wrong: set[str]) -> dict[str, TableRule]:
    """The rules without the columns and the limits in which a mistake is already known."""
    kept = {}
    for name, rule in tables.items():
        place, columns = f"tables.{name}", rule.columns
        if isinstance(columns, Mapping):
            starts = {f"{place}.columns.{column}": column for column in columns}
            bad = {column for start, column in starts.items() if any(f"{w}.".startswith(f"{start}.") for w in wrong)}
            columns = {column: line for column, line in columns.items() if column not in bad}
        limits = ("groups_per_unit", "rows_per_unit", "max_epsilon", "max_delta")
        none: dict[str, Any] = {key: None for key in limits if f"{place}.{key}" in wrong}
        kept[name] = replace(rule, columns=columns, **none)
    return kept


def _no_ledger(path: str) -> str:
    return f"there is no ledger {path}; make one with `hush ledger new {path} --epsilon E --delta D`."
