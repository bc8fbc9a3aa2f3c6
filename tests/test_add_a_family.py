"""The family of docs/add_a_family.md is correct: its delta against forty digits, its draws against its law."""

from __future__ import annotations

import dataclasses
import math
import re
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import hush
from hush.noise import catalogue

PAGE = Path(__file__).resolve().parents[1] / "docs" / "add_a_family.md"
CHANCE = 1e-6  # probability of a false alarm


@pytest.fixture(scope="module")
def logistic(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The class of the page and its descriptor, registered, in a module; tests/test_docs.py runs the other blocks."""
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.DOTALL)
    descriptor = next(block for block in blocks if "hush.register(" in block)
    module = ModuleType("page_add_a_family")
    sys.modules[module.__name__] = module
    with catalogue.restored():
        exec(compile("\n".join((blocks[0], descriptor)), PAGE.name, "exec", dont_inherit=True), module.__dict__)
        yield module.__dict__["Logistic"]
    del sys.modules[module.__name__]


def truth(scale: float, epsilon: float, shift: float) -> Any:
    """Return delta from the distribution function at the root of the loss, which bisection finds."""
    d, e = mp.mpf(shift) / mp.mpf(scale), mp.mpf(epsilon)

    def cdf(x: Any) -> Any:
        return 1 / (1 + mp.exp(-x))

    def loss(x: Any) -> Any:  # falls with x
        return d + 2 * mp.log((1 + mp.exp(x - d)) / (1 + mp.exp(x)))

    low, high = mp.mpf(-900), d
    for _ in range(400):
        middle = (low + high) / 2
        low, high = (middle, high) if loss(middle) > e else (low, middle)
    return cdf(low) - mp.exp(e) * cdf(low - d)


@pytest.mark.parametrize("scale", [0.01, 0.3, 1.0, 7.0, 50.0, 1e4])
@pytest.mark.parametrize("share", [0.0, 1e-8, 0.01, 0.3, 0.5, 0.9, 0.999, 1.0 - 1e-9])
def test_delta_is_right_within_a_tenth_of_its_stated_error(logistic: Any, scale: float, share: float) -> None:
    noise, epsilon = logistic(scale), share / scale
    with mp.workdps(60):
        true = truth(scale, epsilon, 1.0)
    found = float(noise.surplus(noise.exceeds(epsilon, 1.0), np.asarray(epsilon), 1.0))
    assert abs(found - float(true)) <= 0.1 * float(noise.error_at(np.asarray(epsilon), 1.0)) * float(true)
    assert hush.delta(noise, epsilon) >= float(true)


def test_the_pure_epsilon_is_reached_and_not_passed(logistic: Any) -> None:
    noise = logistic(2.0)
    assert hush.delta(noise, 0.5) == 0.0 < hush.delta(noise, 0.4999)
    assert hush.epsilon(noise, 0.0) == pytest.approx(0.5, rel=1e-12) and hush.epsilon(noise, 0.0) >= 0.5


def test_moments_and_tails(logistic: Any) -> None:
    noise = logistic(1.5)
    x = np.linspace(-90.0, 90.0, 400_001)
    weight = noise.pdf(x) * (x[1] - x[0])
    score = np.gradient(noise.logpdf(x), x)
    assert weight.sum() == pytest.approx(1.0, rel=1e-9)
    assert (weight * x * x).sum() == pytest.approx(noise.variance, rel=1e-8)
    assert (weight * np.abs(x)).sum() == pytest.approx(noise.mean_abs, rel=1e-7)
    assert (weight * score**2).sum() == pytest.approx(noise.fisher_information, rel=1e-5)
    for tail in (1e-300, 1e-9, 0.2, 0.5):
        assert noise.sf(noise.isf(tail)) == pytest.approx(tail, rel=1e-12)


@pytest.mark.parametrize("scale", [0.7, 30.0, 3e6])
def test_draws_have_the_law_and_no_other(logistic: Any, scale: float) -> None:
    """The empirical distribution agrees with the law, and rejects 2/3 and 3/2 of the scale.

    Dvoretzky, Kiefer and Wolfowitz with Massart's constant; the false-alarm rate is 1e-6.
    """
    count = 100_000
    noise = logistic(scale)
    values, counts = np.unique(hush.draw(noise, count), return_counts=True)
    reached = np.cumsum(counts) / count
    allowed = math.sqrt(math.log(2.0 / CHANCE) / (2.0 * count))
    assert np.abs(reached - noise.cdf(values + 0.5)).max() <= allowed
    for wrong in (2.0 / 3.0, 3.0 / 2.0):
        assert np.abs(reached - noise.scaled(wrong).cdf(values + 0.5)).max() > allowed


@pytest.mark.parametrize("scale", [0.7, 30.0])
def test_draws_of_the_lattice_version_have_its_law(logistic: Any, scale: float) -> None:
    """The same for `Discrete`."""
    count = 100_000
    noise = hush.Discrete(logistic(scale))
    values, counts = np.unique(hush.draw(noise, count), return_counts=True)
    allowed = math.sqrt(math.log(2.0 / CHANCE) / (2.0 * count))
    assert np.abs(np.cumsum(counts) / count - noise.cdf(values)).max() <= allowed
    for wrong in (2.0 / 3.0, 3.0 / 2.0):
        assert np.abs(np.cumsum(counts) / count - hush.Discrete(logistic(scale * wrong)).cdf(values)).max() > allowed


def test_the_class_is_what_its_density_says(logistic: Any) -> None:
    found = hush.check(logistic)
    assert found.passed and all(row.state == "ok" for row in found.rows), str(found)


def test_draws_need_a_tail_and_storage_needs_a_descriptor(logistic: Any) -> None:
    row = catalogue.family_of(logistic)
    assert row is not None
    with catalogue.restored():
        hush.register(dataclasses.replace(row, tail=None, log_weight=None))
        for noise in (logistic(1.25), hush.Discrete(logistic(1.25))):
            with pytest.raises(hush.Unsupported, match=r"no exact (lattice )?draw: its Family needs"):
                hush.draw(noise, 3)

    @dataclasses.dataclass(frozen=True)
    class Other(logistic):  # type: ignore[misc, valid-type]
        pass

    with pytest.raises(hush.Unsupported, match=r"no exact draw; write hush\.register"):
        hush.draw(Other(1.25), 3)
    with pytest.raises(hush.Unsupported, match="not in the catalogue"):
        catalogue.plain_values(Other(1.0))
    with pytest.raises(hush.Unsupported, match="not registered"):
        hush.release(3, hush.Mechanism(Other(1.0), 1.0, step=0.5), ledger=None)


def test_the_page_works_where_a_logistic_noise_is_known_already(logistic: Any) -> None:
    """Whoever adds the example itself to hush leaves the page as it is."""
    row = catalogue.family_of(logistic)
    assert row is not None and row.name == "my_logistic"

    @dataclasses.dataclass(frozen=True)
    class Known(logistic):  # type: ignore[misc, valid-type]
        pass

    with catalogue.restored():
        hush.register(dataclasses.replace(row, name="logistic", type=Known, unit=lambda: Known(1.0)))
        assert type(hush.calibrate(1.0, 1e-6, family="logistic").noise) is Known
        assert type(hush.calibrate(1.0, 1e-6, family="my_logistic").noise) is logistic


def test_the_page_names_files_and_tests_that_exist() -> None:
    """Files of the new family itself do not exist."""
    text = PAGE.read_text()
    root = PAGE.parents[1]
    for name in set(re.findall(r"`((?:src|tests|docs)/[\w/.]+)`", text)):
        assert "logistic" in name or (root / name).exists(), name
    for name in set(re.findall(r"`((?:noise|sampling|calibration|privacy)/\w+\.py)`", text)):
        assert (root / "src" / "hush" / name).exists(), name
    fields = {field.name for field in dataclasses.fields(hush.Family)}
    described = text.split("| field |")[1].split("\n\n")[0]
    assert set(re.findall(r"^\| `(\w+)", described, flags=re.MULTILINE)) <= fields
