"""How many rows a fit has: public for replaced rows; declared or released first if rows are added or removed.

All data sets with one row replaced have the same number of rows, so it is public. If a neighbour has one person more
or less, the number is not public. It is then declared (`n_rows=`), or released with noise and paid for first. The plan,
the penalty and all means use that number. All sums are exact for every true number of rows, so a number that is wrong
costs accuracy only.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hush.errors import BudgetExceeded, InvalidParameter, Unsupported, reject, whole
from hush.learn.kept_fit import COUNT
from hush.learn.relation import Relation
from hush.learn.row_count import LARGEST_ROWS, LEAST_ROWS, RowCount
from hush.learn.two_releases import Rest, reserved_pair
from hush.ledger.access import Access
from hush.privacy.charge import Budget, Charge
from hush.sampling.entropy import Entropy

if TYPE_CHECKING:
    from hush.learn.planning import Plan

__all__ = ["Counted", "Counting", "declared_rows", "must_need", "of_fit"]

GUESS = 1_000_000  # rows: the options are checked with this number before the number of rows is released


def declared_rows(n_rows: Any) -> int | None:
    """The declared number of rows, checked; None if it is to be released."""
    if n_rows is None:
        return None
    given = whole("n_rows", n_rows, LEAST_ROWS, "write n_rows=100_000")
    if given > LARGEST_ROWS:
        raise reject("n_rows", n_rows, f"at most {LARGEST_ROWS:,}", "write n_rows=100_000")
    return given


def must_need(n_rows: Any, relation: Relation) -> None:
    """Refuse a declared number of rows where the number is public."""
    if n_rows is not None and not relation.hides_rows:
        raise Unsupported(
            "n_rows= is for a table, or for neighbours='add-remove'; if rows are replaced, the number of rows is "
            "public: leave it out."
        )


def of_fit(made: Plan) -> tuple[Sequence[Charge], Budget, float]:
    """What a planned fit will charge."""
    return made.paid, made.budget, made.extra_delta


@dataclass(frozen=True)
class Counted:
    """The number of rows that a fit uses, the plan of its release, and the ledger entry of that release."""

    rows: int
    made: RowCount | None = None
    entries: tuple[int, ...] = ()

    @contextlib.contextmanager
    def explained(self) -> Iterator[None]:
        """A refusal says so if the number of rows was already released: it can be used again."""
        try:
            yield
        except (BudgetExceeded, InvalidParameter, Unsupported) as failure:
            if self.made is None:
                raise
            kind, words = type(failure), _unspent(str(failure))
        else:
            return
        paid = f"released and paid for (entry {self.entries[0]})" if self.entries else "released"
        raise kind(
            f"{words}; the number of rows was {paid}, and the fit was not; give n_rows={self.rows} to use that number "
            "again."
        )


def _unspent(words: str) -> str:
    """The text of an error without the claim that nothing was spent."""
    for end in ("; nothing was spent.", " Nothing was spent."):
        words = words.removesuffix(end)
    return words.rstrip(".")


@dataclass(frozen=True)
class Counting:
    """The source of the number of rows: the relation of neighbours, the exact number, and what is declared.

    `exact` is called only if the number is public or is released.
    """

    relation: Relation
    exact: Callable[[], int]
    declared: int | None = None

    @property
    def guess(self) -> int:
        """A public number for the checks of all options before anything is released."""
        if not self.relation.hides_rows:
            return self.exact()
        return GUESS if self.declared is None else self.declared

    def counted(
        self,
        epsilon: float,
        access: Access,
        question: str,
        entropy: Entropy | None,
        *,
        delta: float,
        rest: Rest,
    ) -> Counted:
        """The number of rows. Where it must be released, the ledger is asked first whether it covers the rest too, but
        not if it was charged for this question before. `delta` is that of the rest.
        """
        if not self.relation.hides_rows:
            return Counted(self.exact())
        if self.declared is not None:
            return Counted(self.declared)
        if epsilon == float("inf"):
            return Counted(max(self.exact(), LEAST_ROWS))
        made = RowCount.planned(epsilon, self.relation)
        owed = access.owed(question, COUNT)
        if owed is None:
            pair = Budget(made.left, delta)
            after = reserved_pair(access.ledger, made, pair, rest, self.relation, access.charged_block())
        else:
            after = owed.followed_by
        rows, entry = made.release(self.exact, access, question, entropy, followed_by=after)
        return Counted(rows, made, () if entry is None else (entry.number,))
