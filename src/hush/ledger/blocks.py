"""Time blocks: releases about different blocks of time, where each unit belongs to one block.

If the unit is a person and a day, the rows of one unit are all of one day. A release about one day then says nothing
about the units of other days, so what counts for a unit is what was released about its own block and about all of them
(parallel composition; McSherry 2009). The rule of the ledger is applied to each block by itself. It protects what a
person did within one block. It does not protect a person over several blocks: their epsilons add up.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Self

from hush.errors import InvalidParameter
from hush.ledger.account import Account
from hush.ledger.entry import Cap, Entry
from hush.privacy.budget import Budget

__all__ = ["Blocks", "must_have_blocks"]


def must_have_blocks(cap: Cap, block: str) -> None:
    """Reject a block where the ledger has none."""
    if block and cap.blocks is None:
        raise InvalidParameter(
            "the ledger has no blocks; make it with blocks='month', the column that the blocks are of."
        )


@dataclass(frozen=True, eq=False)
class Blocks(Account):
    """One account for each block, with the releases about it and about all blocks; "" is a block without releases of
    its own.
    """

    each: Mapping[str, Account] = field(default_factory=dict)

    @property
    def rule(self) -> str:  # type: ignore[override]
        """The rule of every block."""
        return self._known[""].rule

    @cached_property
    def _known(self) -> dict[str, Account]:
        from hush.ledger.store import empty_account

        return dict(self.each) or {"": empty_account(replace(self.cap, blocks=None))}

    def plus(self, entries: Iterable[Entry]) -> Self:
        rows = list(entries)
        found, known = super().plus(rows), dict(self._known)
        for block, group in itertools.groupby(rows, key=lambda entry: entry.block):
            more = list(group)
            for name in [block] if block else list(known):
                known[name] = known.get(name, known[""]).plus(more)
        return replace(found, each=known)

    def covered(self) -> bool:
        return all(account.covered() for account in self._known.values())

    def settled(self) -> Self | None:
        kept = {name: account.settled() for name, account in self._known.items()}
        if any(account is None for account in kept.values()):
            return None
        return replace(self, each={name: account for name, account in kept.items() if account is not None})

    @cached_property
    def spent(self) -> Budget:
        """The most of all blocks."""
        most = [account.spent for account in self._known.values()]
        return Budget(max(one.epsilon for one in most), max(one.delta for one in most))

    @cached_property
    def left(self) -> Budget:
        """What is left in every block."""
        least = [account.left for account in self._known.values()]
        return Budget(min(one.epsilon for one in least), min(one.delta for one in least))

    @property
    def share(self) -> float:
        return max(account.share for account in self._known.values())
