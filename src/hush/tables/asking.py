"""The arguments with which every plan is answered: one type for them, and the methods `answer` and `write`."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from hush.errors import IncompleteCall, InvalidParameter, called_like, must_be_level, nearest, shown, whole
from hush.ledger.entry import text_of
from hush.ledger.refusal import must_be_ledger
from hush.releasing.destination import must_be_writable
from hush.releasing.receipt import Receipt
from hush.tables.answer import Answer
from hush.tables.noise_sum import MOST_LEVEL
from hush.tables.unchanging import Unchanging

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["Answerable", "Asking"]

_LEDGER = "ledger=hush.Ledger('budget.ledger', epsilon=3.0, delta=1e-5)"


def _silent(text: str) -> None:
    """Ignore the progress text."""


@dataclass(frozen=True)
class Asking:
    """How a plan is answered: the arguments of `answer` and `write`, checked."""

    ledger: Ledger | None
    label: str = ""
    level: float = 0.95
    #: True: the level holds for all numbers of a row at once
    together: bool = False
    progress: Callable[[str], None] = _silent
    #: the number of this release in a series that was planned together
    release: int | None = None
    #: the sub-account of the ledger that is charged
    account: str = ""

    def __post_init__(self) -> None:
        must_be_ledger(self.ledger)
        object.__setattr__(self, "level", must_be_level(self.level, MOST_LEVEL))
        text_of("label", self.label)
        text_of("account", self.account)
        if not callable(self.progress):
            raise InvalidParameter(
                f"progress must be a function of one text, got {shown(self.progress)}; leave it out, or write "
                "progress=print."
            )
        if not isinstance(self.together, bool):
            raise InvalidParameter(f"together must be True or False, got {shown(self.together)}; write together=True.")
        if self.release is not None:
            whole("release", self.release, 1, "write release=1")

    def must_be_one_release(self) -> None:
        """Reject a number of a release where one release is planned."""
        if self.release is not None:
            raise InvalidParameter("release= is for a plan of several releases; write plan(..., times=12).")


class Answerable(Unchanging, ABC):
    """A plan that can be answered: it defines `answered`, and `written` if it need not hold the answer in memory."""

    @called_like(f"answer({_LEDGER})")
    def answer(
        self,
        *,
        ledger: Ledger | None,
        label: str = "",
        level: float = 0.95,
        together: bool = False,
        progress: Callable[[str], None] = _silent,
        release: int | None = None,
        account: str = "",
    ) -> Answer:
        """Run the query, spend the budget and give the noisy answer. With `together` the level holds for all intervals
        of a row at once, otherwise for each of them. `account` names a sub-account of the ledger.

        Of a plan of several releases, `release` is the number of this one; the next one if it is left out. A release
        that was made before is read from the ledger and costs nothing. Where limits are chosen privately, the search
        for them and the answer charge the ledger one after the other.
        """
        return self.answered(Asking(ledger, label, level, together, progress, release, account))

    @called_like(f"write('answer.parquet', {_LEDGER})")
    def write(self, path: str | os.PathLike[str], *, ledger: Ledger | None, **options: Any) -> Receipt:
        """Write the answer to a Parquet file and return the receipt. `options` are those of `answer`.

        A plan of one release of a query does not hold the whole answer in memory. On Spark, private groups then get
        their noise on the executors, and the file is a folder. After a failure the same call gets its one answer and
        pays nothing more; but what Spark's executors wrote may have been seen, so there a failure wastes the charge.
        """
        unknown = sorted(set(options) - set(Asking.__dataclass_fields__))
        if unknown:
            hint = nearest(unknown[0], Asking.__dataclass_fields__) or "its options are those of answer"
            raise IncompleteCall(f"write has no argument {unknown[0]}=, {hint}.")
        return self.written(path, Asking(ledger, **options))

    @abstractmethod
    def answered(self, asked: Asking) -> Answer:
        """The answer."""

    def written(self, path: str | os.PathLike[str], asked: Asking) -> Receipt:
        """The receipt of the answer, which is in the file."""
        must_be_writable(path)
        made = self.answered(asked)
        made.to_parquet(os.fspath(path))
        return made.receipt
