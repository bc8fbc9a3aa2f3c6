"""An artificial table for examples: hospital visits of patients who do not exist."""

from __future__ import annotations

from typing import Any

import numpy as np

from hush.errors import one_of, whole
from hush.tables.arrow import arrow

__all__ = ["SAMPLES", "sample"]

_WARDS = {  # share of visits, mean stay in days, mean cost of a day
    "emergency": (0.24, 1.2, 640.0),
    "surgery": (0.16, 4.5, 910.0),
    "internal medicine": (0.15, 5.5, 480.0),
    "cardiology": (0.11, 5.0, 720.0),
    "orthopaedics": (0.09, 4.0, 650.0),
    "paediatrics": (0.08, 2.5, 520.0),
    "maternity": (0.07, 3.0, 560.0),
    "oncology": (0.05, 7.0, 1150.0),
    "neurology": (0.03, 6.0, 780.0),
    "intensive care": (0.015, 5.0, 2300.0),
    "burns": (0.004, 9.0, 1900.0),
    "transplant": (0.001, 14.0, 3100.0),
}


def _visits(rows: int) -> dict[str, Any]:
    """One row per visit. A patient has 2.5 visits on average; some have many, mostly in the same wards."""
    random = np.random.default_rng(20260101)  # the table is public and always the same
    patients = max(1, int(rows / 2.5))
    eagerness = random.gamma(0.9, 1.0, patients)
    patient = np.sort(random.choice(patients, rows, p=eagerness / eagerness.sum()))
    shares = np.array([share for share, _, _ in _WARDS.values()])
    home = random.choice(len(_WARDS), patients, p=shares / shares.sum())
    ward = np.where(random.random(rows) < 0.6, home[patient], random.choice(len(_WARDS), rows, p=shares / shares.sum()))
    born = np.clip(random.normal(48.0, 24.0, patients), 0.0, 99.0)
    age = np.where(ward == 5, np.minimum(born[patient], 17.0), born[patient])
    days = np.array([days for _, days, _ in _WARDS.values()])[ward]
    stay = np.minimum(random.negative_binomial(1.6, 1.6 / (1.6 + days)), 120)
    rate = np.array([rate for _, _, rate in _WARDS.values()])[ward]
    cost = np.round((stay + 0.5) * rate * random.lognormal(0.0, 0.5, rows), 2)
    return {
        "visit_id": np.arange(1, rows + 1),
        "patient_id": patient + 1_000_000,
        "ward": np.array(list(_WARDS))[ward],
        "day": np.datetime64("2025-01-01") + random.integers(0, 365, rows).astype("timedelta64[D]"),
        "age": age.astype(np.int64),
        "stay_days": stay.astype(np.int64),
        "cost": cost,
    }


#: The tables by name.
SAMPLES = {"visits": _visits}


def sample(name: str = "visits", rows: int = 100_000) -> Any:
    """An artificial table as an Arrow table: "visits", hospital visits with a patient_id.

    >>> sample("visits", 10).num_rows
    10
    """
    one_of("name", name, SAMPLES)
    return arrow().table(SAMPLES[name](whole("rows", rows, 1, "write rows=100000")))
