"""The page, the list of exhibits and the tests agree."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

from museum.exhibits import EXHIBITS, THEMES
from museum.page import PAGE, RESULTS, text

HERE = Path(__file__).parent


def attacks_of(file: str) -> list[str]:
    tree = ast.parse((HERE / file).read_text())
    return [node.name for node in tree.body if isinstance(node, ast.FunctionDef) and node.name.startswith("test_")]


def test_every_exhibit_has_its_test_and_every_test_an_exhibit() -> None:
    assert len(EXHIBITS) >= 35
    for file, exhibits in THEMES.values():
        assert list(dict.fromkeys(one.test for one in exhibits)) == attacks_of(file)
    files = {path.name for path in HERE.glob("test_*.py")} - {Path(__file__).name}
    assert files == {file for file, _ in THEMES.values()}


def test_the_page_is_what_the_list_says() -> None:
    assert PAGE.read_text() == text(), "run python tests/museum/page.py"


def test_every_source_is_a_link_and_no_sentence_is_missing() -> None:
    for one in EXHIBITS:
        assert one.link.startswith("https://") and one.source and one.broke.endswith(".") and one.here.endswith(".")
        assert "|" not in one.broke + one.here + one.source


def test_the_attacks_on_other_libraries_are_named_in_the_list() -> None:
    import json

    measured = {row["check"] for row in json.loads(RESULTS.read_text())["results"]}
    assert measured == {one.peer for one in EXHIBITS if one.peer}


def test_the_script_runs_where_no_peer_is_installed() -> None:
    script = HERE.parents[1] / "bench" / "museum.py"
    done = subprocess.run([sys.executable, "-S", str(script), "--here"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0 and done.stdout.startswith("["), done.stderr
