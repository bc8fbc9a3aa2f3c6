"""Exact draws against numpy's normal generator (neither exact nor secure) and OpenDP's exact samplers, alternated in
one process.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

import numpy as np
from record import Benchmark, Line, Note, Race, main, race

import hush

SMALL: tuple[hush.Noise, ...] = (
    hush.Gaussian(10.0),
    hush.Laplace(10.0),
    hush.OSGT(10.0, 15.0),
    hush.FlippedHuber(10.0, 10.0),
    hush.TruncatedLaplace(10.0, 100.0),
    hush.ExponentialPower(1.5, 10.0),
    hush.Asinh(1.0, 10.0),
    hush.Stable(1.0, 10.0),
    hush.Stable(1.5, 10.0),
    hush.Staircase(0.1),
    hush.Stepped(5.0, (3.0, 2.0, 1.0, 0.5), 0.4, 2),
    *(
        hush.Discrete(noise)
        for noise in (hush.Gaussian(10.0), hush.Laplace(10.0), hush.OSGT(10.0, 15.0), hush.FlippedHuber(10.0, 10.0))
    ),
)
LARGE: tuple[hush.Noise, ...] = (
    hush.Gaussian(1e6),
    hush.Laplace(1e6),
    hush.OSGT(1e6, 1.5e6),
    hush.FlippedHuber(1e6, 1e6),
    hush.Stable(1.5, 1e6),
    hush.Stable(1.0, 1e6),
)


def draws(quick: bool) -> Iterator[Line]:
    """Numpy's time over ours, for every family."""
    size, rounds = (20_000, 2) if quick else (1_000_000, 7)
    generator = np.random.default_rng()
    column = "times as fast as numpy.random.Generator.normal"
    for noise in (*SMALL[: 4 if quick else None], *LARGE[: 1 if quick else None]):
        made = race(
            lambda noise=noise: hush.draw(noise, size, 1.0),  # type: ignore[misc]
            lambda: generator.normal(size=size),
            rounds,
            clock=time.process_time,
        )
        yield Line(str(noise), column, made.faster, "times", "higher", extra=made.extra)
    vectors = size // 10 if quick else size
    for joint in (hush.Interval(10, 1.0, 3.0), hush.Cube(10, 1.0), hush.Ball(10, 2.0), hush.Ball(10, 1e6))[
        : 1 if quick else None
    ]:
        made = race(
            lambda joint=joint: hush.draw(joint, vectors, 1.0),  # type: ignore[misc]
            lambda: generator.normal(size=(vectors, 10)),
            rounds,
            clock=time.process_time,
        )
        yield Line(f"{joint}, vectors", column, made.faster, "times", "higher", extra=made.extra)


def releases(quick: bool) -> Iterator[Line]:
    """The whole release of many counts against adding numpy's normals to them."""
    size, rounds = (20_000, 2) if quick else (1_000_000, 5)
    generator = np.random.default_rng()
    counts = np.random.default_rng(0).integers(0, 1000, size)
    one_of_them = hush.Sensitivity(linf=1.0, l0=1)  # one person changes at most one count
    plan, book = hush.calibrate(1.0, 1e-6, one_of_them), hush.Ledger(None, epsilon=1000.0, delta=1e-2)
    made = race(lambda: hush.release(counts, plan, ledger=book), lambda: counts + generator.normal(size=size), rounds)
    yield Line(
        f"releasing {size:,} counts",
        "times adding numpy's normals to them",
        made.slower,
        "times",
        "lower",
        extra=made.extra,
    )


def against_opendp(quick: bool) -> Iterator[Line | Note]:
    """How many times as many draws a second as OpenDP's vector samplers, on the same law."""
    try:
        import opendp.prelude as dp
    except ImportError:
        yield Note("OpenDP is not installed here and was left out.")
        return
    dp.enable_features("contrib")
    few, size, rounds = (1000, 20_000, 1) if quick else (20_000, 1_000_000, 5)
    space = dp.vector_domain(dp.atom_domain(T=int))
    kinds = (
        ("discrete Laplace", dp.l1_distance(T=int), dp.m.make_laplace, hush.Laplace),
        ("discrete Gaussian", dp.l2_distance(T=int), dp.m.make_gaussian, hush.Gaussian),
    )
    for scale in (10.0, 1000.0):
        for name, metric, make, family in kinds:
            peer, zeros, noise = make(space, metric, scale=scale), [0] * few, hush.Discrete(family(scale))
            both = race(lambda n=noise: hush.draw(n, size), lambda p=peer, z=zeros: p(z), rounds)  # type: ignore[misc]
            each = Race(both.ours / size, both.theirs / few)
            what = f"{name}, scale {scale:,.0f}"
            yield Line(
                what, "draws a second, times OpenDP's", each.faster, "times", "higher", extra=f"{each.extra} a draw"
            )


BENCHMARKS = (
    Benchmark(
        key="sampling",
        title="Exact draws",
        measures=(
            "A million draws of every family, on lattices where the scale is 10 and a million steps: speed as a "
            "multiple of numpy's normal generator."
        ),
        fair=(
            "Both sides draw in the same process, in turn. One round builds tables, and the least processor time of "
            "several later rounds counts. numpy draws "
            "floats from a generator that is neither secure nor exact; hush draws exactly, from AES-256. So numpy "
            "is a reference and not a competitor."
        ),
        rows="noise",
        minutes=0.6,
        measure=draws,
    ),
    Benchmark(
        key="release",
        title="A whole release",
        measures=(
            "Release of a million counts: rounding, ledger, exact noise and receipt, compared with adding numpy's "
            "normal draws."
        ),
        fair=(
            "Both sides use the same array in the same process, in turn. hush does everything that a private release "
            "needs; the other side does nothing of it."
        ),
        rows="job",
        minutes=0.1,
        measure=releases,
    ),
    Benchmark(
        key="sampling-opendp",
        title="Exact draws against OpenDP",
        measures=(
            "Draws per second of the same discrete distributions, as a multiple of OpenDP's vector measurements."
        ),
        fair=(
            "Both samplers are exact and secure. OpenDP gets vectors of 20,000 zeros, hush draws a million at "
            "once, and times are divided by the number of draws. OpenDP's time includes passing a Python list in "
            "and out, because it accepts nothing else."
        ),
        rows="law",
        minutes=0.3,
        measure=against_opendp,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
