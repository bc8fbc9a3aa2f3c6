"""Statements: true of every kind of ledger and receipt, recomputable, careful with what they print."""

from __future__ import annotations

import contextlib
import io
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import hush
from hush.noise.catalogue import families
from hush.noise.one_way import OneWay
from hush.noise.selection import Selection
from hush.numerics.rounding import percent_up, rounded_down, rounded_up
from hush.report import Statement, statement
from hush.report.wording import Promise


def printed(lines: str) -> float:
    """What the statement's own lines print."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        exec(compile(lines, "statement", "exec"), {})
    return float(out.getvalue())


# -- ledgers, one for every kind of entry --------------------------------------------------------------------


def _fixed() -> hush.Ledger:
    ledger = hush.Ledger(None, epsilon=2.0, delta=1e-6, mode="nonadaptive")
    ledger.spend((hush.Gaussian(9.0), 1.0), label="a count")
    ledger.spend(
        [(hush.Laplace(9.0), hush.Sensitivity(linf=1.0, l0=2), 3), (hush.OSGT(30.0, 20.0), 1.0, 1)], extra_delta=1e-8
    )
    ledger.spend(hush.subsample(hush.Gaussian(3.0), 0.01, times=5), label="a sample")
    return ledger


def _gaussian() -> hush.Ledger:
    ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6)
    ledger.spend((hush.Gaussian(30.0), hush.Sensitivity(l2=1.0, neighbours="replace"), 20))
    return ledger


def _adaptive() -> hush.Ledger:
    ledger = hush.Ledger(None, epsilon=2.0, delta=1e-6, mode="adaptive")
    ledger.spend((hush.Gaussian(9.0), 1.0))
    ledger.spend((hush.Laplace(9.0), hush.Sensitivity(l1=1.0)), extra_delta=1e-8)
    ledger.spend((hush.OSGT(30.0, 20.0), hush.Sensitivity(l2=1.0, l0=3)))
    return ledger


def _one_order() -> hush.Ledger:
    ledger = hush.Ledger(None, epsilon=2.0, delta=1e-6, order=20.0)
    ledger.spend((hush.Gaussian(9.0), 1.0))
    ledger.spend((hush.Laplace(9.0), 1.0), extra_delta=1e-8)
    return ledger


def _rho() -> hush.Ledger:
    ledger = hush.Ledger(None, rho=0.1)
    ledger.spend([(hush.Gaussian(9.0), 1.0), (hush.Laplace(9.0), 1.0, 2)])
    return ledger


def _mu() -> hush.Ledger:
    ledger = hush.Ledger(None, mu=0.5, delta=1e-8)
    ledger.spend([(hush.Gaussian(9.0), 1.0), (hush.Staircase(0.1), 1.0, 2)])
    return ledger


def _pure() -> hush.Ledger:
    ledger = hush.Ledger(None, epsilon=2.0, delta=0.0)
    ledger.spend((hush.Laplace(9.0), 1.0, 7))
    ledger.spend((hush.Discrete(hush.Laplace(5.0)), 1.0))
    ledger.spend((hush.Staircase(0.25), 1.0))
    return ledger


def _full() -> hush.Ledger:
    """Nothing left: ten times a tenth."""
    ledger = hush.Ledger(None, epsilon=1.0, delta=0.0)
    for _ in range(10):
        ledger.spend((hush.Laplace(10.0), 1.0))
    return ledger


def _tables() -> hush.Ledger:
    import pyarrow as pa

    from hush import tables

    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    rows = pa.table(
        {"person": list(range(600)), "ward": ["a", "b", "c"] * 200, "days": [float(i % 10) for i in range(600)]}
    )
    query = tables.table(rows, unit="person").group_by("ward", keys="private", groups_per_unit=1)
    query.aggregate(n=tables.count(), days=tables.mean("days", low=0, high=10)).plan(
        1.0, 1e-6, family="gaussian"
    ).answer(ledger=ledger, label="wards")
    return ledger


def _learn() -> hush.Ledger:
    pytest.importorskip("sklearn")
    from hush import learn

    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    rows = np.linspace(0.0, 1.0, 400).reshape(200, 2)
    model = learn.Ridge(epsilon=1.0, delta=1e-6, bounds=(0.0, 1.0), target_bounds=(0.0, 2.0), ledger=ledger)
    model.fit(rows, rows.sum(axis=1))
    return ledger


def _search() -> hush.Ledger:
    """What PrivateSearchCV charges: a noise that stands for the whole search."""
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    charge = [(hush.Staircase(1.0, 1.0, gamma=0.5), hush.Sensitivity(linf=1.0, l0=1, neighbours="replace"), 1)]
    ledger.spend(charge, label="search over 4 settings of Ridge", extra_delta=1e-6, epsilon=1.0, delta=1e-6)
    return ledger


def _federated() -> hush.Ledger:
    from hush import federated
    from hush.noise.polya_difference import PolyaDifference

    ledger = hush.Ledger(None, epsilon=30.0, delta=1e-5, source="client 7")
    ledger.spend((hush.Skellam(8.0), 1.0), label="round 1", extra_delta=1e-12)
    ledger.spend((PolyaDifference(0.5, 8.0, 1.0), 1.0), label="round 2")
    for noise, view in (("gaussian", "central"), ("stable", "local")):
        terms = federated.agree(4.0, 1.0, 3, 10, rounds=2, delta=1e-6 if noise == "gaussian" else 0.0, family=noise)
        terms.pay(ledger, view=view, label=f"{noise}, {view}")
    return ledger


def _empty() -> hush.Ledger:
    return hush.Ledger(None, epsilon=1.0, delta=1e-6)


KINDS = [_fixed, _gaussian, _adaptive, _one_order, _rho, _mu, _pure, _full, _tables, _learn, _search, _federated]


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__.strip("_"))
def test_a_ledgers_statement_is_true_and_can_be_recomputed(kind: Callable[[], hush.Ledger]) -> None:
    ledger = kind()
    made = statement(ledger)
    assert isinstance(made, Statement) and str(made) == made.markdown
    assert printed(made.lines) == ledger.spent.epsilon == made.facts["spent"]["epsilon"]
    json.dumps(made.facts)
    for entry in ledger.entries:
        assert (entry.label or "no label") in made.markdown.replace("\\", "")
    assert made.facts["digest"] in made.markdown and made.facts["digest"] in made.html
    for heading in (
        "Summary",
        "The guarantee in three numbers",
        "What was published",
        "Assumptions",
        "Mechanisms and proofs",
        "What remains",
        "How to check this",
        "Glossary",
    ):
        assert f"## {heading}" in made.markdown and heading in made.html
    promise = made.facts["promise"]
    # the pair that the words are about is at least what was spent, and within the cap
    assert ledger.spent.epsilon <= promise["epsilon"] <= ledger.cap.epsilon and promise["delta"] == ledger.cap.delta
    assert f"at most {percent_up(promise['chance'])}" in made.markdown
    assert 0.5 < promise["chance"] <= 1.0 - 0.5 * hush.error_sum(promise["epsilon"], promise["delta"]) + 1e-12
    assert "by the theorem that" not in made.markdown and "not in the catalogue" not in made.markdown


def test_an_adaptive_ledger_promises_its_cap_whatever_was_spent() -> None:
    """How much a filter has spent may depend on the answers, so the spent amount is no promise."""
    made = statement(_adaptive())
    assert made.facts["promise"]["epsilon"] == 2.0 and made.facts["spent"]["epsilon"] < 1.8
    assert "Feldman and Zrnic 2021" in made.markdown


def test_an_empty_ledger_says_so() -> None:
    made = statement(_empty())
    assert (
        "Nothing was published from this ledger" in made.markdown and made.lines == "" and made.facts["promise"] is None
    )


def test_a_ledger_in_memory_is_not_said_to_be_on_disk(tmp_path: Path) -> None:
    assert "after the charge was made (in memory, not on disk)" in statement(_fixed()).markdown
    with hush.Ledger(tmp_path / "a.ledger", epsilon=1.0, delta=1e-6) as ledger:
        assert "after the charge was on disk" in statement(ledger).markdown


def test_relations_are_said() -> None:
    assert (
        "with and without any one person" in statement(_fixed()).markdown
        and "differ in the record of one person" in statement(_gaussian()).markdown
    )


# -- words ---------------------------------------------------------------------------------------------------


def test_the_odds_sentence_holds_for_the_gaussian() -> None:
    """P(|loss| > log factor) of the true law is at most the exception; "e^epsilon but for delta" would be false."""
    from scipy.special import ndtr

    sigma = hush.gaussian.sigma(1.0, 1e-5)
    promise = Promise(1.0, 1e-5, curve=hush.curve(hush.Gaussian(sigma)))
    mean, spread = 0.5 / sigma**2, 1.0 / sigma

    def beyond(limit: float) -> float:
        return float(ndtr(-(limit - mean) / spread) + ndtr(-(limit + mean) / spread))

    assert beyond(math.log(promise.factor)) <= promise.exception
    assert beyond(1.0) > 1e-5  # the naive sentence


def test_the_chance_is_the_best_attackers() -> None:
    """For the Gaussian the best attacker cuts in the middle: its chance is Phi(1/(2 sigma)), which the exact curve
    reaches.
    """
    from scipy.special import ndtr

    promise = Promise(hush.epsilon(hush.Gaussian(4.0), 1e-6), 1e-6, curve=hush.curve(hush.Gaussian(4.0)))
    truth = float(ndtr(0.125))
    assert truth <= promise.chance <= truth * (1.0 + 1e-9)
    randomised = Promise(1.0, 0.0)  # randomised response reaches e/(1 + e)
    assert randomised.chance == pytest.approx(math.e / (1.0 + math.e), rel=1e-14) and randomised.chance >= math.e / (
        1.0 + math.e
    ) * (1 - 1e-16)
    assert randomised.exception == 0.0 and "except" not in dict(randomised.three_numbers("this", ""))["Odds"]


def test_a_failure_probability_counts_in_the_chance() -> None:
    curve = hush.curve(hush.Gaussian(4.0))
    assert Promise(1.0, 0.2, curve=curve, extra=0.1).chance == pytest.approx(
        Promise(1.0, 0.2, curve=curve).chance + 0.05
    )


def test_numbers_round_to_the_safe_side() -> None:
    for value in np.random.default_rng(3).uniform(0.0, 3.0, 200):
        assert float(rounded_down(value)) <= value <= float(rounded_up(value))
        assert float(percent_up(value / 3.0).split()[0]) / 100.0 >= value / 3.0 - 1e-15
    assert rounded_up(math.inf) == "infinite" and rounded_up(0.0) == "0" and percent_up(1.0 - 1e-9) == "99.9999999 %"
    assert "treat the answers as if they had no noise" in Promise(300.0, 1e-6).main("this")


# -- receipts ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("delta", [1e-6, 0.0])
def test_a_release_reports_itself(delta: float) -> None:
    plan = hush.calibrate(1.0, delta, hush.Sensitivity(linf=1.0, l0=2), family="laplace")
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    made = hush.release(np.array([3.5, 8.25]), plan, ledger=ledger, label="two sums").integers()
    alone, whole = hush.report.statement(made), hush.report.statement(made, ledger=ledger)
    for page in (alone, whole):
        found = printed(page.lines)
        assert found <= delta if delta else found <= 1.0
        assert "2 numbers" in page.markdown and "two sums" in page.markdown and "integers" in page.markdown
    assert (
        "The statement of the ledger shows what remains" in alone.markdown
        and "% of the budget is spent" in whole.markdown
    )
    back = hush.Release.from_json(made.to_json())
    assert hush.report.statement(back).lines == alone.lines
    free = hush.report.statement(hush.release(3, plan, ledger=None))
    assert "none was charged" in free.markdown


def test_true_values_are_nowhere_in_a_statement() -> None:
    secret = 918273.0
    made = hush.release(secret, hush.calibrate(0.5, 1e-6, family="gaussian"), ledger=None)
    text = (
        hush.report.statement(made).html
        + hush.report.statement(made).markdown
        + json.dumps(hush.report.statement(made).facts)
    )
    assert "918273" not in text and str(made.value) not in text


def test_an_answer_reports_itself() -> None:
    import pyarrow as pa

    from hush import tables

    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    rows = pa.table(
        {"person": list(range(600)), "ward": ["a", "b", "c"] * 200, "days": [float(i % 10) for i in range(600)]}
    )
    query = tables.table(rows, unit="person").group_by("ward", keys="private", groups_per_unit=2)
    answer = (
        query.aggregate(days=tables.mean("days", low=0, high=10))
        .plan(1.0, 1e-6, family="gaussian")
        .answer(ledger=ledger, label="wards")
    )
    page = hush.report.statement(answer, ledger=ledger)
    assert printed(page.lines) <= 1e-6 * (1.0 + 1e-12)  # the curve includes the keys
    assert (
        "at most 2 group(s)" in page.markdown
        and "all rows with the same person" in page.markdown
        and "found privately" in page.markdown
    )
    assert "wards" in page.markdown and "clipped" in page.markdown
    alone = hush.report.statement(answer)
    assert "(1, 1e-06)" in alone.markdown.replace("\\", "")
    assert alone.lines and printed(alone.lines) == printed(page.lines)


def test_a_fit_reports_itself() -> None:
    pytest.importorskip("sklearn")
    from hush import learn

    rows = np.linspace(0.0, 1.0, 400).reshape(200, 2)
    model = learn.Ridge(epsilon=1.0, delta=1e-6, bounds=(0.0, 1.0), target_bounds=(0.0, 2.0)).fit(
        rows, rows.sum(axis=1)
    )
    page = hush.report.statement(model.receipt_)
    assert (
        printed(page.lines) <= 1e-6
        and "private fit of Ridge" in page.markdown
        and "the ranges in bounds" in page.markdown
    )
    assert statement(model).markdown.split("## Origin")[0] == page.markdown.split("## Origin")[0]
    assert type(model.receipt_ | {"time": "now"}) is type(model.receipt_)
    loud = learn.Ridge(epsilon=math.inf, delta=0.0, bounds=(0.0, 1.0), target_bounds=(0.0, 2.0)).fit(
        rows, rows.sum(axis=1)
    )
    assert "no privacy guarantee" in statement(loud).markdown and statement(loud).lines == ""
    won = model.receipt_ | {
        "charges": []
    }  # the winner of a search states the pair of all its runs; its own charges are not all
    assert (
        hush.report.statement(won).lines == "" and "The entry of the ledger does" in hush.report.statement(won).markdown
    )


@pytest.mark.parametrize(("delta", "family"), [(1e-6, "gaussian"), (0.0, "laplace"), (1e-6, None), (0.0, None)])
def test_a_receipt_that_claims_too_much_is_refused(delta: float, family: str | None) -> None:
    made = hush.release(3.0, hush.calibrate(1.0, delta, family=family), ledger=None)
    assert hush.report.statement(made).lines
    document = json.loads(made.to_json())
    document["receipt"]["guarantee"]["epsilon"] = 0.9
    with pytest.raises(hush.InvalidParameter, match="does not keep"):
        hush.report.statement(hush.Release.from_json(json.dumps(document)))


def test_a_ledger_that_was_not_charged_is_refused() -> None:
    plan = hush.calibrate(1.0, 1e-6, family="laplace")
    ledger, other = hush.Ledger(None, epsilon=3.0, delta=1e-5), _fixed()
    made = hush.release(3, plan, ledger=ledger, label="mine")
    for wrong in (other, hush.Ledger(None, epsilon=1.0, delta=0.0)):
        with pytest.raises(hush.InvalidParameter, match="does not contain the charge"):
            hush.report.statement(made, ledger=wrong)


@pytest.mark.parametrize(
    ("subject", "words"),
    [(3, "subject must be"), ({}, "not a receipt"), ({"guarantee": {}}, "not a receipt"), (None, "subject must be")],
)
def test_what_has_no_statement_is_refused(subject: Any, words: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=words):
        statement(subject)
    with pytest.raises(hush.InvalidParameter, match="leave it out for the statement of a ledger"):
        statement(_empty(), ledger=_empty())


def test_every_noise_of_the_catalogue_reads_back_from_the_lines() -> None:
    """The lines name each family and its numbers so that Python makes the same noise again."""
    from hush.noise.gamma_difference import GammaDifference
    from hush.noise.polya_difference import PolyaDifference
    from hush.report.check import composed

    noises = [
        hush.Gaussian(1 / 3),
        hush.Laplace(0.1),
        hush.OSGT(3.0, 6.3),
        hush.FlippedHuber(3.0, 2.0),
        hush.Stable(1.5, 2.0),
    ]
    noises += [
        hush.Staircase(1.0),
        hush.TruncatedLaplace(2.0, 20.0),
        hush.ExponentialPower(1.5, 2.0),
        hush.Asinh(0.5, 2.0),
        hush.Skellam(3.0),
    ]
    noises += [
        hush.Stepped(0.5, (1.0, 0.5), 0.5),
        hush.Discrete(hush.OSGT(3.0, 6.3), 0.5),
        GammaDifference(0.5, 2.0),
        PolyaDifference(0.5, 3.0, 1.0),
        hush.Ball(2, 3.0),
        hush.Correlated(hush.Ball(2, 3.0), 2, 0.5),
        hush.Cube(2, 3.0),
        hush.Interval(2, 3.0, 1.0),
        hush.Plateau(("two_sided", "two_sided"), 3.0, (1.0, 1.0)),
        hush.Hull(2, 2, 3.0, 1.0, one_sided=True),
        hush.Stairs(2, 0.5, 2.0, 1.0),
        hush.Scaled(hush.Cube(2, 3.0), (1.0, 2.0)),
        hush.Cube(2, 3.0).marginal,
        hush.Bump(6.0, 20.0),
        hush.Lifted(hush.Bump(6.0, 20.0), (3.0,), (0.0,)),
        hush.Lifted(hush.Bump(6.0, 20.0), (3.0,), (0.0,)).marginal_of(1),
        OneWay((2,), 3.0, 1),
        hush.OptimalRule(0.5, 1e-4),
        hush.OptimalRule(0.5, 1e-4).marginal,
        Selection(3.0),
    ]
    assert {type(noise) for noise in noises} == {row.type for row in families()}
    bound = hush.Sensitivity(linf=(1.0, 2.0), neighbours="replace")
    people = hush.Sensitivity(columns=(1.0,), l0=2, one_sided=True, people=0)  # for noise of one number of people
    charges = [hush.Charge(noise, people if noise.dimension == 1 else bound, times=2) for noise in noises]
    charges.append(hush.Charge(hush.Gaussian(3.0), hush.Sensitivity.of(0.5), times=7, rate=0.01))
    scope: dict[str, Any] = {}
    exec(composed(charges, 1e-6).rsplit("print", 1)[0], scope)
    assert scope["charges"] == charges


def test_long_lines_stay_off_the_page() -> None:
    ledger = hush.Ledger(None, epsilon=2.0, delta=1e-6)
    ledger.spend((hush.Stepped(0.25, tuple(1.0 / (1 + i) for i in range(700)), 0.5), 0.25))
    made = statement(ledger)
    assert len(made.lines) > 6000 and "too long for a page" in made.markdown and len(made.html) < 20_000
    assert printed(made.lines) == ledger.spent.epsilon


def test_save(tmp_path: Path) -> None:
    made = statement(_empty())
    assert (
        made.save(tmp_path / "s.html").read_text() == made.html
        and made.save(str(tmp_path / "s.md")).read_text() == made.markdown
    )
    for wrong in ("s.pdf", 3):
        with pytest.raises(hush.InvalidParameter):
            made.save(wrong)
    with pytest.raises(hush.NotWritten, match="cannot be written: No such file or directory"):
        made.save(tmp_path / "nowhere" / "s.html")
