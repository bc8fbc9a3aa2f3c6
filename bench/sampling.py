"""Exact draws against numpy's normal generator (neither exact nor secure) and OpenDP's exact samplers: ratios measured in one run."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable

import numpy as np

import hush

SIZE = 1_000_000
SMALL = [
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
    *(hush.Discrete(noise) for noise in (hush.Gaussian(10.0), hush.Laplace(10.0), hush.OSGT(10.0, 15.0), hush.FlippedHuber(10.0, 10.0))),
]
LARGE = [
    (hush.Gaussian(1e6), 0.2),
    (hush.Laplace(1e6), 0.2),
    (hush.OSGT(1e6, 1.5e6), 0.2),
    (hush.FlippedHuber(1e6, 1e6), 0.2),
    (hush.Stable(1.5, 1e6), 0.05),
    (hush.Stable(1.0, 1e6), 0.05),
]


def best(work: Callable[[], object], repeats: int = 7) -> float:
    """Seconds of the fastest run; the first, which builds tables, does not count."""
    work()
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        work()
        times.append(time.perf_counter() - start)
    return min(times)


def ratio_to_numpy(noise: hush.Noise) -> float:
    """Numpy's time over ours, alternated so that both meet the same load."""
    generator = np.random.default_rng()
    turns = [(best(lambda: generator.normal(size=SIZE), 4), best(lambda: hush.draw(noise, SIZE, 1.0), 4)) for _ in range(2)]
    return min(theirs for theirs, _ in turns) / min(ours for _, ours in turns)


def against_opendp() -> list[str]:
    """How many times as many draws a second as OpenDP's vector samplers, where it is installed."""
    try:
        import opendp.prelude as dp
    except ImportError:
        return ["OpenDP is not installed: `pip install opendp` and run again to compare"]
    dp.enable_features("contrib")
    lines = []
    space = dp.vector_domain(dp.atom_domain(T=int))
    cases = (
        ("discrete Laplace", space, dp.l1_distance(T=int), dp.m.make_laplace, hush.Discrete(hush.Laplace(10.0))),
        ("discrete Gaussian", space, dp.l2_distance(T=int), dp.m.make_gaussian, hush.Discrete(hush.Gaussian(10.0))),
    )
    for name, domain, metric, make, noise in cases:
        peer, zeros = make(domain, metric, scale=10.0), [0] * 20_000
        theirs = best(lambda peer=peer, zeros=zeros: peer(zeros), 2) / len(zeros)
        ours = best(lambda noise=noise: hush.draw(noise, SIZE)) / SIZE
        lines.append(f"  {name:28} {theirs / ours:8.0f}   at least 100: {'yes' if theirs >= 100 * ours else 'NO'}")
    return lines


def main() -> int:
    print(f"{SIZE} exact draws, speed as a multiple of numpy.random.Generator.normal in the same process")
    missed = 0
    for title, cases in (("scale 10 steps", [(noise, 0.5) for noise in SMALL]), ("scale a million steps", LARGE)):
        print(title)
        for noise, goal in cases:
            ratio = ratio_to_numpy(noise)
            missed += ratio < goal
            print(f"  {str(noise)[:52]:52} {ratio:6.2f}   goal {goal}{'' if ratio >= goal else '   MISSED'}")
    print("speed as a multiple of OpenDP's exact vector samplers")
    print("\n".join(against_opendp()))
    counts = np.random.default_rng(0).integers(0, 1000, SIZE)
    plan, book = hush.calibrate(1.0, 1e-6), hush.Ledger(None, epsilon=100.0, delta=1e-3)
    generator = np.random.default_rng()
    whole, plain = best(lambda: hush.release(counts, plan, ledger=book), 3), best(lambda: counts + generator.normal(size=SIZE))
    print(f"releasing a million counts takes {whole / plain:.1f} times adding numpy's normals to them")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
