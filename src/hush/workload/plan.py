"""`WorkloadPlan`: the strategy and the noise with the least error for a workload, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import HushError, InvalidParameter, Unsupported, whole
from hush.ledger.payment import must_be_secure, pay
from hush.ledger.refusal import must_be_ledger
from hush.noise.contract import Noise
from hush.privacy.charge import Budget, Guarantee
from hush.releasing.receipt import Receipt
from hush.sampling.entropy import Entropy
from hush.workload.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from hush.ledger import Ledger

__all__ = ["Candidate", "WorkloadPlan", "because", "chosen", "compared", "released"]

#: A strategy: it has a name and an error.
_Made = TypeVar("_Made", bound=Any)
Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Candidate:
    """A strategy that was compared: its name and its error, or the reason why it has none."""

    name: str
    error: float
    reason: str = ""


@dataclass(frozen=True, eq=False, repr=False)
class WorkloadPlan:
    """What is measured for a workload, with which noise, and the errors to expect. Nothing in it depends on the data.

    `mse` is the mean squared error of a question, `rmse` its root, `noise` the noise of the (first) measured vector,
    `charges` what a ledger is charged, and `candidates` every strategy that was compared, the best first.
    """

    workload: Any
    strategy: Strategy
    budget: Budget
    rows_per_person: int
    candidates: tuple[Candidate, ...]

    @property
    def noise(self) -> Noise:
        """The noise of the measured vector; of the first one where there are several."""
        return self.strategy.noise

    @property
    def charges(self) -> list[Any]:
        """What a ledger is charged."""
        return self.strategy.charges

    @property
    def guarantee(self) -> Guarantee:
        """The privacy of the answer."""
        return Guarantee(self.budget.epsilon, self.budget.delta)

    @property
    def variance(self) -> Any:
        """The variance of each answer, as the workload lists them."""
        return self.workload.variances(self.strategy)

    @property
    def mse(self) -> float:
        """The mean squared error of all answers."""
        return float(self.workload.mean_squared_error(self.strategy))

    @property
    def rmse(self) -> float:
        """The root of the mean squared error of all answers."""
        return math.sqrt(self.mse)

    @property
    def why(self) -> str:
        """The chosen strategy, and what the others would cost."""
        return because(self.candidates, self.workload.objective)

    def answer(self, data: Any = None, *, ledger: Ledger | None, label: str = "", **given: Any) -> Any:
        """Measure the data, charge the ledger, and return the answer to all questions of the workload.

        The entry of the ledger is durable before any noise is drawn. Everything that can fail is checked before.
        """
        must_be_ledger(ledger)
        steps = self.strategy.measured(self.workload.counted(data, **given))
        noisy, receipt = released(self, steps, ledger=ledger, label=label)
        return self.workload.answer_of(self, self.strategy.estimated(noisy), receipt)

    def __repr__(self) -> str:
        pair = f"(epsilon, delta) = ({self.budget.epsilon:.6g}, {self.budget.delta:.6g})"
        rows = f", at most {self.rows_per_person} rows of a person" if self.rows_per_person > 1 else ""
        first = f"{self.workload} for {pair}{rows}"
        return f"{first}\nroot mean squared error {self.rmse:.5g}\n{self.why}"


def because(candidates: Sequence[Candidate], objective: str) -> str:
    """The best of the candidates, and what the others would cost."""
    best, *others = candidates
    shown = [f"{c.name} {c.error:.4g}" if not c.reason else f"{c.name}: {c.reason}" for c in others]
    beside = f"; compared with {'; '.join(shown)}" if shown else ""
    return f"{best.name}, error {best.error:.4g} ({objective}){beside}"


def chosen(
    workload: Any,
    budget: Budget,
    rows: int,
    makers: Sequence[tuple[str, Callable[[], Strategy]]],
) -> WorkloadPlan:
    """The plan with the least error of all strategies; a strategy that raises is listed with its reason."""
    whole("rows_per_person", rows, 1, "write rows_per_person=1")
    best, candidates = compared(makers)
    return WorkloadPlan(workload, best, budget, rows, candidates)


def compared(makers: Sequence[tuple[str, Callable[[], _Made]]]) -> tuple[_Made, tuple[Candidate, ...]]:
    """The strategy with the least error, and all candidates, the best first."""
    found: list[_Made] = []
    failed: list[Candidate] = []
    for name, make in makers:
        try:
            found.append(make())
        except HushError as failure:
            failed.append(Candidate(name, math.inf, str(failure).split(";")[0].rstrip(".")))
    if not found:
        raise Unsupported("no strategy meets this budget: " + "; ".join(f"{c.name}: {c.reason}" for c in failed))
    found.sort(key=lambda strategy: strategy.error)
    listed = [Candidate(strategy.name, strategy.error) for strategy in found]
    return found[0], (*listed, *failed)


def released(
    plan: WorkloadPlan,
    steps: Sequence[Whole],
    *,
    ledger: Ledger | None,
    label: str = "",
    entropy: Entropy | None = None,
    source: str | None = None,
    about: Mapping[str, Any] | None = None,
    account: str = "",
) -> tuple[list[Whole], Receipt]:
    """The measured numbers with noise, and the receipt: pay first, then draw."""
    must_be_secure(entropy)
    parts = plan.strategy.parts
    if len(steps) != len(parts):
        raise InvalidParameter(f"the strategy measures {len(parts)} vectors, got {len(steps)}.")
    for part in parts:
        part.prepare()
    receipt = _receipt(plan) | dict(about or {})
    payment = pay(ledger, plan.charges, label=label, budget=plan.budget, source=source, account=account)
    noisy = [
        payment.noise(part, np.ascontiguousarray(one).reshape(-1), entropy=entropy)
        for part, one in zip(parts, steps, strict=True)
    ]
    return noisy, receipt | {"ledger": payment.receipt}


def _receipt(plan: WorkloadPlan) -> Receipt:
    """What the answer guarantees, and what was measured for which questions."""
    about = {
        "workload": repr(plan.workload),
        "strategy": plan.strategy.name,
        "rows_per_person": plan.rows_per_person,
        "error": {"root_mean_squared": plan.rmse, "of": plan.workload.objective},
        "measured": sum(part.coordinates for part in plan.strategy.parts),
    }
    return Receipt.of("workload", plan.guarantee, plan.charges, about=about)
