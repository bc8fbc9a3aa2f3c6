"""Families and engines of other packages, found by entry points."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import hush
from hush.errors import InvalidParameter, Unsupported
from hush.noise import catalogue, plugins

_MODULE = """
import dataclasses
import hush


@dataclasses.dataclass(frozen=True)
class Borrowed(hush.Laplace):
    pass


FAMILY = hush.Family("borrowed", Borrowed)
WRONG = hush.Family("other_name", Borrowed)
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An installed package with entry points: a family, one with a wrong name, and one that cannot be imported."""
    (tmp_path / "borrowed_noise.py").write_text(_MODULE)
    facts = tmp_path / "borrowed_noise-3.1.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: borrowed-noise\nVersion: 3.1\n")
    (facts / "entry_points.txt").write_text(
        "[hush.families]\nborrowed = borrowed_noise:FAMILY\nmisnamed = borrowed_noise:WRONG\n"
        "missing = borrowed_noise:NOTHING\n[hush.engines]\nodd = borrowed_noise:FAMILY\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    yield
    sys.modules.pop("borrowed_noise", None)


def test_a_named_family_is_loaded_and_an_unnamed_one_is_not(installed: None) -> None:
    with catalogue.restored():
        assert "borrowed" not in [row.name for row in catalogue.families()]
        noise = catalogue.from_plain_values({"family": "borrowed", "scale": 2.0})
        assert type(noise).__name__ == "Borrowed" and noise.scale == 2.0
        assert catalogue.plain_values(noise) == {"family": "borrowed", "scale": 2.0}
        assert catalogue.family("borrowed").type is type(noise)
    assert plugins.names(plugins.FAMILIES)["borrowed"] == "borrowed-noise 3.1"


def test_names_that_differ_and_code_that_fails_are_refused(installed: None) -> None:
    with catalogue.restored():
        with pytest.raises(InvalidParameter, match="the two names must agree"):
            catalogue.family("misnamed")
        with pytest.raises(Unsupported, match="cannot be imported"):
            catalogue.family("missing")


def test_a_name_that_nobody_declares_is_refused_as_before() -> None:
    with pytest.raises(InvalidParameter, match="one of gaussian"):
        catalogue.family("no such family")
    with pytest.raises(hush.UnknownFamily, match="is not known here"):
        catalogue.from_plain_values({"family": "no such family"})


def test_an_engine_must_be_an_engine_of_that_name(installed: None) -> None:
    pytest.importorskip("ibis")
    from hush.tables.engines import ENGINES, engine_of

    class Connection:
        name = "odd"

    with catalogue.restored(), pytest.raises(Unsupported, match="must be an Engine with this name"):
        engine_of(Connection())
    assert "odd" not in ENGINES


def test_the_doctor_lists_plug_ins_and_tries_them(installed: None) -> None:
    from hush.cli.selftest import checks

    found = {}
    for check in checks():
        if check.area.startswith("hush."):
            found[check.name] = check
        elif check.area == "entropy":
            break
    assert found["borrowed"].state == "ok" and "borrowed-noise 3.1" in found["borrowed"].detail
    assert found["missing"].state == "problem"


def test_a_family_that_is_named_to_calibrate_is_loaded(installed: None) -> None:
    with catalogue.restored(), pytest.raises(hush.HushError) as refused:
        hush.calibrate(1.0, 1e-6, family="misnamed")
    assert "the two names must agree" in str(refused.value)
