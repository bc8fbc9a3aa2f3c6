"""Accounts of private training: epsilon of many steps on Poisson samples, beside dp_accounting."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

from record import Benchmark, Line, Note, main, race

import hush

DELTA = 1e-5
#: noise multiplier, rate, steps
LOOPS = (
    (1.1, 256 / 60_000, 14_062),
    (0.8, 256 / 60_000, 14_062),
    (1.0, 0.01, 1000),
    (0.6, 0.001, 10_000),
    (2.0, 0.05, 2000),
    (10.0, 0.5, 1000),
    (1.0, 1e-4, 100_000),
    (1.0, 1e-6, 10_000_000),
)
#: noise, rate, steps: laws that dp_accounting does not sample, with the width of the bracket only
OTHER_LAWS = (
    (hush.OSGT(1.0, 2.0), 0.01, 1000),
    (hush.FlippedHuber(2.0, 1.5), 0.01, 1000),
    (hush.Staircase(1.0, 1.0, 0.42), 0.01, 1000),
    (hush.Discrete(hush.Gaussian(3.0), 1.0), 0.01, 1000),
)
#: scale, rate, steps of Laplace noise
LAPLACE = ((1.2, 0.01, 1000), (5.0, 0.001, 10_000))
_LONG = 1_000_000  # steps from which dp_accounting takes a minute: one round


def _ours(noise: hush.Noise, rate: float, steps: int) -> hush.Curve:
    return hush.compose([hush.subsample(noise, rate, times=steps)])


def _theirs(noise: hush.Noise, rate: float, steps: int) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld

    grid = {"sampling_prob": rate, "value_discretization_interval": 1e-4}
    if isinstance(noise, hush.Gaussian):
        one = pld.from_gaussian_mechanism(noise.sigma, **grid)
    else:
        one = pld.from_laplace_mechanism(noise.scale, **grid)
    return float(one.self_compose(steps).get_epsilon_for_delta(DELTA))


def loops(quick: bool) -> Iterator[Line | Note]:
    """Time and epsilon of both, and the width of hush's bracket."""
    for sigma, rate, steps in LOOPS[2:3] if quick else LOOPS:
        yield from _loop(f"sigma {sigma:g}", hush.Gaussian(sigma), rate, steps)
    for scale, rate, steps in () if quick else LAPLACE:
        yield from _loop(f"Laplace, scale {scale:g}", hush.Laplace(scale), rate, steps)
    for noise, rate, steps in () if quick else OTHER_LAWS:
        yield _width(f"{noise}, rate {rate:.4g}, {steps:,} steps", noise, rate, steps)[0]


def _width(name: str, noise: hush.Noise, rate: float, steps: int) -> tuple[Line, float]:
    """The width of hush's bracket, and its upper end."""
    found = _ours(noise, rate, steps).epsilon_bracket(DELTA)
    width = 1e6 * (found.upper - found.lower) / found.upper
    both = f"{found.lower:.6f} to {found.upper:.6f}"
    return Line(name, "width of the bracket, parts per million", width, "ppm", "lower", extra=both), found.upper


def _loop(kind: str, noise: hush.Noise, rate: float, steps: int) -> Iterator[Line | Note]:
    name = f"{kind}, rate {rate:.4g}, {steps:,} steps"
    line, upper = _width(name, noise, rate, steps)
    yield line
    others = itertools.count(1)  # hush caches losses, so every round has slightly more noise
    found: list[float] = []
    try:
        made = race(
            lambda: _ours(noise.scaled(1.0 + 1e-9 * next(others)), rate, steps).epsilon(DELTA),
            lambda: found.append(_theirs(noise, rate, steps)),
            1 if steps > _LONG else 3,
            warm=False,
            clock=time.process_time,
        )
    except ImportError:
        yield Note("dp-accounting is not installed here: hush's own numbers only.")
        return
    yield Line(name, "times as fast as dp_accounting", made.faster, "times", "higher", extra=made.extra)
    excess = 1e6 * (found[0] / upper - 1.0)
    shown = f"{found[0]:.6f} and {upper:.6f}"
    yield Line(name, "dp_accounting's epsilon above hush's, parts per million", excess, "ppm", "higher", extra=shown)


BENCHMARKS = (
    Benchmark(
        key="accounting",
        title="Private training",
        measures=(
            "epsilon at delta = 1e-5 of many steps of noise on Poisson samples: the time, the result of dp_accounting "
            "beside that of hush where it has the noise (Gaussian and Laplace), and the width of hush's bracket."
        ),
        fair=(
            "Both results are upper bounds on the same number, so the smaller one is tighter. dp_accounting runs with "
            "its default grid of 1e-4 and connected dots. The time is that of the processor. Every round of hush has "
            "slightly more noise, because hush caches losses. The bracket is computed outside the timing. The last "
            "row with Gaussian noise takes dp_accounting a minute, so it runs once."
        ),
        rows="training",
        minutes=1.0,
        measure=loops,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
