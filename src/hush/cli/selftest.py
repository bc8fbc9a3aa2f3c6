"""The checks of `hush doctor`: packages, engines, entropy, numerics, ledger. Each check runs the real code on a small
input.
"""

from __future__ import annotations

import contextlib
import os
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import hush
from hush.calibration import kept
from hush.cli import known_answers
from hush.cli.requirements import Requirement, declared
from hush.errors import HushError, NotCertified
from hush.noise import plugins
from hush.noise.catalogue import families
from hush.sampling.entropy import SecureEntropy

__all__ = ["Check", "checks"]

_SPARK_SECONDS = 180.0  # seconds that Spark has to start and to answer
_SPARK = (
    "from hush.tables.engines import pyspark as spark; "
    "print(spark.session_of(spark.connect()).sql('SELECT 41 + 1').collect()[0][0])"
)
_STOP = "do not release anything from this machine"


@dataclass(frozen=True)
class Check:
    """One line of the report.

    state: "ok", "absent" (an optional package is missing: no problem) or "problem". remedy: what to do about it.
    """

    area: str
    name: str
    state: str
    detail: str
    remedy: str = ""


def checks(*, spark: bool = False, folder: str | None = None) -> Iterator[Check]:
    """Run every check, one after the other. spark: also start Spark. folder: where to try a ledger."""
    yield Check("versions", "python", "ok", f"{sys.version.split()[0]} ({sys.executable})")
    yield Check("versions", "hush", "ok", f"{hush.__version__} ({Path(hush.__file__).parent})")
    yield from map(_package, declared())
    for group in (plugins.FAMILIES, plugins.ENGINES):
        for name, package in plugins.names(group).items():
            found = _tried(group, name, partial(_plugin, group, name), f"reinstall or uninstall {package}")
            yield replace(found, detail=f"{package}; {found.detail}")
    yield _duckdb()
    yield _spark(start=spark)
    yield _tried("entropy", "AES-256", known_answers.aes_vectors, f"reinstall cryptography; {_STOP}")
    yield _tried("entropy", "operating system", lambda: known_answers.sound_bits(SecureEntropy()), _STOP)
    yield _tried("entropy", "exact draws", lambda: known_answers.sound_draws(None), _STOP)
    hardware = "run hush on hardware and a Python with IEEE 754 arithmetic"
    yield _tried("numerics", "float64", known_answers.float_rounding, hardware)
    reinstall = "reinstall numpy and scipy"
    for row in families():
        if row.reference is not None:
            yield _tried("numerics", row.name, partial(known_answers.reference_delta, row.reference), reinstall)
    yield _tried("numerics", "gaussian.sigma", known_answers.gaussian_sigma, reinstall)
    yield _tried("ledger", "write and lock", lambda: _ledger(folder), "keep ledgers on a local disk that is writable")
    yield _calibrations()
    yield _data()


def _tried(area: str, name: str, run: Callable[[], str], remedy: str) -> Check:
    """The result of `run`; any exception becomes a problem, so that the other checks still run."""
    try:
        return Check(area, name, "ok", run())
    except Exception as failure:
        reason = (str(failure).strip().splitlines() or [type(failure).__name__])[0].rstrip(".")
        return Check(area, name, "problem", reason, remedy)


# -- packages and engines ------------------------------------------------------------------------------------


def _package(needed: Requirement) -> Check:
    extra, found = needed.extra, needed.installed
    area = f"extra {extra}" if extra else "packages"
    command = f"pip install 'hush[{extra}]'" if extra else f"pip install '{needed.name}{needed.wanted}'"
    if found is None:
        return Check(area, needed.name, "absent" if extra else "problem", "not installed", command)
    if not needed.accepts(found):
        used = not extra or all(other.installed for other in declared() if other.extra == extra)
        detail = f"{found}, but hush needs {needed.wanted}"
        return Check(area, needed.name, "problem" if used else "absent", detail, command)
    return Check(area, needed.name, "ok", found)


def _plugin(group: str, name: str) -> str:
    """Import a plug-in; it is not registered."""
    plugins.plugin(group, name)
    return "it can be imported"


def _duckdb() -> Check:
    from importlib.util import find_spec

    command = "pip install 'hush[tables]'"
    if any(find_spec(name) is None for name in ("duckdb", "ibis", "pyarrow")):
        return Check("engines", "duckdb", "absent", "not installed", command)
    return _tried("engines", "duckdb", _first_query, f"run {command}")


def _first_query() -> str:
    import pyarrow

    from hush.tables.source import open_source

    rows = open_source(pyarrow.table({"amount": [41, 1]}))
    found = rows.relation.aggregate(total=rows.relation.amount.sum()).to_pyarrow().to_pylist()
    if found != [{"total": 42}]:
        raise NotCertified(f"the sum of 41 and 1 is {found}")
    return "answered a query"


def _spark(*, start: bool) -> Check:
    from importlib.util import find_spec

    if find_spec("pyspark") is None:
        return Check("engines", "spark", "absent", "not installed", "pip install 'hush[spark]'")
    from hush.tables.engines.pyspark import find_java

    try:
        origin = find_java().origin
    except HushError as failure:
        state = "problem" if start else "absent"
        return Check("engines", "spark", state, str(failure).rstrip("."), "install Java 17 or 21")
    if not start:
        detail = f"installed, with {origin}; not started (hush doctor --spark starts it)"
        return Check("engines", "spark", "ok", detail)
    remedy = "check that Java 17 or 21 starts, and that pyspark is 4.0"
    return _tried("engines", "spark", lambda: _started(origin), remedy)


def _started(origin: str) -> str:
    """Ask Spark one query in a separate process, which can be ended if it does not answer."""
    try:
        done = subprocess.run([sys.executable, "-c", _SPARK], capture_output=True, text=True, timeout=_SPARK_SECONDS)
    except subprocess.TimeoutExpired:
        raise NotCertified(f"no answer within {_SPARK_SECONDS:g} seconds") from None
    if done.stdout.strip() != "42":
        raise NotCertified((done.stderr.strip().splitlines() or ["no answer"])[-1])
    return f"answered a query, on {origin}"


# -- ledger and data -----------------------------------------------------------------------------------------


def _ledger(folder: str | None) -> str:
    """Make, charge, read and lock a ledger, then remove it."""
    with tempfile.TemporaryDirectory(prefix="hush-doctor-", dir=folder) as place:
        path = Path(place) / "doctor.ledger"
        with hush.Ledger(path, epsilon=1.0, delta=0.0) as ledger:
            ledger.spend((hush.Laplace(2.0), 1.0, 1), label="hush doctor")
        with hush.Ledger(path) as ledger:
            ledger.verify()
            left = ledger.left.epsilon
        if not 0.49 < left <= 0.5:
            raise NotCertified(f"a ledger of epsilon 1 has {left:g} left after spending 1/2")
        if not _excludes(path):
            raise NotCertified(f"two writers can hold the lock of one file in {place}")
    return f"charged, read and locked a ledger in {folder or tempfile.gettempdir()}"


def _excludes(path: Path) -> bool:
    """Whether one writer keeps another out; some network disks accept locks without enforcing them."""
    with (
        contextlib.closing(sqlite3.connect(path, isolation_level=None)) as one,
        contextlib.closing(sqlite3.connect(path, isolation_level=None, timeout=0.0)) as other,
    ):
        one.execute("BEGIN IMMEDIATE")
        try:
            other.execute("BEGIN IMMEDIATE")
        except sqlite3.OperationalError:
            return True
        return False


def _calibrations() -> Check:
    place = kept.folder()
    if place is None:
        return Check("calibrations", "kept on disk", "absent", "HUSH_CACHE is empty", "unset it to keep calibrations")
    detail = f"{kept.kept_files()} in {place}; deleting them is safe, and HUSH_CACHE= switches them off"
    return Check("calibrations", "kept on disk", "ok", detail)


def _data() -> Check:
    named = os.environ.get("HUSH_DATA", "")
    if named and Path(named).is_dir():
        return Check("data", "HUSH_DATA", "ok", named)
    detail = f"{named} is not a folder" if named else "not set"
    return Check("data", "HUSH_DATA", "absent", detail, "only hush-papers uses it, for items that need real data sets")
