"""Noise on Spark's executors, for groups found privately, which may be too many for the driver.

A task may run twice (a retry, a speculative copy, a frame computed again). Fresh noise each time would be a second
release. So the bits of a group's noise are a function of a secret of this release and of the group's key: every
repetition gives the same noise. The executors write the answers, which are never collected, and the secret ends with
the call. Intervals are functions of the group's released numbers and of constants that the driver computes once.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import HushError
from hush.ledger.payment import Draws
from hush.tables.arrow import arrow
from hush.tables.column_draws import named_noise
from hush.tables.column_noise import Spending
from hush.tables.engines.contract import WITHHELD
from hush.tables.exact_aggregates import Aggregates
from hush.tables.output import Recipe, answer_table, plain_names

__all__ = ["group_names", "noise_in_batches", "write_on_executors"]


def group_names(keys: list[Any], secret: bytes) -> NDArray[np.uint64]:
    """128 bits for each group: a keyed hash of its key, written unambiguously as JSON."""
    rows = zip(*(column.to_pylist() for column in keys), strict=True) if keys else iter([()])
    digests = [
        hashlib.blake2b(json.dumps(row, default=str).encode(), key=secret, digest_size=16).digest() for row in rows
    ]
    return np.frombuffer(b"".join(digests), dtype="<u8").reshape(-1, 2)


def noise_in_batches(
    keys: tuple[str, ...], spent: Spending, draws: Mapping[str, Draws], recipe: Recipe, secret: bytes
) -> Callable[[Iterator[Any]], Iterator[Any]]:
    """The work of an executor on its batches: add noise, keep the groups above the threshold, make answers."""
    columns_of, paid = spent.reach.columns, dict(draws)

    def work(batches: Iterator[Any]) -> Iterator[Any]:
        pa = arrow()
        for batch in batches:
            held = pa.RecordBatch.from_arrays([batch.column(i) for i in range(len(keys))], names=list(keys))
            names = group_names(held.columns, secret)
            exact = {
                name: batch.column(i).to_numpy(zero_copy_only=False).astype(np.int64)
                for i, name in enumerate(columns_of, len(keys))
            }
            columns = named_noise(exact, spent, paid, names, secret)
            found = spent.shown(columns, exact)
            shown = np.arange(batch.num_rows) if found is None else found
            answers = answer_table(
                recipe, held.take(pa.array(shown)), {name: column[shown] for name, column in columns.items()}
            )
            yield from answers.rename_columns(plain_names(answers.column_names)).combine_chunks().to_batches()

    return work


def write_on_executors(
    aggregates: Aggregates, spent: Spending, draws: Mapping[str, Draws], recipe: Recipe, path: str
) -> None:
    """Let the executors write the answers of the shown groups. The secret exists only during this call."""
    from hush.tables.engines.pyspark import write_in_batches

    work = noise_in_batches(aggregates.keys, spent, draws, recipe, os.urandom(64))
    kinds = dict(zip(plain_names(recipe.columns), recipe.columns.values(), strict=True))
    backend, failed = aggregates.source.backend, False
    try:
        write_in_batches(backend, aggregates.plan, work, plain_names(aggregates.keys), kinds, path)
    except Exception:
        failed = True  # the engine's message may quote the data, so it is dropped here
    if failed:
        raise HushError(f"{WITHHELD} The charge stands.")
