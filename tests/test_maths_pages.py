"""Numbers in the prose of docs/maths equal what hush computes, and pages state their assumptions."""

from __future__ import annotations

import functools
import itertools
import math
import re

import numpy as np
import pytest
from printed import ROOT, assert_shown, rows

import hush
from hush.calibration.lower_limit import lower_limit
from hush.explorer import precomputed
from hush.explorer.state import STOPS


def _prose(page: str) -> str:
    return " ".join((ROOT / "docs" / "maths" / page).read_text().split())


def test_the_page_of_the_limit_says_how_wide_its_brackets_are() -> None:
    """Checked at every slider position of the explorer. The staircase at delta = 0 is compared with the lower end."""
    text = _prose("limit.md")
    width, epsilon_to, delta_to = map(
        float, re.findall(r"([\d.]+) % or less for eps up to (\d+) and delta up to ([\d.e-]+\d)", text)[0]
    )
    above, epsilon_from = map(
        float, re.findall(r"staircase is within ([\d.]+) % of the lower end from eps ([\d.]+) on", text)[0]
    )
    stops = [
        stop
        for stop in itertools.product(STOPS["epsilon"], STOPS["delta"])
        if stop[0] <= epsilon_to and stop[1] <= delta_to
    ]
    assert len(stops) == 91
    for epsilon, delta in stops:
        kept = precomputed.limit(epsilon, delta, 1)
        bracket = hush.limit(epsilon, delta) if kept is None else kept
        assert bracket.upper <= (1.0 + width / 100.0) * bracket.lower, (epsilon, delta)
        if delta == 1e-6 and epsilon >= epsilon_from:
            assert hush.Staircase(epsilon).variance <= (1.0 + above / 100.0) * bracket.lower
        if delta == 1e-6 and epsilon >= 0.3:  # stated on the page of stepped noise
            assert hush.Staircase(epsilon).variance <= 1.0005 * bracket.upper
    assert "epsilon 0.3 or more, the variance of the [staircase](staircase.md) is equal up to 0.05 %" in _prose(
        "stepped.md"
    )


def test_the_bounds_for_several_numbers_are_those_of_hush() -> None:
    table = rows("maths/limit.md", "| numbers | sums")
    assert [int(row[0]) for row in table] == [2, 3, 5, 10, 20, 50, 100]
    for count, sums, volume, field, cube, counts in table:
        d = int(count)
        box, sided = (hush.Sensitivity(linf=1.0, dimension=d, one_sided=side) for side in (False, True))
        assert_shown(lower_limit(1.0, 1e-6, box, "variance", None), sums)
        assert_shown(lower_limit(1.0, 1e-6, sided, "variance", None), counts)
        pure = lower_limit(1.0, 0.0, box, "variance", None)
        largest = max(d * hush.limit(1.0, 0.0).lower, float(volume), float(field))
        assert pure == pytest.approx(largest, rel=2e-4)
        assert_shown((d + 1) * (d + 2) / 3.0, cube)
    at_a_tenth = lower_limit(0.1, 0.0, hush.Sensitivity(linf=1.0, dimension=10), "variance", None)
    text = _prose("limit.md")
    assert (
        f"At eps = 0.1 and d = 10 it gives {at_a_tenth:.0f}, the sums {10.0 * hush.limit(0.1, 0.0).lower:.0f}" in text
    )
    assert hush.calibrate(0.1, 0.0, hush.Sensitivity(linf=1.0, dimension=10)).variance == pytest.approx(
        4400.0, rel=1e-3
    )


@functools.cache
def _variance(
    family: str, count: int = 1, *, epsilon: float = 1.0, delta: float = 1e-6, step: float | None = None
) -> float:
    return hush.calibrate(epsilon, delta, hush.Sensitivity(linf=1.0, l0=count), family=family, step=step).variance


def _variances(count: int, *families: str) -> list[float]:
    return [_variance(family, count) for family in families]


def _fails(method: str) -> list[float]:
    return [hush.gaussian.fails_beyond(delta, method) for delta in (1e-3, 1e-6)]


def _twins(m: float, squared: float, epsilon: float) -> list[float]:
    noise = hush.OSGT(m, math.sqrt(squared))
    return [hush.delta(hush.Discrete(noise), epsilon), hush.delta(noise, epsilon)]


def _less(epsilon: float) -> float:
    return 100.0 * (1.0 - hush.Staircase(epsilon).variance / (2.0 / epsilon**2))


def _osgt(count: int) -> list[float]:
    osgt, asinh, gaussian = _variances(count, "osgt", "asinh", "gaussian")
    return [100.0 * (osgt / asinh - 1.0), 100.0 * (1.0 - osgt / gaussian)]


def _after(noise: hush.Noise, delta: float) -> list[float]:
    share = hush.federated.share(noise, 1000)
    left = [share.central(answering=answering) for answering in (900, 700)]
    return [curve.epsilon(delta) if delta else curve.pure_epsilon for curve in left]


_CLAIMS = {  # page, words on it, and the numbers in these words as hush computes them
    "asinh ten": (
        "asinh",
        "158.8 against 178.5 (Gaussian) and 199.6 (Laplace)",
        lambda: _variances(10, "asinh", "gaussian", "laplace"),
    ),
    "asinh twenty": ("asinh", "344.8 against 357.0", lambda: _variances(20, "asinh", "gaussian")),
    "asinh nine": ("asinh", "138.8 against 138.9", lambda: _variances(9, "exponential_power", "asinh")),
    "power": (
        "exponential_power",
        "117.2 for eight numbers, against 127.9 (Laplace) and 142.8 (Gaussian)",
        lambda: _variances(8, "exponential_power", "laplace", "gaussian"),
    ),
    "huber": ("flipped_huber", "49.92 against 50.00", lambda: _variances(5, "flipped_huber", "laplace")),
    "twins": ("discrete", "8.16e-12, the continuous noise has 7.85e-12", lambda: _twins(3.0, 40.0, 1.0)),
    "other twins": ("discrete", "is 0.797 against 0.661", lambda: _twins(5.0, 2.5, 0.1)),
    "many discrete": (
        "discrete",
        "75.6 against 72.2",
        lambda: [_variance("laplace", 20, epsilon=3.0, step=step) for step in (1.0, None)],
    ),
    "discrete": ("discrete", "1.841 for discrete Laplace", lambda: [_variance("laplace", step=1.0)]),
    "osgt": (
        "osgt",
        "2.6 % above that of [asinh](asinh.md) and 8.7 % below that of the Gaussian. "
        "For twenty numbers it is 1.5 % above and 2 % below",
        lambda: [*_osgt(10), *_osgt(20)],
    ),
    "osgt large": ("osgt", "is 398.2", lambda: [hush.OSGT(15.0, math.sqrt(630.0)).variance]),
    "osgt beside": (
        "osgt",
        "delta = 3.93e-9",
        lambda: [hush.delta(hush.Gaussian(math.sqrt(hush.OSGT(3.0, 40**0.5).variance)), 1.0)],
    ),
    "skellam": (
        "skellam",
        "14.24, less than the discrete Gaussian's 17.90",
        lambda: [_variance(family, step=1.0) for family in ("skellam", "gaussian")],
    ),
    "staircase": (
        "staircase",
        "4 % below that of Laplace noise at epsilon 1, 31 % below at epsilon 3, and 63 % below at epsilon 5",
        lambda: [_less(1), 1, _less(3), 3, _less(5), 5],
    ),
    "stepped": (
        "stepped",
        "1.589, against 1.664 for truncated Laplace noise and 1.918 for the staircase",
        lambda: [_variance(family, delta=0.01) for family in ("stepped", "truncated_laplace", "staircase")],
    ),
    "truncated": (
        "truncated_laplace",
        "154.7, against 192.2 for Laplace noise and 302.9 for the Gaussian",
        lambda: [_variance(family, epsilon=0.1, delta=1e-3) for family in ("truncated_laplace", "laplace", "gaussian")],
    ),
    "dwork 2006": ("gaussian", "8.5 to 9.7", lambda: _fails("dwork2006")),
    "dwork 2014": ("gaussian", "7.46 to 8.78", lambda: _fails("dwork2014")),
    "shares": (
        "federated",
        "1.063 and 1.227, against 1.188 and 1.820 for Laplace shares (1.058 and 1.212 for the Gaussian",
        lambda: [
            *_after(hush.federated.calibrate_stable(1.0).noise, 0.0),
            *_after(hush.Laplace(1.0), 0.0),
            *_after(hush.Gaussian(hush.gaussian.sigma(1.0, 1e-6)), 1e-6),
        ],
    ),
}


@pytest.mark.parametrize("claim", _CLAIMS)
def test_the_numbers_in_the_prose_of_the_maths_are_what_hush_gives(claim: str) -> None:
    page, words, values = _CLAIMS[claim]
    assert words in _prose(f"{page}.md")
    printed = re.findall(r"\d+(?:\.\d+)?(?:e-?\d+)?", words)
    for value, number in zip(values(), printed, strict=True):
        assert_shown(value, number)


def test_which_noise_wins_for_how_many_numbers() -> None:
    """At (1, 1e-6): staircase up to five numbers, exponential power for six to nine, asinh from ten on; at a hundred
    the Gaussian is close.
    """
    for best, count, other in (
        ("staircase", 5, "flipped_huber"),
        ("staircase", 5, "laplace"),
        ("exponential_power", 6, "staircase"),
        ("exponential_power", 9, "asinh"),
        ("asinh", 10, "exponential_power"),
    ):
        assert _variance(best, count) < _variance(other, count)
    assert _variance("gaussian", 100) < 1.003 * _variance("asinh", 100)
    said = {
        "staircase": "For up to five numbers",
        "exponential_power": "six to nine numbers",
        "asinh": "ten or more numbers",
        "gaussian": "within 0.3 %",
    }
    for page, words in said.items():
        assert words in _prose(f"{page}.md")


def test_rounded_noise_is_not_called_exact() -> None:
    """Rounding is post-processing: the continuous curve is an upper bound, and at a coarse step it is not attained."""
    row = next(row for row in rows("maths/discrete.md", "| | rounded | discrete") if row[0] == "privacy")
    assert "upper bound" in row[1] and "exactly" not in row[1]
    noise = hush.Laplace(1.0)
    mass = np.diff(noise.cdf(np.arange(-40, 41) + 0.5))
    assert np.maximum(mass[1:] - math.exp(0.5) * mass[:-1], 0.0).sum() < 0.99 * hush.delta(noise, 0.5)


def test_the_security_model_names_what_it_rests_on() -> None:
    text = " ".join((ROOT / "docs" / "security.md").read_text().split())
    promise = text[text.index("The promise:") : text.index("## Protected")]
    for words in (
        "AES-256",
        "computational",
        "Float margins",
        "single peak",
        "certified.md#what-rests-on-evidence-and-not-on-proof",
    ):
        assert words in promise, words
    assert "but for one assumption" not in text
    assert "## What rests on evidence and not on proof" in (ROOT / "docs" / "certified.md").read_text()


@functools.cache
def _target(name: str) -> hush.Noise:
    """A noise of the page's table, calibrated for central epsilon 1."""
    if name == "Laplace":
        return hush.Laplace(1.0)
    if name == "discrete Laplace, step 1":
        return hush.Discrete(hush.Laplace(1.0))
    if name == "Gaussian":
        return hush.Gaussian(hush.gaussian.sigma(1.0, 1e-6))
    if name == "Skellam, step 1":
        return hush.calibrate(1.0, 1e-6, family="skellam", step=1.0).noise
    alpha = float(name.removeprefix("stable, alpha "))
    return hush.federated.calibrate_stable(1.0, alpha=None if alpha == 1.7 else alpha).noise


def test_the_table_of_shares_is_what_hush_gives() -> None:
    table = rows("maths/federated.md", "| target | mean absolute error")
    assert len(table) == 6
    for name, error, *cells in table:
        assert_shown(_target(name).mean_abs, error)
        pure = "pure" in cells[0]
        for parties, cell in zip((10, 100, 1000, 10**6), cells, strict=True):
            local = hush.federated.share(_target(name), parties).local()
            found = local.pure_epsilon if pure else local.epsilon(1e-6)
            if cell == "none":
                assert math.isinf(found)
            else:
                assert_shown(found, cell.split()[0])


@pytest.mark.exhaustive
def test_the_table_of_rounded_shares_is_what_hush_gives() -> None:
    table = rows("maths/federated.md", "| n | step")
    assert len(table) == 7
    target = _target("stable, alpha 1.70")
    for parties, step, scale, delta, epsilon in table:
        share = hush.federated.share(target, int(parties)).noise
        curve = hush.curve(hush.federated.RoundedSum(share, int(parties), float(step)), 1.0)
        assert_shown(share.gamma / float(step), scale)
        assert_shown(curve.delta(0.9), delta)
        assert_shown(curve.epsilon(1e-6), epsilon)


def test_the_table_of_hull_noise() -> None:
    table = rows("maths/hull.md", "| d, l0 |")
    sizes = ((12, 3), (12, 6), (20, 10), (50, 20))
    assert len(table) == 5
    columns = zip(*(row[1:] for row in table), strict=True)
    for (d, l0), (both, cube, one, interval, independent) in zip(sizes, columns, strict=True):
        counts = hush.Sensitivity(linf=1.0, l0=l0, dimension=d, one_sided=True)
        best = hush.calibrate(1.0, 0.0, counts, family="hull", values="integer")
        printed, offset = one.removesuffix(")").split(" (")
        assert_shown(best.variance, printed)
        assert best.noise == hush.Hull(d, l0, 1.0, float(offset), one_sided=True)
        assert_shown(hush.Hull(d, l0, 1.0).variance, both)
        assert_shown(hush.Cube(d, 1.0).variance, cube)
        assert_shown(hush.calibrate(1.0, 0.0, counts, family="interval", values="integer").variance, interval)
        assert_shown(hush.Discrete(hush.Laplace(float(l0))).variance, independent)
