"""hush.audit.replay: finds seeded bugs, finds nothing in hush's own pipelines, and opens no way to known noise."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from grid_quantile import grid_quantile

import hush
import hush.learn
from hush import tables
from hush.errors import Unsupported
from hush.sampling.witness import watched_by, witness
from hush.workload import Marginals

ONE = hush.calibrate(1.0, 0.0, hush.Sensitivity(linf=1.0, l0=1), family="laplace", values="integer")
TEN = hush.calibrate(1.0, 0.0, 10.0, family="laplace")
AGES = [31.0, 42.0, 55.0, 97.0]
FEWER = AGES[:-1]


def count(ages: Any, plan: Any = ONE) -> Any:
    return hush.release(len(ages), plan, ledger=None, integers=True).value


def kinds(found: Any) -> set[str]:
    return {finding.kind for finding in found.findings}


# -- seeded bugs: each is found, and is named ----------------------------------------------------------------------


def unclipped(ages: list[float]) -> Any:
    np.clip(ages, 0.0, 10.0)
    return hush.release(float(np.sum(ages)), TEN, ledger=None).value


def scale_of_the_data(ages: list[float]) -> Any:
    plan = hush.calibrate(1.0, 0.0, max(ages), family="laplace")
    return hush.release(float(np.sum(ages)), plan, ledger=None).value


def draws_of_the_data(ages: list[float]) -> Any:
    return [count([age]) for age in ages]


def divided_by_the_rows(ages: list[float]) -> Any:
    return count(ages) / len(ages)


def prints(ages: list[float]) -> Any:
    print(f"largest: {max(ages)}")
    return count(ages)


def warns(ages: list[float]) -> Any:
    if max(ages) > 90.0:
        warnings.warn("an outlier", stacklevel=1)
    return count(ages)


def raises(ages: list[float]) -> Any:
    noisy = count(ages)
    if max(ages) > 90.0:
        raise ValueError("this age cannot be")
    return noisy


def writes(ages: list[float], folder: Path) -> Any:
    (folder / "answer.txt").write_text(str(count(ages)))
    (folder / "log.txt").write_text(f"{len(ages)} rows")


def changes_the_type(ages: list[float]) -> Any:
    noisy = np.array([count(ages)])
    return noisy.astype(np.float64) if max(ages) > 90.0 else noisy.astype(np.int64)


def holds_the_data(ages: list[float]) -> Any:
    class Model:
        def __init__(self) -> None:
            self.mean_, self._seen = count(ages), list(ages)

        def __repr__(self) -> str:
            return "Model()"

    return Model()


def without_noise(ages: list[float]) -> Any:
    return float(np.sum(ages))


def charges_by_the_data(ages: list[float]) -> Any:
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    noisy = hush.release(len(ages), ONE, ledger=ledger, integers=True).value
    if max(ages) > 90.0:
        ledger.spend((hush.Laplace(10.0), 1.0, 1))
    return noisy


def chooses_wrongly(ages: list[float]) -> Any:
    few = tables.table(pa.table({"p": [1, 2], "g": ["a", "b"]}), unit="p").group_by("g", keys=["a", "b"])
    charge = few.top(1).plan(1.0, 0.0).charge
    return hush.unaccounted([charge]).choose(charge, np.array([len(ages) * 50, 3], dtype=np.int64)).tolist()


SEEDED: dict[str, tuple[Callable[..., Any], str]] = {
    "the sum of rows that were not clipped": (unclipped, "sensitivity"),
    "a scale that depends on the data": (scale_of_the_data, "noise"),
    "a number of draws that depends on the data": (draws_of_the_data, "noise"),
    "a divisor that is the private number of rows": (divided_by_the_rows, "returned"),
    "a printed number": (prints, "printed"),
    "a warning about a row": (warns, "warned"),
    "an exception about a row": (raises, "raised"),
    "a file with the number of rows": (writes, "file"),
    "a type that depends on a row": (changes_the_type, "returned"),
    "a model that holds its rows": (holds_the_data, "returned"),
    "a number without noise": (without_noise, "returned"),
    "a charge that depends on a row": (charges_by_the_data, "payment"),
    "a choice whose numbers move too far": (chooses_wrongly, "sensitivity"),
}


@pytest.mark.parametrize("name", SEEDED)
def test_a_seeded_bug_is_found(name: str) -> None:
    function, kind = SEEDED[name]
    found = hush.audit.replay(function, AGES, FEWER)
    assert found.violated and kind in kinds(found), found
    assert not found.unsteady
    assert kind in repr(found) and kind in found.to_json()


def test_a_correct_function_has_no_findings() -> None:
    found = hush.audit.replay(count, AGES, FEWER)
    assert not found.violated and found.draws == 1 and found.numbers == 1
    assert "no proof" in found.why


def test_no_noise_is_said_to_be_no_test() -> None:
    assert "nothing to check" in hush.audit.replay(lambda ages: 7, AGES, FEWER).why


def test_an_exception_of_every_run_is_said_to_be_no_test() -> None:
    found = hush.audit.replay(lambda ages: ages.ward, AGES, FEWER)
    assert not found.violated and "ended with an exception: AttributeError" in found.why


def test_noise_without_a_payment_is_named() -> None:
    found = hush.audit.replay(lambda ages: len(ages) + int(hush.draw(hush.Laplace(2.0), 1)[0]), AGES, FEWER)
    assert found.violated and found.loose == 1
    assert "without a payment" in repr(found)


def test_a_function_that_is_random_by_itself_is_unsteady() -> None:
    import random

    system = random.SystemRandom()

    def own_noise(ages: list[float]) -> Any:
        return hush.release(system.randrange(2**40), ONE, ledger=None, integers=True).value

    found = hush.audit.replay(own_noise, AGES, FEWER)
    assert any(one.kind == "sensitivity" for one in found.unsteady)


# -- nothing is found in hush ---------------------------------------------------------------------------------------


def visits(people: range) -> pa.Table:
    """Three rows for each person, of which limits keep some; each person has one ward, and an age of their own."""
    made = [(p, "abc"[p % 3], 20 + p % 60, 100.0 * (p % 17) + 7.0 * row) for p in people for row in range(3)]
    return pa.table(
        {
            "person": pa.array([row[0] for row in made], type=pa.int64()),
            "ward": pa.array([row[1] for row in made]),
            "age": pa.array([row[2] for row in made], type=pa.int64()),
            "cost": pa.array([row[3] for row in made]),
        }
    )


HERE, GONE = visits(range(60)), visits(range(59))
BUDGET = (1.0, 1e-6)


def table(rows: pa.Table) -> Any:
    return tables.table(rows, unit="person")


def published(answer: Any) -> Any:
    return answer, repr(answer), answer.to_arrow() if hasattr(answer, "to_arrow") else None


def listed(rows: pa.Table) -> Any:
    asked = table(rows).group_by("ward", keys=["a", "b", "c"], groups_per_unit=1)
    query = asked.aggregate(
        people=tables.count_units(),
        cost=tables.sum("cost", low=0.0, high=1000.0, rows_per_unit=2),
        age=tables.mean("age", low=0, high=100, rows_per_unit=2),
    )
    return published(query.answer(*BUDGET, ledger=hush.Ledger(None, epsilon=2.0, delta=1e-5), family="gaussian"))


def private(rows: pa.Table) -> Any:
    query = table(rows).group_by("ward", keys="private", groups_per_unit=1).aggregate(n=tables.count_units())
    return published(query.answer(*BUDGET, ledger=None, family="laplace"))


def rare_group(rows: pa.Table) -> Any:
    """The person who is gone is the only one of an age."""
    query = table(rows).group_by("age", keys="private", groups_per_unit=1).aggregate(n=tables.count_units())
    return published(query.answer(*BUDGET, ledger=None, family="gaussian"))


def median(rows: pa.Table) -> Any:
    query = table(rows).aggregate(age=grid_quantile("age", 0.5, low=0, high=100, rows_per_unit=1, bins=10))
    return published(query.answer(*BUDGET, ledger=None, family="gaussian"))


def exact_median(rows: pa.Table) -> Any:
    query = table(rows).aggregate(age=tables.quantile("age", 0.5, low=0, high=100, rows_per_unit=1))
    return published(query.answer(*BUDGET, ledger=None))


def key_set(rows: pa.Table) -> Any:
    return published(
        table(rows).group_by("ward", keys="private", groups_per_unit=1).keys().answer(*BUDGET, ledger=None)
    )


def top(rows: pa.Table) -> Any:
    asked = table(rows).group_by("ward", keys=["a", "b", "c"], groups_per_unit=1).top(2)
    return published(asked.answer(*BUDGET, ledger=None))


def statement(rows: pa.Table) -> Any:
    from hush.tables import ColumnRule, Policy, TableRule

    columns = {"ward": ColumnRule(values=("a", "b", "c")), "age": ColumnRule(0, 120), "cost": ColumnRule(0, 1000)}
    policy = Policy({"visits": TableRule(rows, unit="person", groups_per_unit=1, rows_per_unit=2, columns=columns)})
    text = "SELECT ward, COUNT(DISTINCT person) AS n, AVG(cost) AS c FROM visits WHERE age > 21 GROUP BY ward"
    return published(hush.sql(text, policy, epsilon=1.0, delta=1e-6, ledger=None, family="gaussian"))


def marginals(rows: pa.Table) -> Any:
    records = np.array([[p % 3, p % 4] for p in sorted(set(rows["person"].to_pylist()))])
    answer = Marginals({"ward": 3, "job": 4}, order=2).plan(*BUDGET).answer(records, ledger=None)
    return answer.table("ward", "job"), answer.interval("ward"), repr(answer)


def ranges(rows: pa.Table) -> Any:
    answer = table(rows).ranges("age", edges=range(0, 121, 20), rows_per_unit=1).answer(*BUDGET, ledger=None)
    return repr(answer)


def stream(rows: pa.Table) -> Any:
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    running = hush.stream(horizon=4).plan(*BUDGET).start(ledger=ledger, name="visits")
    weeks = [sorted({p for p in rows["person"].to_pylist() if p % 4 == week}) for week in range(4)]
    return [repr(running.add(people=people)) for people in weeks], repr(running.answer)


def fit(rows: pa.Table) -> Any:
    people = np.array(sorted(set(rows["person"].to_pylist())), dtype=np.float64)
    X = np.column_stack([people % 7, people % 5])
    y = (people % 2).astype(int)
    model = hush.learn.LogisticRegression(epsilon=2.0, delta=1e-5, bounds=[(0, 6), (0, 4)], neighbours="add-remove")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    return model.coef_, model.intercept_, repr(model.guarantee_), repr(model.receipt_)


def written(rows: pa.Table, folder: Path) -> Any:
    query = table(rows).group_by("ward", keys=["a", "b", "c"], groups_per_unit=1).aggregate(n=tables.count_units())
    return dict(query.plan(*BUDGET, family="laplace").write(folder / "answer.parquet", ledger=None))


def vector(rows: pa.Table) -> Any:
    counts = np.bincount([p % 3 for p in set(rows["person"].to_pylist())], minlength=3)
    plan = hush.calibrate(*BUDGET, hush.Sensitivity(linf=1.0, l0=1, dimension=3, one_sided=True), values="integer")
    release = hush.release(counts, plan, ledger=hush.Ledger(None, epsilon=2.0, delta=1e-5))
    return release, release.interval(), release.to_json()


def spread(rows: pa.Table) -> Any:
    query = table(rows).group_by("ward", keys=["a", "b", "c"], groups_per_unit=3).aggregate(n=tables.count_units())
    return published(query.answer(1.0, 0.0, ledger=None))  # joint noise: one draw for the whole table


def others(rows: pa.Table) -> Any:
    query = table(rows).group_by("ward", keys="private", groups_per_unit=1).aggregate(n=tables.count_units())
    return published(query.plan(*BUDGET, other=True, family="laplace").answer(ledger=None))


def boxes(rows: pa.Table) -> Any:
    asked = table(rows).boxes(edges={"age": range(0, 121, 40)}, keys={"ward": ["a", "b", "c"]}, rows_per_unit=1)
    return repr(asked.answer(*BUDGET, ledger=None))


def one_row_each(rows: pa.Table) -> Any:
    one = table(rows).per_unit(n=lambda t: t.count(), spent=lambda t: t.cost.sum())
    query = one.aggregate(s=tables.sum("spent", low=0, high=3000))
    return published(query.answer(1.0, 0.0, ledger=None, family="laplace"))


PIPELINES = [
    listed,
    private,
    rare_group,
    median,
    exact_median,
    key_set,
    top,
    statement,
    marginals,
    ranges,
    stream,
    fit,
    written,
    vector,
    spread,
    others,
    boxes,
    one_row_each,
]


def test_a_leak_inside_of_hush_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The parity of an exact number decides a rounding: far less than the noise, and seen at once."""
    from hush.tables import execution

    real = execution.noisy_columns

    def leaking(columns: Any, spent: Any, draws: Any) -> Any:
        made = real(columns, spent, draws)
        odd = int(np.sum(np.asarray(next(iter(columns.values()))))) % 2
        return {name: column + 1e-9 * odd for name, column in made.items()}

    assert not hush.audit.replay(listed, HERE, GONE).violated
    monkeypatch.setattr(execution, "noisy_columns", leaking)
    found = hush.audit.replay(listed, HERE, GONE)
    assert "returned" in kinds(found), found


MODELS = {
    "ridge": lambda: hush.learn.Ridge(epsilon=2.0, delta=1e-5, bounds=BOX, target_bounds=(0, 15)),
    "lasso": lambda: hush.learn.Lasso(epsilon=2.0, delta=1e-5, bounds=BOX, target_bounds=(0, 15), alpha=0.1),
    "bayes": lambda: hush.learn.GaussianNB(epsilon=2.0, delta=1e-5, bounds=BOX, classes=(0, 1, 2)),
    "components": lambda: hush.learn.PCA(n_components=2, epsilon=2.0, delta=1e-5, bounds=BOX),
    "clusters": lambda: hush.learn.KMeans(n_clusters=2, epsilon=2.0, delta=1e-5, bounds=BOX),
}
BOX = [(0, 5)] * 3


@pytest.mark.parametrize("name", MODELS)
def test_nothing_is_found_in_a_fit_with_one_row_replaced(name: str) -> None:
    """Every attribute of the model is compared, private ones too."""
    rows = np.random.default_rng(5).uniform(0, 5, (90, 3))
    other = rows.copy()
    other[-1] = [5.0, 0.0, 5.0]

    def fitted(data: Any) -> Any:
        model = MODELS[name]()
        target = np.arange(90) % 3 if name == "bayes" else data @ [1.0, 2.0, 0.5]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(data, target) if name in ("ridge", "lasso", "bayes") else model.fit(data)
        return model, repr(model)

    found = hush.audit.replay(fitted, rows, other)
    assert found.draws > 0 and found.moved > 0 and not found.raised, found
    assert not found.violated and not found.unsteady, found


@pytest.mark.parametrize("function", PIPELINES, ids=lambda function: function.__name__)
def test_nothing_is_found_in_a_pipeline_of_hush(function: Callable[..., Any]) -> None:
    found = hush.audit.replay(function, HERE, GONE)
    assert found.draws > 0 and found.moved > 0, found
    assert not found.violated and not found.unsteady, found


# -- no way to known noise ------------------------------------------------------------------------------------------


def test_a_ledger_file_is_refused_and_not_charged(tmp_path: Path) -> None:
    path = tmp_path / "real.ledger"
    with hush.Ledger(path, epsilon=3.0, delta=1e-5) as ledger:

        def careless(ages: list[float]) -> Any:
            try:
                return hush.release(len(ages), ONE, ledger=ledger, integers=True).value
            except Unsupported:
                return 0

        with pytest.raises(Unsupported, match="made-up data, and does not charge the ledger"):
            hush.audit.replay(careless, AGES, FEWER)
        assert ledger.entries == ()


def test_a_stream_of_a_ledger_file_adds_no_period(tmp_path: Path) -> None:
    with hush.Ledger(tmp_path / "real.ledger", epsilon=1.0, delta=1e-6) as ledger:
        running = hush.stream(horizon=4).plan(*BUDGET).start(ledger=ledger, name="visits")
        with pytest.raises(Unsupported, match="made-up data"):
            hush.audit.replay(lambda ages: running.add(len(ages)).total.value, AGES, FEWER)
        assert running.periods == 0


def test_a_payment_of_a_ledger_file_draws_nothing_inside(tmp_path: Path) -> None:
    made = hush.Mechanism(hush.Laplace(2.0), hush.Sensitivity(linf=1.0, l0=1), 1.0, integers=True)
    with hush.Ledger(tmp_path / "real.ledger", epsilon=3.0, delta=1e-5) as ledger:
        payment = ledger.spend(made.charge.repeated(3))

        def paid_before(ages: list[float]) -> Any:
            return payment.noise(made, np.array([len(ages)], dtype=np.int64))

        with pytest.raises(Unsupported, match="made-up data"):
            hush.audit.replay(paid_before, AGES, FEWER)
        assert payment.left(made.charge) == 3


def test_noise_of_a_payment_is_never_drawn_from_recorded_bits() -> None:
    """A witness that gives the same secret bytes again and again, and releases what was drawn: the draws differ."""
    from hush.auditing.recorded import Run

    class Repeating(Run):
        def secret(self, size: int) -> bytes:
            return bytes(size) if not self._inside else super().secret(size)

    with watched_by(Repeating()):
        noisy = [count(AGES) for _ in range(40)]
        loose = [int(hush.draw(hush.Laplace(50.0), 1)[0]) for _ in range(5)]
    assert len(set(noisy)) > 1  # 40 equal draws have probability below 1e-6
    assert len(set(loose)) == 1  # what is not noise of a payment is repeated: the test can see repetition


def test_nothing_watches_outside_of_a_replay() -> None:
    assert witness() is None
    with pytest.raises(Unsupported, match="inside another"):
        hush.audit.replay(lambda ages: hush.audit.replay(count, ages, ages), AGES, FEWER)
    assert witness() is None


def test_audit_is_still_called_like_a_function() -> None:
    assert hush.audit is hush.auditing.audit
    assert "lower bound on epsilon" in (hush.audit.__doc__ or "")
    with pytest.raises(hush.InvalidParameter, match="epsilon is missing"):
        hush.audit(lambda value, size: value)
    with pytest.raises(hush.InvalidParameter, match="must be callable"):
        hush.audit.replay(7, AGES, FEWER)  # type: ignore[arg-type]
