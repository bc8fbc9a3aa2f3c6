"""One door: every public call that spends refuses what the policy does not allow, alike, and charges the same block.

The calls are found by their signatures: whatever has a parameter `ledger`, or an option `--ledger`. A new one is not
listed here, and `test_every_call_is_listed` says so.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib
import inspect
import itertools
import pkgutil
import re
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import hush
from hush import federated, learn, tables
from hush.cli import main, parser
from hush.ledger.access import Access
from hush.tables import Policy
from hush.tables.description import TableDescription
from hush.workload import Marginals

MONTH = "2025-01"
ROWS = 60
EDGES = [0, 20, 40, 60, 80, 100]
#: What a policy allows for one question, and a question that it allows.
MOST, ASKED, DELTA = 2.0, 1.0, 1e-6


@dataclass(frozen=True)
class Place:
    """A policy with its file, its ledger and its data."""

    folder: Path
    policy: Policy
    book: Path
    file: Path

    @property
    def table(self) -> Any:
        return self.policy.open("visits").in_block("month", MONTH)


def rows() -> Any:
    places = np.arange(ROWS)
    columns = {"id": places % 30, "month": np.array([MONTH] * ROWS), "ward": np.array(["a", "b"])[places % 2]}
    numbers = {"age": (places * 7) % 100, "cost": (places * 3) % 50, "free": places % 5, "secret": places}
    return pa.table(columns | numbers)


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return placed(tmp_path)


def placed(folder: Path) -> Place:
    """A policy about people and months, and a ledger whose budget is for each month."""
    pyarrow.parquet.write_table(rows(), folder / "visits.parquet")
    file, book = folder / "hush.toml", folder / "visits.ledger"
    hush.Ledger(book, epsilon=500.0, delta=1e-2, blocks="month").close()
    file.write_text(
        f"""
[tables.visits]
source = "visits.parquet"
unit = ["id", "month"]
groups_per_unit = 2
rows_per_unit = 2
max_epsilon = {MOST}
max_delta = {DELTA}
ledger = "visits.ledger"
[tables.visits.columns]
ward = {{ values = ["a", "b"] }}
age = {{ low = 0, high = 100 }}
cost = {{ low = 0, high = 50 }}
month = {{}}
free = {{}}
"""
    )
    return Place(folder, Policy.read(file), book, file)


@dataclass(frozen=True)
class Asking:
    """A ledger, a budget, and the column that a call asks about."""

    place: Place
    ledger: Any
    epsilon: float = ASKED
    delta: float = DELTA
    column: str = "age"

    @property
    def pair(self) -> tuple[float, float]:
        return self.epsilon, self.delta

    @property
    def given(self) -> dict[str, Any]:
        return {"ledger": self.ledger}

    @property
    def ward(self) -> str:
        """The column of groups of a call that asks about groups only."""
        return "ward" if self.column == "age" else self.column

    @property
    def free(self) -> str:
        """The column of a call that finds bounds privately: one without declared bounds."""
        return "free" if self.column == "age" else self.column

    @property
    def budget(self) -> Any:
        """The budget of two questions."""
        return hush.Budget(2.0 * self.epsilon, 2.0 * self.delta)

    @property
    def low_high(self) -> dict[str, Any]:
        return {} if self.column != "secret" else {"low": 0, "high": 60}


Call = Callable[[Asking], Any]


def query(asked: Asking, aggregate: Any = None, **groups: Any) -> Any:
    """A query of the table: about one column, in groups if any are given."""
    made = tables.mean(asked.column, **asked.low_high) if aggregate is None else aggregate
    table = asked.place.table
    return (table.group_by("ward", **groups) if groups else table).aggregate(x=made)


def answered(asked: Asking, question: Any, **options: Any) -> Any:
    return question.answer(*asked.pair, **asked.given, **options)


def planned(asked: Asking, question: Any, **options: Any) -> Any:
    return question.plan(*asked.pair, **options).answer(**asked.given)


def written(asked: Asking, question: Any, **options: Any) -> Any:
    return question.plan(*asked.pair, **options).write(asked.place.folder / "answer.parquet", **asked.given)


def of(aggregate: Callable[[Asking], Any], **groups: Any) -> Call:
    """The answer of an aggregate, with noise that is found at once."""
    return lambda asked: answered(asked, query(asked, aggregate(asked), **groups), family="laplace")


def edges(asked: Asking) -> Any:
    return tables.histogram(asked.column, edges=EDGES)


def known(asked: Asking) -> Any:
    return query(asked, groups_per_unit=2)


def above(asked: Asking) -> Any:
    table = asked.place.table
    return table.filter(table[asked.column] > 20)


def edges_of(asked: Asking) -> Any:
    return query(asked, edges(asked))


def fitted(asked: Asking) -> Any:
    """A plan that the ledger makes for what is left of its budget, of which one question may take a part."""
    whole = hush.Ledger(None, epsilon=asked.epsilon, delta=asked.delta)
    return whole.plan(known(asked), family="laplace").answer(**asked.given)


def hidden(asked: Asking) -> Any:
    return query(asked, keys="private", groups_per_unit=2)


def limits(asked: Asking) -> Any:
    return query(asked, groups_per_unit="private")


def largest(asked: Asking) -> Any:
    return asked.place.table.group_by(asked.ward, groups_per_unit=2).top(1)


def names(asked: Asking) -> Any:
    return asked.place.table.group_by(asked.ward, keys="private", groups_per_unit=2).keys()


def marginals(asked: Asking) -> Any:
    return asked.place.table.marginals([asked.ward], order=1, rows_per_unit=1)


def of_sql(select: str, verb: str = "") -> Call:
    """A statement; with a verb its plan is answered or written."""

    def call(asked: Asking) -> Any:
        text = select.format(asked.column, asked.ward)
        if not verb:
            return hush.sql(text, asked.place.policy, *asked.pair, ledger=asked.ledger)
        plan = hush.sql(f"EXPLAIN {text}", asked.place.policy, *asked.pair)
        where = [asked.place.folder / "answer.parquet"] if verb == "write" else []
        return getattr(plan, verb)(*where, ledger=asked.ledger)

    return call


def fit(kind: str, **options: Any) -> Call:
    """A fit on the table."""

    def call(asked: Asking) -> Any:
        given = {"bounds": {asked.column: (0.0, 100.0)}, "ledger": asked.ledger, **options}
        made = getattr(learn, kind)(epsilon=asked.epsilon, delta=asked.delta, family="gaussian", **given)
        return made.fit(asked.place.table, "ward" if kind == "LogisticRegression" else "cost")

    return call


def command(words: str) -> Call:
    """A command; its sentence on standard error is raised as an error."""

    def call(asked: Asking) -> Any:
        book = [] if asked.ledger is None else ["--ledger", str(asked.ledger.path)]
        given = [*words.format(asked.column, asked.ward).split("|"), *book]
        given += ["--policy", str(asked.place.file), "--epsilon", str(asked.epsilon), "--delta", str(asked.delta)]
        return main(given)

    return call


VISITS = "--table|visits|--block|month=2025-01"
REGRESSION = {"target_bounds": (0.0, 50.0)}
SELECT = "SELECT ward, AVG({0}) AS x FROM visits GROUP BY ward"
SETS = "SELECT {1}, COUNT(*) AS x FROM visits GROUP BY CUBE({1})"
#: Calls that ask about the table of a policy. Each asks about `age`, or about a column that the policy does not list.
CALLS: dict[str, Call] = {
    "count": lambda a: answered(a, above(a).aggregate(n=tables.count()), family="laplace"),
    "count_units": lambda a: answered(a, above(a).aggregate(n=tables.count_units()), family="laplace"),
    "sum": of(lambda a: tables.sum(a.column, **a.low_high)),
    "mean": of(lambda a: tables.mean(a.column, **a.low_high)),
    "variance": of(lambda a: tables.variance(a.column, **a.low_high)),
    "quantile": of(lambda a: tables.quantile(a.column, 0.5, **a.low_high)),
    "histogram": of(edges),
    "private bounds": of(lambda a: tables.sum(a.free, low="private", high="private", rows_per_unit=1)),
    "listed groups": of(edges, groups_per_unit=2),
    "private groups": of(edges, keys="private", groups_per_unit=2),
    "Query.answer": lambda a: answered(a, known(a), family="laplace"),
    "QueryPlan.answer": lambda a: planned(a, known(a), family="laplace"),
    "QueryPlan.write": lambda a: written(a, known(a), family="laplace"),
    "several releases": lambda a: planned(a, known(a), family="laplace", times=2),
    "other groups": lambda a: planned(a, hidden(a), family="laplace", other=True),
    "ledger.plan": fitted,
    "LimitsPlan.answer": lambda a: planned(a, limits(a), family="laplace"),
    "LimitsPlan.write": lambda a: written(a, limits(a), family="laplace"),
    "private rows": of(lambda a: tables.mean(a.column, rows_per_unit="private", **a.low_high), groups_per_unit=2),
    "advise": lambda a: tables.advise(limits(a), *a.pair, **a.given),
    "TopQuery.answer": lambda a: answered(a, largest(a)),
    "TopPlan.answer": lambda a: planned(a, largest(a)),
    "TopPlan.write": lambda a: written(a, largest(a)),
    "KeysQuery.answer": lambda a: answered(a, names(a)),
    "KeysPlan.answer": lambda a: planned(a, names(a)),
    "KeysPlan.write": lambda a: written(a, names(a)),
    "TableWorkload.answer": lambda a: answered(a, marginals(a)),
    "TableWorkloadPlan.answer": lambda a: planned(a, marginals(a)),
    "ranges": lambda a: answered(a, a.place.table.ranges(a.column, edges=EDGES, rows_per_unit=1)),
    "boxes": lambda a: answered(a, a.place.table.boxes(edges={"cost": [0, 25, 50], a.column: EDGES}, rows_per_unit=1)),
    "tree": lambda a: answered(a, a.place.table.tree(a.ward, levels=[{"a": "all", "b": "all"}], rows_per_unit=1)),
    "plan_all": lambda a: [p.answer(**a.given) for p in hush.plan_all([known(a), edges_of(a)], a.budget)],
    "sql": of_sql(SELECT),
    "StatementPlan.answer": of_sql(SELECT, "answer"),
    "StatementPlan.write": of_sql(SELECT, "write"),
    "sql of grouping sets": of_sql(SETS),
    "SetsPlan.answer": of_sql(SETS, "answer"),
    "SetsPlan.write": of_sql(SETS, "write"),
    "Ridge": fit("Ridge", **REGRESSION),
    "Lasso": fit("Lasso", **REGRESSION),
    "ElasticNet": fit("ElasticNet", **REGRESSION),
    "LogisticRegression": fit("LogisticRegression", classes=("a", "b")),
    "hush answer": command(f"answer|{VISITS}|--mean|{{0}}|--family|laplace"),
    "hush answer --times": command(f"answer|{VISITS}|--mean|{{0}}|--times|2|--family|laplace"),
    "hush answer --top": command(f"answer|{VISITS}|--by|{{1}}|--groups-per-unit|2|--count-units|--top|1"),
    "hush answer --which-groups": command(
        f"answer|{VISITS}|--by|{{1}}|--keys|private|--groups-per-unit|2|--which-groups"
    ),
    "hush marginals": command(f"marginals|{VISITS}|--columns|{{1}}|--keys|{{1}}=a,b|--rows-per-unit|1"),
    "hush sql": command(f"sql|{SELECT}|--family|laplace"),
}

#: Calls for which no `ledger=` means the ledger of the policy.
FINDS_THE_LEDGER = ("sql", "Statement", "Sets", "hush ")
#: Calls in which a block of time cannot be named: they charge all blocks.
ALL_BLOCKS = ("sql", "Statement", "Sets", "hush sql")


#: Calls with two entries: limits or a number of rows, then the answer; or two questions.
TWO_STEPS = ("LimitsPlan.answer", "LimitsPlan.write", "private rows", "plan_all")
TWO_STEPS += ("Ridge", "Lasso", "ElasticNet", "LogisticRegression")


def entries(path: Path) -> list[Any]:
    with hush.Ledger(path) as book:
        return list(book.entries)


def refusal(call: Call, asked: Asking, capsys: pytest.CaptureFixture[str]) -> str:
    """The sentence with which a call refuses; it charges nothing."""
    before = len(entries(asked.place.book))
    try:
        done = call(asked)
    except (hush.InvalidParameter, hush.Unsupported) as failure:
        words = str(failure)
    else:
        words = capsys.readouterr().err.strip()
        assert done == 2 and "\n" not in words, f"answered: {done!r}"
        words = words.removeprefix("hush: ").replace("--epsilon", "epsilon").replace("--delta", "delta")
    assert len(entries(asked.place.book)) == before, "a refused call was charged"
    return words


@pytest.fixture
def asked(place: Place) -> Iterator[Asking]:
    with hush.Ledger(place.book) as book:
        yield Asking(place, book)


def some(names: tuple[str, ...], name: str) -> bool:
    return name.startswith(names)


#: What is changed in a call that would be answered, and the sentence that refuses it.
REFUSED = {
    "epsilon": r"epsilon is \S+, but the policy allows at most 2 for one question",
    "delta": r"delta is \S+, but the policy allows at most 1e-06 for one question",
    "another ledger": r"the ledger is \S+, but the policy charges every question to",
    "no ledger": "the ledger is none, but the policy charges every question to",
    "column": "",
}


def changed(asked: Asking, what: str, folder: Path) -> Asking:
    """A call that the policy does not allow."""
    if what == "epsilon":
        return replace(asked, epsilon=5.0)
    if what == "delta":
        return replace(asked, delta=1e-3)
    if what == "column":
        return replace(asked, column="secret")
    other = hush.Ledger(folder / "other.ledger", epsilon=500.0, delta=1e-2, blocks="month")
    return replace(asked, ledger=other if what == "another ledger" else None)


def must_refuse(name: str, what: str, asked: Asking, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = changed(asked, what, folder)
    words = refusal(CALLS[name], given, capsys)
    assert re.match(REFUSED[what], words), words
    if what == "another ledger":
        assert not given.ledger.entries
        given.ledger.close()


def must_charge(name: str, asked: Asking) -> None:
    """A call that is allowed charges the block of its rows, in the ledger of the policy, once for each step."""
    assert CALLS[name](asked) != 2
    charged = entries(asked.place.book)
    assert len(charged) == (2 if name in TWO_STEPS else 1)
    assert {entry.block for entry in charged} == {"" if some(ALL_BLOCKS, name) else MONTH}


@pytest.mark.parametrize("name", CALLS)
def test_each_call_refuses_alike(name: str, asked: Asking, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Too much epsilon or delta, another ledger, no ledger, a column that is not listed; and nothing is charged."""
    for what in REFUSED:
        if what != "no ledger" or not some(FINDS_THE_LEDGER, name):
            must_refuse(name, what, asked, tmp_path, capsys)


@pytest.mark.parametrize("name", CALLS)
def test_each_call_charges_the_block(name: str, asked: Asking) -> None:
    must_charge(name, asked)


def test_at_least_forty_calls() -> None:
    assert len(CALLS) >= 40


# -- calls without a policy ------------------------------------------------------------------------------------

ARRAY = np.linspace(-1.0, 1.0, 40)[:, None] * np.array([1.0, -0.5])
PLACES = (ARRAY[:, 0] > 0.0).astype(int)
BOUNDS = {"epsilon": 1.0, "delta": DELTA, "bounds": (-1.0, 1.0)}


def of_arrays(kind: str, *target: Any, **options: Any) -> Callable[[hush.Ledger], Any]:
    return lambda book: getattr(learn, kind)(**BOUNDS, **options, ledger=book).fit(ARRAY, *target)


def search(book: hush.Ledger) -> Any:
    one = learn.Ridge(**BOUNDS, target_bounds=(-1, 1))
    return learn.PrivateSearchCV(one, {"alpha": [1.0]}, epsilon=1.0, delta=DELTA, ledger=book).fit(ARRAY, ARRAY[:, 0])


def terms() -> Any:
    return federated.agree(1.0, clip=1.0, coordinates=2, parties=3, rounds=9, delta=0.0, honest=3)


def ring() -> Any:
    return federated.ring(federated.share(hush.Skellam(30.0), 3), bound=50, overflow=1e-9)


def budgets(book: Any) -> Any:
    """A client's ledger has its own budget, so it is charged until it refuses."""
    made = federated.Budgets(None, epsilon=1.0, delta=0.0)
    while made.charge("ward-7", [(hush.Laplace(2.0), 1.0, 1)]):
        pass
    raise hush.BudgetExceeded(made.reason("ward-7"))


def hush_learn(_: Any) -> Any:
    """The command has a file, so its ledger is one too."""
    with tempfile.TemporaryDirectory() as folder:
        table, book = Path(folder, "people.parquet"), Path(folder, "people.ledger")
        pyarrow.parquet.write_table(pa.table({"a": ARRAY[:, 0], "b": ARRAY[:, 1]}), table)
        hush.Ledger(book, epsilon=1.5, delta=2e-6).close()
        words = f"learn {table} --model ridge --target b:-1:1 --feature a:-1:1 --epsilon 1 --delta 1e-6 --ledger {book}"
        codes = [main(words.split()) for _ in range(2)]
        assert codes == [0, 2] and len(entries(book)) == 1
        raise hush.BudgetExceeded("the second command was refused")


#: Numbers for the names of streams.
NUMBER = itertools.count()
#: Calls that have a ledger of their own.
OWN = ("Budgets.charge", "hush learn")
#: Calls that spend from a ledger of the caller, where no policy says anything.
FREE: dict[str, Callable[[Any], Any]] = {
    "release": lambda book: hush.release(3, hush.calibrate(1.0, DELTA, family="gaussian"), ledger=book),
    "Ridge of arrays": of_arrays("Ridge", ARRAY[:, 0], target_bounds=(-1, 1)),
    "one row more or less": of_arrays("Ridge", ARRAY[:, 0], target_bounds=(-1, 1), neighbours="add-remove"),
    "LogisticRegression of arrays": of_arrays("LogisticRegression", PLACES),
    "GaussianNB": of_arrays("GaussianNB", PLACES),
    "PCA": of_arrays("PCA", n_components=1),
    "KMeans": of_arrays("KMeans", n_clusters=2),
    "PrivateSearchCV": search,
    "WorkloadPlan.answer": lambda book: (
        Marginals({"sex": 2}, order=1).plan(epsilon=1.0, delta=0.0).answer(PLACES[:, None], ledger=book)
    ),
    "Terms.pay": lambda book: terms().pay(book, view="central"),
    "Ring.pay": lambda book: ring().pay(book, view="local", sensitivity=5.0),
    "Budgets.charge": budgets,
    "StreamPlan.start": lambda book: hush.stream(horizon=4).plan(1.0, 0.0).start(ledger=book, name=f"s{next(NUMBER)}"),
    "hush learn": hush_learn,
    "Ledger.spend": lambda book: book.spend((hush.Laplace(1.5), 1.0, 1)),
}


@pytest.mark.parametrize("name", FREE)
def test_a_call_without_a_policy_is_charged_and_refused(name: str) -> None:
    """Each charges the ledger that it is given until the budget is spent, and takes nothing but a ledger."""
    with hush.Ledger(None, epsilon=1.5, delta=2e-6) as book:
        with contextlib.suppress(hush.BudgetExceeded):
            for _ in range(20):
                FREE[name](book)
            pytest.fail("more was spent than the budget holds")
        assert book.entries or name in OWN
    if name not in (*OWN, "Ledger.spend"):
        with pytest.raises(hush.InvalidParameter, match=r"ledger must be a Ledger|needs a ledger"):
            FREE[name]("budget.ledger")


# -- all calls are listed --------------------------------------------------------------------------------------

#: Every public function and method with a parameter `ledger`, and the case above that calls it.
LISTED = {
    "hush.federated.modular.Ring.pay": "Ring.pay",
    "hush.federated.protocol.Terms.pay": "Terms.pay",
    "hush.learn.estimator.ElasticNet": "ElasticNet",
    "hush.learn.estimator.Lasso": "Lasso",
    "hush.learn.estimator.LogisticRegression": "LogisticRegression",
    "hush.learn.estimator.Ridge": "Ridge",
    "hush.learn.k_means.KMeans": "KMeans",
    "hush.learn.naive_bayes.GaussianNB": "GaussianNB",
    "hush.learn.pca.PCA": "PCA",
    "hush.learn.search.PrivateSearchCV": "PrivateSearchCV",
    "hush.releasing.release.release": "release",
    "hush.stream.plan.StreamPlan.start": "StreamPlan.start",
    "hush.tables.advice.plan.LimitsPlan.answer": "LimitsPlan.answer",
    "hush.tables.advice.plan.LimitsPlan.write": "LimitsPlan.write",
    "hush.tables.advice.search.advise": "advise",
    "hush.tables.linear.table_plan.TableWorkload.answer": "TableWorkload.answer",
    "hush.tables.linear.table_plan.TableWorkloadPlan.answer": "TableWorkloadPlan.answer",
    "hush.tables.query.Query.answer": "Query.answer",
    "hush.tables.query_plan.QueryPlan.answer": "QueryPlan.answer",
    "hush.tables.query_plan.QueryPlan.write": "QueryPlan.write",
    "hush.tables.sql.grouping_sets.SetsPlan.answer": "SetsPlan.answer",
    "hush.tables.sql.grouping_sets.SetsPlan.write": "SetsPlan.write",
    "hush.tables.sql.planned.StatementPlan.answer": "StatementPlan.answer",
    "hush.tables.sql.planned.StatementPlan.write": "StatementPlan.write",
    "hush.tables.sql.sql": "sql",
    "hush.tables.top_plan.TopPlan.answer": "TopPlan.answer",
    "hush.tables.top_plan.TopPlan.write": "TopPlan.write",
    "hush.tables.top_query.TopQuery.answer": "TopQuery.answer",
    "hush.tables.which.query.KeysPlan.answer": "KeysPlan.answer",
    "hush.tables.which.query.KeysPlan.write": "KeysPlan.write",
    "hush.tables.which.query.KeysQuery.answer": "KeysQuery.answer",
    "hush.workload.plan.WorkloadPlan.answer": "WorkloadPlan.answer",
}
#: Those that spend nothing themselves, with the reason.
SPENDS_NOTHING = {
    "hush.federated.flower.ShareMod": "a client that pays by Terms.pay",
    "hush.learn.model.LinearModel": "the base class of Ridge and others",
    "hush.learn.sum_model.SumModel": "the base class of PCA and others",
    "hush.ledger.access.Access": "the door",
    "hush.ledger.streams.Streams": "what a ledger keeps of streams",
    "hush.releasing.receipt.Receipt.of": "a receipt of what was paid",
    "hush.stream.CalledPackage.opened": "a stream that was paid for when it started",
    "hush.stream.running.RunningStream": "a stream that was paid for when it started",
    "hush.tables.asking.Answerable.answer": "the base class of plans",
    "hush.tables.asking.Answerable.write": "the base class of plans",
    "hush.tables.asking.Asking": "the arguments of answer",
    "hush.tables.description.TableDescription.access": "makes the door of a table",
    "hush.stream.running.opened": "a stream that was paid for when it started",
    "hush.tables.linear.table_plan.TableWorkloadPlan.finished": "the end of answer, which has paid",
    "hush.tables.policy.rules.TableRule": "a rule of a policy",
    "hush.tables.query.Table.access": "makes the door of a table",
    "hush.tables.row_blocks.RowBlocks.access": "makes the door of a table",
    "hush.tables.sql.grouping_sets.OfStatement.answer": "the base class of plans of statements",
    "hush.tables.sql.grouping_sets.OfStatement.write": "the base class of plans of statements",
}
#: Rooms that only read ledgers.
READERS = ("hush.cli", "hush.report", "hush.explorer", "hush.__main__")


def takes_ledger(function: Any) -> bool:
    try:
        return "ledger" in inspect.signature(function).parameters
    except (TypeError, ValueError):
        return False


def with_ledger() -> Iterator[str]:
    """The functions that packages of hush export, and all methods and constructors of classes, that take a ledger."""
    modules = [
        importlib.import_module(one.name)
        for one in pkgutil.walk_packages(hush.__path__, "hush.")
        if not one.name.startswith(READERS)
    ]
    exported = {name for one in (hush, *modules) if hasattr(one, "__path__") for name in getattr(one, "__all__", ())}
    for module in modules:
        own = {n: x for n, x in vars(module).items() if getattr(x, "__module__", None) == module.__name__}
        for name, thing in own.items():
            if inspect.isfunction(thing) and name in exported and takes_ledger(thing):
                yield f"{module.__name__}.{name}"
            if inspect.isclass(thing) and not name.startswith("_"):
                if takes_ledger(thing):
                    yield f"{module.__name__}.{name}"
                for method, function in inspect.getmembers(thing, callable):
                    if not method.startswith("_") and takes_ledger(function):
                        yield f"{module.__name__}.{name}.{method}"


def commands_with_ledger(made: argparse.ArgumentParser) -> Iterator[str]:
    for action in made._actions:
        if "--ledger" in action.option_strings:
            yield made.prog
        for below in (action.choices or {}).values() if isinstance(action, argparse._SubParsersAction) else ():
            yield from commands_with_ledger(below)


def test_every_call_is_listed() -> None:
    """A new call that takes a ledger is listed with the case that calls it."""
    cases = {**CALLS, **FREE}
    assert set(with_ledger()) == {*LISTED, *SPENDS_NOTHING}
    assert {*LISTED.values()} <= {*cases}
    for command in commands_with_ledger(parser()):
        assert any(name.startswith(command) for name in cases), command


# -- a line that bypasses the door -----------------------------------------------------------------------------


class Watch:
    """The lines that pay, and one of them that does not: it draws with an unaccounted payment."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, bypassed: str = "") -> None:
        self.seen: set[str] = set()
        usual = Access.pay

        def pay(access: Access, question: str, releases: Any, **options: Any) -> Any:
            caller = sys._getframe(1)
            line = f"{caller.f_globals['__name__']}:{caller.f_lineno}"
            self.seen.add(line)
            return hush.unaccounted(releases) if line == bypassed else usual(access, question, releases, **options)

        monkeypatch.setattr(Access, "pay", pay)


@cache
def parsed() -> dict[str, ast.Module]:
    """The source of hush, by its path."""
    source = Path(hush.__file__).parent
    return {str(path.relative_to(source)): ast.parse(path.read_text()) for path in source.rglob("*.py")}


def lines_that_pay() -> set[str]:
    """All calls of `Access.pay` in the source."""
    found = set()
    for path, tree in parsed().items():
        module = ".".join(("hush", *Path(path).with_suffix("").parts))
        for node in ast.walk(tree):
            called = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "pay"
            if called and not module.startswith("hush.federated.flower"):
                found.add(f"{module}:{node.func.end_lineno}")
    return found


def must_charge_anywhere(name: str, folder: Path) -> None:
    """Raises if a call of either kind does not charge each of its steps."""
    if name in CALLS:
        folder.mkdir()
        made = placed(folder)
        with hush.Ledger(made.book) as book:
            must_charge(name, Asking(made, book))
        return
    with hush.Ledger(None, epsilon=100.0, delta=1e-2) as book:
        FREE[name](book)
        assert len(book.entries) == (2 if name == "one row more or less" else 1)


#: A call for each line that pays.
PAYS = ("QueryPlan.answer", "QueryPlan.write", "LimitsPlan.answer", "TopPlan.answer", "KeysPlan.answer", "tree")
PAYS += ("TableWorkloadPlan.answer", "SetsPlan.answer", "Ridge", *(name for name in FREE if name not in OWN))
#: Modules whose lines pay and are not run there, with the reason.
BESIDE = {"hush.federated.budget": "Budgets.charge has ledgers of its own: it is charged and refused above"}


def test_a_line_that_bypasses_the_door_is_noticed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A call runs each line that pays; where the line draws without a charge, the check of the call fails."""
    ran: dict[str, str] = {}
    for name in PAYS:
        with monkeypatch.context() as patch:
            watch = Watch(patch)
            must_charge_anywhere(name, tmp_path / name)
            ran = dict.fromkeys(watch.seen, name) | ran  # the first call that runs a line
    assert set(ran) >= {line for line in lines_that_pay() if line.partition(":")[0] not in BESIDE}
    for number, (line, name) in enumerate(ran.items()):
        with monkeypatch.context() as patch:
            Watch(patch, line)
            with pytest.raises((AssertionError, hush.HushError)):
                must_charge_anywhere(name, tmp_path / str(number))


@pytest.mark.parametrize("what", ["another ledger", "no ledger"])
def test_a_door_that_checks_nothing_is_noticed(
    what: str, asked: Asking, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The checks above fail if the access of a table loses what the policy says."""
    usual = TableDescription.access

    def access(table: Any, *given: Any, **options: Any) -> Access:
        return replace(usual(table, *given, **options), charged_to=None, max_epsilon=None, max_delta=None)

    monkeypatch.setattr(TableDescription, "access", access)
    for name in ("QueryPlan.answer", "TopPlan.answer", "TableWorkloadPlan.answer", "advise", "Ridge"):
        with pytest.raises(AssertionError):
            must_refuse(name, what, asked, tmp_path, capsys)


#: Where a payment is made, where noise is drawn without a ledger, and where a ledger is charged without the door.
MAKERS = {
    "Payment": {"ledger/ledger.py", "ledger/payment.py", "ledger/streams.py"},
    "unaccounted": {
        "explorer/example.py",  # made-up wards
        "federated/local_report.py",  # a person's own report, which pays for itself
        "learn/holdout_score.py",  # a search has paid for all its scores
        "learn/torch/sums.py",  # the accountant of a training keeps the budget
        "ledger/access.py",
    },
    "spend": {"cli/selftest.py"},  # a ledger of its own
}


@pytest.mark.parametrize("maker", MAKERS)
def test_payments_are_made_in_few_places(maker: str) -> None:
    found = set()
    for path, tree in parsed().items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and getattr(node.func, "attr", getattr(node.func, "id", "")) == maker:
                found.add(path)
    assert found == MAKERS[maker]
