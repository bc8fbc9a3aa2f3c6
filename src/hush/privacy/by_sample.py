"""A release on a sample of the people, where one pair of laws bounds the release on all of them."""

from __future__ import annotations

from collections.abc import Iterable

from hush.errors import Unsupported
from hush.privacy.charge import Charge
from hush.privacy.curve import Mirrored
from hush.privacy.subsampling import Subsampled
from hush.privacy.theorem_class import Theorem

__all__ = ["sampled_curve"]


def sampled_curve(charge: Charge, theorems: Iterable[Theorem]) -> Subsampled:
    """The curve of one release on a sample. The theorems cover the release on all people; the first that bounds it by
    one symmetric pair is used.
    """
    assert charge.rate is not None
    whole = charge.unsampled.by_group
    for theorem in theorems:
        pairs = [] if theorem.alone else theorem.pairs(whole)
        if len(pairs) == 1 and pairs[0][1] == 1 and isinstance(pairs[0][0], Mirrored):
            return Subsampled(pairs[0][0], charge.rate, fixed=charge.fixed)
    raise Unsupported(
        "subsampling is proved where one pair of laws bounds the whole release: one number, Gaussian or ball noise "
        "with an l2 bound, Laplace noise with an l1 bound, or joint noise; write hush.subsample(noise, rate, 1.0)."
    )
