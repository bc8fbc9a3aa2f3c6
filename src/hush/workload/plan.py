"""`WorkloadPlan`: the strategy and the noise with the least error for a workload, before anything is spent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import HushError, InvalidParameter, Unsupported, whole
from hush.ledger.access import Access, digest
from hush.ledger.kept import KeptAnswer
from hush.ledger.payment import Payment, must_be_secure
from hush.ledger.refusal import must_be_ledger
from hush.noise.contract import Noise
from hush.privacy.charge import Budget, Guarantee
from hush.releasing.receipt import Receipt
from hush.sampling.entropy import Entropy
from hush.workload.strategy import Strategy

if TYPE_CHECKING:
    from collections.abc import Callable

    from hush.ledger import Ledger

__all__ = ["Candidate", "WorkloadPlan", "answered", "because", "chosen", "compared"]

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
        return answered(self, lambda: steps, Access(ledger, label=label), digest(self.in_words, self.rows_per_person))

    @property
    def in_words(self) -> str:
        """What is asked, in words."""
        return repr(self.workload)

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


def answered(
    plan: WorkloadPlan,
    measure: Callable[[], Sequence[Whole]],
    access: Access,
    question: str,
    *,
    entropy: Entropy | None = None,
    about: Mapping[str, Any] | None = None,
    promised: Mapping[str, Any] | None = None,
    shown: Callable[[Any], Any] = lambda answer: answer,
    in_memory: bool = True,
) -> Any:
    """Pay, then count and draw; the answer, which is kept before it is shown.

    `measure()` reads the data: it gives the vectors that the strategy measures. `about` is added to the receipt, and
    `promised` to its guarantee; `shown` makes of the workload's answer what the caller gets. What another process
    kept first is the answer of both, unless it may hold other data under the same name (`in_memory`).
    """
    must_be_secure(entropy)
    parts = plan.strategy.parts
    for part in parts:
        part.prepare()
    receipt = _receipt(plan, promised) | dict(about or {})

    def made_of(payment: Payment, noisy: Sequence[Whole]) -> Any:
        given = receipt | {"ledger": payment.receipt}
        return shown(plan.workload.answer_of(plan, plan.strategy.estimated(list(noisy)), given))

    def run(payment: Payment) -> tuple[Any, bytes]:
        noisy = _drawn(payment, parts, measure(), entropy)
        made = made_of(payment, noisy)
        held = {str(place): np.asarray(one, dtype="<i8").tobytes() for place, one in enumerate(noisy)}
        return made, KeptAnswer("workload", repr(made), made.receipt, {"steps": len(noisy)}, held).to_bytes()

    while (payment := access.pay(question, plan.charges, budget=plan.budget, about=plan.in_words)).kept is None:
        made, content = payment.attempt(partial(run, payment))
        if payment.keep(content) == content:
            return made
        if not in_memory:
            break
    kept = KeptAnswer.from_bytes(payment.kept)
    return made_of(
        payment, [np.frombuffer(kept.parts[str(i)], dtype="<i8").astype(np.int64) for i in range(len(parts))]
    )


def _drawn(payment: Payment, parts: Sequence[Any], steps: Sequence[Whole], entropy: Entropy | None) -> list[Whole]:
    """The vectors that a strategy measures, with the noise of each."""
    if len(steps) != len(parts):
        raise InvalidParameter(f"the strategy measures {len(parts)} vectors, got {len(steps)}.")
    return [
        payment.noise(part, np.ascontiguousarray(one).reshape(-1), entropy=entropy)
        for part, one in zip(parts, steps, strict=True)
    ]


def _receipt(plan: WorkloadPlan, promised: Mapping[str, Any] | None) -> Receipt:
    """What the answer guarantees, and what was measured for which questions."""
    about = {
        "workload": repr(plan.workload),
        "strategy": plan.strategy.name,
        "rows_per_person": plan.rows_per_person,
        "error": {"root_mean_squared": plan.rmse, "of": plan.workload.objective},
        "measured": sum(part.coordinates for part in plan.strategy.parts),
    }
    return Receipt.of("workload", plan.guarantee, plan.charges, promised=promised, about=about)
