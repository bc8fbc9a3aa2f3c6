"""The row "other": people with a group that is not shown, its sensitivity, its price, and where it is printed."""

from __future__ import annotations

import itertools
import json
import math

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import hush
from hush import tables
from hush.cli import main
from hush.sampling.exact import law_of
from hush.tables.contribution import Part, Reach
from hush.tables.noise_choice import quick_spending, spending
from hush.tables.other_row import hidden_people
from hush.tables.query import Query


def opened(rows: list[tuple[int, str | None]]) -> Query:
    people, groups = zip(*rows, strict=True) if rows else ((), ())
    table = pa.table({"u": pa.array(people, pa.int64()), "g": pa.array(groups, pa.string())})
    return (
        tables.table(table, unit="u").group_by("g", keys="private", groups_per_unit=2).aggregate(n=tables.count_units())
    )


def number(query: Query, shown: list[str | None]) -> int:
    keys = pa.table({"g": pa.array(shown, pa.string())})
    return hidden_people(query, keys).aggregates().to_arrow()["other"].to_pylist()[0]


def test_it_counts_people_and_one_person_moves_it_by_at_most_one() -> None:
    """For every set of shown groups, with nulls as a group, and for people with several groups."""
    rows = [(1, "a"), (1, "b"), (1, "c"), (2, "a"), (3, None), (3, "b"), (4, "c"), (4, "c")]
    more = [*rows, (9, "a"), (9, "d"), (9, None)]
    whole, larger, groups = opened(rows), opened(more), ["a", "b", "c", "d", None]
    for size in (0, 1, 2, 5):
        for shown in itertools.combinations(groups, size):
            expected = len({u for u, g in rows if g not in shown})
            assert number(whole, list(shown)) == expected
            assert number(larger, list(shown)) - expected == (not {"a", "d", None} <= set(shown))


def table_of(law: tuple, far: int) -> dict[int, float]:
    tails = law_of(*law)
    beyond = tails.at(np.arange(far + 1.0))
    half = np.append(1.0 - beyond[0], -0.5 * np.diff(beyond))
    return {k: float(half[abs(k)]) for k in range(-far, far + 1)}


def group_law(
    people: int, noise: np.ndarray, step: float, threshold: float, cut: float | None, size: int
) -> np.ndarray:
    """The law of what is shown of a group: first that it is hidden, then its noisy numbers from the threshold on. A
    group without people does not exist.
    """
    found, far = np.zeros(size), noise.size // 2
    steps = np.arange(-far, far + 1)
    places = np.rint((people + steps * step - threshold) / step).astype(np.int64)
    seen = (places >= 0) & (people > 0) & (True if cut is None else np.abs(steps * step) <= cut)
    np.add.at(found, places[seen] + 1, noise[seen])
    found[0] = noise[~seen].sum()
    return found


@pytest.mark.parametrize("family", ["gaussian", "laplace"])
def test_every_neighbour_of_small_tables_is_within_the_composed_curve(family: str) -> None:
    """Two groups of one person; sizes of both that matter, new groups included; both directions. The outcome is all
    that is published: which groups are shown, their noisy numbers, and the noisy number of people beside them.
    """
    epsilon, part = 1.0, Part("n", ("n",), 1, one_sided=True, people=True)
    spent = spending(Reach(2, (part,)), 0.8, 0.04, units="n", family=family)
    other = quick_spending(Reach(1, (part,), 1), 0.2, 0.0)
    claimed = float(hush.compose([spent.charge, other.charge]).delta(epsilon))
    assert claimed <= 0.05
    law, extra, tau = spent.mechanisms["n"], other.mechanisms["n"], spent.threshold
    noise = np.array(list(table_of((law.noise, law.step), round(30 / law.step)).values()))
    beside = np.array(list(table_of((extra.noise, extra.step), round(60 / extra.step)).values()))
    shift = round(1.0 / extra.step)
    still, moved = np.append(beside, np.zeros(shift)), np.append(np.zeros(shift), beside)
    sizes = [0, 1, int(tau) // 2, int(tau), 2 * int(tau)]
    size = round((2 * tau + 40) / law.step)
    worst, growth = 0.0, math.exp(epsilon)
    for pair in itertools.combinations_with_replacement(sizes, 2):
        laws = [[group_law(n + more, noise, law.step, tau, spent.rule.keys.cut, size) for n in pair] for more in (0, 1)]
        for one, two, t_one, t_two in ((*laws, still, moved), (*laws[::-1], moved, still)):
            p, q = np.outer(*one), np.outer(*two)
            total = np.maximum(p - growth * q, 0.0)[1:, 1:].sum()  # both are shown: the person is not counted beside
            for hidden in ((0, slice(None)), (slice(1, None), 0)):
                joint = np.outer(p[hidden], t_one) - growth * np.outer(q[hidden], t_two)
                total += np.maximum(joint, 0.0).sum()
            assert total <= claimed + 1e-9
            worst = max(worst, float(total))
    assert worst > 0.1 * claimed


@pytest.fixture(scope="module")
def rows() -> list[tuple[int, str]]:
    small = [(u, f"rare{u % 60}") for u in range(300)]
    return [(u, "large") for u in range(500)] + small + [(u, f"rare{(u + 1) % 60}") for u in range(150)]


def test_an_answer_has_it_with_an_interval_and_charges_for_it(rows, tmp_path) -> None:
    plan = opened(rows).plan(2.0, 1e-6, other=True, family="gaussian", limits_share=0.0)
    assert "10 % of the budget counts the people" in " ".join(repr(plan).split())
    ledger = hush.Ledger(None, epsilon=2.0, delta=1e-6)
    answer = plan.answer(ledger=ledger)
    shown = set(answer["g"].tolist())  # a small group may pass the threshold by its noise
    hidden = len({person for person, group in rows if group not in shown})
    assert (
        "large" in shown
        and abs(answer.other.value - hidden) < 100
        and answer.other.low < answer.other.value < answer.other.high
    )
    assert len(answer.receipt.charges) == 2 == len(ledger.entries[0].charges)
    assert "people are in at least one group that is not shown" in answer.text()
    assert "People with a group that is not shown" in str(hush.report.statement(answer.receipt))
    written = plan.write(tmp_path / "a.parquet", ledger=None)
    assert written["other"]["level"] == 0.95
    assert opened(rows).plan(2.0, 1e-6, family="gaussian").answer(ledger=None).other is None


def test_it_is_refused_where_all_groups_are_shown(rows) -> None:
    people, groups = zip(*rows, strict=True)
    table = tables.table(pa.table({"u": people, "g": groups}), unit="u")
    listed = table.group_by("g", keys=["large"], groups_per_unit=1).aggregate(n=tables.count())
    with pytest.raises(hush.InvalidParameter, match="listed groups are all shown"):
        listed.plan(1.0, 1e-6, other=True)
    with pytest.raises(hush.InvalidParameter, match="True or False"):
        opened(rows).plan(1.0, 1e-6, other=1)


def test_the_command_line_prints_it(rows, tmp_path, capsys) -> None:
    path, (people, groups) = tmp_path / "rows.parquet", zip(*rows, strict=True)
    pyarrow.parquet.write_table(pa.table({"u": people, "g": groups}), path)
    asked = ["answer", str(path), "--unit", "u", "--by", "g", "--keys", "private", "--groups-per-unit", "2", "--other"]
    main([*asked, "--count-units", "--epsilon", "2", "--delta", "1e-6", "--family", "gaussian", "--json"])
    found = json.loads(capsys.readouterr().out)
    assert found["receipt"]["other"]["people"][0] > 100
