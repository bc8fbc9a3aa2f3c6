"""statement: the privacy statement of a ledger, a release, an answer or a fitted model."""

from __future__ import annotations

import os
from collections.abc import Mapping
from contextlib import nullcontext
from typing import Any

from hush.errors import InvalidParameter, reject
from hush.ledger import Ledger
from hush.report.ledger_statement import of_ledger
from hush.report.page import Statement
from hush.report.receipt_statement import of_receipt
from hush.report.snapshot import from_here, reading

__all__ = ["statement"]


def statement(subject: Any, *, ledger: Ledger | str | os.PathLike[str] | None = None) -> Statement:
    """The privacy statement of a ledger (open, or its file), a release, an answer, a fitted model or a receipt, for a
    data protection officer.

    ledger: the ledger that a release was charged to; the statement then shows what remains, and checks the charge.
    Ledger files are only read.

    Guarantees: every number is an upper bound that hush proves. All content comes from the ledger and the receipt.

    >>> import hush
    >>> ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6, mode="nonadaptive")
    >>> entry = ledger.spend((hush.Gaussian(10.0), 1.0), label="a count")
    >>> "goes from 50 % to at most 52 %" in str(statement(ledger))
    True
    """
    if isinstance(subject, Ledger | str | os.PathLike):
        if ledger is not None:
            raise InvalidParameter(
                "ledger= is for the statement of a release; leave it out for the statement of a ledger."
            )
        with reading(subject) as found:
            return of_ledger(found, _named(subject))
    receipt = (
        subject if isinstance(subject, Mapping) else getattr(subject, "receipt", getattr(subject, "receipt_", None))
    )
    if not isinstance(receipt, Mapping):
        raise reject(
            "subject",
            subject,
            "a ledger, a release, an answer, a fitted model or a receipt",
            "write hush.report.statement('census.ledger')",
        )
    with reading(ledger) if ledger is not None else nullcontext() as found:
        return of_receipt(receipt, found)


def _named(subject: Ledger | str | os.PathLike[str]) -> str:
    """The name of the file for a command in the current folder, as it was given; "" for a ledger in memory."""
    if not isinstance(subject, Ledger):
        return from_here(subject)
    return "" if subject.path is None else from_here(subject.path)
