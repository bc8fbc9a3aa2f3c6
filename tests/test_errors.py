"""Errors: how a value is printed, and that no public call repeats data that it was given by mistake."""

from __future__ import annotations

import contextlib
import datetime
import inspect
import io
import traceback
import warnings
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import hush
from hush import federated, learn, tables, workload
from hush.errors import InvalidParameter, places_of_equals, reject, shown, type_and_size

# -- how a value is printed ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("ward", "'ward'"),
        ("", "''"),
        (3, "3"),
        (-2.5, "-2.5"),
        (True, "True"),
        (None, "None"),
        (Fraction(1, 3), "Fraction(1, 3)"),
        (Decimal("0.10"), "Decimal('0.10')"),
        (Decimal("nan"), "Decimal('NaN')"),
        (datetime.date(2024, 1, 31), "datetime.date(2024, 1, 31)"),
        (np.float64(3.0), "3.0"),
        ((0, 30), "(0, 30)"),
        (("sex", "ward", None), "('sex', 'ward', None)"),
        (hush.Gaussian(3.0), "Gaussian(sigma=3.0)"),
        (hush.Sensitivity(linf=1.0, l0=2), "Sensitivity(linf=1.0, l0=2)"),
        (int, "the type int"),
    ],
)
def test_a_short_value_is_printed_as_it_was_typed(value: object, text: str) -> None:
    assert shown(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("x" * 101, "a text of 101 characters"),
        (10**50, "an int"),
        ([87, 91], "a list of 2"),
        ((87, 91, 64, 70), "a tuple of 4"),
        ((87, [91]), "a tuple of 2"),
        ({"ssn": 123}, "a dict of 1"),
        (np.zeros((3, 2)), "a ndarray of 3 x 2"),
        (pd.Series([87, 91]), "a Series of 2"),
        (pd.DataFrame({"ssn": [87]}), "a DataFrame of 1 x 1"),
        (pa.array([87]), "an Int64Array of 1"),
        (pa.scalar(87), "an Int64Scalar"),
        (object(), "an object"),
        (pd.Timestamp("2024-01-31"), "a Timestamp"),
    ],
)
def test_anything_else_is_printed_as_its_type_and_size(value: object, text: str) -> None:
    assert shown(value) == text


def test_the_parts_of_a_list_are_printed_as_types() -> None:
    assert [type_and_size(v) for v in ("ann", 87, None, ("a", 1))] == ["a text", "an int", "None", "a tuple of 2"]


def test_equal_values_of_a_list_are_named_by_their_places() -> None:
    assert places_of_equals(["a", "b", "a"]) == "place 1 and place 3"
    assert places_of_equals(["a", "b", ["c"], ["c"]]) == ""


def test_a_rejected_value_is_printed_by_the_same_rule() -> None:
    assert str(reject("k", 0, "1 or greater", "write top(10)")) == "k must be 1 or greater, got 0; write top(10)."
    assert str(reject("k", [1, 2], "1 or greater")) == "k must be 1 or greater, got a list of 2."


def test_an_error_about_an_array_does_not_chain_the_text_of_numpy() -> None:
    given: Any = np.array([TEXT])
    with pytest.raises(InvalidParameter) as caught:
        hush.Laplace(given)
    assert TEXT not in "".join(traceback.format_exception(caught.value))


# -- no public call repeats data -----------------------------------------------------------------------------

#: Marks of the data: whole numbers from NUMBER on, and a text.
NUMBER, TEXT = 987654321, "ZQSECRET"
MARKS = (TEXT, "9876543", "987_654", "987,654", "9.8765")


class Row:
    """An object whose text shows what it holds."""

    def __repr__(self) -> str:
        return f"Row(ssn={NUMBER}, ward={TEXT!r})"

    __str__ = __repr__


@cache
def people() -> pd.DataFrame:
    return pd.DataFrame(
        {"ssn": [NUMBER + i for i in range(5)], "ward": [TEXT] * 5, "age": [1.0 * NUMBER] * 5, "day": [TEXT] * 5}
    )


@cache
def hostile() -> dict[str, Any]:
    """What a beginner may pass by mistake: rows of people, in many forms."""
    frame = people()
    return {
        "series": frame["ssn"],
        "series of text": frame["ward"],
        "frame": frame,
        "list": frame["ssn"].tolist(),
        "list of text": frame["ward"].tolist(),
        "array": frame["age"].to_numpy(),
        "array of text": frame["ward"].to_numpy().astype(str),
        "set": set(frame["ssn"].tolist()),
        "mapping": {"visits": NUMBER},
        "mapping of frames": {"visits": frame},
        "tuple": tuple(frame["ward"]),
        "long text": f"{TEXT}," * 50,
        "bytes": (TEXT * 20).encode(),
        "arrow table": pa.table(frame),
        "arrow column": pa.table(frame)["ssn"],
        "rows": frame.to_dict("records"),
        "object": Row(),
        "type of rows": [Row()],
    }


#: Arguments that work, by name, for the parameters beside the hostile one.
VALID: dict[str, Any] = {
    "alpha": 1.5,
    "bounds": (0.0, 1.0),
    "budget": hush.Budget(1.0, 1e-6),
    "column": "age",
    "data": np.zeros((5, 2)),
    "delta": 1e-6,
    "edges": [0, 1, 2],
    "epsilon": 1.0,
    "family": "gaussian",
    "groups_per_unit": 1,
    "high": 1.0,
    "keys": ["a", "b"],
    "low": 0.0,
    "name": "visits",
    "noise": hush.Gaussian(1.0),
    "on": "ward",
    "parties": 10,
    "periods": 3,
    "plan": None,
    "q": 0.5,
    "sensitivity": 1.0,
    "size": 2,
    "step": 0.5,
    "times": 1,
    "unit": "ssn",
    "values": [1.0],
}

#: Calls that are left out, with the reason.
LEFT_OUT = {
    "audit": "it runs a function of the caller on inputs that are public",
    "derived": "the role of a step is a text of hush's own",
}


@cache
def made() -> dict[str, Any]:
    """Objects whose methods people call."""
    frame = people()
    table = tables.table(frame, unit="ssn")
    groups = table.group_by("ward", keys=["a", "b"], groups_per_unit=1)
    query = groups.aggregate(n=tables.count_units())
    stream = hush.stream(horizon=3, appears=1).plan(1.0, 1e-6)
    policy = tables.Policy({"visits": tables.TableRule(frame, unit="ssn")})
    ledger = hush.Ledger(None, epsilon=5.0, delta=1e-5)
    targets = {"bounds": (0, 1), "target_bounds": (0, 1)}
    return {
        "table": table,
        "groups": groups,
        "query": query,
        "plan": query.plan(1.0, 1e-6, family="gaussian"),
        "private": table.group_by("ward", keys="private", groups_per_unit=1).aggregate(n=tables.count_units()),
        "keys": table.group_by("ward", keys="private", groups_per_unit=1).keys(),
        "top": groups.top(1),
        "marginals": table.marginals(["ward"], keys={"ward": ["a"]}, order=1),
        "policy": policy,
        "opened": policy.open("visits"),
        "stream": hush.stream(horizon=3, appears=1),
        "stream plan": stream,
        "running": stream.start(ledger=hush.Ledger(None, epsilon=1.0, delta=1e-6), name="v"),
        "ledger": ledger,
        "curve": hush.curve(hush.Gaussian(1.0)),
        "calibrated": hush.calibrate(1.0, 1e-6, family="gaussian"),
        "release": hush.release([3.0], hush.calibrate(1.0, 1e-6, family="gaussian"), ledger=ledger),
        "ranges": workload.Ranges(4),
        "ranges plan": workload.Ranges(4).plan(1.0, 1e-6),
        "ridge": learn.Ridge(epsilon=1.0, delta=1e-6, ledger=None, **targets),
        "classes": learn.LogisticRegression(epsilon=1.0, delta=1e-6, bounds=(0, 1), ledger=None, classes=[0, 1]),
        "bayes": learn.GaussianNB(epsilon=1.0, delta=0.0, bounds=(0, 1), ledger=None, classes=[0, 1]),
        "means": learn.KMeans(n_clusters=2, epsilon=1.0, delta=0.0, bounds=(0, 1), ledger=None),
        "components": learn.PCA(n_components=1, epsilon=1.0, delta=0.0, bounds=(0, 1), ledger=None),
    }


def public_calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Every public function, class and method, by its dotted name."""
    for room in (hush, tables, learn, federated, workload):
        for name in getattr(room, "__all__", None) or dir(room):
            call = getattr(room, name, None)
            if name.startswith("_") or name in LEFT_OUT or not callable(call):
                continue
            if not (isinstance(call, type) and issubclass(call, BaseException)):
                yield f"{room.__name__}.{name}", call
    for what, thing in made().items():
        for name in dir(type(thing)):
            if (
                not name.startswith("_")
                and name not in LEFT_OUT
                and inspect.isfunction(getattr(type(thing), name, None))
            ):
                with contextlib.suppress(AttributeError):  # scikit-learn hides some methods
                    yield f"{what}.{name}", getattr(thing, name)
    yield from composed().items()


def composed() -> dict[str, Callable[[Any], Any]]:
    """Calls in which the argument of one function reaches another."""
    frame, table = people(), made()["table"]
    answer = table.aggregate(n=tables.count_units()).plan(1.0, 1e-6, family="laplace").answer
    ridge = learn.Ridge(epsilon=1.0, delta=1e-6, bounds=(0, 1), target_bounds=(0, 1), ledger=None)
    return {
        "unit": lambda value: tables.table(frame, unit=value),
        "aggregate of sum": lambda value: table.aggregate(m=tables.sum(value, low=0, high=1)),
        "aggregate of mean": lambda value: table.aggregate(m=tables.mean("age", low=value, high=1)),
        "aggregate of quantile": lambda value: table.aggregate(m=tables.quantile(value, 0.5, low=0, high=1)),
        "aggregate of histogram": lambda value: table.aggregate(m=tables.histogram("ward", categories=value)),
        "condition": lambda value: table.filter(lambda t: t.ssn == value),
        "column": lambda value: table.mutate(new=lambda t: t[value]),
        "label": lambda value: answer(ledger=hush.Ledger(None, epsilon=5.0, delta=1e-5), label=value),
        "unit of a rule": lambda value: tables.Policy({"v": tables.TableRule(frame, unit=value)}).open("v"),
        "low of a rule": lambda value: tables.Policy(
            {"v": tables.TableRule(frame, unit="ssn", columns={"age": tables.ColumnRule(value, 1)})}
        ).mistakes(),
        "values of a rule": lambda value: tables.Policy(
            {"v": tables.TableRule(frame, unit="ssn", columns={"ward": tables.ColumnRule(values=value)})}
        ).open("v"),
        "rows of a fit": lambda value: ridge.fit(value, frame["ward"]),
        "target of a fit": lambda value: ridge.fit(np.zeros((5, 2)), value),
        "weights of a fit": lambda value: ridge.fit(np.zeros((5, 2)), [0, 1, 0, 1, 0], sample_weight=value),
    }


def hostile_calls(call: Callable[..., Any]) -> Iterator[tuple[str, tuple[Any, ...], dict[str, Any]]]:
    """The argument that carries data, and a call in which it does."""
    try:
        known = inspect.signature(call).parameters.values()
    except (TypeError, ValueError):
        return
    needed = {p.name: VALID.get(p.name, 1) for p in known if p.default is p.empty and p.kind is p.KEYWORD_ONLY}
    places = [p for p in known if p.kind in (p.POSITIONAL_ONLY, p.POSITIONAL_OR_KEYWORD)]
    for parameter in known:
        for kind, value in hostile().items():
            named, args = dict(needed), []
            if parameter.kind is parameter.VAR_KEYWORD:
                named["m"] = value
            elif parameter.kind is parameter.KEYWORD_ONLY:
                named[parameter.name] = value
            for place in places:
                if place is parameter:
                    args.append(value)
                elif place.default is place.empty:
                    args.append(VALID.get(place.name, 1))
                elif (
                    place.name in VALID
                    and place.kind is place.POSITIONAL_OR_KEYWORD
                    and len(args) < places.index(place)
                ):
                    named[place.name] = VALID[place.name]
                elif parameter in places and places.index(place) < places.index(parameter):
                    args.append(VALID.get(place.name, place.default))
            if parameter.kind is parameter.VAR_POSITIONAL:
                args.append(value)
            yield f"{parameter.name}={kind}", tuple(args), named


def told(call: Callable[..., Any], args: tuple[Any, ...], named: dict[str, Any]) -> str:
    """What a call that fails shows: the error with its notes and its chain as a traceback prints it, and warnings."""
    heard = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, contextlib.redirect_stderr(heard):
        warnings.simplefilter("always")
        try:
            call(*args, **named)
            failed = ""
        except Exception as failure:
            failed = "".join(traceback.format_exception(failure, limit=0)) + repr(failure)
    ours = [str(one.message) for one in caught]
    return failed + "\n".join(ours) + heard.getvalue()


def test_no_public_call_repeats_data_in_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    found, calls = [], 0
    for name, call in public_calls():
        for what, args, named in hostile_calls(call):
            calls += 1
            text = told(call, args, named)
            if any(mark in text for mark in MARKS):
                found.append(f"{name}({what}): {text[:300]}")
    assert calls > 5_000
    assert found == []


# -- budgets that protect a person little --------------------------------------------------------------------


def asking() -> dict[str, Callable[[float, float], Any]]:
    """Every kind of call that takes a budget."""
    table, policy = made()["table"], {"visits": tables.TableRule(people(), unit="ssn", rows_per_unit=1)}
    query = table.aggregate(n=tables.count_units())
    listed, private = (table.group_by("ward", keys=keys, groups_per_unit=1) for keys in (["a", "b"], "private"))
    return {
        "calibrate": lambda e, d: hush.calibrate(e, d, family="gaussian"),
        "optimal": lambda e, d: hush.optimal(min(e, 12.0), d),
        "noise_multiplier": lambda e, d: hush.noise_multiplier(e, d, 0.01, 100),
        "ledger": lambda e, d: hush.Ledger(None, epsilon=e, delta=d),
        "plan": lambda e, d: query.plan(e, d, family="gaussian"),
        "keys": lambda e, d: private.keys().plan(e, d),
        "top": lambda e, d: listed.top(1).plan(e, d),
        "marginals": lambda e, d: made()["marginals"].plan(e, d),
        "workload": lambda e, d: workload.Ranges(4).plan(e, d),
        "stream": lambda e, d: hush.stream(horizon=3, appears=1).plan(e, d),
        "local": lambda e, d: federated.local([0.5], epsilon=e, delta=d, low=0, high=1, family="gaussian"),
        "fit": lambda e, d: learn.Ridge(epsilon=e, delta=d, bounds=(0, 1), target_bounds=(0, 1), ledger=None).fit(
            np.zeros((50, 2)), np.zeros(50)
        ),
        "policy": lambda e, d: tables.Policy(
            {"visits": tables.TableRule(people(), unit="ssn", max_epsilon=e, max_delta=d)}
        ),
        "sql": lambda e, d: hush.sql(
            "EXPLAIN SELECT COUNT(*) AS n FROM visits", tables.Policy(policy), epsilon=e, delta=d, family="gaussian"
        ),
    }


def weak(call: Callable[[float, float], Any], epsilon: float, delta: float) -> list[warnings.WarningMessage]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("ignore")
        warnings.simplefilter("default", hush.WeakGuarantee)
        call(epsilon, delta)
    return [one for one in caught if issubclass(one.category, hush.WeakGuarantee)]


@pytest.mark.parametrize("name", asking())
def test_a_budget_that_protects_little_gives_one_warning_at_the_line_of_the_user(name: str) -> None:
    call = asking()[name]
    for epsilon, delta, words in ((20.0, 1e-6, "epsilon = "), (1.0, 0.01, "delta = 0.01")):
        (found,) = weak(call, epsilon, delta)
        assert str(found.message).startswith(words) and found.filename == __file__
    assert weak(call, 10.0, 1e-3) == []
