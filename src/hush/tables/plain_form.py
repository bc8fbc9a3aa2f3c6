"""Text as numbers, dates and truth values: a text of the plain form has a value, and every other text is null.

Engines read text in different ways: some accept '1d' as a number or '2025' as a date. So text is read only if it has
one plain form. What one text means depends on that text alone: never on the other rows.
"""

from __future__ import annotations

from typing import Any

from hush.tables.expression import constant, ibis

__all__ = ["plain_form"]

_YEAR = "([1-9][0-9]{3}|0[1-9][0-9]{2}|00[1-9][0-9]|000[1-9])"
#: The form of text that is cast, and the characters that it may not have: in some engines $ also matches before the
#: end of a line.
_FORMS = {
    "int64": ("^-?[0-9]{1,40}$", "[^0-9-]"),
    "float64": ("^-?[0-9]+([.][0-9]+)?([eE][+-]?[0-9]{1,3})?$", "[^0-9.eE+-]"),
    "date": (f"^{_YEAR}-[0-9]{{2}}-[0-9]{{2}}$", "[^0-9-]"),
    "timestamp": (f"^{_YEAR}-[0-9]{{2}}-[0-9]{{2}} [0-9]{{2}}:[0-9]{{2}}:[0-9]{{2}}$", "[^0-9: -]"),
}
_TRUE, _FALSE = ("true", "t", "yes", "1"), ("false", "f", "no", "0")
#: Text of this many characters or more is no number. Numbers beyond these sizes are null: engines differ in how they
#: round them.
_LONGEST, _TINY, _HUGE = 300, 1e-307, 1.7e308


def plain_form(column: Any, kind: str) -> Any:
    """Text of a plain form as a value of the type `kind`: "int64", "float64", "boolean", "date" or "timestamp"."""
    text = column.strip()
    if kind == "boolean":
        low = text.lower()
        return ibis().cases((low.isin(_TRUE), True), (low.isin(_FALSE), False), else_=ibis().null("boolean"))
    form, never = _FORMS[kind]
    plain = text.re_search(form) & ~text.re_search(never) & (text.length() < _LONGEST)
    made = ibis().cases((plain, text), else_=ibis().null("string")).try_cast(kind)
    if kind == "float64":
        size = made.abs()
        usual = (size == 0.0) | ((size > constant(_TINY)) & (size < constant(_HUGE)))
        return ibis().cases((usual, made), else_=ibis().null("float64"))
    return made
