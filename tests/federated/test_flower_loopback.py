"""A deployed Flower federation on this machine: a SuperLink, three SuperNodes, `flwr run`; every message goes over
loopback.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import hush

pytest.importorskip("flwr", reason="Flower is not installed: pip install 'hush[federated]'")

BIN, SOURCE = Path(sys.executable).parent, Path(hush.__file__).parents[1]
PATIENCE = 240.0  # seconds until a federation that does not answer counts as stuck

FILES = {
    "pyproject.toml": """
[project]
name = "fed"
version = "1.0.0"
description = "shares over loopback"
license = "MIT"
dependencies = ["flwr"]

[tool.flwr.app]
publisher = "hush"

[tool.flwr.app.components]
serverapp = "fed.server:app"
clientapp = "fed.client:app"

[tool.flwr.app.config]
out = ""
""",
    "fed/__init__.py": """
from hush.federated import agree

TERMS = agree(2.0, 1.0, 5, 3, rounds=2, delta=0.0)
""",
    "fed/client.py": """
from flwr.app import ArrayRecord, Message, RecordDict
from flwr.clientapp import ClientApp

from fed import TERMS
from hush.federated.flower import ShareMod

app = ClientApp(mods=[ShareMod(TERMS, view="central")])


@app.train()
def train(msg, context):
    model = msg.content["arrays"].to_numpy_ndarrays()[0]
    return Message(RecordDict({"arrays": ArrayRecord([model + 0.01])}), reply_to=msg)
""",
    "fed/server.py": """
import json
from pathlib import Path

import numpy as np
from flwr.app import ArrayRecord
from flwr.serverapp import ServerApp

from fed import TERMS
from hush.federated import Budgets
from hush.federated.flower import ShareStrategy

app = ServerApp()


@app.main()
def main(grid, context):
    out = Path(context.run_config["out"])
    strategy = ShareStrategy(TERMS, Budgets(out / "ledgers", epsilon=2.0, delta=1e-9), view="central", client=str)
    result = strategy.start(grid, ArrayRecord([np.zeros(5)]), num_rounds=3)
    model = result.arrays.to_numpy_ndarrays()[0].tolist()
    (out / "part").write_text(json.dumps({"history": strategy.history, "model": model}))
    (out / "part").rename(out / "done.json")
""",
}


def free_port() -> int:
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


@contextmanager
def running(command: list[str], log: Path, environment: dict[str, str]) -> Iterator[None]:
    """A process and all that it starts, ended with the block."""
    with log.open("wb") as file:
        process = subprocess.Popen(
            command, stdout=file, stderr=subprocess.STDOUT, env=environment, start_new_session=True
        )
    try:
        yield
    finally:
        os.killpg(process.pid, signal.SIGTERM)
        try:
            process.wait(15.0)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()


def wait_for(what, logs: Path) -> None:
    end = time.monotonic() + PATIENCE
    while not what():
        if time.monotonic() > end:
            pytest.fail("\n".join(f"{log.name}: {log.read_text()[-1500:]}" for log in sorted(logs.glob("*.log"))))
        time.sleep(0.5)


@pytest.mark.exhaustive
def test_two_rounds_over_loopback_and_then_a_refusal(tmp_path):
    """Two rounds are opened, the third is refused for every client, and the ledgers are on disk."""
    app, home = tmp_path / "app", tmp_path / "home"
    for name, text in FILES.items():
        (app / name).parent.mkdir(parents=True, exist_ok=True)
        (app / name).write_text(text.lstrip())
    home.mkdir()
    port = free_port()
    (home / "config.toml").write_text(
        f'[superlink]\ndefault = "loop"\n\n[superlink.loop]\naddress = "127.0.0.1:{port}"\ninsecure = true\n'
    )
    settings = {"FLWR_HOME": str(home), "FLWR_TELEMETRY_ENABLED": "0", "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1"}
    environment = (
        os.environ | settings | {"PYTHONPATH": str(SOURCE), "PATH": f"{BIN}{os.pathsep}{os.environ.get('PATH', '')}"}
    )

    def command(name: str, *options: str) -> list[str]:
        return [str(BIN / name), "--insecure", "--host", "127.0.0.1", *options]

    def listening() -> bool:
        with socket.socket() as one:
            return one.connect_ex(("127.0.0.1", port)) == 0

    with running(
        command("flower-superlink", "--disable-runtime-dependency-installation", "--port", str(port)),
        tmp_path / "link.log",
        environment,
    ):
        wait_for(listening, tmp_path)
        nodes = [
            command("flower-supernode", "--superlink", f"127.0.0.1:{port}", "--port", str(free_port()))
            for _ in range(3)
        ]
        first, second, third = (running(node, tmp_path / f"node{i}.log", environment) for i, node in enumerate(nodes))
        with first, second, third:
            asked = subprocess.run(
                [str(BIN / "flwr"), "run", str(app), "loop", "-c", f'out="{tmp_path}"'],
                capture_output=True,
                text=True,
                env=environment,
            )
            assert asked.returncode == 0, asked.stdout + asked.stderr
            wait_for((tmp_path / "done.json").exists, tmp_path)
    done = json.loads((tmp_path / "done.json").read_text())
    assert done["history"] == [[1, 3, 3, True], [2, 3, 3, True], [3, 0, 0, False]]
    assert any(value != 0.0 for value in done["model"])
    ledgers = [hush.Ledger(path) for path in (tmp_path / "ledgers").glob("*.ledger")]
    assert [len(ledger.entries) for ledger in ledgers] == [2, 2, 2]
    assert all(ledger.left.epsilon < 1e-6 for ledger in ledgers)
