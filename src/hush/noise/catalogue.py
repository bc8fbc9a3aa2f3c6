"""The list of all noise families: the built-in ones, and those that `register` adds.

It also converts a noise to JSON values and back (`plain_values`, `from_plain_values`). Everything else about a family
is in its descriptor; see `hush.noise.family`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from hush.errors import InvalidParameter, UnknownFamily, Unsupported, one_of, shown
from hush.noise import (
    asinh,
    ball,
    bump,
    correlated,
    cube,
    discrete,
    exponential_power,
    flipped_huber,
    gamma_difference,
    gaussian,
    hull,
    interval,
    laplace,
    level_noise,
    lifted,
    one_way,
    optimal_rule,
    osgt,
    plateau,
    plugins,
    polya_difference,
    scaled,
    selection,
    skellam,
    stable,
    staircase,
    stairs,
    stepped,
    truncated_laplace,
)
from hush.noise.contract import Noise
from hush.noise.family import Family, FamilyList, Shape

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
    "load_plugin",
    "plain_values",
    "ranked",
    "ranked_joint",
    "register",
    "restored",
]

#: The built-in families, the simplest first. If two families tie in a ranking, the first of this list is preferred.
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
    bump.FAMILY,
    gamma_difference.FAMILY,
    polya_difference.FAMILY,
    ball.FAMILY,
    correlated.FAMILY,
    cube.FAMILY,
    interval.FAMILY,
    plateau.FAMILY,
    hull.FAMILY,
    stairs.FAMILY,
    lifted.FAMILY,
    optimal_rule.FAMILY,
    scaled.FAMILY,
    level_noise.FAMILY,
    one_way.FAMILY,
    lifted.MARGINAL,
    optimal_rule.MARGINAL,
    selection.FAMILY,
)


class _Registry:
    """The families of this process. The tuple is always replaced as a whole, so that readers need no lock."""

    rows: tuple[Family, ...] = _BUILT_IN
    lock = threading.Lock()


def families() -> tuple[Family, ...]:
    """Return all families, registered ones last."""
    return _Registry.rows


def ranked(*, lattice: bool = True) -> tuple[Family, ...]:
    """Return the laws that `calibrate` compares; lattice=False omits those that exist on a lattice only."""
    return tuple(row for row in families() if row.ranked and not row.joint and (lattice or not row.type.discrete))


def ranked_joint() -> tuple[Family, ...]:
    """Return the joint noises that `calibrate` compares."""
    return tuple(row for row in families() if row.ranked and row.joint)


def register(noise: type[Noise] | Family) -> Family:
    """Add a noise family, so that it is calibrated, drawn, written to ledgers and cited like the built-in ones.

    `noise` is a `Family`, or a class with a `Family` as its attribute FAMILY. Registering the same class again replaces
    its descriptor.

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
                f"the name {shown(row.name)} is taken by {taken.type.__module__}.{taken.type.__name__}; "
                f"give {row.type.__name__} another name."
            )
        if same is not None and same not in _BUILT_IN and same.name != row.name:
            raise InvalidParameter(
                f"{row.type.__name__} is registered as {shown(same.name)}, and ledgers may contain this name; "
                f"write Family({shown(same.name)}, ...)."
            )
        if same in _BUILT_IN and row is not same:
            raise InvalidParameter(
                f"{row.type.__name__} is the built-in family {shown(same.name)} and cannot have another descriptor."
            )
        _Registry.rows = tuple(row if known is same else known for known in families()) + (
            () if same is not None else (row,)
        )
    return row


def _same_class(one: type, other: type) -> bool:
    """Return True if both have the same module and name, as after a notebook cell is run twice."""
    return (one.__module__, one.__qualname__) == (other.__module__, other.__qualname__)


def _descriptor(kind: Any) -> Family:
    row = getattr(kind, "FAMILY", None) or family_of(kind) if isinstance(kind, type) else None
    if not isinstance(row, Family):
        raise InvalidParameter(
            f"register takes a Family, or a noise class with an attribute FAMILY, got {shown(kind)}; "
            "write MyNoise.FAMILY = hush.Family('my_noise', MyNoise), then hush.register(MyNoise)."
        )
    if row.type is not kind:
        raise InvalidParameter(
            f"FAMILY of {kind.__name__} describes {row.type.__name__}; write Family('...', {kind.__name__})."
        )
    return row


@contextmanager
def restored() -> Iterator[None]:
    """Remove the families that were registered inside a `with` block when the block ends."""
    before = families()
    try:
        yield
    finally:
        _Registry.rows = before


def family(name: str) -> Family:
    """Return the descriptor of the family with this name.

    >>> family("osgt").parameters
    ('m', 'sigma')
    """
    row = _named(name)
    if row is None:
        one_of("noise", name, (known.name for known in families()))
        raise UnknownFamily(f"the noise family {shown(name)} is not known here.")
    return row


def load_plugin(name: Any) -> None:
    """Register the family of an installed plug-in, if a family is named that is not known."""
    if isinstance(name, str):
        _named(name)


def _named(name: Any) -> Family | None:
    """Return the family of this name, of this process or of an installed plug-in; None if there is none."""
    row = next((row for row in families() if row.name == name), None)
    if row is not None or not isinstance(name, str):
        return row
    found = plugins.plugin(plugins.FAMILIES, name)
    if found is None:
        return None
    row = register(found)
    if row.name != name:
        raise InvalidParameter(
            f"the plug-in for {shown(name)} registers the family {shown(row.name)}; the two names must agree."
        )
    return row


def family_of(noise: Noise | type) -> Family | None:
    """Return the descriptor of a noise or of its class; None if the class is not registered."""
    kind = noise if isinstance(noise, type) else type(noise)
    return next((row for row in families() if row.type is kind), None)


def plain_values(noise: Noise) -> dict[str, Any]:
    """Return the noise as a dictionary of its family name and its numbers, for JSON and for the ledger.

    `from_plain_values` restores the noise exactly.

    >>> from hush import Discrete, Gaussian
    >>> plain_values(Discrete(Gaussian(2.0)))
    {'family': 'discrete', 'noise': {'family': 'gaussian', 'sigma': 2.0}, 'step': 1.0}
    """
    row = family_of(noise)
    if row is None:
        raise Unsupported(
            f"{type(noise).__name__} is not in the catalogue and cannot be stored; write hush.register(...) first."
        )
    values = {name: getattr(noise, name) for name in row.parameters}
    version = {} if row.version == 1 else {"version": row.version}
    return (
        {"family": row.name}
        | version
        | {name: plain_values(v) if isinstance(v, Noise) else v for name, v in values.items()}
    )


def in_words(noise: Noise) -> str:
    """Return the noise as one line of text with numbers to six digits; `repr` shows every digit.

    >>> from hush import Laplace
    >>> in_words(Laplace(1.0 / 3.0))
    'Laplace(scale=0.333333)'
    """
    return re.sub(r"\d+\.\d{5,}(?:e[-+]?\d+)?", lambda found: f"{float(found[0]):.6g}", str(noise))


def from_plain_values(values: Mapping[str, Any]) -> Any:
    """Return the noise, a `Law` or a joint noise, from the dictionary that `plain_values` returned.

    >>> from_plain_values({"family": "laplace", "scale": 2.0})
    Laplace(scale=2.0)
    """
    name = values.get("family", "")
    row = _named(name)
    if row is None:
        raise UnknownFamily(
            f"the noise family {shown(name)} is not known here; import its module and call hush.register, "
            "then try again."
        )
    if (version := values.get("version", 1)) != row.version:
        raise UnknownFamily(
            f"this {name} noise was written by version {shown(version)} of its family; "
            f"version {row.version} is known here."
        )
    given = {name: v for name, v in values.items() if name not in ("family", "version")}
    unknown = sorted(set(given) - set(row.parameters))
    if unknown or set(row.parameters) - set(given):
        raise InvalidParameter(
            f"{row.name} noise takes {', '.join(row.parameters)}, got {', '.join(sorted(given)) or 'nothing'}."
        )
    return row.type(**{name: from_plain_values(v) if isinstance(v, Mapping) else v for name, v in given.items()})


#: All families; the same as `families()`, as a sequence.
EVERY: Sequence[Family] = FamilyList(families)
#: The laws of sums and shares of noise (see hush.federated).
DIVISIBLE: Sequence[Family] = FamilyList(lambda: tuple(row for row in families() if row.divisible))
#: All families except those of `DIVISIBLE`.
FAMILIES: Sequence[Family] = FamilyList(lambda: tuple(row for row in families() if not row.divisible))
