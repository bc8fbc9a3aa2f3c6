"""The option --plot: check the file name before any work, draw the chart at the end."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from typing import Any

__all__ = ["add_plot", "check_plot", "draw_plot"]


def add_plot(parser: Any, what: str) -> None:
    """Add --plot, which draws `what`."""
    parser.add_argument("--plot", metavar="FILE", help=f"draw {what} into a .png, .svg or .html file")


def check_plot(options: argparse.Namespace) -> None:
    """Reject a file that --plot cannot write, before any work is done or any budget is spent."""
    if options.plot is not None:
        from hush.report.chart_file import ready

        ready(options.plot)


def draw_plot(options: argparse.Namespace, draw: Callable[[Any], Any]) -> None:
    """Save draw(hush.report) to the file of --plot, if the option was given."""
    if options.plot is not None:
        from hush import report

        report.save_chart(draw(report), options.plot)
        print(f"the chart is in {options.plot}", file=sys.stderr)
