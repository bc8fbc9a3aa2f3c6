"""How often the README's first answer holds the truth: 1,000 releases of the made-up visits against the true numbers
without any limit.

    .venv/bin/python bench/coverage.py [runs]

The engine is asked once for every ten releases, each time with a new choice of the rows that count; noise and
intervals are made anew for each.
"""

from __future__ import annotations

import sys

import numpy as np

from hush import tables
from hush.tables.execution import noisy_columns
from hush.tables.output import Recipe, answer_table

EACH = 10  # releases of one result of the engine


def main(runs: int) -> None:
    """Print the share of intervals that hold the true number of patients, and the true mean stay."""
    visits = tables.sample("visits", 100_000)
    frame = visits.to_pandas()
    truth = {"units": frame.groupby("ward")["patient_id"].nunique(), "stay": frame.groupby("ward")["stay_days"].mean()}
    by_ward = tables.table(visits, unit="patient_id").group_by("ward", keys="private", groups_per_unit=8)
    query = by_ward.aggregate(units=tables.count_units(), stay=tables.mean("stay_days", low=0, high=30))
    plan = query.plan(1.0, 1e-6)
    recipe = Recipe.of(query, plan.spent, 0.95)
    hits: dict[str, list[float]] = {"units": [], "stay": []}
    for _ in range(-(-runs // EACH)):
        exact = query.aggregates().to_arrow()
        for _ in range(EACH):
            plain = {name: exact.column(name).to_numpy() for name in plan.spent.counted}
            released = noisy_columns(plain, plan.spent)
            shown = plan.spent.shown(released, plain)
            made = answer_table(
                recipe, exact.select(["ward"]).take(shown), {name: column[shown] for name, column in released.items()}
            )
            for name, true in truth.items():
                wanted = np.array([true[ward] for ward in made.column("ward").to_pylist()])
                low, high = made.column(f"{name}_low").to_numpy(), made.column(f"{name}_high").to_numpy()
                hits[name].append(float(np.mean((low <= wanted) & (wanted <= high))))
    for name, words in (("units", "number of patients"), ("stay", "mean stay")):
        found = np.array(hits[name])
        print(f"{words}: {100.0 * found.mean():.1f} % of the intervals of {found.size} releases hold the true number")
    print(plan.why)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1000)
