"""Warnings about uses of a model that its guarantee does not cover; no `random_state`.

Nothing here reads the data. The warnings look at who called `fit` (the classes and functions of scikit-learn on the
stack, and the settings of a pipeline) and at public numbers.
"""

from __future__ import annotations

import math
from typing import Any, Self

from hush.errors import Unsupported, callers, say, shown, top_of
from hush.learn.scikit_learn import get_tags

__all__ = ["NoRandomState", "about_callers", "about_delta", "about_labels", "about_used_rows", "about_weights"]

_LEDGER = "give the model a ledger="
#: Modules of scikit-learn that fit a model several times on the same rows, and what to do.
_REPEATING = {
    "sklearn.model_selection._search": ("a search over parameters", f"{_LEDGER}, or use PrivateSearchCV"),
    "sklearn.model_selection._search_successive_halving": (
        "a search over parameters",
        f"{_LEDGER}, or use PrivateSearchCV",
    ),
    "sklearn.model_selection._validation": ("a cross-validation", _LEDGER),
    "sklearn.multiclass": (
        "a model for several classes",
        "write classes=('a', 'b', 'c') of LogisticRegression, which is one fit, or " + _LEDGER,
    ),
    "sklearn.multioutput": ("a model for several targets", _LEDGER),
    "sklearn.ensemble._bagging": ("an ensemble", _LEDGER),
    "sklearn.ensemble._voting": ("an ensemble", "give its models one ledger="),
    "sklearn.ensemble._stacking": ("an ensemble", "give its models one ledger="),
    "sklearn.calibration": ("a calibration", _LEDGER),
    "sklearn.feature_selection._rfe": ("a selection of features", _LEDGER),
    "sklearn.feature_selection._sequential": ("a selection of features", _LEDGER),
}
#: The only fitted number of these steps is the number of columns.
_FREE = ("PolynomialFeatures", "FunctionTransformer", "Normalizer", "Binarizer")
_FEW = 2.0  # standard deviations of the noise of a number of rows


class NoRandomState:
    """A model whose noise cannot be repeated."""

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Refuse `random_state` with the reason, where Python would say that the name is unknown."""
        if "random_state" in named:
            raise Unsupported(
                "random_state would make the noise repeatable, and noise that can be repeated gives no privacy; "
                "leave it out. (A seed for random test data belongs to numpy.random.default_rng.)"
            )
        return super().__new__(cls)


def about_callers(*, ledger: Any, private: bool) -> None:
    """Warn if a step of a pipeline before the model learned from the rows, or if fits repeat without a ledger."""
    if not private:
        return
    pipelines, repeated = set(), None
    for frame in callers():
        module, model = frame.f_globals.get("__name__", ""), frame.f_locals.get("self")
        steps = getattr(model, "steps", None)
        if module == "sklearn.pipeline" and steps is not None and id(model) not in pipelines:
            pipelines.add(id(model))
            before = frame.f_locals.get("step_idx", -1) if frame.f_code.co_name == "_fit" else -1
            _about_steps(steps[:before], ledger)
        repeated = _REPEATING.get(module, repeated)  # the outermost one counts
    if ledger is None and repeated is not None:
        say(
            f"this fit is part of {repeated[0]}, which fits several times on the same rows, so the costs of all fits "
            f"add up: {repeated[1]}.",
            "repeated fits",
        )


def _about_steps(steps: list[tuple[str, Any]], ledger: Any) -> None:
    for name, step in steps:
        parts = list(_parts(step))
        if any(isinstance(part, NoRandomState) and not _paid_from(part, ledger) for part in parts):
            say(
                f"the step {shown(name)} of the pipeline is a private model of the same rows, so its cost and "
                "that of this fit add up: give both the same ledger=.",
                f"cost of {name}",
            )
        learning = [part for part in parts if not isinstance(part, NoRandomState) and _learns(part)]
        learning += [part for part in parts if isinstance(part, NoRandomState) and part.epsilon == math.inf]  # type: ignore[attr-defined]
        if learning:
            say(
                f"the step {shown(name)} of the pipeline learns from the rows without noise, so the guarantee "
                f"of the model does not cover the pipeline: {_remedy(learning[0])}.",
                f"step {name}",
            )


def _paid_from(model: Any, ledger: Any) -> bool:
    """Is its cost in the same ledger? A model without noise has no cost."""
    return model.epsilon == math.inf or (ledger is not None and getattr(model, "ledger", None) is ledger)


def _remedy(step: Any) -> str:
    kind = type(step).__name__
    if hasattr(step, "categories"):
        return f"declare public categories, such as {kind}(categories=[['no', 'yes']])"
    if kind in ("StandardScaler", "MinMaxScaler", "MaxAbsScaler", "RobustScaler"):
        return "leave the step out, because hush.learn scales columns itself"
    if kind == "SimpleImputer" or "Imputer" in kind:
        return "replace missing values by a public value instead, such as X.fillna(0)"
    return "leave the step out, or give it public numbers"


def _parts(step: Any) -> Any:
    """The models inside of a step: those of a pipeline, of a column transformer, of a union, or the step itself."""
    if step is None or isinstance(step, str):
        return
    for inside in ("steps", "transformers", "transformer_list"):
        if hasattr(step, inside):
            for part in getattr(step, inside):
                yield from _parts(part[1])
            return
    yield step


def _learns(step: Any) -> bool:
    """Does fitting this step read the values of the rows?"""
    if type(step).__name__ in _FREE:
        return False
    if not isinstance(getattr(step, "categories", "auto"), str):  # an encoder with declared categories
        return False
    return bool(get_tags(step).requires_fit)


def about_delta(delta: float, rows: int) -> None:
    """Warn if delta is larger than one over the public or released number of rows."""
    if float(delta) * rows > 1.0:
        less = 10.0 ** math.floor(math.log10(0.1 / rows))
        say(
            f"delta={delta:g} is larger than 1/N for N = {rows:,} rows, and such a guarantee allows that a whole row "
            f"is published: write delta={less:g}.",
            "delta",
        )


def about_weights(sample_weight: Any, max_weight: Any) -> None:
    """Warn if rows have weights whose public limit is not declared. No weight is read."""
    if sample_weight is not None and max_weight is None:
        say(
            "sample_weight is given without max_weight, so weights above 1 count as 1; write max_weight=<the largest "
            "possible weight>, a public number.",
            "max_weight",
        )


def about_used_rows(rows: int, deviation: float, *, classes: bool) -> None:
    """Warn if the released number of the rows of a table that a fit uses is as small as its noise."""
    if rows <= _FEW * deviation:
        spelt = "no row may have one of the classes: check their spelling; or " if classes else ""
        say(
            f"the released number of rows that this fit uses is {rows}, and its noise has a standard deviation of "
            f"{deviation:.0f}: {spelt}the table may be nearly empty, or one of the columns may have no values.",
            "used rows",
        )


def about_labels(kind: str, method: str) -> None:
    """Warn if a method returns a number for each of the rows that a model learns from."""
    if not any(top_of(frame) == "sklearn" and "pipeline" in frame.f_globals["__name__"] for frame in callers()):
        say(
            f"{method} of {kind} returns a value for each row that it learns from: these values are about single rows "
            "and not private, so do not publish them; write fit(X), and predict(new_rows).",
            "labels",
        )
