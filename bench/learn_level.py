"""The error of the mean that a fit with too few rows releases, with and without the taper of `hush.learn.level`.

600 beta distributions of the target z in [-1, 1], with means that are normal with deviation 0.3 and deviations between
0.08 and 0.5, and 100 distributions that decay exponentially from the low end of the range, with scales between 0.1 and
0.8. The noise is Laplace's. An error is the mean squared error of the released mean, divided by the variance of the
target; the table has its mean over the distributions.

    python bench/learn_level.py
"""

from __future__ import annotations

import math

import numpy as np
from marker import table
from scipy.stats import beta

from hush.learn.level import NO_KNEE, level_wish, stretched, tapered
from hush.learn.means_and_spreads import shrunk_mean
from hush.learn.scaling import GRAIN, Span

POINTS, DRAWS = 2000, 100
#: the deviation of the noise of a plain mean of z
NOISES = (0.06, 0.08, 0.1, 0.15)
KNEE = 0.45
SPAN = Span(np.array([-1.0]), np.array([1.0]))
Array = np.ndarray


def _middles(count: int) -> Array:
    return (np.arange(count) + 0.5) / count


def beta_targets(count: int = 600) -> list[Array]:
    random, made = np.random.default_rng(3), []
    while len(made) < count:
        mean, spread = random.normal(0.0, 0.3), math.exp(random.uniform(math.log(0.08), math.log(0.5)))
        if abs(mean) > 0.95 or spread**2 >= 0.8 * (1.0 - mean**2):
            continue
        share = (mean + 1.0) / 2.0
        size = share * (1.0 - share) / (spread**2 / 4.0) - 1.0
        made.append(2.0 * beta.ppf(_middles(POINTS), share * size, (1.0 - share) * size) - 1.0)
    return made


def exponential_targets(count: int = 100) -> list[Array]:
    scales = np.exp(np.random.default_rng(4).uniform(math.log(0.1), math.log(0.8), count))
    return [np.minimum(-np.log1p(-_middles(POINTS)) * scale - 1.0, 1.0) for scale in scales]


def error(z: Array, knee: float, noise: float) -> float:
    """The mean squared error over the variance of z; a taper reduces the noise with the bound of a row."""
    own = noise * level_wish(knee).bound.linf / (2.0 * GRAIN)
    side = _middles(DRAWS) - 0.5
    draws = -np.sign(side) * np.log1p(-2.0 * np.abs(side)) * own / math.sqrt(2.0)
    means = shrunk_mean(tapered(z, SPAN, knee).mean() / GRAIN + draws, own)
    return float(np.mean([(stretched(float(mean), knee) - z.mean()) ** 2 for mean in means]) / z.var())


def main() -> None:
    rows = []
    for title, targets in (("beta", beta_targets()), ("exponential", exponential_targets())):
        for noise in NOISES:
            plain, taper = (float(np.mean([error(z, knee, noise) for z in targets])) for knee in (NO_KNEE, KNEE))
            rows.append([title, f"{noise:g}", f"{plain:.3f}", f"{taper:.3f}", f"{taper / plain:.2f}"])
    print(table(["targets", "noise of a plain mean", "plain mean", "with a taper", "ratio"], rows))


if __name__ == "__main__":
    main()
