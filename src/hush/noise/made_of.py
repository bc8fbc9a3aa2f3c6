"""Joint noises that are made from independent laws: drawn part by part, with sums of numbers of known law."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported
from hush.noise.contract import Law, Noise

__all__ = ["MadeOf"]


class MadeOf(Noise):
    """A joint noise whose numbers are sums of independent noises of one number each."""

    @property
    def sources(self) -> tuple[tuple[Law, float], ...]:
        """The laws, with the steps of their draws."""
        raise Unsupported(f"{type(self).__name__} must define `sources`.")

    def joined(self, parts: Any) -> NDArray[np.int64]:
        """Return draws of this noise, in whole steps, from a list of draws of each of its `sources`."""
        raise Unsupported(f"{type(self).__name__} must define `joined`.")

    def terms_of(self, weights: Any) -> list[tuple[Law, float, float]]:
        """Return independent noises that add up to weights . X: (law, step of its draws, factor >= 0) each."""
        raise Unsupported(f"{type(self).__name__} must define `terms_of`.")
