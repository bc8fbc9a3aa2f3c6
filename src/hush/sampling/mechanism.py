"""`Mechanism`: a noise, a sensitivity and a lattice. It describes exactly what a release computes.

First, values are rounded to the lattice of step h, k = floor(v/h + 1/2), in exact arithmetic. This map commutes with
shifts by whole steps and is monotone, so a coordinate that moves by at most s moves by at most ceil(s/h) steps. The
sensitivity is raised accordingly. Then a whole number of steps is added: either a continuous noise rounded to the
lattice (which is post-processing of the continuous mechanism, because the value is already on the lattice), or a noise
on that lattice. Under `Scaled` noise each number has its own lattice: its factor times the step.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.ranking import Plan
from hush.errors import InvalidParameter, Unsupported, positive, shown, whole
from hush.noise.contract import Noise
from hush.noise.discrete import Discrete
from hush.noise.level_noise import LevelNoise
from hush.noise.made_of import MadeOf
from hush.noise.normal_mixture import NormalMixture
from hush.noise.scaled import Scaled
from hush.numerics.rounding import SPARE, up
from hush.privacy.charge import Charge, Guarantee
from hush.privacy.compose import curve
from hush.privacy.curve import Curve
from hush.privacy.sensitivity import Sensitivity
from hush.privacy.units import in_units
from hush.sampling.exact import sampler_for
from hush.sampling.joint import levels
from hush.sampling.lattice_step import chosen_step, rounded_sensitivity, rounded_to_steps
from hush.sampling.normal_draws import NormalDraws
from hush.sampling.whole_steps import FURTHEST, divides_one, whole_steps

__all__ = ["FURTHEST", "Mechanism"]


@dataclass(frozen=True)
class Mechanism:
    """Noise added on a lattice of the given `step` (times its factor, for each number of `Scaled` noise);
    `sensitivity` is that of the values before rounding.

    integers=True states that all values are whole numbers, as a public fact: for example, because they are counts.
    `coordinates` is the number of values that are released together; it matters for l1 and l2 sensitivities only.

    Guarantees: `curve` is the privacy of the output of `release`: it uses the sensitivity after rounding.

    >>> from hush import Laplace
    >>> Mechanism(Laplace(2.0), 1.0, step=0.3).sensitivity_on_lattice.linf
    1.2
    """

    noise: Noise
    sensitivity: Sensitivity
    step: float
    integers: bool = False
    coordinates: int = 1
    #: The guarantee that the noise was calibrated for; None if it was not calibrated.
    guarantee: Guarantee | None = field(default=None, compare=False)
    #: The larger charge that includes this mechanism, such as that of a table with several columns; None if it is
    #: charged separately.
    part_of: Charge | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.noise, Noise):
            raise InvalidParameter(
                f"noise must be a hush noise, got {shown(self.noise)}; write for example Laplace(2.0)."
            )
        object.__setattr__(self, "sensitivity", Sensitivity.of(self.sensitivity))
        object.__setattr__(self, "step", positive("step", self.step, "write step=1.0"))
        whole("coordinates", self.coordinates)
        if self.noise.discrete and self.noise.step != self.step:
            raise Unsupported(f"{self.noise} has its own lattice; write step={shown(self.noise.step)}.")
        if self.noise.dimension not in (None, self.coordinates):
            raise InvalidParameter(
                f"{self.noise} is for {self.noise.dimension} numbers, but {self.coordinates} values are released."
            )
        if self.steps is not None and any(
            Fraction(self.step) * Fraction(factor) != Fraction(one)
            for factor, one in zip(self.noise.factors or (), self.steps.tolist(), strict=True)
        ):
            raise Unsupported("a step times a factor is not a float; use noise whose step is a power of two.")
        known = self.sensitivity.dimension
        if self.part_of is None and known not in (None, self.coordinates):
            raise InvalidParameter(
                f"the sensitivity is of {known} number{'s' * (known != 1)}, "
                f"but the mechanism is for {self.coordinates}; "
                f"write for example Sensitivity(linf=..., dimension={self.coordinates})."
            )
        linf = self.sensitivity.linf
        if isinstance(linf, tuple) and len(linf) != self.coordinates:
            raise InvalidParameter(
                f"the sensitivity lists {len(linf)} coordinates, but {self.coordinates} values are released."
            )

    @classmethod
    def of(cls, plan: Plan, *, integers: bool = False, coordinates: int = 1) -> Mechanism:
        """Return the mechanism of a plan, on a lattice that costs less than 0.1 % of its accuracy.

        Rounding raises the sensitivity, and the noise is scaled by the same factor. The curve stays the same, so the
        (epsilon, delta) of the plan holds.
        """
        if plan.rate is not None:
            raise Unsupported(
                "this plan is for releases on Poisson samples of the people, which a mechanism does not draw; draw the "
                "sample, add hush.draw(plan.noise), and spend hush.subsample(plan.noise, plan.rate, plan.sensitivity)."
            )
        noise = plan.noise if plan.step is None or plan.noise.discrete else Discrete(plan.law, plan.step)
        return cls.fitted(noise, plan.sensitivity, plan.guarantee, integers=integers, coordinates=coordinates)

    @classmethod
    def fitted(
        cls,
        noise: Noise,
        sensitivity: Sensitivity,
        guarantee: Guarantee,
        *,
        integers: bool = False,
        coordinates: int = 1,
    ) -> Mechanism:
        """Return the mechanism for a noise that meets the guarantee under the sensitivity, as `of` does for a plan."""
        if noise.factors is not None:  # the same for the numbers divided by their factors
            unit = in_units(sensitivity, noise.factors)
            inner = cls.fitted(noise.base, unit, guarantee, coordinates=coordinates)
            return cls(Scaled(inner.noise, noise.factors), sensitivity, inner.step, integers, coordinates, guarantee)
        if noise.discrete:
            made = cls(noise, sensitivity, noise.step, integers, coordinates, guarantee)
            if made.sensitivity_on_lattice != sensitivity and not (guarantee.notion == "dp" and made.keeps_guarantee):
                raise Unsupported(
                    f"noise on a lattice of step {noise.step:g} meets its guarantee for values on that lattice only; "
                    f"write integers=True if all values are whole numbers, or calibrate for "
                    f"{shown(made.sensitivity_on_lattice)}."
                )
            return made
        step = chosen_step(noise.marginal, sensitivity, integers=integers, coordinates=coordinates)
        made = cls(noise, sensitivity, step, integers, coordinates, guarantee)
        if made._growth > 1.0:
            made = made._enlarged() if isinstance(sensitivity.linf, tuple) else made._scaled(made._growth)
        made.check_room()
        return made

    def _scaled(self, factor: float) -> Mechanism:
        return dataclasses.replace(self, noise=self.noise.scaled(up(factor, SPARE)))

    def _enlarged(self) -> Mechanism:
        """Return the mechanism with the least of a few enlargements of the noise that meets the guarantee.

        It is for coordinates with different bounds. If no enlargement is enough, the lattice is made finer.
        """
        assert self.guarantee is not None
        made, budget, times = self, self.guarantee.budget, self.guarantee.times
        for _ in range(40):
            for factor in (1.0, 1.0001, 1.0002, 1.0004):
                larger = made._scaled(factor)
                if factor >= made._growth or budget.covers(larger.curve(times)):
                    return larger
            made = dataclasses.replace(made, step=0.25 * made.step)
        raise Unsupported(
            "the sensitivities of the coordinates differ too much for one lattice; "
            "divide each coordinate by its sensitivity and release again."
        )

    @property
    def keeps_guarantee(self) -> bool:
        """True if the curve of the output meets the guarantee."""
        return self.guarantee is not None and self.guarantee.budget.covers(self.curve(self.guarantee.times))

    @property
    def steps(self) -> NDArray[np.float64] | None:
        """The step of each number, exactly, if they differ; None if all have the step `step`."""
        return None if self.noise.factors is None else self.step * np.array(self.noise.factors)

    @property
    def limit(self) -> Any:
        """The largest absolute value of a value or an answer, 2^61 steps; larger ones are clipped. One for each number
        if their steps differ.
        """
        return FURTHEST * (self.step if self.steps is None else self.steps)

    def check_room(self) -> None:
        """Raise if the noise alone may exceed the limit of the lattice. The check depends on public facts only."""
        limit = FURTHEST * self.step
        if not float(np.asarray(self.noise.base.marginal.isf(1e-6))) < 0.25 * limit:
            raise Unsupported(
                f"noise of this size exceeds the limit {limit:.3g} of a lattice of step {self.step:g}; "
                "rescale the values, or divide each coordinate by its sensitivity."
            )

    @property
    def sensitivity_on_lattice(self) -> Sensitivity:
        """The sensitivity after rounding."""
        if self.steps is not None:
            return rounded_to_steps(self.sensitivity, tuple(self.steps.tolist()))
        return rounded_sensitivity(self.sensitivity, self.step, integers=self.integers, coordinates=self.coordinates)

    @property
    def _growth(self) -> float:
        """The largest factor by which rounding raises a bound of the sensitivity."""
        before, after = self.sensitivity, self.sensitivity_on_lattice
        pairs = []
        for name in ("linf", "l1", "l2", "columns"):
            old, new = getattr(before, name), getattr(after, name)
            if old is not None:
                pairs += list(zip(old, new, strict=True)) if isinstance(old, tuple) else [(old, new)]
        return max(new / old for old, new in pairs)

    @property
    def rounds(self) -> bool:
        """True if rounding to the lattice can change a value: not for whole numbers if 1 is a multiple of the step."""
        each = [self.step] if self.steps is None else self.steps.tolist()
        return not (self.integers and all(divides_one(step) for step in each))

    @property
    def rounding_loss(self) -> float:
        """The largest variance that rounding of values and draws can add, at most step^2/3, divided by the variance."""
        variance = float(np.min(self.noise.base.variance))  # of the number with the least noise
        if self.noise.discrete:
            return 0.25 * self.step**2 / variance if self.rounds else 0.0
        return (1.0 / 3.0 if self.rounds else 1.0 / 12.0) * self.step**2 / variance

    def curve(self, times: int = 1) -> Curve:
        """Return the privacy curve of the output."""
        return curve(self.noise, self.sensitivity_on_lattice, times=times)

    @property
    def charge(self) -> Charge:
        """The charge to a ledger for one release."""
        return self.part_of if self.part_of is not None else Charge(self.noise, self.sensitivity_on_lattice)

    def on_lattice(self, values: Any) -> NDArray[np.int64]:
        """Return the values as whole numbers of steps, floor(v/step + 1/2) exactly, limited to 2^61 steps."""
        if self.steps is None:
            return whole_steps(values, self.step)
        array, each = np.asarray(values), self.steps.tolist()
        found = [whole_steps(value, each[place % len(each)]) for place, value in enumerate(array.ravel())]
        return np.array(found, dtype=np.int64).reshape(array.shape)

    def prepare(self) -> None:
        """Build and validate the tables of the draws. Call it before anything is spent."""
        noise = self.noise.base
        if noise.dimension is None:
            sampler_for(noise, self.step)
        elif isinstance(noise, LevelNoise):
            levels(noise)
        elif isinstance(noise, NormalMixture):
            NormalDraws(noise, self.step)
        elif isinstance(noise, MadeOf):
            for law, step in noise.sources:
                sampler_for(law, step)

    def draw_shape(self, steps: NDArray[np.int64]) -> Any:
        """Return the shape of the draws for these values: one draw for each, or one joint draw for each vector."""
        return steps.shape if self.noise.dimension is None else steps.size // self.noise.dimension

    def value_of(self, steps: NDArray[np.int64]) -> NDArray[Any]:
        """Convert steps to values: integers if the step is a whole number and they fit, floats otherwise."""
        if self.steps is not None:
            return steps * np.resize(self.steps, steps.size).reshape(steps.shape)
        if self.step.is_integer() and self.step < 2.0**53 / max(1.0, float(np.abs(steps).max(initial=0))):
            return steps * int(self.step)
        return steps * self.step
