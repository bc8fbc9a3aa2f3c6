"""The reference values for composition, calibration and the limit, one test each."""

from __future__ import annotations

import json
import math
from typing import Any

import pytest
from conftest import oracle_entries

import hush

ENTRIES = oracle_entries()


def rows(*functions: str, slow: Any = None) -> list[Any]:
    """Return one parameter for each entry of these functions; those that `slow` selects are marked as exhaustive."""
    found = [entry for entry in ENTRIES if entry["function"] in functions]
    marked = [pytest.mark.exhaustive if slow is not None and slow(entry) else () for entry in found]
    names = ["{}({})".format(e["function"], ", ".join(f"{k}={v}" for k, v in e["inputs"].items())) for e in found]
    return [pytest.param(entry, marks=mark, id=name) for entry, mark, name in zip(found, marked, names, strict=True)]


def get(entry: dict[str, Any], *names: str) -> list[float]:
    return [float(entry["inputs"][name]) for name in names]


def rounding(text: str) -> float:
    """Half a unit of the last printed digit, relative."""
    digits = text.lower().split("e")[0].replace("-", "").replace(".", "").lstrip("0")
    return 0.5 * 10.0 ** (1 - len(digits)) * 1.0001


def box(entry: dict[str, Any]) -> hush.Sensitivity:
    return hush.Sensitivity(linf=float(entry["inputs"]["Delta"]), l0=int(entry["inputs"].get("K", "1")))


def shifts(text: str) -> list[float]:
    """[1,1], [1]*8 or [cos(25deg),sin(25deg)] as numbers."""
    body, _, times = text.partition("*")
    if "deg" not in body:
        return [float(v) for v in json.loads(body)] * int(times or "1")
    angle = math.radians(float(body.split("(")[1].split("deg")[0]))
    return [math.cos(angle), math.sin(angle)]


def test_the_values_are_there_or_skipped(data_dir: Any) -> None:
    names = {entry["function"] for entry in ENTRIES}
    assert {
        "osgt_delta_k_exact",
        "fh_min_variance_K",
        "osgt_min_variance_K",
        "laplace_variance_K",
        "sas_eps_K",
        "lp_min_var",
    } <= names


@pytest.mark.parametrize("entry", rows("osgt_delta_k_exact"))
def test_exact_composed_deltas_are_inside_a_narrow_bracket(entry: dict[str, Any]) -> None:
    m, s2, epsilon = get(entry, "m", "s2", "eps")
    noise, truth = hush.OSGT(m, math.sqrt(s2)), float(entry["value"])
    got = hush.compose([(noise, shift, 1) for shift in shifts(entry["inputs"]["shifts"])]).delta_bracket(epsilon)
    assert got.lower * (1.0 - 1e-9) <= truth <= got.upper * (1.0 + 1e-9)
    assert got.upper - got.lower < 0.01 * truth


def many_coordinates(entry: dict[str, Any]) -> bool:
    return int(entry["inputs"]["K"]) > 5 and (entry["inputs"]["eps"], entry["inputs"]["delta"]) != ("1", "1e-08")


FAMILY = {"fh": "flipped_huber", "osgt": "osgt", "laplace": "laplace", "gauss": "gaussian"}


@pytest.mark.parametrize("entry", rows("laplace_variance_K", "gauss_variance_K"))
def test_laplace_and_gaussian_variances_over_coordinates(entry: dict[str, Any]) -> None:
    plan = hush.calibrate(*get(entry, "eps", "delta"), box(entry), family=FAMILY[entry["function"].split("_")[0]])
    assert plan.variance == pytest.approx(float(entry["value"]), rel=max(2e-5, rounding(entry["value"])))


@pytest.mark.parametrize("entry", rows("fh_min_variance_K", "osgt_min_variance_K", slow=many_coordinates))
def test_least_variances_over_coordinates(entry: dict[str, Any]) -> None:
    plan = hush.calibrate(*get(entry, "eps", "delta"), box(entry), family=FAMILY[entry["function"].split("_")[0]])
    assert plan.variance == pytest.approx(float(entry["value"]), rel=1e-4)


@pytest.mark.parametrize("entry", rows("fh_opt_var", "fh_min_variance"))
def test_least_flipped_huber_variance_of_one_number(entry: dict[str, Any]) -> None:
    plan = hush.calibrate(*get(entry, "eps", "delta", "Delta"), family="flipped_huber")
    assert plan.variance == pytest.approx(float(entry["value"]), rel=1e-4)
    assert plan.variance >= float(entry["value"]) * (1.0 - 2.0 * rounding(entry["value"]) - 1e-9)


@pytest.mark.parametrize("entry", rows("osgt_min_variance"))
def test_least_osgt_variance_of_one_number(entry: dict[str, Any]) -> None:
    plan = hush.calibrate(*get(entry, "eps", "delta", "Delta"), family="osgt")
    assert plan.variance == pytest.approx(float(entry["value"]), rel=1e-4)


@pytest.mark.parametrize("entry", rows("fh_opt_gamma", "fh_opt_alpha"))
def test_the_kink_gives_the_parameters(entry: dict[str, Any]) -> None:
    """Where the kink alpha Delta/gamma^2 = epsilon is best, it determines both parameters."""
    noise = hush.calibrate(*get(entry, "eps", "delta", "Delta"), family="flipped_huber").noise
    assert isinstance(noise, hush.FlippedHuber)
    assert getattr(noise, entry["function"].removeprefix("fh_opt_")) == pytest.approx(float(entry["value"]), rel=1e-6)


@pytest.mark.parametrize("entry", rows("fh_min_mae"))
def test_least_flipped_huber_mean_absolute_error(entry: dict[str, Any]) -> None:
    plan = hush.calibrate(*get(entry, "eps", "delta", "Delta"), family="flipped_huber", loss="mae")
    assert plan.mean_abs <= float(entry["value"]) * (1.0 + max(1e-4, rounding(entry["value"])))


@pytest.mark.parametrize("entry", rows("fh_theorem8_infimum", slow=lambda e: e["inputs"]["eps"] == "0.4"))
def test_exact_accounting_is_never_worse_than_theorem_8(entry: dict[str, Any]) -> None:
    plan = hush.calibrate(*get(entry, "eps", "delta"), box(entry), family="flipped_huber")
    assert plan.variance <= float(entry["value"]) * (1.0 + rounding(entry["value"]) + 1e-6)


@pytest.mark.parametrize("entry", rows("sas_eps_K"))
def test_stable_epsilons_over_coordinates(entry: dict[str, Any]) -> None:
    """linf is exact; for l1 and l2 the entry is the even spread, and the bound of the theorem must not be below it."""
    alpha, gamma, reach = get(entry, "alpha", "gamma", "Delta_p")
    bound = hush.Sensitivity(**{entry["inputs"]["norm"]: reach}, l0=int(entry["inputs"]["K"]))  # type: ignore[arg-type]
    got, truth = hush.epsilon(hush.Stable(alpha, gamma), 0.0, bound), float(entry["value"])
    if entry["inputs"]["norm"] == "linf":
        assert got == pytest.approx(truth, rel=1e-8)
    else:
        assert got >= truth * (1.0 - 1e-8)


@pytest.mark.parametrize("entry", rows("sas_gamma_for_eps"))
def test_stable_scales_for_a_pure_epsilon(entry: dict[str, Any]) -> None:
    epsilon, alpha, reach = get(entry, "eps", "alpha", "Delta")
    assert hush.epsilon(hush.Stable(alpha, float(entry["value"])), 0.0, reach) == pytest.approx(epsilon, rel=1e-7)


@pytest.mark.parametrize("entry", rows("lp_min_var", "lp_min_mae", slow=lambda e: e["inputs"]["eps"] != "1"))
def test_lattice_programmes_respect_the_limit(entry: dict[str, Any]) -> None:
    """A lattice optimum is at most h/2 below the limit (in its square root), because rounding is post-processing."""
    epsilon, delta = get(entry, "eps", "delta")
    top, _, bottom = entry["inputs"]["h"].partition("/")
    half, value = 0.5 * float(top) / float(bottom or "1"), float(entry["value"]) * (1.0 + rounding(entry["value"]))
    if entry["function"] == "lp_min_mae":
        assert value + half >= hush.limit(epsilon, delta, loss="mae").lower
    else:
        assert math.sqrt(value) + half >= math.sqrt(hush.limit(epsilon, delta).lower)
