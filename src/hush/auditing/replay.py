"""replay: run a function on two neighbouring data sets with the same released numbers, and compare what it shows.

Differential privacy lets a function read data in one way: exact numbers get noise that hides how far one person moves
them. Everything else must be a function of public facts and released numbers. So the function runs three times:

1. on `data`. Every number that a payment releases is recorded;
2. on `neighbour`. Every release gives the recorded number again, whatever the data are;
3. on `data` again, in the same way.

The runs 2 and 3 have the same released numbers. If they show anything different, it was not a function of released
numbers: a message, a type, an order, a number without noise. If they ask for different noise, the noise depends on the
data. If the exact numbers moved by more than the sensitivity that was charged, the charge is too small.
The idea is that of Cebere, Erb, Desfontaines, Bellet and Fitzsimons (2026), arXiv:2602.17454.
"""

from __future__ import annotations

import inspect
import json
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from hush.auditing.everything_shown import Shown, shown_by
from hush.auditing.moves_found import broken_facts, moves_of
from hush.auditing.recorded import Choice, Draw, Run
from hush.errors import InvalidParameter
from hush.sampling.witness import watched_by

__all__ = ["Replay", "ReplayFinding", "replay"]

_MOST = 20  # differences of one kind that are listed
_SHOWN = 100  # characters of a text


@dataclass(frozen=True)
class ReplayFinding:
    """One thing that depends on the data in another way than by released numbers.

    kind is "noise" (another noise, or drawn for other numbers), "sensitivity" (exact numbers moved further than was
    charged), "payment", or what was shown: "returned", "printed", "warned", "logged", "raised" or "file".
    """

    kind: str
    place: str
    text: str

    def __str__(self) -> str:
        return f"{self.kind}: {self.place}: {self.text}"


@dataclass(frozen=True, repr=False)
class Replay:
    """The outcome of an audit by replay.

    Guarantees: every finding is a fact about this function and this pair of data sets. It may quote exact numbers, so
    a replay is for made-up data. No finding proves nothing: another pair, or another branch, may show one.
    """

    findings: tuple[ReplayFinding, ...]
    #: How many draws a payment made, and how many exact numbers got noise.
    draws: int
    numbers: int
    #: How many of the exact numbers moved: 0 says that the two data sets do not differ for this function.
    moved: int
    #: Calls of `hush.draw` without a payment, whose numbers cannot be replayed.
    loose: int
    #: What differs between two runs on the same data: the function's own randomness or memory.
    unsteady: tuple[ReplayFinding, ...] = ()
    #: The exception with which the function ended on `data`; empty if there was none.
    raised: str = ""

    @property
    def violated(self) -> bool:
        """Was anything found?"""
        return bool(self.findings)

    @property
    def why(self) -> str:
        """The result in one sentence."""
        if self.findings:
            kinds = ", ".join(dict.fromkeys(finding.kind for finding in self.findings))
            return f"{len(self.findings)} finding{'s' * (len(self.findings) != 1)} ({kinds}): {self.findings[0]}"
        if self.raised:
            return f"Nothing differs, but the function ended with an exception: {self.raised}"
        if not self.draws:
            return "Nothing differs, but no noise was drawn by a payment: the replay had nothing to check."
        if not self.moved:
            return "Nothing differs, not even an exact number: choose two data sets that differ for this function."
        return "Nothing but released numbers depends on the data here; this is no proof of privacy."

    def __repr__(self) -> str:
        lines = [
            f"Replay: {f'{len(self.findings)} found' if self.findings else 'nothing found'}",
            f"  noise      {self.draws} draws for {self.numbers:,} numbers, of which {self.moved:,} moved",
            *(f"  {finding}" for finding in self.findings),
        ]
        if self.loose and self.findings:
            calls = f"hush.draw was called {self.loose} time{'s' * (self.loose != 1)} without a payment"
            lines.append(f"  note       {calls}; use hush.release(..., ledger=None): its numbers can be replayed")
        lines += [f"  unsteady   {one}" for one in self.unsteady]
        return "\n".join([*lines, f"  {self.why}"])

    def to_dict(self) -> dict[str, Any]:
        """The result as values for JSON."""
        return asdict(self) | {"violated": self.violated, "why": self.why}

    def to_json(self) -> str:
        """The result as JSON text."""
        return json.dumps(self.to_dict(), indent=2)


def replay(function: Callable[..., Any], data: Any, neighbour: Any) -> Replay:
    """Run a function on two neighbouring data sets with the same released numbers, and report whatever else differs.

    function(data), or function(data, folder) for a function that writes files: `folder` is an empty folder, and the
    files in it are compared. The function returns whatever it would publish. It draws noise through hush: `release`,
    queries, fits, streams or a payment, with ledger=None or a ledger in memory that the function makes itself.
    `neighbour` is the data of `data` with one person more, less or replaced, as the function's sensitivity assumes.

    Compared are: returned values with all types, shapes and attributes, printed text, warnings, log records,
    exceptions, files, payments, the noise and how often it is drawn, and how far the exact numbers move against the
    charged sensitivity. Not compared: time, memory, the clock, the scores of quantiles, and noise that is not drawn by
    a payment.

    Guarantees: nothing is charged to a ledger file: such a ledger raises `Unsupported`. The second data are never
    released with noise that is known: the second run gets the numbers that were released for the first.

    >>> import hush
    >>> plan = hush.calibrate(1.0, 1e-6, hush.Sensitivity(linf=1.0, l0=1), values="integer")
    >>> def biggest(ages: list[int]) -> tuple[float, int]:
    ...     return hush.release(len(ages), plan, ledger=None, integers=True).value, max(ages)
    >>> found = replay(biggest, [31, 42, 97], [31, 42])
    >>> [finding.place for finding in found.findings]
    ['result[1]']
    """
    if not callable(function):
        raise InvalidParameter(
            f"function must be callable, got {type(function).__name__}; write hush.audit.replay(f, data, neighbour)."
        )
    with tempfile.TemporaryDirectory(prefix="hush-replay-") as place:
        folder = Path(place)
        first = Run()
        _run(function, data, folder, first)
        changed, same = Run(first), Run(first)
        other, shown = _run(function, neighbour, folder, changed), _run(function, data, folder, same)
    findings = [*_noise(first, changed), *_moves(first, changed), *_payments(first, changed), *_shown(shown, other)]
    again = [*_noise(first, same), *_moves(first, same), *_payments(first, same)]
    numbers = sum(draw.exact.size for draw in first.draws)
    return Replay(
        tuple(findings), len(first.draws), numbers, _moved(first, changed), len(first.loose), tuple(again), shown.raised
    )


def _run(function: Callable[..., Any], data: Any, folder: Path, run: Run) -> Shown:
    with watched_by(run):
        shown = shown_by(function, (data, folder) if _takes_folder(function) else (data,), folder)
    if run.failure is not None:
        raise run.failure
    return shown


def _takes_folder(function: Callable[..., Any]) -> bool:
    """Does the function have a second argument named folder, or a second one that is required?"""
    try:
        given = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        return False
    places = [one for one in given if one.kind in (one.POSITIONAL_ONLY, one.POSITIONAL_OR_KEYWORD)]
    return len(places) > 1 and (places[1].name == "folder" or places[1].default is inspect.Parameter.empty)


def _noise(first: Run, other: Run) -> Iterator[ReplayFinding]:
    """Draws that are not the same in both runs; after the first of them, places no longer correspond."""
    for number, (ours, theirs) in enumerate(zip(first.draws, other.draws, strict=False), 1):
        if type(ours) is not type(theirs) or ours.like != theirs.like:
            yield ReplayFinding("noise", f"draw {number}", f"{_named(ours)}, for the neighbour {_named(theirs)}")
            return
    if len(first.draws) != len(other.draws):
        text = f"{len(first.draws)} draws, for the neighbour {len(other.draws)}"
        yield ReplayFinding("noise", "the number of draws", text)
    if first.loose != other.loose:
        text = f"{first.loose[:3]}, for the neighbour {other.loose[:3]}"
        yield ReplayFinding("noise", "calls of hush.draw", _cut(text))


def _moved(first: Run, other: Run) -> int:
    """How many exact numbers are different."""
    pairs = zip(first.draws, other.draws, strict=False)
    alike = [pair for pair in pairs if type(pair[0]) is type(pair[1]) and pair[0].like == pair[1].like]
    return sum(int((moves_of(*pair) != 0.0).sum()) for pair in alike)


def _named(draw: Draw | Choice) -> str:
    if isinstance(draw, Choice):
        return f"a choice among {draw.exact.size} numbers under " + repr(draw.charge.noise)
    return repr(draw.mechanism.noise) + f" on steps of {draw.mechanism.step:g} for numbers of shape {draw.exact.shape}"


def _moves(first: Run, other: Run) -> Iterator[ReplayFinding]:
    """Exact numbers that moved further than was charged."""
    together: dict[Any, int] = {}
    for number, (ours, theirs) in enumerate(zip(first.draws, other.draws, strict=False), 1):
        if type(ours) is not type(theirs) or ours.like != theirs.like:
            return
        moves = moves_of(ours, theirs)
        if isinstance(ours, Choice):
            bound, coordinates = ours.charge.sensitivity, ours.exact.size
        else:
            bound, coordinates = ours.mechanism.sensitivity_on_lattice, ours.mechanism.coordinates
            whole = ours.mechanism.part_of
            if whole is not None and bound.columns is None:
                together[whole] = together.get(whole, 0) + int((moves != 0.0).sum())
        for text in dict.fromkeys(broken_facts(bound, moves, coordinates)):
            yield ReplayFinding("sensitivity", f"draw {number}", text)
    for charge, moved in together.items():
        most = charge.sensitivity.moving
        if most is not None and moved > most:
            yield ReplayFinding("sensitivity", "all columns", f"{moved} numbers moved, charged {most}")


def _payments(first: Run, other: Run) -> Iterator[ReplayFinding]:
    for number, (ours, theirs) in enumerate(zip(first.payments, other.payments, strict=False), 1):
        if ours != theirs:
            yield ReplayFinding("payment", f"payment {number}", _cut(f"{ours}, for the neighbour {theirs}"))
    if len(first.payments) != len(other.payments):
        text = f"{len(first.payments)}, for the neighbour {len(other.payments)}"
        yield ReplayFinding("payment", "the number of payments", text)


def _shown(first: Shown, other: Shown) -> Iterator[ReplayFinding]:
    listed: dict[str, int] = {}
    for kind, place, ours, theirs in first.differences(other):
        listed[kind] = listed.get(kind, 0) + 1
        if listed[kind] <= _MOST:
            yield ReplayFinding(kind, place, f"{_cut(ours)}, for the neighbour {_cut(theirs)}")


def _cut(text: str) -> str:
    return text if len(text) <= _SHOWN else text[: _SHOWN - 3] + "..."
