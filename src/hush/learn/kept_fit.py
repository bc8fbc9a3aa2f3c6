"""What a fit asks, as a digest for its ledger, and what it tells, as the ledger keeps it.

A fit shows nothing before it ends, so a fit that was killed can run again for its one charge. What it tells is kept
with its entry before the caller gets the model: the fitted numbers and the receipt.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

from hush.errors import NotPaid
from hush.ledger.access import digest
from hush.ledger.kept import KeptAnswer
from hush.ledger.payment import Payment

__all__ = ["COUNT", "attempted", "keep_fit", "keep_refusal", "question_of", "remember"]

_Made = TypeVar("_Made")

#: The step of a fit that releases the number of rows first.
COUNT = "number of rows"
#: The attribute that holds the payment while a fit runs.
_PAYMENT = "_paid_with"
#: Parameters that do not decide what is asked.
_BESIDE = ("ledger", "entropy", "verbose")
#: Fitted attributes that are kept elsewhere, or that the others imply.
_APART = ("receipt_", "trace_")
_SHOWN = 60  # numbers of an attribute that the text of an answer shows; all are kept


def question_of(model: Any, *facts: Any) -> str:
    """The digest of a fit by its public facts: the kind of model, its parameters, and what the caller adds.

    It is empty for a fit that prints released numbers while it runs: those cannot be drawn again.
    """
    if getattr(model, "verbose", 0) == 2:
        return ""
    return digest("fit", _plain(model), [_plain(fact) for fact in facts])


def attempted(payment: Payment | None, make: Callable[[], _Made]) -> _Made:
    """What `make()` returns; a failure after the charge is one constant sentence (`Payment.attempt`)."""
    if payment is not None and payment.kept is not None:
        raise _made_before(payment)
    return make() if payment is None else payment.attempt(make)


def remember(model: Any, payment: Payment | None) -> None:
    """Hold the payment of a ledger until the fit ends, for `keep_fit`."""
    if payment is not None and payment.entry is not None:
        model.__dict__[_PAYMENT] = payment


def keep_fit(model: Any) -> None:
    """Keep what a fitted model tells with the entry that paid for it, and drop the payment; without one do nothing.

    If another process has made the same fit for the same charge in the meantime, that one counts, and this raises.
    """
    payment: Payment | None = model.__dict__.pop(_PAYMENT, None)
    if payment is None:
        return
    own = _told(model).to_bytes()
    if payment.keep(own) != own:
        raise _made_before(payment)


def _made_before(payment: Payment) -> NotPaid:
    """The error for a fit that another process made for the same charge."""
    return NotPaid(
        "another process made this fit for the same charge, and its answer counts; read it: "
        f"ledger.answer({payment.number})."
    )


def keep_refusal(payment: Payment | None, words: str) -> None:
    """Keep an error that tells released facts: it is the answer that was paid for."""
    if payment is not None:
        payment.keep(KeptAnswer("private fit", words).to_bytes())


def _told(model: Any) -> KeptAnswer:
    """The numbers of a fitted model, in words and as values for JSON."""
    numbers = {name: _plain(value) for name, value in vars(model).items() if _is_number(name, value)}
    best = getattr(model, "best_estimator_", None)
    if best is not None:
        numbers |= _told(best).numbers
    shown = [f"{name}: {_short(value)}" for name, value in numbers.items()]
    receipt = model.receipt_
    text = "\n".join([f"{receipt['kind']} of {type(model).__name__}", *shown, f"guarantee: {model.guarantee_}"])
    return KeptAnswer(receipt["kind"], text, dict(receipt), numbers)


def _is_number(name: str, value: Any) -> bool:
    """Is it a fitted attribute of numbers or names?"""
    fitted = name.endswith("_") and not name.startswith("_")
    return fitted and isinstance(value, np.ndarray | np.generic | int | float | str | dict) and name not in _APART


def _short(value: Any) -> str:
    text = repr(value) if not isinstance(value, list) else np.array2string(np.array(value), threshold=_SHOWN)
    return " ".join(text.split())


def _plain(value: Any) -> Any:
    """The value for JSON; what has no such form by its text."""
    if isinstance(value, np.ndarray):
        return _plain(value.tolist())
    if isinstance(value, np.generic):
        return _plain(value.item())
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items() if key not in _BESIDE}
    if isinstance(value, list | tuple):
        return [_plain(one) for one in value]
    if hasattr(value, "get_params"):
        return [type(value).__qualname__, _plain(value.get_params(deep=False))]
    return repr(value)
