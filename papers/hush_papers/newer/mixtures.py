"""Liu, Selvi and Wiesemann (ICML 2026): mixtures of Gaussians, beside the limit of every noise."""

from __future__ import annotations

import math

import hush
from hush_papers.item import Context, Grid, Item

__all__ = ["mixtures", "possible"]

#: (epsilon, delta, per cent by which the mean absolute error is below that of the analytic Gaussian): a transcription
#: of Table 1 by others, which we could not compare with the paper
_TRANSCRIBED = ((1.0, 1e-5, 67.80), (2.0, 1e-5, 79.16), (5.0, 1e-5, 94.68), (10.0, 1e-6, 88.08))


def possible(epsilon: float, delta: float) -> tuple[float, float]:
    """Per cent by which the best noise of hush, and any noise at most, is below the Gaussian in mean absolute error."""
    gaussian = hush.gaussian.sigma(epsilon, delta) * math.sqrt(2.0 / math.pi)
    bracket = hush.limit(epsilon, delta, loss="mae")
    return 100.0 * (1.0 - bracket.upper / gaussian), 100.0 * (1.0 - bracket.lower / gaussian)


def mixtures(context: Context) -> Item:
    """Four cells of Table 1 beside what is possible."""
    rows = [(e, d, stated, *possible(e, d)) for e, d, stated in _TRANSCRIBED]
    beyond = [f"({e:g}, {d:g})" for e, d, stated, _, most in rows if stated - 0.005 > most]
    text = (
        "The paper mixes Gaussians with one variance and several means. Its abstract claims noise near the optimum for "
        "large epsilon. The table compares four improvements over the Gaussian mechanism, known to us from a "
        "transcription by others, with the largest improvement that any noise can have, by the proved lower end of "
        f"hush.limit. At {', '.join(beyond)} the transcribed improvement is larger than any noise can have: if the "
        "transcription is right, the noise there is not private. We give no verdict, because we could not compare the "
        "transcription with the paper."
    )
    grid = Grid(
        "Mean absolute error below that of the Gaussian, in per cent",
        ("epsilon", "delta", "transcribed", "hush", "any noise, at most"),
        tuple(rows),
    )
    return Item("newer-mixtures", "Liu et al. 2026, Table 1", "Mixtures of Gaussians", text, grids=(grid,))
