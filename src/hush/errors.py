"""What can go wrong, and the checks that say so in one sentence.

    HushError
    +-- InvalidParameter   (also ValueError)       a value outside its allowed range, or of the wrong type
    |   +-- IncompleteCall (also TypeError)        an argument that is missing, or one that there is not
    |   +-- UnknownFamily  (also LedgerError)      a noise was written down by a family that is not registered here
    +-- Unsupported        (also TypeError)        no theorem covers this request; the message names the nearest call that has one
    +-- BudgetExceeded                             the ledger's cap would be passed
    +-- NotPaid                                    noise on data that no payment covers; nothing was drawn
    +-- LedgerError                                a ledger file that cannot be read, written or trusted; nothing was released
    +-- NotCertified       (also ArithmeticError)  a rigorous bound could not be established; nothing was released
    +-- MissingExtra       (also ImportError)      an optional library is not installed; the message is the command that installs it

Every validator takes the argument's name and value, and its message states the argument, the value, the allowed
range and what to write instead.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ParamSpec, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = [
    "BudgetExceeded",
    "HushError",
    "IncompleteCall",
    "InvalidParameter",
    "LedgerError",
    "MissingExtra",
    "NotCertified",
    "NotPaid",
    "UnknownFamily",
    "Unsupported",
]

Array = NDArray[np.float64]
_P = ParamSpec("_P")
_R = TypeVar("_R")

#: Beyond this a privacy budget promises nothing, and asking for it is a slip.
LARGEST_BUDGET = 1e6


class HushError(Exception):
    """The root of every error hush raises on purpose."""


class InvalidParameter(HushError, ValueError):
    """A value outside its allowed range, or of the wrong type."""


class IncompleteCall(InvalidParameter, TypeError):
    """A call with an argument missing, or with one that the function does not have."""


class Unsupported(HushError, TypeError):
    """No theorem certifies this request; the message names the nearest call that is certified."""


class BudgetExceeded(HushError):
    """The privacy budget does not cover this release."""


class NotPaid(HushError):
    """Noise on data that no payment covers; nothing was drawn."""


class LedgerError(HushError):
    """A ledger file that cannot be read, written or trusted."""


class UnknownFamily(InvalidParameter, LedgerError):
    """A noise that was written down by a family that is not registered in this process, or by another version of it."""


class NotCertified(HushError, ArithmeticError):
    """A rigorous bound could not be established."""


class MissingExtra(HushError, ImportError):
    """An optional library is not installed."""


@contextlib.contextmanager
def needs(library: str, what: str, *, extra: str = "") -> Iterator[None]:
    """Import optional libraries inside this block: one that is missing becomes the sentence that says how to install
    it.

    >>> with needs("polars", "to_polars()"):
    ...     import a_library_that_nobody_has
    Traceback (most recent call last):
    hush.errors.MissingExtra: to_polars() needs polars, which is not installed; write: pip install polars.
    >>> with needs("Altair", "a chart", extra="charts"):
    ...     import a_library_that_nobody_has
    Traceback (most recent call last):
    hush.errors.MissingExtra: a chart needs Altair, which is not installed; write: pip install 'hush[charts]'.
    """
    try:
        yield
    except ImportError as failure:
        package = f"'hush[{extra}]'" if extra else library
        raise MissingExtra(
            f"{what} needs {library}, which is not installed; write: pip install {package}."
        ) from failure


def reject(name: str, value: object, allowed: str, instead: str = "") -> InvalidParameter:
    """The one sentence for a bad argument, as an exception to raise."""
    shown = repr(value)
    if len(shown) > 60:
        shown = shown[:57] + "..."
    ending = f"; {instead}" if instead else ""
    return InvalidParameter(
        f"{name} must be {allowed}, got {shown}{ending}{'?' if instead.startswith('did you mean') else '.'}"
    )


def called_like(example: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """A function whose forgotten or unknown arguments are told in one sentence, with a call that works. Costs nothing
    where all is well.
    """

    def wrap(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            try:
                return function(*args, **kwargs)
            except TypeError as failure:
                wrong = "" if isinstance(failure, HushError) else _misfit(function, args, kwargs)
                if not wrong:
                    raise
            raise IncompleteCall(f"{example.partition('(')[0]} is {wrong}; write {example}.")

        return call

    return wrap


def _misfit(function: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """How the arguments do not fit the function, or nothing."""
    known = inspect.signature(function).parameters
    starred = {p.kind for p in known.values()} & {inspect.Parameter.VAR_KEYWORD}
    unknown = [] if starred else [name for name in kwargs if name not in known]
    if unknown:
        near = nearest(unknown[0], known)
        return f"given {unknown[0]}=, which it does not have" + (f", {near}" if near else "")
    try:
        inspect.signature(function).bind(*args, **kwargs)
    except TypeError as failure:
        text = str(failure)
        return "missing " + text.rsplit(" ", 1)[1].strip("'") if "missing" in text else f"called with {text}"
    return ""


def nearest(word: object, known: Iterable[str]) -> str:
    """ "did you mean 'gaussian'" for a misspelt word, or nothing."""
    import difflib  # seldom needed

    words = list(known)
    if not isinstance(word, str):
        return ""
    close = [word.lower()] if word.lower() in words else difflib.get_close_matches(word, words, n=2, cutoff=0.7)
    return f"did you mean {' or '.join(map(repr, close))}" if close else ""


def _unquoted(name: str, value: object, instead: str) -> str:
    """What to write for a number given as text."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return f"write {name}={float(value):g}, without quotes"
    return instead


def as_float(name: str, value: Any, allowed: str, instead: str = "") -> float:
    """One real number as a Python float; strings, booleans, arrays and NaN are refused."""
    if isinstance(value, bool | np.bool_ | str | bytes | complex) or value is None:
        raise reject(name, value, allowed, _unquoted(name, value, instead))
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as failure:
        raise reject(name, value, allowed, instead) from failure
    if array.ndim != 0 or math.isnan(array):
        raise reject(name, value, allowed, instead)
    return float(array)


def positive(name: str, value: Any, instead: str = "") -> float:
    """A finite number greater than zero."""
    allowed = "a finite number greater than 0"
    number = as_float(name, value, allowed, instead)
    if not 0.0 < number < math.inf:
        raise reject(name, value, allowed, instead)
    return number


def non_negative(name: str, value: Any, instead: str = "") -> float:
    """A finite number, zero allowed."""
    allowed = "a finite number, 0 or greater"
    number = as_float(name, value, allowed, instead)
    if not 0.0 <= number < math.inf:
        raise reject(name, value, allowed, instead)
    return number


def within(name: str, value: Any, low: float, high: float, instead: str = "") -> float:
    """A number in the closed interval [low, high]."""
    allowed = f"a number from {low:g} to {high:g}"
    number = as_float(name, value, allowed, instead)
    if not low <= number <= high:
        raise reject(name, value, allowed, instead)
    return number


def must_be_level(level: Any, most: float = 1.0) -> float:
    """The level of an interval: above 0 and below 1, or at most `most`."""
    allowed = "a number between 0 and 1" if most >= 1.0 else f"a number above 0 and at most {most:.10g}"
    number = as_float("level", level, allowed, "write level=0.95")
    if not 0.0 < number < 1.0 or number > most:
        raise reject("level", level, allowed, "write level=0.95")
    return number


def whole(name: str, value: Any, least: int = 1, instead: str = "") -> int:
    """An integer, at least `least`."""
    allowed = f"a whole number, {least} or greater"
    number: float
    try:
        number = (
            as_float(name, value, allowed, instead) if isinstance(value, bool | np.bool_) else operator.index(value)
        )
    except TypeError:  # 3.0 is welcome; integers must not come this way, because beyond 2^53 a float would change them
        number = as_float(name, value, allowed, instead)
    if not (least <= number < 2**63 and number == int(number)):
        raise reject(name, value, allowed, instead)
    return int(number)


def one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    """One word out of a list."""
    words = tuple(choices)
    if not isinstance(value, str) or value not in words:
        raise reject(name, value, "one of " + ", ".join(words), nearest(value, words))
    return str(value)


def reals(name: str, value: Any, allowed: str = "finite numbers", instead: str = "") -> Array:
    """A number or an array of numbers as float64, none of them NaN (infinities pass)."""
    if isinstance(value, str | bytes | bool | np.bool_) or value is None:
        raise reject(name, value, allowed, _unquoted(name, value, instead))
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise TypeError
        array = array.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as failure:
        raise reject(name, value, allowed, instead) from failure
    if np.isnan(array).any():
        raise reject(name, value, allowed, instead)
    return array


def epsilons(name: str, value: Any) -> Array:
    """Epsilons at which a curve is asked: any finite real numbers, negative ones too."""
    array = reals(name, value)
    if not np.isfinite(array).all():
        raise reject(name, value, "finite", "ask for a finite epsilon")
    return array


def deltas(name: str, value: Any, *, zero: bool) -> Array:
    """Deltas in (0, 1), or [0, 1) where delta = 0 has a meaning."""
    allowed = "in [0, 1)" if zero else "in (0, 1)"
    array = reals(name, value, allowed, f"write for example {name}=1e-6")
    low = array >= 0.0 if zero else array > 0.0
    if not (low & (array < 1.0)).all():
        hint = "a delta below 5e-324 is 0 in floating point" if not zero and (array == 0.0).any() else ""
        hint = "it is a small probability, such as 1e-6, and comes after epsilon" if (array >= 1.0).any() else hint
        raise reject(name, value, allowed, hint)
    return array


def probabilities(name: str, value: Any) -> Array:
    """Probabilities in [0, 1]."""
    array = reals(name, value, "in [0, 1]")
    if not ((array >= 0.0) & (array <= 1.0)).all():
        raise reject(name, value, "in [0, 1]")
    return array


def budgets(name: str, value: Any, *, zero: bool = False) -> Array:
    """Epsilons to calibrate for: greater than 0 (or 0 where it has a meaning), and small enough to mean something."""
    allowed = f"{'from' if zero else 'greater than'} 0 and at most {LARGEST_BUDGET:g}"
    array = reals(name, value, allowed, f"write for example {name}=1.0")
    low = array >= 0.0 if zero else array > 0.0
    if not (low & (array <= LARGEST_BUDGET)).all():
        raise reject(
            name, value, allowed, "a larger epsilon promises nothing" if low.all() else f"write for example {name}=1.0"
        )
    return array


def positives(name: str, value: Any) -> Array:
    """Finite numbers greater than zero."""
    allowed = "finite and greater than 0"
    array = reals(name, value, allowed)
    if not ((array > 0.0) & np.isfinite(array)).all():
        raise reject(name, value, allowed)
    return array
