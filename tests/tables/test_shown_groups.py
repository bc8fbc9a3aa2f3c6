"""Groups near the threshold of private keys: intervals that hold among the groups that are shown, and their mark."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from paid import noisy_columns
from scales import must_cover

import hush
from hush import tables
from hush.noise.for_keys import ForKeys
from hush.sampling.exact import law_of
from hush.tables.column_noise import Spending
from hush.tables.contribution import Part, Reach
from hush.tables.noise_choice import spending
from hush.tables.output import ends_of_shown
from hush.tables.sql import statement

PEOPLE = Part("n", ("n",), 1, one_sided=True, people=True)
BESIDE = Part("s", ("s",), 1)
CASES = [(1, None), (1, "laplace"), (3, None), (3, "plateau"), (5, "gaussian"), (8, "bump"), (8, "beside a sum")]
LEVELS = [(*case, 0.95) for case in CASES] + [(1, "laplace", 0.8), (3, None, 0.99), (5, "gaussian", 0.8)]


def spent_for(groups: int, family: str | None) -> Spending:
    if family == "beside a sum":  # joint noise, in which the number of people keeps bounded noise of its own
        spent = spending(Reach(groups, (PEOPLE, BESIDE)), 1.0, 1e-6, units="n")
        assert isinstance(spent.mechanisms["n"].joint, hush.Lifted)
        return spent
    return spending(Reach(groups, (PEOPLE,)), 1.0, 1e-6, units="n", family=family)


def law_in_steps(spent: Spending) -> tuple[np.ndarray, np.ndarray]:
    """Every value of the noise in steps that is not too rare for floats, and its probability: of all groups."""
    people = spent.mechanisms["n"]
    if isinstance(people.joint, ForKeys):
        return people.joint.values, people.joint.masses
    law = law_of(people.noise, people.step)
    last = int(np.argmax(law.at(np.arange(200_000.0)) < 1e-15)) or 200_000
    cut = spent.rule.keys.cut
    last = last if cut is None else round(cut / people.step)
    beyond = law.at(np.arange(last + 1.0))
    masses = np.append(1.0 - beyond[0], -0.5 * np.diff(beyond))
    return np.arange(-last, last + 1), np.concatenate([masses[:0:-1], masses])


@pytest.mark.parametrize(("groups", "family", "level"), LEVELS)
def test_every_size_is_covered_among_shown_groups(groups: int, family: str | None, level: float) -> None:
    """Exactly, by the law of the noise: from groups that are almost never shown to groups that always are."""
    spent = spent_for(groups, family)
    ends, (values, masses), step = ends_of_shown(spent, level), law_in_steps(spent), spent.mechanisms["n"].step
    least, worst = 1.0, 1.0
    for n in range(1, int(spent.threshold) + 3 * int(ends.far) + 5):
        noisy = n + values * step
        shown = noisy >= spent.threshold
        if masses[shown].sum() < 1e-9:  # the sums of floats are too rough for rarer ones
            continue
        low, high = ends({"n": noisy[shown]})
        chances = masses[shown] / masses[shown].sum()
        least = min(least, float(chances[(low <= n) & (n <= high)].sum()))
        worst = min(worst, float(chances[np.abs(noisy[shown] - n) <= ends.far].sum()))
    assert least >= level - 1e-6
    assert worst < 0.5  # the interval of the noise alone misses most small groups that are shown


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (1.0, 0.01), (1.0, 0.4), (3.0, 0.1)])
def test_lopsided_noise_covers_every_size_however_rarely_it_is_shown(epsilon: float, delta: float) -> None:
    """Exactly, in whole numbers: also a group of one person, which is shown with probability delta. The median of this
    noise is not 0, and a number far above the threshold may be that of a group that is mostly hidden.
    """
    spent = spending(Reach(1, (PEOPLE,)), epsilon, delta, units="n", family="optimal_rule")
    ends, noise, step = ends_of_shown(spent, 0.95), spent.mechanisms["n"].joint, spent.mechanisms["n"].step
    assert isinstance(noise, hush.OptimalRule) and ends is not None
    for n in range(1, int(spent.threshold) + 3 * int(ends.far) + 5):
        noisy = n + noise.values * step
        low, high = ends({"n": noisy})
        rows = list(zip(noise.weights, noisy >= spent.threshold, (low <= n) & (n <= high), strict=True))
        shown = sum(weight for weight, seen, _ in rows if seen)
        assert 100 * sum(weight for weight, seen, held in rows if seen and held) >= 95 * shown > 0


def test_intervals_far_above_the_threshold_are_those_of_the_noise() -> None:
    for groups, family in CASES:
        spent = spent_for(groups, family)
        ends, law = ends_of_shown(spent, 0.95), spent.mechanisms["n"]
        far = np.array([spent.threshold + 10_000 * law.step * round(1 / law.step)])
        plain = float(np.asarray(law.noise.isf(0.025)))
        low, high = ends({"n": far})
        assert high[0] - far[0] == far[0] - low[0] == pytest.approx(plain, abs=1.0 + 0.02 * plain)


def test_released_groups_are_covered_at_their_level() -> None:
    """10,000 draws for each of several sizes; false-alarm rate 1e-6."""
    spent = spent_for(5, "gaussian")
    ends = ends_of_shown(spent, 0.95)
    for n in (35, 45, 55, 80, 200):
        exact = np.full(10_000, n)
        released = noisy_columns({"n": exact}, spent)["n"]
        seen = released[spent.rule.shown(released, exact)]
        low, high = ends({"n": seen})
        must_cover((low <= n) & (n <= high), 0.95)


@pytest.fixture(scope="module")
def answer() -> tables.Answer:
    sizes = {"small": 60, "middle": 75, "large": 900}
    rows = [(u, g) for g, size in sizes.items() for u in range(size)]
    people, groups = zip(*rows, strict=True)
    opened = tables.table(pa.table({"u": people, "g": groups, "x": [1.0] * len(rows)}), unit="u")
    query = opened.group_by("g", keys="private", groups_per_unit=3).aggregate(
        n=tables.count_units(), total=tables.sum("x", low=0, high=1)
    )
    return query.plan(1.0, 1e-4, family="gaussian").answer(ledger=None)


def test_groups_near_the_threshold_are_marked(answer) -> None:
    near = dict(zip(answer["g"], answer.near_threshold, strict=True))
    assert not near["large"]
    lines = {line.split()[0]: line for line in answer.text().splitlines()}
    assert all((" *" in lines[group]) == flag for group, flag in near.items())
    assert ("* near the threshold" in answer.text()) == any(near.values())
    assert answer.top(1).near_threshold is None
    low, high = (answer[f"n_{end}"] for end in ("low", "high"))
    assert (low >= 1).all() and (low <= high).all()


def test_a_listed_group_has_no_mark(answer) -> None:
    opened = tables.table(pa.table({"u": [1, 2], "g": ["a", "a"]}), unit="u")
    listed = opened.group_by("g", keys=["a"], groups_per_unit=1).aggregate(n=tables.count_units())
    made = listed.answer(1.0, 0.0, ledger=None)
    assert made.near_threshold is None and "*" not in made.text().replace("(bars", "")
    assert isinstance(answer, hush.tables.Answer)


def test_every_name_of_the_number_of_people_has_the_same_interval() -> None:
    """A count with one row a person is the number of people: one noisy column, whichever name comes first."""
    rows = pa.table({"u": list(range(60)), "g": ["a"] * 60})
    opened = tables.table(rows, unit="u").group_by("g", keys="private", groups_per_unit=1)
    for given in (
        {"n": tables.count_units(), "c": tables.count(rows_per_unit=1)},
        {"c": tables.count(rows_per_unit=1), "n": tables.count_units()},
    ):
        shown = opened.aggregate(**given).plan(1.0, 1e-6, family="gaussian").answer(ledger=None)
        for end in ("", "_low", "_high"):
            assert shown[f"n{end}"].tolist() == shown[f"c{end}"].tolist()


SIZE, GROUPS = 3, 2000


@pytest.fixture(scope="module")
def small_groups() -> tables.Table:
    """Many groups of three people, of which few are shown, each because its noise is high."""
    rows = {"u": [str(i) for i in range(SIZE * GROUPS)], "g": [str(i // SIZE) for i in range(SIZE * GROUPS)]}
    return tables.table(pa.table(rows), unit="u")


def test_shown_groups_of_an_answer_are_covered(small_groups) -> None:
    """What is printed holds, not only the law behind it; false-alarm rate 1e-6."""
    query = small_groups.group_by("g", keys="private", groups_per_unit=1).aggregate(
        n=tables.count_units(), c=tables.count(rows_per_unit=1)
    )
    made = query.plan(1.0, 0.01, family="gaussian").answer(ledger=None)
    assert len(made["n"]) > 20
    for name in ("n", "c"):
        must_cover((made[f"{name}_low"] <= SIZE) & (made[f"{name}_high"] >= SIZE), 0.95)


@pytest.mark.parametrize("together", [False, True])
def test_shown_groups_of_a_statement_are_covered(tmp_path, together: bool) -> None:
    """The same for SQL, at its own level and at the level of all numbers of a row; false-alarm rate 1e-6."""
    people = list(range(SIZE * GROUPS))
    pq.write_table(pa.table({"id": people, "w": [i // SIZE for i in people]}), tmp_path / "v.parquet")
    (tmp_path / "hush.toml").write_text(
        '[tables.v]\nsource = "v.parquet"\nunit = "id"\ngroups_per_unit = 1\nrows_per_unit = 1\n'
        '[tables.v.columns]\nw = { values = "private" }\n'
    )
    asked = statement("SELECT w, COUNT(DISTINCT id) AS n FROM v GROUP BY w", tables.Policy.read(tmp_path / "hush.toml"))
    made = asked.plan(1.0, 0.01, family="gaussian").answer(ledger=None, together=together)
    must_cover((made["n_low"] <= SIZE) & (made["n_high"] >= SIZE), 0.95)
