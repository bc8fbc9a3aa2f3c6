"""Noise on data is drawn by a payment, and each release once."""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import os
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import hush
from hush import Charge, Ledger, Mechanism, NotPaid, Sensitivity
from hush.learn.choices import Choice
from hush.ledger import Access
from hush.sampling.entropy import DeterministicTestEntropy

STEPS = np.zeros(4, dtype=np.int64)
ONE_OF_FOUR = Sensitivity(linf=1.0, l0=1)
CHOICE = Choice("columns", 5, 1, 2, 1.0).charge  # two of five


def made(scale: float = 20.0) -> Mechanism:
    return Mechanism(hush.Laplace(scale), ONE_OF_FOUR, 1.0, integers=True, coordinates=4)


def test_a_payment_draws_what_was_charged_and_no_more() -> None:
    mechanism = made()
    payment = Ledger(None, epsilon=1.0, delta=0.0).spend(mechanism.charge, label="counts")
    assert payment.number == 1 and payment.receipt == {"ledger": "a ledger in memory", "number": 1, "label": "counts"}
    assert payment.noise(mechanism, STEPS).shape == (4,)
    with pytest.raises(NotPaid, match="used up"):
        payment.noise(mechanism, STEPS)
    with pytest.raises(NotPaid, match="not paid for"):
        payment.noise(made(19.0), STEPS)


def test_n_releases_are_n_draws() -> None:
    mechanism = made(100.0)
    payment = Ledger(None, epsilon=1.0, delta=0.0).spend(mechanism.charge.repeated(3))
    for _ in range(3):
        payment.noise(mechanism, STEPS)
    with pytest.raises(NotPaid):
        payment.open(mechanism)


def test_an_open_payment_hands_out_draws_over_time() -> None:
    mechanism = made()
    payment = hush.unaccounted(mechanism.charge.repeated(2))
    draws = payment.open(mechanism)
    first, second = draws.add(STEPS), draws.add(STEPS)
    assert not (first == second).all()  # 4 equal draws of this noise have a chance below 1e-6
    with pytest.raises(NotPaid):
        payment.open(mechanism)


def test_columns_of_one_table_are_parts_of_one_charge() -> None:
    """Two columns of the vector that was charged, each with its own bound: both are drawn, neither twice."""
    whole = Charge(hush.Laplace(20.0), Sensitivity(linf=1.0, l0=2))
    columns = {
        name: Mechanism(hush.Laplace(20.0 * s), Sensitivity(linf=s, l0=1), 1.0, part_of=whole)
        for name, s in (("n", 1.0), ("s", 5.0))
    }
    payment = hush.unaccounted(whole)
    for name, mechanism in columns.items():
        payment.noise(mechanism, STEPS, part=name)
        with pytest.raises(NotPaid):
            payment.noise(mechanism, STEPS, part=name)


def test_without_a_ledger_the_payment_says_so() -> None:
    payment = Access(None).pay("", [made().charge])
    assert payment.entry is None and payment.number is None and payment.receipt is None
    assert "no ledger was charged" in repr(payment)
    with pytest.raises(hush.InvalidParameter, match="ledger must be a Ledger"):
        Access("budget.ledger").pay("", [made().charge])  # type: ignore[arg-type]


def test_a_refused_charge_gives_no_payment_and_ties_the_ledger_to_nothing() -> None:
    ledger = Ledger(None, epsilon=0.01, delta=0.0)
    with pytest.raises(hush.BudgetExceeded):
        Access(ledger, people="visits").pay("", [made().charge])
    assert ledger.entries == () and ledger.source is None
    Access(ledger, people="visits").pay("", [made(1e4).charge])
    assert ledger.source == "visits"


def test_randomness_that_can_be_repeated_draws_nothing() -> None:
    mechanism, entropy = made(), DeterministicTestEntropy(1)
    payment = hush.unaccounted([mechanism.charge, CHOICE])
    for call in (
        lambda: payment.noise(mechanism, STEPS, entropy=entropy),
        lambda: payment.open(mechanism, entropy=entropy),
        lambda: payment.choose(CHOICE, np.arange(5), entropy=entropy),
    ):
        with pytest.raises(hush.Unsupported, match="secure entropy"):
            call()
    assert payment.left(mechanism.charge) == 1 and payment.left(CHOICE) == 2  # the refusals took nothing of them


def test_a_choice_is_drawn_once() -> None:
    payment = hush.unaccounted(CHOICE)
    assert payment.choose(CHOICE, np.arange(5)).size == CHOICE.times == 2
    with pytest.raises(NotPaid, match="used up"):
        payment.choose(CHOICE, np.arange(5))


def test_a_mechanism_cannot_add_noise_by_itself() -> None:
    assert not [name for name in dir(Mechanism) if "noisy" in name or name.startswith("draw_from")]


def test_noise_without_a_payment_is_a_type_error(tmp_path: Path) -> None:
    """mypy refuses to draw from a ledger entry, from None, and from a mechanism."""
    code = (
        "import numpy as np\nimport hush\n"
        "mechanism = hush.Mechanism(hush.Laplace(2.0), hush.Sensitivity(linf=1.0, l0=1), 1.0)\n"
        "steps = np.zeros(3, dtype=np.int64)\n"
        "def add(payment: hush.Payment | None) -> None:\n"
        "    payment.noise(mechanism, steps)\n"
        "mechanism.noise(mechanism, steps)\n"
        "hush.Ledger(None, epsilon=1.0, delta=0.0).noise(mechanism, steps)\n"
    )
    file = tmp_path / "draws.py"
    file.write_text(code)
    options = [
        "--config-file=",
        "--strict",
        "--ignore-missing-imports",
        "--follow-imports=silent",
        f"--cache-dir={tmp_path}",
    ]
    environment = {"PYTHONPATH": "", "MYPYPATH": str(Path(hush.__file__).parents[1])}
    shown = subprocess.run(
        [sys.executable, "-m", "mypy", *options, str(file)], capture_output=True, text=True, env=environment
    )
    wrong = {
        int(line.split(":")[1]) for line in shown.stdout.splitlines() if "error" in line and line.startswith(str(file))
    }
    assert wrong == {6, 7, 8}, shown.stdout


# -- release -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("plan", [hush.calibrate(1.0, 1e-6), Mechanism(hush.Laplace(2.0), 1.0, 1.0)])
def test_a_vector_needs_a_sensitivity_that_speaks_of_vectors(plan: object) -> None:
    book = Ledger(None, epsilon=2.0, delta=1e-5)
    with pytest.raises(hush.InvalidParameter, match=r"dimension=100 if one person may change all"):
        hush.release(np.zeros(100), plan, ledger=book)  # type: ignore[arg-type]
    assert book.entries == ()
    hush.release(3.0, plan, ledger=book)  # type: ignore[arg-type]


def test_a_vector_of_another_dimension_is_refused() -> None:
    plan = hush.calibrate(1.0, 1e-6, Sensitivity(linf=1.0, dimension=3), family="gaussian")
    with pytest.raises(hush.InvalidParameter, match="for 3 numbers, but 4 are released"):
        hush.release(np.zeros(4), plan, ledger=None)
    assert hush.release(np.zeros(3), plan, ledger=None).value.shape == (3,)


def test_release_records_the_pair_it_was_calibrated_for() -> None:
    book = Ledger(None, epsilon=2.0, delta=1e-5)
    hush.release(7, hush.calibrate(1.0, 1e-6), ledger=book)
    assert (book.entries[0].epsilon, book.entries[0].delta) == (1.0, 1e-6)


# -- how much may be drawn -----------------------------------------------------------------------------------


def test_a_payment_is_for_as_many_numbers_as_the_mechanism() -> None:
    mechanism = made()
    payment = hush.unaccounted(mechanism.charge)
    with pytest.raises(hush.InvalidParameter, match="for 4 numbers, got 1000"):
        payment.noise(mechanism, np.zeros(1000, dtype=np.int64))
    draws = payment.open(mechanism)  # the refusal took nothing
    draws.add(STEPS)
    with pytest.raises(NotPaid, match="covers 0 more numbers"):
        draws.add(STEPS)


def test_a_mechanism_that_is_the_whole_charge_has_no_parts() -> None:
    mechanism = made()
    payment = hush.unaccounted(mechanism.charge)
    payment.noise(mechanism, STEPS, part="first")
    with pytest.raises(NotPaid, match="used up"):
        payment.noise(mechanism, STEPS, part="second")


@pytest.mark.parametrize("steps", [5, [1, 2, 3, 4], np.zeros(4), np.zeros(4, dtype=np.uint64), np.full(4, np.nan)])
def test_steps_are_whole_numbers(steps: object) -> None:
    mechanism = made()
    payment = hush.unaccounted(mechanism.charge)
    with pytest.raises(hush.InvalidParameter, match="on_lattice"):
        payment.noise(mechanism, steps)  # type: ignore[arg-type]
    payment.noise(mechanism, STEPS)
    with pytest.raises(hush.InvalidParameter, match=r"Mechanism\.of\(plan\)"):
        payment.noise(hush.calibrate(1.0, 1e-6), STEPS)  # type: ignore[arg-type]


def test_payments_and_their_draws_are_not_copied() -> None:
    mechanism = made()
    payment = hush.unaccounted(mechanism.charge.repeated(2))
    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(NotPaid, match="copied"):
            copied(payment)
    for draws in (payment.open(mechanism, times=1), payment.open(mechanism).ahead(4)):
        with pytest.raises(NotPaid, match="copied"):
            pickle.dumps(draws)


def test_replaced_draws_share_what_was_used() -> None:
    mechanism = made()
    payment = hush.unaccounted(mechanism.charge.repeated(3))
    opened, ahead = payment.open(mechanism, times=1), payment.open(mechanism, times=2).ahead(8)
    first, second = ahead.add(STEPS), dataclasses.replace(ahead).add(STEPS)
    assert not (first == second).all()  # 4 equal draws of this noise have a chance below 1e-6
    dataclasses.replace(opened).add(STEPS)
    for draws in (opened, ahead, dataclasses.replace(ahead)):
        with pytest.raises(NotPaid):
            draws.add(STEPS)
        assert dataclasses.replace(draws).process == draws.process


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forks of a process with threads
def test_a_fork_draws_nothing_that_its_parent_paid_for() -> None:
    """A fork copies payments and draws without `__reduce_ex__`: one charge must not give a draw in each process."""
    mechanism = made()
    payment = hush.unaccounted(mechanism.charge.repeated(3))
    opened = payment.open(mechanism, times=1)
    ahead = payment.open(mechanism, times=1).ahead(4)
    part = dataclasses.replace(mechanism, part_of=mechanism.charge)
    column = hush.unaccounted(mechanism.charge).open(part, part="a column of a table")
    attempts = [lambda: payment.noise(mechanism, STEPS)]
    attempts += [lambda draws=draws: draws.add(STEPS) for draws in (opened, ahead, column, dataclasses.replace(column))]
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:  # the child reports how many of the attempts raised NotPaid, and ends without pytest's clean-up
        refused = 0
        for attempt in attempts:
            try:
                attempt()
            except NotPaid:
                refused += 1
            except BaseException:
                pass
        os.write(writer, str(refused).encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(reader, 10) == b"5"
    for attempt in attempts:
        assert attempt().shape == (4,)  # the parent can draw what it paid for


def test_threads_share_a_payment_and_draw_it_once() -> None:
    mechanism, switch = made(), sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        for _ in range(100):
            payment, drawn = hush.unaccounted(mechanism.charge), []

            def work(payment: hush.Payment = payment, drawn: list[int] = drawn) -> None:
                with contextlib.suppress(NotPaid):
                    payment.noise(mechanism, STEPS)
                    drawn.append(1)

            threads = [threading.Thread(target=work) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
            assert drawn == [1]
    finally:
        sys.setswitchinterval(switch)


def test_a_ledger_of_other_data_is_not_charged() -> None:
    ledger = Ledger(None, epsilon=1.0, delta=0.0, source="other")
    with pytest.raises(hush.InvalidParameter, match="protects 'other'"):
        Access(ledger, people="visits").pay("", [made().charge])
    assert ledger.entries == ()


def test_a_mechanism_may_be_spent_as_it_is() -> None:
    assert Ledger(None, epsilon=1.0, delta=0.0).spend(made()).charges == (made().charge,)
    for wrong in (hush.calibrate(1.0, 1e-6), 1.0, "laplace", {"schema": 2}):
        with pytest.raises(hush.InvalidParameter, match=r"releases must be|Mechanism\.of\(plan\)"):
            Ledger(None, epsilon=1.0, delta=0.0).spend(wrong)
