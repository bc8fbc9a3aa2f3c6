"""The noise of a query is found once: a second plan of the same query reads all its calibrations from the disk."""

from __future__ import annotations

import pytest

from hush import tables
from hush.calibration import kept, ranking

QUESTIONS = {
    "private keys": ({"keys": "private", "groups_per_unit": 3}, {"n": tables.count()}),
    "a mean": ({"keys": "private", "groups_per_unit": 8}, {"m": tables.mean("stay_days", low=0, high=30)}),
    "listed keys": ({"keys": ["surgery", "burns"], "groups_per_unit": 2}, {"s": tables.sum("cost", low=0, high=100)}),
}


@pytest.fixture(scope="module")
def visits():
    return tables.table(tables.sample("visits", 200), unit="patient_id")


@pytest.mark.parametrize("name", QUESTIONS)
def test_a_second_plan_searches_nothing(name, visits, tmp_path, monkeypatch):
    monkeypatch.setenv("HUSH_CACHE", str(tmp_path))
    monkeypatch.setattr(kept, "_QUICK", 0.0)
    grouping, aggregates = QUESTIONS[name]

    def plan():
        return visits.group_by("ward", **grouping).aggregate(**aggregates).plan(epsilon=0.9, delta=1e-6)

    first = plan()
    assert kept.kept_files() > 0

    def searched(*args, **options):
        raise AssertionError("a search ran")

    monkeypatch.setattr(ranking, "_choices", searched)
    again = plan()
    assert again.why == first.why and again.errors() == first.errors()
