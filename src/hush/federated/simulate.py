"""A Flower federation in one process: real apps, real messages through Flower's own serialisation, no Ray and no
network.

For examples and tests. Each client has a context of its own that lasts over the rounds; what crosses between server
and client are bytes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

from hush.errors import needs, whole

with needs("Flower", "hush.federated.simulate", extra="federated"), warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the packages that Flower loads
    from flwr.app import Context, Error, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.common.serde import message_from_proto, message_to_proto
    from flwr.proto.message_pb2 import Message as ProtoMessage
    from flwr.serverapp import Grid, ServerApp
    from flwr.supercore.run import Run

__all__ = ["Rehearsal", "rehearse"]

_RAISED = 2  # Flower's code for an app that raised


class Rehearsal(Grid):
    """A grid whose clients, numbered from 1, live in this process.

    `away(node, turn)` says which clients do not answer the turn-th call of the server; turns count from 1. `sent`
    keeps the replies as bytes, so that a test can look at everything that left a client.
    """

    def __init__(self, app: ClientApp, clients: int, *, away: Callable[[int, int], bool] | None = None) -> None:
        self._app, self._away, self._run, self._turn = app, away, Run.create_empty(run_id=1), 0
        self._contexts = {
            place + 1: Context(1, place + 1, {"partition-id": place, "num-partitions": clients}, RecordDict(), {})
            for place in range(whole("clients", clients))
        }
        self._answers: dict[str, Message] = {}
        _identify()
        self.sent: list[tuple[int, int, bytes]] = []  # (turn, node, reply)

    def set_run(self, run: Run) -> None:
        self._run = run

    @property
    def run(self) -> Run:
        return self._run

    def create_message(
        self, content: RecordDict, message_type: str, dst_node_id: int, group_id: str, ttl: float | None = None
    ) -> Message:
        return Message(content, dst_node_id, message_type, ttl=ttl, group_id=group_id)

    def get_node_ids(self) -> Iterable[int]:
        return list(self._contexts)

    def push_messages(self, messages: Iterable[Message]) -> Iterable[str]:
        """Hand each message to its client now; the replies wait to be pulled."""
        self._turn += 1
        names = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = name = str(uuid4())
            names.append(name)
            node = message.metadata.dst_node_id
            if self._away is None or not self._away(node, self._turn):
                self._answers[name] = self._answered(node, message_to_proto(message).SerializeToString())
        return names

    def _answered(self, node: int, asked: bytes) -> Message:
        message = message_from_proto(ProtoMessage.FromString(asked))
        try:
            reply = self._app(message, self._contexts[node])
        except Exception as failure:  # as Flower's own runtimes do
            reply = Message(Error(code=_RAISED, reason=f"{type(failure).__name__}: {failure}"), reply_to=message)
        reply.metadata.__dict__["_message_id"] = str(uuid4())
        data = message_to_proto(reply).SerializeToString()
        self.sent.append((self._turn, node, data))
        return message_from_proto(ProtoMessage.FromString(data))

    def pull_messages(self, message_ids: Iterable[str]) -> Iterable[Message]:
        return [self._answers.pop(name) for name in message_ids if name in self._answers]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Iterable[Message]:
        return self.pull_messages(self.push_messages(messages))


def rehearse(
    server: ServerApp,
    client: ClientApp,
    clients: int,
    *,
    away: Callable[[int, int], bool] | None = None,
    config: dict[str, Any] | None = None,
) -> Rehearsal:
    """Run a server app against `clients` copies of a client app; `config` is the run's configuration. The grid is
    returned, to look at.
    """
    grid = Rehearsal(client, clients, away=away)
    server(grid, Context(1, 0, {}, RecordDict(), config or {}))
    return grid


def _identify() -> None:
    """New versions of Flower ask the process who it is before it may make a message; its runtimes set this, so does a
    rehearsal.
    """
    try:
        from flwr.supercore.task_identity import TaskIdentity
    except ImportError:
        return
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
