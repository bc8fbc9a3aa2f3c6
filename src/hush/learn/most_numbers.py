"""The limit of the noisy numbers of one fit. Sums of products have about K^2/2 of them for K columns."""

from __future__ import annotations

from collections.abc import Sequence

from hush.errors import Unsupported
from hush.learn.budget import Wish

__all__ = ["MOST_NUMBERS", "must_be_few"]

#: Noisy numbers of all parts of one fit. A fit of 2,000 columns needs 0.5 GB beside the data and 14 seconds of a core,
#: one of 3,000 columns 1.1 GB and 50 seconds, and one of 4,400 columns, about the largest, 2.3 GB and 170 seconds.
MOST_NUMBERS = 10_000_000


def must_be_few(wishes: Sequence[Wish], columns: int, hint: str) -> None:
    """Refuse a fit that releases more numbers than fit into memory, before anything is planned or paid."""
    count = sum(wish.count for wish in wishes)
    if count > MOST_NUMBERS:
        raise Unsupported(
            f"this fit of {columns} columns releases {count:,} noisy numbers, and at most {MOST_NUMBERS:,} are "
            f"possible (about 2.5 GB of memory); {hint}."
        )
