"""Which noise when: the quick map pinned, and held against limits that were computed by other means."""

from __future__ import annotations

import csv
import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hush_papers.beyond import FULL, PAPER, QUICK, _regions, gain, plan, to_limit
from hush_papers.draw import COLOURS, picture, values
from hush_papers.item import CONFIRMED, HeatMap, Regions

import hush
from hush.privacy.sensitivity import Sensitivity
from papers import pins

EXPECTED = Path(__file__).with_name("expected_beyond.csv")
ITEMS = {"beyond-1": 1, "beyond-10": 0, "beyond-50": 0, "beyond-along": 0}


@pytest.fixture(scope="module")
def items(built):
    return built.items["beyond"]


def _rows(items):
    """(item, what, value) of every comparison, of every cell of every table, and of every map."""
    for key, item in items.items():
        for c in item.comparisons:
            yield key, c.what, f"{c.ours:.10g}"
        for number, grid in enumerate(item.grids, 1):
            for row in grid.rows:  # known by their first cell: families that tie may change places
                for head, value in zip(grid.head[1:], row[1:], strict=True):
                    yield (
                        key,
                        f"table {number}, {row[0]}, {head}",
                        f"{value:.10g}" if isinstance(value, int | float) else value,
                    )
        for figure in item.figures:
            if isinstance(figure, Regions):
                for up, names in zip(figure.up, figure.names, strict=True):
                    yield from (
                        (key, f"{figure.key} at ({e:.4g}, {up:.4g})", name)
                        for e, name in zip(figure.across, names, strict=True)
                    )
            if isinstance(figure, HeatMap):
                for up, row in zip(figure.up, figure.values, strict=True):
                    yield from (
                        (key, f"{figure.key} at ({e:.4g}, {up:.4g})", f"{z:.10g}")
                        for e, z in zip(figure.across, row, strict=True)
                    )


def _agree(ours: str, pinned: str, what: str) -> bool:
    """Searches stop at about 1e-6 of the variance and linear programmes at about 1e-5; percentages lose two digits."""
    try:
        return math.isclose(
            float(ours), float(pinned), rel_tol=1e-4, abs_tol=2e-3 if what.startswith("beyond-") else 0.0
        )
    except ValueError:
        return ours == pinned


def test_every_number_is_the_pinned_one(items):
    with EXPECTED.open(newline="") as file:
        pinned = {(r["item"], r["what"]): r["ours"] for r in csv.DictReader(file)}
    made = {(key, what): ours for key, what, ours in _rows(items)}
    assert made.keys() == pinned.keys()
    assert not [(key, ours, pinned[key]) for key, ours in made.items() if not _agree(ours, pinned[key], key[1])]


def test_no_item_is_missing_and_verdicts_are_counted(items):
    assert {key: len(item.comparisons) for key, item in items.items()} == ITEMS
    assert Counter(c.verdict for item in items.values() for c in item.comparisons) == {CONFIRMED: 1}
    assert "quick" in items["beyond-50"].text
    assert {c.function for item in items.values() for c in item.comparisons} <= {
        f"hush.{name}" for name in hush.__all__
    }


#: the least variance of any noise by linear programme, and the best known family, at 4 to 6 digits
LIMITS = (
    (0.1, 1e-3, 154.639, 154.715),
    (1.0, 1e-6, 1.91788, 1.9181),
    (1.0, 1e-3, 1.84973, 1.9181),
    (5.0, 1e-6, 0.029711, 0.029711),
)


@pytest.mark.parametrize(("epsilon", "delta", "least", "known"), LIMITS)
def test_the_best_lies_between_the_limit_and_what_was_known(epsilon, delta, least, known):
    best = plan(epsilon, delta, 1)
    assert least * (1.0 - 1e-4) <= best.value <= known * (1.0 + 1e-4)
    assert 1.0 <= to_limit(epsilon, delta) < 1.01


def test_winners_keep_the_budget_and_gain():
    for k, (epsilons, deltas) in QUICK.items():
        for e in epsilons:
            for d in deltas:
                assert hush.delta(plan(e, d, k).noise, e, Sensitivity(linf=1.0, l0=k)) <= d
                assert gain(e, d, k) >= 1.0


def test_the_quick_map_is_part_of_the_full_one():
    for k, (epsilons, deltas) in QUICK.items():
        assert set(epsilons) <= set(FULL[k][0]) and set(deltas) <= set(FULL[k][1])


def test_the_winners_are_drawn_as_a_map(items, tmp_path):
    """One colour a family, the same in every map, as many letters as tell them apart, and a legend; the CSV names
    them.
    """
    maps = [figure for item in items.values() for figure in item.figures if isinstance(figure, Regions)]
    assert [figure.key for figure in maps] == ["beyond-winner-1", "beyond-winner-10"]
    for figure in maps:
        k = int(figure.key.rsplit("-", 1)[1])
        assert all(name in figure.palette[: len(COLOURS)] for row in figure.names for name in row)
        assert figure.palette[: len(COLOURS)] == maps[0].palette[: len(COLOURS)]
        for d, row in zip(figure.up, figure.names, strict=True):
            assert [plan(e, d, k).family.replace("_", " ") for e in figure.across] == list(row)
        svg = picture(figure, tmp_path)
        for name in {name for row in figure.names for name in row}:
            assert f": {name} -->" in svg and COLOURS[figure.palette.index(name)].lower() in svg
        assert values(figure).count("\n") == 1 + sum(map(len, figure.names))


def test_the_optimum_over_all_noises_has_its_colour(tmp_path):
    """It wins where delta is large, as in the full report; a quick one has no such pair."""
    assert max(FULL[1][1]) == 0.05
    figure = _regions(1, (5.0,), (0.05,))
    assert figure.names == [["optimal"]] and figure.palette.index("optimal") < len(COLOURS)
    assert ": optimal -->" in picture(figure, tmp_path)


def test_figures_can_be_read(items):
    pins.assert_readable(items, 6)
    maps = [figure for item in items.values() for figure in item.figures if isinstance(figure, HeatMap)]
    assert min(np.min(figure.values) for figure in maps) >= -1e-9  # no gain or distance is below nothing


def write() -> None:
    """Pin what a quick run gives: PYTHONPATH=src python tests/papers/test_beyond.py."""
    with EXPECTED.open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(("item", "what", "ours"))
        writer.writerows(_rows(pins.quick_items(PAPER)))


if __name__ == "__main__":
    write()
