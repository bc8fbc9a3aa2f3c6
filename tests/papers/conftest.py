"""One quick report for all tests of the papers, made through the command line."""

from __future__ import annotations

import contextlib
import io
import os
from dataclasses import dataclass
from pathlib import Path

import pytest
from hush_papers import catalogue
from hush_papers.__main__ import main
from hush_papers.item import Item

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Built:
    """The report as `hush-papers --quick` writes it, and the items it was made of, by paper and key."""

    path: Path
    items: dict[str, dict[str, Item]]
    progress: list[str]
    data: Path | None


def data_folder() -> Path | None:
    """HUSH_DATA, or shared/data beside the repository; None if the data sets are not there."""
    named = os.environ.get("HUSH_DATA")
    found = Path(named) if named else ROOT.parent / "shared" / "data"
    return found if (found / "adult.data.gz").is_file() else None


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Made once in a run: every test that uses it is in the xdist group "papers"."""
    folder, data, kept, said = tmp_path_factory.mktemp("papers") / "report", data_folder(), [], io.StringIO()
    make = catalogue.make

    def keep(*arguments, **named):
        kept.extend(make(*arguments, **named))
        return kept

    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.redirect_stderr(said),
        contextlib.redirect_stdout(io.StringIO()),
    ):
        patch.setattr(catalogue, "make", keep)
        patch.delenv("HUSH_DATA", raising=False)
        code = main(["--quick", "--out", str(folder), *(["--data", str(data)] if data else [])])
    assert code == 0, said.getvalue()
    return Built(
        folder / "report.html",
        {p.key: {i.key: i for i in items} for p, items in kept},
        said.getvalue().splitlines(),
        data,
    )
