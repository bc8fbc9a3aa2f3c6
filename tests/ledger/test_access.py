"""The door: what it refuses, and the right to one answer that a charge gives."""

from __future__ import annotations

import threading

import pytest

import hush
from hush.errors import BudgetExceeded, InvalidParameter, NotPaid, QueryFailed
from hush.ledger.access import Access, digest
from hush.privacy.charge import Budget

NOISE = (hush.Gaussian(10.0), 1.0, 1)
OTHER = (hush.Gaussian(12.0), 1.0, 1)


@pytest.fixture(params=["memory", "file"])
def ledger(request, tmp_path):
    with hush.Ledger(None if request.param == "memory" else tmp_path / "b.ledger", epsilon=3.0, delta=1e-6) as made:
        yield made


def test_a_charge_is_the_right_to_one_answer(ledger):
    """The same question pays once until its answer is kept, and again afterwards."""
    access = Access(ledger, label="visits")
    first, again = access.pay("q", NOISE), access.pay("q", NOISE)
    assert first.number == again.number == 1 and len(ledger.entries) == 1
    assert again.keep(b"an answer") == b"an answer"
    assert first.keep(b"another answer") == b"an answer", "the first answer that is kept is the answer of both"
    assert access.pay("q", NOISE).number == 2


@pytest.mark.parametrize(
    "other",
    [
        lambda ledger: Access(ledger, label="visits").pay("p", NOISE),
        lambda ledger: Access(ledger, label="visits").pay("q", OTHER),
        lambda ledger: Access(ledger, label="visits").pay("q", [NOISE, NOISE]),
        lambda ledger: Access(ledger, label="visits").pay("q", NOISE, extra_delta=1e-9),
        lambda ledger: Access(ledger, label="visits").pay("q", NOISE, budget=Budget(1.0, 1e-6)),
        lambda ledger: Access(ledger, label="visits").pay("q", NOISE, step="limits"),
        lambda ledger: Access(ledger, label="other").pay("q", NOISE),
        lambda ledger: Access(ledger, label="visits").pay("", NOISE),
        lambda ledger: ledger.spend(NOISE, label="visits"),
    ],
)
def test_another_question_pays_for_itself(ledger, other):
    assert Access(ledger, label="visits").pay("q", NOISE).number == 1
    assert other(ledger).number == 2


def test_without_a_question_every_payment_is_charged(ledger):
    access = Access(ledger)
    assert [access.pay("", NOISE).number, access.pay("", NOISE).number] == [1, 2]


def test_the_right_outlives_the_process(tmp_path):
    with hush.Ledger(tmp_path / "b.ledger", epsilon=1.0, delta=1e-6) as ledger:
        Access(ledger).pay("q", NOISE)
    with hush.Ledger(tmp_path / "b.ledger") as ledger:
        assert Access(ledger).pay("q", NOISE).keep(b"x") == b"x" and len(ledger.entries) == 1
        ledger.verify()


def test_steps_of_an_unfinished_run_are_not_paid_again(ledger):
    """The first step's answer is taken from the ledger until the last step has its answer."""
    access = Access(ledger)

    def run(finish):
        limits = access.pay("q", NOISE, step="limits")
        found = limits.kept or limits.keep(b"limits of entry %d" % limits.number)
        last = access.pay("q", OTHER)
        if finish:
            last.keep(b"answer")
        return limits.number, found, last.number

    assert run(False) == run(False) == run(True) == (1, b"limits of entry 1", 2)
    assert run(True) == (3, b"limits of entry 3", 4)


def test_a_kept_step_draws_nothing(ledger):
    access = Access(ledger)
    mechanism = hush.Mechanism(hush.Gaussian(10.0), hush.Sensitivity(linf=1.0, l0=1), 1.0, coordinates=1)
    access.pay("q", mechanism.charge, step="limits").keep(b"found")
    kept = access.pay("q", mechanism.charge, step="limits")
    assert kept.kept == b"found"
    with pytest.raises(NotPaid):
        kept.noise(mechanism, mechanism.on_lattice([1]))


def test_a_failure_says_one_sentence_and_leaves_the_right(ledger):
    """Whatever fails after the charge, the words are the same, and nothing of the failure is kept."""
    access, seen = Access(ledger), set()
    for failure in (ValueError("the row of Ada"), MemoryError(), hush.HushError("Ada has 3 visits"), KeyError("Ada")):

        def fails(failure=failure):
            raise failure

        with pytest.raises(QueryFailed) as caught:
            access.pay("q", NOISE).attempt(fails)
        assert caught.value.__context__ is None and caught.value.__cause__ is None
        seen.add(str(caught.value))
    assert len(seen) == 1 and "stays charged, and the same call gets its one answer" in seen.pop()
    assert len(ledger.entries) == 1


def test_an_interrupt_says_that_the_charge_stays(ledger):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        Access(ledger).pay("q", NOISE).attempt(interrupted)
    assert "entry 1" in caught.value.__notes__[0] and "stays charged" in caught.value.__notes__[0]


def test_what_the_policy_does_not_allow(tmp_path):
    with hush.Ledger(tmp_path / "b.ledger", epsilon=3.0, delta=1e-6) as ledger:
        own = Access(ledger, max_epsilon=0.5, max_delta=1e-6, charged_to=str(tmp_path / "b.ledger"))
        with pytest.raises(InvalidParameter, match=r"epsilon is 1, but the policy allows at most 0\.5"):
            own.pay("q", OTHER, budget=Budget(1.0, 1e-6))
        with pytest.raises(InvalidParameter, match=r"delta is 1e-05, but the policy allows at most 1e-06"):
            own.allow(Budget(0.5, 1e-5))
        for other in (
            None,
            hush.Ledger(None, epsilon=3.0, delta=1e-6),
            hush.Ledger(tmp_path / "c", epsilon=1.0, delta=0),
        ):
            with pytest.raises(InvalidParameter, match="the policy charges every question to"):
                Access(other, charged_to=str(tmp_path / "b.ledger")).pay("q", NOISE)
        assert ledger.entries == ()


def test_the_people_are_bound_with_the_first_charge(ledger):
    """A request that the budget does not cover leaves the ledger unbound; the first charge binds it."""
    with pytest.raises(BudgetExceeded):
        Access(ledger, people="patients").pay("q", (hush.Gaussian(0.01), 1.0, 1))
    assert ledger.source is None
    Access(ledger, people="patients").pay("q", NOISE)
    assert ledger.source == "patients"
    with pytest.raises(InvalidParameter, match="protects 'patients', not 'pupils'"):
        Access(ledger, people="pupils").pay("q", NOISE)
    ledger.verify()


def test_one_block_is_charged():
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6, blocks="month")
    months = [Access(ledger, block=("month", f"2025-0{month}")) for month in (1, 2)]
    numbers = [access.pay("q", (hush.Laplace(1.5), 1.0, 1)).number for access in months]
    assert numbers == [1, 2] and [entry.block for entry in ledger.entries] == ["2025-01", "2025-02"]
    with pytest.raises(InvalidParameter, match="the blocks of the ledger are of 'month'"):
        Access(ledger, block=("day", "2025-01-01")).pay("q", NOISE)


def test_without_a_ledger_nothing_is_kept():
    payment = Access(None).pay("q", NOISE)
    assert payment.number is None and payment.keep(b"x") == b"x" and payment.keep(b"y") == b"y"


def test_a_digest_tells_facts_apart():
    assert digest("a", 1) == digest("a", 1)
    assert len({digest("a", 1), digest("a", "1"), digest("a1"), digest(["a", 1]), digest("a", None)}) == 5


def paid_by_a_thread(access, *, fails=False):
    """A living thread that has paid for the question "q": the number of its entry, and what ends the thread."""
    numbers, paid, end = [], threading.Event(), threading.Event()

    def work():
        payment = access.pay("q", NOISE)
        numbers.append(payment.number)
        if fails:
            with pytest.raises(QueryFailed):
                payment.attempt(lambda: 1 / 0)
        paid.set()
        end.wait(30)

    thread = threading.Thread(target=work)
    thread.start()
    assert paid.wait(30)
    return numbers[0], lambda: (end.set(), thread.join())


def test_threads_that_ask_at_once_pay_for_answers_of_their_own(ledger):
    """Their frames or arrays may differ: the answer about one must not be given as that about the other."""
    access = Access(ledger)
    number, ends = paid_by_a_thread(access)
    assert access.owed("q") is None, "its charge is in hand"
    mine = access.pay("q", NOISE)
    assert (number, mine.number, len(ledger.entries)) == (1, 2, 2)
    assert access.pay("q", NOISE).number == 2, "this thread's own right"
    ends()
    assert mine.keep(b"mine") == b"mine"
    assert access.pay("q", NOISE).number == 1, "the thread has ended without an answer: its right is free again"


def test_a_right_of_a_file_is_in_hand_for_all_its_ledgers(tmp_path):
    """Two `Ledger` objects of one process may be open on one file."""
    path = tmp_path / "b.ledger"
    with hush.Ledger(path, epsilon=3.0, delta=1e-6) as one, hush.Ledger(path) as two:
        number, ends = paid_by_a_thread(Access(one))
        assert (number, Access(two).pay("q", NOISE).number) == (1, 2)
        ends()


def test_a_thread_that_fails_frees_its_right(ledger):
    """A pool's thread lives on after a failure; the next one that asks gets the answer that was paid for."""
    number, ends = paid_by_a_thread(Access(ledger), fails=True)
    assert Access(ledger).pay("q", NOISE).number == number == 1
    ends()
