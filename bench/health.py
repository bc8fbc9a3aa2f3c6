"""The German health survey of 1984 to 1988 (rwm5yr) as whole numbers from 0: 12 attributes of 19,609 answers."""

from __future__ import annotations

import csv
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

#: The column of the file, what is subtracted, the width of a bin, and the number of values.
_COLUMNS = {
    "docvis": (0, 1, 25),
    "hospvis": (0, 1, 5),
    "year": (1984, 1, 5),
    "edlevel": (1, 1, 4),
    "age": (25, 1, 40),
    "outwork": (0, 1, 2),
    "female": (0, 1, 2),
    "married": (0, 1, 2),
    "kids": (0, 1, 2),
    "hhninc": (0, 0.5, 24),
    "educ": (7, 1, 12),
    "self": (0, 1, 2),
}
DOMAIN = {name: size for name, (_, _, size) in _COLUMNS.items()}


def records() -> NDArray[np.int64]:
    """The answers, one row each. The file is in the folder that HUSH_DATA names."""
    with (Path(os.environ["HUSH_DATA"]) / "rwm5yr.csv").open() as text:
        lines = list(csv.DictReader(text))
    columns = []
    for name, (low, width, size) in _COLUMNS.items():
        values = np.array([float(line[name]) for line in lines])
        columns.append(np.clip(np.floor((values - low) / width), 0, size - 1))
    return np.stack(columns, axis=1).astype(np.int64)
