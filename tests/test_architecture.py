"""Imports point downwards only, the core starts lean, and the contract's names are there."""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import hush

SOURCE = Path(hush.__file__).parent

#: The rooms from the ground up. A room imports from lower floors, and on its own floor from the rooms named before it.
FLOORS = [
    ["errors"],
    ["numerics"],
    ["noise"],
    ["privacy"],
    ["calibration"],
    ["sampling"],
    ["ledger"],
    ["releasing"],
    ["workload"],
    ["auditing", "tables", "learn", "federated"],
    ["stream"],
    ["report"],
    ["explorer"],
    ["cli", "__main__"],
]
RANK = {room: floor for floor, rooms in enumerate(FLOORS) for room in rooms}
#: Rooms of one floor that are neighbours, not to be imported from each other.
WALLS = {"tables", "learn", "federated", "auditing"}

MODULES = sorted(path for path in SOURCE.rglob("*.py") if path != SOURCE / "__init__.py")


def room_of(path: Path) -> str:
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


#: The modules of each room: a check is one test for each room, and names the module in what it finds.
ROOMS: dict[str, list[Path]] = {}
for path in MODULES:
    ROOMS.setdefault(room_of(path), []).append(path)


@cache
def parsed(path: Path) -> ast.Module:
    return ast.parse(path.read_text())


@cache
def imports(path: Path) -> set[str]:
    """The hush rooms a module imports, at the top or inside functions."""
    found: set[str] = set()
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} uses a relative import"
            found |= {node.module or ""}
            if node.module == "hush":
                found |= {f"hush.{alias.name}" for alias in node.names}
    return {name.split(".")[1] for name in found if name.startswith("hush.")}


@pytest.mark.parametrize("room", ROOMS)
def test_imports_point_downwards(room):
    """A room knows only the floors below it."""
    assert room in RANK, f"{room} is not on the map: add it to FLOORS and to docs/architecture.md"
    for path, other in ((module, other) for module in ROOMS[room] for other in imports(module)):
        if other in RANK:
            assert RANK[other] <= RANK[room], f"{path}: {room} must not import from {other}"
            assert other == room or not {room, other} <= WALLS, f"{path}: {room} and {other} are neighbours"
        elif room not in {"cli", "report", "explorer", "__main__"}:
            raise AssertionError(f"{path} imports hush.{other}: only the top floor may go through the public names")


def test_the_map_can_tell():
    """The check itself sees an upward import: errors import nothing of hush, privacy imports noise, noise never
    privacy.
    """
    seen = {room_of(path): imports(path) for path in MODULES if path.parent == SOURCE}
    assert not seen["errors"] - {"errors"}
    below = set().union(*(imports(path) for path in MODULES if room_of(path) == "privacy"))
    assert {"noise", "numerics", "errors"} <= below
    assert "privacy" not in set().union(*(imports(path) for path in MODULES if room_of(path) == "noise"))


def test_no_public_name_hides_a_module():
    """`import hush.a.b as b` gives the module: no package has a function or class with the name of one of its
    modules.
    """
    for found in pkgutil.walk_packages(hush.__path__, "hush."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    hidden = [
        name
        for name, module in list(sys.modules.items())
        if name.startswith("hush.")
        and module is not None
        and getattr(sys.modules[name.rpartition(".")[0]], name.rpartition(".")[2]) is not module
    ]
    assert hidden == []


def test_the_source_folder_fits_on_a_screen():
    """At most 18 entries under src/hush, caches aside. Two files are not counted: `py.typed`, an empty marker that type
    checkers require there, and `__main__.py`, two lines that `python -m hush` requires there.
    """
    required = {"__pycache__", "py.typed", "__main__.py"}
    assert len([path for path in SOURCE.iterdir() if path.name not in required]) <= 18


@pytest.mark.parametrize("room", ROOMS)
def test_files_and_functions_are_short(room):
    """At most 900 lines in a file; at most 40 in a function, docstring not counted."""
    assert [path for path in ROOMS[room] if len(path.read_text().splitlines()) > 900] == []
    long = []
    for path, node in ((module, node) for module in ROOMS[room] for node in ast.walk(parsed(module))):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            first = node.body[0]
            documented = ast.get_docstring(node, clean=False) is not None
            told = first.end_lineno - first.lineno + 1 if documented else 0
            if node.end_lineno - node.lineno + 1 - told > 40:
                long.append((path, node.name))
    assert long == []


#: Packages that a private answer does not need.
HEAVY = ("pandas", "polars", "matplotlib", "altair", "sklearn", "pyspark", "flwr", "mpmath", "jinja2", "marimo")
HEAVY += ("scipy.stats", "scipy.optimize", "scipy.integrate", "scipy.linalg", "scipy.sparse", "pyarrow.dataset")
HEAVY += ("hush.learn", "hush.federated", "hush.auditing", "hush.explorer", "hush.report")


def loaded_by(code: str, *names: str) -> list[str]:
    """The modules of these names, or below them, that a fresh Python has loaded after some code."""
    shown = f"\nprint([m for m in sys.modules if any(m == n or m.startswith(n + '.') for n in {names!r})])"
    environment = {"PYTHONPATH": str(SOURCE.parent), "HUSH_CACHE": ""}
    command = [sys.executable, "-c", f"import sys\n{code}{shown}"]
    found = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
    return ast.literal_eval(found.stdout.splitlines()[-1])


def test_import_is_lean():
    """`import hush` loads nothing else; a name loads its module, and no special function before it is called."""
    assert loaded_by("import hush", "hush", "numpy", "scipy") == ["hush"]
    assert loaded_by("import hush; hush.Laplace(1.0)", "scipy", "duckdb", "pyarrow", "hush.tables", "hush.report") == []
    assert "scipy.special" in loaded_by("import hush; hush.Gaussian(1.0).isf(0.1)", "scipy"), "the check can tell"


@pytest.fixture(scope="module")
def visits(tmp_path_factory):
    """A sample table, written by the command."""
    file = tmp_path_factory.mktemp("sample") / "visits.parquet"
    made = f"main(['sample', 'visits', '--rows', '2000', '--out', {str(file)!r}])"
    assert loaded_by(f"from hush.cli import main\n{made}", "hush.tables") and file.is_file()
    return file


def test_an_answer_loads_no_heavy_package(visits):
    """A private answer from the command line loads neither pandas nor packages that it does not use."""
    words = f"['answer', {str(visits)!r}, '--unit', 'patient_id', '--by', 'ward', '--count-units', '--mean', "
    words += "'stay_days:0:30', '--groups-per-unit', '8', '--keys', 'private', '--epsilon', '1', '--delta', '1e-6']"
    assert loaded_by(f"from hush.cli import main\nassert main({words}) == 0", *HEAVY) == []


def test_sql_loads_no_heavy_package(visits, tmp_path):
    """Neither does a statement with a policy, whatever it does with the released numbers."""
    (tmp_path / "hush.toml").write_text(
        f'[tables.visits]\nsource = "{visits}"\nunit = "patient_id"\ngroups_per_unit = 2\nrows_per_unit = 1\n'
        '[tables.visits.columns]\nward = { values = "private" }\nstay_days = { low = 0, high = 30 }\n'
    )
    text = "SELECT ward, COUNT(*) AS n, AVG(stay_days) AS stay FROM visits GROUP BY ward"
    policy = tmp_path / "hush.toml"
    text += " HAVING n > 9 ORDER BY stay DESC LIMIT 3"
    words = ["sql", text, "--policy", str(policy), "--epsilon", "1", "--delta", "1e-6"]
    assert loaded_by(f"from hush.cli import main\nassert main({words!r}) == 0", *HEAVY, "pyarrow.compute") == []


@pytest.mark.parametrize("words", ["gaussian --epsilon 1 --delta 1e-6", "--help"])
def test_a_command_without_a_table_loads_no_engine(words):
    code = f"from hush.cli import main\ntry:\n    main({words.split()!r})\nexcept SystemExit:\n    pass"
    assert loaded_by(code, "duckdb", "ibis", "sqlglot", "pyarrow", "hush.tables", *HEAVY[:-2]) == []


def test_the_process_of_an_answer_loads_packages_in_part(visits):
    """`hush answer ...`, unlike `main([...])`, leaves out parts of packages that no answer from DuckDB needs."""
    words = ["answer", str(visits), "--unit", "patient_id", "--count", "--epsilon", "1", "--pure"]
    parts = ("numpy.ma", "numpy.f2py", "scipy.special._basic", "scipy.fft", "ibis.backends.sql.compilers.trino")
    parts += ("sqlglot.dialects.snowflake", "flint.types.fmpz_mpoly", "rich.console")
    code = "from hush.__main__ import run\ntry:\n    run()\nexcept SystemExit as end:\n    assert end.code == 0"
    code = f"sys.argv = ['hush', *{words!r}]\n{code}"
    assert loaded_by(code, *parts) == []
    assert loaded_by(f"from hush.cli import main\nmain({words!r})", *parts), "the check can tell"


def test_names_are_loaded_from_where_they_are_imported_for_type_checkers():
    """The imports in hush/__init__.py, which type checkers read, and its table of modules, which Python reads."""
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    imports = [node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) and node.module.startswith("hush.")]
    read = {alias.asname or alias.name: node.module for node in imports for alias in node.names if node.col_offset == 4}
    assert {name: home for name, home in read.items() if name not in ("nearest", "torch")} == hush._HOME
    assert {*hush._HOME, "__version__"} == set(hush.__all__)
    rooms = {path.stem for path in SOURCE.iterdir() if path.suffix in ("", ".py") and not path.name.startswith("__")}
    assert rooms == set(hush._ROOMS)


NAMES = {
    *("Gaussian", "Laplace", "OSGT", "FlippedHuber", "Stable", "Staircase", "TruncatedLaplace", "Stepped", "Discrete"),
    *("Sensitivity", "delta", "epsilon", "curve", "renyi", "gaussian", "Curve", "Bracket"),
    *("HushError", "InvalidParameter", "Unsupported", "BudgetExceeded", "NotCertified"),
}


def test_public_names():
    """Section 4 of the design, as far as these rooms go."""
    assert {name for name in NAMES if hasattr(hush, name)} == NAMES
    assert all(inspect.getdoc(getattr(hush, name)) for name in NAMES)


@pytest.mark.parametrize(
    "family",
    ["Gaussian", "Laplace", "OSGT", "FlippedHuber", "Stable", "Staircase", "TruncatedLaplace", "Stepped", "Discrete"],
)
def test_every_family_answers_the_contract(family):
    """All the public methods and properties are there."""
    names = [
        "pdf",
        "logpdf",
        "cdf",
        "sf",
        "logcdf",
        "logsf",
        "ppf",
        "isf",
        "variance",
        "mean_abs",
        "fisher_information",
        "scaled",
        "exceeds",
    ]
    assert [
        name for name in [*names, "subgaussian_proxy", "max_loss"] if not hasattr(getattr(hush, family), name)
    ] == []


def test_signatures_of_the_contract():
    """Positional order and defaults of the functions users write."""
    shown = {
        name: list(inspect.signature(getattr(hush, name)).parameters) for name in ("delta", "epsilon", "curve", "renyi")
    }
    assert shown["delta"] == ["noise", "epsilon", "sensitivity", "times"]
    assert shown["epsilon"] == ["noise", "delta", "sensitivity", "times"]
    assert shown["curve"] == ["noise", "sensitivity", "times"]
    assert shown["renyi"] == ["noise", "order", "sensitivity", "times"]
    assert list(inspect.signature(hush.gaussian.sigma).parameters)[:3] == ["epsilon", "delta", "sensitivity"]
    assert inspect.signature(hush.gaussian.sigma).parameters["method"].default == "optimal"
    assert inspect.signature(hush.delta).parameters["sensitivity"].default == 1.0
    for name in ("delta", "epsilon"):  # no default budget anywhere
        parameters = inspect.signature(getattr(hush, name)).parameters
        assert parameters["epsilon" if name == "delta" else "delta"].default is inspect.Parameter.empty


def test_no_machine_paths_or_seeds_in_the_source():
    """Sources name no absolute path, and no parameter is called seed."""
    for path in MODULES:
        text = path.read_text()
        assert "/tmp/" not in text
        assert "/home/" not in text
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.arg):
                assert node.arg != "seed"
