"""Accounts of private training: epsilon of many steps on Poisson samples, beside dp_accounting.

Run by hand: python bench/accounting.py. dp_accounting takes a minute for the last row.
"""

from __future__ import annotations

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
_LONG = 1_000_000  # steps from which dp_accounting takes a minute: one round


def _ours(sigma: float, rate: float, steps: int) -> hush.Curve:
    return hush.compose([hush.subsample(hush.Gaussian(sigma), rate, times=steps)])


def _theirs(sigma: float, rate: float, steps: int) -> float:
    from dp_accounting.pld import privacy_loss_distribution as pld

    one = pld.from_gaussian_mechanism(sigma, sampling_prob=rate, value_discretization_interval=1e-4)
    return float(one.self_compose(steps).get_epsilon_for_delta(DELTA))


def loops(quick: bool) -> Iterator[Line | Note]:
    """Time and epsilon of both, and the width of hush's bracket."""
    for setting in LOOPS[2:3] if quick else LOOPS:
        yield from _loop(*setting)


def _loop(sigma: float, rate: float, steps: int) -> Iterator[Line | Note]:
    name = f"sigma {sigma:g}, rate {rate:.4g}, {steps:,} steps"
    found = _ours(sigma, rate, steps).epsilon_bracket(DELTA)
    width = 1e6 * (found.upper - found.lower) / found.upper
    both = f"{found.lower:.6f} to {found.upper:.6f}"
    yield Line(name, "width of the bracket, parts per million", width, "ppm", "lower", extra=both)
    try:
        made = race(
            lambda: _ours(sigma, rate, steps).epsilon(DELTA),
            lambda: _theirs(sigma, rate, steps),
            1 if steps > _LONG else 3,
            warm=False,
        )
    except ImportError:
        yield Note("dp-accounting is not installed here: hush's own numbers only.")
        return
    yield Line(name, "times as fast as dp_accounting", made.faster, "times", "higher", extra=made.extra)
    other = _theirs(sigma, rate, steps)
    excess = 1e6 * (other / found.upper - 1.0)
    shown = f"{other:.6f} and {found.upper:.6f}"
    yield Line(name, "dp_accounting's epsilon above hush's, parts per million", excess, "ppm", "higher", extra=shown)


BENCHMARKS = (
    Benchmark(
        key="accounting",
        title="Private training",
        measures=(
            "epsilon at delta = 1e-5 of many steps of Gaussian noise on Poisson samples: the time, the result of "
            "dp_accounting beside that of hush, and the width of hush's bracket."
        ),
        fair=(
            "Both results are upper bounds on the same number, so the smaller one is tighter. dp_accounting runs with "
            "its default grid of 1e-4 and connected dots. The bracket is computed outside the timing."
        ),
        rows="training",
        minutes=3.0,
        measure=loops,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
