"""Joseph et al. (ICML 2025) and Wei et al. (ICML 2026): spherical noise for l2 sensitivity, beside ball noise."""

from __future__ import annotations

import hush
from hush_papers.item import Context, Grid, Item
from hush_papers.newer.radial import least_variance

__all__ = ["saved", "spherical"]

#: (d, alpha, p, per cent below the better of Gaussian and l2 mechanism at (0.1, 0.1)): from a summary by others, which
#: we could not compare with the paper
_TRANSCRIBED = ((2, 1.0, 4.0, 15.0), (3, 2.0, 4.5, 12.6), (5, 3.5, 6.0, 10.5))


def _variances(epsilon: float, delta: float, d: int) -> tuple[float, float, float]:
    """The least variance of a coordinate: Gaussian, ball, and the proved lower bound for any noise."""
    within = hush.Sensitivity(l2=1.0, dimension=d)
    made = {name: hush.calibrate(epsilon, delta, within, family=name) for name in ("gaussian", "ball")}
    limit = made["ball"].limit
    return made["gaussian"].variance, made["ball"].variance, float("nan") if limit is None else float(limit.lower)


def saved(d: int, alpha: float, p: float) -> tuple[float, float]:
    """At (0.1, 0.1): the variance of the generalised gamma noise, and by how many per cent it is below the others."""
    ours = least_variance(0.1, 0.1, d, alpha, p)
    gaussian, ball, _ = _variances(0.1, 0.1, d)
    return ours, 100.0 * (1.0 - ours / min(gaussian, ball))


def spherical(context: Context) -> Item:
    """Variance of a coordinate for l2 sensitivity 1."""
    sizes = (2, 10) if context.quick else (2, 3, 5, 10, 20, 50)
    rows = tuple(
        (e, delta, d, (d + 1.0) / e**2, *_variances(e, delta, d))
        for e, delta in ((1.0, 1e-6), (0.1, 0.1))
        for d in sizes
    )
    gamma = tuple((d, alpha, p, *saved(d, alpha, p), stated) for d, alpha, p, stated in _TRANSCRIBED)
    text = (
        "The l2 mechanism has the density exp(-epsilon |x|); with delta = 0 a coordinate has variance "
        "(d + 1)/epsilon^2. Joseph et al. use it with delta; it is the ball noise of hush. At (1, 1e-6) it has far "
        "less variance than the Gaussian for few numbers. Wei et al. extend it to radii with a generalised gamma law, "
        "density proportional to r^alpha exp(-(r/s)^p). At a delta of 0.1 and few numbers this family has less "
        "variance than Gaussian and ball noise. The second table has our numbers, by quadrature and for a move of full "
        f"length, at the parameters of a summary by others: {gamma[0][4]:.3g}, {gamma[1][4]:.3g} and {gamma[2][4]:.3g} "
        "per cent. The summary states 15, 12.6 and 10.5. We give no verdict, because we could not compare the summary "
        "with the paper. A delta of 0.1 is no guarantee that one would publish, so hush does not have the family."
    )
    head = ("epsilon", "delta", "d", "l2 mechanism, delta = 0", "Gaussian", "ball", "any noise, at least")
    second = ("d", "alpha", "p", "variance", "per cent below Gaussian and ball", "the same, from a summary")
    grids = (
        Grid("Variance of one of d numbers, l2 sensitivity 1", head, rows),
        Grid("Generalised gamma radius at (0.1, 0.1)", second, gamma),
    )
    return Item("newer-spherical", "Joseph et al. 2025; Wei et al. 2026", "Spherical noise", text, grids=grids)
