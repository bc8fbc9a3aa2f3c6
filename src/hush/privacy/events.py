"""Conversion between charges and the events of Google's dp_accounting, an optional package.

An event of dp_accounting describes a release, or a tree of them: a number of times, several together, or on a sample.
JAX Privacy and TensorFlow Privacy describe their training runs by such events. Both directions round to the side of
less noise, so the result never promises more privacy than the original has.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from functools import singledispatch
from typing import Any

from hush.errors import Unsupported, needs, positive, reject, whole, within
from hush.noise.discrete import Discrete
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.numerics.rounding import FEW_ROUNDINGS, down, up
from hush.privacy.by_norm import sigma_of
from hush.privacy.charge import Charge, charges
from hush.privacy.sensitivity import Sensitivity
from hush.privacy.theorem import GAUSSIAN

__all__ = ["from_dp_event", "to_dp_event"]

Charges = tuple[Charge, ...]


# -- reading -------------------------------------------------------------------------------------------------


def from_dp_event(event: Any) -> Charges:
    """An event of dp_accounting as charges, for `hush.compose` and `Ledger.spend`. An event without effect gives none.

    Guarantees: the charges describe the same releases for one row more or less, with at most as much noise.
    Releases that no charge describes raise `Unsupported` with the name of their event.

    >>> class GaussianDpEvent:  # as in dp_accounting, which need not be installed to read its events
    ...     noise_multiplier = 2.0
    >>> from_dp_event(GaussianDpEvent())[0].noise
    Gaussian(sigma=2.0)
    """
    kind = type(event).__name__
    if kind in _READERS:
        return _READERS[kind](event)
    if not kind.endswith("DpEvent"):
        raise reject("event", event, "an event of dp_accounting", "write dp_accounting.GaussianDpEvent(1.1)")
    raise Unsupported(
        f"hush has no charge for {kind}; write from_dp_accounting(distribution) with its loss distribution."
    )


def _gaussian(event: Any) -> Charges:
    return (Charge(Gaussian(_noise_of(event)), Sensitivity.of(1.0)),)


def _laplace(event: Any) -> Charges:
    """dp_accounting bounds the l1 norm of a vector. One number that takes the whole move has the same curve."""
    return (Charge(Laplace(_noise_of(event)), Sensitivity.of(1.0)),)


def _discrete_laplace(event: Any) -> Charges:
    """dp_accounting bounds the l1 norm of a vector of whole numbers: with the bound 1, one number moves by 1."""
    rate, bound = positive("noise_parameter", event.noise_parameter), whole("sensitivity", event.sensitivity)
    moves = Sensitivity.of(1.0) if bound == 1 else Sensitivity(l1=float(bound))
    return (Charge(Discrete(Laplace(down(1.0 / rate, FEW_ROUNDINGS)), step=1.0), moves),)


def _noise_of(event: Any) -> float:
    """The noise multiplier; without noise a release is not private."""
    if event.noise_multiplier == 0.0:
        raise Unsupported(f"a {type(event).__name__} without noise has an infinite epsilon, so it has no charge.")
    return positive("noise_multiplier", event.noise_multiplier)


def _no_effect(event: Any) -> Charges:
    return ()


def _not_private(event: Any) -> Charges:
    raise Unsupported("a NonPrivateDpEvent has an infinite epsilon, so it has no charge.")


def _repeated(event: Any) -> Charges:
    count, inner = whole("count", event.count, 0), from_dp_event(event.event)
    return tuple(one.repeated(one.times * count) for one in inner) if count else ()


def _together(event: Any) -> Charges:
    return tuple(one for part in event.events for one in from_dp_event(part))


def _sampled(event: Any) -> Charges:
    """Releases on one Poisson sample. Several Gaussian releases on the same sample are one Gaussian vector."""
    rate = within("sampling_probability", event.sampling_probability, 0.0, 1.0)
    inner = from_dp_event(event.event)
    if rate == 0.0 or not inner:
        return ()
    if rate == 1.0:
        return inner
    if len(inner) == 1 and inner[0].times == 1 and inner[0].rate is None:
        return (Charge(inner[0].noise, inner[0].sensitivity, rate=rate),)
    if not all(GAUSSIAN.covers(one) for one in inner):
        raise Unsupported(
            "hush has no charge for several releases on one sample, unless all of them are Gaussian; write "
            "SelfComposedDpEvent(PoissonSampledDpEvent(...), count) if each of them has a sample of its own."
        )
    squares = math.fsum(one.times * (one.sensitivity.l2_bound / sigma_of(one)) ** 2 for one in inner)
    return (Charge(Gaussian(1.0), Sensitivity.of(up(math.sqrt(squares), FEW_ROUNDINGS)), rate=rate),)


_READERS: dict[str, Callable[[Any], Charges]] = {
    "NoOpDpEvent": _no_effect,
    "NonPrivateDpEvent": _not_private,
    "GaussianDpEvent": _gaussian,
    "LaplaceDpEvent": _laplace,
    "DiscreteLaplaceDpEvent": _discrete_laplace,
    "SelfComposedDpEvent": _repeated,
    "ComposedDpEvent": _together,
    "PoissonSampledDpEvent": _sampled,
}


# -- writing -------------------------------------------------------------------------------------------------


def to_dp_event(releases: Any) -> Any:
    """Charges, or releases as `hush.compose` takes them, as one event of dp_accounting.

    Guarantees: the event has at most as much noise as the charges. Gaussian noise with any sensitivity, Laplace noise
    for one number, and Laplace noise on a lattice for one number have events, on Poisson samples too. Other noise
    raises `Unsupported`.

    >>> import hush
    >>> try:
    ...     event = to_dp_event([(hush.Gaussian(2.0), 1.0, 3)])
    ...     shown = event.count, event.event.noise_multiplier
    ... except hush.MissingExtra:
    ...     shown = 3, 2.0
    >>> shown
    (3, 2.0)
    """
    kinds = _kinds()
    found = [_one(charge, kinds) for charge in charges(releases)]
    return found[0] if len(found) == 1 else kinds.ComposedDpEvent(found)


def _kinds() -> Any:
    with needs("Google's dp_accounting", "to_dp_event()", extra="accounting"):
        from dp_accounting import dp_event
    return dp_event


def _one(charge: Charge, kinds: Any) -> Any:
    if charge.neighbours != "add-remove" or charge.keys is not None:
        raise Unsupported(
            "events of dp_accounting are for neighbours='add-remove', without keys that are found in the data; "
            "write to_dp_accounting(curve) for a loss distribution."
        )
    event = _event(charge.once.noise, charge, kinds)
    if charge.rate not in (None, 1.0):
        event = kinds.PoissonSampledDpEvent(charge.rate, event)
    return event if charge.times == 1 else kinds.SelfComposedDpEvent(event, charge.times)


@singledispatch
def _event(noise: object, charge: Charge, kinds: Any) -> Any:
    """The event of one release without sampling."""
    raise _refused(noise)


@_event.register
def _(noise: Gaussian, charge: Charge, kinds: Any) -> Any:
    return kinds.GaussianDpEvent(_ratio(noise.sigma, charge.sensitivity.l2_bound))


@_event.register
def _(noise: Laplace, charge: Charge, kinds: Any) -> Any:
    bound = charge.sensitivity
    reach = bound.l1 if bound.l1 is not None and bound.moving != 1 else bound.one_number
    if reach is None:
        raise _refused(noise)
    return kinds.LaplaceDpEvent(_ratio(noise.scale, reach))


@_event.register
def _(noise: Discrete, charge: Charge, kinds: Any) -> Any:
    reach, scale = charge.sensitivity.one_number, getattr(noise.noise, "scale", None)
    if reach is None or scale is None or noise.noise != Laplace(scale):
        raise _refused(noise)
    steps = math.ceil(Fraction(reach) / Fraction(noise.step))
    return kinds.DiscreteLaplaceDpEvent(up(noise.step / scale, FEW_ROUNDINGS), steps)


def _refused(noise: object) -> Unsupported:
    return Unsupported(
        f"dp_accounting has no event for {noise} under this sensitivity; "
        "write to_dp_accounting(curve) for a loss distribution."
    )


def _ratio(amount: float, reach: float) -> float:
    """amount/reach, rounded down where the quotient is not exact."""
    quotient = amount / reach
    return quotient if Fraction(quotient) * Fraction(reach) == Fraction(amount) else down(quotient, FEW_ROUNDINGS)
