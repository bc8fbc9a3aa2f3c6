"""BibTeX: every family has its papers, every entry parses and has what its kind requires, and the catalogue agrees."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest

import hush
from hush.cli import main
from hush.noise.catalogue import families, family, register, restored
from hush.report.citation import entries

REQUIRED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "book": {"author", "title", "publisher", "year"},
    "misc": {"author", "title", "year"},
}


def parsed(text: str) -> dict[str, tuple[str, dict[str, str]]]:
    """A small reader of BibTeX: entries by key, with their kind and fields; anything it cannot read fails the test."""
    found: dict[str, tuple[str, dict[str, str]]] = {}
    at = 0
    while at < len(text):
        head = re.compile(r"\s*@(\w+)\{([\w:-]+),\s*").match(text, at)
        assert head, f"no entry at {text[at : at + 40]!r}"
        kind, key, at = head[1], head[2], head.end()
        fields: dict[str, str] = {}
        while text[at] != "}":
            name = re.compile(r"(\w+)\s*=\s*\{").match(text, at)
            assert name, f"no field at {text[at : at + 40]!r}"
            depth, start, at = 1, name.end(), name.end()
            while depth:
                depth += {"{": 1, "}": -1}.get(text[at], 0)
                at += 1
            assert name[1] not in fields
            fields[name[1]] = text[start : at - 1]
            at = re.compile(r",?\s*").match(text, at).end()  # type: ignore[union-attr]
        at += 1
        assert key not in found, f"{key} comes twice"
        found[key] = (kind, fields)
        at = len(text) if not text[at:].strip() else at
    return found


def test_everything_parses_and_is_complete() -> None:
    found = parsed(hush.cite())
    assert set(found) == set(entries()) and "hush" in found
    for key, (kind, fields) in found.items():
        assert REQUIRED[kind] <= set(fields), key
        assert all(value.strip() and value.isascii() for value in fields.values()), key
        assert re.fullmatch(r"(19|20)\d\d", fields["year"])
        assert key == "hush" or key.endswith(fields["year"])
        assert re.fullmatch(r"\d+--\d+", fields.get("pages", "1--2"))
        low, _, high = fields.get("pages", "1--2").partition("--")
        assert int(low) < int(high)
        assert ("eprint" in fields) == ("archiveprefix" in fields)
        assert re.fullmatch(r"\d{4}\.\d{4,5}", fields.get("eprint", "1234.5678"))
        assert key == "hush" or all(", " in author for author in fields["author"].split(" and "))
    assert hush.__version__ in found["hush"][1]["note"]


@pytest.mark.parametrize("row", families(), ids=lambda row: row.name)
def test_every_family_cites_what_the_catalogue_names(row) -> None:  # type: ignore[no-untyped-def]
    """By name, class and instance alike; each author and year in the catalogue's line is there."""
    found = parsed(hush.cite(row.name))
    assert found == parsed(hush.cite(row.type))
    assert tuple(found) == row.cites
    if row.paper == "this project":
        assert set(found) == {"hush"}
        return
    assert "hush" not in found
    for line in row.paper.split("; "):
        year = line.split()[-1]
        surname = re.split(r"[ ,]", line)[0]
        assert any(
            fields["year"] == year and fields["author"].startswith(surname + ",") for _, fields in found.values()
        ), line


def test_instances_plans_and_mechanisms() -> None:
    plan = hush.calibrate(1.0, 1e-6, family="gaussian")
    assert set(parsed(hush.cite(plan))) == {"zhao2019", "balle2018"}
    assert hush.cite(plan.noise) == hush.cite(plan) == hush.cite(hush.Mechanism.of(plan)) == hush.cite("gaussian")
    assert set(parsed(hush.cite(hush.Discrete(hush.OSGT(1.0, 2.0))))) == {"canonne2020", "sadeghi2022"}
    assert set(parsed(hush.cite(hush.Staircase(1.0)))) == {"geng2014", "geng2016"}


def test_the_lattice_version_cites_its_own_paper() -> None:
    """The geometric mechanism is not the discrete Gaussian's; a name or a class alone stands for both."""
    assert set(parsed(hush.cite(hush.Discrete(hush.Laplace(1.0))))) == {"ghosh2012", "dwork2006"}
    assert set(parsed(hush.cite(hush.Discrete(hush.Gaussian(1.0))))) == {"canonne2020", "zhao2019", "balle2018"}
    assert set(parsed(hush.cite("discrete"))) == {"canonne2020", "ghosh2012"}


def test_a_sample_cites_its_amplification_and_its_noise() -> None:
    assert set(parsed(hush.cite(hush.subsample(hush.Laplace(1.0), 0.1)))) == {"ballebarthe2018", "dwork2006"}


#: What no privacy proof rests on: numerics, statistics after the release, colours, an idea for audits.
_ASIDE = {"Barankin", "Bohning", "Cebere", "Dekker", "Donoho", "Duchi", "Efron", "Higham", "James", "Okabe"}
_NAMES = r"([A-Z]\w+)(?:,? (?:and )?(?!Theorem|Section)[A-Z]\w+|,? et al\.)*,? \(?((?:19|20)\d\d)\b"


def _named(text: str) -> set[tuple[str, str]]:
    """(first author, year) of every citation in a text."""
    return set(re.findall(_NAMES, " ".join(text.split())))


def test_every_paper_that_the_source_names_is_cited() -> None:
    """ "Every paper that its privacy rests on": each name and year in the source has its entry (the four papers
    redone quote others).
    """
    source = Path(hush.__file__).parent
    files = [file for file in source.rglob("*.py") if "papers" not in file.relative_to(source).parts[:1]]
    files = [file for file in files if file.name != "published.py"]  # sources of published epsilons, with dates
    named = set().union(*(_named(file.read_text(encoding="utf-8")) for file in files))
    known = {(fields["author"].split(",")[0], fields["year"]) for _, fields in parsed(hush.cite()).values()}
    known = {(surname.replace("{\\'e}", "e").replace('{\\"o}', "o"), year) for surname, year in known}
    assert {
        ("Zhu", "2022"),
        ("Lecuyer", "2021"),
        ("Wasserman", "2010"),
        ("Kairouz", "2015"),
        ("Rogers", "2016"),
    } <= named
    assert {name for name in named if name[0] not in _ASIDE} <= known


def test_what_statements_and_the_pages_on_composition_rest_on_is_there() -> None:
    keys = set(parsed(hush.cite()))
    assert {"kairouz2015", "feldman2021", "lecuyer2021", "ballebarthe2018", "rogers2016", "zhu2022"} <= keys
    assert {"doroshenko2022", "mironov2017", "wasserman2010", "koskela2020", "blackwell1951", "dong2022"} <= keys


def test_it_looks_like_itself_at_the_prompt() -> None:
    made = hush.cite("laplace")
    assert isinstance(made, str)
    assert repr(made) == str(made) and repr(made).startswith("@inproceedings{dwork2006,\n")


@pytest.mark.parametrize(
    ("wrong", "word"), [("gausian", "did you mean 'gaussian'"), (3.0, "hush.cite('gaussian')"), (dict, "hush.cite()")]
)
def test_what_is_no_noise_is_refused(wrong: object, word: str) -> None:
    with pytest.raises(hush.InvalidParameter, match=re.escape(word)):
        hush.cite(wrong)
    with pytest.raises(hush.InvalidParameter, match=r"; did you mean 'laplace'\?$"):
        hush.cite("laplac")


def test_a_key_without_an_entry_is_refused() -> None:
    """The error names the key and the file of the entries."""
    row = dataclasses.replace(
        family("laplace"), name="later", type=type("Later", (hush.Laplace,), {}), cites=("nobody1999",)
    )
    with restored():
        register(row)
        with pytest.raises(hush.InvalidParameter, match=r"'nobody1999', which .*references\.bib does not have"):
            hush.cite("later")


def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["cite", "osgt"]) == 0
    assert capsys.readouterr().out == hush.cite("osgt") + "\n"
    assert main(["cite"]) == 0
    assert capsys.readouterr().out == hush.cite() + "\n"
    assert main(["cite", "stable", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"family": "stable", "bibtex": hush.cite("stable")}


def test_a_plan_cites_its_theorem_too() -> None:
    """The noise's papers, and those of the theorem that covers it under the plan's sensitivity."""
    ball = hush.Sensitivity(l2=1.0, l0=3)
    plan = hush.calibrate(1.0, 1e-6, ball, family="osgt")
    assert "sadeghi2022" in hush.cite(plan)
    assert "dwork2006" in hush.cite(hush.Charge(hush.Laplace(2.0), hush.Sensitivity(l1=1.0)))
    sampled = hush.cite(hush.Charge(hush.Laplace(2.0), hush.Sensitivity.of(1.0), rate=0.1))
    assert "ballebarthe2018" in sampled and "dwork2006" in sampled
