"""A lower and an upper bound with the true value between them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.errors import NotCertified, reject, shown
from hush.numerics.rounding import next_down, next_up

__all__ = ["Bracket", "unwrap"]


def unwrap(value: Any) -> Any:
    """Return a Python float for a single number, and the array otherwise."""
    array = np.asarray(value, dtype=np.float64)
    return float(array) if array.ndim == 0 else array


@dataclass(frozen=True)
class Bracket:
    """A certified enclosure: lower <= truth <= upper, for one number or elementwise for an array.

    Guarantees: construction raises `NotCertified` if an end is NaN or if lower > upper. Values are never clipped to
    make a bracket valid.

    >>> b = Bracket(0.9, 1.1)
    >>> b.contains(1.0), b.contains(2.0)
    (True, False)
    """

    lower: Any
    upper: Any

    def __post_init__(self) -> None:
        try:
            lower, upper = unwrap(self.lower), unwrap(self.upper)
        except (TypeError, ValueError):
            raise reject("lower and upper", (self.lower, self.upper), "numbers or arrays of numbers") from None
        if not np.all(np.less_equal(lower, upper)):
            raise NotCertified(
                f"the bracket ({shown(lower)}, {shown(upper)}) is not valid: lower must be at most upper, without NaN."
            )
        object.__setattr__(self, "lower", lower)
        object.__setattr__(self, "upper", upper)

    @property
    def width(self) -> Any:
        """upper - lower; 0 where both ends are the same infinity."""
        lower, upper = np.asarray(self.lower), np.asarray(self.upper)
        with np.errstate(invalid="ignore"):
            return unwrap(np.where(lower == upper, 0.0, upper - lower))

    @property
    def middle(self) -> Any:
        """A point inside the bracket: an estimate, not a bound."""
        with np.errstate(over="ignore"):
            return unwrap(np.clip(0.5 * (np.asarray(self.lower) + self.upper), self.lower, self.upper))

    def contains(self, value: Any) -> Any:
        """Return True where lower <= value <= upper."""
        inside = np.logical_and(np.less_equal(self.lower, value), np.less_equal(value, self.upper))
        return bool(inside) if np.ndim(inside) == 0 else inside


def around(value: Any, relative: Any) -> Bracket:
    """Return the bracket of a non-negative value with a known relative error, rounded outward by one more float.

    A relative error of 1 means that the value is an upper bound only: the lower end is then 0. The upper end is above
    zero even where the value underflowed to 0, because the exact value is positive.
    """
    value = np.asarray(value, dtype=np.float64)
    relative = np.asarray(relative, dtype=np.float64)
    lower = next_down(value - value * relative)
    upper = next_up(value + value * np.minimum(relative, 1e-10))
    return Bracket(np.maximum(lower, 0.0), upper)
