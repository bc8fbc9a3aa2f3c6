"""The plan of a private search, from public facts only, and what it charges."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from hush.errors import InvalidParameter, reject
from hush.learn.fit_words import about_search
from hush.learn.holdout_score import score_mechanism
from hush.learn.model import LinearModel
from hush.learn.relation import Relation
from hush.learn.selection import Charges, Runs, largest_base, run_divergence
from hush.learn.training import plan
from hush.ledger.access import Access
from hush.ledger.payment import Payment
from hush.noise.staircase import Staircase
from hush.privacy.charge import Budget, Charge
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.mechanism import Mechanism

__all__ = ["Scheme", "must_be_chargeable", "parts_of", "pay_for", "scheme_of"]

_LARGEST_CHARGED_EPSILON = 700.0  # e^epsilon must be a finite float


@dataclass(frozen=True)
class Scheme:
    """The candidates, the law of the number of runs, the noise, and the numbers of rows of both parts.

    `budget` is that of all runs together. `base` is the epsilon of one run.
    """

    models: list[LinearModel]
    runs: Runs
    budget: Budget
    base: float
    score: Mechanism
    kept: int
    held: int

    @property
    def relation(self) -> Relation:
        """Which data sets are neighbours."""
        return self.models[0]._relation

    @property
    def charge(self) -> Charge:
        """The charge of all runs: the pair (epsilon, delta) is all that is proved about a search.

        Every (epsilon, delta)-private algorithm is dominated by randomised response that fails with probability delta
        (Kairouz, Oh and Viswanath 2015, Theorem 3.4). Staircase noise with gamma = 1/2 has the same privacy loss,
        which is always epsilon or -epsilon. No noise is drawn for the pair: it pays for all runs together, and each
        run and each score then draws with an unaccounted payment.
        """
        bound = Sensitivity(linf=1.0, l0=1, neighbours=self.relation.neighbours)
        return Charge(Staircase(self.budget.epsilon, 1.0, gamma=0.5), bound)


def parts_of(rows: int, holdout: float, *, hidden: bool) -> tuple[int, int]:
    """The numbers of rows for training and for scoring.

    If the number of rows is `hidden`, these are public expectations, and they are raised to the least that a fit needs.
    """
    held = round(rows * holdout)
    if hidden:
        return max(rows - held, 2), max(held, 1)
    if held < 1 or rows - held < 2:
        raise InvalidParameter(
            f"{rows} rows are too few for holdout={holdout:g}: both parts need rows; write holdout=0.2. Nothing was "
            "spent."
        )
    return rows - held, held


def scheme_of(
    models: list[LinearModel], first: LinearModel, runs: Runs, budget: Budget, parts: tuple[int, int]
) -> Scheme:
    """The largest budget of one run for which the best of all runs meets the budget of the search."""
    (kept, held), delta = parts, budget.delta
    relation = first._relation

    def charges(base: float) -> Iterator[Charges]:
        """The charges of every candidate's training, and of the score: each row is in one of the two parts."""
        for model in models:
            model.set_params(epsilon=base, delta=delta)
            yield plan(model._request_for(kept), kept).charges
        yield (score_mechanism(first, base, delta, relation).charge,)

    def fits(base: float) -> bool:
        return runs.epsilon(run_divergence(charges(base)), delta) <= budget.epsilon

    if delta == 0.0:
        base = runs.pure(budget.epsilon)
        for _ in charges(base):  # plans every candidate: raises if an option is wrong, before anything is paid for
            pass
    else:
        base = largest_base(fits, budget.epsilon)
    for model in models:
        model.set_params(epsilon=base, delta=delta)
    return Scheme(models, runs, budget, base, score_mechanism(first, base, delta, relation), kept, held)


def pay_for(made: Scheme, access: Access, question: str) -> Payment | None:
    """Build every sampler, then charge the pair (epsilon, delta)."""
    for model in made.models:
        for part in plan(model._request_for(made.kept), made.kept).parts:
            part.mechanism.prepare()
    made.score.prepare()
    if access.ledger is None:
        return None
    must_be_chargeable(made.budget.epsilon)
    words = about_search(made.models[0], len(made.models))
    return access.pay(question, [made.charge], about=words, extra_delta=made.budget.delta, budget=made.budget)


def must_be_chargeable(epsilon: float) -> None:
    """Refuse an epsilon that no ledger can hold as a pair."""
    if epsilon > _LARGEST_CHARGED_EPSILON:
        raise reject("epsilon", epsilon, "at most 700 if a ledger is charged for a search", "write epsilon=1.0")
