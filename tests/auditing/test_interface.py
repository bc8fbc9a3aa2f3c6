"""What audit accepts and refuses, what a finding says, and the command line."""

from __future__ import annotations

import importlib
import itertools
import json
import math
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from auditing.releases import float_laplace, lattice_laplace

import hush
from hush.auditing import AuditResult
from hush.auditing.bound import clopper_pearson
from hush.cli import main
from hush.sampling.mechanism import Mechanism

GOOD = lattice_laplace(1.0, 0)


def test_the_public_names_are_the_packages_names() -> None:
    assert callable(hush.audit) and hush.AuditResult is AuditResult
    package = importlib.import_module("hush.auditing")
    assert package.audit is hush.audit
    assert importlib.import_module("hush.auditing.bound").epsilon_lower


# -- a finding -----------------------------------------------------------------------------------------------


def test_a_finding_states_its_claim_and_its_evidence() -> None:
    found = hush.audit(float_laplace(1.0, 1), epsilon=1.0, delta=1e-9, samples=50_000)
    assert (found.epsilon, found.delta, found.samples, found.confidence) == (1.0, 1e-9, 50_000, 0.999999)
    assert len(found.tests) == 4
    for test in found.tests:
        assert test.trials == 25_000
        risk = 1e-6 / 8.0  # four events, two bounds each
        assert test.p_lower == pytest.approx(float(clopper_pearson(test.hits, test.trials, risk)[0]), rel=1e-9)
        assert test.q_upper == pytest.approx(float(clopper_pearson(test.other_hits, test.trials, risk)[1]), rel=1e-9)
        assert test.epsilon_lower == pytest.approx(max(0.0, math.log((test.p_lower - 1e-9) / test.q_upper)), abs=1e-12)
    text = repr(found)
    assert "VIOLATED" in text and found.event in text and found.why in text
    assert found.why.startswith("Not (1, 1e-09)-private") and "never under 1.0" in found.why
    with pytest.raises(AttributeError):
        found.epsilon = 2.0  # type: ignore[misc]


def test_a_finding_as_json() -> None:
    for release in (GOOD, float_laplace(1.0, 1)):
        found = hush.audit(release, epsilon=1.0, samples=20_000)
        read = json.loads(found.to_json(), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))
        assert read["violated"] == found.violated and read["epsilon_lower"] == found.epsilon_lower
        assert (read["collisions"] is None) == (found.collisions is None)
        assert len(read["tests"]) == len(found.tests) and read["why"] == found.why


def test_the_search_sees_the_first_half_only() -> None:
    """The theorem's one condition: events do not depend on the draws they are counted on."""
    searched = {value: lattice_laplace(1.0, 4)(value, 2000) for value in (0.0, 1.0)}
    found = []
    for scale in (1.0, 0.1):
        counted = lattice_laplace(scale, 5)
        draws = {value: np.concatenate([searched[value], counted(value, 2000)]) for value in (0.0, 1.0)}
        found.append(hush.audit(lambda value, size, draws=draws: draws[value], epsilon=1.0, samples=4000))
    assert [test.event for test in found[0].tests] == [test.event for test in found[1].tests]
    assert found[1].epsilon_lower > found[0].epsilon_lower + 1.0  # and they are counted on the second


def test_nothing_found_says_that_it_proves_nothing() -> None:
    found = hush.audit(GOOD, epsilon=1.0, samples=20_000)
    assert not found.violated
    assert "nothing found" in repr(found) and "no proof" in found.why


def test_odd_sizes_and_small_batches_use_every_draw() -> None:
    seen: list[tuple[int, int]] = []
    sizes: list[int] = []

    def release(value: float, size: int) -> np.ndarray:
        sizes.append(size)
        return GOOD(value, size)

    found = hush.audit(
        release, epsilon=1.0, samples=10_007, batch=4000, progress=lambda done, of: seen.append((done, of))
    )
    assert seen == [(4000, 10_007), (8000, 10_007), (10_007, 10_007)]
    assert sizes == [4000, 4000, 4000, 4000, 2007, 2007]
    assert found.best.trials == 10_007 - 2 * (10_007 // 4)


# -- targets -------------------------------------------------------------------------------------------------


def test_one_output_a_call_or_many_is_read_off_the_signature() -> None:
    rng = np.random.default_rng(0)
    for single in (
        lambda value: value + rng.integers(-20, 20),
        lambda value, generator=rng: value + generator.integers(-20, 20),
    ):
        assert hush.audit(single, epsilon=1.0, samples=1000).samples == 1000
    many = lambda value, size=None: value + rng.integers(-20, 20, size)  # noqa: E731
    assert hush.audit(many, epsilon=1.0, samples=1000).samples == 1000
    assert hush.audit(lambda *both: GOOD(*both), epsilon=1.0, samples=1000, vectorised=True).samples == 1000


def test_inputs_may_be_whole_data_sets() -> None:
    noise = lattice_laplace(0.25, 3)
    found = hush.audit(
        lambda rows, size: noise(float(sum(rows["x"])), size), epsilon=1.0, inputs=({"x": [1, 2]}, {"x": [1, 2, 1]})
    )
    assert found.violated and found.inputs[0] == "{'x': [1, 2]}"


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.float32, bool])
def test_outputs_of_any_type_of_number(kind: type) -> None:
    found = hush.audit(lambda value, size: np.full(size, value).astype(kind), epsilon=1.0, samples=2000)
    assert found.violated


def test_integers_too_large_for_floats_are_told_apart() -> None:
    """2^60 and 2^60 + 1 are the same float."""
    found = hush.audit(lambda value, size: np.full(size, 2**60 + int(value), dtype=np.int64), epsilon=1.0, samples=2000)
    assert found.violated


def test_a_mechanism_is_drawn_on_its_own_lattice(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[hush.Noise, tuple[int, ...], float]] = []

    def draw(noise: hush.Noise, size: tuple[int, ...], step: float) -> np.ndarray:
        asked.append((noise, size, step))
        return np.zeros(size, dtype=np.int64)

    monkeypatch.setattr(sys.modules["hush.auditing.lattice"], "draw_noise", draw)
    mechanism = Mechanism(hush.Laplace(1.0), hush.Sensitivity(linf=1.5, l0=2), 0.25, coordinates=2)
    found = hush.audit(mechanism, epsilon=3.0, samples=1000)
    assert asked[0] == (hush.Laplace(1.0), (1000, 2), 0.25)
    assert found.violated and found.inputs == ("[0.0, 0.0]", "[1.5, 1.5]")  # no noise was drawn
    with pytest.raises(hush.InvalidParameter, match="epsilon is missing"):
        hush.audit(mechanism)


def test_a_mechanism_brings_its_claim() -> None:
    plan = hush.calibrate(1.0, 1e-3, family="laplace", times=2)
    found = hush.audit(Mechanism.of(plan), samples=20_000)
    assert (found.epsilon, found.delta) == (1.0, 1e-3)
    assert not found.violated and found.epsilon_lower > 0.5  # both releases are seen: one alone shows half of that


@pytest.mark.parametrize(
    ("bound", "inputs"),
    [
        (hush.Sensitivity(linf=(2.0, 3.0, 1.0), l0=2), ("[0.0, 0.0, 0.0]", "[2.0, 3.0, 0.0]")),
        (hush.Sensitivity(l1=2.0), ("0.0", "2.0")),
        (hush.Sensitivity(l2=3.0, l1=2.0), ("0.0", "2.0")),
        (hush.Sensitivity(linf=(1.0, 4.0), l1=3.0), ("[0.0, 0.0]", "[0.0, 3.0]")),
    ],
)
def test_the_inputs_are_as_far_apart_as_the_sensitivity_allows(
    bound: hush.Sensitivity, inputs: tuple[str, str]
) -> None:
    width = len(bound.linf) if isinstance(bound.linf, tuple) else 1
    mechanism = Mechanism(hush.Laplace(1.0), bound, 0.5, coordinates=width)
    assert hush.audit(mechanism, epsilon=4.0, samples=4000).inputs == inputs


def test_rounding_that_adds_a_step_is_seen() -> None:
    """A sensitivity of 1.01 on whole numbers can move an answer by 2: Laplace noise of scale 1 gives epsilon 2, not
    1.01.
    """
    found = hush.audit(Mechanism(hush.Laplace(1.0), 1.01, step=1.0), epsilon=1.01, samples=50_000)
    assert found.violated and found.epsilon_lower <= 2.0


def test_a_noise_alone() -> None:
    assert not hush.audit(hush.Laplace(1.0), epsilon=1.0, samples=20_000).violated
    assert hush.audit(hush.Laplace(1.0), epsilon=1.0, samples=20_000, inputs=(0.0, 3.0)).violated
    assert not hush.audit(hush.Discrete(hush.Laplace(2.0)), epsilon=0.5, samples=20_000).violated


# -- bad input -----------------------------------------------------------------------------------------------


def failing(value: float, size: int) -> np.ndarray:
    raise RuntimeError("the disk is full")


def uneven(value: float, turn: Iterator[int] = itertools.cycle((1, 2))) -> list[float]:  # noqa: B008
    return [value] * next(turn)


BAD: list[tuple[Any, dict[str, Any], str]] = [
    (GOOD, {}, "epsilon is missing"),
    (GOOD, {"epsilon": 0.0}, "epsilon must be greater than 0"),
    (GOOD, {"epsilon": -1.0}, "epsilon must be greater than 0"),
    (GOOD, {"epsilon": float("nan")}, "epsilon must be"),
    (GOOD, {"epsilon": [1.0, 2.0]}, "one epsilon and one delta"),
    (GOOD, {"epsilon": 1.0, "delta": -0.1}, "delta must be in"),
    (GOOD, {"epsilon": 1.0, "delta": 1.0}, "delta must be in"),
    (GOOD, {"epsilon": 1.0, "samples": 999}, "samples must be at least 1,000"),
    (GOOD, {"epsilon": 1.0, "samples": 10**8 + 1}, "samples must be at most 100,000,000"),
    (GOOD, {"epsilon": 12.0}, "could refute epsilon = 12"),
    (GOOD, {"epsilon": 1e6}, "samples must be at least inf"),
    (GOOD, {"epsilon": 1.0, "samples": 1e5 + 0.5}, "samples must be a whole number"),
    (GOOD, {"epsilon": 1.0, "batch": 0}, "batch must be a whole number"),
    (GOOD, {"epsilon": 1.0, "confidence": 1.0}, "confidence must be"),
    (GOOD, {"epsilon": 1.0, "confidence": 0.1}, "confidence must be"),
    (GOOD, {"epsilon": 1.0, "inputs": 3.0}, "inputs must be a pair"),
    (GOOD, {"epsilon": 1.0, "inputs": (1.0, 2.0, 3.0)}, "inputs must be a pair"),
    ("laplace", {"epsilon": 1.0}, "target must be a function"),
    (failing, {"epsilon": 1.0}, "raised RuntimeError at input 0.0: the disk is full"),
    (uneven, {"epsilon": 1.0, "samples": 1000}, "differ in shape"),
    (lambda value, size: np.zeros(size - 1), {"epsilon": 1.0}, "returned 99999 outputs"),
    (lambda value, size: 1.0, {"epsilon": 1.0}, "returned one number"),
    (lambda value, size: np.zeros((size, 2 if value else 1)), {"epsilon": 1.0}, "differ in length"),
    (lambda value, size: np.zeros((size, 0)), {"epsilon": 1.0}, "must be numbers"),
    (lambda value, size: np.full(size, np.nan), {"epsilon": 1.0}, "NaN or infinity"),
    (lambda value, size: np.full(size, np.inf), {"epsilon": 1.0}, "NaN or infinity"),
    (lambda value, size: np.full(size, "yes"), {"epsilon": 1.0}, "must be numbers"),
    (lambda value, size: [None] * size, {"epsilon": 1.0}, "must be numbers"),
    (max, {"epsilon": 1.0}, "vectorised"),
    (hush.Laplace(1.0), {}, "epsilon is missing"),
    (hush.Laplace(1.0), {"epsilon": 1.0, "inputs": (1.0, 1.0)}, "two different finite numbers"),
    (hush.Discrete(hush.Laplace(1.0)), {"epsilon": 1.0, "inputs": (0.0, 0.5)}, "apart by whole steps"),
]


@pytest.mark.parametrize(("target", "options", "words"), BAD, ids=[words for _, _, words in BAD])
def test_bad_input_is_refused_in_one_sentence(target: Any, options: dict[str, Any], words: str) -> None:
    with pytest.raises(hush.InvalidParameter) as failure:
        hush.audit(target, **options)
    assert words in str(failure.value)
    assert str(failure.value).endswith(".") and "\n" not in str(failure.value)


def test_a_plan_is_not_audited_beyond_its_sensitivity() -> None:
    """Inputs further apart than the sensitivity are no neighbours: what they show is no violation."""
    plan = hush.calibrate(1.0, 1e-3, family="laplace")
    with pytest.raises(hush.InvalidParameter, match="more than the sensitivity"):
        hush.audit(plan, inputs=(0.0, 2.0))
    assert not hush.audit(plan, inputs=(0.0, 0.5), samples=20_000).violated


def test_our_own_errors_pass_through() -> None:
    def refused(value: float, size: int) -> np.ndarray:
        raise hush.BudgetExceeded("nothing is left.")

    with pytest.raises(hush.BudgetExceeded):
        hush.audit(refused, epsilon=1.0)


# -- the command line ----------------------------------------------------------------------------------------


def test_the_command_finds_nothing_in_ours(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--epsilon", "1", "--delta", "1e-6", "--samples", "50000"]) == 0
    out, err = capsys.readouterr()
    assert "nothing found" in out and "Staircase" in out and err == ""


def test_the_command_finds_the_naive_leak(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["audit", "--epsilon", "0.5", "--naive", "--samples", "50000"]) == 1
    assert "VIOLATED" in capsys.readouterr().out
    # at epsilon 0.5 the best event is, one time in seven, one that the other input gives too; at 1 it never is
    assert main(["audit", "--epsilon", "1", "--naive", "--samples", "50000", "--json"]) == 1
    read = json.loads(capsys.readouterr().out)
    assert read["violated"] is True and read["collisions"]["other_hits"] == 0 and read["epsilon"] == 1.0


def test_the_command_passes_its_options_on(capsys: pytest.CaptureFixture[str]) -> None:
    line = "audit --epsilon 2 --pure --family stable --loss p95 --samples 5000 --confidence 0.99 --json"
    assert main(line.split()) == 0
    read = json.loads(capsys.readouterr().out)
    assert read["target"].startswith("Stable")
    assert (read["epsilon"], read["delta"], read["samples"], read["confidence"]) == (2.0, 0.0, 5000, 0.99)


def test_progress_is_shown_on_a_terminal_only(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    assert main(["audit", "--epsilon", "1", "--naive", "--samples", "150000", "--json"]) == 1
    out, err = capsys.readouterr()
    assert "150,000 of 150,000" in err
    assert json.loads(out)["samples"] == 150_000


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("--epsilon 1", "--delta is needed"),
        ("--epsilon 1 --delta 1e-6 --pure", "--pure means"),
        ("--epsilon 1 --naive --family laplace", "leave --family"),
        ("--epsilon 0 --naive", "epsilon must be greater than 0"),
        ("--epsilon 1 --naive --samples 10", "samples must be at least"),
        ("--epsilon 1 --naive --samples 100000000000000", "samples must be at most 100,000,000"),
        ("--epsilon 1 --delta 1e-6 --family nonsense", "family must be one of"),
    ],
)
def test_bad_requests_exit_with_2(capsys: pytest.CaptureFixture[str], line: str, words: str) -> None:
    assert main(["audit", *line.split()]) == 2
    out, err = capsys.readouterr()
    assert out == "" and words in err and err.count("\n") == 1


def test_help_states_the_exit_codes(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["audit", "--help"])
    assert stop.value.code == 0
    text = capsys.readouterr().out
    assert "examples:" in text and "exit code: 0 if no violation was found, 1 if the claim is broken, 2" in text


def test_help_says_where_a_mechanism_of_your_own_is_audited(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["audit", "--help"])
    assert "To audit your own mechanism, use Python" in capsys.readouterr().out
