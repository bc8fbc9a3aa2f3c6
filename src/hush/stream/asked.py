"""`stream`: running totals or counts of a number of periods, period by period."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from hush.calibration.extreme import extreme_budgets
from hush.errors import InvalidParameter, called_like, shown, whole
from hush.privacy.charge import Budget
from hush.stream.block_sizes import best_blocks
from hush.stream.epochs import SHOWN, gaussian_epochs, laplace_epochs
from hush.stream.matrix import (
    dense_rows,
    lifted_rows,
    matrix_stream,
    must_have_delta,
    normalised_rows,
    square_root_rows,
)
from hush.stream.plan import StreamPlan
from hush.stream.power import power_rows
from hush.stream.rows import SCALE, Rows, ToeplitzRows, most_appearances
from hush.stream.strategy import StreamStrategy
from hush.workload.plan import compared
from hush.workload.strategy import gaussian_part

__all__ = ["Stream", "stream"]

_MOST_PERIODS = 8192
_WRITE = "write stream(horizon=365)"

Maker = tuple[str, Callable[[], StreamStrategy]]


@dataclass(frozen=True)
class Stream:
    """Counts of `horizon` periods, published period by period; see `hush.stream`.

    `window` is the number of periods whose total is asked for at the end of each period: `horizon` for running totals,
    1 for the count of each period.
    """

    horizon: int | None
    window: int
    appears: int
    apart: int
    corrections: bool

    @property
    def periods(self) -> int:
        """The periods over which errors are compared: all of them, or the first ones if the end is not known."""
        return SHOWN if self.horizon is None else self.horizon

    @property
    def asked(self) -> str:
        """The question in words."""
        if self.window >= self.periods:
            return "running totals"
        return "counts of each period" if self.window == 1 else f"totals of the last {self.window} periods"

    @property
    def objective(self) -> str:
        """What the plan minimises, in words."""
        of = f"the first {SHOWN}" if self.horizon is None else f"all {self.horizon}"
        return f"mean squared error of the {self.asked}, over {of} periods"

    @property
    def people(self) -> str:
        """What is assumed about people, in words."""
        if self.appears == 1:
            return "a person appears in at most one period"
        return f"a person appears in at most {self.appears} periods, at least {self.apart} apart"

    @property
    def in_words(self) -> str:
        """The whole stream in words, for the statement of a ledger."""
        end = "until it is stopped" if self.horizon is None else f"{self.horizon} times"
        return f"{self.asked} of people, published {end}, once each period; {self.people}"

    @called_like("stream(horizon=365).plan(1.0, 1e-6)")
    def plan(self, epsilon: float, delta: float) -> StreamPlan:
        """The strategy and the noise of least mean squared error for this budget. Nothing is spent before `start`."""
        budget = Budget.asked(epsilon, delta)
        with extreme_budgets(budget.epsilon, budget.delta):
            best, candidates = compared(self._endless(budget) if self.horizon is None else self._makers(budget))
        return StreamPlan(self, best, budget, candidates)

    def _endless(self, budget: Budget) -> list[Maker]:
        return [
            ("Laplace noise on blocks in epochs", partial(laplace_epochs, self.window, budget, self.appears)),
            ("Gaussian noise in epochs", partial(gaussian_epochs, self.window, budget, self.appears, self.apart)),
        ]

    def _makers(self, budget: Budget) -> list[Maker]:
        """Names and functions of all candidates."""
        horizon, window = self.periods, self.window
        k = most_appearances(horizon, self.appears, self.apart)
        blocks = partial(best_blocks, horizon, window, budget.epsilon, k)
        found: list[Maker] = [("Laplace noise on each period", partial(blocks, 1))]
        found += [(f"Laplace noise on blocks of {levels} levels", partial(blocks, levels)) for levels in (2, 3, 4)]

        def matrix(name: str, rows: Callable[[], Rows]) -> Maker:
            def make() -> StreamStrategy:
                must_have_delta(budget)
                return matrix_stream(name, rows(), budget, k, self.apart).for_window(window)

            return name, make

        found.append(matrix("Gaussian noise on each period", lambda: ToeplitzRows(horizon, (SCALE,))))
        found.append(matrix("Gaussian noise, square root", lambda: square_root_rows(horizon)))
        if k == 1:
            found.append(matrix("Gaussian noise, normalised square root", lambda: normalised_rows(horizon)))
            found.append(matrix("Gaussian noise, best combinations", lambda: self._dense(budget)))
        if k > 1 or window < horizon:
            found.append(matrix("Gaussian noise, banded powers", lambda: power_rows(horizon, window, k, self.apart)))
        if k > 1 and not self.corrections:
            found.append(matrix("Gaussian noise, lift", lambda: lifted_rows(horizon, window, k)))
        return found

    def _dense(self, budget: Budget) -> Rows:
        """The best matrix, unless a quick lower bound on its error shows that blocks are better."""
        least = best_blocks(self.periods, self.window, budget.epsilon, 1, 1).error
        if self.periods >= 16 and self.window >= self.periods:
            least = min(least, best_blocks(self.periods, self.window, budget.epsilon, 1, 2).error)
        return dense_rows(self.periods, self.window, least / gaussian_part(1.0, 1, budget).noise.variance)

    def __repr__(self) -> str:
        length = "a stream without a known end" if self.horizon is None else f"{self.horizon} periods"
        return f"{self.asked} of {length}; {self.people}"


@called_like("stream(horizon=365)")
def stream(
    *,
    horizon: int | None,
    question: str | int = "totals",
    appears: int = 1,
    apart: int = 1,
    corrections: bool = False,
) -> Stream:
    """Counts that are published period by period: running totals, counts, or totals of windows.

    `horizon` is the number of periods, None if it is not known. `question` is "totals" (the running total at the end of
    each period), "counts" (the count of each period) or a whole number w (the total of the last w periods). All of them
    can be read from each answer; the plan minimises the error of this one.

    A person counts at most once in a period, in at most `appears` periods, and two of them are at least `apart` periods
    apart. corrections=True states that a person may also lower a count by 1, as a late correction does; that is an
    appearance too.

    >>> import hush
    >>> plan = hush.stream(horizon=52).plan(1.0, 1e-6)
    >>> round(plan.mse, 1), plan.strategy.name
    (45.6, 'Laplace noise on blocks of 1, 8 periods')
    """
    if horizon is not None:
        horizon = whole("horizon", horizon, 1, f"{_WRITE}, or horizon=None if it is not known")
        if horizon > _MOST_PERIODS:
            raise InvalidParameter(f"horizon must be at most {_MOST_PERIODS} periods, got {horizon}; {_WRITE}.")
    periods = SHOWN if horizon is None else horizon
    for name, given in (("appears", appears), ("apart", apart)):
        if isinstance(given, int) and given > _MOST_PERIODS:
            raise InvalidParameter(f"{name} must be at most {_MOST_PERIODS}, as the periods of a stream, got {given}.")
    times, gap = whole("appears", appears, 1, "write appears=12"), whole("apart", apart, 1, "write apart=30")
    if not isinstance(corrections, bool):
        raise InvalidParameter(f"corrections must be True or False, got {shown(corrections)}.")
    window = _MOST_PERIODS if horizon is None and question == "totals" else _window(question, periods)
    return Stream(horizon, window, times, gap, corrections)


def _window(question: str | int, periods: int) -> int:
    """The number of periods that are added up."""
    if question == "totals":
        return periods
    if question == "counts":
        return 1
    if isinstance(question, bool) or not isinstance(question, int) or not 1 <= question <= periods:
        raise InvalidParameter(
            f'question must be "totals", "counts", or the number of periods of a window (1 to {periods}), '
            f"got {shown(question)}."
        )
    return question
