"""Local reports: the variance of a mean beside published mechanisms, and the error of a histogram."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
from record import Benchmark, Line, main

from hush import federated


def randomised_response(epsilon: float) -> float:
    """Duchi, Jordan and Wainwright 2018: one of two numbers; the largest variance for values in [0, 1]."""
    return 0.25 / math.tanh(0.5 * epsilon) ** 2


def piecewise(epsilon: float) -> float:
    """Wang et al. 2019, the piecewise mechanism: its largest variance, at the ends of the range."""
    root = math.exp(0.5 * epsilon)
    return root / (3.0 * (root - 1.0) ** 2)


def hybrid(epsilon: float) -> float:
    """Wang et al. 2019, the hybrid mechanism: the best mixture of the two others."""
    if epsilon <= 0.61:
        return randomised_response(epsilon)
    root, most = math.exp(0.5 * epsilon), math.exp(epsilon)
    inner = (root + 3.0) / (3.0 * root * (root - 1.0))
    return 0.25 * (inner + (most + 1.0) ** 2 / (root * (most - 1.0) ** 2))


def mean_variance(quick: bool) -> Iterator[Line]:
    """The largest variance of a report over all values, as a multiple of ours."""
    for epsilon in (0.5, 1.0) if quick else (0.1, 0.5, 1.0, 2.0, 4.0, 8.0):
        ours = federated.local_mean(epsilon).variance
        rivals = {
            "randomised response": randomised_response(epsilon),
            "piecewise": piecewise(epsilon),
            "hybrid": hybrid(epsilon),
        }
        error = 0.02 * math.sqrt(ours)  # about 10,000 reports
        plans = federated.reports_needed(error, epsilon, 0, 1, delta=0.0, families=["laplace", "staircase", "optimal"])
        best = next(row for row in plans.rows if row.family != "optimal")
        for column, value in rivals.items():
            yield Line(f"epsilon {epsilon:g}", column, value / ours, "times", "higher", extra=f"ours {ours:.4g}")
        many, few = float(best.reports or math.inf), float(plans.best.reports or 1)
        yield Line(
            f"epsilon {epsilon:g}", "reports with the best noise", many / few, "times", "higher", extra=f"{few:.0f}"
        )


def histogram_error(quick: bool) -> Iterator[Line]:
    """The squared error of raw estimates, as a multiple of that of possible counts."""
    people, runs = (2000, 2) if quick else (10_000, 12)
    for categories in (10, 100):
        chances = 1.0 / np.arange(1, categories + 1)
        rng, sums = np.random.default_rng(categories), np.zeros(2)
        for _ in range(runs):
            values = rng.choice(categories, people, p=chances / chances.sum())
            truth = np.bincount(values, minlength=categories)
            sent = federated.answers(values.tolist(), 1.0, range(categories))
            for place, raw in enumerate((True, False)):
                made = federated.histogram(sent, raw=raw)
                sums[place] += float(np.mean((np.array(made.count) - truth) ** 2)) / people / runs
        yield Line(
            f"{categories} categories",
            "the raw estimates",
            sums[0] / sums[1],
            "times",
            "higher",
            extra=f"n times the squared error of a share: {sums[0]:.2f} and {sums[1]:.2f}",
        )


BENCHMARKS = (
    Benchmark(
        key="local-mean",
        title="Local reports of a mean",
        measures=(
            "The largest variance of one report over all values in the range, as a multiple of ours; and the reports "
            "that the best additive noise needs for the same error, as a multiple of ours."
        ),
        fair=(
            "All reports are unbiased and have the same pure epsilon. Variances of the others are the closed forms of "
            "their papers for exact real numbers. Ours includes the rounding of values to a grid."
        ),
        rows="budget",
        minutes=0.05,
        measure=mean_variance,
    ),
    Benchmark(
        key="local-histogram",
        title="Local histograms",
        measures=(
            "Squared error of the counts of 10,000 people by category (Zipf's law) at epsilon 1: raw estimates as a "
            "multiple of the possible counts that are nearest to them."
        ),
        fair="Both are computed from the same answers; the people are drawn anew in each of 12 runs.",
        rows="question",
        minutes=0.05,
        measure=histogram_error,
    ),
)

if __name__ == "__main__":
    raise SystemExit(main(BENCHMARKS))
