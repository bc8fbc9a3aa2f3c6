"""Conversion to and from Google's dp_accounting: never below the truth, close to it, round trips, and a clear error
if the package is not installed.
"""

from __future__ import annotations

import math
import sys
from typing import Any

import pytest

import hush
from hush.privacy.curve import OneNumber
from hush.privacy.exchange import from_dp_accounting, masses_above, to_dp_accounting
from hush.privacy.subsampling import Subsampled

CURVES = {
    "gaussian": hush.curve(hush.Gaussian(2.0)),
    "laplace": hush.curve(hush.Laplace(2.0)),
    "osgt": hush.curve(hush.OSGT(3.0, 6.3)),
    "flipped_huber": hush.curve(hush.FlippedHuber(4.0, 3.0)),
    "staircase": hush.curve(hush.Staircase(0.5)),
    "several laplace": hush.curve(hush.Laplace(8.0), times=3),
    "sampled": Subsampled(OneNumber(hush.Gaussian(1.5), 1.0), 0.2),
}


@pytest.mark.parametrize("name", [name for name in CURVES if name != "several laplace"])
def test_the_masses_that_are_handed_over_lie_above_the_curve(name: str) -> None:
    """The delta of the masses is that of the curve or a little more; dp_accounting is not needed."""
    curve, step = CURVES[name], 1e-3
    rows = masses_above(curve, step)
    assert len(rows) == (2 if name == "sampled" else 1)
    for epsilon in (0.05, 0.2, 0.45):
        found = [
            infinite + sum(p * -math.expm1(epsilon - k * step) for k, p in masses.items() if k * step > epsilon)
            for masses, infinite in rows
        ]
        truth = curve.delta_bracket(epsilon)
        assert truth.lower * (1.0 - 1e-9) <= max(found) <= truth.upper * (1.0 + 1e-3) + 1e-9


@pytest.fixture
def peer() -> Any:
    return pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CURVES)
def test_theirs_is_never_below_and_near(name: str, peer: Any) -> None:
    curve = CURVES[name]
    theirs = to_dp_accounting(curve, step=1e-3 if name == "several laplace" else 1e-4)
    for epsilon in (0.05, 0.2, 0.45):
        got, truth = theirs.get_delta_for_epsilon(epsilon), curve.delta_bracket(epsilon)
        assert got >= truth.lower * (1.0 - 1e-9)
        assert got <= truth.upper * (1.0 + 1e-3) + 1e-9


@pytest.mark.filterwarnings("ignore")
def test_their_composition_of_ours_agrees_with_our_own(peer: Any) -> None:
    noise = hush.FlippedHuber(12.0, 9.0)
    theirs = to_dp_accounting(hush.curve(noise), step=1e-4).self_compose(10).get_epsilon_for_delta(1e-6)
    ours = hush.curve(noise, times=10).epsilon_bracket(1e-6)
    assert theirs >= ours.lower * (1.0 - 1e-9)
    assert theirs == pytest.approx(ours.upper, rel=1e-3)


@pytest.mark.filterwarnings("ignore")
def test_a_training_run_is_handed_over(peer: Any) -> None:
    run = hush.compose([hush.subsample(hush.Gaussian(1.0), 0.01, times=500), (hush.Laplace(10.0), 1.0, 2)])
    theirs, ours = to_dp_accounting(run).get_epsilon_for_delta(1e-5), run.epsilon_bracket(1e-5)
    assert ours.lower <= theirs <= ours.upper * 1.001


@pytest.mark.filterwarnings("ignore")
def test_there_and_back(peer: Any) -> None:
    curve = hush.curve(hush.OSGT(3.0, 6.3))
    back = from_dp_accounting(to_dp_accounting(curve))
    for epsilon in (0.1, 0.4):
        assert curve.delta_bracket(epsilon).lower <= back.delta(epsilon) <= curve.delta(epsilon) * 1.001
        assert back.delta_bracket(epsilon).lower == 0.0


@pytest.mark.filterwarnings("ignore")
def test_theirs_composes_with_ours(peer: Any) -> None:
    imported = from_dp_accounting(peer.from_laplace_mechanism(10.0, value_discretization_interval=1e-4))
    mixed = hush.compose([(imported, 2), (hush.Gaussian(8.0), 1.0, 3)]).epsilon(1e-5)
    ours = hush.compose([(hush.Laplace(10.0), 1.0, 2), (hush.Gaussian(8.0), 1.0, 3)]).epsilon_bracket(1e-5)
    assert ours.lower <= mixed <= ours.upper * 1.01


def test_a_clear_word_where_the_package_is_absent(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in sys.modules if name.startswith("dp_accounting")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "dp_accounting", None)
    with pytest.raises(hush.MissingExtra, match=r"pip install 'hush\[accounting\]'"):
        to_dp_accounting(hush.curve(hush.Laplace(1.0)))


@pytest.mark.parametrize("wrong", [None, 1.0, "pld", hush.Laplace(1.0)])
def test_what_is_not_a_curve_or_a_distribution_is_refused(wrong: object) -> None:
    with pytest.raises(hush.InvalidParameter, match="curve"):
        to_dp_accounting(wrong)  # type: ignore[arg-type]
    with pytest.raises(hush.InvalidParameter, match="distribution"):
        from_dp_accounting(wrong)


@pytest.mark.parametrize("step", [0.0, -1e-4, float("nan"), "small"])
def test_a_bad_step_is_refused(step: object) -> None:
    with pytest.raises(hush.InvalidParameter, match="step"):
        to_dp_accounting(hush.curve(hush.Laplace(1.0)), step=step)  # type: ignore[arg-type]
