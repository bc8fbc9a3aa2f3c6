"""Statements for a data protection officer: what was released, what is promised, on which conditions, and how to check it.

snapshot.py  a ledger read without touching it        wording.py   (epsilon, delta) in words, safely rounded
proof.py     which theorem stands behind a noise      caution.py   on what all of it rests
check.py     Python lines that recompute a claim      page.py      Statement: Markdown and HTML
budget.py    the statement of a ledger                receipt.py   of one release, answer or fit
subject.py   report: which of them
"""

from hush.statement.page import Statement
from hush.statement.subject import report

__all__ = ["Statement", "report"]
