"""Modules of other packages whose code runs only when one of their names is used.

Python runs the code of a package before the code of any module inside it. Some packages that a command needs load much
that it does not need: `scipy.special` describes each of its functions for other array libraries, and Ibis loads the SQL
of twenty databases. The command line imports such a package without running its code. Modules inside it load as
usual. The first use of a name that the package does not have yet runs the code, as an import would have done before.

Only the process of a command does this, because other programs may rely on what an import does at once.
"""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from importlib import import_module
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType
from typing import Any

__all__ = ["DEFERRED", "defer"]

#: The packages and modules whose code waits.
DEFERRED = ("flint", "ibis.backends.sql.compilers", "ibis.examples", "scipy.special")
_WAITING = "__waiting_loader__"
_RUNNING = threading.RLock()


class _Deferred(ModuleType):
    """A module whose code has not run. It becomes an ordinary module when its code runs."""

    def __getattr__(self, name: str) -> Any:
        known = self.__dict__
        if _WAITING in known and PathFinder.find_spec(f"{self.__name__}.{name}", known.get("__path__", ())):
            return import_module(f"{self.__name__}.{name}")
        with _RUNNING:
            loader = known.pop(_WAITING, None)
            if loader is not None:
                self._run(loader)
        if name not in known and "__getattr__" in known:  # the module looks up names itself
            return known["__getattr__"](name)
        if name not in known:
            raise AttributeError(f"module '{self.__name__}' has no attribute '{name}'", name=name)
        return known[name]

    def _run(self, loader: Loader) -> None:
        try:
            loader.exec_module(self)
        except BaseException:
            sys.modules.pop(self.__name__, None)  # as after an import that fails
            raise
        self.__class__ = ModuleType  # type: ignore[assignment]


class _Later(Loader):
    """A loader that keeps the real loader for later."""

    def __init__(self, real: Loader) -> None:
        self.real = real

    def create_module(self, spec: ModuleSpec) -> ModuleType:
        return _Deferred(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__[_WAITING] = module.__loader__ = self.real
        if module.__spec__ is not None:
            module.__spec__.loader = self.real


class _Finder(MetaPathFinder):
    """Finds the deferred modules where Python would find them."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name in DEFERRED else None
        if spec is not None and spec.loader is not None:
            spec.loader = _Later(spec.loader)
        return spec


def defer() -> None:
    """Let the code of these modules wait, in this process, from now on. A module that is loaded stays as it is."""
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
