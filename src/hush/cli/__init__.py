"""The command line: parse, call one public function, print. One file a group of commands."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from typing import Any, NoReturn

import hush
from hush.cli import analysis, answer, audit, learn, ledger, papers
from hush.errors import HushError

__all__ = ["main"]

_GROUPS = (analysis, ledger, audit, answer, learn, papers)


class _Parser(argparse.ArgumentParser):
    """An argument parser that says what is wrong in one sentence."""

    def error(self, message: str) -> NoReturn:
        print(f"{self.prog}: {message}; see `{self.prog} --help`.", file=sys.stderr)
        sys.exit(2)


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="hush",
        description="Differentially private answers with the least noise that provable privacy allows.",
        epilog="`hush <command> --help` shows examples.",
    )
    parser.add_argument("--version", action="version", version=f"hush {hush.__version__}")
    commands = parser.add_subparsers(dest="command", metavar="command", required=True)

    def command(name: str, action: Any, text: str, examples: str) -> argparse.ArgumentParser:
        formatter = argparse.RawDescriptionHelpFormatter
        sub = commands.add_parser(name, help=text, description=text, epilog=examples, formatter_class=formatter)
        sub.set_defaults(action=action)
        sub.add_argument("--json", action="store_true", help="machine-readable output")
        return sub

    for group in _GROUPS:
        group.register(command)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command: 0 for success (or what the command returns), 2 for a request that cannot be met, with one sentence on stderr."""
    options = _parser().parse_args(arguments)
    try:
        return int(options.action(options) or 0)
    except HushError as failure:
        print(f"hush: {failure}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("hush: stopped; nothing was released.", file=sys.stderr)
        return 130
    except BrokenPipeError:
        sys.stderr.close()  # the reader went away: say nothing more
    return 0
