"""`hush ledger new|show|verify`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from hush import Gaussian, Laplace
from hush.cli import main
from hush.ledger import Ledger
from hush.numerics.rounding import rounded_up


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "a.ledger")


def run(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    assert main(["ledger", *words]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    return out


def refused(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one sentence of a command that fails, by us or by argparse."""
    try:
        code = main(["ledger", *words])
    except SystemExit as stop:
        code = int(stop.code or 0)
    out, err = capsys.readouterr()
    assert code == 2 and out == "" and err.startswith("hush") and err.count("\n") == 1
    return err


def test_new_show_verify(capsys: pytest.CaptureFixture[str], path: str) -> None:
    assert "a new ledger, epsilon 1, delta 1e-06, adaptive" in run(
        capsys, "new", path, "--epsilon", "1", "--delta", "1e-6"
    )
    ledger = Ledger(path)
    ledger.spend([(Gaussian(10.0), 1.0), (Laplace(50.0), 1.0, 3)], label="first", extra_delta=1e-9)
    shown = run(capsys, "show", path)
    assert (
        f"spent  epsilon {rounded_up(ledger.spent.epsilon)} at delta 1e-06 (rounded up)" in shown
        and f"left   epsilon {ledger.left.epsilon:.6g} (for one more release with delta 0; several" in shown
        and "the bar counts in the unit in which the ledger adds up, not in epsilon" in shown
    )
    assert "first" in shown and "Gaussian(sigma=10.0), Laplace(scale=50.0) x 3, extra delta 1e-09" in shown
    assert f"{100.0 * ledger.share:.1f} % spent" in shown and "[####" in shown and "....]" in shown
    assert "1 entry, every hash is correct, the total is within the budget" in run(capsys, "verify", path)


@pytest.mark.parametrize(("kind", "amount"), [("rho", "0.1"), ("mu", "0.5")])
def test_a_budget_in_rho_or_mu(capsys: pytest.CaptureFixture[str], path: str, kind: str, amount: str) -> None:
    assert f"a new ledger, {kind} {amount} (epsilon 2." in run(capsys, "new", path, f"--{kind}", amount)
    Ledger(path).spend((Gaussian(10.0), 1.0))
    shown = run(capsys, "show", path)
    assert f"rule   {kind} adds up to at most {amount}" in shown
    known = json.loads(run(capsys, "show", path, "--json"))
    assert known["cap"][kind] == float(amount) and known["share"] == pytest.approx(0.05 if kind == "rho" else 0.04)
    assert "two kinds of budget" in refused(capsys, "new", f"{path}2", "--epsilon", "1", f"--{kind}", amount)


def test_an_interactive_ledger_names_its_order(capsys: pytest.CaptureFixture[str], path: str) -> None:
    words = ("--epsilon", "1", "--delta", "1e-6", "--mode", "adaptive", "--order", "30")
    assert "adaptive, order 30" in run(capsys, "new", path, *words)
    assert "Renyi filter of order 30" in run(capsys, "show", path)
    assert json.loads(run(capsys, "show", path, "--json"))["cap"]["order"] == 30.0


def test_json(capsys: pytest.CaptureFixture[str], path: str) -> None:
    made = json.loads(run(capsys, "new", path, "--epsilon", "1", "--delta", "1e-6", "--source", "people", "--json"))
    assert {name: made["cap"][name] for name in ("epsilon", "delta", "mode")} == {
        "epsilon": 1.0,
        "delta": 1e-6,
        "mode": "adaptive",
    }
    ledger = Ledger(path)
    ledger.spend((Laplace(50.0), 1.0, 3), label="first")
    shown = json.loads(run(capsys, "show", path, "--json"))
    assert shown["source"] == "people"
    assert shown["spent"] == {"epsilon": ledger.spent.epsilon, "delta": ledger.spent.delta}
    assert shown["left"]["epsilon"] == ledger.left.epsilon and shown["share"] == ledger.share
    (entry,) = shown["entries"]
    assert (entry["number"], entry["label"], entry["parts"][0]["times"]) == (1, "first", 3)
    assert entry["parts"][0]["noise"] == "Laplace(scale=50.0)" and entry["time"] == ledger.entries[0].time
    assert json.loads(run(capsys, "verify", path, "--json")) == {
        "file": path,
        "entries": 1,
        "sound": True,
        "wal_found": False,
    }
    assert json.loads(run(capsys, "--json", "verify", path))["sound"]


def test_the_last_ten_entries_and_all(capsys: pytest.CaptureFixture[str], path: str) -> None:
    ledger = Ledger(path, epsilon=1.0, delta=0.0)
    for i in range(12):
        ledger.spend((Laplace(100.0), 1.0), label=f"answer-{i}")
    shown = run(capsys, "show", path)
    assert "answer-11" in shown and "answer-1 " not in shown and "2 earlier entries; --all shows them" in shown
    assert "answer-1 " in run(capsys, "show", path, "--all")


def test_labels_do_not_drive_the_terminal(capsys: pytest.CaptureFixture[str], path: str) -> None:
    """Control characters and changes of direction are escaped, long labels cut; --json has all of it."""
    label = "\x1b[2Jgone\r\n\u202etxt" + "x" * 100
    ledger = Ledger(path, epsilon=1.0, delta=0.0, source="\x1b[31mpeople")
    entry = ledger.spend((Laplace(100.0), 1.0), label=label)
    shown = run(capsys, "show", path)
    assert "\x1b" not in shown and "\u202e" not in shown and "\r" not in shown and "protects \\x1b[31mpeople" in shown
    assert "\\x1b[2Jgone\\r\\n\\u202etxt" in shown and "x" * 41 not in shown and "xxx..." in shown
    assert "\x1b" not in str(entry)
    assert json.loads(run(capsys, "show", path, "--json"))["entries"][0]["label"] == label


@pytest.mark.parametrize(("spent", "filled"), [([], 0), ([1000.0], 1), ([2.0], 20), ([1.001], 39), ([1.0], 40)])
def test_the_bar(capsys: pytest.CaptureFixture[str], path: str, spent: list[float], filled: int) -> None:
    """Empty only before the first entry, full only when nothing is left."""
    ledger = Ledger(path, epsilon=1.0, delta=0.0)
    for scale in spent:
        ledger.spend((Laplace(scale), 1.0))
    assert f"[{'#' * filled}{'.' * (40 - filled)}]" in run(capsys, "show", path)


def test_errors_are_one_sentence(capsys: pytest.CaptureFixture[str], path: str) -> None:
    for command in ("show", "verify"):
        assert "make one with `hush ledger new" in refused(capsys, command, path)
    run(capsys, "new", path, "--epsilon", "1", "--delta", "1e-6")
    assert "already exists" in refused(capsys, "new", path, "--epsilon", "1", "--delta", "1e-6")
    other = path + "2"
    assert "--delta" in refused(capsys, "new", other, "--epsilon", "1")
    assert "mode must be one of adaptive, nonadaptive" in refused(
        capsys, "new", other, "--epsilon", "1", "--delta", "1e-6", "--mode", "x"
    )
    assert "epsilon must be" in refused(capsys, "new", other, "--epsilon", "-1", "--delta", "1e-6")
    assert "only a ledger with --mode adaptive" in refused(
        capsys, "new", other, "--epsilon", "1", "--delta", "0", "--order", "3"
    )
    assert "see `hush ledger --help`" in refused(capsys)
    assert "invalid choice" in refused(capsys, "burn", path)
    Path(path).write_bytes(Path(path).read_bytes()[:5000])
    for command in ("show", "verify"):
        assert "damaged" in refused(capsys, command, path)
    assert not Path(other).exists()


@pytest.mark.parametrize("words", [[], ["new"], ["show"], ["verify"]])
def test_help_shows_examples(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["ledger", *words, "--help"])
    out = capsys.readouterr().out
    assert stop.value.code == 0 and "examples:" in out and "hush ledger" in out.split("examples:")[1]
