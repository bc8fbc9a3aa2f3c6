"""Intervals that also hold the people whom the limit on groups leaves out."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import binom

from hush import tables
from hush.cli import main
from hush.errors import HushError

KEYS = list(range(8))


@pytest.fixture(scope="module")
def visits():
    """600 people in one of eight wards, 60 in six of them."""
    numbers = np.random.default_rng(4)
    rows = [(i, int(ward)) for i in range(660) for ward in numbers.choice(8, 6 if i < 60 else 1, replace=False)]
    return pd.DataFrame(rows, columns=["person", "ward"])


def asked(visits, groups=2, **aggregates):
    table = tables.table(visits, unit="person")
    return table.group_by("ward", keys=KEYS, groups_per_unit=groups).aggregate(
        **(aggregates or {"people": tables.count_units()})
    )


def test_the_wide_intervals_hold_the_numbers_without_the_limit(visits):
    """The level holds for the raw counts; the narrow intervals miss most of them. False-alarm rate 1e-6."""
    truth = visits.groupby("ward")["person"].nunique().reindex(KEYS).to_numpy()
    plan = asked(visits).plan(2.0, 0.0, family="laplace", limits_share=0.1)
    wide, narrow, releases = 0, 0, 25
    for _ in range(releases):
        answer = plan.answer(ledger=None, level=0.8)
        more = answer.unlimited()
        held = [(a["people_low"] <= truth) & (truth <= a["people_high"]) for a in (more, answer)]
        wide, narrow = wide + held[0][0], narrow + held[1].sum()
        assert (more["people"] == answer["people"]).all() and more.bias.high >= 0
    assert wide >= binom.isf(1.0 - 1e-6, releases, 0.8)
    assert narrow < 0.7 * releases * len(KEYS)


def test_the_bound_covers_the_people_in_too_many_groups(visits):
    answer = asked(visits).plan(200.0, 0.0, family="laplace").answer(ledger=None)
    bias = answer.bias
    assert abs(bias.value - 60) <= 8 and bias.value <= bias.high <= bias.value + 8 and bias.low == 0
    text = answer.unlimited().summary()
    assert "also hold people whom the limit on groups leaves out" in " ".join(text.split())


def test_a_limit_that_leaves_nobody_out_widens_nothing(visits):
    answer = (
        asked(visits, groups=8, people=tables.count_units(), cost=tables.sum("ward", low=0, high=3))
        .plan(1.0, 0.0, family="laplace")
        .answer(ledger=None)
    )
    assert answer.bias.high == 0
    assert (answer.unlimited()["people_high"] == answer["people_high"]).all()


def test_what_cannot_be_widened_is_refused(visits):
    for query, given, words in (
        (asked(visits, total=tables.sum("ward", low=0, high=3)), {}, "no number of people"),
        (asked(visits), {"limits_share": 0.0}, "was not measured"),
    ):
        with pytest.raises(HushError, match=words):
            query.plan(1.0, 0.0, family="laplace", **given).answer(ledger=None).unlimited()
    answer = asked(visits).plan(1.0, 0.0, family="laplace").answer(ledger=None, together=True)
    with pytest.raises(HushError, match="hold together"):
        answer.unlimited()
    assert asked(visits).plan(1.0, 0.0, family="laplace", limits_share=0.0).answer(ledger=None).bias is None


def test_the_command_line_widens(visits, tmp_path, capsys):
    file = str(tmp_path / "visits.parquet")
    visits.to_parquet(file)
    words = ["answer", file, "--unit", "person", "--by", "ward", "--keys", "0,1,2", "--groups-per-unit", "1"]
    words += ["--epsilon", "1", "--pure", "--family", "laplace", "--unlimited"]
    assert main([*words, "--count-units"]) == 0
    assert "also hold people" in " ".join(capsys.readouterr().out.split())
    assert main([*words, "--sum", "ward:0:3"]) == 2
    assert "--unlimited is for numbers of people" in capsys.readouterr().err
    assert main([*words, "--count-units", "--limits-share", "0"]) == 2
    assert "--unlimited needs --limits-share" in capsys.readouterr().err


@pytest.mark.parametrize("epsilon", [50.0, 700.0])
def test_a_plan_without_noise_to_speak_of_can_be_shown(visits, epsilon):
    """The noise of other limits is a multiple of the present one, which can be 0."""
    assert "answer" in repr(asked(visits).plan(epsilon, 0.0, family="laplace"))
