"""The condition of a filter in plain words, for readers who do not know its notation."""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = ["condition_in_words", "only_where"]

#: Operations as Ibis names them, and how a sentence says them.
_WORDS = {
    "GreaterEqual": "{} is at least {}",
    "Greater": "{} is above {}",
    "LessEqual": "{} is at most {}",
    "Less": "{} is below {}",
    "Equals": "{} is {}",
    "NotEquals": "{} is not {}",
    "And": "{} and {}",
    "Or": "({} or {})",
    "Not": "not ({})",
    "IsNull": "{} is missing",
    "NotNull": "{} is present",
    "Between": "{} is between {} and {}",
    "InValues": "{} is one of {}",
    "Add": "{} + {}",
    "Subtract": "{} - {}",
    "Multiply": "{} times {}",
    "Divide": "{} divided by {}",
    "ExtractYear": "the year of {}",
    "ExtractMonth": "the month of {}",
    "ExtractDay": "the day of {}",
    "Lowercase": "{} in small letters",
    "Uppercase": "{} in capitals",
}
#: Comparisons as SQL and the option --where write them.
_COMPARED = re.compile(r"(\w+) (>=|<=|<>|!=|==?|>|<) (-?[\w.]+|'(?:[^']|'')*')")
_SIGNS = {
    ">=": "is at least",
    "<=": "is at most",
    ">": "is above",
    "<": "is below",
    "=": "is",
    "==": "is",
    "<>": "is not",
    "!=": "is not",
}
_TOKEN = re.compile(r"\s*(?:('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")|([\w.:+-]+)|(.))", re.DOTALL)


def condition_in_words(text: str) -> str:
    """A condition as Ibis writes it, or comparisons as SQL writes them, in words; another text is returned as it is.

    >>> condition_in_words("age >= 65 AND ward = 'burns'")
    "age is at least 65 and ward is 'burns'"
    >>> condition_in_words("And(GreaterEqual(age, 65), Equals(ward, 'burns'))")
    "age is at least 65 and ward is 'burns'"
    >>> condition_in_words("StringSQLLike(ward, 'b%')")
    "StringSQLLike(ward, 'b%')"
    """
    compared = [_COMPARED.fullmatch(part) for part in text.split(" AND ")]
    if all(compared):
        return " and ".join(f"{one[1]} {_SIGNS[one[2]]} {one[3]}" for one in compared if one)
    try:
        words, rest = _phrase(_TOKEN.findall(text))
    except (LookupError, IndexError):
        return text
    return text if rest else words


def only_where(filters: Iterable[str]) -> str:
    """The conditions of all filters, as the end of a sentence about rows.

    >>> only_where(["age >= 65", "GreaterEqual(stay_days, 2)"])
    'only where age is at least 65, and stay_days is at least 2'
    """
    return "only where " + ", and ".join(map(condition_in_words, filters))


_Tokens = list[tuple[str, str, str]]


def _phrase(tokens: _Tokens) -> tuple[str, _Tokens]:
    """The first expression in words, and the tokens after it."""
    quoted, name, mark = tokens[0]
    if quoted:
        return quoted, tokens[1:]
    if mark == "(":  # a list of values
        parts, rest = _parts(tokens[1:])
        return ", ".join(parts), rest
    if not name:
        raise LookupError(mark)
    if len(tokens) == 1 or tokens[1][2] != "(":
        return name, tokens[1:]
    parts, rest = _parts(tokens[2:])
    if name == "datetime.date":
        return "-".join(part.zfill(2) for part in parts), rest
    return _WORDS[name].format(*parts), rest


def _parts(tokens: _Tokens) -> tuple[list[str], _Tokens]:
    """The expressions up to the closing bracket."""
    found: list[str] = []
    while tokens[0][2] != ")":
        words, tokens = _phrase(tokens)
        found.append(words)
        if tokens[0][2] == ",":
            tokens = tokens[1:]
    return found, tokens[1:]
