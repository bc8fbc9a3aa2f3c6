"""A ledger as it stood when it was read: everything that reports, charts and other rooms may know of it."""

from __future__ import annotations

from dataclasses import dataclass

from hush.ledger.account import Account
from hush.ledger.entry import Cap, Entry
from hush.privacy.charge import Budget

__all__ = ["LedgerView"]


@dataclass(frozen=True)
class LedgerView:
    """What a ledger held at one moment; it never changes, and nothing can be spent through it.

    `account` adds up the entries by the ledger's rule. `digest` is the hash of the last line: any change of an entry
    would change it.
    """

    cap: Cap
    source: str | None
    entries: tuple[Entry, ...]
    account: Account
    digest: str

    @property
    def spent(self) -> Budget:
        """Upper bounds: epsilon at the cap's delta, and delta at the cap's epsilon."""
        return self.account.spent

    @property
    def left(self) -> Budget:
        """What still fits; see `Ledger.left`."""
        return self.account.left

    @property
    def share(self) -> float:
        """How much of the budget is gone, from 0 to 1."""
        return self.account.share
