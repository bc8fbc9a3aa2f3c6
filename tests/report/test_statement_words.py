"""The words of statements: one guarantee in three numbers, each explained."""

from __future__ import annotations

import contextlib
import math
import re
from typing import Any

import pyarrow as pa
import pytest
from plain import complaints

import hush
from hush import federated, learn, tables
from hush.report import statement
from hush.report.page import Statement
from hush.report.wording import Promise


def _numbers(page: Statement) -> str:
    """The section on the three numbers, as plain text."""
    return page.markdown.split("## The guarantee in three numbers")[1].split("\n## ")[0].replace("\\", "")


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


def test_the_three_numbers_of_a_nonadaptive_ledger_are_explained_once() -> None:
    ledger = _ledger()
    page = statement(ledger)
    text = _numbers(page)
    assert ledger.spent.epsilon < 0.95 and text.count("Other documents may show other (epsilon, delta) pairs") == 1
    assert "delta = 1e-05 throughout: it is the delta of the ledger" in text
    # the explanations are true: a larger factor than e^epsilon, a larger probability than delta, and a smaller chance
    # than that of the pair
    told = page.facts["promise"]
    assert (
        told["odds_factor"] == pytest.approx(1.1 * math.exp(told["epsilon"])) and told["odds_exception"] > told["delta"]
    )
    alone = re.search(r"Epsilon and delta alone, for any noise, would give ([\d.]+) %", text)
    assert (
        alone and 0.0 <= float(alone[1]) / 100.0 - (1.0 - hush.error_sum(told["epsilon"], told["delta"]) / 2.0) < 0.001
    )
    assert told["chance"] < float(alone[1]) / 100.0


def test_the_summary_names_data_people_releases_and_budget() -> None:
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5, source="/home/someone/visits.parquet")
    for label in ("wards", "wards", "ages"):
        ledger.spend((hush.Gaussian(9.0), 1.0), label=label)
    page = statement(ledger)
    text = page.markdown.split("## Summary")[1].split("\n## ")[0]
    assert "**Data**: visits.parquet" in text and "/home" not in page.markdown  # a folder may name people
    assert "**Protected**: each person" in text and "3 releases on" in text and ": wards; ages." in text
    assert "% of the budget is spent" in text and page.facts["source"] == "/home/someone/visits.parquet"


def test_an_adaptive_ledger_is_about_the_whole_budget() -> None:
    text = _numbers(statement(_ledger(mode="adaptive")))
    assert "the whole budget of the ledger" in text and "for any noise" not in text  # its chance is that of the pair


def test_nothing_is_explained_where_there_is_no_other_number() -> None:
    assert "Other documents" not in _numbers(statement(_ledger(delta=0.0)))
    assert "Odds" not in dict(Promise(300.0, 1e-6).three_numbers("this", "it was chosen"))


def test_the_statement_of_a_release_explains_itself_and_its_table_has_no_row_like_its_head() -> None:
    """The README's budget: 73.2 % from the pair, 72.4 % from the noise that was used."""
    page = hush.report.statement(hush.release(3, hush.calibrate(1.0, 1e-6), ledger=None))
    text = _numbers(page)
    assert "probability at most 72.4 %" in text and "would give 73.2 %" in text
    assert "(1, 1e-06)" in text and "the delta that the noise was calibrated for" in text
    assert "goes from 50 % to at most 72.4 %" in page.markdown.split("## The guarantee")[0]
    rows = [
        line.split("|")[1].strip()
        for line in page.markdown.split("## What was published")[1].split("\n## ")[0].splitlines()
        if "|" in line
    ]
    assert rows[0] == "item" and rows[2] == "answer" and len(set(rows)) == len(rows)


def test_a_pure_noise_under_a_budget_with_a_delta_is_said_to_need_none() -> None:
    page = hush.report.statement(hush.release(3, hush.calibrate(1.0, 1e-6, family="staircase"), ledger=None))
    assert "These lines print 0.0, because the noise is pure and needs no delta (1e-06 was allowed):" in page.markdown
    other = hush.report.statement(hush.release(3, hush.calibrate(1.0, 1e-6, family="gaussian"), ledger=None))
    assert "at most the delta of 1e-06:" in other.markdown and "pure" not in other.markdown.split("## Glossary")[0]


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
    # a count, which is the number of people too, and the mean's sum and count: three in each of three groups
    text = hush.report.statement(answer).markdown
    assert "changes at most 9 numbers, 3 in each group: a mean needs two" in text and "a count of people" in text
    whole = statement(ledger).markdown
    assert "at most 9 numbers" in whole and "times the numbers behind the answers of one group" in whole


def test_the_cap_is_promised_rounded_up_and_what_is_left_rounded_down() -> None:
    """Seven digits: a promise of (1.23456, 1e-06) would be more than the ledger keeps."""
    ledger = hush.Ledger(None, epsilon=1.23456789, delta=1.0000009e-6)
    ledger.spend((hush.Gaussian(9.0), 1.0))
    for made in (statement(ledger), statement(hush.Ledger(None, epsilon=1.23456789, delta=1.0000009e-6))):
        text = made.markdown.replace("\\", "")
        assert "everything together stays within (epsilon, delta) = (1.23457, 1.00001e-06)" in text
        assert "of 1.23456 at delta 1e-06." in text
    assert "allows (epsilon, delta) = (1.23457, 1.00001e-06) in all" in text


@pytest.mark.parametrize(
    ("rule", "word"),
    [({"mode": "nonadaptive"}, "or, instead,"), ({"order": 22.0}, "and with it")],
)
def test_what_remains_is_true_of_each_rule(rule: dict[str, Any], word: str) -> None:
    """A pure epsilon and a failure probability fit together only where a filter keeps a reserve; else each fits
    alone.
    """

    def spent() -> hush.Ledger:
        ledger = hush.Ledger(None, epsilon=1.0, delta=1e-6, **rule)
        ledger.spend((hush.Gaussian(12.0), 1.0))
        return ledger

    found = re.search(
        rf"epsilon of at most (\S+) \(less 1 %\) and delta 0 still fits, {word} failure probabilities of (\S+)\. Sev",
        statement(spent()).markdown,
    )
    assert found is not None
    epsilon, delta = 0.99 * float(found[1]), float(found[2])
    spent().spend((hush.Laplace(1.0 / epsilon), 1.0))
    spent().spend((hush.Laplace(1e9), 1.0), extra_delta=0.999 * delta)
    with contextlib.nullcontext() if "order" in rule else pytest.raises(hush.BudgetExceeded):
        spent().spend((hush.Laplace(1.0 / epsilon), 1.0), extra_delta=delta)
    pure = hush.Ledger(None, epsilon=2.0, delta=0.0)
    pure.spend((hush.Laplace(9.0), 1.0, 7))
    assert "failure probabilities of" not in statement(pure).markdown.split("What remains")[1].split("How to check")[0]


def test_the_statement_says_what_was_asked_by_whom_and_against_whom() -> None:
    """Somebody who reads the page alone can say what was published, from whose data, and against what it protects."""
    rows = pa.table({"who": [str(k) for k in range(300)], "ward": ["a", "b", "c"] * 100, "age": [20, 40, 60] * 100})
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5, accounts={"press": (2.0, 1e-6)})
    table = tables.table(rows, unit="who", population="the town")
    asked = table.filter(table["age"] >= 30).group_by("ward", keys=["a", "b"], groups_per_unit=1)
    asked.aggregate(people=tables.count_units()).plan(1.0, 1e-7, family="laplace").answer(
        ledger=ledger, label="wards", account="press"
    )
    page = statement(ledger)
    published = page.markdown.split("## What was published")[1].split("\n## ")[0].replace("\\", "")
    assert "people: number of people; for each ward (a, b); only rows where age is at least 30" in published
    assert "press" in published and "Laplace(" not in published
    assert page.facts["entries"][0]["about"].startswith("people: number of people")
    assert "an attacker who sees everything that was published" in page.markdown


def test_details_are_folded_on_a_page_and_in_order() -> None:
    page = statement(_ledger())
    headings = [section.heading for section in page.sections if not section.folded]
    assert headings[:4] == ["Summary", "What was published", "What remains", "What the limits left out"]
    assert headings[4:] == ["What is not covered", "Assumptions", "How to check this", "Origin"]
    folded = [section.heading for section in page.sections if section.folded]
    details = ["The guarantee in three numbers", "Recompute the guarantee", "Mechanisms and proofs", "Glossary"]
    assert folded == details and [section.heading for section in page.sections][7:11] == details
    assert page.html.count("<details>") == page.html.count("</details>") == len(folded)


@pytest.fixture(scope="module")
def hospital(tmp_path_factory: pytest.TempPathFactory) -> Statement:
    """The statement of a ledger with answers about a table, a fit, a stream and a share of a federation."""
    place = tmp_path_factory.mktemp("town hospital") / "hospital.ledger"
    people, wards = [str(k) for k in range(300)], ["burns", "surgery", "eyes"] * 100
    rows = pa.table({"who": people, "ward": wards, "age": [20.0, 40.0, 60.0] * 100, "smoker": ["no", "yes"] * 150})
    table = tables.table(rows, unit="who", population="patients of 2025")
    with hush.Ledger(
        place, epsilon=6.0, delta=1e-5, accounts={"planning": (5.0, 1e-6), "research": (4.0, 1e-6)}
    ) as made:
        old = table.filter((table["age"] >= 30) & (table["ward"] != "burns"))
        asked = old.group_by("ward", keys=["surgery", "eyes"], groups_per_unit=2)
        asked.aggregate(people=tables.count_units(), age=tables.mean("age", low=0, high=120)).plan(
            0.5, 1e-7, family="laplace"
        ).answer(ledger=made, label="ages", account="planning")
        table.aggregate(middle=tables.quantile("age", 0.5, low=0, high=120)).plan(0.5, 1e-7, family="laplace").answer(
            ledger=made, account="planning"
        )
        model = learn.LogisticRegression(
            epsilon=1.0, delta=1e-7, bounds={"age": (18, 100)}, classes=("no", "yes"), ledger=made, family="gaussian"
        )
        model.fit(table, "smoker", n_rows=300)
        hush.stream(horizon=12, appears=2, apart=3).plan(0.5, 0.0).start(
            ledger=made, name="visits", population="patients of 2025"
        )
        terms = federated.agree(1.0, clip=2.0, coordinates=8, parties=10, rounds=1, delta=0.0, honest=8)
        terms.pay(made, view="central", label="ten hospitals")
        made.spend((hush.Laplace(9.0), 1.0), account="research")
    return statement(place)


def test_an_officer_can_answer_from_the_page_alone(hospital: Statement) -> None:
    """Who is protected and against whom; what was published, when, by whom; what remains; what was left out; how to
    verify.
    """
    text = hospital.markdown.replace("\\", "")
    part = {piece.split("\n", 1)[0]: piece for piece in text.split("\n## ")}
    summary, table, left = part["Summary"], part["What was published"], part["What remains"]
    assert "**Protected**: each person." in summary and "**Against**: an attacker who sees everything" in summary
    assert (
        "**Data**: population patients of 2025" in summary
        and "**By**: planning (2), not stated (3), research (1)." in summary
    )
    for asked in (
        "people: number of people; age: mean of age, values from 0 to 120, at most 1 row of a person in a group; for "
        "each ward (surgery, eyes); a person counts in at most 2 groups; only rows where age is at least 30 and ward "
        "is not 'burns'",
        "middle: median of age, values from 0 to 120",
        "the coefficients of a model (LogisticRegression) that predicts smoker from age; at most 1 row of a person",
        "running totals of people, published 12 times, once each period; a person appears in at most 2 periods, at "
        "least 3 apart",
        "the sum of the updates of all parties: 8 numbers, each update limited to size 2",
    ):
        assert asked in table
    assert "not recorded" in table and "sigma" not in table and "Laplace(" not in table
    assert re.search(r"One further release with an epsilon of at most [\d.]+ \(less 1 %\) and delta 0 still fits", left)
    assert re.search(r"\| planning \| epsilon 5, delta 1e-06 \| epsilon [\d.]+ \| [\d.]+ % \|", left)
    assert "were moved to its ends or left out" in part["What the limits left out"]
    assert (
        "hush ledger verify" in part["How to check this"] and "Digest of the last line: " in part["How to check this"]
    )
    assert "town hospital" not in text and "/" not in summary + table  # no folder


def test_what_is_not_folded_is_plain(hospital: Statement) -> None:
    main, *others = [
        line.removeprefix("- ").replace("**", "").replace("\\", "")
        for section in hospital.sections
        if not section.folded or section.heading == "Glossary"
        for block in section.blocks
        if block.kind not in ("code", "table")
        for line in block.markdown().splitlines()
    ]
    assert "goes from 50 % to at most" in main and len(main.split()) <= 32
    assert len(others) > 35 and complaints("\n".join(others)) == []


def test_the_summary_is_for_readers_who_do_not_know_sql() -> None:
    """A statement in SQL stands in the table, with its words; the summary counts it. The budget takes two sentences."""
    ledger = hush.Ledger(None, epsilon=3.0, delta=1e-5)
    ledger.spend((hush.Laplace(9.0), 1.0), label="SELECT COUNT(*) FROM t", about="n: number of rows")
    ledger.spend((hush.Laplace(9.0), 1.0), label="stays by ward", about="n: number of rows")
    summary, rest = statement(ledger).markdown.split("## What was published")
    assert "SELECT" not in summary and "1 question in SQL, in words below; stays by ward." in summary
    assert "SELECT COUNT" in rest and "n: number of rows" in rest
    assert "The guarantee already counts the whole budget, also the part that is not spent yet." in summary
    assert "if these releases had been fixed in advance" not in summary.lower()
    assert "If these releases had been fixed in advance, they alone would cost epsilon" in rest


def test_a_ledger_without_budget_says_that_nothing_fits() -> None:
    """It said that a release with an epsilon of at most 0 still fits."""
    ledger = hush.Ledger(None, epsilon=1.0, delta=0.0)
    ledger.spend((hush.Laplace(1.0), 1.0), label="all")
    text = " ".join(str(statement(ledger)).split())
    assert "No further release fits." in text and "epsilon of at most 0" not in text
