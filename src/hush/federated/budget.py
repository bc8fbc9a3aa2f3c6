"""A budget for every client of a federation: one ledger file each, in one folder."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

from hush.errors import BudgetExceeded, InvalidParameter, reject
from hush.ledger import Ledger
from hush.ledger.entry import as_entry
from hush.ledger.payment import Payment
from hush.privacy.charge import Budget

__all__ = ["Budgets"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class Budgets:
    """A live budget per client: ledgers of the same cap, made when a client first comes.

    Budgets(folder, epsilon=, delta=) keeps a file `<client>.ledger` for each; folder None keeps them in memory. A
    client whose charge is refused once is `stopped`: nothing is ever asked of it again through this object.

    Guarantees: those of `hush.Ledger`, for each client: what was spent on it is together within (epsilon, delta),
    over all runs that use the same folder.

    >>> from hush import Laplace
    >>> budgets = Budgets(None, epsilon=1.0, delta=0.0)
    >>> [budgets.charge("ward-7", [(Laplace(2.0), 1.0, 1)]) for _ in range(3)]
    [True, True, False]
    >>> budgets.stopped, budgets.left("ward-7").epsilon
    (('ward-7',), 0.0)
    """

    def __init__(
        self, folder: str | os.PathLike[str] | None, *, epsilon: float, delta: float, mode: str = "nonadaptive"
    ) -> None:
        if folder is not None and not isinstance(folder, str | os.PathLike):
            raise reject(
                "folder",
                folder,
                "a folder, or None for budgets in memory",
                "write Budgets('ledgers', epsilon=1.0, delta=0.0)",
            )
        self._folder = None if folder is None else Path(folder)
        self._cap = {"epsilon": epsilon, "delta": delta, "mode": mode}
        Ledger(None, epsilon=epsilon, delta=delta, mode=mode).close()  # says now what is wrong with the cap
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except (OSError, ValueError) as failure:
                raise InvalidParameter(
                    f"folder must be one that can be made and written to, got {str(folder)!r}: {failure}."
                ) from failure
        self._ledgers: dict[str, Ledger] = {}
        self._stopped: dict[str, str] = {}
        self._lock = threading.Lock()

    @property
    def folder(self) -> Path | None:
        """Where the files are; None for budgets in memory."""
        return self._folder

    @property
    def epsilon(self) -> float:
        """The cap of each client."""
        return float(self._cap["epsilon"])  # type: ignore[arg-type]

    def fresh(self) -> Ledger:
        """A budget that nothing was spent from, in memory: to see what it can pay for."""
        return Ledger(None, **self._cap)  # type: ignore[arg-type]

    def ledger(self, client: object) -> Ledger:
        """The client's ledger; made, or opened, at the first call."""
        name = _named(client)
        with self._lock:
            if name not in self._ledgers:
                path = None if self._folder is None else self._folder / f"{name}.ledger"
                self._ledgers[name] = Ledger(path, source=f"client {name}", **self._cap)  # type: ignore[arg-type]
            return self._ledgers[name]

    def covers(self, client: object, releases: Any, *, extra_delta: float = 0.0) -> bool:
        """Would `charge` return True now? Nothing is spent."""
        if _named(client) in self._stopped:
            return False
        account = self.ledger(client).view().account
        return account.plus([as_entry(releases, "", extra_delta, None, None)]).settled() is not None

    def charge(self, client: object, releases: Any, *, label: str = "", extra_delta: float = 0.0) -> bool:
        """Spend on one client: True, on disk, or False where its budget does not cover it; then the client is stopped
        for good.
        """
        name = _named(client)
        if name in self._stopped:
            return False
        try:
            self._spent(client, releases, label, extra_delta)
        except BudgetExceeded as refusal:
            self._stopped[name] = str(refusal)
            return False
        return True

    def _spent(self, client: object, releases: Any, label: str, extra_delta: float) -> Payment:
        return self.ledger(client).spend(releases, label=label, extra_delta=extra_delta)

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients with a ledger so far."""
        return tuple(self._ledgers)

    @property
    def stopped(self) -> tuple[str, ...]:
        """Clients whose budget is used up."""
        return tuple(self._stopped)

    def reason(self, client: object) -> str:
        """Why a client was stopped; empty if it was not."""
        return self._stopped.get(str(client), "")

    def left(self, client: object) -> Budget:
        """What is left for a client, live."""
        return self.ledger(client).left

    def spent(self, client: object) -> Budget:
        """What is gone, live."""
        return self.ledger(client).spent

    def close(self) -> None:
        """Close every client's ledger."""
        for ledger in self._ledgers.values():
            ledger.close()

    def __str__(self) -> str:
        lines = [f"{'client':<24} {'charges':>7} {'spent':>9} {'left':>9}"]
        for name, ledger in sorted(self._ledgers.items(), key=lambda item: (len(item[0]), item[0])):
            state = "  stopped" if name in self._stopped else ""
            lines.append(
                f"{name:<24} {len(ledger.entries):>7} {ledger.spent.epsilon:>9.4f} {ledger.left.epsilon:>9.4f}{state}"
            )
        return "\n".join(lines)


def _named(client: object) -> str:
    """A client's name as a file can bear it."""
    name = str(client)
    if not isinstance(client, str | int) or isinstance(client, bool) or not _NAME.fullmatch(name):
        raise reject("client", client, "a name of letters, digits, '.', '_' and '-', at most 100, or a whole number")
    return name
