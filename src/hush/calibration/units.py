"""Numbers with different bounds or weights: calibration in units, a factor for each number.

Number j moves by at most c_j, and the loss is the average of w_j times the loss of number j. Noise for the numbers
divided by factors f_j is multiplied by the factors again (`Scaled`). Three kinds of factors are tried.

**f_j = c_j.** All numbers then move by at most 1, which is the body that joint noises are for. Noise for the unit body
is measured with the weights w_j c_j^p, where p = 2 for the variance and 1 for the other losses.

**Laplace noise.** The pure epsilon is the sum of the c_j/f_j. By Lagrange's rule the sum of w_j f_j^p is least, at a
fixed epsilon, if f_j = c_j u_j^(-1/(p + 1)) with u_j = w_j c_j^p.

**Gaussian and ball noise.** The privacy is determined by the sum of (c_j/f_j)^2, and the best factors are
f_j = c_j u_j^(-1/(p + 2)).

Any factors give a valid noise, because the noise is calibrated for the divided numbers. The factors of the last two
kinds are rounded to 16 bits, so that bounds on lattices stay exact.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable

from hush.calibration.plan import RankedNoise
from hush.calibration.request import CalibrationRequest
from hush.errors import HushError, InvalidParameter, positive
from hush.noise.family import Family
from hush.noise.scaled import Scaled
from hush.privacy.sensitivity import Sensitivity
from hush.privacy.units import in_units

__all__ = ["as_scaled", "best_of_each", "checked_weights", "in_box", "in_unit_body", "is_uneven", "scaled_choices"]

Choose = Callable[[CalibrationRequest, Family], RankedNoise]
_BITS = 16  # of the factors that are not the bounds themselves


def checked_weights(weights: Iterable[float] | None, bound: Sensitivity) -> tuple[float, ...]:
    """The weights, one for each number of the sensitivity; empty if all are equal."""
    if weights is None:
        return ()
    given = tuple(positive("weights", weight, "write weights=(1.0, 2.0, 1.0)") for weight in weights)
    listed = len(bound.each_move) if isinstance(bound.linf, tuple) else bound.dimension
    if bound.columns is not None or listed is None:
        raise InvalidParameter(
            "weights needs a sensitivity that states how many numbers there are; write Sensitivity(linf=(1.0, 30.0)) "
            "or Sensitivity(linf=1.0, dimension=2)."
        )
    if len(given) != listed:
        raise InvalidParameter(f"weights must have one number for each of the {listed} numbers, got {len(given)}.")
    return () if len(set(given)) == 1 else given


def is_uneven(demand: CalibrationRequest) -> bool:
    """Do the bounds or the weights of the numbers differ, in a box of a known number of numbers?"""
    bound = demand.bound.of_one_group
    return bound.is_box and (isinstance(bound.linf, tuple) or bool(demand.weights))


def in_box(demand: CalibrationRequest) -> CalibrationRequest:
    """The request without bounds in other norms, if each number has a bound of its own. Noise for it is noise for the
    request, because its moves contain those of the request.
    """
    bound = demand.bound
    if not isinstance(bound.linf, tuple) or bound.is_box:
        return demand
    return dataclasses.replace(demand, bound=dataclasses.replace(bound, l0=bound.moving, l1=None, l2=None))


def in_unit_body(demand: CalibrationRequest) -> tuple[CalibrationRequest, tuple[float, ...] | None]:
    """The request for numbers that all move by 1, and the factors; the request itself and None if the bounds are
    equal.
    """
    bound = demand.bound
    if not isinstance(bound.linf, tuple) or not bound.is_box or demand.step is not None:
        return demand, None
    return _in_units(demand, bound.linf), bound.linf


def _in_units(demand: CalibrationRequest, factors: tuple[float, ...]) -> CalibrationRequest:
    given = demand.weights or (1.0,) * len(factors)
    weights = tuple(w * factor**demand.power for w, factor in zip(given, factors, strict=True))
    most = max(weights)
    weights = tuple(max(w / most, 1e-30) for w in weights)
    unit = in_units(demand.bound, factors)
    return dataclasses.replace(demand, bound=unit, weights=() if len(set(weights)) == 1 else weights)


def _factors(demand: CalibrationRequest, exponent: float) -> tuple[float, ...]:
    """c_j u_j^(-exponent), relative to the largest, with few bits."""
    moves = demand.bound.each_move
    given = demand.weights or (1.0,) * len(moves)
    logs = [
        math.log(c) - exponent * (math.log(w) + demand.power * math.log(c)) for c, w in zip(moves, given, strict=True)
    ]
    shift = max(logs) - max(math.log(c) for c in moves)
    return tuple(_short(math.exp(log - shift)) for log in logs)


def _short(value: float) -> float:
    """The number to a few bits."""
    mantissa, exponent = math.frexp(value)
    return math.ldexp(round(math.ldexp(mantissa, _BITS)), exponent - _BITS)


def scaled_choices(demand: CalibrationRequest, rows: Iterable[Family], choose: Choose) -> list[RankedNoise]:
    """For each family the best noise with a factor for each number, of the kinds that the module describes."""
    found = []
    for row in rows:
        by_length = row.joint or row.type.isotropic  # the l2 norm of a move counts, as for Gaussian noise
        tried = [_factors(demand, 1.0 / (demand.power + (2.0 if by_length else 1.0)))]
        tried += [] if row.joint else [demand.bound.each_move]
        found += [as_scaled(demand, choose(_in_units(demand, factors), row), factors) for factors in tried]
    return found


def as_scaled(demand: CalibrationRequest, inner: RankedNoise, factors: tuple[float, ...] | None) -> RankedNoise:
    """The choice for divided numbers, multiplied by the factors."""
    if factors is None or inner.noise is None:
        return inner
    try:
        noise = Scaled(inner.noise, factors)
        return dataclasses.replace(inner, noise=noise, loss=demand.value(noise))
    except HushError as failure:
        return RankedNoise(inner.family, reason=str(failure).rstrip("."))


def best_of_each(choices: Iterable[RankedNoise]) -> list[RankedNoise]:
    """The best choice of each family, in the order in which the families come first."""
    best: dict[str, RankedNoise] = {}
    for choice in choices:
        known = best.get(choice.family)
        if known is None or choice.loss < known.loss:
            best[choice.family] = choice
    return list(best.values())
