"""The door: who is protected, what one question may cost, and which ledger pays.

Everything that draws noise on data gets its payment here, or from `Ledger.spend`, which users call with a ledger of
their own. `Access.pay` checks, in this order: the policy's limits, the ledger that the policy names, the block of time,
and, in the transaction that writes the entry, the people, the account and the budget. The charge is on disk when it
returns: before the engine reads a row, and before noise is drawn.

A charge is the right to one answer to one question. The entry holds a digest of the question. While no answer is kept,
the same question gets the same entry again and pays nothing more: after a failure, after Ctrl-C, after a kill. An
answer is kept with its entry before anybody sees it (`Payment.keep`). If two processes ask at the same time, both have
the right to the same answer: the first one that is kept. Of frames and arrays, which another process may fill with
other rows, it is not the answer of both: the later call pays for its own, and a fit raises. Threads of one process may
hold different frames or arrays too: what one thread has in hand, another one does not get; it pays for its own.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import TYPE_CHECKING, Any

from hush.errors import InvalidParameter, shown
from hush.ledger.account import keeps
from hush.ledger.entry import Entry, as_entry
from hush.ledger.payment import Payment, unaccounted
from hush.ledger.people import People
from hush.ledger.refusal import must_be_ledger
from hush.ledger.series import Turn
from hush.privacy.budget import Budget
from hush.privacy.charge import Charge, charges

if TYPE_CHECKING:
    from hush.ledger.ledger import Ledger

__all__ = ["Access", "digest"]


def digest(*facts: Any) -> str:
    """The digest of facts about a question, as a text for `Access.pay`. Facts are values for JSON."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True)
class Access:
    """Who is protected, what a policy allows for one question, and the ledger, block and account that pay.

    `allow(budget)` refuses what the policy does not allow; a plan asks it. `pay(...)` charges, and gives the only right
    to draw. A table gives its access: `table.access(ledger, label=..., account=...)`.

    >>> from hush import Gaussian, Ledger
    >>> access = Access(Ledger(None, epsilon=1.0, delta=1e-6), label="visits")
    >>> payment = access.pay(digest("count of visits"), [(Gaussian(10.0), 1.0, 1)])
    >>> access.pay(digest("count of visits"), [(Gaussian(10.0), 1.0, 1)]).number  # no answer was kept: the same right
    1
    >>> payment.keep(b"412")
    b'412'
    >>> access.pay(digest("count of visits"), [(Gaussian(10.0), 1.0, 1)]).number
    2
    """

    ledger: Ledger | None
    _: KW_ONLY
    label: str = ""
    #: the sub-account of the ledger that is charged
    account: str = ""
    #: the people who are protected, and what counts as one of them; None: the ledger is not asked
    people: People | str | None = None
    #: the column and the value of the block of time that the rows are of
    block: tuple[str, str] | None = None
    #: the most that one question may cost, by the policy
    max_epsilon: float | None = None
    max_delta: float | None = None
    #: the path of the only ledger that the policy charges
    charged_to: str | None = None

    def allow(self, budget: Budget) -> None:
        """Refuse a question that asks for more than the policy allows for one question."""
        asked = (("epsilon", budget.epsilon, self.max_epsilon), ("delta", budget.delta, self.max_delta))
        for name, value, most in asked:
            if most is not None and not value <= most:
                raise InvalidParameter(
                    f"{name} is {value:g}, but the policy allows at most {most:g} for one question; ask for less."
                )

    def check(self) -> None:
        """Refuse what can be refused before anything is charged: the ledger, the people and the block.

        `pay` checks them too. This is for a caller who has much to do before it pays.
        """
        self._must_charge()
        self.charged_block()
        if self.ledger is not None and self.people is not None:
            self.ledger.must_protect(self.people)

    def pay(
        self,
        question: str,
        releases: Any,
        *,
        budget: Budget | None = None,
        about: str = "",
        extra_delta: float = 0.0,
        turn: Turn | None = None,
        followed_by: Budget | None = None,
        step: str = "",
    ) -> Payment:
        """The payment for `releases`; the charge is durable when it returns. Without a ledger it is unaccounted.

        `question` is the `digest` of everything that decides what is asked, beside what the entry holds (label,
        charges, budget, block, account). Then the caller keeps the answer with `payment.keep(content)` before anybody
        sees it, and shows what `keep` returns. An empty `question` gives no right: the charge buys this payment only.

        `budget` is the pair of the question as it was asked; the entry states it if the charges keep it. A question
        with several entries names each by `step`, but the last one, whose step is empty. `payment.kept` is the answer
        of a step that an earlier, unfinished run has kept; then nothing is drawn. `turn` is the place in a series of
        planned releases; `about`, `extra_delta` and `followed_by` are those of `Ledger.spend`.
        """
        self.check()
        if budget is not None:
            self.allow(budget)
        paid = charges(releases)
        if self.ledger is None:
            return unaccounted(paid)
        alone = turn is None or turn.times == 1  # the pair of a series is that of all its releases
        stated = budget is not None and alone and _keeps(paid, budget)
        pair = (budget.epsilon, budget.delta) if stated and budget is not None else (None, None)
        given = (self.label, extra_delta, *pair, turn, self.account, self.charged_block(), about, followed_by)
        asked = as_entry(paid, *given)
        if question and turn is None:
            asked = replace(asked, question=self._named(question), step=step)
        return self.ledger.charged(asked, people=self.people)

    def owed(self, question: str, step: str = "") -> Entry | None:
        """The entry of an unfinished run of this question, whose answer is still owed; None if there is none.

        Then `pay` charges nothing for the same noise, so whether the budget covers it must not be asked again.
        """
        if self.ledger is None or not question:
            return None
        return self.ledger.owed(self._named(question), step)

    def _named(self, question: str) -> str:
        """The digest of a question that these people are asked, with its label, account and block."""
        people = None if self.people is None else People.of(self.people).words
        return digest(question, people, self.label, self.account, self.charged_block())

    def _must_charge(self) -> None:
        """Refuse a question that is not charged to the ledger of the policy."""
        must_be_ledger(self.ledger)
        if self.charged_to is None:
            return
        path = None if self.ledger is None else self.ledger.path
        if path is None or os.path.realpath(path) != os.path.realpath(self.charged_to):
            given = "none" if self.ledger is None else "one in memory" if path is None else str(path)
            raise InvalidParameter(
                f"the ledger is {given}, but the policy charges every question to {self.charged_to}; write "
                "ledger=policy.ledger(...), or leave --ledger out on the command line."
            )

    def charged_block(self) -> str:
        """The block that the ledger charges; empty where it charges all of them."""
        if self.block is None or self.ledger is None or self.ledger.cap.blocks is None:
            return ""
        column, value = self.block
        if column != self.ledger.cap.blocks:
            raise InvalidParameter(
                f"the blocks of the ledger are of {shown(self.ledger.cap.blocks)}, and this table's block is of "
                f"{shown(column)}."
            )
        return value


def _keeps(paid: Sequence[Charge], budget: Budget) -> bool:
    """Do the charges keep the pair? One charge must. Several were calibrated for pairs that add up to it, and their
    composition on a grid may be a little larger: then the entry states no pair.
    """
    kept = keeps(tuple(paid), budget.epsilon, budget.delta)
    if not kept and len(paid) == 1:
        raise InvalidParameter(
            f"the release does not satisfy epsilon={budget.epsilon:g} and delta={budget.delta:g}, the pair it was "
            "stated to be calibrated for; nothing was spent."
        )
    return kept
