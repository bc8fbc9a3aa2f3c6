"""Uniform whole numbers from random words: no number is more likely than another."""

from __future__ import annotations

import numpy as np
import pytest

from hush.federated.uniform import below


class Words:
    """Random bits that are these words, one after the other."""

    def __init__(self, *words: int) -> None:
        self.left = list(words)

    def words(self, count: int, dtype: type) -> np.ndarray:
        taken, self.left = self.left[:count], self.left[count:]
        return np.array([taken], dtype=dtype)


@pytest.mark.parametrize("bound", [3, 10, 2**50 + 1, 2**62 + 1])
def test_words_of_the_last_incomplete_cycle_are_drawn_again(bound: int) -> None:
    whole = 2**64 // bound * bound
    assert below(Words(whole - 1), 1, bound).tolist() == [bound - 1]
    assert below(Words(whole, 2**64 - 1, 5, 7), 2, bound).tolist() == [5 % bound, 7 % bound]


def test_a_bound_that_is_a_power_of_two_uses_every_word() -> None:
    assert below(Words(2**64 - 1, 2**63), 2, 2**20).tolist() == [2**20 - 1, 0]
