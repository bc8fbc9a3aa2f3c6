"""Calibrations on disk: the same plan as a search, never less noise, whatever the files hold."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import hush
from hush.calibration import kept, optimum, ranking
from hush.noise.catalogue import plain_values, restored
from hush.privacy.sensitivity import Sensitivity

EPSILON, DELTA = 0.7, 1e-6


@pytest.fixture
def place(tmp_path, monkeypatch):
    """A folder of its own, in which every calibration is kept."""
    folder = tmp_path / "calibrations"
    monkeypatch.setenv("HUSH_CACHE", str(folder))
    monkeypatch.setattr(kept, "_QUICK", 0.0)
    return folder


def asked(family="osgt", **more):
    return hush.calibrate(EPSILON, DELTA, family=family, **more)


def only(place):
    (file,) = place.iterdir()
    return file


@pytest.fixture
def no_search(monkeypatch):
    """Makes every search fail, so that a plan can only come from a file."""

    def fail(*args, **options):
        raise AssertionError("a search ran")

    return lambda: monkeypatch.setattr(ranking, "_choices", fail)


@pytest.mark.parametrize(
    "demand",
    [
        {"family": "osgt"},
        {"family": "staircase", "loss": "mae"},
        {"family": "gaussian", "step": 0.25, "times": 3},
        {"family": "laplace", "sensitivity": Sensitivity(linf=(1.0, 2.0, 2.0))},
        {"family": "independent", "sensitivity": 1.0, "values": "integer"},
        {"family": None, "sensitivity": Sensitivity(columns=(1.0, 1.0), l0=2, one_sided=(True, False))},
    ],
    ids=str,
)
def test_the_same_plan_without_a_search(place, no_search, demand):
    """Noise, ranking, losses, reasons and the sentence are equal to those of the search."""
    first = hush.calibrate(EPSILON, DELTA, **demand)
    assert len(list(place.iterdir())) == 1
    no_search()
    again = hush.calibrate(EPSILON, DELTA, **demand)
    assert again == first and again.why == first.why


def test_the_optimum_is_kept_too(place, monkeypatch):
    first = hush.calibrate(1.0, 1e-2, family="optimal")
    monkeypatch.setattr(optimum, "_optimal", None)
    assert hush.calibrate(1.0, 1e-2, family="optimal") == first


def test_another_demand_is_another_file(place, no_search):
    """Every part of the demand is part of the name, and of the text."""
    asked()
    no_search()
    others = ({"times": 2}, {"loss": "mae"}, {"step": 0.5}, {"sensitivity": 2.0}, {"values": "integer"})
    for other in (*others, {"family": "gaussian"}):
        with pytest.raises(AssertionError, match="a search ran"):
            asked(**other)


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe\x00",
        b"[]",
        b"null",
        b"{}",
        b'{"asked": {}, "ranking": []}',
        pickle.dumps({"asked": 1, "ranking": 2}),
        b"[" * 100_000,
        b" " * (2 << 20),
    ],
    ids=lambda content: repr(content[:20]),
)
def test_damaged_and_foreign_files_are_ignored(place, content):
    """The search runs again and replaces the file."""
    first = asked()
    file = only(place)
    good = file.read_bytes()
    file.write_bytes(content)
    assert asked() == first
    assert only(place).read_bytes() == good


CHANGES = {
    "no rows": lambda rows: rows.clear(),
    "a row is a number": lambda rows: rows.__setitem__(0, 3),
    "another field": lambda rows: rows[0].update(loss=0.0),
    "no noise": lambda rows: rows[0].update(noise=None),
    "an unknown family": lambda rows: rows[0].update(noise={"family": "os.system", "scale": 1.0}),
    "a text for a number": lambda rows: rows[0].update(noise={"family": "laplace", "scale": "1.0"}),
    "not a number": lambda rows: rows[0].update(noise={"family": "laplace", "scale": float("nan")}),
    "a negative scale": lambda rows: rows[0].update(noise={"family": "laplace", "scale": -1.0}),
    "no scale": lambda rows: rows[0].update(noise={"family": "laplace"}),
    "joint noise": lambda rows: rows[0].update(noise=plain_values(hush.Interval(3, 9.0))),
    "an escape": lambda rows: rows[0].update(reason="\x1b[2J"),
    "a long text": lambda rows: rows[0].update(family="x" * 5000),
    "a hundredth less noise": lambda rows: scaled(rows, 0.99),
    "far less noise": lambda rows: scaled(rows, 1e-6),
    "a millionth less noise": lambda rows: scaled(rows, 1.0 - 1e-6),
}


def scaled(rows, factor):
    noise = rows[0]["noise"]
    rows[0]["noise"] = {name: value * factor if isinstance(value, float) else value for name, value in noise.items()}


@pytest.mark.parametrize("change", CHANGES)
def test_manipulated_files_never_give_less_noise(place, change):
    """Each noise is analysed again. What does not meet the demand is not used."""
    first = asked()
    file = only(place)
    document = json.loads(file.read_text())
    CHANGES[change](document["ranking"])
    file.write_text(json.dumps(document))
    again = asked()
    assert again == first
    assert hush.delta(again.noise, EPSILON) <= DELTA


def test_a_rival_with_too_little_noise_is_not_used_either(place):
    """All noises of a ranking are checked, not only the best one."""
    demand = {"sensitivity": Sensitivity(columns=(1.0, 1.0), l0=2, one_sided=(True, False))}
    first = hush.calibrate(1.0, 0.0, **demand)
    file = only(place)
    document = json.loads(file.read_text())
    row = next(row for row in document["ranking"] if row["family"] == "laplace")
    row["noise"]["scale"] *= 0.9
    file.write_text(json.dumps(document))
    assert hush.calibrate(1.0, 0.0, **demand) == first


def test_more_noise_is_private_and_its_loss_is_computed_again(place):
    """The check can tell: a file with more noise meets the demand, so it is used."""
    first = asked()
    file = only(place)
    document = json.loads(file.read_text())
    scaled(document["ranking"], 2.0)
    file.write_text(json.dumps(document))
    again = asked()
    assert again.variance == pytest.approx(4.0 * first.variance)
    assert again.ranking[0].loss == again.variance
    assert hush.delta(again.noise, EPSILON) <= DELTA


@pytest.mark.skipif(sys.platform == "win32", reason="no pipes and links of this kind")
def test_pipes_links_and_folders_are_ignored(place, tmp_path):
    """A pipe would block, and a link could point anywhere."""
    first = asked()
    file = only(place)
    elsewhere = tmp_path / "elsewhere"
    file.rename(elsewhere)
    for make in (lambda: os.mkfifo(file), lambda: file.symlink_to(elsewhere), file.mkdir):
        make()
        assert asked() == first
        file.rmdir() if file.is_dir() and not file.is_symlink() else file.unlink()


def test_other_source_code_does_not_read_it(place, no_search, monkeypatch):
    asked()
    no_search()
    assert asked()
    monkeypatch.setattr(kept, "_source", lambda: "another")
    with pytest.raises(AssertionError, match="a search ran"):
        asked()


def test_quick_calibrations_are_not_kept(place, monkeypatch):
    monkeypatch.setattr(kept, "_QUICK", 1e9)
    asked()
    assert not place.exists()


def test_families_of_the_caller_and_probabilistic_privacy_are_not_kept(place):
    with restored():
        own = type("Own", (hush.Laplace,), {})
        hush.register(hush.Family("own", own, unit=lambda: own(1.0)))
        asked()
    hush.calibrate(EPSILON, DELTA, family="gaussian", notion="pdp")
    assert not place.exists()


def test_where_it_is(monkeypatch, tmp_path):
    """HUSH_CACHE, else the user's folder for caches; an empty HUSH_CACHE switches it off."""
    monkeypatch.setenv("HUSH_CACHE", str(tmp_path))
    assert kept.folder() == tmp_path
    for empty in ("", " "):
        monkeypatch.setenv("HUSH_CACHE", empty)
        assert kept.folder() is None and kept.kept_files() == 0
    monkeypatch.delenv("HUSH_CACHE")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert kept.folder() == tmp_path / "xdg" / "hush"
    for useless in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", useless)
        assert kept.folder() == Path.home() / ".cache" / "hush"


def test_a_folder_that_cannot_be_written_is_no_error(tmp_path, monkeypatch):
    monkeypatch.setattr(kept, "_QUICK", 0.0)
    file = tmp_path / "a file"
    file.write_text("")
    monkeypatch.setenv("HUSH_CACHE", str(file))
    assert asked() == asked()
    assert kept.kept_files() == 0


def test_the_oldest_are_removed(place, monkeypatch):
    monkeypatch.setattr(kept, "_MOST", 3)
    for i, loss in enumerate(("variance", "mae", "p95", "p999")):
        asked(loss=loss)
        for file in place.iterdir():
            os.utime(file, (i, i)) if file.stat().st_mtime > 1000 else None
    assert len(list(place.iterdir())) == 2 == kept.kept_files()


def test_many_at_once(place):
    """Threads and processes that write and read the same file see whole files only."""
    first = asked()
    only(place).unlink()
    code = (
        "import hush; from hush.calibration import kept; kept._QUICK = 0.0\n"
        f"for _ in range(5): print(hush.calibrate({EPSILON}, {DELTA}, family='osgt').noise)"
    )
    children = [subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True) for _ in range(2)]
    with ThreadPoolExecutor(4) as pool:
        assert set(pool.map(lambda _: asked().noise, range(20))) == {first.noise}
    for child in children:
        assert set(child.communicate()[0].splitlines()) == {str(first.noise)}
        assert child.returncode == 0
    assert only(place).name.endswith(".calibration.json")
