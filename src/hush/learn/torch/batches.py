"""Poisson samples of the rows with a public rate, drawn exactly, as batches for a data loader of PyTorch.

Opacus computes the rate of its samples, and the number of steps of an epoch, from the number of rows. One row more or
less then changes both, and both are visible. Here the number of batches of an epoch is given: each row is in each batch
independently with probability 1/batches exactly, whatever the number of rows is. Random bits are those of `hush.draw`:
`torch.manual_seed` does not repeat a sample.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, needs
from hush.numerics.rounding import next_up
from hush.sampling.entropy import Bits, Entropy, SecureEntropy

__all__ = ["PoissonBatches", "poisson_loader", "public_rate"]

_AT_ONCE = 1 << 20  # rows whose words are drawn at once


class PoissonBatches:
    """The places of the rows of `batches` samples: an epoch. A batch may be empty."""

    def __init__(self, rows: int, batches: int, entropy: Entropy | None = None) -> None:
        self._rows, self._batches, self._entropy = rows, batches, entropy or SecureEntropy()

    def __len__(self) -> int:
        """The number of batches, which is public. It does not depend on the rows."""
        return self._batches

    def __iter__(self) -> Iterator[list[int]]:
        for _ in range(self._batches):
            bits = self._entropy.begin()
            starts = range(0, self._rows, _AT_ONCE)
            yield [
                start + int(place)
                for start in starts
                for place in np.flatnonzero(_one_in(self._batches, min(_AT_ONCE, self._rows - start), bits))
            ]


def _one_in(many: int, count: int, bits: Bits) -> NDArray[np.bool_]:
    """Independent booleans that are true with probability 1/many exactly: a whole number below `many` that is 0. Words
    above the largest multiple of `many` are drawn again.
    """
    most = np.uint64((1 << 64) // many * many - 1)
    words = np.asarray(bits.words(count, np.uint64)).reshape(count)
    while (again := np.flatnonzero(words > most)).size:
        words[again] = np.asarray(bits.words(again.size, np.uint64)).reshape(again.size)
    return np.asarray(words % np.uint64(many) == 0)


def public_rate(batches: int) -> float:
    """1/batches as a float that is not too small."""
    rate = 1.0 / batches
    return rate if Fraction(rate) * batches >= 1 else next_up(rate)


def poisson_loader(loader: Any, batches: int, entropy: Entropy | None = None) -> Any:
    """A loader with the data set and the options of this one, whose batches are Poisson samples."""
    with needs("PyTorch", "private training", extra="torch"):
        from torch.utils.data import DataLoader, IterableDataset

    if not isinstance(loader, DataLoader):
        raise InvalidParameter("data_loader must be a DataLoader of PyTorch; write DataLoader(rows).")
    if isinstance(loader.batch_sampler, PoissonBatches):
        return loader
    if isinstance(loader.dataset, IterableDataset):
        raise Unsupported("rows that can only be read in order cannot be sampled; use a data set with places.")
    rows = len(loader.dataset)
    if rows == 0:
        raise InvalidParameter("the data set has no rows, so the form of a batch is unknown; leave no data set empty.")
    return DataLoader(
        loader.dataset,
        batch_sampler=PoissonBatches(rows, batches, entropy),
        collate_fn=_MayBeEmpty(loader.collate_fn, loader.dataset),
        num_workers=loader.num_workers,
        pin_memory=loader.pin_memory,
        timeout=loader.timeout,
        worker_init_fn=loader.worker_init_fn,
        multiprocessing_context=loader.multiprocessing_context,
        prefetch_factor=loader.prefetch_factor,
        persistent_workers=loader.persistent_workers,
    )


class _MayBeEmpty:
    """The collate function of a loader, and for an empty batch tensors of the same form with no rows."""

    def __init__(self, collate: Any, rows: Any) -> None:
        self._collate, self._rows = collate, rows

    def __call__(self, batch: list[Any]) -> Any:
        return self._collate(batch) if batch else _without_rows(self._collate([self._rows[0]]))


def _without_rows(made: Any) -> Any:
    if isinstance(made, dict):
        return {name: _without_rows(one) for name, one in made.items()}
    if isinstance(made, list | tuple):
        return type(made)(_without_rows(one) for one in made)
    if hasattr(made, "new_empty"):
        return made[:0]
    raise Unsupported("a batch must be tensors, or lists, tuples or dicts of tensors, so that it can be empty.")
