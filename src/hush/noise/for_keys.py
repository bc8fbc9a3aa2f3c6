"""`ForKeys`: noise that is made for one threshold, above which a group is shown."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.contract import Noise

__all__ = ["ForKeys"]


class ForKeys(Noise):
    """The noise of a number of people whose group is shown if the noisy number is at least `threshold`.

    It need not be symmetric, so the law of a sum of such noises does not follow from their magnitudes.
    """

    #: A group that holds one person alone reaches it with a probability of at most `chance`.
    threshold: float

    @property
    def values(self) -> NDArray[np.int64]:
        """The values of the noise in steps: they fall by one distance each."""
        raise Unsupported(f"{type(self).__name__} must define `values`.")

    @property
    def masses(self) -> NDArray[np.float64]:
        """The probabilities of the values."""
        raise Unsupported(f"{type(self).__name__} must define `masses`.")

    @property
    def chance(self) -> float:
        raise Unsupported(f"{type(self).__name__} must define `chance`.")

    def shown(self, people: Any) -> NDArray[np.float64]:
        """The probability with which a group of so many people reaches the threshold."""
        raise Unsupported(f"{type(self).__name__} must define `shown`.")
