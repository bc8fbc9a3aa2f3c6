"""The wheel: everything that belongs inside is, nothing else, and it works in a clean environment away from the
source tree.
"""

from __future__ import annotations

import email
import json
import os
import re
import subprocess
import sys
import tomllib
import venv
import zipfile
from pathlib import Path

import pytest

import hush

ROOT = Path(__file__).resolve().parents[1]
SOURCE = ROOT / "src" / "hush"

pytest.importorskip("hatchling", reason="hatchling is not installed: pip install -e '.[dev]'")
pytest.importorskip("build", reason="build is not installed: pip install -e '.[dev]'")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The project as a wheel, built with what is installed here: no network."""
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.whl")
    return made


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as archive:
        return set(archive.namelist())


def tracked() -> set[str] | None:
    """The files of src/hush that git knows, or None without git."""
    done = subprocess.run(["git", "ls-files", "src/hush"], cwd=ROOT, capture_output=True, text=True)
    return set(done.stdout.split()) if done.returncode == 0 and done.stdout else None


def test_every_module_and_every_file_beside_them_is_inside(wheel: Path) -> None:
    inside = names(wheel)
    files = {
        path.relative_to(SOURCE.parent).as_posix()
        for path in SOURCE.rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    assert files <= inside
    assert "hush/py.typed" in inside  # type information ships
    known = tracked()
    if known is not None:
        assert {name.removeprefix("src/") for name in known if (ROOT / name).exists()} <= inside


def test_nothing_else_is_inside(wheel: Path) -> None:
    for name in names(wheel):
        top = name.split("/")[0]
        assert top in ("hush", f"hush-{hush.__version__}.dist-info"), name
        assert not re.search(r"(^|/)(tests?|bench|docs|data|__pycache__)/|\.pyc$|\.ledger$|\.parquet$", name), name
    with zipfile.ZipFile(wheel) as archive:
        assert sum(item.file_size for item in archive.infolist()) < 10_000_000


def test_the_metadata(wheel: Path) -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    folder = f"hush-{hush.__version__}.dist-info"
    with zipfile.ZipFile(wheel) as archive:
        known = email.message_from_bytes(archive.read(f"{folder}/METADATA"))
        entry = archive.read(f"{folder}/entry_points.txt").decode()
        tags = archive.read(f"{folder}/WHEEL").decode()
        assert archive.read(f"{folder}/licenses/LICENSE") == (ROOT / "LICENSE").read_bytes()
    assert (known["Name"], known["Version"]) == ("hush", hush.__version__) == (project["name"], project["version"])
    assert known["Requires-Python"] == project["requires-python"]
    assert known["License-Expression"] == "MIT"
    assert set(known.get_all("Provides-Extra") or ()) == set(project["optional-dependencies"])
    core = [line for line in known.get_all("Requires-Dist") or () if "extra ==" not in line]
    assert len(core) == len(project["dependencies"])
    assert "hush = hush.__main__:run" in entry
    assert "Tag: py3-none-any" in tags
    assert str(known.get_payload()).strip() == (ROOT / "README.md").read_text().strip()


def test_it_runs_from_the_wheel_alone(wheel: Path, tmp_path: Path) -> None:
    """Python reads a wheel as it reads a folder: hush comes from it, in a folder that knows nothing of the source
    tree.
    """
    code = (
        "import hush, json; variance = hush.calibrate(1.0, 1e-6, family='laplace').variance; "
        "print(json.dumps([hush.__file__, hush.__version__, variance]))"
    )
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"} | {
        "PYTHONPATH": str(wheel)
    }
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    place, version, variance = json.loads(done.stdout)
    assert place.startswith(str(wheel)) and version == hush.__version__ and variance == pytest.approx(2.0, rel=1e-5)


def blocks() -> list[str]:
    """The README's Python that needs no extra."""
    found = re.findall(r"```python\n(.*?)```", (ROOT / "README.md").read_text(), flags=re.DOTALL)
    return [block for block in found if not re.search(r"hush\.learn|from hush import learn|\.plot\(|flower", block)]


@pytest.mark.exhaustive
def test_installed_in_a_clean_environment(wheel: Path, tmp_path: Path) -> None:
    """pip install, hush doctor, the README's lines, and type information, in a virtual environment of its own."""
    place = tmp_path / "environment"
    venv.create(place, with_pip=True)
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    environment = {
        name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "HUSH_DATA", "VIRTUAL_ENV")
    }

    def run(*command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run([str(python), *command], cwd=tmp_path, env=environment, capture_output=True, text=True)

    if run("-m", "pip", "download", "--quiet", "--no-deps", "--dest", "probe", "packaging").returncode:
        pytest.skip("no package index can be reached")
    done = run("-m", "pip", "install", "--quiet", f"{wheel}[tables]")
    assert done.returncode == 0, done.stderr

    shown = run("-c", "import hush; print(hush.__file__)")
    assert shown.stdout.startswith(str(place)), shown.stdout + shown.stderr
    done = subprocess.run(
        [str(python.parent / "hush"), "doctor", "--json"], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["healthy"] is True
    assert {c["name"] for c in json.loads(done.stdout)["checks"] if c["state"] == "absent"} >= {
        "scikit-learn",
        "flwr",
        "altair",
    }

    assert len(blocks()) >= 4
    (tmp_path / "readme.py").write_text("\n".join(blocks()))
    done = run("-W", "error", "readme.py")
    assert done.returncode == 0, done.stderr
    done = run("-c", "import hush; hush.learn.Ridge")
    assert done.returncode == 1 and "pip install 'hush[learn]'" in done.stderr
