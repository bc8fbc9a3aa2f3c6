"""The explorer for several numbers of one person: the ranking, the reason and the bound are those of hush.calibrate."""

from __future__ import annotations

import json
import math
import shlex

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import trapezoid

import hush
from hush.cli import main
from hush.errors import InvalidParameter
from hush.explorer import several
from hush.explorer.analysis import Absence, AnalysedNoise, best, findings
from hush.explorer.example import WARDS, drawn
from hush.explorer.sentences import about, sentence
from hush.explorer.server import page
from hush.explorer.state import DIRECTIONS, NUMBERS, START, STOPS, State, joint_names, names
from hush.explorer.view import answer, command_line, distance, python_lines


def several_numbers(
    numbers: int, direction: str, epsilon: float = 1.0, delta: float = 1e-6, each: float = 1.0
) -> State:
    return State(epsilon, delta, each, 1, 1, ("gaussian", "laplace"), numbers, direction)


TEN = several_numbers(10, "one")
STATES = st.builds(
    several_numbers,
    st.sampled_from(NUMBERS[1:]),
    st.sampled_from(DIRECTIONS),
    st.sampled_from(STOPS["epsilon"]),
    st.sampled_from(STOPS["delta"]),
    st.sampled_from(STOPS["sensitivity"]),
)
#: Both directions; joint noise far ahead, near, and behind; delta 0; a sensitivity that is no power of two.
SAMPLE = (
    TEN,
    several_numbers(10, "any", each=5.0),
    several_numbers(100, "one", epsilon=0.05, delta=1e-3),
    several_numbers(50, "one", epsilon=3.0, delta=0.0),
    several_numbers(2, "any", epsilon=8.0, delta=1e-3, each=1000.0),
    several_numbers(64, "any", epsilon=0.05, delta=1e-3),
)
by_query = pytest.mark.parametrize("state", SAMPLE, ids=lambda s: s.query)


# -- links ---------------------------------------------------------------------------------------------------


@given(STATES)
def test_a_link_carries_the_numbers_and_their_direction(state):
    assert State.read(state.query) == state


def test_a_link_about_one_number_does_not_name_them():
    assert "numbers" not in START.query and "direction" not in START.query
    assert State.read(START.query + "&numbers=1&direction=one").bound == START.bound


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        ("numbers=10", "numbers=7", "numbers must be one of the slider's stops 1, 2, 4, 8, 10"),
        ("direction=one", "direction=up", "direction must be one of any, one"),
        ("groups=1", "groups=4", "numbers above 1 are shown for one group and one release"),
        ("releases=1", "releases=2", "numbers above 1 are shown for one group and one release"),
        ("numbers=10", "numbers=10&numbers=2", "numbers must be given once, got it 2 times"),
    ],
)
def test_a_bad_link_is_one_sentence_that_names_the_field(old, new, words):
    with pytest.raises(InvalidParameter) as refused:
        State.read(TEN.query.replace(old, new))
    assert words in str(refused.value)
    assert str(refused.value).endswith(".")


# -- the ranking ---------------------------------------------------------------------------------------------


@by_query
def test_the_ranking_is_that_of_calibrate(state):
    plan = hush.calibrate(state.epsilon, state.delta, state.bound)
    expected = {row.family: row.loss for row in plan.ranking if row.noise is not None}
    found = {one.family: one.variance for one in findings(state) if isinstance(one, AnalysedNoise)}
    assert found == pytest.approx(expected, rel=3e-5)  # asinh, of the flattest minimum, is found to 1.3e-5
    assert (best(state).family, best(state).variance) == (plan.family, pytest.approx(plan.variance, rel=1e-6))
    assert {one.family for one in findings(state)} == {row.family for row in plan.ranking}


@by_query
def test_every_number_is_hush_s_own_for_the_noise_that_is_shown(state):
    document = answer(state)
    present = [one for one in findings(state) if isinstance(one, AnalysedNoise)]
    for row, one in zip(document["ranking"], present, strict=False):
        assert row["delta"] == hush.delta(one.noise, state.epsilon, state.bound) <= state.delta
        assert row["variance"] == one.noise.variance
        assert row["error95"] == pytest.approx(float(one.noise.marginal.isf(0.025)), rel=1e-12)
    variation = hush.delta(present[0].noise, 0.0, state.bound)
    promise = 1.0 - hush.error_sum(state.epsilon, state.delta) / 2.0
    assert document["odds"]["noise"] == min((1.0 + variation) / 2.0, promise)
    assert document["headline"]["where"] == "every number"
    json.dumps(document, allow_nan=False)


@by_query
def test_the_bound_and_the_reason_are_the_plan_s(state):
    plan, document, told = several.plan(state, findings(state)), answer(state), distance(state)
    assert document["why"] == plan.why
    assert f"Use {type(best(state).noise).__name__}(" in document["why"]
    assert plan.limit is not None
    lower = hush.calibrate(state.epsilon, state.delta, state.bound).limit.lower
    assert plan.limit.lower == pytest.approx(lower, rel=1e-9)
    words = told["limit"].split(" below ")[1].split(". ")[0]
    assert 0.99 * lower <= float(words.replace(",", "")) <= lower
    assert f"{best(state).family} has " in told["limit"]
    assert set(told["to_limit"]) == {row["family"] for row in document["ranking"] if "texts" in row}


@settings(max_examples=10, deadline=None)
@given(STATES)
def test_any_state_has_an_answer_within_the_budget(state):
    """No independent noise with a closed form is better than the noise that is shown, by more than a tie."""
    chosen = best(state)
    assert hush.delta(chosen.noise, state.epsilon, state.bound) <= state.delta
    closed = hush.calibrate(state.epsilon, state.delta, state.bound, family="laplace").variance
    assert chosen.variance <= closed * (1.0 + 1.1e-4)


def test_a_family_that_was_not_compared_says_so():
    """The file has no slow families for 100 numbers, and joint noise is not far ahead there."""
    state = several_numbers(100, "any")
    reasons = {one.family: one.reason for one in findings(state) if isinstance(one, Absence)}
    assert reasons["asinh"] == several.TOO_SLOW
    assert "hush.calibrate compares them" in answer(state)["headline"]["skipped"]
    assert answer(TEN)["headline"]["skipped"] == ""
    far = {one.family: one.reason for one in findings(TEN) if isinstance(one, Absence)}
    assert far["asinh"].startswith("not compared: joint noise has much less variance")
    assert "1 < l0 < dimension" in far["hull"] and "no family meets" not in far["hull"]


def test_joint_noise_needs_one_direction_only_where_it_says_so():
    reasons = {one.family: one.reason for one in findings(several_numbers(10, "any")) if isinstance(one, Absence)}
    assert "one_sided=True" in reasons["interval"] and "one_sided=True" in reasons["correlated"]
    assert {"cube", "interval", "ball", "correlated"} <= {
        one.family for one in findings(TEN) if isinstance(one, AnalysedNoise)
    }


@by_query
def test_densities_belong_to_the_noise_of_one_number(state):
    """Twice the drawn half, summed by the trapezium rule, is the probability of its range; twice the density is not."""
    drawn_densities = answer(state)["densities"]
    x = np.array(drawn_densities["x"])
    for name, series in drawn_densities["series"].items():
        law = next(one.law for one in findings(state) if one.family == name)
        inside = 1.0 - 2.0 * float(law.sf(float(x[-1])))
        area = 2.0 * float(trapezoid(np.array(series), x))
        assert area == pytest.approx(inside, abs=0.02)


# -- the table and the lines ---------------------------------------------------------------------------------


def test_the_table_shows_up_to_eight_of_the_numbers():
    for numbers, rows, words in ((2, 2, "All of the 2 numbers"), (8, 8, "All of the 8"), (10, 8, "Eight of the 10")):
        table = drawn(several_numbers(numbers, "one"))
        assert [row["true"] for row in table["rows"]] == list(WARDS.values())[:rows]
        assert table["note"].startswith(words)


def test_the_table_s_noise_is_the_one_that_is_told():
    """One number of each of 3,000 joint draws against its own law, and not against 2/3 or 3/2 of its scale.

    The numbers of one draw depend on each other, so one of each is used. The noise has step 1 here, so a published
    value is the truth plus the noise. By Dvoretzky, Kiefer, Wolfowitz and Massart the empirical law is further off than
    2.7/sqrt(n) with probability below 2 exp(-2 * 2.7^2) < 1e-6.
    """
    state = several_numbers(4, "one", epsilon=0.1)
    law = best(state).law
    assert (best(state).family, law.step) == ("interval", 1.0)
    errors = np.sort([drawn(state)["rows"][1]["noisy"] - 12 for _ in range(3000)])
    ranks = np.searchsorted(errors, errors, side="right") / errors.size

    def off(scale: float) -> float:
        return float(np.abs(np.asarray(law.cdf((errors + 0.5) / scale)) - ranks).max())

    allowed = 2.7 / math.sqrt(errors.size)
    assert off(1.0) < allowed < min(off(2.0 / 3.0), off(1.5))


@pytest.mark.parametrize("state", SAMPLE[:2], ids=lambda s: s.query)
def test_the_lines_run_and_give_the_same_noise(state, capsys):
    room: dict[str, object] = {}
    exec(python_lines(state), room)
    plan = room["plan"]
    assert isinstance(plan, hush.Plan)
    assert plan.noise == best(state).noise
    capsys.readouterr()
    program, *arguments = shlex.split(command_line(state))
    assert (program, main([*arguments, "--json"])) == ("hush", 0)
    assert json.loads(capsys.readouterr().out)["noise"] == repr(plan.noise)


# -- words ---------------------------------------------------------------------------------------------------


def test_every_family_has_its_own_plain_sentence():
    said = about()
    assert set(said) == {*names(), *joint_names()}
    assert len(set(said.values())) == len(said)
    assert all(text.endswith(".") and len(text) < 120 and "=" not in text for text in said.values())
    assert said["cube"].replace(" ", "").split(":")[0] in page().replace(" ", "")


def test_a_registered_family_is_described_by_its_class(monkeypatch):
    import dataclasses

    from hush.noise import catalogue
    from hush.noise.catalogue import family

    class Later(hush.Laplace):
        """Laplace noise under another name. It is for a test."""

    kind = dataclasses.replace(family("laplace"), name="later", type=Later)
    monkeypatch.setattr(catalogue._Registry, "rows", (*catalogue.families(), kind))
    assert sentence("later") == "Laplace noise under another name."
