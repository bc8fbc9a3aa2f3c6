"""Which groups exist, the largest of a list, and the row "other": the same questions on every engine.

The budgets are large, so a right answer fails with a probability below 1e-6.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from hush import tables

SIZES = {"large": 300, "middle": 200, "small": 100}


@pytest.fixture(scope="module")
def opened(engine: Any) -> Any:
    """People in one group each, one person in all of them, and one person alone in a group."""
    rows = [(f"{ward}{i}", ward) for ward, size in SIZES.items() for i in range(size - 1)]
    rows += [("everywhere", ward) for ward in SIZES] + [("alone", "rare")]
    people, wards = zip(*rows, strict=True)
    return engine.table(pa.table({"who": people, "ward": wards}), unit="who")


@pytest.mark.parametrize("most", [1, 5])
def test_groups_are_found_and_a_group_of_one_person_is_not(opened: Any, most: int) -> None:
    """With the best rule for one group, and with weights by the person's number of groups."""
    asked = opened.group_by("ward", keys="private", groups_per_unit=most).keys()
    answer = asked.plan(8.0, 1e-7).answer(ledger=None)
    assert set(answer["ward"].tolist()) == set(SIZES)


@pytest.mark.parametrize("counts", [False, True])
def test_the_largest_of_a_list_are_found(opened: Any, counts: bool) -> None:
    asked = opened.group_by("ward", keys=[*SIZES, "rare", "none"]).top(2, counts=counts)
    answer = asked.plan(8.0, 0.0, family="selection").answer(ledger=None)
    assert answer["ward"].tolist() == ["large", "middle"]
    if counts:
        assert abs(answer["people"] - [300, 200]).max() < 60


def test_the_row_other_counts_people_of_hidden_groups(opened: Any) -> None:
    asked = opened.group_by("ward", keys="private", groups_per_unit=3).aggregate(n=tables.count_units())
    answer = asked.plan(40.0, 1e-7, family="gaussian", other=True).answer(ledger=None)
    assert set(answer["ward"].tolist()) == set(SIZES)
    assert answer.other is not None and abs(answer.other.value - 1.0) < 20.0
