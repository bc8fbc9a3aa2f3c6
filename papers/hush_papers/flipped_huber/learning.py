"""Section VI of the flipped Huber paper: zCDP, the noise of coordinate descent, Table III and the percentages drawn
from it.
"""

from __future__ import annotations

import math
from typing import Any

from hush import FlippedHuber, Gaussian, Laplace, renyi
from hush.learn import zcdp
from hush.privacy.conversion import zcdp_to_epsilon
from hush.privacy.paper_bounds import flipped_huber_theorem9
from hush_papers.flipped_huber.optimum import best
from hush_papers.flipped_huber.table3 import PUBLISHED, stored_run
from hush_papers.item import NOT_REPRODUCIBLE, Comparison, Context, Figure, Grid, Item, claim, compare, line

__all__ = ["composition", "less", "percentages", "table_3"]

#: the command that makes the stored run anew
ANEW = "python -m hush_papers.flipped_huber.table3 --data FOLDER --out FILE"
_STORED = "hush_papers.flipped_huber.table3.stored_run"
_GAUSSIAN, _HUBER = "Gaussian, zCDP", "flipped Huber, zCDP"


# -- zCDP ----------------------------------------------------------------------------------------------------


def composition(context: Context) -> Item:
    """Theorem 9 and the noise that Section VI-B chooses through it."""
    steps = (1, 2, 5, 10, 14, 15, 20, 30, 50, 100)
    exact = (1, 5, 20) if context.quick else (1, 2, 5, 10, 15, 20, 30, 50)
    figure = Figure(
        "fh-zcdp",
        "Variance of each of T releases for (1, 1e-6) in all, sensitivity 1",
        "releases T = passes times coordinates",
        "variance of each release",
        (
            line("Gaussian, zCDP", steps, [zcdp.gaussian(1.0, 1e-6, t).variance for t in steps]),
            line("flipped Huber, zCDP", steps, [zcdp.flipped_huber(1.0, 1e-6, t).variance for t in steps], dashed=True),
            line("Gaussian, exact", steps, [best("gaussian", 1.0, 1e-6, t).variance for t in steps]),
            line(
                "flipped Huber, exact",
                exact,
                [best("flipped_huber", 1.0, 1e-6, t).variance for t in exact],
                dashed=True,
            ),
        ),
        "Rising lines. By zCDP flipped Huber noise is below the Gaussian up to T = 14 and on it from 15; exact accounting saves a third "
        "for the Gaussian at every T, and flipped Huber noise joins it from about 20 releases.",
        log_x=True,
        log_y=True,
    )
    table = Grid(
        "What Section VI-B's choice of (xi, eta) is, epsilon = 1, delta = 1e-6",
        ("releases T", "least-variance member", "variance", "Gaussian by zCDP", "Gaussian, exact"),
        tuple(_chosen(t) for t in steps),
    )
    text = (
        "Through zCDP and Bun and Steinke's Lemma 3.5 the least variance is always at an end: Laplace noise with epsilon/T a release for "
        "few releases, the Gaussian for more; never a hybrid. Coordinate descent makes passes times coordinates releases, so in Table III "
        "both columns should nearly always have the same noise. Exact accounting helps either noise more than its shape does."
    )
    return Item("fh-zcdp", "Theorem 9, Sec. VI-B", "Composition", text, (*_theorem_9(), *_ends()), (figure,), (table,))


def _chosen(t: int) -> tuple[Any, ...]:
    noise = zcdp.flipped_huber(1.0, 1e-6, t)
    return (
        t,
        type(noise).__name__,
        noise.variance,
        zcdp.gaussian(1.0, 1e-6, t).variance,
        best("gaussian", 1.0, 1e-6, t).variance,
    )


def _theorem_9() -> tuple[Comparison, ...]:
    shapes = ((0.4, 1.5), (0.75, 1.0), (2.0, 1.0), (3.0, 2.5))
    orders = (1.01, 1.5, 2.0, 5.0, 20.0)
    ratio = max(
        renyi(FlippedHuber(a, g), x) / flipped_huber_theorem9(FlippedHuber(a, g), x) for a, g in shapes for x in orders
    )
    noise = FlippedHuber(2.0, 1.0)
    eta = flipped_huber_theorem9(noise, 3.0) - flipped_huber_theorem9(noise, 2.0)
    xi = flipped_huber_theorem9(noise, 2.0) - 2.0 * eta
    return (
        claim(
            "Theorem 9: largest Renyi divergence over xi + Lambda eta, four noises, orders 1.01 to 20",
            "<= 1",
            ratio,
            holds=ratio <= 1.0,
            function="hush.privacy.paper_bounds.flipped_huber_theorem9",
        ),
        claim(
            "Theorem 9: xi at alpha = 2, gamma = 1",
            "R/(2 gamma^2) = 1.5",
            xi,
            holds=math.isclose(xi, 1.5, rel_tol=1e-12),
            function="hush.privacy.paper_bounds.flipped_huber_theorem9",
        ),
        claim(
            "Theorem 9: eta at alpha = 2, gamma = 1",
            "Delta^2/(2 gamma^2) = 0.5",
            eta,
            holds=math.isclose(eta, 0.5, rel_tol=1e-12),
            function="hush.privacy.paper_bounds.flipped_huber_theorem9",
        ),
    )


def _ends() -> tuple[Comparison, ...]:
    """Which member is chosen, over T."""
    chosen = {t: zcdp.flipped_huber(1.0, 1e-6, t) for t in range(1, 41)}
    hybrids = sum(isinstance(noise, FlippedHuber) for noise in chosen.values())
    last = max(t for t, noise in chosen.items() if isinstance(noise, Laplace))
    first = zcdp.gaussian(1.0, 1e-6, 20)
    spent = zcdp_to_epsilon(20.0 / (2.0 * first.sigma**2), 1e-6)
    twenty = zcdp.flipped_huber(1.0, 1e-6, 20).variance / first.variance
    return (
        claim(
            "Sec. VI-B: gamma = sqrt(KL/(2 eta)) for the Gaussian, K L = 20: epsilon by Lemma 3.5 at 1e-6",
            "1",
            spent,
            holds=spent <= 1.0 + 1e-9 and spent > 1.0 - 1e-6,
            function="hush.learn.zcdp.gaussian",
        ),
        claim(
            "Sec. VI-C: largest T at which the choice is not the Gaussian, (1, 1e-6)",
            '"the transition parameter alpha tends to get smaller"',
            float(last),
            holds=all(isinstance(chosen[t], Gaussian) for t in chosen if t > last),
            function="hush.learn.zcdp.flipped_huber",
            why=f"It does not shrink gradually: beyond this T it is 0. Of T = 1 to 40, {hybrids} have a noise between Laplace and "
            "Gaussian.",
        ),
        claim(
            "Sec. VI-C: flipped Huber over Gaussian variance through zCDP, T = 20, (1, 1e-6)",
            '"seems to perform significantly better than Gaussian"',
            twenty,
            holds=twenty < 0.99,
            function="hush.learn.zcdp.flipped_huber",
            why="Said of applications without a very large number of compositions, such as the coordinate descent of Table III. Through "
            "zCDP "
            f"it is the same noise: nothing is gained beyond {last} releases, and one pass over twenty coordinates is more.",
        ),
    )


# -- Table III -----------------------------------------------------------------------------------------------


_WHY = (
    "epsilon, delta, grids, scaling, intercept and splits are not stated; this is our reading (epsilon = 1, delta = 1/N^2; docs/learn.md, "
    "section 5), the best of a grid by squared error, five trials, from a stored run. Random."
)


def table_3(context: Context) -> Item:
    """Coordinate descent on eight data sets."""
    rows = stored_run()
    found = {(row["name"], row["kind"]): row for row in rows}
    sets = [name for name in PUBLISHED if (name, _GAUSSIAN) in found and (name, _HUBER) in found]
    compared = [c for name in sets for c in _set(name, found[name, _GAUSSIAN], found[name, _HUBER])]
    compared += _wins(sets, found)
    table = Grid(
        "Squared error of the weights: printed, best of the grid, and fresh trials at the same point",
        (
            "data set",
            "noise and accounting",
            "noise chosen",
            "passes",
            "clip",
            "printed",
            "best of grid",
            "fresh trials",
            "fresh test error",
        ),
        tuple(_grid_row(row) for row in rows),
    )
    figure = Figure(
        "fh-table3",
        "Squared error of flipped Huber over that of the Gaussian",
        "data set: " + ", ".join(f"{number} {name}" for number, name in enumerate(sets, 1)),
        "ratio of squared errors",
        (
            line(
                "printed", range(1, len(sets) + 1), [PUBLISHED[n][1][0] / PUBLISHED[n][0][0] for n in sets], points=True
            ),
            line(
                "ours, fresh trials, zCDP",
                range(1, len(sets) + 1),
                [_ratio(found, n, "fresh_squared_error") for n in sets],
                points=True,
            ),
            line(
                "ours, best of grid, zCDP",
                range(1, len(sets) + 1),
                [_ratio(found, n, "squared_error") for n in sets],
                points=True,
            ),
            line("equal", [1, len(sets)], [1.0, 1.0], dashed=True),
        ),
        "The printed ratios are all below 1; ours scatter on both sides of 1, as chance would have it when both noises are the same law.",
    )
    text = (
        "Not reproducible as described. Under the accounting that the paper states the two noises are the same law at nearly every "
        "chosen point, so what differs is chance; and the best of many noisy means is too good by itself.\n\n"
        "Our numbers are not computed in this run: they are read from a stored one, which takes about twenty minutes and the data sets. "
        f"It is made anew by {ANEW}; being random, it will differ."
    )
    return Item("fh-table3", "Table III", "Private coordinate descent", text, tuple(compared), (figure,), (table,))


def _ratio(found: dict[tuple[str, str], dict[str, Any]], name: str, what: str) -> float:
    return float(found[name, _HUBER][what]) / float(found[name, _GAUSSIAN][what])


def _grid_row(row: dict[str, Any]) -> tuple[Any, ...]:
    column = 0 if row["kind"].startswith("Gaussian") else 1
    said = PUBLISHED[row["name"]][column][0] if row["kind"].endswith("zCDP") else math.nan
    return (
        *(row[key] for key in ("name", "kind", "family", "passes", "clip")),
        said,
        *(row[key] for key in ("squared_error", "fresh_squared_error", "fresh_test_error")),
    )


def _set(name: str, *kinds: dict[str, Any]) -> list[Comparison]:
    rows = []
    for row, said, noise in zip(kinds, PUBLISHED[name], ("Gaussian", "flipped Huber"), strict=True):
        for what, printed, key in (("NMSE", said[0], "squared_error"), ("test error", said[1], "test_error")):
            text = (
                f"{1e3 * printed:.4f}e-3" if name == "houses" and key == "squared_error" else f"{printed:.4f}"
            )  # digits as printed
            rows.append(
                compare(
                    f"{name}, {noise}: {what}",
                    text,
                    float(row[key]),
                    function=_STORED,
                    why=_WHY,
                    verdict=NOT_REPRODUCIBLE,
                )
            )
    return rows


def _wins(sets: list[str], found: dict[tuple[str, str], dict[str, Any]]) -> list[Comparison]:
    squared = sum(_ratio(found, name, "fresh_squared_error") < 1.0 for name in sets)
    tests = sum(_ratio(found, name, "fresh_test_error") < 1.0 for name in sets)
    why = "On fresh trials of the stored run; under the stated accounting the noise is the Gaussian on nearly every set: chance."
    return [
        compare(
            f"sets of {len(sets)} where flipped Huber has the smaller {what}",
            '"outperforms Gaussian in all the datasets considered"',
            float(count),
            function=_STORED,
            why=why,
            verdict=NOT_REPRODUCIBLE,
        )
        for what, count in (("NMSE", squared), ("test error", tests))
    ]


def less(name: str, column: int) -> tuple[float, float]:
    """By how much flipped Huber is below the Gaussian in the printed Table III: per cent of it, and the difference
    times 100.
    """
    gaussian, huber = (pair[column] for pair in PUBLISHED[name])
    return 100.0 * (1.0 - huber / gaussian), 100.0 * (gaussian - huber)


def percentages(context: Context) -> Item:
    """The text's percentages against Table III."""
    rows = []
    for printed, name, column, what in (
        ("8.29", "wine", 0, "improvement in NMSE, Wine"),
        ("1.85", "heart", 1, "reduction of the misclassification error, Heart"),
        ("10.26", "diabetes", 0, "less NMSE, Diabetes"),
        ("13.57", "diabetes", 1, "less normalised RSS, Diabetes"),
    ):
        relative, difference = less(name, column)
        why = f"The printed number is the difference in Table III times 100, {difference:.2f}, and no percentage of the Gaussian's value."
        rows.append(
            compare(
                f"{what}: relative reduction in the printed Table III, per cent",
                printed,
                relative,
                function="hush_papers.flipped_huber.learning.less",
                why=why,
            )
        )
    text = (
        "Arithmetic on the printed Table III, whatever its numbers are worth: the relative reductions are larger than the text says. For "
        "an "
        "error rate the printed numbers may be read as percentage points."
    )
    return Item("fh-percentages", "Sec. VI-B", "Percentages", text, tuple(rows))
