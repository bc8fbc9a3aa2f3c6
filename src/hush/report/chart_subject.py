"""The noises, plans and curves that a chart accepts, by name."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from hush.calibration.ranking import Plan
from hush.errors import InvalidParameter, reject, whole
from hush.noise import gaussian, laplace
from hush.noise.catalogue import in_words
from hush.noise.contract import Law
from hush.privacy.compose import curve as curve_of
from hush.privacy.curve import Curve
from hush.sampling.mechanism import Mechanism

__all__ = ["budget", "curves", "named", "noises"]

#: The families that are drawn next to the noise of a plan.
_FAMILIAR = (laplace.FAMILY.name, gaussian.FAMILY.name)
_HINT = "write hush.Gaussian(4.0), a list of noises, or a dict of them by name"


def named(what: Any, argument: str, kinds: tuple[type, ...], allowed: str) -> dict[str, Any]:
    """One item, a list of items or a dict of items, as a dict by name."""
    if isinstance(what, Mapping):
        found = {str(name): value for name, value in what.items()}
    else:
        items = list(what) if isinstance(what, Sequence) and not isinstance(what, str | bytes) else [what]
        found = {}
        for item in items:
            name = _name(item)
            found[name if name not in found else f"{name} ({len(found) + 1})"] = item
    if not found:
        raise InvalidParameter(f"{argument} must hold at least one item; {_HINT}.")
    for value in found.values():
        if not isinstance(value, kinds):
            raise reject(argument, value, allowed, _HINT)
    return found


def _name(item: Any) -> str:
    if isinstance(item, Plan | Mechanism):
        item = item.noise
    return in_words(item) if isinstance(item, Law) else "all together" if isinstance(item, Curve) else str(item)


def curves(what: Any, sensitivity: Any, times: Any) -> dict[str, Curve]:
    """Privacy curves by name; plans and mechanisms use their own sensitivity."""
    count = whole("times", times, 1, "write times=1")
    found = named(what, "noises", (Law, Plan, Mechanism, Curve), "a noise, a plan, a mechanism or a curve")
    return {name: _curve(item, sensitivity, count) for name, item in found.items()}


def _curve(item: Any, sensitivity: Any, times: int) -> Curve:
    if isinstance(item, Plan):
        return curve_of(item.noise, item.sensitivity, times=item.times)
    if isinstance(item, Mechanism):
        return item.curve(times)
    return item if isinstance(item, Curve) else curve_of(item, sensitivity, times=times)


def budget(what: Any) -> tuple[float, float] | None:
    """The (epsilon, delta) of a single plan."""
    return (what.epsilon, what.delta) if isinstance(what, Plan) else None


def noises(what: Any) -> dict[str, Law]:
    """Noises by name; for a plan also Laplace and Gaussian noise for the same budget."""
    if isinstance(what, Plan):
        rows = [what.noise, *(c.noise for c in what.ranking if c.family in _FAMILIAR and c.noise is not None)]
        what = list(dict.fromkeys(rows))
    found = named(what, "noises", (Law, Plan, Mechanism), "a noise, a plan or a mechanism")
    return {name: item if isinstance(item, Law) else item.noise for name, item in found.items()}
