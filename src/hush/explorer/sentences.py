"""Each noise in one plain sentence, for readers who do not know its name."""

from __future__ import annotations

from hush.explorer.state import joint_names, names
from hush.noise.catalogue import family

__all__ = ["about", "sentence"]

_SENTENCES = {
    "gaussian": "The bell curve: very large errors are extremely rare, and it always needs a delta above 0.",
    "laplace": "A sharp peak with two exponential sides; the noise that is used most often for one number.",
    "osgt": "A peak like that of Laplace noise, with sides that fall as fast as those of a bell curve.",
    "flipped_huber": "Laplace noise near zero, and a bell curve farther out.",
    "stable": "Noise that many people can add in shares; large errors are so frequent that the variance is infinite.",
    "staircase": "Flat steps that fall by one factor; for one number and delta 0, no noise has less variance.",
    "truncated_laplace": "Laplace noise that is never larger than a fixed bound.",
    "exponential_power": "A curve between Laplace noise, the bell curve and a flat box, chosen for the guarantee.",
    "asinh": "A rounded peak whose sides fall a little faster than those of Laplace noise.",
    "stepped": "Many small flat steps, whose heights are chosen for the guarantee.",
    "ball": "Noise for all numbers together: an error is a direction, all equally likely, and a random length.",
    "correlated": "Noise with a part that all numbers share, for counts, which a person moves in one direction.",
    "stairs": "Noise for all numbers together whose density falls in stairs as wide as one person's move.",
    "cube": "Noise for all numbers together: one common size is drawn, and each error is uniform within this size.",
    "interval": "Noise for all numbers together, for counts: only the largest errors up and down matter.",
    "plateau": "Noise for all numbers together, where some are counts and others move in both directions.",
    "hull": "Noise for all numbers together, where one person moves only some of them.",
}


def sentence(name: str) -> str:
    """The sentence of a family. For a family that somebody registered it is the first sentence of its class.

    >>> sentence("truncated_laplace")
    'Laplace noise that is never larger than a fixed bound.'
    """
    written = " ".join((family(name).type.__doc__ or "").split())
    return _SENTENCES.get(name) or written.split(". ")[0].rstrip(".") + "."


def about() -> dict[str, str]:
    """The sentence of every family that the page can show."""
    return {name: sentence(name) for name in (*names(), *joint_names())}
