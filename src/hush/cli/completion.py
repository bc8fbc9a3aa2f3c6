"""`hush completion bash|zsh|fish`: a script for the shell, made from the command line's own parser.

The script is fixed text: pressing Tab starts no Python. A place is a command by its path ("/ledger/new"); at each
place the script knows the commands and options there and, for each value, the words or files it may be.
"""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from hush.calibration.request import LOSSES
from hush.cli.analysis import simple_families
from hush.cli.text import Command
from hush.noise.catalogue import families, ranked
from hush.privacy.gaussian import methods

__all__ = ["Place", "Slot", "places", "register", "script"]

_EXAMPLES = """examples:
  source <(hush completion bash)                                       this shell; the line in ~/.bashrc is for every shell
  source <(hush completion zsh)                                        likewise, in ~/.zshrc after compinit
  hush completion fish > ~/.config/fish/completions/hush.fish          every fish from now on"""

SHELLS = ("bash", "zsh", "fish")


def _words() -> dict[tuple[str, str], Iterable[str]]:
    """Words for values that the parser takes as any text, by place and option; "" stands for any place."""
    calibrated = tuple(row.name for row in ranked())
    return {
        ("", "--family"): (*calibrated, "optimal"),
        ("/answer", "--family"): calibrated,
        ("/learn", "--family"): calibrated,
        ("/curve", "--noise"): tuple(row.name for row in simple_families()),
        ("/cite", "family"): tuple(row.name for row in families()),
        ("", "--loss"): tuple(LOSSES),
        ("", "--method"): methods(),
        ("", "--mode"): ("nonadaptive", "adaptive"),
        ("", "--engine"): ("duckdb", "spark"),
        ("", "--keys"): ("private",),
        ("", "paper"): ("zhao", "osgt", "flipped_huber", "sas", "beyond"),
    }


#: Values that are files: by metavar or by destination.
_FILES = frozenset({"FILE", "FOLDER", "PATH", "DIR", "file", "source", "out", "data", "ledger", "table", "ledger.db"})


@dataclass(frozen=True)
class Slot:
    """An option, or a value by its position: what may stand there."""

    flags: tuple[str, ...]
    name: str
    help: str
    words: tuple[str, ...] = ()
    files: bool = False
    #: how many values: "0", "1", "?" (perhaps one) or "*"
    takes: str = "1"
    repeats: bool = False


@dataclass(frozen=True)
class Place:
    """A command by its path, "" for hush itself."""

    path: str
    help: str
    commands: tuple[tuple[str, str], ...]
    options: tuple[Slot, ...]
    positions: tuple[Slot, ...]


def places(parser: argparse.ArgumentParser, path: str = "", text: str = "") -> Iterator[Place]:
    """The parser's commands, each after the one it belongs to."""
    below: dict[str, argparse.ArgumentParser] = {}
    told: dict[str, str] = {}
    options: list[Slot] = []
    positions: list[Slot] = []
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            below = dict(action.choices)
            told = {str(choice.dest): choice.help or "" for choice in action._choices_actions}
        elif action.help != argparse.SUPPRESS:
            (options if action.option_strings else positions).append(_slot(action, path))
    yield Place(path, text, tuple((name, told.get(name, "")) for name in below), tuple(options), tuple(positions))
    for name, sub in below.items():
        yield from places(sub, f"{path}/{name}", told.get(name, ""))


def _slot(action: argparse.Action, path: str) -> Slot:
    metavar = action.metavar if isinstance(action.metavar, str) else ""
    names = [*action.option_strings, metavar, action.dest]
    words: Iterable[str] = ()
    if action.choices is not None:
        words = map(str, action.choices)
    else:
        known = _words()
        words = next((known[key] for name in names for key in ((path, name), ("", name)) if key in known), ())
    files = not action.choices and (
        metavar in _FILES or (action.dest in _FILES and not (metavar and metavar.isupper()))
    )
    takes = "0" if action.nargs == 0 else action.nargs if action.nargs in ("?", "*") else "1"
    help_text = " ".join((action.help or "").split()).replace("%%", "%")
    repeats = isinstance(action, argparse._AppendAction)
    fit = tuple(word for word in words if re.fullmatch(r"[\w.-]+", word))
    return Slot(tuple(action.option_strings), metavar or action.dest, help_text, fit, files and not fit, takes, repeats)


# -- bash ----------------------------------------------------------------------------------------------------

_BASH = """# completion of hush in bash, made by `hush completion bash`
_hush() {
    local word="${COMP_WORDS[COMP_CWORD]}" before="${COMP_WORDS[COMP_CWORD - 1]}" place="" words="" files="" options="" i
    [[ $before == "=" ]] && before="${COMP_WORDS[COMP_CWORD - 2]}"
    [[ $word == "=" ]] && word=""
    for ((i = 1; i < COMP_CWORD; i++)); do
        case "$place/${COMP_WORDS[i]}" in
            @PLACES@) place="$place/${COMP_WORDS[i]}" ;;
        esac
    done
    case "$place" in
@REST@
    esac
    [[ $word == -* || -z $words$files ]] && words="$options" files=""
    case "$place $before" in
@VALUES@
    esac
    if [[ -n $files ]]; then
        compopt -o filenames 2>/dev/null
        local IFS=$'\\n'
        COMPREPLY=($(compgen -f -- "$word"))
    else
        COMPREPLY=($(compgen -W "$words" -- "$word"))
    fi
}
complete -F _hush hush
"""


def _bash(tree: list[Place]) -> str:
    rest, values = [], []
    for place in tree:
        words = [name for name, _ in place.commands] + [word for slot in place.positions for word in slot.words]
        files = "yes" if any(slot.files for slot in place.positions) else ""
        options = " ".join(flag for slot in place.options for flag in slot.flags)
        rest.append(f'        "{place.path}") words="{" ".join(words)}" files="{files}" options="{options}" ;;')
        for slot in place.options:
            if slot.takes != "0":
                cases = " | ".join(f'"{place.path} {flag}"' for flag in slot.flags)
                given = (
                    'words="$options"' if slot.takes == "?" and not slot.words else f'words="{" ".join(slot.words)}"'
                )
                values.append(f'        {cases}) {given} files="{"yes" if slot.files else ""}" ;;')
    known = " | ".join(place.path for place in tree if place.path)
    return _BASH.replace("@PLACES@", known).replace("@REST@", "\n".join(rest)).replace("@VALUES@", "\n".join(values))


# -- zsh -----------------------------------------------------------------------------------------------------

_ZSH_END = """if [ "$funcstack[1]" = "_hush" ]; then
    _hush "$@"
else
    compdef _hush hush
fi
"""


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _zsh_argument(slot: Slot) -> str:
    value = f"({' '.join(slot.words)})" if slot.words else "_files" if slot.files else ""
    name = re.sub(r"[\[\]:\\]", r"\\\g<0>", slot.name)
    return f"{name}:{value or ' '}"


def _zsh_specs(place: Place) -> list[str]:
    specs = []
    for slot in place.options:
        told = re.sub(r"[\[\]:\\]", r"\\\g<0>", slot.help)
        value = {"0": "", "?": f"::{_zsh_argument(slot)}"}.get(slot.takes, f":{_zsh_argument(slot)}")
        specs += [_quoted(f"{'*' if slot.repeats else ''}{flag}[{told}]{value}") for flag in slot.flags]
    for number, slot in enumerate(place.positions, 1):
        specs.append(_quoted(f"{'*' if slot.takes == '*' else number}:{_zsh_argument(slot)}"))
    return specs


def _zsh(tree: list[Place]) -> str:
    lines = ["#compdef hush", "# completion of hush in zsh, made by `hush completion zsh`"]
    for place in reversed(tree):  # a function after those that it calls
        lines.append(f"_hush{place.path.replace('/', '_')}() {{")
        specs = " \\\n        ".join(_zsh_specs(place))
        if not place.commands:
            lines += [f"    _arguments -S \\\n        {specs}", "}"]
            continue
        shown = " ".join(_quoted(f"{name}:{text}") for name, text in place.commands)
        lines += [f"    local -a commands=({shown})", "    if (( CURRENT == 2 )); then"]
        lines += [
            f"        _describe -t commands command commands\n        _arguments \\\n        {specs}",
            "        return",
            "    fi",
        ]
        lines += ["    local name=$words[2]", "    shift words", "    (( CURRENT-- ))", '    case "$name" in']
        lines += [f"        {name}) _hush{place.path.replace('/', '_')}_{name} ;;" for name, _ in place.commands]
        lines += ["    esac", "}"]
    return "\n".join(lines) + "\n" + _ZSH_END


# -- fish ----------------------------------------------------------------------------------------------------

_FISH = """# completion of hush in fish, made by `hush completion fish`
function __hush_at
    set -l place
    for word in (commandline -opc)[2..]
        switch "$place/$word"
            case @PLACES@
                set place "$place/$word"
        end
    end
    test "$place" = "$argv[1]"
end
complete -c hush -f
"""


def _fish_text(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


def _fish(tree: list[Place]) -> str:
    lines = [_FISH.replace("@PLACES@", " ".join(place.path for place in tree if place.path)).rstrip("\n")]
    for place in tree:
        at = f"complete -c hush -n '__hush_at \"{place.path}\"'"
        lines += [f"{at} -a {name} -d {_fish_text(text)}" for name, text in place.commands]
        for slot in place.positions:
            if slot.words:
                lines.append(f"{at} -a {_fish_text(' '.join(slot.words))}")
            elif slot.files:
                lines.append(f"{at} -F")
        for slot in place.options:
            flags = " ".join(f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}" for flag in slot.flags)
            value = {"0": "", "?": ""}.get(slot.takes, " -r -F" if slot.files else " -x")
            value += f" -a {_fish_text(' '.join(slot.words))}" if slot.words else ""
            lines.append(f"{at} {flags}{value} -d {_fish_text(slot.help)}")
    return "\n".join(lines) + "\n"


def script(shell: str, parser: argparse.ArgumentParser) -> str:
    """The completion script of one shell for this parser."""
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](list(places(parser)))


def _completion(options: argparse.Namespace) -> None:
    from hush.cli import parser

    made: Any = script(options.shell, parser())
    print(json.dumps({"shell": options.shell, "script": made}) if options.json else made, end="")


def register(command: Command) -> None:
    """Add the command."""
    completion = command(
        "completion", _completion, "a script that completes hush's commands, options and families on Tab", _EXAMPLES
    )
    completion.add_argument("shell", choices=SHELLS, help="the shell to print the script for")
