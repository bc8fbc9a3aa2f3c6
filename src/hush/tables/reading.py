"""How a file of text is read: its dialect and the types of its columns. Nothing of it depends on a row.

Claim. Two files that differ in one line give the same values for every other line.

The dialect is fixed before the file is opened, and the names are those of the first line (or they are declared). A line
ends at a line feed or a carriage return, quotes or not. So a quote that is not closed ends with its line. What a line
means is a function of the line: it is split into fields, and it is a row if it has as many fields as there are names;
otherwise it is left out. A field is text, or it is read as the declared type by `plain_form`, which gives null where
the text has another form.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from hush.errors import InvalidParameter, one_of, shown
from hush.tables.expression import ibis
from hush.tables.plain_form import plain_form

__all__ = ["TYPES", "Reading", "as_declared", "fields_of", "reading_of"]

#: The types of columns, by the word that users write, and as types of Ibis.
TYPES = {
    "text": "string",
    "number": "float64",
    "whole": "int64",
    "date": "date",
    "time": "timestamp",
    "boolean": "boolean",
}
_OPTIONS = ("delimiter", "quote", "encoding", "decimal", "dates", "names")
_DATES = "%Y-%m-%d"
#: The parts of a form of dates.
_PARTS = {"%Y": "([0-9]{4})", "%m": "([0-9]{1,2})", "%d": "([0-9]{1,2})"}


@dataclass(frozen=True)
class Reading:
    """The dialect of a file of text, and the types of its columns; a column without a type, or with None, is text until
    a question says what it is.
    """

    delimiter: str = ","
    quote: str = '"'
    encoding: str = "utf-8"
    decimal: str = "."
    dates: str = _DATES
    #: the names of the columns of a file without a line of names
    names: tuple[str, ...] | None = None
    types: Mapping[str, str | None] = field(default_factory=dict)


def reading_of(csv: Any, types: Any, *, delimiter: str = ",") -> Reading:
    """The options of a file, checked."""
    made = Reading(delimiter=delimiter)
    if csv is not None:
        if not isinstance(csv, Mapping):
            raise InvalidParameter(
                f"csv must be a mapping, got {shown(csv)}; write csv={{'delimiter': ';', 'encoding': 'cp1252'}}."
            )
        for name in csv:
            one_of("an option of csv", name, _OPTIONS)
        made = replace(made, **{name: _CHECKS[name](value) for name, value in csv.items()})
    if made.delimiter == made.quote:
        raise InvalidParameter(f"csv: delimiter and quote are both {shown(made.quote)}; they must differ.")
    if types is None:
        return made
    if not isinstance(types, Mapping) or not all(isinstance(name, str) for name in types):
        raise InvalidParameter(
            f"types must be a mapping of columns to types, got {shown(types)}; write types={{'age': 'number', "
            "'day': 'date'}."
        )
    for word in filter(None, types.values()):
        one_of("a type of types", word, tuple(TYPES))
    return replace(made, types=dict(types))


def _character(name: str) -> Any:
    def checked(value: Any) -> str:
        if isinstance(value, str) and len(value) == 1 and not value.isalnum() and value not in "\n\r\x00":
            return value
        if name == "quote" and value == "":
            return ""
        more = ", or '' for none" if name == "quote" else ""
        raise InvalidParameter(
            f"csv: {name} must be one character that is no letter, digit or line end{more}, got {shown(value)}."
        )

    return checked


def _encoding(value: Any) -> str:
    """An encoding with one byte for each character (or UTF-8), so that a wrong byte spoils its line only."""
    try:
        if not isinstance(value, str):
            raise LookupError
        plain = bytes(range(128)).decode(value) == bytes(range(128)).decode("ascii")
        each = len(bytes(range(128, 256)).decode(value, "replace")) == 128
    except (LookupError, UnicodeError, ValueError) as failure:
        raise InvalidParameter(_ENCODING.format(shown(value))) from failure
    name = value.lower().replace("_", "-")
    if name in ("utf8", "utf-8", "utf-8-sig", "ascii", "us-ascii"):
        return "utf-8"
    if not (plain and each):
        raise InvalidParameter(_ENCODING.format(shown(value)))
    return value


_ENCODING = (
    "csv: encoding must be 'utf-8' or an encoding with one byte for each character, such as 'latin-1' or 'cp1252', "
    "got {}."
)


def _decimal(value: Any) -> str:
    return one_of("csv: decimal", value, (".", ","))


def _dates(value: Any) -> str:
    pieces = re.findall("%.", value) if isinstance(value, str) else []
    if sorted(pieces) != sorted(_PARTS) or not re.fullmatch("(%[Ymd]|[ ./-])+", value) or len(value) > 20:
        raise InvalidParameter(
            "csv: dates must be a form with %Y, %m and %d once each, and dots, dashes, slashes or spaces, such as "
            f"'%d.%m.%Y', got {shown(value)}."
        )
    return str(value)


def _names(value: Any) -> tuple[str, ...]:
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidParameter(f"csv: names must be a list of the columns' names, got {shown(value)}.")
    return checked_names(value, "csv: names")


_CHECKS: dict[str, Any] = {
    "delimiter": _character("delimiter"),
    "quote": _character("quote"),
    "encoding": _encoding,
    "decimal": _decimal,
    "dates": _dates,
    "names": _names,
}


# -- names and fields ----------------------------------------------------------------------------------------


def checked_names(found: Iterable[Any], role: str) -> tuple[str, ...]:
    """Names of columns, without spaces around them. Two equal names, or names that differ in case, are refused; which
    names they are is not shown: without a line of names, the first line is a person's row.
    """
    names = [name.strip() if isinstance(name, str) else name for name in found]
    if not names or not all(isinstance(name, str) and name.isprintable() for name in names):
        raise InvalidParameter(
            f"{role} must be names of columns without control characters; a file that is not of text is opened by its "
            "own ending."
        )
    names = [name or f"column{i}" for i, name in enumerate(names)]
    if len({name.casefold() for name in names}) < len(names):
        raise InvalidParameter(
            f"{role} names a column twice (upper and lower case are not told apart); rename one, or declare all names: "
            "csv={'names': [...]}."
        )
    return tuple(names)


def fields_of(line: str, reading: Reading) -> list[str] | None:
    """The fields of one line; None for a line with a quote that is not closed, or text after a closing quote."""
    mark, quote = reading.delimiter, reading.quote
    found = re.findall(pattern(reading), line + mark) if quote and quote in line else line.split(mark)
    if mark.join(found) != line:
        return None
    quoted = [bool(quote) and field.startswith(quote) for field in found]
    return [
        field[1:-1].replace(2 * quote, quote) if inside else field for field, inside in zip(found, quoted, strict=True)
    ]


def pattern(reading: Reading) -> str:
    """A regular expression for one field and the delimiter after it, of a line with quotes."""
    mark, quote = (re.escape(one) for one in (reading.delimiter, reading.quote))
    return f"({quote}(?:[^{quote}]|{quote}{quote})*{quote}|[^{mark}{quote}][^{mark}]*|){mark}"


# -- types ---------------------------------------------------------------------------------------------------


def as_declared(relation: Any, reading: Reading) -> Any:
    """The relation of texts with the declared types; a text that does not fit is null."""
    made = {
        name: as_type(relation[name], word, reading)
        for name, word in reading.types.items()
        if word not in (None, "text") and name in relation.columns
    }
    return relation.mutate(**made) if made else relation


def as_type(column: Any, word: str, reading: Reading) -> Any:
    """A column of text as numbers, dates, times or truth values."""
    kind = TYPES[word]
    text = column.strip()
    if word in ("number", "whole"):
        return plain_form(text.replace(",", ".") if reading.decimal == "," else text, kind)
    if word in ("date", "time"):
        day, rest = _day(text, reading.dates)
        return plain_form(day if word == "date" else day + _clock(rest), kind)
    return plain_form(text, kind)


def _day(text: Any, form: str) -> tuple[Any, Any]:
    """The day of a text as 2024-01-31, and what follows it. A day may be followed by a time."""
    parts = re.findall("%[Ymd]", form)
    shape = "^" + re.sub("%[Ymd]|.", lambda found: _PARTS.get(found[0]) or re.escape(found[0]), form) + "([ T].*)?$"
    if form == _DATES:
        shape = "^([0-9]{4})-([0-9]{2})-([0-9]{2})([ T].*)?$"
    year, month, day = (text.re_extract(shape, parts.index(part) + 1) for part in _PARTS)
    return year + "-" + _two(month) + "-" + _two(day), text.re_extract(shape, 4)


def _two(number: Any) -> Any:
    """A month or a day of one or two digits, with two."""
    return ibis().ifelse(number.length() == 1, "0" + number, number)


def _clock(rest: Any) -> Any:
    """What follows a day, as the time of day: midnight if nothing does. Parts of a second are cut off."""
    shape = "^[ T]([0-9]{2}:[0-9]{2})(:[0-9]{2})?([.][0-9]{1,9})?Z?$"
    seconds = rest.re_extract(shape, 2)
    clock = " " + rest.re_extract(shape, 1) + ibis().ifelse(seconds == "", ":00", seconds)
    return ibis().ifelse(rest == "", " 00:00:00", clock)
