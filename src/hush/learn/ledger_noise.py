"""The noise of a fit that its ledger covers: Gaussian noise, or noise of a pure epsilon, where the default is refused.

The rules of an adaptive ledger have no bound for some noise of least variance. A budget of rho or mu counts ball noise
by its pure epsilon, which costs many times as much as Gaussian noise of the same pair. So a fit with family=None has
other plans for the same pair (epsilon, delta). Which one is used follows from public facts: the settings, the released
number of rows and the entries of the ledger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import TYPE_CHECKING

from hush.errors import HushError
from hush.learn.counting import of_fit
from hush.learn.planning import Plan, Request, plan
from hush.learn.row_count import RowCount
from hush.learn.two_releases import Alternatives, Release, Rest, covers
from hush.noise.gaussian import FAMILY as GAUSSIAN

if TYPE_CHECKING:
    from hush.ledger import Access, Ledger

__all__ = ["covered_plan", "family_for", "for_ledger", "rest_of_fit"]

#: Numbers of rows for which a fit is planned before its number of rows is released. They lead to every kind of plan:
#: the mean alone, single numbers beside gradients, gradients, and sums of products.
_POSSIBLE_ROWS = (2, 10, 30, 100, 300, 1000, 3000, 10_000, 100_000, 1_000_000)


def family_for(family: str | None, delta: float, ledger: Ledger | None) -> str | None:
    """The given family, or "gaussian" if none is given and the ledger has a budget of rho or mu."""
    sums = ledger is not None and ledger.cap.kind in ("rho", "mu")
    return GAUSSIAN.name if family is None and delta > 0.0 and sums else family


def for_ledger(request: Request, ledger: Ledger | None) -> Request:
    """The request with the family for this ledger."""
    return replace(request, family=family_for(request.family, request.delta, ledger)) if request.private else request


def covered_plan(made: Plan, access: Access, question: str) -> Plan:
    """The plan, or another one for the same pair if the ledger covers only that; the plan if it covers none.

    A new ledger covers every plan of its budget, so only a ledger with entries is asked. A plan that was charged for
    this question and has no answer yet is paid for.
    """
    ledger = access.ledger
    if ledger is None or not made.parts or not _free(made.request) or not _adaptive(ledger) or not ledger.entries:
        return made
    plans = chain([made], _pure_mean(made), [_gaussian(made.request, made.rows, made.counted)])
    owed = access.owed(question)
    if owed is not None:
        return next((each for each in plans if tuple(each.paid) == owed.charges), made)
    return next((each for each in plans if covers(ledger, [of_fit(each)], block=access.charged_block())), made)


def rest_of_fit(request_of: Callable[[int], Request]) -> Rest:
    """What a fit may charge after the release of its number of rows; `request_of` is its request on so many rows."""

    def rest(counted: RowCount) -> Iterator[Alternatives]:
        for rows in _POSSIBLE_ROWS:
            request = request_of(rows)
            try:
                plan(replace(request, family=GAUSSIAN.name) if _free(request) else request, rows, counted)
            except HushError:  # some options need more rows; whether there are enough is known after the release
                continue
            yield partial(_alternatives, request, rows, counted)

    return rest


def _alternatives(request: Request, rows: int, counted: RowCount) -> Iterator[Release]:
    """What the plans of one fit charge; those that are found quickly come first."""
    if _free(request):
        yield of_fit(_gaussian(request, rows, counted))
    made = plan(request, rows, counted)
    yield of_fit(made)
    yield from map(of_fit, _pure_mean(made))


def _pure_mean(made: Plan) -> Iterator[Plan]:
    """The same fit with a pure epsilon if it releases a mean only: its noise is hardly larger, and it uses no delta."""
    if made.setting.solver == "mean" and _free(made.request):
        pure = plan(replace(made.request, delta=0.0), made.rows, made.counted)
        if pure.setting.solver == "mean":
            yield pure


def _gaussian(request: Request, rows: int, counted: RowCount | None) -> Plan:
    return plan(replace(request, family=GAUSSIAN.name), rows, counted)


def _free(request: Request) -> bool:
    """May the fit have Gaussian noise although no family is named?"""
    return request.family is None and request.delta > 0.0 and request.private


def _adaptive(ledger: Ledger) -> bool:
    return ledger.mode == "adaptive" and ledger.cap.releases is None
