"""Local privacy: reports have the law they claim, no attack beats epsilon, and the intervals cover."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import binom

import hush
from hush.errors import InvalidParameter, Unsupported
from hush.federated import answers, gather, histogram, local, mean, total
from hush.federated.estimate import half_width, methods
from hush.federated.local_report import STEPS, Reports, _on_lattice, local_noise, variance_of
from hush.federated.unbiased import bounded

ALARM = 1e-6  # how often a statistical test here may fail by chance
CASES = [("laplace", 0.0), ("staircase", 0.0), ("stable", 0.0), ("gaussian", 1e-6)]


def test_lattice_is_exact():
    """Floats decide as fractions do, at ties and at ends too."""
    rng = np.random.default_rng(3)
    low, high = -3.7, 11.3
    ties = [low + (high - low) * (k + 0.5) / STEPS for k in rng.integers(0, STEPS, 300)]
    values = np.concatenate([rng.uniform(low - 1.0, high + 1.0, 500), ties, [low, high, -1e300, 1e300]])
    for value, got in zip(values, _on_lattice(values, low, high), strict=True):
        clipped = min(max(Fraction(float(value)), Fraction(low)), Fraction(high))
        place = (clipped - Fraction(low)) / (Fraction(high) - Fraction(low)) * STEPS
        assert got == math.floor(place + Fraction(1, 2))
        assert 0 <= got <= STEPS


def distance(reports: Reports, at: float, noise: hush.Noise) -> float:
    """Kolmogorov's distance between the reports' noise and a law."""
    drawn = np.sort(reports.places - at)
    law = np.asarray(noise.cdf(drawn))
    ranks = np.arange(drawn.size + 1) / drawn.size
    return float(max(np.abs(law - ranks[1:]).max(), np.abs(law - ranks[:-1]).max()))


@pytest.mark.parametrize(("family", "delta"), CASES)
def test_reports_have_their_law(family, delta):
    """The Dvoretzky-Kiefer-Wolfowitz bound at one false alarm in a million; two thirds and three halves of the scale
    are rejected.
    """
    reports = local(np.full(100_000, 25.0), 1.0, 0, 100, delta=delta, family=family)
    most = math.sqrt(math.log(2.0 / ALARM) / (2.0 * reports.count)) + 1.0 / STEPS
    assert distance(reports, 0.25, reports.noise) < most
    for wrong in (2.0 / 3.0, 1.5):
        assert distance(reports, 0.25, reports.noise.scaled(wrong)) > most


@pytest.mark.parametrize(("family", "delta"), CASES)
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 3.0])
def test_reports_keep_epsilon(family, delta, epsilon):
    """The noise is calibrated for the whole range, and not wastefully."""
    noise = local_noise(epsilon, delta=delta, family=family)
    # a staircase is made for epsilon exactly, and its bound rounded up: one part in 2^51, as in a ledger
    assert 0.999 * epsilon < hush.epsilon(noise, delta, 1.0) <= epsilon * (1.0 + 2.0**-51)


@pytest.mark.parametrize("family", ["laplace", "stable"])
def test_audit_does_not_beat_a_report(family):
    """One report, from either end of the range; the same attack refutes two thirds of epsilon."""

    def report(value: float, size: int) -> np.ndarray:
        return local(np.full(size, value), 1.0, 0, 100, family=family, delta=0.0).steps

    assert not hush.audit(report, epsilon=1.0, inputs=(0.0, 100.0), samples=200_000).violated
    assert hush.audit(report, epsilon=2.0 / 3.0, inputs=(0.0, 100.0), samples=200_000).violated


@pytest.mark.parametrize("alpha", [1.0, 1.3, 1.7, 1.95])
def test_bounded_estimates_are_unbiased(alpha):
    """E g(x + Z) = x and its variance, by an integral that shares nothing with how g was made."""
    noise = hush.Stable(alpha, 1.1)
    g = bounded(noise)
    far = 20.0 * 1.5 ** np.arange(1, 45)
    edges = np.concatenate([-far[::-1], np.arange(-20.0, 20.5, 0.5), far])
    nodes, weights = np.polynomial.legendre.leggauss(24)
    half = 0.5 * np.diff(edges)[:, None]
    y, weight = (0.5 * (edges[:-1] + edges[1:])[:, None] + half * nodes).ravel(), (half * weights).ravel()
    for x in (0.0, 0.123, 0.5, 0.77, 1.0):
        mass = weight * np.asarray(noise.pdf(y - x))
        first, second = float(mass @ g(y)), float(mass @ g(y) ** 2)
        assert float(mass.sum()) == pytest.approx(1.0, abs=1e-7)
        assert abs(first - x) <= g.bias + 2e-7  # what lies beyond the last panel
        assert second - x * x <= g.variance * (1.0 + 1e-6)
    assert 1.0 / noise.fisher_information < g.variance < 1.6 / noise.fisher_information


def test_clamped_laplace_reports_are_unbiased():
    """The same for Laplace: less variance than the noise itself has."""
    noise = hush.Laplace(0.8)
    g = bounded(noise)
    for x in (0.0, 0.3, 0.5, 1.0):
        y = np.array([-0.5, 1.5])
        ends = g(y)
        inside = quad(lambda y, at=x: y * float(noise.pdf(y - at)), 0.0, 1.0, points=[x])[0]
        square = quad(lambda y, at=x: y * y * float(noise.pdf(y - at)), 0.0, 1.0, points=[x])[0]
        below, above = float(noise.cdf(0.0 - x)), float(noise.sf(1.0 - x))
        assert inside + ends[0] * below + ends[1] * above == pytest.approx(x, abs=1e-12)
        assert square + ends[0] ** 2 * below + ends[1] ** 2 * above - x * x <= g.variance
    assert g.variance < 0.8 * noise.variance


def coverage(family: str, delta: float, method: str, count: int, runs: int) -> tuple[np.ndarray, float]:
    """|estimate - truth| over many populations' reports, and the half width claimed."""
    values = np.random.default_rng(5).choice([3.0, 17.0, 90.0], size=count, p=[0.5, 0.3, 0.2])
    every = local(np.tile(values, runs), 1.0, 0, 100, delta=delta, family=family)
    errors = np.empty(runs)
    for i in range(runs):
        one = Reports(every.steps[i * count : (i + 1) * count], every.noise, 0.0, 100.0, 1.0, delta)
        made = mean(one, method=method)
        errors[i] = abs(made.value - values.mean())
    return errors, made.half_width


@pytest.mark.parametrize("count", [1, 20, 300])
@pytest.mark.parametrize(
    ("family", "delta", "method"),
    [(f, d, m) for f, d in CASES for m in ("average", "bounded") if m == "average" or f in ("laplace", "stable")],
)
def test_intervals_cover(family, delta, method, count):
    """95 % of the intervals, with a binomial bound of one false alarm in a million; two thirds of the width would be
    found out.
    """
    runs = (
        10_000 if (family, method) == ("stable", "average") else 2000
    )  # heavy tails: three halves of the width hold only 2 % more
    errors, wide = coverage(family, delta, method, count, runs)
    least, most = binom.ppf([ALARM, 1.0 - ALARM], runs, 0.95)
    hits = int((errors <= wide).sum())
    assert hits >= least
    if method == "average" or count >= 50:  # below, Chebyshev's inequality is wide on purpose
        assert hits <= most
        assert int((errors <= wide * 2.0 / 3.0).sum()) < least
        assert int((errors <= wide * 1.5).sum()) > most


def test_heavy_tails_want_the_bounded_estimate():
    """The average of stable reports improves like n^(1/alpha - 1), the bounded one like n^(-1/2)."""
    noise = local_noise(1.0, family="stable", delta=0.0)
    wide = {m: [half_width(noise, n, level=0.95, method=m) for n in (100, 10_000)] for m in ("average", "bounded")}
    assert wide["average"][0] / wide["average"][1] == pytest.approx(100.0 ** (1.0 - 1.0 / noise.alpha), rel=1e-3)
    assert wide["bounded"][0] / wide["bounded"][1] == pytest.approx(10.0, rel=1e-2)
    assert methods(noise, 1000, 0.95) == ["bounded", "average"]
    assert methods(local_noise(1.0, family="staircase", delta=0.0), 1000, 0.95) == ["average"]


def test_the_default_family_has_the_least_variance():
    """No family of the list does better than the default; of the noises Laplace leads at epsilon 1, the staircase at
    4.
    """
    for epsilon, family in ((1.0, hush.Laplace), (4.0, hush.Staircase)):
        others = [local_noise(epsilon, delta=d, family=f) for f, d in CASES]
        assert isinstance(min(others, key=variance_of), family)
        assert variance_of(local_noise(epsilon, delta=0.0)) <= min(variance_of(other) for other in others)


def test_sampled_intervals_cover_the_population():
    """Reports of a random sample: the interval of the population is wider than that of the sample, and covers."""
    rng, runs, count = np.random.default_rng(11), 1000, 400
    hits = {True: 0, False: 0}
    for _ in range(runs):
        reports = local(100.0 * (rng.uniform(size=count) < 0.3), 6.0, 0, 100, family="laplace", delta=0.0)
        for sampled in hits:
            made = mean(reports, sampled=sampled)
            hits[sampled] += abs(made.value - 30.0) <= made.half_width
    assert hits[True] >= binom.ppf(ALARM, runs, 0.94)  # normal approximation: one percent is allowed for it
    assert hits[False] < binom.ppf(ALARM, runs, 0.94)


def test_total_and_gather():
    """`gather` joins the reports of several devices, and a total is the mean times the number of reports."""
    parts = [local([float(v)], 1.0, 0, 10, family="laplace", delta=0.0) for v in range(10)]
    together = gather(parts)
    assert together.count == 10
    assert total(together).value == pytest.approx(10.0 * mean(together).value)
    assert total(together).half_width == pytest.approx(10.0 * mean(together).half_width)
    with pytest.raises(InvalidParameter, match="high"):
        gather([parts[0], local([1.0], 1.0, 0, 20, family="laplace", delta=0.0)])


def test_several_numbers_of_a_person_are_not_several_people():
    """Two people with two numbers each are not four reports at epsilon 1 for each person."""
    for values in ([[1.0, 2.0], [3.0, 4.0]], np.zeros((5, 1)), np.zeros((2, 2, 2))):
        with pytest.raises(InvalidParameter, match=r"one number for each person, got an array with [23] axes"):
            local(values, 1.0, 0, 100, delta=0.0)
    assert local(31, 1.0, 0, 100, delta=0.0).count == 1


def test_bad_arguments_say_what_to_write():
    """Each message names the argument."""
    for call, words in (
        (lambda: local([1.0], 0.0, 0, 1, delta=0.0), "epsilon"),
        (lambda: local([1.0], 1.0, 1, 1, delta=0.0), "high"),
        (lambda: local([math.nan], 1.0, 0, 1, delta=0.0), "values"),
        (lambda: local([math.inf], 1.0, 0, 1, delta=0.0), "values"),
        (lambda: local([1.0], 1.0, 0, 1, family="gaussian", delta=0.0), "delta=1e-6"),
        (lambda: local([1.0], 1.0, 0, 1, family="normal", delta=0.0), "family must be one of"),
        (lambda: local([1.0], 1.0, 0, 1, noise=hush.Laplace(0.5), delta=0.0), "epsilon 2"),
        (lambda: local([1.0], 1.0, 0, 1, noise=hush.Laplace(0.999), delta=0.0), "more than 1"),
        (lambda: local([1.0], 1.0, 0, 1, noise="laplace", delta=0.0), "family="),
        (lambda: local([1.0], 1.0, 0, 1, noise=hush.Laplace(2.0), family="laplace", delta=0.0), "not both"),
        (lambda: mean(local([], 1.0, 0, 1, delta=0.0)), "at least one"),
        (lambda: mean(local([1.0], 1.0, 0, 1, delta=0.0), level=1.0), "level"),
        (lambda: answers(["a"], 1.0, ["a"]), "at least two"),
        (lambda: answers(["c"], 1.0, ["a", "b"]), "other"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            call()
    with pytest.raises(Unsupported, match="average"):
        mean(local([1.0], 1.0, 0, 1, family="staircase", delta=0.0), method="bounded")
    with pytest.raises(Unsupported, match="bounded"):
        mean(local([1.0] * 60, 1.0, 0, 1, family="stable", delta=0.0), method="average", sampled=True)


# -- categories ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["response", "unary"])
@pytest.mark.parametrize("epsilon", [0.01, 1.0, 5.0, 30.0])
def test_odds_stay_below_e_to_the_epsilon(method, epsilon):
    """The exact worst ratio of either method, as a fraction, against e^epsilon from below by Taylor's series."""
    made = answers(["a"], epsilon, ["a", "b", "c"], method=method)
    keep, stray = made.keep, made.stray
    worst = keep / stray if method == "response" else (keep / stray) * ((1 - stray) / (1 - keep))
    series, term = Fraction(0), Fraction(1)
    for k in range(1, 120):
        series += term
        term = term * Fraction(epsilon) / k
    assert worst <= series
    if epsilon < 21.0:
        assert worst > series * Fraction(999_999, 1_000_000)


@pytest.mark.parametrize(("method", "k"), [("response", 2), ("response", 6), ("unary", 6), ("unary", 30)])
def test_histogram_covers(method, k):
    """Every category's interval in 95 % of 600 runs (binomial bound, one false alarm in a million over all of them)."""
    rng, runs = np.random.default_rng(k), 600
    people = rng.choice(k, 800, p=rng.dirichlet(np.ones(k))).tolist()
    truth = np.bincount(people, minlength=k)
    hits, narrow = np.zeros(k), np.zeros(k)
    for _ in range(runs):
        made = histogram(answers(people, 1.0, range(k), method=method), raw=True)
        low, high, centre = np.array(made.low), np.array(made.high), np.array(made.count)
        hits += (low <= truth) & (truth <= high)
        narrow += np.abs(centre - truth) <= (high - low) / 3.0
    assert (hits >= binom.ppf(ALARM / k, runs, 0.95)).all()
    assert narrow.sum() < binom.ppf(ALARM, runs * k, 0.95)  # two thirds of the width would be found out


def test_audit_does_not_beat_an_answer():
    """A person's reported category, for two different ones; two thirds of epsilon are refuted."""

    def report(value: float, size: int) -> np.ndarray:
        return answers([int(value)] * size, 1.0, range(4), method="response").sent

    assert not hush.audit(report, epsilon=1.0, inputs=(0, 1), samples=100_000).violated
    assert hush.audit(report, epsilon=2.0 / 3.0, inputs=(0, 1), samples=100_000).violated


def test_the_better_method_is_taken():
    """Response for few categories, unary beyond 3 e^epsilon + 2 of them; the reason is on the result."""
    assert answers([0], 1.0, range(10)).method == "response"
    assert answers([0], 1.0, range(11)).method == "unary"
    made = histogram(answers(["x", "y", "y"] * 50, 1.0, ["x", "y"]))
    assert "response" in made.why and "unary" in str(made)
    assert sum(made.count) == pytest.approx(150.0)


def test_an_interval_stays_within_the_public_range() -> None:
    """One report says little: the interval is the whole range at most, and the estimate itself has no bias."""
    one = local([40.0], 0.1, low=0.0, high=100.0, delta=0.0)
    for estimate in (mean(one), mean(one, level=0.999), total(one)):
        low, high = estimate.interval
        assert 0.0 <= low <= high <= 100.0 and estimate.limits == (0.0, 100.0)
        assert not 0.0 <= estimate.value <= 100.0  # at epsilon 0.1 the two possible reports are far outside
        assert f"[{low:.6g}, {high:.6g}]" in str(estimate)
    many = mean(local([40.0] * 5000, 4.0, low=0.0, high=100.0, delta=0.0))
    assert many.interval == (many.value - many.half_width, many.value + many.half_width) and "+-" in str(many)
    both = total(local([40.0, 60.0], 0.1, low=0.0, high=100.0, delta=0.0))
    assert both.limits == (0.0, 200.0)
