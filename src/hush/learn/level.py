"""The mean of the target alone: one released number, for fits with too few rows to learn more at their budget.

The target is mapped from its public range to z in [-1, 1], and q = round(G z) is summed over the rows. One replaced row
moves this integer by at most 2G, and one row has at most the size G. The whole budget of the fit is for this number, so
its noise is the least that is known for one number. The mean is shrunk towards the middle of the range as in `scaling`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from hush.learn.budget import Part, Wish
from hush.learn.paid import Paid
from hush.learn.relation import REPLACED_ROW, Relation
from hush.learn.scaling import GRAIN, Scaling, Span, moment_sums, shrunk_mean

__all__ = ["LEVEL", "level_scaling", "level_wish"]

Array = NDArray[np.float64]

LEVEL = "mean of the target"


def level_wish(relation: Relation = REPLACED_ROW) -> Wish:
    """The release of one integer sum with the whole budget."""
    bound = relation.bound(replaced={"linf": 2.0 * GRAIN}, alone={"linf": GRAIN}, l0=1)
    return Wish(LEVEL, 1.0, bound, bound)


def level_scaling(targets: Iterator[Array], count: int, span: Span, target: Span, part: Part, paid: Paid) -> Scaling:
    """The scaling of all columns by their public ranges, with the centre of the target at its noisy mean."""
    total = sum((moment_sums(y[:, None], target)[0] for y in targets), np.zeros(1, dtype=np.int64))
    scale = count * GRAIN
    noisy = paid.release(part.mechanism, total, part.wish.name) / scale
    found = Scaling.public(span.joined(target))
    found.centre[-1] = target.middle[0] + target.half[0] * float(shrunk_mean(noisy, part.deviation / scale)[0])
    return found
