"""Errors about what is given as rows name the thing, and say what to write."""

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse

from hush import HushError, InvalidParameter, Unsupported, tables
from hush.learn import PCA, GaussianNB, KMeans, LogisticRegression, PrivateSearchCV, Ridge

PUBLIC = {"epsilon": 1.0, "delta": 1e-6, "bounds": (0, 1)}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    numbers = np.random.default_rng(4).uniform(size=(300, 3))
    made = pd.DataFrame(numbers, columns=["a", "b", "y"])
    return made.assign(text="x", day=pd.Timestamp("2026-01-01"), person=range(300))


def ridge(**changed) -> Ridge:
    return Ridge(**(PUBLIC | {"target_bounds": (0, 1)} | changed))


def test_a_table_where_rows_are_needed(frame):
    table = tables.table(frame, unit="person")
    model = ridge().fit(frame[["a", "b"]], frame["y"])
    for call in (
        lambda: model.predict(table),
        lambda: KMeans(**PUBLIC).fit(table),
        lambda: GaussianNB(classes=(0, 1), **PUBLIC).fit(table, frame["y"]),
    ):
        with pytest.raises(Unsupported, match=r"X is a table of hush\.tables, and this call of .* needs an array"):
            call()


@pytest.mark.parametrize("file", ["people.csv", Path("people.csv")])
def test_the_name_of_a_file(file):
    with pytest.raises(InvalidParameter, match=r"X = hush\.tables\.table\('file\.parquet', unit='person'\)"):
        ridge().fit(file, "y")


def test_the_name_of_a_column_beside_a_frame(frame):
    with pytest.raises(InvalidParameter, match=r"y='y' is the name of a column.*frame\['y'\]"):
        ridge().fit(frame[["a", "b"]], "y")


@pytest.mark.parametrize("column", ["text", "day"])
def test_a_column_that_holds_no_numbers_is_named_by_its_type(frame, column):
    with pytest.raises(InvalidParameter, match=f"not numbers by their type: '{column}' ") as failure:
        ridge().fit(frame[["a", column]], frame["y"])
    assert "2026" not in str(failure.value)


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_missing_values_are_not_sent_to_an_imputer(frame, neighbours):
    """An imputer that learns from the rows is not covered by the guarantee."""
    holed = frame.assign(a=[np.nan, *frame["a"][1:]])
    for X, y, name in ((holed[["a", "b"]], frame["y"], "X"), (frame[["a", "b"]], holed["a"], "y")):
        with pytest.raises(
            InvalidParameter, match=rf"Input {name} contains NaN\. Replace it by a public value"
        ) as failure:
            ridge(neighbours=neighbours).fit(X, y)
        assert "imputer" not in str(failure.value)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"a": (0, 1), "bb": (0, 1)}, "names a column that X does not have; did you mean 'b'?"),
        ({"a": (0, 1)}, "has no pair for the column 'b' of X"),
        ([(0, 1), (3, 2)], "(pair 1, counted from 0, is (3, 2))"),
        (100, "one pair (low, high), or 2 pairs"),
    ],
)
def test_bounds_say_which_pair_is_wrong(frame, bounds, words):
    with pytest.raises(InvalidParameter) as failure:
        ridge(bounds=bounds).fit(frame[["a", "b"]], frame["y"])
    assert words in str(failure.value)


def test_bounds_of_a_target_are_one_pair(frame):
    with pytest.raises(InvalidParameter, match=r"target_bounds must be .*write target_bounds=\(0\.0, 100\.0\)\.$"):
        ridge(target_bounds=150).fit(frame[["a", "b"]], frame["y"])


def test_classes_of_another_type_are_shown_as_what_they_are(frame):
    labels = (frame["y"] > 0.5).astype(int) + 1
    with pytest.raises(InvalidParameter, match="y holds integers, and labels other than the classes '1' and '2'"):
        LogisticRegression(**PUBLIC, classes=("1", "2")).fit(frame[["a", "b"]], labels)
    with pytest.raises(InvalidParameter, match=r"classes must be a tuple of labels, or 'private'.*\('no', 'yes'\)"):
        LogisticRegression(**PUBLIC, classes="yes").fit(frame[["a", "b"]], labels)


@pytest.mark.parametrize(("rows", "words"), [(442, "declare the range of each column"), (9000, "refine_bounds=True")])
def test_advice_about_bounds_can_be_followed(rows, words):
    """Too few rows for windows of 40 columns: the advice is refine_bounds only if that would be accepted."""
    numbers = np.random.default_rng(5)
    X, y = numbers.uniform(size=(rows, 40)), numbers.uniform(size=rows)
    settings = {"epsilon": 0.5, "delta": 1e-6}
    with pytest.raises(Unsupported) as failure:
        Ridge(bounds="private", target_bounds="private", **settings).fit(X, y)
    assert words in str(failure.value)
    wide = Ridge(bounds=(-1000, 1000), target_bounds=(-1000, 1000), refine_bounds=True, **settings)
    if "refine_bounds" in words:
        assert wide.fit(X, y).receipt_["bounds"].startswith("found privately")
    else:
        with pytest.raises(Unsupported, match="leave refine_bounds out"):
            wide.fit(X, y)


def far_values(last: float):
    """Rows whose sum is inf - inf for some places of one value, which is the last argument."""
    X = np.zeros((64, 1))
    X[[0, 8, 16, 24]], X[1], X[9] = 1.7e308, -1.7e308, last
    return X


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
@pytest.mark.parametrize("kind", [Ridge, LogisticRegression])
def test_no_warning_of_numpy_depends_on_a_row(kind, neighbours):
    """scikit-learn sums the rows to look for NaN, and numpy warned about the sum of huge values."""
    settings = PUBLIC | ({"target_bounds": (0, 1)} if kind is Ridge else {})
    for X, y in (
        (far_values(0.0), np.zeros(64)),
        (far_values(-1.7e308), np.zeros(64)),
        (np.zeros((64, 1)), np.where(np.arange(64) == 3, np.longdouble("1e4000"), np.longdouble(0))),
    ):
        if kind is LogisticRegression and y.dtype == np.longdouble:
            continue  # a label that is no class is refused
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            kind(**settings, neighbours=neighbours).fit(X, y)
        assert not [one for one in seen if issubclass(one.category, RuntimeWarning)]


class Secretive:
    def __float__(self):
        raise RuntimeError("SECRET")


@pytest.mark.parametrize("value", [Secretive(), 10**400, {"SECRET": 1}])
def test_an_error_of_an_object_is_not_shown(value):
    X = np.zeros((10, 1), dtype=object)
    X[3, 0] = value
    with pytest.raises((InvalidParameter, TypeError, ValueError)) as failure:
        ridge().fit(X, np.zeros(10))
    shown = failure.value
    while shown is not None:
        assert "SECRET" not in str(shown) and "0000" not in str(shown)
        shown = None if shown.__suppress_context__ else shown.__context__


DAYS = pd.date_range("2026-01-01", periods=300)
TIMES = {
    "pandas": pd.DataFrame({"a": 0.5, "day": DAYS}),
    "polars dates": pl.DataFrame({"a": 0.5, "day": [*DAYS.date]}),
    "polars times": pl.DataFrame({"a": 0.5, "day": [*DAYS.to_pydatetime()]}),
    "polars durations": pl.DataFrame({"a": 0.5, "day": [*(DAYS.to_pydatetime() - DAYS[0].to_pydatetime())]}),
    "numpy": DAYS.to_numpy()[:, None],
    "list": [[day] for day in DAYS.to_numpy()],
}


@pytest.mark.parametrize("kind", TIMES)
def test_dates_are_no_features(kind, frame):
    """numpy would make numbers of them silently, of polars' dates days and of its times microseconds."""
    for model, y in ((ridge(), frame["y"]), (LogisticRegression(**PUBLIC), frame["y"] > 0.5), (KMeans(**PUBLIC), None)):
        with pytest.raises(InvalidParameter, match="X must hold numbers, and not dates or durations; write") as failure:
            model.fit(TIMES[kind], y)
        assert ("by their type: 'day'" in str(failure.value)) == (kind not in ("numpy", "list"))
    with pytest.raises(InvalidParameter, match="not dates"):
        ridge().fit(frame[["a", "b"]], frame["y"]).predict(TIMES[kind])


def test_frames_that_cannot_be_rows(frame):
    with pytest.raises(InvalidParameter, match=r"X is a polars LazyFrame.*write X\.collect\(\)\.$"):
        ridge().fit(pl.LazyFrame({"a": [0.5]}), [0.5])
    twice = pd.DataFrame(frame[["a", "b"]].to_numpy(), columns=["a", "a"])
    for bounds in ((0, 1), {"a": (0, 1)}):
        with pytest.raises(InvalidParameter, match="X has two columns with the name 'a'; give each"):
            ridge(bounds=bounds).fit(twice, frame["y"])


@pytest.mark.parametrize("neighbours", ["replace", "add-remove"])
def test_infinite_values_have_a_remedy_that_works(frame, neighbours):
    endless = frame.assign(a=[np.inf, *frame["a"][1:]])
    for X, y, name in ((endless[["a", "b"]], frame["y"], "X"), (frame[["a", "b"]], endless["a"], "y")):
        with pytest.raises(
            InvalidParameter, match=rf"Input {name} contains infinity\. .*write {name}\.clip\(0, 100\)\."
        ):
            ridge(neighbours=neighbours).fit(X, y)
        assert ridge(neighbours=neighbours).fit(X.clip(0, 100), y.clip(0, 100)).coef_.shape == (2,)


def test_targets_are_needed(frame):
    X = frame[["a", "b"]]
    for model in (ridge(), LogisticRegression(**PUBLIC), GaussianNB(**PUBLIC)):
        for given in ((X,), (X, None)):
            with pytest.raises(InvalidParameter, match=r"requires y to be passed, .*; write fit\(X, y\)\.$"):
                model.fit(*given)


def test_parts_of_the_rows_are_refused_with_the_reason(frame):
    for model in (ridge(), GaussianNB(**PUBLIC), KMeans(**PUBLIC)):
        assert not hasattr(model, "partial_fit")
        with pytest.raises(Unsupported, match="partial_fit is not supported, because each call would release"):
            model.partial_fit(frame[["a", "b"]], frame["y"])


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        (
            {"bounds": [(0, 1)] * 3},
            r"one pair \(low, high\), because X has one column, got .*; write bounds=\(0\.0, 100",
        ),
        ({"n_features_to_keep": 10}, r"at most 1, the number of columns, got 10; write n_features_to_keep='all'\.$"),
        ({"alpha": -1.0}, r"alpha must be .*; write alpha=1\.0\.$"),
        ({"solver": "newton"}, r"solver must be one of .*; write solver='auto'\.$"),
        ({"passes": 0}, r"passes must be .*; write passes=10\.$"),
    ],
)
def test_settings_that_are_refused_say_what_to_write(frame, changed, words):
    with pytest.raises(InvalidParameter, match=words):
        ridge(**changed).fit(frame[["a"]], frame["y"])


def test_settings_of_a_classifier_that_are_refused_say_what_to_write(frame):
    for changed, words in (({"C": -1.0}, r"write C=1\.0\.$"), ({"l1_ratio": 3.0}, r"write l1_ratio=0\.0\.$")):
        with pytest.raises(InvalidParameter, match=words):
            LogisticRegression(**PUBLIC, **changed).fit(frame[["a"]], frame["y"] > 0.5)
    for bounds, words in ((None, "bounds must be given: .*"), ("private", "KMeans needs declared bounds")):
        with pytest.raises(HushError, match=rf"{words}; write bounds=\(0\.0, 100\.0\)\.$"):  # "private" is no remedy
            KMeans(**PUBLIC | {"bounds": bounds}).fit(frame[["a"]])


@pytest.mark.parametrize("kind", ["pandas", "polars", "array", "list", "sparse"])
def test_the_replacement_of_missing_values_fits_the_type(frame, kind):
    """What the message says is run."""
    held = frame[["a", "b"]].to_numpy().copy()
    held[0, 0] = np.nan
    made = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "list": np.ndarray.tolist, "sparse": scipy.sparse.csr_array}
    X = made[kind](held) if kind in made else held
    for model in (ridge(bounds=(0, 1)), LogisticRegression(**PUBLIC), KMeans(**PUBLIC), PCA(**PUBLIC)):
        if kind == "sparse" and isinstance(model, KMeans | PCA):
            continue
        with pytest.raises(InvalidParameter, match="Input X contains NaN") as failure:
            model.fit(X, (frame["y"] > 0.5).astype(int))
        text = str(failure.value)
        assert ("fit a table of hush.tables" in text) == isinstance(model, Ridge | LogisticRegression)
        advice = text.split(": write ")[1].split(", or fit")[0].split(". Do not")[0]
        names = {"X": X.copy() if kind == "sparse" else X, "np": np}  # that advice changes X
        exec(advice if kind == "sparse" else f"X = {advice}", names)
        assert not np.isnan(names["X"].data if kind == "sparse" else np.asarray(names["X"])).any()
    with pytest.raises(InvalidParameter, match="Input X contains NaN") as failure:
        PrivateSearchCV(ridge(), {"alpha": [1.0]}, epsilon=1.0, delta=1e-6).fit(held, frame["y"])
    assert "table" not in str(failure.value)


def test_rows_are_not_dropped_where_their_number_is_public(frame):
    held = frame[["a", "b"]].assign(a=np.nan)
    for neighbours in ("replace", "add-remove"):
        with pytest.raises(InvalidParameter, match="contains NaN") as failure:
            ridge(neighbours=neighbours).fit(held, frame["y"])
        assert ("Do not drop such rows" in str(failure.value)) == (neighbours == "replace")
        model = ridge(neighbours=neighbours).fit(held.fillna(0.5), frame["y"])
        with pytest.raises(InvalidParameter, match="contains NaN") as failure:
            model.predict(held)
        assert "drop" not in str(failure.value) and "table" not in str(failure.value)


@pytest.mark.parametrize("error", [ValueError, TypeError, RuntimeError])
def test_the_text_of_a_value_that_raises_is_not_shown(frame, error):
    class Number:
        def __float__(self):
            raise error("secret 41")

    X = frame[["a", "b"]].astype(object)
    X.iloc[3, 0] = Number()
    for model in (ridge(), KMeans(**PUBLIC)):
        with pytest.raises(InvalidParameter, match="at least one value cannot be read as one") as failure:
            model.fit(X, frame["y"])
        assert failure.value.__cause__ is None and failure.value.__context__ is None


def test_texts_without_values_stay(frame):
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        ridge().fit(frame[["a", "b"]], frame["y"][:-1])
    with pytest.raises(ValueError, match="X has 1 features, but Ridge is expecting 2"):
        ridge().fit(frame[["a", "b"]].to_numpy(), frame["y"]).predict([[1.0]])
