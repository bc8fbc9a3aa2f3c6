"""`Request`: the interface between calibration and a noise family.

A family whose descriptor has a `calibrate` function receives a request and returns its least noise. The request holds
the budget, the sensitivity and the loss, and offers searches that end on the private side. `hush.calibration`
implements it; this module only declares it, because noise families must not import calibration.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Protocol

from hush.noise.contract import Law, Noise

if TYPE_CHECKING:
    from hush.noise.family import Family

__all__ = ["Request"]


class Request(Protocol):
    """A budget, a sensitivity and a loss, with tools to find the least noise of a family."""

    def __hash__(self) -> int: ...

    @property
    def epsilon(self) -> float: ...

    @property
    def delta(self) -> float: ...

    @property
    def bound(self) -> Any:
        """The sensitivity, a `hush.Sensitivity`."""

    @property
    def times(self) -> int:
        """How many times the noise is used."""

    @property
    def loss(self) -> str:
        """The quantity to minimise: "variance", "mae", "p95" or "p999"."""

    @property
    def weights(self) -> tuple[float, ...]:
        """The weight of each number in the loss; empty if all count the same."""

    @property
    def notion(self) -> str:
        """ "dp" for differential privacy, "pdp" for probabilistic differential privacy."""

    @property
    def step(self) -> float | None:
        """The step of the lattice that the noise must be on; None for continuous noise."""

    @property
    def rival(self) -> float | None:
        """The least loss that was found so far, if all families are compared. One that is estimated to have far more
        loss need not be calibrated then. None if one family is asked for.
        """

    @property
    def plain(self) -> bool:
        """True if every number moves by at most the same `shift` and no other norm is given."""

    @property
    def shift(self) -> float:
        """The largest move of one number, if `plain`."""

    @property
    def count(self) -> int:
        """The number of one-dimensional releases that the request is equivalent to."""

    @property
    def rough_size(self) -> float:
        """A first estimate of the size of the noise: the smaller of Gaussian and pure Laplace noise."""

    @property
    def regime(self) -> float:
        """The variance of pure Laplace noise divided by that of Gaussian noise. It nearly determines the best shape."""

    def value(self, noise: Noise) -> float:
        """Return the loss of a noise."""

    def on_lattice(self, noise: Law) -> Law:
        """Return the version of the noise on the lattice of the request; the noise itself if `step` is None."""

    def off_lattice(self) -> Request:
        """Return the same request without a lattice."""

    def excess(self, noise: Noise, relative: float | None = None) -> float:
        """Return log(delta/target), or that of the pure epsilon if the target delta is 0; private if <= 0.

        `relative` allows the grid of a composition to cost this fraction of the shift; None uses the certified grid.
        """

    def estimate(self, noise: Law) -> float:
        """Return about what `excess` returns, in much less time where possible; it is not a bound."""

    def meets(self, noise: Noise) -> bool:
        """Return True if the noise is certified to meet the budget."""

    def gaussian_sigma(self) -> float:
        """Return the least standard deviation of Gaussian noise for this request; delta must be > 0."""

    def least(
        self, noise_at: Callable[[float], Law], start: float, *, tolerance: float, relative: float | None = None
    ) -> Law:
        """Return the noise at the smallest x that meets the budget, to `tolerance` from above.

        `noise_at(x)` must be more private for larger x.
        """

    def at_scale(self, unit: Law, guess: float, *, fine: bool = True) -> Law:
        """Return the least multiple of a noise that meets the budget; the search starts at the factor `guess`."""

    def search(self, family: Family) -> Law:
        """Return the best member of a family with a `Shape`."""

    def limits(self, family: Family) -> list[Law]:
        """Return the members of a family with a `Shape` that equal Laplace and Gaussian noise and meet the budget."""
