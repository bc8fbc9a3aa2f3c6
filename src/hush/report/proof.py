"""A charge in words: the noise and its paper."""

from __future__ import annotations

from hush.noise.catalogue import family_of, in_words
from hush.noise.contract import Noise
from hush.privacy.charge import Charge

__all__ = ["named", "paper"]


def named(charge: Charge) -> str:
    """The noise on one line."""
    if not isinstance(charge.noise, Noise):
        return "an imported loss distribution"
    if charge.rate is None:
        return in_words(charge.noise)
    kind = f"batch of {charge.rate:.6g} of the rows" if charge.fixed else f"Poisson sample of rate {charge.rate:.6g}"
    return f"{in_words(charge.noise)} on a {kind}"


def paper(charge: Charge) -> str:
    """The papers that describe the noise."""
    inner = getattr(charge.noise, "noise", None)
    rows = [family_of(one) for one in (charge.noise, inner) if isinstance(one, Noise)]
    names = ("not in the catalogue" if row is None else row.paper or row.name for row in rows)
    return "; ".join(dict.fromkeys(names))
