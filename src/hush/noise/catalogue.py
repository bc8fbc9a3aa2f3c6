"""All noise families: the built-in ones, one line each, and those that `register` adds; their members as plain values.

Everything else is derived from the descriptors: see `hush.noise.family`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, overload

from hush.errors import InvalidParameter, UnknownFamily, Unsupported, one_of
from hush.noise import (
    asinh,
    discrete,
    exponential_power,
    flipped_huber,
    gamma_difference,
    gaussian,
    laplace,
    osgt,
    polya_difference,
    skellam,
    stable,
    staircase,
    stepped,
    truncated_laplace,
)
from hush.noise.contract import Noise
from hush.noise.family import Family, Shape

__all__ = [
    "DIVISIBLE",
    "EVERY",
    "FAMILIES",
    "Family",
    "Shape",
    "families",
    "family",
    "family_of",
    "from_plain_values",
    "in_words",
    "plain_values",
    "ranked",
    "register",
    "restored",
]

#: The built-in families, the plainest first: of families that tie in a ranking the first one leads.
_BUILT_IN: tuple[Family, ...] = (
    gaussian.FAMILY,
    laplace.FAMILY,
    osgt.FAMILY,
    flipped_huber.FAMILY,
    stable.FAMILY,
    staircase.FAMILY,
    truncated_laplace.FAMILY,
    exponential_power.FAMILY,
    asinh.FAMILY,
    stepped.FAMILY,
    discrete.FAMILY,
    skellam.FAMILY,
    gamma_difference.FAMILY,
    polya_difference.FAMILY,
)


class _Registry:
    """The families of this process, as one tuple that is replaced as a whole: readers need no lock."""

    rows: tuple[Family, ...] = _BUILT_IN
    lock = threading.Lock()


def families() -> tuple[Family, ...]:
    """Every family, registered ones last."""
    return _Registry.rows


def ranked(*, lattice: bool = True) -> tuple[Family, ...]:
    """The families that `calibrate` ranks; lattice=False leaves out those that are calibrated on a lattice only."""
    return tuple(row for row in families() if row.ranked and (lattice or not row.type.discrete))


def register(noise: type[Noise] | Family) -> Family:
    """Make a noise family known: it is calibrated, drawn, written to ledgers and cited like the built-in ones.

    `noise` is a `Family`, or a class whose attribute FAMILY is one. Registering the same class again replaces its
    descriptor.

    >>> from hush import Laplace
    >>> register(Laplace).name
    'laplace'
    """
    row = noise if isinstance(noise, Family) else _descriptor(noise)
    with _Registry.lock:
        same = next(
            (known for known in families() if known.type is row.type or _same_class(known.type, row.type)), None
        )
        taken = next((known for known in families() if known.name == row.name and known is not same), None)
        if taken is not None:
            raise InvalidParameter(
                f"the name {row.name!r} is taken by {taken.type.__module__}.{taken.type.__name__}; give {row.type.__name__} another name."
            )
        if same is not None and same not in _BUILT_IN and same.name != row.name:
            raise InvalidParameter(
                f"{row.type.__name__} is registered as {same.name!r}, a name that ledgers may hold; keep that name."
            )
        if same in _BUILT_IN and row is not same:
            raise InvalidParameter(
                f"{row.type.__name__} is built in as {same.name!r} and cannot be registered otherwise."
            )
        _Registry.rows = tuple(row if known is same else known for known in families()) + (
            () if same is not None else (row,)
        )
    return row


def _same_class(one: type, other: type) -> bool:
    """Do both have the same module and name, as when a notebook cell is run twice?"""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def _descriptor(kind: Any) -> Family:
    row = getattr(kind, "FAMILY", None) or family_of(kind) if isinstance(kind, type) else None
    if not isinstance(row, Family):
        raise InvalidParameter(
            f"register takes a Family, or a noise class with an attribute FAMILY, got {kind!r:.80}; "
            "write MyNoise.FAMILY = hush.Family('my_noise', MyNoise), then hush.register(MyNoise)."
        )
    if row.type is not kind:
        raise InvalidParameter(
            f"FAMILY of {kind.__name__} describes {row.type.__name__}; write Family('...', {kind.__name__})."
        )
    return row


@contextmanager
def restored() -> Iterator[None]:
    """What is registered inside this block is forgotten after it."""
    before = families()
    try:
        yield
    finally:
        _Registry.rows = before


def family(name: str) -> Family:
    """The descriptor of a family name.

    >>> family("osgt").parameters
    ('m', 'sigma')
    """
    one_of("noise", name, (row.name for row in families()))
    return next(row for row in families() if row.name == name)


def family_of(noise: Noise | type) -> Family | None:
    """The descriptor of a noise or of its class; None where the class is not registered."""
    kind = noise if isinstance(noise, type) else type(noise)
    return next((row for row in families() if row.type is kind), None)


def plain_values(noise: Noise) -> dict[str, Any]:
    """The noise as its family name and numbers, for JSON and for the ledger; `from_plain_values` reads it back, bit
    for bit.

    >>> from hush import Discrete, Gaussian
    >>> plain_values(Discrete(Gaussian(2.0)))
    {'family': 'discrete', 'noise': {'family': 'gaussian', 'sigma': 2.0}, 'step': 1.0}
    """
    row = family_of(noise)
    if row is None:
        raise Unsupported(
            f"{type(noise).__name__} is not in the catalogue and cannot be written down; write hush.register(...) first."
        )
    values = {name: getattr(noise, name) for name in row.parameters}
    version = {} if row.version == 1 else {"version": row.version}
    return (
        {"family": row.name}
        | version
        | {name: plain_values(v) if isinstance(v, Noise) else v for name, v in values.items()}
    )


def in_words(noise: Noise) -> str:
    """The noise on one line, its numbers to six digits: for people; `repr` has every digit.

    >>> from hush import Laplace
    >>> in_words(Laplace(1.0 / 3.0))
    'Laplace(scale=0.333333)'
    """
    return re.sub(r"\d+\.\d{5,}(?:e[-+]?\d+)?", lambda found: f"{float(found[0]):.6g}", str(noise))


def from_plain_values(values: Mapping[str, Any]) -> Any:
    """The noise that `plain_values` wrote down: a `Law`, or a joint noise.

    >>> from_plain_values({"family": "laplace", "scale": 2.0})
    Laplace(scale=2.0)
    """
    name = values.get("family", "")
    row = next((row for row in families() if row.name == name), None)
    if row is None:
        raise UnknownFamily(
            f"the noise family {name!r:.60} is not known here; import its module and call hush.register, then try again."
        )
    if (version := values.get("version", 1)) != row.version:
        raise UnknownFamily(
            f"this {name} noise was written by version {version!r:.20} of its family; version {row.version} is known here."
        )
    given = {name: v for name, v in values.items() if name not in ("family", "version")}
    unknown = sorted(set(given) - set(row.parameters))
    if unknown or set(row.parameters) - set(given):
        raise InvalidParameter(
            f"{row.name} noise takes {', '.join(row.parameters)}, got {', '.join(sorted(given)) or 'nothing'}."
        )
    return row.type(**{name: from_plain_values(v) if isinstance(v, Mapping) else v for name, v in given.items()})


class _Live(Sequence[Family]):
    """The families that pass a test, read anew at every use: registered ones are seen."""

    def __init__(self, test: Callable[[Family], bool]) -> None:
        self._test = test

    def _rows(self) -> tuple[Family, ...]:
        return tuple(row for row in families() if self._test(row))

    def __len__(self) -> int:
        return len(self._rows())

    @overload
    def __getitem__(self, index: int) -> Family: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Family]: ...

    def __getitem__(self, index: int | slice) -> Family | Sequence[Family]:
        return self._rows()[index]


#: Every family; `families()` as a sequence.
EVERY: Sequence[Family] = _Live(lambda row: True)
#: Laws of sums and shares of noise (see hush.federated), and all others.
DIVISIBLE: Sequence[Family] = _Live(lambda row: row.divisible)
FAMILIES: Sequence[Family] = _Live(lambda row: not row.divisible)
