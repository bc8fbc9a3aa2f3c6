"""Every call that plans takes tiny and huge budgets, NaN and texts: it plans, or refuses in one sentence."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import hush
from hush import tables

ROWS = pa.table({"id": [1, 2, 3, 3], "w": ["a", "b", "a", "b"], "c": [1.0, 2.0, 3.0, 4.0], "k": [1, 2, 3, 4]})
TABLE = tables.table(ROWS, unit="id")
LISTED = TABLE.group_by("w", keys=["a", "b"], groups_per_unit=2)
QUERY = LISTED.aggregate(n=tables.count_units(), s=tables.sum("c", low=0, high=5))
PEOPLE = TABLE.aggregate(n=tables.count_units())
FEW, SEVERAL = (TABLE.group_by("w", keys="private", groups_per_unit=most) for most in (2, 5))
OPEN = TABLE.group_by("w", keys=["a", "b"], groups_per_unit="private").aggregate(n=tables.count_units())

#: Every public call that plans a question, with epsilon and delta left open.
CALLS: dict[str, Callable[[Any, Any], Any]] = {
    "query": lambda e, d: QUERY.plan(e, d),
    "one count": lambda e, d: PEOPLE.plan(e, d),
    "family": lambda e, d: QUERY.plan(e, d, family="gaussian"),
    "times": lambda e, d: QUERY.plan(e, d, family="gaussian", times=3),
    "private keys": lambda e, d: SEVERAL.aggregate(n=tables.count_units()).plan(e, d),
    "other": lambda e, d: SEVERAL.aggregate(n=tables.count_units()).plan(e, d, other=True, family="gaussian"),
    "private bounds": lambda e, d: TABLE.aggregate(
        s=tables.sum("c", low="private", high="private", rows_per_unit=1)
    ).plan(e, d, family="gaussian"),
    "private limits": lambda e, d: OPEN.plan(e, d),
    "advise": lambda e, d: tables.advise(OPEN, e, d, ledger=None),
    "keys of few groups": lambda e, d: FEW.keys().plan(e, d),
    "keys": lambda e, d: SEVERAL.keys().plan(e, d),
    "top": lambda e, d: LISTED.top(1).plan(e, d),
    "top with counts": lambda e, d: LISTED.top(1, counts=True).plan(e, d),
    "marginals": lambda e, d: TABLE.marginals(["w"], order=1, keys={"w": ["a", "b"]}).plan(e, d),
    "stream": lambda e, d: hush.stream(horizon=4).plan(e, d),
    "calibrate": lambda e, d: hush.calibrate(e, d),
    "plan_all": lambda e, d: hush.plan_all([PEOPLE], hush.Budget(e, d)),
    "ledger": lambda e, d: hush.Ledger(None, epsilon=e, delta=d).plan(PEOPLE, family="gaussian"),
    "rule": lambda e, d: hush.OptimalRule(e, d),
}
EXTREME = [(5e-324, 1e-6), (1e-300, 0.0), (1e-12, 5e-324), (1e-12, 1e-6), (1e-5, 0.0), (1e3, 1e-6), (1e300, 0.5)]
SLOW = ("query", "ledger", "plan_all", "keys")  # they search, and do so with the calls that are tested here
WRONG: list[Any] = [math.nan, math.inf, -1.0, "1", "a", None, True, [1.0], 1j, object()]


def one_sentence(text: str) -> bool:
    return "\n" not in text and text.endswith((".", "?")) and "lattice of step" not in text


def refusal(call: Callable[[Any, Any], Any], epsilon: float, delta: float) -> str | None:
    """The message of a refusal; None if the call plans. Warnings are errors."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", hush.WeakGuarantee)  # a large epsilon warns: tests/test_errors.py
            call(epsilon, delta)
    except hush.HushError as refused:
        return str(refused)
    return None


@pytest.mark.parametrize("name", [name for name in CALLS if name not in SLOW])
def test_an_extreme_budget_is_planned_or_refused_in_one_sentence(name: str) -> None:
    for epsilon, delta in EXTREME:
        said = refusal(CALLS[name], epsilon, delta)
        assert said is None or one_sentence(said), (epsilon, delta, said)


@pytest.mark.parametrize("name", CALLS)
def test_what_is_no_budget_is_refused_in_one_sentence(name: str) -> None:
    for wrong in WRONG:
        for pair in ((wrong, 1e-6), (1.0, wrong)):
            with pytest.raises(hush.HushError) as refused:
                CALLS[name](*pair)
            assert one_sentence(str(refused.value)), (pair, str(refused.value))


def test_names_of_families_and_numbers_of_groups_are_checked() -> None:
    with pytest.raises(hush.InvalidParameter, match="independent, selection, got 'nonsense'"):
        LISTED.top(1).plan(1.0, 1e-6, family="nonsense")
    for wrong in ("a", 0, 6, 1.5, None):
        with pytest.raises(hush.InvalidParameter, match="groups must be"):
            SEVERAL.keys().plan(1.0, 1e-6).size_shown(wrong)  # type: ignore[arg-type]
