"""The number of rows of a fit whose neighbours have different numbers of rows: one noisy integer, released first.

All later steps use the noisy number: the defaults, the penalty, and the division of sums. It is released with a small
share of epsilon, and what is left is the budget of the fit. The two add up (basic composition, which also holds if the
second release depends on the first).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.learn.count_noise import laplace_for_counts
from hush.learn.fit_words import ROWS
from hush.learn.kept_fit import COUNT
from hush.learn.paid import Paid
from hush.learn.relation import Relation
from hush.ledger.access import Access
from hush.ledger.entry import Entry
from hush.ledger.kept import KeptAnswer
from hush.numerics.rounding import CLOSED_FORM, down
from hush.privacy.charge import Budget
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.entropy import Entropy
from hush.sampling.mechanism import Mechanism

__all__ = ["LARGEST_ROWS", "LEAST_ROWS", "SHARE", "RowCount"]

#: The share of epsilon that the number of rows uses.
SHARE = 0.03
LEAST_ROWS = 2  # smaller noisy numbers are raised to this
LARGEST_ROWS = 10**15  # larger noisy numbers are lowered to this; below 2^50, so that every grain is at least 1


@dataclass(frozen=True)
class RowCount:
    """The plan of a noisy number of rows.

    >>> made = RowCount.planned(1.0, Relation("add-remove", 2))
    >>> made.epsilon, made.epsilon + made.left <= 1.0
    (0.03, True)
    """

    mechanism: Mechanism
    epsilon: float
    left: float

    @classmethod
    def planned(cls, epsilon: float, relation: Relation) -> RowCount:
        """Laplace noise for an integer that moves by the rows of one person."""
        own = SHARE * epsilon
        bound = Sensitivity(linf=float(relation.rows), l0=1, neighbours=relation.neighbours)
        return cls(laplace_for_counts(own, bound), own, down(epsilon - own, CLOSED_FORM))

    def release(
        self,
        exact: Callable[[], int],
        access: Access,
        question: str,
        entropy: Entropy | None,
        *,
        followed_by: Budget | None = None,
    ) -> tuple[int, Entry | None]:
        """Pay, then count and add noise; the entry is returned too. `followed_by` is the pair of the fit, if the ledger
        must reserve delta for it. A fit that was killed after this step has the number of rows that the ledger keeps.
        """
        self.mechanism.prepare()
        about: dict[str, Any] = {"budget": Budget(self.epsilon, 0.0), "followed_by": followed_by, "about": ROWS}
        payment = access.pay(question, [self.mechanism.charge], step=COUNT, **about)
        kept = payment.kept
        if kept is None:
            noisy = payment.attempt(lambda: self._noisy(exact(), Paid(payment, entropy)))
            kept = payment.keep(KeptAnswer("private fit", f"rows: {noisy}", numbers={"rows": noisy}).to_bytes())
        return int(KeptAnswer.from_bytes(kept).numbers["rows"]), payment.entry

    def _noisy(self, exact: int, paid: Paid) -> int:
        noisy = paid.release(self.mechanism, np.array([exact], dtype=np.int64), "number of rows")
        return min(max(int(noisy[0]), LEAST_ROWS), LARGEST_ROWS)
