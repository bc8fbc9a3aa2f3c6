"""Ledgers and receipts that an earlier version wrote still open, verify and say what they said."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import hush
from hush.report import statement

WRITTEN = Path(__file__).parent / "written_before"
SPENT = json.loads((WRITTEN / "spent.json").read_text())


@pytest.fixture
def copied(tmp_path: Path) -> Path:
    """The files in a folder that may be written to."""
    return Path(shutil.copytree(WRITTEN, tmp_path / "kept"))


@pytest.mark.parametrize("name", ["planned", "interactive", "pure"])
def test_a_ledger_opens_verifies_and_costs_no_more(copied: Path, name: str) -> None:
    """Where the best of several theorems counts, what was spent may be less than it was said to be; it is never more
    but for the grid of a composition, which differs between versions.
    """
    epsilon, delta, entries = SPENT[name]
    with hush.Ledger(copied / f"{name}.ledger") as ledger:
        ledger.verify()
        assert len(ledger.entries) == entries
        assert 0.9 * epsilon < ledger.spent.epsilon <= epsilon * (1.0 + 1e-8)
        assert ledger.spent.delta <= delta * (1.0 + 1e-12)
        ledger.spend((hush.Laplace(1e4), hush.Sensitivity(linf=1.0, l0=1)), label="one more")
    with hush.Ledger(copied / f"{name}.ledger") as again:
        again.verify()
        assert len(again.entries) == entries + 1
    assert "one more" in str(statement(copied / f"{name}.ledger"))


def test_every_entry_reads_back_as_the_charge_it_was(copied: Path) -> None:
    with hush.Ledger(copied / "planned.ledger") as ledger:
        found = {entry.label: entry for entry in ledger.entries}
        assert ledger.source == "visits by ward"
    one = hush.Sensitivity(linf=1.0, l0=1)
    assert found["two at once"].charges == (
        hush.Charge(hush.Gaussian(20.0), one),
        hush.Charge(hush.Laplace(30.0), hush.Sensitivity(linf=1.0, l0=3), times=2),
    )
    assert found["two at once"].extra_delta == 1e-9
    assert found["an l2 ball"].charges[0].sensitivity == hush.Sensitivity(l2=1 / 3)
    assert found["listed bounds"].charges[0].sensitivity == hush.Sensitivity(linf=(0.1, 0.2, 0.3), l0=2)
    assert found["sampled"].charges == (hush.Charge(hush.Gaussian(2.0), one, times=10, rate=0.01),)
    assert (found["with its pair"].epsilon, found["with its pair"].delta) == (0.5, 1e-7)
    assert {type(entry.charges[0].noise).__name__ for entry in found.values()} >= {
        *("OSGT", "FlippedHuber", "Stable", "Staircase", "TruncatedLaplace", "ExponentialPower", "Asinh", "Skellam"),
        *("GammaDifference", "PolyaDifference", "Stepped", "Discrete"),
    }


def test_a_release_reads_back(copied: Path) -> None:
    found = hush.Release.from_json((copied / "release.json").read_text())
    assert found.value.shape == (3,) and found.error.standard_deviation > 0.0
    with hush.Ledger(copied / "planned.ledger") as ledger:
        assert "three counts" in str(hush.report.statement(found, ledger=ledger))


@pytest.mark.parametrize("name", ["answer", "fit"])
def test_receipts_of_answers_and_fits_are_reported(copied: Path, name: str) -> None:
    receipt = hush.Receipt.from_json((copied / f"{name}.json").read_text())
    assert receipt.guarantee.delta == 1e-6 and receipt.charges
    assert "differential privacy" in str(statement(receipt))
