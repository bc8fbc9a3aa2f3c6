"""Sub-accounts of a ledger: an analyst, a project or a month has a cap of its own under the cap of the ledger.

A release that names a sub-account is accepted if the cap of the ledger covers everything, and the cap of the
sub-account covers all releases that name it. The caps of the sub-accounts may add up to more than the ledger's: each of
them limits one name, and the ledger's cap is the guarantee for the people.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from hush.errors import BudgetExceeded, InvalidParameter, nearest, shown
from hush.ledger.entry import Cap, Entry, printable, text_of
from hush.numerics.rounding import decimal_down

if TYPE_CHECKING:
    from hush.ledger.account import Account

__all__ = ["caps_of", "must_fit", "sub_account"]

_HINT = "write accounts={'alice': (1.0, 1e-6)}"


def caps_of(given: Any, mode: str | None) -> tuple[tuple[str, float, float], ...] | None:
    """The names and caps that a caller gave, checked; None if there are none."""
    from hush.ledger.store import wanted_cap

    if given is None:
        return None
    if not isinstance(given, Mapping) or not given:
        raise InvalidParameter(f"accounts must be a mapping from names to pairs (epsilon, delta); {_HINT}.")
    found = []
    for name, pair in given.items():
        if not text_of("the name of an account", name):
            raise InvalidParameter("the name of an account must not be empty.")
        if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
            raise InvalidParameter(
                f"the account {shown(name)} needs a pair (epsilon, delta), got {shown(pair)}; {_HINT}."
            )
        cap = wanted_cap(pair[0], pair[1], None, None, mode, None)
        assert cap is not None
        found.append((name, cap.epsilon, cap.delta))
    return tuple(found)


def sub_account(cap: Cap, entries: Sequence[Entry], name: str) -> Account:
    """What was charged to one sub-account, under its cap."""
    from hush.ledger.store import empty_account, wanted_cap

    known = {each: (epsilon, delta) for each, epsilon, delta in cap.accounts or ()}
    if name not in known:
        names = f"it has {', '.join(known)}" if known else "it has none; name them when the ledger is made"
        near = nearest(name, known)
        raise InvalidParameter(f"the ledger has no account {shown(name)}, {near or names}.")
    mode = "nonadaptive" if cap.mode == "nonadaptive" else None
    epsilon, delta = known[name]
    own = wanted_cap(epsilon, delta, None, None, mode, None)
    assert own is not None
    return empty_account(own).plus([entry for entry in entries if entry.account == name])


def must_fit(cap: Cap, entries: Sequence[Entry], entry: Entry) -> None:
    """Raise if the sub-account of a new entry does not cover it."""
    if not entry.account:
        return
    before = sub_account(cap, entries, entry.account)
    if before.plus([entry]).settled() is None:
        left, name = float(decimal_down(before.left.epsilon, 4)), printable(entry.account)
        raise BudgetExceeded(
            f"the account {shown(name)} does not cover this release: {left:g} of its {before.cap.epsilon:g} is left; "
            "nothing was spent."
        )
