"""The options of `hush answer` for rows, groups, weights and output, as typed."""

from __future__ import annotations

import json

import pytest

import hush
from hush.cli import main, parser
from hush.tables.sample_table import sample

BUDGET = ["--epsilon", "1", "--delta", "1e-6", "--family", "gaussian"]
WARDS = ["--by", "ward", "--keys", "surgery,emergency,burns", "--groups-per-unit", "2"]


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    import pyarrow.parquet

    path = tmp_path_factory.mktemp("data") / "visits.parquet"
    pyarrow.parquet.write_table(sample("visits", 4000), path)
    return str(path)


def run(capsys, visits, *arguments):
    code = main(["answer", visits, "--unit", "patient_id", *BUDGET, *map(str, arguments)])
    out = capsys.readouterr()
    return code, out.out, out.err


def rows(capsys, visits, *arguments):
    code, out, err = run(capsys, visits, *arguments, "--json")
    assert code == 0, err
    return json.loads(out)


def test_a_derived_column_is_grouped_by(capsys, visits) -> None:
    let = ["--let", "month=date_trunc('month', day)", "--let", "quarter = extract(quarter from day)"]
    found = rows(capsys, visits, *let, "--by", "month", "--keys", "2025-01-01,2025-02-01", "--groups-per-unit", 2,
                 "--count-units")["answer"]  # fmt: skip
    assert [row["month"] for row in found] == ["2025-01-01", "2025-02-01"] and found[0]["units"] > 100
    band = ["--let", "band=CASE WHEN age < 18 THEN 'young' ELSE 'old' END", "--by", "band", "--keys", "young,old"]
    young, old = rows(capsys, visits, *band, "--groups-per-unit", 1, "--count-units")["answer"]
    assert 0 < young["units"] < old["units"]


def test_conditions_in_sql(capsys, visits) -> None:
    """OR and IN keep the rows that pandas keeps; a comparison without quotes still works beside them."""
    frame = sample("visits", 4000).to_pandas()
    wanted = (frame.ward.isin(["surgery", "burns"]) | (frame.age < 5)) & (frame.stay_days <= frame.age)
    found = rows(capsys, visits, "--where", "ward IN ('surgery', 'burns') OR age < 5", "--where", "stay_days <= age",
                 "--where", "ward!=nowhere", "--count-units")  # fmt: skip
    people = frame[wanted].patient_id.nunique()
    assert abs(found["answer"][0]["units"] - people) < 60
    assert found["receipt"]["filters"] == [
        "ward IN ('surgery', 'burns') OR age < 5", "stay_days <= age", "ward != 'nowhere'"
    ]  # fmt: skip


def test_several_listed_key_columns(capsys, visits) -> None:
    asked = ["--let", "minor=age < 18", "--by", "ward,minor", "--groups-per-unit", 2, "--count-units"]
    found = rows(capsys, visits, *asked, "--keys", "ward=surgery,burns", "--keys", "minor=true,false")["answer"]
    assert [(row["ward"], row["minor"]) for row in found] == [
        ("surgery", True), ("surgery", False), ("burns", True), ("burns", False)
    ]  # fmt: skip


def test_histograms_of_categories(capsys, visits) -> None:
    (row,) = rows(capsys, visits, "--histogram", "ward:surgery,burns", "--histogram", "age:0,50,120:2")["answer"]
    assert row["ward_histogram surgery"] > row["ward_histogram burns"] and "age_histogram [50, 120]" in row
    (row,) = rows(capsys, visits, "--histogram", "stay_days:categories:1,2,3")["answer"]
    assert "stay_days_histogram 2" in row


def test_weights_private_bounds_and_level(capsys, visits) -> None:
    asked = [*WARDS, "--count-units", "--mean", "stay_days:0:30"]
    plain, weighted = (rows(capsys, visits, *asked, *more)["answer"][0] for more in ([], ["--weight", "units=4"]))
    width = [row["units_high"] - row["units_low"] for row in (plain, weighted)]
    assert width[1] < 0.7 * width[0]
    wide = rows(capsys, visits, *asked, "--level", 0.999)["answer"][0]
    assert wide["units_high"] - wide["units_low"] > 1.4 * width[0]
    found = rows(capsys, visits, "--mean", "cost:private", "--sum", "stay_days:private:private:2")
    assert set(found["receipt"]["bounds_found"]) == {"cost_mean", "stay_days_sum"}


def test_totals_shares_ratios_and_non_negative(capsys, visits) -> None:
    asked = [*WARDS, "--count-units", "--count", 3]
    found = rows(capsys, visits, *asked, "--total", "units", "--total", "count:ward", "--share", "units", "--ratio",
                 "count/units", "--non-negative")  # fmt: skip
    (total,), first = found["totals"], found["answer"][0]
    assert total["low"] <= total["value"] <= total["high"] and "over the 3 listed groups" in total["notes"]
    assert 0.0 <= first["units_share_low"] <= first["units_share_high"] <= 1.0
    assert first["count_per_units"] > 0.5 and len(found["totals_by_key"][0]) == 3
    assert all(row["units_low"] >= 0 for row in found["answer"])
    assert len(found["receipt"]["post_processing"]) == 4
    code, out, _ = run(capsys, visits, *asked, "--total", "units", "--total", "units:ward")
    assert code == 0 and "total of units" in out and "units_total" in out


def test_every_row_of_a_long_answer(capsys, visits) -> None:
    asked = ["--by", "age", "--keys", ",".join(map(str, range(40))), "--groups-per-unit", 1, "--count-units"]
    code, out, _ = run(capsys, visits, *asked)
    assert code == 0 and "... and 20 more groups" in out
    code, out, _ = run(capsys, visits, *asked, "--all")
    assert code == 0 and "more groups" not in out and out.index("39 ") > 0
    found = rows(capsys, visits, *WARDS, "--histogram", "age:0,50,120", "--count-units", "--long")["answer"]
    assert len(found) == 3 * 3 and {"ward", "aggregate", "bin", "from", "to", "value", "low", "high"} == set(found[0])


@pytest.mark.parametrize("ending", ["csv", "parquet", "xlsx", "md", "tex", "html", "json"])
def test_the_ending_chooses_the_form(capsys, visits, tmp_path, ending: str) -> None:
    if ending == "xlsx":
        pytest.importorskip("xlsxwriter")
    out = tmp_path / f"a.{ending}"
    code, text, err = run(capsys, visits, *WARDS, "--count-units", "--total", "units", "--out", out)
    assert code == 0 and "3 groups written to" in err and "guarantee" in text and out.stat().st_size > 60
    held = out.read_bytes().decode("utf-8", "replace")
    assert ending not in ("md", "tex", "html") or ("surgery" in held and "total of units" in held)
    assert ending != "html" or ("<svg" in held and "<script" not in held)
    assert ending != "json" or json.loads(held)["totals"]


BAD = [
    (["--let", "month"], "--let needs name=expression"),
    (["--let", "age=1"], "has a column 'age' already"),
    (["--let", "x=count(*)"], "--let: .* is an aggregate"),
    (["--let", "x=agee + 1"], "no column 'agee'"),
    (["--let", "x=1, 2"], "not one expression"),
    (["--where", "age + 1"], "a condition is needed"),
    (["--where", "agee IN (1, 2)"], "no column 'agee'"),
    (["--where", "age IN (SELECT age FROM visits)"], "--where: "),
    (["--keys", "a,b"], "--keys lists the groups of --by"),
    (["--by", "ward,age", "--groups-per-unit", "2", "--keys", "a,b"], "names the column of each list"),
    (["--by", "ward,age", "--groups-per-unit", "2", "--keys", "ward=a"], "no list for 'age'"),
    (["--by", "ward,age", "--groups-per-unit", "2", "--keys", "ward=a", "--keys", "ward=b"], "twice"),
    (["--by", "ward", "--groups-per-unit", "2", "--keys", "private", "--keys", "a"], "leave the other --keys out"),
    (["--weight", "units"], "--weight needs name=number"),
    (["--weight", "units=much"], "not a number"),
    (["--weight", "people=2"], "no aggregate"),
    (["--level", "1.5"], "level must be"),
    (["--total", "people"], "no column 'people'"),
    (["--mean", "age:0:100", "--total", "age_mean"], "is a mean"),
    (["--total", "units:month"], "no key of the answer"),
    (["--share", "people"], "no column 'people'"),
    (["--sum", "cost:-5:5", "--share", "cost_sum"], "may be negative"),
    (["--ratio", "units"], "--ratio needs two columns"),
    (["--ratio", "units/people"], "no column 'people'"),
    (["--out", "a.xls"], "--out must end in .csv"),
    (["--histogram", "wrad:a,b"], "wrad"),
    (["--histogram", "age:categories"], "--histogram needs"),
]


@pytest.mark.parametrize(("flags", "said"), BAD, ids=[" ".join(flags) for flags, _ in BAD])
def test_bad_options_get_one_sentence_and_spend_nothing(capsys, visits, tmp_path, monkeypatch, flags, said) -> None:
    import re

    monkeypatch.chdir(tmp_path)
    with hush.Ledger("book.ledger", epsilon=3.0, delta=1e-5):
        pass
    code, out, err = run(capsys, visits, "--count-units", *flags, "--ledger", "book.ledger")
    assert code == 2 and out == "" and err.count("\n") == 1 and re.search(said, err), err
    with hush.Ledger("book.ledger") as book:
        assert not book.entries


def test_help_has_groups_with_an_example_each(capsys) -> None:
    with pytest.raises(SystemExit):
        parser("answer").parse_args(["answer", "--help"])
    text = capsys.readouterr().out
    for group in ("table", "rows", "groups", "aggregates", "noise", "output"):
        assert f"\n{group}:\n  example: --" in text, group
