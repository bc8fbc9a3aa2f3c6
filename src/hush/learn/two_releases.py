"""What a ledger must cover if a fit is two releases: the number of rows, then the model, whose noise depends on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from hush.errors import BudgetExceeded, HushError, Unsupported
from hush.learn.relation import Relation
from hush.learn.row_count import RowCount
from hush.ledger import Ledger
from hush.numerics.rounding import decimal_down
from hush.privacy.charge import Budget, Charge

__all__ = ["Rest", "reserved_pair"]

#: The charges, the budget and the extra_delta of everything that follows a release of the number of rows.
Rest = Callable[[RowCount], tuple[Sequence[Charge], Budget, float]]
_TRIES = 5  # halvings of the range in which an epsilon that fits is searched


def reserved_pair(ledger: Ledger | None, made: RowCount, rest: Rest, relation: Relation, block: str) -> Budget | None:
    """The pair of the model if the number of rows must state it, so that an adaptive ledger reserves delta for it.

    Raises, before the number of rows is paid for, what the ledger would refuse afterwards. The noise of the model
    depends on the released number, so it is not fixed in advance.
    """
    if ledger is None:
        return None
    if ledger.cap.delta > 0.0 and (ledger.mode == "nonadaptive" or ledger.cap.releases is not None):
        raise Unsupported(
            "the noise of this fit depends on the number of rows, which is released first, and a ledger whose noise "
            "is fixed in advance does not allow that; give n_rows=, or use an adaptive ledger."
        )
    states = _statements(ledger, made, rest)
    for pair in states:
        if ledger.would_cover(_both(made, rest), block=block, followed_by=pair):
            return pair
    words = _refusal(ledger, made, rest, block, states[-1])
    hints = [f"epsilon={value:g}" for value in _fitting(ledger, made, rest, relation, block)]
    if _alone(ledger, replace(made, left=made.epsilon + made.left), rest, block):
        hints.append("n_rows=... if the number of rows is public")
    if hints:  # they are about both releases; the last words of the refusal are about the model alone
        words = f"{words.rpartition('; ')[0]}; write {', or '.join(hints)}"
    raise BudgetExceeded(
        "this fit is two releases, the number of rows and then the model, and the ledger does not cover both: "
        f"{words}; nothing was spent."
    )


def _statements(ledger: Ledger, made: RowCount, rest: Rest) -> list[Budget | None]:
    """What the number of rows may state, in the order of preference, from public facts.

    A statement is sure to cover the model, whatever noise the released number leads to, and uses its delta up. So it
    comes first if the ledger has no budget for a second fit of this kind.
    """
    pair, whole = rest(made)[1], made.epsilon + made.left
    if pair.delta == 0.0:
        return [None]
    return [pair, None] if 2.0 * whole > ledger.cap.epsilon else [None, pair]


def _both(made: RowCount, rest: Rest) -> list[tuple[Sequence[Charge], Budget, float]]:
    """The number of rows, and then the model."""
    return [([made.mechanism.charge], Budget(made.epsilon, 0.0), 0.0), rest(made)]


def _refusal(ledger: Ledger, made: RowCount, rest: Rest, block: str, pair: Budget | None) -> str:
    """The words of the ledger's refusal."""
    try:
        ledger.must_cover(_both(made, rest), block=block, followed_by=pair)
    except BudgetExceeded as failure:
        return str(failure).removesuffix("; nothing was spent.")
    return "the ledger was charged by somebody else in this moment; try again"


def _alone(ledger: Ledger, made: RowCount, rest: Rest, block: str) -> bool:
    """Does the ledger cover the model with the whole budget, without the number of rows?"""
    try:
        return ledger.would_cover([rest(made)], block=block)
    except HushError:
        return False


def _fitting(ledger: Ledger, made: RowCount, rest: Rest, relation: Relation, block: str) -> list[float]:
    """About the largest epsilon with which the ledger covers both releases; nothing if none is found."""
    low, high = 0.0, made.epsilon + made.left
    for _ in range(_TRIES):
        middle = 0.5 * (low + high)
        try:
            smaller = RowCount.planned(middle, relation)
            both, states = _both(smaller, rest), _statements(ledger, smaller, rest)
            fits = any(ledger.would_cover(both, block=block, followed_by=pair) for pair in states)
        except HushError:
            fits = False
        low, high = (middle, high) if fits else (low, middle)
    return [float(decimal_down(low, 2))] if low > 0.0 else []
