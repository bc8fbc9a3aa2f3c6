"""A noise, a sensitivity and a lattice, joined: what is really released.

Values are put on the lattice of step h first, by k = floor(v/h + 1/2) in exact arithmetic. That map commutes with shifts by whole steps
and never falls, so a coordinate that moves by at most s moves by at most ceil(s/h) steps: the sensitivity grows to that. Then whole
numbers of steps are added: a continuous noise rounded to the lattice (post-processing of the continuous mechanism, since the value is on
the lattice already), or a noise that lives on it.
"""

from __future__ import annotations

import dataclasses
import math
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.calibrate import Plan
from hush.errors import InvalidParameter, Unsupported, positive, whole
from hush.noise.contract import Law
from hush.noise.discrete import Discrete
from hush.noise.lattice import Lattice
from hush.privacy.curve import Curve
from hush.privacy.vector import curve
from hush.sampling.entropy import Bits, Entropy
from hush.sampling.exact import draw, draw_from, sampler_for
from hush.sensitivity import Sensitivity

__all__ = ["FURTHEST", "Mechanism"]

#: Sums of value and noise are clipped here, in steps: half of where a draw saturates, so that clipping hides the saturation.
FURTHEST = 1 << 61
_FINE = 16.0  # steps in the median of |noise|: rounding then costs less than 0.1 % of the variance
_FINER = 4096.0  # steps in a sensitivity that cannot be a whole number of steps
_LEAST = 2.0**-30  # of a sensitivity: finer steps would leave too little room for values in 2^61 of them


def _grown(sensitivity: Sensitivity, step: float, *, integers: bool, coordinates: int) -> Sensitivity:
    """What the sensitivity becomes when every coordinate is rounded to the lattice."""
    if integers and _divides_one(step):
        return sensitivity  # whole numbers are on the lattice already

    def up(bound: float) -> float:
        steps = math.ceil(Fraction(bound) / Fraction(step))
        exact = Fraction(step) * steps
        return float(exact) if Fraction(float(exact)) >= exact else math.nextafter(float(exact), math.inf)

    linf = sensitivity.linf
    if isinstance(linf, tuple):
        return dataclasses.replace(sensitivity, linf=tuple(up(s) for s in linf))
    return dataclasses.replace(
        sensitivity,
        linf=None if linf is None else up(linf),
        l1=None if sensitivity.l1 is None else math.nextafter(sensitivity.l1 + coordinates * step, math.inf),
        l2=None if sensitivity.l2 is None else math.nextafter(sensitivity.l2 + math.sqrt(coordinates) * step * (1.0 + 1e-15), math.inf),
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
        halvings = min(max(0, math.ceil(math.log2(s / fine))), -round(math.log2(_LEAST))) if fine > 0.0 else -round(math.log2(_LEAST))
        return math.ldexp(s, -halvings)  # s is then 2^halvings steps, and rounding adds nothing
    if isinstance(sensitivity.linf, tuple):
        return _power_of_two(0.5 * fine)
    parts = [sensitivity.l1 and sensitivity.l1 / coordinates, sensitivity.l2 and sensitivity.l2 / math.sqrt(coordinates), sensitivity.linf]
    return _power_of_two(min(0.5 * fine, min(part for part in parts if part) / _FINER))


@dataclass(frozen=True)
class Mechanism:
    """Law added on a lattice: `noise` is the law added, `sensitivity` what it was before rounding, `step` the lattice's step.

    integers=True promises that values are whole numbers (a public fact, such as being counts). `coordinates` is how many numbers are
    released at once; only l1 and l2 sensitivities of rounded values depend on it.

    Guarantees: `curve` is the privacy of what `release` returns: it uses the sensitivity on the lattice.

    >>> from hush import Laplace
    >>> Mechanism(Laplace(2.0), 1.0, step=0.3).sensitivity_on_lattice.linf
    1.2
    """

    noise: Law
    sensitivity: Sensitivity
    step: float
    integers: bool = False
    coordinates: int = 1
    #: the pair it was calibrated for, over this many releases, and the notion of privacy; None where nothing was calibrated
    claim: tuple[float, float, int, str] | None = field(default=None, compare=False)

    def __post_init__(self) -> None:
        if not isinstance(self.noise, Law):
            raise InvalidParameter(f"noise must be a noise such as Laplace(2.0), got {self.noise!r}.")
        object.__setattr__(self, "sensitivity", Sensitivity.of(self.sensitivity))
        object.__setattr__(self, "step", positive("step", self.step, "write step=1.0"))
        whole("coordinates", self.coordinates)
        if isinstance(self.noise, Lattice) and self.noise.step != self.step:
            raise Unsupported(f"{self.noise} lives on its own lattice; write step={self.noise.step!r}.")
        linf = self.sensitivity.linf
        if isinstance(linf, tuple) and len(linf) != self.coordinates:
            raise InvalidParameter(f"the sensitivity lists {len(linf)} coordinates, but {self.coordinates} values are released.")

    @classmethod
    def of(cls, plan: Plan, *, integers: bool = False, coordinates: int = 1) -> Mechanism:
        """The plan on a lattice that costs less than 0.1 % of its accuracy, with the noise enlarged by what rounding adds.

        Law and sensitivity enlarged together keep the curve: the plan's (epsilon, delta) holds.
        """
        claim = (plan.epsilon, plan.delta, plan.times, plan.notion)
        if plan.step is not None or isinstance(plan.noise, Lattice):
            noise = plan.noise if isinstance(plan.noise, Lattice) else Discrete(plan.noise, plan.step or 1.0)
            return cls(noise, plan.sensitivity, noise.step, integers, coordinates, claim)
        step = _chosen_step(plan.noise, plan.sensitivity, integers=integers, coordinates=coordinates)
        made = cls(plan.noise, plan.sensitivity, step, integers, coordinates, claim)
        if made._growth > 1.0:
            made = made._enlarged() if isinstance(plan.sensitivity.linf, tuple) else made._scaled(made._growth)
        made.check_room()
        return made

    def _scaled(self, factor: float) -> Mechanism:
        return dataclasses.replace(self, noise=self.noise.scaled(factor * (1.0 + 1e-9)))

    def _enlarged(self) -> Mechanism:
        """For coordinates of different bounds: a small enlargement that keeps the claim, on a finer lattice if none does."""
        assert self.claim is not None
        epsilon, delta, times, _ = self.claim
        made = self
        for _ in range(40):
            for factor in (1.0, 1.0001, 1.0002, 1.0004):
                larger = made._scaled(factor)
                if factor >= made._growth or larger._keeps(epsilon, delta, times):
                    return larger
            made = dataclasses.replace(made, step=0.25 * made.step)
        raise Unsupported("these sensitivities are too far apart for one lattice; divide each coordinate by its own and release again.")

    def _keeps(self, epsilon: float, delta: float, times: int) -> bool:
        made = self.curve(times)
        return made.pure_epsilon <= epsilon if delta == 0.0 else float(np.asarray(made.delta_upper(epsilon))) <= delta

    @property
    def limit(self) -> float:
        """Values, and answers, are limited to +- this: 2^61 steps."""
        return FURTHEST * self.step

    def check_room(self) -> None:
        """Refuse a lattice on which the noise itself would pass the limit: a public fact."""
        if not float(np.asarray(self.noise.isf(1e-6))) < 0.25 * self.limit:
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
        """Can putting a value on the lattice move it? Not whole numbers on a lattice that holds them."""
        return not (self.integers and _divides_one(self.step))

    @property
    def rounding_loss(self) -> float:
        """How much of the noise's variance rounding can add, values and draws together: at most step^2/3."""
        if isinstance(self.noise, Lattice):
            return 0.25 * self.step**2 / self.noise.variance if self.rounds else 0.0
        return (1.0 / 3.0 if self.rounds else 1.0 / 12.0) * self.step**2 / self.noise.variance

    def curve(self, times: int = 1) -> Curve:
        """The privacy curve of what is released."""
        return curve(self.noise, self.sensitivity_on_lattice, times=times)

    @property
    def parts(self) -> list[tuple[Law, Sensitivity, int]]:
        """What a ledger is charged for one release."""
        return [(self.noise, self.sensitivity_on_lattice, 1)]

    def on_lattice(self, values: Any) -> NDArray[np.int64]:
        """Values as whole numbers of steps, floor(v/step + 1/2) exactly, limited to 2^61 steps."""
        array = np.asarray(values)
        if array.dtype.kind in "iub":
            return _steps_of_integers(array.ravel(), self.step).reshape(array.shape)
        if array.dtype.kind != "f" or array.dtype.itemsize > 8:  # wider numbers would be rounded twice
            raise InvalidParameter(f"values must be integers or floats of at most 64 bits, got an array of {array.dtype}.")
        array = array.astype(np.float64)
        if not np.isfinite(array).all():
            raise InvalidParameter("values must be finite numbers; a NaN or an infinity is among them.")
        return _steps_of_floats(array.ravel(), self.step).reshape(array.shape)

    def prepare(self) -> None:
        """Build and validate what the draws need, before anything is spent."""
        sampler_for(self.noise, self.step)

    def noisy(self, steps: NDArray[np.int64], entropy: Entropy | None = None) -> NDArray[np.int64]:
        """Steps with noise added, limited to 2^61: exactly the limited sum of the steps and the unlimited noise."""
        return np.clip(steps + draw(self.noise, steps.shape, self.step, entropy), -FURTHEST, FURTHEST)

    def noisy_from(self, bits: Bits, steps: NDArray[np.int64]) -> NDArray[np.int64]:
        """The same from given bits, for engines that must be able to repeat a draw."""
        return np.clip(steps + draw_from(bits, self.noise, steps.size, self.step), -FURTHEST, FURTHEST)

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
        return _steps_of_floats(values.astype(np.float64), step) if small else _exactly([Fraction(int(v)) for v in values], step)
    per_unit = int(1.0 / step)
    most = FURTHEST // per_unit
    if values.dtype.kind == "u":
        values = np.minimum(values, np.uint64(most))
    return np.clip(values.astype(np.int64), -most, most) * per_unit


def _steps_of_floats(values: NDArray[np.float64], step: float) -> NDArray[np.int64]:
    """By a power of two the quotient is exact. Else fmod is, and (v - fmod(v, h))/h rounds to the right whole number below 2^50."""
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
