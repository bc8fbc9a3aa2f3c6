"""Private training: the least noise multiplier, runs as people describe them, other accounts beside it, the command."""

from __future__ import annotations

import json
import math

import pytest

import hush
from hush.cli import main


@pytest.mark.parametrize(
    ("epsilon", "delta", "rate", "steps"), [(2.0, 1e-5, 256 / 60000, 14_062), (8.0, 1e-6, 0.1, 50), (0.5, 1e-8, 1.0, 4)]
)
def test_the_multiplier_is_private_and_the_least(epsilon: float, delta: float, rate: float, steps: int) -> None:
    sigma = hush.noise_multiplier(epsilon, delta, rate, steps)

    def spent(multiplier: float) -> hush.Bracket:
        return hush.compose([hush.subsample(hush.Gaussian(multiplier), rate, times=steps)]).delta_bracket(epsilon)

    assert spent(sigma).upper <= delta
    assert spent(0.999 * sigma).lower > delta


def test_a_whole_sample_is_the_gaussian_mechanism() -> None:
    assert hush.noise_multiplier(1.0, 1e-6, 1.0, 9) == pytest.approx(3.0 * hush.gaussian.sigma(1.0, 1e-6), rel=1e-5)


def test_a_run_as_people_describe_it() -> None:
    run = hush.training(rows=60_000, batch=256, epochs=60, sigma=1.1)
    assert (run.rate, run.steps) == (256 / 60_000, 14_063)
    found = run.epsilon_bracket(1e-5)
    assert found.lower < run.epsilon(1e-5) == found.upper < found.lower * 1.0001
    assert run.renyi_epsilon(1e-5) == pytest.approx(2.597, abs=0.005)  # as Google's Renyi accountant states it
    assert run.limit_epsilon(1e-5) == pytest.approx(found.upper, rel=0.05)
    assert hush.training(rows=60_000, batch=256, steps=14_063, epsilon=2.0, delta=1e-5).sigma == pytest.approx(
        1.22418, abs=1e-5
    )


@pytest.mark.parametrize("family", ["gaussian", "laplace", "truncated_laplace"])
def test_calibrate_on_samples(family: str) -> None:
    """The noise is private on samples, and nothing smaller is."""
    plan = hush.calibrate(1.0, 1e-6, 2.0, family=family, rate=0.1, times=20)
    assert plan.rate == 0.1 and "Poisson sample of rate 0.1" in plan.why and plan.limit is None

    def spent(noise: hush.Noise) -> hush.Bracket:
        return hush.compose([hush.subsample(noise, 0.1, 2.0, times=20)]).delta_bracket(1.0)

    assert spent(plan.noise).upper <= 1e-6 < spent(plan.noise.scaled(0.999)).lower
    assert plan.variance < 0.5 * hush.calibrate(1.0, 1e-6, 2.0, family=family, times=20).variance
    with pytest.raises(hush.Unsupported, match=r"hush\.subsample"):
        hush.Mechanism.of(plan)


def test_calibrate_on_samples_agrees_with_the_multiplier() -> None:
    plan = hush.calibrate(2.0, 1e-5, hush.Sensitivity(l2=3.0), family="gaussian", rate=0.2, times=100)
    assert plan.noise.sigma == pytest.approx(3.0 * hush.noise_multiplier(2.0, 1e-5, 0.2, 100), rel=1e-9)


def test_a_pure_budget_on_samples() -> None:
    plan = hush.calibrate(1.0, 0.0, family="laplace", rate=0.05, times=10)
    assert plan.noise.scale == pytest.approx(1.0 / math.log1p(math.expm1(0.1) / 0.05), rel=1e-9)
    assert hush.compose([hush.subsample(plan.noise, 0.05, times=10)]).epsilon(0.0) <= 1.0


@pytest.mark.parametrize(
    "wrong", [{"rate": 0.0}, {"rho": 0.1, "epsilon": None, "delta": None}, {"weights": (1.0,)}, {"notion": "pdp"}]
)
def test_bad_requests_on_samples(wrong: dict) -> None:
    with pytest.raises(hush.InvalidParameter, match="rate"):
        hush.calibrate(**{"epsilon": 1.0, "delta": 1e-6, "rate": 0.1, "times": 3} | wrong)


def test_fixed_batches() -> None:
    """The bound of both directions at once is above that of either direction of a Poisson sample, and not far."""
    bound = hush.Sensitivity(l2=1.0, neighbours="replace")
    charge = hush.subsample(hush.Gaussian(1.0), batch=100, rows=10_000, sensitivity=bound, times=50)
    assert charge == hush.Charge.from_plain(charge.to_plain()) and charge.fixed
    found = hush.compose([charge]).epsilon_bracket(1e-6)
    poisson = hush.compose([hush.subsample(hush.Gaussian(1.0), 0.01, times=50)]).epsilon_bracket(1e-6)
    assert poisson.lower * (1.0 - 1e-4) <= found.lower <= poisson.upper <= found.upper <= 1.2 * poisson.upper
    with pytest.raises(hush.Unsupported, match="replace"):
        hush.subsample(hush.Gaussian(1.0), batch=100, rows=10_000)
    for wrong in ({"batch": 5}, {"rate": 0.1, "batch": 5, "rows": 10}, {}, {"batch": 11, "rows": 10}):
        with pytest.raises(hush.InvalidParameter, match="batch"):
            hush.subsample(hush.Gaussian(1.0), sensitivity=bound, **wrong)


@pytest.mark.parametrize(
    ("sigma", "rate", "steps"), [(0.7, 0.01, 100), (1.0, 1.0, 5), (3.0, 0.2, 400), (1.5, 1e-3, 10_000)]
)
def test_the_renyi_account_is_never_below_the_truth(sigma: float, rate: float, steps: int) -> None:
    run = hush.Training(sigma, rate, steps)
    for delta in (1e-3, 1e-6, 1e-10):
        assert run.renyi_epsilon(delta) >= run.epsilon_bracket(delta).lower


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"batch": 0}, "batch"),
        ({"rows": 100}, "larger than rows"),
        ({"epochs": None}, "either epochs= or steps="),
        ({"steps": 5}, "either epochs= or steps="),
        ({"epochs": -1.0}, "epochs"),
        ({"sigma": None}, "either sigma="),
        ({"epsilon": 1.0}, "either sigma="),
        ({"sigma": None, "epsilon": 1.0}, "needs a delta"),
        ({"sigma": math.nan}, "sigma"),
        ({"sigma": None, "epsilon": 1e9, "delta": 1e-5}, "epsilon"),
        ({"sigma": None, "epsilon": 1.0, "delta": 0.0}, "delta"),
    ],
)
def test_bad_runs(wrong: dict, words: str) -> None:
    given = {"rows": 60_000, "batch": 256, "epochs": 1.0, "sigma": 1.0} | wrong
    with pytest.raises(hush.InvalidParameter, match=words):
        hush.training(**given)


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["sgd", "--rows", "60000", "--batch", "256", "--epochs", "60", "--epsilon", "2", "--delta", "1e-5"]
    main(arguments)
    text = capsys.readouterr().out
    assert "noise multiplier 1.22418" in text and "Renyi orders" in text and "Poisson" in text
    words = " ".join(text.split())
    assert "holds for one row more or less if the rate, the number of steps and the number" in words
    assert "Computed from a private number of rows they are not" in words
    main([*arguments, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["neighbours"] == "add-remove" and document["must_be_public"] == ["rate", "steps", "divisor"]
    assert document["steps"] == 14_063 and 1.999 < document["epsilon_at_least"] <= document["epsilon"] <= 2.0
    assert main(arguments[:-2]) == 2
    assert "--delta is needed" in capsys.readouterr().err


def test_the_command_calibrates_on_samples(capsys: pytest.CaptureFixture[str]) -> None:
    main(["calibrate", "--epsilon", "1", "--delta", "1e-6", "--rate", "0.1", "--times", "20", "--family", "laplace"])
    text = capsys.readouterr().out
    assert "20 releases on Poisson samples of rate 0.1" in text and "laplace" in text
