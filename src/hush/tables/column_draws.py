"""Add the paid noise to the integer columns of a table: column by column, or one joint draw for each group."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.ledger.payment import Draws
from hush.sampling.entropy import NamedBits
from hush.sampling.whole_steps import whole_steps
from hush.tables.column_noise import Spending

__all__ = ["named_noise", "noisy_columns"]

Columns = dict[str, NDArray[np.float64]]


def noisy_columns(columns: Mapping[str, Any], spent: Spending, draws: Mapping[str, Draws]) -> Columns:
    """The integer columns with their noise, in grid steps. They are always float64: a type that depends on the size of
    the numbers would reveal numbers that are not shown.
    """
    if spent.joint is not None:
        (paid,) = draws.values()
        return _back(spent, paid.add(_on_lattice(columns, spent)))
    alike: dict[int, list[str]] = {}
    for name, paid in draws.items():
        if name in columns:
            alike.setdefault(id(paid.mechanism), []).append(name)
    out: Columns = {}
    for names in alike.values():  # one draw for all columns with the same mechanism
        paid = draws[names[0]]
        made = paid.mechanism
        steps = paid.add(made.on_lattice(np.stack([np.asarray(columns[name], dtype=np.int64) for name in names])))
        out |= dict(zip(names, steps.astype(np.float64) * made.step, strict=True))
    return {name: out[spent.shared.get(name, name)] for name in spent.mechanisms if name in columns}


def named_noise(
    columns: Mapping[str, Any], spent: Spending, draws: Mapping[str, Draws], names: NDArray[np.uint64], secret: bytes
) -> Columns:
    """The same with bits that are a function of the secret and of the name of each group, for engines that may run a
    task twice.
    """
    if spent.joint is not None:
        ((first, paid),) = draws.items()
        return _back(spent, paid.add_from(NamedBits(_own(secret, first), names), _on_lattice(columns, spent)))
    out: Columns = {}
    for name, paid in draws.items():
        made = paid.mechanism
        exact = made.on_lattice(np.asarray(columns[name], dtype=np.int64))
        out[name] = paid.add_from(NamedBits(_own(secret, name), names), exact).astype(np.float64) * made.step
    return {name: out[spent.shared.get(name, name)] for name in spent.mechanisms}


def _own(secret: bytes, name: str) -> bytes:
    """A secret for each column, so that no two cells of a group share bits."""
    return hashlib.blake2b(b"column " + name.encode(), key=secret, digest_size=64).digest()


def _on_lattice(columns: Mapping[str, Any], spent: Spending) -> NDArray[np.int64]:
    """The columns of each group as whole steps of the joint noise, one row for each group."""
    names = [part.columns[0] for part in spent.drawn]
    exact = [whole_steps(np.asarray(columns[name], dtype=np.int64), spent.mechanisms[name].step) for name in names]
    steps = np.stack(exact, axis=1)
    if spent.whole_table and steps.size not in (0, spent.noise.dimension):
        raise NotCertified("one draw is for all groups of the table, but other groups were found; nothing is shown.")
    return steps


def _back(spent: Spending, steps: NDArray[np.int64]) -> Columns:
    """Noisy steps as numbers of the columns."""
    places = {part.columns[0]: place for place, part in enumerate(spent.drawn)}
    return {
        name: steps[:, places[spent.shared.get(name, name)]].astype(np.float64) * law.step
        for name, law in spent.mechanisms.items()
    }
