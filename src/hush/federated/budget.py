"""A privacy budget for every client of a federation: one ledger file per client, in one folder."""

from __future__ import annotations

import os
import re
import threading
from pathlib import Path
from typing import Any

from hush.errors import BudgetExceeded, InvalidParameter, reject, shown
from hush.ledger import Access, Ledger
from hush.ledger.entry import as_entry
from hush.ledger.payment import Payment
from hush.privacy.charge import Budget
from hush.releasing.text import text_table

__all__ = ["Budgets"]

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class Budgets:
    """One ledger per client, all with the same budget; a ledger is created at the client's first charge.

    Budgets(folder, epsilon=, delta=) keeps a file `<client>.ledger` for each client; folder=None keeps the ledgers in
    memory. If a charge of a client is refused once, the client is `stopped`: this object never charges it again.

    Guarantees: those of `hush.Ledger` for each client: all its charges together are within (epsilon, delta), over all
    runs that use the same folder.

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
        Ledger(None, epsilon=epsilon, delta=delta, mode=mode).close()  # raises early if the budget is not valid
        if self._folder is not None:
            try:
                self._folder.mkdir(parents=True, exist_ok=True)
            except (OSError, ValueError) as failure:
                raise InvalidParameter(
                    f"folder must be a folder that can be created and written to, got {shown(str(folder))}: "
                    f"{getattr(failure, 'strerror', None) or type(failure).__name__}."
                ) from None
        self._ledgers: dict[str, Ledger] = {}
        self._stopped: dict[str, str] = {}
        self._lock = threading.Lock()

    @property
    def folder(self) -> Path | None:
        """The folder of the ledger files; None for budgets in memory."""
        return self._folder

    @property
    def epsilon(self) -> float:
        """The epsilon of each client's budget."""
        return float(self._cap["epsilon"])  # type: ignore[arg-type]

    def fresh(self) -> Ledger:
        """A new, unused ledger in memory with the same budget, to test which charges it covers."""
        return Ledger(None, **self._cap)  # type: ignore[arg-type]

    def ledger(self, client: object) -> Ledger:
        """The client's ledger; created or opened at the first call."""
        name = _named(client)
        with self._lock:
            if name not in self._ledgers:
                path = None if self._folder is None else self._folder / f"{name}.ledger"
                self._ledgers[name] = Ledger(path, source=f"client {name}", **self._cap)  # type: ignore[arg-type]
            return self._ledgers[name]

    def covers(self, client: object, releases: Any, *, extra_delta: float = 0.0) -> bool:
        """Whether `charge` would return True now; nothing is spent."""
        if _named(client) in self._stopped:
            return False
        account = self.ledger(client).view().account
        return account.plus([as_entry(releases, "", extra_delta, None, None)]).settled() is not None

    def charge(self, client: object, releases: Any, *, label: str = "", extra_delta: float = 0.0) -> bool:
        """Charge one client and return whether its budget covered the charge.

        True means that the charge is on disk. After False the client is stopped.
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
        return Access(self.ledger(client), label=label).pay("", releases, extra_delta=extra_delta)

    @property
    def clients(self) -> tuple[str, ...]:
        """The clients that have a ledger."""
        return tuple(self._ledgers)

    @property
    def stopped(self) -> tuple[str, ...]:
        """The clients for which a charge was refused."""
        return tuple(self._stopped)

    def reason(self, client: object) -> str:
        """The reason why a client was stopped; empty if it was not."""
        return self._stopped.get(str(client), "")

    def left(self, client: object) -> Budget:
        """The current remaining budget of a client."""
        return self.ledger(client).left

    def spent(self, client: object) -> Budget:
        """The current spent budget of a client."""
        return self.ledger(client).spent

    def close(self) -> None:
        """Close every client's ledger."""
        for ledger in self._ledgers.values():
            ledger.close()

    def __str__(self) -> str:
        rows = []
        for name, ledger in sorted(self._ledgers.items(), key=lambda item: (len(item[0]), item[0])):
            state = "stopped" if name in self._stopped else ""
            amounts = (f"{ledger.spent.epsilon:.4f}", f"{ledger.left.epsilon:.4f}")
            rows.append((name, str(len(ledger.entries)), *amounts, state))
        return "\n".join(text_table(("client", "charges", "spent", "left", ""), rows, right={1, 2, 3}))


def _named(client: object) -> str:
    """The client's name, checked to be a safe file name."""
    name = str(client)
    if not isinstance(client, str | int) or isinstance(client, bool) or not _NAME.fullmatch(name):
        raise reject("client", client, "an integer, or a name of at most 100 letters, digits, '.', '_' and '-'")
    return name
