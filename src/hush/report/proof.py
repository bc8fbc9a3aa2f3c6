"""A charge in words: the noise, its paper, and how far one person changes the answer."""

from __future__ import annotations

from hush.noise.catalogue import family_of, in_words
from hush.noise.contract import Noise
from hush.privacy.charge import Charge
from hush.privacy.sensitivity import Sensitivity

__all__ = ["moves", "named", "paper"]


def named(charge: Charge) -> str:
    """The noise on one line."""
    if not isinstance(charge.noise, Noise):
        return "an imported loss distribution"
    sampled = "" if charge.rate is None else f" on a Poisson sample of rate {charge.rate:.6g}"
    return in_words(charge.noise) + sampled


def paper(charge: Charge) -> str:
    """The papers that describe the noise."""
    inner = getattr(charge.noise, "noise", None)
    rows = [family_of(one) for one in (charge.noise, inner) if isinstance(one, Noise)]
    return "; ".join("not in the catalogue" if row is None else row.paper or row.name for row in rows)


def moves(bound: Sensitivity) -> str:
    """The sensitivity in words: how far one person changes the answer."""
    if bound.is_box:
        if isinstance(bound.linf, tuple):
            return f"at most {bound.moving} numbers, each by its bound, {min(bound.linf):.6g} to {max(bound.linf):.6g}"
        one = f"one number by at most {bound.linf:.6g}"
        return one if bound.moving == 1 else f"at most {bound.moving} numbers by at most {bound.linf:.6g} each"
    known = [f"{bound.l1:.6g} in the l1 norm"] if bound.l1 is not None else []
    known += [f"{bound.l2:.6g} in the l2 norm"] if bound.l2 is not None else []
    if bound.linf is not None:
        known.append(f"{max(bound.linf) if isinstance(bound.linf, tuple) else bound.linf:.6g} in each number")
    return f"the answer by at most {' and '.join(known)}" + (
        f", over at most {bound.moving} numbers" if bound.moving is not None else ""
    )
