"""`hush completion bash|zsh|tcsh`: a completion script for a shell, made from the parser by shtab."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable

from hush.calibration.request import LOSSES
from hush.cli.curve import simple_families
from hush.cli.text import Command
from hush.noise.catalogue import families, ranked
from hush.privacy.gaussian import methods

__all__ = ["SHELLS", "register", "script"]

_EXAMPLES = """examples:
  source <(hush completion bash)                         for this shell; put the line into ~/.bashrc for every shell
  hush completion zsh > ~/.zsh/completions/_hush         a folder of $fpath; zsh finds it at its next start
  hush completion tcsh | source /dev/stdin               put the line into ~/.tcshrc for every shell"""

SHELLS = ("bash", "zsh", "tcsh")

#: The metavar or destination of the options whose value is a file.
_FILES = frozenset({"FILE", "FOLDER", "source", "table"})


def _words() -> dict[tuple[str, str], Iterable[str]]:
    """Words to offer for options that accept any text, by command and option; the command "" is any command."""
    calibrated = tuple(row.name for row in ranked())
    return {
        ("", "--family"): (*calibrated, "optimal"),
        ("answer", "--family"): calibrated,
        ("curve", "--family"): tuple(row.name for row in simple_families()),
        ("learn", "--family"): calibrated,
        ("cite", "family"): tuple(row.name for row in families()),
        ("", "--loss"): tuple(LOSSES),
        ("", "--method"): methods(),
        ("", "--mode"): ("adaptive", "nonadaptive"),
        ("", "--engine"): ("duckdb", "spark"),
        ("", "--keys"): ("private",),
    }


def _describe(parser: argparse.ArgumentParser, command: str = "") -> None:
    """Tell shtab which values are files, and which words may follow an option. The parser must not parse afterwards:
    the words become the only accepted ones.
    """
    import shtab

    known = _words()
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for name, sub in action.choices.items():
                _describe(sub, name)
        elif action.choices is None:
            names = [*action.option_strings, action.dest]
            found = next((known[key] for name in names for key in ((command, name), ("", name)) if key in known), None)
            if found is not None:
                action.choices = list(found)
            elif action.metavar in _FILES or (not action.option_strings and action.dest in _FILES):
                action.complete = shtab.FILE  # type: ignore[attr-defined]


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The completion script of one shell. The parser is changed: make a new one for this call."""
    import shtab

    _describe(parser)
    return shtab.complete(parser, shell)


def _completion(options: argparse.Namespace) -> None:
    from hush.cli import parser

    made = script(options.shell, parser())
    print(json.dumps({"shell": options.shell, "script": made}) if options.json else made)


def register(command: Command) -> None:
    """Add the command."""
    completion = command("completion", _completion, "print a script that completes hush commands on Tab", _EXAMPLES)
    completion.add_argument("shell", choices=SHELLS, help="the shell to print the script for")
