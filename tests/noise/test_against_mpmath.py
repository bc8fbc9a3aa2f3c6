"""Five families against fifty-digit references over the whole range of shapes, scales, sensitivities and budgets."""

from __future__ import annotations

import math
import random
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import mpmath as mp
import numpy as np
import pytest
import reference
from effort import examples

import hush
from hush.noise.contract import Noise

SETS = examples(20, 60)


@dataclass(frozen=True)
class Case:
    """One parameter set with the true delta."""

    noise: Noise
    law: reference.Law
    epsilon: float
    shift: float
    truth: mp.mpf


def _ratio(rng: random.Random) -> float:
    """m/sigma, alpha/gamma: exactly 0 at times, else 1e-6 to 2000."""
    return 0.0 if rng.random() < 0.08 else 10.0 ** rng.uniform(-6.0, math.log10(2000.0))


def _log_uniform(rng: random.Random, low: float, high: float) -> float:
    return math.exp(rng.uniform(math.log(low), math.log(high)))


#: shape parameters of one draw -> (noise at a scale, reference at a scale)
Family = Callable[[float], tuple[Noise, reference.Law]]


def _family(name: str, rng: random.Random) -> Family:
    ratio = _ratio(rng)
    edge = _log_uniform(rng, 1e-3, 600.0)
    return {
        "Gaussian": lambda s: (hush.Gaussian(s), reference.gaussian(s)),
        "Laplace": lambda s: (hush.Laplace(s), reference.laplace(s)),
        "OSGT": lambda s: (hush.OSGT(ratio * s, s), reference.osgt(ratio * s, s)),
        "FlippedHuber": lambda s: (hush.FlippedHuber(ratio * s, s), reference.flipped_huber(ratio * s, s)),
        "TruncatedLaplace": lambda s: (hush.TruncatedLaplace(s, edge * s), reference.truncated_laplace(s, edge * s)),
    }[name]


def _aim(law: reference.Law, epsilon: float, rng: random.Random) -> float:
    """A shift of the unit law with a delta in range: choose where the loss crosses epsilon, then the shift that puts
    it there.
    """
    draw = rng.random()
    if law.support < mp.inf and draw < 0.5:
        return float(2 * law.support) * _log_uniform(rng, 1e-12, 0.999)
    if draw < 0.3:  # inside: delta from 1e-12 to nearly 1
        crossing = float(law.isf(0.5 - _log_uniform(rng, 1e-12, 0.4995)))
    elif (
        law.loss(mp.mpf(-1), mp.mpf(1)) == law.loss(mp.mpf(-2), mp.mpf(1))
        and law.support == mp.inf
        and law.breaks == ()
    ):
        crossing = float(
            law.isf(rng.uniform(0.001, 0.499))
        )  # Laplace: the loss is flat on the left, so it crosses inside only
    else:
        crossing = -float(law.isf(10.0 ** rng.uniform(-298.0, -1.0)))
    low, high = max(2.0 * crossing, 0.0), 1e13
    with mp.workdps(34):
        for _ in range(90):
            middle = math.sqrt(low * high) if low > 0.0 else high / 4.0 if high > 1e-13 else 0.0
            if law.loss(mp.mpf(crossing), mp.mpf(middle)) <= epsilon:
                low = middle
            else:
                high = middle
    return high


@cache
def cases(name: str) -> tuple[Case, ...]:
    """A seeded sample: epsilon 1e-6..700, sensitivity 1e-9..1e9, delta 1e-300..0.999."""
    rng = random.Random(f"hush-{name}")
    found: list[Case] = []
    while len(found) < SETS:
        family = _family(name, rng)
        epsilon, shift = _log_uniform(rng, 1e-6, 700.0), _log_uniform(rng, 1e-9, 1e9)
        noise, law = family(shift / _aim(family(1.0)[1], epsilon, rng))
        truth = law.delta(epsilon, shift)
        if mp.mpf("1e-300") < truth < mp.mpf("0.999"):
            found.append(Case(noise, law, epsilon, shift, truth))
    return tuple(found)


FAMILIES = ["Gaussian", "Laplace", "OSGT", "FlippedHuber", "TruncatedLaplace"]
EVERY = [(name, k) for name in FAMILIES for k in range(SETS)]


def relative(ours: float, truth: mp.mpf) -> float:
    with mp.workdps(reference.DIGITS):
        return float((mp.mpf(ours) - truth) / truth)


@pytest.mark.parametrize(("name", "k"), EVERY)
def test_delta_is_tight_and_never_below_the_truth(name, k):
    """delta is an upper bound within 1e-12, and its bracket holds the truth."""
    case = cases(name)[k]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ours = hush.delta(case.noise, case.epsilon, case.shift)
        bracket = hush.curve(case.noise, case.shift).delta_bracket(case.epsilon)
    error = relative(ours, case.truth)
    assert 0.0 <= error <= 1e-12, (case.noise, case.epsilon, case.shift, error)
    assert mp.mpf(bracket.lower) <= case.truth <= mp.mpf(bracket.upper)


@pytest.mark.parametrize(("name", "k"), EVERY[::3])
def test_negative_epsilon_by_its_own_integral(name, k):
    """For -epsilon the region is everything but the mirrored one; the bracket still holds the truth."""
    case = cases(name)[k]
    epsilon = min(case.epsilon, 30.0)
    with mp.workdps(reference.DIGITS):
        e = mp.mpf(epsilon)
        truth = 1 - mp.exp(-e) + mp.exp(-e) * case.law.delta(epsilon, case.shift)
    bracket = hush.curve(case.noise, case.shift).delta_bracket(-epsilon)
    assert mp.mpf(bracket.lower) <= truth <= mp.mpf(bracket.upper)
    assert relative(bracket.upper, truth) <= 1e-12


@pytest.mark.parametrize(("name", "k"), EVERY[::2])
def test_density_and_tail(name, k):
    """pdf and sf within 1e-12 from the centre to tails of 1e-290."""
    case = cases(name)[k]
    noise, law = case.noise, case.law
    rng = random.Random(k)
    tails = [0.4999, 0.3, 1e-3, 10.0 ** rng.uniform(-30, -3), 10.0 ** rng.uniform(-290, -30)]
    x = np.array([float(law.isf(u)) for u in tails])
    x = x[x < float(law.support)]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        pdf, sf, cdf = noise.pdf(x), noise.sf(x), noise.cdf(-x)
    for i, point in enumerate(x):
        assert abs(relative(pdf[i], mp.exp(law.logpdf(point)))) <= 1e-12
        # next to a bound the tail is a difference of neighbouring numbers: bound - x carries an ulp of the bound
        slack = 4e-16 * float(point / (law.support - mp.mpf(point))) if law.support < mp.inf else 0.0
        assert abs(relative(sf[i], law.sf(point))) <= 1e-12 + slack
        assert cdf[i] == sf[i]


@pytest.mark.parametrize(("name", "k"), EVERY[::2])
def test_quantiles_in_both_tails(name, k):
    """isf and ppf within 1e-12, to 1e-300 and next to 1/2."""
    case = cases(name)[k]
    rng = random.Random(1000 + k)
    tails = [
        1e-300,
        10.0 ** rng.uniform(-299, -10),
        10.0 ** rng.uniform(-10, -1),
        rng.uniform(0.1, 0.4),
        0.5 - 2.0 ** rng.uniform(-45, -5),
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        upper, lower = case.noise.isf(tails), case.noise.ppf(tails)
    for u, x, y in zip(tails, upper, lower, strict=True):
        assert abs(relative(x, case.law.isf(u))) <= 1e-12, (case.noise, u)
        assert y == -x
        if u > 1e-10:
            assert abs(relative(case.noise.ppf(1.0 - u), case.law.isf(float(1.0 - (1.0 - u))))) <= 1e-12


@pytest.mark.parametrize(("name", "k"), EVERY[::12])
def test_moments_by_quadrature(name, k):
    """variance, mean absolute value and Fisher information against tanh-sinh quadrature of the density."""
    case = cases(name)[k]
    noise, law = case.noise, case.law
    assert abs(relative(noise.variance, law.mean(2))) <= 1e-12
    assert abs(relative(noise.mean_abs, law.mean(1))) <= 1e-12
    if math.isfinite(noise.fisher_information):
        assert abs(relative(noise.fisher_information, law.information())) <= 1e-12
    else:
        assert law.support < mp.inf
