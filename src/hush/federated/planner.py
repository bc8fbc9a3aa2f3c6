"""The number of reports for a target error, by noise family; the number of answers, by method."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hush.errors import HushError, InvalidParameter, called_like, each, must_be_level, one_of, positive, reject, whole
from hush.federated.category import chances
from hush.federated.estimate import METHODS, half_width
from hush.federated.local_report import LOCAL_FAMILIES, local_noise, local_range
from hush.federated.mean_report import LocalMean
from hush.federated.stable import calibrate_stable, one_budget, one_delta
from hush.noise import catalogue
from hush.noise.contract import Law
from hush.numerics import special
from hush.numerics.search import first_true_from
from hush.releasing.text import text_table

__all__ = ["Need", "ReportPlan", "answers_needed", "reports_needed"]

#: Families whose best shape for the average differs from the best one for the bounded estimate: averages of stable
#: noise need a larger alpha.
AVERAGED: dict[str, Callable[[float], list[Law]]] = {
    "stable": lambda epsilon: [calibrate_stable(epsilon, alpha=alpha).noise for alpha in (1.7, 1.8, 1.9, 1.95)]
}
_MOST = 1 << 50  # reports: the search ends here, far above the number of people on earth


@dataclass(frozen=True)
class Need:
    """One row of a plan: a noise in units of the range or a `LocalMean` (None for categories), a method, and the fewest
    reports.

    `reports` is None if no number of reports reaches the target error.
    """

    family: str
    noise: Law | LocalMean | None
    method: str
    reports: int | None
    half_width: float


@dataclass(frozen=True)
class ReportPlan:
    """The fewest reports for a target error, by family and method, fewest first; `str` formats a table."""

    error: float
    level: float
    epsilon: float
    delta: float
    what: str
    rows: tuple[Need, ...]

    @property
    def best(self) -> Need:
        """The row with the fewest reports."""
        return self.rows[0]

    def __str__(self) -> str:
        pair = f"epsilon {self.epsilon:g}" + (f", delta {self.delta:g}" if self.delta else "")
        head = f"{self.what} to +-{self.error:g} at {100 * self.level:g} %, {pair} for each person"
        rows = []
        for row in self.rows:
            reports = "not reachable" if row.reports is None else f"{row.reports:,}"
            times = "" if row.reports is None else f"{row.reports / (self.best.reports or 1):.2f}"
            rows.append((row.family, row.method, reports, times))
        heads = ("family", "method", "reports", "times the best")
        return "\n".join([head, *text_table(heads, rows, right={2, 3})])


@called_like("reports_needed(2.0, 1.0, low=0, high=100, delta=0.0)")
def reports_needed(
    error: float,
    epsilon: float,
    low: float,
    high: float,
    *,
    delta: float,
    level: float = 0.95,
    families: Iterable[str] | None = None,
) -> ReportPlan:
    """The fewest reports for which the mean is within `error` of the true one with probability `level`.

    The result has a row for each family and method.

    Guarantees: with that many reports, `mean(reports, level=level, method=row.method)` has a half width of at most
    `error`, and its interval covers. The average of stable reports needs many reports, because its error decreases
    only like n^(1/alpha - 1).

    >>> plan = reports_needed(2.0, 1.0, 0, 100, delta=0.0)
    >>> plan.best.family, plan.best.method
    ('optimal', 'average')
    """
    start, end = local_range(low, high)
    goal = positive("error", error, "write error=2.0") / (end - start)
    level = must_be_level(level)
    epsilon, delta = one_budget(epsilon), one_delta(delta)
    names: tuple[str, ...] = LOCAL_FAMILIES if delta > 0.0 else LOCAL_FAMILIES[:-1]
    if families is not None:
        if isinstance(families, str) or not isinstance(families, Iterable):
            raise reject("families", families, "a list of family names", "write families=['laplace']")
        known = (*LOCAL_FAMILIES, *(row.name for row in catalogue.ranked(lattice=False)))
        names = tuple(each(one_of, "families", families, known))
    rows = [row for name in names for row in _rows(name, epsilon, delta, goal, level, end - start)]
    if not rows:
        raise InvalidParameter("families must name at least one family; write families=['laplace'].")
    rows.sort(key=lambda row: math.inf if row.reports is None else row.reports)
    what = f"mean of values in [{start:g}, {end:g}]"
    return ReportPlan(float(error), level, float(epsilon), float(delta), what, tuple(rows))


def answers_needed(error: float, epsilon: float, categories: int, *, level: float = 0.95) -> ReportPlan:
    """The fewest answers for which the estimated fraction in a category is within `error` with probability `level`.

    error is a fraction: 0.02 is two percentage points. n = z^2 v/error^2, where v is the larger of keep (1 - keep) and
    stray (1 - stray), divided by (keep - stray)^2: the worst case over all true fractions.

    >>> answers_needed(0.02, 1.0, 5).best.method
    'response'
    """
    goal, sure = positive("error", error, "write error=0.02"), must_be_level(level)
    epsilon, k = one_budget(epsilon), whole("categories", categories, 2)
    z, rows = float(-special.ndtri(0.5 * (1.0 - sure))), []
    for method in ("response", "unary"):
        keep, stray = (float(value) for value in chances(epsilon, k, method))
        worst = math.sqrt(max(keep * (1.0 - keep), stray * (1.0 - stray))) / (keep - stray)
        count = math.ceil((z * worst / goal) ** 2)
        rows.append(Need("answers", None, method, count, z * worst / math.sqrt(count)))
    rows.sort(key=lambda row: row.reports or 0)
    return ReportPlan(goal, sure, float(epsilon), 0.0, f"fraction of people in each of {k} categories", tuple(rows))


def _rows(family: str, epsilon: float, delta: float, goal: float, level: float, width: float) -> list[Need]:
    found = []
    for method in METHODS:
        noises: list[Any] = [local_noise(epsilon, delta=delta, family=family)]
        if method == "average" and family in AVERAGED:
            noises = AVERAGED[family](epsilon)
        try:
            half_width(noises[0], 1, level=level, method=method)
        except HushError:  # this family does not have this method
            continue
        needs = [(_fewest(noise, goal, level, method), noise) for noise in noises]
        count, noise = min(needs, key=lambda need: _MOST + 1 if need[0] is None else need[0])
        reached = math.inf if count is None else width * half_width(noise, count, level=level, method=method)
        found.append(Need(family, noise, method, count, reached))
    return found


def _fewest(noise: Law | LocalMean, goal: float, level: float, method: str) -> int | None:
    """The least number of reports that reaches the target; None if none up to `_MOST` does."""
    return first_true_from(1, _MOST, lambda count: half_width(noise, count, level=level, method=method) <= goal)
