"""What contribution limits left out of an answer, as lines of text made from its receipt."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

__all__ = ["left_out_lines"]


def left_out_lines(receipt: Mapping[str, Any]) -> list[str]:
    """What the limits left out, one sentence each."""
    found = receipt.get("left_out")
    if found is None:
        return []
    return [
        f"{_tenth(share['share'], round)} % [{_tenth(share['low'], math.floor)}, {_tenth(share['high'], math.ceil)}] {share['what']}"
        for share in found["shares"]
    ]


def _tenth(share: float, way: Callable[[float], int]) -> str:
    """A share in per cent, to a tenth; ends of intervals are rounded outwards."""
    return f"{way(1000.0 * share) / 10.0:g}"
