"""The ledger: one file that holds a privacy budget and everything spent from it.

entry.py     what is held, as plain values       account.py   composition for mechanisms fixed in advance, and for delta = 0
file.py      the SQLite file                     filter.py    composition for mechanisms chosen along the way
log.py       the lines of the file, read back    refusal.py   what to say when the budget does not cover a release
fork_guard.py  forks and calls, one at a time       payment.py   the right to draw the noise that was charged
view.py      what a ledger holds, read-only
"""

from hush.ledger.entry import Cap, Entry
from hush.ledger.ledger import Ledger
from hush.ledger.payment import Payment, pay, unaccounted
from hush.ledger.view import LedgerView

__all__ = ["Cap", "Entry", "Ledger", "LedgerView", "Payment", "pay", "unaccounted"]
