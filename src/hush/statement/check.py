"""Python lines that recompute a claim from the mechanisms alone: they need hush, and nothing else of what the statement says."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields
from typing import Any

from hush.errors import HushError
from hush.ledger.entry import Cap, Part
from hush.noise.catalogue import family_of
from hush.privacy.subsampling import Subsampled
from hush.privacy.vector import compose
from hush.sensitivity import Sensitivity

__all__ = ["composed", "delta_of", "replayed"]


def _literal(value: Any) -> str:
    if isinstance(value, Subsampled):
        return f"Subsampled({value.whole.noise!r}, {value.rate!r}, {value.whole.shift!r})"
    if isinstance(value, Sensitivity):
        said = [(f.name, getattr(value, f.name)) for f in fields(value)]
        return (
            f"Sensitivity({', '.join(f'{name}={v!r}' for name, v in said if v is not None and (name, v) != ('neighbours', 'add-remove'))})"
        )
    return repr(value)


def _noises(value: Any) -> Iterable[Any]:
    """A noise and the noise inside it."""
    while value is not None:
        yield value
        value = value.whole.noise if isinstance(value, Subsampled) else getattr(value, "noise", None)


def _home(kind: type) -> str:
    """The module that a script imports a class from: hush itself where the class is among its public names."""
    row = family_of(kind)
    return "hush" if row is None else row.home


def _imports(parts: Sequence[Part], *words: str) -> list[str]:
    kinds = {type(one) for part in parts for one in _noises(part[0])}
    kinds |= {Sensitivity} if any(isinstance(part[1], Sensitivity) for part in parts if len(part) == 3) else set()
    names = {kind.__name__ for kind in kinds if _home(kind) == "hush"} | set(words)
    public = sorted(names, key=lambda name: (name.islower(), name))
    inside = sorted(f"from {_home(kind)} import {kind.__name__}" for kind in kinds if _home(kind) != "hush")
    return [f"from hush import {', '.join(public)}", *inside, ""]


def _listed(parts: Sequence[Part]) -> list[str]:
    return ["parts = [", *(f"    ({', '.join(_literal(item) for item in part)})," for part in parts), "]"]


def composed(parts: Sequence[Part], delta: float) -> str:
    """Lines that print the epsilon of all parts together at delta."""
    return "\n".join([*_imports(parts, "compose"), *_listed(parts), f"print(compose(parts).epsilon_upper({delta!r}))", ""])


def replayed(parts: Sequence[Part], cap: Cap, extra: float) -> str:
    """Lines that charge all parts to a new ledger in memory, under the same rule, and print the epsilon spent."""
    rule = f'epsilon={cap.epsilon!r}, delta={cap.delta!r}, mode="{cap.mode}"' + (f", order={cap.order!r}" if cap.order is not None else "")
    charge = "ledger.spend(parts" + (f", extra_delta={extra!r})" if extra else ")")
    return "\n".join(
        [*_imports(parts, "Ledger"), *_listed(parts), f"ledger = Ledger(None, {rule})", charge, "print(ledger.spent.epsilon)", ""]
    )


def delta_of(parts: Sequence[Part], epsilon: float) -> tuple[str, float | None]:
    """Lines that print the delta of all parts together at epsilon, and that number; None where no theorem gives it."""
    lines = "\n".join([*_imports(parts, "compose"), *_listed(parts), f"print(compose(parts).delta_upper({epsilon!r}))", ""])
    try:
        return lines, float(compose(parts).delta_upper(epsilon))
    except HushError:
        return lines, None
