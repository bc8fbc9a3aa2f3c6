"""The explorer's links and numbers, without a browser: every number is hush's own for the noise that is shown."""

from __future__ import annotations

import itertools
import json
import math
import re
import shlex
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import hush
from hush.cli import main
from hush.errors import InvalidParameter
from hush.explorer import analysis, precomputed
from hush.explorer.analysis import Absence, AnalysedNoise, best, findings
from hush.explorer.example import OWN, WARDS, drawn
from hush.explorer.state import COUNTS, START, STOPS, State, names
from hush.explorer.view import answer, command_line, python_lines
from hush.explorer.wording import bound, down, figure, up

STATES = st.builds(
    State,
    *(st.sampled_from(STOPS[name]) for name in STOPS),
    st.sets(st.sampled_from(names())).map(lambda chosen: tuple(name for name in names() if name in chosen)),
)
#: One number; pure; many groups; many releases; a large sensitivity.
SAMPLE = (
    START,
    State(0.5, 0.0, 1.0, 4, 4, ("laplace",)),
    State(1.0, 1e-6, 10.0, 16, 1, ("gaussian", "laplace", "asinh")),
    State(2.0, 1e-5, 1000.0, 2, 8, ()),
    State(0.1, 1e-3, 200.0, 1, 1, ("stepped", "gaussian")),
)


# -- links ---------------------------------------------------------------------------------------------------


@given(STATES)
def test_a_link_carries_the_whole_state(state):
    assert State.read(state.query) == state


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("", "epsilon is missing"),
        (START.query.replace("epsilon=1&", "epsilon=1.1&"), "epsilon must be one of the slider's stops 0."),
        (START.query.replace("epsilon=1&", "epsilon=one&"), "epsilon must be one of"),
        (START.query.replace("groups=1", "groups=nan"), "groups must be one of"),
        (START.query.replace("releases=1", "releases=3"), "releases must be one of the slider's stops 1, 2, 4"),
        (START.query + "&delta=0", "delta must be given once, got it 2 times"),
        (START.query + "&seed=1", "field must be one of epsilon"),
        (START.query.replace("laplace", "cauchy"), "show must be one of gaussian"),
        ("epsilon", "query must be a list of field=value"),
        ("&".join(f"a{i}=1" for i in range(50)), "query must be a list"),
    ],
)
def test_a_bad_link_is_one_sentence_that_names_the_field(query, words):
    with pytest.raises(InvalidParameter) as refused:
        State.read(query)
    assert words in str(refused.value)
    assert str(refused.value).endswith(".")


# -- the proof -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("state", SAMPLE, ids=lambda s: s.query)
def test_every_number_is_hush_s_own_for_the_noise_that_is_shown(state):
    """Each family's delta is hush.delta of the noise at this sensitivity, within the budget; odds follow from it."""
    document, found = answer(state), findings(state)
    present = [one for one in found if isinstance(one, AnalysedNoise)]
    for row, one in zip(document["ranking"], present, strict=False):
        proved = hush.delta(one.noise, state.epsilon, state.bound, times=state.releases)
        assert row["delta"] == proved <= state.delta
        assert row["variance"] == one.noise.variance
        assert row["error95"] == pytest.approx(float(one.noise.isf(0.025)), rel=1e-12)
    assert [row["family"] for row in document["ranking"]] == [one.family for one in found]
    variation = hush.delta(present[0].noise, 0.0, state.bound, times=state.releases)
    promise = 1.0 - hush.error_sum(state.epsilon, state.delta) / 2.0
    assert document["odds"]["noise"] == min((1.0 + variation) / 2.0, promise)
    assert document["odds"]["promise"] == pytest.approx(
        (math.exp(state.epsilon) + state.delta) / (1.0 + math.exp(state.epsilon)), rel=1e-12
    )
    grid = document["curves"]["epsilon"]
    asked = grid.index(state.epsilon)
    assert all(series[asked] <= state.delta * (1.0 + 1e-4) for series in document["curves"]["series"].values())
    json.dumps(document, allow_nan=False)


@settings(max_examples=12)
@given(STATES)
def test_any_state_has_an_answer_within_the_budget(state):
    chosen = best(state)
    assert chosen.delta <= state.delta
    assert chosen.variance <= min(one.variance for one in findings(state) if isinstance(one, AnalysedNoise)) * (
        1.0 + 1.1e-4
    )


def test_a_stored_noise_that_misses_the_budget_is_not_shown_as_meeting_it(monkeypatch):
    """The table saves the search, never the proof."""
    wrong = [
        ("laplace", hush.Laplace(0.99)),
        ("staircase", hush.Staircase(1.0)),
        ("stable", "its variance is infinite"),
    ]
    monkeypatch.setattr(analysis.precomputed, "row", lambda *stop: wrong)
    analysis._analysed.cache_clear()
    found = findings(START)
    assert [one.family for one in found] == ["staircase", "laplace", "stable"]
    assert isinstance(found[1], Absence)
    assert "above the budget" in found[1].reason
    monkeypatch.setattr(analysis.precomputed, "row", lambda *stop: wrong[:1])
    analysis._analysed.cache_clear()
    with pytest.raises(hush.Unsupported, match="no family meets epsilon 1, delta 1e-6 here"):
        best(START)
    analysis._analysed.cache_clear()


def test_the_limit_is_hush_s():
    found = answer(State(4.0, 1e-3, 10.0, 1, 1, ()))
    assert found["ranking"][0]["to_limit"] == pytest.approx(
        found["ranking"][0]["variance"] / hush.limit(4.0, 1e-3, 10.0).lower, rel=1e-6
    )
    assert "can have a variance below" in found["limit"]
    assert "not known" in answer(State(4.0, 1e-3, 10.0, 2, 1, ()))["limit"]


@pytest.mark.parametrize("delta", STOPS["delta"])
def test_rounded_bounds_still_hold(delta):
    """Read back from the page's own words: 95 % errors and odds are never below the library's, the limit is never
    above it.
    """
    for epsilon in STOPS["epsilon"]:
        state = State(epsilon, delta, 10.0, 1, 1, ())
        document, chosen = answer(state), best(state)
        assert number(document["headline"]["mostly"]) >= chosen.noise.isf(0.025)
        for row, found in zip(document["ranking"], findings(state), strict=True):
            assert isinstance(found, Absence) or number(row["texts"]["error95"]) >= found.noise.isf(0.025)
        for crowd in document["crowds"]:
            assert number(crowd["share_text"]) >= 100.0 * chosen.noise.isf(0.025) / crowd["total"] * (1.0 - 1e-15)
        assert number(document["odds"]["noise_text"]) >= 100.0 * document["odds"]["noise"] * (1.0 - 1e-15)
        told = re.search(r"variance below (\S+);", document["limit"])
        known = precomputed.limit(epsilon, delta, 1)
        assert told is not None and known is not None
        assert 0.99 * known.lower < number(told[1]) / 100.0 <= known.lower


def number(text: str) -> float:
    return float(text.rstrip("%\N{NO-BREAK SPACE}").replace(",", ""))


@given(st.floats(1e-6, 1e9))
def test_numbers_are_rounded_the_way_they_say(value):
    assert number(down(value)) <= value <= number(up(value))
    assert number(up(value)) - number(down(value)) <= 0.0101 * value
    assert abs(number(figure(value)) - value) <= 0.00501 * value


@pytest.mark.parametrize("share", [0.6180000000001, 0.7310585786300049, 0.5000000000001, 0.9990000000000001])
def test_a_hair_above_is_rounded_up(share):
    assert number(bound(share)) >= 100.0 * share


def test_half_of_the_errors_are_never_said_to_be_larger_than_most_of_them():
    """At every stop of the sliders, for the noise that leads there; a standard error passes the 95 % bound where
    epsilon is large.
    """
    passed = 0
    for epsilon, delta, count in itertools.product(STOPS["epsilon"], STOPS["delta"], COUNTS):
        noise = next(unit for _, unit in precomputed.row(epsilon, delta, count) if not isinstance(unit, str))
        half, mostly = (float(value) for value in np.asarray(noise.isf(np.array([0.25, 0.025]))))
        assert float(noise.sf(half * (1.0 + 1e-9))) <= 0.25 and float(noise.sf(mostly * (1.0 + 1e-9))) <= 0.025
        passed += math.sqrt(noise.variance) > mostly
        for sensitivity in STOPS["sensitivity"]:
            assert 0.0 < number(up(sensitivity * half)) <= number(up(sensitivity * mostly))
    assert passed > 0


@pytest.mark.parametrize("epsilon", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 1e-3])
def test_the_headline_says_the_median_and_the_95_per_cent_bound(epsilon, delta):
    state = State(epsilon, delta, 5.0, 1, 1, ())
    said, noise = answer(state)["headline"], best(state).noise
    half, mostly = number(said["half"]), number(said["mostly"])
    assert half <= mostly
    assert noise.isf(0.25) <= half <= 1.0101 * noise.isf(0.25) and noise.isf(0.025) <= mostly <= 1.0101 * noise.isf(
        0.025
    )


def test_a_tie_is_told_where_the_first_is_not_the_least():
    told = {True: 0, False: 0}
    for epsilon, delta in itertools.product(STOPS["epsilon"][::3], STOPS["delta"]):
        document = answer(State(epsilon, delta, 1.0, 1, 1, ()))
        least = min(row["variance"] for row in document["ranking"] if "variance" in row)
        tie = document["ranking"][0]["variance"] > least
        assert ("better by less than 0.01 %; the simpler one is shown" in document["headline"]["tie"]) == tie
        told[tie] += 1
    assert min(told.values()) > 0


@pytest.mark.parametrize(
    "state",
    [
        START,
        *(State(e, 1e-6, s, 1, 1, ()) for e, s in ((3.0, 1.0), (8.0, 1.0), (1.0, 5.0), (0.3, 50.0), (0.05, 1000.0))),
    ],
)
def test_the_bars_hold_the_truth_95_per_cent_of_the_time(state):
    """Exactly, for every ward: all lattice points that the noise can fall on, rounded as the table is."""
    table = drawn(state)
    chosen, bar, own = best(state), table["bar"], table["own"]
    step = state.sensitivity
    while step > chosen.standard_error / 16.0 and step > state.sensitivity / 2**30:
        step /= 2.0
    step = state.sensitivity if state.sensitivity <= chosen.standard_error / 16.0 else step
    points = np.arange(-math.ceil(6.0 * bar / step), math.ceil(6.0 * bar / step) + 1)
    chances = np.asarray(chosen.noise.cdf((points + 0.5) * step)) - np.asarray(chosen.noise.cdf((points - 0.5) * step))
    assert own["step"] == step and len(own["errors"]) == OWN
    counts = [(true, own["bar"]) for true in range(0, 1200, 7)] + [(true, bar) for true in WARDS.values()]
    for true, reach in counts:
        placed = float(math.floor(Fraction(true) / Fraction(step) + Fraction(1, 2)))
        errors = np.abs(np.round((placed + points) * step) - true)
        assert float(chances[errors <= reach].sum()) >= 0.95
    if state.epsilon == 3.0:
        assert (
            float(chances[errors <= chosen.error95].sum()) < 0.88
        )  # the noise's own reach is no bar for whole numbers


@pytest.mark.parametrize(
    ("state", "words"),
    [
        (START, "the error is small for large counts, and hides small ones."),
        (State(8.0, 1e-3, 1.0, 1, 1, ()), "the error is small even for the smallest count."),
        (State(3.0, 1e-6, 1.0, 1, 1, ()), "the error is small for large counts, and matters for small ones."),
        (State(1.0, 1e-6, 200.0, 1, 1, ()), "the error matters even for the largest count."),
        (State(0.05, 1e-6, 1000.0, 16, 1, ()), "the error is larger than every count."),
    ],
)
def test_the_table_s_words_follow_its_error(state, words):
    assert f": {words}" in drawn(state)["note"]


@pytest.mark.parametrize("state", [START, State(2.0, 0.0, 50.0, 4, 2, ())], ids=lambda s: s.query)
def test_the_lines_run_and_give_the_same_noise(state, capsys):
    """What the page offers to copy, executed: Python and the command line."""
    room: dict[str, object] = {}
    exec(python_lines(state), room)
    plan = room["plan"]
    assert isinstance(plan, hush.Plan)
    chosen = best(state)
    assert (plan.family, plan.variance) == (chosen.family, pytest.approx(chosen.variance, rel=1e-7))
    capsys.readouterr()
    program, *arguments = shlex.split(command_line(state))
    assert (program, main([*arguments, "--json"])) == ("hush", 0)
    assert json.loads(capsys.readouterr().out)["noise"] == repr(plan.noise)


def test_the_table_s_noise_is_the_one_that_is_told():
    """800 draws of eight wards against the noise's own law, and not against 2/3 or 3/2 of its scale.

    The standard error is above 16, so the lattice is the whole numbers and P(error <= k) = F(k + 1/2) exactly. By
    Dvoretzky, Kiefer, Wolfowitz and Massart the empirical law is further off than 2.7/sqrt(n) with probability below
    2 exp(-2 * 2.7^2) < 1e-6.
    """
    state = State(0.1, 1e-6, 1.0, 16, 1, ())
    chosen = best(state)
    assert chosen.standard_error > 16.0
    errors = np.sort([row["noisy"] - row["true"] for _ in range(800) for row in drawn(state)["rows"]])
    ranks = np.searchsorted(errors, errors, side="right") / errors.size

    def distance(scale: float) -> float:
        return float(np.abs(np.asarray(chosen.noise.cdf((errors + 0.5) / scale)) - ranks).max())

    allowed = 2.7 / math.sqrt(errors.size)
    assert distance(1.0) < allowed < min(distance(2.0 / 3.0), distance(1.5))


def test_own_counts_get_the_noise_of_the_table():
    """The page adds `errors` to what is typed: with the wards, they give the table again."""
    for state in (START, SAMPLE[3], State(0.5, 1e-6, 5.0, 1, 1, (), 4)):
        table = drawn(state)
        step, errors = table["own"]["step"], table["own"]["errors"]
        assert len(errors) == min(OWN, state.numbers if state.numbers > 1 else OWN)
        assert all((error / step).is_integer() for error in errors)
        for row, error in zip(table["rows"], errors, strict=False):
            assert row["noisy"] == round(math.floor(row["true"] / step + 0.5) * step + error)
        assert number(table["own"]["bar_text"]) >= table["own"]["bar"] >= best(state).error95


def test_the_table_is_drawn_afresh_and_says_what_it_is():
    first, second = drawn(SAMPLE[3]), drawn(SAMPLE[3])
    assert [row["true"] for row in first["rows"]] == list(WARDS.values())
    assert (
        first["rows"] != second["rows"]
    )  # eight draws with a standard error above 5,000 agree with probability below 1e-20
    assert "one of 8 releases" in first["note"]
    assert "by 1000" in first["note"]


@pytest.mark.parametrize("family", ["laplace", "staircase", "gaussian"])
@pytest.mark.parametrize("state", SAMPLE[2:4], ids=lambda s: s.query)
def test_quick_families_agree_with_calibrate_at_any_sensitivity(state, family):
    plan = hush.calibrate(state.epsilon, state.delta, state.bound, times=state.releases, family=family)
    found = next(one for one in findings(state) if one.family == family)
    assert found.variance == pytest.approx(plan.variance, rel=1e-7)
