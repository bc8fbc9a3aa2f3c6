"""`hush doctor`: its reference values come from the densities themselves, and each thing that can break is reported
in a sentence.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import mpmath as mp
import numpy as np
import pytest

import hush
from hush.cli import known_answers, main, selftest
from hush.cli.requirements import Requirement, declared
from hush.noise.catalogue import families

ROOT = Path(__file__).resolve().parents[2]
EPSILON = mp.mpf("0.5")


def half_line(log_density: Callable[[Any], Any], cuts: list[float]) -> Any:
    """delta of a log-concave density for a shift of 1: the loss falls, so its integrand is positive left of one
    crossing.
    """
    low, high = mp.mpf(-30), mp.mpf(30)
    for _ in range(160):
        middle = (low + high) / 2
        low, high = (middle, high) if log_density(middle) - log_density(middle - 1) > EPSILON else (low, middle)
    ends = [mp.mpf(-60), *(mp.mpf(cut) for cut in cuts if cut < low), low]
    return mp.quad(lambda x: mp.exp(log_density(x)) - mp.exp(EPSILON + log_density(x - 1)), ends)


def normalised(energy: Callable[[Any], Any], cuts: list[float]) -> Callable[[Any], Any]:
    """The logarithm of the density proportional to exp(-energy)."""
    mass = 2 * mp.quad(lambda x: mp.exp(-energy(x)), [0, *cuts, 60])
    return lambda x: -energy(abs(x)) - mp.log(mass)


def lattice(log_mass: Callable[[int], Any]) -> Any:
    """delta of a law on the whole numbers for a shift of 1."""
    total = mp.fsum(mp.exp(log_mass(k)) for k in range(-60, 61))
    terms = (mp.exp(log_mass(k)) - mp.exp(EPSILON + log_mass(k - 1)) for k in range(-60, 61))
    return mp.fsum(term for term in terms if term > 0) / total


def staircase() -> Any:
    """Piece by piece: edges at whole numbers, and gamma further, of both densities."""
    gamma = mp.mpf(hush.Staircase(1.0).gamma)
    fall = mp.exp(-1)
    top = (1 - fall) / (2 * (gamma + fall * (1 - gamma)))

    def density(x: Any) -> Any:
        k = mp.floor(abs(x))
        return top * fall ** (k if abs(x) - k < gamma else k + 1)

    edges = sorted({s * (k + t) + d for k in range(80) for t in (0, gamma) for s in (-1, 1) for d in (0, 1)})
    pieces = ((b - a, (a + b) / 2) for a, b in pairwise(edges))
    return mp.fsum(w * max(density(x) - mp.exp(EPSILON) * density(x - 1), mp.mpf(0)) for w, x in pieces)


def stepped() -> Any:
    """Heights 3, 2, 1 on steps of 1/2: 12 cells against themselves two cells on."""
    cells = [mp.mpf(h) / 6 for h in (1, 2, 3, 3, 2, 1)]
    here, there = [*cells, 0, 0], [0, 0, *cells]
    return mp.fsum(max(a - mp.exp(EPSILON) * b, mp.mpf(0)) / 2 for a, b in zip(here, there, strict=True))


def cauchy() -> Any:
    """f(x) > c f(x - 1) is (1 - c) x^2 - 2 x + 2 - c > 0: between its roots, since c > 1."""
    c = mp.exp(EPSILON)
    low, high = sorted((1 + sign * mp.sqrt(1 - (1 - c) * (2 - c))) / (1 - c) for sign in (-1, 1))
    return (mp.atan(high) - mp.atan(low) - c * (mp.atan(high - 1) - mp.atan(low - 1))) / mp.pi


def bump() -> Any:
    """The cosine to the power 6 on the whole numbers from -11 to 11, against the same law moved by 1."""
    weights = {k: mp.cos(mp.pi * k / 24) ** 6 for k in range(-11, 12)}
    total = mp.fsum(weights.values())
    return mp.fsum(max(w - mp.exp(mp.mpf("0.5")) * weights.get(k - 1, 0), 0) for k, w in weights.items()) / total


def references() -> dict[str, Any]:
    """delta at epsilon 1/2 and shift 1, from the definitions in forty digits."""
    with mp.workdps(40):
        power = mp.mpf("1.5")
        return {
            "gaussian": half_line(normalised(lambda x: x**2 / 8, [2, 8, 20]), [-20, -8, -3, 0]),
            "laplace": half_line(normalised(lambda x: x, [5, 20]), [-20, -5, 0]),
            "osgt": half_line(normalised(lambda x: (abs(x) + 1) ** 2 / 8, [2, 8, 20]), [-20, -8, -3, 0]),
            "flipped_huber": half_line(normalised(flipped_huber, [1, 4, 15]), [-15, -4, -1, 0]),
            "stable": cauchy(),
            "bump": bump(),
            "staircase": staircase(),
            "truncated_laplace": (mp.exp(mp.mpf("-4.5")) - mp.exp(-5)) / (2 * (1 - mp.exp(-5))),  # the uncovered edge
            "exponential_power": half_line(normalised(lambda x: (abs(x) / 2) ** power, [1, 4, 20]), [-20, -8, -3, 0]),
            "asinh": half_line(
                normalised(lambda x: x * mp.asinh(x) - mp.sqrt(1 + x * x) + 1, [1, 4, 15]), [-15, -4, -1, 0]
            ),
            "stepped": stepped(),
            "discrete": lattice(lambda k: -(mp.mpf(k) ** 2) / 8),
            "skellam": lattice(lambda k: mp.log(mp.besseli(abs(k), 4)) - 4),
        }


def flipped_huber(x: Any) -> Any:
    x = abs(x)
    return (x if x <= 1 else (x * x + 1) / 2) / mp.mpf("2.25")


# -- the reference values and the table of packages are right ------------------------------------------------


def test_the_reference_values_are_the_definitions_own() -> None:
    """Every public law of the catalogue is among them; joint noises have no delta of one number."""
    found = references()
    known = {row.name: row.reference for row in families() if row.reference is not None}
    assert set(known) == set(found) == {row.name for row in families() if row.public and not row.joint}
    for name, (_, epsilon, stated) in known.items():
        assert epsilon == 0.5 and stated == pytest.approx(float(found[name]), rel=3e-16)


def test_sigma_is_the_definitions_own() -> None:
    """The sigma of hush doctor solves Balle and Wang's equation (Theorem 8) in forty digits."""
    with mp.workdps(40):

        def delta(s: Any) -> Any:
            return mp.ncdf(1 / (2 * s) - s) - mp.e * mp.ncdf(-1 / (2 * s) - s)

        sigma = mp.findroot(lambda s: delta(s) - mp.mpf("1e-5"), (3.5, 4), solver="anderson")
        assert mp.mpf("3.730631634815") <= sigma <= mp.mpf("3.730631634817")


def test_the_packages_are_those_of_pyproject(monkeypatch: pytest.MonkeyPatch) -> None:
    """Read as the metadata of an installed hush that was built from this pyproject.toml."""
    import importlib.metadata as metadata
    from email.message import Message

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    lines = list(project["dependencies"])
    lines += [f'{line}; extra == "{extra}"' for extra, of in extras.items() for line in of]
    about = Message()
    for extra in extras:
        about["Provides-Extra"] = extra
    monkeypatch.setattr(metadata, "requires", lambda name: lines)
    monkeypatch.setattr(metadata, "metadata", lambda name: about)
    found = list(declared())
    shown = {"": project["dependencies"]} | {
        name: [line for line in of if not line.startswith("hush[")]
        for name, of in extras.items()
        if name not in ("all", "dev", "docs")
    }
    assert [(one.extra, f"{one.name}{one.wanted}") for one in found] == [
        (extra, line)
        for extra, of in shown.items()
        for line in dict.fromkeys(re.sub(r"\[.*?\]", "", one) for one in of)
    ]
    twice = [*lines, 'ibis-framework>=12,<13; extra == "postgres"', 'ibis-framework>=12,<13; extra == "postgres"']
    monkeypatch.setattr(metadata, "requires", lambda name: twice)
    assert len([one for one in declared() if (one.extra, one.name) == ("postgres", "ibis-framework")]) == 1


@pytest.mark.parametrize(
    ("version", "wanted", "fits"),
    [
        ("1.26", ">=1.26", True),
        ("1.26.0rc1", ">=1.26", False),
        ("1.27.0rc1", ">=1.26", True),
        ("1.9.9", ">=1.26", False),
        ("13.0", ">=12,<13", False),
        ("4.0.5", ">=4.0,<4.1", True),
        ("1.9.0.post1", ">=1.4", True),
        ("2.10.0+cpu", ">=2.9", True),
    ],
)
def test_versions_are_compared(version: str, wanted: str, fits: bool) -> None:
    assert Requirement("", "some package", wanted).accepts(version) is fits


# -- a healthy installation ----------------------------------------------------------------------------------


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str]:
    code = main(["doctor", *arguments])
    out, err = capsys.readouterr()
    assert err == ""
    return code, out


def test_all_is_well_here(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """Text and JSON agree; the folder given is used and left empty. False alarms: 1e-9 a run."""
    code, out = run(capsys, "--folder", str(tmp_path))
    assert code == 0, out
    assert "Everything that is installed works." in out
    assert str(tmp_path) in out and list(tmp_path.iterdir()) == []
    code, out = run(capsys, "--json")
    document = json.loads(out)
    assert code == 0 and document["healthy"] is True and document["problems"] == []
    areas = {check["area"] for check in document["checks"]}
    assert {"versions", "packages", "engines", "entropy", "numerics", "ledger", "data"} <= areas
    assert {check["state"] for check in document["checks"]} <= {"ok", "absent"}


# -- what is broken is said ----------------------------------------------------------------------------------


def problems(capsys: pytest.CaptureFixture[str], *arguments: str) -> list[str]:
    code, out = run(capsys, "--json", *arguments)
    document = json.loads(out)
    assert code == int(bool(document["problems"]))
    for said in document["problems"]:
        assert "\n" not in said and said.endswith(".") and ";" in said
    return list(document["problems"])


class Stuck:
    """A source that gives every call the same bits."""

    secure = True

    def __init__(self, word: int) -> None:
        self.word = word

    def begin(self) -> Any:
        return self

    def words(self, count: int, dtype: Any, lanes: int = 1) -> Any:
        return np.full((lanes, count), np.uint64(self.word)).astype(dtype)

    def more(self, draws: Any, turn: int) -> Any:
        return np.full((len(draws), 2), np.uint64(self.word))


class Lopsided(Stuck):
    """Fresh bits, a little too many of them ones (1/2 + 1/64): far beyond what the check allows."""

    def words(self, count: int, dtype: Any, lanes: int = 1) -> Any:
        generator = np.random.default_rng()
        extra = generator.random((lanes, count * 64)) < 1 / 32
        bits = (generator.random((lanes, count * 64)) < 0.5) | extra
        return np.packbits(bits, axis=1).view(np.uint64).astype(dtype)


class Sticky(Stuck):
    """Half ones, but a bit repeats the last one too often."""

    def words(self, count: int, dtype: Any, lanes: int = 1) -> Any:
        generator = np.random.default_rng()
        turns = generator.random((lanes, count * 64)) < 0.48
        return np.packbits(np.cumsum(turns, axis=1) % 2 == 1, axis=1).view(np.uint64).astype(dtype)


@pytest.mark.parametrize(
    ("entropy", "said"),
    [(Stuck(0x5555555555555555), "same random bits"), (Lopsided(0), "are ones"), (Sticky(0), "not independent")],
    ids=["stuck", "lopsided", "sticky"],
)
def test_bad_bits_are_noticed(
    entropy: Any, said: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(selftest, "SecureEntropy", lambda: entropy)
    found = problems(capsys)
    assert len(found) == 1 and said in found[0] and "do not release anything" in found[0]


def test_draws_of_another_law_are_noticed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Two thirds and three halves of the scale are seen at once."""
    true = hush.draw
    for factor in (2 / 3, 3 / 2):
        monkeypatch.setattr(hush, "draw", lambda noise, *rest, k=factor: true(noise.scaled(k), *rest))
        found = problems(capsys)
        assert len(found) == 1 and "away from their distribution" in found[0]


def test_wrong_numbers_are_noticed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A delta below the truth by 1e-12 of it is a problem, and so is one that is needlessly large."""
    true = hush.delta
    for factor in (1.0 - 1e-11, 1.0 + 1e-10):
        monkeypatch.setattr(hush, "delta", lambda noise, epsilon, k=factor: true(noise, epsilon) * k)
        assert (
            len([said for said in problems(capsys) if said.startswith("numerics")])
            >= sum(row.reference is not None for row in families()) - 1
        )


def test_a_wrong_cipher_is_noticed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    class Other(known_answers.KeyedBits):
        def __init__(self, secret: bytes) -> None:
            super().__init__(secret[::-1])

    monkeypatch.setattr(known_answers, "KeyedBits", Other)
    assert any("published answers" in said for said in problems(capsys))


def test_a_folder_without_permission_or_no_folder(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a file").touch()
    for place in (tmp_path / "nowhere", tmp_path / "a file"):
        found = problems(capsys, "--folder", str(place))
        assert len(found) == 1 and found[0].startswith("ledger") and "local disk" in found[0]


def test_a_disk_that_only_pretends_to_lock(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(selftest, "_excludes", lambda path: False)
    assert any("two writers" in said for said in problems(capsys))


def test_a_missing_or_old_package(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A core package is a problem, and so is one that is too old for an extra whose packages are all there: answers
    would end in an error of that package. An extra that is not whole is a line with its install command.
    """
    import importlib.metadata as metadata

    true = metadata.version

    def version(name: str) -> str:
        if name in ("scipy", "scikit-learn"):
            raise metadata.PackageNotFoundError(name)
        return "1.0.0" if name in ("numpy", "duckdb") else true(name)

    monkeypatch.setattr(metadata, "version", version)
    code, out = run(capsys)
    assert code == 1
    assert "packages, numpy: 1.0.0, but hush needs >=1.26; pip install 'numpy>=1.26'." in out
    assert "extra tables, duckdb: 1.0.0, but hush needs >=2.0; pip install 'hush[tables]'." in out
    assert "packages, scipy: not installed; pip install 'scipy>=1.12'." in out
    assert "not installed; pip install 'hush[learn]'" in out and "scikit-learn: not installed" not in out


def test_an_engine_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(
        "hush.tables.source.own_connection", lambda: (_ for _ in ()).throw(ImportError("no duckdb here"))
    )
    found = problems(capsys)
    assert len(found) == 1 and found[0].startswith("engines, duckdb: no duckdb here")


def test_spark_that_hangs_or_fails_is_left(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    pytest.importorskip("pyspark")
    from hush.tables.engines import pyspark as spark

    monkeypatch.setattr(spark, "find_java", lambda: spark.Java(None, "nowhere"))
    monkeypatch.setattr(selftest, "_SPARK", "raise SystemExit('no Java here')")
    assert any("no Java here" in said for said in problems(capsys, "--spark"))
    monkeypatch.setattr(selftest, "_SPARK", "import time; time.sleep(60)")
    monkeypatch.setattr(selftest, "_SPARK_SECONDS", 0.2)
    assert any("no answer within 0.2 seconds" in said for said in problems(capsys, "--spark"))


def test_spark_without_java(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Without --spark the missing Java is only shown; with --spark it is a problem."""
    pytest.importorskip("pyspark")
    from hush.tables.engines import pyspark as spark

    def none() -> Any:
        raise hush.MissingExtra("Spark needs Java, and none was found; install Java.")

    monkeypatch.setattr(spark, "find_java", none)
    assert problems(capsys) == []
    assert any("needs Java" in said for said in problems(capsys, "--spark"))


def test_the_data_folder(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    for named, shown in (
        (str(tmp_path), f"ok  HUSH_DATA          {tmp_path}"),
        ("nowhere", "nowhere is not a folder"),
        ("", "not set"),
    ):
        monkeypatch.setenv("HUSH_DATA", named)
        code, out = run(capsys)
        assert code == 0 and shown in out


@pytest.mark.exhaustive
def test_as_a_command_of_its_own() -> None:
    """`python -m hush doctor` in a fresh process."""
    environment = {name: value for name, value in os.environ.items() if name != "HUSH_DATA"} | {
        "PYTHONPATH": str(ROOT / "src")
    }
    done = subprocess.run(
        [sys.executable, "-m", "hush", "doctor", "--json"], capture_output=True, text=True, env=environment
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert json.loads(done.stdout)["healthy"] is True
