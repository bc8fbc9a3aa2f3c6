"""Fits on tables: the same sums as from arrays, people as neighbours, one ledger with the answers of the table."""

from __future__ import annotations

import math
from collections import Counter
from unittest.mock import patch

import numpy as np
import pandas as pd
import pytest
from learn.small_fits import must_meet_its_budget

from hush import Ledger, report, tables
from hush.errors import BudgetExceeded, HushError, InvalidParameter, Unsupported
from hush.learn import Lasso, LogisticRegression, PrivateSearchCV, Ridge, whole_rows
from hush.learn.block_rows import MemoryRows, TableRows
from hush.learn.means_and_spreads import moments_wish
from hush.learn.moment_solver import product_sums, products_wish
from hush.learn.objective import LOGISTIC, SQUARED
from hush.learn.relation import Relation
from hush.learn.row_count import RowCount
from hush.learn.scaling import Scaling, Span
from hush.learn.whole_rows import WholeRows
from hush.ledger import Access
from hush.ledger.payment import Draws
from hush.sampling.entropy import SecureEntropy
from hush.tables.row_blocks import RowBlocks

BOUNDS = {"age": (18.0, 100.0), "bmi": (12.0, 60.0)}
RIDGE = {"epsilon": 1.0, "delta": 1e-6, "bounds": BOUNDS, "target_bounds": (0.0, 60.0), "family": "gaussian"}
YES = {"epsilon": 1.0, "delta": 1e-6, "bounds": BOUNDS, "classes": ("no", "yes"), "family": "gaussian"}


def people(count: int = 3000) -> pd.DataFrame:
    numbers = np.random.default_rng(5)
    frame = pd.DataFrame({"age": numbers.normal(50, 12, count), "bmi": numbers.normal(27, 4, count)})
    frame["cost"] = 0.3 * frame.age + 0.5 * frame.bmi + numbers.normal(size=count)
    frame["smoker"] = np.where(frame.age + numbers.normal(0, 5, count) > 50, "yes", "no")
    frame["id"] = np.arange(count) // 3  # three rows of each person
    frame["weight"] = numbers.uniform(0.0, 2.0, count)
    return frame


FRAME = people()


def opened(frame: pd.DataFrame = FRAME, **options):
    return tables.table(frame, **({"unit": "id", "population": "people"} | options))


def no_noise():
    return patch.object(Draws, "add", lambda draws, steps: steps)


# -- the same numbers as from arrays -------------------------------------------------------------------------


@pytest.mark.parametrize("solver", ["whitened", "statistics"])
@pytest.mark.parametrize("kind", [Ridge, Lasso, LogisticRegression])
def test_a_table_and_an_array_give_the_same_model_to_the_bit(kind, solver):
    """Without noise, and with the same settings: the order of the rows and the blocks do not matter."""
    logistic = kind is LogisticRegression
    settings = (YES if logistic else RIDGE) | {"solver": solver, "passes": 3 if solver == "whitened" else None}
    settings |= {"clip": 0.5} if solver == "whitened" else {}
    target = "smoker" if logistic else "cost"
    with no_noise():
        ours = kind(**settings).fit(opened(unit=tables.each_row), target, n_rows=len(FRAME))
        theirs = kind(**settings | {"bounds": list(BOUNDS.values()), "neighbours": "add-remove"})
        theirs.fit(FRAME[list(BOUNDS)].to_numpy(), FRAME[target].to_numpy(), n_rows=len(FRAME))
    np.testing.assert_array_equal(ours.coef_, theirs.coef_)
    np.testing.assert_array_equal(ours.intercept_, theirs.intercept_)
    np.testing.assert_array_equal(ours.trace_["weights"], theirs.trace_["weights"])
    assert ours.receipt_["parts"] == theirs.receipt_["parts"] and list(ours.feature_names_in_) == list(BOUNDS)


@pytest.mark.parametrize("kept", [0, 1 << 28])
def test_sums_do_not_depend_on_order_and_blocks(kept, monkeypatch):
    """Neither if rows are kept between passes, nor if they are read again."""
    monkeypatch.setattr(whole_rows, "_KEPT", kept)
    rows = opened(unit=tables.each_row).row_blocks(list(BOUNDS), "cost")
    table = TableRows(rows, len(FRAME), 2, size=100)
    array = MemoryRows(FRAME[list(BOUNDS)].to_numpy(), FRAME.cost.to_numpy(), size=77)
    span = Span(*np.array(list(BOUNDS.values())).T)
    scaling, target = Scaling.public(span), Scaling.public(Span(np.zeros(1), np.full(1, 60.0)))
    found = []
    for source in (table, array):
        whole = WholeRows(source, scaling, target, True, SQUARED)
        products = product_sums(whole, 3000, 2.0).tolist()
        whole.measure(np.diag([3.0, 2.0, 1.0]), 2.0**30)
        gradients = [whole.gradient(np.array([0.3, -0.2, place])).tolist() for place in (0.1, 0.2)]
        found.append((products, gradients))
        assert (whole._kept is not None) == (source is table or kept > 0)
        whole.close()
    assert found[0] == found[1] and any(found[0][1][0])


def test_weights_of_a_table():
    """Weights 0 leave rows out, and twice all weights is twice the loss."""
    frame = FRAME.assign(w=np.where(FRAME.smoker == "yes", 2.0, 0.0))
    plain = RIDGE | {"epsilon": math.inf, "alpha": 3.0, "penalise": "original", "winsorise": None}
    weighted = Ridge(**plain, max_weight=2.0).fit(opened(frame, unit=tables.each_row), "cost", "w", n_rows=len(frame))
    kept = frame[frame.smoker == "yes"]
    # 2 |y - Xw|^2 + 3 |w|^2 has the minimum of |y - Xw|^2 + 1.5 |w|^2
    alone = Ridge(**plain | {"alpha": 1.5}).fit(kept[list(BOUNDS)], kept.cost)
    np.testing.assert_allclose(weighted.coef_, alone.coef_, rtol=0.0, atol=2e-6)


def test_a_private_fit_is_near_the_truth():
    """Medians of five fits. 468 fits were all within 0.053 of the coefficients, with a score of 0.93 and more.

    Even if one fit in 250 were beyond 0.1, a median would be so once in a million. The score of the classifier has the
    mean 0.878 and the deviation 0.0012: its limit is 20 deviations away.
    """
    table, model = opened(), Ridge(**RIDGE | {"epsilon": 5.0})
    found = []
    for _ in range(5):
        model.fit(table, "cost", rows_per_unit=3)
        found.append([*model.coef_, model.score(FRAME[list(BOUNDS)], FRAME.cost)])
    *coefficients, score = np.median(found, axis=0)
    np.testing.assert_allclose(coefficients, [0.3, 0.5], atol=0.1)
    assert score > 0.7
    classes = LogisticRegression(**YES | {"epsilon": 5.0}).fit(opened(), "smoker", rows_per_unit=3)
    assert list(classes.classes_) == ["no", "yes"] and classes.score(FRAME[list(BOUNDS)], FRAME.smoker) > 0.85


# -- neighbours ----------------------------------------------------------------------------------------------


SMALL = pd.DataFrame(
    {
        "id": ["a"] * 5 + ["b"] * 3 + ["c"] * 2 + ["d", None, "e", "e"],
        "age": [20.0, 20.0, 95.0, 150.0, 40.0, 18.0, 19.0, 100.0, math.inf, 50.0, 60.0, 70.0, math.nan, 30.0],
        "bmi": [12, 60, 13, 40, 20, 21, 22, 23, 24, 25, 26, 27, 28, None],
        "cost": [0.0, 60.0, 1e9, -5.0, 3.0, 30.0, 31.0, 32.0, 33.0, 34.0, 35.0, 36.0, 37.0, 38.0],
    }
)


def kept_rows(frame: pd.DataFrame, most: int) -> tuple[RowBlocks, np.ndarray]:
    rows = opened(frame, unit="id").row_blocks(list(BOUNDS), "cost", rows_per_unit=most, salt=b"0" * 32)
    return rows, np.concatenate([np.empty((0, 3)), *rows.blocks()])


@pytest.mark.parametrize("most", [1, 2, 4])
def test_a_person_takes_at_most_so_many_rows_along_and_no_others(most):
    """Every person of a small table is removed. How far sums move is tested in test_sensitivity.py."""
    whole = Counter(map(tuple, kept_rows(SMALL, most)[1]))
    for person in ("a", "b", "c", "d", "e"):
        rest = Counter(map(tuple, kept_rows(SMALL[SMALL["id"] != person], most)[1]))
        assert sum((whole - rest).values()) <= most and not rest - whole


@pytest.mark.parametrize("most", [1, 2, 3, 100])
def test_at_most_so_many_rows_of_a_person_are_kept(most):
    rows, found = kept_rows(SMALL, most)
    assert rows.count() == len(found) == min(most, 5) + min(most, 3) + min(most, 2) + 1
    again = np.concatenate(list(rows.blocks()))
    assert Counter(map(tuple, again)) == Counter(map(tuple, found))


def test_rows_that_cannot_be_used_are_left_out():
    frame = FRAME.head(30).assign(id=np.arange(30), smoker=FRAME.smoker.head(30).astype(object))
    frame.loc[0, "age"], frame.loc[1, "age"], frame.loc[2, "smoker"], frame.loc[3, "smoker"] = None, math.inf, "?", None
    rows = opened(frame).row_blocks(list(BOUNDS), "smoker", classes=("no", "yes"))
    found = np.concatenate(list(rows.blocks()))
    assert rows.count() == len(found) == 27 and set(found[:, 2]) == {0.0, 1.0} and np.isinf(found[:, 0]).sum() == 1


def test_bounds_of_the_relation():
    """A person with r rows moves a sum r times as far as one row, and one row less far than a replaced one."""
    one, three = Relation("add-remove"), Relation("add-remove", 3)
    for wish in (lambda relation: moments_wish(4, 0.5, relation), lambda r: products_wish(1000, 5, 2.0, 0.5, r)):
        alone, many, replaced = (wish(relation) for relation in (one, three, Relation()))
        assert many.bound.l2_bound == pytest.approx(3.0 * alone.bound.l2_bound, rel=1e-12)
        assert alone.bound.l2_bound == pytest.approx(replaced.bound.l2_bound / math.sqrt(2.0), rel=1e-9)
        assert alone.bound.neighbours == "add-remove" and replaced.bound.neighbours == "replace"
    wrong = Relation("add-remove", 2)
    assert moments_wish(4, 0.5, wrong).bound.l2_bound < moments_wish(4, 0.5, three).bound.l2_bound


# -- the number of rows, ledgers and receipts ----------------------------------------------------------------


def test_the_number_of_rows_is_released_with_its_own_noise():
    made = RowCount.planned(2.0, Relation("add-remove", 5))
    assert made.epsilon + made.left <= 2.0 and made.mechanism.charge.sensitivity.linf == 5.0
    seen = np.array([made.release(lambda: 1_000_000, Access(None), "", None)[0] for _ in range(2000)])
    scale = 5.0 / made.epsilon
    # the mean absolute value of 2,000 Laplace draws is within 12 % of the scale but for one time in a million
    spread = float(np.abs(seen - 1_000_000).mean()) / scale
    assert abs(spread - 1.0) < 0.12
    assert abs(spread - 2.0 / 3.0) > 0.12 and abs(spread - 1.5) > 0.12
    assert RowCount.planned(1.0, Relation("add-remove")).release(lambda: 0, Access(None), "", None)[0] >= 2


def test_the_number_of_rows_is_paid_for_before_any_bit():
    ledger, seen = Ledger(None, epsilon=1.0, delta=0.0), []

    class Watched:
        secure = True

        def begin(self):
            seen.append(len(ledger.entries))
            return SecureEntropy().begin()

    RowCount.planned(1.0, Relation("add-remove")).release(lambda: 1000, Access(ledger), "", Watched())
    assert set(seen) == {1}


def test_one_ledger_for_answers_and_fits():
    ledger, table = Ledger(None, epsilon=3.0, delta=1e-5), opened()
    table.aggregate(n=tables.count_units()).plan(epsilon=0.5, delta=0.0).answer(ledger=ledger)
    model = Ridge(**RIDGE, ledger=ledger).fit(table, "cost", rows_per_unit=3)
    assert [entry.epsilon for entry in ledger.entries] == [0.5, 0.03, pytest.approx(0.97)]
    assert ledger.source == "population people" and model.guarantee_.neighbours == "add-remove"
    assert model.guarantee_.epsilon <= 1.0 and "ledger entry 2" in str(model.guarantee_)
    assert "at most 3 rows of each" in str(report.statement(model, ledger=ledger))
    with pytest.raises(InvalidParameter, match="protects 'population people'"):
        Ridge(**RIDGE, ledger=ledger).fit(opened(population="others"), "cost")
    with pytest.raises(HushError, match="neighbours"):
        Ridge(**RIDGE | {"bounds": list(BOUNDS.values())}, ledger=ledger).fit(FRAME[list(BOUNDS)], FRAME.cost)
    with pytest.raises(BudgetExceeded):
        Ridge(**RIDGE | {"epsilon": 100.0}, ledger=ledger).fit(table, "cost", n_rows=3000)
    assert len(ledger.entries) == 3


def test_receipts_say_what_is_public():
    model = Ridge(**RIDGE).fit(opened(), "cost", rows_per_unit=2)
    assert model.receipt_["rows_per_unit"] == 2 and model.receipt_["row_count"]["epsilon"] == 0.03
    assert model.receipt_["public"][0] == "the number of features"
    must_meet_its_budget(model)
    assert "epsilon" in str(report.statement(model))  # recomputes the claim from all charges
    declared = Ridge(**RIDGE).fit(opened(), "cost", n_rows=3000)
    assert declared.receipt_["row_count"] is None and declared.receipt_["rows"] == 3000


def test_a_policy_limits_a_fit():
    columns = {name: tables.ColumnRule() for name in FRAME} | {"age": tables.ColumnRule(low=18, high=90)}
    rule = tables.TableRule(FRAME, unit="id", rows_per_unit=2, max_epsilon=1.0, columns=columns)
    table = tables.Policy({"people": rule}).open("people")
    narrow = {"age": (18.0, 90.0), "bmi": (12.0, 60.0)}
    assert Ridge(**RIDGE | {"bounds": narrow}).fit(table, "cost").receipt_["rows_per_unit"] == 2
    for changed, options, words in (
        ({"bounds": BOUNDS}, {}, "policy declares 90"),
        ({"bounds": narrow, "epsilon": 2.0}, {}, "policy allows at most 1"),
        ({"bounds": narrow}, {"rows_per_unit": 3}, "policy allows at most 2"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            Ridge(**RIDGE | changed).fit(table, "cost", **options)


BAD = [
    ({}, ("heart",), {}, "names the column 'heart'"),
    ({}, (None,), {}, "y must name the column"),
    ({}, ("age",), {}, "given twice"),
    ({}, ("smoker",), {}, "needs numbers"),
    ({"bounds": (0, 1)}, ("cost",), {}, "names of its features"),
    ({}, ("cost",), {"features": "age"}, "names of its features"),
    ({}, ("cost",), {"rows_per_unit": 0}, "rows_per_unit"),
    ({}, ("cost",), {"n_rows": 1}, "n_rows"),
    ({"warm_start": True}, ("cost",), {}, "warm_start"),
    ({"solver": "cd"}, ("cost",), {}, "holds all rows"),
    ({"epsilon": -1.0}, ("cost",), {}, "epsilon"),
    ({"max_weight": 0.0}, ("cost", "weight"), {}, "max_weight"),
]


@pytest.mark.parametrize(("changed", "given", "options", "words"), BAD)
def test_bad_calls_are_refused_in_one_sentence(changed, given, options, words):
    ledger = Ledger(None, epsilon=3.0, delta=1e-5)
    model = Ridge(**RIDGE | changed, ledger=ledger)
    with pytest.raises(HushError, match=words) as failure:
        model.fit(opened(), *given, **options)
    assert "\n" not in str(failure.value) and str(failure.value).endswith(".") and not ledger.entries
    assert not hasattr(model, "coef_") and not hasattr(model, "n_features_in_")


def test_classes_of_a_table():
    for classes, words in (
        ("private", "is for arrays"),
        ((0, 1), "holds text, so its classes must"),
        ((1, 1), "different labels"),
    ):
        with pytest.raises(HushError, match=words):
            LogisticRegression(**YES | {"classes": classes}).fit(opened(), "smoker")
    frame = FRAME.assign(yes=FRAME.smoker == "yes", number=(FRAME.smoker == "yes").astype(int))
    for target in ("yes", "number"):
        with no_noise():
            model = LogisticRegression(**YES | {"classes": None}).fit(opened(frame), target, n_rows=1000)
        assert model.coef_.shape == (1, 2) and model.coef_[0, 0] > 0.0
        array = LogisticRegression(epsilon=1.0, delta=1e-6, bounds=(0, 100)).fit(frame[list(BOUNDS)], frame[target])
        assert model.classes_.dtype == array.classes_.dtype and (model.classes_ == array.classes_).all()
        declared = LogisticRegression(**YES | {"classes": (0, 1)}).fit(opened(frame), target, n_rows=1000)
        assert declared.classes_.tolist() == [0, 1] and isinstance(declared.classes_.tolist()[0], int)
    with pytest.raises(HushError, match="is for a table"):
        LogisticRegression(**YES).fit(FRAME[list(BOUNDS)], FRAME.smoker, n_rows=3)


def test_bounds_of_a_column_that_is_no_feature():
    ledger = Ledger(None, epsilon=2.0, delta=1e-5)
    model = Ridge(**RIDGE, ledger=ledger)
    with pytest.raises(InvalidParameter, match=r"the column 'bmi', which is not in features=; leave it out, or add"):
        model.fit(opened(), "cost", features=["age"])
    with pytest.raises(InvalidParameter, match="names a column that X does not have"):
        model.set_params(bounds={"age": (18, 100), "bmj": (0, 1)}).fit(opened(), "cost", features=["age"])
    assert not ledger.entries


def test_the_guarantee_of_a_table_is_about_a_person_and_that_of_an_array_about_a_row():
    model = Ridge(**RIDGE).fit(opened(), "cost", n_rows=3000)
    assert str(model.guarantee_).endswith("neighbours: one person more or less")
    array = Ridge(**RIDGE | {"neighbours": "add-remove"}).fit(FRAME[list(BOUNDS)], FRAME.cost)
    search = PrivateSearchCV(array, {"alpha": [0.1]}, epsilon=1.0, delta=1e-6).fit(FRAME[list(BOUNDS)], FRAME.cost)
    for made in (array, search):
        assert str(made.guarantee_).endswith("neighbours: one row more or less")
        assert made.receipt_.guarantee == made.guarantee_ != model.guarantee_
    assert str(Ridge(**RIDGE).fit(FRAME[list(BOUNDS)], FRAME.cost).guarantee_).endswith("number of rows is public")


def test_an_empty_table_and_a_wrong_number_of_rows():
    empty = opened(FRAME[FRAME.age > 1e9])
    model = Ridge(**RIDGE).fit(empty, "cost")
    assert np.isfinite(model.coef_).all()
    logistic = LogisticRegression(**YES).fit(opened(), "smoker", n_rows=2, rows_per_unit=3)  # far too small
    assert np.isfinite(logistic.coef_).all() and LOGISTIC.name == "logistic"


def test_a_search_is_for_arrays():
    search = PrivateSearchCV(Ridge(**RIDGE), {"alpha": [0.1, 1.0]}, epsilon=1.0, delta=1e-6)
    with pytest.raises(Unsupported, match="is for arrays"):
        search.fit(opened(), "cost")
