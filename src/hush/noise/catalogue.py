"""One table of all families: name, class, paper, parameters, which sensitivities have a proof, how a draw is made."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.errors import InvalidParameter, Unsupported, one_of
from hush.noise.asinh import Asinh
from hush.noise.contract import Law, Noise
from hush.noise.discrete import Discrete
from hush.noise.exponential_power import ExponentialPower
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gamma_difference import GammaDifference
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.osgt import OSGT
from hush.noise.polya_difference import PolyaDifference
from hush.noise.skellam import Skellam
from hush.noise.stable import Stable
from hush.noise.staircase import Staircase
from hush.noise.stepped import Stepped
from hush.noise.truncated_laplace import TruncatedLaplace

__all__ = ["DIVISIBLE", "EVERY", "FAMILIES", "Family", "Shape", "family", "from_plain_values", "in_words", "plain_values"]


@dataclass(frozen=True)
class Shape:
    """The shapes of a scale family, for calibration: a parameter t in [low, high], and how to build the unit-scale noise from it.

    `like_laplace` and `like_gaussian` build the member that is Laplace noise of a scale, Gaussian noise of a sigma, for all that floats can
    tell: a family must not lose to its own special case. `start` guesses t from r, the variance of pure Laplace over Gaussian noise.
    """

    build: Callable[[float], Law]
    low: float
    high: float
    stride: float
    start: Callable[[float], float]
    logarithmic: bool = True
    like_laplace: Callable[[float], Law] | None = None
    like_gaussian: Callable[[float], Law] | None = None

    def value(self, t: float) -> float:
        """The shape parameter itself."""
        return math.exp(t) if self.logarithmic else t


@dataclass(frozen=True)
class Family:
    """A row of the catalogue. `parameters` are the constructor's, in order; `proofs` names the sensitivities with a theorem."""

    name: str
    type: type[Law]
    parameters: tuple[str, ...]
    paper: str
    proofs: tuple[str, ...]
    drawn: str
    shape: Shape | None = None


def _power_from(r: float) -> float:
    """p against r, fitted on K = 5 .. 50."""
    if r >= 1.1:
        return 2.0 - 0.55 * r**-0.8
    ladder = ((0.55, 1.01), (0.65, 1.045), (0.70, 1.07), (0.77, 1.13), (0.86, 1.242), (0.93, 1.329), (1.0, 1.39), (1.1, 1.47))
    return float(np.interp(math.log(r), [math.log(x) for x, _ in ladder], [p for _, p in ladder]))


_SHAPES = {
    "osgt": Shape(
        lambda r: OSGT(r, 1.0),  # r = m/sigma
        -4.0,
        7.0,
        0.25,
        lambda r: -0.84 - 1.03 * math.log(max(r - 0.6, 0.02)),
        like_laplace=lambda scale: OSGT(1e12 * scale, 1e6 * scale),
        like_gaussian=lambda sigma: OSGT(0.0, sigma),
    ),
    "flipped_huber": Shape(
        lambda b: FlippedHuber(b, 1.0),  # b = alpha/gamma
        -4.0,
        3.4,
        0.4,
        lambda r: -1.5 if r > 1.2 else 0.0,
        like_laplace=lambda scale: FlippedHuber(1600.0 * scale, 40.0 * scale),
        like_gaussian=lambda sigma: FlippedHuber(0.0, sigma),
    ),
    "exponential_power": Shape(
        lambda p: ExponentialPower(p, 1.0),
        1.0,
        2.0,
        0.04,
        _power_from,
        logarithmic=False,
        like_laplace=lambda scale: ExponentialPower(1.0, scale),
        like_gaussian=lambda sigma: ExponentialPower(2.0, sigma * math.sqrt(2.0)),
    ),
    "asinh": Shape(lambda k: Asinh(k, 1.0), -6.0, 6.0, 0.25, lambda r: math.log(max(0.74 * (r - 0.84), 0.01))),
    "stable": Shape(lambda a: Stable(a, 1.0), 1.05, 1.98, 0.08, lambda r: 1.7, logarithmic=False),
}
_BOX = ("linf with l0",)
_DRAWN = {"discrete": "table", "skellam": "difference of counts", "polya_difference": "difference of counts"}


def _row(name: str, kind: type[Law], parameters: tuple[str, ...], paper: str, proofs: tuple[str, ...] = _BOX) -> Family:
    return Family(name, kind, parameters, paper, proofs, _DRAWN.get(name, "quantile"), _SHAPES.get(name))


FAMILIES: tuple[Family, ...] = (
    _row("gaussian", Gaussian, ("sigma",), "Zhao et al. 2019; Balle and Wang 2018", (*_BOX, "l1", "l2")),
    _row("laplace", Laplace, ("scale",), "Dwork, McSherry, Nissim and Smith 2006", (*_BOX, "l1")),
    _row("osgt", OSGT, ("m", "sigma"), "Sadeghi and Korki 2022", (*_BOX, "l2")),
    _row("flipped_huber", FlippedHuber, ("alpha", "gamma"), "Muthukrishnan and Kalyani 2023", (*_BOX, "l2")),
    _row("stable", Stable, ("alpha", "gamma"), "Zawacki and Abed 2023", (*_BOX, "l1", "l2")),
    _row("staircase", Staircase, ("epsilon", "sensitivity", "gamma"), "Geng and Viswanath 2014"),
    _row("truncated_laplace", TruncatedLaplace, ("scale", "bound"), "Geng, Ding, Guo and Kumar 2020"),
    _row("exponential_power", ExponentialPower, ("p", "scale"), "Subbotin 1923; Liu 2019"),
    _row("asinh", Asinh, ("kappa", "scale"), "this project"),
    _row("stepped", Stepped, ("width", "heights", "ratio", "period"), "this project"),
    _row("discrete", Discrete, ("noise", "step"), "Canonne, Kamath and Steinke 2020"),
)
#: Laws of sums and shares of noise (see hush.federated); Skellam noise is calibrated where a lattice is asked for.
DIVISIBLE: tuple[Family, ...] = (
    _row("skellam", Skellam, ("sigma", "step"), "Agarwal, Kairouz and Liu 2021"),
    _row("gamma_difference", GammaDifference, ("shape", "scale"), "Kotz, Kozubowski and Podgorski 2001"),
    _row("polya_difference", PolyaDifference, ("shape", "scale", "step"), "Goryczka and Xiong 2017"),
)
EVERY = FAMILIES + DIVISIBLE


def family(name: str) -> Family:
    """The catalogue row of a family name.

    >>> family("osgt").parameters
    ('m', 'sigma')
    """
    one_of("noise", name, (row.name for row in EVERY))
    return next(row for row in EVERY if row.name == name)


def plain_values(noise: Noise) -> dict[str, Any]:
    """The noise as its family name and numbers, for JSON and for the ledger; `from_plain_values` reads it back, bit for bit.

    >>> plain_values(Discrete(Gaussian(2.0)))
    {'family': 'discrete', 'noise': {'family': 'gaussian', 'sigma': 2.0}, 'step': 1.0}
    """
    row = next((row for row in EVERY if row.type is type(noise)), None)
    if row is None:
        raise Unsupported(f"{type(noise).__name__} is not in the catalogue and cannot be written down; add a row to hush.noise.catalogue.")
    values = {name: getattr(noise, name) for name in row.parameters}
    return {"family": row.name} | {name: plain_values(v) if isinstance(v, Noise) else v for name, v in values.items()}


def in_words(noise: Noise) -> str:
    """The noise on one line, its numbers to six digits: for people; `repr` has every digit.

    >>> in_words(Laplace(1.0 / 3.0))
    'Laplace(scale=0.333333)'
    """
    return re.sub(r"\d+\.\d{5,}(?:e[-+]?\d+)?", lambda found: f"{float(found[0]):.6g}", str(noise))


def from_plain_values(values: Mapping[str, Any]) -> Any:
    """The noise that `plain_values` wrote down.

    >>> from_plain_values({"family": "laplace", "scale": 2.0})
    Laplace(scale=2.0)
    """
    row = family(values.get("family", ""))
    given = {name: v for name, v in values.items() if name != "family"}
    unknown = sorted(set(given) - set(row.parameters))
    if unknown or set(row.parameters) - set(given):
        raise InvalidParameter(f"{row.name} noise takes {', '.join(row.parameters)}, got {', '.join(sorted(given)) or 'nothing'}.")
    return row.type(**{name: from_plain_values(v) if isinstance(v, Mapping) else v for name, v in given.items()})
