"""A whole private group-by beside PipelineDP (local) and OpenDP (Polars), where they are installed: the same rows and
budget, one run.
"""

from __future__ import annotations

import operator
import statistics
import time
import warnings
from collections.abc import Iterator

import numpy as np
import pyarrow as pa
from record import Benchmark, Line, Note, duration, main

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
        privacy_id_extractor=operator.itemgetter(0),
        partition_extractor=operator.itemgetter(1),
        value_extractor=operator.itemgetter(2),
    )
    result = engine.aggregate(rows, params, extractors, public_partitions=list(range(GROUPS)))
    accountant.compute_budgets()
    assert len(list(result)) == GROUPS
    return time.perf_counter() - start


def by_opendp(columns: dict[str, np.ndarray]) -> float:
    """OpenDP's Polars queries; a unit is bounded by its rows, 15 in all (truncating groups failed on a duplicate
    column when tried).
    """
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
    context.query().truncate_per_group(PER_UNIT * ROWS_PER_UNIT).group_by("grp").agg(
        dp.len(), total
    ).release().collect()
    return time.perf_counter() - start


def by_hush(columns: dict[str, np.ndarray]) -> float:
    frame = pa.table(columns)
    start = time.perf_counter()
    asked = {
        "units": tables.count_units(),
        "n": tables.count(rows_per_unit=ROWS_PER_UNIT),
        "s": tables.sum("value", low=LOW, high=HIGH, rows_per_unit=ROWS_PER_UNIT),
    }
    query = (
        tables.table(frame, unit="unit")
        .group_by("grp", keys=range(GROUPS), groups_per_unit=PER_UNIT)
        .aggregate(**asked)
    )
    made = query.plan(EPSILON, DELTA).answer(ledger=hush.Ledger(None, epsilon=2.0, delta=1e-5))
    assert len(made) == GROUPS
    return time.perf_counter() - start


def measure(quick: bool) -> Iterator[Line | Note]:
    columns = rows_of(20_000 if quick else 300_000)
    rounds = 1 if quick else 3
    few = rows_of(5000)
    warnings.simplefilter("ignore", FutureWarning)  # OpenDP tells of a default that will change
    first = by_hush(columns)
    peers = (("PipelineDP (local)", by_pipeline_dp), ("OpenDP (Polars)", by_opendp))
    for name, run in peers:
        try:
            run(few)  # what a library does once is not counted
            ours, theirs = zip(*((by_hush(columns), run(columns)) for _ in range(rounds)), strict=True)
        except ImportError:
            yield Note(f"{name} is not installed here and was left out.")
            continue
        later, other = statistics.median(ours), statistics.median(theirs)
        extra = f"{duration(other)} and {duration(later)}"
        yield Line(name, "times a repeated question to hush", other / later, "times", "higher", extra=extra)
        extra = f"{duration(other)} and {duration(first)}"
        yield Line(
            name,
            "times the first question to hush, calibration included",
            other / first,
            "times",
            "higher",
            extra=extra,
        )


BENCHMARKS = (
    Benchmark(
        key="peers",
        title="Private group-by against peers",
        measures=(
            "300 thousand rows in memory, 30 thousand people, 1000 groups, at most 5 groups per person and 3 rows "
            "in each: the peer's time as a multiple of the time of hush, for the whole private answer."
        ),
        fair=(
            "All libraries get the same rows and the same budget, in turn, and the median time counts. PipelineDP "
            "runs on its local backend, which is made for "
            "experiments and not for speed, and computes the same two counts and sum. OpenDP's Polars queries "
            "compute one count and one sum, and limit a person to 15 rows in total: less work than that of hush. "
            "hush calibrates over all families the first time and caches the result; both times are shown. The "
            "first time also loads DuckDB and Ibis. The peers answer a small table before they are timed."
        ),
        rows="peer",
        minutes=1.5,
        measure=measure,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
