"""The number of rows of a fit whose neighbours have different numbers of rows: one noisy integer, released first.

All later steps use the noisy number: the defaults, the penalty, and the division of sums. It is released with a small
share of epsilon, and what is left is the budget of the fit. The two add up (basic composition, which also holds if the
second release depends on the first).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.learn.count_noise import laplace_for_counts
from hush.learn.paid import Paid
from hush.learn.relation import Relation
from hush.ledger import Ledger
from hush.ledger.entry import Entry
from hush.ledger.payment import pay
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
        exact: int,
        ledger: Ledger | None,
        entropy: Entropy | None,
        *,
        followed_by: Budget | None = None,
        **where: str,
    ) -> tuple[int, Entry | None]:
        """Pay, then add noise. `where` has the label, the source and the block for the ledger, whose entry is returned
        too; `followed_by` is the pair of the fit, if the ledger must reserve delta for it.
        """
        self.mechanism.prepare()
        about: dict[str, Any] = {"budget": Budget(self.epsilon, 0.0), "followed_by": followed_by, **where}
        payment = pay(ledger, [self.mechanism.charge], **about)
        noisy = Paid(payment, entropy).release(self.mechanism, np.array([exact], dtype=np.int64), "number of rows")
        return min(max(int(noisy[0]), LEAST_ROWS), LARGEST_ROWS), payment.entry
