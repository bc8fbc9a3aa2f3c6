"""Values that are released: their type, their number, and how they are returned."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, shown
from hush.noise.catalogue import from_plain_values
from hush.numerics.rounding import rounded_up
from hush.privacy.sensitivity import Sensitivity

__all__ = ["are_integers", "array_of", "as_given", "in_digits", "lattice_words", "must_cover", "plain_numbers"]


def as_given(value: Any) -> Any:
    """A Python number for a scalar, otherwise the array."""
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else array


def plain_numbers(numbers: Any) -> Any:
    """One number, or a list of them, for JSON."""
    return numbers.tolist() if isinstance(numbers, np.ndarray) else numbers


def in_digits(numbers: Any) -> str:
    """A number to six digits, rounded up; the least and the largest, where the numbers differ.

    >>> in_digits(2.5), in_digits([1.5, 30.0])
    ('2.5', '1.5 to 30')
    """
    each = np.atleast_1d(numbers)
    low, high = rounded_up(float(each.min())), rounded_up(float(each.max()))
    return low if low == high else f"{low} to {high}"


def lattice_words(made: Mapping[str, Any]) -> str:
    """The multiples that a mechanism, as a receipt states it, rounds to."""
    factors = " times the factor of each number" if from_plain_values(made["noise"]).factors is not None else ""
    return f"{made['step']:.6g}{factors}"


def are_integers(values: Any, array: NDArray[Any], stated: bool | None) -> bool:
    """Whether values are whole numbers: as stated, or by the type of a numpy array."""
    if stated is None:
        return getattr(getattr(values, "dtype", None), "kind", "") in ("i", "u", "b")
    if stated and array.dtype.kind not in "iub":
        raise InvalidParameter(
            f"integers=True needs values of an integer type, got an array of {array.dtype}; "
            "write numpy.asarray(values, int)."
        )
    return stated


def array_of(values: Any) -> NDArray[Any]:
    """The values as an array of numbers. Messages name the type of the values, never a value."""
    try:
        array = np.asarray(values)
    except ValueError:
        raise InvalidParameter(
            "values must be a number or an array of numbers, got lists of different lengths; "
            "write for example release([412, 87], plan, ledger=ledger)."
        ) from None
    if array.dtype.kind not in "iubf":
        what = {"U": "text", "S": "text", "c": "complex numbers", "M": "dates"}.get(
            array.dtype.kind, type(values).__name__
        )
        raise InvalidParameter(
            f"values must be numbers, got {what}; write for example release([412, 87], plan, ledger=ledger)."
        )
    if array.size == 0:
        raise InvalidParameter("values must contain at least one number.")
    return array


def must_cover(sensitivity: Sensitivity, size: int) -> None:
    """Reject a sensitivity for another number of values; a single number is the sensitivity of one value."""
    if size > 1 and sensitivity.dimension == 1:
        call = f"hush.calibrate(..., hush.Sensitivity(linf={shown(sensitivity.linf)}, l0=1))"
        raise InvalidParameter(
            f"the plan's sensitivity is a single number, which is for one value, but {size} values are released; write "
            f"for example {call} if one person changes at most one of them, or dimension={size} if one person may "
            "change all."
        )
    if sensitivity.dimension not in (None, size):
        raise InvalidParameter(
            f"the sensitivity is for {sensitivity.dimension} numbers, but {size} are released; "
            f"write hush.Sensitivity(..., dimension={size})."
        )
