"""Which theorem stands behind a noise under a sensitivity, and in which paper: what hush.privacy.vector does, in words."""

from __future__ import annotations

from hush.noise.catalogue import family_of, in_words
from hush.noise.contract import Law
from hush.noise.lattice import Lattice
from hush.privacy.subsampling import Subsampled
from hush.sensitivity import Sensitivity

__all__ = ["moves", "named", "paper", "theorem"]

_BALL = {
    ("gaussian", "l2"): "exact: Balle and Wang 2018, Theorem 8; Zhao et al. 2019, Theorem 2",
    ("gaussian", "l1"): "the l2 norm is at most the l1 norm; then exact: Balle and Wang 2018, Theorem 8; Zhao et al. 2019, Theorem 2",
    ("laplace", "l1"): "exact: the whole move on one number is the worst (Dwork, McSherry, Nissim and Smith 2006, Proposition 1)",
    ("laplace", "l2"): "the l1 norm is at most sqrt(K) times the l2 norm; then exact, as for l1",
    ("osgt", "l2"): "a bound in every direction by Renyi divergences: Sadeghi and Korki 2022, Theorem 2",
    ("flipped_huber", "l2"): "a bound in every direction: Muthukrishnan and Kalyani 2023, Theorem 8, with its hypothesis corrected",
    ("stable", "l1"): "a bound by the largest score of the density: pure epsilon at most l1 sup|score| (hush.privacy.vector)",
    (
        "stable",
        "l2",
    ): "a bound by the largest score of the density: pure epsilon at most sqrt(K) l2 sup|score| (hush.privacy.vector)",
    ("osgt", "l1"): "every number moves by at most the l1 norm; then as for linf and l0",
    ("flipped_huber", "l1"): "every number moves by at most the l1 norm; then as for linf and l0",
}
_BOX = (
    "exact: for symmetric noise that falls away from 0 the divergence grows with the shift, so the worst case is every number that can "
    "move at its full move; the curve is the composition of these (hush.privacy.vector)"
)
_GAUSSIAN_BOX = (
    "exact: the numbers that move act as one of the l2 norm of all moves (Zhao et al. 2019, Lemma 15); Balle and Wang 2018, Theorem 8; "
    "Zhao et al. 2019, Theorem 2"
)
_LATTICE = "exact, by sums over the lattice; "


def named(mechanism: Law | Subsampled) -> str:
    """The noise on one line."""
    if isinstance(mechanism, Subsampled):
        return f"{in_words(mechanism.whole.noise)} on a Poisson sample of rate {mechanism.rate:.6g}"
    return in_words(mechanism)


def paper(mechanism: Law | Subsampled) -> str:
    """The catalogue's paper."""
    noise = mechanism.whole.noise if isinstance(mechanism, Subsampled) else mechanism
    inner = getattr(noise, "noise", None)
    rows = [family_of(one) for one in (noise, inner) if one is not None]
    return "; ".join("not in the catalogue" if row is None else row.paper or row.name for row in rows)


def theorem(mechanism: Law | Subsampled, bound: Sensitivity | None) -> str:
    """What certifies the curve of the noise for this sensitivity."""
    if isinstance(mechanism, Subsampled) or bound is None:
        return "exact for one unit more or less: Balle, Barthe and Gaboardi 2018, Theorems 8 and 13"
    plain = mechanism.plain()
    row = family_of(plain)
    key = "" if row is None else row.name
    lattice = _LATTICE if isinstance(plain, Lattice) else ""
    if bound.is_box:
        return _GAUSSIAN_BOX if key == "gaussian" else (lattice + _BOX.removeprefix("exact: ") if lattice else _BOX)
    kind = "l1" if bound.l1 is not None else "l2"
    return lattice + _BALL.get((key, kind), "by the theorem that hush.privacy.vector names")


def moves(bound: Sensitivity | None) -> str:
    """The sensitivity in words: how far one unit moves the answer."""
    if bound is None:
        return "one number, as stated with the noise"
    if bound.linf is not None and bound.l0 is not None and bound.l1 is None and bound.l2 is None:
        if isinstance(bound.linf, tuple):
            return f"at most {bound.l0} numbers, each by its own bound, {min(bound.linf):.6g} to {max(bound.linf):.6g}"
        return (
            f"one number by at most {bound.linf:.6g}" if bound.l0 == 1 else f"at most {bound.l0} numbers by at most {bound.linf:.6g} each"
        )
    known = [f"{bound.l1:.6g} in the l1 norm"] if bound.l1 is not None else []
    known += [f"{bound.l2:.6g} in the l2 norm"] if bound.l2 is not None else []
    return f"the answer by at most {' and '.join(known)}" + (f", over at most {bound.l0} numbers" if bound.l0 is not None else "")
