"""ShareMod: when something fails on a client, only constant texts leave it."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable

import numpy as np
import pytest

import hush
from hush.federated import agree

pytest.importorskip("flwr", reason="Flower is not installed: pip install 'hush[federated]'")
os.environ["FLWR_TELEMETRY_ENABLED"] = "0"  # tests use no network

from flwr.app import ArrayRecord, Message, RecordDict
from flwr.clientapp import ClientApp

from hush.federated.flower import ShareMod
from hush.federated.simulate import Rehearsal

SECRET = "patient-4711"


CONSTANT = {"hush: training failed", "hush: update refused", "hush: budget refused"}


def client(returned: Callable[[Message], object], **options: object) -> ClientApp:
    app = ClientApp(mods=[ShareMod(agree(1.0, 1.0, 3, 2, rounds=1, delta=0.0), **({"view": "central"} | options))])

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
        _model(np.array([1.0, 2.0, 47114711.0 + 1.0j])),
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
    assert SECRET.encode() not in data and b"7114711" not in data  # ids of messages are random
    assert caplog.records  # the cause is in the client's own log


def test_a_refusing_ledger_of_a_client_says_only_that(caplog):
    def broken(context: object) -> hush.Ledger:
        raise RuntimeError(SECRET)

    small = hush.Ledger(None, epsilon=1e-3, delta=1e-9)
    for ledger in (broken, small):
        reply, data = asked(client(_model(np.full(3, 0.1)), ledger=ledger, view="local"))
        assert reply.error.reason == "hush: budget refused" and SECRET.encode() not in data
    assert small.entries == ()


def test_a_client_answers_the_rounds_of_its_terms_and_no_more():
    """A server that asks again and again gets two answers for two rounds, and one constant text after that. A new run
    starts with a new state: over all runs a ledger holds.
    """
    terms = agree(4.0, 1.0, 3, 5, rounds=2, delta=0.0, honest=4)
    app = ClientApp(mods=[ShareMod(terms, view="central")])

    @app.train()
    def train(msg: Message, context: object) -> Message:
        return Message(RecordDict({"arrays": ArrayRecord([np.array([0.3, -0.2, 0.1])])}), reply_to=msg)

    grid = Rehearsal(app, 1)
    replies = []
    for _ in range(5):
        ask = Message(RecordDict({"arrays": ArrayRecord([np.zeros(3)])}), dst_node_id=1, message_type="train")
        replies += grid.send_and_receive([ask])
    assert [reply.has_error() for reply in replies] == [False, False, True, True, True]
    assert {reply.error.reason for reply in replies[2:]} == {"hush: budget refused"}


def test_a_server_that_sees_each_message_is_not_trusted_with_the_budget():
    terms = agree(4.0, 1.0, 3, 5, rounds=2, delta=0.0)
    with pytest.raises(hush.InvalidParameter, match=r"view='local' needs the client's own ledger.*ledger=hush\.Ledger"):
        ShareMod(terms, view="local")
    with pytest.raises(hush.InvalidParameter, match="view"):
        ShareMod(terms, view="server")
