"""Calibrations that are kept on disk between runs.

A search for the least noise takes seconds, and its result is a few numbers. They are kept in a folder: the one that
HUSH_CACHE names (nothing is kept if it is empty), else `hush` in the user's folder for caches. Every file is one
calibration: the demand, and the noises of the ranking as JSON. Deleting files or the folder is always safe.

Guarantees: nothing that is read can weaken privacy. Each noise of a file is analysed again under the demand of the
caller, exactly as `calibrate` promises it: its delta at epsilon is at most the target. Losses and the order of the
ranking are computed again. A file that is damaged, foreign, too large, for another demand or written by another source
code of hush is ignored, and so is one whose noise does not meet the demand. Whoever can write into the folder can make
noise larger or a calibration slower, never the noise smaller.

The demand is public: it depends on the question and not on the data. Files are written under another name and then
renamed, so that programs that run at the same time see whole files only.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from hush.calibration.plan import RankedNoise
from hush.calibration.request import CalibrationRequest
from hush.noise.catalogue import families, from_plain_values, plain_values
from hush.noise.contract import Noise

__all__ = ["folder", "keep", "kept", "kept_files", "kept_noise", "kept_or_found"]

FORMAT = 1
VARIABLE = "HUSH_CACHE"
_ENDING = ".calibration.json"
#: Seconds. A search that takes less is not kept.
_QUICK = 0.05
_LARGEST = 1 << 20  # bytes of a file
_MOST = 1000  # files; beyond that the oldest half is removed
_LONGEST = 1000  # characters of a reason
#: The rooms whose source code decides about a calibration.
_ROOMS = ("numerics", "noise", "privacy", "calibration")


def folder() -> Path | None:
    """The folder of calibrations; None if nothing is kept."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        return Path(named) if named.strip() else None
    home = os.path.expanduser("~")
    usual = {"darwin": os.path.join(home, "Library", "Caches"), "win32": os.environ.get("LOCALAPPDATA", "")}
    given = os.environ.get("XDG_CACHE_HOME", "")
    base = given if os.path.isabs(given) else usual.get(sys.platform, os.path.join(home, ".cache"))
    return Path(base) / "hush" if os.path.isabs(base) else None


def kept_files() -> int:
    """The number of calibrations in the folder."""
    place = folder()
    try:
        return 0 if place is None else len(_files(place))
    except OSError:
        return 0


def kept_or_found(
    demand: CalibrationRequest, family: str | None, values: str, search: Callable[[], list[RankedNoise]]
) -> list[RankedNoise]:
    """The ranking of an earlier run, checked again, or the one that a search finds now."""
    found = kept(demand, family, values)
    if found is None:
        start = time.perf_counter()
        found = search()
        if time.perf_counter() - start >= _QUICK:
            keep(demand, family, values, found)
    return found


def kept(demand: CalibrationRequest, family: str | None, values: str) -> list[RankedNoise] | None:
    """The ranking of an earlier search for this demand, its noises checked against it; None if there is none."""
    place, asked = folder(), _asked(demand, family, values)
    if place is None or asked is None:
        return None
    try:
        document = json.loads(_read(place / _name(asked)))
        if set(document) != {"asked", "ranking"} or document["asked"] != asked:
            return None
        found = [_row(demand, **row) for row in document["ranking"]]
    except Exception:  # whatever is wrong with a file, it is ignored
        return None
    return found if any(row.noise is not None for row in found) else None


def keep(demand: CalibrationRequest, family: str | None, values: str, ranking: Iterable[RankedNoise]) -> None:
    """Keep a ranking. If it cannot be written, nothing happens."""
    place, asked = folder(), _asked(demand, family, values)
    if place is None or asked is None:
        return
    rows = [
        {
            "family": row.family,
            "noise": None if row.noise is None else plain_values(row.noise),
            "reason": row.reason[:_LONGEST],
        }
        for row in ranking
    ]
    _kept_text(place, asked, {"ranking": rows})


def _kept_text(place: Path, asked: dict[str, Any], result: dict[str, Any]) -> None:
    with contextlib.suppress(OSError, TypeError, ValueError):
        text = json.dumps({"asked": asked, **result})
        if len(text) <= _LARGEST:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            _write(place / _name(asked), text)
            _remove_oldest(place)


def kept_noise(question: Mapping[str, Any], search: Callable[[], Noise]) -> Noise:
    """The noise of an earlier search for the same question (JSON values), or the one that a search finds now. It is not
    checked: the caller must analyse it as any other noise.
    """
    place, source = folder(), _source()
    if place is None or source is None:
        return search()
    asked: dict[str, Any] = json.loads(json.dumps({"format": FORMAT, "source": source, "question": question}))
    try:
        document = json.loads(_read(place / _name(asked)))
        found = from_plain_values(document["noise"])
        if document["asked"] == asked and isinstance(found, Noise):
            return found
    except Exception:  # whatever is wrong with a file, it is ignored
        pass
    found = search()
    _kept_text(place, asked, {"noise": plain_values(found)})
    return found


# -- one calibration -----------------------------------------------------------------------------------------


def _asked(demand: CalibrationRequest, family: str | None, values: str) -> dict[str, Any] | None:
    """The whole demand as JSON values; None for demands whose results are not kept: probabilistic privacy, and rankings
    that depend on families of the caller.
    """
    if demand.notion != "dp" or not all(row.type.__module__.startswith("hush.") for row in families()):
        return None
    if _source() is None:
        return None
    rate = None if demand.rate is None else demand.rate.hex()
    numbers = {"epsilon": demand.epsilon.hex(), "delta": demand.delta.hex(), "times": demand.times, "rate": rate}
    step = None if demand.step is None else demand.step.hex()
    weights = [weight.hex() for weight in demand.weights]
    words = {"family": family, "values": values, "loss": demand.loss, "step": step, "weights": weights}
    asked = {"format": FORMAT, "source": _source(), "sensitivity": demand.bound.to_plain(), **numbers, **words}
    plain: dict[str, Any] = json.loads(json.dumps(asked))  # as it will be read: tuples become lists
    return plain


def _row(demand: CalibrationRequest, family: Any, noise: Any, reason: Any) -> RankedNoise:
    """A row of a ranking. A noise that does not meet the demand raises."""
    for text in (family, reason):
        if not isinstance(text, str) or len(text) > _LONGEST or not text.isprintable():
            raise ValueError("not a text that calibrate writes")
    if noise is None:
        return RankedNoise(family, reason=reason)
    made = from_plain_values(noise)
    if not isinstance(made, Noise) or not demand.meets(made):
        raise ValueError("a noise that does not meet the demand")
    return RankedNoise(family, noise=made, loss=demand.value(made))


def _name(asked: dict[str, Any]) -> str:
    return hashlib.sha256(json.dumps(asked, sort_keys=True).encode()).hexdigest() + _ENDING


@cache
def _source() -> str | None:
    """A fingerprint of the source code that calibrates: names, sizes and times of its files. None if they are not
    files, as in a zip archive.
    """
    root = Path(__file__).parent.parent
    try:
        files = [(f"{room}/{file.name}", file) for room in _ROOMS for file in os.scandir(root / room)]
    except OSError:
        return None
    facts = [(name, file.stat()) for name, file in sorted(files, key=lambda pair: pair[0]) if name.endswith(".py")]
    return hashlib.sha256(repr([(name, s.st_size, s.st_mtime_ns) for name, s in facts]).encode()).hexdigest()


# -- files ---------------------------------------------------------------------------------------------------


def _read(path: Path) -> str:
    """The text of an ordinary file that is not too large; anything else raises OSError."""
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)  # no wait for a pipe
    with os.fdopen(os.open(path, flags), "rb") as file:
        known = os.fstat(file.fileno())
        if not stat.S_ISREG(known.st_mode) or known.st_size > _LARGEST:
            raise OSError("not a calibration")
        return file.read(_LARGEST).decode()


def _write(path: Path, text: str) -> None:
    handle, temporary = tempfile.mkstemp(prefix=".new-", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def _files(place: Path) -> list[os.DirEntry[str]]:
    with os.scandir(place) as found:
        return [file for file in found if file.name.endswith(_ENDING)]


def _remove_oldest(place: Path) -> None:
    files = _files(place)
    if len(files) > _MOST:
        for file in sorted(files, key=lambda file: file.stat().st_mtime)[: len(files) // 2]:
            with contextlib.suppress(OSError):
                os.unlink(file.path)
