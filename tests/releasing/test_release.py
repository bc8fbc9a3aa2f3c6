"""release: spending, drawing and receipts; what a release guarantees, and what it never does."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import hush
from hush import BudgetExceeded, InvalidParameter, Ledger, Mechanism, Release, Sensitivity, Unsupported
from hush.sampling.entropy import DeterministicTestEntropy, SecureEntropy

ONE = Sensitivity(linf=1.0, l0=1)
PLAN = hush.calibrate(1.0, 1e-6, ONE)
MANY = hush.calibrate(1.0, 1e-6, Sensitivity(linf=1.0, l0=8), family="gaussian")


def ledger() -> Ledger:
    return Ledger(None, epsilon=10.0, delta=1e-4)


def test_a_number_stays_a_number_and_an_array_keeps_its_shape():
    assert isinstance(hush.release(5, PLAN, ledger=None).value, float)
    for shape in ((4,), (2, 3), (1, 1, 2)):
        assert hush.release(np.ones(shape), MANY, ledger=None).value.shape == shape
    exact = hush.release(np.arange(5), hush.calibrate(1.0, 1e-6, ONE, step=1.0, family="laplace"), ledger=None)
    assert exact.value.dtype == np.int64


def test_values_are_noisy_by_what_the_plan_says():
    """The variance of the error agrees with the plan (4.9 sigma, risk 1e-6), and not with 2/3 or 3/2 of the scale."""
    truth = np.arange(40_000)
    plan = hush.calibrate(1.0, 1e-6, ONE, family="gaussian")
    error = hush.release(truth, plan, ledger=None).value - truth
    z = (np.mean(error**2) / plan.variance - 1.0) * math.sqrt(truth.size / 2.0)
    assert abs(z) < 4.9
    for factor in (2.0 / 3.0, 1.5):
        assert abs((np.mean(error**2) / (plan.variance * factor**2) - 1.0) * math.sqrt(truth.size / 2.0)) > 4.9


@pytest.mark.parametrize("level", [0.5, 0.9, 0.95, 0.999])
@pytest.mark.parametrize("values", [np.arange(30_000), np.arange(30_000) * 0.37 + 0.011], ids=["whole", "fractions"])
@pytest.mark.parametrize(
    "plan", [PLAN, MANY, hush.calibrate(1.0, 0.0, ONE, family="stable", loss="mae")], ids=lambda p: p.family
)
def test_intervals_hold_the_truth_as_often_as_they_say(plan, values, level):
    """At least the level (4.9 sigma below it: 1e-6), and not much more than one lattice step's worth."""
    answer = hush.release(values, plan, ledger=None)
    low, high = answer.interval(level=level)
    hits = np.mean((low <= values) & (values <= high))
    spread = 4.9 * math.sqrt(level * (1 - level) / values.size)
    assert hits >= level - spread
    step, noise = answer.receipt["mechanism"]["step"], answer.error.noise
    assert hits <= 1.0 - 2.0 * noise.sf(answer.error.half_width(level) + step) + spread


def test_the_receipt_says_everything_but_the_truth():
    book = ledger()
    answer = hush.release(np.array([123456789, 5]), MANY, ledger=book, label="two counts")
    receipt = answer.receipt
    assert receipt["guarantee"]["epsilon"] == 1.0 and receipt["guarantee"]["delta"] == 1e-6
    assert receipt["guarantee"]["neighbours"] == "add-remove" and receipt["guarantee"]["sensitivity"]["l0"] == 8
    assert receipt["mechanism"]["noise"]["family"] == "gaussian"
    assert receipt["ledger"] == {"ledger": "a ledger in memory", "number": 1, "label": "two counts"}
    assert receipt["hush"] == hush.__version__ and receipt["time"].endswith("+00:00")
    assert receipt["error"]["half_width95"] == answer.error.half_width95
    assert {"value", "receipt", "noisy"} == {name for name in vars(answer) if name != "error"}


def test_json_there_and_back():
    for values in (7, 7.5, np.arange(6).reshape(2, 3)):
        answer = hush.release(values, MANY, ledger=ledger(), label="täglich")
        for version in (
            answer,
            answer.non_negative().integers(),
            answer if np.ndim(values) == 0 else answer.denoised(),
        ):
            back = Release.from_json(version.to_json())
            assert back.to_json() == version.to_json()
            assert np.array_equal(back.value, version.value) and np.array_equal(back.noisy, version.noisy)
            assert back.interval(level=0.9)[0] == pytest.approx(version.interval(level=0.9)[0])
    json.loads(hush.release(1.0, hush.calibrate(1.0, 0.0, family="stable", loss="mae"), ledger=None).to_json())
    for text in ("", "[]", "{}", '{"value": 1, "receipt": {}}', "nonsense"):
        with pytest.raises(InvalidParameter, match="JSON"):
            Release.from_json(text)


def test_on_screen():
    answer = hush.release(np.arange(20), MANY, ledger=ledger())
    assert "20 numbers" in repr(answer) and "(1, 1e-06)" in repr(answer) and "entry 1" in repr(answer)
    page = answer.non_negative()._repr_html_()
    assert page.count("<tr>") > 10 and "and 10 more" in page and "non-negative" in page
    assert "none was charged" in repr(hush.release(1, PLAN, ledger=None))


def test_the_ledger_is_charged_once_and_before_any_noise(monkeypatch):
    """The entry is in the ledger before the first random bit is drawn."""
    book, seen = ledger(), []
    begin = SecureEntropy.begin
    monkeypatch.setattr(SecureEntropy, "begin", lambda self: (seen.append(len(book.entries)), begin(self))[1])
    hush.release([1.0, 2.0], MANY, ledger=book)
    assert seen == [1] and len(book.entries) == 1


def test_no_budget_no_noise(monkeypatch):
    small = Ledger(None, epsilon=1.5, delta=2e-6)
    hush.release(1, PLAN, ledger=small)
    monkeypatch.setattr(SecureEntropy, "begin", lambda self: pytest.fail("noise was drawn"))
    with pytest.raises(BudgetExceeded):
        hush.release(1, PLAN, ledger=small)
    assert len(small.entries) == 1


@pytest.mark.parametrize("values", [[], [math.nan], [1.0, math.inf], ["a"], None, [1, 2j], {"a": 1}], ids=str)
def test_bad_values_spend_nothing(values):
    book = ledger()
    with pytest.raises(InvalidParameter):
        hush.release(values, PLAN, ledger=book)
    assert not book.entries


def test_bad_requests_spend_nothing():
    book = ledger()
    with pytest.raises(Unsupported, match="test entropy"):
        hush.release(1, PLAN, ledger=book, entropy=DeterministicTestEntropy(1))
    with pytest.raises(InvalidParameter, match="plan"):
        hush.release(1, 1.0, ledger=book)
    with pytest.raises(InvalidParameter, match="whole numbers"):
        hush.release(1.5, Mechanism(hush.Laplace(1.0), 1.0, 1.0, integers=True), ledger=book)
    with pytest.raises(InvalidParameter, match="coordinates"):
        hush.release(
            [1.0, 2.0, 3.0], hush.calibrate(1.0, 1e-6, Sensitivity(linf=(1.0, 2.0)), family="gaussian"), ledger=book
        )
    with pytest.raises(InvalidParameter, match="level"):
        hush.release(1, PLAN, ledger=None).interval(level=1.0)
    with pytest.raises(InvalidParameter, match="method"):
        hush.release([1] * 9, MANY, ledger=None).denoised(method="magic")
    assert not book.entries


def test_a_mechanism_made_by_hand():
    """The guarantee of a hand-made mechanism comes from its curve, with rounding."""
    answer = hush.release(3.7, Mechanism(hush.Laplace(2.0), 1.0, 0.3), ledger=ledger())
    assert (
        answer.receipt["guarantee"]["epsilon"] == pytest.approx(1.2 / 2.0)
        and answer.receipt["guarantee"]["delta"] == 0.0
    )


def test_post_processing():
    answer = hush.release(np.zeros(500), MANY, ledger=None)
    clipped = answer.non_negative()
    assert (clipped.value >= 0).all() and (clipped.interval()[0] >= 0).all()
    whole = answer.integers()
    assert whole.value.dtype == np.int64 and np.abs(whole.value - answer.value).max() <= 0.5
    assert whole.non_negative().receipt["post_processing"] == ["integers", "non-negative"]
    assert answer.receipt["post_processing"] == []  # the first release is untouched


def test_denoising_takes_error_away():
    """For Gaussian noise and a truth of small spread, or a sparse one, squared error falls by more than half."""
    rng = np.random.default_rng(2)
    flat = rng.normal(100.0, 1.0, 2000)
    answer = hush.release(flat, MANY, ledger=None)
    assert np.sum((answer.denoised().value - flat) ** 2) < 0.2 * np.sum((answer.value - flat) ** 2)
    sparse = np.where(rng.random(2000) < 0.01, 500.0, 0.0)
    answer = hush.release(sparse, MANY, ledger=None)
    assert np.sum((answer.denoised(method="soft-threshold").value - sparse) ** 2) < 0.5 * np.sum(
        (answer.value - sparse) ** 2
    )
    with pytest.raises(InvalidParameter, match="4 numbers"):
        hush.release([1.0, 2.0], MANY, ledger=None).denoised()
    with pytest.raises(Unsupported, match="finite variance"):
        hush.release(
            np.ones(9), hush.calibrate(1.0, 0.0, Sensitivity(linf=1.0, l0=9), family="stable", loss="mae"), ledger=None
        ).denoised()


def test_a_million_counts_and_their_receipt():
    """One call, one entry; the receipt alone is small and goes through JSON."""
    book, counts = ledger(), np.arange(1_000_000) % 977
    answer = hush.release(counts, PLAN, ledger=book)
    assert answer.value.shape == counts.shape and len(book.entries) == 1
    assert json.loads(json.dumps(answer.receipt)) == answer.receipt
    back = Release.from_json(answer.to_json())
    assert np.array_equal(back.value, answer.value)


@pytest.mark.parametrize(("epsilon", "value"), [(60.0, 1e9), (100.0, 3.0), (100.0, 1e8)])
def test_tiny_noise_leaves_room_for_values(epsilon, value):
    """However small the noise, 2^61 steps are at least 2^31 sensitivities."""
    for plan in (hush.calibrate(epsilon, 0.0), hush.calibrate(epsilon, 0.0, family="stable", loss="mae")):
        answer = hush.release(value, plan, ledger=None)
        assert abs(answer.value - value) < 1e-3
        assert answer.receipt["mechanism"]["limit"] >= 2.0**30


def test_a_value_at_the_limit_has_an_open_interval():
    """A value beyond the lattice is released as its limit, and the interval is infinite there (4.9 sigma: 1e-6)."""
    plan = hush.calibrate(1.0, 0.0, Sensitivity(l1=1.0), family="laplace")
    values = np.full(20_000, 1e15)
    values[::2] = -1e15
    answer = hush.release(values, plan, ledger=None)
    low, high = answer.interval()
    assert answer.receipt["mechanism"]["limit"] < 1e15
    assert np.mean((low <= values) & (values <= high)) >= 0.95 - 4.9 * math.sqrt(0.05 * 0.95 / values.size)


def test_noise_beyond_the_lattice_is_refused_before_spending():
    book = hush.Ledger(None, epsilon=1e4, delta=0.5)
    with pytest.raises(Unsupported, match="limit"):
        hush.release(1.0, Mechanism(hush.Laplace(1e30), 1.0, 1.0), ledger=book)
    assert not book.entries


@pytest.mark.parametrize("bound", [1e11, 1e16, 1e25])
def test_integers_of_large_sensitivity(bound):
    """The step grows with the noise; nothing hangs, and the interval is right."""
    values = np.array([5, -7])
    answer = hush.release(
        values, hush.calibrate(1.0, 0.0, Sensitivity(linf=bound, l0=1), family="laplace"), ledger=None
    )
    assert answer.error.half_width95 == pytest.approx(-math.log(0.05) * bound, rel=0.01)


def test_denoising_comes_first():
    plan = hush.calibrate(1.0, 1e-6, Sensitivity(linf=1.0, l0=8), family="gaussian")
    answer = hush.release(np.zeros(50), plan, ledger=None)
    for done in (answer.non_negative(), answer.integers(), answer.denoised()):
        with pytest.raises(InvalidParameter, match="denoise first"):
            done.denoised()
    assert (answer.denoised().non_negative().value >= 0.0).all()


def test_the_lattice_does_not_depend_on_what_python_makes_of_the_data():
    """sum([]) is an int and sum([2.5]) a float: both are released on the same lattice."""
    plan = hush.calibrate(0.01, 0.0, Sensitivity(linf=0.7, l0=1), family="laplace")
    steps = {
        hush.release(value, plan, ledger=None).receipt["mechanism"]["step"] for value in (0, 0.0, 2**60, [1], [2.5])
    }
    assert len(steps) == 1
    counted = hush.release(np.array([1, 2]), plan, ledger=None).receipt["mechanism"]
    assert counted["step"] == 1.0 and not counted["rounded"]
    assert hush.release([1, 2], plan, ledger=None, integers=True).receipt["mechanism"]["step"] == 1.0
    with pytest.raises(InvalidParameter, match="integers=True"):
        hush.release([1, 2.5], plan, ledger=None, integers=True)


def test_incomplete_json_is_refused():
    made = '{"value": 1, "receipt": {"mechanism": {"noise": {"family": "laplace", "scale": 1.0}}}}'
    for text in (made, made.replace("1,", "[[1], [1, 2]],")):
        with pytest.raises(InvalidParameter, match="JSON"):
            Release.from_json(text)


def test_a_release_that_loses_its_right_pays_for_its_own_values():
    """A release of other values keeps its answer between the charge and the answer of this one, as another process may:
    each call gets the noisy version of its own values, and each is charged.
    """
    book, inner = ledger(), []

    class Meanwhile(SecureEntropy):
        def begin(self):
            if not inner:
                inner.append(None)
                inner[0] = hush.release(5_000.0, PLAN, ledger=book)
            return super().begin()

    outer = hush.release(100.0, PLAN, ledger=book, entropy=Meanwhile())
    assert abs(inner[0].value - 5_000.0) < 200.0 and abs(outer.value - 100.0) < 200.0
    assert [made.receipt["ledger"]["number"] for made in (inner[0], outer)] == [1, 2] and len(book.entries) == 2
