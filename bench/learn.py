"""How long a private fit takes beside scikit-learn's fit of the same model at the same number of passes."""

from __future__ import annotations

import statistics
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from record import Benchmark, Line, main, race

FEATURES = 50


def pairs(passes: int) -> dict[str, tuple[Any, Any, str]]:
    """A private estimator, scikit-learn's, and which target they fit."""
    from sklearn import linear_model

    import hush.learn

    budget: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-5.0, 5.0)}
    target = {**budget, "target_bounds": (-30.0, 30.0)}
    return {
        "Lasso, coordinate descent": (
            hush.learn.Lasso(alpha=0.01, solver="cd", passes=passes, **target),
            linear_model.Lasso(alpha=0.01, max_iter=passes, tol=0.0),
            "score",
        ),
        "ElasticNet, coordinate descent": (
            hush.learn.ElasticNet(alpha=0.01, solver="cd", passes=passes, **target),
            linear_model.ElasticNet(alpha=0.01, max_iter=passes, tol=0.0),
            "score",
        ),
        "Ridge, from products": (
            hush.learn.Ridge(alpha=1.0, solver="statistics", **target),
            linear_model.Ridge(alpha=1.0),
            "score",
        ),
        "LogisticRegression, coordinate descent (liblinear)": (
            hush.learn.LogisticRegression(solver="cd", passes=passes, **budget),
            linear_model.LogisticRegression(solver="liblinear", max_iter=passes, tol=1e-300),
            "label",
        ),
        "LogisticRegression, coordinate descent (lbfgs, its default)": (
            hush.learn.LogisticRegression(solver="cd", passes=passes, **budget),
            linear_model.LogisticRegression(max_iter=passes, tol=0.0),
            "label",
        ),
        "LogisticRegression, full gradients (lbfgs, its default)": (
            hush.learn.LogisticRegression(solver="gd", passes=passes, **budget),
            linear_model.LogisticRegression(max_iter=passes, tol=0.0),
            "label",
        ),
    }


def _measured(rows: int, passes: int, rounds: int) -> Iterator[Line]:
    warnings.simplefilter("ignore")  # scikit-learn tells that 20 passes have not converged; that is the point
    random = np.random.default_rng(1)
    X = random.normal(size=(rows, FEATURES))
    truth = random.normal(size=FEATURES) * (random.uniform(size=FEATURES) < 0.3)
    score = X @ truth + random.normal(size=rows)
    targets = {"score": score, "label": (score > 0).astype(int)}
    for name, (ours, theirs, kind) in pairs(passes).items():
        y = targets[kind]
        made = race(
            lambda ours=ours, y=y: ours.fit(X, y),
            lambda theirs=theirs, y=y: theirs.fit(X, y),
            rounds,
            summary=statistics.median,
        )
        yield Line(name, "times scikit-learn", made.slower, "times", "lower", extra=made.extra)


def measure(quick: bool) -> Iterator[Line]:
    from sklearn import linear_model  # noqa: F401  (threads of libraries that are loaded later would not be limited)
    from threadpoolctl import threadpool_limits

    import hush.learn  # noqa: F401

    with threadpool_limits(limits=1):
        yield from _measured(2000, 3, 1) if quick else _measured(200_000, 20, 5)


BENCHMARKS = (
    Benchmark(
        key="learn",
        title="Private fits against scikit-learn",
        measures="200,000 rows, 50 features, 20 passes: the time of a private fit divided by scikit-learn's time for "
        "the same model.",
        fair="Both read the same array in memory, check and scale their input, run on one thread, and do not stop "
        "early (tolerance 0). Runs alternate; medians are shown. The difference is the cost of privacy: moments, "
        "clipping, integer sums, noise.",
        rows="model",
        minutes=1.5,
        measure=measure,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
