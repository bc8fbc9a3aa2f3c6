"""The Adult data in the domain of the benchmark of ResidualPlanner: 14 attributes, whole numbers from 0."""

from __future__ import annotations

import csv
import gzip
import os
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

NAMES = ("age", "workclass", "fnlwgt", "education", "marital", "occupation", "relationship", "race", "sex")
NAMES += ("gain", "loss", "hours", "country", "income")
SIZES = (85, 9, 100, 16, 7, 15, 6, 5, 2, 100, 100, 99, 42, 2)
DOMAIN = dict(zip(NAMES, SIZES, strict=True))
#: The column of the file, and for numbers: what is subtracted, and the width of a bin.
_COLUMNS = ((0, 17, 1), (1,), (2, 0, 15_000), (4, 1, 1), (5,), (6,), (7,), (8,), (9,))
_COLUMNS += ((10, 0, 1_000), (11, 0, 50), (12, 1, 1), (13,), (14,))


def records() -> NDArray[np.int64]:
    """48,842 rows. The files are in the folder that HUSH_DATA names."""
    folder, lines = Path(os.environ["HUSH_DATA"]), []
    for name in ("adult.data.gz", "adult.test.gz"):
        with gzip.open(folder / name, "rt") as text:
            lines += [line for line in csv.reader(text, skipinitialspace=True) if len(line) == 15]
    columns = []
    for size, (place, *numbers) in zip(SIZES, _COLUMNS, strict=True):
        values = np.array([line[place].rstrip(".") for line in lines])
        if numbers:
            low, width = numbers
            columns.append(np.clip((values.astype(np.int64) - low) // width, 0, size - 1))
        else:
            columns.append(np.unique(values, return_inverse=True)[1].reshape(-1))
    return np.stack(columns, axis=1).astype(np.int64)
