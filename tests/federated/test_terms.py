"""The public terms of a federation: exact clipping, sums of rounded shares, both epsilons."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hush
from hush.errors import BudgetExceeded, InvalidParameter, NotPaid, Unsupported
from hush.federated import Budgets, agree, ring, share
from hush.federated.aliasing import log_aliasing
from hush.federated.clipping import clipped_steps
from hush.federated.lattice import RoundedSum
from hush.federated.protocol import Terms
from hush.ledger import Ledger, payment, unaccounted

CASES = [("stable", 0.0, "l1"), ("gaussian", 1e-5, "l2")]


@pytest.mark.parametrize(("noise", "delta", "norm"), CASES)
@given(st.lists(st.floats(), min_size=3, max_size=3))
def test_clipped_updates_keep_their_norm(noise, delta, norm, update):
    """Whatever comes, infinities and NaN too, the integers are within the clip, exactly; small updates lose less than
    a step.
    """
    terms = agree(1.0, 0.7, 3, 4, rounds=1, delta=delta, family=noise)
    steps = [int(k) for k in terms.on_lattice(update)]
    bound = 0.7 / terms.step
    assert terms.norm == norm
    size = sum(abs(k) for k in steps) if norm == "l1" else math.sqrt(sum(k * k for k in steps))
    assert size <= bound
    if all(abs(u) < 0.2 for u in update):
        assert all(abs(k * terms.step - u) < terms.step for k, u in zip(steps, update, strict=True))


@pytest.mark.parametrize(("norm", "update"), [("l1", [8.0, -24.0]), ("l2", [24.0, -18.0, 16.0, 27.0])])
def test_a_clip_just_below_whole_steps_is_kept(norm, update):
    """Rounding errors alone would keep the whole steps, which are longer than the clip."""
    size = 32.0 if norm == "l1" else math.sqrt(1885.0)
    clip = math.nextafter(size, 0.0)
    steps = [abs(int(k)) for k in clipped_steps(np.array(update), clip, norm, 1.0)]
    found = sum(steps) if norm == "l1" else sum(k * k for k in steps)
    assert 0.9 * size < found <= (Fraction(clip) if norm == "l1" else Fraction(clip) ** 2)


def _twice_integrated(noise: hush.Noise, x: np.ndarray) -> np.ndarray:
    """An antiderivative of the distribution function."""
    if isinstance(noise, hush.Gaussian):
        return x * np.asarray(noise.cdf(x)) + noise.sigma**2 * np.asarray(noise.pdf(x))
    assert noise.alpha == 1.0
    return 0.5 * x + (x * np.arctan(x / noise.gamma) - 0.5 * noise.gamma * np.log1p((x / noise.gamma) ** 2)) / math.pi


@pytest.mark.parametrize(
    "one", [hush.Gaussian(s) for s in (0.6, 0.8, 1.0, 1.3)] + [hush.Stable(1.0, g) for g in (1.2, 2.5)]
)
def test_a_sum_of_rounded_shares_is_a_rounded_sum(one):
    """Two shares on the lattice of step 1: their convolution against round(T + U), U uniform, in closed form; no
    further apart than the bound says, and closer than to round(T), without U."""
    reach = 1 << 13
    k = np.arange(-reach, reach + 1)
    mass = np.asarray(one.cdf(k + 0.5)) - np.asarray(one.cdf(k - 0.5))
    middle = slice(reach - 20, reach + 21)
    spectrum = np.fft.rfft(np.fft.ifftshift(mass[:-1]), 2 * reach)
    summed = np.fft.fftshift(np.fft.irfft(spectrum**2, 2 * reach))
    total = one.scaled(2.0 ** (1.0 / getattr(one, "alpha", 2.0)))

    def spread(x: np.ndarray) -> np.ndarray:  # the distribution function of T + U
        return _twice_integrated(total, x + 0.5) - _twice_integrated(total, x - 0.5)

    rounded = spread(k + 0.5) - spread(k - 0.5)
    seen = float(np.abs(summed[middle] - rounded[middle]).max())
    bound = math.exp(log_aliasing(one, 2, 1.0))
    wrapped = 4.0 * float(np.asarray(one.sf(float(reach)))) / reach + 1e-14  # heavy tails that the transform folds back
    assert seen <= bound + wrapped
    plain = np.asarray(total.cdf(k + 0.5)) - np.asarray(total.cdf(k - 0.5))
    assert float(np.abs(summed[middle] - plain[middle]).max()) > max(seen, 1e-4)  # round(T) alone is another law


@pytest.mark.parametrize(("noise", "delta", "norm"), CASES)
@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
def test_both_epsilons(noise, delta, norm, neighbours):
    """The central one is what was asked for, over all rounds; the local one is that of a share, and larger."""
    terms = agree(3.0, 0.5, 20, 50, rounds=4, delta=delta, honest=40, family=noise, neighbours=neighbours)
    far = 1.0 if neighbours == "replace" else 0.5
    bound = hush.Sensitivity(**{norm: far}, neighbours=neighbours)
    assert 3.0 * (1.0 - 1e-6) < terms.epsilon("central", delta) <= 3.0
    assert terms.epsilon("central", delta) == pytest.approx(
        hush.epsilon(terms.share.target, delta, bound, times=4), rel=1e-12
    )
    assert terms.epsilon("local", delta) == pytest.approx(
        hush.epsilon(terms.share.noise, delta, bound, times=4), rel=1e-12
    )
    assert terms.epsilon("local", delta) > 5.0 * terms.epsilon("central", delta)
    assert terms.epsilon("central", delta, rounds=1) < terms.epsilon("central", delta)
    assert terms.extra_delta() < 1e-15


def test_alpha_is_the_best_one():
    """sup|score| E|X| is least near 1.70."""

    def cost(alpha: float) -> float:
        return hush.Stable(alpha, 1.0).sup_score() * hush.Stable(alpha, 1.0).mean_abs

    assert agree(1.0, 1.0, 2, 2, rounds=1, delta=0.0).share.target.alpha == 1.7
    assert all(cost(1.7) < cost(alpha) for alpha in (1.5, 1.6, 1.66, 1.74, 1.8, 1.9))


def test_l1_clipping_suits_stable_noise():
    """For the same clipped update, l1 costs less epsilon than the theorem for l2 and than a box of all coordinates."""
    terms = agree(1.0, 1.0, 20, 10, rounds=1, delta=0.0)
    noise = terms.share.target
    assert hush.epsilon(noise, 0.0, hush.Sensitivity(l2=1.0, l0=20)) > 4.0 * terms.epsilon("central", 0.0)
    assert hush.epsilon(noise, 0.0, hush.Sensitivity(linf=1.0, l0=20)) > 10.0 * terms.epsilon("central", 0.0)


def test_messages_add_up_modulo_the_word():
    """Sums wrap around 64 bits and still give the mean; too few messages are not opened."""
    terms = agree(1.0, 1.0, 2, 3, rounds=1, honest=2, delta=0.0)
    big = np.array([2**63 - 5, -(2**63) + 7], dtype=np.int64)
    small = np.array([10, -10], dtype=np.int64)
    back = np.array([-(2**63) + 5, 2**63 - 7], dtype=np.int64)
    assert terms.mean_update([big, small, back]) == pytest.approx(terms.step * np.array([10, -10]) / 3.0)
    with pytest.raises(InvalidParameter, match="less noise"):
        terms.mean_update([big])


@pytest.mark.parametrize(("noise", "delta", "norm"), CASES)
@given(st.lists(st.floats(-9.0, 9.0), min_size=3, max_size=3), st.lists(st.floats(-1.0, 1.0), min_size=3, max_size=3))
def test_what_cannot_be_is_cut_off(noise, delta, norm, update, other):
    """The result is within the clip, is the update itself if that was, and is nearer to every possible truth."""
    terms = agree(1.0, 0.7, 3, 4, rounds=1, delta=delta, family=noise)
    order = 1 if norm == "l1" else 2
    given_update, truth = np.array(update), np.array(other)
    truth = truth * min(1.0, 0.7 / max(np.linalg.norm(truth, order), 1e-300))
    made = terms.possible(given_update)
    assert np.linalg.norm(made, order) <= 0.7 * (1.0 + 1e-12)
    assert np.linalg.norm(made - truth) <= np.linalg.norm(given_update - truth) + 1e-12
    if np.linalg.norm(given_update, order) <= 0.7:
        np.testing.assert_allclose(made, given_update, rtol=1e-15)


def test_coarse_lattices_are_charged():
    """A lattice as coarse as the shares has an extra delta that nobody can overlook."""
    coarse = Terms(share(hush.Gaussian(1.0), 10), 1.0, "l2", 3, 1.0, 1)
    assert coarse.extra_delta() > 1.0
    with pytest.raises(Unsupported, match="rounded Laplace"):
        Terms(_Odd(), 1.0, "l1", 3, 2.0**-10, 1).extra_delta()


class _Odd:
    """A share of a noise without a theorem here."""

    noise, target, parties, honest = hush.Laplace(1.0), hush.Laplace(1.0), 3, 3


def test_bad_arguments():
    """Each message names the argument."""
    for call, words in (
        (lambda: agree(1.0, 0.0, 3, 3, rounds=1, delta=0.0), "clip"),
        (lambda: agree(1.0, 1.0, 0, 3, rounds=1, delta=0.0), "coordinates"),
        (lambda: agree(1.0, 1.0, 3, 3, rounds=0, delta=0.0), "rounds"),
        (lambda: agree(1.0, 1.0, 3, 3, rounds=1, family="laplace", delta=0.0), "family"),
        (lambda: agree(1.0, 1.0, 3, 3, rounds=1, family="gaussian", delta=0.0), "delta=1e-6"),
        (lambda: agree(1.0, 1.0, 3, 3, rounds=1, honest=4, delta=0.0), "honest"),
        (lambda: Terms(share(hush.Gaussian(1.0), 3), 1.0, "l2", 3, 0.001, 1), "power of two"),
        (lambda: Terms(share(hush.Gaussian(1.0), 3), 1.0, "linf", 3, 0.5, 1), "norm"),
        (lambda: agree(1.0, 1.0, 3, 3, rounds=1, delta=0.0).on_lattice([1.0]), "3"),
        (lambda: agree(1.0, 1.0, 3, 3, rounds=1, delta=0.0).charges("server"), "view"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            call()


# -- payments ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("view", ["central", "local"])
@pytest.mark.parametrize(("noise", "delta", "norm"), CASES)
def test_a_message_is_paid_for_and_drawn_once(noise, delta, norm, view, monkeypatch):
    terms = agree(1.0, 0.7, 3, 4, rounds=2, delta=delta, family=noise, honest=3)
    ledger = Ledger(None, epsilon=90.0, delta=1e-4)
    paid = terms.pay(ledger, view=view, label="round 1")
    entry = ledger.entries[0]
    assert entry.charges == tuple(terms.charges(view)) and entry.label == "round 1"
    assert entry.extra_delta == terms.extra_delta(rounds=1, view=view, epsilon=90.0) > 0.0
    assert terms.message([0.1, 0.2, 0.3], paid).dtype == np.int64
    other = agree(2.0, 0.7, 3, 4, rounds=2, delta=delta, family=noise, honest=3)
    wide = unaccounted([(terms.share.target, hush.Sensitivity(**{norm: 0.1}), 1)])  # the right noise for another clip
    monkeypatch.setattr(payment, "draw", None)  # whoever draws from here on fails
    for wrong, words in ((paid, "used up"), (other.pay(None, view=view), "not for a round"), (wide, "not for a round")):
        with pytest.raises(NotPaid, match=words):
            terms.message([0.1, 0.2, 0.3], wrong)
    assert len(ledger.entries) == 1


@pytest.mark.parametrize(("noise", "delta", "norm"), CASES)
def test_a_message_is_the_update_with_a_share(noise, delta, norm, monkeypatch):
    """Without its noise a message is the update on the lattice; the noise is of the size of one share."""
    terms = agree(1.0, 0.7, 4000, 4, rounds=1, delta=delta, family=noise)
    update = np.linspace(-1.0, 1.0, 4000)
    sent = terms.message(update, terms.pay(None, view="local"))
    noise_steps = (sent - terms.on_lattice(update)) * terms.step
    assert 0.9 < float(np.median(np.abs(noise_steps))) / float(np.asarray(terms.share.noise.isf(0.25))) < 1.1
    monkeypatch.setattr(payment.Draws, "add", lambda draws, steps: steps)
    np.testing.assert_array_equal(terms.message(update, terms.pay(None, view="central")), terms.on_lattice(update))


# -- budgets -------------------------------------------------------------------------------------------------


def test_budgets_are_live_and_last(tmp_path):
    """Each client has its own ledger file; another object, or another run, sees what was spent."""
    part = [(hush.Laplace(2.0), 1.0, 1)]
    budgets = Budgets(tmp_path / "new", epsilon=1.0, delta=0.0)
    assert budgets.charge("a", part) and budgets.charge("b", part) and budgets.charge("a", part)
    assert (budgets.left("a").epsilon, budgets.left("b").epsilon) == (0.0, 0.5)
    again = Budgets(tmp_path / "new", epsilon=1.0, delta=0.0)
    assert not again.charge("a", part) and again.charge("b", part)
    assert again.stopped == ("a",) and "left" in again.reason("a") and again.reason("b") == ""
    assert budgets.spent("b").epsilon == 1.0
    assert "stopped" in str(again) and sorted(path.name for path in (tmp_path / "new").glob("*.ledger")) == [
        "a.ledger",
        "b.ledger",
    ]
    with pytest.raises(BudgetExceeded):
        again.ledger("a").spend(part)
    with pytest.raises(InvalidParameter, match="exists with"):
        Budgets(tmp_path / "new", epsilon=2.0, delta=0.0).ledger("a")
    for odd in ("../x", "", "a/b", "x" * 101):
        with pytest.raises(InvalidParameter, match="client"):
            budgets.ledger(odd)


def test_budgets_charge_failure_probabilities():
    budgets, part = Budgets(None, epsilon=1.0, delta=1e-6), [(hush.Laplace(10.0), 1.0, 1)]
    assert not budgets.covers("a", part, extra_delta=2e-6)
    assert budgets.charge("a", part, extra_delta=9e-7) and budgets.ledger("a").entries[0].extra_delta == 9e-7
    assert not budgets.covers("a", part, extra_delta=2e-7) and not budgets.charge("a", part, extra_delta=2e-7)


@pytest.mark.parametrize("one", [hush.Gaussian(1.0), hush.Stable(1.5, 1.0), hush.Stable(1.8, 1.0)])
def test_the_certificate_of_a_rounded_sum_agrees(one):
    """The theorem says that rounding costs nothing but aliasing; the numeric certificate of the same law says so
    independently.
    """
    step, count = 0.25, 20
    rounded = hush.curve(RoundedSum(one, count, step), 1.0)
    plain = hush.curve(one.scaled(count ** (1.0 / getattr(one, "alpha", 2.0))), 1.0)
    for epsilon in (0.02, 0.1, 0.2):
        certified = rounded.delta_bracket(epsilon)
        assert certified.lower <= plain.delta(epsilon) + 1e-12  # post-processing of the sum
        assert certified.upper >= 0.98 * plain.delta_bracket(epsilon).lower  # and the uniforms are small beside it


@pytest.mark.parametrize("asked", ["message", "mean_update", "possible", "extra_delta"])
def test_terms_refuse_in_one_sentence(asked: str) -> None:
    terms = agree(1.0, 1.0, 3, 2, rounds=1, delta=0.0)
    bad = {
        "message": ["x", None, [1.0], [[1.0], [1.0, 2.0]]],
        "mean_update": [None, 5, [[1, 2]], [[1, 2]] * 2, [[math.nan] * 3] * 2, ["abc"] * 2],
        "possible": [None, "x", [math.nan] * 3],
        "extra_delta": ["x", 0, -1, 1.5, math.nan],
    }[asked]
    paid = terms.pay(None, view="local")
    calls = {
        "extra_delta": lambda value: terms.extra_delta(rounds=value),
        "message": lambda value: terms.message(value, paid),
    }
    for value in bad:
        with pytest.raises(hush.HushError):
            calls.get(asked, getattr(terms, asked))(value)


def test_a_message_needs_a_payment() -> None:
    terms = agree(1.0, 1.0, 3, 2, rounds=1, delta=0.0)
    made = ring(share(hush.Skellam(5.0), 10), bound=10, overflow=1e-9)
    for message, values in ((terms.message, [0.1, 0.2, 0.3]), (made.message, [1, 2])):
        with pytest.raises(InvalidParameter, match="missing payment; write"):
            message(values)
        for nothing in (None, Ledger(None, epsilon=1.0, delta=0.0), [(hush.Laplace(1.0), 1.0, 1)]):
            with pytest.raises(NotPaid, match="needs a payment"):
                message(values, nothing)


def test_extra_delta_is_read_at_the_epsilon_of_everything() -> None:
    """A coarse lattice, so that the extra delta is seen: the factor is that of the whole budget, not of one round."""
    made = agree(4.0, 1.0, 3, 10, rounds=20, delta=1e-6, family="gaussian")
    coarse = replace(made, step=2.0 ** math.floor(math.log2(made.share.noise.sigma) + 1.0))
    one, whole = (coarse.extra_delta(rounds=1, epsilon=epsilon) for epsilon in (1.0, 4.0))
    assert whole / one == pytest.approx((1.0 + math.exp(4.0)) / (1.0 + math.exp(1.0)))
    assert coarse.extra_delta(epsilon=4.0) == pytest.approx(20.0 * whole, rel=1e-12, abs=0.0)  # over all rounds
    assert coarse.extra_delta(rounds=1) >= whole  # unless told: that of all rounds at a smaller delta
    stable = agree(4.0, 1.0, 3, 10, rounds=2, delta=0.0)
    assert stable.extra_delta(view="local") > stable.extra_delta() > 0.0


@pytest.mark.parametrize("neighbours", ["add-remove", "replace"])
@pytest.mark.parametrize(("family", "delta"), [("stable", 0.0), ("gaussian", 1e-6)])
@pytest.mark.parametrize("clip", [1.0, 4.0])
def test_printed_terms_say_the_guarantee_for_their_clip(neighbours, family, delta, clip):
    """Of one round and of all, in both views; rounded up, and never by more than one in the last digit."""
    terms = agree(8.0, clip, 8, 10, rounds=5, delta=delta, honest=8, family=family, neighbours=neighbours)
    text = str(terms)
    assert "sensitivity" not in text and f"{terms.norm} {clip:g}" in text
    found = re.findall(r"epsilon ([\d.]+) in a round and ([\d.]+) in all 5, delta ([-+ e.\d]+)", text)
    assert len(found) == 2
    for view, (one, whole, share_of) in zip(("central", "local"), found, strict=True):
        for shown, rounds in ((one, 1), (whole, 5)):
            true = terms.epsilon(view, delta, rounds=rounds)
            assert true <= float(shown) <= true * 1.001
        parts = [float(part) for part in share_of.split(" + ")]
        assert parts[:-1] == [delta][: len(parts) - 1] and parts[-1] >= terms.extra_delta(view=view)


def test_only_a_ledger_is_charged():
    terms = agree(1.0, 1.0, 2, 3, rounds=1, honest=2, delta=0.0)
    with pytest.raises(InvalidParameter, match="ledger must be a Ledger"):
        terms.pay("budget.ledger", view="local")
