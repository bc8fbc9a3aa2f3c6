"""Theorem 9 of the flipped Huber paper, and the noise that its Section VI-B chooses through zCDP."""

from __future__ import annotations

import math
from typing import Any

from hush import FlippedHuber, Gaussian, Laplace, renyi
from hush.learn import zcdp
from hush.privacy.conversion import zcdp_to_epsilon
from hush.privacy.paper_bounds import flipped_huber_theorem9
from hush_papers.flipped_huber.optimum import best
from hush_papers.item import Comparison, Context, Figure, Grid, Item, claim, line

__all__ = ["composition"]


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
        "Rising lines. By zCDP flipped Huber noise is below the Gaussian up to T = 14 and on it from 15; exact "
        "accounting saves a third for the Gaussian at every T, and flipped Huber noise joins it from about 20 "
        "releases.",
        log_x=True,
        log_y=True,
    )
    table = Grid(
        "What Section VI-B's choice of (xi, eta) is, epsilon = 1, delta = 1e-6",
        ("releases T", "least-variance member", "variance", "Gaussian by zCDP", "Gaussian, exact"),
        tuple(_chosen(t) for t in steps),
    )
    text = (
        "Through zCDP and Bun and Steinke's Lemma 3.5 the least variance is always at one end of the family: for few "
        "releases Laplace noise with epsilon/T a release, for more the Gaussian; never a mixture. Coordinate descent "
        "makes passes times coordinates releases, so in Table III both columns should nearly always have the same "
        "noise. Exact accounting saves more than a change of shape, for either noise."
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
    """The noise that is chosen, for T from 1 to 40."""
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
            why=(
                f"It does not shrink gradually: beyond this T it is 0. For T from 1 to 40, {hybrids} choices lie "
                "between Laplace and Gaussian noise."
            ),
        ),
        claim(
            "Sec. VI-C: flipped Huber over Gaussian variance through zCDP, T = 20, (1, 1e-6)",
            '"seems to perform significantly better than Gaussian"',
            twenty,
            holds=twenty < 0.99,
            function="hush.learn.zcdp.flipped_huber",
            why=(
                "The paper says this of applications without a very large number of compositions, such as the "
                f"coordinate descent of Table III. Through zCDP it is the same noise beyond {last} releases, and one "
                "pass over twenty coordinates makes more releases than that."
            ),
        ),
    )
