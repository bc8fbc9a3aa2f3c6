"""The ten data sets of `bench/learn_rivals.py`: five with classes, five with numbers, all with public ranges."""

from __future__ import annotations

import gzip
from dataclasses import replace
from pathlib import Path

import numpy as np
from hush_papers.flipped_huber.learning_data import LearningSet, learning_set

__all__ = ["NAMES", "rival_set"]

#: heart, pumpkin, wine colour, houses and adult have two classes; the others are regressions
NAMES = (
    *("heart", "pumpkin", "wine", "houses", "adult"),
    *("diabetes", "boston", "airfoil", "wine_quality", "california"),
)

_ADULT_NUMBERS = {0: (17.0, 90.0), 4: (1.0, 16.0), 10: (0.0, 99_999.0), 11: (0.0, 4_500.0), 12: (1.0, 99.0)}
#: marital status, occupation, relationship, race, sex; the values are those of the file adult.names
_ADULT_VALUES: dict[int, tuple[str, ...]] = {
    5: (
        *("Married-civ-spouse", "Divorced", "Never-married", "Separated", "Widowed", "Married-spouse-absent"),
        "Married-AF-spouse",
    ),
    6: (
        *("Tech-support", "Craft-repair", "Other-service", "Sales", "Exec-managerial", "Prof-specialty"),
        *("Handlers-cleaners", "Machine-op-inspct", "Adm-clerical", "Farming-fishing", "Transport-moving"),
        *("Priv-house-serv", "Protective-serv", "Armed-Forces", "?"),
    ),
    7: ("Wife", "Own-child", "Husband", "Not-in-family", "Other-relative", "Unmarried"),
    8: ("White", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other", "Black"),
    9: ("Male",),
}


def _adult(folder: Path) -> LearningSet:
    """Income above 50,000 from five numbers and 34 indicators of categories."""
    words = []
    for name in ("adult.data.gz", "adult.test.gz"):
        with gzip.open(folder / name, "rt") as file:
            words += [line.strip(" .\n").split(", ") for line in file if line.count(",") == 14]
    columns = [[float(row[place]) for row in words] for place in _ADULT_NUMBERS]
    columns += [
        [float(row[place] == value) for row in words] for place in _ADULT_VALUES for value in _ADULT_VALUES[place]
    ]
    bounds = (*_ADULT_NUMBERS.values(), *((0.0, 1.0),) * sum(map(len, _ADULT_VALUES.values())))
    y = np.array([row[14] == ">50K" for row in words], dtype=float)
    return LearningSet("Adult", np.array(columns).T, y, True, bounds, None, ("l2", 0.0))


def rival_set(name: str, folder: Path) -> LearningSet:
    """One of the data sets of `NAMES`."""
    if name == "adult":
        return _adult(folder)
    if name == "wine_quality":  # the colour is no feature; the quality is the target
        colour = learning_set("wine", folder)
        quality = []
        for part in ("red", "white"):
            lines = (folder / f"winequality-{part}.csv").read_text().split("\n")[1:]
            quality += [float(line.split(";")[11]) for line in lines if line.strip()]
        return replace(colour, name="Wine quality", y=np.array(quality), logistic=False, target_bounds=(0.0, 10.0))
    found = learning_set(name, folder)
    return replace(found, name="Wine colour") if name == "wine" else found
