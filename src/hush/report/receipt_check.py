"""Reject receipts that contradict themselves or their ledger, and recompute their claims."""

from __future__ import annotations

from fractions import Fraction

from hush.errors import InvalidParameter
from hush.ledger import Cap, Entry, Ledger
from hush.ledger.account import Pure
from hush.noise.catalogue import from_plain_values
from hush.privacy.charge import Charge
from hush.releasing.receipt import Receipt
from hush.report import check
from hush.report.receipt_case import Case

__all__ = ["entry_of", "must_agree", "recomputed"]

_FALSE = "the receipt's mechanism does not keep the epsilon and delta that the receipt states; the receipt was changed."
_ELSEWHERE = (
    "this ledger does not contain the charge of this receipt; give the ledger that was charged, or leave ledger= out."
)
#: delta and its parts are decimals, each rounded by at most one part in 2^53.
_ROUNDING = 1 + Fraction(1, 2**50)


def entry_of(case: Case, ledger: Ledger | None) -> Entry | None:
    """The entry of the ledger; None if it covers something else than the pair of the receipt."""
    if ledger is None:
        return None
    charge, entries = case.receipt.ledger, ledger.entries
    if charge is None or not 1 <= charge["number"] <= len(entries):
        raise InvalidParameter(_ELSEWHERE)
    entry = entries[charge["number"] - 1]
    if charge.get("label", entry.label) != entry.label or charge.get("time", entry.time) != entry.time:
        raise InvalidParameter(_ELSEWHERE)
    _must_be_charged(case, entry)
    return entry if case.guarantee.times == 1 and not case.chain else None


def must_agree(receipt: Receipt) -> None:
    """Reject a receipt whose parts contradict each other."""
    guarantee = receipt.guarantee
    other = any(charge.neighbours != guarantee.neighbours for charge in receipt.charges)
    named = receipt.kind == "release" and [from_plain_values(receipt["mechanism"]["noise"])] != [
        charge.noise for charge in receipt.charges
    ]
    if other or named:
        raise InvalidParameter(_FALSE)


def _must_be_charged(case: Case, entry: Entry) -> None:
    """Reject a receipt that promises more than its entry, or that names other charges."""
    receipt, guarantee = case.receipt, case.guarantee
    if receipt.charges and {charge.once for charge in receipt.charges} != {charge.once for charge in entry.charges}:
        raise InvalidParameter(_FALSE)
    more = (
        entry.epsilon is not None
        and entry.delta is not None
        and (guarantee.epsilon < entry.epsilon or guarantee.delta < entry.delta)
    )
    if more and guarantee.times == 1:
        raise InvalidParameter(_FALSE)


def recomputed(case: Case, charges: tuple[Charge, ...], extra: float) -> tuple[str, str]:
    """Python lines that recompute the claim, and what they print, in words; two empty texts if the receipt does not
    hold every mechanism.
    """
    if not charges or not case.guarantee.holds:
        return "", ""
    epsilon, delta = case.guarantee.epsilon, case.guarantee.delta
    if delta == 0.0:
        return _pure(charges, epsilon)
    lines, value = check.delta_of(charges, epsilon)
    if value is None:
        return "", ""
    if Fraction(value) + Fraction(extra) > Fraction(delta) * _ROUNDING:
        raise InvalidParameter(_FALSE)
    return lines, _delta_in_words(value, extra, delta)


def _pure(charges: tuple[Charge, ...], epsilon: float) -> tuple[str, str]:
    account = Pure(Cap(epsilon, 0.0, "nonadaptive")).plus([Entry(0, "", "", charges)])
    if not account.covered():
        raise InvalidParameter(_FALSE)
    printed = f"{account.spent.epsilon}, the pure epsilon, at most {epsilon}"
    return check.replayed(charges, account.cap, 0.0), printed


def _delta_in_words(value: float, extra: float, delta: float) -> str:
    """The delta that the lines print, beside the delta that the receipt states."""
    if value == 0.0:
        added = f"; a failure probability of {extra} is added, at most the delta of {delta}"
        return f"{value}, because the noise is pure and needs no delta{added if extra else f' ({delta} was allowed)'}"
    added = f", to which a failure probability of {extra} is added" if extra else ""
    return f"{value}{added}, at most the delta of {delta}"
