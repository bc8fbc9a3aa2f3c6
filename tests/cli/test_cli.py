"""The command line: every command in text and JSON, help with an example, and one sentence for every error."""

from __future__ import annotations

import json

import pytest

import hush
from hush.cli import main

COMMANDS = ("calibrate", "curve", "gaussian")


def run(capsys: pytest.CaptureFixture[str], line: str) -> str:
    """What a command that succeeds prints."""
    assert main(line.split()) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def document(capsys: pytest.CaptureFixture[str], line: str) -> dict:
    return json.loads(run(capsys, line + " --json"), parse_constant=lambda name: pytest.fail(f"{name} is not JSON"))


# -- calibrate -----------------------------------------------------------------------------------------------


def test_calibrate_prints_the_ranking_and_the_reason(capsys: pytest.CaptureFixture[str]) -> None:
    plan = hush.calibrate(3.0, 1e-6)
    lines = run(capsys, "calibrate --epsilon 3 --delta 1e-6").splitlines()
    assert "epsilon = 3" in lines[0] and "delta = 1e-06" in lines[0]
    for word in ("family", "parameters", "variance", "mean abs", "99.9 %", "x best", "x limit"):
        assert word in lines[1]
    assert lines[2].startswith(plan.family) and f"{plan.variance:.6g}" in lines[2]
    assert lines[-1] == plan.why
    for choice in plan.ranking:
        assert any(choice.family in line for line in lines)


def test_calibrate_as_json_agrees_with_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    plan = hush.calibrate(3.0, 1e-6)
    got = document(capsys, "calibrate --epsilon 3 --delta 1e-6")
    assert (got["epsilon"], got["delta"], got["times"], got["loss"]) == (3.0, 1e-6, 1, "variance")
    assert got["sensitivity"]["linf"] == 1.0
    assert got["why"] == plan.why
    assert plan.limit is not None
    assert got["limit"]["upper"] == pytest.approx(plan.limit.upper, rel=1e-12)
    assert [row["family"] for row in got["ranking"]] == [choice.family for choice in plan.ranking]
    for row, choice in zip(got["ranking"], plan.ranking, strict=True):
        if choice.noise is None:
            assert row["absent"] == choice.reason
        else:
            assert row["variance"] == pytest.approx(choice.variance, rel=1e-12)
            assert row["mean_abs"] == pytest.approx(choice.mean_abs, rel=1e-12)
            assert row["half_width999"] == pytest.approx(choice.half_width999, rel=1e-12)
            assert row["ratio"] == pytest.approx(choice.loss / plan.value, rel=1e-12)


@pytest.mark.parametrize(
    ("line", "sensitivity", "options"),
    [
        ("--delta 1e-6 --linf 2 --l0 4 --family laplace", hush.Sensitivity(linf=2.0, l0=4), {"family": "laplace"}),
        ("--delta 1e-6 --l0 4 --family gaussian", hush.Sensitivity(linf=1.0, l0=4), {"family": "gaussian"}),
        ("--delta 1e-6 --l2 3", hush.Sensitivity(l2=3.0), {}),
        ("--delta 1e-6 --l1 2", hush.Sensitivity(l1=2.0), {}),
        ("--delta 1e-6 --times 10 --family laplace", 1.0, {"times": 10, "family": "laplace"}),
        ("--delta 1e-6 --loss p999 --family truncated_laplace", 1.0, {"loss": "p999", "family": "truncated_laplace"}),
        (
            "--delta 1e-6 --linf 1,30,5 --weights 1,2,1 --family laplace",
            hush.Sensitivity(linf=(1.0, 30.0, 5.0)),
            {"weights": (1.0, 2.0, 1.0), "family": "laplace"},
        ),
        ("--delta 1e-6 --step 1 --family laplace", 1.0, {"step": 1.0, "family": "laplace"}),
    ],
)
def test_calibrate_passes_its_options_on(
    capsys: pytest.CaptureFixture[str], line: str, sensitivity: object, options: dict[str, object]
) -> None:
    plan = hush.calibrate(1.0, 1e-6, sensitivity, **options)  # type: ignore[arg-type]
    got = document(capsys, "calibrate --epsilon 1 " + line)
    assert got["ranking"][0]["variance"] == pytest.approx(plan.variance, rel=1e-9)
    assert got["noise"] == str(plan.noise)
    assert got["loss"] == plan.loss and got["times"] == plan.times


def test_calibrate_pure(capsys: pytest.CaptureFixture[str]) -> None:
    got = document(capsys, "calibrate --epsilon 1 --pure --loss mae")
    assert got["delta"] == 0.0 and got["loss"] == "mae"
    assert got["ranking"][0]["family"] == "staircase"
    assert got["ranking"][0]["mean_abs"] == pytest.approx(hush.calibrate(1.0, 0.0, loss="mae").mean_abs, rel=1e-12)
    assert next(row for row in got["ranking"] if row["family"] == "gaussian")["absent"]
    assert "families without a noise for this request" in run(capsys, "calibrate --epsilon 1 --pure")


def test_calibrate_for_a_vector_shows_how_far_the_proved_bound_is(capsys: pytest.CaptureFixture[str]) -> None:
    """For several numbers the ratio is to the lower end of the limit, and the legend says what that means."""
    line = "calibrate --epsilon 1 --pure --dimension 10 --one-sided --values integer"
    counts = hush.Sensitivity(linf=1.0, dimension=10, one_sided=True)
    plan, got = hush.calibrate(1.0, 0.0, counts, values="integer"), document(capsys, line)
    assert plan.limit is not None and plan.limit.lower < 0.5 * plan.variance
    assert got["sensitivity"] == {"linf": 1.0, "l0": None, "l1": None, "l2": None, "dimension": 10, "one_sided": True}
    assert got["limit"]["lower"] == plan.limit.lower and got["noise"] == str(plan.noise)
    assert got["ranking"][0]["to_limit"] == pytest.approx(plan.variance / plan.limit.lower, rel=1e-12)
    text = run(capsys, line)
    assert "dimension 10, one-sided" in text.splitlines()[0]
    assert "no noise can have less, but perhaps none reaches it" in " ".join(text.split())
    assert plan.why in text


def test_calibrate_optimal(capsys: pytest.CaptureFixture[str]) -> None:
    got = document(capsys, "calibrate --epsilon 1 --delta 1e-6 --family optimal")
    assert got["limit"]["lower"] <= got["ranking"][0]["variance"] <= 1.002 * got["limit"]["upper"]
    text = run(capsys, "calibrate --epsilon 1 --delta 1e-6 --family optimal")
    assert max(len(line) for line in text.splitlines()) < 500


# -- curve ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("line", "noise"),
    [
        ("--family gaussian --sigma 4", hush.Gaussian(4.0)),
        ("--family laplace --scale 2", hush.Laplace(2.0)),
        ("--family flipped_huber --alpha 31.9 --gamma 10.3", hush.FlippedHuber(31.9, 10.3)),
        ("--family osgt --m 3 --sigma 6.32 --discrete", hush.Discrete(hush.OSGT(3.0, 6.32))),
        ("--family staircase --noise-epsilon 1", hush.Staircase(1.0)),
        ("--family stable --alpha 1.5 --gamma 2", hush.Stable(1.5, 2.0)),
        ("--family truncated_laplace --scale 2 --bound 20", hush.TruncatedLaplace(2.0, 20.0)),
        ("--family exponential_power --p 1.5 --scale 3", hush.ExponentialPower(1.5, 3.0)),
        ("--family asinh --kappa 0.5 --scale 3", hush.Asinh(0.5, 3.0)),
    ],
)
def test_curve_agrees_with_the_library(capsys: pytest.CaptureFixture[str], line: str, noise: hush.Noise) -> None:
    got = document(capsys, f"curve {line} --epsilon 0.3")
    assert got["noise"] == str(noise)
    assert got["points"] == [{"epsilon": 0.3, "delta": pytest.approx(hush.delta(noise, 0.3), rel=1e-12)}]
    text = run(capsys, f"curve {line} --epsilon 0.3")
    assert f"{hush.delta(noise, 0.3):.10g}" in text


def test_curve_from_delta_with_times_and_sensitivity(capsys: pytest.CaptureFixture[str]) -> None:
    line = "curve --family laplace --scale 20 --sensitivity 2 --times 5 --delta 1e-6,1e-3"
    expected = [float(hush.epsilon(hush.Laplace(20.0), d, 2.0, times=5)) for d in (1e-6, 1e-3)]
    got = document(capsys, line)
    assert [point["epsilon"] for point in got["points"]] == pytest.approx(expected, rel=1e-9)
    assert got["sensitivity"] == 2.0 and got["times"] == 5
    lines = run(capsys, line).splitlines()
    assert "5 releases" in lines[0] and len(lines) == 4


def test_curve_over_a_range_and_by_default(capsys: pytest.CaptureFixture[str]) -> None:
    got = document(capsys, "curve --family gaussian --sigma 4 --epsilon 0.01:1:10")
    assert len(got["points"]) == 10
    assert got["points"][0]["epsilon"] == pytest.approx(0.01) and got["points"][-1]["epsilon"] == pytest.approx(1.0)
    assert len(document(capsys, "curve --family gaussian --sigma 4")["points"]) > 3


def test_an_infinite_number_is_null_in_json(capsys: pytest.CaptureFixture[str]) -> None:
    got = document(capsys, "curve --family gaussian --sigma 4 --delta 0")
    assert got["points"] == [{"delta": 0.0, "epsilon": None}]
    assert document(capsys, "curve --family stable --alpha 1.5 --gamma 2 --epsilon 1")["variance"] is None


# -- gaussian ------------------------------------------------------------------------------------------------


def test_gaussian_agrees_with_the_library(capsys: pytest.CaptureFixture[str]) -> None:
    got = document(capsys, "gaussian --epsilon 1 --delta 1e-5 --sensitivity 2")
    assert got["amounts"][0]["sigma"] == pytest.approx(hush.gaussian.sigma(1.0, 1e-5, 2.0), rel=1e-12)
    assert f"{hush.gaussian.sigma(1.0, 1e-5, 2.0):.6g}" in run(
        capsys, "gaussian --epsilon 1 --delta 1e-5 --sensitivity 2"
    )


def test_gaussian_marks_invalid_amounts(capsys: pytest.CaptureFixture[str]) -> None:
    got = document(capsys, "gaussian --epsilon 10 --delta 1e-5 --all")
    assert {row["method"] for row in got["amounts"]} == set(hush.gaussian.methods())
    assert any("INVALID" in row["remark"] for row in got["amounts"] if row["method"].startswith("dwork"))
    assert "INVALID" in run(capsys, "gaussian --epsilon 10 --delta 1e-5 --all")


# -- help and errors -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("command", COMMANDS)
def test_help_shows_an_example(capsys: pytest.CaptureFixture[str], command: str) -> None:
    with pytest.raises(SystemExit) as stopped:
        main([command, "--help"])
    assert stopped.value.code == 0
    out, err = capsys.readouterr()
    assert f"hush {command} --" in out.split("examples:")[1]
    assert err == ""


def test_the_examples_of_help_run(capsys: pytest.CaptureFixture[str]) -> None:
    for command in ("curve", "gaussian"):
        with pytest.raises(SystemExit):
            main([command, "--help"])
        shown = capsys.readouterr().out.split("examples:")[1].splitlines()
        for line in (line.strip().split("    ")[0] for line in shown if line.strip().startswith("hush ")):
            assert run(capsys, line.removeprefix("hush "))


def test_help_of_the_whole(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--help"])
    assert stopped.value.code == 0
    out = capsys.readouterr().out
    assert all(command in out for command in COMMANDS)


def test_hush_alone_shows_the_help(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 0
    out, err = capsys.readouterr()
    assert err == "" and all(command in out for command in COMMANDS)


def test_version(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["--version"])
    assert stopped.value.code == 0
    assert capsys.readouterr().out == f"hush {hush.__version__}\n"


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("sing", "sing"),
        ("calibrate --delta 1e-6", "--epsilon"),
        ("calibrate --epsilon 1", "--delta"),
        ("calibrate --epsilon 1 --delta 1e-6 --family cauchy", "family"),
        ("calibrate --epsilon 1 --delta 1e-400", "1e-400"),
        ("calibrate --epsilon nan --delta 1e-6", "nan"),
        ("calibrate --epsilon inf --delta 1e-6", "inf"),
        ("calibrate --epsilon one --delta 1e-6", "one"),
        ("calibrate --epsilon 1e9 --delta 1e-6", "epsilon"),
        ("calibrate --epsilon 0 --delta 1e-6", "epsilon"),
        ("calibrate --epsilon 1 --delta 1", "delta"),
        ("calibrate --epsilon 1 --pure --delta 1e-6", "--pure"),
        ("calibrate --epsilon 1 --delta 1e-6 --loss bias", "loss"),
        ("calibrate --epsilon 1 --delta 1e-6 --l0 0", "l0"),
        ("calibrate --epsilon 1 --delta 1e-6 --l0 two", "two"),
        ("calibrate --epsilon 1 --delta 1e-6 --times 0", "times"),
        ("calibrate --epsilon 1 --delta 1e-6 --l2 1 --family staircase", "staircase"),
        ("calibrate --epsilon 1 --delta 1e-6 --l2 0", "l2"),
        ("calibrate --epsilon 1 --delta 1e-6 --step 0", "step"),
        ("curve --epsilon 1", "--family"),
        ("curve --family cauchy --epsilon 1", "cauchy"),
        ("curve --family gaussian --epsilon 1", "--sigma"),
        ("curve --family gaussian --sigma -1 --epsilon 1", "sigma"),
        ("curve --family gaussian --sigma 1 --epsilon 1:2", "1:2"),
        ("curve --family gaussian --sigma 1 --epsilon 1 --delta 1e-6", "--delta"),
        ("curve --family gaussian --sigma 1 --delta 2", "delta"),
        ("curve --family gaussian --sigma 1 --times 0", "times"),
        ("gaussian --epsilon 1", "--delta"),
        ("gaussian --epsilon 1 --delta 1e-5 --method guess", "guess"),
        ("gaussian --epsilon 1e9 --delta 1e-5", "epsilon"),
    ],
)
def test_an_error_is_one_line_and_exit_two(capsys: pytest.CaptureFixture[str], line: str, word: str) -> None:
    try:
        code = main(line.split())
    except SystemExit as stopped:
        code = stopped.code  # type: ignore[assignment]
    out, err = capsys.readouterr()
    assert code == 2
    assert out == ""
    assert len(err.splitlines()) == 1 and err.endswith(".\n")
    assert word in err
