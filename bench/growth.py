"""How cost grows: calibration and composition with groups per person and with repetitions, sampling with size and
with scale.
"""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Iterator

from record import Benchmark, Line, alternate, growth, main, seconds

import hush

DELTA = 1e-6


def _cold(action: Callable[[float], object], repeats: int) -> float:
    """The median time over budgets a hair apart, none of which was asked before: hush remembers what it has
    calibrated.
    """
    return statistics.median(seconds(lambda k=k: action(1.0 + 0.001 * k)) for k in range(repeats))  # type: ignore[misc]


def _warm_up() -> None:
    """Tables that every calibration shares are made before anything is timed."""
    hush.calibrate(1.7, 1e-5, hush.Sensitivity(linf=1.0, l0=3))


def calibration_groups(quick: bool) -> Iterator[Line]:
    sizes = (1, 3) if quick else (1, 3, 10, 30, 100, 300, 1000)
    _warm_up()
    for column, family, repeats in (
        ("all families", None, 1),
        ("Laplace", "laplace", 3),
        ("flipped Huber", "flipped_huber", 3),
    ):

        def timed(l0: int, family: str | None = family, repeats: int = repeats) -> float:
            return _cold(
                lambda epsilon: hush.calibrate(epsilon, DELTA, hush.Sensitivity(linf=1.0, l0=l0), family=family),
                repeats,
            )

        if not (quick and family is None):
            yield from growth(column, "groups per person", sizes, timed)


def calibration_times(quick: bool) -> Iterator[Line]:
    sizes = (1, 10) if quick else tuple(10**k for k in range(7))
    _warm_up()
    for column, family, repeats in (
        ("all families", None, 1),
        ("Laplace", "laplace", 3),
        ("flipped Huber", "flipped_huber", 3),
    ):

        def timed(times: int, family: str | None = family, repeats: int = repeats) -> float:
            return _cold(lambda epsilon: hush.calibrate(epsilon, DELTA, family=family, times=times), repeats)

        if not (quick and family is None):
            yield from growth(column, "repetitions", sizes, timed)


def composition(quick: bool) -> Iterator[Line]:
    sizes = (1, 100) if quick else tuple(10**k for k in range(7))
    families: dict[str, Callable[[float], hush.Noise]] = {
        "Laplace": hush.Laplace,
        "flipped Huber": lambda scale: hush.FlippedHuber(scale, scale),
        "stable, alpha 1.7": lambda scale: hush.Stable(1.7, scale),
    }
    for column, family in families.items():

        def timed(times: int, family: Callable[[float], hush.Noise] = family) -> float:
            # the scale grows with the root of the repetitions, so that epsilon stays in the range of use; each time a
            # new one
            scales = iter(10.0 * math.sqrt(times) * (1.0 + 0.01 * k) for k in range(9))
            action = {"": lambda: hush.curve(family(next(scales)), times=times).epsilon(DELTA)}
            return statistics.median(alternate(action, 1 if quick else 3)[""])

        yield from growth(column, "repetitions", sizes, timed)


def composition_parts(quick: bool) -> Iterator[Line]:
    sizes = (1, 10) if quick else (1, 3, 10, 30, 100, 300, 1000)
    forms: dict[str, Callable[[int, float], hush.Curve]] = {
        "groups of one release": lambda n, scale: hush.curve(hush.Laplace(scale), hush.Sensitivity(linf=1.0, l0=n)),
        "repetitions of one release": lambda n, scale: hush.curve(hush.Laplace(scale), times=n),
        "different releases": lambda n, scale: hush.compose([(hush.Laplace(scale + k / n), 1.0, 1) for k in range(n)]),
    }
    for column, form in forms.items():

        def timed(count: int, form: Callable[[int, float], hush.Curve] = form) -> float:
            scales = iter(10.0 * math.sqrt(count) * (1.0 + 0.01 * k) for k in range(9))
            return statistics.median(
                alternate({"": lambda: form(count, next(scales)).epsilon(DELTA)}, 1 if quick else 3)[""]
            )

        yield from growth(column, "parts", sizes, timed)


def sampling_size(quick: bool) -> Iterator[Line]:
    sizes = (100, 10_000) if quick else tuple(10**k for k in range(2, 8))
    noises = {
        "Laplace, scale 10": hush.Laplace(10.0),
        "Gaussian, scale a million": hush.Gaussian(1e6),
        "stable, scale 10": hush.Stable(1.5, 10.0),
    }
    for column, noise in noises.items():

        def timed(size: int, noise: hush.Noise = noise) -> float:
            return min(alternate({"": lambda: hush.draw(noise, size, 1.0)}, 2 if quick or size > 10**6 else 7)[""])

        yield from growth(column, "draws", sizes, timed)


def sampling_scale(quick: bool) -> Iterator[Line]:
    sizes = (1, 1000) if quick else tuple(10**k for k in range(10))
    families: dict[str, Callable[[float], hush.Noise]] = {
        "Laplace": hush.Laplace,
        "Gaussian": hush.Gaussian,
        "flipped Huber": lambda s: hush.FlippedHuber(s, s),
    }
    count = 10_000 if quick else 1_000_000
    for column, family in families.items():

        def timed(scale: int, family: Callable[[float], hush.Noise] = family) -> float:
            noise = family(float(scale))
            return min(alternate({"": lambda: hush.draw(noise, count, 1.0)}, 2 if quick else 4)[""])

        yield from growth(column, "steps in a scale", sizes, timed)


_EXPLAINED = (
    "There is no competitor: every column is compared with itself. Cells are times as multiples of the "
    "first row of the column, all from one process; "
)

BENCHMARKS = (
    Benchmark(
        key="growth-calibration-groups",
        title="Growth: calibration with groups per person",
        measures=(
            "Time of a calibration without a cache at epsilon = 1 and delta = 1e-6, if a person is in 1 to 1000 groups."
        ),
        fair=_EXPLAINED + ("shared tables were built before, and no budget is repeated."),
        rows="groups per person",
        minutes=1.5,
        measure=calibration_groups,
    ),
    Benchmark(
        key="growth-calibration-times",
        title="Growth: calibration with repetitions",
        measures=(
            "Time of a calibration without a cache at epsilon = 1 and delta = 1e-6, for one number that is "
            "released 1 to a million times."
        ),
        fair=_EXPLAINED + ("shared tables were built before, and no budget is repeated."),
        rows="repetitions",
        minutes=2.0,
        measure=calibration_times,
    ),
    Benchmark(
        key="growth-composition",
        title="Growth: composition with repetitions",
        measures="Time of a certified epsilon for 1 to a million repetitions of one release.",
        fair=_EXPLAINED
        + (
            "the scale grows with the square root of the repetitions, so that epsilon stays near 1, and no noise "
            "is repeated."
        ),
        rows="repetitions",
        minutes=0.5,
        measure=composition,
    ),
    Benchmark(
        key="growth-composition-parts",
        title="Growth: composition with groups, repetitions and different releases",
        measures=(
            "Time of a certified epsilon of Laplace noise in 1 to 1000 groups, repeated 1 to 1000 times, or as 1 "
            "to 1000 releases of different scales."
        ),
        fair=_EXPLAINED + ("no noise is repeated; each different release needs one discretisation."),
        rows="parts",
        minutes=0.5,
        measure=composition_parts,
    ),
    Benchmark(
        key="growth-sampling-size",
        title="Growth: sampling with the number of draws",
        measures="Time of 100 to 10 million exact draws of three noises.",
        fair=_EXPLAINED + ("the least of several rounds; tables were built before."),
        rows="draws",
        minutes=0.2,
        measure=sampling_size,
    ),
    Benchmark(
        key="growth-sampling-scale",
        title="Growth: sampling with the scale",
        measures=("Time of a million exact draws if the scale is 1 to 1e9 lattice steps."),
        fair=_EXPLAINED + ("the least of several rounds; tables were built before."),
        rows="steps in a scale",
        minutes=0.5,
        measure=sampling_scale,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
