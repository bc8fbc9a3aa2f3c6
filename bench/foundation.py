"""Curves, Gaussian amounts, composition and calibration: our cost over bare special functions, and our speed and
tightness beside peers.
"""

from __future__ import annotations

import itertools
import math
import statistics
import time
from collections.abc import Callable, Iterator

import numpy as np
from record import Benchmark, Line, Note, Race, duration, main, race, seconds
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

import hush
from hush.privacy.composed_curve import Composed
from hush.privacy.curve import OneNumber

DELTA = 1e-6


def curves(quick: bool) -> Iterator[Line]:
    """delta on an array of epsilons against scipy's log_ndtr on the same array."""
    epsilon = np.linspace(0.0, 5.0, 10_000 if quick else 100_000)
    noises = (
        hush.Gaussian(1.0),
        hush.Laplace(2.0),
        hush.OSGT(3.0, 2.0),
        hush.FlippedHuber(2.0, 1.0),
        hush.FlippedHuber(31.9, 10.3),
    )
    for noise in noises:
        made = race(lambda noise=noise: hush.delta(noise, epsilon), lambda: log_ndtr(epsilon), 3 if quick else 15)  # type: ignore[misc]
        yield Line(
            str(noise), "times the cost of scipy.special.log_ndtr", made.slower, "times", "lower", extra=made.extra
        )


def amounts(quick: bool) -> Iterator[Line]:
    """The optimal Gaussian amount for many pairs against a Python loop of brentq over a tenth of them."""
    random = np.random.default_rng(1)
    pairs = 1000 if quick else 10_000
    epsilon, delta = 10.0 ** random.uniform(-2, 1, pairs), 10.0 ** random.uniform(-12, -2, pairs)
    few = list(zip(epsilon[: pairs // 10].tolist(), delta[: pairs // 10].tolist(), strict=True))

    def gap(sigma: float, e: float, d: float) -> float:
        return float(ndtr(0.5 / sigma - e * sigma) - math.exp(e) * ndtr(-0.5 / sigma - e * sigma) - d)

    made = race(
        lambda: hush.gaussian.sigma(epsilon, delta), lambda: [brentq(gap, 1e-2, 1e5, args=pair) for pair in few], 3
    )
    whole = Race(made.ours, 10.0 * made.theirs)  # a loop costs the same for every pair
    yield Line(
        f"gaussian.sigma, {pairs:,} pairs",
        "times as fast as a loop of scipy's brentq",
        whole.faster,
        "times",
        "higher",
        extra=whole.extra,
    )


def mixed(count: int, factor: float = 1.0) -> list[tuple[hush.Noise, float, int]]:
    """Alternating Laplace and Gaussian releases, all different; `factor` times as much noise."""
    scales = [factor * (20.0 + i) for i in range(count)]
    return [(hush.Laplace(scale) if i % 2 else hush.Gaussian(scale), 1.0, 1) for i, scale in enumerate(scales)]


def _cases(count: int) -> dict[str, Callable[[], float]]:
    """epsilon at DELTA, by hush. hush caches losses, so every call has slightly more noise."""
    many, calls = 10 * count, itertools.count()

    def more(scale: float) -> float:
        return scale * (1.0 + 1e-12 * next(calls))

    def by_transforms() -> float:
        return float(Composed(((OneNumber(hush.Gaussian(more(30.0)), 1.0), many),), 1e-6).epsilon(DELTA))

    return {
        f"{many:,} Laplace, scale 50": lambda: float(hush.curve(hush.Laplace(more(50.0)), times=many).epsilon(DELTA)),
        f"{many:,} Gaussian, sigma 30": lambda: float(hush.curve(hush.Gaussian(more(30.0)), times=many).epsilon(DELTA)),
        f"{many:,} Gaussian, by transforms": by_transforms,
        f"{count:,} mixed": lambda: float(hush.compose(mixed(count, more(1.0))).epsilon(DELTA)),
        f"{many:,} mixed": lambda: float(hush.compose(mixed(many, more(1.0))).epsilon(DELTA)),
    }


def _peer_cases(count: int) -> dict[str, Callable[[], float]]:
    """The same by dp_accounting, at its default grid."""
    from dp_accounting.pld import privacy_loss_distribution as pld

    many = 10 * count

    def epsilon(distribution: object) -> float:
        return float(distribution.get_epsilon_for_delta(DELTA))  # type: ignore[attr-defined]

    def part(noise: hush.Noise) -> object:
        return (
            pld.from_laplace_mechanism(noise.scale)
            if isinstance(noise, hush.Laplace)
            else pld.from_gaussian_mechanism(noise.sigma)
        )  # type: ignore[attr-defined]

    def blend(size: int) -> float:
        total = None
        for noise, _, _ in mixed(size):
            total = part(noise) if total is None else total.compose(part(noise))  # type: ignore[attr-defined]
        return epsilon(total)

    def gaussian() -> float:
        return epsilon(pld.from_gaussian_mechanism(30.0).self_compose(many))

    return {
        f"{many:,} Laplace, scale 50": lambda: epsilon(pld.from_laplace_mechanism(50.0).self_compose(many)),
        f"{many:,} Gaussian, sigma 30": gaussian,
        f"{many:,} Gaussian, by transforms": gaussian,
        f"{count:,} mixed": lambda: blend(count),
        f"{many:,} mixed": lambda: blend(many),
    }


def composition(quick: bool) -> Iterator[Line | Note]:
    """epsilon of composed releases, ours and dp_accounting's: both upper bounds, so that the smaller is the tighter."""
    count, rounds = (10, 1) if quick else (100, 5)
    ours = _cases(count)
    try:
        theirs = _peer_cases(count)
    except ImportError:
        yield Note("dp-accounting is not installed here: hush's own times only.")
        for name, action in ours.items():
            yield Line(name, "hush: epsilon", action(), "epsilon", "lower", extra=duration(seconds(action)))
        return
    for name, action in ours.items():
        made, mine, other = race(action, theirs[name], rounds, clock=time.process_time), action(), theirs[name]()
        yield Line(name, "times as fast as dp_accounting", made.faster, "times", "higher", extra=made.extra)
        both = f"{other:.8f} and {mine:.8f}"
        excess = 1e6 * (other / mine - 1.0)
        yield Line(name, "dp_accounting's epsilon above hush's, parts per million", excess, "ppm", "higher", extra=both)


def calibration(quick: bool) -> Iterator[Line]:
    """All families ranked for a budget, against the one obvious choice of the Gaussian."""
    cases = {"one number": (1, 1e-6), "3 groups": (3, 1e-6), "20 groups": (20, 1e-8)}
    hush.calibrate(1.7, 1e-5)  # tables that every calibration shares
    for name, (l0, delta) in list(cases.items())[: 1 if quick else None]:
        sensitivity, taken = hush.Sensitivity(linf=1.0, l0=l0), []
        for epsilon in (1.0, 1.001, 0.999)[
            : 1 if quick else None
        ]:  # a hair apart: hush remembers parts of what it has calibrated
            taken.append(seconds(lambda e=epsilon, s=sensitivity, d=delta: hush.calibrate(e, d, s)))  # type: ignore[misc]
        middle, plan = statistics.median(taken), hush.calibrate(1.0, delta, sensitivity)
        sigma = float(hush.gaussian.sigma(1.0, delta, math.sqrt(l0)))
        yield Line(
            name,
            "variance of the least Gaussian / of the choice",
            sigma**2 / plan.variance,
            "times",
            "higher",
            extra=plan.family,
        )
        single = seconds(lambda s=sensitivity, d=delta: hush.calibrate(1.0005, d, s, family="laplace"))  # type: ignore[misc]
        both = f"{duration(middle)} and {duration(single)}"
        yield Line(name, "time for all families / for Laplace alone", middle / single, "times", "lower", extra=both)


BENCHMARKS = (
    Benchmark(
        key="curves",
        title="Privacy curves",
        measures=(
            "Time of delta at 100,000 epsilons, as a multiple of the time of one special function on the same array."
        ),
        fair=(
            "Both sides use the same array in the same process, in turn, and the least time of many rounds counts. The "
            "result of hush is certified (an upper bound, accurate to about 1e-14). The special function only "
            "evaluates a normal tail, so it is a lower limit and not a competitor."
        ),
        rows="noise",
        minutes=0.1,
        measure=curves,
    ),
    Benchmark(
        key="amounts",
        title="Gaussian amounts",
        measures=(
            "The least sigma for 10,000 pairs of epsilon and delta in one call, compared with hand-written code: "
            "a loop over scipy's root finder."
        ),
        fair=(
            "The loop runs over a tenth of the pairs, and its time is multiplied by ten. It solves the textbook "
            "formula, which is inaccurate at small delta; the amount of hush is large enough at every pair."
        ),
        rows="call",
        minutes=0.1,
        measure=amounts,
    ),
    Benchmark(
        key="composition",
        title="Composition",
        measures=(
            "epsilon at delta = 1e-6 of many releases together: the time, and how far the result of dp_accounting "
            "is above that of hush."
        ),
        fair=(
            "Both results are upper bounds on the same number, so the smaller one is tighter; a negative number "
            "means that dp_accounting is tighter. dp_accounting runs at its default grid, hush at its fixed "
            "precision. The time is that of the processor. A thousand Gaussians have a closed form, which hush uses; "
            "in the row `by transforms` it is switched off."
        ),
        rows="releases",
        minutes=0.2,
        measure=composition,
    ),
    Benchmark(
        key="calibration",
        title="Calibration",
        measures=(
            "How much variance is saved by ranking every family, and how much time it takes without a cache, for "
            "epsilon = 1."
        ),
        fair=(
            "Both calibrations are certified by the same curves. The time is the median of three budgets that differ "
            "slightly, because a finished calibration is cached."
        ),
        rows="sensitivity",
        minutes=0.25,
        measure=calibration,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
