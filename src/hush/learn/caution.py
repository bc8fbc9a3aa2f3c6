"""Warnings about uses of a model that its guarantee does not cover, or that waste its budget; no `random_state`.

Nothing here reads the data. The first two warnings look at who called `fit`: the classes and functions of scikit-learn
on the stack, and the settings of a pipeline. The third one compares declared bounds with spreads that were released.
Python shows each text once.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Iterator
from types import FrameType
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.learn.scikit_learn import get_tags

__all__ = ["NoRandomState", "about_bounds", "about_callers"]

_FRAMES = 100  # callers that are looked at
#: Modules of scikit-learn that fit a model several times on the same rows.
_REPEATING = {
    "sklearn.model_selection._validation": "cross-validation or a search over parameters",
    "sklearn.multiclass": "a model for several classes",
    "sklearn.multioutput": "a model for several targets",
    "sklearn.ensemble._bagging": "an ensemble",
    "sklearn.ensemble._voting": "an ensemble",
    "sklearn.ensemble._stacking": "an ensemble",
    "sklearn.calibration": "a calibration",
    "sklearn.feature_selection._rfe": "a selection of features",
    "sklearn.feature_selection._sequential": "a selection of features",
}
#: The only fitted number of these steps is the number of columns.
_FREE = ("PolynomialFeatures", "FunctionTransformer", "Normalizer", "Binarizer")
_FAR = 0.07  # a spread, as a part of half the declared range


class NoRandomState:
    """A model whose noise cannot be repeated."""

    def __new__(cls, *given: Any, **named: Any) -> Self:
        """Refuse `random_state` with the reason, where Python would say that the name is unknown."""
        if "random_state" in named:
            raise Unsupported(
                "random_state would make the noise repeatable, and noise that can be repeated gives no privacy; "
                "leave it out, and use numpy's generator for random test data."
            )
        return super().__new__(cls)


def about_callers(*, charged: bool, private: bool) -> None:
    """Warn if a step of a pipeline before the model learned from the rows, or if fits repeat without a ledger."""
    if not private:
        return
    for frame in _callers():
        module = frame.f_globals.get("__name__", "")
        if module == "sklearn.pipeline" and hasattr(frame.f_locals.get("self"), "steps"):
            _about_steps(frame.f_locals["self"].steps[:-1])
        elif not charged and module in _REPEATING:
            warnings.warn(
                f"this fit is part of {_REPEATING[module]}, which fits several times on the same rows, so the costs of "
                "all fits add up: give the model a ledger=, or use PrivateSearchCV.",
                UserWarning,
                stacklevel=2,
            )
            charged = True  # one warning for a fit is enough


def _callers() -> Iterator[FrameType]:
    frame = inspect.currentframe()
    for _ in range(_FRAMES):
        if frame is None:
            return
        yield frame
        frame = frame.f_back


def _about_steps(steps: list[tuple[str, Any]]) -> None:
    for name, step in steps:
        if _learns(step):
            warnings.warn(
                f"the step {name!r} of the pipeline learns from the rows without noise, so the guarantee of the model "
                "does not cover the pipeline: leave the step out (hush.learn scales columns itself), or give it public "
                "numbers.",
                UserWarning,
                stacklevel=3,
            )


def _learns(step: Any) -> bool:
    """Does fitting this step read the values of the rows?"""
    if step is None or isinstance(step, str) or type(step).__name__ in _FREE:
        return False
    for inside in ("steps", "transformers", "transformer_list"):  # pipelines, column transformers, unions
        if hasattr(step, inside):
            return any(_learns(part[1]) for part in getattr(step, inside))
    if not isinstance(getattr(step, "categories", "auto"), str):  # an encoder with declared categories
        return False
    return bool(get_tags(step).requires_fit)


def about_bounds(spread: NDArray[np.float64], half: NDArray[np.float64]) -> None:
    """Warn if declared bounds are far wider than the released spreads of their columns."""
    many = int(np.count_nonzero(spread < _FAR * half))
    if many:
        warnings.warn(
            f"the declared bounds of {many} column{'s' * (many > 1)} are more than 28 spreads wide, which costs "
            "accuracy: declare narrower bounds, or write refine_bounds=True.",
            UserWarning,
            stacklevel=2,
        )
