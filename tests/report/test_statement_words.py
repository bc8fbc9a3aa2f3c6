"""What an officer or a newcomer reads: one promise told in several numbers, and where each of them comes from."""

from __future__ import annotations

import contextlib
import math
import re

import pyarrow as pa
import pytest

import hush
from hush import tables
from hush.report import statement
from hush.report.page import Statement
from hush.report.wording import Promise

WHY = "You may read other numbers of the same answers, and all are true."


def _short(page: Statement) -> str:
    """What is under "In short", as plain text."""
    return page.markdown.split("## In short")[1].split("\n## ")[0].replace("\\", "")


def _ledger(*, delta: float = 1e-5, mode: str = "nonadaptive") -> hush.Ledger:
    ledger = hush.Ledger(None, epsilon=3.0, delta=delta, mode=mode)
    hush.release(
        [3, 4],
        hush.calibrate(
            1.0, min(delta, 1e-6), hush.Sensitivity(linf=1.0, l0=1), family="gaussian" if delta else "laplace"
        ),
        ledger=ledger,
    )
    return ledger


def test_a_planned_ledgers_page_says_why_its_numbers_are_not_those_asked_for() -> None:
    ledger = _ledger()
    page = statement(ledger)
    text = _short(page)
    assert ledger.spent.epsilon < 0.95 and text.count(WHY) == 1 and "at the ledger's delta" in text
    # what the sentence says is so: a larger factor than e^epsilon, a larger probability than delta, and less than the
    # pair's chance
    told = page.facts["promise"]
    assert (
        told["odds_factor"] == pytest.approx(1.1 * math.exp(told["epsilon"])) and told["odds_exception"] > told["delta"]
    )
    alone = re.search(r"epsilon and delta alone would give ([\d.]+) %", text)
    assert (
        alone and 0.0 <= float(alone[1]) / 100.0 - (1.0 - hush.error_sum(told["epsilon"], told["delta"]) / 2.0) < 0.001
    )
    assert told["chance"] < float(alone[1]) / 100.0


def test_an_interactive_ledger_says_that_its_page_is_about_the_whole_budget() -> None:
    text = _short(statement(_ledger(mode="adaptive")))
    assert "the ledger's whole budget" in text and "epsilon and delta alone" not in text  # its chance is the pair's


def test_nothing_is_explained_where_there_is_one_number_only() -> None:
    assert WHY not in _short(statement(_ledger(delta=0.0)))
    assert Promise(1.0, 0.0).note("") == ""
    assert "odds" not in Promise(300.0, 1e-6).note("asked for")  # the page says nothing of odds there


def test_a_releases_page_explains_itself_and_its_table_has_no_row_like_its_head() -> None:
    """The README's budget: 73.2 % from the pair, 72.4 % from the noise that was taken."""
    page = hush.report.statement(hush.release(3, hush.calibrate(1.0, 1e-6), ledger=None))
    text = _short(page)
    assert (
        "50 % to at most 72.4 %" in text
        and "epsilon and delta alone would give 73.2 %" in text
        and "(1, 1e-06), which was asked for" in text
    )
    rows = [
        line.split("|")[1].strip()
        for line in page.markdown.split("## What was released")[1].split("\n## ")[0].splitlines()
        if "|" in line
    ]
    assert rows[0] == "item" and rows[2] == "answer" and len(set(rows)) == len(rows)


def test_a_pure_noise_under_a_budget_with_a_delta_is_said_to_need_none() -> None:
    page = hush.report.statement(hush.release(3, hush.calibrate(1.0, 1e-6, family="staircase"), ledger=None))
    assert "These lines print 0.0, because the noise is pure and needs no delta (1e-06 was allowed):" in page.markdown
    other = hush.report.statement(hush.release(3, hush.calibrate(1.0, 1e-6, family="gaussian"), ledger=None))
    assert "at most the delta of 1e-06:" in other.markdown and "pure" not in other.markdown


def test_where_the_number_of_numbers_comes_from() -> None:
    rows = pa.table(
        {"person": list(range(600)), "ward": ["a", "b", "c"] * 200, "days": [float(i % 10) for i in range(600)]}
    )
    query = tables.table(rows, unit="person").group_by("ward", keys="private", groups_per_unit=3)
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    asked = query.aggregate(n=tables.count(), days=tables.mean("days", low=0, high=10)).plan(
        1.0, 1e-6, family="laplace"
    )
    answer = asked.answer(ledger=ledger)
    # a count, the mean's sum and count, and the units of the private keys: four in each of three groups
    text = hush.report.statement(answer).markdown
    assert "moves at most 12 numbers, 4 in each group: a mean takes two" in text and "take a count of units" in text
    whole = statement(ledger).markdown
    assert "at most 12 numbers" in whole and "times the numbers behind one group's answers" in whole


def test_the_cap_is_promised_rounded_up_and_what_is_left_rounded_down() -> None:
    """Seven digits: a promise of (1.23456, 1e-06) would be more than the ledger keeps."""
    ledger = hush.Ledger(None, epsilon=1.23456789, delta=1.0000009e-6)
    ledger.spend((hush.Gaussian(9.0), 1.0))
    for made in (statement(ledger), statement(hush.Ledger(None, epsilon=1.23456789, delta=1.0000009e-6))):
        text = made.markdown.replace("\\", "")
        assert "all of it together stays within (epsilon, delta) = (1.23457, 1.00001e-06)" in text
        assert "of 1.23456 at delta 1e-06." in text
    assert "allows (epsilon, delta) = (1.23457, 1.00001e-06) in all" in text


@pytest.mark.parametrize(("mode", "word"), [("nonadaptive", "or, instead,"), ("adaptive", "and with it")])
def test_what_remains_is_true_of_each_rule(mode: str, word: str) -> None:
    """A pure epsilon and a failure probability fit together only where a filter keeps a reserve; else each fits
    alone.
    """

    def spent() -> hush.Ledger:
        ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6, mode=mode)
        ledger.spend((hush.Gaussian(12.0), 1.0))
        return ledger

    found = re.search(
        rf"pure epsilon of at most (\S+) \(less 1 %\) still fits, {word} failure probabilities of (\S+)\. Comp",
        statement(spent()).markdown,
    )
    assert found is not None
    epsilon, delta = 0.99 * float(found[1]), float(found[2])
    spent().spend((hush.Laplace(1.0 / epsilon), 1.0))
    spent().spend((hush.Laplace(1e9), 1.0), extra_delta=0.999 * delta)
    with contextlib.nullcontext() if mode == "adaptive" else pytest.raises(hush.BudgetExceeded):
        spent().spend((hush.Laplace(1.0 / epsilon), 1.0), extra_delta=delta)
    pure = hush.Ledger(None, epsilon=2.0, delta=0.0)
    pure.spend((hush.Laplace(9.0), 1.0, 7))
    assert "failure probabilities of" not in statement(pure).markdown.split("What remains")[1].split("How to check")[0]
