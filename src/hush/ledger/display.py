"""A ledger as text, and as a table for a notebook."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hush.errors import HushError
from hush.ledger.notebook import Bar, card

if TYPE_CHECKING:
    from hush.ledger.ledger import Ledger
    from hush.ledger.view import LedgerView

__all__ = ["as_card", "in_words"]

_SHOWN = 20  # entries in a notebook


def in_words(ledger: Ledger, *, closed: bool) -> str:
    """The ledger in one line; it never raises."""
    place = "in memory" if ledger.path is None else str(ledger.path)
    if closed:
        return f"<Ledger {place}, closed>"
    try:
        view = ledger.view()
        amounts = f"spent {view.spent.epsilon:.4g}, left {view.left.epsilon:.4g}"
    except HushError as failure:
        return f"<Ledger {place}: {failure}>"
    return f"<Ledger {place}: {view.cap}, {len(view.entries)} entries, {amounts}>"


def as_card(view: LedgerView) -> str:
    """A table of the last entries, with a bar of what is spent."""
    entries, share = view.entries, view.share
    rows = [[str(e.number), e.label, ", ".join(str(charge) for charge in e.charges)] for e in entries[-_SHOWN:]]
    text = f"{view.cap}: spent epsilon {view.spent.epsilon:.4g}, left {view.left.epsilon:.4g}, {len(entries)} entries"
    earlier = [f"and {len(entries) - _SHOWN} earlier entries"] if len(entries) > _SHOWN else []
    meter = Bar(min(max(share, 0.0), 1.0), 0.0, 0.0, f"{100.0 * share:.3g} % is spent")
    heads = ["entry", "label", "charges"] if rows else []
    return card(text, heads=heads, rows=rows, left=3, meter=meter, lines=earlier)
