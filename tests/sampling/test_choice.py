"""The exact choice of the largest numbers: its law, and the choices that need more bits."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import mpmath
import numpy as np
import pytest

from hush.sampling.choice import Runs, chosen, largest
from hush.sampling.entropy import DeterministicTestEntropy

NUMBERS, SCALE, DRAWS = np.array([3, 5, 5, 0, 7]), 2.0, 4000
#: chi-squared with 19 degrees of freedom exceeds this with probability 1e-6
LIMIT = 65.5


def expected(scale: float) -> dict[tuple[int, ...], float]:
    found = {}
    for places in itertools.permutations(range(NUMBERS.size), 2):
        left, chance = set(range(NUMBERS.size)), 1.0
        for place in places:
            total = math.fsum(math.exp(NUMBERS[i] / scale) for i in left)
            chance *= math.exp(NUMBERS[place] / scale) / total
            left.remove(place)
        found[places] = chance
    return found


def distance(counts: Counter[tuple[int, ...]], scale: float) -> float:
    law = expected(scale)
    return sum((counts[places] - DRAWS * chance) ** 2 / (DRAWS * chance) for places, chance in law.items())


def test_places_have_their_law_and_no_other_scale() -> None:
    """False-alarm rate 1e-6."""
    entropy = DeterministicTestEntropy(11)
    counts = Counter(tuple(largest(NUMBERS, SCALE, 2, entropy).tolist()) for _ in range(DRAWS))
    assert distance(counts, SCALE) < LIMIT
    assert distance(counts, SCALE * 2.0 / 3.0) > LIMIT
    assert distance(counts, SCALE * 1.5) > LIMIT


class Script:
    """Bits that are written beforehand."""

    def __init__(self, *numbers: tuple[int, int]) -> None:
        self.left = b"".join(number.to_bytes(size // 8, "little") for number, size in numbers)

    def words(self, count: int, dtype: object, lanes: int = 1) -> np.ndarray:
        taken, self.left = self.left[: 8 * count], self.left[8 * count :]
        return np.frombuffer(taken, dtype="<u8").reshape(1, count)


@pytest.mark.parametrize(("later", "level"), [(0, 0), (2**128 - 1, 1)])
def test_a_uniform_number_at_the_limit_is_decided_by_more_bits(later: int, level: int) -> None:
    """The first 192 bits are those of the limit between two values, 1/(1 + e^(-1/3)); the next ones decide."""
    with mpmath.workprec(400):
        limit = int(mpmath.floor(2**192 / (1 + mpmath.exp(-mpmath.mpf(1) / 3))))
    runs, rate, place = Runs([8, 7], [1, 1]), Fraction(1, 3), (0, 64)
    bits = Script((limit, 192), (later, 128), place)
    assert chosen(runs, rate, bits) == (level, 0)
    assert bits.left == b""
    for first, expected_level in ((limit - 3, 0), (limit + 3, 1)):
        assert chosen(runs, rate, Script((first, 192), place)) == (expected_level, 0)


@pytest.mark.parametrize(("part", "run"), [(0.1, 0), (0.6, 1), (0.99, 2)])
def test_runs_that_are_listed_later_come_after_the_others_and_the_same_number_decides(part: float, run: int) -> None:
    """Weights 1, 4 e^-1 and 2 e^-2. Only the first is listed at first: of the rest nothing but an upper limit is known,
    which may be far above its weight.
    """
    total = 1 + 4 * math.exp(-1) + 2 * math.exp(-2)
    limits = [1 / total, (1 + 4 * math.exp(-1)) / total, 1.0]
    whole = Runs([0, -1, -2], [1, 4, 2])
    asked = []

    def more() -> Runs:
        asked.append(1)
        return whole

    first = Runs([0], [1], [(0, 6)], more)
    bits = Script((int(part * 2**192), 192), (5, 64), (0, 64))
    assert next(i for i, limit in enumerate(limits) if part < limit) == run
    assert chosen(first, Fraction(1), bits) == (run, 5 % whole.widths[run])
    assert len(asked) == (run > 0) and len(bits.left) == 8


def test_a_rest_that_cannot_be_reached_is_not_listed() -> None:
    def more() -> Runs:
        raise AssertionError

    runs = Runs([0, -1], [3, 10**18], [(-1000, 10**19)], more)
    entropy = DeterministicTestEntropy(3).begin()
    assert {chosen(runs, Fraction(1), entropy)[0] for _ in range(50)} == {1}


def test_a_run_of_many_things_is_uniform_within() -> None:
    """10^18 cells: the mean place is the middle, within 6 standard errors."""
    entropy, width = DeterministicTestEntropy(4).begin(), 10**18
    places = np.array([chosen(Runs([0], [width]), Fraction(1), entropy)[1] / width for _ in range(2000)])
    assert places.min() >= 0.0 and places.max() < 1.0
    assert abs(places.mean() - 0.5) < 6.0 / math.sqrt(12 * 2000)


def test_far_numbers_and_long_lists() -> None:
    far = np.array([0, 10**15, 2 * 10**15, -(10**15)])
    assert largest(far, 1.0, 4).tolist() == [2, 1, 0, 3]
    assert sorted(largest(np.zeros(1000, dtype=np.int64), 5.0, 1000).tolist()) == list(range(1000))
