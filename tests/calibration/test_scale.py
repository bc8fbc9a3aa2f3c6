"""The search for a scale: it ends on the private side, within its tolerance, after few evaluations."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import pytest

from hush.calibration.scale import least
from hush.errors import Unsupported


@dataclass
class Curve:
    """Stands for a request: log(delta/target) is a function of the scale, and the noise is the scale itself."""

    function: object
    asked: list[float] = field(default_factory=list)

    def excess(self, noise: float, relative: float) -> float:
        self.asked.append(noise)
        return self.function(noise)


ROOT = 1.234567
SMOOTH = {
    "steep": lambda x: 60.0 * (ROOT - x),
    "flat": lambda x: 2.0 * (ROOT - x),
    "bent": lambda x: 30.0 * (ROOT - x) - 40.0 * abs(ROOT - x) * (x - ROOT),
    "tail": lambda x: 5.0 * (math.exp(ROOT) - math.exp(x)),
}
CORNERS = {
    "falls to nothing": lambda x: math.log(ROOT + 1e-6 - x) - math.log(1e-6) if x < ROOT + 1e-6 else -60.0,
    "jumps": lambda x: 3.0 if x < ROOT else -60.0,
}


@pytest.mark.parametrize("tolerance", [3e-5, 1e-7])
@pytest.mark.parametrize("start", [0.9, 1.2, 1.25, 3.0])
@pytest.mark.parametrize("name", [*SMOOTH, *CORNERS])
def test_the_least_private_scale(name, start, tolerance):
    demand = Curve((SMOOTH | CORNERS)[name])
    found = least(demand, lambda x: x, start, relative=1e-4, tolerance=tolerance)
    assert demand.function(found) <= 0.0 and found in demand.asked
    assert found - ROOT <= 1.1 * tolerance + (1e-6 if name in CORNERS else 0.0)
    assert len(demand.asked) <= (14 if name in SMOOTH else 50)


@pytest.mark.parametrize("name", SMOOTH)
def test_a_similar_search_makes_the_next_one_short(name):
    """The steepness of log delta is known from it, so the first step is a good one."""
    seen: list[tuple[float, float]] = []
    first = Curve(SMOOTH[name])
    least(first, lambda x: x, ROOT + 0.03, relative=1e-4, tolerance=3e-5, like=seen)
    assert len(seen) == len(first.asked)
    second = Curve(lambda x: SMOOTH[name](x + 0.02))
    found = least(second, lambda x: x, ROOT + 0.03, relative=1e-4, tolerance=3e-5, like=seen)
    assert 0.0 <= found - (ROOT - 0.02) <= 4e-5 and len(second.asked) <= min(6, len(first.asked))


def test_no_scale_and_every_scale():
    for constant, why in ((1.0, "no scale"), (-1.0, "every scale")):
        with pytest.raises(Unsupported, match=why):
            least(Curve(lambda x, c=constant: c), lambda x: x, 0.0, relative=1e-4, tolerance=1e-7)
