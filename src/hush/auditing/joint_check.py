"""Checks of a joint noise: its draws against its covariance, its laws and its reach, and its curves for monotonicity.

The false alarm rate is shared: 2/5 each for the covariance and the marginal law, 1/10 each for the density and the
reach.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import HushError, Unsupported
from hush.noise.contract import Noise
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.exact import draw

__all__ = ["FALSE_ALARM", "joint_rows"]

#: The probability that a correct joint noise is reported as wrong, in total. The covariance part is approximate
#: (normal).
FALSE_ALARM = 1e-6
_DRAWS = 20_000

Row = tuple[str, str, str]
Array = NDArray[np.float64]


def joint_rows(noise: Noise) -> Iterator[Row]:
    """(name, state, detail) of each comparison."""
    try:
        dimension = noise.dimension
        assert dimension is not None and dimension >= 1
        spread = float(np.sqrt(np.min(np.diag(np.asarray(noise.covariance)))))
        step: float = noise.step if noise.discrete else math.ldexp(1.0, math.floor(math.log2(spread)) - 6)
        sample = draw(noise, _DRAWS, step).astype(np.float64) * step
    except Exception as failure:  # the class under test may fail in any way
        yield "draws", "wrong", _message(failure)
        return
    yield _tried("covariance", lambda: _covariance(noise, sample))
    yield _tried("marginal", lambda: _marginal(noise, sample, step))
    yield _tried("joint density", lambda: _density(noise, sample, step))
    yield _tried("reach", lambda: _reach(noise, sample, step))
    yield _tried("scaled", lambda: _scaled(noise))
    yield _tried("pair", lambda: _pair(noise))


def _tried(name: str, run: Callable[[], str]) -> Row:
    try:
        return name, "ok", run()
    except Unsupported as failure:  # a noise may omit what it does not need
        return name, "absent", _message(failure)
    except Exception as failure:  # as above
        return name, "wrong", _message(failure)


def _message(failure: Exception) -> str:
    return f"{'' if isinstance(failure, HushError) else type(failure).__name__ + ': '}{failure}".rstrip(".")


class _Wrong(HushError):
    """A comparison that failed."""


def _covariance(noise: Noise, sample: Array) -> str:
    """Means of products against the matrix, each within its standard error times the normal quantile."""
    stated = np.asarray(noise.covariance, dtype=np.float64)
    count, dimension = sample.shape
    if stated.shape != (dimension, dimension) or not np.allclose(stated, stated.T, rtol=1e-12, atol=0.0):
        raise _Wrong(f"covariance must be a symmetric matrix of {dimension} times {dimension}")
    quantile = _normal_quantile(0.2 * FALSE_ALARM / dimension**2)
    for i in range(dimension):
        products = sample[:, [i]] * sample
        seen, error = products.mean(axis=0), products.std(axis=0) / math.sqrt(count)
        # the last term allows for the rounding to the lattice
        far = np.abs(seen - stated[i]) > quantile * error + 1e-3 * stated[i, i]
        if far.any():
            j = int(np.argmax(far))
            raise _Wrong(
                f"E X_{i} X_{j} is {stated[i, j]:.6g}, draws show {seen[j]:.6g} with a standard error of {error[j]:.2g}"
            )
    return f"{count} draws agree (false alarm rate {FALSE_ALARM:g})"


def _normal_quantile(tail: float) -> float:
    from scipy.special import ndtri

    return -float(ndtri(tail))


def _marginal(noise: Noise, sample: Array, step: float) -> str:
    """Dvoretzky, Kiefer and Wolfowitz with Massart's constant, for every number, with a tolerance of one step."""
    count, dimension = sample.shape
    allowed = math.sqrt(math.log(5.0 * dimension / FALSE_ALARM) / (2.0 * count))
    for i in range(dimension):
        law: Any = noise.marginal_of(i)
        values, times = np.unique(sample[:, i], return_counts=True)
        reached = np.cumsum(times) / count
        before = np.asarray(law.cdf(values - 0.5 * step)), np.asarray(law.cdf(values + 1.5 * step))
        off = max(float(np.max(before[0] - reached)), float(np.max(reached - before[1])))
        if off > allowed:
            raise _Wrong(f"the distribution of number {i} differs by {off:.3g}, more than {allowed:.3g}")
    return f"{count} draws agree (false alarm rate {FALSE_ALARM:g})"


def _density(noise: Noise, sample: Array, step: float) -> str:
    """E p(X + v)/p(X) = 1 for every density p without zeros and every move v: all numbers, and the first alone."""
    spread = float(np.sqrt(np.min(np.diag(np.asarray(noise.covariance)))))
    far = step * max(1, round(0.25 * spread / step))
    here = noise.log_density_of(sample)
    quantile = _normal_quantile(0.025 * FALSE_ALARM)
    for name, move in (("all numbers", np.ones(sample.shape[1])), ("the first number", np.eye(sample.shape[1])[0])):
        ratio = np.exp(noise.log_density_of(sample + far * move) - here)
        error = float(ratio.std()) / math.sqrt(len(ratio))
        # the last term allows for the rounding to the lattice
        if not abs(float(ratio.mean()) - 1.0) <= quantile * error + 2e-3:
            raise _Wrong(
                f"log_density_of is not the density of the draws: after a move of {name} by {far:.3g} the mean ratio "
                f"of densities is {ratio.mean():.6g}, not 1, with a standard error of {error:.2g}"
            )
    return f"{len(sample)} draws agree (false alarm rate {FALSE_ALARM:g})"


def _reach(noise: Noise, sample: Array, step: float) -> str:
    """The widths that the noise states for all numbers at once and for their sum hold for draws."""
    allowed, count, spare = 0.1, len(sample), 0.0 if noise.discrete else 0.5 * step
    most = allowed + _normal_quantile(0.05 * FALSE_ALARM) * math.sqrt(allowed * (1.0 - allowed) / count)
    ones = np.ones(sample.shape[1])
    stated = {"all numbers": (noise.reach_of_all(allowed), np.abs(sample).max(axis=1), spare)}
    stated["the sum"] = noise.reach_of_sum(ones, allowed), np.abs(sample.sum(axis=1)), spare * len(ones)
    for name, (width, seen, rounding) in stated.items():
        if width is not None and (seen > width + rounding).mean() > most:
            share = (seen > width + rounding).mean()
            raise _Wrong(
                f"the reach of {name} at probability {allowed:g} is {width:.6g}, draws exceed it in {share:.3g}"
            )
    known = [name for name, (width, _, _) in stated.items() if width is not None]
    if not known:
        raise Unsupported("the noise states no reach; bands and sums use bounds")
    return f"{count} draws agree for {' and '.join(known)} (false alarm rate {FALSE_ALARM:g})"


def _scaled(noise: Noise) -> str:
    wider = noise.scaled(2.0)
    if not np.allclose(np.asarray(wider.covariance), 4.0 * np.asarray(noise.covariance), rtol=1e-9, atol=0.0):
        raise _Wrong("the covariance of scaled(2) is not four times this one")
    return "scaled(2) has four times the covariance"


def _pair(noise: Noise) -> str:
    """For every sensitivity with a theorem, delta is in [0, 1] and falls with epsilon."""
    epsilon = np.linspace(0.0, 8.0, 33)
    known = []
    for name, bound in _bounds(int(noise.dimension or 1)):
        curve = noise.pair(bound)
        if curve is None:
            continue
        delta = np.asarray(curve.delta(epsilon))
        if not ((delta >= 0.0) & (delta <= 1.0)).all() or (np.diff(delta) > 1e-12).any():
            raise _Wrong(f"the privacy curve under {name} does not fall from at most 1 to at least 0")
        known.append(name)
    return (
        f"falls with epsilon, under {', '.join(known)}"
        if known
        else "the noise defines no curve for linf, l1 or l2 of 1"
    )


def _bounds(dimension: int) -> Iterator[tuple[str, Sensitivity]]:
    yield "linf", Sensitivity(linf=1.0, l0=dimension)
    yield "l1", Sensitivity(l1=1.0)
    yield "l2", Sensitivity(l2=1.0)
