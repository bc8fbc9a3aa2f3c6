"""Plan: a calibrated noise, the ranking that it won, and the reason in one sentence."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field
from functools import cached_property

from hush.calibration.request import LOSSES, CalibrationRequest, half_width
from hush.errors import Unsupported
from hush.noise import gaussian, laplace
from hush.noise.catalogue import in_words
from hush.noise.contract import Law, Noise
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import TIED, down
from hush.privacy.charge import Guarantee
from hush.privacy.sensitivity import Sensitivity

__all__ = ["Plan", "RankedNoise", "plan_of"]


@dataclass(frozen=True)
class RankedNoise:
    """One row of a ranking: a calibrated noise, or the reason why the family has none."""

    family: str
    _: KW_ONLY
    noise: Noise | None = None
    loss: float = math.inf
    reason: str = ""

    @property
    def variance(self) -> float:
        """E X^2 of the noise."""
        return LOSSES["variance"](self.noise) if self.noise is not None else math.inf

    @property
    def mean_abs(self) -> float:
        """E |X| of the noise."""
        return LOSSES["mae"](self.noise) if self.noise is not None else math.inf

    @property
    def half_width999(self) -> float:
        """Half the width of the interval that contains the noise with probability 99.9 %."""
        return half_width(self.noise, 0.001) if self.noise is not None else math.inf


@dataclass(frozen=True)
class Plan:
    """A calibrated noise, and everything it was compared with.

    `ranking` has one `RankedNoise` for each family, best first; families without a noise follow, with their reasons.
    `remark` is part of `why`: an argument that had no effect, or empty. `values` is "integer" if answers are whole
    numbers and that had an effect.
    """

    noise: Noise
    family: str
    epsilon: float
    delta: float
    sensitivity: Sensitivity
    times: int
    loss: str
    notion: str
    step: float | None
    ranking: tuple[RankedNoise, ...] = field(repr=False)
    _: KW_ONLY
    remark: str = field(default="", repr=False)
    values: str = field(default="real", repr=False)
    #: The weight of each number in the loss; empty if all count the same.
    weights: tuple[float, ...] = field(default=(), repr=False)
    #: The rate of the Poisson sample on which each release must be made; None for releases on all people.
    rate: float | None = None

    @property
    def guarantee(self) -> Guarantee:
        """The guarantee of the noise, over all releases."""
        relation = self.sensitivity.neighbours
        return Guarantee(self.epsilon, self.delta, times=self.times, notion=self.notion, neighbours=relation)

    @property
    def law(self) -> Law:
        """The noise, where it is independent for each number; raises for a joint noise."""
        if not isinstance(self.noise, Law):
            raise Unsupported(
                f"{in_words(self.noise)} is drawn for all numbers at once; write family='independent' for a law."
            )
        return self.noise

    @property
    def variance(self) -> float:
        """E X^2 of the chosen noise, an average over the numbers."""
        return LOSSES["variance"](self.noise)

    @property
    def mean_abs(self) -> float:
        """E |X| of the chosen noise."""
        return LOSSES["mae"](self.noise)

    @property
    def value(self) -> float:
        """The loss that was minimised, with the weights of the numbers."""
        return LOSSES[self.loss](self.noise, self.weights)

    @cached_property
    def limit(self) -> Bracket | None:
        """A bracket on the least loss that any additive noise can have, per number; None where no limit is known.

        It is known for one release and loss "variance" or "mae", and not for numbers of several kinds. For one number
        the bracket is narrow. For several numbers its lower end is a proved bound and its upper end the best noise of
        the ranking. If noises of the ranking are on a lattice, the lower end also holds for all noises on this lattice.
        """
        mixed = self.sensitivity.columns is not None or isinstance(self.sensitivity.one_sided, tuple)
        if (
            mixed
            or self.times > 1
            or self.rate is not None
            or self.loss not in ("variance", "mae")
            or self.notion != "dp"
        ):
            return None
        from hush.calibration.limit import limit_of_plan

        return limit_of_plan(self)

    @property
    def why(self) -> str:
        """One sentence: the noise to use, and what the alternatives would cost."""
        present = [choice for choice in self.ranking if choice.noise is not None]
        text = f"Use {in_words(self.noise)}{', the optimum over all noises' if self.family == 'optimal' else ''}"
        text += f": its {'weighted ' if self.weights else ''}{self.loss} is {self.value:.6g}"
        if self.noise.base.dimension is not None:
            return f"{text}{self._joint_words(present)}{f'; {self.remark}' if self.remark else ''}."
        equal = [c.family for c in present if down(self.value, TIED) <= c.loss < self.value]
        if equal:  # see _ranked
            text += f"; {' and '.join(equal)}, less simple, would save under 0.01 %"
        rival = next((c for c in present if c.noise is not self.noise and c.loss > self.value), None)
        if rival is not None:
            what = f"the family {rival.family}" if self.family == "optimal" else rival.family
            text += f"; next comes {what} at {rival.loss / self.value:.4g} times that"
        known = (laplace.FAMILY.name, gaussian.FAMILY.name)
        named = (self.family, rival.family if rival else "")
        for other in sorted((c for c in present if c.family in known and c.family not in named), key=lambda c: c.loss):
            text += f", {other.family} at {other.loss / self.value:.4g} times"
            if other.loss < down(self.value, TIED):  # the noise was not chosen for its variance alone
                text += " (but worse for what the noise is chosen for)"
        return f"{text}; {self.remark}." if self.remark else f"{text}."

    def _joint_words(self, present: list[RankedNoise]) -> str:
        """Why noise for all numbers at once is used, what independent noise needs, and what a later number costs."""
        independent = next((c for c in present if c.noise is not None and c.noise.base.dimension is None), None)
        if self.noise.dimension == 1:
            if independent is None:
                return ""
            return f"; {independent.family} noise needs {independent.loss / self.value:.4g} times that"
        numbers = f"all {self.noise.dimension} numbers"
        text = f"; it is drawn for {numbers} at once, because one person can move several of them"
        if independent is not None:
            ratio = f"{independent.loss / self.value:.4g} times that"
            text += f"; independent noise for each number needs {ratio} ({independent.family})"
        return (
            text + "; a number that is added later is a new release with its own cost, so release all numbers at once"
        )


def plan_of(
    demand: CalibrationRequest, ranking: tuple[RankedNoise, ...], remark: str = "", values: str = "real"
) -> Plan:
    """The plan whose noise is the first of a ranking."""
    best = ranking[0]
    assert best.noise is not None
    return Plan(
        best.noise,
        best.family,
        demand.epsilon,
        demand.delta,
        demand.bound,
        demand.times,
        demand.loss,
        demand.notion,
        demand.step,
        ranking,
        remark=remark,
        values=values,
        weights=demand.weights,
        rate=demand.rate,
    )
