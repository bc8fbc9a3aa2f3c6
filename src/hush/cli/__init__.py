"""The command line. Each command has one file: it parses options, calls one public function and prints the result."""

from __future__ import annotations

import argparse
import contextlib
import importlib
import os
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NoReturn

import hush
from hush.cli.option_words import in_options
from hush.errors import HushError, nearest, shown
from hush.releasing.destination import reason

__all__ = ["main", "parser", "run_command"]

#: The commands in the order of `hush --help`. The module of a command has its name; it is loaded when it is needed.
_COMMANDS = (
    *("calibrate", "curve", "gaussian", "explore", "ledger", "policy", "report", "audit", "sgd"),
    *("answer", "sql", "marginals", "stream", "sample", "learn", "cite", "completion", "doctor"),
)


class _Help(argparse.HelpFormatter):
    """A formatter that leaves enough space for the longest command: argparse does not count their indentation."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog)
        self._action_max_length = 4 + max(map(len, _COMMANDS))


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are one sentence."""

    _given: Sequence[str] = ()

    def error(self, message: str) -> NoReturn:
        hint = f"; {self._misspelt()}" if "required" in message and self._misspelt() else ""
        print(f"{self.prog}: {message}{hint}; see `{self.prog} --help`.", file=sys.stderr)
        sys.exit(2)

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> Any:
        """Reject unknown arguments in the command that received them, with the nearest option as a hint."""
        self._given = list(sys.argv[1:] if args is None else args)
        found, left = super().parse_known_args(args, namespace)
        if left:
            numbers = "--epsilon" in self._option_string_actions and "--epsilon" not in self._given
            hint = "; write numbers with their options, such as --epsilon 1 --delta 1e-6" if numbers else ""
            self.error(self._misspelt() or f"unexpected arguments: {' '.join(map(repr, left))}{hint}")
        return found, left

    def _misspelt(self) -> str:
        """A sentence about the first unknown option, with the nearest known one; "" if all options are known."""
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
            raise argparse.ArgumentError(action, f"invalid choice: {shown(value)}; {hint}")


class _Version(argparse.Action):
    """Print the version and exit. The version is looked up only here, because that takes time."""

    def __call__(self, parser: argparse.ArgumentParser, *unused: Any) -> NoReturn:
        print(f"hush {hush.__version__}")
        parser.exit()


def parser(first: str | None = None) -> argparse.ArgumentParser:
    """The parser of the command line; if `first` is a command, only that command is built, which is faster."""
    whole = _Parser(
        allow_abbrev=False,
        prog="hush",
        description="Differentially private answers with the least noise that provable privacy allows.",
        epilog="`hush <command> --help` shows examples.",
        formatter_class=_Help,
    )
    whole.add_argument("--version", action=_Version, nargs=0, help="show program's version number and exit")
    commands = whole.add_subparsers(dest="command", metavar="command", required=True)

    def command(name: str, action: Any, text: str, examples: str) -> argparse.ArgumentParser:
        formatter = argparse.RawDescriptionHelpFormatter
        sub = commands.add_parser(
            name, allow_abbrev=False, help=text, description=text, epilog=examples, formatter_class=formatter
        )
        sub.set_defaults(action=action)
        sub.add_argument("--json", action="store_true", help="print JSON")
        return sub

    for name in [first] if first in _COMMANDS else _COMMANDS:
        importlib.import_module(f"hush.cli.{name}").register(command)
    return whole


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code: 0 for success (some commands return others), 2 for an error, which is
    one sentence on standard error, 130 after Ctrl-C.
    """
    given = sys.argv[1:] if arguments is None else arguments
    if not given:
        parser().print_help()
        return 0
    return run_command(parser(given[0]).parse_args(given), whole_process=arguments is None)


def run_command(options: argparse.Namespace, *, whole_process: bool) -> int:
    """Run the command of parsed options and return its exit code. If it is the `whole_process`, an engine that does not
    stop after Ctrl-C is ended.
    """
    entries = 0
    try:
        entries = _entries(options)
        with _warnings_as_lines(options):
            code = int(options.action(options) or 0)
            sys.stdout.flush()  # here, so that a full disk is reported as any other error is
            return code
    except HushError as failure:
        print(f"hush: {_words(failure, options)}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        charged = ", ".join(_ledgers(options)) if _entries(options) > entries else ""
        again = ": the same command gets its one answer without another charge" if _unanswered(options) else ""
        charge = f", but the ledger {charged} was charged, and the charge remains{again}" if charged else ""
        print(f"hush: stopped; nothing was released{charge}.", file=sys.stderr)
        if whole_process:
            _end_engines()
        return 130
    except BrokenPipeError:  # the reader of the pipe has ended
        return 0
    except OSError as failure:  # a file or folder that cannot be read or written
        print(f"hush: {failure.filename or 'the output'}: {reason(failure)}.", file=sys.stderr)
        return 2
    finally:
        _drop_output()


def _drop_output() -> None:
    """Drop what cannot be printed: Python would try again at its end, and print a traceback."""
    try:
        sys.stdout.flush()
    except (OSError, ValueError):
        with contextlib.suppress(OSError, ValueError):
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _words(message: object, options: argparse.Namespace) -> str:
    """A message of the Python interface with options in the place of arguments."""
    return str(getattr(options, "in_words", in_options)(str(message), options))


@contextlib.contextmanager
def _warnings_as_lines(options: argparse.Namespace) -> Iterator[None]:
    """Show each warning as one line on standard error, without the place in a library from which it came."""

    def show(message: object, *place: object, **more: object) -> None:
        print(f"hush: warning: {_words(message, options)}", file=sys.stderr)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _entries(options: argparse.Namespace) -> int:
    """The number of entries in the ledgers of a command; 0 if there is none, or if they cannot be read."""
    return _summed(options, lambda book: len(book.entries))


def _unanswered(options: argparse.Namespace) -> int:
    """The number of entries whose answer was paid for and is not kept yet."""
    return _summed(options, lambda book: len(book.unanswered))


def _summed(options: argparse.Namespace, count: Callable[[Any], int]) -> int:
    """The sum of a number of each ledger of a command."""
    found = 0
    with contextlib.suppress(HushError, OSError):
        for path in _ledgers(options):
            from hush.cli.ledger import opened

            with contextlib.suppress(HushError, OSError), opened(path) as book:
                found += count(book)
    return found


def _ledgers(options: argparse.Namespace) -> list[str]:
    """The ledgers that a command may charge."""
    if not getattr(options, "ledger", None) and not getattr(options, "policy", None):
        return []
    from hush.cli.policy_options import ledger_paths

    return list(ledger_paths(options))


def _end_engines() -> None:
    """End the process at once if an engine has not stopped: DuckDB cannot be interrupted while it detects the types of
    a CSV file.

    A normal exit would free objects that the engine still uses.
    """
    from hush.tables.interrupt import still_working

    if still_working():
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(130)
