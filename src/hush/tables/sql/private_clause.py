"""The private clauses of other systems, taken out of a statement before it is parsed.

- BigQuery: `SELECT WITH DIFFERENTIAL_PRIVACY OPTIONS(epsilon=1, delta=1e-6, max_groups_contributed=2,
  privacy_unit_column=id)`, and `contribution_bounds_per_group => (0, 100)` or `contribution_bounds_per_row` in an
  aggregate;
- ZetaSQL: `SELECT WITH ANONYMIZATION OPTIONS(...)`, `ANON_SUM(x CLAMPED BETWEEN 0 AND 100)`.

The bounds of an aggregate become a call, `hush_bounds_per_group(SUM(x), 0, 100)`, which sqlglot can parse.
"""

from __future__ import annotations

from typing import Any

from hush.errors import InvalidParameter, shown
from hush.tables.sql.refusal import Refused

__all__ = ["BOUNDED", "without_private_clauses"]

_CLAUSES = ("DIFFERENTIAL_PRIVACY", "ANONYMIZATION")
_OPTIONS = ("epsilon", "delta", "max_groups_contributed", "max_rows_contributed", "privacy_unit_column")
#: Options that hush decides by itself: it always finds private groups by a threshold, or answers for a public list.
_DECIDED = ("group_selection_strategy", "k_threshold", "kappa")
#: The call that holds the bounds of an aggregate, and whether they are of a row or of a person's total.
BOUNDED = {"hush_bounds_per_row": "row", "hush_bounds_per_group": "group"}

Edit = tuple[int, int, str]


def without_private_clauses(text: str, tokens: list[Any]) -> tuple[str, dict[str, Any]]:
    """The text without private clauses, and their options."""
    words = [token.text.upper() for token in tokens]
    options: dict[str, Any] = {}
    edits: list[Edit] = []
    for i, word in enumerate(words):
        if word == "SELECT" and words[i + 1 : i + 2] == ["WITH"] and (words[i + 2 : i + 3] or [""])[0] in _CLAUSES:
            last, found = _clause(tokens, words, i + 3)
            if options and found != options:
                raise Refused("the statement has two different private clauses; write one")
            options = found
            edits.append((tokens[i + 1].start, tokens[last].end + 1, ""))
        elif word in ("CONTRIBUTION_BOUNDS_PER_ROW", "CONTRIBUTION_BOUNDS_PER_GROUP"):
            edits += _bounds_argument(text, tokens, words, i, word.lower().removeprefix("contribution_"))
        elif word == "CLAMPED":
            edits += _clamped(text, tokens, words, i)
        if word.startswith("ANON_") and words[i + 1 : i + 2] == ["("]:
            edits.append((tokens[i].start, tokens[i].start + 5, ""))
    for start, end, put in sorted(edits, key=lambda edit: edit[0], reverse=True):
        text = text[:start] + put + text[end:]
    return text, options


def _clause(tokens: list[Any], words: list[str], at: int) -> tuple[int, dict[str, Any]]:
    """The last token of `OPTIONS(name = value, ...)`, and its values. OPTIONS may be missing."""
    if words[at : at + 1] != ["OPTIONS"]:
        return at - 1, {}
    options: dict[str, Any] = {}
    i = at + 2
    while i < len(words) and words[i] != ")":
        if words[i] == ",":
            i += 1
            continue
        name, value = tokens[i].text.lower(), i + 2
        if words[i + 1 : i + 2] not in (["="], ["=>"]) or value >= len(words):
            raise InvalidParameter(f"OPTIONS needs name = value, got {shown(tokens[i].text)}.")
        if name not in _OPTIONS + _DECIDED:
            raise Refused(f"the option {name} is not known; hush reads {', '.join(_OPTIONS)}")
        end = value
        while end < len(words) and words[end] not in (",", ")"):  # a column may be written dataset.table.column
            end += 1
        if name not in _DECIDED and end > value:
            options[name] = _option(name, "".join(token.text for token in tokens[value:end]).replace(" ", ""))
        i = end
    if i >= len(words):
        raise InvalidParameter("OPTIONS( is not closed; write OPTIONS(epsilon = 1, delta = 1e-6).")
    return i, options


def _option(name: str, text: str) -> Any:
    if name == "privacy_unit_column":
        return text
    try:
        return int(text) if name.startswith("max_") else float(text)
    except ValueError as failure:
        raise InvalidParameter(f"the option {name} needs a number, got {shown(text)}.") from failure


def _opening(words: list[str], at: int) -> int:
    """The bracket that is open at this token."""
    depth = 0
    for i in range(at, -1, -1):
        depth += (words[i] == ")") - (words[i] == "(")
        if depth < 0:
            return i
    raise InvalidParameter("bounds of a contribution stand inside an aggregate, such as SUM(x, ...).")


def _around(tokens: list[Any], words: list[str], at: int, kind: str) -> Edit:
    """The edit that opens the call `hush_bounds_per_...(` before the aggregate that encloses this token."""
    opening = _opening(words, at)
    if opening == 0:
        raise InvalidParameter("bounds of a contribution stand inside an aggregate, such as SUM(x, ...).")
    start = tokens[opening - 1].start
    return (start, start, f"hush_{kind}(")


def _bounds_argument(text: str, tokens: list[Any], words: list[str], at: int, kind: str) -> list[Edit]:
    """`, contribution_bounds_per_group => (low, high)` becomes `), low, high` after the aggregate."""
    if words[at - 1] != "," or words[at + 1 : at + 3] != ["=>", "("] or ")" not in words[at + 3 :]:
        raise InvalidParameter("write contribution_bounds_per_group => (low, high) as the last argument.")
    closing = words.index(")", at + 3)
    inside = text[tokens[at + 3].start : tokens[closing].start]
    return [_around(tokens, words, at - 1, kind), (tokens[at - 1].start, tokens[closing].end + 1, f"), {inside}")]


def _clamped(text: str, tokens: list[Any], words: list[str], at: int) -> list[Edit]:
    """`x CLAMPED BETWEEN low AND high)` becomes `x), low, high)`."""
    if words[at + 1 : at + 2] != ["BETWEEN"] or "AND" not in words[at:] or ")" not in words[at:]:
        raise InvalidParameter("write CLAMPED BETWEEN low AND high as the end of an aggregate.")
    middle, closing = words.index("AND", at), words.index(")", at)
    low = text[tokens[at + 2].start : tokens[middle - 1].end + 1]
    high = text[tokens[middle + 1].start : tokens[closing - 1].end + 1]
    here = _around(tokens, words, at - 1, "bounds_per_group")
    return [here, (tokens[at].start, tokens[closing - 1].end + 1, f"), {low}, {high}")]
