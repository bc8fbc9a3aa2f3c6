"""Where a function named in the report is explained: its first line, its source file, its page of the reference."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import Any

from hush.errors import InvalidParameter

__all__ = ["Reference", "reference"]

#: room or module -> page of the reference, under docs/api; the longest prefix decides
PAGES = {
    "hush.noise": "noise",
    "hush.privacy.gaussian": "gaussian",
    "hush.privacy.probabilistic": "gaussian",
    "hush.privacy": "privacy",
    "hush.sensitivity": "privacy",
    "hush.calibrate": "privacy",
    "hush.calibration": "privacy",
    "hush.limit": "privacy",
    "hush.sampling": "release",
    "hush.mechanism": "release",
    "hush.release": "release",
    "hush.federated": "federated",
    "hush.learn": "learn",
}


@dataclass(frozen=True)
class Reference:
    """A function of the report: `line` is the first line of its docstring, `source` its file, `page` the reference's
    file in docs.
    """

    name: str
    line: str
    source: str
    page: str

    @property
    def anchor(self) -> str:
        return f"fn-{self.name.replace('.', '-')}"


def reference(name: str) -> Reference:
    """What is known of a dotted name.

    >>> reference("hush.delta").source, reference("hush.delta").page
    ('hush/privacy/compose.py', 'api/privacy.md')
    """
    found = _found(name)
    inner = getattr(found, "fget", None) or getattr(found, "func", None) or found  # properties, cached or not
    module = str(getattr(inner, "__module__", None) or "builtins")
    text = inspect.getdoc(found) or inspect.getdoc(inner) or ""
    line = text.strip().split("\n\n")[0].replace("\n", " ")
    if module.split(".")[0] != "hush":
        return Reference(name, line, "Python's standard library", "")
    if module.startswith("hush_papers"):
        page = "papers.md"
    else:
        fits = [prefix for prefix in PAGES if module == prefix or module.startswith(f"{prefix}.")]
        page = f"api/{PAGES[max(fits, key=len)]}.md" if fits else ""
    return Reference(name, line, f"{module.replace('.', '/')}.py", page)


def _found(name: str) -> Any:
    """The object; a name of a room goes before a file of the same name."""
    words = name.split(".")
    found: Any = importlib.import_module(words[0])
    for place, word in enumerate(words[1:], 2):
        try:
            found = getattr(found, word) if hasattr(found, word) else importlib.import_module(".".join(words[:place]))
        except ImportError as failure:
            raise InvalidParameter(
                f"function must be the dotted name of something that exists, such as 'hush.delta', got {name!r}."
            ) from failure
    return found
