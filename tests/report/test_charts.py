"""Charts say hush's own numbers, and say what they show to those who cannot see them."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import hush
from hush import report
from hush.report.chart_style import COLOURS

pytest.importorskip("altair")

TWO = hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=1), family="laplace")


def values(chart: Any) -> list[dict[str, Any]]:
    """Every row of every layer's data."""

    def found(spec: Any) -> list[dict[str, Any]]:
        if isinstance(spec, list):
            return [row for item in spec for row in found(item)]
        if not isinstance(spec, dict):
            return []
        own = spec.get("data", {}).get("values", []) if isinstance(spec.get("data"), dict) else []
        return own + [row for key, item in spec.items() if key not in ("data", "datasets") for row in found(item)]

    return found(chart.to_dict())


@pytest.fixture(scope="module")
def plan() -> hush.Plan:
    return hush.calibrate(1.0, 1e-6)


def test_curve_is_the_upper_bound_of_each_noise() -> None:
    noises = {"wide": hush.Gaussian(4.0), "peaked": hush.Laplace(2.0)}
    rows = values(report.curve_chart(noises, 1.5, times=3))
    assert {row["name"] for row in rows} == set(noises)
    for name, noise in noises.items():
        own = [row for row in rows if row["name"] == name]
        curve = hush.curve(noise, 1.5, times=3)
        assert len(own) > 100
        for row in own[::20]:
            assert row["delta"] == float(curve.delta(row["epsilon"]))
        assert own[0]["epsilon"] == 0.0 and 1e-10 <= own[-1]["delta"] < 2e-9


def test_a_pure_curve_falls_to_the_floor_of_the_axis() -> None:
    rows = values(report.curve_chart(hush.Laplace(1.0), least=1e-9))
    assert rows[-1]["delta"] < 2e-9 and rows[-1]["epsilon"] < 1.0


def test_a_curve_of_asked_epsilons_has_these() -> None:
    rows = values(report.curve_chart(hush.curve(hush.Gaussian(2.0)), epsilon=[0.5, 1.0, 20.0]))
    assert [row["epsilon"] for row in rows] == [0.5, 1.0, 20.0]
    assert rows[1]["delta"] == hush.delta(hush.Gaussian(2.0), 1.0)


def test_a_plan_marks_its_budget(plan: hush.Plan) -> None:
    marked = [row for row in values(report.curve_chart(plan)) if "text" in row]
    assert marked[0]["epsilon"] == 1.0 and marked[0]["delta"] == 1e-6


def test_tradeoff_is_the_least_miss_rate_and_lies_above_the_promised_lines() -> None:
    noise = hush.Gaussian(hush.gaussian.sigma(1.0, 1e-3))
    rows = values(report.tradeoff_chart(noise, epsilon=1.0, delta=1e-3, points=21))
    own = [row for row in rows if "name" in row]
    curve = hush.curve(noise)
    for row in own[::5]:
        assert row["miss"] == float(curve.tradeoff(row["alarm"]))
        promised = max(0.0, 1 - 1e-3 - np.e * row["alarm"], (1 - 1e-3 - row["alarm"]) / np.e)
        assert row["miss"] >= promised - 1e-9
    corners = [row for row in rows if "name" not in row]
    # the corner of the two lines is where both errors are equal: half of what hush calls the error sum
    assert any(
        row["alarm"] == row["miss"] == pytest.approx(0.5 * hush.error_sum(1.0, 1e-3), rel=1e-12) for row in corners
    )


@pytest.mark.parametrize("noise", [hush.Gaussian(4.0), hush.Laplace(2.0)], ids=["gaussian", "laplace"])
def test_tradeoff_of_any_curve_is_a_close_bound_from_below(noise: hush.Noise) -> None:
    """A curve without a formula is bounded by lines that share a grid; here the formula is known all the same."""
    from hush.privacy.curve import Curve, OneNumber

    class Plain(Curve):
        def _forward(self, epsilon: Any) -> hush.Bracket:
            return OneNumber(noise, 1.0)._forward(epsilon)

        @property
        def pure_epsilon(self) -> float:
            return OneNumber(noise, 1.0).pure_epsilon

    rows = [row for row in values(report.tradeoff_chart({"a": Plain()}, points=21)) if "name" in row]
    truth = np.array([float(hush.curve(noise).tradeoff(row["alarm"])) for row in rows])
    found = np.array([row["miss"] for row in rows])
    assert (found <= truth + 1e-12).all() and (truth - found).max() < 1e-4


def test_densities_are_the_densities(plan: hush.Plan) -> None:
    rows = values(
        report.density_chart({"smooth": hush.OSGT(3.0, 6.3), "lattice": hush.Discrete(hush.Gaussian(3.0), 0.5)})
    )
    smooth = [row for row in rows if row["name"] == "smooth"]
    steps = [row for row in rows if row["name"] == "lattice"]
    assert smooth[7]["density"] == float(hush.OSGT(3.0, 6.3).pdf(smooth[7]["x"]))
    assert 0.5 * sum(row["density"] for row in steps) == pytest.approx(1.0, abs=0.02)
    fine = report.density_chart(hush.Discrete(hush.Gaussian(3.0), 0.001))
    rows = values(fine)
    width = rows[1]["x"] - rows[0]["x"]
    assert (
        len(rows) <= 2003
        and rows[-1]["x"] == -rows[0]["x"] >= 7.7
        and "from -7.73 to 7.73" in fine.to_dict()["description"]
    )
    assert width * sum(row["density"] for row in rows) == pytest.approx(1.0, abs=0.02)
    assert {row["name"] for row in values(report.density_chart(plan))} >= {
        "Laplace(scale=0.999998)",
        "Gaussian(sigma=4.22468)",
    }


def test_ranking_has_every_family_the_limit_and_the_reasons(plan: hush.Plan) -> None:
    rows = values(report.ranking_chart(plan))
    losses = {row["family"]: row["loss"] for row in rows if "loss" in row and "reason" not in row}
    assert losses == {choice.family: choice.loss for choice in plan.ranking if choice.noise is not None}
    assert {row["family"]: row["reason"] for row in rows if "reason" in row} == {
        c.family: c.reason for c in plan.ranking if c.noise is None
    }
    assert plan.limit is not None
    assert [(row["low"], row["high"]) for row in rows if "low" in row] == [(plan.limit.lower, plan.limit.upper)] * 2


def test_the_line_below_which_no_noise_can_be_stands_where_that_is_proved(plan: hush.Plan) -> None:
    wide = dataclasses.replace(plan)
    wide.__dict__["limit"] = hush.Bracket(1.0, 1.5)  # of a real limit both ends look alike
    layers = [layer for layer in report.ranking_chart(wide).to_dict()["layer"] if "low" in layer["data"]["values"][0]]
    rule = next(layer for layer in layers if layer["mark"]["type"] == "rule")
    assert rule["data"]["values"][0][rule["encoding"]["x"]["field"].removesuffix(":Q")] == 1.0
    assert {row["from"] for row in values(report.ranking_chart(wide)) if "from" in row} == {1.0}


@pytest.mark.parametrize("mode", ["nonadaptive", "adaptive"])
def test_ledger_shows_what_was_spent_after_each_entry(mode: str, tmp_path: Any) -> None:
    path = tmp_path / "a.ledger"
    spent = [0.0]
    with hush.Ledger(path, epsilon=2.0, delta=1e-6, mode=mode) as ledger:
        for sigma in (9.0, 12.0, 10.0):
            ledger.spend((hush.Gaussian(sigma), 1.0), label=f"sigma {sigma}")
            spent.append(ledger.spent.epsilon)
        left = ledger.left.epsilon
    rows = values(report.ledger_chart(path))
    once = {(row["entry"], row["kind"]): row["epsilon"] for row in rows if "kind" in row}
    assert [once[i, "spent"] for i in range(4)] == spent
    assert once[3, "left"] == left
    assert {row["cap"] for row in rows if "cap" in row} == {2.0}
    assert [name.name for name in tmp_path.iterdir()] == ["a.ledger"]


def test_a_long_ledger_is_thinned_and_ends_where_it_ends() -> None:
    ledger = hush.Ledger(None, epsilon=2.0, delta=1e-6)
    for _ in range(64):
        ledger.spend((hush.Gaussian(60.0), 1.0))
    rows = {row["entry"]: row["epsilon"] for row in values(report.ledger_chart(ledger)) if row.get("kind") == "spent"}
    assert len(rows) == 61 and rows[64] == ledger.spent.epsilon


def test_release_shows_values_and_intervals() -> None:
    plan = hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=1))
    made = hush.release(np.array([120, 80]), plan, ledger=None)
    low, high = made.interval(level=0.9)
    rows = {row["name"]: row for row in values(report.release_chart(made, names=["north", "south"], level=0.9))}
    assert (
        rows["north"]["value"] == made.value[0] and rows["south"]["low"] == low[1] and rows["south"]["high"] == high[1]
    )
    alone = values(report.release_chart(hush.release(7, plan, ledger=None)))
    assert alone[0]["name"] == "1"


def test_answer_shows_its_groups_by_name() -> None:
    import pyarrow as pa

    from hush import tables

    rows = pa.table(
        {"person": list(range(400)), "ward": ["a", "b | <b>"] * 200, "days": [float(i % 10) for i in range(400)]}
    )
    table = tables.table(rows, unit="person")
    query = table.group_by("ward", keys=["a", "b | <b>"], groups_per_unit=1)
    answer = (
        query.aggregate(n=tables.count(), days=tables.mean("days", low=0, high=10))
        .plan(1.0, 1e-6, family="gaussian")
        .answer(ledger=None)
    )
    drawn = {(row["measure"], row["name"]): row for row in values(report.release_chart(answer))}
    assert set(drawn) == {(m, g) for m in ("n", "days") for g in ("a", "b | <b>")}
    assert drawn["n", "a"]["value"] == answer["n"][0] and drawn["days", "b | <b>"]["high"] == answer["days_high"][1]
    bins = (
        table.aggregate(days=tables.histogram("days", edges=[0, 5, 10]))
        .plan(1.0, 1e-6, family="gaussian")
        .answer(ledger=None)
    )
    assert {row["name"] for row in values(report.release_chart(bins))} == {
        name.partition(" ")[2] for name in bins.names
    }


def _visits(groups: Any) -> Any:
    """The people of three wards; everybody is in two of them."""
    rows = {"person": [i // 2 for i in range(400)], "ward": ["abc"[(i // 2 + i % 2) % 3] for i in range(400)]}
    table = hush.tables.table(pa.table(rows), unit="person")
    return table.group_by("ward", keys=list("abc"), groups_per_unit=groups).aggregate(n=hush.tables.count_units())


def test_the_chart_of_limits_has_the_noise_and_what_is_left_out() -> None:
    advice = hush.tables.advise(_visits("private"), 100.0, 1e-6, ledger=None)
    rows = values(report.limits_chart(advice))
    found = {(row["groups"], row["kind"]): row["error"] for row in rows}
    assert found == {
        (error.groups_per_unit, kind): value
        for error in advice.limit_errors()
        for kind, value in (("noise", error.noise), ("left out", error.bias))
    }
    plan = _visits("private").plan(1.0, 1e-6, family="gaussian")
    assert {row["kind"] for row in values(report.limits_chart(plan))} == {"noise"}


def test_every_chart_is_described_titled_and_in_colours_that_can_be_told_apart(plan: hush.Plan) -> None:
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    ledger.spend((hush.Gaussian(10.0), 1.0))
    charts = [
        report.curve_chart([hush.Gaussian(4.0), hush.Laplace(1.0)]),
        report.tradeoff_chart(plan, points=11),
        report.density_chart(plan),
        report.ranking_chart(plan),
        report.ledger_chart(ledger),
        report.release_chart(hush.release(1.0, plan, ledger=None)),
        report.limits_chart(_visits(2).plan(1.0, 1e-6, family="gaussian")),
    ]
    for chart in charts:
        spec = chart.to_dict()
        assert len(spec["description"]) > 60 and spec["title"]
        assert set(_ranges(spec)) <= set(COLOURS)
        axes = [item["title"] for item in _encodings(spec) if item.get("title")]
        assert axes, "no axis has a name"
    assert any("%" in str(_encodings(chart.to_dict())) for chart in charts)


def _ranges(spec: Any) -> list[str]:
    if isinstance(spec, dict):
        own = [spec["scale"]["range"]] if isinstance(spec.get("scale"), dict) and "range" in spec["scale"] else []
        flat = [colour for line in own for colour in line if isinstance(colour, str)]
        return flat + [c for item in spec.values() for c in _ranges(item)]
    return [c for item in spec for c in _ranges(item)] if isinstance(spec, list) else []


def _encodings(spec: Any) -> list[dict[str, Any]]:
    if isinstance(spec, dict):
        own = [
            spec["encoding"][k] for k in ("x", "y") if isinstance(spec.get("encoding"), dict) and k in spec["encoding"]
        ]
        return own + [e for item in spec.values() for e in _encodings(item)]
    return [e for item in spec for e in _encodings(item)] if isinstance(spec, list) else []


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: report.curve_chart("gaussian"), "noises must be a noise"),
        (lambda: report.curve_chart([]), "at least one"),
        (lambda: report.curve_chart([hush.Gaussian(1.0), 3]), "got 3"),
        (lambda: report.curve_chart(hush.Gaussian(1.0), -1.0), "sensitivity must be"),
        (lambda: report.curve_chart(hush.Gaussian(1.0), times=0), "times must be"),
        (lambda: report.curve_chart(hush.Gaussian(1.0), least=0.0), "least must be"),
        (lambda: report.curve_chart(hush.Laplace(1.0), epsilon=[2.0, 3.0]), "every delta is 0"),
        (lambda: report.tradeoff_chart(hush.Gaussian(1.0), epsilon=1.0), "give both epsilon and delta"),
        (lambda: report.tradeoff_chart(hush.Gaussian(1.0), epsilon=-1.0, delta=0.1), "epsilon must be"),
        (lambda: report.tradeoff_chart(hush.Gaussian(1.0), points=2), "points must be"),
        (lambda: report.tradeoff_chart(hush.Gaussian(1.0), points="a"), "points must be a whole number"),
        (lambda: report.tradeoff_chart(hush.Gaussian(1.0), points=61.5), "points must be a whole number"),
        (
            lambda: report.tradeoff_chart(hush.Gaussian(1.0), points=1002),
            "points must be a whole number from 5 to 1001",
        ),
        (lambda: report.density_chart(hush.curve(hush.Gaussian(1.0))), "noises must be a noise"),
        (lambda: report.ranking_chart(hush.Gaussian(1.0)), "write hush.calibrate(1.0, 1e-6)"),
        (lambda: report.ledger_chart("nothing.ledger"), "there is no ledger nothing.ledger"),
        (lambda: report.ledger_chart(3), "ledger must be"),
        (lambda: report.release_chart([1.0]), "a Release or an Answer"),
        (lambda: report.limits_chart(hush.Gaussian(1.0)), "the plan of a query, or an Advice"),
        (
            lambda: report.release_chart(
                hush.release(
                    [1.0, 2.0],
                    hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=1), family="laplace"),
                    ledger=None,
                ),
                names=["a"],
            ),
            "names must be",
        ),
        (
            lambda: report.release_chart(
                hush.release(1.0, hush.calibrate(1.0, 1e-6, family="laplace"), ledger=None), names=5
            ),
            "names must be",
        ),
        (
            lambda: report.release_chart(
                hush.release(1.0, hush.calibrate(1.0, 1e-6, family="laplace"), ledger=None), names="a"
            ),
            "names must be",
        ),
    ],
)
def test_bad_input_is_one_sentence(call: Any, words: str) -> None:
    with pytest.raises(hush.HushError) as caught:
        call()
    assert words in str(caught.value) and str(caught.value).endswith(".") and "\n" not in str(caught.value)


def test_intervals_are_called_what_they_are():
    """A bar holds the number before the noise, not the truth before limits and clipping; its ends are rounded
    outwards.
    """
    plan = hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=1), family="laplace")
    made = hush.release([3.0, 1234.5678], plan, ledger=None)
    drawn = report.release_chart(made, level=0.9)
    said = json.dumps(drawn.to_dict())
    assert "90 % noise intervals" in said and "without the effect of limits and clipping" in said
    assert "hold the true value" not in said
    low, high = made.interval(level=0.9)
    rows = [row for row in values(drawn) if "interval" in row]
    for row, least, most in zip(rows, low, high, strict=True):
        shown = [float(end) for end in row["interval"].split(" to ")]
        assert shown[0] <= least and most <= shown[1]
