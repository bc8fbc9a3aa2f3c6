"""`Keys`: what a release shows of groups that are found in the data, as a fact of its charge."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from hush.errors import InvalidParameter, Unsupported, as_float, made_like, positive, reject, shown, whole
from hush.privacy.sensitivity import Sensitivity

__all__ = ["Keys", "must_fit", "of_groups"]

_HINT = "write Keys(groups=10, chance=1e-7)"


@made_like("Keys(groups=10, chance=1e-7)")
@dataclass(frozen=True)
class Keys:
    """Groups are found in the data, and each is shown only if its noisy number of people reaches a threshold.

    groups   the most groups of one person
    chance   the largest probability with which a group that holds one person alone is shown
    cut      None, or the largest noise of a shown group: a group whose number of people has more noise, in either
             direction, is not shown. `chance` then also bounds the probability that the noise is within one person of
             the cut, at one of its two ends
    rungs    for people who add more than others where they have fewer groups: (groups, move, chance) for each size of
             a person, beside the one that `groups`, `chance` and the sensitivity state. A person of a rung has at most
             so many groups, moves each of them by at most `move`, and is shown alone in one with this chance

    The noise must be independent between groups.

    >>> Keys(groups=10, chance=1e-7).failure
    1e-06
    """

    groups: int
    chance: float
    cut: float | None = None
    rungs: tuple[tuple[int, float, float], ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "groups", whole("groups", self.groups, 1, _HINT))
        chance = as_float("chance", self.chance, "a probability, at least 0 and less than 1")
        if not 0.0 <= chance < 1.0:
            raise reject("chance", self.chance, "a probability, at least 0 and less than 1", _HINT)
        object.__setattr__(self, "chance", chance)
        if self.cut is not None:
            object.__setattr__(self, "cut", positive("cut", self.cut, _HINT))
        object.__setattr__(self, "rungs", tuple(_rung(each) for each in self.rungs))
        if self.rungs and self.cut is not None:
            raise InvalidParameter("keys with rungs cannot have a cut; leave cut out.")

    @property
    def failure(self) -> float:
        """A bound on the probability that any group of one person alone is shown, with the usual roundings."""
        return max(groups * chance for groups, _, chance in (*self.rungs, (self.groups, 0.0, self.chance)))

    def any_of(self, groups: int) -> float:
        """1 - (1 - chance)^groups: the probability that at least one of that many groups is shown."""
        return -math.expm1(groups * math.log1p(-self.chance))

    def to_plain(self) -> dict[str, Any]:
        """The facts as values for JSON; `from_plain` reads them back, exact to the last bit."""
        known = {f.name: getattr(self, f.name) for f in fields(self)}
        return {name: value for name, value in known.items() if value is not None and value != ()}

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Keys:
        """The keys that `to_plain` wrote; unknown names raise."""
        unknown = sorted(set(values) - {f.name for f in fields(cls)})
        if unknown:
            raise InvalidParameter(f"keys have no field {shown(unknown[0])}; a newer version of hush may be needed.")
        return cls(**values)


def _rung(each: Any) -> tuple[int, float, float]:
    """One rung, checked."""
    if not isinstance(each, list | tuple) or len(each) != 3:
        raise reject("rungs", each, "(groups, move, chance)", _HINT)
    alone = Keys(each[0], each[2])
    return alone.groups, positive("move", each[1], _HINT), alone.chance


def must_fit(keys: Any, bound: Sensitivity, *, proved: bool) -> None:
    """Raise unless keys can be part of a charge with this sensitivity."""
    if not isinstance(keys, Keys):
        raise reject("keys", keys, "facts about keys", _HINT)
    if not proved:
        raise Unsupported("keys that are found in the data are not proved for samples or imported curves.")
    plain = isinstance(bound.linf, float) and bound.l0 == keys.groups and bound.is_box
    if keys.rungs and not (plain and bound.dimension is None):
        raise InvalidParameter(
            f"keys with rungs need one number in each group; write Sensitivity(linf=1.0, l0={keys.groups})."
        )
    of_groups(bound, 1, keys.groups)  # raises if it is not the sensitivity of equal groups


def of_groups(bound: Sensitivity, moved: int, groups: int) -> Sensitivity:
    """The facts if only `moved` of the `groups` groups move that all facts of `bound` are about."""
    if bound.columns is not None and bound.l0 == groups:
        return replace(bound, l0=moved)
    if moved == groups == 1:
        return bound
    listed = bound.linf if isinstance(bound.linf, tuple) else ()
    each, rest = divmod(len(listed) or bound.l0 or 0, groups)
    if bound.is_box and each and not rest:
        if listed and bound.l0 == len(listed) and listed == listed[:each] * groups:
            return Sensitivity(linf=listed[: each * moved], neighbours=bound.neighbours)
        if not listed and bound.dimension is None:
            return replace(bound, l0=each * moved)
    raise InvalidParameter(
        f"{shown(bound)} is not the sensitivity of {groups} equal groups; write Sensitivity(linf=1.0, l0={groups})."
    )
