"""Bad input: one clear sentence and a typed exception, for every constructor and function."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import hush
from hush import errors, gaussian
from hush.privacy import conversion, paper_bounds

NAN, INF = math.nan, math.inf
#: What no number argument takes.
NOT_NUMBERS: list[Any] = [
    NAN,
    "1",
    "",
    b"1",
    None,
    True,
    np.True_,
    1j,
    [1.0, 2.0],
    np.array([1.0, 2.0]),
    {},
    object(),
    (),
    np.array("x"),
    lambda: 1,
]
NOT_POSITIVE: list[Any] = [*NOT_NUMBERS, INF, -INF, 0, 0.0, -1.0, -1e-300]
NOT_NEGATIVE: list[Any] = [*NOT_NUMBERS, INF, -INF, -1.0, -1e-300]
NOT_NOISE: list[Any] = [None, 1.0, "Gaussian", hush.Gaussian, object(), [hush.Gaussian(1.0)], NAN]
#: Where arrays are welcome, arrays of the wrong kind are not.
NOT_ARRAYS: list[Any] = [
    NAN,
    "1",
    b"1",
    None,
    True,
    1j,
    {},
    object(),
    ["a"],
    [None],
    [1.0, NAN],
    np.array([1j]),
    np.array([True]),
    [[1.0], [1.0, 2.0]],
]
NOT_DELTAS: list[Any] = [*NOT_ARRAYS, INF, -INF, -0.1, 1.0, 2.0, [0.5, 1.5]]
NOT_BUDGETS: list[Any] = [*NOT_ARRAYS, INF, -INF, -0.1, 1e9, [0.5, -1.0]]
NOT_ORDERS: list[Any] = [*NOT_NUMBERS, INF, -INF, 0.999, 0.0, -2.0]

G = hush.Gaussian(1.0)
F = hush.FlippedHuber(2.0, 1.0)
T = hush.OSGT(2.0, 1.0)

#: (argument the message must name, the call with the argument left open, values it must refuse)
CALLS: list[tuple[str, Callable[[Any], Any], list[Any]]] = [
    # constructors
    ("sigma", lambda v: hush.Gaussian(v), NOT_POSITIVE),
    ("scale", lambda v: hush.Laplace(v), NOT_POSITIVE),
    ("m", lambda v: hush.OSGT(v, 1.0), NOT_NEGATIVE),
    ("sigma", lambda v: hush.OSGT(1.0, v), NOT_POSITIVE),
    ("alpha", lambda v: hush.FlippedHuber(v, 1.0), NOT_NEGATIVE),
    ("gamma", lambda v: hush.FlippedHuber(1.0, v), NOT_POSITIVE),
    ("alpha", lambda v: hush.Stable(v, 1.0), [*NOT_POSITIVE, 0.999, 2.001]),
    ("gamma", lambda v: hush.Stable(1.5, v), NOT_POSITIVE),
    ("epsilon", lambda v: hush.Staircase(v), [*NOT_POSITIVE, 701.0]),
    ("sensitivity", lambda v: hush.Staircase(1.0, v), NOT_POSITIVE),
    ("gamma", lambda v: hush.Staircase(1.0, 1.0, v), [v for v in [*NOT_NEGATIVE, 1.5] if v is not None]),
    ("scale", lambda v: hush.TruncatedLaplace(v, 1.0), NOT_POSITIVE),
    ("bound", lambda v: hush.TruncatedLaplace(1.0, v), NOT_POSITIVE),
    ("width", lambda v: hush.Stepped(v, (1.0,)), NOT_POSITIVE),
    ("heights", lambda v: hush.Stepped(1.0, v), [*NOT_ARRAYS, 1.0, [], [0.0, 0.0], [-1.0], [INF], [[1.0]]]),
    ("ratio", lambda v: hush.Stepped(1.0, (1.0,), ratio=v), [*NOT_NEGATIVE, 1.0, 2.0]),
    ("period", lambda v: hush.Stepped(1.0, (1.0, 2.0), ratio=0.5, period=v), [*NOT_POSITIVE, 1.5, 3]),
    ("noise", lambda v: hush.Discrete(v), [*NOT_NOISE, hush.Stable(1.5, 1.0), hush.Staircase(1.0)]),
    ("step", lambda v: hush.Discrete(G, v), [*NOT_POSITIVE, 1e-12]),
    (
        "linf",
        lambda v: hush.Sensitivity(linf=v, l0=1),
        [v for v in NOT_POSITIVE if not isinstance(v, list | np.ndarray | tuple)],
    ),
    ("l0", lambda v: hush.Sensitivity(linf=1.0, l0=v), [v for v in [*NOT_POSITIVE, 0.5, 1.5] if v is not None]),
    ("l1", lambda v: hush.Sensitivity(l1=v), NOT_POSITIVE),
    ("l2", lambda v: hush.Sensitivity(l2=v), NOT_POSITIVE),
    ("neighbours", lambda v: hush.Sensitivity(linf=1.0, neighbours=v), ["swap", "", None, 1, True, NAN]),
    # a noise's own methods
    *[
        ("x", lambda v, name=name: getattr(F, name)(v), NOT_ARRAYS)
        for name in ("pdf", "logpdf", "sf", "cdf", "logsf", "logcdf")
    ],
    *[
        ("u", lambda v, name=name: getattr(F, name)(v), [*NOT_ARRAYS, -0.1, 1.1, INF, [0.5, 2.0]])
        for name in ("ppf", "isf")
    ],
    ("x", lambda v: hush.Stable(1.5, 1.0).score(v), NOT_ARRAYS),
    ("s", lambda v: F.mgf(v), NOT_ARRAYS),
    ("s", lambda v: F.log_mgf(v), NOT_ARRAYS),
    ("x", lambda v: hush.Discrete(G).sf(v), NOT_ARRAYS),
    ("u", lambda v: hush.Discrete(G).ppf(v), [*NOT_ARRAYS, -0.1, 1.1]),
    ("k", lambda v: F.scaled(v), NOT_POSITIVE),
    ("k", lambda v: hush.Discrete(G).scaled(v), NOT_POSITIVE),
    ("shift", lambda v: F.exceeds(1.0, v), NOT_POSITIVE),
    ("epsilon", lambda v: F.exceeds(v, 1.0), [*NOT_ARRAYS, -1.0, INF]),
    ("epsilon", lambda v: hush.Staircase(1.0).exceeds(v, 1.0), [*NOT_ARRAYS, -1.0, INF]),
    ("shift", lambda v: hush.Laplace(1.0).max_loss(v), NOT_POSITIVE),
    ("shift", lambda v: hush.Staircase(1.0).max_loss(v), NOT_POSITIVE),
    ("shift", lambda v: hush.Stable(1.5, 1.0).max_loss(v), NOT_POSITIVE),
    # the curve
    *[("noise", lambda v, f=f: f(v, 0.1), NOT_NOISE) for f in (hush.delta, hush.epsilon)],
    ("noise", lambda v: hush.curve(v), NOT_NOISE),
    ("noise", lambda v: hush.renyi(v, 2.0), NOT_NOISE),
    ("epsilon", lambda v: hush.delta(G, v), [*NOT_ARRAYS, INF, -INF]),
    ("delta", lambda v: hush.epsilon(G, v), [*NOT_DELTAS, -1e-300]),
    *[("sensitivity", lambda v, f=f: f(G, 0.1, v), NOT_POSITIVE) for f in (hush.delta, hush.epsilon)],
    ("times", lambda v: hush.delta(G, 0.1, 1.0, times=v), [*NOT_POSITIVE, 0.5, 1.5]),
    ("alpha", lambda v: hush.curve(G).tradeoff(v), [*NOT_ARRAYS, -0.1, 1.1, INF]),
    ("epsilon", lambda v: hush.curve(G).delta_bracket(v), [*NOT_ARRAYS, INF]),
    ("delta", lambda v: hush.curve(G).epsilon_bracket(v), NOT_DELTAS),
    ("epsilon", lambda v: hush.error_sum(v, 0.0), NOT_NEGATIVE),
    ("delta", lambda v: hush.error_sum(1.0, v), [*NOT_NUMBERS, -0.1, 1.0, 2.0]),
    ("least", lambda v: hush.epsilon_for_error_sum(v), [*NOT_POSITIVE, 1.1]),
    # Gaussian amounts
    ("epsilon", lambda v: gaussian.sigma(v, 1e-5), NOT_BUDGETS),
    ("epsilon", lambda v: gaussian.sigma(v, 1e-5, method="mechanism1"), [*NOT_BUDGETS, 0.0]),
    ("delta", lambda v: gaussian.sigma(1.0, v), [*NOT_DELTAS, 0.0, 1e-400]),
    (
        "sensitivity",
        lambda v: gaussian.sigma(1.0, 1e-5, v),
        [*NOT_ARRAYS, 0.0, -1.0, INF, hush.Sensitivity(linf=1.0, l0=1)],
    ),
    (
        "method",
        lambda v: gaussian.sigma(1.0, 1e-5, method=v),
        ["Optimal", "", None, 1, NAN, ["optimal"], {}, np.array(["optimal", "zcdp"])],
    ),
    ("delta", lambda v: gaussian.sigma(1.0, v, method="mechanism2"), [0.5, 0.9]),
    ("delta", lambda v: gaussian.epsilon_free_sigma(v), [*NOT_DELTAS, 0.0]),
    ("sensitivity", lambda v: gaussian.epsilon_free_sigma(0.1, v), [*NOT_ARRAYS, 0.0, -1.0, INF]),
    ("epsilon", lambda v: gaussian.sigma_bounds(v, 1e-5), [*NOT_BUDGETS, 0.0]),
    ("delta", lambda v: gaussian.sigma_bounds(1.0, v), [*NOT_DELTAS, 0.0]),
    ("delta", lambda v: gaussian.fails_beyond(v, "dwork2014"), [*NOT_DELTAS, 0.0]),
    ("method", lambda v: gaussian.fails_beyond(1e-5, v), ["optimal", "", None, 3, []]),
    ("notion", lambda v: gaussian.fails_beyond(1e-5, "dwork2014", notion=v), ["pDP", "", None, 3, []]),
    ("epsilon", lambda v: gaussian.check(v, 1e-5, 1.0), [*NOT_NUMBERS, INF, -1.0, 1e9]),
    ("delta", lambda v: gaussian.check(1.0, v, 1.0), [*NOT_NUMBERS, 0.0, 1.0, 2.0, -0.5]),
    ("sigma", lambda v: gaussian.check(1.0, 1e-5, v), NOT_POSITIVE),
    ("sensitivity", lambda v: gaussian.check(1.0, 1e-5, 1.0, v), NOT_POSITIVE),
    ("epsilon", lambda v: gaussian.pdp_delta(v, 1.0), [*NOT_BUDGETS, 0.0]),
    ("sigma", lambda v: gaussian.pdp_delta(1.0, v), [*NOT_ARRAYS, 0.0, -1.0, INF]),
    ("sensitivity", lambda v: gaussian.pdp_delta(1.0, 1.0, v), [*NOT_ARRAYS, 0.0, -1.0, INF]),
    ("epsilon", lambda v: gaussian.dp_from_pdp(v, 0.1), [*NOT_NUMBERS, INF, 0.0, -1.0]),
    ("delta", lambda v: gaussian.pdp_from_dp(1.0, v, 2.0), [*NOT_NUMBERS, -0.1, 1.0]),
    ("larger", lambda v: gaussian.pdp_from_dp(1.0, 0.1, v), [*NOT_NUMBERS, INF, 1.0, 0.5]),
    ("sigmas", lambda v: gaussian.compose_sigma(v), [*NOT_ARRAYS, 0.0, -1.0, INF, []]),
    ("sensitivities", lambda v: gaussian.compose_sigma([1.0], v), [*NOT_ARRAYS, 0.0, -1.0, INF]),
    # Renyi
    ("order", lambda v: hush.renyi(G, v), NOT_ORDERS),
    ("order", lambda v: hush.renyi(F, v), NOT_ORDERS),
    ("sensitivity", lambda v: hush.renyi(F, 2.0, v), NOT_POSITIVE),
    ("order", lambda v: paper_bounds.osgt_appendix_e(T, v), [*NOT_ORDERS, 1.0]),
    ("order", lambda v: paper_bounds.osgt_theorem2(T, v), NOT_ORDERS),
    ("l2", lambda v: paper_bounds.osgt_theorem2(T, 2.0, v), NOT_POSITIVE),
    ("k", lambda v: paper_bounds.osgt_theorem2(T, 2.0, k=v), [*NOT_POSITIVE, 1.5]),
    ("order", lambda v: paper_bounds.flipped_huber_theorem9(F, v), NOT_ORDERS),
    ("sensitivity", lambda v: paper_bounds.flipped_huber_theorem9(F, 2.0, v), NOT_POSITIVE),
    ("noise", lambda v: paper_bounds.osgt_theorem2(v, 2.0), [*NOT_NOISE, G]),
    ("noise", lambda v: paper_bounds.osgt_appendix_e(v, 2.0), [*NOT_NOISE, G]),
    ("noise", lambda v: paper_bounds.flipped_huber_theorem9(v, 2.0), [*NOT_NOISE, G]),
    ("order", lambda v: conversion.rdp_to_delta(v, 1.0, 1.0), NOT_ORDERS),
    ("divergence", lambda v: conversion.rdp_to_delta(2.0, v, 1.0), NOT_NEGATIVE),
    ("epsilon", lambda v: conversion.rdp_to_delta(2.0, 1.0, v), [*NOT_NUMBERS, INF, -INF]),
    ("delta", lambda v: conversion.rdp_to_epsilon(2.0, 1.0, v), [*NOT_NUMBERS, 0.0, 1.0, 2.0, -1.0, 1e-400]),
    ("delta", lambda v: conversion.rdp_to_epsilon_mironov(2.0, 1.0, v), [*NOT_NUMBERS, 0.0, 1.0, 2.0]),
    ("rho", lambda v: conversion.zcdp_to_epsilon(v, 0.1), NOT_NEGATIVE),
    ("delta", lambda v: conversion.zcdp_to_epsilon(1.0, v), [*NOT_NUMBERS, 0.0, 1.0]),
    ("xi", lambda v: conversion.zcdp_to_epsilon(1.0, 0.1, xi=v), NOT_NEGATIVE),
    ("omega", lambda v: conversion.tcdp_to_epsilon(1.0, v, 0.1), [*NOT_NUMBERS, 1.0, 0.5]),
    ("epsilon", lambda v: conversion.mcdp_to_pdp(0.5, 1.0, v), [*NOT_POSITIVE, 0.5, 0.2]),
    ("tau", lambda v: conversion.mcdp_to_pdp(0.5, v, 1.0), NOT_POSITIVE),
]


@pytest.mark.parametrize(
    ("name", "call", "values"), [pytest.param(*row, id=f"{k}-{row[0]}") for k, row in enumerate(CALLS)]
)
def test_refused_in_one_sentence(name, call, values):
    """For each bad value a HushError whose message is one line, ends in a full stop (or asks what was meant) and names
    the argument; nothing else escapes.
    """
    assert values
    for value in values:
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                call(value)
                message = "it was accepted"
            except (hush.InvalidParameter, hush.Unsupported) as refusal:
                message = str(refusal)
            except Exception as escaped:
                raise AssertionError(f"{value!r} raises {type(escaped).__name__}: {escaped}") from escaped
        problem = f"{value!r}: {message}"
        assert "\n" not in message, problem
        assert message.endswith("?" if "; did you mean" in message else "."), problem
        assert len(message) < 400, problem
        assert name.lower() in message.lower(), problem


def test_the_exception_tree():
    """Errors are HushErrors, and also what a Python programmer would catch."""
    assert issubclass(hush.InvalidParameter, hush.HushError)
    assert issubclass(hush.InvalidParameter, ValueError)
    assert issubclass(hush.Unsupported, hush.HushError)
    assert issubclass(hush.NotCertified, hush.HushError)
    assert issubclass(hush.BudgetExceeded, hush.HushError)


def test_a_sensitivity_needs_something():
    """An empty Sensitivity says what to write."""
    with pytest.raises(hush.InvalidParameter, match="linf"):
        hush.Sensitivity()


def test_lattice_moves_by_whole_steps():
    """A shift between lattice points is not certified."""
    with pytest.raises(hush.Unsupported, match="whole steps"):
        hush.delta(hush.Discrete(G), 0.1, 0.5)


def test_huge_layouts_are_refused():
    """Shifts over millions of cells are refused rather than listed."""
    with pytest.raises(hush.Unsupported):
        hush.delta(hush.Staircase(1.0, 1e-9), 0.1, 1e3)
    with pytest.raises(hush.Unsupported):
        hush.delta(hush.Stepped(1e-9, (1.0,), ratio=0.5), 0.1, 1e3)


def test_whole_numbers_are_not_rounded():
    """Beyond 2^53 a float would change them; whole floats pass as before."""
    most = 2**63 - 1
    for value in (2**53 + 1, np.int64(2**53 + 1), np.array(2**53 + 1), np.uint64(2**53 + 1), most):
        assert errors.whole("times", value) == int(value)
    assert [errors.whole("times", value) for value in (3, 3.0, np.float32(3.0), np.array(3.0))] == [3, 3, 3, 3]
    for value in (2**63, 2**64, 2.0**63, 0, -(2**70), 10**400):
        with pytest.raises(hush.InvalidParameter, match="times must be a whole number, 1 or greater"):
            errors.whole("times", value)
    entry = hush.Ledger(None, epsilon=2.0, delta=0.0).spend((hush.Laplace(2.0**53), 1.0, 2**53 + 1)).entry
    assert entry.charges[0].times == 2**53 + 1


@pytest.mark.parametrize(("sigma", "reach"), [(1e-200, 1.0), (1e-160, 1e160), (5e-324, 1.0)])
@pytest.mark.parametrize("times", [1, 2])
def test_hardly_any_gaussian_noise_is_no_overflow(sigma, reach, times):
    """delta is 1 and the budget does not cover it; no float can say more."""
    assert hush.delta(hush.Gaussian(sigma), 1e6, reach, times=times) == 1.0
    assert hush.epsilon(hush.Gaussian(sigma), 0.5, reach, times=times) == INF
    with pytest.raises(hush.BudgetExceeded):
        hush.Ledger(None, epsilon=1.0, delta=1e-6).spend((hush.Gaussian(sigma), reach, times))


@pytest.mark.parametrize(("sigma", "reach"), [(1e200, 1.0), (1e308, 1e-10), (1e160, 1e-160)])
@pytest.mark.parametrize("times", [1, 2, 10**6])
def test_huge_gaussian_noise_is_no_underflow(sigma, reach, times):
    """An upper bound still: delta at epsilon 0 is at least that of the shift, some 0.39 of it."""
    found = hush.delta(hush.Gaussian(sigma), 0.0, reach, times=times)
    assert 0.39 * (reach / sigma) * math.sqrt(times) <= found <= max(0.4 * (reach / sigma) * math.sqrt(times), 1e-300)
    hush.Ledger(None, epsilon=1.0, delta=1e-6).spend((hush.Gaussian(sigma), reach, times))


@pytest.mark.parametrize("value", [np.float32(1.5), np.int64(2), 2, np.array(1.5), 1.5])
def test_plain_numbers_of_any_type_pass(value):
    """Integers, numpy scalars and zero-dimensional arrays are numbers."""
    assert hush.Gaussian(value).sigma == float(value)
    assert isinstance(hush.delta(hush.Gaussian(value), value, value), float)
