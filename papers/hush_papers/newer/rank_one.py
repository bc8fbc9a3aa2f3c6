"""Ji and Li (USENIX Security 2024): rank-1 singular Gaussian noise, and what its calibration really gives.

The noise is r u, where u is uniform on the unit sphere of R^M and r is normal with mean 0 and variance s^2. The
abstract states the expected squared error of the calibrated mechanism for sensitivity 1: at least

    C_R = 2/(epsilon psi),        psi = (delta Gamma((M - 1)/2) / (sqrt(pi) Gamma(M/2)))^(2/(M - 2)),

and E |r u|^2 = s^2. So s^2 = C_R is the calibration.

A lower bound on its true delta: let a neighbour move the answer by 1 along the first axis, and let an attacker guess by
the first coordinate T = r u_1 alone. For every a

    delta >= P(T < a) - e^epsilon P(T < a - 1),

because {x: x_1 < a} is one set of outputs. The density of u_1 at c is
(1 - c^2)^((M-3)/2) Gamma(M/2)/(sqrt(pi) Gamma((M-1)/2)).
"""

from __future__ import annotations

import math

import numpy as np
from scipy import special

import hush
from hush_papers.item import Context, Grid, Item, compare

__all__ = ["least_delta", "printed_loss", "rank_one"]

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(400)
_REACH = 12.0  # standard deviations of u_1; beyond them its probability is below 1e-30


def printed_loss(epsilon: float, delta: float, m: int) -> float:
    """C_R: the expected squared error of the published calibration, for sensitivity 1."""
    shape = math.log(delta) + special.gammaln((m - 1) / 2) - 0.5 * math.log(math.pi) - special.gammaln(m / 2)
    return 2.0 / epsilon * math.exp(-2.0 / (m - 2) * shape)


def least_delta(epsilon: float, variance: float, m: int) -> float:
    """A lower bound on the delta of rank-1 noise: the best of many half-spaces."""
    ends = np.linspace(0.01, 3.0, 600)
    below = _below(np.concatenate((ends, ends - 1.0)), math.sqrt(variance), m)
    return max(0.0, float(np.max(below[: ends.size] - math.exp(epsilon) * below[ends.size :])))


def _below(at: np.ndarray, deviation: float, m: int) -> np.ndarray:
    """P(r u_1 < at) by Gauss quadrature over u_1 > 0."""
    top = min(1.0, _REACH / math.sqrt(m))
    c, weight = (_NODES + 1.0) / 2.0 * top, _WEIGHTS / 2.0 * top
    constant = math.exp(special.gammaln(m / 2) - special.gammaln((m - 1) / 2)) / math.sqrt(math.pi)
    density = constant * np.exp((m - 3) / 2 * np.log1p(-np.minimum(c * c, 1.0 - 1e-16)))
    above = (density * weight * 2.0 * special.ndtr(-np.abs(at)[:, None] / (deviation * c))).sum(axis=1)
    return np.where(at < 0.0, above, 1.0 - above)


def rank_one(context: Context) -> Item:
    """The true delta of the published calibration at (1, 1e-6)."""
    epsilon, delta = 1.0, 1e-6
    gaussian = float(hush.calibrate(epsilon, delta, family="gaussian").variance)
    sizes = (20, 100, 1000) if context.quick else (10, 20, 50, 100, 1000, 10_000)
    found = {m: least_delta(epsilon, printed_loss(epsilon, delta, m), m) for m in sizes}
    rows = tuple(
        compare(
            f"M = {m}, epsilon = 1: delta of the mechanism that is calibrated for delta = 1e-6, at least",
            "1e-6",
            found[m],
            function="hush_papers.newer.rank_one.least_delta",
            why="An attacker who looks at one coordinate along the difference of two neighbours tells them apart.",
        )
        for m in (20, 100, 1000)
    )
    text = (
        "The abstract states that the expected error falls with the number of answers M, towards 2/epsilon. The error "
        "is the sum over M directions, and along each direction the noise must hide a move by 1; so no noise can do "
        f"that. The published calibration is not private: at (1, 1e-6) its delta is at least {found[20]:.2g} for 20 "
        f"answers and {found[1000]:.6g} for 1,000. The proof needs nothing but the formula of the abstract and one "
        "coordinate of the output. For few answers (M = 10) this test finds nothing; that does not mean that the "
        f"mechanism is private there. The Gaussian mechanism has a total squared error of {gaussian:.4g} M at this "
        "budget."
    )
    grid = Grid(
        "Rank-1 noise at the published calibration for (1, 1e-6)",
        ("M", "total squared error, published", "delta, at least", "total squared error, Gaussian"),
        tuple((m, printed_loss(epsilon, delta, m), found[m], gaussian * m) for m in sizes),
    )
    return Item("newer-rank-one", "Ji and Li 2024, abstract", "Rank-1 Gaussian noise", text, rows, grids=(grid,))
