"""The engines: one file or folder for each, found by its `ENGINE`.

`ENGINES` has every engine by its name in Ibis. A new file in this folder that defines `ENGINE` adds one; nothing else
lists the engines. Another package adds one by an entry point of the group `hush.engines`.
"""

from __future__ import annotations

from importlib import import_module
from pkgutil import iter_modules
from typing import Any

from hush.errors import Unsupported, shown
from hush.noise import plugins
from hush.tables.engines.contract import Engine

__all__ = ["ENGINES", "engine_of", "must_not_be_compile_only"]


def found() -> dict[str, Engine]:
    """The engines of this folder, by name."""
    modules = [import_module(f"{__name__}.{item.name}") for item in iter_modules(__path__)]
    engines = [module.ENGINE for module in modules if hasattr(module, "ENGINE")]
    return {engine.name: engine for engine in engines}


ENGINES = found()


def engine_of(backend: Any) -> Engine:
    """The engine behind an Ibis connection."""
    if backend.name not in ENGINES and not _added(backend.name):
        run = ", ".join(name for name, engine in ENGINES.items() if not engine.compile_only)
        raise Unsupported(f"hush does not support the engine {shown(backend.name)}; it supports {run}.")
    return ENGINES[backend.name]


def _added(name: str) -> bool:
    """Add the engine of an installed plug-in; False if no plug-in has this name."""
    found = plugins.plugin(plugins.ENGINES, name)
    if found is None:
        return False
    if not isinstance(found, Engine) or found.name != name:
        raise Unsupported(
            f"the plug-in for the engine {shown(name)} must be an Engine with this name, got {shown(found)}."
        )
    ENGINES[name] = found
    return True


def must_not_be_compile_only(address: str) -> None:
    """Refuse the address of a database for which hush only writes SQL, such as bigquery://project/dataset."""
    name = address.partition("://")[0].lower()
    if name in ENGINES and ENGINES[name].compile_only:
        raise Unsupported(
            f"hush only writes SQL for the engine {shown(name)} (compile-only) and does not run it; export the "
            "table to Parquet, or copy it to PostgreSQL or Spark."
        )
