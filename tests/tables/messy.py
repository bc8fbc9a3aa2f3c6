"""Rows with everything that goes wrong: nulls in unit, key and value, negative and huge ids, duplicates, unicode,
NaN, infinities.
"""

from __future__ import annotations

import datetime
import decimal
import random
from typing import Any

import pyarrow as pa

#: Column -> (Arrow type, how its values are hashed).
COLUMNS = {
    "who": (pa.int64(), "whole"),
    "name": (pa.string(), "text"),
    "ward": (pa.string(), "text"),
    "floor": (pa.int32(), "whole"),
    "code": (pa.int64(), "whole"),
    "day": (pa.date32(), "whole"),
    "urgent": (pa.bool_(), "whole"),
    "cost": (pa.float64(), ""),
    "score": (pa.float32(), ""),
    "stay": (pa.int64(), ""),
    "fee": (pa.decimal128(12, 2), ""),
}
WHO = [None, 0, 1, 2, 7, -1, -2, -(2**63), 2**63 - 1, 2**31, -(2**31), 2**32 + 5, 10**15, -(10**12)]
WARDS = [None, "", "A", "B", "a", "é", "e\u0301", "日本", "😀", "O'Hara", 'say "x"', "back\\slash", "50%", " A"]
CODES = [None, 0, -1, 5, 2**40, -(2**62)]
COSTS = [
    None,
    float("nan"),
    float("inf"),
    float("-inf"),
    0.0,
    -0.0,
    0.1,
    19.99,
    -3.25,
    1e-9,
    1e300,
    -1e300,
    49.5,
    250.125,
    499.9999995,
]


def messy(count: int = 400) -> list[dict[str, Any]]:
    """`count` rows, the same at every call; every tenth one twice."""
    draw = random.Random(20240613)
    start = datetime.date(1968, 2, 29)
    rows: list[dict[str, Any]] = []
    for i in range(count):
        who = draw.choice(WHO)
        rows.append(
            {
                "who": who,
                "name": None if who is None else f"pät-{who}",
                "ward": draw.choice(WARDS),
                "floor": draw.choice([None, -3, 0, 1, 2**31 - 1, -(2**31)]),
                "code": draw.choice(CODES),
                "day": draw.choice([None, *(start + datetime.timedelta(days=90 * k) for k in range(12))]),
                "urgent": draw.choice([None, True, False]),
                "cost": draw.choice([*COSTS, draw.uniform(-100, 700)]),
                "score": draw.choice([None, float("nan"), float("inf"), 0.1, -7.5, 3.0e38]),
                "stay": draw.choice([None, -5, 0, 1, 3, 14, 30, 31, 2**60, -(2**60)]),
                "fee": draw.choice(
                    [None, decimal.Decimal("0.01"), decimal.Decimal("-12.50"), decimal.Decimal("9999999999.99")]
                ),
            }
        )
        if i % 10 == 0:
            rows.append(dict(rows[-1]))
    # a unit with a value of every kind but no key of its own, and one that is in thousands of groups
    rows += [
        {**rows[1], "who": 42, "name": "everywhere", "code": k, "cost": float(k % 7), "stay": k % 40}
        for k in range(-1500, 1500)
    ]
    return rows


def arrow_of(rows: list[dict[str, Any]]) -> pa.Table:
    """The rows as Arrow, floats with their NaN kept apart from null."""
    import numpy as np

    columns = {}
    for name, (kind, _) in COLUMNS.items():
        values = [row[name] for row in rows]
        if kind == pa.float32():  # what the column will hold, so that the reference sees the same numbers
            values = [None if value is None else np.float32(value) for value in values]
        columns[name] = pa.array(values, kind, from_pandas=False)
    return pa.table(columns)


def as_read(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows as an engine sees them: float32 rounded."""
    import numpy as np

    return [{**row, "score": None if row["score"] is None else float(np.float32(row["score"]))} for row in rows]
