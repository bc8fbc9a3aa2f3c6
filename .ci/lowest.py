"""Print the lowest versions that pyproject.toml allows, as `pip install` reads them: one `name==version` a line.

    python .ci/lowest.py tables learn        of the core and of these extras
    python .ci/lowest.py --alone federated   of these extras only

The numbers stand in pyproject.toml alone, so they cannot drift.
"""

from __future__ import annotations

import re
import sys
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
REQUIREMENT = re.compile(r"(?P<name>[\w.-]+)(?P<extras>\[[\w,-]+\])?\s*(?:>=(?P<lowest>[\w.]+))?(?P<rest>.*)")


def lowest(*extras: str, alone: bool = False) -> dict[str, str]:
    """The lowest version of every package, by its name with its extras. An extra that names another one is followed."""
    project = tomllib.loads(PROJECT.read_text())["project"]
    asked, found = [] if alone else [*project["dependencies"]], {}
    for extra in extras:
        if extra not in project["optional-dependencies"]:
            raise SystemExit(f"pyproject.toml has no extra {extra!r}")
        asked += project["optional-dependencies"][extra]
    while asked:
        line = asked.pop(0)
        parts = REQUIREMENT.fullmatch(line)
        assert parts is not None, line
        name, more = parts["name"], parts["extras"] or ""
        if name == "hush":
            for inner in more.strip("[]").split(","):
                asked += project["optional-dependencies"][inner]
        elif parts["lowest"] is None:
            raise SystemExit(f"{line!r} in pyproject.toml has no lowest version; write {name}>=VERSION")
        else:
            found[name + more] = parts["lowest"]
    return found


if __name__ == "__main__":
    given = sys.argv[1:]
    names = lowest(*(word for word in given if word != "--alone"), alone="--alone" in given)
    print("\n".join(f"{name}=={version}" for name, version in names.items()))
