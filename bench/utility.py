"""Variance of a grouped count at equal (epsilon, delta) and bounds: hush's choice beside what other tools add. Nothing is timed here.

Laplace as in PipelineDP and Tumult: continuous, scale l0/epsilon. Discrete Laplace as in OpenDP: on the integers, scale l0/epsilon.
Gaussian: the least sigma for l2 sensitivity sqrt(l0) (Balle and Wang 2018), which the tools above reach at best.
"""

from __future__ import annotations

import sys

import hush
from hush.noise.catalogue import in_words
from hush.tables.reach import Part, Reach
from hush.tables.spending import spending


def row(epsilon: float, delta: float, l0: int) -> tuple[float, float, float, float, str]:
    ours = spending(Reach(l0, (Part("n", ("n",), 1),)), epsilon, delta).plan
    laplace = 2.0 * (l0 / epsilon) ** 2
    on_integers = hush.Discrete(hush.Laplace(l0 / epsilon)).variance
    sigma = float(hush.gaussian.sigma(epsilon, delta, l0**0.5))
    return ours.variance, laplace, on_integers, sigma * sigma, in_words(ours.noise)


def main() -> int:
    larger = 0
    for epsilon, delta in ((1.0, 1e-6), (0.5, 1e-8)):
        print(f"variance of one count, epsilon = {epsilon:g}, delta = {delta:g}")
        print(f"{'groups per person':>18} {'hush':>10} {'Laplace':>10} {'discrete Laplace':>17} {'Gaussian':>10}   best rival / hush")
        for l0 in (1, 3, 10, 20):
            ours, laplace, on_integers, gaussian, family = row(epsilon, delta, l0)
            rival = min(laplace, on_integers, gaussian)
            larger += ours > rival
            print(f"{l0:18} {ours:10.4g} {laplace:10.4g} {on_integers:17.4g} {gaussian:10.4g}   {rival / ours:.4f} ({family})")
    print("hush is never larger" if not larger else f"hush is LARGER in {larger} rows")
    return 1 if larger else 0


if __name__ == "__main__":
    sys.exit(main())
