"""Frames of pandas, polars and Arrow: every column works, or one sentence says why not, and no cell is in it."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from hush.errors import InvalidParameter
from hush.tables import count_units, table

PEOPLE = {"pid": [1, 2]}
POLARS = pl.DataFrame({"pid": ["x", "y"], "ward": ["a", "b"], "n": [1, 2]})

GOOD: dict[str, Callable[[], Any]] = {
    "polars categories": lambda: POLARS.with_columns(pl.col("ward").cast(pl.Categorical)),
    "polars lazy categories": lambda: POLARS.lazy().with_columns(pl.col("ward").cast(pl.Categorical)),
    "polars enumeration": lambda: POLARS.with_columns(pl.Series("ward", ["a", None]).cast(pl.Enum(["a", "b"]))),
    "pandas categories": lambda: pd.DataFrame({**PEOPLE, "ward": pd.Categorical(["a", None])}),
    "float16": lambda: pd.DataFrame({**PEOPLE, "x": np.array([1, 2], dtype=np.float16)}),
    "decimal256": lambda: pa.table({**PEOPLE, "x": pa.array([Decimal(1), Decimal(2)], pa.decimal256(50, 2))}),
    "interval": lambda: pd.DataFrame({**PEOPLE, "x": pd.interval_range(0, 2)}),
}
LEFT_OUT: dict[str, Callable[[], Any]] = {
    "mixed": lambda: pd.DataFrame({**PEOPLE, "x": [3, "Jane Doe"]}),
    "mixed dicts": lambda: pd.DataFrame({**PEOPLE, "x": [{"Jane Doe": 1}, 2]}),
    "complex": lambda: pd.DataFrame({**PEOPLE, "x": np.array([1, 2], dtype=complex)}),
    "128 bits": lambda: POLARS.with_columns(x=pl.col("n").cast(pl.Int128)),
}
REFUSED: dict[str, tuple[Callable[[], Any], str]] = {
    "two of one name": (lambda: pd.DataFrame([[1, 2, 3]], columns=["pid", "x", "x"]), "two columns of one name"),
    "Arrow": (lambda: pa.table([pa.array([1]), pa.array([2])], names=["pid", "pid"]), "two columns of one name"),
    "names in two cases": (lambda: pd.DataFrame({**PEOPLE, "PID": [1, 2]}), "differ in case only"),
    "a pandas column": (lambda: pd.Series([1, 2], name="pid"), "write .to_frame()"),
    "a polars column": (lambda: pl.Series("pid", [1, 2]), "write .to_frame()"),
    "a list of files": (lambda: ["a.parquet", "b.parquet"], "visits-\\*.parquet"),
}


def people(source: Any) -> Any:
    return table(source, unit="pid").aggregate(n=count_units()).aggregates().to_arrow()["n"].to_pylist()


@pytest.mark.parametrize("kind", GOOD)
def test_frames_that_work(kind: str) -> None:
    assert people(GOOD[kind]()) == [2]


def test_categories_are_their_values() -> None:
    t = table(GOOD["polars enumeration"](), unit="pid")
    assert t.relation.to_pyarrow()["ward"].to_pylist() == ["a", None]


@pytest.mark.parametrize("kind", LEFT_OUT)
def test_a_column_that_cannot_be_held_is_left_out_by_name(kind: str) -> None:
    """Its values are in no message: one cell of a person was quoted."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        t = table(LEFT_OUT[kind](), unit="pid")
    (text,) = [str(one.message) for one in caught if "left out" in str(one.message)]
    assert "'x'" in text and "Jane" not in text and "x" not in t.columns
    assert t.aggregate(n=count_units()).aggregates().to_arrow()["n"].to_pylist() == [2]


@pytest.mark.parametrize("kind", REFUSED)
def test_frames_that_are_refused(kind: str) -> None:
    made, words = REFUSED[kind]
    with pytest.raises(InvalidParameter, match=words):
        table(made(), unit="pid")
