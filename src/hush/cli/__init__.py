"""The command line: parse, call one public function, print. One file a group of commands."""

from __future__ import annotations

import argparse
import contextlib
import os
import sys
from collections.abc import Iterable, Sequence
from typing import Any, NoReturn

import hush
from hush.cli import analysis, answer, audit, cite, completion, doctor, explore, learn, ledger, report
from hush.errors import HushError, nearest

__all__ = ["main", "parser"]

#: The commands of each module, in the order of `hush --help`.
_COMMANDS = {
    analysis: ("calibrate", "curve", "gaussian"),
    explore: ("explore",),
    ledger: ("ledger",),
    report: ("report",),
    audit: ("audit",),
    answer: ("answer", "sample"),
    learn: ("learn",),
    cite: ("cite",),
    completion: ("completion",),
    doctor: ("doctor",),
}


class _Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one sentence."""

    _given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        hint = f"; {self._misspelt()}" if "required" in message and self._misspelt() else ""
        print(f"{self.prog}: {message}{hint}; see `{self.prog} --help`.", file=sys.stderr)
        sys.exit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """As ever, but a leftover is said where it was left over, with the nearest option."""
        self._given = list(sys.argv[1:] if args is None else args)
        found, left = super().parse_known_args(args, namespace)
        if left:
            self.error(self._misspelt() or f"there is no place for {' '.join(map(repr, left))}")
        return found, left

    def _misspelt(self) -> str:
        """The first option that is none, and what may have been meant."""
        known = self._option_string_actions
        for word in self._given:
            name = word.partition("=")[0]
            if name.startswith("--") and len(name) > 2 and not any(option.startswith(name) for option in known):
                near = nearest(name, [option for option in known if option.startswith("--")])
                return f"there is no option {name}" + (f", {near}" if near else "")
        return ""

    def _check_value(self, action: argparse.Action, value: Any) -> None:
        choices: Iterable[Any] = () if action.choices is None else action.choices
        if action.choices is not None and value not in choices:
            known = [str(choice) for choice in choices]
            hint = nearest(value, known) or f"write one of {', '.join(known)}"
            raise argparse.ArgumentError(action, f"invalid choice: {value!r}; {hint}")


def parser(first: str | None = None) -> argparse.ArgumentParser:
    """The whole command line; where its first word is a command, what that command needs."""
    whole = _Parser(
        prog="hush",
        description="Differentially private answers with the least noise that provable privacy allows.",
        epilog="`hush <command> --help` shows examples.",
    )
    whole.add_argument("--version", action="version", version=f"hush {hush.__version__}")
    commands = whole.add_subparsers(dest="command", metavar="command", required=True)

    def command(name: str, action: Any, text: str, examples: str) -> argparse.ArgumentParser:
        formatter = argparse.RawDescriptionHelpFormatter
        sub = commands.add_parser(name, help=text, description=text, epilog=examples, formatter_class=formatter)
        sub.set_defaults(action=action)
        sub.add_argument("--json", action="store_true", help="machine-readable output")
        return sub

    asked = [module for module, names in _COMMANDS.items() if first in names]
    for module in asked or _COMMANDS:
        module.register(command)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command: 0 for success (or what the command returns), 2 for a request that cannot be met, 130 after
    Ctrl-C. What went wrong is one sentence on stderr.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        parser().print_help()
        return 0
    options = parser(given[0]).parse_args(given)
    entries = 0
    try:
        entries = _entries(options)
        return int(options.action(options) or 0)
    except HushError as failure:
        print(f"hush: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        charged = _entries(options) > entries
        charge = f", but the ledger {options.ledger} was charged, and the charge stands" if charged else ""
        print(f"hush: stopped; nothing was released{charge}.", file=sys.stderr)
        if arguments is None:
            _end_engines()
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away: say nothing more
    except OSError as failure:  # a file or folder that cannot be read or written
        said = (
            f"{failure.filename}: {failure.strerror}"
            if failure.filename and failure.strerror
            else str(failure).splitlines()[0]
        )
        print(f"hush: {said.rstrip('.')}.", file=sys.stderr)
        return 2
    return 0


def _entries(options: argparse.Namespace) -> int:
    """How many releases the ledger of a command holds; 0 where there is no ledger, or none that can be read."""
    if getattr(options, "ledger", None):
        with contextlib.suppress(HushError, OSError), ledger.opened(options.ledger) as book:
            return len(book.entries)
    return 0


def _end_engines() -> None:
    """End the process at once if an engine has not stopped, as DuckDB while it finds the types of a CSV file.

    On the usual way out Python would take away objects that the engine still uses.
    """
    from hush.tables.interrupt import still_working

    if still_working():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)
