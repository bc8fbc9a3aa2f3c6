"""Messages of hush.learn in the words of `hush learn`: `alpha` is --penalty, and bounds belong to --feature."""

from __future__ import annotations

import argparse
import re

from hush.cli.option_words import in_options

__all__ = ["in_words"]

#: What `in_options` does not know, in the order of replacement.
_WORDS = (
    (r"\bn_features_to_keep=['\"]?(\w+)['\"]?", r"--keep \1"),
    (r"\bn_features_to_keep\b", "--keep"),
    (r"^(?:alpha|C) must", "--penalty must"),
    (r" with penalise='scaled'(?: and l1_ratio=[\d.]+)?", ""),
    (r"\b(?:alpha|C)=([\d.]+)", r"--penalty \1"),
    (r"\brefine_bounds(?:=True)?", "--refine-bounds"),
    (r"write target_bounds=.*\.$", "write --target spending:0:100."),
    (r"write bounds=.*\.$", "write --feature age:0:100."),
    (r"\btarget_bounds must", "--target must"),
    (r"\bbounds must", "--feature must"),
    (r"\btarget_bounds=\((\S+), (\S+)\)", r"the range \1:\2 of --target"),
    (r"such as bounds=\[[^]]*\]", "such as --feature age:18:100"),
    (r"\binterval_share\b", "--interval-share"),
)


def in_words(text: str, options: argparse.Namespace) -> str:
    """The message with options in the place of arguments.

    >>> in_words("alpha must be a number, got -1; write alpha=0.01.", argparse.Namespace(penalty=None))
    '--penalty must be a number, got -1; write --penalty 0.01.'
    """
    made = in_options(text, options)
    for pattern, words in _WORDS:
        made = re.sub(pattern, words, made)
    return re.sub(r"(?<=column |olumns )\(\d+(, \d+)*(, \.\.\.)?\)", lambda found: _named(found[0], options), made)


def _named(places: str, options: argparse.Namespace) -> str:
    """The names of features in the place of their numbers, such as (0, 2)."""
    known = [text.rsplit(":", 2)[0] for text in options.feature]
    return re.sub(r"\d+", lambda found: repr(known[int(found[0])]), places)
