"""Messages of the Python interface for people who type commands: `times=12` becomes `--times 12`."""

from __future__ import annotations

import argparse
import re

__all__ = ["in_options"]

#: A hint that is a call in Python, such as "; write group_by('ward', keys=['a'])."
_CALL = re.compile(r"; write [^;]*?\b[a-z_][a-z_.]*\([^;]*\.$")
#: What is typed without an option.
_PLACES = ("source", "file")
#: How a file of text is read, in Python.
_READING = re.compile(r"\b(csv|types)=\{'(\w+)': (?:'([^']*)'|\[\.\.\.\])[^}]*\}")
_VALUE = r"""("[^"]*"|'[^']*'|\([^()]*\)|[\w+-]+(?:\.\w+)?)?"""


def _as_option(found: re.Match[str]) -> str:
    """One option of csv= or types= as it is typed: --csv 'delimiter=;'."""
    flag, name, value = found.groups()
    return f"--{'type' if flag == 'types' else flag} '{name}={'a,b' if value is None else value}'"


def in_options(text: str, options: argparse.Namespace) -> str:
    """The message with options in the place of arguments. What the command line says itself is unchanged: it names
    options already. So is what is said about a statement or a policy.

    >>> known = argparse.Namespace(command="answer", times=1, limits_share=0.03)
    >>> in_options("times must be 1 or greater, got 0; write times=12 for twelve releases.", known)
    '--times must be 1 or greater, got 0; write --times 12 for twelve releases.'
    >>> in_options("two labels are needed; write classes=('no', 'yes').", argparse.Namespace(classes=None))
    'two labels are needed; write --classes no,yes.'
    >>> in_options("limits_share must be a number, got 2; write plan(1.0, limits_share=0).", known)
    '--limits-share must be a number, got 2.'
    """
    if "--" in text or "policy" in text or getattr(options, "command", "") == "sql":
        return text
    text = _READING.sub(_as_option, text)
    if "--" in text:
        return text
    text = _CALL.sub(".", text)
    typed = [name for name in vars(options) if name not in _PLACES or hasattr(options, "policy_command")]
    names = "|".join(sorted(map(re.escape, typed), key=len, reverse=True))

    def option(found: re.Match[str]) -> str:
        value = (found.group(2) or "").strip("'\"")
        if value.startswith("("):  # a tuple is written with commas
            value = ",".join(part.strip(" '\"") for part in value.strip("()").split(","))
        return f"--{found.group(1).replace('_', '-')}" + (f" {value}" if value not in ("", "True") else "")

    text = re.sub(rf"\b({names})={_VALUE}", option, text)
    text = re.sub(rf"^({names})(?= (?:must|is|needs|has|names) )()", option, text)
    joined = "|".join(name for name in names.split("|") if "_" in name)
    return re.sub(rf"(?<![\w-])({joined})(?![\w=:])()", option, text) if joined else text
