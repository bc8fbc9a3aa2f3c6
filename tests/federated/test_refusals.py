"""Errors of the federated functions: one sentence each, and never a person's value."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest

from hush import Gaussian, HushError, InvalidParameter, Laplace, Skellam, federated


@pytest.mark.parametrize(
    "call",
    [
        lambda: federated.gather(None),
        lambda: federated.answers(["a"], 1.0, None),
        lambda: federated.answers(["a"], 1.0, 5),
        lambda: federated.answers(None, 1.0, ["a", "b"]),
        lambda: federated.answers(["a"], [], ["a", "b"]),
        lambda: federated.reports_needed(2.0, 1.0, 0, 100, delta=None),
        lambda: federated.reports_needed(2.0, 1.0, 0, 100, delta="x"),
        lambda: federated.reports_needed(2.0, 1.0, 0, 100, delta=[]),
        lambda: federated.reports_needed(2.0, 1.0, 0, 100, families=5, delta=0.0),
        lambda: federated.answers_needed(0.02, None, 5),
        lambda: federated.answers_needed(0.02, "x", 5),
        lambda: federated.answers_needed(0.02, math.nan, 5),
        lambda: federated.answers_needed(0.02, -1.0, 5),
        lambda: federated.local([1.0], [], 0, 1, delta=0.0),
        lambda: federated.local([1.0], 1.0, 0, 1, delta=[]),
        lambda: federated.agree([], 1.0, 3, 4, rounds=1, delta=0.0),
        lambda: federated.agree(1.0, 1.0, 3, 4, rounds=1, delta=[]),
        lambda: federated.calibrate_stable([]),
        lambda: federated.ring(None, bound=1, overflow=1e-9),
        lambda: federated.ring(federated.share(Skellam(9.0), 3), bound=1, overflow=[]),
        lambda: federated.dropout(Gaussian(1.0), 10, gone=0.1, delta=0.0),
        lambda: federated.dropout(Gaussian(1.0), 10, gone=None, delta=0.0),
        lambda: federated.dropout(Gaussian(1.0), 10, gone=[], delta=0.0),
        lambda: federated.Budgets(5, epsilon=1.0, delta=0.0),
        lambda: federated.Budgets("/etc/hostname", epsilon=1.0, delta=0.0),
        lambda: federated.Budgets("/dev/null/a", epsilon=1.0, delta=0.0),
        lambda: federated.Budgets(None, epsilon=1.0, delta=0.0).charge(None, [(Laplace(2.0), 1.0, 1)]),
        lambda: federated.Budgets(None, epsilon=1.0, delta=0.0).charge(math.nan, [(Laplace(2.0), 1.0, 1)]),
        lambda: federated.Budgets(None, epsilon=1.0, delta=0.0).charge("a", None),
    ],
)
def test_one_sentence_for_what_cannot_be(call: Callable[[], object]) -> None:
    with pytest.raises(HushError) as refused:
        call()
    assert str(refused.value).endswith(".") and "\n" not in str(refused.value)


def test_refusals_do_not_quote_a_persons_value() -> None:
    with pytest.raises(InvalidParameter) as refused:
        federated.local(["patient-4711"], 1.0, 0, 1, delta=0.0)
    assert "4711" not in str(refused.value)
    with pytest.raises(InvalidParameter) as refused:
        federated.local([4711.5, math.nan], 1.0, 0, 1, delta=0.0)
    assert "4711" not in str(refused.value)
    with pytest.raises(InvalidParameter) as refused:
        federated.answers(["patient-4711"], 1.0, ["yes", "no"])
    assert "4711" not in str(refused.value) and "4711" not in str(refused.value.__cause__)


@pytest.mark.parametrize(
    "call",
    [
        lambda: federated.local([1.0], 1.0, 0, 1),
        lambda: federated.agree(1.0, 1.0, 3, 4, rounds=1),
        lambda: federated.reports_needed(2.0, 1.0, 0, 100),
        lambda: federated.dropout(Gaussian(1.0), 10),
    ],
)
def test_delta_has_no_default(call: Callable[[], object]) -> None:
    with pytest.raises(InvalidParameter, match=r"missing delta; write .*delta=0\.0"):
        call()
