"""The notebooks: stored without outputs, and every cell runs."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("ibis", reason="the notebooks ask tables: pip install -e '.[tables]'")

FOLDER = Path(__file__).resolve().parents[1] / "examples" / "notebooks"
NOTEBOOKS = sorted(path.stem for path in FOLDER.glob("*.ipynb"))


def cells(name: str) -> list[dict[str, Any]]:
    return list(json.loads((FOLDER / f"{name}.ipynb").read_text())["cells"])


def test_there_are_three_and_the_page_lists_them() -> None:
    assert NOTEBOOKS == ["a_year_of_releases", "choose_a_noise", "first_table"]
    page = (FOLDER / "README.md").read_text()
    assert all(f"({name}.ipynb)" in page for name in NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_every_cell_runs(
    name: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    found: dict[str, Any] = {"__name__": "__main__"}
    for cell in cells(name):
        if cell["cell_type"] == "code":
            assert not cell["outputs"] and cell["execution_count"] is None
            exec(compile("".join(cell["source"]), f"{name}.ipynb {cell['id']}", "exec"), found)
    assert len(capsys.readouterr().out) > 200
    assert list(tmp_path.iterdir()) == []
