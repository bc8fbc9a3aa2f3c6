"""Speed as ratios, measured in one run on one machine; nothing here is asserted.

Each line compares two things done side by side: what hush does, and the yardstick named. A ratio above 1 in "times slower" is our cost over
a bare special function; a ratio in "times faster" is our gain over the obvious alternative. The peer, dp_accounting, is optional.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable

import numpy as np
from scipy.optimize import brentq
from scipy.special import log_ndtr, ndtr

import hush
from hush.privacy.composition import Composed
from hush.privacy.curve import OneNumber


def seconds(action: Callable[[], object], repeats: int = 5) -> float:
    """The least of several runs."""
    best = math.inf
    for _ in range(repeats):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def curves() -> None:
    """delta on 1e5 epsilons against scipy's log_ndtr on the same array."""
    epsilon = np.linspace(0.0, 5.0, 100_000)
    base = seconds(lambda: log_ndtr(epsilon))
    print("delta over 100 000 epsilons, times the cost of scipy.special.log_ndtr on the same array (goal: 20)")
    noises = (hush.Gaussian(1.0), hush.Laplace(2.0), hush.OSGT(3.0, 2.0), hush.FlippedHuber(2.0, 1.0), hush.FlippedHuber(31.9, 10.3))
    for noise in noises:
        print(f"  {noise!s:38} {seconds(lambda n=noise: hush.delta(n, epsilon)) / base:6.1f}")  # type: ignore[misc]


def amounts() -> None:
    """The optimal Gaussian amount for 1e4 pairs against a Python loop of brentq over 1e3 pairs."""
    random = np.random.default_rng(1)
    epsilon, delta = 10.0 ** random.uniform(-2, 1, 10_000), 10.0 ** random.uniform(-12, -2, 10_000)

    def gap(sigma: float, e: float, d: float) -> float:
        return float(ndtr(0.5 / sigma - e * sigma) - math.exp(e) * ndtr(-0.5 / sigma - e * sigma) - d)

    ours = seconds(lambda: hush.gaussian.sigma(epsilon, delta))
    loop = seconds(lambda: [brentq(gap, 1e-2, 1e5, args=(e, d)) for e, d in zip(epsilon[:1000], delta[:1000], strict=True)], 2)
    print(f"gaussian.sigma, 10 000 pairs, against a brentq loop over 1 000: {loop / ours:.1f} times faster (goal: 1)")


def mixed(count: int) -> list[tuple[hush.Noise, float, int]]:
    """Alternating Laplace and Gaussian releases, all different."""
    return [(hush.Laplace(20.0 + i) if i % 2 else hush.Gaussian(20.0 + i), 1.0, 1) for i in range(count)]


def composition() -> None:
    """epsilon at delta = 1e-6 of composed releases, against dp_accounting's privacy loss distributions at their default grid."""
    cases = {
        "1000 Laplace, scale 50": lambda: hush.curve(hush.Laplace(50.0), times=1000).epsilon_upper(1e-6),
        "1000 Gaussian, sigma 30": lambda: hush.curve(hush.Gaussian(30.0), times=1000).epsilon_upper(1e-6),
        "the same, by transforms": lambda: Composed(((OneNumber(hush.Gaussian(30.0), 1.0), 1000),), 1e-6).epsilon_upper(1e-6),
        "100 mixed": lambda: hush.compose(mixed(100)).epsilon_upper(1e-6),
    }
    try:
        peers = _peer_cases()
    except ImportError:
        peers = {}
        print("composition (install dp-accounting to compare with it)")
    for name, ours in cases.items():
        mine = seconds(ours, 3)
        line = f"  {name:26} {1000 * mine:8.1f} ms, epsilon {float(np.asarray(ours())):.8f}"
        if name in peers:
            theirs = seconds(peers[name], 2)
            line += f"; dp_accounting {1000 * theirs:8.1f} ms, epsilon {peers[name]():.8f}: {theirs / mine:.1f} times faster (goal: 5)"
        print(line)


def _peer_cases() -> dict[str, Callable[[], float]]:
    from dp_accounting.pld import privacy_loss_distribution as pld

    def epsilon(distribution: object) -> float:
        return float(distribution.get_epsilon_for_delta(1e-6))  # type: ignore[attr-defined]

    def blend() -> float:
        total = None
        for noise, _, _ in mixed(100):
            part = pld.from_laplace_mechanism(noise.scale) if isinstance(noise, hush.Laplace) else pld.from_gaussian_mechanism(noise.sigma)  # type: ignore[attr-defined]
            total = part if total is None else total.compose(part)
        return epsilon(total)

    return {
        "1000 Laplace, scale 50": lambda: epsilon(pld.from_laplace_mechanism(50.0).self_compose(1000)),
        "1000 Gaussian, sigma 30": lambda: epsilon(pld.from_gaussian_mechanism(30.0).self_compose(1000)),
        "100 mixed": blend,
    }


def calibration() -> None:
    """A cold calibration over all families."""
    for name, sensitivity, delta in (("one number", 1.0, 1e-6), ("l0 = 20", hush.Sensitivity(linf=1.0, l0=20), 1e-8)):
        start = time.perf_counter()
        plan = hush.calibrate(1.0, delta, sensitivity)
        took = time.perf_counter() - start
        print(f"calibrate, {name}: {took:.2f} s, {plan.family} with variance {plan.variance:.6g}")


if __name__ == "__main__":
    curves()
    amounts()
    composition()
    calibration()
