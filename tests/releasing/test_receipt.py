"""Receipts: one format with a version, to JSON and back; a changed receipt is rejected."""

from __future__ import annotations

import copy
import json
import pickle
from typing import Any

import pytest

import hush
from hush.report import statement


@pytest.fixture
def charged() -> tuple[hush.Release, hush.Ledger]:
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    return hush.release(120, hush.calibrate(1.0, 1e-6, family="laplace"), ledger=ledger, label="a count"), ledger


def test_a_receipt_goes_through_json_pickle_and_copies(charged: Any) -> None:
    receipt = charged[0].receipt
    assert (receipt.kind, receipt["schema"], receipt.guarantee.budget) == ("release", 2, hush.Budget(1.0, 1e-6))
    for back in (
        hush.Receipt.from_json(receipt.to_json()),
        hush.Receipt(json.loads(json.dumps(receipt))),
        pickle.loads(pickle.dumps(receipt)),
        copy.deepcopy(receipt),
        receipt.copy(),
    ):
        assert type(back) is hush.Receipt and back == receipt and back.charges == receipt.charges
    for change in (lambda r: r.update(kind="x"), lambda r: r.pop("kind"), lambda r: r.__setitem__("kind", "x")):
        with pytest.raises(hush.InvalidParameter, match="cannot be changed"):
            change(receipt)
    later = receipt | {"note": "printed"}
    assert later["note"] == "printed" and "note" not in receipt


@pytest.mark.parametrize(
    ("place", "value"),
    [
        (("guarantee", "epsilon"), -1.0),
        (("guarantee", "epsilon"), "1"),
        (("guarantee", "epsilon"), None),
        (("guarantee", "delta"), 2.0),
        (("guarantee", "times"), 0.5),
        (("guarantee", "neighbours"), "bogus"),
        (("guarantee", "notion"), "none"),
        (("kind",), "letter"),
        (("schema",), 99),
        (("extra_delta",), -1.0),
        (
            ("charges",),
            [
                {
                    "noise": {"family": "laplace", "scale": 1.0},
                    "sensitivity": {"linf": 1.0, "l0": 1},
                    "times": 1,
                    "rates": 0.1,
                }
            ],
        ),
        (("charges",), [{}]),
    ],
)
def test_what_is_no_receipt_is_refused(charged: Any, place: tuple[str, ...], value: object) -> None:
    values = json.loads(charged[0].receipt.to_json())
    inner = values
    for name in place[:-1]:
        inner = inner[name]
    inner[place[-1]] = value
    with pytest.raises(hush.InvalidParameter):
        hush.Receipt(values)


@pytest.mark.parametrize("text", ["", "[]", "3", "{}", None])
def test_what_is_no_json_of_a_receipt_is_refused(text: Any) -> None:
    with pytest.raises(hush.InvalidParameter, match="not a receipt"):
        hush.Receipt.from_json(text)


def changed(receipt: hush.Receipt, **guarantee: Any) -> dict[str, Any]:
    values = json.loads(receipt.to_json())
    values["guarantee"] |= guarantee
    return values


def test_a_changed_receipt_is_not_reported(charged: Any) -> None:
    """Numbers that contradict each other, or the ledger's entry."""
    made, ledger = charged
    receipt = made.receipt
    weaker = receipt.charges[0].widened(10.0).to_plain()
    wrong = {
        "smaller epsilon": changed(receipt, epsilon=0.1),
        "another relation": changed(receipt, neighbours="replace"),
        "other noise beside the charge": json.loads(receipt.to_json()) | {"charges": [weaker]},
    }
    with_ledger = {
        "several releases": changed(receipt, epsilon=0.01, times=2) | {"charges": [weaker | {"times": 2}]},
        "a fit that hides its charges": changed(receipt, epsilon=0.01)
        | {"kind": "private fit", "model": "Ridge", "started_from": [1], "charges": []},
        "no such entry": json.loads(receipt.to_json()) | {"ledger": {"ledger": "x", "number": 0, "label": "a count"}},
    }
    for name, values in wrong.items():
        with pytest.raises(hush.InvalidParameter):
            pytest.fail(f"{name}: {statement(values)}")
    for name, values in with_ledger.items():
        with pytest.raises(hush.InvalidParameter):
            pytest.fail(f"{name}: {statement(values, ledger=ledger)}")
    assert "differential privacy" in str(statement(receipt, ledger=ledger))


def test_long_lists_are_shortened_where_a_receipt_is_shown() -> None:
    """The least noise for one number at a small epsilon has thousands of heights; JSON keeps all of them."""
    receipt = hush.release(120, hush.calibrate(0.1, 1e-6, family="stepped"), ledger=None).receipt
    heights = receipt["charges"][0]["noise"]["heights"]
    assert len(heights) > 1000 and len(repr(receipt)) < 3000 and f"{len(heights)} values" in repr(receipt)
    assert hush.Receipt.from_json(receipt.to_json())["charges"][0]["noise"]["heights"] == list(heights)
