"""The precomputed noises of the explorer: every stop has one, each agrees with `hush.calibrate`, and a family that is
not among them is calibrated.
"""

from __future__ import annotations

import contextlib
import dataclasses
import io
import itertools
import json

import numpy as np
import pytest

import hush
from hush.errors import HushError
from hush.explorer import precomputed, prepare
from hush.explorer.state import COUNTS, STOPS
from hush.noise import catalogue
from hush.noise.catalogue import family, from_plain_values


def known() -> list[str]:
    """The families of the file, in its order."""
    return [name for name, _ in precomputed._document()["catalogue"]]


def test_the_families_of_the_file_are_those_of_the_catalogue():
    """Families that were added later may be missing from the file: they are calibrated when the page needs them."""
    stored, today = precomputed._document()["catalogue"], precomputed.catalogue()
    assert [kind for kind in stored if kind not in today] == []


def test_preparing_without_an_option_names_the_options(capsys):
    with pytest.raises(SystemExit):
        prepare.main([])
    assert "nothing to do; write --lines stops.jsonl, and then --pack stops.jsonl" in capsys.readouterr().err


def test_a_family_that_the_file_does_not_have_is_calibrated(monkeypatch):
    """The page, the link and the ranking work for a family that was registered after the file was made."""
    from hush.explorer.state import START, State
    from hush.explorer.view import answer

    class Later(hush.Laplace):
        """Laplace noise under another name."""

    kind = dataclasses.replace(family("laplace"), name="later", type=Later)
    monkeypatch.setattr(catalogue._Registry, "rows", (*catalogue.families(), kind))
    found = answer(State.read(START.query + ",later"))
    rows = {row["family"]: row for row in found["ranking"]}
    assert rows["later"]["variance"] == pytest.approx(rows["laplace"]["variance"], rel=1e-6)
    assert "later" in found["densities"]["series"]


@pytest.mark.parametrize(
    "stored",
    [[["gaussian", ["sigma"]], ["laplace", ["scale"]]], [["gaussian", ["deviation"]], ["gone", ["scale"]]], []],
)
def test_a_file_for_other_families_or_stops_never_raises(monkeypatch, stored):
    """What the file does not contain is calibrated, and the ranking is the same."""
    expected = precomputed.row(1.0, 1e-6, 1)
    whole = precomputed._document()
    numbers = {number for number, kind in enumerate(whole["catalogue"]) if kind in stored}
    place = [number for number, kind in enumerate(whole["catalogue"]) if kind in stored]
    entry = precomputed._entry(1.0, 1e-6, 1)
    ranked, absent = ([[place.index(n), *rest] for n, *rest in part if n in numbers] for part in entry[:2])
    small = {
        "catalogue": stored,
        "epsilon": [1.0],
        "delta": [1e-6],
        "count": [1],
        "reasons": whole["reasons"],
        "stops": [[ranked, absent, None]],
    }
    monkeypatch.setattr(precomputed, "_document", lambda: small)
    found = precomputed.row(1.0, 1e-6, 1)
    assert {name for name, _ in found} == {name for name, _ in expected}
    assert found[0][0] == "staircase"
    assert precomputed.row(1.25, 1e-6, 1)[0][0] == "staircase" and precomputed.limit(1.25, 1e-6, 1) is not None


def test_every_stop_is_in_the_file():
    """No holes: every family is ranked or has its reason, and the limit is there for one number and nowhere else."""
    for epsilon, delta, count in itertools.product(STOPS["epsilon"], STOPS["delta"], COUNTS):
        ranked, absent, limit = precomputed._entry(epsilon, delta, count)
        assert sorted(number for number, *_ in ranked + absent) == list(range(len(known())))
        assert {known()[number] for number, *_ in ranked} >= (
            {"laplace", "staircase"} if delta == 0.0 else {"gaussian", "laplace", "staircase"}
        )
        assert (limit is not None) == (count == 1)


def test_the_stored_gaussians_are_the_optimal_ones():
    """All of them, against the closed form, to the largest enlargement that storing adds: the axes are not mixed
    up.
    """
    stops = [(e, d, c) for e in STOPS["epsilon"] for d in STOPS["delta"] if d > 0.0 for c in COUNTS]
    kept = [
        next(values[0] for number, *values in precomputed._entry(*stop)[0] if known()[number] == "gaussian")
        for stop in stops
    ]
    epsilon, delta, count = (np.array(axis) for axis in zip(*stops, strict=True))
    assert kept == pytest.approx(np.sqrt(count) * hush.gaussian.sigma(epsilon, delta), rel=4e-8)


def assert_as_calibrated(entry: object, stop: tuple[float, float, int]) -> None:
    """Compare a stored row with a new calibration."""
    row = prepare.calibrated(*stop)
    found = precomputed.row(*stop)
    assert [name for name, _ in found] == [name for name, _ in row["ranking"]]
    for (_, kept), (name, made) in zip(found, row["ranking"], strict=True):
        if isinstance(made, str):
            assert kept == made
            continue
        noise = from_plain_values(made)
        assert prepare.stored(noise, name, *stop) == pytest.approx(prepare.stored(kept, name, *stop), rel=1e-7)
        assert kept.variance == pytest.approx(noise.variance, rel=1e-7)
    # a linear programme, whose last digits differ between releases of the solver
    kept_limit = entry[2]  # type: ignore[index]
    assert row["limit"] == (kept_limit if kept_limit is None else pytest.approx(kept_limit, rel=1e-9))


@pytest.mark.parametrize("stop", [(1.0, 1e-6, 1), (4.0, 1e-3, 1), (0.5, 0.0, 16), (1.0, 1e-6, 12)])
def test_calibrating_again_gives_the_file(stop):
    assert_as_calibrated(precomputed._entry(*stop), stop)


@pytest.mark.exhaustive
@pytest.mark.parametrize(
    "stop",
    [
        (0.1, 1e-10, 1),
        (1.0, 1e-6, 2),
        (2.0, 1e-5, 16),
        (0.3, 1e-3, 64),
        (8.0, 1e-8, 256),
        (0.1, 1e-6, 8),
        (0.3, 1e-5, 192),
    ],
)
def test_calibrating_again_gives_the_file_for_many_releases_too(stop):
    assert_as_calibrated(precomputed._entry(*stop), stop)


def test_the_maker_goes_on_where_it_ended_and_packs_only_a_whole_table(tmp_path, monkeypatch):
    """Two stops in two runs; a table with holes is refused."""
    lines = tmp_path / "stops.jsonl"
    monkeypatch.setattr(
        prepare, "_order", lambda: [(8.0, 0.0, 1), (6.0, 0.0, 1)] if lines.exists() else [(8.0, 0.0, 1)]
    )
    with contextlib.redirect_stderr(io.StringIO()):
        prepare.main(["--lines", str(lines)])
        prepare.main(["--lines", str(lines)])
    rows = [json.loads(line) for line in lines.read_text().splitlines()]
    assert [(row["epsilon"], row["count"]) for row in rows] == [(8.0, 1), (6.0, 1)]
    assert rows[0]["ranking"][0][0] == "staircase"
    monkeypatch.setattr(prepare, "kept", lambda *stop: [])
    with pytest.raises(HushError, match="stops are missing"):
        prepare.main(["--pack", str(lines)])


def test_stops_without_a_line_keep_their_entries(tmp_path, monkeypatch):
    """A new stop of a slider needs lines for itself only; a line replaces the entry of its stop."""
    assert json.loads(json.dumps(prepare.packed({}))) == precomputed._document()
    stop = (8.0, 0.0, 1)
    row = prepare.calibrated(*stop) | {"limit": [1.0, 2.0]}
    places = [i for i, entry in enumerate(prepare.packed({stop: row})["stops"]) if entry[2] == [1.0, 2.0]]
    assert places == [12 * len(STOPS["delta"]) * len(COUNTS)]
    lines = tmp_path / "stops.jsonl"
    prepare.main(["--lines", str(lines), "--new"])  # the file has every stop
    assert not lines.exists()
    monkeypatch.setattr(precomputed, "catalogue", lambda: [["gone", ["scale"]]])
    assert precomputed.kept(*stop) == []
