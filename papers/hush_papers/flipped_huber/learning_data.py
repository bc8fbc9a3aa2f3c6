"""The eight data sets of the flipped Huber paper's Table III, with public ranges from general knowledge.

Ranges are round numbers that somebody who knows the subject but not the data could have chosen (ages of
adults, prices up to the census's top code, degrees of latitude of California); a few features of seeds and wine come
from the data sets' published descriptions.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hush import InvalidParameter
from hush.errors import shown

__all__ = ["NAMES", "LearningSet", "learning_set"]

Array = NDArray[np.float64]
Pairs = tuple[tuple[float, float], ...]


@dataclass(frozen=True)
class LearningSet:
    """Rows, targets and their public ranges. `penalty` is that of the paper: (kind, weight)."""

    name: str
    X: Array
    y: Array
    logistic: bool
    bounds: Pairs
    target_bounds: tuple[float, float] | None
    penalty: tuple[str, float]


def _lines(folder: Path, name: str) -> list[str]:
    path = folder / name
    if not path.is_file():
        raise InvalidParameter(
            f"data must contain {name}, but {shown(str(folder))} has no such file; give the folder of the data "
            "sets with --data or HUSH_DATA."
        )
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return file.read().split("\n")


def _numbers(lines: list[str], separator: str | None) -> Array:
    return np.array([[float(word) for word in line.split(separator)] for line in lines if line.strip()])


_BLOCK = (
    (0.0, 40_000.0),
    (0.0, 7_000.0),
    (0.0, 40_000.0),
    (0.0, 6_500.0),
)  # rooms, bedrooms, people, households of a census block group
_PRICE, _INCOME, _AGE, _LATITUDE = (0.0, 500_001.0), (0.0, 15.0), (0.0, 60.0), (32.0, 42.5)


def _houses(folder: Path) -> LearningSet:
    lines = [line for line in _lines(folder, "openml_823_houses.arff") if line and line[0] not in "%@"]
    words = [line.split(",") for line in lines]
    X, y = (
        np.array([[float(w) for w in row[:8]] for row in words]),
        np.array([row[8] == "P" for row in words], dtype=float),
    )
    return LearningSet("Houses", X, y, True, (_PRICE, _INCOME, _AGE, *_BLOCK, _LATITUDE), None, ("l2", 0.1))


_WINE = (
    *((3.0, 16.0), (0.0, 2.0), (0.0, 2.0), (0.0, 70.0), (0.0, 0.7), (0.0, 300.0), (0.0, 450.0)),
    *((0.98, 1.04), (2.7, 4.1), (0.2, 2.0), (8.0, 15.0)),
)


def _wine(folder: Path) -> LearningSet:
    red, white = (_numbers(_lines(folder, f"winequality-{colour}.csv")[1:], ";") for colour in ("red", "white"))
    y = np.concatenate([np.ones(len(red)), np.zeros(len(white))])
    return LearningSet("Wine quality", np.vstack([red, white])[:, :11], y, True, _WINE, None, ("l2", 2e-4))


_SEEDS = (
    *((40_000.0, 140_000.0), (800.0, 1_600.0), (300.0, 700.0), (150.0, 350.0), (40_000.0, 140_000.0), (200.0, 450.0)),
    *((0.4, 1.0), (0.9, 1.0), (0.4, 0.85), (0.5, 1.0), (1.0, 3.2), (0.5, 1.0)),
)


def _pumpkin(folder: Path) -> LearningSet:
    words = [line.strip().split(",") for line in _lines(folder, "Pumpkin_Seeds_Dataset.csv")[1:] if line.strip()]
    X, y = (
        np.array([[float(w) for w in row[:12]] for row in words]),
        np.array([row[12] == "URGUP_SIVRISI" for row in words], dtype=float),
    )
    return LearningSet("Pumpkin seeds", X, y, True, _SEEDS, None, ("l2", 0.1))


_HEART = (
    *((20.0, 90.0), (0.0, 1.0), (1.0, 4.0), (80.0, 220.0), (100.0, 600.0), (0.0, 1.0), (0.0, 2.0), (60.0, 220.0)),
    *((0.0, 1.0), (0.0, 7.0), (1.0, 3.0), (0.0, 3.0), (3.0, 7.0)),
)


def _heart(folder: Path) -> LearningSet:
    table = _numbers(_lines(folder, "heart.dat"), None)
    return LearningSet("Heart", table[:, :13], table[:, 13] - 1.0, True, _HEART, None, ("l2", 0.1))


def _california(folder: Path) -> LearningSet:
    table = _numbers(_lines(folder, "cal_housing.data.gz"), ",")
    bounds = ((-125.0, -114.0), _LATITUDE, _AGE, *_BLOCK, _INCOME)
    return LearningSet("California", table[:, :8], table[:, 8], False, bounds, _PRICE, ("l1", 0.01))


_BOSTON = (
    *((0.0, 100.0), (0.0, 100.0), (0.0, 30.0), (0.0, 1.0), (0.3, 1.0), (3.0, 9.0), (0.0, 100.0), (0.0, 15.0)),
    *((1.0, 24.0), (100.0, 800.0), (10.0, 25.0), (0.0, 400.0), (0.0, 40.0)),
)


def _boston(folder: Path) -> LearningSet:
    table = _numbers(_lines(folder, "boston_house_prices.csv")[2:], ",")
    return LearningSet("Boston housing", table[:, :13], table[:, 13], False, _BOSTON, (0.0, 50.0), ("l1", 0.01))


def _airfoil(folder: Path) -> LearningSet:
    table = _numbers(_lines(folder, "airfoil_self_noise.dat"), None)
    bounds = ((0.0, 20_000.0), (0.0, 25.0), (0.0, 0.35), (30.0, 75.0), (0.0, 0.06))
    return LearningSet("Airfoil", table[:, :5], table[:, 5], False, bounds, (100.0, 145.0), ("l1", 0.01))


_DIABETES = (
    *((18.0, 90.0), (1.0, 2.0), (15.0, 50.0), (50.0, 140.0), (80.0, 320.0), (30.0, 260.0)),
    *((15.0, 110.0), (1.0, 10.0), (3.0, 6.5), (50.0, 130.0)),
)


def _diabetes(folder: Path) -> LearningSet:
    X, y = (_numbers(_lines(folder, f"diabetes_{part}.csv.gz"), None) for part in ("data_raw", "target"))
    return LearningSet("Diabetes", X, y[:, 0], False, _DIABETES, (0.0, 350.0), ("l1", 0.1))


_READERS: dict[str, Callable[[Path], LearningSet]] = {
    "houses": _houses,
    "wine": _wine,
    "pumpkin": _pumpkin,
    "heart": _heart,
    "california": _california,
    "boston": _boston,
    "airfoil": _airfoil,
    "diabetes": _diabetes,
}
NAMES = tuple(_READERS)


def learning_set(name: str, folder: Path) -> LearningSet:
    """Read one of NAMES from a folder."""
    if name not in _READERS:
        raise InvalidParameter(f"name must be one of {', '.join(NAMES)}, got {shown(name)}.")
    return _READERS[name](Path(folder))
