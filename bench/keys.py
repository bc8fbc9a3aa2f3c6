"""Private keys beside PipelineDP and OpenDP: the expected number of groups shown, with their numbers of people.

    HUSH_DATA=folder .venv-bench/bin/python bench/keys.py

The folder holds adult.data.gz, rwm5yr.csv, nycflights13_flights.csv.gz and ml-latest-small_ratings.csv.gz. Every person
is first limited to the same groups, chosen at random. The same pairs, budget and limit then go to all libraries. hush
computes the expected number from the law of its noise; the others are run, and the mean of their runs is printed.
PipelineDP finds the groups by its noisy count (post-aggregation thresholding), with Laplace and with Gaussian noise.
"""

from __future__ import annotations

import gzip
import operator
import os
import sys
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import polars as pl

from hush.tables.contribution import Part, Reach
from hush.tables.noise_choice import spending

EPSILON, DELTA = 1.0, 1e-6
Pairs = tuple[np.ndarray, np.ndarray]


def adult(folder: Path) -> pl.DataFrame:
    """Adult: occupation, education and country, one row for each person."""
    with gzip.open(folder / "adult.data.gz") as file:
        rows = pl.read_csv(file.read(), has_header=False).with_row_index("person")
    return rows.select("person", group=pl.concat_str(["column_7", "column_4", "column_14"], separator="|"))


def health(folder: Path) -> pl.DataFrame:
    """rwm5yr: age and visits to a doctor, several years of a person."""
    rows = pl.read_csv(folder / "rwm5yr.csv", infer_schema_length=None)
    return rows.select(person="id", group=pl.concat_str(["age", "docvis"], separator="|"))


def flights(folder: Path) -> pl.DataFrame:
    """Flights: destination and month of each aircraft."""
    with gzip.open(folder / "nycflights13_flights.csv.gz") as file:
        rows = pl.read_csv(file.read(), infer_schema_length=None, null_values=["NA"]).drop_nulls("tailnum")
    return rows.select(person="tailnum", group=pl.concat_str(["dest", "month"], separator="|"))


def films(folder: Path) -> pl.DataFrame:
    """MovieLens: the films that a person rated."""
    with gzip.open(folder / "ml-latest-small_ratings.csv.gz") as file:
        rows = pl.read_csv(file.read())
    return rows.select(person="userId", group=pl.col("movieId").cast(pl.String))


CASES: list[tuple[str, Callable[[Path], pl.DataFrame], int]] = [
    ("Adult, occupation x education x country", adult, 1),
    ("rwm5yr, age x visits", health, 5),
    ("flights, destination x month", flights, 50),
    ("MovieLens, films", films, 50),
]


def limited(rows: pl.DataFrame, most: int) -> Pairs:
    """The pairs of person and group that count, as whole numbers: at most `most` for each person."""
    pairs = rows.drop_nulls().unique().sample(fraction=1.0, shuffle=True, seed=7)
    kept = pairs.filter(pl.int_range(pl.len()).over("person") < most)
    person, group = (kept[name].cast(pl.String).rank("dense").to_numpy().astype(np.int64) for name in kept.columns)
    return person, group


def by_hush(pairs: Pairs, most: int) -> float:
    """The expected number of groups shown."""
    part = Part("n", ("n",), 1, one_sided=True, people=True)
    spent = spending(Reach(most, (part,)), EPSILON, DELTA, units="n")
    assert spent.rule is not None
    sizes = np.bincount(pairs[1])
    return float(spent.rule.chances(sizes[sizes > 0], spent.mechanisms["n"]).sum())


def by_pipeline_dp(pairs: Pairs, most: int, noise: str) -> int:
    """The number of groups of one run."""
    import pipeline_dp

    accountant = pipeline_dp.NaiveBudgetAccountant(total_epsilon=EPSILON, total_delta=DELTA)
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    params = pipeline_dp.AggregateParams(
        metrics=[pipeline_dp.Metrics.PRIVACY_ID_COUNT],
        noise_kind=getattr(pipeline_dp.NoiseKind, noise),
        max_partitions_contributed=most,
        max_contributions_per_partition=1,
        post_aggregation_thresholding=True,
    )
    extractors = pipeline_dp.DataExtractors(
        privacy_id_extractor=operator.itemgetter(0),
        partition_extractor=operator.itemgetter(1),
        value_extractor=lambda row: 0,
    )
    rows = list(zip(*(column.tolist() for column in pairs), strict=True))
    result = engine.aggregate(rows, params, extractors)
    accountant.compute_budgets()
    return len(list(result))


def by_opendp(pairs: Pairs, most: int) -> int:
    """The number of groups of one run of a Polars query with keys that are found privately."""
    import opendp.prelude as dp

    dp.enable_features("contrib")
    frame = pl.LazyFrame({"group": pairs[1]})
    bounds = [dp.polars.Bound(per_group=most), dp.polars.Bound(by=["group"], per_group=1, num_groups=most)]
    many = {"max_length": 10**6, "max_groups": 10**6}
    context = dp.Context.compositor(
        data=frame,
        privacy_unit=dp.unit_of(contributions=bounds),
        privacy_loss=dp.loss_of(epsilon=EPSILON, delta=DELTA),
        split_evenly_over=1,
        margins=[dp.polars.Margin(max_length=10**6), dp.polars.Margin(by=["group"], **many)],
    )
    query = context.query().group_by("group").agg(dp.len())
    return int(query.release().collect().height)


def mean_of(run: Callable[[], int], runs: int) -> str:
    """The mean of some runs, or why there is none."""
    try:
        return f"{np.mean([run() for _ in range(runs)]):.1f}"
    except ImportError:
        return "not installed"
    except Exception as failure:  # whatever another library raises is a result here
        return f"failed: {str(failure).splitlines()[0][:60]}"


def main(folder: Path, runs: int) -> None:
    """Print the table."""
    warnings.simplefilter("ignore")
    print("| data | groups per person | groups | hush | PipelineDP, Laplace | PipelineDP, Gaussian | OpenDP |")
    print("|---|---|---|---|---|---|---|")
    for name, rows, most in CASES:
        pairs = limited(rows(folder), most)
        peers = [mean_of(lambda n=n: by_pipeline_dp(pairs, most, n), runs) for n in ("LAPLACE", "GAUSSIAN")]  # noqa: B023
        peers.append(mean_of(lambda: by_opendp(pairs, most), runs))  # noqa: B023
        cells = [name, most, np.unique(pairs[1]).size, f"{by_hush(pairs, most):.1f}", *peers]
        print("| " + " | ".join(map(str, cells)) + " |", flush=True)


if __name__ == "__main__":
    main(Path(os.environ["HUSH_DATA"]), int(sys.argv[1]) if len(sys.argv) > 1 else 3)
