"""What a reader must know about where numbers were measured: versions, processor, number of cores. No names of hosts
or people.
"""

from __future__ import annotations

import os
import platform
import re
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import environment

PACKAGES = (
    "hush",
    "numpy",
    "scipy",
    "duckdb",
    "ibis-framework",
    "scikit-learn",
    "opendp",
    "polars",
    "dp-accounting",
    "pipeline-dp",
)


def processor() -> str:
    """The model of the processor, as the system names it."""
    known = Path("/proc/cpuinfo")
    found = re.search(r"^model name\s*:\s*(.+)$", known.read_text(), flags=re.M) if known.is_file() else None
    return found[1].strip() if found else platform.processor() or platform.machine()


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _diffprivlib() -> str:
    python = environment.diffprivlib_python()
    if python is None:
        return "not installed"
    code = (
        "from importlib.metadata import version as v; print(v('diffprivlib'), 'with scikit-learn', v('scikit-learn'))"
    )
    done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else "not installed"


def facts() -> dict[str, str]:
    """Everything, in the order in which it is shown."""
    found = {
        "processor": processor(),
        "cores": str(_cores()),
        "system": platform.system(),
        "Python": platform.python_version(),
    }
    for package in PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = _own() if package == "hush" else "not installed"
    return {**found, "diffprivlib": _diffprivlib()}


def _own() -> str:
    """hush's version where it is used from its source folder."""
    import hush

    return hush.__version__
