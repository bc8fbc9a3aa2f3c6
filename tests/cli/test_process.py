"""The process of a command: what it loads, what waits until it is used, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

import hush
from hush.cli.deferred import DEFERRED

SOURCE = str(Path(hush.__file__).parents[1])
LISTED = "\nimport json, sys\nprint(json.dumps(sorted(sys.modules)))"


def python(code: str, *words: str, **given: str) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh Python that finds this source."""
    known = {**os.environ, "PYTHONPATH": SOURCE, "HUSH_CACHE": "", **given}
    return subprocess.run([sys.executable, "-c", code, *words], capture_output=True, text=True, env=known, check=False)


def value_of(code: str) -> object:
    """The value that the last line of the code prints as JSON."""
    done = python(code)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.parametrize("name", DEFERRED)
def test_the_code_of_a_deferred_package_waits_and_then_runs(name: str) -> None:
    """An import does not run its code. The use of a name does, and all names are then those of a usual import."""
    names = "sorted(n for n in vars(m) if not n.startswith('_'))"
    code = f"""
import importlib, json, sys
from hush.cli.deferred import defer
defer()
m = importlib.import_module({name!r})
before = {names}
try:
    m.no_such_name
except AttributeError:
    after = {names}
print(json.dumps([before, after, type(m).__name__, type(m.__spec__.loader).__name__]))
"""
    before, after, kind, loader = value_of(code)
    usual = value_of(f"import importlib, json\nm = importlib.import_module({name!r})\nprint(json.dumps({names}))")
    assert before == [] and after == usual and kind == "module" and loader == "SourceFileLoader"


def test_a_module_inside_a_deferred_package_loads_without_the_package() -> None:
    code = """
from hush.cli.deferred import defer
defer()
import ibis.backends.sql.compilers as compilers
compilers.duckdb, importlib.import_module("scipy.special._ufuncs").erfcx
from ibis.backends.sql.compilers import duckdb
import flint.types.arb
assert compilers.duckdb is duckdb
"""
    loaded = set(value_of(f"import importlib{code}{LISTED}"))
    assert "ibis.backends.sql.compilers.trino" not in loaded and "scipy.special._basic" not in loaded
    assert "flint.types.fmpz_mpoly" not in loaded
    later = set(value_of(f"import importlib{code}\ncompilers.TrinoCompiler, duckdb{LISTED}"))
    assert "ibis.backends.sql.compilers.trino" in later


def test_a_failing_package_fails_where_it_is_used(tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text("before = 1\nraise ImportError('something is missing')\n")
    code = f"""
import json, sys
sys.path.insert(0, {str(tmp_path)!r})
import hush.cli.deferred as deferred
deferred.DEFERRED = ("broken",)
deferred.defer()
import broken
try:
    broken.before
except ImportError as failure:
    print(json.dumps([str(failure), "broken" in sys.modules]))
"""
    assert value_of(code) == ["something is missing", False]


def test_only_the_process_of_a_command_defers() -> None:
    """`main()` in somebody's program changes nothing there."""
    code = "import sys, json\nfrom hush.cli import main\nmain(['cite', 'laplace'])\n"
    shown = "print(json.dumps([type(f).__module__ for f in sys.meta_path]))"
    assert "hush.cli.deferred" not in value_of(code + shown)


def test_the_end_of_a_process(tmp_path: Path) -> None:
    """Exit code, output and what is registered for the exit are those of a usual end."""
    note = tmp_path / "note"
    code = f"""
import atexit, pathlib, sys
from hush.__main__ import End
end = End()
atexit.register(end)
atexit.register(lambda: pathlib.Path({str(note)!r}).write_text("ended"))
sys.stdout.write("out"); sys.stderr.write("err")
end.code = int(sys.argv[1])
"""
    for exit_code in (0, 3):
        note.unlink(missing_ok=True)
        done = python(code, str(exit_code))
        assert (done.returncode, done.stdout, done.stderr, note.read_text()) == (exit_code, "out", "err", "ended")


def test_a_process_waits_for_its_threads() -> None:
    code = """
import atexit, threading, time
from hush.__main__ import End
end = End()
atexit.register(end)
threading.Thread(target=lambda: (time.sleep(0.3), print("the thread has ended"))).start()
end.code = 0
"""
    assert python(code).stdout == "the thread has ended\n"


def test_an_error_ends_in_the_usual_way() -> None:
    """A command that has returned no code leaves the exit code to Python."""
    code = "import atexit\nfrom hush.__main__ import End\natexit.register(End())\nraise SystemExit(7)"
    assert python(code).returncode == 7
    assert "ZeroDivisionError" in python(code.replace("raise SystemExit(7)", "1 / 0")).stderr


def test_the_command_ends_with_its_exit_code() -> None:
    code = "import sys\nfrom hush.__main__ import run\nsys.argv[0] = 'hush'\nrun()"
    assert python(code, "cite", "laplace").returncode == 0
    assert python(code, "cite", "no_such_family").returncode == 2
    assert python(code, "--version").stdout.startswith("hush ")
