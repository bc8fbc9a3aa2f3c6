"""The stops of the sliders, and the position of all sliders, which is a part of the page's address."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl, urlencode

from hush.errors import InvalidParameter, one_of, reject
from hush.noise.catalogue import ranked, ranked_joint
from hush.privacy.sensitivity import Sensitivity

__all__ = ["COUNTS", "DIRECTIONS", "MONTHLY", "NUMBERS", "START", "STOPS", "State", "joint_names", "names"]

#: Releases of a year, one each month.
MONTHLY = 12
#: The stops of every slider. Noises are precomputed for budgets and counts; they are scaled to the sensitivity.
STOPS: dict[str, tuple[float, ...]] = {
    "epsilon": (0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0),
    "delta": (0.0, 1e-10, 1e-8, 1e-6, 1e-5, 1e-4, 1e-3),
    "sensitivity": (1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0),
    "groups": (1, 2, 4, 8, 16),
    "releases": (1, 2, 4, 8, MONTHLY, 16),
}
#: The possible numbers of one-dimensional releases: groups times releases.
COUNTS = tuple(sorted({int(groups * releases) for groups in STOPS["groups"] for releases in STOPS["releases"]}))

#: How many numbers one person may change at once. Independent noises are precomputed for the powers of two.
NUMBERS = (1, 2, 4, 8, 10, 16, 20, 32, 50, 64, 100)
#: Several numbers of one person: each may move in any direction, or all move in one direction, as counts do.
DIRECTIONS = ("any", "one")


def names() -> tuple[str, ...]:
    """The families that a calibration ranks, in the catalogue's order."""
    return tuple(row.name for row in ranked(lattice=False))


def joint_names() -> tuple[str, ...]:
    """The joint noises that a calibration ranks for several numbers, in the catalogue's order."""
    return tuple(row.name for row in ranked_joint())


@dataclass(frozen=True)
class State:
    """The position of all sliders, and the families that are drawn next to the best one.

    `numbers` and `direction` are in a link only if `numbers` is above 1; then there is one group and one release.

    >>> State.read("epsilon=1&delta=1e-06&sensitivity=1&groups=4&releases=2&show=laplace").count
    8
    """

    epsilon: float
    delta: float
    sensitivity: float
    groups: int
    releases: int
    show: tuple[str, ...]
    numbers: int = 1
    direction: str = "any"

    @classmethod
    def read(cls, query: str) -> State:
        """The state of a link's query; every field must occur once, with a value that is a stop of its slider.
        `numbers` and `direction` may be left out.
        """
        fields = _fields(query)
        values = {name: _at_stop(name, fields[name], STOPS[name]) for name in STOPS}
        state = cls(
            values["epsilon"],
            values["delta"],
            values["sensitivity"],
            int(values["groups"]),
            int(values["releases"]),
            _shown(fields["show"]),
            int(_at_stop("numbers", fields.get("numbers", "1"), NUMBERS)),
            one_of("direction", fields.get("direction", "any"), DIRECTIONS),
        )
        if state.numbers > 1 and state.count > 1:
            raise InvalidParameter(
                "numbers above 1 are shown for one group and one release; write groups=1&releases=1."
            )
        return state

    @property
    def query(self) -> str:
        """The query of a link to this state; `State.read` reads it."""
        values: dict[str, Any] = {name: f"{getattr(self, name):g}" for name in STOPS}
        several = {"numbers": self.numbers, "direction": self.direction} if self.numbers > 1 else {}
        return urlencode(values | several | {"show": ",".join(self.show)}, safe=",")

    @property
    def count(self) -> int:
        """The number of one-dimensional releases: groups times releases."""
        return self.groups * self.releases

    @property
    def bound(self) -> Sensitivity:
        """How far one person can change one release."""
        if self.numbers > 1:
            return Sensitivity(linf=self.sensitivity, dimension=self.numbers, one_sided=self.direction == "one")
        return Sensitivity(linf=self.sensitivity, l0=self.groups)


def _fields(query: str) -> dict[str, str]:
    """The fields of a query; raises if a field is unknown, missing or given twice."""
    try:
        pairs = parse_qsl(query, keep_blank_values=True, strict_parsing=bool(query), max_num_fields=20)
    except ValueError as failure:
        raise InvalidParameter(
            "query must be a list of field=value joined by &; write epsilon=1&delta=1e-06&..."
        ) from failure
    fields = dict(pairs)
    wanted = (*STOPS, "show")
    for name, _ in pairs:
        one_of("field", name, (*wanted, "numbers", "direction"))
    if len(fields) < len(pairs):
        twice = next(name for name in fields if sum(name == other for other, _ in pairs) > 1)
        raise InvalidParameter(
            f"{twice} must be given once, got it {sum(twice == other for other, _ in pairs)} times; leave one."
        )
    for name in wanted:
        if name not in fields:
            raise InvalidParameter(
                f"{name} is missing; write {name}={'' if name == 'show' else f'{STOPS[name][-1]:g}'}."
            )
    return fields


def _at_stop(name: str, text: str, stops: Sequence[float]) -> float:
    allowed = "one of the slider's stops " + ", ".join(f"{stop:g}" for stop in stops)
    try:
        value = float(text)
    except ValueError as failure:
        raise reject(name, text, allowed) from failure
    if value not in stops:
        raise reject(name, text, allowed)
    return value


def _shown(text: str) -> tuple[str, ...]:
    wanted: Sequence[str] = [name for name in text.split(",") if name]
    for name in wanted:
        one_of("show", name, (*names(), *joint_names()))
    return tuple(name for name in (*names(), *joint_names()) if name in wanted)


#: The state of a page that is opened without a link.
START = State(1.0, 1e-6, 1.0, 1, 1, ("gaussian", "laplace"))
