"""A paid answer is written or printed; where it cannot be, one sentence says where it is kept."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from disks import fill, mounted, read_only, refuse_to_synchronise

import hush
from hush.cli import main
from hush.cli.output_options import ENDINGS
from hush.tables.sample_table import sample

ASKED = "--unit patient_id --by ward --keys surgery,burns --groups-per-unit 2 --count-units --family gaussian"
BUDGET = "--epsilon 0.5 --delta 1e-6"
KEPT = "the answer is kept: `hush ledger answer"


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    import pyarrow.parquet

    path = tmp_path_factory.mktemp("data") / "visits.parquet"
    pyarrow.parquet.write_table(sample("visits", 500), path)
    return path


@pytest.fixture
def book(tmp_path):
    with hush.Ledger(tmp_path / "v.ledger", epsilon=50.0, delta=1e-4):
        return tmp_path / "v.ledger"


def answer(visits, book, more=""):
    return f"answer {visits} {ASKED} {BUDGET} --ledger {book} {more}".split()


def marginals(visits, book, more=""):
    line = f"marginals {visits} --unit patient_id --columns ward --keys ward=surgery,burns {BUDGET}"
    return f"{line} --ledger {book} {more}".split()


def entries(book):
    with hush.Ledger(book) as ledger:
        return len(ledger.entries)


def must_be_kept(done, book, number):
    """The exit code, the printed answer, and one sentence with the call that gives it again."""
    code, out, err = done
    assert code == 2 and "surgery" in out and "Traceback" not in err
    lines = [line for line in err.splitlines() if "cannot be written" in line]
    assert len(lines) == 1 and f"{KEPT} {book} {number}` gives it again, for nothing." in lines[0], err


def run(capsys, words):
    code = main(words)
    shown = capsys.readouterr()
    return code, shown.out, shown.err


@pytest.mark.parametrize("command", [answer, marginals])
def test_a_full_disk(command, visits, book, capsys, tmp_path):
    """Every form of output: the answer is printed, charged once, and named; no empty or half file is left."""
    forms = [f"--out {{}}/a{ending}" for ending in ENDINGS] if command is answer else ["--out {}/a.csv"]
    forms += ["--plot {}/a.svg", "--plot {}/a.html"] if command is answer else ["--synthesise 5 --out {}/a.parquet"]
    with mounted(tmp_path / "full") as folder:
        fill(folder)
        for form in forms:
            done = run(capsys, command(visits, book, form.format(folder)))
            must_be_kept(done, book, entries(book))
            assert os.listdir(folder) == ["zeros"]


@pytest.mark.parametrize("ending", ENDINGS)
def test_a_quota_that_is_found_late(ending, visits, book, capsys, tmp_path, monkeypatch):
    """The same where nobody may mount a small disk."""
    refuse_to_synchronise(monkeypatch)
    must_be_kept(run(capsys, answer(visits, book, f"--out {tmp_path}/a{ending}")), book, 1)
    assert os.listdir(tmp_path) == ["v.ledger"]


@pytest.mark.parametrize("command", [answer, marginals])
def test_a_file_that_exists_is_refused_before_the_charge(command, visits, book, capsys, tmp_path):
    out = tmp_path / "a.csv"
    out.write_text("an earlier answer")
    code, _, err = run(capsys, command(visits, book, f"--out {out}"))
    assert code == 2 and "exists already; choose another name, or add --overwrite" in err
    assert entries(book) == 0 and out.read_text() == "an earlier answer"
    assert run(capsys, command(visits, book, f"--out {out} --overwrite"))[0] == 0
    assert entries(book) == 1 and "surgery" in out.read_text()


def test_a_folder_that_vanishes_after_the_charge(visits, book, capsys, tmp_path, monkeypatch):
    from hush.cli import answer as module

    folder = tmp_path / "gone"
    folder.mkdir()
    usual = module.shaped
    monkeypatch.setattr(module, "shaped", lambda *given: (folder.rmdir(), usual(*given))[1])
    must_be_kept(run(capsys, answer(visits, book, f"--out {folder}/a.csv")), book, 1)


def test_a_read_only_folder(visits, book, capsys, tmp_path):
    """Nothing is charged for a file that cannot be made; a ledger is shown and checked there."""
    with mounted(tmp_path / "disk", "1m") as folder:
        (folder / "v.ledger").write_bytes(book.read_bytes())
        read_only(folder)
        code, _, err = run(capsys, answer(visits, book, f"--out {folder}/a.csv"))
        assert code == 2 and "not a writable folder; nothing was spent" in err and entries(book) == 0
        for verb in ("show", "verify"):
            assert run(capsys, ["ledger", verb, str(folder / "v.ledger")])[0] == 0
        code, _, err = run(capsys, answer(visits, folder / "v.ledger"))
        assert code == 2 and "cannot be opened" in err


# -- the process of a command ----------------------------------------------------------------------------------


def process(words, start=("-m", "hush"), **given):
    """A command as a process of its own, to be used in a `with` block."""
    known = {**os.environ, "PYTHONPATH": str(Path(hush.__file__).parents[1])}
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, **given}
    return subprocess.Popen([sys.executable, *start, *words], text=True, env=known, **pipes)


def test_a_full_device_as_standard_output(visits, book):
    with open("/dev/full", "w") as full, process(answer(visits, book), stdout=full) as done:
        err = done.stderr.read()
    assert done.returncode == 2 and "Traceback" not in err and entries(book) == 1
    assert err.strip().endswith(f"No space left on device; {KEPT} {book} 1` gives it again, for nothing.")


def test_a_full_device_as_standard_error(visits, book):
    """Messages are lost, the answer is not."""
    with open("/dev/full", "w") as full, process(answer(visits, book), stderr=full) as done:
        out = done.stdout.read()
    assert "surgery" in out and done.returncode == 0


def test_a_pipe_that_is_closed(visits, book):
    with process(answer(visits, book)) as done:
        done.stdout.close()
        err = done.stderr.read()
    assert done.returncode == 0 and "Traceback" not in err
    assert f"the output was closed before its end; {KEPT} {book} 1`" in err


#: Press Ctrl-C when a module is about to be loaded.
PRESSED = """
import importlib.abc, os, signal, sys
wanted = sys.argv.pop(1)
class Key(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name == wanted:
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Key())
import hush.__main__
hush.__main__.run()
"""


@pytest.mark.parametrize("module", ["hush.cli", "hush.errors", "hush.cli.answer", "numpy", "pyarrow", "ibis", "duckdb"])
def test_an_interrupt_while_packages_are_loaded(module, visits, book):
    with process([module, *answer(visits, book)], start=("-c", PRESSED)) as done:
        out, err = done.communicate()
    assert (done.returncode, out, err) == (130, "", "hush: stopped; nothing was released.\n")
    assert entries(book) == 0
