"""The mean of the target: one released number, alone or beside the gradients of a fit with few rows.

The target is mapped from its public range to z in [-1, 1] and to the integer q = round(G z). If the noise of the mean
of z would be large, the integers are tapered: beyond the knee A the slope is 2/5, so that |q| is at most B = A +
2 (G - A)//5. The sum over the rows is released. One replaced row moves it by at most 2B, and one
row has at most the size B (B = G without a taper). So a taper divides the noise by G/B = 1.49. Its bias is smaller than
the noise that it saves for most targets, because they are well inside of their declared range. The noisy mean is
shrunk towards the middle of the range as in `scaling`, and then stretched where the taper compresses.

With too few rows to learn more at their budget, the sum is released alone, with the whole budget. With a few more rows
it has a pure epsilon of its own beside the other releases, and the exact accounting of the fit includes it. `scaling`
then joins it with the mean that its moments give, because the noise of the moments is spread over all columns.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from hush.learn.affine import Affine
from hush.learn.budget import Part, Wish, pure_part
from hush.learn.means_and_spreads import shrunk_mean
from hush.learn.paid import Paid
from hush.learn.relation import REPLACED_ROW, Relation
from hush.learn.scaling import GRAIN, Scaling, Span

__all__ = [
    "LEVEL",
    "NO_KNEE",
    "TAPER_BIAS",
    "level_knee",
    "level_part",
    "level_scaling",
    "level_share",
    "level_wish",
    "noisy_level",
    "stretched",
    "tapered",
]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]

LEVEL = "mean of the target"
NO_KNEE = 1.0
#: Beyond this part of half the range a target counts two fifths, if the noise of the plain mean is larger than _NOISY.
_KNEE, _NOISY = 0.45, 0.06
#: The slope of the taper beyond the knee, as a numerator and a denominator.
_SLOPE = (2, 5)
#: The typical bias of a tapered mean, in units of half the range.
TAPER_BIAS = 0.06
#: A noisy mean beyond this is stretched, so that the largest tapered mean becomes the end of the range. It is less than
#: the knee: the mean of a target that is partly beyond the knee is further out than its tapered mean.
_STRETCHED = 0.35
#: Below this nu = rho sqrt(K) the other releases know the mean well enough.
_QUIET = 0.2
#: The share of epsilon beside other releases is the first number over rows times epsilon, but at most the second.
_SHARE, _LARGEST_SHARE = 20.0, 0.4


def level_knee(epsilon: float, rows: float) -> float:
    """The knee of the taper in units of half the range: a rule of public facts only.

    `rows` is N/k if a neighbour changes a sum by k times as much as one replaced row. sqrt(2)/epsilon is the deviation
    of Laplace noise, which is close to the least for one number at a small epsilon.
    """
    return _KNEE if math.sqrt(2.0) / epsilon * 2.0 / rows > _NOISY else NO_KNEE


def _ends(knee: float) -> tuple[int, int]:
    """A and B: the integer of the knee, and the largest integer of a row."""
    start = round(knee * GRAIN)
    return start, start + (int(GRAIN) - start) * _SLOPE[0] // _SLOPE[1]


def level_wish(knee: float, relation: Relation = REPLACED_ROW) -> Wish:
    """The release of one integer sum with the whole budget."""
    most = float(_ends(knee)[1])
    bound = relation.bound(replaced={"linf": 2.0 * most}, alone={"linf": most}, l0=1)
    return Wish(LEVEL, 1.0, bound, bound)


def tapered(values: Array, target: Span, knee: float) -> Integers:
    """The integers of some targets, at most B in size; values outside of the range are moved to its ends."""
    ends = np.array([GRAIN])
    q = np.rint(Affine(target.middle, GRAIN / target.half, -ends, ends).of(values[:, None]))[:, 0].astype(np.int64)
    start, size = _ends(knee)[0], np.abs(q)
    return np.sign(q) * np.where(size > start, start + (size - start) * _SLOPE[0] // _SLOPE[1], size)


def stretched(mean: float, knee: float) -> float:
    """The mean of z that belongs to a tapered mean, in [-1, 1]."""
    if knee == NO_KNEE:
        return mean
    size, top = abs(mean), _ends(knee)[1] / GRAIN
    beyond = max(0.0, size - _STRETCHED) * (1.0 - _STRETCHED) / (top - _STRETCHED)
    return math.copysign(min(min(size, _STRETCHED) + beyond, 1.0), mean)


def level_share(nu: float, rows: float, epsilon: float) -> float:
    """The share of epsilon of the sum beside other releases: a rule of public facts only; 0 means no release."""
    return min(_SHARE / (rows * epsilon), _LARGEST_SHARE) if nu > _QUIET else 0.0


def level_part(knee: float, epsilon: float, share: float, relation: Relation = REPLACED_ROW) -> Part:
    """The release of the sum with `share` of epsilon, as pure epsilon."""
    return pure_part(replace(level_wish(knee, relation), share=share), share * epsilon)


def noisy_level(
    targets: Iterator[Array], count: int, target: Span, knee: float, part: Part, paid: Paid
) -> tuple[float, float]:
    """The noisy mean of the tapered z, and the standard deviation of its noise."""
    total = sum(int(tapered(y, target, knee).sum()) for y in targets)
    noisy = paid.release(part.mechanism, np.array([total], dtype=np.int64), part.wish.name)
    return float(noisy[0]) / (count * GRAIN), part.deviation / (count * GRAIN)


def level_scaling(
    targets: Iterator[Array], count: int, span: Span, target: Span, knee: float, part: Part, paid: Paid
) -> Scaling:
    """The scaling of all columns by their public ranges, with the centre of the target at its noisy mean."""
    noisy, error = noisy_level(targets, count, target, knee, part, paid)
    found = Scaling.public(span.joined(target))
    middle = stretched(float(shrunk_mean(np.array([noisy]), error)[0]), knee)
    found.centre[-1] = target.middle[0] + target.half[0] * middle
    return found
