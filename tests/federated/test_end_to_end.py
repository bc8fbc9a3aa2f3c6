"""A federated mean over real ages: the error is as predicted, and neither an auditor nor colluding clients beat the
stated epsilon.
"""

from __future__ import annotations

import gzip
import math

import numpy as np
import pytest
from scipy.stats import binom

import hush
from hush.federated import agree, calibrate_stable, share

ALARM = 1e-6
PARTIES = 1000
LOW, HIGH = 0, 100


@pytest.fixture(scope="module")
def ages(table_dir) -> np.ndarray:
    """The ages of the first thousand people of Adult: whole numbers in [0, 100]."""
    with gzip.open(table_dir / "adult.data.gz", "rt") as file:
        found = [int(line.split(",")[0]) for line in file if line.count(",") == 14][:PARTIES]
    assert len(found) == PARTIES and LOW <= min(found) <= max(found) <= HIGH
    return np.array(found, dtype=np.int64)


def noises() -> list[tuple[hush.Noise, float]]:
    return [
        (calibrate_stable(1.0, HIGH - LOW, alpha=1.7).noise, 0.0),
        (hush.Gaussian(hush.gaussian.sigma(1.0, 1e-6, HIGH - LOW)), 1e-6),
    ]


def federated_means(ages: np.ndarray, noise: hush.Noise, runs: int) -> np.ndarray:
    """Every party sends its age plus its share, in whole numbers of a fine step; the server sees the sum of each
    run.
    """
    parts = share(noise, ages.size)
    per_year = 1 << max(0, 7 - math.frexp(float(parts.noise.isf(0.25)))[1])  # 64 steps or more in the median of a share
    sums = np.full(runs, int(ages.sum()) * per_year, dtype=np.int64)
    for _ in ages:
        sums += parts.draw(runs, 1.0 / per_year)
    return sums / per_year / ages.size


@pytest.mark.parametrize(("noise", "delta"), noises(), ids=["stable", "gaussian"])
def test_error_is_within_the_predicted_interval(ages, noise, delta):
    """95 % of 400 runs (binomial bound, one false alarm in a million); the central epsilon is 1 for any change of one
    person's age.
    """
    assert hush.epsilon(noise, delta, float(HIGH - LOW)) <= 1.0
    wide = float(noise.isf(0.025)) / PARTIES
    errors = np.abs(federated_means(ages, noise, 400) - ages.mean())
    assert int((errors <= wide).sum()) >= binom.ppf(ALARM, 400, 0.95)
    assert wide < 1.0  # in years: of use


@pytest.mark.parametrize(("noise", "delta"), noises(), ids=["stable", "gaussian"])
def test_the_interval_is_neither_narrow_nor_absurdly_wide(ages, noise, delta):
    """Over 10,000 runs both sides of 95 % are bounded, and two thirds and three halves of the width are found out."""
    runs = 10_000
    wide = float(noise.isf(0.025)) / PARTIES
    errors = np.abs(federated_means(ages, noise, runs) - ages.mean())
    least, most = binom.ppf([ALARM, 1.0 - ALARM], runs, 0.95)
    assert least <= int((errors <= wide).sum()) <= most
    assert int((errors <= wide * 2.0 / 3.0).sum()) < least
    assert int((errors <= wide * 1.5).sum()) > most


def observed(noise: hush.Noise, parties: int, honest: int | None, colluding: int):
    """What a server sees that knows everybody's value but one, and the shares of its accomplices: the sum less all it
    can take away.
    """
    parts = share(noise, parties, honest=honest)
    step = math.ldexp(1.0, math.frexp(float(parts.noise.isf(0.25)) / 64.0)[1])

    def sums(value: float, size: int) -> np.ndarray:
        out = np.full(size, round(value / step), dtype=np.int64)
        known = np.zeros(size, dtype=np.int64)
        for party in range(parties):
            drawn = parts.draw(size, step)
            out += drawn
            if party < colluding:
                known += drawn
        return out - known

    return parts, sums


@pytest.mark.parametrize(
    ("noise", "delta"),
    [(calibrate_stable(1.0, alpha=1.7).noise, 0.0), (hush.Gaussian(4.0), 1e-6)],
    ids=["stable", "gaussian"],
)
def test_audit_does_not_beat_the_central_epsilon(noise, delta):
    """Twenty parties, all answering; the same attack refutes two thirds of a pure epsilon."""
    parts, sums = observed(noise, 20, None, 0)
    claim = float(parts.central(1.0).epsilon(delta))
    assert not hush.audit(sums, epsilon=claim, delta=delta, inputs=(0.0, 1.0), samples=200_000).violated
    if delta == 0.0:
        assert hush.audit(sums, epsilon=2.0 / 3.0 * claim, inputs=(0.0, 1.0), samples=200_000).violated


def test_colluders_do_not_beat_the_plan_made_for_them():
    """Six of twelve tell the server their shares. Planned for (honest = 6), epsilon holds; without the plan the same
    attack beats it.
    """
    noise = calibrate_stable(1.0, alpha=1.7).noise
    for honest, beaten in ((6, False), (None, True)):
        parts, sums = observed(noise, 12, honest, 6)
        claim = float(parts.central(1.0).epsilon(0.0))
        assert claim == pytest.approx(1.0, rel=1e-9)
        assert hush.audit(sums, epsilon=claim, inputs=(0.0, 1.0), samples=300_000).violated is beaten


def test_colluders_do_not_beat_the_terms_of_a_federation():
    """Vectors: three of eight clients collude; the victim sends its clipped update, or nothing. Central epsilon of
    one round holds.
    """
    terms = agree(1.0, 1.0, 2, 8, rounds=1, honest=5, delta=0.0)
    victim = np.array([0.9, -0.6])  # clipped to l1 norm 1

    def seen(value: float, size: int) -> np.ndarray:
        steps = terms.on_lattice(victim * value)
        return steps + sum(terms.share.draw((size, 2), terms.step) for _ in range(5))

    claim = terms.epsilon("central", 0.0)
    assert not hush.audit(seen, epsilon=claim, inputs=(0.0, 1.0), samples=200_000).violated
    assert hush.audit(seen, epsilon=0.5 * claim, inputs=(0.0, 1.0), samples=200_000).violated
