"""A read-only copy of a ledger, for reports, charts and other packages."""

from __future__ import annotations

from dataclasses import dataclass

from hush.ledger.account import Account
from hush.ledger.blocks import Blocks
from hush.ledger.entry import Cap, Entry
from hush.ledger.people import People
from hush.privacy.charge import Budget

__all__ = ["LedgerView"]


@dataclass(frozen=True)
class LedgerView:
    """The contents of a ledger at one moment. It never changes, and nothing can be spent through it.

    `account` adds the entries up by the ledger's rule. `digest` is the hash of the last entry: a change to any entry
    would change it.
    """

    cap: Cap
    people: People | None
    entries: tuple[Entry, ...]
    account: Account
    digest: str

    @property
    def source(self) -> str | None:
        """The people or the data that the ledger protects, in words."""
        return None if self.people is None else self.people.words

    @property
    def spent(self) -> Budget:
        """Upper bounds: epsilon at the cap's delta, and delta at the cap's epsilon."""
        return self.account.spent

    @property
    def left(self) -> Budget:
        """What can still be spent; see `Ledger.left`."""
        return self.account.left

    @property
    def share(self) -> float:
        """The share of the budget that was spent, from 0 to 1."""
        return self.account.share

    @property
    def blocks(self) -> dict[str, Account]:
        """The accounts of the blocks of time with releases of their own, by name; empty if the ledger has no blocks."""
        each = self.account.each if isinstance(self.account, Blocks) else {}
        return {name: account for name, account in each.items() if name}
