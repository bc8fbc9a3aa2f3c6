"""A whole private group-by beside PipelineDP (local) and OpenDP (Polars), where they are installed: the same rows and budget, one run.

python bench/peers.py [rows]          300 thousand rows, 30 thousand units, 1000 groups, at most 5 groups per unit
"""

from __future__ import annotations

import operator
import sys
import time

import numpy as np
import pyarrow as pa

import hush
from hush import tables

GROUPS, PER_UNIT, ROWS_PER_UNIT, LOW, HIGH, EPSILON, DELTA = 1000, 5, 3, 0.0, 100.0, 1.0, 1e-6


def rows_of(count: int) -> dict[str, np.ndarray]:
    random = np.random.default_rng(5)
    units, groups = random.integers(0, max(1, count // 10), count), random.integers(0, GROUPS, count)
    return {"unit": units, "grp": groups, "value": random.uniform(0, 150, count)}


def by_pipeline_dp(columns: dict[str, np.ndarray]) -> float:
    import pipeline_dp

    rows = list(zip(*(column.tolist() for column in columns.values()), strict=True))
    start = time.perf_counter()
    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    metrics = [pipeline_dp.Metrics.PRIVACY_ID_COUNT, pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM]
    params = pipeline_dp.AggregateParams(
        metrics=metrics,
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        max_partitions_contributed=PER_UNIT,
        max_contributions_per_partition=ROWS_PER_UNIT,
        min_value=LOW,
        max_value=HIGH,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=operator.itemgetter(0), partition_extractor=operator.itemgetter(1), value_extractor=operator.itemgetter(2)
    )
    result = engine.aggregate(rows, params, extractors, public_partitions=list(range(GROUPS)))
    accountant.compute_budgets()
    assert len(list(result)) == GROUPS
    return time.perf_counter() - start


def by_opendp(columns: dict[str, np.ndarray]) -> float:
    """OpenDP's Polars queries; a unit is bounded by its rows, 15 in all (truncating groups failed on a duplicate column when tried)."""
    import opendp.prelude as dp
    import polars as pl

    dp.enable_features("contrib")
    rows = pl.DataFrame(columns).lazy()
    start = time.perf_counter()
    context = dp.Context.compositor(
        data=rows,
        privacy_unit=dp.unit_of(contributions=PER_UNIT * ROWS_PER_UNIT, identifier=pl.col("unit")),
        privacy_loss=dp.loss_of(epsilon=EPSILON, delta=DELTA),
        split_evenly_over=1,
        margins=[dp.polars.Margin(by=["grp"], max_length=len(columns["unit"]), max_groups=GROUPS)],
    )
    total = pl.col("value").fill_nan(0.0).fill_null(0.0).dp.sum((LOW, HIGH))
    context.query().truncate_per_group(PER_UNIT * ROWS_PER_UNIT).group_by("grp").agg(dp.len(), total).release().collect()
    return time.perf_counter() - start


def by_hush(columns: dict[str, np.ndarray]) -> float:
    frame = pa.table(columns)
    start = time.perf_counter()
    asked = {
        "units": tables.count_units(),
        "n": tables.count(rows_per_unit=ROWS_PER_UNIT),
        "s": tables.sum("value", low=LOW, high=HIGH, rows_per_unit=ROWS_PER_UNIT),
    }
    query = tables.table(frame, unit="unit").group_by("grp", keys=range(GROUPS), groups_per_unit=PER_UNIT).aggregate(**asked)
    made = query.plan(EPSILON, DELTA).answer(ledger=hush.Ledger(None, epsilon=2.0, delta=1e-5))
    assert len(made) == GROUPS
    return time.perf_counter() - start


def main(count: int) -> int:
    columns = rows_of(count)
    first, ours = by_hush(columns), by_hush(columns)
    print(f"{count} rows; hush {ours:.2f} s ({first:.2f} s the first time, calibration included)")
    peers = (("PipelineDP (local)", "pipeline-dp", by_pipeline_dp), ("OpenDP (Polars)", "opendp[polars]", by_opendp))
    for name, package, run in peers:
        try:
            theirs = run(columns)
        except ImportError:
            print(f"{name} is not installed: `pip install {package}` and run again to compare")
            continue
        print(f"{name} {theirs:.2f} s: {theirs / ours:.1f} times hush, {theirs / first:.1f} times its first run")
    return 0


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 300_000))
