"""Make the environments of the benchmarks: one with hush and the peers that install, one for diffprivlib with a
scikit-learn it works with.

    python3 bench/environment.py            standard library only; says what was installed, what was not and why

Peers are installed one by one, and each may fail: its benchmark then says so in a plain line. diffprivlib has an
environment of its own, used through a subprocess, because it breaks with the scikit-learn that hush.learn stands on.
"""

from __future__ import annotations

import os
import subprocess
import sys
import venv
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
MAIN, APART = ROOT / ".venv-bench", ROOT / ".venv-bench-diffprivlib"
PEERS = ("opendp[polars]", "dp-accounting", "pipeline-dp")
DIFFPRIVLIB = ("diffprivlib", "scikit-learn>=1.5,<1.6")
#: Names an interpreter that has diffprivlib, in place of the environment made here.
VARIABLE = "HUSH_BENCH_DIFFPRIVLIB"


def python_of(folder: Path) -> Path:
    """The interpreter of an environment."""
    return folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")


def diffprivlib_python() -> str | None:
    """An interpreter that has diffprivlib, or None."""
    named = os.environ.get(VARIABLE)
    if named:
        return named
    return str(python_of(APART)) if (APART / "ready").is_file() else None


def install(python: Path, packages: Sequence[str]) -> str | None:
    """None, or why these packages could not be installed: the last line pip wrote."""
    command = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *packages]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)
    if done.returncode == 0:
        return None
    lines = [line.strip() for line in (done.stderr + done.stdout).splitlines() if line.strip()]
    return lines[-1] if lines else f"pip ended with code {done.returncode} and no message"


def _stamp(folder: Path, wanted: Sequence[str]) -> bool:
    """Whether this environment was already made for just these packages."""
    ready = folder / "ready"
    fresh = (ROOT / "pyproject.toml").stat().st_mtime if folder == MAIN else 0.0
    return ready.is_file() and ready.read_text() == "\n".join(wanted) and ready.stat().st_mtime >= fresh


def _make(folder: Path) -> Path:
    if not python_of(folder).exists():
        venv.create(folder, with_pip=True)
    return python_of(folder)


def main() -> int:
    failed = False
    if not _stamp(MAIN, PEERS):
        python = _make(MAIN)
        why = install(python, ["-e", ".[dev]", "-e", "./papers"])
        if why is not None:
            print(f"hush itself could not be installed: {why}", file=sys.stderr)
            return 1
        print("installed: hush and hush-papers, editable, with the development packages")
        for peer in PEERS:
            why = install(python, [peer])
            failed |= why is not None
            print(f"installed: {peer}" if why is None else f"NOT installed: {peer}: {why}", flush=True)
        if not failed:
            (MAIN / "ready").write_text("\n".join(PEERS))
    if not _stamp(APART, DIFFPRIVLIB):
        why = install(_make(APART), DIFFPRIVLIB)
        print("installed apart: " + ", ".join(DIFFPRIVLIB) if why is None else f"NOT installed: diffprivlib: {why}")
        if why is None:
            (APART / "ready").write_text("\n".join(DIFFPRIVLIB))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
