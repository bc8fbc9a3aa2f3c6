"""The progress bar of a fit, and the two lines of a search."""

from __future__ import annotations

import math

import pytest
from learn.small_fits import ridge, rows, search

from hush.learn.selection import Runs


@pytest.mark.parametrize(
    ("changed", "shown", "not_shown"),
    [
        ({"solver": "statistics"}, "pass 1 of 1", "of 20"),
        ({"epsilon": math.inf, "family": None}, "pass 2", "of 100000"),
        ({"passes": 3}, "pass 3 of 3", "of 20"),
    ],
)
@pytest.mark.parametrize("level", [1, 2])
def test_the_bar_tells_the_truth_and_ends_its_line(changed, shown, not_shown, level, capsys):
    X, y, _ = rows(60)
    ridge(verbose=level, **changed).fit(X, y)
    seen = capsys.readouterr().err
    assert shown in seen and not_shown not in seen and seen.endswith("\n") and not seen.endswith("\n\n")


@pytest.mark.parametrize("runs", [1, 9])
def test_a_search_says_when_it_starts_and_ends_and_no_more(runs, monkeypatch, capsys):
    monkeypatch.setattr(Runs, "draw", lambda self, bits: runs)
    X, y, _ = rows()
    search(verbose=2).fit(X, y)
    assert capsys.readouterr().err == (
        "PrivateSearchCV: searching 2 settings, training on 160 rows, scoring on 40 rows\nPrivateSearchCV: finished\n"
    )
