"""Events of Google's dp_accounting: read, written, and accounted by both.

hush reads events by their names and fields, so the tests of reading use look-alikes and need no package.
"""

from __future__ import annotations

import math
from dataclasses import make_dataclass
from typing import Any

import pytest

import hush
from hush.privacy.events import from_dp_event, to_dp_event

FIELDS = {
    "NoOpDpEvent": (),
    "NonPrivateDpEvent": (),
    "UnsupportedDpEvent": (),
    "GaussianDpEvent": ("noise_multiplier",),
    "LaplaceDpEvent": ("noise_multiplier",),
    "DiscreteLaplaceDpEvent": ("noise_parameter", "sensitivity"),
    "SelfComposedDpEvent": ("event", "count"),
    "ComposedDpEvent": ("events",),
    "PoissonSampledDpEvent": ("sampling_probability", "event"),
    "ZCDpEvent": ("rho",),
}
KIND: dict[str, Any] = {name: make_dataclass(name, fields) for name, fields in FIELDS.items()}


def made(name: str, *values: Any) -> Any:
    return KIND[name + "DpEvent"](*values)


def gaussian(sigma: float) -> Any:
    return made("Gaussian", sigma)


def test_a_training_run_is_read() -> None:
    run = made("SelfComposed", made("PoissonSampled", 0.01, gaussian(1.1)), 1000)
    assert from_dp_event(run) == (hush.subsample(hush.Gaussian(1.1), 0.01, times=1000),)


def test_a_tree_is_read_from_left_to_right() -> None:
    tree = made(
        "Composed",
        [
            made("NoOp"),
            made("SelfComposed", made("Composed", [gaussian(2.0), made("Laplace", 3.0)]), 4),
            made("SelfComposed", gaussian(1.0), 0),
            made("DiscreteLaplace", 0.5, 1),
        ],
    )
    noises = [(charge.noise, charge.times) for charge in from_dp_event(tree)]
    assert noises[:2] == [(hush.Gaussian(2.0), 4), (hush.Laplace(3.0), 4)] and len(noises) == 3
    assert from_dp_event(made("NoOp")) == ()


def test_the_discrete_laplace_law_is_that_of_the_event() -> None:
    (charge,) = from_dp_event(made("DiscreteLaplace", 0.5, 1))
    exact = hush.curve(hush.Discrete(hush.Laplace(2.0)))
    found = hush.compose([charge]).delta(0.3)
    assert exact.delta_bracket(0.3).lower <= found <= exact.delta(0.3) * (1.0 + 1e-12)
    (wide,) = from_dp_event(made("DiscreteLaplace", 0.25, 3))
    assert 0.75 <= hush.compose([wide]).epsilon(0.0) <= 0.75 * (1.0 + 1e-12)


def test_gaussian_releases_on_one_sample_are_one_vector() -> None:
    both = made("Composed", [gaussian(3.0), made("SelfComposed", gaussian(6.0), 8)])
    (charge,) = from_dp_event(made("PoissonSampled", 0.1, both))
    sigma = 1.0 / math.sqrt(1.0 / 9.0 + 8.0 / 36.0)
    alone = hush.compose([hush.subsample(hush.Gaussian(sigma), 0.1)]).delta(0.1)
    assert hush.compose([charge]).delta(0.1) == pytest.approx(alone, rel=1e-12) and charge.rate == 0.1


def test_a_sample_of_nobody_and_of_everybody() -> None:
    assert from_dp_event(made("PoissonSampled", 0.0, gaussian(1.0))) == ()
    assert from_dp_event(made("PoissonSampled", 1.0, gaussian(1.0))) == from_dp_event(gaussian(1.0))


@pytest.mark.parametrize(
    ("event", "words"),
    [
        (made("ZC", 0.1), "ZCDpEvent"),
        (made("Unsupported"), "UnsupportedDpEvent"),
        (made("NonPrivate"), "infinite epsilon"),
        (gaussian(0.0), "infinite epsilon"),
        (made("PoissonSampled", 0.1, made("PoissonSampled", 0.1, gaussian(1.0))), "own"),
        (made("PoissonSampled", 0.1, made("SelfComposed", made("Laplace", 1.0), 2)), "unless all of them are Gaussian"),
    ],
)
def test_what_has_no_charge_is_refused_by_name(event: Any, words: str) -> None:
    with pytest.raises(hush.Unsupported, match=words):
        from_dp_event(made("Composed", [gaussian(1.0), event]))


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (None, "event"),
        (1.1, "event"),
        (hush.Gaussian(1.0), "event"),
        (gaussian(-1.0), "noise_multiplier"),
        (gaussian(math.nan), "noise_multiplier"),
        (made("Laplace", "1"), "noise_multiplier"),
        (made("DiscreteLaplace", 0.0, 1), "noise_parameter"),
        (made("DiscreteLaplace", 1.0, 0), "sensitivity"),
        (made("SelfComposed", gaussian(1.0), -1), "count"),
        (made("SelfComposed", gaussian(1.0), 1.5), "count"),
        (made("PoissonSampled", 1.5, gaussian(1.0)), "sampling_probability"),
        (made("PoissonSampled", math.nan, gaussian(1.0)), "sampling_probability"),
    ],
)
def test_bad_numbers_are_refused(event: Any, name: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=name):
        from_dp_event(event)


# -- beside the real package ---------------------------------------------------------------------------------


@pytest.fixture
def peer() -> Any:
    return pytest.importorskip("dp_accounting", reason="dp_accounting is not installed: pip install 'hush[accounting]'")


def test_there_and_back(peer: Any) -> None:
    tree = peer.ComposedDpEvent(
        [
            peer.SelfComposedDpEvent(peer.PoissonSampledDpEvent(0.01, peer.GaussianDpEvent(1.1)), 1000),
            peer.SelfComposedDpEvent(peer.LaplaceDpEvent(20.0), 3),
            peer.GaussianDpEvent(5.0),
        ]
    )
    assert to_dp_event(from_dp_event(tree)) == tree


def test_the_package_accounts_for_what_is_written_as_hush_does(peer: Any) -> None:
    charges = [
        hush.subsample(hush.Gaussian(1.5), 0.05, times=20),
        (hush.Laplace(6.0), 2.0, 3),
        (hush.Gaussian(8.0), hush.Sensitivity(l2=2.0), 4),
        (hush.Discrete(hush.Laplace(4.0)), 1.0, 2),
    ]
    account = peer.pld.PLDAccountant(value_discretization_interval=1e-3)
    account.compose(to_dp_event(charges))
    ours = hush.compose(charges).epsilon_bracket(1e-5)
    assert ours.lower <= account.get_epsilon(1e-5) <= ours.upper * 1.01


def test_the_written_noise_is_never_more(peer: Any) -> None:
    for amount, reach in ((1.0, 3.0), (2.0, 7.0), (1.1, 0.7)):
        event = to_dp_event((hush.Gaussian(amount), hush.Sensitivity(l2=reach)))
        assert amount / reach * (1.0 - 1e-14) < event.noise_multiplier <= amount / reach
    event = to_dp_event((hush.Discrete(hush.Laplace(3.0), step=0.5), 1.2))
    assert event.noise_parameter >= 0.5 / 3.0 and event.sensitivity == 3


@pytest.mark.parametrize(
    "release",
    [
        hush.Staircase(0.5),
        hush.Discrete(hush.Gaussian(2.0)),
        (hush.Laplace(1.0), hush.Sensitivity(linf=1.0, l0=3)),
        (hush.Gaussian(1.0), hush.Sensitivity(linf=1.0, l0=1, neighbours="replace")),
    ],
)
def test_what_has_no_event_is_refused(peer: Any, release: Any) -> None:
    with pytest.raises(hush.Unsupported, match="dp_accounting"):
        to_dp_event(release)
