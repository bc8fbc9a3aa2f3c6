"""Which theorem certifies what: from a noise, a sensitivity and a number of releases to a curve.

    known          exact                           by a bound                                      no theorem: Unsupported
    linf and l0    every family, by composition
    l2             Gaussian                        Laplace (l1 <= sqrt K l2), OSGT (Theorem 2),    staircase, truncated Laplace, ...
                                                   flipped Huber (Theorem 8), stable (sup score)
    l1             Laplace                         Gaussian (l2 <= l1), stable (sup score),        the rest
                                                   OSGT and flipped Huber (linf <= l1, K known)

For a symmetric unimodal noise the hockey-stick divergence grows with the shift, so under linf and l0 the worst case is l0 coordinates at
their full shift: the l0-fold composition of the one-dimensional curve (design, section 3). K, the number of coordinates that can move, is
given as l0.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from hush.errors import InvalidParameter, Unsupported, called_like, reject, whole
from hush.noise.contract import Law
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.osgt import OSGT
from hush.noise.stable import Stable
from hush.privacy.bounds import FlippedHuberTheorem8, OSGTTheorem2
from hush.privacy.composition import compose_parts
from hush.privacy.curve import Curve, OneNumber, PureBound
from hush.privacy.exchange import Imported
from hush.privacy.subsampling import Subsampled
from hush.sensitivity import Sensitivity

__all__ = ["compose", "curve", "delta", "epsilon"]

_UP = 1.0 + 1e-15
#: In standard deviations. From the first on, delta is 1 at every epsilon that a float can hold; below the second, floats lose their digits
#: and _UP does not round up any more.
_MOST_SHIFT, _LEAST_SHIFT = 1e290, 1e-300


def curve(noise: Law, sensitivity: Any = 1.0, *, times: int = 1) -> Curve:
    """The privacy curve of a noise for a sensitivity, released `times` times.

    Guarantees: see the module's table; every number is an upper bound for all neighbouring data. Requests that no theorem covers raise
    `Unsupported` with the nearest call that is covered.

    >>> from hush import Laplace, Sensitivity
    >>> round(curve(Laplace(20.0), Sensitivity(linf=1.0, l0=20)).epsilon(1e-8).upper, 3)
    0.99
    """
    return compose([(noise, sensitivity, times)])


def compose(releases: Iterable[Any]) -> Curve:
    """The curve of several releases together, fixed in advance: (noise, sensitivity, times) or (subsampled, times) each.

    Guarantees: tight composition by loss distributions, as a bracket; Gaussians are merged into one first, exactly (Zhao, Lemma 15).

    >>> from hush import Gaussian, Laplace
    >>> c = compose([(Gaussian(10.0), 1.0, 5), (Laplace(20.0), 1.0, 3)])
    >>> round(c.epsilon(1e-6).upper, 3)
    1.005
    """
    parts: list[tuple[Any, int]] = []
    gaussians: list[tuple[float, float, int]] = []
    for entry in releases:
        noise, bound, times = _entry(entry)
        if isinstance(noise, Subsampled | Imported):
            parts.append((noise, times))
        elif isinstance(noise, Gaussian):
            gaussians.append((noise.sigma, bound.l2_bound, times))
        else:
            parts += _parts(noise, bound, times)
    if gaussians:
        parts.append((_one_gaussian(gaussians), 1))
    if not parts:
        raise InvalidParameter("releases must hold at least one release; write compose([(Gaussian(1.0), 1.0, 1)]).")
    if len(parts) == 1 and parts[0][1] == 1 and isinstance(parts[0][0], Curve):
        return parts[0][0]
    for part, _ in parts:
        if isinstance(part, OSGTTheorem2 | FlippedHuberTheorem8):
            raise Unsupported(f"{type(part).__name__} cannot be composed with other releases; give linf and l0 instead of l2.")
    if all(isinstance(part, PureBound) for part, _ in parts):
        return PureBound(math.fsum(part.pure * times for part, times in parts) * _UP)
    return compose_parts(parts)


def _entry(entry: Any) -> tuple[Any, Sensitivity, int]:
    try:
        items = tuple(entry)
    except TypeError:
        items = (entry,)
    if items and isinstance(items[0], Subsampled | Imported):
        if len(items) > 2:
            raise InvalidParameter("a ready-made curve is released as (curve, times): its sensitivity is already inside.")
        return items[0], Sensitivity.of(1.0), whole("times", items[1] if len(items) == 2 else 1)
    if not 1 <= len(items) <= 3:
        raise InvalidParameter(f"a release is (noise, sensitivity, times), got {len(items)} items; write (Gaussian(1.0), 1.0, 1).")
    if not isinstance(items[0], Law):
        raise reject("noise", items[0], "a noise family", "write for example Gaussian(1.0)")
    sensitivity = Sensitivity.of(items[1] if len(items) > 1 else 1.0)
    return items[0].plain(), sensitivity, whole("times", items[2] if len(items) > 2 else 1)


def _one_gaussian(rows: list[tuple[float, float, int]]) -> OneNumber:
    """All Gaussian releases as one number: squared sensitivity over variance adds up."""
    if len(rows) == 1 and rows[0][2] == 1 and _LEAST_SHIFT < rows[0][1] / rows[0][0] < _MOST_SHIFT:
        return OneNumber(Gaussian(rows[0][0]), rows[0][1])
    ratios = [(min(reach / sigma, _MOST_SHIFT), times) for sigma, reach, times in rows]
    unit = math.frexp(max(ratio for ratio, _ in ratios))[1]  # squares near 1: a power of 2 scales without rounding
    together = math.ldexp(math.sqrt(math.fsum(times * math.ldexp(ratio, -unit) ** 2 for ratio, times in ratios)), unit)
    return OneNumber(Gaussian(1.0), max(together * _UP, _LEAST_SHIFT))


def _parts(noise: Law, bound: Sensitivity, times: int) -> list[tuple[Any, int]]:
    if bound.is_box:
        return [(OneNumber(noise, shift), count * times) for shift, count in bound.shifts]
    return [_by_theorem(noise, bound, times)]


def _by_theorem(noise: Law, bound: Sensitivity, times: int) -> tuple[Any, int]:
    """l1 and l2 balls: the theorem of the module's table, or none."""
    if isinstance(noise, Laplace) and _l1(bound) is not None:
        return OneNumber(noise, float(_l1(bound) or 0.0)), times  # l1 is exact: the whole move on one coordinate is worst
    if isinstance(noise, Stable) and _l1(bound) is not None:
        return PureBound(float(_l1(bound) or 0.0) * noise.sup_score() * _UP), times
    k = bound.l0
    if k is not None and bound.l2 is not None and isinstance(noise, OSGT):
        return OSGTTheorem2(noise, bound.l2 * math.sqrt(times) * _UP, k * times), 1
    if k is not None and bound.l2 is not None and isinstance(noise, FlippedHuber):
        return FlippedHuberTheorem8(noise, bound.l2 * math.sqrt(times) * _UP, k * times), 1
    if k is not None and bound.l1 is not None and isinstance(noise, OSGT | FlippedHuber):
        return OneNumber(noise, bound.l1), k * times
    name = type(noise).__name__
    if isinstance(noise, Laplace | Stable | OSGT | FlippedHuber) and k is None:
        known = f"l2={bound.l2!r}" if bound.l2 is not None else f"l1={bound.l1!r}"
        raise Unsupported(f"{name} under {known} needs the number of coordinates; write Sensitivity({known}, l0=K), or linf with l0.")
    raise Unsupported(f"no theorem covers {name} under an l1 or l2 ball; write Sensitivity(linf=..., l0=...), or use Gaussian(sigma).")


def _l1(bound: Sensitivity) -> float | None:
    """An l1 bound: l1 itself, or sqrt(K) l2."""
    if bound.l1 is not None:
        return bound.l1
    if bound.l2 is not None and bound.l0 is not None:
        return bound.l2 * math.sqrt(bound.l0) * _UP
    return None


@called_like("delta(hush.Laplace(1.0), 0.5)")
def delta(noise: Law, epsilon: Any, sensitivity: Any = 1.0, *, times: int = 1) -> Any:
    """The delta a noise gives at epsilon, as an upper bound; epsilon may be an array, and negative.

    >>> from hush import Laplace
    >>> round(delta(Laplace(1.0), 0.5), 12)
    0.221199216929
    """
    return curve(noise, sensitivity, times=times).delta_upper(epsilon)


@called_like("epsilon(hush.Gaussian(4.0), 1e-6)")
def epsilon(noise: Law, delta: Any, sensitivity: Any = 1.0, *, times: int = 1) -> Any:
    """The epsilon a noise gives at delta, as an upper bound; delta = 0 asks for the pure epsilon, infinite where there is none.

    >>> from hush import Laplace
    >>> round(epsilon(Laplace(2.0), 0.0), 12)
    0.5
    """
    return curve(noise, sensitivity, times=times).epsilon_upper(delta)
