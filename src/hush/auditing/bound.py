"""A lower bound on epsilon from counts on held-out draws; it is valid for every method of search.

Theorem. Let S_1, ..., S_m be events fixed before the held-out draws were used: n independent outputs of each of two
neighbouring inputs, with probabilities p_j and q_j of S_j. Different events may have different pairs of inputs. Count
the hits x_j and y_j, and let p'_j be the Clopper-Pearson lower bound on p_j and q'_j the upper bound on q_j, each at
risk r = (1 - confidence)/(2 m). Then with probability at least `confidence`

    epsilon >= max over j of log((p'_j - delta)/q'_j)

for every epsilon at which the mechanism is (epsilon, delta)-private.

Proof. x_j is binomial(n, p_j), so P(p'_j > p_j) <= r (Clopper and Pearson 1934), and P(q'_j < q_j) <= r. By the union
bound all 2 m bounds hold together with probability at least 1 - 2 m r = confidence. If they do, privacy implies p_j <=
e^epsilon q_j + delta, hence e^epsilon >= (p_j - delta)/q_j >= (p'_j - delta)/q'_j. The search for the events used other
draws, which are independent of the held-out ones. The statement is true for every fixed choice of events, so it is also
true for the events that the search found. Nothing is assumed about the search. QED

Requirement: the outputs are independent draws. A target whose output depends on earlier calls is not covered.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.numerics.rounding import BETA_INVERSE, SPECIAL_FUNCTION, down, up

__all__ = ["clopper_pearson", "epsilon_lower", "trials_needed"]

Array = NDArray[np.float64]


def clopper_pearson(hits: Any, trials: int, risk: float) -> tuple[Array, Array]:
    """The lower and the upper bound on a binomial probability. Each is wrong with probability at most `risk`, so both
    together with at most 2 risk.

    >>> low, high = clopper_pearson(0, 100, 0.01)
    >>> float(low), round(float(high), 6)
    (0.0, 0.045007)
    """
    return _lower(hits, trials, risk), _upper(hits, trials, risk)


def _lower(hits: Any, trials: int, risk: float) -> Array:
    """The p with P(binomial(trials, p) >= hits) = risk."""
    from scipy.special import betaincinv

    hits = np.asarray(hits, dtype=np.float64)
    some = np.maximum(hits, 1.0)
    return np.where(hits > 0.0, down(betaincinv(some, trials - some + 1.0, risk), BETA_INVERSE), 0.0)


def _upper(hits: Any, trials: int, risk: float) -> Array:
    """The p with P(binomial(trials, p) <= hits) = risk."""
    from scipy.special import betainccinv

    hits = np.asarray(hits, dtype=np.float64)
    not_all = np.minimum(hits, trials - 1.0)
    most = up(betainccinv(not_all + 1.0, trials - not_all, risk), BETA_INVERSE)
    return np.where(hits < trials, np.minimum(most, 1.0), 1.0)


def epsilon_lower(hits: Any, other_hits: Any, trials: int, delta: float, risk: float) -> Array:
    """max(0, log((p' - delta)/q')) from hits under the likelier input and under the other one, each Clopper-Pearson
    bound at `risk`.

    >>> round(float(epsilon_lower(50_000, 18_394, 100_000, 0.0, 1e-6)), 3)
    0.953
    """
    surplus = _lower(hits, trials, risk) - delta
    with np.errstate(divide="ignore"):
        bound = np.log(np.where(surplus > 0.0, surplus, 0.0)) - np.log(_upper(other_hits, trials, risk))
    return np.maximum(bound, 0.0)  # every mechanism's epsilon is at least 0


def trials_needed(epsilon: float, delta: float, risk: float) -> float:
    """The least number of held-out draws with which some outcome can refute epsilon at delta, about
    e^epsilon log(1/risk)/(1 - delta).

    The best outcome is an event with n hits in n under one input and none under the other. Its bounds are p' = u and
    q' = 1 - u with u = risk^(1/n), and log((u - delta)/(1 - u)) > epsilon means 1 - u < (1 - delta)/(1 + e^epsilon).
    """
    gap = (1.0 - delta) / (1.0 + math.exp(min(epsilon, 700.0)))
    return math.ceil(up(math.log(risk) / math.log1p(-gap), SPECIAL_FUNCTION)) + 1.0 if gap > 1e-300 else math.inf
