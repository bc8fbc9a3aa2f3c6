"""Where the real tables are: the folder named by HUSH_DATA, else shared/data beside the repository."""

from __future__ import annotations

import os
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def table_dir() -> Path:
    """The folder of real tables, or a skip that says how to get it."""
    named = os.environ.get("HUSH_DATA")
    folder = Path(named) if named else Path(__file__).resolve().parents[3] / "shared" / "data"
    if not (folder / "adult.data.gz").is_file():
        pytest.skip(f"no real tables in {folder}: set HUSH_DATA, or put shared/data beside the repository")
    return folder
