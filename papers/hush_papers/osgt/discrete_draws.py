"""Discrete OSGT: exact draws in two ways."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from hush import Discrete, Gaussian, draw
from hush.sampling.entropy import DeterministicTestEntropy
from hush_papers.item import Comparison, Context, Figure, Item, claim, line
from hush_papers.osgt.rejection import osgt_by_rejection
from hush_papers.osgt.setting import FIRST

__all__ = ["discrete_draws"]

Array = NDArray[np.float64]


def discrete_draws(context: Context) -> Item:
    """Exact draws in two ways."""
    size = 100_000
    k = np.arange(-15.0, 16.0)
    share = np.asarray(Discrete(FIRST).pdf(k))
    samples = {
        "draw": draw(Discrete(FIRST), size, entropy=DeterministicTestEntropy(8)),
        "rejection": osgt_by_rejection(FIRST, size, entropy=DeterministicTestEntropy(9)),
    }
    counts = {name: np.array([(sample == x).sum() for x in k]) for name, sample in samples.items()}
    scores = {
        name: float(np.max(np.abs(found - size * share) / np.sqrt(size * share * (1.0 - share))))
        for name, found in counts.items()
    }
    expected = _kept()
    rows, figure = _draw_rows(size, scores["rejection"], expected), _frequencies(size, k, share, counts)
    text = (
        f"Both routes draw from the same law: the largest deviation of 31 frequencies is {scores['draw']:.2f} "
        "standard deviations for hush.draw. Draws here use fixed bits, so that each report has the same numbers. On "
        f"the integers {expected:.6f} of the discrete Gaussian draws are kept, in the continuum "
        f"{2.0 * float(Gaussian(FIRST.sigma).sf(3.0)):.6f}. The rejection method rejects an m that is not an "
        "integer; hush.draw draws it exactly, because it inverts the exact distribution function in ball arithmetic."
    )
    return Item("osgt-discrete-draws", "Sec. V and slides", "Discrete OSGT: draws", text, rows, (figure,))


def _draw_rows(size: int, score: float, expected: float) -> tuple[Comparison, ...]:
    wanted = 6.0  # standard deviations; with 63 comparisons exact draws fail with probability below 1e-6
    base = draw(Discrete(Gaussian(FIRST.sigma)), size, entropy=DeterministicTestEntropy(10))
    kept = float(np.mean((base >= 3) | (base < -3)))
    return (
        claim(
            "Sec. V: reject -m..m-1 and shift; largest deviation of 31 frequencies, in standard deviations",
            '"sample exactly a discrete OSGT distribution"',
            score,
            holds=score < wanted,
            function="hush_papers.osgt.rejection.osgt_by_rejection",
            why=(
                "Correct for whole m only; for other m the two tails miss the lattice. hush.draw needs no such "
                "condition."
            ),
        ),
        claim(
            "slides: share of Gaussian draws that survive the rejection (exact on the integers: see text)",
            "2 Q(m/sigma)",
            kept,
            holds=abs(kept - expected) < wanted * math.sqrt(expected * (1.0 - expected) / size),
            function="hush.draw",
        ),
    )


def _frequencies(size: int, k: Array, share: Array, counts: dict[str, Array]) -> Figure:
    return Figure(
        "osgt-discrete-draws",
        f"Frequencies of {size} draws over exact probability, discrete OSGT(3, 40)",
        "integer k",
        "frequency / probability",
        (
            *(
                line("hush.draw" if name == "draw" else "rejection", k, found / (size * share), points=True)
                for name, found in counts.items()
            ),
            line("two standard deviations", k, 1.0 + 2.0 * np.sqrt((1.0 - share) / (size * share)), dashed=True),
            line("two standard deviations, below", k, 1.0 - 2.0 * np.sqrt((1.0 - share) / (size * share)), dashed=True),
        ),
        "Frequencies of both samplers scatter around 1, mostly within two standard deviations, which widen towards "
        "the tails.",
    )


def _kept() -> float:
    """P(Y >= m or Y < -m) of the discrete Gaussian."""
    whole = Discrete(Gaussian(FIRST.sigma))
    return 1.0 - math.fsum(np.asarray(whole.pdf(np.arange(-3.0, 3.0))))
