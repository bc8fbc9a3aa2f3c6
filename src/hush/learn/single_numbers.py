"""Single numbers that a fit releases instead of its vectors, or beside them: the mean of the target, class counts.

The noise of a vector grows with the number of features, and that of one number does not. So with few rows the mean of
the target (`level`) or the most frequent class (`class_level`) is known before any weight is. All rules here are
functions of public facts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from hush.learn.budget import Part
from hush.learn.class_level import class_part, class_share
from hush.learn.defaults import Setting, hopeless
from hush.learn.level import level_knee, level_part, level_share
from hush.learn.objective import SQUARED

if TYPE_CHECKING:
    from hush.learn.planning import Request

__all__ = ["beside", "for_mean", "only_mean"]


def only_mean(request: Request, rho: float, columns: int, epsilon: float, among: float, *, pure: bool) -> bool:
    """Is the budget of a regression too small for anything but the mean of its target?

    `among` is the number of rows in units of the effect of a neighbour.
    """
    usual = _usual(request) and request.interval_share == 0.0 and request.objective is SQUARED
    return usual and request.private and hopeless(rho, columns, among * epsilon, pure=pure)


def for_mean(request: Request) -> Request:
    """The request without choices of columns and without windows for features, which the mean does not use."""
    return replace(request, keep="all", find_bounds=(False, request.find_bounds[1]))


def beside(
    request: Request, chosen: Setting, columns: int, epsilon: float, among: float
) -> tuple[Setting, tuple[Part, ...]]:
    """The release of a single number beside the gradients of a fit, if they know the intercept less well.

    The setting has the knee of the mean of the target.
    """
    automatic = request.family is None or request.searched
    if chosen.solver != "whitened" or not _usual(request) or not automatic or not request.private:
        return chosen, ()
    nu, outputs = chosen.rho * math.sqrt(columns), request.objective.outputs
    if request.objective is SQUARED:
        share = level_share(nu, among, epsilon)
        knee = level_knee(share * epsilon, among) if share else chosen.knee
        parts = (level_part(knee, epsilon, share, request.relation),) if share else ()
        return replace(chosen, knee=knee), parts
    share = class_share(nu, outputs, among, epsilon)
    return chosen, (class_part(outputs, epsilon, share, request.relation),) if share else ()


def _usual(request: Request) -> bool:
    """Does the fit have an intercept and a proof, and are its rows without weights, which the numbers do not use?"""
    exact = request.accounting == "exact" and request.scaling != "paper"
    return request.fit_intercept and not request.weighted and exact
