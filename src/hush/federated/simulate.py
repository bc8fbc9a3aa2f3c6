"""A Flower federation in one process: real apps and Flower's own serialisation, without Ray and without a network.

It is for examples and tests. Each client has its own context, which is kept over the rounds. Server and client
exchange bytes only.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable
from typing import Any
from uuid import uuid4

from hush.errors import needs, whole

with needs("Flower", "hush.federated.simulate", extra="federated"), warnings.catch_warnings():
    warnings.simplefilter("ignore")  # importing Flower raises warnings of other packages
    from flwr.app import Context, Error, Message, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.common.serde import message_from_proto, message_to_proto
    from flwr.proto.message_pb2 import Message as ProtoMessage
    from flwr.serverapp import Grid, ServerApp
    from flwr.supercore.run import Run

__all__ = ["Rehearsal", "rehearse"]

_RAISED = 2  # Flower's error code for an app that raised an exception


class Rehearsal(Grid):
    """A grid whose clients, numbered from 1, run in this process.

    `away(node, turn)` is True for clients that do not answer the turn-th call of the server, counted from 1. `sent`
    keeps all replies as bytes, so that a test can inspect everything that left a client.
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
        """Run each message's client now and keep the replies for `pull_messages`."""
        self._turn += 1
        names = []
        for message in messages:
            message.metadata.__dict__["_message_id"] = name = str(uuid4())
            names.append(name)
            node = message.metadata.dst_node_id
            if self._away is None or not self._away(node, self._turn):
                self._answers[name] = self._reply(node, message_to_proto(message).SerializeToString())
        return names

    def _reply(self, node: int, received: bytes) -> Message:
        message = message_from_proto(ProtoMessage.FromString(received))
        try:
            reply = self._app(message, self._contexts[node])
        except Exception as failure:  # Flower's runtimes do the same
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
    """Run a server app with `clients` copies of a client app and return the grid for inspection.

    `config` is the configuration of the run.
    """
    grid = Rehearsal(client, clients, away=away)
    server(grid, Context(1, 0, {}, RecordDict(), config or {}))
    return grid


def _identify() -> None:
    """Set the identity of this process, as Flower's runtimes do; new versions need it to create a message."""
    try:
        from flwr.supercore.task_identity import TaskIdentity
    except ImportError:
        return
    TaskIdentity.task_id, TaskIdentity.run_id, TaskIdentity.node_id = 1, 1, 1
