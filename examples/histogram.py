"""A private histogram: the least noise for the budget, noisy bars with their intervals, and the guarantee.

The ages are generated and do not belong to real people.
"""

from __future__ import annotations

import math

import numpy as np

import hush

EPSILON, DELTA = 1.0, 1e-6
LABELS = ("0-9", "10-19", "20-29", "30-39", "40-49", "50-59", "60-69", "70-79", "80+")


def ages(people: int) -> np.ndarray:
    """The ages of a generated population."""
    random = np.random.default_rng(7)
    return np.clip(
        np.where(random.random(people) < 0.3, random.normal(12, 7, people), random.normal(46, 17, people)), 0, 99
    )


def bar(value: float, low: float, high: float, unit: float) -> str:
    """A bar with its interval: # up to the noisy value, [ and ] at the ends of the interval."""
    line = ["#" if i < value / unit else " " for i in range(56)]
    for mark, at in (("[", low), ("]", high)):
        line[min(max(int(at / unit), 0), 55)] = mark
    return "".join(line).rstrip()


def main() -> None:
    counts, _ = np.histogram(ages(400), bins=[*range(0, 90, 10), 100])
    plan = hush.calibrate(EPSILON, DELTA, hush.Sensitivity(linf=1.0, l0=1), step=1.0)
    ledger = hush.Ledger(None, epsilon=2.0 * EPSILON, delta=2.0 * DELTA)
    answer = hush.release(counts, plan, ledger=ledger, label="age histogram").non_negative()
    reach = answer.error.half_width95
    unit = max(float(answer.value.max()) + reach, 1.0) / 55.0

    print(
        f"The ages of 400 people (epsilon = {EPSILON:g}, delta = {DELTA:g}; "
        "[ ] contains the true count with probability 95 %)\n"
    )
    for label, value, low, high in zip(LABELS, answer.value, *answer.interval(), strict=True):
        print(f"{label:>6} {value:5.0f} +- {reach:.0f}  {bar(value, low, high, unit)}")
    gaussian = next(c for c in plan.ranking if c.family == "gaussian")
    print(f"\n{answer}\n\n{ledger}\n\n{plan.why}")
    print(
        "Guarantee: adding or removing one person, who is in one bar, changes the probability of any output by at most "
        f"a factor e^{EPSILON:g} = {math.exp(EPSILON):.3g}, except for an event of probability {DELTA:g}."
    )
    errs = 100.0 * hush.curve(plan.noise).least_error_sum / 2.0
    print(f"The best possible guess whether a given person is in the data is wrong in at least {errs:.0f} % of cases.")
    print(
        f"The Gaussian noise that most tools would add has {gaussian.variance / plan.variance:.1f} times the variance."
    )


if __name__ == "__main__":
    main()
