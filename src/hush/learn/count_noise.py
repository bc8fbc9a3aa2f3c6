"""Laplace noise for counts with a pure epsilon of their own: the number of rows, and the rows of each label."""

from __future__ import annotations

from hush.calibration.ranking import calibrate
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.mechanism import Mechanism

__all__ = ["laplace_for_counts"]

#: From this scale on the law on the real line is used, rounded to whole numbers. Its variance is larger by less than
#: 1e-5 of itself. The law on whole numbers is analysed point by point, which took a minute for a scale of 4,000.
_LARGE = 100.0


def laplace_for_counts(epsilon: float, bound: Sensitivity) -> Mechanism:
    """The noise of whole numbers of which `bound.l0` move by at most `bound.linf` each.

    >>> laplace_for_counts(0.5, Sensitivity(linf=1.0, l0=1)).noise.discrete
    True
    >>> laplace_for_counts(0.0005, Sensitivity(linf=1.0, l0=1)).noise.discrete
    False
    """
    assert isinstance(bound.linf, float)
    large = bound.linf * (bound.l0 or 1) >= _LARGE * epsilon
    made = calibrate(epsilon, 0.0, bound, family="laplace", step=None if large else 1.0)
    return Mechanism.of(made, integers=True)
