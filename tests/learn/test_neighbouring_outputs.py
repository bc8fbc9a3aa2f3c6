"""What is shown of a fit depends on public facts and released numbers alone: types, widths, spellings, orders, texts,
warnings.
"""

from __future__ import annotations

import contextlib
import datetime
import decimal
import math

import numpy as np
import pytest
from learn.shown import Fixed, assert_alike, frozen

from hush import InvalidParameter, Ledger
from hush.learn import ElasticNet, Lasso, LogisticRegression, PrivateSearchCV, Ridge, label, label_search
from hush.learn.row_count import RowCount
from hush.ledger.payment import Payment

ROWS = 200
NUMBERS = np.random.default_rng(17)
X = NUMBERS.uniform(-0.9, 0.9, (ROWS, 3))
SIDE = (X[:, 0] > 0.0).astype(int)
TARGET = X[:, 0] + NUMBERS.uniform(-1.0, 1.0, ROWS)

# -- tables that differ in one row ---------------------------------------------------------------------------


def exchanged(values, new):
    """The same values, as the same kind of container, with another first row."""
    if isinstance(values, list):
        return [new, *values[1:]]
    made = values.copy()
    made[0] = new
    return made


def rows_of(kind: str, row):
    made = X.copy()
    made[0] = row
    return made.tolist() if kind == "list" else made


EXTREMES = {
    "huge": (X, rows_of("array", [1e300, -1e300, 5e-324])),
    "zeros": (rows_of("array", [0.0, 0.0, 0.0]), rows_of("array", [-0.0, -0.0, -0.0])),
    "whole numbers": (X.tolist(), [[1, 0, -1], *X.tolist()[1:]]),
    "beyond 64 bits": (X.tolist(), [[2**70, -(2**70), 1], *X.tolist()[1:]]),
    "objects": (X.astype(object), np.array([[True, 2**70, "0.5"], *X.tolist()[1:]], dtype=object)),
}
TARGETS = {
    "huge": (TARGET, exchanged(TARGET, 1e300)),
    "minus zero": (exchanged(TARGET, 0.0), exchanged(TARGET, -0.0)),
    "a fraction among whole numbers": (SIDE.tolist(), exchanged(SIDE.tolist(), 0.5)),
    "beyond 64 bits": (SIDE.tolist(), exchanged(SIDE.tolist(), 2**70)),
    "beyond 32 bits": (SIDE.tolist(), exchanged(SIDE.tolist(), 2**40)),
    "a truth value": (SIDE.tolist(), exchanged(SIDE.tolist(), True)),
}
#: every kind with every solver, and each of both with every scaling; the other half is exhaustive
REGRESSIONS = [
    pytest.param(
        kind, {"solver": solver, "scaling": scaling}, marks=[pytest.mark.exhaustive] if (i + j + k) % 2 else []
    )
    for i, kind in enumerate((Ridge, Lasso, ElasticNet))
    for j, solver in enumerate(("cd", "gd", "statistics", "whitened"))
    for k, scaling in enumerate(("private", "public"))
]
COMMON = {"epsilon": 3.0, "delta": 1e-6, "bounds": (-1, 1), "family": "gaussian", "verbose": 2}


def passes(solver: str) -> dict[str, int]:
    return {} if solver == "statistics" else {"passes": 2}


@pytest.mark.parametrize(("kind", "settings"), REGRESSIONS)
def test_regressions_show_what_they_release_and_no_more(kind, settings):
    def made():
        paid = Ledger(None, epsilon=50.0, delta=1e-3)
        return kind(**COMMON, **settings, **passes(settings["solver"]), target_bounds=(-2, 2), ledger=paid)

    for one, other in EXTREMES.values():
        assert "coef_" in assert_alike(made, (one, TARGET), (other, TARGET))
    for one, other in TARGETS.values():
        assert "coef_" in assert_alike(made, (X, one), (X, other))


@pytest.mark.parametrize(
    "settings", [{"solver": "statistics"}, {"solver": "whitened", "passes": 3}, {"solver": "gd", "passes": 1}]
)
def test_fits_with_joint_noise_show_what_they_release_and_no_more(settings):
    def made():
        paid = Ledger(None, epsilon=50.0, delta=1e-3)
        return Ridge(**(COMMON | {"family": None}), **settings, target_bounds=(-2, 2), ledger=paid)

    assert made().fit(X, TARGET).noise_.dimension is not None
    for one, other in EXTREMES.values():
        assert "coef_" in assert_alike(made, (one, TARGET), (other, TARGET))


def test_fits_with_intervals_show_what_they_release_and_no_more():
    """The receipt has the estimates and the standard errors."""
    common = COMMON | {"solver": "gd", "passes": 1, "interval_share": 0.3}

    def regression():
        return Ridge(**common, target_bounds=(-2, 2), ledger=Ledger(None, epsilon=50.0, delta=1e-3))

    def classification():
        return LogisticRegression(**common, ledger=Ledger(None, epsilon=50.0, delta=1e-3))

    assert regression().fit(X, TARGET).receipt_["intervals"]["estimates"]
    for name in ("huge", "objects"):
        one, other = EXTREMES[name]
        assert "_intervals" in assert_alike(regression, (one, TARGET), (other, TARGET))
        assert_alike(classification, (one, SIDE), (other, SIDE))
    assert_alike(regression, (X, TARGETS["huge"][0]), (X, TARGETS["huge"][1]))


WORDS = np.array(["no", "yes"])[SIDE]
LONG = "huntington's chorea"


class Odd:
    """A label whose methods tell on it."""

    def __eq__(self, other):
        raise RuntimeError("compared")

    def __hash__(self):
        raise RuntimeError("hashed")

    def __repr__(self):
        raise RuntimeError("shown")


class Whole(int):
    """A whole number of another class."""


def objects(new):
    made = SIDE.astype(object)
    made[0] = new
    return made


#: name: labels, the labels with one row exchanged, and what classes_ must be
LABELS = {
    "long text in a list": (WORDS.tolist(), exchanged(WORDS.tolist(), LONG), np.array(["no", "yes"])),
    "long text": (WORDS, exchanged(WORDS.astype("<U19"), LONG), np.array(["no", "yes"])),
    "long bytes": (WORDS.astype("S"), exchanged(WORDS.astype("S19"), LONG), np.array([b"no", b"yes"])),
    "text among numbers": (SIDE.tolist(), exchanged(SIDE.tolist(), LONG), np.array([0, 1])),
    "a fraction among whole numbers": (SIDE.tolist(), exchanged(SIDE.tolist(), 0.5), np.array([0, 1])),
    "beyond 64 bits": (SIDE.tolist(), exchanged(SIDE.tolist(), 2**70), np.array([0, 1])),
    "beyond 8 bits": (SIDE.astype(np.int8), exchanged(SIDE.astype(np.int16), 300), np.array([0, 1])),
    "fewer digits": (SIDE.astype(np.float32), exchanged(SIDE.astype(np.float64), 0.1), np.array([0.0, 1.0])),
    "minus zero": (exchanged(SIDE.astype(float), 0.0), exchanged(SIDE.astype(float), -0.0), np.array([0.0, 1.0])),
    "minus zero in a list": (
        SIDE.astype(float).tolist(),
        exchanged(SIDE.astype(float).tolist(), -0.0),
        np.array([0.0, 1.0]),
    ),
    "False for 0": (objects(0), objects(False), np.array([0, 1])),
    "1.0 for 1": (objects(1), objects(1.0), np.array([0, 1])),
    "numpy's 1": (objects(1), objects(np.int8(1)), np.array([0, 1])),
    "numpy's truth": (objects(1), objects(np.True_), np.array([0, 1])),
    "NaN": (objects(1), objects(math.nan), np.array([0, 1])),
    "none": (objects(1), objects(None), np.array([0, 1])),
    "a decimal": (objects(1), objects(decimal.Decimal("1.00")), np.array([0, 1])),
    "a date": (objects(1), objects(datetime.date(2020, 1, 1)), np.array([0, 1])),
    "a list": (objects(1), objects([1]), np.array([0, 1])),
    "a class of its own": (objects(1), objects(Odd()), np.array([0, 1])),
    "a class of whole numbers": (objects(1), objects(Whole(1)), np.array([0, 1])),
    "text with a zero at its end": (WORDS.tolist(), exchanged(WORDS.tolist(), "no\0"), np.array(["no", "yes"])),
}


@pytest.mark.parametrize("solver", ["cd", "gd", "statistics"])
@pytest.mark.parametrize("name", LABELS)
def test_classes_that_are_found_show_the_labels_and_no_more(name, solver):
    one, other, classes = LABELS[name]

    def made():
        return LogisticRegression(**COMMON, **passes(solver), solver=solver, classes="private")

    seen = assert_alike(made, (X, one), (X, other))
    assert seen["classes"] == seen["classes_"] == frozen(classes)
    assert seen["predict"][0] == str(classes.dtype)


def private(**settings):
    return LogisticRegression(**COMMON, passes=1, solver="cd", classes="private", **settings)


@pytest.mark.parametrize("new", [LONG, 0.5, -0.0, None, True])
def test_labels_of_a_pandas_column_of_objects(new):
    pandas = pytest.importorskip("pandas")
    one, other = (pandas.Series(values, dtype=object) for values in (SIDE.tolist(), exchanged(SIDE.tolist(), new)))
    assert assert_alike(private, (X, one), (X, other))["classes"] == frozen(np.array([0, 1]))


def test_labels_of_a_pandas_column_of_categories():
    """pandas chooses the categories by looking at all values."""
    pandas = pytest.importorskip("pandas")
    for values, classes in ((SIDE.tolist(), [0, 1]), (WORDS.tolist(), ["no", "yes"])):
        one, other = (pandas.Series(given, dtype="category") for given in (values, exchanged(values, LONG)))
        assert assert_alike(private, (X, one), (X, other))["classes"] == frozen(np.array(classes))


@pytest.mark.parametrize(("dtype", "classes"), [("Int64", [0, 1]), ("boolean", [False, True]), ("string", ["0", "1"])])
def test_labels_of_a_pandas_column_that_may_miss_values(dtype, classes):
    pandas = pytest.importorskip("pandas")
    given = pandas.Series(
        SIDE.astype(str) if dtype == "string" else SIDE.astype(bool) if dtype == "boolean" else SIDE, dtype=dtype
    )
    other = given.copy()
    other[0] = pandas.NA
    seen = assert_alike(private, (X, given), (X, other))
    assert seen["classes"] == frozen(np.array(classes))


def test_the_order_of_rows_does_not_show():
    """One row is first instead of last, or has the other label: the order of classes_ stays."""
    for labels in (WORDS.tolist(), objects(1), WORDS):
        one = np.array(labels, dtype=object)
        for start in (0, 1):
            first = next(place for place in range(ROWS) if SIDE[place] == start)
            moved = np.roll(one, -first)
            assert_alike(private, (X, one.tolist()), (X, moved.tolist()))


@pytest.mark.parametrize("new", [True, 1.0, np.float32(1.0), np.int8(1), np.True_, -0.0])
@pytest.mark.parametrize("solver", ["cd", "gd", "statistics", "whitened"])
def test_declared_classes_show_as_they_were_declared(new, solver):
    """A list of True and False is not an array of booleans: one whole number in it would show."""

    def made(classes):
        return lambda: LogisticRegression(**COMMON, **passes(solver), solver=solver, classes=classes)

    for classes in (None, (0, 1)):
        for labels in (SIDE.tolist(), [bool(side) for side in SIDE], objects(0)):
            seen = assert_alike(made(classes), (X, labels), (X, exchanged(labels, new)))
            assert seen["classes"] == frozen(np.array([0, 1]))
    for one, other in EXTREMES.values():
        assert_alike(made((0, 1)), (one, SIDE), (other, SIDE))


@pytest.mark.parametrize(
    "estimator", [Ridge(**COMMON, passes=1, target_bounds=(-2, 2), solver="cd"), private().set_params(classes=None)]
)
def test_a_search_shows_what_it_releases_and_no_more(estimator):
    grid = {"penalise": ["original", "scaled"]}

    def made():
        return PrivateSearchCV(estimator, grid, epsilon=4.0, delta=1e-6, tries=2.0, entropy=Fixed(), verbose=1)

    target = TARGET if isinstance(estimator, Ridge) else SIDE
    for one, other in EXTREMES.values():
        assert "best_score_" in assert_alike(made, (one, target), (other, target))
    swapped = exchanged(target.tolist(), 2**70 if isinstance(estimator, Ridge) else True)
    assert_alike(made, (X, target.tolist()), (X, swapped))


THREE = np.array(["a", "b", "c"])[np.arange(ROWS) % 3]
REFUSED = {
    "one label": (["no"] * ROWS, ["no"] * (ROWS - 1) + [LONG]),
    "three labels": (THREE.tolist(), exchanged(THREE.tolist(), LONG)),
    "numbers with fractions": (X[:, 0], exchanged(X[:, 0], -0.0)),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_of_labels_tell_what_was_released(name):
    one, other = REFUSED[name]
    assert "error" in assert_alike(private, (X, one), (X, other))


def test_no_refusal_quotes_the_data_or_its_width():
    def ridge():
        return Ridge(**COMMON, target_bounds=(-2, 2), solver="statistics")

    texts = [np.array([text] * ROWS) for text in ("no", LONG)]
    assert "error" in assert_alike(ridge, (X, texts[0]), (X, texts[1]))
    for dtype, values in ((object, (LONG, "other text")), (complex, (1.0 + 2.0j, 2.0 + 1.0j))):
        rows = [exchanged(X.astype(dtype), value) for value in values]
        assert "must hold" in assert_alike(ridge, (rows[0], TARGET), (rows[1], TARGET))["error"][1]
        goals = [exchanged(TARGET.astype(dtype), value) for value in values]
        assert "must hold" in assert_alike(ridge, (X, goals[0]), (X, goals[1]))["error"][1]
    dates = [np.full(ROWS, np.datetime64("2020-01-01", unit)) for unit in ("D", "ns")]
    assert "datetime64" in assert_alike(private, (X, dates[0]), (X, dates[1]))["error"][1]


# -- data sets with a row more or less -----------------------------------------------------------------------


def hidden(kind, **settings):
    """An estimator for which the number of rows is not public, and which pays from a ledger."""
    target = {} if kind is LogisticRegression else {"target_bounds": (-2, 2)}
    paid = Ledger(None, epsilon=5000.0, delta=1e-3)
    return kind(**(COMMON | target | {"neighbours": "add-remove", "ledger": paid} | settings))


FEWER = {"one row less": slice(1, None), "one row": slice(0, 1), "no row": slice(0, 0)}


@pytest.mark.parametrize("solver", ["cd", "gd", "statistics", "whitened"])
@pytest.mark.parametrize("kind", [Ridge, LogisticRegression])
def test_the_number_of_rows_does_not_show(kind, solver):
    target = SIDE if kind is LogisticRegression else TARGET
    for part in FEWER.values():
        seen = assert_alike(lambda: hidden(kind, solver=solver, **passes(solver)), (X, target), (X[part], target[part]))
        assert "coef_" in seen


@pytest.mark.parametrize(
    "settings",
    [{"n_features_to_keep": 2}, {"refine_bounds": True}, {"bounds": "private"}, {"classes": "private"}],
)
def test_the_number_of_rows_does_not_show_in_first_steps(settings, monkeypatch):
    """The places that are chosen, and the number of rows, are the same for all tables here."""
    monkeypatch.setattr(
        Payment, "choose", lambda self, charge, numbers, *, entropy=None: np.arange(charge.times) + numbers.size // 3
    )
    monkeypatch.setattr(RowCount, "release", lambda self, exact, *given, **named: (ROWS, None))
    made = {"epsilon": 400.0, "solver": "statistics", **settings}
    part = FEWER["one row less"]
    assert "coef_" in assert_alike(lambda: hidden(LogisticRegression, **made), (X, SIDE), (X[part], SIDE[part]))


def test_the_number_of_rows_does_not_show_in_a_search():
    def made():
        model = hidden(Ridge, solver="cd", passes=1, ledger=None, verbose=0)
        grid = {"penalise": ["original", "scaled"]}
        return PrivateSearchCV(model, grid, epsilon=40.0, delta=1e-6, tries=1.1, entropy=Fixed(), verbose=1)

    for part in FEWER.values():
        assert "best_score_" in assert_alike(made, (X, TARGET), (X[part], TARGET[part]))


def test_no_refusal_shows_the_number_of_rows():
    def made():
        return hidden(Ridge, solver="statistics")

    for count in (1, ROWS):
        rows, target = X[:count], TARGET[:count]
        for bad in (
            (rows, target[:-1]),
            (rows, np.column_stack([target, target])),
            (rows[:, :0], target),
            (rows[:, 0], target),
            (rows[None], target),
        ):
            seen = assert_alike(made, bad, tuple(np.concatenate([part, part], axis=-part.ndim) for part in bad))
            assert "\n" not in seen["error"][1] and str(ROWS) not in seen["error"][1]
        with pytest.raises(InvalidParameter, match="one number for each row of X"):
            made().set_params(max_weight=1.0).fit(rows, target, sample_weight=np.ones(count + 1))


# -- the rule has teeth --------------------------------------------------------------------------------------


def _found_before(labels, plan, paid):
    """`found` as it was: the first spelling of equal labels, in an array of the type of y."""
    counts: dict = {}
    for value in labels.tolist():
        with contextlib.suppress(TypeError):
            counts[value] = counts.get(value, 0) + 1
    made = np.empty(2, dtype=labels.dtype)
    made[:] = sorted(sorted(counts, key=counts.get)[-2:])
    return made


@pytest.mark.parametrize(
    "name", ["long text in a list", "long text", "long bytes", "minus zero", "False for 0", "text among numbers"]
)
def test_the_break_that_was_here_is_seen(name, monkeypatch):
    one, other, _ = LABELS[name]
    monkeypatch.setattr(label, "as_labels", lambda y: y)
    monkeypatch.setattr(label_search, "found", _found_before)
    with pytest.raises(AssertionError, match=r"classes|predict"):
        assert_alike(private, (X, one), (X, other))
