"""Noise that lives on a lattice, analysed by its own sums."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, epsilons, positive, probabilities, reals, reject
from hush.noise.contract import Noise, Region
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.log_concave import LogConcave
from hush.numerics.bracket import unwrap
from hush.numerics.twofold import Twofold

__all__ = ["Discrete"]

Array = NDArray[np.float64]

#: The table holds every lattice point whose probability is a float; a finer lattice than this is refused.
MOST_POINTS = 4_000_000


@dataclass(frozen=True)
class Discrete(Noise):
    """The lattice version of a log-concave family: P(X = k step) proportional to noise.pdf(k step).

    Guarantees: every answer is a sum over lattice points (rule 2 of the design: the continuous formula is no certificate for a lattice
    noise). The loss log p(k)/p(k - n) falls with k because the density is log-concave, so the exceeding region is a half line of points.

    >>> from hush import OSGT
    >>> round(Discrete(OSGT(3, 40**0.5)).variance, 10)
    27.673837291
    """

    noise: Noise
    step: float = 1.0
    discrete: ClassVar[bool] = True
    relative_error: ClassVar[float] = 5e-13

    def __post_init__(self) -> None:
        if not isinstance(self.noise, LogConcave):
            raise Unsupported(
                f"Discrete needs a log-concave noise, got {type(self.noise).__name__}; write for example Discrete(Gaussian(2.0), step=1.0)."
            )
        object.__setattr__(self, "step", positive("step", self.step, "write Discrete(Gaussian(2.0), step=1.0)"))
        if self.noise.isf(1e-300) / self.step > MOST_POINTS:
            least = self.noise.isf(1e-300) / MOST_POINTS
            raise Unsupported(f"a lattice of step {self.step:g} is too fine for {self.noise}; use a step of at least {least:.3g}.")

    # -- the table: points 0, 1, 2, ... of the half line ---------------------------------------------------------------

    def _log_weights(self, k: Array) -> Twofold:
        """log of the unnormalised probability of point k >= 0, relative to point 0, twofold."""
        base = self.noise
        assert isinstance(base, LogConcave)
        y = Twofold(k) * self.step / base._unit
        fall = base._log_density(y) - base._log_density(Twofold(0.0))
        inside = k * self.step <= base.support
        return fall.where(inside, -np.inf)

    @cached_property
    def _points(self) -> int:
        reach = min(self.noise.support, self.noise.isf(5e-324) * 1.01)
        return int(reach / self.step) + 2

    @cached_property
    def _log_table(self) -> Twofold:
        return self._log_weights(np.arange(self._points, dtype=np.float64))

    @cached_property
    def _total(self) -> float:
        with np.errstate(under="ignore"):
            weights = self._log_table.exp()
        return math.fsum(weights) * 2.0 - float(weights[0])

    @cached_property
    def _masses(self) -> Array:
        with np.errstate(under="ignore"):
            return self._log_table.exp() / self._total

    @cached_property
    def _at_least(self) -> Array:
        """P(X >= k step) for k = 0, 1, 2, ..., summed from the far end in extended precision, with a 0 to close."""
        sums = np.cumsum(self._masses[::-1].astype(np.longdouble))[::-1].astype(np.float64)
        return np.append(sums, 0.0)

    def _upper(self, k: Array) -> Array:
        """P(X >= k step) for whole numbers k of either sign."""
        near = np.clip(k, 0, self._points).astype(np.int64)
        mirrored = np.clip(1.0 - k, 0, self._points).astype(np.int64)
        return np.where(k > 0, self._at_least[near], 1.0 - self._at_least[mirrored])

    def _index(self, x: Array) -> Array:
        """x in steps, snapped to the whole number it stands for."""
        k = np.clip(x / self.step, -1e15, 1e15)
        near = np.round(k)
        return np.where(np.abs(k - near) <= 1e-9 * np.maximum(np.abs(near), 1.0), near, k)

    # -- distribution --------------------------------------------------------------------------------------------------

    def _logpdf(self, x: Array) -> Array:
        k = self._index(np.abs(x))
        on = (k == np.floor(k)) & np.isfinite(x)
        log_mass = self._log_weights(np.where(on, k, 0.0)).value() - math.log(self._total)
        return np.where(on, log_mass, -np.inf)

    def sf(self, x: Any) -> Any:
        """P(X > x)."""
        return unwrap(self._upper(np.floor(self._index(reals("x", x))) + 1.0))

    def cdf(self, x: Any) -> Any:
        """P(X <= x)."""
        return unwrap(self._upper(-np.floor(self._index(reals("x", x)))))

    def logsf(self, x: Any) -> Any:
        """log P(X > x)."""
        with np.errstate(divide="ignore"):
            return unwrap(np.log(self.sf(x)))

    def logcdf(self, x: Any) -> Any:
        """log P(X <= x)."""
        with np.errstate(divide="ignore"):
            return unwrap(np.log(self.cdf(x)))

    def ppf(self, u: Any) -> Any:
        """The least lattice point x with P(X <= x) >= u."""
        u = probabilities("u", u)
        falling = -self._at_least
        low = np.searchsorted(falling, -u, side="right") - 1  # largest k with P(X >= k) >= u, so x = -k
        high = np.searchsorted(falling[1:], -(1.0 - u), side="left")  # least k with P(X >= k + 1) <= 1 - u
        k = np.where(u <= self._at_least[0], -low.astype(np.float64), high.astype(np.float64))
        end = self.noise.support
        return unwrap(np.where(u <= 0.0, -end, np.where(u >= 1.0, end, k * self.step + 0.0)))

    def isf(self, u: Any) -> Any:
        """The least lattice point x with P(X > x) <= u."""
        u = probabilities("u", u)
        falling = -self._at_least
        high = np.searchsorted(falling[1:], -u, side="left")
        low = np.searchsorted(falling, -(1.0 - u), side="right") - 1
        k = np.where(u < 1.0 - self._at_least[0], high.astype(np.float64), -low.astype(np.float64))
        k = np.where((u >= 1.0 - self._at_least[0]) & (u <= self._at_least[1]), high.astype(np.float64), k)
        end = self.noise.support
        return unwrap(np.where(u <= 0.0, end, np.where(u >= 1.0, -end, k * self.step + 0.0)))

    # -- moments -------------------------------------------------------------------------------------------------------

    def _moment(self, power: int) -> float:
        k = np.arange(self._points, dtype=np.float64)
        return 2.0 * math.fsum(self._masses * k**power) * self.step**power

    @property
    def variance(self) -> float:
        return self._moment(2)

    @property
    def mean_abs(self) -> float:
        return self._moment(1)

    @property
    def fisher_information(self) -> float:
        """Infinite: a lattice law moved by less than a step shares no point with itself."""
        return math.inf

    @property
    def subgaussian_proxy(self) -> float:
        """sigma^2 for the discrete Gaussian (Canonne, Kamath and Steinke 2020, Lemma 25); none is claimed for others."""
        return self.noise.subgaussian_proxy if isinstance(self.noise, Gaussian) else math.inf

    @property
    def support(self) -> float:
        return self.noise.support

    def scaled(self, k: float) -> Discrete:
        return Discrete(self.noise.scaled(k), self.step * positive("k", k))

    # -- privacy -------------------------------------------------------------------------------------------------------

    def _steps_in(self, shift: float) -> int:
        shift = positive("shift", shift)
        n = round(shift / self.step)
        if n < 1 or abs(shift - n * self.step) > 1e-12 * shift:
            lower = max(n, 1) * self.step
            raise Unsupported(
                f"answers on a lattice of step {self.step:g} move by whole steps, not by {shift:g}; write sensitivity={lower:g}."
            )
        return n

    @lru_cache(maxsize=64)  # noqa: B019 - frozen, and the table it reads lives as long
    def _losses(self, n: int) -> tuple[Array, Array]:
        """Losses log p(k)/p(k - n) at k = n/2, then downwards, and the probabilities there (losses rise along the way)."""
        k = np.arange(math.floor(n / 2), -self._points, -1, dtype=np.float64)
        here, there = self._log_weights(np.abs(k)), self._log_weights(np.abs(k - n))
        with np.errstate(invalid="ignore", under="ignore"):
            beyond = np.isneginf(there.hi)
            loss = np.where(beyond, np.inf, (here - there.where(~beyond, 0.0)).value())
            mass = here.exp() / self._total
        on = np.isfinite(here.hi)
        return loss[on], mass[on]

    def exceeds(self, epsilon: Any, shift: float) -> Region:
        epsilon = epsilons("epsilon", epsilon)
        if (epsilon < 0.0).any():
            raise reject("epsilon", epsilon, "0 or greater", "the curve covers negative epsilon by symmetry")
        n = self._steps_in(shift)
        loss, _ = self._losses(n)
        first = np.searchsorted(loss, epsilon, side="right")  # how many points from n/2 downwards stay at or below epsilon
        top = math.floor(n / 2) - first.astype(np.float64)
        # halfway to the next point, so that the open interval holds exactly the lattice points up to `top`
        upper = np.where(first < loss.size, (top + 0.5) * self.step, -np.inf)[..., None]
        return Region(np.full_like(upper, -np.inf), upper)

    def surplus(self, region: Region, epsilon: Array, shift: float) -> Array:
        """Sum over the points of the region of p(k) (1 - e^(epsilon - loss)): every term positive."""
        epsilon = np.asarray(epsilon, dtype=np.float64)
        loss, mass = self._losses(self._steps_in(shift))
        chunk = max(1, 4_000_000 // max(loss.size, 1))
        flat, total = epsilon.ravel(), np.zeros(epsilon.size)
        with np.errstate(under="ignore"):
            for start in range(0, flat.size, chunk):
                below = np.minimum(flat[start : start + chunk, None] - loss, 0.0)
                total[start : start + chunk] = np.sum(-np.expm1(below) * mass, axis=1)
        return total.reshape(epsilon.shape)

    def atoms(self, shift: float) -> tuple[float, ...]:
        """Of a discrete Laplace law those of its continuous one; other lattices have too many to align with."""
        return self.noise.atoms(shift) if isinstance(self.noise, Laplace) else ()

    def max_loss(self, shift: float) -> float:
        self._steps_in(shift)
        return self.noise.max_loss(shift)
