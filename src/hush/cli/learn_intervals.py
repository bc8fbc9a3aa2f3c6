"""The intervals of coefficients in `hush learn`: options, the fit, and what is shown."""

from __future__ import annotations

import argparse
import math
import warnings
from collections.abc import Callable
from typing import Any

from hush.cli.text import finite, number, table

__all__ = ["coefficient_table", "fitted", "interval_options", "intervals_of", "sentences"]


def interval_options(learn: argparse.ArgumentParser) -> None:
    """Add the options of intervals."""
    learn.add_argument(
        "--interval-share",
        type=number,
        default=0.0,
        metavar="SHARE",
        help="the share of the budget for intervals of the coefficients, such as 0.3 (default 0: no intervals)",
    )
    learn.add_argument("--level", type=number, metavar="L", help="of the intervals (default 0.95)")


def fitted(model: Any, options: argparse.Namespace, fit: Callable[[Any], Any]) -> Any:
    """The fitted model, with intervals if they have a share of the budget."""
    from hush.errors import InvalidParameter, must_be_level

    if options.level is not None and options.interval_share == 0.0:
        raise InvalidParameter(
            "--level is for intervals, and this fit has none; write --interval-share 0.3, or leave --level out."
        )
    options.level = 0.95 if options.level is None else options.level
    must_be_level(options.level)
    return fit(model.set_params(interval_share=options.interval_share))


def intervals_of(model: Any, names: list[str], level: float) -> dict[str, dict[str, Any]]:
    """For each feature, and for the intercept if there is one: the estimate, its standard error, and the interval."""
    if model.receipt_["intervals"] is None:
        return {}
    import numpy as np

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # `sentences` says that intervals are infinite
        ends = np.vstack([model.coef_interval(level=level), model.intercept_interval(level=level)]).tolist()
    middles = [*model.unbiased_coef_.tolist(), model.unbiased_intercept_]
    errors = [*model.standard_errors_.tolist(), model.intercept_standard_error_]
    return {
        name: {"estimate": middle, "standard_error": finite(error), "low": finite(low), "high": finite(high)}
        for name, middle, error, (low, high) in zip([*names, "(intercept)"], middles, errors, ends, strict=True)
    }


def coefficient_table(found: dict[str, dict[str, float]], known: dict[str, dict[str, Any]], level: float) -> str:
    """One line for each feature and for the intercept: the coefficients of each model in `found`, and the interval."""
    names = next(iter(found.values()))
    rows: list[dict[str, Any]] = [{"name": name} | {one: found[one][name] for one in found} for name in names]
    titles = {"name": "feature"} | {one: one for one in found}
    if known:
        rows = [row | {"interval": _text(**known[row["name"]])} for row in rows]
        titles["interval"] = f"estimate and {100.0 * level:.10g} % interval"
    return table(rows, titles, left=1)


def _text(*, estimate: float, standard_error: float | None, low: float | None, high: float | None) -> str:
    if low is None or high is None:
        return "unknown"
    half = 0.5 * (high - low)
    if half == 0.0:
        return f"{estimate:.6g} ± 0"
    places = max(0, 1 - math.floor(math.log10(half)))  # two digits of the half width, and as many of the estimate
    return f"{estimate:.{min(places, 12)}f} ± {half:.{min(places, 12)}f}"


def sentences(model: Any) -> list[str]:
    """What the intervals of a table cover, in a few sentences."""
    known = model.receipt_["intervals"]
    if known is None:
        return []
    if not known["finite"]:
        return [
            "The noise hides the data, so the intervals are infinite: use more rows, fewer features, a larger epsilon "
            "or a larger --interval-share; or leave one feature out if some add up to a constant, as a 0/1 column for "
            "each of all categories does."
        ]
    return [
        "The coefficients are for predictions: penalty, shrinkage and clipping bias them. The estimates do not have "
        f"this bias. Their intervals cover the errors of noise and of sampling, and use "
        f"{100.0 * known['share']:g} % of the budget.",
        f"They do not cover {known['does_not_cover']}.",
    ]
