"""Killed at random in the middle of releases, the ledger never holds less than what came out."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time

import pytest
from effort import examples

from hush import Ledger

WORKER = """
import os, sys
import hush
book, out = hush.Ledger(sys.argv[1]), os.open(sys.argv[2], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
plan = hush.calibrate(0.01, 0.0, hush.Sensitivity(linf=1.0, l0=1), family="laplace")
while True:
    answer = hush.release([3, 5, 8], plan, ledger=book)
    os.write(out, f"{answer.receipt['ledger']['number']} {answer.value[0]}\\n".encode())
    os.fsync(out)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="this system has no SIGKILL")
def test_releases_killed_at_random(tmp_path):
    """Each worker is killed at a moment of its own choosing by chance; spent >= released, the file opens, verify
    passes.
    """
    path, out = tmp_path / "killed.ledger", tmp_path / "released"
    Ledger(path, epsilon=100.0, delta=0.0).close()
    out.touch()
    rng, kills = random.Random(8), 0
    while len(out.read_text().splitlines()) < examples(60, 200) or kills < 4:
        before = len(out.read_text().splitlines())
        worker = subprocess.Popen(
            [sys.executable, "-c", WORKER, str(path), str(out)],
            env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        )
        while len(out.read_text().splitlines()) == before and worker.poll() is None:
            time.sleep(0.01)  # importing takes longer than releasing: wait for the first one
        assert worker.poll() is None
        time.sleep(rng.random() * 0.3)
        worker.send_signal(signal.SIGKILL)
        worker.wait()
        kills += 1
        with Ledger(path) as book:
            book.verify()
            entries = {entry.number for entry in book.entries}
        numbers = [int(line.split()[0]) for line in out.read_text().splitlines()]
        assert len(numbers) == len(set(numbers)) and set(numbers) <= entries
    assert kills >= 4
