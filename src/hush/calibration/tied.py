"""Families that are tied to the budget: their noise follows from epsilon and delta, with a root at most."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np

from hush.calibration.demand import FINE, Demand
from hush.calibration.scale import at_scale, least, typical
from hush.errors import Unsupported
from hush.noise.contract import Law
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.skellam import Skellam
from hush.noise.staircase import Staircase, least_mean_abs_gamma, least_variance_gamma
from hush.noise.stepped import Stepped
from hush.noise.truncated_laplace import TruncatedLaplace
from hush.privacy import gaussian

__all__ = ["DIRECT", "flipped_huber_kink", "gaussian_noise", "laplace_noise", "regime", "rough_size", "truncated_laplace_noise"]


def gaussian_noise(demand: Demand) -> Law:
    if demand.delta == 0.0:
        raise Unsupported("Gaussian noise has no pure epsilon")
    reach = demand.bound.l2_bound * math.sqrt(demand.times)
    method = "pdp_optimal" if demand.notion == "pdp" else "optimal"
    amount = float(np.asarray(gaussian.sigma(demand.epsilon, demand.delta, reach, method=method)))
    if demand.step is not None:
        return at_scale(demand, Gaussian(1.0), amount, fine=True)
    noise = Gaussian(amount)
    while demand.notion == "dp" and not demand.meets(noise):  # times and l0 enter through a rounded square root
        noise = Gaussian(noise.sigma * (1.0 + 1e-15))
    return noise


def laplace_noise(demand: Demand) -> Law:
    """Laplace noise: the pure scale, and then less of it by what delta buys.

    As the scale falls by e^-u below the pure one, delta grows from 0 like a power of u: nearly linear in log u, so that is what is solved.
    """
    if not demand.bound.is_box:
        return at_scale(demand, Laplace(1.0), rough_size(demand), fine=True)
    total = math.fsum(shift * count for shift, count in demand.bound.shifts) * demand.times
    pure = total / demand.epsilon * (1.0 + 1e-15)
    if demand.delta == 0.0:
        return demand.on_lattice(Laplace(pure))

    def noise_at(x: float) -> Law:
        return demand.on_lattice(Laplace(pure * math.exp(-math.exp(-x))))

    first = max(-math.log(2.0 * demand.delta), 0.0) - 0.69 * min(demand.count, 30)
    tolerance = 1e-13 * math.exp(min(max(first, 0.0), 12.0)) if demand.count == 1 else 1e-7
    try:
        return least(demand, noise_at, max(first, 0.0), relative=FINE, tolerance=tolerance)
    except Unsupported:
        noise = demand.on_lattice(Laplace(pure))
        if not demand.meets(noise):
            raise
        return noise


def skellam_noise(demand: Demand) -> Law:
    """Skellam noise on the lattice that is asked for: the least sigma, from the Gaussian's on."""
    if demand.step is None:
        raise Unsupported("Skellam noise lives on a lattice; write step=1.0")
    if demand.delta == 0.0:
        raise Unsupported("Skellam noise has no pure epsilon")
    step, reach = demand.step, demand.bound.l2_bound * math.sqrt(demand.times)
    first = float(np.asarray(gaussian.sigma(demand.epsilon, demand.delta, reach)))
    tolerance = 1e-13 if demand.bound.is_box and demand.count == 1 else 1e-7
    return least(demand, lambda x: Skellam(math.exp(x), step), math.log(first), relative=FINE, tolerance=tolerance)


def staircase_noise(demand: Demand) -> Law:
    """The staircase at epsilon per one-dimensional release: pure, whatever delta is."""
    if not demand.plain:
        raise Unsupported("the staircase is proved for one linf with l0 only")
    if demand.step is not None:
        raise Unsupported("a staircase on a lattice of its own step is the discrete Laplace")
    share = demand.epsilon / demand.count * (1.0 - 1e-15 * (demand.count > 1))
    gamma = least_mean_abs_gamma(share) if demand.loss == "mae" else least_variance_gamma(share)
    return Staircase(share, demand.shift, gamma)


def truncated_laplace_noise(demand: Demand) -> Law:
    """Scale from epsilon, bound from delta: each release spends its share of delta on the uncovered edge."""
    if not demand.plain:
        raise Unsupported("truncated Laplace is proved for one linf with l0 only")
    if demand.delta == 0.0:
        raise Unsupported("truncated Laplace has no pure epsilon")
    share = demand.epsilon / demand.count
    edge = -math.expm1(math.log1p(-demand.delta) / demand.count)
    scale = demand.shift / share * (1.0 + 1e-15)
    bound = scale * math.log1p(math.expm1(min(share, 700.0)) / (2.0 * edge))
    for rise in (0.0, 1e-14, 1e-13, 1e-12, 1e-10, 1e-8):
        noise = demand.on_lattice(TruncatedLaplace(scale, bound * (1.0 + rise)))
        if demand.meets(noise):
            return noise
    raise Unsupported("truncated Laplace could not be certified for this budget")


def truncated_staircase_noise(demand: Demand) -> Law:
    """A staircase cut off where delta allows: nearly the optimum of the linear programme, without solving it (one number only)."""
    if not demand.plain or demand.count != 1 or demand.step is not None:
        raise Unsupported("step noise is calibrated for one number only")
    if demand.delta == 0.0:
        raise Unsupported("without delta the step noise is the staircase")
    cells = 64
    edge = math.log1p(math.expm1(min(demand.epsilon, 700.0)) / (2.0 * demand.delta)) / demand.epsilon
    if edge * cells > 50_000:
        raise Unsupported("epsilon is too small for step noise; the truncated Laplace is as good there")
    best: tuple[float, Law] | None = None
    index = np.arange(math.ceil((edge + 2.0) * cells) + cells)
    for steps in range(0, cells + 1, 2):
        level = np.floor(index / cells) + ((index % cells) >= steps)
        heights = np.exp(-demand.epsilon * level)
        mass = np.cumsum(heights)
        exposed = heights_exposed(heights, mass, cells)
        enough = np.flatnonzero(exposed <= demand.delta * (1.0 - 1e-12))
        if not enough.size:
            continue
        kept = int(enough[0]) + 1
        noise = Stepped(demand.shift / cells, tuple(heights[:kept]))
        value = demand.value(noise)
        if best is None or value < best[0]:
            best = (value, noise)
    if best is None or not demand.meets(best[1]):
        raise Unsupported("step noise could not be certified for this budget")
    return best[1]


def heights_exposed(heights: np.ndarray, mass: np.ndarray, cells: int) -> np.ndarray:
    """For a cut after each cell: the mass of the outermost `cells` cells on one side, as a share of the whole (both sides)."""
    inner = np.concatenate([np.zeros(min(cells, mass.size)), mass[:-cells]])
    return np.where(np.arange(mass.size) >= cells - 1, (mass - inner) / (2.0 * mass), 1.0)


def flipped_huber_kink(demand: Demand) -> FlippedHuber | None:
    """The flipped Huber whose flat loss, times the number of releases, is exactly epsilon (erratum A9): one root in b = alpha/gamma."""
    if not demand.plain or demand.delta == 0.0 or demand.step is not None:
        return None
    share = demand.epsilon / demand.count

    def noise_at(b: float) -> FlippedHuber:
        gamma = b * demand.shift / share * (1.0 + 1e-14)
        return FlippedHuber(b * gamma, gamma)

    low, high = math.sqrt(share), math.sqrt(share) + 40.0
    relative = FINE if demand.count > 1 else 0.0
    if demand.excess(noise_at(high), relative) > 0.0:
        return None
    if demand.excess(noise_at(low), relative) <= 0.0:
        return noise_at(low)
    at_low, at_high = demand.excess(noise_at(low), relative), demand.excess(noise_at(high), relative)
    for turn in range(60):
        part = 0.5 if turn % 3 == 2 or at_high < -50.0 else at_low / (at_low - at_high)
        middle = low + min(max(part, 0.001), 0.999) * (high - low)
        value = demand.excess(noise_at(middle), relative)
        low, at_low, high, at_high = (low, at_low, middle, value) if value <= 0.0 else (middle, value, high, at_high)
        if high - low < 1e-9 * high or at_high > -1e-9:
            break
    return noise_at(high)


def rough_size(demand: Demand) -> float:
    """A first guess of the noise's size: the better of the Gaussian and the pure Laplace."""
    sizes = []
    if demand.delta > 0.0:
        reach = demand.bound.l2_bound * math.sqrt(demand.times)
        sizes.append(float(np.asarray(gaussian.sigma(demand.epsilon, demand.delta, reach))))
    if demand.bound.is_box:
        total = math.fsum(shift * count for shift, count in demand.bound.shifts) * demand.times
        sizes.append(typical(Laplace(total / demand.epsilon)))
    return min(sizes) if sizes else demand.bound.l2_bound * demand.times / demand.epsilon


def regime(demand: Demand) -> float:
    """r = variance of pure Laplace over that of the Gaussian: which shape is best depends on little else."""
    if demand.delta == 0.0 or not demand.plain:
        return 1.0
    sigma = float(np.asarray(gaussian.sigma(demand.epsilon, demand.delta)))
    return 2.0 * (demand.count / demand.epsilon) ** 2 / (demand.count * sigma * sigma)


#: Families whose noise follows from the budget without a search for its shape.
DIRECT: dict[str, Callable[[Demand], Law]] = {
    "gaussian": gaussian_noise,
    "laplace": laplace_noise,
    "skellam": skellam_noise,
    "staircase": staircase_noise,
    "truncated_laplace": truncated_laplace_noise,
    "stepped": truncated_staircase_noise,
}
