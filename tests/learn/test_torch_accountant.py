"""The accountant of training runs: its numbers, its brackets, many different steps, checkpoints and bad input. PyTorch
and Opacus are not needed.
"""

from __future__ import annotations

import copy
import math
import pickle
from types import SimpleNamespace
from typing import Any

import pytest
from scipy import stats

import hush
from hush.learn.torch import Accountant


def account(*rows: tuple[float, float, int]) -> Accountant:
    made = Accountant()
    for sigma, rate, times in rows:
        made.step(noise_multiplier=sigma, sample_rate=rate, times=times)
    return made


def test_the_number_is_that_of_a_training_run() -> None:
    made, run = account((1.1, 256 / 60_000, 14_063)), hush.training(rows=60_000, batch=256, epochs=60, sigma=1.1)
    assert made.get_epsilon(1e-5) == run.epsilon(1e-5)
    found = made.epsilon_bracket(1e-5)
    assert found.upper == made.get_epsilon(1e-5) and found.lower <= found.upper < found.lower * 1.0002


def test_equal_steps_count_together_in_any_order() -> None:
    made = account((1.0, 0.01, 300), (1.5, 0.02, 200), (1.0, 0.01, 700))
    assert made.history == [(1.0, 0.01, 300), (1.5, 0.02, 200), (1.0, 0.01, 700)] and len(made) == 1200
    assert made.get_epsilon(1e-5) == account((1.5, 0.02, 200), (1.0, 0.01, 1000)).get_epsilon(1e-5)
    one_by_one = Accountant()
    for _ in range(3):
        one_by_one.step(noise_multiplier=1.0, sample_rate=0.01)
    assert one_by_one.history == [(1.0, 0.01, 3)]


def test_charges_compose_to_the_same_number() -> None:
    made = account((1.0, 0.01, 300), (1.5, 0.02, 200))
    assert hush.compose(made.charges).epsilon(1e-5) == made.get_epsilon(1e-5)


def test_more_steps_larger_rates_and_less_noise_cost_more() -> None:
    base = account((1.0, 0.01, 500)).get_epsilon(1e-5)
    for more in ((1.0, 0.01, 600), (1.0, 0.012, 500), (0.9, 0.01, 500)):
        assert account(more).get_epsilon(1e-5) > base


@pytest.mark.parametrize("count", [9, 130])
def test_noise_that_changes_at_every_step(count: int) -> None:
    """Nine different steps are composed on a coarser grid, 130 are grouped as well. As many steps with the least
    noise cost more, and with the most noise less.
    """
    rows = [(1.0 + place / count, 0.01 + 1e-4 * place / count, 4) for place in range(count)]
    found = account(*rows).get_epsilon(1e-5)
    most, least = account((1.0, 0.0101, 4 * count)), account((2.0, 0.01, 4 * count))
    assert least.get_epsilon(1e-5) < found < most.get_epsilon(1e-5)
    if count == 9:
        exact = hush.compose([hush.subsample(hush.Gaussian(s), q, times=n) for s, q, n in rows]).epsilon(1e-5)
        assert exact * 0.9999 <= found <= exact * 1.001
        assert exact * 0.99 < account(*rows).epsilon_bracket(1e-5).lower <= exact


def test_every_group_is_on_the_safe_side() -> None:
    from hush.learn.torch.accountant import _grouped

    rows = tuple((0.7 + 0.001 * place, 0.001 * (1 + place % 7), 1 + place % 3) for place in range(3000))
    for safe in (True, False):
        groups = _grouped(rows, safe=safe)
        assert len(groups) <= 128 and sum(row[2] for row in groups) == sum(row[2] for row in rows)
    small = tuple((1.0 + place, 0.01, 1) for place in range(10))
    assert _grouped(small, safe=True) == small
    assert min(row[0] for row in _grouped(rows, safe=True)) == rows[0][0]
    assert max(row[0] for row in _grouped(rows, safe=False)) == rows[-1][0]


def test_the_ends() -> None:
    assert Accountant().get_epsilon(1e-5) == 0.0 and len(Accountant()) == 0
    assert account((1.0, 0.01, 10)).get_epsilon(0.0) == math.inf
    assert account((1.0, 0.01, 10), (0.0, 0.01, 1)).get_epsilon(1e-5) == math.inf
    assert account((1.0, 0.01, 10), (0.0, 0.01, 1)).epsilon_bracket(1e-5).lower == math.inf
    whole = account((3.0, 1.0, 10)).get_epsilon(1e-5)
    assert whole == hush.epsilon(hush.Gaussian(3.0), 1e-5, times=10)
    tiny = account((1e-3, 0.01, 2))
    assert tiny.get_epsilon(1e-5) <= hush.epsilon(hush.Gaussian(1e-3), 1e-5, times=2) * (1.0 + 1e-9)


def test_the_lower_end_does_not_overstate_steps_with_very_little_noise() -> None:
    """The row is in no step with probability (1 - q)^n, so epsilon is 0 at delta = 1 - (1 - q)^n."""
    found = account((0.01, 1e-3, 2)).epsilon_bracket(2.1e-3)
    assert found.lower == 0.0 < found.upper
    both = account((0.01, 1e-3, 2), (1.0, 0.1, 50))
    assert both.epsilon_bracket(1e-5).lower <= account((1.0, 0.1, 50)).get_epsilon(1e-5)


def test_a_checkpoint_is_loaded_as_it_was_saved() -> None:
    made = account((1.0, 0.01, 300), (1.5, 0.02, 200))
    state = made.state_dict()
    assert state["mechanism"] == "hush" == Accountant.mechanism()
    for kept in (state, copy.deepcopy(state), pickle.loads(pickle.dumps(state)), {**state, "mechanism": "prv"}):
        fresh = Accountant()
        fresh.load_state_dict(kept)
        assert fresh.history == made.history and fresh.history is not kept["history"]
    again: Accountant = pickle.loads(pickle.dumps(made))
    again.step(noise_multiplier=1.5, sample_rate=0.02)
    assert len(again) == 501 and len(made) == 500
    into: dict[str, Any] = {}
    assert made.state_dict(into) is into and into["history"] == made.history


@pytest.mark.parametrize(
    "state",
    [
        None,
        {},
        {"history": []},
        {"mechanism": "hush"},
        {"mechanism": "other", "history": []},
        {"mechanism": "hush", "history": [(1.0, 0.1)]},
        {"mechanism": "hush", "history": [(1.0, 2.0, 1)]},
        {"mechanism": "hush", "history": [(1.0, 0.1, 0)]},
        {"mechanism": "hush", "history": 7},
    ],
)
def test_a_bad_checkpoint_is_refused_and_changes_nothing(state: Any) -> None:
    made = account((1.0, 0.01, 3))
    with pytest.raises(hush.InvalidParameter):
        made.load_state_dict(state)
    assert made.history == [(1.0, 0.01, 3)]


@pytest.mark.parametrize(
    ("sigma", "rate"), [(-1.0, 0.1), (math.nan, 0.1), (math.inf, 0.1), ("1", 0.1), (1.0, 0.0), (1.0, 1.1), (1.0, None)]
)
def test_bad_steps_are_refused(sigma: Any, rate: Any) -> None:
    made = Accountant()
    with pytest.raises(hush.InvalidParameter, match=r"noise_multiplier|rate"):
        made.step(noise_multiplier=sigma, sample_rate=rate)
    made.history = [(sigma, rate, 1)]  # as Opacus sets it
    with pytest.raises(hush.InvalidParameter, match=r"noise_multiplier|rate"):
        made.get_epsilon(1e-5)


@pytest.mark.parametrize("delta", [-1e-5, 1.0, 2.0, math.nan, "small", None])
def test_bad_deltas_are_refused(delta: Any) -> None:
    with pytest.raises(hush.InvalidParameter, match="delta"):
        account((1.0, 0.01, 3)).get_epsilon(delta)


def test_several_samples_under_one_noise_cost_more_than_one() -> None:
    """A row may be in each of the samples. Two samples that share a noise are two steps with noise over root 2."""
    made, plain = Accountant(), Accountant()
    made.public_rate = plain.public_rate = 0.01
    optimizer = SimpleNamespace(noise_multiplier=1.2, accumulated_iterations=2)
    made.get_optimizer_hook_fn(0.01)(optimizer)
    assert made.history[0][1:] == (0.01, 2)
    assert made.history[0][0] == pytest.approx(1.2 / math.sqrt(2.0)) and made.history[0][0] ** 2 * 2.0 <= 1.2**2
    plain.get_optimizer_hook_fn(0.01)(SimpleNamespace(noise_multiplier=1.2, accumulated_iterations=1))
    assert plain.history == [(1.2, 0.01, 1)]
    assert made.get_epsilon(1e-5) > plain.get_epsilon(1e-5)


def test_an_engine_whose_rate_is_computed_from_the_rows_is_refused() -> None:
    """Opacus' own engine calls this with 1/len(loader)."""
    with pytest.raises(hush.Unsupported, match=r"number of rows, which is private.*hush\.torch\.engine"):
        Accountant().get_optimizer_hook_fn(sample_rate=0.05)


@pytest.mark.parametrize(("parameters", "least"), [(42, 0.004), (1_000, 0.89), (10_000, 0.999)])
def test_the_scale_of_the_noise_shows_a_divisor_that_depends_on_the_rows(parameters: int, least: float) -> None:
    """One epoch of 20 steps with divisor 49 against 50, for gradients of zero: the sum of squares of all numbers is a
    chi-square variable on two scales, and the most likely scale is a threshold on it. The account says (1.985, 1e-5).
    """
    epsilon = account((1.0, 0.05, 20)).get_epsilon(1e-5)
    assert epsilon == pytest.approx(1.985, abs=5e-4)
    numbers = 20 * parameters
    edge = 2.0 * (numbers * math.log(50 / 49) + epsilon) / (50**2 - 49**2)  # above it, 49 is e^epsilon times as likely
    found, other = (float(stats.chi2.sf(edge * divisor**2, numbers)) for divisor in (49, 50))
    assert found - math.exp(epsilon) * other >= least


def test_a_step_without_noise_has_no_charge() -> None:
    with pytest.raises(hush.Unsupported, match="not private"):
        account((0.0, 0.1, 1)).charges  # noqa: B018
