"""`Family`, the descriptor of a noise family: everything that hush needs besides the class.

A file of a family has two parts: the class (a `Law` or a joint `Noise`) and, at its end, a descriptor named `FAMILY`.
Calibration, exact draws, ledgers, citations, `hush doctor`, the command line and the explorer use the descriptor and
never test for a particular class. A new family is therefore one class, one descriptor, and one line in catalogue.py.
laplace.py is a short example.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import MISSING, dataclass, fields
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, shown
from hush.noise.contract import Law, Noise
from hush.noise.request import Request
from hush.numerics.ball import Ball, Tail

__all__ = ["Counts", "Family", "FamilyList", "Reference", "Shape", "Short", "TwoUniforms"]


@dataclass(frozen=True)
class Shape:
    """How to calibrate a family with a scale and one shape parameter.

    Calibration searches a parameter t in [low, high]. For each t it builds the member of scale 1, finds the least
    multiple of it that meets the budget, and keeps the t with the least loss.
    """

    #: Returns the member of scale 1 for a shape parameter (`value(t)`).
    build: Callable[[float], Law]
    #: The range of t.
    low: float
    high: float
    #: The first step of the search in t.
    stride: float
    #: Returns a first guess of t from r, the variance of pure Laplace noise divided by that of Gaussian noise.
    start: Callable[[float], float]
    #: True if t is the logarithm of the shape parameter, False if t is the shape parameter.
    logarithmic: bool = True
    #: Return the member that equals Laplace noise of this scale, or Gaussian noise of this sigma, up to rounding. These
    #: members are always tried, so that the family is never worse than its special cases. None: there is none.
    like_laplace: Callable[[float], Law] | None = None
    like_gaussian: Callable[[float], Law] | None = None
    #: Below this r, and for delta = 0, the family is left out where all families are compared. Wherever it was computed
    #: there, it had at least 1.18 times the loss of another family.
    least_regime: float = 0.0

    def value(self, t: float) -> float:
        """Return the shape parameter for t."""
        return math.exp(t) if self.logarithmic else t


class Counts(NamedTuple):
    """The law of one count N, for a lattice law that is step (N - N') with independent counts N and N'."""

    #: P(N > k) in floats, for an array of k.
    above: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    #: P(N > k) in ball arithmetic, for one k.
    ball: Callable[[int], Ball]


class TwoUniforms(NamedTuple):
    """A law whose magnitude |X| is a product of functions of two independent uniform variables."""

    #: The length that magnitudes are measured in.
    unit: float
    #: The factors of |X|/unit in floats. Each takes the distance of its uniform from 0 and side = 0, or the distance
    #: from 1 and side = 1; the first takes side 0 only. The second is monotone.
    first: Callable[[NDArray[np.float64], int], NDArray[np.float64]]
    second: Callable[[NDArray[np.float64], int], NDArray[np.float64]]
    #: |X|/unit in ball arithmetic, from two balls.
    ball: Callable[[Ball, Ball], Ball]


class Reference(NamedTuple):
    """A known delta for the self-test: of `noise` at `epsilon` for a sensitivity of 1, computed in forty digits."""

    noise: Any
    epsilon: float
    delta: float


class Short(NamedTuple):
    """A short form of a calibrated noise with many parameters, for a sensitivity of 1."""

    #: Returns the few numbers that describe the noise.
    numbers: Callable[[Any], list[float]]
    #: Returns the noise for an epsilon and these numbers.
    noise: Callable[[float, list[float]], Law]


@dataclass(frozen=True)
class Family:
    """A noise family: its name, its class, and what cannot be derived from the class.

    Every field after `type` is optional. Without a field the family lacks the feature that needs it, and hush raises an
    error that names the field.
    """

    # -- identity --------------------------------------------------------------------------------------------

    #: The name in ledgers and on the command line: small letters, digits, underscores.
    name: str
    #: The class, a frozen dataclass.
    type: type[Any]
    #: The constructor parameters, in order. Default: all fields of the dataclass.
    parameters: tuple[str, ...] = ()
    #: The source in a few words, for statements.
    paper: str = ""
    #: The sources for `hush.cite`: keys of references.bib, or whole BibTeX entries.
    cites: tuple[str, ...] = ()
    #: Raise it when the parameters change their meaning. It is written to ledgers if it is not 1, and checked when a
    #: ledger is read.
    version: int = 1

    # -- calibration: set one of `calibrate`, `shape` and `unit` ---------------------------------------------

    #: True if `hush.calibrate` compares this family with the others.
    ranked: bool = True
    #: The notions of privacy that the family can be calibrated for: "dp", "pdp" (probabilistic privacy).
    notions: tuple[str, ...] = ("dp",)
    #: True if some member has a finite pure epsilon (delta = 0).
    pure: bool = True
    #: True if the least noise has a closed form, also for vectors.
    closed_form: bool = False
    #: True if calibration finds a member of finite variance for vectors of every length.
    vectors: bool = True
    #: Returns the lattice noise of a given scale. Set it only if that noise is better than the rounded continuous
    #: noise.
    on_whole_numbers: Callable[[float], Law] | None = None
    #: Returns the least noise for a request.
    calibrate: Callable[[Request], Any] | None = None
    #: The shapes that calibration searches.
    shape: Shape | None = None
    #: Returns one member; calibration finds its least multiple.
    unit: Callable[[], Law] | None = None

    # -- exact draws -----------------------------------------------------------------------------------------

    #: Takes a noise and returns the function x -> P(|X| > x) in ball arithmetic. Draws are exact for this function.
    tail: Callable[[Any], Tail] | None = None
    #: Takes a noise and returns the function x -> log f(x)/f(0) in ball arithmetic. The lattice version, `Discrete`, is
    #: drawn from it.
    log_weight: Callable[[Any], Tail] | None = None
    #: 1 or 2 if log f is a polynomial of this degree in |x|; the sums over the lattice are then faster. Else None.
    degree: int | None = None
    #: For a difference of two counts: takes a noise and returns the law of one count. The counts are drawn separately.
    counts: Callable[[Any], Counts] | None = None
    #: Takes a noise and returns it as a function of two uniforms. It is used on fine lattices if the tail is slow.
    two_uniforms: Callable[[Any], TwoUniforms] | None = None
    #: False if polynomials cannot approximate the quantile function, for example because the density is infinite at 0.
    panels: bool = True

    # -- tests, citations, display ---------------------------------------------------------------------------

    #: A known delta that `hush doctor` computes again: (noise, epsilon, delta), for a sensitivity of 1.
    reference: Reference | None = None
    #: The sources of the lattice version.
    lattice_cites: tuple[str, ...] = ("canonne2020",)
    #: True for a law of sums and shares of noise (see hush.federated).
    divisible: bool = False
    #: True if the class can be imported from `hush`.
    public: bool = True
    #: How the explorer stores a calibrated noise with many parameters.
    short: Short | None = None

    def __post_init__(self) -> None:
        _check_class(self.type)
        if not isinstance(self.version, int) or self.version < 1:
            raise InvalidParameter(
                f"version must be a whole number, 1 or greater, got {shown(self.version)}; write version=1."
            )
        if not isinstance(self.name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise InvalidParameter(
                f"name must consist of small letters, digits and underscores and start with a letter, "
                f"got {shown(self.name)}; write 'my_noise'."
            )
        kind: Any = self.type
        known = tuple(field.name for field in fields(kind) if field.init)
        given = tuple(self.parameters) or known
        if set(given) != set(known):
            raise InvalidParameter(
                f"parameters must be those of {self.type.__name__}, {', '.join(known)}; got {', '.join(given)}."
            )
        object.__setattr__(self, "parameters", given)
        if self.reference is not None:  # callers may pass an ordinary tuple
            object.__setattr__(self, "reference", Reference(*self.reference))

    @property
    def numeric(self) -> bool:
        """True if every parameter is a single number."""
        kinds = {field.name: str(getattr(field.type, "__name__", field.type)) for field in fields(self.type)}
        return all(kinds[name].removesuffix(" | None") in ("float", "int") for name in self.parameters)

    @property
    def joint(self) -> bool:
        """True for a joint noise, which is drawn for a whole vector at once."""
        return not issubclass(self.type, Law)

    def has_default(self, parameter: str) -> bool:
        """Return True if the constructor can be called without this parameter."""
        return next(field for field in fields(self.type) if field.name == parameter).default is not MISSING

    @property
    def home(self) -> str:
        """The module that a script imports the class from."""
        module: str = self.type.__module__
        return "hush" if self.public and module.startswith("hush.noise.") else module


def _check_class(kind: Any) -> None:
    """Raise unless the class is a frozen dataclass derived from `Noise`."""
    if not isinstance(kind, type) or not issubclass(kind, Noise) or not hasattr(kind, "__dataclass_fields__"):
        raise InvalidParameter(
            f"type must be a frozen dataclass that derives from hush.Law or hush.Noise, got {shown(kind)}."
        )
    if not getattr(kind, "__dataclass_params__").frozen:  # noqa: B009 - dataclasses have no public way to ask
        raise InvalidParameter(
            f"{kind.__name__} must be frozen, so that a noise cannot change after it was charged to a ledger; "
            "write @dataclass(frozen=True)."
        )


class FamilyList(Sequence[Family]):
    """A list of families that is read again at every use, so that it includes new registrations."""

    def __init__(self, rows: Callable[[], tuple[Family, ...]]) -> None:
        self._rows = rows

    def __len__(self) -> int:
        return len(self._rows())

    @overload
    def __getitem__(self, index: int) -> Family: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Family]: ...

    def __getitem__(self, index: int | slice) -> Family | Sequence[Family]:
        return self._rows()[index]
