"""The table of mechanisms of a statement, and the proofs behind them."""

from __future__ import annotations

from collections.abc import Sequence

from hush.privacy.charge import Charge
from hush.privacy.moves import moves_in_words
from hush.privacy.theorem import words
from hush.report import proof
from hush.report.page import Block, Points, Table, Text

__all__ = ["MOST", "mechanisms"]

MOST = 200  # rows of a table on a page; the ledger and the JSON have every row


def mechanisms(releases: Sequence[Charge]) -> tuple[Block, ...]:
    """Each mechanism with its sensitivity, its paper and the theorem that proves its privacy."""
    if not releases:
        return (Text("None was used."),)
    proofs: dict[str, int] = {}  # the number of each proof; mechanisms share them
    rows = []
    for charge in releases[:MOST]:
        number = proofs.setdefault(words(charge), len(proofs) + 1)
        moves = moves_in_words(charge.sensitivity)
        rows.append((proof.named(charge), str(charge.times), moves, proof.paper(charge), f"proof {number}"))
    heads = ("noise", "times", "one person changes", "described in", "privacy by")
    blocks: list[Block] = [Table("Mechanisms; equal ones are counted together", heads, tuple(rows))]
    if len(releases) > MOST:
        blocks.append(Text(f"{len(releases) - MOST} more are not listed here; --json lists them."))
    return (*blocks, Points(tuple(f"Proof {number}, {text}." for text, number in proofs.items())))
