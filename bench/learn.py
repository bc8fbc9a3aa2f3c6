"""How long a private fit takes beside scikit-learn's fit of the same model: both with their defaults, and at the same
number of passes.
"""

from __future__ import annotations

import statistics
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from record import Benchmark, Line, Race, main, race

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


def defaults() -> dict[str, tuple[Any, Any, str]]:
    """The same with the default options of both, apart from the penalty of a lasso."""
    from sklearn import linear_model

    import hush.learn

    budget: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-5.0, 5.0)}
    target = {**budget, "target_bounds": (-30.0, 30.0)}
    return {
        "Ridge": (hush.learn.Ridge(**target), linear_model.Ridge(), "score"),
        "Lasso": (hush.learn.Lasso(alpha=0.01, **target), linear_model.Lasso(alpha=0.01), "score"),
        "LogisticRegression": (
            hush.learn.LogisticRegression(**budget),
            linear_model.LogisticRegression(),
            "label",
        ),
    }


def made(rows: int) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Normal columns, and a target of each kind."""
    random = np.random.default_rng(1)
    X = random.normal(size=(rows, FEATURES))
    truth = random.normal(size=FEATURES) * (random.uniform(size=FEATURES) < 0.3)
    score = X @ truth + random.normal(size=rows)
    return X, {"score": score, "label": (score > 0).astype(int)}


def _by_default(rows: int, rounds: int) -> Iterator[Line]:
    X, targets = made(rows)
    for name, (ours, theirs, kind) in defaults().items():
        ours.fit(X[:1000], targets[kind][:1000])  # imports
        taken: tuple[list[float], list[float]] = ([], [])
        for _ in range(rounds):
            for model, times in zip((ours, theirs), taken, strict=True):
                start = time.process_time()
                model.fit(X, targets[kind])
                times.append(time.process_time() - start)
        seen = Race(*(statistics.median(times) for times in taken))
        yield Line(name, "CPU time, times scikit-learn", seen.slower, "times", "lower", extra=seen.extra)


def _measured(rows: int, passes: int, rounds: int) -> Iterator[Line]:
    warnings.simplefilter("ignore")  # scikit-learn tells that 20 passes have not converged; that is the point
    X, targets = made(rows)
    for name, (ours, theirs, kind) in pairs(passes).items():
        y = targets[kind]
        seen = race(
            lambda ours=ours, y=y: ours.fit(X, y),
            lambda theirs=theirs, y=y: theirs.fit(X, y),
            rounds,
            summary=statistics.median,
        )
        yield Line(name, "times scikit-learn", seen.slower, "times", "lower", extra=seen.extra)


def _on_one_thread(lines: Callable[[], Iterator[Line]]) -> Iterator[Line]:
    from sklearn import linear_model  # noqa: F401  (threads of libraries that are loaded later would not be limited)
    from threadpoolctl import threadpool_limits

    import hush.learn  # noqa: F401

    with threadpool_limits(limits=1):
        yield from lines()


def measure(quick: bool) -> Iterator[Line]:
    return _on_one_thread(lambda: _measured(2000, 3, 1) if quick else _measured(200_000, 20, 3))


def measure_defaults(quick: bool) -> Iterator[Line]:
    return _on_one_thread(lambda: _by_default(2000, 1) if quick else _by_default(1_000_000, 5))


BENCHMARKS = (
    Benchmark(
        key="learn_defaults",
        title="Private fits against scikit-learn, both with their defaults",
        measures=(
            "1,000,000 rows, 50 features, float64: the CPU time of a private fit at (1, 1e-6) as a multiple of that of "
            "scikit-learn on the same array."
        ),
        fair=(
            "Both have their default options (a lasso has alpha = 0.01), do their own input checks and scaling, and "
            "run on one thread. Each stops where its defaults stop. Alternated, medians of five."
        ),
        rows="model",
        minutes=0.4,
        measure=measure_defaults,
    ),
    Benchmark(
        key="learn",
        title="Private fits by descent against scikit-learn",
        measures=(
            "200,000 rows, 50 features, 20 passes: the time of a private fit as a multiple of the time of scikit- "
            "learn for the same model."
        ),
        fair=(
            "Both read the same array in memory, do their own input checks and scaling, run on one thread, and "
            "neither stops early (tolerance 0). Alternated, medians. The difference is what privacy needs: "
            "moments, clipping, sums of integers, noise."
        ),
        rows="model",
        minutes=0.4,
        measure=measure,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
