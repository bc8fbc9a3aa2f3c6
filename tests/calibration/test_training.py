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
    main([*arguments, "--json"])
    document = json.loads(capsys.readouterr().out)
    assert document["steps"] == 14_063 and 1.999 < document["epsilon_at_least"] <= document["epsilon"] <= 2.0
    assert main(arguments[:-2]) == 2
    assert "--delta is needed" in capsys.readouterr().err
