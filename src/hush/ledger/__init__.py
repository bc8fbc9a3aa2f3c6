"""The ledger: a file that holds a privacy budget and everything spent from it.

entry.py       the cap and the entries          account.py     composition of mechanisms fixed in advance; delta = 0
ledger.py      Ledger: spend and report         filters.py     the default: filters that share delta
store.py       a file, opened and checked       filter.py      a Renyi filter of one order
file.py        the SQLite file                  sums.py        sums of rho, of mu^2, of epsilons and deltas
schema.py      its tables and triggers          blocks.py      one account for each block of time
log.py         its rows, written and read       sub_accounts.py   caps of analysts, projects and months
series.py      releases planned together        refusal.py     the error when the budget does not cover a release
access.py      the door: who may ask, who pays  payment.py     the right to draw charged noise
view.py        a read-only copy of a ledger
display.py     a ledger as text and in notebooks    fork_guard.py  keeps forks and ledger calls apart
sqlite_errors.py   SQLite's errors as sentences
"""

from hush.ledger.access import Access
from hush.ledger.entry import Cap, Entry
from hush.ledger.ledger import Ledger
from hush.ledger.payment import Payment, unaccounted
from hush.ledger.view import LedgerView

__all__ = ["Access", "Cap", "Entry", "Ledger", "LedgerView", "Payment", "unaccounted"]
