"""The reference values for single noises and curves, one test each, to the digits that are printed.

Closed forms must agree to 1e-12, quadratures and roots to 1e-9, but never better than half a unit of the last printed
digit. Inputs are decimal strings, so a float input differs from the exact one by up to half an ulp (and so does
sigma = sqrt(s2)). The condition numbers are below about 100, which 1e-12 covers easily.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from typing import Any

import numpy as np
import pytest
from conftest import oracle_entries
from scipy.optimize import brentq

import hush
from hush.noise.staircase import least_mean_abs_gamma, least_variance_gamma
from hush.privacy import conversion, gaussian, paper_bounds

Inputs = dict[str, Any]
ENTRIES = oracle_entries()
CLOSED, ROOT = 1e-12, 1e-9


# -- noises from the inputs of an entry ----------------------------------------------------------------------


def number(text: Any) -> float:
    """Return the number of a decimal string, or of the one formula that the files contain."""
    if text == "sqrt(osgt_var(3,40))":
        return math.sqrt(hush.OSGT(3.0, math.sqrt(40.0)).variance)
    return float(text)


def get(i: Inputs, *names: str) -> list[float]:
    return [number(i[name]) for name in names]


def osgt(i: Inputs) -> hush.OSGT:
    if "vartheta" in i:
        return hush.OSGT(number(i["vartheta"]), number(i["varrho"]))
    return hush.OSGT(number(i["m"]), math.sqrt(number(i["s2"])))


def fh(i: Inputs) -> hush.FlippedHuber:
    return hush.FlippedHuber(*get(i, "alpha", "gamma"))


def stable(i: Inputs) -> hush.Stable:
    return hush.Stable(number(i["alpha"]), number(i.get("gamma", "1")))


def truncated(i: Inputs) -> hush.TruncatedLaplace:
    """Return the noise of scale Delta/eps and bound (Delta/eps) log(1 + (e^eps - 1)/(2 delta)), with exactly delta."""
    eps, delta, reach = get(i, "eps", "delta", "Delta")
    return hush.TruncatedLaplace(reach / eps, reach / eps * math.log1p(math.expm1(eps) / (2.0 * delta)))


def staircase(i: Inputs, gamma: float | None = None) -> hush.Staircase:
    return hush.Staircase(number(i["eps"]), number(i["Delta"]), gamma)


@cache
def fig6(family: str) -> hush.Gaussian | hush.OSGT | hush.FlippedHuber:
    """Fig. 6 of the flipped-Huber paper: variance 16, tail scale 7."""
    if family == "gauss":
        return hush.Gaussian(4.0)
    build = hush.FlippedHuber if family == "fh" else hush.OSGT
    return build(brentq(lambda a: build(a, 7.0).variance - 16.0, 1.0, 100.0, xtol=1e-14, rtol=1e-15), 7.0)


# -- for each function: (our value, tolerance) ---------------------------------------------------------------


def by_method(method: str) -> Callable[[Inputs], float]:
    def amount(i: Inputs) -> float:
        return gaussian.sigma(*get(i, "eps", "delta", "Delta"), method=method, allow_invalid=True)

    return amount


def shifts_of(i: Inputs) -> list[float]:
    text = i["shifts"]
    return [1.0] * int(text.split("*")[1]) if "*" in text else [float(x) for x in text.strip("[]").split(",")]


def osgt_cks(i: Inputs) -> float:
    """eq. (21) of the OSGT paper: Appendix E summed over the coordinates, converted at the best order."""
    noise, shifts = osgt(i), shifts_of(i)
    return conversion.best_delta(
        lambda a: math.fsum(paper_bounds.osgt_appendix_e(noise, a, s) for s in shifts), number(i["eps"])
    )


def laplace_beta(i: Inputs) -> float:
    eps, delta, reach = get(i, "eps", "delta", "Delta")
    return reach / (eps - 2.0 * math.log1p(-delta))


def gauss_delta(i: Inputs) -> float:
    return hush.delta(hush.Gaussian(number(i["sigma"])), *get(i, "eps", "Delta"))


ANSWERS: dict[str, tuple[Callable[[Inputs], float], float]] = {
    "gauss_delta": (gauss_delta, CLOSED),
    "gauss_pdp_delta": (lambda i: gaussian.pdp_delta(*get(i, "eps", "sigma", "Delta")), CLOSED),
    "gauss_eps": (lambda i: hush.epsilon(hush.Gaussian(number(i["sigma"])), *get(i, "delta", "Delta")), ROOT),
    "sigma_dp_opt": (by_method("optimal"), CLOSED),
    "sigma_pdp_opt": (by_method("pdp_optimal"), CLOSED),
    "sigma_mech1": (by_method("mechanism1"), CLOSED),
    "sigma_mech2": (by_method("mechanism2"), CLOSED),
    "sigma_mech3": (by_method("mechanism3"), CLOSED),
    "sigma_mech4": (by_method("mechanism4"), CLOSED),
    "sigma_zcdp": (by_method("zcdp"), CLOSED),
    "sigma_mcdp": (by_method("mcdp"), CLOSED),
    "sigma_dwork2006": (by_method("dwork2006"), CLOSED),
    "sigma_dwork2014": (by_method("dwork2014"), CLOSED),
    "sigma_cks": (by_method("cks"), ROOT),
    "gauss_sigma": (by_method("optimal"), CLOSED),
    "gauss_var": (lambda i: by_method("optimal")(i) ** 2, CLOSED),
    "gauss_var_opt": (lambda i: by_method("optimal")(i) ** 2, CLOSED),
    "gauss_variance_K": (
        lambda i: gaussian.sigma(*get(i, "eps", "delta"), number(i["Delta"]) * math.sqrt(number(i["K"]))) ** 2,
        5e-6,  # the reference value is by FFT and too large by as much
    ),
    "eps_upper_bound_sigma": (lambda i: gaussian.epsilon_free_sigma(number(i["delta"])), CLOSED),
    "dwork_threshold": (
        lambda i: gaussian.fails_beyond(number(i["delta"]), f"dwork{i['year']}", notion=i["notion"]),
        ROOT,
    ),
    "lemma4_delta": (lambda i: gaussian.pdp_from_dp(*get(i, "eps", "delta", "eps_star"))[1], CLOSED),
    "composition_sigma": (
        lambda i: gaussian.compose_sigma([float(x) for x in i["sigmas"]], [float(x) for x in i["deltas"]]),
        CLOSED,
    ),
    "osgt_var": (lambda i: osgt(i).variance, CLOSED),
    "osgt_fisher": (lambda i: osgt(i).fisher_information, CLOSED),
    "osgt_pdf": (lambda i: osgt(i).pdf(number(i["y"])), CLOSED),
    "osgt_cdf": (lambda i: osgt(i).cdf(number(i["y"])), CLOSED),
    "osgt_ppf": (lambda i: osgt(i).ppf(number(i["p"])), CLOSED),
    "osgt_delta": (lambda i: hush.delta(osgt(i), *get(i, "eps", "Delta")), CLOSED),
    "osgt_eps": (lambda i: hush.epsilon(osgt(i), *get(i, "delta", "Delta")), ROOT),
    "osgt_ystar": (lambda i: float(osgt(i).exceeds(number(i["eps"]), number(i["Delta"])).upper[0]), CLOSED),
    "osgt_renyi": (lambda i: hush.renyi(osgt(i), *get(i, "alpha", "Delta")), CLOSED),
    "osgt_kl": (lambda i: hush.renyi(osgt(i), 1.0, number(i["Delta"])), ROOT),
    "osgt_zcdp_bound": (
        lambda i: paper_bounds.osgt_theorem2(osgt(i), *get(i, "alpha", "Delta2"), k=int(i["k"])),
        CLOSED,
    ),
    "osgt_cks_delta": (osgt_cks, ROOT),
    "cks_delta_from_rdp": (lambda i: conversion.rdp_to_delta(*get(i, "alpha", "tau", "eps")), CLOSED),
    "dosgt_var": (lambda i: hush.Discrete(osgt(i)).variance, CLOSED),
    "dosgt_delta": (lambda i: hush.delta(hush.Discrete(osgt(i)), *get(i, "eps", "Delta")), CLOSED),
    "dosgt_renyi": (lambda i: hush.renyi(hush.Discrete(osgt(i)), *get(i, "alpha", "Delta")), CLOSED),
    "fh_omega": (lambda i: fh(i).omega, CLOSED),
    "fh_kappa": (lambda i: fh(i).kappa, CLOSED),
    "fh_theta": (lambda i: fh(i).theta, CLOSED),
    "fh_var": (lambda i: fh(i).variance, CLOSED),
    "fh_mae": (lambda i: fh(i).mean_abs, CLOSED),
    "fh_fisher": (lambda i: fh(i).fisher_information, CLOSED),
    "fh_nfi": (lambda i: fh(i).normalised_fisher_information, CLOSED),
    "fh_sf": (lambda i: fh(i).sf(number(i["t"])), CLOSED),
    "fh_ppf": (lambda i: fh(i).ppf(number(i["u"])), CLOSED),
    "fh_mgf": (lambda i: fh(i).mgf(number(i["s"])), CLOSED),
    "fh_delta1": (lambda i: hush.delta(fh(i), *get(i, "eps", "Delta")), CLOSED),
    "fh_renyi": (lambda i: hush.renyi(fh(i), *get(i, "order", "Delta")), ROOT),
    "fh_zcdp_bound": (lambda i: paper_bounds.flipped_huber_theorem9(fh(i), *get(i, "order", "Delta")), CLOSED),
    "trlap_A": (lambda i: truncated(i).bound, CLOSED),
    "trlap_var": (lambda i: truncated(i).variance, CLOSED),
    "trlap_mae": (lambda i: truncated(i).mean_abs, CLOSED),
    "stair_gamma_l1": (lambda i: least_mean_abs_gamma(number(i["eps"])), CLOSED),
    "stair_gamma_l2": (lambda i: least_variance_gamma(number(i["eps"])), CLOSED),
    "stair_var": (lambda i: staircase(i).variance, CLOSED),
    "stair_mae": (lambda i: staircase(i, least_mean_abs_gamma(number(i["eps"]))).mean_abs, CLOSED),
    "laplace_beta": (laplace_beta, CLOSED),
    "laplace_var": (lambda i: hush.Laplace(laplace_beta(i)).variance, CLOSED),
    "sas_pdf": (lambda i: stable(i).pdf(number(i["x"])), CLOSED),
    "sas_sf": (lambda i: stable(i).sf(number(i["x"])), CLOSED),
    "sas_mae": (lambda i: stable(i).mean_abs, CLOSED),
    "sas_eps": (lambda i: stable(i).max_loss(number(i["s"])), ROOT),
    "sas_sup_score": (lambda i: stable(i).sup_score(), ROOT),
    "sas_delta": (lambda i: hush.delta(stable(i), number(i["eps"]), number(i["s"])), ROOT),
    "fig6_osgt_vartheta": (lambda i: fig6("osgt").m, ROOT),  # type: ignore[union-attr]
    "fig6_fh_delta": (lambda i: hush.delta(fig6("fh"), number(i["eps"])), ROOT),
    "fig6_osgt_delta": (lambda i: hush.delta(fig6("osgt"), number(i["eps"])), ROOT),
    "fig6_gauss_delta": (lambda i: hush.delta(fig6("gauss"), number(i["eps"])), ROOT),
}

#: Values that are results of a search. The tests insert them and check that the target is met.
INVERSES = {"sas_gamma_for_eps", "sas_mae_at_eps", "osgt_variance_at"}

#: Tested in test_oracle_dimensions.py: composition over coordinates, calibration, the limit.
LATER = {
    "osgt_delta_k_exact",
    "fh_opt_var",
    "fh_opt_alpha",
    "fh_opt_gamma",
    "fh_min_variance",
    "fh_min_variance_gamma",
    "fh_min_variance_alpha",
    "fh_min_variance_K",
    "fh_min_mae",
    "fh_least_delta_at_variance",
    "fh_theorem8_infimum",
    "osgt_min_variance",
    "osgt_min_variance_K",
    "laplace_variance_K",
    "sas_best_alpha",
    "sas_best_mae",
    "sas_eps_K",
    "lp_min_var",
    "lp_min_mae",
}


# -- digits --------------------------------------------------------------------------------------------------


def digits(text: str) -> int:
    """Return the number of printed significant digits."""
    return len(Decimal(text).as_tuple().digits)


@cache
def printed(function: str) -> dict[str, int]:
    """Return the digits for each method of a function: the most of all values, since trailing zeros are not printed."""
    most: Counter[str] = Counter()
    for entry in ENTRIES:
        if entry["function"] == function:
            how = entry["how"].split(";")[0]
            most[how] = max(most[how], digits(entry["value"]))
    return most


def tolerance(entry: dict[str, Any], kind: float) -> float:
    """Return the relative tolerance: `kind`, or half a unit of the last printed digit if that is larger."""
    value = Decimal(entry["value"])
    shown = printed(entry["function"])[entry["how"].split(";")[0]]
    half_unit = Decimal(5) * Decimal(10) ** (value.adjusted() - shown)
    return max(kind, float(half_unit / abs(value)))


def label(entry: dict[str, Any]) -> str:
    return entry["function"] + "-" + "-".join(str(v) for v in entry["inputs"].values())


def of(names: Any) -> list[Any]:
    return [pytest.param(entry, id=label(entry)) for entry in ENTRIES if entry["function"] in names]


# -- tests ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("entry", of(ANSWERS))
def test_value(entry):
    """The value of hush equals the reference value."""
    answer, kind = ANSWERS[entry["function"]]
    assert answer(entry["inputs"]) == pytest.approx(float(entry["value"]), rel=tolerance(entry, kind), abs=0.0)


@pytest.mark.parametrize("entry", of({"laplace_beta", "laplace_var"}))
def test_laplace_spends_its_delta(entry):
    """Laplace(beta) gives exactly the delta it was calibrated for, and 2 beta^2 is its variance."""
    value = float(entry["value"])
    beta = value if entry["function"] == "laplace_beta" else math.sqrt(0.5 * value)
    eps, delta, reach = get(entry["inputs"], "eps", "delta", "Delta")
    # delta = 1 - exp((eps - Delta/beta)/2): an ulp in beta moves it by eps * 1e-16 / delta relative
    assert hush.delta(hush.Laplace(beta), eps, reach) == pytest.approx(delta, rel=1e-12 + 1e-15 * eps / delta)
    assert hush.Laplace(beta).variance == pytest.approx(2.0 * beta**2, rel=1e-15)


@pytest.mark.parametrize("entry", of({"trlap_A", "trlap_var", "trlap_mae"}))
def test_truncated_laplace_spends_its_delta(entry):
    """The delta of the noise is the one it was made for."""
    eps, delta, reach = get(entry["inputs"], "eps", "delta", "Delta")
    assert hush.delta(truncated(entry["inputs"]), eps, reach) == pytest.approx(delta, rel=1e-12)


@pytest.mark.parametrize("entry", of({"sas_gamma_for_eps"}))
def test_stable_scale_reaches_its_epsilon(entry):
    """The largest loss at the reference gamma is its epsilon (the relative slope in gamma is at most 1)."""
    i = entry["inputs"]
    noise = hush.Stable(number(i["alpha"]), float(entry["value"]))
    assert noise.max_loss(number(i["Delta"])) == pytest.approx(number(i["eps"]), rel=tolerance(entry, ROOT))


@pytest.mark.parametrize("entry", of({"sas_mae_at_eps"}))
def test_stable_error_at_its_epsilon(entry):
    """The gamma with the reference mean absolute error has the reference epsilon."""
    i = entry["inputs"]
    unit = hush.Stable(number(i["alpha"]), 1.0)
    noise = unit.scaled(float(entry["value"]) / unit.mean_abs)
    assert noise.max_loss(number(i["Delta"])) == pytest.approx(number(i["eps"]), rel=tolerance(entry, ROOT))


@pytest.mark.parametrize("entry", of({"osgt_variance_at"}))
def test_osgt_at_its_calibrated_variance(entry):
    """Slightly below the reference variance delta is above its target, and slightly above it is below."""
    i = entry["inputs"]
    eps, delta, reach = get(i, "eps", "delta", "Delta")
    unit = hush.OSGT(number(i["ratio_m_over_sigma"]), 1.0)
    slack = tolerance(entry, 1e-12)
    scale = math.sqrt(float(entry["value"]) / unit.variance)
    assert hush.delta(unit.scaled(scale * (1.0 - slack)), eps, reach) > delta
    assert hush.delta(unit.scaled(scale * (1.0 + slack)), eps, reach) < delta


@pytest.mark.exhaustive
def test_osgt_cks_by_the_exact_divergence_is_no_worse():
    """For one coordinate, the exact Renyi curve gives a delta between the exact one and that of Theorem 2."""
    noise = hush.OSGT(3.0, math.sqrt(40.0))
    exact = conversion.best_delta(lambda a: hush.renyi(noise, a), 1.0, largest_order=1e4)
    bound = conversion.best_delta(lambda a: paper_bounds.osgt_theorem2(noise, a), 1.0, largest_order=1e4)
    assert hush.delta(noise, 1.0) < exact < bound


def test_every_entry_is_tested(data_dir):
    """Every entry of the files is tested here or listed in LATER."""
    counts = Counter(entry["function"] for entry in ENTRIES)
    assert set(counts) == set(ANSWERS) | INVERSES | LATER
    answered = sum(n for name, n in counts.items() if name not in LATER)
    assert (data_dir / "gauss_osgt.json").is_file()
    assert len(ENTRIES) >= 695
    assert answered >= 479
    assert np.isfinite([float(entry["value"]) for entry in ENTRIES]).all()
