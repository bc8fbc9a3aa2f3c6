"""The lattice version of a continuous law: `Discrete(noise, step)`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, positive
from hush.noise.contract import Law
from hush.noise.family import Family, Reference
from hush.noise.gaussian import Gaussian
from hush.noise.lattice import MOST_POINTS, Lattice
from hush.noise.log_concave import LogConcave
from hush.noise.region import LossTerms
from hush.numerics.rounding import rounded_up
from hush.numerics.twofold import Twofold

__all__ = ["FAMILY", "Discrete"]

Array = NDArray[np.float64]

_RARE = 1e-300  # points with less probability beyond them are left out
_FURTHEST_TERM = 2e7  # points; sums of more take too long


@dataclass(frozen=True)
class Discrete(Lattice):
    """The lattice version of a log-concave law: P(X = k step) is proportional to noise.pdf(k step).

    Guarantees: every number is a sum over lattice points, because formulas of the continuous law do not hold for the
    lattice law. The loss log p(k)/p(k - n) falls with k because the density is log-concave, so the exceeding region is
    a half line of points.

    >>> from hush import OSGT
    >>> round(Discrete(OSGT(3, 40**0.5)).variance, 10)
    27.673837291
    """

    noise: Law
    step: float = 1.0

    def __post_init__(self) -> None:
        if not isinstance(self.noise, LogConcave):
            raise Unsupported(
                f"Discrete needs a log-concave noise, got {type(self.noise).__name__}; "
                "write for example Discrete(Gaussian(2.0), step=1.0)."
            )
        object.__setattr__(self, "step", positive("step", self.step, "write Discrete(Gaussian(2.0), step=1.0)"))
        if not self._surely_few_points and self.noise.isf(_RARE) / self.step > MOST_POINTS:
            least = self.noise.isf(_RARE) / MOST_POINTS
            raise Unsupported(
                f"a lattice of step {self.step:g} is too fine for {self.noise}; "
                f"use a step of at least {rounded_up(least, 3)}."
            )

    @property
    def _surely_few_points(self) -> bool:
        """Does a quick bound show that the lattice is not too fine?

        The hazard rate of a log-concave law grows, and at the centre it is 2 f(0). So P(X > x) <= exp(-2 f(0) x)/2.
        """
        base = self.noise
        assert isinstance(base, LogConcave)
        peak = math.exp(float(base.unit_log_density(Twofold(0.0)).hi))
        return math.log(0.5 / _RARE) / (2.0 * peak) * base.unit <= MOST_POINTS * self.step

    # -- the table of the points 0, 1, 2, ... ----------------------------------------------------------------

    def log_weights(self, k: Array) -> Twofold:
        """Return log p(k)/p(0) for points k >= 0, in twofold precision."""
        base = self.noise
        assert isinstance(base, LogConcave)
        y = Twofold(k) * self.step / base.unit
        fall = base.unit_log_density(y) - base.unit_log_density(Twofold(0.0))
        inside = k * self.step <= base.support
        return fall.where(inside, -np.inf)

    @cached_property
    def points(self) -> int:
        reach = min(self.noise.support, self.noise.isf(5e-324) * 1.01)
        return int(reach / self.step) + 2

    @cached_property
    def _log_table(self) -> Twofold:
        return self.log_weights(np.arange(self.points, dtype=np.float64))

    @cached_property
    def total_weight(self) -> float:
        with np.errstate(under="ignore"):
            weights = self._log_table.exp()
        return math.fsum(weights) * 2.0 - float(weights[0])

    @cached_property
    def masses(self) -> Array:
        with np.errstate(under="ignore"):
            return self._log_table.exp() / self.total_weight

    def log_mass(self, k: Array) -> Array:
        return self.log_weights(k).value() - math.log(self.total_weight)

    @lru_cache(maxsize=64)  # noqa: B019 - the class is frozen, and its table is kept as long as the cache
    def losses(self, n: int) -> tuple[Array, Array]:
        """Return the losses log p(k)/p(k - n) for k from n/2 downwards, which increase, and the probabilities p(k)."""
        k = np.arange(math.floor(n / 2), -self.points, -1, dtype=np.float64)
        here, there = self.log_weights(np.abs(k)), self.log_weights(np.abs(k - n))
        with np.errstate(invalid="ignore", under="ignore"):
            beyond = np.isneginf(there.hi)
            loss = np.where(beyond, np.inf, (here - there.where(~beyond, 0.0)).value())
            mass = here.exp() / self.total_weight
        on = np.isfinite(here.hi)
        return loss[on], mass[on]

    def loss_terms(self, shift: float, reach: float) -> LossTerms | None:
        """Return every lattice point up to `reach` times the length of the table; beyond it a formula gives p(k)."""
        n, far = self.steps_in(shift), reach * self.points
        if far > _FURTHEST_TERM:
            return None
        k = np.arange(-far, far + n + 1.0)
        here, there = self.log_weights(np.abs(k)), self.log_weights(np.abs(k - n))
        inside = np.isfinite(here.hi)
        beyond = np.isneginf(there.hi)
        with np.errstate(invalid="ignore"):
            loss = np.where(beyond, np.inf, (here - there.where(~beyond, 0.0)).value())
        return LossTerms(
            (here.value() - math.log(self.total_weight))[inside], loss[inside], complete=False, relative_error=1e-13
        )

    @property
    def subgaussian_proxy(self) -> float:
        """sigma^2 for the discrete Gaussian (Canonne, Kamath and Steinke 2020, Lemma 25); infinite for other laws."""
        return self.noise.subgaussian_proxy if self.noise.isotropic else math.inf

    @property
    def support(self) -> float:
        return self.noise.support

    @property
    def continuous(self) -> Law:
        return self.noise

    def scaled(self, k: float) -> Discrete:
        return Discrete(self.noise.scaled(k), self.step * positive("k", k))

    def power(self, ratio: Fraction, *, upwards: bool = True) -> Law:
        found = self.noise.power_on_lattice(ratio, self.step, upwards=upwards)
        return super().power(ratio, upwards=upwards) if found is None else found

    def widened(self, k: float) -> Discrete:
        return Discrete(self.noise.scaled(k), self.step)

    def plain(self) -> Discrete:
        inner = self.noise.plain()
        return self if inner is self.noise else Discrete(inner, self.step)

    def exact_max_loss(self, shift: float) -> Fraction | None:
        """Return the value of the continuous law, for the shift rounded to whole steps if that is larger."""
        steps = round(Fraction(shift) / Fraction(self.step))
        most = max(Fraction(shift), steps * Fraction(self.step))
        exact = self.noise.exact_max_loss(shift)
        return None if exact is None else exact * most / Fraction(shift)

    def atoms(self, shift: float) -> tuple[float, ...]:
        """Return the atoms of the continuous law for the discrete Laplace law; other lattice laws have too many."""
        return self.noise.atoms(shift) if self.noise.memoryless is not None else ()

    def max_loss(self, shift: float) -> float:
        self.steps_in(shift)
        return self.noise.max_loss(shift)


FAMILY = Family(
    "discrete",
    Discrete,
    paper="Canonne, Kamath and Steinke 2020",
    cites=("canonne2020", "ghosh2012"),
    ranked=False,  # calibrate(step=...) compares the continuous families and converts them to this law
    reference=Reference(Discrete(Gaussian(2.0)), 0.5, 0.054007223694154421),
)
