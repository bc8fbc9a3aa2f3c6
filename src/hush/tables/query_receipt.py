"""The receipt of an answer: the guarantee, the bounds, the noise, and the ledger entry of its charge."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from hush.noise.catalogue import plain_values
from hush.privacy.charge import Guarantee
from hush.releasing.receipt import Receipt
from hush.tables.column_noise import Shares, Spending
from hush.tables.description import QueryDescription, TableDescription
from hush.tables.left_out import limits_in_words
from hush.tables.selection.spending import ChoiceSpending
from hush.tables.sharing import shared_in_words

__all__ = ["bounds_in", "plain_bounds", "receipt_of", "why_of"]


def receipt_of(
    query: QueryDescription, spent: Spending, shares: Shares, level: float, charged: Mapping[str, Any] | None
) -> Receipt:
    """The receipt of a query. It depends on public facts and released numbers only."""
    named = (("answers", spent), ("bounds", shares.bounds), ("limits", shares.limits), ("other", shares.other))
    parts = [(what, part) for what, part in named if part]
    promised = {"unit": query.table.whose.words, "groups_per_unit": spent.reach.groups, **_moves(spent)}
    about = {
        "source": query.table.fingerprint,
        **_rows(query.table),
        "engine": query.table.engine,
        "filters": list(query.table.filters),
        "belongs": query.table.belongs,
        "aggregates": {measure.name: measure.kind for measure in query.shown},
        "bounds": [measure.bounds_text for measure in query.shown] or ["which groups exist, without numbers"],
        "shared": shared_in_words(query.measures, spent.shared),
        **({} if not any(m.note for m in query.shown) else {"measured": [m.note for m in query.shown if m.note]}),
        "noise": plain_values(spent.noise),
        "shares_draw": _shares_draw(spent),
        "parts": [_part(what, part) for what, part in parts],
        "rows_per_unit": {measure.name: measure.rows for measure in query.shown if measure.counts_rows},
        "limits": limits_in_words(query),
        "why": _used(why_of(query, spent)),
        "columns": {
            name: {"moves_by": spent.reach.linf[name], "step": made.step} for name, made in spent.mechanisms.items()
        },
        "threshold": spent.threshold,
        "key_delta": spent.key_delta,
        **({} if spent.rule is None else {"keys_for": spent.keys_for, "keys": spent.rule.keys.to_plain()}),
        **({} if not spent.ladder else {"weights": [list(rung) for rung in spent.ladder]}),
        "level": level,
        **_parts_of_some(query, shares),
    }
    return Receipt.of(
        "answer",
        Guarantee(shares.epsilon, shares.delta, times=spent.times),
        [part.charge for part in (*(part for _, part in parts), shares.choices) if part],
        ledger=charged,
        promised=promised,
        about=about,
    )


def why_of(query: QueryDescription, spent: Spending) -> str:
    """What decides the numbers of the answer, and why."""
    if query.only_chosen:
        return "values are chosen exactly from a public grid; no noise is added to them"
    return spent.plan.why


def _parts_of_some(query: QueryDescription, shares: Shares) -> dict[str, Any]:
    """The choices of quantiles, and limits that were found privately, if there are any."""
    found = {} if shares.found is None else {"limits_found": dict(shares.found)}
    return found if shares.choices is None else found | {"choices": _choices(query, shares.choices)}


def _choices(query: QueryDescription, spent: ChoiceSpending) -> dict[str, Any]:
    """The part of the budget that chooses quantiles, and their public grids."""
    asked = [measure for measure in query.shown if measure.chosen is not None]
    return {
        "epsilon": spent.epsilon,
        "delta": spent.delta,
        "noise": plain_values(spent.noise),
        "times": spent.choices,
        "levels": {m.name: [str(q) for q in m.chosen.fractions] for m in asked if m.chosen},
        "steps": {m.name: m.chosen.grid.step for m in asked if m.chosen},
    }


def _rows(table: TableDescription) -> dict[str, Any]:
    """The file of the rows; columns of a unit of several, and what the guarantee does not cover because of it."""
    file, unit = {"file": table.file} if table.file else {}, table.whose
    if not unit.not_protected:
        return file
    return file | {"unit_columns": list(unit.columns), "not_protected": unit.not_protected}


def _shares_draw(spent: Spending) -> str | None:
    """Which numbers share one draw, as text; None if every number has its independent noise."""
    if spent.joint is None or spent.joint.dimension == 1:
        return None
    return "all numbers of the table" if spent.whole_table else "the columns of a group"


def plain_bounds(found: Mapping[str, tuple[Any, Any] | None]) -> dict[str, list[Any] | None]:
    """The bounds that were found, as JSON values."""
    return {name: None if ends is None else [_plain_end(end) for end in ends] for name, ends in found.items()}


def bounds_in(receipt: Mapping[str, Any]) -> dict[str, tuple[Any, Any] | None] | None:
    """The bounds that a receipt states as found privately; None if it states none."""
    found = receipt.get("bounds_found")
    if found is None:
        return None
    return {name: None if ends is None else (_end(ends[0]), _end(ends[1])) for name, ends in found.items()}


def _end(plain: Any) -> Any:
    """A bound from its JSON value: dates are texts."""
    return date.fromisoformat(plain) if isinstance(plain, str) else plain


def _plain_end(end: Any) -> Any:
    return end.isoformat() if isinstance(end, date) else end


def _part(what: str, spent: Spending) -> dict[str, Any]:
    """One part of the budget: what it pays for, and its noise."""
    return {
        "what": what,
        "epsilon": spent.epsilon,
        "delta": spent.delta,
        "noise": plain_values(spent.noise),
        **_moves(spent),
    }


def _moves(spent: Spending) -> dict[str, Any]:
    """How many cells of the table one person moves, and how far, in bounds of the columns."""
    bound = spent.plan.sensitivity
    if bound.columns is not None:
        return {"linf": max(bound.columns), "l0": bound.moving}
    return {"linf": bound.linf, "l0": bound.l0}


def _used(why: str) -> str:
    """The plan's sentence "Use ...: ..." as "... was used: ..."."""
    noise, colon, rest = why.removeprefix("Use ").partition(": ")
    return f"{noise} was used{colon}{rest}" if why.startswith("Use ") and colon else why
