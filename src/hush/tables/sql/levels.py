"""The levels of quantiles: MEDIAN, PERCENTILE_CONT, QUANTILE, APPROX_QUANTILES, MIN and MAX."""

from __future__ import annotations

from typing import Any

from hush.tables.sql.number import number_of
from hush.tables.sql.refusal import Refused, allow_only

__all__ = ["levels_of"]

_FIXED = {"Median": 0.5, "Min": 0.0, "Max": 1.0}
_MOST = 100


def levels_of(node: Any) -> tuple[Any, list[float], bool]:
    """The column of a quantile, its levels, and whether it is a single number."""
    kind = type(node).__name__
    if kind in _FIXED:
        allow_only(node, "this")
        return node.this, [_FIXED[kind]], True
    if kind in ("Quantile", "ApproxQuantile"):
        allow_only(node, "this", "quantile", "accuracy", "error_tolerance")
        return _several(node, node.this, node.args.get("quantile"))
    if kind in ("PercentileCont", "PercentileDisc"):
        allow_only(node, "this", "expression")
        return _several(node, node.this, node.expression)
    if kind == "WithinGroup":
        return _within_group(node)
    if kind == "ApproxQuantiles":
        parts = _whole(node.expression, node)
        return node.this, [i / parts for i in range(parts + 1)], False
    if kind == "Bracket" and type(node.this).__name__ == "ApproxQuantiles" and len(node.expressions) == 1:
        parts, place = _whole(node.this.expression, node), node.expressions[0]
        at = int(number_of(place.this if type(place).__name__ == "Offset" else place))
        if not 0 <= at <= parts:
            raise Refused(f"APPROX_QUANTILES(x, {parts}) has the places 0 to {parts}", node)
        return node.this.this, [at / parts], True
    if kind in ("Corr", "CovarPop", "CovarSamp"):
        raise Refused(
            f"{kind.upper().replace('COVAR', 'COVAR_')} is not an aggregate of hush; write it as a formula of means",
            node,
            _from_means(kind, node.this, node.expression),
        )
    word = {"groupconcat": "string_agg"}.get(node.key, node.key).upper()
    raise Refused(
        f"the aggregate {word} is not known; use COUNT, SUM, AVG, MIN, MAX, MEDIAN, quantiles, VARIANCE, STDDEV",
        node,
    )


def _several(node: Any, column: Any, given: Any) -> tuple[Any, list[float], bool]:
    """One level, or the levels of a list."""
    if given is None:
        raise Refused(f"{node.key.upper()} needs a level; write QUANTILE_CONT(x, 0.5)", node)
    listed = type(given).__name__ in ("Array", "Tuple")
    levels = [_level(part, node) for part in (given.expressions if listed else [given])]
    if len(set(levels)) < len(levels):
        raise Refused("a list of levels names one of them twice", node)
    return column, levels, not listed


def _within_group(node: Any) -> tuple[Any, list[float], bool]:
    """PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY x)."""
    ordered = node.expression.expressions
    if type(node.this).__name__ not in ("PercentileCont", "PercentileDisc") or len(ordered) != 1:
        raise Refused("WITHIN GROUP is answered for PERCENTILE_CONT and PERCENTILE_DISC with one column", node)
    column, levels, single = _several(node, ordered[0].this, node.this.this)
    return column, [1.0 - level for level in levels] if ordered[0].args.get("desc") else levels, single


def _level(part: Any, node: Any) -> float:
    level = number_of(part)
    if not 0.0 <= level <= 1.0:
        raise Refused(f"the level of a quantile is between 0 and 1, got {level:g}", node)
    return level


def _whole(part: Any, node: Any) -> int:
    number = number_of(part)
    if not (number == int(number) and 1 <= number < _MOST):
        raise Refused(f"APPROX_QUANTILES takes a whole number of parts from 1 to {_MOST - 1}", node)
    return int(number)


def _from_means(kind: str, x: Any, y: Any) -> Any:
    """A covariance or a correlation as a formula of means and standard deviations, as a node of a suggestion."""
    import sqlglot

    text = f"(AVG(({x.sql()}) * ({y.sql()})) - AVG({x.sql()}) * AVG({y.sql()}))"
    if kind == "Corr":
        text += f" / (STDDEV_POP({x.sql()}) * STDDEV_POP({y.sql()}))"
    return sqlglot.parse_one(text)
