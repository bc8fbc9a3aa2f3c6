"""The ledger: a file that holds a privacy budget and everything spent from it.

entry.py       the cap and the entries          account.py     composition of mechanisms fixed in advance; delta = 0
ledger.py      Ledger: spend and report         filter.py      composition of mechanisms chosen adaptively
store.py       a file, opened and checked       refusal.py     the error when the budget does not cover a release
file.py        the SQLite file                  payment.py     the right to draw the noise that was charged
schema.py      its tables and triggers          view.py        a read-only copy of a ledger
log.py         its rows, written and read       fork_guard.py  keeps forks and ledger calls apart
sqlite_errors.py   SQLite's errors as sentences
"""

from hush.ledger.entry import Cap, Entry
from hush.ledger.ledger import Ledger
from hush.ledger.payment import Payment, pay, unaccounted
from hush.ledger.view import LedgerView

__all__ = ["Cap", "Entry", "Ledger", "LedgerView", "Payment", "pay", "unaccounted"]
