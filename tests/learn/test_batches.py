"""Poisson samples with a public rate: their law, their number, empty batches, and the loader they come from."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import hush
from hush.learn.torch.batches import PoissonBatches, _one_in, poisson_loader, public_rate
from hush.sampling.entropy import DeterministicTestEntropy


@pytest.mark.parametrize("rows", [0, 1, 999, 1000, 1001])
def test_the_number_of_batches_does_not_depend_on_the_rows(rows: int) -> None:
    made = PoissonBatches(rows, 93)  # 1/(1/93) is below 93 in floating point
    assert len(made) == 93 == sum(1 for _ in made)


@pytest.mark.parametrize("many", [1, 2, 20, 93])
def test_every_row_is_in_every_batch_at_the_rate(many: int) -> None:
    """By Hoeffding the share of a million rows is within sqrt(ln(2/1e-6)/(2e6)) = 0.0027 of the rate, but for 1e-6."""
    rows, epochs = 1000, math.ceil(1000 / many)
    counts, pairs = np.zeros(rows), 0
    for _ in range(epochs):
        for batch in PoissonBatches(rows, many):
            assert sorted(set(batch)) == batch
            counts[batch] += 1
            pairs += {0, 1} <= set(batch)
    draws = rows * epochs * many
    assert abs(counts.sum() / draws - 1.0 / many) <= math.sqrt(math.log(2e6) / (2.0 * draws))
    together = epochs * many  # rows 0 and 1 are in a batch independently
    assert abs(pairs / together - 1.0 / many**2) <= math.sqrt(math.log(2e6) / (2.0 * together))


class Few:
    """Bits that are given: first the words of the draws, then those that are drawn again."""

    def __init__(self, *words: list[int]) -> None:
        self.left = list(words)

    def words(self, count: int, dtype: Any, lanes: int = 1) -> Any:
        made = np.array(self.left.pop(0), dtype=np.uint64)
        assert made.size == count * lanes
        return made[None, :]


def test_words_above_the_largest_multiple_are_drawn_again() -> None:
    """Of the 2^64 words one is left over for 3, and six are for 10: each result has the same number of words."""
    top = 2**64
    assert _one_in(3, 4, Few([0, top - 1, top - 2, 1], [top - 1], [3])).tolist() == [True, True, False, False]  # type: ignore[arg-type]
    assert _one_in(10, 2, Few([top - 6, top - 7], [10])).tolist() == [True, False]  # type: ignore[arg-type]
    assert _one_in(1, 2, Few([top - 1, 0])).all()  # type: ignore[arg-type]


def test_the_rate_that_is_accounted_is_never_too_small() -> None:
    assert public_rate(1) == 1.0
    for batches in range(1, 500):
        assert Fraction(public_rate(batches)) * batches >= 1
        assert public_rate(batches) <= 1.0 / batches * (1.0 + 3e-16)
    assert any(Fraction(1.0 / batches) * batches < 1 for batches in range(1, 500))


def test_samples_differ_with_the_same_seed_of_torch() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'hush[torch]'")
    found = []
    for _ in range(2):
        torch.manual_seed(1)
        found.append(list(PoissonBatches(1000, 2)))
    assert found[0] != found[1]


def test_a_batch_without_rows_has_the_form_of_any_other() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'hush[torch]'")
    data = torch.utils.data.TensorDataset(torch.randn(3, 5), torch.randint(0, 2, (3,)))
    loader = poisson_loader(torch.utils.data.DataLoader(data, batch_size=2), 50, DeterministicTestEntropy(1))
    sizes = [len(x) for x, y in loader if x.shape[1:] == (5,) and y.dtype == torch.long]
    assert len(sizes) == len(loader) == 50 and 0 in sizes and sum(sizes) > 0
    assert poisson_loader(loader, 50) is loader


def test_data_that_cannot_be_sampled_is_refused() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed: pip install 'hush[torch]'")

    class InOrder(torch.utils.data.IterableDataset):  # type: ignore[misc]
        def __iter__(self) -> Any:
            return iter([torch.zeros(2)])

    class Words(torch.utils.data.Dataset):  # type: ignore[misc]
        def __len__(self) -> int:
            return 1

        def __getitem__(self, place: int) -> str:
            return "text"

    with pytest.raises(hush.Unsupported, match="places"):
        poisson_loader(torch.utils.data.DataLoader(InOrder()), 2)
    with pytest.raises(hush.InvalidParameter, match="data_loader"):
        poisson_loader([1, 2], 2)
    with pytest.raises(hush.InvalidParameter, match="no rows"):
        poisson_loader(torch.utils.data.DataLoader(torch.zeros(0, 2), batch_size=2), 2)
    with pytest.raises(hush.Unsupported, match="tensors"):
        list(poisson_loader(torch.utils.data.DataLoader(Words(), collate_fn=str), 64, DeterministicTestEntropy(1)))
