"""The descriptor of a noise family: everything that hush knows of a family beside its class.

A file of the noise room ends with its `FAMILY`. Calibration, exact draws, ledgers, citations, the self-test of `hush
doctor`, the command line and the explorer read these descriptors and nothing else, so that a new family is one class
and one descriptor.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter
from hush.noise.contract import Law, Noise
from hush.numerics.ball import Ball, Tail

__all__ = ["Counts", "Family", "Reference", "Request", "Shape", "Short", "TwoUniforms"]


@dataclass(frozen=True)
class Shape:
    """The shapes of a scale family, for calibration: a parameter t in [low, high], and how to build the unit-scale
    noise from it.

    `like_laplace(scale)` and `like_gaussian(sigma)` build the member that equals that noise up to rounding. They are
    always tried, so the family is never worse than its special cases. `start` guesses t from r, the variance of pure
    Laplace over Gaussian noise.
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


class Request(Protocol):
    """What a calibration asks of a family: a budget, a sensitivity, a loss, and the tools to find the least noise."""

    def __hash__(self) -> int: ...

    @property
    def epsilon(self) -> float: ...

    @property
    def delta(self) -> float: ...

    @property
    def bound(self) -> Any:
        """The sensitivity, a `hush.Sensitivity`."""

    @property
    def times(self) -> int: ...

    @property
    def loss(self) -> str:
        """What is made least: "variance", "mae", "p95" or "p999"."""

    @property
    def notion(self) -> str:
        """ "dp", or "pdp" for probabilistic privacy."""

    @property
    def step(self) -> float | None:
        """The lattice that the noise has to live on, or None."""

    @property
    def plain(self) -> bool:
        """Does every number move by the same `shift`, with no other norm given?"""

    @property
    def shift(self) -> float:
        """How far one number moves, where `plain`."""

    @property
    def count(self) -> int:
        """How many one-dimensional releases this comes to."""

    @property
    def rough_size(self) -> float:
        """A first guess of the noise's size: the better of the Gaussian and the pure Laplace."""

    @property
    def regime(self) -> float:
        """The variance of pure Laplace noise over that of Gaussian noise: which shape is best depends on little
        else.
        """

    def value(self, noise: Law) -> float:
        """The loss of a noise."""

    def on_lattice(self, noise: Law) -> Law:
        """The noise, or its version on the lattice that the request names."""

    def off_lattice(self) -> Request:
        """The same request without a lattice."""

    def excess(self, noise: Law, relative: float | None = None) -> float:
        """log of delta over its target (of the pure epsilon, where delta is 0): at or below 0 means private.

        `relative` is the share of the shift that a composition's grid may cost; None takes the grid that certifies.
        """

    def meets(self, noise: Law) -> bool:
        """Does the noise give the budget, certified?"""

    def gaussian_sigma(self) -> float:
        """The least deviation of Gaussian noise for this request; needs delta > 0."""

    def least(
        self, noise_at: Callable[[float], Law], start: float, *, tolerance: float, relative: float | None = None
    ) -> Law:
        """The noise at the smallest x, to `tolerance` from above, that meets the budget; `noise_at(x)` grows more
        private with x.
        """

    def at_scale(self, unit: Law, guess: float, *, fine: bool = True) -> Law:
        """The least multiple of a noise that meets the budget, from a guess of the factor on."""

    def search(self, family: Family) -> Law:
        """The best member of a family with a `Shape`."""

    def limits(self, family: Family) -> list[Law]:
        """The members of a family with a `Shape` that are Laplace and Gaussian noise, where they meet the budget."""


class Counts(NamedTuple):
    """P(N > k) of a count, for a law that is step (N - N') with independent counts: in floats (arrays of k), and in
    balls (one k).
    """

    above: Callable[[NDArray[np.float64]], NDArray[np.float64]]
    ball: Callable[[int], Ball]


class TwoUniforms(NamedTuple):
    """|X|/unit as a function of two independent uniforms: of 63-bit words in floats (NaN: too near an end), and of
    balls.
    """

    unit: float
    magnitude: Callable[[NDArray[np.uint64], NDArray[np.uint64]], NDArray[np.float64]]
    ball: Callable[[Ball, Ball], Ball]


class Reference(NamedTuple):
    """A known number for the self-test: delta of the noise at epsilon for a sensitivity of 1, from its density in
    forty digits.
    """

    noise: Any
    epsilon: float
    delta: float


class Short(NamedTuple):
    """For families with many parameters: turns a calibrated noise into a few numbers, and back. The sensitivity is
    1.
    """

    numbers: Callable[[Any], list[float]]
    noise: Callable[[float, list[float]], Law]


@dataclass(frozen=True)
class Family:
    """A noise family: its name, its class, and what the class cannot say itself. Every field after the class may be
    left out.

    name, type       the family's name in ledgers and on the command line, and its class, a frozen dataclass
    parameters       those of the constructor, in order; all of the dataclass's fields by default
    paper, cites     the source in short words; keys of references.bib, or whole BibTeX entries
    version          of the parameters' meaning; written to ledgers where it is not 1, and checked when they are read
    ranked           does `calibrate` rank the family (on a lattice only, where the law is `discrete`)?
    notions          the notions of privacy it is calibrated for
    pure             can a member have a pure epsilon?
    vectors          does `calibrate` find a member of finite variance for any number of coordinates?
    on_whole_numbers a function from a scale to the lattice noise of that scale; set it if that noise beats the
    rounded continuous one
    calibrate        the least noise for a request; or `shape`, shapes to search; or `unit`, a member whose least multiple is found
    tail             noise -> (x -> P(|X| > x)) in balls, the definition of its exact draw
    log_weight       noise -> (x -> log f(x)/f(0)) in balls, for the lattice version; `degree` 1 or 2 where that is a polynomial
    counts           for a difference of two counts, the law of one of them; such laws are drawn by their counts
    two_uniforms     a function of two uniforms, for large lattices where the tail is slow
    panels           is the quantile smooth enough for polynomials on large lattices?
    reference        a known delta for `hush doctor`: (noise, epsilon, delta), for a sensitivity of 1
    lattice_cites    what the lattice version rests on
    divisible        is it a law of shares and sums of noise (see hush.federated)?
    public           may scripts import the class from `hush`?
    short            how to store a calibrated noise in the explorer's table
    """

    name: str
    type: type[Any]
    parameters: tuple[str, ...] = ()
    paper: str = ""
    cites: tuple[str, ...] = ()
    version: int = 1
    ranked: bool = True
    notions: tuple[str, ...] = ("dp",)
    pure: bool = True
    vectors: bool = True
    on_whole_numbers: Callable[[float], Law] | None = None
    calibrate: Callable[[Request], Law] | None = None
    shape: Shape | None = None
    unit: Callable[[], Law] | None = None
    tail: Callable[[Any], Tail] | None = None
    log_weight: Callable[[Any], Tail] | None = None
    degree: int | None = None
    counts: Callable[[Any], Counts] | None = None
    two_uniforms: Callable[[Any], TwoUniforms] | None = None
    panels: bool = True
    reference: Reference | None = None
    lattice_cites: tuple[str, ...] = ("canonne2020",)
    divisible: bool = False
    public: bool = True
    short: Short | None = None

    def __post_init__(self) -> None:
        if (
            not isinstance(self.type, type)
            or not issubclass(self.type, Noise)
            or not hasattr(self.type, "__dataclass_fields__")
        ):
            raise InvalidParameter(
                f"type must be a frozen dataclass that derives from hush.Law or hush.Noise, got {self.type!r:.80}."
            )
        if not getattr(self.type, "__dataclass_params__").frozen:  # noqa: B009 - no public way to ask
            raise InvalidParameter(
                f"{self.type.__name__} must be frozen, so that nobody changes a noise that was charged; write @dataclass(frozen=True)."
            )
        if not isinstance(self.version, int) or self.version < 1:
            raise InvalidParameter(
                f"version must be a whole number, 1 or greater, got {self.version!r}; write version=1."
            )
        if not isinstance(self.name, str) or not re.fullmatch(r"[a-z][a-z0-9_]*", self.name):
            raise InvalidParameter(
                f"name must be of small letters, digits and underscores, got {self.name!r:.60}; write 'my_noise'."
            )
        kind: Any = self.type
        known = tuple(field.name for field in fields(kind) if field.init)
        given = tuple(self.parameters) or known
        if set(given) != set(known):
            raise InvalidParameter(
                f"parameters must be those of {self.type.__name__}, {', '.join(known)}; got {', '.join(given)}."
            )
        object.__setattr__(self, "parameters", given)
        if self.reference is not None:  # a plain tuple will do
            object.__setattr__(self, "reference", Reference(*self.reference))

    @property
    def numeric(self) -> bool:
        """Is every parameter one number?"""
        kinds = {field.name: str(getattr(field.type, "__name__", field.type)) for field in fields(self.type)}
        return all(kinds[name].removesuffix(" | None") in ("float", "int") for name in self.parameters)

    def has_default(self, parameter: str) -> bool:
        """May the constructor be called without this parameter?"""
        return next(field for field in fields(self.type) if field.name == parameter).default is not MISSING

    @property
    def home(self) -> str:
        """The module that a script imports the class from."""
        module: str = self.type.__module__
        return "hush" if self.public and module.startswith("hush.noise.") else module
