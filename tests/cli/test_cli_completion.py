"""Shell completion, in real shells: bash always, zsh and fish where they are installed."""

from __future__ import annotations

import argparse
import os
import pty
import re
import select
import shutil
import subprocess
import time
from pathlib import Path

import pytest

from hush.cli import main, parser
from hush.cli.completion import SHELLS, places, script
from hush.noise.catalogue import families

TYPED = [
    # (what is typed, what must be offered, and nothing else unless it starts the same)
    ("hush cal", {"calibrate"}),
    ("hush calibrate --fam", {"--family"}),
    ("hush calibrate --family osg", {"osgt"}),
    ("hush curve --noise flip", {"flipped_huber"}),
    ("hush curve --noise gaussian --sig", {"--sigma"}),
    ("hush ledger ver", {"verify"}),
    ("hush ledger new --mode inter", {"adaptive"}),
    ("hush learn --model el", {"elastic-net"}),
    ("hush cite trunc", {"truncated_laplace"}),
    ("hush completion f", {"fish"}),
    ("hush answer visi", {"visits.parquet"}),
    ("hush answer visits.parquet --ledger spe", {"spent.ledger"}),
    ("hush calibrate --epsilon visi", set()),
]

needs_bash = pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with two files to complete, and the scripts."""
    for name in ("visits.parquet", "spent.ledger"):
        (tmp_path / name).touch()
    for shell in SHELLS:
        (tmp_path / f"script.{shell}").write_text(script(shell, parser()))
    return tmp_path


@needs_bash
def test_bash_completes(folder: Path) -> None:
    lines = [
        "source script.bash",
        'offer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _hush; echo "${COMPREPLY[*]}"; }',
    ]
    lines += [f"offer {typed}" for typed, _ in TYPED]
    shown = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(lines)], cwd=folder, capture_output=True, text=True, check=True
    )
    assert shown.stderr == ""
    assert [set(line.split()) for line in shown.stdout.splitlines()] == [offered for _, offered in TYPED]


@needs_bash
def test_bash_completes_after_an_equals_sign_and_on_nothing(folder: Path) -> None:
    """Readline makes three words of --family=osg; an empty word offers all there is."""
    lines = [
        "source script.bash",
        'offer() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=(); _hush; echo "${COMPREPLY[*]}"; }',
    ]
    lines += ["offer hush calibrate --family = osg", 'offer hush cite ""', 'offer hush ""', 'offer hush calibrate ""']
    shown = subprocess.run(
        ["bash", "--norc", "-c", "\n".join(lines)], cwd=folder, capture_output=True, text=True, check=True
    )
    after, cited, commands, options = [set(line.split()) for line in shown.stdout.splitlines()]
    assert after == {"osgt"}
    assert cited == {row.name for row in families()}
    assert {"calibrate", "answer", "doctor", "completion"} <= commands
    assert {"--epsilon", "--delta", "--family"} <= options


@needs_bash
def test_the_line_of_the_help_installs_it(folder: Path) -> None:
    """`source <(hush completion bash)` leaves a completion for hush."""
    line = "source <(cat script.bash) && complete -p hush"
    shown = subprocess.run(["bash", "--norc", "-c", line], cwd=folder, capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "complete -F _hush hush"


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes(folder: Path) -> None:
    lines = [
        "source script.fish",
        *(f"echo (complete -C '{typed}' | string replace -r '\\t.*' '')" for typed, _ in TYPED),
    ]
    environment = os.environ | {"HOME": str(folder)}
    command = ["fish", "--no-config", "-c", "\n".join(lines)]
    shown = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True, env=environment)
    assert [set(line.split()) for line in shown.stdout.splitlines()] == [offered for _, offered in TYPED]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes(folder: Path) -> None:
    """Typed at a terminal, Tab and Enter: the command receives the completed words."""
    setup = "autoload -U compinit; compinit -u -D; hush() { print -r -- \"GOT:$*:\" }; source script.zsh; PS1='ready> '"
    (folder / ".zshrc").write_text(setup + "\n")
    terminal, side = pty.openpty()
    environment = os.environ | {"ZDOTDIR": str(folder), "TERM": "dumb"}
    shell = subprocess.Popen(
        ["zsh", "-i"], cwd=folder, env=environment, stdin=side, stdout=side, stderr=side, start_new_session=True
    )
    try:
        until(terminal, "ready> ")
        for typed, offered in TYPED:
            os.write(terminal, typed.encode() + b"\t")
            time.sleep(0.3)  # Enter within the completion would be taken for typing ahead
            os.write(terminal, b"\n")
            words = [*typed.split()[1:-1], *(offered or typed.split()[-1:])]
            assert f"GOT:{' '.join(words)}:" in until(terminal, "GOT:[^$]*?:\r[^>]*ready> ")
    finally:
        shell.kill()
        shell.wait()
        os.close(terminal)
        os.close(side)


def until(terminal: int, pattern: str) -> str:
    """What the terminal shows, up to the pattern; a shell that never shows it fails the test."""
    seen = ""
    while not re.search(pattern, seen):
        assert select.select([terminal], [], [], 60.0)[0], f"the shell stopped at {seen[-200:]!r}"
        seen += os.read(terminal, 4096).decode(errors="replace")
    return seen


def test_every_command_and_option_is_known_to_every_script() -> None:
    """Nothing of the parser is left out, in any shell."""
    tree = list(places(parser()))
    assert {"", "/calibrate", "/ledger/new"} <= {place.path for place in tree}
    for shell in SHELLS:
        text = script(shell, parser())
        for place in tree:
            for name, _ in place.commands:
                assert name in text
            for slot in place.options:
                for flag in slot.flags:
                    assert (f"-l {flag[2:]}" if shell == "fish" and flag.startswith("--") else flag.lstrip("-")) in text


def test_odd_texts_stay_quoted() -> None:
    """A help text with quotes, brackets and colons does not end a string in any script."""
    odd = argparse.ArgumentParser(prog="hush")
    odd.add_subparsers().add_parser("one", help="it's one: 'a' [b] \\").add_argument("file", help="it's a file")
    odd.add_argument("--odd", help='it\'s [a: "test"] of \\ $HOME `ls` 100 %%', choices=("a", "b c"))
    for shell, check in (("bash", ["bash", "-n"]), ("zsh", ["zsh", "-n"]), ("fish", ["fish", "--no-execute"])):
        if shutil.which(shell):
            done = subprocess.run(
                [*check, "/dev/stdin"], input=script(shell, odd), text=True, check=False, capture_output=True
            )
            assert (done.returncode, done.stderr) == (0, ""), shell


@pytest.mark.parametrize("shell", SHELLS)
def test_the_command_prints_the_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    assert capsys.readouterr().out == script(shell, parser())


def test_another_shell_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["completion", "bsh"])
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" and "did you mean 'bash'" in err
