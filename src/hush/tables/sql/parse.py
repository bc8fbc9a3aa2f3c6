"""From the text of a statement to its tree: one SELECT, in a dialect that sqlglot reads. Nothing else is accepted.

The text is never sent to an engine. The tree is translated node by node (`hush.tables.sql.row`,
`hush.tables.sql.aggregates`), and a node that is not on a list of known ones is refused.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from hush.errors import InvalidParameter, needs, one_of, shown
from hush.tables.sql.private_clause import without_private_clauses
from hush.tables.sql.refusal import Refused

__all__ = ["DIALECTS", "Parsed", "parsed"]

#: The dialects of sqlglot in which statements are read.
DIALECTS = ("duckdb", "postgres", "spark", "bigquery", "snowflake")
#: Characters of a statement. Longer ones are not written by people, and take long to parse.
_LONGEST = 50_000
#: The deepest nesting of brackets.
_DEEPEST = 100
_HINTS = ("+", "!")
#: sqlglot does not read what follows an EXPLAIN, so the word is taken off first.
_EXPLAIN = re.compile(r"^\s*EXPLAIN\s(?!\s*ANALY[SZ]E\b)", re.IGNORECASE)
_INVISIBLE = re.compile("[\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\ufeff\u00ad\x00-\x08\x0b\x0c\x0e-\x1f]")


@dataclass(frozen=True)
class Parsed:
    """A statement: its text, its tree, its dialect, whether it is an EXPLAIN, and the options of a private clause."""

    text: str
    tree: Any
    dialect: str
    explain: bool = False
    options: Mapping[str, Any] = field(default_factory=dict)


def parsed(text: str, dialect: str = "duckdb") -> Parsed:
    """The tree of one SELECT, checked to be exactly one statement."""
    one_of("dialect", dialect, DIALECTS)
    if not isinstance(text, str) or not text.strip():
        raise InvalidParameter(f"a statement must be text such as SELECT COUNT(*) FROM visits, got {shown(text)}.")
    if len(text) > _LONGEST:
        raise InvalidParameter(f"the statement has {len(text)} characters; at most {_LONGEST} are read.")
    if _INVISIBLE.search(text):
        raise Refused("the statement has an invisible or a control character; type it again without this character")
    with needs("sqlglot", "hush.sql", extra="tables"):
        import sqlglot
    asked = _EXPLAIN.sub("", text, count=1)
    rest = _one_statement(asked, _tokens(sqlglot, asked, dialect))
    _refuse_top(sqlglot, rest, dialect)
    plain, options = without_private_clauses(rest, _tokens(sqlglot, rest, dialect))
    return Parsed(text, _tree(sqlglot, plain, dialect), dialect, asked != text, options)


def _tokens(sqlglot: Any, text: str, dialect: str) -> list[Any]:
    """The tokens of the text, without hints and not too deep."""
    try:
        tokens = list(sqlglot.tokenize(text, read=dialect))
    except sqlglot.errors.SqlglotError as failure:
        raise InvalidParameter(f"the statement is not valid SQL: {_first(failure)}.") from failure
    depth = 0
    for token in tokens:
        if any(comment.lstrip().startswith(_HINTS) for comment in token.comments):
            raise Refused("a comment that starts with + or ! is an instruction to an engine; leave it out")
        depth += {"L_PAREN": 1, "R_PAREN": -1}.get(token.token_type.name, 0)
        if depth > _DEEPEST:
            raise Refused(f"the statement nests more than {_DEEPEST} brackets; write it shorter")
    return tokens


def _one_statement(text: str, tokens: list[Any]) -> str:
    """The text of the SELECT."""
    while tokens and tokens[-1].token_type.name == "SEMICOLON":
        tokens = tokens[:-1]
    if not tokens:
        raise InvalidParameter("the statement is empty; write SELECT COUNT(*) FROM visits.")
    if any(token.token_type.name == "SEMICOLON" for token in tokens):
        raise Refused("several statements in one text are not answered; ask one SELECT at a time")
    first = tokens[0].text.upper()
    if first not in ("SELECT", "WITH", "("):
        what = f"{first} is not answered" if first.isalpha() else "this is not answered"
        raise Refused(f"{what}: hush answers SELECT and EXPLAIN SELECT, and changes nothing")
    return text[tokens[0].start : tokens[-1].end + 1]


def _refuse_top(sqlglot: Any, text: str, dialect: str) -> None:
    """Refuse SELECT TOP 3 ..., which most dialects do not have, with LIMIT in its place."""
    tokens = _tokens(sqlglot, text, dialect)
    words = [token.text.upper() for token in tokens[:5]]
    places = [3] if words[2:3] and words[2].isdigit() else [5] if words[2:3] == ["("] and words[4:5] == [")"] else []
    number = "".join(words[2 : places[0]]).strip("()") if places else ""
    if words[:2] != ["SELECT", "TOP"] or not number.isdigit() or len(tokens) <= places[0]:
        return
    plain = _tree(sqlglot, f"SELECT {text[tokens[places[0]].start :]}", dialect)
    plain = plain if plain.args.get("limit") else plain.limit(int(number), copy=False)
    sentence = f"SELECT TOP {number} is written with LIMIT; put ORDER BY ... LIMIT {number} at the end"
    raise Refused(sentence, plain, plain)


def _tree(sqlglot: Any, text: str, dialect: str) -> Any:
    try:
        trees = sqlglot.parse(text, read=dialect, error_level=sqlglot.ErrorLevel.IMMEDIATE)
    except sqlglot.errors.SqlglotError as failure:
        raise InvalidParameter(f"the statement is not valid SQL ({dialect}): {_first(failure)}.") from failure
    except RecursionError as failure:
        raise Refused("the statement is nested too deeply; write it shorter") from failure
    if len(trees) != 1 or trees[0] is None:
        raise Refused("several statements in one text are not answered; ask one SELECT at a time")
    tree = trees[0].unnest() if isinstance(trees[0], sqlglot.exp.Subquery) else trees[0]
    if isinstance(tree, sqlglot.exp.SetOperation):
        word = type(tree).__name__.upper()
        raise Refused(f"{word} of two questions is not answered; ask each SELECT by itself")
    if not isinstance(tree, sqlglot.exp.Select):
        raise Refused("only SELECT is answered")
    return tree


def _first(failure: Exception) -> str:
    """The first mistake that sqlglot names, with its place."""
    found = (getattr(failure, "errors", None) or [{}])[0]
    if found.get("highlight"):
        place = f"line {found['line']}, column {found['col']}"
        return f"{str(found['description']).rstrip('. ')}, near {shown(found['highlight'])} in {place}"
    line = re.sub("\x1b\\[[0-9;]*m", "", str(failure)).strip().splitlines()[0]
    return line.rstrip(". ")
