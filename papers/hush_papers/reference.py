"""Where a function named in the report is explained: its first line, its source file, its page of the reference."""

from __future__ import annotations

import importlib
import inspect
from dataclasses import dataclass
from typing import Any

from hush import InvalidParameter
from hush.errors import shown

__all__ = ["Reference", "reference"]

#: package or module -> page of the reference, under docs/api; the longest prefix decides
PAGES = {
    "hush.noise": "noise",
    "hush.privacy.gaussian": "gaussian",
    "hush.privacy.probabilistic": "gaussian",
    "hush.privacy": "privacy",
    "hush.calibration": "privacy",
    "hush.sampling": "release",
    "hush.releasing": "release",
    "hush.federated": "federated",
    "hush.learn": "learn",
}


@dataclass(frozen=True)
class Reference:
    """A function named in the report.

    `line` is the first line of its docstring, `source` its file, and `page` its page of the documentation, in docs.
    """

    name: str
    line: str
    source: str
    page: str

    @property
    def anchor(self) -> str:
        return f"fn-{self.name.replace('.', '-')}"


def reference(name: str) -> Reference:
    """The reference of a dotted name.

    >>> reference("hush.delta").source, reference("hush.delta").page
    ('hush/privacy/compose.py', 'api/privacy.md')
    """
    found = _found(name)
    inner = getattr(found, "fget", None) or getattr(found, "func", None) or found  # properties, cached or not
    module = str(getattr(inner, "__module__", None) or "builtins")
    text = inspect.getdoc(found) or inspect.getdoc(inner) or ""
    line = text.strip().split("\n\n")[0].replace("\n", " ")
    package = module.split(".")[0]
    if package not in ("hush", "hush_papers"):
        return Reference(name, line, "Python's standard library", "")
    source = f"{module.replace('.', '/')}.py"
    return Reference(name, line, source, "papers.md" if package == "hush_papers" else _page(module))


def _page(module: str) -> str:
    fits = [prefix for prefix in PAGES if module == prefix or module.startswith(f"{prefix}.")]
    return f"api/{PAGES[max(fits, key=len)]}.md" if fits else ""


def _found(name: str) -> Any:
    """The object. An attribute of a package is preferred to a module of the same name."""
    words = name.split(".")
    found: Any = importlib.import_module(words[0])
    for place, word in enumerate(words[1:], 2):
        try:
            found = getattr(found, word) if hasattr(found, word) else importlib.import_module(".".join(words[:place]))
        except ImportError as failure:
            raise InvalidParameter(
                f"function must be the dotted name of an existing object, such as 'hush.delta', got {shown(name)}."
            ) from failure
    return found
