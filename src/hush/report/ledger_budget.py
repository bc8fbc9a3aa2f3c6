"""What a ledger has published and spent, what it promises and what is left, in words."""

from __future__ import annotations

from collections.abc import Mapping

from hush.ledger import Cap
from hush.ledger.account import Account
from hush.ledger.entry import Entry
from hush.ledger.listed import Listed
from hush.numerics.rounding import rounded_down, rounded_up
from hush.report.page import Block, Meter, Table, Text

__all__ = [
    "WHOLE",
    "accounts",
    "other_kind",
    "pair_in_words",
    "promised_account",
    "remaining",
    "share_in_words",
    "spent_in_words",
]

_LABELS = 5  # labels that the summary shows
#: Rules under which the amount that is spent may depend on answers, so that the whole budget is promised.
WHOLE = ("adaptive", "filters", "rho", "mu")


def promised_account(account: Account) -> Account:
    """The account whose cost is promised: of a list of releases the whole list, else everything spent."""
    return account.whole if isinstance(account, Listed) else account


def spent_in_words(account: Account) -> str:
    """How much is spent. Where the next release may depend on answers, also what is promised in its place."""
    cap, spent = account.cap, account.spent
    amount = f"epsilon {rounded_up(spent.epsilon)} of {rounded_down(cap.epsilon)} at delta {rounded_down(cap.delta)}"
    text = f"{100.0 * account.share:.1f} % of the budget is spent"
    if not _depends(account):
        return f"{text}: {amount}."
    whole = promised_account(account)
    most = cap.epsilon if whole is account else whole.spent.epsilon
    what = "the whole budget" if whole is account else f"the whole list of {len(cap.releases or ())} releases"
    unit = (
        "" if whole is not account else " The percentage is not a share of epsilon: the ledger adds up in another unit."
    )
    return (
        f"{text}.{unit} The guarantee is for {what}, epsilon {rounded_up(most)} at delta {rounded_up(cap.delta)}, "
        "however much of it is used, because a question may depend on earlier answers. If these releases had been "
        f"fixed in advance, they alone would cost {amount}."
    )


def share_in_words(account: Account) -> str:
    """The share of the budget that is spent; where answers may decide what is spent next, the whole is promised."""
    text = f"{100.0 * account.share:.1f} % of the budget is spent"
    if account.rule not in WHOLE or not account.totals:
        return spent_in_words(account)
    return f"{text}. The guarantee already counts the whole budget, also the part that is not spent yet."


def _depends(account: Account) -> bool:
    return account.rule in (*WHOLE, "listed") and bool(account.totals)


def pair_in_words(cap: Cap) -> str:
    """The budget as a guarantee: rounded up."""
    return f"(epsilon, delta) = ({rounded_up(cap.epsilon)}, {rounded_up(cap.delta)})"


def other_kind(cap: Cap) -> str:
    """The budget of a ledger in rho or mu, which implies its epsilon at every delta."""
    names = {"rho": "zero-concentrated privacy (zCDP)", "mu": "Gaussian differential privacy (GDP)"}
    if cap.kind == "epsilon":
        return ""
    return f", which follows from its budget {cap.kind} = {rounded_up(cap.rho or cap.mu or 0.0)} of {names[cap.kind]}"


def remaining(account: Account) -> tuple[Block, ...]:
    """What is spent and what is left."""
    left = account.left
    if isinstance(account, Listed):
        number = len(account.open)
        total = len(account.cap.releases or ())
        which = (
            f"{number} of the {total} listed releases" if total > 1 else f"{number or 'None'} of the 1 listed release"
        )
        still = f"{which} {'was' if number == 1 else 'were'} not made. Nothing else fits."
        return (Meter(account.share, spent_in_words(account)), Text(still))
    if left.epsilon <= 0.0:
        return (Meter(account.share, spent_in_words(account)), Text("No further release fits."))
    more = (
        f"One further release with an epsilon of at most {rounded_down(left.epsilon)} (less 1 %) and delta 0 still fits"
    )
    if left.delta:  # a filter keeps a reserve for failure probabilities; under other rules both use the same budget
        together = "and with it" if account.rule == "adaptive" else "or, instead,"
        more += f", {together} failure probabilities of {rounded_down(left.delta, 3)}"
    several = "Several small releases may fit together where one large release does not."
    blocks: list[Block] = [Meter(account.share, spent_in_words(account)), Text(f"{more}. {several}")]
    if account.rule == "adaptive":
        once = "Under the rule of this ledger, the first release pays once for the conversion to epsilon and delta."
        blocks.append(Text(once))
    return tuple(blocks)


def releases_in_words(entries: tuple[Entry, ...]) -> str:
    """How many releases, when, and their labels."""
    count = "1 release" if len(entries) == 1 else f"{len(entries)} releases"
    days = list(dict.fromkeys((entries[0].time[:10], entries[-1].time[:10])))
    when = f"on {days[0]}" if len(days) == 1 else f"from {days[0]} to {days[1]}"
    labels = list(dict.fromkeys(entry.label for entry in entries if entry.label and not _in_sql(entry)))
    asked = sum(map(_in_sql, entries))
    labels = [f"{asked} question{'s' * (asked > 1)} in SQL, in words below"] * bool(asked) + labels
    more = f" and {len(labels) - _LABELS} more" if len(labels) > _LABELS else ""
    named = "; ".join(labels[:_LABELS])
    return f"{count} {when}" + (f": {named}{more}." if labels else ".")


def _in_sql(entry: Entry) -> bool:
    """Is the label a statement in SQL? The summary is for readers who do not know SQL."""
    return bool(entry.about) and entry.label.upper().startswith(("SELECT ", "WITH "))


def accounts(known: Mapping[str, Account]) -> tuple[Block, ...]:
    """What each sub-account may spend and has spent; nothing for a ledger without sub-accounts."""
    rows = tuple(
        (
            name,
            f"epsilon {rounded_down(one.cap.epsilon)}, delta {rounded_down(one.cap.delta)}",
            f"epsilon {rounded_up(one.spent.epsilon)}" if one.totals else "nothing",
            f"{100.0 * one.share:.1f} %",
        )
        for name, one in known.items()
    )
    heads = ("account", "may spend", "has spent", "share")
    return (Table("Accounts of the ledger", heads, rows),) if rows else ()
