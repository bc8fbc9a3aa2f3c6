"""The OSGT report: every number pinned, every verdict in line with the independent recomputation, every figure
drawable.
"""

from __future__ import annotations

import math
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hush_papers.crossing import crossing
from hush_papers.item import CONFIRMED, CORRECTED
from hush_papers.osgt.paper import PAPER
from hush_papers.osgt.rejection import osgt_by_rejection
from hush_papers.osgt.setting import FIRST, calibrated

import hush
from hush.sampling.entropy import DeterministicTestEntropy
from papers import pins

EXPECTED = Path(__file__).with_name("expected_osgt.csv")
ITEMS = (
    *(
        "osgt-fig1",
        "osgt-fig2",
        "osgt-fig3",
        "osgt-fig4a",
        "osgt-fig4b",
        "osgt-fig5",
        "osgt-renyi-ranges",
        "osgt-fig6",
        "osgt-conjecture",
    ),
    *(
        "osgt-directions",
        "osgt-slide-delta",
        "osgt-slide-curves",
        "osgt-slide-variance",
        "osgt-slide-dimensions",
        "osgt-slide-components",
    ),
    *("osgt-discrete-law", "osgt-discrete-privacy", "osgt-discrete-draws", "osgt-in-flipped-huber", "osgt-slips"),
)
LEAST = 69


@pytest.fixture(scope="module")
def items(built):
    return built.items["osgt"]


def _slack(what):
    return 1e-6, 1e-14 if "largest error" in what else 0.0


def test_every_number_is_the_pinned_one(items):
    """Draws use fixed bits, so they are pinned as well."""
    pins.assert_pinned(items, EXPECTED, _slack)


def test_no_item_is_missing_and_verdicts_are_counted(items):
    assert tuple(items) == ITEMS
    verdicts = Counter(c.verdict for item in items.values() for c in item.comparisons)
    assert sum(verdicts.values()) >= LEAST
    assert verdicts == {CONFIRMED: 60, CORRECTED: 9}
    assert all(c.why for item in items.values() for c in item.comparisons if c.verdict != CONFIRMED)
    names = [c.what for item in items.values() for c in item.comparisons]
    assert len({(item.key, c.what) for item in items.values() for c in item.comparisons}) == len(names)


#: computed at 20 to 50 digits by other means; (item, start of what, value, relative tolerance of the printed digits)
ORACLE = (
    ("osgt-fig6", "Fig. 6: V(15, 630)", 398.217473533015, 1e-12),
    ("osgt-fig3", "Fig. 3: V(3, 40)", 27.7046783263346, 1e-12),
    ("osgt-fig4a", "epsilon at delta = 1e-10, OSGT", 0.936625756498584, 1e-12),
    ("osgt-fig4a", "epsilon at delta = 1e-10, Gaussian", 1.119945338753671, 1e-12),
    ("osgt-fig4a", "delta at epsilon = 1, OSGT", 7.84736101774877e-12, 1e-11),
    ("osgt-fig4a", "delta at epsilon = 1, Gaussian", 3.928505932919626e-9, 1e-11),
    ("osgt-fig4a", "Theorem 1: delta where", 0.0472004797892098, 1e-12),
    ("osgt-fig4a", "Fig. 4a: OSGT has", 0.1431, 4e-4),
    ("osgt-fig4b", "Fig. 4b: OSGT has", 0.1988, 3e-4),
    ("osgt-fig5", "superior zCDP", 4.847, 1e-4),
    ("osgt-renyi-ranges", "slides: (15, 630)", 19.715, 3e-5),
    ("osgt-fig6", "(21) at epsilon = 0.9", 1.228721347992664e-14, 1e-9),
    ("osgt-fig6", "(22) at epsilon = 0.9", 2.22974e-11, 3e-6),
    ("osgt-fig6", "exact delta at 0.9, OSGT", 1.674639213408545e-15, 3e-4),  # an upper bound of a composition
    ("osgt-fig6", "exact delta at 0.9, Gaussian", 3.598414e-12, 2e-7),
    ("osgt-fig6", "OSGT is better beyond", 0.3864, 2e-4),
    ("osgt-conjecture", "exact OSGT/Gaussian, (3, 40), k = 3, Delta = 1 each, epsilon = 1", 0.299, 2e-3),
    ("osgt-slide-delta", "OSGT, delta at epsilon = 0.5", 6.78659505064043e-5, 1e-12),
    ("osgt-slide-delta", "Gaussian, delta at epsilon = 0.5", 3.213977765790613e-4, 1e-12),
)


@pytest.mark.parametrize(("item", "start", "value", "tolerance"), ORACLE)
def test_against_the_independent_recomputation(items, item, start, value, tolerance):
    found = [c for c in items[item].comparisons if c.what.startswith(start)]
    assert len(found) == 1 and found[0].ours == pytest.approx(value, rel=tolerance)


def test_tables_against_the_independent_recomputation(items):
    orders = {row[0]: row[1:] for row in items["osgt-fig5"].grids[0].rows}
    assert orders[1.0][0] == pytest.approx(0.018978268745616, rel=1e-12)  # the least rho of pure zCDP
    assert [orders[a][2] for a in (1.0, 2.0, 4.0, 5.0)] == pytest.approx([1.0516, 1.0453, 1.0168, 0.9968], rel=6e-5)
    assert dict(items["osgt-renyi-ranges"].grids[0].rows)["(2, 20)"] == pytest.approx(3.436, rel=1.5e-4)
    eight = {row[0]: row[-1] for row in items["osgt-fig6"].grids[0].rows}
    assert eight[0.3] == pytest.approx(1.148, rel=4e-4)
    settings = {(name, e): ratio for name, e, ratio in items["osgt-conjecture"].grids[0].rows}
    for name, e, ratio in (
        ("(3, 40), k = 3, Delta = 1 each", 0.3, 1.080),
        ("(3, 40), k = 3, Delta = 1 each", 1.0, 0.299),
        ("(3, 40), k = 64, Delta_2 = 1", 1.0, 1.458),
        ("(3, 40), k = 400, Delta_2 = 1", 1.0, 2.232),
    ):
        assert settings[name, e] == pytest.approx(ratio, rel=2e-3)
    on_line = {row[0]: (row[2], row[3], row[6]) for row in items["osgt-in-flipped-huber"].grids[0].rows}
    assert on_line[0.3][0] == pytest.approx(108.7228, rel=5e-7) and on_line[0.3][2] == pytest.approx(22.2222, rel=2e-5)
    assert on_line[3.0][0] == pytest.approx(1.50636888434218, rel=1e-9) and on_line[3.0][1] == pytest.approx(
        0.2293, rel=2e-4
    )


def test_hedges_are_respected(items):
    """A conjecture with "may", a "can", and a sufficient condition are not corrected by cases that they do not speak
    of.
    """
    (may,) = items["osgt-conjecture"].comparisons
    (can,) = [c for c in items["osgt-fig6"].comparisons if " can " in c.published]
    (enough,) = [c for c in items["osgt-fig3"].comparisons if c.what.startswith("Proposition 2: condition")]
    assert " may " in f" {may.published[1:-1]} " and {may.verdict, can.verdict, enough.verdict} == {CONFIRMED}
    assert "does not hold in the others" in may.why and "unnecessary" in enough.why
    (superior,) = [c for c in items["osgt-fig5"].comparisons if "superior" in c.published]
    assert superior.verdict == CORRECTED and "sufficiently large" in superior.why


def test_discrete_tables_against_the_independent_recomputation(items):
    deltas = {(row[0], row[1]): row for row in items["osgt-discrete-privacy"].grids[0].rows}
    for noise, epsilon, value in (
        ("(3, 40)", 0.1, 0.0418222428118615),
        ("(3, 40)", 0.5, 6.86643102989596e-5),
        ("(3, 40)", 1.0, 8.15991919596747e-12),
        ("(2, 20)", 0.5, 0.00194850049930971828),
        ("(2, 20)", 1.0, 4.63737458466703e-7),
        ("(1, 2)", 0.5, 0.259643135279879),
        ("(5, 2.5)", 0.1, 0.797018),
    ):
        assert deltas[noise, epsilon][3] == pytest.approx(value, rel=1e-6)
        assert deltas[noise, epsilon][5] <= deltas[noise, epsilon][2] * (1.0 + 1e-10), "rounding is post-processing"
    variances = {row[0]: row for row in items["osgt-discrete-law"].grids[0].rows}
    assert variances["(3, 40)"][2] == pytest.approx(27.6738372909508683, rel=1e-12)
    assert variances["(2, 20)"][2] == pytest.approx(14.1079538398993423, rel=1e-12)


def test_the_stated_box_holds_a_better_noise_than_was_known(items):
    """m = 150 is in the box and gives 27.984, below the 28.09 noted earlier; checked by Theorem 1 written out in 40
    digits.
    """
    mpmath = pytest.importorskip("mpmath")
    row = items["osgt-in-flipped-huber"].grids[0].rows[0]
    m, sigma, variance = row[4], row[5], row[3]
    assert m == 150.0 and 0.02 <= sigma <= 50.0 and variance < 28.0
    with mpmath.workdps(40):
        s, e = mpmath.mpf(sigma), mpmath.mpf(0.3)
        tail = lambda x: mpmath.erfc(x / mpmath.sqrt(2)) / 2  # noqa: E731
        assert s * s * e > 0.5 + m
        exact = (tail(s * e - 1 / (2 * s)) - mpmath.exp(e) * tail(s * e + 1 / (2 * s))) / (2 * tail(m / s))
        assert float(exact) == pytest.approx(1e-6, rel=1e-8)


def test_figures_can_be_read(items):
    pins.assert_readable(items, 27)


def test_the_draws_reveal_a_wrong_scale():
    """The score of the report is below 6 for the right law and above it for 2/3 and 3/2 of the scale."""
    sample = osgt_by_rejection(FIRST, 100_000, entropy=DeterministicTestEntropy(9))
    k = np.arange(-15.0, 16.0)
    counts = np.array([(sample == x).sum() for x in k])
    for scale, right in ((1.0, True), (2.0 / 3.0, False), (1.5, False)):
        share = np.asarray(hush.Discrete(FIRST.scaled(scale)).pdf(k))
        score = np.max(np.abs(counts - sample.size * share) / np.sqrt(sample.size * share * (1.0 - share)))
        assert (score < 6.0) == right


def test_calibrated_is_the_least_scale():
    noise = calibrated(2.0, 1.0, 1e-6)
    assert hush.delta(noise, 1.0) <= 1e-6 < hush.delta(noise.scaled(1.0 - 1e-9), 1.0)


def test_crossing_lands_where_the_sign_changes():
    assert crossing(lambda x: 2.0 - x * x, 0.0, 4.0) == pytest.approx(math.sqrt(2.0), rel=1e-9)


if __name__ == "__main__":  # PYTHONPATH=src:tests pins what a quick run gives
    pins.write(pins.quick_items(PAPER), EXPECTED)
