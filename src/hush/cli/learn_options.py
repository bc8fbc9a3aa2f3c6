"""The options of `hush learn` about neighbours, the penalty, the solver and the noise."""

from __future__ import annotations

import argparse

from hush.cli.learn_intervals import interval_options
from hush.cli.text import number

__all__ = ["about_neighbours", "about_the_fit"]


def _first_steps(learn: argparse.ArgumentParser) -> None:
    """The options of the steps before the fit."""
    learn.add_argument(
        "--refine-bounds",
        action="store_true",
        help="find narrower ranges within the given ones, for a part of the budget",
    )
    learn.add_argument(
        "--keep", default="auto", metavar="N", help="fit only the N best features, chosen privately; or 'auto' or 'all'"
    )


def about_the_fit(learn: argparse.ArgumentParser) -> None:
    """The options of the penalty, the solver and the noise."""
    learn.add_argument(
        "--penalty",
        type=number,
        help="alpha of a regression: a larger number penalises more, for standardised columns (default 0.01 for lasso "
        "and elastic-net, 1 for ridge); for logistic it is C, one over the strength: a larger number penalises less "
        "(default 1)",
    )
    learn.add_argument("--solver", default="auto", choices=["auto", "whitened", "statistics", "cd", "gd"])
    _first_steps(learn)
    learn.add_argument("--family", help="the noise family; the default is the family with the least noise")
    interval_options(learn)


def about_neighbours(learn: argparse.ArgumentParser) -> None:
    """The options about the tables that the guarantee compares."""
    learn.add_argument(
        "--neighbours",
        choices=["replace", "add-remove"],
        help="the guarantee is for one replaced row (default), or for one row more or less, with half the noise of "
        "gradients; with --rows-per-unit it is always add-remove",
    )
    learn.add_argument(
        "--n-rows",
        type=int,
        metavar="N",
        help="the number of rows, if it is public; without it --neighbours add-remove and --rows-per-unit release it "
        "with 3 %% of epsilon",
    )
