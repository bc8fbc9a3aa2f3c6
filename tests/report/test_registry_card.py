"""The card for the registry of deployments: its fields, its numbers, and what it still needs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import hush
from hush.cli import main
from hush.errors import InvalidParameter
from hush.report.registry_card import FILL_IN, OWN_FACTS

yaml = pytest.importorskip("yaml", reason="PyYAML is not installed")

FACTS = {"name": "Visits of 2025", "curator": "Town hospital", "region": "One town", "use": "Planning", "author": "me"}
FACTS |= {"unit": "person"}
#: The fields of the registry's schema (July 2026) that a card may have, and those that it must have.
FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "basic": (
        {
            *("name", "data_curators", "description", "intended_use", "data_product_type", "data_product_region"),
            "publication_date",
        },
        {"data_product_sector"},
    ),
    "dp_variant": ({"variant_name"}, {"data_domain", "unprotected_quantities"}),
    "privacy_loss": (
        {"privacy_unit", "privacy_parameters"},
        {"privacy_unit_details", "privacy_parameters_details"},
    ),
    "deployment_model": (
        {"model_name", "release_type", "data_source_type", "access_type"},
        {"model_name_details", "actors", "release_type_details", "data_source_type_details", "access_type_details"},
    ),
    "accounting": ({"post_processing", "composition"}, set()),
    "implementation": ({"preprocessing_and_hyperparameter_tuning", "mechanisms", "justification"}, set()),
    "administrative": ({"registry_authors"}, {"sources", "notes"}),
}
CHOICES = {
    ("basic", "data_product_type"): {
        *("Summary statistics", "Machine learning model", "Dataset", "Synthetic data", "Interactive API", "SQL queries")
    },
    ("dp_variant", "variant_name"): {"Pure DP", "Approximate DP", "Zero-concentrated DP", "Renyi DP", "Custom"},
    ("deployment_model", "model_name"): {"Local", "Central", "Shuffle", "Federated", "Varies"},
    ("deployment_model", "release_type"): {"One release", "Many releases"},
    ("deployment_model", "data_source_type"): {"Static", "Dynamic"},
    ("deployment_model", "access_type"): {"Interactive", "Non-interactive"},
}


def ledger(**budget: Any) -> hush.Ledger:
    made = hush.Ledger(None, **budget)
    made.spend((hush.Laplace(100.0), 1.0), label='visits by "ward"\\n')
    made.spend((hush.Laplace(200.0), 1.0))
    return made


@pytest.mark.parametrize(
    ("budget", "variant"),
    [
        ({"epsilon": 1.0, "delta": 0.0}, "Pure DP"),
        ({"epsilon": 1.0, "delta": 1e-6}, "Approximate DP"),
        ({"rho": 0.1}, "Zero-concentrated DP"),
    ],
)
def test_the_card_has_the_fields_of_the_registry(budget: dict[str, float], variant: str) -> None:
    made = ledger(**budget)
    card = yaml.safe_load(hush.report.card(made, FACTS))
    assert (card["url_slug"], card["status"], card["tier"]) == ("visits_of_2025", "Draft", 3)
    assert set(card["deployment"]) == set(FIELDS)
    for part, (needed, allowed) in FIELDS.items():
        assert needed <= set(card["deployment"][part]) <= needed | allowed, part
    for (part, name), words in CHOICES.items():
        assert card["deployment"][part][name] in words
    assert card["deployment"]["dp_variant"]["variant_name"] == variant
    numbers = card["deployment"]["privacy_loss"]["privacy_parameters"]
    assert numbers["epsilon"] == made.cap.epsilon and numbers.get("delta", 0.0) == made.cap.delta
    assert numbers.get("rho") == budget.get("rho")
    assert 'visits by "ward"' in card["deployment"]["basic"]["description"]
    assert FILL_IN not in str(card)


def test_the_command_writes_it_and_says_what_is_missing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with hush.Ledger("a.ledger", epsilon=1.0, delta=1e-6) as made:
        made.spend((hush.Laplace(100.0), 1.0), label="one")
    before = Path("a.ledger").read_bytes()
    assert main(["report", "a.ledger", "--card", "a.yaml", "--fact", "curator=Town hospital"]) == 0
    said = capsys.readouterr().out
    assert said.count("Fill in: ") == len(OWN_FACTS) - 1 and OWN_FACTS["curator"] not in said
    assert yaml.safe_load(Path("a.yaml").read_text())["deployment"]["basic"]["data_curators"] == ["Town hospital"]
    assert Path("a.ledger").read_bytes() == before
    for wrong in (["--card", "a.ledger"], ["--fact", "name=x"], ["--card", "b.yaml", "--fact", "name"]):
        assert main(["report", "a.ledger", *wrong]) != 0
    assert Path("a.ledger").read_bytes() == before and not Path("b.yaml").exists()


def test_unknown_facts_and_empty_ledgers_are_refused() -> None:
    with pytest.raises(InvalidParameter, match="has no fact 'colour'"):
        hush.report.card(ledger(epsilon=1.0, delta=1e-6), {"colour": "red"})
    with pytest.raises(InvalidParameter, match="nothing was published"):
        hush.report.card(hush.Ledger(None, epsilon=1.0, delta=1e-6))


def test_the_unit_is_that_of_the_ledger_or_to_be_filled_in() -> None:
    def unit(made: hush.Ledger) -> str:
        made.spend((hush.Laplace(100.0), 1.0), **({"block": "01"} if made.cap.blocks else {}))
        return str(yaml.safe_load(hush.report.card(made, {}))["deployment"]["privacy_loss"]["privacy_unit"])

    budget = {"epsilon": 1.0, "delta": 1e-6}
    assert unit(hush.Ledger(None, **budget, source="file a.parquet, unit id")) == "person: one value of id"
    assert unit(hush.Ledger(None, **budget, source="population town")).startswith(FILL_IN)
    assert "month" in unit(hush.Ledger(None, **budget, blocks="month"))


def test_no_folder_of_a_joined_file_is_printed() -> None:
    made = hush.Ledger(None, epsilon=1.0, delta=1e-6, source="file /home/x/a.csv, unit id; file /home/x/b.csv, unit id")
    made.spend((hush.Laplace(100.0), 1.0))
    assert "/home" not in hush.report.card(made, {}) and "/home" not in str(hush.report.statement(made))
