"""One table of all families: name, class, paper, parameters, which sensitivities have a proof, how a draw is made."""

from __future__ import annotations

from dataclasses import dataclass

from hush.errors import one_of
from hush.noise.contract import Noise
from hush.noise.discrete import Discrete
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.osgt import OSGT
from hush.noise.stable import Stable
from hush.noise.staircase import Staircase
from hush.noise.stepped import Stepped
from hush.noise.truncated_laplace import TruncatedLaplace

__all__ = ["FAMILIES", "Family", "family"]


@dataclass(frozen=True)
class Family:
    """A row of the catalogue. `parameters` are the constructor's, in order; `proofs` names the sensitivities with a theorem."""

    name: str
    type: type[Noise]
    parameters: tuple[str, ...]
    paper: str
    proofs: tuple[str, ...]
    drawn: str


_BOX = ("linf with l0",)

FAMILIES: tuple[Family, ...] = (
    Family("gaussian", Gaussian, ("sigma",), "Zhao et al. 2019; Balle and Wang 2018", (*_BOX, "l1", "l2"), "quantile"),
    Family("laplace", Laplace, ("scale",), "Dwork, McSherry, Nissim and Smith 2006", (*_BOX, "l1"), "quantile"),
    Family("osgt", OSGT, ("m", "sigma"), "Sadeghi and Korki 2022", (*_BOX, "l2"), "quantile"),
    Family("flipped_huber", FlippedHuber, ("alpha", "gamma"), "Muthukrishnan and Kalyani 2023", (*_BOX, "l2"), "quantile"),
    Family("stable", Stable, ("alpha", "gamma"), "Zawacki and Abed 2023", (*_BOX, "l1", "l2"), "quantile"),
    Family("staircase", Staircase, ("epsilon", "sensitivity", "gamma"), "Geng and Viswanath 2014", _BOX, "quantile"),
    Family("truncated_laplace", TruncatedLaplace, ("scale", "bound"), "Geng, Ding, Guo and Kumar 2020", _BOX, "quantile"),
    Family("stepped", Stepped, ("width", "heights", "ratio", "period"), "this project", _BOX, "quantile"),
    Family("discrete", Discrete, ("noise", "step"), "Canonne, Kamath and Steinke 2020", _BOX, "table"),
)


def family(name: str) -> Family:
    """The catalogue row of a family name.

    >>> family("osgt").parameters
    ('m', 'sigma')
    """
    one_of("noise", name, (row.name for row in FAMILIES))
    return next(row for row in FAMILIES if row.name == name)
