"""The plan of coefficient intervals: the limits of rows, and the noise of the sums that the intervals need.

The steps of a fit clip and shrink, so its weights are biased by an amount that nobody knows. The intervals have sums of
their own, with a share of the budget. In these sums a row has a weight that depends on its features alone: the square
of min(1, R/|z|), where z is the row in whitened coordinates. Such weights do not bias the coefficients of a linear or
logistic model that is right. docs/maths/coefficient_interval.md has the proofs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

from hush.errors import Unsupported, within
from hush.learn.budget import Wish
from hush.learn.defaults import relative_noise
from hush.learn.moment_solver import products_wish
from hush.learn.objective import LOGISTIC, Objective
from hush.learn.relation import Relation
from hush.learn.whole_sums import EXACT, MOST_ROWS
from hush.numerics.rounding import FEW_ROUNDINGS, up

__all__ = [
    "FIRST",
    "LAST",
    "Inference",
    "NoIntervals",
    "beside_inference",
    "inference_plan",
    "inference_wishes",
    "must_be_possible",
    "must_have_share",
]

#: The names of the released sums, in their order.
FIRST, LAST = "sums for a first step to intervals", "sums for intervals"
_FIRST_SHARE = 0.3  # of the share of intervals: the first step of a logistic regression
_LEAST_REACH, _LARGEST_REACH = 1.5, 16.0  # R^2 / K
_NEGLIGIBLE = 0.25  # noise this small beside the sampling error lets R grow
#: The largest length of a row's second derivatives in the released vector, over that of its gradient. Up to 0.83 they
#: need no noise of their own, because one is long only where the other is short.
_INFORMATION = 0.8
_SPARE = 1e-9  # relative: for the rounding of p and of p - y
_LEAST_HEIGHT = 3.5  # spreads
_HOPELESS = 1.5  # the norm of the noise over a usual eigenvalue, beyond which intervals are infinite in any case


class NoIntervals(Unsupported):
    """This fit can be made, but it has no valid intervals. Nothing was spent."""


@dataclass(frozen=True)
class Inference:
    """What the sums for intervals use. All numbers are computed from public facts."""

    share: float
    #: the columns of the sums: features and constant, or the weights of a logistic regression
    columns: int
    #: R: rows that are longer in whitened coordinates have less weight
    reach: float
    #: T: values of a target are limited to this many spreads from its centre
    height: float
    #: the target is multiplied by this number in the sums, so that it does not dominate the sensitivity
    factor: float

    @property
    def radius(self) -> float:
        """The largest length of a row with its target."""
        return math.hypot(self.reach, self.factor * self.height)

    def grains(self, rows: int) -> tuple[float, float]:
        """The integers that stand for 1 in the rows of second derivatives, and in the gradients of rows."""
        most = min(0.5 * EXACT / MOST_ROWS, 2.0**58 / rows)
        information = 2.0 ** min(math.floor(0.5 * math.log2(most / (0.5 * self.reach) ** 2)), 30)
        return information, 5.0 * (0.5 * information * self.reach) ** 2 / (_INFORMATION * self.reach)


def must_have_share(share: float) -> float:
    """The share of intervals: 0, or a number that leaves enough for the fit."""
    if isinstance(share, int | float) and share == 0.0:
        return 0.0
    return within("interval_share", share, 0.01, 0.9, "write interval_share=0.3, or 0 for no intervals")


def inference_plan(
    objective: Objective,
    share: float,
    features: int,
    rows: int,
    *,
    constant: bool,
    standard: bool,
    public: bool,
    budget: tuple[float, float],
    relation: Relation,
) -> Inference | None:
    """The limits for intervals; None if they have no share. R is larger where the noise stays negligible.

    `standard` means that columns are divided by their spread, and not by half of their range. `public` means that the
    number of rows is. If it was released and paid for, fits that will have infinite intervals are not refused.
    """
    if share == 0.0:
        return None
    columns = features + (constant or objective is not LOGISTIC)
    noise = relative_noise(*budget, share, rows / relation.moves, 1, vectors=True)
    height = max(_LEAST_HEIGHT, math.sqrt(2.0 * math.log(rows))) if standard else 1.0
    if noise == 0.0:
        return Inference(share, columns, math.inf, math.inf, 1.0)
    square = min(max(_NEGLIGIBLE / (noise * columns * math.sqrt(rows)), _LEAST_REACH), _LARGEST_REACH) * columns
    factor = math.sqrt(0.5 * math.sqrt(1.0 + 4.0 * square / height**2) - 0.5)
    made = Inference(share, columns, math.sqrt(square), height, factor)
    if public:
        _must_be_seen(made, objective, noise)
    return made


def _must_be_seen(made: Inference, objective: Objective, noise: float) -> None:
    """Refuse intervals that would be infinite: the norm of the noise is far above the usual eigenvalues.

    `noise` is that of a mean over rows for a replaced row of length 1. Usual second moments are 1 for whitened columns,
    and usual second derivatives of log-loss are 0.2.
    """
    if objective is LOGISTIC:
        each = noise * made.reach**2 / (5.6 * _INFORMATION * math.sqrt(1.0 - _FIRST_SHARE)) / 0.2
    else:
        each = 0.5 * noise * made.radius**2
    if each * (2.0 * math.sqrt(made.columns) + 1.5) > _HOPELESS:
        raise NoIntervals(
            "the rows are too few for intervals at this budget, which would be infinite; use more rows, fewer features "
            "or a larger epsilon, or write interval_share=0."
        )


def beside_inference(
    made: Inference | None, others: list[Wish], objective: Objective, rows: int, relation: Relation
) -> list[Wish]:
    """The releases for intervals, and then those of the fit, which divide the rest of the budget."""
    if made is None:
        return others
    rest = [replace(wish, share=(1.0 - made.share) * wish.share) for wish in others]
    return [*inference_wishes(made, objective, rows, relation), *rest]


def inference_wishes(made: Inference, objective: Objective, rows: int, relation: Relation) -> list[Wish]:
    """The releases for intervals."""
    if objective is LOGISTIC:
        return [
            _score_wish(made, rows, relation, FIRST, _FIRST_SHARE * made.share),
            _score_wish(made, rows, relation, LAST, (1.0 - _FIRST_SHARE) * made.share),
        ]
    return [replace(products_wish(rows, made.columns + 1, made.radius, made.share, relation), name=LAST)]


def _score_wish(made: Inference, rows: int, relation: Relation, name: str, share: float) -> Wish:
    """Second derivatives and gradient of the weighted logistic loss.

    A row adds x x' with |x|^2 <= R^2 p (1 - p) to the first, as 5 times the diagonal and 7 times the upper triangle. It
    adds a vector of length at most R r, r = max(p, 1 - p), to the second. In units of the largest gradient the two
    together have the length sqrt((4 c r (1 - r))^2 + r^2) <= 1, where c is `_INFORMATION`.
    """
    fine, coarse = made.grains(rows)
    square = up((0.5 * fine * made.reach) ** 2, FEW_ROUNDINGS)
    slope, root = up(coarse * made.reach * (1.0 + _SPARE), FEW_ROUNDINGS), math.sqrt(made.columns)
    l2, own_l2 = 2.0 * slope, slope
    l1 = up((7.0 * made.columns + 10.0) * square + 2.0 * root * slope, FEW_ROUNDINGS)
    numbers = made.columns * (made.columns + 1) // 2 + made.columns
    return Wish(
        name,
        share,
        relation.bound(replaced={"l2": l2}, alone={"l2": own_l2}, dimension=numbers),
        relation.bound(replaced={"l1": l1, "l2": l2}, alone={"l1": 0.5 * l1, "l2": own_l2}, dimension=numbers),
        numbers,
    )


def must_be_possible(made: Inference | None, *, chosen: bool, outputs: int) -> None:
    """Refuse intervals after a choice of columns by the same rows, and for three or more classes."""
    if made is not None and outputs > 1:
        raise NoIntervals(
            "intervals are for two classes, and this fit has more; write interval_share=0, or fit one class against "
            "the rest with a label of 0 and 1."
        )
    if made is not None and chosen:
        raise NoIntervals(
            "columns that were chosen from the same rows have no valid intervals; write n_features_to_keep='all', or "
            "interval_share=0."
        )
