"""The numbers that messages propose are valid and never less private than stated."""

from __future__ import annotations

import math
import re
from decimal import Decimal

import numpy as np
import pytest

import hush
from hush import Discrete, Laplace, Sensitivity, Skellam, Stable, Staircase, Unsupported, gaussian
from hush.federated.lattice import RoundedSum
from hush.numerics.rounding import rounded_down, rounded_up
from hush.privacy.charge import Guarantee
from hush.sampling.mechanism import Mechanism

NUMBER = r"([0-9.]+(?:e[-+]?[0-9]+)?)"
LAWS = {
    "discrete": lambda step: Discrete(Laplace(3.0 * step), step),
    "skellam": lambda step: Skellam(5.0 * step, step),
    "rounded": lambda step: RoundedSum(hush.Gaussian(2.0 * step), 10, step),
}


@pytest.mark.parametrize("steps", [1e-9, 0.3, 0.5, 1.4, 1.5, 1.0000001, 1.9999999, 2.0 + 1e-9, 7.1])
@pytest.mark.parametrize("step", [1.0, 0.1, 0.3, 2.0**-20, 1e6 / 7.0])
@pytest.mark.parametrize("law", LAWS)
def test_a_sensitivity_between_lattice_points_is_raised_to_the_next(law, step, steps):
    noise, shift = LAWS[law](step), steps * step
    with pytest.raises(Unsupported) as refused:
        hush.delta(noise, 0.5, shift)
    text = str(refused.value)
    assert f"not by {shift!r}" in text
    proposed = float(re.search(rf"write sensitivity={NUMBER}\.$", text)[1])
    assert proposed >= shift and round(proposed / step) == math.ceil(steps)
    hush.delta(noise, 0.5, proposed)  # accepted without an error
    if law == "discrete":  # the sensitivity that a release uses
        used = Mechanism(noise, shift, step).sensitivity_on_lattice.linf
        assert proposed == pytest.approx(used, rel=1e-12)


@pytest.mark.parametrize("value", [0.1, 1.0000001, 0.35009612, 2e-7, 123456.5, 9.999999, 5e-324, 1e300, 1.0 / 3.0])
@pytest.mark.parametrize("digits", [1, 3, 6])
def test_rounded_texts_are_on_their_side(value, digits):
    above, below = float(rounded_up(value, digits)), float(rounded_down(value, digits))
    assert below <= value <= above
    assert above - below <= 10.0 ** (1 - digits) * value * 1.01 or value < 1e-300
    assert len(Decimal(rounded_up(value, digits)).normalize().as_tuple().digits) <= digits
    assert rounded_up(math.inf) == "infinite"


def test_the_sigma_of_a_verdict_is_private():
    numbers = np.random.default_rng(8)
    for _ in range(60):
        epsilon, delta = float(numbers.uniform(0.1, 8.0)), 10.0 ** float(numbers.uniform(-9.0, -2.0))
        for sigma, words in ((0.2, "is needed"), (90.0, "would do")):
            verdict = gaussian.check(epsilon, delta, sigma).verdict
            proposed = float(re.search(rf"sigma = {NUMBER} {words}", verdict)[1])
            assert gaussian.check(epsilon, delta, proposed).private


@pytest.mark.parametrize(
    ("noise", "name", "value"), [(Stable(1.5, 1.0), "l2", 1.00000049), (hush.OSGT(1.0, 3.0), "l1", 1234567.8)]
)
def test_an_error_repeats_the_given_ball_exactly(noise, name, value):
    with pytest.raises(Unsupported, match="write Sensitivity") as refused:
        hush.curve(noise, Sensitivity(**{name: value}))
    assert f"{name}={value!r}" in str(refused.value)


def test_the_proposed_laplace_noise_is_not_less():
    noise = Staircase(1.0 / 3.0, 1.0)
    with pytest.raises(Unsupported) as refused:
        hush.curve(noise, 1e7).delta(0.5)
    scale = float(re.search(rf"Laplace\({NUMBER}\)", str(refused.value))[1])
    assert scale >= noise.sensitivity / noise.epsilon


def test_a_guarantee_in_words_is_not_below_the_guarantee():
    made = Guarantee(1.90000049, 1.00000049e-6, neighbours="replace")
    epsilon, delta = (
        float(found) for found in re.search(rf"epsilon = {NUMBER}, delta = {NUMBER}\)", str(made)).groups()
    )
    assert epsilon >= made.epsilon and delta >= made.delta
    assert "(epsilon = 0.1, delta = 1e-06)" in str(Guarantee(0.1, 1e-6, neighbours="replace"))
