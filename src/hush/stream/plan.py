"""`StreamPlan`: what is measured in each period of a stream, with which noise, and the errors to expect."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import LedgerError, called_like, shown
from hush.noise.contract import Noise
from hush.privacy.charge import Budget, Charge, Guarantee
from hush.stream.strategy import StreamStrategy
from hush.workload.plan import Candidate, because

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.stream.asked import Stream
    from hush.stream.running import RunningStream

__all__ = ["StreamPlan", "plan_from"]

Array = NDArray[np.float64]


@dataclass(frozen=True, eq=False, repr=False)
class StreamPlan:
    """A plan for a stream. Nothing in it depends on the data.

    `variance` is the variance of the answer of each period, `mse` their mean and `rmse` its root. `candidates` lists
    every strategy that was compared, the best first.
    """

    stream: Stream
    strategy: StreamStrategy
    budget: Budget
    candidates: tuple[Candidate, ...]

    @property
    def noise(self) -> Noise:
        """The noise of a measured number; of the first kind where there are several."""
        return self.strategy.noise

    @property
    def charges(self) -> list[Charge]:
        """What a ledger is charged, once, at the start."""
        return self.strategy.charges

    @property
    def guarantee(self) -> Guarantee:
        """The privacy of everything that the stream publishes."""
        return Guarantee(self.budget.epsilon, self.budget.delta)

    @property
    def variance(self) -> Array:
        """The variance of the answer at the end of each period (of the first 480 without a horizon)."""
        return self.strategy.variances(self.stream.window)

    @property
    def mse(self) -> float:
        """The mean squared error of the answers of all periods."""
        return float(self.strategy.error)

    @property
    def rmse(self) -> float:
        """The root of the mean squared error of the answers of all periods."""
        return math.sqrt(self.mse)

    @property
    def why(self) -> str:
        """The chosen strategy, and what the others would cost."""
        return because(self.candidates, self.stream.objective)

    @called_like("plan.start(ledger=ledger, name='visits')")
    def start(
        self,
        *,
        ledger: Ledger,
        name: str,
        label: str = "",
        account: str = "",
        population: str | None = None,
        secret: str | os.PathLike[str] | None = None,
    ) -> RunningStream:
        """Charge the ledger for all periods, once, and return the stream, ready for its first period.

        A stream of this name that was asked for in the same way is continued. `account` is the sub-account to charge,
        and `secret` the secret file: see `RunningStream`. `population` names the people that are counted, as for
        `hush.tables.table`; it is needed for a ledger that protects the people of tables. Everything that can fail is
        checked before the ledger is charged.
        """
        from hush.stream.running import started

        return started(self, ledger, name, label=label, account=account, population=population, secret=secret)

    def __repr__(self) -> str:
        pair = f"(epsilon, delta) = ({self.budget.epsilon:.6g}, {self.budget.delta:.6g})"
        return f"{self.stream}, for {pair}\nroot mean squared error {self.rmse:.5g}\n{self.why}"

    def to_plain(self) -> dict[str, Any]:
        """Everything that defines the stream, for the ledger's file."""
        asked = {name: getattr(self.stream, name) for name in ("horizon", "window", "appears", "apart", "corrections")}
        pair = {"epsilon": self.budget.epsilon, "delta": self.budget.delta}
        return {"asked": asked, "budget": pair, "strategy": self.strategy.to_plain(), "error": self.mse}


def plan_from(values: Mapping[str, Any], paid: Sequence[Charge]) -> StreamPlan:
    """The plan that `to_plain` stored, with the noise that was paid for."""
    from hush.stream.asked import Stream
    from hush.stream.blocks import BlockStream
    from hush.stream.epochs import EpochStream
    from hush.stream.matrix import MatrixStream

    kinds: dict[str, Any] = {"blocks": BlockStream, "matrix": MatrixStream, "epochs": EpochStream}
    asked, error, plain = Stream(**values["asked"]), float(values["error"]), values["strategy"]
    if plain["kind"] not in kinds:
        raise LedgerError(f"the ledger has a stream of the unknown kind {shown(plain['kind'])}; use a newer hush.")
    strategy = replace(kinds[plain["kind"]].from_plain(plain, paid), error=error)
    return StreamPlan(asked, strategy, Budget(**values["budget"]), (Candidate(strategy.name, error),))
