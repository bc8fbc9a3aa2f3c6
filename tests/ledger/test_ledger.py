"""What a ledger is asked for: making and opening one, spending, reading back, binding it to its data."""

from __future__ import annotations

import json
import os
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hush
import hush.learn
from hush import (
    Budget,
    BudgetExceeded,
    Charge,
    Gaussian,
    InvalidParameter,
    Laplace,
    Sensitivity,
    Unsupported,
)
from hush.errors import HushError, LedgerError
from hush.ledger import Entry, Ledger
from hush.ledger.filters import filters_cap
from hush.noise.catalogue import FAMILIES
from hush.noise.one_way import OneWay
from hush.noise.selection import Selection

SMALL = (Gaussian(20.0), 1.0, 1)
PEOPLE = Sensitivity(columns=(1.0,), l0=1, one_sided=True, people=0)  # one number of people

#: One member of every family, with parameters that no short decimal writes. Two releases of each fit epsilon 5 and
#: delta 0.01.
NOISES = {
    "ball": hush.Ball(1, 100.0 / 7.0),
    "correlated": hush.Correlated(hush.Gaussian(20.0 / 3.0), 1, 1.0 / 3.0),
    "cube": hush.Cube(1, 100.0 / 7.0),
    "interval": hush.Interval(1, 100.0 / 7.0, 2.0),
    "plateau": hush.Plateau(("two_sided",), 100.0 / 7.0, (2.0,)),
    "stairs": hush.Stairs(1, 0.1 / 3.0, 1.0, 0.5, 0.25),
    "scaled": hush.Scaled(hush.Laplace(100.0 / 7.0), (10.0 / 9.0,)),
    "bump": hush.Bump(20.0 / 3.0, 1000.0 / 7.0),
    "lifted": hush.Lifted(hush.Bump(20.0 / 3.0, 1000.0 / 7.0), (), ()),
    "optimal_rule": hush.OptimalRule(0.1 / 3.0, 0.001 / 7.0),
    "rule_marginal": hush.OptimalRule(0.1 / 3.0, 0.001 / 7.0).marginal,
    "hull": hush.Hull(1, 1, 100.0 / 7.0, 2.0, one_sided=True),
    "level_marginal": hush.Cube(2, 100.0 / 7.0).marginal,
    "one_way": OneWay((1,), 100.0 / 7.0, 2),
    "selection": Selection(100.0 / 7.0),
    "lifted_marginal": hush.Lifted(hush.Bump(20.0 / 3.0, 1000.0 / 7.0), (10.0 / 3.0,), (0.5,)).marginal_of(0),
    "gaussian": hush.Gaussian(20.0 / 3.0),
    "laplace": hush.Laplace(100.0 / 7.0),
    "osgt": hush.OSGT(20.0 / 3.0, 50.0 / 7.0),
    "flipped_huber": hush.FlippedHuber(10.0 / 3.0, 100.0 / 7.0),
    "stable": hush.Stable(5.0 / 3.0, 200.0 / 7.0),
    "staircase": hush.Staircase(0.1 / 3.0, 1.0),
    "truncated_laplace": hush.TruncatedLaplace(100.0 / 7.0, 1000.0 / 3.0),
    "exponential_power": hush.ExponentialPower(4.0 / 3.0, 200.0 / 7.0),
    "asinh": hush.Asinh(1.0 / 3.0, 100.0 / 7.0),
    "stepped": hush.Stepped(1.0 / 3.0, (0.3, 0.28, 0.27), 0.97, 1),
    "discrete": hush.Discrete(hush.OSGT(20.0 / 3.0, 50.0 / 7.0), 0.1),
}


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "a.ledger"


# -- making and opening --------------------------------------------------------------------------------------


def test_a_new_ledger_has_spent_nothing(path: Path) -> None:
    with Ledger(path, epsilon=1.0, delta=1e-6) as ledger:
        assert (ledger.cap, ledger.mode, ledger.entries, ledger.source) == (
            filters_cap(1.0, 1e-6),
            "adaptive",
            (),
            None,
        )
        assert ledger.spent == Budget(0.0, 0.0) and ledger.left == Budget(1.0, 1e-6) and ledger.share == 0.0
        assert ledger.path == path
        ledger.verify()


def test_what_was_spent_is_there_when_it_is_opened_again(path: Path) -> None:
    with Ledger(str(path), epsilon=1.0, delta=1e-6) as ledger:
        first = ledger.spend(
            [SMALL, (Laplace(30.0), Sensitivity(linf=1.0, l0=3), 2)], label="zwei Zähler", extra_delta=1e-9
        ).entry
    with Ledger(path) as again:
        assert first is not None and again.entries == (first,)
        assert first.number == 1 and first.label == "zwei Zähler" and first.extra_delta == 1e-9
        assert first.charges == (
            Charge(Gaussian(20.0), Sensitivity.of(1.0)),
            Charge(Laplace(30.0), Sensitivity(linf=1.0, l0=3), times=2),
        )
        assert first.time.endswith("+00:00")
        again.verify()


def test_opening_with_the_same_cap_is_opening(path: Path) -> None:
    Ledger(path, epsilon=1.0, delta=1e-6).spend(SMALL)
    assert len(Ledger(path, epsilon=1.0, delta=1e-6).entries) == 1


@pytest.mark.parametrize(
    "other",
    [
        {"epsilon": 2.0, "delta": 1e-6},
        {"epsilon": 1.0, "delta": 1e-7},
        {"epsilon": 1.0, "delta": 1e-6, "mode": "adaptive"},
        {"mode": "adaptive"},
        {"order": 5.0},
    ],
)
def test_opening_with_another_cap_is_refused(path: Path, other: dict[str, object]) -> None:
    Ledger(path, epsilon=1.0, delta=1e-6, mode="nonadaptive")
    with pytest.raises(InvalidParameter, match="exists with epsilon 1, delta 1e-06, nonadaptive"):
        Ledger(path, **other)  # type: ignore[arg-type]


def test_the_order_is_part_of_the_cap(path: Path) -> None:
    Ledger(path, epsilon=1.0, delta=1e-6, mode="adaptive", order=30.0)
    assert Ledger(path, epsilon=1.0, delta=1e-6, mode="adaptive").cap.order == 30.0
    with pytest.raises(InvalidParameter, match="exists"):
        Ledger(path, epsilon=1.0, delta=1e-6, mode="adaptive", order=31.0)


def test_a_missing_file_is_named_with_the_call_that_makes_it(path: Path) -> None:
    with pytest.raises(InvalidParameter, match=r"there is no ledger at .*create one with Ledger\("):
        Ledger(path)
    assert not path.exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((None,), "needs a cap"),
        (("",), "name of a file"),
        ((":memory:",), "None for a ledger in memory"),
        ((3,), "name of a file"),
    ],
)
def test_bad_paths(arguments: tuple[object, ...], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        Ledger(*arguments)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"epsilon": 1.0}, "both epsilon and delta, or rho, or mu"),
        ({"delta": 1e-6}, "both epsilon and delta, or rho, or mu"),
        ({"epsilon": 1.0, "delta": 1e-6, "rho": 0.1}, "two kinds of budget"),
        ({"rho": -1.0}, "rho must be"),
        ({"mu": 0.5, "mode": "nonadaptive"}, "valid for every choice"),
        ({"epsilon": 0.0, "delta": 1e-6}, "epsilon must be"),
        ({"epsilon": float("inf"), "delta": 1e-6}, "epsilon must be"),
        ({"epsilon": [1.0, 2.0], "delta": 1e-6}, "epsilon must be"),
        ({"epsilon": 1.0, "delta": 1.0}, "delta must be"),
        ({"epsilon": 1.0, "delta": -1e-9}, "delta must be"),
        ({"epsilon": 1.0, "delta": 1e-6, "mode": "free"}, "mode must be one of adaptive, nonadaptive"),
        ({"epsilon": 1.0, "delta": 1e-6, "mode": "nonadaptive", "order": 3.0}, 'only a ledger with mode="adaptive"'),
        (
            {"epsilon": 1.0, "delta": 0.0, "mode": "adaptive", "order": 3.0},
            'only a ledger with mode="adaptive" and delta > 0',
        ),
        ({"epsilon": 1.0, "delta": 1e-6, "mode": "adaptive", "order": 1.0}, "greater than 1"),
        ({"epsilon": 1.0, "delta": 1e-6, "mode": "adaptive", "order": 2.0}, "leaves no budget"),
        ({"epsilon": 1.0, "delta": 1e-6, "source": 5}, "source must be"),
    ],
)
def test_bad_caps_make_no_file(path: Path, options: dict[str, object], words: str) -> None:
    with pytest.raises(InvalidParameter, match=words):
        Ledger(path, **options)  # type: ignore[arg-type]
    assert list(path.parent.iterdir()) == []


def test_making_leaves_nothing_but_the_file(path: Path) -> None:
    Ledger(path, epsilon=1.0, delta=1e-6)
    assert [p.name for p in path.parent.iterdir()] == [path.name]


def test_names_that_look_like_addresses(tmp_path: Path) -> None:
    for name in ("a?mode=memory", "b#c", "100%25", "d e", "täglich"):
        Ledger(tmp_path / name, epsilon=1.0, delta=1e-6).spend(SMALL)
        assert len(Ledger(tmp_path / name).entries) == 1 and (tmp_path / name).is_file()


def test_a_relative_name_is_kept_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    ledger = Ledger("a.ledger", epsilon=1.0, delta=1e-6)
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    ledger.spend(SMALL)
    assert len(Ledger(tmp_path / "a.ledger").entries) == 1


# -- spending ------------------------------------------------------------------------------------------------


def test_every_family_has_a_member_here() -> None:
    assert set(NOISES) == {row.name for row in FAMILIES}


@pytest.mark.parametrize("name", NOISES)
def test_every_family_reads_back_bit_for_bit(path: Path, name: str) -> None:
    noise, bound = NOISES[name], PEOPLE if name == "optimal_rule" else Sensitivity.of(1.0)
    ledger = Ledger(path, epsilon=5.0, delta=1e-2)
    if name == "rule_marginal":  # a law for intervals, without a curve
        with pytest.raises(hush.HushError):
            ledger.spend((noise, bound, 2))
        return
    ledger.spend((noise, bound, 2), label=name)
    (found,) = Ledger(path).entries[0].charges
    assert found.noise == noise and repr(found.noise) == repr(noise) and (found.sensitivity, found.times) == (bound, 2)
    Ledger(path).verify()


@pytest.mark.parametrize(
    "sensitivity",
    [
        2.0 / 3.0,
        Sensitivity(linf=(0.1, 0.2, 0.3), l0=2),
        Sensitivity(l2=1.0 / 3.0),
        Sensitivity(l1=0.1, l0=4),
        Sensitivity(l2=0.7, neighbours="replace"),
        Sensitivity(linf=0.3, l2=0.4, l0=3),
    ],
)
def test_every_sensitivity_reads_back(path: Path, sensitivity: object) -> None:
    Ledger(path, epsilon=1.0, delta=1e-6).spend((Gaussian(30.0), sensitivity))
    assert Ledger(path).entries[0].charges == (Charge(Gaussian(30.0), Sensitivity.of(sensitivity)),)


def test_a_subsampled_release(path: Path) -> None:
    part = hush.subsample(Gaussian(2.0), 0.01, times=10)
    ledger = Ledger(path, epsilon=1.0, delta=1e-6, mode="nonadaptive")
    ledger.spend(part)
    assert Ledger(path).entries[0].charges == (Charge(Gaussian(2.0), Sensitivity.of(1.0), times=10, rate=0.01),)
    assert ledger.spent.epsilon == pytest.approx(hush.compose([part]).epsilon(1e-6), rel=1e-9)


def test_parts_may_be_one_tuple_or_a_noise_alone() -> None:
    ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    for parts in (SMALL, [SMALL], Gaussian(20.0), [(Gaussian(20.0),)], [[Gaussian(20.0), 1.0]], ((Gaussian(20.0), 1),)):
        entry = ledger.spend(parts).entry
        assert entry is not None and entry.charges == (Charge(Gaussian(20.0), Sensitivity.of(1.0)),)


@pytest.mark.parametrize(
    ("parts", "error", "words"),
    [
        ([], InvalidParameter, "at least one release"),
        (5, InvalidParameter, "list of releases"),
        ([5], InvalidParameter, "noise must be"),
        ([()], InvalidParameter, "noise must be"),
        ((Gaussian(1.0), -1.0), InvalidParameter, "sensitivity must be"),
        ((Gaussian(1.0), 1.0, 0), InvalidParameter, "times must be"),
        ((Gaussian(1.0), 1.0, 1.5), InvalidParameter, "times must be"),
        ((Gaussian(1.0), 1.0, 1, 1), InvalidParameter, "got 4 items"),
        ((hush.Staircase(1.0), Sensitivity(l2=1.0)), Unsupported, "no theorem"),
    ],
)
def test_bad_parts_spend_nothing(parts: object, error: type[HushError], words: str) -> None:
    ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    with pytest.raises(error, match=words):
        ledger.spend(parts)
    assert ledger.entries == ()


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"label": 5}, "label must be"),
        ({"label": "x" * 1001}, "at most 1000"),
        ({"label": "\ud800"}, "surrogates"),
        ({"extra_delta": -1e-9}, "extra_delta must be"),
        ({"extra_delta": 1.0}, "extra_delta must be"),
        ({"extra_delta": float("nan")}, "extra_delta must be"),
        ({"epsilon": 1.0}, "both epsilon and delta, or neither"),
        ({"epsilon": float("inf"), "delta": 0.0}, "epsilon must be"),
    ],
)
def test_bad_options_spend_nothing(options: dict[str, object], words: str) -> None:
    ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    with pytest.raises(InvalidParameter, match=words):
        ledger.spend(SMALL, **options)  # type: ignore[arg-type]
    assert ledger.entries == ()


def test_noise_that_no_catalogue_knows_cannot_be_written_down() -> None:
    class Mine(Gaussian):
        pass

    with pytest.raises(Unsupported, match="not in the catalogue"):
        Ledger(None, epsilon=1.0, delta=1e-6).spend((Mine(3.0), 1.0))


def test_a_claim_is_checked_and_kept() -> None:
    ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    plan = hush.calibrate(0.5, 1e-7)
    entry = ledger.spend((plan.noise, 1.0), epsilon=plan.epsilon, delta=plan.delta).entry
    assert entry is not None and (entry.epsilon, entry.delta) == (0.5, 1e-7) and ledger.entries[0] == entry
    with pytest.raises(InvalidParameter, match=r"does not satisfy epsilon=0\.1 and delta=1e-07"):
        ledger.spend((plan.noise, 1.0), epsilon=0.1, delta=1e-7)
    assert len(ledger.entries) == 1


@pytest.mark.parametrize("sensitivity", [1.0, Sensitivity(linf=1.0, l0=5)])
@pytest.mark.parametrize("family", ["laplace", "staircase", "stable"])
def test_a_pure_claim_of_a_calibrated_noise_is_kept(family: str, sensitivity: object) -> None:
    plan = hush.calibrate(0.5, 0.0, sensitivity, family=family, loss="mae")
    entry = Ledger(None, epsilon=0.5, delta=0.0).spend((plan.noise, sensitivity), epsilon=0.5, delta=0.0).entry
    assert entry is not None and entry.delta == 0.0


# -- binding -------------------------------------------------------------------------------------------------


def test_a_ledger_belongs_to_its_data(path: Path) -> None:
    with Ledger(path, epsilon=1.0, delta=1e-6) as ledger:
        ledger.spend(SMALL)
        ledger.bind("table people, 5 columns")
        ledger.bind("table people, 5 columns")
        ledger.spend(SMALL)
        assert ledger.source == "table people, 5 columns"
        with pytest.raises(InvalidParameter, match="protects 'table people, 5 columns', not 'table cars'"):
            ledger.bind("table cars")
    Ledger(path, source="table people, 5 columns").verify()
    with pytest.raises(InvalidParameter, match="a separate ledger for each data set"):
        Ledger(path, source="table cars")


def test_the_source_may_be_said_at_creation(path: Path) -> None:
    Ledger(path, epsilon=1.0, delta=1e-6, source="people")
    assert Ledger(path).source == "people"


# -- the object ----------------------------------------------------------------------------------------------


def test_a_closed_ledger_says_so(path: Path) -> None:
    for place in (None, path):
        ledger = Ledger(place, epsilon=1.0, delta=1e-6)
        ledger.close()
        ledger.close()
        with pytest.raises(LedgerError, match="closed"):
            ledger.spend(SMALL)
        with pytest.raises(LedgerError, match="closed"):
            _ = ledger.spent
        assert "closed" in repr(ledger) and "closed" in ledger._repr_html_()


def test_it_prints_what_is_spent_and_left(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0, delta=1e-6)
    ledger.spend(SMALL, label="<b>first</b>")
    shown = f"spent {ledger.spent.epsilon:.4g}, left {ledger.left.epsilon:.4g}"
    assert shown in repr(ledger) and "1 entries" in repr(ledger) and str(path) in repr(ledger)
    page = ledger._repr_html_()
    assert "&lt;b&gt;first" in page and "hush-card" in page and "Gaussian(sigma=20.0)" in page
    assert str(ledger.entries[0]) == "1. <b>first</b>: Gaussian(sigma=20.0)"
    path.unlink()
    assert "does not exist any more" in repr(ledger)


def test_float_of_an_amount_is_its_epsilon() -> None:
    ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    ledger.spend(SMALL)
    assert float(ledger.spent) == ledger.spent.epsilon and float(ledger.left) == ledger.left.epsilon


def test_a_pickled_ledger_opens_the_same_file(path: Path) -> None:
    ledger = Ledger(path, epsilon=1.0, delta=1e-6)
    pickle.loads(pickle.dumps(ledger)).spend(SMALL)
    assert len(ledger.entries) == 1
    with pytest.raises(LedgerError, match="in memory"):
        pickle.dumps(Ledger(None, epsilon=1.0, delta=1e-6))


def test_an_entry_is_plain(path: Path) -> None:
    entry = Ledger(path, epsilon=1.0, delta=1e-6).spend(SMALL).entry
    assert isinstance(entry, Entry) and isinstance(entry.number, int) and isinstance(entry.time, str)


def test_importing_hush_loads_no_sqlite() -> None:
    code = "import sys, hush; from hush.ledger import Ledger; print('sqlite3' in sys.modules)"
    folder = str(Path(hush.__file__).parents[1])
    shown = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": folder},
    )
    assert shown.stdout.strip() == "False"


def test_the_file_can_be_read_without_hush(path: Path) -> None:
    """Plain tables with plain values: cap, entries, schema version."""
    import sqlite3

    Ledger(path, epsilon=1.0, delta=1e-6).spend((Laplace(30.0), 1.0, 2), label="count")
    connection = sqlite3.connect(path)
    try:
        assert connection.execute("PRAGMA user_version").fetchone() == (1,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
        assert json.loads(connection.execute("SELECT content FROM cap").fetchone()[0])["epsilon"] == 1.0
        number, label, mechanism = connection.execute("SELECT number, label, mechanism FROM entries").fetchone()
        part = json.loads(mechanism)["parts"][0]
        assert (number, label, part["noise"], part["times"]) == (1, "count", {"family": "laplace", "scale": 30.0}, 2)
    finally:
        connection.close()


def test_refusals_are_one_sentence_with_what_is_left_and_what_would_fit() -> None:
    for mode in ("nonadaptive", "adaptive"):
        ledger = Ledger(None, epsilon=1.0, delta=1e-6, mode=mode)
        ledger.spend((Gaussian(8.0), 1.0))
        with pytest.raises(BudgetExceeded) as refused:
            ledger.spend((Gaussian(2.0), 1.0))
        text = str(refused.value)
        assert (
            text.endswith("nothing was spent.")
            and text.count(". ") == 0
            and "is left" in text
            and len(ledger.entries) == 1
        )
        factor = float(text.split("noise ")[1].split(" times")[0])
        ledger.spend((Gaussian(2.0 * factor), 1.0))
        with pytest.raises(BudgetExceeded):
            Ledger(None, epsilon=1.0, delta=1e-6, mode=mode).spend(
                [(Gaussian(8.0), 1.0), (Gaussian(1.8 * factor), 1.0)]
            )


def test_a_refusal_without_a_factor_names_an_epsilon_that_fits() -> None:
    ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    ledger.spend((hush.Staircase(0.5), 1.0))
    with pytest.raises(BudgetExceeded, match="any release of at most epsilon") as refused:
        ledger.spend((hush.Staircase(1.0), 1.0))
    fits = float(str(refused.value).split("at most epsilon ")[1].split(" ")[0])
    assert fits >= 0.48
    ledger.spend((Laplace(1.0 / fits), 1.0))


def test_a_refusal_for_extra_delta_says_so() -> None:
    ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    ledger.spend(SMALL, extra_delta=9e-7)
    with pytest.raises(BudgetExceeded, match=r"extra_delta is 2e-07, and .* of delta is left"):
        ledger.spend(SMALL, extra_delta=2e-7)
    with pytest.raises(BudgetExceeded, match="costs no finite epsilon"):
        Ledger(None, epsilon=1.0, delta=0.0).spend(SMALL)


def test_every_entry_states_the_version_that_wrote_it(tmp_path: Path) -> None:
    """A mistake in one version concerns the entries that this version wrote; so they can be found."""
    path = tmp_path / "one.ledger"
    with hush.Ledger(path, epsilon=1.0, delta=1e-6) as ledger:
        ledger.spend((hush.Laplace(100.0), 1.0))
    with hush.Ledger(path) as again:
        (entry,) = again.entries
        again.verify()
    assert entry.made_by == hush.__version__
    assert hush.report.statement(path).facts["entries"][0]["hush"] == hush.__version__


def test_a_refusal_says_that_a_delta_is_too_large():
    ledger = hush.Ledger(None, epsilon=2.0, delta=1e-5)
    with pytest.raises(hush.BudgetExceeded, match=r"its delta is 0\.01, and the ledger's is 1e-05"):
        hush.release(1.0, hush.calibrate(1.0, 0.01, family="gaussian"), ledger=ledger)


def test_a_refusal_of_a_pair_names_an_epsilon_that_fits():
    """A search is charged as a pair (epsilon, delta), whose noise has no scale to enlarge."""
    numbers = np.random.default_rng(3)
    X = numbers.uniform(-1.0, 1.0, (400, 2))
    ledger = hush.Ledger(None, epsilon=2.0, delta=1e-5)
    model = hush.learn.Ridge(epsilon=1.0, delta=1e-6, bounds=(-1, 1), target_bounds=(-1, 1), family="gaussian")
    asked = {"epsilon": 5.0, "delta": 1e-6, "tries": 1.5, "ledger": ledger}
    with pytest.raises(hush.BudgetExceeded, match=r"ask for at most about epsilon ([\d.]+);") as caught:
        hush.learn.PrivateSearchCV(model, {"alpha": [0.1, 1.0]}, **asked).fit(X, X[:, 0])
    fits = float(re.search(r"about epsilon ([\d.]+);", str(caught.value))[1])
    assert 1.9 < fits <= 2.0 and len(ledger.entries) == 0
    hush.learn.PrivateSearchCV(model, {"alpha": [0.1, 1.0]}, **(asked | {"epsilon": fits})).fit(X, X[:, 0])
    assert len(ledger.entries) == 1
