"""The errors that hush raises, and the validators of arguments.

    HushError
    +-- InvalidParameter   (also ValueError)       a value outside its allowed range, or of the wrong type
    |   +-- IncompleteCall (also TypeError)        an argument is missing, or the function has none of that name
    |   +-- UnknownFamily  (also LedgerError)      a stored noise is of a family that is not registered here
    +-- Unsupported        (also TypeError)        no theorem covers the request; the message names one that is covered
    +-- BudgetExceeded                             the release would exceed the ledger's cap
    +-- NotPaid                                    no payment covers this noise on data; nothing was drawn
    +-- QueryFailed                                a question failed after its charge; the same call gets its answer
    +-- LedgerError                                a ledger file cannot be read, written or trusted
    +-- NotWritten         (also OSError)          a file or the output cannot be written; a paid answer is not lost
    +-- NotCertified       (also ArithmeticError)  a rigorous bound could not be established; nothing was released
    +-- MissingExtra       (also ImportError)      a missing optional library; the message has the command to install it
    WeakGuarantee          (UserWarning)           the budget is accepted, but it protects a person little

Every validator takes an argument's name and value. Its message states both, the allowed range and what to write.
"""

from __future__ import annotations

import contextlib
import enum
import functools
import inspect
import math
import operator
import os
import warnings
from collections.abc import Callable, Iterable, Iterator
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from fractions import Fraction
from types import FrameType
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
    "NotWritten",
    "QueryFailed",
    "UnknownFamily",
    "Unsupported",
    "WeakGuarantee",
]

Array = NDArray[np.float64]
_P = ParamSpec("_P")
_R = TypeVar("_R")

#: The largest epsilon that is accepted. A larger one gives no privacy, so it is taken to be a typing error.
LARGEST_BUDGET = 1e6

#: A longer text (characters) may be a row of a file; a statement, a label or a path is shorter, or is not repeated.
_LONG_TEXT = 100
#: A longer tuple may be a row; a pair of bounds or a triple of values is shorter.
_SHORT_TUPLE = 3
#: A larger number fills the line.
_LARGE = 10**40


#: Beyond these an answer protects a person little; accepted, with a warning.
WEAK_EPSILON, WEAK_DELTA = 10.0, 1e-3

#: Callers that are looked at, to find the line of the user.
_FRAMES = 200
#: Packages whose lines are not the user's.
_INSIDE = ("hush", "sklearn", "joblib", "contextlib", "threading", "concurrent", "multiprocessing", "runpy")
_SAID = "kinds of warnings of hush"
#: The kinds that a worker of joblib has caused, which has no frame of the user.
_BY_WORKER: set[str] = set()


class HushError(Exception):
    """The base class of every error that hush raises on purpose."""


class InvalidParameter(HushError, ValueError):
    """A value outside its allowed range, or of the wrong type."""


class IncompleteCall(InvalidParameter, TypeError):
    """A call that lacks an argument, or that has one which the function does not take."""


class Unsupported(HushError, TypeError):
    """No theorem covers this request; the message names the nearest call that one covers."""


class BudgetExceeded(HushError):
    """The release would exceed the cap of the ledger; nothing was spent."""


class NotPaid(HushError):
    """No payment covers this noise on data; nothing was drawn."""


class QueryFailed(HushError):
    """A question failed after it was charged. The charge stays, and the same call gets its one answer for it."""


class LedgerError(HushError):
    """A ledger file that cannot be read, written or trusted."""


class NotWritten(HushError, OSError):
    """A file or the output cannot be written, because the disk is full, a quota is reached, or a folder is gone."""


class UnknownFamily(InvalidParameter, LedgerError):
    """A stored noise is of a family that is not registered in this process, or of another version of that family."""


class NotCertified(HushError, ArithmeticError):
    """A rigorous bound could not be established."""


class MissingExtra(HushError, ImportError):
    """An optional library is not installed."""


class WeakGuarantee(UserWarning):
    """The budget is accepted, but it protects a person little."""


def warn_if_weak(epsilon: float, delta: float = 0.0) -> None:
    """Warn at the user's line of an epsilon above 10 or a delta above 1e-3: once for each line, as Python does."""
    if WEAK_EPSILON < epsilon < math.inf:
        say(
            f"epsilon = {epsilon:g} gives little privacy: what an attacker thinks of one person may change by a factor "
            f"of e^{epsilon:g}; choose at most {WEAK_EPSILON:g}, better 1 or less.",
            "weak epsilon",
            WeakGuarantee,
        )
    if delta > WEAK_DELTA:
        say(
            f"delta = {delta:g} gives little privacy: with this probability a person may have no protection at all; "
            "choose less than 1 divided by the number of people, such as 1e-6.",
            "weak delta",
            WeakGuarantee,
        )


def callers() -> Iterator[FrameType]:
    """The frames on the stack, from the function that reads this iterator up."""
    frame = inspect.currentframe()
    for _ in range(_FRAMES):
        frame = None if frame is None else frame.f_back
        if frame is None:
            return
        yield frame


def top_of(frame: FrameType) -> str:
    """The package of a frame. The first frame of a worker of joblib has the name __main__."""
    if "loky" in frame.f_code.co_filename:
        return "joblib"
    return str(frame.f_globals.get("__name__", "")).partition(".")[0]


def say(text: str, kind: str, category: type[Warning] = UserWarning) -> None:
    """Warn at the user's line; a kind that the same call has already caused is left out.

    A call such as `cross_val_score(model, X, y)` fits many times, and a plan calibrates many noises for parts of its
    budget. So the outermost function of scikit-learn on the stack keeps the kinds of warnings that it has caused, among
    its local names: they end with the call. For a weak guarantee the outermost function of hush does too.
    """
    level, outer, worker = 0, None, True
    wanted = ("sklearn", "hush") if category is WeakGuarantee else ("sklearn",)
    for frame in callers():
        level += 1
        if top_of(frame) not in _INSIDE:
            worker = False
            break
        if top_of(frame) in wanted:
            outer = frame
    if outer is not None:
        said = _BY_WORKER if worker and top_of(outer) == "sklearn" else outer.f_locals.setdefault(_SAID, set())
        if kind in said:
            return
        said.add(kind)
    warnings.warn(text, category, stacklevel=level)


@contextlib.contextmanager
def needs(library: str, what: str, *, extra: str = "") -> Iterator[None]:
    """Import optional libraries inside this block; a missing one raises `MissingExtra` with the install command.

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


def shown(value: object) -> str:
    """A value in a message: a short text, number or date as the caller typed it, or a short tuple of them.

    Anything else may hold rows of people, and messages end up in logs: it is printed as its type and its size.

    >>> shown("ward"), shown(2.5), shown((0, 30)), shown([87, 91, 64])
    ("'ward'", '2.5', '(0, 30)', 'a list of 3')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if _is_short(value):
        return repr(value)
    if isinstance(value, tuple) and len(value) <= _SHORT_TUPLE and all(map(_is_short, value)):
        return repr(value)
    if _is_setting(value):
        return repr(value)
    return type_and_size(value)


def type_and_size(value: object) -> str:
    """The type of a value and its size, and nothing that it contains: for the parts of a list, which may be data.

    >>> type_and_size("surgery"), type_and_size(3), type_and_size((1, 2)), type_and_size(None)
    ('a text', 'an int', 'a tuple of 2', 'None')
    """
    if value is None:
        return "None"
    if isinstance(value, type):
        return f"the type {value.__name__}"
    name = "text" if isinstance(value, str) else type(value).__name__
    size = ""
    with contextlib.suppress(Exception):  # a foreign class may define anything
        shape = getattr(value, "shape", None)
        if isinstance(shape, tuple) and shape and all(type(n) is int for n in shape):
            size = f" of {' x '.join(map(str, shape))}"
        elif not isinstance(value, str):
            size = f" of {operator.index(len(value))}"  # type: ignore[arg-type]
        elif len(value) > _LONG_TEXT:
            size = f" of {len(value)} characters"
    return f"{'an' if name[:1].lower() in 'aeiou' else 'a'} {name}{size}"


def places_of_equals(values: Iterable[object]) -> str:
    """Where a list has a value that stood in it before, "place 1 and place 3"; empty if all values differ."""
    seen: dict[object, int] = {}
    for place, value in enumerate(values, 1):
        with contextlib.suppress(TypeError):  # a value that cannot be hashed is compared with nothing
            if (first := seen.setdefault(value, place)) != place:
                return f"place {first} and place {place}"
    return ""


def _is_short(value: object) -> bool:
    """Is it a text, number, date or nothing, as somebody types it?"""
    if type(value) in (str, bytes) or isinstance(value, os.PathLike):
        return len(str(value)) <= _LONG_TEXT
    if isinstance(value, int | Fraction | Decimal) and type(value) in (int, Fraction, Decimal):
        try:
            return bool(-_LARGE < value < _LARGE)
        except ArithmeticError:  # Decimal("nan")
            return True
    plain = (type(None), bool, float, complex, date, datetime, time, timedelta, type(...))
    return type(value) in plain or isinstance(value, enum.Enum)


def _is_setting(value: object) -> bool:
    """Is it a noise, a sensitivity or a budget: a value of hush's own whose fields are short themselves?"""
    if not is_dataclass(value) or isinstance(value, type) or not type(value).__module__.startswith("hush"):
        return False
    parts = [getattr(value, field.name) for field in fields(value) if field.repr]
    tuples = [part for part in parts if isinstance(part, tuple)]
    return (
        all(len(part) <= _SHORT_TUPLE for part in tuples)
        and all(_is_short(part) or _is_setting(part) for tupled in tuples for part in tupled)
        and all(_is_short(part) or _is_setting(part) for part in parts if not isinstance(part, tuple))
    )


def reject(name: str, value: object, allowed: str, instead: str = "") -> InvalidParameter:
    """The exception for a bad argument, for the caller to raise: one sentence."""
    ending = f"; {instead}" if instead else ""
    return InvalidParameter(
        f"{name} must be {allowed}, got {shown(value)}{ending}{'?' if instead.startswith('did you mean') else '.'}"
    )


def called_like(example: str) -> Callable[[Callable[_P, _R]], Callable[_P, _R]]:
    """Decorate a function: a missing or unknown argument raises `IncompleteCall` with `example`, a call that works."""

    def wrap(function: Callable[_P, _R]) -> Callable[_P, _R]:
        @functools.wraps(function)
        def call(*args: _P.args, **kwargs: _P.kwargs) -> _R:
            try:
                return function(*args, **kwargs)
            except TypeError as failure:
                wrong = "" if isinstance(failure, HushError) else _misfit(function, args, kwargs)
                if not wrong:
                    raise
            raise IncompleteCall(f"{example.partition('(')[0]} {wrong}; write {example}.")

        return call

    return wrap


def made_like(example: str) -> Callable[[type[_R]], type[_R]]:
    """Decorate a class in the same way; place it above @dataclass."""

    def wrap(kind: type[_R]) -> type[_R]:
        kind.__init__ = called_like(example)(kind.__init__)  # type: ignore[method-assign]
        return kind

    return wrap


def _misfit(function: Callable[..., object], args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Why the arguments do not fit the function; empty where they do."""
    known = (signature := inspect.signature(function)).parameters
    starred = any(parameter.kind is parameter.VAR_KEYWORD for parameter in known.values())
    unknown = [] if starred else [name for name in kwargs if name not in known]
    if unknown:
        return ", ".join(filter(None, (f"has no argument {unknown[0]}=", nearest(unknown[0], known))))
    try:
        signature.bind(*args, **kwargs)
    except TypeError as failure:
        text = str(failure)
        missing = text.rsplit(" ", 1)[1].strip("'")
        return f"is missing {missing}" if "missing" in text else f"was called with {text}"
    return ""


def nearest(word: object, known: Iterable[str]) -> str:
    """ "did you mean 'gaussian'" for a misspelt word; empty where no known word is close."""
    import difflib  # imported here, because it is rarely needed

    words = list(known)
    if not isinstance(word, str):
        return ""
    close = [word.lower()] if word.lower() in words else difflib.get_close_matches(word, words, n=2, cutoff=0.7)
    return f"did you mean {' or '.join(map(repr, close))}" if close else ""


def _unquoted(name: str, value: object, instead: str) -> str:
    """The hint for a number that was given as text."""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            return f"write {name}={float(value):g}, without quotes"
    return instead


def each(
    check: Callable[..., _R], name: str, values: Iterable[Any], *rest: Any, instead: str = "", **options: Any
) -> list[_R]:
    """Every value of a list as `check` returns it; a wrong one is named by its place and type, since it may be data."""
    found = []
    for place, value in enumerate(values, 1):
        try:
            found.append(check(name, value, *rest, **options))
        except InvalidParameter as failure:
            allowed = str(failure).partition(", got ")[0]
        else:
            continue
        ending = f"; {instead}" if instead else ""
        raise InvalidParameter(f"{allowed}, got {type_and_size(value)} at place {place}{ending}.")
    return found


def as_float(name: str, value: Any, allowed: str, instead: str = "") -> float:
    """One real number as a Python float; strings, booleans, arrays and NaN are rejected."""
    if isinstance(value, bool | np.bool_ | str | bytes | complex) or value is None:
        raise reject(name, value, allowed, _unquoted(name, value, instead))
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise reject(name, value, allowed, instead) from None
    if array.ndim != 0 or math.isnan(array):
        raise reject(name, value, allowed, instead)
    return float(array)


def _checked(
    read: Callable[..., _R], name: str, value: Any, allowed: str, inside: Callable[[_R], Any], instead: str = ""
) -> _R:
    """The value as `read` (as_float or reals) returns it, if it is inside the allowed range."""
    found = read(name, value, allowed, instead)
    if not inside(found):
        raise reject(name, value, allowed, instead)
    return found


def positive(name: str, value: Any, instead: str = "") -> float:
    """A finite number greater than zero."""
    return _checked(as_float, name, value, "a finite number greater than 0", lambda x: 0.0 < x < math.inf, instead)


def non_negative(name: str, value: Any, instead: str = "") -> float:
    """A finite number, zero allowed."""
    return _checked(as_float, name, value, "a finite number, 0 or greater", lambda x: 0.0 <= x < math.inf, instead)


def within(name: str, value: Any, low: float, high: float, instead: str = "") -> float:
    """A number in the closed interval [low, high]."""
    return _checked(as_float, name, value, f"a number from {low:g} to {high:g}", lambda x: low <= x <= high, instead)


def must_be_level(level: Any, most: float = 1.0) -> float:
    """The level of an interval: above 0, below 1, and at most `most`."""
    allowed = "a number between 0 and 1" if most >= 1.0 else f"a number above 0 and at most {most:.10g}"
    return _checked(as_float, "level", level, allowed, lambda x: 0.0 < x < 1.0 and x <= most, "write level=0.95")


def whole(name: str, value: Any, least: int = 1, instead: str = "") -> int:
    """An integer, at least `least`; a float with a whole value, such as 3.0, is accepted."""
    allowed = f"a whole number, {least} or greater"
    try:
        # an integer must not become a float: beyond 2^53 that would change it
        number = math.nan if isinstance(value, bool | np.bool_) else operator.index(value)
    except TypeError:
        number = as_float(name, value, allowed, instead)
    if not (least <= number < 2**63 and number == int(number)):
        raise reject(name, value, allowed, instead)
    return int(number)


def one_of(name: str, value: Any, choices: Iterable[str]) -> str:
    """One of the listed words."""
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
    except (TypeError, ValueError, OverflowError):
        raise reject(name, value, allowed, instead) from None
    if np.isnan(array).any():
        raise reject(name, value, allowed, instead)
    return array


def epsilons(name: str, value: Any) -> Array:
    """Epsilons at which a curve is evaluated: any finite real numbers, negative ones too."""
    example = f"write for example {name}=1.0"
    return _checked(reals, name, value, "finite numbers", lambda x: np.isfinite(x).all(), example)


def probabilities(name: str, value: Any) -> Array:
    """Probabilities in [0, 1]."""
    return _checked(reals, name, value, "in [0, 1]", lambda x: ((x >= 0.0) & (x <= 1.0)).all())


def positives(name: str, value: Any) -> Array:
    """Finite numbers greater than zero."""
    return _checked(reals, name, value, "finite and greater than 0", lambda x: ((x > 0.0) & (x < math.inf)).all())


def deltas(name: str, value: Any, *, zero: bool) -> Array:
    """Deltas in (0, 1), or in [0, 1) with zero=True."""
    allowed = "in [0, 1)" if zero else "in (0, 1)"
    array = reals(name, value, allowed, f"write for example {name}=1e-6")
    low = array >= 0.0 if zero else array > 0.0
    if not (low & (array < 1.0)).all():
        hint = "a delta below 5e-324 is 0 in floating point" if not zero and (array == 0.0).any() else ""
        hint = "delta is a small probability, such as 1e-6, and comes after epsilon" if (array >= 1.0).any() else hint
        raise reject(name, value, allowed, hint)
    return array


def budgets(name: str, value: Any, *, zero: bool = False) -> Array:
    """Epsilons of a budget: greater than 0 (or 0 too, with zero=True) and at most LARGEST_BUDGET."""
    allowed = f"{'from' if zero else 'greater than'} 0 and at most {LARGEST_BUDGET:g}"
    example = f"write for example {name}=1.0"
    array = reals(name, value, allowed, example)
    low = array >= 0.0 if zero else array > 0.0
    if not (low & (array <= LARGEST_BUDGET)).all():
        raise reject(name, value, allowed, "a larger epsilon gives no privacy" if low.all() else example)
    return array
