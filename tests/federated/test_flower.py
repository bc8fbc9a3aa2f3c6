"""Real Flower: server and client apps, strategy and mod, over Flower's own messages and serialisation."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import hush
from hush.federated import Budgets, agree
from hush.sampling.entropy import SecureEntropy

pytest.importorskip("flwr", reason="Flower is not installed: pip install 'hush[federated]'")
os.environ["FLWR_TELEMETRY_ENABLED"] = "0"  # tests use no network

from flwr.app import Array, ArrayRecord, ConfigRecord, Context, Message, MetricRecord, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

from hush.federated.flower import UPDATE, ShareMod, ShareStrategy
from hush.federated.simulate import Rehearsal, rehearse

ROOT = Path(__file__).resolve().parents[2]
SECRET = "patient-4711"
SHAPES = {"weights": (2, 2), "bias": (1,)}
PULL = 0.01  # what every client adds to every number


class Watched(SecureEntropy):
    """Secure entropy that counts the draws and calls back at each."""

    def __init__(self, seen=None):
        self.draws, self._seen = 0, seen

    def begin(self):
        self.draws += 1
        if self._seen is not None:
            self._seen()
        return super().begin()


def training(calls: list[int], **options) -> ClientApp:
    """A client app that adds PULL to every number and talks too much."""
    app = ClientApp(mods=[ShareMod(**({"view": "central"} | options))])

    @app.train()
    def train(msg: Message, context: Context) -> Message:
        calls.append(context.node_id)
        arrays = msg.content["arrays"]
        fresh = ArrayRecord({name: Array(array.numpy() + PULL) for name, array in arrays.items()})
        gossip = MetricRecord({"num-examples": 4711, "loss": 0.123}), ConfigRecord({"note": SECRET})
        return Message(RecordDict({"arrays": fresh, "metrics": gossip[0], "config": gossip[1]}), reply_to=msg)

    @app.evaluate()
    def evaluate(msg: Message, context: Context) -> Message:
        calls.append(-context.node_id)
        return Message(RecordDict({"metrics": MetricRecord({"num-examples": 4711, "loss": 0.123})}), reply_to=msg)

    return app


def model() -> ArrayRecord:
    return ArrayRecord({name: Array(np.zeros(shape, dtype=np.float32)) for name, shape in SHAPES.items()})


def federated(
    client: ClientApp, strategy: ShareStrategy, clients: int, rounds: int, *, away=None
) -> tuple[Rehearsal, list]:
    server, models = ServerApp(), []

    @server.main()
    def main(grid, context) -> None:
        strategy.start(
            grid, model(), num_rounds=rounds, evaluate_fn=lambda turn, arrays: models.append(arrays.to_numpy_ndarrays())
        )

    return rehearse(server, client, clients, away=away), models


@pytest.mark.parametrize(("noise", "delta"), [("stable", 0.0), ("gaussian", 1e-5)])
def test_rounds_until_the_budget_is_used_up(tmp_path, noise, delta):
    """Three rounds are paid for; in the fourth every client is told to stop, no app runs and nothing is drawn; then
    nobody is asked.
    """
    terms = agree(2.0, 1.0, 5, 6, rounds=3, delta=delta, honest=5, family=noise)
    calls, entropy = [], Watched()
    budgets = Budgets(tmp_path, epsilon=2.0, delta=1e-5)
    strategy = ShareStrategy(terms, budgets, view="central", client=str)
    grid, models = federated(
        training(calls, terms=terms, entropy=entropy), strategy, 6, 5, away=lambda node, turn: (node, turn) == (2, 3)
    )
    assert strategy.history == [(1, 6, 6, True), (2, 6, 5, True), (3, 6, 6, True), (4, 0, 0, False), (5, 0, 0, False)]
    assert len(calls) == entropy.draws == 17
    told = [(turn, node) for turn, node, data in grid.sent if b"hush-stopped" in data]
    assert len(told) == 6 and len({turn for turn, _ in told}) == 1 and len(grid.sent) == 17 + 6
    assert sorted(budgets.stopped) == [str(node) for node in range(1, 7)]
    assert all(len(budgets.ledger(node).entries) == 3 for node in range(1, 7))
    for old, new in zip(models[3], models[5], strict=True):
        np.testing.assert_array_equal(old, new)  # unchanged after the refusal
    assert [array.shape for array in models[-1]] == list(SHAPES.values()) and models[-1][0].dtype == np.float32
    later = Budgets(tmp_path, epsilon=2.0, delta=1e-5)  # a new run with the same folder
    again = ShareStrategy(terms, later, view="central", client=str)
    federated(training(calls, terms=terms, entropy=entropy), again, 6, 1)
    assert again.history == [(1, 0, 0, False)] and len(calls) == entropy.draws == 17


def test_the_ledger_is_charged_before_any_bit_is_drawn(tmp_path):
    """At every draw all clients of the round have paid for it already, on disk."""
    terms = agree(2.0, 1.0, 5, 3, rounds=2, delta=0.0)
    budgets, seen = Budgets(tmp_path, epsilon=2.0, delta=1e-9), []

    def look() -> None:
        seen.append([len(hush.Ledger(tmp_path / f"{node}.ledger").entries) for node in (1, 2, 3)])

    federated(
        training([], terms=terms, entropy=Watched(look)),
        ShareStrategy(terms, budgets, view="central", client=str),
        3,
        2,
    )
    assert seen == [[1, 1, 1]] * 3 + [[2, 2, 2]] * 3


def test_only_noisy_integers_leave_a_client():
    """No metric, no note and no float of the app is in the bytes; the update is whole numbers, and its mean is right
    within the noise.
    """
    terms = agree(40.0, 1.0, 5, 4, rounds=1, delta=1e-9, family="gaussian")
    strategy = ShareStrategy(terms, Budgets(None, epsilon=40.0, delta=1e-6), view="central")
    grid, models = federated(training([], terms=terms), strategy, 4, 1)
    assert len(grid.sent) == 4
    for _, _, data in grid.sent:
        assert SECRET.encode() not in data and b"loss" not in data
    wide = float(terms.share.total.isf(1e-7)) / 4.0 + terms.step  # ten tails of five numbers
    assert wide < 1.0
    for array in models[1]:
        assert np.abs(array - PULL).max() < wide + 1e-6


def test_updates_are_clipped():
    """An app that returns a huge update moves the sum by the clip at most."""
    terms = agree(500.0, 1.0, 5, 4, rounds=1, delta=1e-9, family="gaussian")
    app = ClientApp(mods=[ShareMod(terms, view="central")])

    @app.train()
    def train(msg: Message, context: Context) -> Message:
        huge = {
            name: Array(np.full(array.shape, 1e30, dtype=np.float32)) for name, array in msg.content["arrays"].items()
        }
        return Message(RecordDict({"arrays": ArrayRecord(huge)}), reply_to=msg)

    _, models = federated(app, ShareStrategy(terms, Budgets(None, epsilon=500.0, delta=1e-6), view="central"), 4, 1)
    moved = np.concatenate([array.ravel() for array in models[1]])
    assert float(np.linalg.norm(moved)) == pytest.approx(1.0, abs=float(terms.share.total.isf(1e-8)) / 4.0 * 5.0**0.5)


def test_too_few_answers_are_not_opened():
    """Two of four vanish and three were planned for: the model stays, and the next round goes on."""
    terms = agree(2.0, 1.0, 5, 4, rounds=2, honest=3, delta=0.0)
    strategy = ShareStrategy(terms, Budgets(None, epsilon=2.0, delta=1e-9), view="central")
    _, models = federated(training([], terms=terms), strategy, 4, 2, away=lambda node, turn: turn == 1 and node > 2)
    assert strategy.history == [(1, 4, 2, False), (2, 4, 4, True)]
    assert all((array == 0.0).all() for array in models[1])
    assert any((array != 0.0).any() for array in models[2])


def test_colluding_clients_do_not_count():
    """One of four may collude and three honest ones are needed: three answers are too few."""
    terms = agree(2.0, 1.0, 5, 4, rounds=2, honest=3, delta=0.0)
    strategy = ShareStrategy(terms, Budgets(None, epsilon=2.0, delta=1e-9), view="central", colluding=1)
    federated(training([], terms=terms), strategy, 4, 2, away=lambda node, turn: turn == 1 and node == 4)
    assert strategy.history == [(1, 4, 3, False), (2, 4, 4, True)]
    with pytest.raises(hush.InvalidParameter, match="colluding"):
        ShareStrategy(terms, Budgets(None, epsilon=2.0, delta=1e-9), view="central", colluding=2)


def _asked(kind: str, app: ClientApp, content: RecordDict | None = None) -> Message:
    grid = Rehearsal(app, 1)
    message = Message(content or RecordDict({"arrays": model()}), dst_node_id=1, message_type=kind)
    return next(iter(grid.send_and_receive([message])))


def test_a_client_can_keep_its_own_ledger():
    """It is charged for its message; when it is used up the server gets an error, and no bit is drawn."""
    terms = agree(1.0, 1.0, 5, 3, rounds=2, delta=0.0)
    own = hush.Ledger(None, epsilon=1.01 * terms.epsilon("local", 0.0, rounds=2), delta=1e-9)
    calls, entropy = [], Watched()
    app = training(calls, terms=terms, entropy=entropy, ledger=lambda context: own, view="local")
    for _ in range(2):
        assert UPDATE in _asked("train", app).content.array_records
    assert (len(own.entries), entropy.draws) == (2, 2)
    refused = _asked("train", app)
    assert refused.has_error() and refused.error.reason == "hush: budget refused"
    assert (len(own.entries), entropy.draws) == (2, 2)


def test_what_is_not_protected_does_not_leave():
    """Evaluation is refused unless it is allowed by name; errors of the app lose their text; odd models are refused
    before spending.
    """
    terms = agree(1.0, 1.0, 5, 3, rounds=1, delta=0.0)
    calls: list[int] = []
    assert "not protected" in _asked("evaluate", training(calls, terms=terms)).error.reason
    assert calls == []
    allowed = _asked("evaluate", training(calls, terms=terms, unprotected=["evaluate"]))
    assert allowed.content.metric_records["metrics"]["loss"] == 0.123
    broken = ClientApp(mods=[ShareMod(terms, view="central")])

    @broken.train()
    def train(msg: Message, context: Context) -> Message:
        raise RuntimeError(SECRET)

    reply = _asked("train", broken)
    assert reply.has_error() and SECRET not in reply.error.reason
    own = hush.Ledger(None, epsilon=100.0, delta=1e-9)
    wrong = training(calls, terms=agree(1.0, 1.0, 7, 3, rounds=1, delta=0.0), ledger=own, view="local")
    assert _asked("train", wrong).error.reason == "hush: update refused"
    assert own.entries == ()


@pytest.mark.exhaustive  # the only test that the script runs; it takes ten seconds
def test_example_runs(table_dir):
    """The example of the README, on the small table: accuracy per round, both epsilons, the ledgers."""
    command = [sys.executable, str(ROOT / "examples" / "flower" / "train.py"), "--table", "heart", "--rounds", "2"]
    environment = os.environ | {"PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [*command, "--data", str(table_dir)], capture_output=True, text=True, env=environment, timeout=300
    )
    assert done.returncode == 0, done.stderr
    for words in (
        "stable shares",
        "gaussian shares",
        "round 3: accuracy",
        "central epsilon 8.000",
        "local epsilon",
        "client-10",
    ):
        assert words in done.stdout
    assert done.stdout.count("stopped") == 20
    missing = subprocess.run(
        [*command, "--data", str(ROOT / "docs")], capture_output=True, text=True, env=environment, timeout=300
    )
    assert missing.returncode == 2 and missing.stderr.count("\n") == 1 and "HUSH_DATA" in missing.stderr
