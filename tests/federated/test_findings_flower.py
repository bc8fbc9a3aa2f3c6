"""What a hostile review found in the Flower mod and strategy: each finding is a test that failed before it was
mended.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

import numpy as np
import pytest

import hush
from hush.federated import Budgets, agree

pytest.importorskip("flwr", reason="Flower is not installed: pip install 'hush[federated]'")
os.environ["FLWR_TELEMETRY_ENABLED"] = "0"  # tests use no network

from flwr.app import ArrayRecord, Message, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import ServerApp

from hush.federated.flower import ShareMod, ShareStrategy
from hush.federated.simulate import Rehearsal, rehearse

SECRET = "patient-4711"
CONSTANT = {"hush: training failed", "hush: update refused", "hush: budget refused"}


def client(returned: Callable[[Message], object], **options: object) -> ClientApp:
    app = ClientApp(mods=[ShareMod(agree(1.0, 1.0, 3, 2, rounds=1), **options)])

    @app.train()
    def train(msg: Message, context: object) -> Message:
        return returned(msg)

    return app


def asked(app: ClientApp) -> tuple[Message, bytes]:
    grid = Rehearsal(app, 1)
    message = Message(RecordDict({"arrays": ArrayRecord([np.zeros(3)])}), dst_node_id=1, message_type="train")
    reply = next(iter(grid.send_and_receive([message])))
    return reply, grid.sent[0][2]


def _model(array: np.ndarray) -> Callable[[Message], Message]:
    return lambda msg: Message(RecordDict({"arrays": ArrayRecord([array])}), reply_to=msg)


def _raises(msg: Message) -> Message:
    raise RuntimeError(SECRET)


@pytest.mark.parametrize(
    "returned",
    [
        _model(np.array([SECRET, "b", "c"])),
        _model(np.full((4, 711), 1.0)),
        _model(np.zeros(2)),
        _model(np.array([])),
        _model(np.array([1.0, 2.0, 4711.0 + 1.0j])),
        lambda msg: Message(RecordDict({}), reply_to=msg),
        lambda msg: None,
        lambda msg: SECRET,
        _raises,
    ],
)
def test_nothing_of_what_went_wrong_leaves_a_client(returned, caplog):
    with caplog.at_level(logging.ERROR, logger="hush.federated"):
        reply, data = asked(client(returned))
    assert reply.has_error() and reply.error.reason in CONSTANT
    assert SECRET.encode() not in data and b"711" not in data
    assert caplog.records  # the cause is in the client's own log


def test_a_refusing_ledger_of_a_client_says_only_that(caplog):
    def broken(context: object) -> hush.Ledger:
        raise RuntimeError(SECRET)

    small = hush.Ledger(None, epsilon=1e-3, delta=1e-9)
    for ledger in (broken, small):
        reply, data = asked(client(_model(np.full(3, 0.1)), ledger=ledger))
        assert reply.error.reason == "hush: budget refused" and SECRET.encode() not in data
    assert small.entries == ()


def test_a_folder_of_budgets_needs_names(tmp_path):
    """A node that is started anew has a new number: by default it would have a new budget."""
    terms = agree(2.0, 1.0, 3, 3, rounds=1)
    kept = Budgets(tmp_path, epsilon=2.0, delta=1e-9)
    with pytest.raises(hush.InvalidParameter, match="new number"):
        ShareStrategy(terms, kept, view="central")
    ShareStrategy(terms, kept, view="central", client=lambda node: f"ward-{node}")
    ShareStrategy(terms, Budgets(None, epsilon=2.0, delta=1e-9), view="central")


def test_the_view_is_said():
    with pytest.raises(TypeError, match="view"):
        ShareStrategy(agree(2.0, 1.0, 3, 3, rounds=1), Budgets(None, epsilon=2.0, delta=1e-9))


@pytest.mark.parametrize(("view", "epsilon", "delta"), [("central", 2.0, 0.0), ("local", 2.0, 1e-9)])
def test_a_budget_that_can_never_pay_is_refused_at_once(view, epsilon, delta):
    terms = agree(2.0, 1.0, 3, 3, rounds=1)
    assert terms.slip() > 0.0 and terms.epsilon("local", rounds=1) > 2.0
    with pytest.raises(hush.InvalidParameter, match=f"no client can ever pay for a round in the {view} view"):
        ShareStrategy(terms, Budgets(None, epsilon=epsilon, delta=delta), view=view)


def test_nobody_pays_for_a_round_that_cannot_be_opened():
    """Two of four have spent everything before, three are needed: the two others keep what they have, and no app
    runs.
    """
    terms, ran = agree(2.0, 1.0, 3, 4, rounds=1, honest=3), []
    budgets = Budgets(None, epsilon=2.0, delta=1e-9)
    for node in (1, 2):
        assert budgets.charge(str(node), terms.charges("central"))
    strategy, server = ShareStrategy(terms, budgets, view="central"), ServerApp()
    app = ClientApp(mods=[ShareMod(terms)])

    @app.train()
    def train(msg: Message, context: object) -> Message:
        ran.append(1)
        return _model(np.zeros(3))(msg)

    @server.main()
    def main(grid: object, context: object) -> None:
        strategy.start(grid, ArrayRecord([np.zeros(3)]), num_rounds=2)

    rehearse(server, app, 4)
    assert ran == [] and [row[1:] for row in strategy.history] == [(0, 0, False)] * 2
    assert all(budgets.ledger(str(node)).entries == () for node in (3, 4))
    assert sorted(budgets.stopped) == ["1", "2"]
