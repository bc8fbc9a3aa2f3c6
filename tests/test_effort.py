"""What `make test` leaves out is a part of what `make test-all` runs."""

from __future__ import annotations

import effort
import pytest


@pytest.mark.parametrize(("size", "few"), [(1, 1), (2, 1), (2, 2), (12, 1), (12, 4), (12, 12), (3, 9)])
def test_a_thinned_grid_keeps_its_ends_and_every_case(size: int, few: int) -> None:
    cases = effort.thinned([(k, -k) for k in range(size)], few)
    values = [case.values if hasattr(case, "marks") else case for case in cases]
    assert values == [(k, -k) for k in range(size)]
    kept = [case for case in cases if not hasattr(case, "marks")]
    assert len(kept) == min(few, size) and (0, 0) in kept
    assert few == 1 or values[-1] in kept
    assert cases == effort.thinned(values, few)


def test_marks_of_a_case_stay() -> None:
    slow = pytest.param(2, marks=pytest.mark.skip, id="two")
    assert [mark.name for mark in effort.thinned([1, slow, 3], 2)[1].marks] == ["skip", "exhaustive"]


@pytest.mark.parametrize(("selection", "number"), [("not exhaustive", 3), ("", 7), ("exhaustive", 7)])
def test_the_selected_marks_decide(monkeypatch: pytest.MonkeyPatch, selection: str, number: int) -> None:
    monkeypatch.setattr(effort, "_thorough", None)
    effort.choose(selection)
    assert effort.examples(3, 7) == number


@pytest.mark.parametrize(("few", "many"), [(0, 3), (4, 3)])
def test_few_is_a_part_of_many(few: int, many: int) -> None:
    with pytest.raises(ValueError, match="at most many"):
        effort.examples(few, many)
