"""`hush completion`: each shell gets a script that names the commands, options and families."""

from __future__ import annotations

import json
import shutil
import subprocess

import pytest

from hush.cli import main, parser
from hush.cli.completion import SHELLS, script


@pytest.mark.parametrize("shell", SHELLS)
def test_the_script_names_commands_options_and_families(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["completion", shell]) == 0
    made = capsys.readouterr().out
    for word in ("calibrate", "answer", "ledger", "doctor", "--family", "flipped_huber", "nonadaptive"):
        assert word in made
    assert main(["completion", shell, "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["script"].strip() == made.strip()


def test_the_words_are_those_of_each_command() -> None:
    """`hush answer --family` does not offer "optimal", which it rejects; `hush calibrate --family` does."""
    made = script("bash", parser())
    lines = {line.split("=")[0]: line for line in made.splitlines() if "_family_choices" in line}
    answer, calibrate = (lines[f"_shtab_hush_{name}___family_choices"] for name in ("answer", "calibrate"))
    assert "optimal" in calibrate and "optimal" not in answer


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
def test_bash_accepts_the_script() -> None:
    done = subprocess.run(["bash", "--norc", "-n"], input=script("bash", parser()), text=True, capture_output=True)
    assert done.returncode == 0 and done.stderr == ""


def test_other_shells_are_rejected(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["completion", "fish"])
    assert "write one of bash, zsh, tcsh" in capsys.readouterr().err
