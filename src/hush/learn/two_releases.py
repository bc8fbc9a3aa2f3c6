"""What a ledger must cover if a fit is two releases: the number of rows, then the model, whose noise depends on it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace

from hush.errors import BudgetExceeded, HushError, Unsupported
from hush.learn.relation import Relation
from hush.learn.row_count import RowCount
from hush.ledger import Ledger
from hush.numerics.rounding import decimal_down
from hush.privacy.charge import Budget, Charge

__all__ = ["Alternatives", "Release", "Rest", "covers", "reserved_pair"]

#: The charges, the budget and the extra_delta of one entry.
Release = tuple[Sequence[Charge], Budget, float]
#: Plans of what follows a release of the number of rows. One of them is used, so a ledger has to cover one of them.
Alternatives = Callable[[], Iterable[Release]]
#: What may follow a release of the number of rows: alternatives for each of several numbers of rows.
Rest = Callable[[RowCount], Iterable[Alternatives]]
_TRIES = 5  # halvings of the range in which an epsilon that fits is searched


def covers(ledger: Ledger, releases: Sequence[Release], *, block: str = "", followed_by: Budget | None = None) -> bool:
    """Does the ledger cover these releases together? It does not cover noise for which it has no theorem."""
    try:
        return ledger.would_cover(releases, block=block, followed_by=followed_by)
    except HushError:
        return False


def reserved_pair(
    ledger: Ledger | None, made: RowCount, pair: Budget, rest: Rest, relation: Relation, block: str
) -> Budget | None:
    """The pair of the model if the number of rows must state it, so that an adaptive ledger reserves delta for it.

    `pair` is the budget of the model. Raises, before the number of rows is paid for, what the ledger would refuse
    afterwards. The noise of the model depends on the released number, so it is not fixed in advance, and the ledger has
    to cover what every number may lead to.
    """
    if ledger is None:
        return None
    if ledger.cap.delta > 0.0 and (ledger.mode == "nonadaptive" or ledger.cap.releases is not None):
        raise Unsupported(
            "the noise of this fit depends on the number of rows, which is released first, and a ledger whose noise "
            "is fixed in advance does not allow that; give n_rows=, or use an adaptive ledger."
        )
    asked = _Asked(ledger, rest, relation, block)
    states = asked.statements(made, pair)
    for state in states:
        if asked.missing(made, state) is None:
            return state
    words = asked.refusal(made, states[-1])
    hints = [f"epsilon={value:g}" for value in asked.fitting(made, pair)]
    if asked.alone(replace(made, left=made.epsilon + made.left)):
        hints.append("n_rows=... if the number of rows is public")
    if hints:  # they are about both releases; the last words of the refusal are about the model alone
        words = f"{words.rpartition('; ')[0]}; write {', or '.join(hints)}"
    raise BudgetExceeded(
        "this fit is two releases, the number of rows and then the model, and the ledger does not cover both: "
        f"{words}; nothing was spent."
    )


@dataclass(frozen=True)
class _Asked:
    """A ledger, and what may follow a number of rows of this relation in this block."""

    ledger: Ledger
    rest: Rest
    relation: Relation
    block: str

    def statements(self, made: RowCount, pair: Budget) -> list[Budget | None]:
        """What the number of rows may state, in the order of preference, from public facts.

        A statement is sure to cover the model, whatever noise the released number leads to, and uses its delta up. So
        it comes first if the ledger has no budget for a second fit of this kind.
        """
        if pair.delta == 0.0:
            return [None]
        whole = made.epsilon + made.left
        return [pair, None] if 2.0 * whole > self.ledger.cap.epsilon else [None, pair]

    def missing(self, made: RowCount, state: Budget | None) -> Release | None:
        """What the ledger does not cover after the number of rows: the first plan of some number; None if there is
        none.
        """
        count = _of_count(made)
        for alternatives in self.rest(made):
            first = None
            for each in alternatives():
                first = first or each
                if covers(self.ledger, [count, each], block=self.block, followed_by=state):
                    break
            else:
                return first
        return None

    def refusal(self, made: RowCount, state: Budget | None) -> str:
        """The words of the ledger's refusal."""
        first = self.missing(made, state)
        if first is not None:
            try:
                self.ledger.must_cover([_of_count(made), first], block=self.block, followed_by=state)
            except BudgetExceeded as failure:
                return str(failure).removesuffix("; nothing was spent.")
        return "the ledger was charged by somebody else in this moment; try again"

    def alone(self, made: RowCount) -> bool:
        """Does the ledger cover the model with the whole budget, without the number of rows?"""
        return all(
            any(covers(self.ledger, [each], block=self.block) for each in alternatives())
            for alternatives in self.rest(made)
        )

    def fitting(self, made: RowCount, pair: Budget) -> list[float]:
        """About the largest epsilon with which the ledger covers both releases; nothing if none is found."""
        low, high = 0.0, made.epsilon + made.left
        for _ in range(_TRIES):
            middle = 0.5 * (low + high)
            try:
                smaller = RowCount.planned(middle, self.relation)
                states = self.statements(smaller, Budget(smaller.left, pair.delta))
                fits = any(self.missing(smaller, state) is None for state in states)
            except HushError:
                fits = False
            low, high = (middle, high) if fits else (low, middle)
        return [float(decimal_down(low, 2))] if low > 0.0 else []


def _of_count(made: RowCount) -> Release:
    """What the number of rows charges."""
    return [made.mechanism.charge], Budget(made.epsilon, 0.0), 0.0
