"""A noise, a sensitivity and a lattice, joined: what is really released.

Values are put on the lattice of step h first, by k = floor(v/h + 1/2) in exact arithmetic. That map commutes with
shifts by whole steps and never falls, so a coordinate that moves by at most s moves by at most ceil(s/h) steps: the
sensitivity grows to that. Then whole numbers of steps are added: a continuous noise rounded to the lattice
(post-processing of the continuous mechanism, since the value is on the lattice already), or a noise that lives on it.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.ranking import Plan
from hush.errors import InvalidParameter, Unsupported, positive, whole
from hush.noise.contract import Law, Noise
from hush.noise.discrete import Discrete
from hush.numerics.rounding import FEW_ROUNDINGS, SPARE, next_up, round_up, up
from hush.privacy.charge import Charge, Guarantee
from hush.privacy.compose import curve
from hush.privacy.curve import Curve
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.exact import sampler_for

__all__ = ["FURTHEST", "Mechanism"]

#: Sums of value and noise are clipped here, in steps: half of where a draw saturates, so that clipping hides the
#: saturation.
FURTHEST = 1 << 61
_FINE = 16.0  # steps in the median of |noise|: rounding then costs less than 0.1 % of the variance
_FINER = 4096.0  # steps in a sensitivity that cannot be a whole number of steps
_LEAST = 2.0**-30  # the smallest step, as a share of the sensitivity: a smaller one leaves too small a range for values


def _grown(sensitivity: Sensitivity, step: float, *, integers: bool, coordinates: int) -> Sensitivity:
    """What the sensitivity becomes when every coordinate is rounded to the lattice."""
    if integers and _divides_one(step):
        return sensitivity  # whole numbers are on the lattice already

    def whole_steps(bound: float) -> float:
        return round_up(Fraction(step) * math.ceil(Fraction(bound) / Fraction(step)))

    linf = sensitivity.linf
    return dataclasses.replace(
        sensitivity,
        linf=tuple(whole_steps(s) for s in linf)
        if isinstance(linf, tuple)
        else None
        if linf is None
        else whole_steps(linf),
        l1=None if sensitivity.l1 is None else next_up(sensitivity.l1 + coordinates * step),
        l2=None
        if sensitivity.l2 is None
        else next_up(sensitivity.l2 + up(math.sqrt(coordinates) * step, FEW_ROUNDINGS)),
    )


def _divides_one(step: float) -> bool:
    """Is 1 a whole number of steps, exactly?"""
    return (1 / Fraction(step)).denominator == 1


def _power_of_two(at_most: float) -> float:
    return math.ldexp(1.0, math.frexp(at_most)[1] - 1)


def _chosen_step(noise: Law, sensitivity: Sensitivity, *, integers: bool, coordinates: int) -> float:
    """The largest step that costs under 0.1 % of accuracy and, where it can be, divides the sensitivity."""
    fine = float(np.asarray(noise.isf(0.25))) / _FINE
    if integers and fine < 2.0**24:
        return min(_power_of_two(max(fine, sensitivity.l2_bound * _LEAST)), 1.0)
    if sensitivity.is_box and isinstance(s := sensitivity.linf, float):
        halvings = (
            min(max(0, math.ceil(math.log2(s / fine))), -round(math.log2(_LEAST)))
            if fine > 0.0
            else -round(math.log2(_LEAST))
        )
        return math.ldexp(s, -halvings)  # s is then 2^halvings steps, and rounding adds nothing
    if sensitivity.is_box:  # a bound for each number
        return _power_of_two(0.5 * fine)
    each = min(sensitivity.linf) if isinstance(sensitivity.linf, tuple) else sensitivity.linf
    parts = [
        sensitivity.l1 and sensitivity.l1 / coordinates,
        sensitivity.l2 and sensitivity.l2 / math.sqrt(coordinates),
        each,
    ]
    return _power_of_two(min(0.5 * fine, min(part for part in parts if part) / _FINER))


@dataclass(frozen=True)
class Mechanism:
    """Noise added on a lattice: `noise` is the law added, `sensitivity` what it was before rounding, `step` the
    lattice's step.

    integers=True promises that values are whole numbers (a public fact, such as being counts). `coordinates` is how
    many numbers are released at once; only l1 and l2 sensitivities of rounded values depend on it.

    Guarantees: `curve` is the privacy of what `release` returns: it uses the sensitivity on the lattice.

    >>> from hush import Laplace
    >>> Mechanism(Laplace(2.0), 1.0, step=0.3).sensitivity_on_lattice.linf
    1.2
    """

    noise: Noise
    sensitivity: Sensitivity
    step: float
    integers: bool = False
    coordinates: int = 1
    #: what it was calibrated for; None where nothing was calibrated
    guarantee: Guarantee | None = field(default=None, compare=False)
    #: the charge that this mechanism is a part of, such as one column of a table; None where it is a charge by itself
    part_of: Charge | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.noise, Noise):
            raise InvalidParameter(f"noise must be a noise such as Laplace(2.0), got {self.noise!r}.")
        object.__setattr__(self, "sensitivity", Sensitivity.of(self.sensitivity))
        object.__setattr__(self, "step", positive("step", self.step, "write step=1.0"))
        whole("coordinates", self.coordinates)
        if self.noise.discrete and self.noise.step != self.step:
            raise Unsupported(f"{self.noise} lives on its own lattice; write step={self.noise.step!r}.")
        if self.noise.dimension not in (None, self.coordinates):
            raise InvalidParameter(
                f"{self.noise} is for {self.noise.dimension} numbers, but {self.coordinates} values are released."
            )
        known = self.sensitivity.dimension
        if self.part_of is None and known not in (None, self.coordinates):
            raise InvalidParameter(
                f"the sensitivity is of {known} number{'s' * (known != 1)}, but the mechanism is for {self.coordinates}; write for example "
                f"Sensitivity(linf=..., dimension={self.coordinates})."
            )
        linf = self.sensitivity.linf
        if isinstance(linf, tuple) and len(linf) != self.coordinates:
            raise InvalidParameter(
                f"the sensitivity lists {len(linf)} coordinates, but {self.coordinates} values are released."
            )

    @classmethod
    def of(cls, plan: Plan, *, integers: bool = False, coordinates: int = 1) -> Mechanism:
        """The plan on a lattice that costs less than 0.1 % of its accuracy, with the noise enlarged by what rounding
        adds.

        Noise and sensitivity enlarged together keep the curve: the plan's (epsilon, delta) holds.
        """
        noise = plan.noise if plan.step is None or plan.noise.discrete else Discrete(plan.noise, plan.step)
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
        """The same for a noise that keeps the guarantee under the sensitivity."""
        if noise.discrete:
            made = cls(noise, sensitivity, noise.step, integers, coordinates, guarantee)
            if made.sensitivity_on_lattice != sensitivity and not (guarantee.notion == "dp" and made.keeps_guarantee):
                raise Unsupported(
                    f"noise on a lattice of step {noise.step:g} keeps its guarantee for values on that lattice only; "
                    f"promise whole numbers (integers=True), or calibrate for {made.sensitivity_on_lattice!r}."
                )
            return made
        step = _chosen_step(noise.marginal, sensitivity, integers=integers, coordinates=coordinates)
        made = cls(noise, sensitivity, step, integers, coordinates, guarantee)
        if made._growth > 1.0:
            made = made._enlarged() if isinstance(sensitivity.linf, tuple) else made._scaled(made._growth)
        made.check_room()
        return made

    def _scaled(self, factor: float) -> Mechanism:
        return dataclasses.replace(self, noise=self.noise.scaled(up(factor, SPARE)))

    def _enlarged(self) -> Mechanism:
        """For coordinates of different bounds: a small enlargement that keeps the guarantee, on a finer lattice if
        none does.
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
            "these sensitivities are too far apart for one lattice; divide each coordinate by its own and release again."
        )

    @property
    def keeps_guarantee(self) -> bool:
        """Does the curve of what is released meet the guarantee?"""
        return self.guarantee is not None and self.guarantee.budget.covers(self.curve(self.guarantee.times))

    @property
    def limit(self) -> float:
        """Values, and answers, are limited to +- this: 2^61 steps."""
        return FURTHEST * self.step

    def check_room(self) -> None:
        """Refuse a lattice on which the noise itself would pass the limit: a public fact."""
        if not float(np.asarray(self.noise.marginal.isf(1e-6))) < 0.25 * self.limit:
            raise Unsupported(
                f"noise of this size passes the limit of a lattice of step {self.step:g}, {self.limit:.3g}; "
                "rescale the values, or divide each coordinate by its own sensitivity."
            )

    @property
    def sensitivity_on_lattice(self) -> Sensitivity:
        """The sensitivity after rounding."""
        return _grown(self.sensitivity, self.step, integers=self.integers, coordinates=self.coordinates)

    @property
    def _growth(self) -> float:
        """The factor that covers every bound of the sensitivity on the lattice."""
        before, after = self.sensitivity, self.sensitivity_on_lattice
        pairs = []
        for name in ("linf", "l1", "l2"):
            old, new = getattr(before, name), getattr(after, name)
            if old is not None:
                pairs += list(zip(old, new, strict=True)) if isinstance(old, tuple) else [(old, new)]
        return max(new / old for old, new in pairs)

    @property
    def rounds(self) -> bool:
        """True if rounding to the lattice can change a value; False for whole numbers when 1 is a multiple of the
        step.
        """
        return not (self.integers and _divides_one(self.step))

    @property
    def rounding_loss(self) -> float:
        """How much of the noise's variance rounding can add, values and draws together: at most step^2/3."""
        variance = self.noise.marginal.variance
        if self.noise.discrete:
            return 0.25 * self.step**2 / variance if self.rounds else 0.0
        return (1.0 / 3.0 if self.rounds else 1.0 / 12.0) * self.step**2 / variance

    def curve(self, times: int = 1) -> Curve:
        """The privacy curve of what is released."""
        return curve(self.noise, self.sensitivity_on_lattice, times=times)

    @property
    def charge(self) -> Charge:
        """What a ledger is charged for one release."""
        return self.part_of if self.part_of is not None else Charge(self.noise, self.sensitivity_on_lattice)

    def on_lattice(self, values: Any) -> NDArray[np.int64]:
        """Values as whole numbers of steps, floor(v/step + 1/2) exactly, limited to 2^61 steps."""
        array = np.asarray(values)
        if array.dtype.kind in "iub":
            return _steps_of_integers(array.ravel(), self.step).reshape(array.shape)
        if array.dtype.kind != "f" or array.dtype.itemsize > 8:  # wider numbers would be rounded twice
            raise InvalidParameter(
                f"values must be integers or floats of at most 64 bits, got an array of {array.dtype}."
            )
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            raise InvalidParameter("values must be finite numbers; a NaN or an infinity is among them.")
        return _steps_of_floats(array.ravel(), self.step).reshape(array.shape)

    def prepare(self) -> None:
        """Build and validate what the draws need, before anything is spent."""
        if self.noise.dimension is None:
            sampler_for(self.noise, self.step)

    def draw_shape(self, steps: NDArray[np.int64]) -> Any:
        """How many draws these steps take: one for each, or one joint draw for all of them."""
        return steps.shape if self.noise.dimension is None else steps.size // self.noise.dimension

    def value_of(self, steps: NDArray[np.int64]) -> NDArray[Any]:
        """Steps as values: integers where the step is one, else floats."""
        if self.step.is_integer() and self.step < 2.0**53 / max(1.0, float(np.abs(steps).max(initial=0))):
            return steps * int(self.step)
        return steps * self.step


def _steps_of_integers(values: NDArray[Any], step: float) -> NDArray[np.int64]:
    if _divides_one(step) and step < 2.0**-40:
        return _exactly([Fraction(int(v)) for v in values], step)
    if not _divides_one(step):
        small = bool((values <= 2**53).all() and (values >= -(2**53)).all()) if values.dtype.kind != "b" else True
        return (
            _steps_of_floats(values.astype(np.float64), step)
            if small
            else _exactly([Fraction(int(v)) for v in values], step)
        )
    per_unit = int(1.0 / step)
    most = FURTHEST // per_unit
    if values.dtype.kind == "u":
        values = np.minimum(values, np.uint64(most))
    return np.clip(values.astype(np.int64), -most, most) * per_unit


def _steps_of_floats(values: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """By a power of two the quotient is exact. Else fmod is, and (v - fmod(v, h))/h rounds to the right whole number
    below 2^50.
    """
    with np.errstate(over="ignore", under="ignore"):
        quotient = values / step
    if math.frexp(step)[0] == 0.5:
        quotient = np.clip(quotient, -float(FURTHEST), float(FURTHEST))
        steps = np.floor(quotient)
        return (steps + (quotient - steps >= 0.5)).astype(np.int64)
    near = np.abs(quotient) < 2.0**50
    calm = np.where(near, values, 0.0)
    rest = np.fmod(calm, step)
    out = (np.rint((calm - rest) / step) + (rest >= 0.5 * step) - (rest < -0.5 * step)).astype(np.int64)
    if not near.all():
        out[~near] = _exactly([Fraction(float(v)) for v in values[~near]], step)
    return out


def _exactly(values: list[Fraction], step: float) -> NDArray[np.int64]:
    whole_steps = [math.floor(v / Fraction(step) + Fraction(1, 2)) for v in values]
    return np.array([min(max(k, -FURTHEST), FURTHEST) for k in whole_steps], dtype=np.int64)
