"""A ledger with a list of releases: only these, each once, in any order."""

from __future__ import annotations

import itertools
import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import hush
from hush import BudgetExceeded, Gaussian, InvalidParameter, Laplace, Ledger, tables
from hush.cli import main
from hush.ledger.entry import Entry
from hush.privacy.charge import charges
from hush.report import statement

THREE = [(Laplace(4.0), 1.0), (Gaussian(9.0), 1.0), [(Laplace(8.0), 1.0), (Gaussian(20.0), 1.0, 3)]]


def listed(path: Path | None = None, releases: Any = THREE) -> Ledger:
    return Ledger(path, epsilon=1.2, delta=1e-6, releases=releases)


def test_listed_releases_are_accepted_once_in_any_order() -> None:
    for order in itertools.permutations(range(3)):
        ledger = listed()
        for place in order:
            ledger.spend(THREE[place])
        with pytest.raises(BudgetExceeded, match=r"was made before; .*\(left: 0\)\. Nothing was spent"):
            ledger.spend(THREE[0])
        assert ledger.spent.epsilon <= 1.2 and ledger.left.epsilon == 0.0
        ledger.verify()


def test_other_releases_are_refused_even_if_they_are_smaller() -> None:
    ledger = listed()
    for wrong in ((Laplace(400.0), 1.0), [(Laplace(8.0), 1.0)], (Gaussian(9.0), 0.5)):
        with pytest.raises(BudgetExceeded, match=r"is not on the ledger's list; .*\(left: 3\)"):
            ledger.spend(wrong)
    with pytest.raises(BudgetExceeded):
        ledger.spend(THREE[0], extra_delta=1e-9)
    assert not ledger.entries and ledger.share == 0.0


def test_equal_releases_are_accepted_as_often_as_they_are_listed() -> None:
    ledger = Ledger(None, epsilon=1.0, delta=0.0, releases=[(Laplace(4.0), 1.0)] * 3)
    for _ in range(3):
        ledger.spend((Laplace(4.0), 1.0))
    with pytest.raises(BudgetExceeded, match="was made before"):
        ledger.spend((Laplace(4.0), 1.0))
    assert ledger.spent.epsilon == 0.75


def test_a_list_must_fit_and_cannot_change(tmp_path: Path) -> None:
    with pytest.raises(BudgetExceeded, match="the listed releases together cost epsilon"):
        Ledger(None, epsilon=1.0, delta=1e-6, releases=[(Laplace(0.5), 1.0)])
    for wrong in ([], "plan", 3):
        with pytest.raises(InvalidParameter, match="releases must be a list"):
            listed(releases=wrong)
    for options in ({"rho": 0.1}, {"epsilon": 1.0, "delta": 1e-6, "blocks": "month"}, {"epsilon": 1, "delta": 0.0}):
        with pytest.raises(InvalidParameter, match="releases= is for a ledger with epsilon and delta"):
            Ledger(None, releases=THREE, **options, **({"mode": "adaptive"} if options.get("delta") == 0.0 else {}))
    path = tmp_path / "a.ledger"
    with listed(path) as ledger:
        ledger.spend(THREE[1])
    with pytest.raises(InvalidParameter, match="differs from the arguments"):
        listed(path, THREE[:2])
    with listed(path) as again:
        assert again.mode == "nonadaptive" and len(again.entries) == 1
        with pytest.raises(BudgetExceeded, match="was made before"):
            again.spend(THREE[1])


def test_a_list_fits_what_a_nonadaptive_ledger_fits_and_an_adaptive_one_does_not() -> None:
    """Mixed noise, of which exactly this list uses the budget."""
    noise = [Laplace(8.0), Gaussian(11.0), hush.Staircase(0.1)] * 2
    low, high = 0.5, 4.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        kept = hush.compose([(one.scaled(middle), 1.0) for one in noise]).delta(1.0) <= 1e-6
        low, high = (low, middle) if kept else (middle, high)
    parts = [(one.scaled(high), 1.0) for one in noise]
    ledger, adaptive = Ledger(None, epsilon=1.0, delta=1e-6, releases=parts), Ledger(None, epsilon=1.0, delta=1e-6)
    for part in reversed(parts):
        ledger.spend(part)
    entries = [Entry(0, "", "", charges(part)) for part in parts]
    assert not adaptive.view().account.plus(entries).covered()


def worst_delta(left: tuple[float, ...], loss: float, epsilon: float) -> float:
    """The largest delta of all strategies that choose the next release of a list after seeing all answers, or stop.
    Each release is a randomised response of that pure epsilon.
    """
    best = max(1.0 - math.exp(epsilon - loss), 0.0)
    for place, e in enumerate(left):
        up, rest = 1.0 / (1.0 + math.exp(-e)), left[:place] + left[place + 1 :]
        high, low = (worst_delta(rest, loss + sign * e, epsilon) for sign in (1.0, -1.0))
        best = max(best, up * high + (1.0 - up) * low)
    return best


def test_no_choice_of_order_passes_the_composition_of_the_list() -> None:
    each = (0.5, 0.4, 0.3, 0.3)
    fixed = sum(
        math.prod(1.0 / (1.0 + math.exp(-s * e)) for s, e in zip(signs, each, strict=True))
        * max(1.0 - math.exp(0.7 - sum(s * e for s, e in zip(signs, each, strict=True))), 0.0)
        for signs in itertools.product((1.0, -1.0), repeat=4)
    )
    assert worst_delta(each, 0.0, 0.7) == pytest.approx(fixed, rel=1e-12)
    assert worst_delta((*each, 0.3), 0.0, 0.7) > 1.1 * fixed  # one more release would pass it


# -- plans, statement and command line -----------------------------------------------------------------------


def query() -> Any:
    random = np.random.default_rng(1)
    table = tables.table(pa.table({"id": random.integers(0, 90, 300), "w": random.choice(["a", "b"], 300)}), unit="id")
    return table.group_by("w", keys=["a", "b"], groups_per_unit=1).aggregate(n=tables.count_units())


def test_plans_are_listed_and_the_statement_says_so() -> None:
    total = tables.table(pa.table({"id": [1, 2]}), unit="id").aggregate(n=tables.count_units())
    plans = hush.plan_all([query(), total], hush.Budget(1.0, 1e-6))
    year = total.plan(0.4, 1e-6, times=2, family="gaussian")
    ledger = Ledger(None, epsilon=1.5, delta=1e-5, releases=[*plans, year])
    assert len(ledger.cap.releases or ()) == 4
    plans[0].answer(ledger=ledger)
    page = statement(ledger)
    assert "each once" in page.markdown and "3 of the 4 listed releases were not made" in page.markdown
    assert "The ledger cannot check this assumption" not in page.markdown
    whole = hush.compose([charge for release in ledger.cap.releases or () for charge in release]).epsilon(1e-5)
    assert page.facts["promise"]["epsilon"] == pytest.approx(whole, rel=1e-6)
    assert ledger.spent.epsilon < 0.9 * whole
    printed: list[Any] = []
    exec(page.lines, {"print": printed.append})
    assert printed == pytest.approx([whole])


def test_the_command_line_makes_a_list_of_plans(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file, plan, place = tmp_path / "a.parquet", tmp_path / "plan.json", tmp_path / "a.ledger"
    pyarrow.parquet.write_table(pa.table({"id": [1, 2, 3]}), file)
    words = ["answer", str(file), "--unit", "id", "--count-units", "--epsilon", "1", "--delta", "1e-6"]
    words += ["--family", "gaussian"]
    assert main([*words, "--times", "2", "--plan", "--json"]) == 0
    plan.write_text(capsys.readouterr().out)
    new = ["ledger", "new", str(place), "--epsilon", "1", "--delta", "1e-6", "--releases"]
    assert main([*new, str(file)]) == 2
    assert "is not a plan; write one with `hush answer ... --plan --json" in capsys.readouterr().err
    assert main([*new, str(plan)]) == 0
    assert main([*words, "--ledger", str(place)]) == 2
    assert "is not on the ledger's list" in capsys.readouterr().err
    assert main([*words, "--times", "2", "--ledger", str(place), "--json"]) == 0
    capsys.readouterr()
    assert main(["ledger", "show", str(place)]) == 0
    assert "2 listed releases, each once, in any order; left: 1" in capsys.readouterr().out
    assert main(["ledger", "show", str(place), "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["cap"]["releases"]) == 2


def test_plans_of_every_kind_are_listed() -> None:
    """Of tables, the largest groups, contingency tables, streams and calibrate; each is then accepted once."""
    rows = tables.table(pa.table({"id": [1, 2, 3], "w": ["a", "b", "a"]}), unit="id")
    top = rows.group_by("w", keys=["a", "b"]).top(1).plan(0.5, 0.0, family="selection")
    cells = rows.marginals(["w"], order=1, keys={"w": ["a", "b"]}).plan(0.5, 0.0)
    counts, one = hush.stream(horizon=3).plan(0.5, 0.0), hush.calibrate(0.5, 0.0, family="laplace")
    ledger = Ledger(None, epsilon=2.5, delta=1e-6, releases=[top, cells, counts, one])
    assert len(ledger.cap.releases or ()) == 4
    top.answer(ledger=ledger)
    cells.answer(ledger=ledger)
    hush.release(3.0, one, ledger=ledger)
    with pytest.raises(BudgetExceeded, match="was made before"):
        top.answer(ledger=ledger)
    assert len(ledger.entries) == 3
    ledger.verify()


def test_a_ledger_with_a_list_makes_no_new_plans() -> None:
    plan = query().plan(0.5, 1e-6, family="gaussian")
    ledger = Ledger(None, epsilon=1.0, delta=1e-6, releases=[plan])
    for ask in (lambda: ledger.plan(query(), times=3), lambda: hush.plan_all([query()], ledger)):
        with pytest.raises(hush.InvalidParameter, match="accepts only these"):
            ask()
    private = tables.table(pa.table({"id": [1], "w": ["a"]}), unit="id").group_by(
        "w", keys=["a", "b"], groups_per_unit="private"
    )
    with pytest.raises(hush.InvalidParameter, match="cannot be listed in advance"):
        Ledger(None, epsilon=1.0, delta=1e-6, releases=[private.aggregate(n=tables.count_units()).plan(0.5, 1e-6)])


def test_a_list_of_sum_model_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Contingency tables and the largest groups too; a data file in the place of a plan is never to be overwritten."""
    file, place = tmp_path / "a.parquet", tmp_path / "a.ledger"
    pyarrow.parquet.write_table(pa.table({"id": [1, 2, 3], "w": ["a", "b", "a"]}), file)
    new = ["ledger", "new", str(place), "--epsilon", "1", "--delta", "1e-6", "--releases"]
    assert main([*new, str(file)]) == 2
    assert "--plan --json > plan.json" in capsys.readouterr().err
    budget = ["--epsilon", "0.5", "--pure", "--plan", "--json"]
    words = {
        "cells": ["marginals", str(file), "--unit", "id", "--columns", "w", "--keys", "a,b", *budget],
        "top": ["answer", str(file), "--unit", "id", "--by", "w", "--keys", "a,b", "--top", "1", *budget],
    }
    for name, asked in words.items():
        assert main(asked) == 0
        (tmp_path / name).write_text(capsys.readouterr().out)
    assert main([*new, str(tmp_path / "cells")]) == 0
    assert main(["ledger", "show", str(place)]) == 0
    assert "rule   1 listed release, each once, in any order; left: 1" in capsys.readouterr().out
    place.unlink()
    assert main([*new, str(tmp_path / "cells"), "--releases", str(tmp_path / "top")]) == 0
