"""The README and the pages are right: their code runs, their numbers, links and paths are true."""

from __future__ import annotations

import ast
import contextlib
import importlib.util
import math
import numbers
import os
import re
import shlex
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from printed import ROOT, agrees, assert_shown, rows

import hush
from hush.cli import main
from hush.noise.catalogue import EVERY, families, restored
from hush.privacy.theorem import THEOREMS

PAGES = sorted([ROOT / "README.md", *ROOT.glob("docs/**/*.md")])
#: docs/maths/federated.md describes these shares of Laplace noise; every other noise has its own page
FAMILY_PAGES = tuple(ROOT / "docs" / "maths" / f"{row.name}.md" for row in families() if row.public)


def _name(page: Path) -> str:
    return str(page.relative_to(ROOT))


def _blocks(page: Path) -> list[str]:
    return re.findall(r"```python\n(.*?)```", page.read_text(), flags=re.DOTALL)


def _large(block: str) -> set[str]:
    """The packages that a block imports and that the ordinary tests do not have."""
    return set(re.findall(r"^(?:import|from) (torch|opacus|dp_accounting)\b", block, flags=re.MULTILINE))


def _printed(line: str) -> str | None:
    """The number stated in a comment: at its start, or after a colon at its end ("# pure epsilon: 0.5704")."""
    _, mark, comment = line.rpartition("  # ")
    number = r"(-?\d+(?:\.\d+)?(?:e-?\d+)?)"
    found = re.match(number + r"(?![.,]?\d|e)", comment) or re.search(f": {number}$", comment)
    return found[1] if mark and found else None


def _run(block: str, page: Path, scope: dict[str, object]) -> int:
    """Run a block, statement by statement, and compare each expression with the number in its comment.

    Returns how many numbers were compared.
    """
    lines, compared = block.splitlines(), 0
    for statement in ast.parse(block).body:
        if isinstance(statement, ast.Try):  # a page shows `try` because of an error: it must happen
            statement.body += ast.parse(
                f"raise AssertionError('{page.name} shows a refusal that does not happen')"
            ).body
        if not isinstance(statement, ast.Expr):
            exec(compile(ast.Module([statement], []), page.name, "exec"), scope)
            continue
        value = eval(compile(ast.Expression(statement.value), page.name, "eval"), scope)
        printed = _printed(lines[(statement.end_lineno or 1) - 1])
        if printed is not None and isinstance(value, numbers.Real):
            assert agrees(float(value), printed), f"{page.name} prints {printed}, the code gives {value}"
            compared += 1
    return compared


@pytest.mark.parametrize("page", [page for page in PAGES if _blocks(page)], ids=_name)
def test_python_blocks_run_and_say_what_the_comments_say(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every block runs, and each number in a comment after an expression is right to the digits printed."""
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    with restored():  # a page may register a family
        compared = sum(_run(block, page, scope) for block in _blocks(page) if not _large(block))
    if page.name in ("README.md", "choose_epsilon.md", "choose_noise.md") or page in FAMILY_PAGES:
        assert compared >= 1, f"{page.name} shows no number that is checked"


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("page", [page for page in PAGES if any(map(_large, _blocks(page)))], ids=_name)
def test_python_blocks_for_large_packages_run(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All blocks of the page in order, where these packages are installed: `make test-torch`."""
    for name in sorted(set().union(*map(_large, _blocks(page)))):
        pytest.importorskip(name, reason=f"{name} is not installed: run `make test-torch`")
    monkeypatch.chdir(tmp_path)
    scope: dict[str, object] = {}
    assert sum(_run(block, page, scope) for block in _blocks(page)) >= 3


def test_a_wrong_number_in_a_comment_is_found() -> None:
    assert _run("1.0 / 3.0  # 0.333\n", ROOT / "README.md", {}) == 1
    assert _run("1.0 / 3.0  # about a third\n", ROOT / "README.md", {}) == 0
    with pytest.raises(AssertionError, match=r"prints 0\.334"):
        _run("1.0 / 3.0  # 0.334\n", ROOT / "README.md", {})
    with pytest.raises(AssertionError, match="prints 4e-7"):
        _run("3e-7  # 4e-7, small\n", ROOT / "README.md", {})


def test_a_refusal_that_does_not_happen_is_found() -> None:
    shown = (
        "import hush\ntry:\n    hush.calibrate({}, 0.0, family='laplace')\n"
        "except hush.InvalidParameter as refused:\n    print(refused)\n"
    )
    assert _run(shown.format(-1.0), ROOT / "README.md", {}) == 0
    with pytest.raises(AssertionError, match=r"README\.md shows a refusal that does not happen"):
        _run(shown.format(1.0), ROOT / "README.md", {})


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", page.read_text()):
        if "://" not in target:
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


#: a file of this repository, or of a package under src/hush; the two guides also name the files to create
PATH = re.compile(
    r"(?<![\w/.-])((?:src|tests|docs|bench|papers|examples)/[\w./-]*\w|[a-z_]+/[a-z_0-9]+\.(?:py|json|bib))"
)
TO_CREATE = {
    *("src/hush/noise/logistic.py", "docs/maths/logistic.md", "tests/noise/test_logistic.py"),
    *("src/hush/tables/shares.py", "tests/engines/test_share.py"),
}


def _missing(text: str) -> set[str]:
    """The paths in a text that do not exist."""
    prose = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    named = {path for code in re.findall(r"`([^`]+)`", prose) for path in PATH.findall(code)} - TO_CREATE
    return {path for path in named if not (ROOT / path).exists() and not (ROOT / "src" / "hush" / path).exists()}


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md"], ids=_name)
def test_every_path_named_in_a_page_exists(page: Path) -> None:
    assert not _missing(page.read_text()), f"{page.name} names files that do not exist: {_missing(page.read_text())}"


def test_a_path_that_does_not_exist_is_found() -> None:
    text = "see `tests/test_docs.py`, `noise/laplace.py`, `python tests/no_such.py` and `sampling/no_such.py`"
    assert _missing(text) == {"tests/no_such.py", "sampling/no_such.py"}


def _missing_tests(text: str) -> set[str]:
    """The tests that a text names as `tests/folder/test_file.py::test_name` and that do not exist."""
    named = set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text))
    return {
        name for path, name in named if not (ROOT / path).exists() or f"def {name}(" not in (ROOT / path).read_text()
    }


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_every_test_named_in_a_page_exists(page: Path) -> None:
    assert not _missing_tests(page.read_text())
    assert _missing_tests("`tests/test_docs.py::test_no_such`, `tests/test_docs.py::test_links_resolve`") == {
        "test_no_such"
    }


def test_each_pitfall_says_how_grave_it_is_and_what_hush_does() -> None:
    text = (ROOT / "docs" / "pitfalls.md").read_text()
    parts = re.split(r"^### ", text, flags=re.MULTILINE)[1:]
    assert len(parts) >= 12 and [int(part.partition(".")[0]) for part in parts] == list(range(1, len(parts) + 1))
    for part in parts:
        assert re.match(r"\d+\. .*\. (Broken|Too small|Outside)\n", part) and "hush" in part, part
    assert sum("tests/" in part for part in parts) >= 18


def test_every_module_says_what_it_holds() -> None:
    """The first line of each module's docstring is the map of the source."""
    silent = [p for p in (ROOT / "src" / "hush").rglob("*.py") if not ast.get_docstring(ast.parse(p.read_text()))]
    assert silent == []


def test_the_map_of_theorems_names_what_exists() -> None:
    """Every hush name and every test file in docs/theorems.md exists."""
    text = (ROOT / "docs" / "theorems.md").read_text()
    names = {name.rstrip(".") for name in re.findall(r"`(hush\.[A-Za-z_.0-9]+)", text)}
    assert len(names) > 40
    for name in names:
        found: object = hush
        done = "hush"
        for part in name.split(".")[1:]:
            done += "." + part
            found = getattr(found, part) if hasattr(found, part) else importlib.import_module(done)
    for path in set(re.findall(r"tests/[\w/]+\.py", text)):
        assert (ROOT / path).exists(), f"docs/theorems.md names {path}"


def test_the_registry_of_theorems_is_on_the_page() -> None:
    """Each theorem has a row, each public noise is named, and each page of a noise is linked from the index."""
    registry = (ROOT / "docs" / "theorems.md").read_text().partition("## The registry")[2]
    rows = [line.split("|")[1].strip() for line in registry.splitlines() if line.startswith("|")]
    missing = [theorem.name for theorem in THEOREMS if theorem.name not in rows]
    assert not missing, f"docs/theorems.md has no row for the theorems {missing}"
    joint = [row.type.__name__ for row in EVERY if row.joint and hasattr(hush, row.type.__name__)]
    assert len(joint) > 7
    for name in joint:
        assert f"`hush.{name}`" in registry, f"the registry in docs/theorems.md does not name {name}"
    index = (ROOT / "docs" / "maths" / "index.md").read_text()
    for page in FAMILY_PAGES:
        assert f"]({page.name})" in index, f"docs/maths/index.md does not link {page.name}"


@pytest.mark.parametrize("page", FAMILY_PAGES, ids=_name)
def test_every_noise_has_a_page_with_its_density_and_a_number_two_ways(page: Path) -> None:
    text = page.read_text()
    for heading in ("## What is proved", "## How it is", "## When it wins", "## A number two ways"):
        assert heading in text, f"{page.name} has no section {heading!r}"
    assert re.search(r"^    \S.*", text, flags=re.MULTILINE), f"{page.name} has no formula"


def test_the_table_of_odds_is_the_formula_rounded_up() -> None:
    table = rows("choose_epsilon.md", "| epsilon | from 50 %")
    assert len(table) == 8
    for epsilon, *cells in table:
        for first, cell in zip((0.5, 0.1, 0.01), cells, strict=True):
            odds = first / (1.0 - first) * math.exp(float(epsilon))
            over = float(cell.removesuffix(" %")) - 100.0 * odds / (1.0 + odds)
            assert 0.0 <= over < 0.1, f"from {first} at epsilon {epsilon}"
        assert float(cells[0].removesuffix(" %")) >= 100.0 * (1.0 - hush.error_sum(float(epsilon), 0.0) / 2.0)


def test_the_table_of_deltas_is_what_hush_gives() -> None:
    for delta, one, laplace, twenty in rows("choose_epsilon.md", "| delta | Gaussian, one number"):
        assert_shown(hush.gaussian.sigma(1.0, float(delta)), one)
        assert_shown(math.sqrt(hush.calibrate(1.0, float(delta), family="laplace").variance), laplace)
        assert_shown(hush.gaussian.sigma(1.0, float(delta), math.sqrt(20.0)), twenty)


def _check_choices(table: list[list[str]], *, ranked: bool) -> None:
    for count, epsilon, delta, best, variance, laplace, gaussian in table:
        asked = float(epsilon), float(delta), hush.Sensitivity(linf=1.0, l0=int(count))
        plan = hush.calibrate(*asked, family=None if ranked else best)
        assert plan.family == best
        assert_shown(plan.variance, variance)
        assert_shown(hush.calibrate(*asked, family="laplace").variance, laplace)
        if gaussian != "-":
            assert_shown(hush.calibrate(*asked, family="gaussian").variance, gaussian)


def test_the_table_of_noises_is_what_hush_gives() -> None:
    table = rows("choose_noise.md", "| numbers a person moves | epsilon")
    assert len(table) == 12
    _check_choices([row for row in table if int(row[0]) < 8], ranked=False)


@pytest.mark.exhaustive
def test_the_table_of_noises_names_the_best_of_all() -> None:
    _check_choices(rows("choose_noise.md", "| numbers a person moves | epsilon"), ranked=True)
    for count, best, variance, gaussian, skellam in rows("choose_noise.md", "| numbers a person moves | best"):
        plan = hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=int(count)), step=1.0)
        found = {choice.family: choice.variance for choice in plan.ranking}
        assert plan.family == best
        assert_shown(plan.variance, variance)
        assert_shown(found["gaussian"], gaussian)
        assert_shown(found["skellam"], skellam)


def test_the_table_of_the_limit_is_what_hush_gives() -> None:
    families = ("staircase", "truncated_laplace", "flipped_huber", "laplace", "gaussian")
    table = rows("maths/limit.md", "| eps | delta | limit")
    assert len(table) == 6
    for cells in table:
        epsilon, delta = float(cells[0]), float(cells[1])
        least = hush.limit(epsilon, delta).upper
        assert_shown(least, cells[2])
        for family, ratio in zip(families, cells[3:], strict=True):
            assert_shown(hush.calibrate(epsilon, delta, family=family).variance / least, ratio)


def _commands(page: Path) -> list[list[str]]:
    """The commands of a page as lists of words: lines with `$` in `console` blocks, all lines of `sh` blocks."""
    found = []
    for kind, text in re.findall(r"```(console|sh)\n(.*?)```", page.read_text(), flags=re.DOTALL):
        lines = text.replace("\\\n", " ").splitlines()
        typed = [line[2:] for line in lines if line.startswith("$ ")] if kind == "console" else lines
        found += [words for line in typed if (words := shlex.split(line, comments=True))]
    return found


def _people(columns: str) -> Any:
    """Made-up rows with these columns as an Arrow table, for files that a page takes for granted."""
    import pyarrow as pa  # not in the environment of `make test-torch`

    size, cells = 3000, np.arange(3000)
    known = {
        **dict.fromkeys(("patient", "id"), cells // 2),
        "person_id": cells,
        "ward": np.array(["cardiology", "surgery", "burns", "eyes", "children"])[cells % 5],
        "sex": np.array(["F", "M"])[cells % 2],
        "age": 18 + cells % 80,
        "children": cells % 4,
        "spending": 100.0 + cells % 900,
        "day": np.array(["2026-01-30", "2026-01-31"], dtype="datetime64[D]")[cells * 2 // size],
    }
    return pa.table({name: known[name] for name in columns.split()})


#: Files that pages take for granted; those of the sample are made by the command of the first page.
GIVEN = {"2025-01.parquet": "patient ward", "people.parquet": "person_id ward sex"}


def _provide(name: str) -> None:
    """Make a file that a command reads and that no earlier command of its page wrote."""
    import duckdb
    from pyarrow.csv import write_csv
    from pyarrow.parquet import write_table

    if name in GIVEN:
        write_table(_people(GIVEN[name]), name)
    elif name == "people.csv":
        write_csv(_people("person_id age children spending"), name)
    elif name == "visits.duckdb":
        visits = _people("id day")
        with duckdb.connect(name) as own:
            own.execute("CREATE TABLE visits AS SELECT id, day FROM visits")
            assert visits.num_rows == 3000
    elif name == "visits.parquet":
        assert main(["sample", "visits", "--out", name]) == 0
    elif name == "census.ledger":
        with hush.Ledger(name, epsilon=1.0, delta=1e-6) as ledger:
            hush.release([40], hush.calibrate(0.5, 0.0, family="laplace"), ledger=ledger, label="people")


def _type(words: list[str]) -> None:
    """Run a command as it is typed, with its output in a file if the page says so."""
    with contextlib.ExitStack() as until:
        if ">" in words:
            out = until.enter_context(open(words[words.index(">") + 1], "w"))
            until.enter_context(contextlib.redirect_stdout(out))
            words = words[: words.index(">")]
        assert main(words[1:]) == 0, " ".join(words)


#: Commands that a test cannot run: their beginning, and why.
NOT_RUN = {
    "hush explore": "it serves a page until it is stopped",
    "hush answer postgresql:": "it needs a server",
    "make -C": "it needs the data of an example",
}
SHELL = [page for page in PAGES if _commands(page)]


@pytest.mark.parametrize("page", SHELL, ids=_name)
def test_the_commands_of_a_page_run_as_typed(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each command ends well, in the order of the page. Other programs than hush are named by what exists."""
    monkeypatch.chdir(tmp_path)
    policies = re.findall(r"```toml\n(.*?)```", page.read_text(), flags=re.DOTALL)
    if page.name == "README.md":
        (tmp_path / "hush.toml").write_text(policies[0])
    targets = set(re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    extras = set(tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["optional-dependencies"])
    for words in _commands(page):
        if any(" ".join(words).startswith(begin) for begin in NOT_RUN):
            continue
        if words[0] == "make":
            assert words[1] in targets, words
        elif words[0] == "pip":
            assert words[1] == "install" and set(re.findall(r"\[(.*)\]", words[2])[0].split(",")) <= extras, words
        else:
            assert words[0] == "hush", f"{page.name} shows {words[0]}"
            for name in words[2:]:
                if not Path(name).exists() and words[1] not in ("sample",) and words[1:3] != ["ledger", "new"]:
                    _provide(name)
            _type(words)
    if page.name == "README.md":
        assert "| surgery |" in (tmp_path / "wards.md").read_text()
        with hush.Ledger(tmp_path / "visits.ledger") as ledger:
            assert len(ledger.entries) == 2


def test_the_first_page_leaves_the_files_of_the_readme_alone() -> None:
    written = {word for words in _commands(ROOT / "docs" / "start.md") for word in words if word.startswith("first.")}
    assert len(written) == 2 and not written & {word for words in _commands(ROOT / "README.md") for word in words}


def test_every_command_that_is_not_run_is_on_a_page() -> None:
    shown = [" ".join(words) for page in SHELL for words in _commands(page)]
    assert len(shown) > 30
    for begin in NOT_RUN:
        assert any(line.startswith(begin) for line in shown), begin


@pytest.mark.parametrize("page", PAGES, ids=_name)
def test_private_bounds_are_asked_for_in_pairs(page: Path) -> None:
    """hush refuses one end alone."""
    for code in re.findall(r"`([^`]*high=\"private\"[^`]*)`", page.read_text()):
        assert 'low="private"' in code, f"{page.name} shows {code}"


def test_a_tie_is_told_where_the_first_is_not_the_least(capsys: pytest.CaptureFixture[str]) -> None:
    """At (1, 1e-6) staircase is first although stepped has a little less variance. `plan.why`, the legend of the
    command and docs/choose_noise.md state this.
    """
    plan = hush.calibrate(1.0, 1e-6)
    less = [choice for choice in plan.ranking if choice.loss < plan.value]
    assert [choice.family for choice in less] == ["stepped"] and plan.value / less[0].loss < 1.0001
    assert "; stepped, less simple, would save under 0.01 %; next comes truncated_laplace" in plan.why
    assert f"`{plan.why}`" in " ".join((ROOT / "docs" / "choose_noise.md").read_text().split())
    assert main(["calibrate", "--epsilon", "1", "--delta", "1e-6"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for words in (
        "x best: variance divided by",
        "x limit: variance divided by the least",
        "linf: the largest change of one number",
        "l0: how many numbers",
        "within 0.01 % of the best are tied",
    ):
        assert shown.count(words) == 1, words
    assert "l2" not in shown
    line = ["calibrate", "--epsilon", "1", "--delta", "1e-6", "--l2", "1", "--times", "2", "--family", "gaussian"]
    assert main(line) == 0
    shown = capsys.readouterr().out
    assert "l2: the largest" in shown and "linf" not in shown and "x limit:" not in shown and "0.01 %" not in shown


def test_the_reason_for_joint_noise_is_shown_as_it_is() -> None:
    ten = hush.Sensitivity(linf=1.0, dimension=10, one_sided=True)
    plan = hush.calibrate(1.0, 1e-6, ten, values="integer")
    assert f"`{plan.why}`" in " ".join((ROOT / "docs" / "choose_noise.md").read_text().split())


def test_the_optimum_is_not_called_by_the_name_of_the_family_it_beats() -> None:
    plan = hush.calibrate(3.0, 0.1)
    assert plan.family == "optimal"
    assert plan.why.startswith("Use Stepped(") and ", the optimum over all noises: its variance is" in plan.why
    assert "next comes the family stepped at" in plan.why


_STRANGERS = {  # the page leaves out the imports and data of the other libraries
    "opendp": "import opendp.prelude as dp\ndp.enable_features('contrib')\nages = [31.0, 47.0] * 1500\n",
    "diffprivlib": "import diffprivlib, numpy\nages = numpy.array([31.0, 47.0] * 1500)\n"
    "X = numpy.random.default_rng().normal(size=(500, 3))\ny = (X[:, 0] > 0).astype(int)\n",
    "pipeline_dp": "import operator, pipeline_dp\n"
    "rows = [(i % 1000, ['surgery', 'cardiology', 'burns'][i % 3], i % 90.0) for i in range(3000)]\n",
}


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    ("module", "name"), [("opendp", "OpenDP"), ("diffprivlib", "diffprivlib"), ("pipeline_dp", "PipelineDP")]
)
def test_the_other_side_of_migrating_runs_where_it_is_installed(module: str, name: str) -> None:
    """Run the lines under a library's name. For OpenDP one budget is used for all queries, and the histogram gets its
    own table of words.
    """
    if importlib.util.find_spec(module) is None:
        pytest.skip(f"{module} is not installed")
    lines, mine = [], False
    for line in "".join(
        re.findall(r"```py\n(.*?)```", (ROOT / "docs" / "migrating.md").read_text(), flags=re.DOTALL)
    ).splitlines():
        mine = line.startswith(f"# {name}") if re.match(r"# (OpenDP|diffprivlib|PipelineDP)", line) else mine
        lines += [line] if mine else []
    text = "\n".join(lines).replace("split_evenly_over=1", "split_evenly_over=3")
    words = "privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(epsilon=1.0), split_evenly_over=1"
    table = f"dp.Context.compositor(data=['burns'] * 50, {words}, domain=dp.vector_domain(dp.atom_domain(T=str)))"
    text = text.replace("context.query().count_by_categories", f"{table}.query().count_by_categories")
    assert len(lines) > 4
    ran = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", _STRANGERS[module] + text], capture_output=True, text=True, check=False
    )
    assert ran.returncode == 0, ran.stderr


#: Pages whose blocks a type checker reads: those that use the calls of `hush` which are loaded at their first use.
TYPED = ("start.md", "stream.md", "training.md", "federated.md")


def _typed(folder: Path) -> list[str]:
    """The blocks of each of these pages as one file, and their names."""
    for name in TYPED:
        (folder / f"page_{name.removesuffix('.md')}.py").write_text("\n".join(_blocks(ROOT / "docs" / name)))
    (folder / "page_torch.py").write_text(
        "import hush\nnoisy = hush.torch.private_sum([], clip=1.0, sigma=1.1)\n"
        'people = hush.stream.people_between("x.parquet", unit="id", column="day", first="2026-01-01")\n'
    )
    return [place.name for place in sorted(folder.glob("page_*.py"))]


def _checked(folder: Path, *command: str) -> str:
    run = subprocess.run(
        [*command, *_typed(folder)],
        cwd=folder,
        env=os.environ | {"MYPYPATH": str(ROOT / "src"), "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
    )
    return run.stdout + run.stderr


@pytest.mark.exhaustive  # half a minute without a cache
def test_mypy_accepts_the_pages(tmp_path: Path) -> None:
    found = _checked(tmp_path, sys.executable, "-m", "mypy", "--follow-imports=silent", "--ignore-missing-imports")
    assert "page_" not in "\n".join(line for line in found.splitlines() if "error:" in line), found


@pytest.mark.exhaustive
def test_pyright_accepts_the_pages(tmp_path: Path) -> None:
    checker = shutil.which("pyright")
    if checker is None:
        pytest.skip("pyright is not installed: pip install pyright")
    found = _checked(tmp_path, checker, "--pythonpath", sys.executable)
    assert re.search(r"^0 errors", found, flags=re.MULTILINE), found
