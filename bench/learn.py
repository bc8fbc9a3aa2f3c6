"""How long a private fit takes beside scikit-learn's fit of the same model at the same number of passes: ratios from one run.

200,000 rows, 50 features, 20 passes. Fair because both read the same array in memory, both do their own input checks and scaling, both run
on one thread, and neither stops early (tolerance 0). What differs is what privacy costs: moments, clipping and whole-number sums, noise.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
from sklearn import linear_model
from threadpoolctl import threadpool_limits

import hush.learn

ROWS, FEATURES, PASSES, REPEATS = 200_000, 50, 20, 5


def _seconds(job: Callable[[], object]) -> float:
    """The median of a few runs, after one to warm up."""
    job()
    times = []
    for _ in range(REPEATS):
        start = time.perf_counter()
        job()
        times.append(time.perf_counter() - start)
    return float(np.median(times))


@threadpool_limits.wrap(limits=1)
def main() -> int:
    warnings.simplefilter("ignore")  # scikit-learn tells that 20 passes have not converged; that is the point
    random = np.random.default_rng(1)
    X = random.normal(size=(ROWS, FEATURES))
    truth = random.normal(size=FEATURES) * (random.uniform(size=FEATURES) < 0.3)
    score = X @ truth + random.normal(size=ROWS)
    label = (score > 0).astype(int)
    budget = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-5.0, 5.0)}
    target = {**budget, "target_bounds": (-30.0, 30.0)}
    pairs = {
        "Lasso, coordinate descent": (
            hush.learn.Lasso(alpha=0.01, solver="cd", passes=PASSES, **target),
            linear_model.Lasso(alpha=0.01, max_iter=PASSES, tol=0.0),
            score,
        ),
        "ElasticNet, coordinate descent": (
            hush.learn.ElasticNet(alpha=0.01, solver="cd", passes=PASSES, **target),
            linear_model.ElasticNet(alpha=0.01, max_iter=PASSES, tol=0.0),
            score,
        ),
        "Ridge, from products": (
            hush.learn.Ridge(alpha=1.0, solver="statistics", **target),
            linear_model.Ridge(alpha=1.0),
            score,
        ),
        "LogisticRegression, coordinate descent (liblinear)": (
            hush.learn.LogisticRegression(solver="cd", passes=PASSES, **budget),
            linear_model.LogisticRegression(solver="liblinear", max_iter=PASSES, tol=1e-300),
            label,
        ),
        "LogisticRegression, coordinate descent (lbfgs, its default)": (
            hush.learn.LogisticRegression(solver="cd", passes=PASSES, **budget),
            linear_model.LogisticRegression(max_iter=PASSES, tol=0.0),
            label,
        ),
        "LogisticRegression, full gradients (lbfgs, its default)": (
            hush.learn.LogisticRegression(solver="gd", passes=PASSES, **budget),
            linear_model.LogisticRegression(max_iter=PASSES, tol=0.0),
            label,
        ),
    }
    rows = []
    for name, (ours, theirs, y) in pairs.items():
        private = _seconds(lambda ours=ours, y=y: ours.fit(X, y))
        plain = _seconds(lambda theirs=theirs, y=y: theirs.fit(X, y))
        rows.append({"model": name, "ratio": private / plain, "private": private, "scikit-learn": plain})
        print(f"{name:60} {private / plain:5.2f} times scikit-learn ({private:.2f} s and {plain:.2f} s)", flush=True)
    if len(sys.argv) > 1:  # a file for bench/learn_page.py
        Path(sys.argv[1]).write_text("".join(json.dumps(row) + "\n" for row in rows))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
