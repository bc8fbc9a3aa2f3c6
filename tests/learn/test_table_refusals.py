"""Fits on tables that are refused: before the number of rows is paid for, and by what a policy says of the target."""

from __future__ import annotations

import math
import re
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest

from hush import Laplace, Ledger, Sensitivity, tables
from hush.errors import BudgetExceeded, HushError, InvalidParameter, Unsupported
from hush.learn import LogisticRegression, PrivateSearchCV, Ridge
from hush.learn.block_rows import TableRows
from hush.learn.screening import KeptColumns

FRAME = pd.DataFrame({"id": np.arange(200), "age": np.linspace(18.0, 90.0, 200), "cost": np.linspace(0.0, 900.0, 200)})
FRAME["smoker"] = np.where(FRAME.age > 50, "yes", "no")
RIDGE = {"epsilon": 1.0, "delta": 1e-6, "bounds": {"age": (18, 90)}, "target_bounds": (0, 900), "family": "gaussian"}


def people():
    return tables.table(FRAME, unit="id", population="people")


@pytest.mark.parametrize(
    ("changed", "words"),
    [({"scaling": "paper"}, "scaling='paper'"), ({"epsilon": math.inf}, "epsilon = inf"), ({"epsilon": 3.0}, "left")],
)
def test_a_refused_fit_pays_for_no_number_of_rows(changed, words):
    ledger = Ledger(None, epsilon=2.0, delta=1e-5)
    with pytest.raises(HushError, match=words) as failure:
        Ridge(**RIDGE | changed, ledger=ledger).fit(people(), "cost")
    assert not ledger.entries and "\n" not in str(failure.value)


@pytest.mark.parametrize(("epsilon", "delta"), [(1.0, 1e-6), (1.1, 2e-6), (3.0, 1e-6), (1.0, 0.0)])
@pytest.mark.parametrize("kind", ["table", "array", "search", "labels"])
def test_a_ledger_of_the_budget_of_a_fit_covers_it(kind, epsilon, delta):
    """The number of rows states the pair of the fit, so that the ledger reserves delta for it."""
    ledger, small = Ledger(None, epsilon=epsilon, delta=delta), min(delta, 1e-6)
    given = {"epsilon": 1.0, "delta": small}
    if kind == "table":
        model = Ridge(**RIDGE | {"delta": small, "family": None}, ledger=ledger).fit(people(), "cost")
    elif kind == "labels" and delta:
        X, y = np.linspace(-1.0, 1.0, 4000)[:, None], np.arange(4000) % 2
        settings = given | {"bounds": (-1, 1), "classes": "private", "neighbours": "add-remove"}
        model = LogisticRegression(**settings, ledger=ledger).fit(X, y)
    else:
        inner = Ridge(**given, bounds=(18, 90), target_bounds=(0, 900), neighbours="add-remove")
        if kind == "search":
            model = PrivateSearchCV(inner, {"alpha": [0.1, 1.0]}, **given, ledger=ledger, tries=1.5)
        else:
            model = inner.set_params(ledger=ledger)
        model.fit(FRAME[["age"]].to_numpy(), FRAME.cost)
    assert model.guarantee_.epsilon <= 1.0 and len(ledger.entries) == 2
    assert ledger.spent.epsilon <= epsilon and ledger.spent.delta <= delta


def test_a_refusal_of_two_releases_names_what_would_fit():
    """Both hints are true: the same fit is accepted with them."""
    spent = ([(Laplace(10.0), Sensitivity(linf=1.0, l0=1, neighbours="add-remove"))],)
    ledger = Ledger(None, epsilon=1.05, delta=1e-6)
    ledger.spend(*spent)
    with pytest.raises(
        BudgetExceeded, match="this fit is two releases, the number of rows and then the model"
    ) as failure:
        Ridge(**RIDGE, ledger=ledger).fit(people(), "cost")
    assert len(ledger.entries) == 1 and str(failure.value).endswith("; nothing was spent.")
    smaller = float(re.search(r"write epsilon=([0-9.]+)", str(failure.value))[1])
    assert 0.5 < smaller < 1.0
    Ridge(**RIDGE | {"epsilon": smaller}, ledger=ledger).fit(people(), "cost")
    assert len(ledger.entries) == 3


def test_a_late_refusal_says_what_was_paid():
    ledger = Ledger(None, epsilon=0.5, delta=1e-5)
    wrong = patch.object(Ledger, "would_cover", return_value=True)
    with wrong, pytest.raises(BudgetExceeded, match=r"paid for \(entry 1\)") as failure:
        Ridge(**RIDGE, ledger=ledger).fit(people(), "cost")
    assert "nothing was spent" not in str(failure.value) and len(ledger.entries) == 1


@pytest.mark.parametrize("delta", [1e-5, 0.0])
def test_noise_that_depends_on_a_released_number_is_not_fixed_in_advance(delta):
    ledger = Ledger(None, epsilon=3.0, delta=delta, mode="nonadaptive")
    settings = RIDGE | {"delta": min(delta, 1e-6), "family": None}
    model = Ridge(**settings, ledger=ledger)
    if delta:
        with pytest.raises(Unsupported, match="give n_rows=, or use an adaptive ledger"):
            model.fit(people(), "cost")
        assert not ledger.entries
        assert model.fit(people(), "cost", n_rows=200).receipt_["rows"] == 200
    else:
        assert model.fit(people(), "cost").guarantee_.epsilon <= 1.0 and len(ledger.entries) == 2


def ruled(values):
    rule = tables.ColumnRule
    columns = {"age": rule(low=18, high=90), "cost": rule(low=0, high=900), "smoker": rule(values=values)}
    return tables.Policy({"people": tables.TableRule(FRAME, unit="id", columns=columns)}).open("people")


def test_a_policy_limits_the_target_of_a_regression():
    with pytest.raises(InvalidParameter, match="policy declares 900"):
        Ridge(**RIDGE | {"target_bounds": (0, 1e6)}).fit(ruled(("no", "yes")), "cost", n_rows=200)
    assert Ridge(**RIDGE).fit(ruled(("no", "yes")), "cost", n_rows=200).receipt_["rows"] == 200


def test_a_policy_limits_the_classes():
    settings = {key: value for key, value in RIDGE.items() if key != "target_bounds"}
    model = LogisticRegression(**settings, classes=("no", "yes"))
    for values, words in ((("no", "never"), "which the policy does not list"), ("private", "found privately")):
        with pytest.raises(InvalidParameter, match=words):
            model.fit(ruled(values), "smoker", n_rows=200)
    assert list(model.fit(ruled(("no", "yes")), "smoker", n_rows=200).classes_) == ["no", "yes"]


def test_the_hint_about_a_solver_works():
    model = Ridge(**RIDGE | {"passes": 3, "solver": "cd"})
    with pytest.raises(Unsupported, match="; write solver='whitened'"):
        model.fit(people(), "cost", n_rows=200)
    assert model.set_params(solver="whitened").fit(people(), "cost", n_rows=200).n_iter_ == 3


def test_a_choice_of_columns_keeps_weights_and_order():
    """Without noise a model of all columns that matter is the same with and without a choice."""
    frame = FRAME.assign(other=0.0, w=np.where(FRAME.age > 50, 1.0, 0.0))
    frame["cost"] = np.where(frame.w > 0, frame.age, 900 - frame.age)
    table = tables.table(frame, unit="id", population="people")
    bounds = {"age": (18, 90), "other": (-1, 1)}
    plain = RIDGE | {"epsilon": math.inf, "bounds": bounds, "winsorise": None, "alpha": 1e-9}
    for keep in (1, "all"):
        model = Ridge(**plain, n_features_to_keep=keep, max_weight=1.0).fit(table, "cost", "w", n_rows=200)
        assert model.coef_[0] == pytest.approx(1.0, abs=1e-3)
    source = TableRows(None, 200, 2)
    assert not KeptColumns(source, np.array([0])).ordered


def test_labels_that_a_column_cannot_have(tmp_path):
    """yes and no of a CSV file may be read as truth values; a text column needs its labels."""
    settings = {key: value for key, value in RIDGE.items() if key != "target_bounds"}
    (tmp_path / "v.csv").write_text(FRAME.to_csv(index=False))
    read = tables.table(tmp_path / "v.csv", unit="id", types={"smoker": "boolean"})
    with pytest.raises(
        InvalidParameter, match=r"the class 'no' .* 'smoker', which is read as boolean .*; leave classes out"
    ):
        LogisticRegression(**settings, classes=("no", "yes")).fit(read, "smoker", n_rows=200)
    assert LogisticRegression(**settings).fit(read, "smoker", n_rows=200).coef_.shape == (1, 1)
    with pytest.raises(InvalidParameter, match=r"'smoker' holds text, .*; write classes=\('no', 'yes'\)\.$"):
        LogisticRegression(**settings).fit(people(), "smoker", n_rows=200)


def test_the_column_of_the_person_is_no_feature():
    for name, target in (("id", "cost"), ("age", "id")):
        with pytest.raises(InvalidParameter, match=r"column 'id' identifies the person.*leave it out"):
            Ridge(**RIDGE | {"bounds": {name: (0, 900)}}).fit(people(), target, n_rows=200)


def test_misspelt_classes_are_seen_in_the_released_number_of_rows():
    settings = {key: value for key, value in RIDGE.items() if key != "target_bounds"} | {"epsilon": 30.0}
    with pytest.warns(UserWarning, match="the released number of rows .* no row may have one of the classes"):
        # each is silent with a probability of 0.03
        _ = [LogisticRegression(**settings, classes=("No", "Yes")).fit(people(), "smoker") for _ in range(5)]
    LogisticRegression(**settings, classes=("no", "yes")).fit(people(), "smoker")
    LogisticRegression(**settings, classes=("No", "Yes")).fit(people(), "smoker", n_rows=200)  # nothing was released


@pytest.mark.parametrize(
    ("changed", "begin", "end"),
    [
        ({"solver": "cd", "family": None}, "solver='cd' holds", "; write solver='whitened'."),
        ({"solver": "gd", "passes": 3}, "solver='gd' holds", "; write solver='whitened'."),
        ({"clip": 1.0, "family": None}, "clip needs solver='cd', which", "leave clip out, or write solver='whitened'."),
        ({"passes": 3, "step": 0.1, "family": None}, "passes and step need", "leave passes and step out, or write"),
        ({"family": "laplace"}, "family needs solver='cd', which", "; leave family out."),
        ({"solver": "cd", "clip": [1.0, 1.0], "family": None}, "solver='cd' holds", "whitened', and leave clip out."),
        ({"solver": "cd", "family": "laplace"}, "solver='cd' holds", "whitened', and leave family out."),
    ],
)
def test_a_refused_solver_names_only_what_was_given(changed, begin, end):
    with pytest.raises(Unsupported) as failure:
        Ridge(**RIDGE | changed).fit(people(), "cost")
    assert str(failure.value).startswith(begin) and end in str(failure.value)
    kept = RIDGE | {"family": None} | {name: value for name, value in changed.items() if f"leave {name}" not in end}
    if "whitened" in end:  # the hint works
        kept = {name: value for name, value in kept.items() if name != "family"} | {"solver": "whitened"}
    Ridge(**{name: value for name, value in kept.items() if name not in ("passes", "step")}).fit(people(), "cost")


@pytest.mark.filterwarnings("ignore:delta=")  # a very noisy number of rows can be large
@pytest.mark.parametrize("most", [1, 10**3, 10**6, 1 << 22])
@pytest.mark.parametrize("epsilon", [1e-4, 1.0])
def test_any_number_of_rows_of_a_person_is_planned(most, epsilon):
    """The noise of the number of rows was refused, in words about families and lattices."""
    ledger = Ledger(None, epsilon=1.0, delta=1e-6)
    Ridge(**RIDGE | {"epsilon": epsilon}, ledger=ledger).fit(people(), "cost", rows_per_unit=most)
    assert len(ledger.entries) == 2
