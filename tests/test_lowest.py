"""The lowest versions of dependencies: derived from pyproject.toml, installed by `make test-lowest`, and by CI."""

from __future__ import annotations

import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
#: Extras whose lowest versions no job installs: they need a Java, a server, gigabytes, or are not for users.
ELSEWHERE = {"spark", "postgres", "torch", "docs", "all", "dev"}


def printed(*words: str) -> list[str]:
    ran = subprocess.run(
        [sys.executable, ".ci/lowest.py", *words], capture_output=True, text=True, cwd=ROOT, check=True
    )
    return ran.stdout.split()


def test_the_lowest_versions_are_those_of_the_project() -> None:
    shown = printed("tables", "learn")
    declared = [
        *PROJECT["dependencies"],
        *(line for name in ("tables", "learn") for line in PROJECT["optional-dependencies"][name]),
    ]
    assert len(shown) == len(declared) > 10
    for line in declared:
        name, _, version = line.partition(",")[0].partition(">=")
        assert f"{name}=={version}" in shown
    assert "pyspark==4.0" in printed("spark") and "sqlglot==28" in printed("spark")  # an extra that names another
    assert printed("--alone", "federated") == [
        line.replace(">=", "==") for line in PROJECT["optional-dependencies"]["federated"]
    ]


def test_a_dependency_without_a_lowest_version_is_refused(tmp_path: Path) -> None:
    script = runpy.run_path(str(ROOT / ".ci" / "lowest.py"))
    project = tmp_path / "pyproject.toml"
    project.write_text('[project]\ndependencies = ["numpy"]\n[project.optional-dependencies]\n')
    script["lowest"].__globals__["PROJECT"] = project
    with pytest.raises(SystemExit, match=r"'numpy' in .* has no lowest version"):
        script["lowest"]()
    with pytest.raises(SystemExit, match="no extra 'table'"):
        script["lowest"]("table")


def test_the_conda_recipe_has_the_same_lowest_versions() -> None:
    recipe = (ROOT / "packaging" / "conda" / "recipe.yaml").read_text()
    lines = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["tables"]]
    bounds = {line.partition(">=")[0].partition("[")[0]: line.partition(">=")[2].partition(",")[0] for line in lines}
    stated = dict(re.findall(r"^    - ([\w-]+) >=([\d.]+)", recipe, flags=re.MULTILINE))
    shared = bounds.keys() & stated.keys()
    assert len(shared) >= 8 and {name: stated[name] for name in shared} == {name: bounds[name] for name in shared}


def test_the_target_and_the_job_install_every_extra_that_they_can() -> None:
    text = (ROOT / "Makefile").read_text()
    named = {word for line in re.findall(r"\.ci/lowest\.py ([a-z -]+) >", text) for word in line.split()} - {"--alone"}
    assert named | ELSEWHERE == set(PROJECT["optional-dependencies"]) and not named & ELSEWHERE
    assert "make test-lowest" in (ROOT / ".github" / "workflows" / "test.yml").read_text()
    for path in re.findall(r"tests/[\w/]+(?:\.py)?", text):
        assert (ROOT / path).exists(), f"the Makefile names {path}"
