"""Flower: a client mod that clips the update and adds a share of the noise, and a strategy that charges clients first.

    server                                              client
    configure_train: charge each client's ledger
      refused: send "stop" once               ----->    mod: replies "stopped"; the app does not run, nothing is drawn
      paid:    send the model                 ----->    app trains; mod clips the update, adds its share on the lattice
    aggregate_train: sum the integers         <-----    integers; no other record leaves the client
      fewer than `honest`: discard the sum

One client with its whole update is protected. `terms.epsilon("central", delta)` holds against an observer who
sees the sums, the models and the shares of `colluding` clients, if a secure aggregation protocol carries the integers.
`terms.epsilon("local", delta)` holds against a server that sees each message; Flower without such a protocol shows the
server each message. This module needs the extra `hush[federated]`.
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from hush.errors import BudgetExceeded, InvalidParameter, Unsupported, needs, one_of, reject, whole
from hush.federated.budget import Budgets
from hush.federated.protocol import Terms
from hush.ledger import Access, Ledger, Payment
from hush.sampling.entropy import Entropy

with needs("Flower", "hush.federated.flower", extra="federated"), warnings.catch_warnings():
    warnings.simplefilter("ignore")  # packages that Flower imports warn
    from flwr.app import (
        Array,
        ArrayRecord,
        ConfigRecord,
        Context,
        Error,
        Message,
        MessageType,
        MetricRecord,
        RecordDict,
    )
    from flwr.serverapp import Grid
    from flwr.serverapp.strategy import FedAvg

__all__ = ["ShareMod", "ShareStrategy"]

#: Names of records in messages.
UPDATE, STOP, STOPPED = "hush-update", "hush-stop", "hush-stopped"
ANSWERS = "hush-answers"  # in the state of a client
REFUSED = 6  # Flower's error code for a mod that fails
_LOG = logging.getLogger("hush.federated")  # the client's log: errors can quote the data, so they stay on the client


class ShareMod:
    """A Flower client mod: `ClientApp(mods=[ShareMod(terms, view="central")])`.

    The update is the model that the app returns minus the model that it received, over all arrays in order. The mod
    clips it, rounds it to the lattice and adds the client's share (`terms.message`). Nothing else that the app returns
    leaves the client: no metrics, no number of examples.
    Messages other than training messages would not be protected. They are refused, unless `unprotected` names their
    type.

    A client answers `terms.rounds` training messages of a run and no more: it counts them in the state of its Flower
    context, before the draw. After that the server receives "budget refused", whatever it asks.
    view: what is seen of this message: "central" if a secure aggregation protocol carries it, "local" if the server
    sees it alone. "local" needs `ledger`, because then the server is the one to be guarded against.
    ledger: the client's ledger, or a function that returns it for a Flower Context. It is charged before the draw, for
    `view`, and holds over all runs. A client with a ledger does not need to trust the server's accounting.

    If anything fails after training starts, the server receives one of three constant texts; the cause is written to
    the client's log "hush.federated".
    """

    def __init__(
        self,
        terms: Terms,
        *,
        view: str,
        ledger: Ledger | Callable[[Context], Ledger] | None = None,
        unprotected: Iterable[str] = (),
        entropy: Entropy | None = None,
    ) -> None:
        self._terms, self._ledger, self._view = terms, ledger, one_of("view", view, ("central", "local"))
        if self._view == "local" and ledger is None:
            raise InvalidParameter(
                "view='local' needs the client's own ledger, because the server sees each message; "
                "write ledger=hush.Ledger('mine.ledger', epsilon=8, delta=1e-6)."
            )
        self._unprotected, self._entropy = frozenset(unprotected), entropy

    def __call__(self, msg: Message, ctxt: Context, call_next: Callable[[Message, Context], Message]) -> Message:
        if _is_stop(msg):
            return Message(RecordDict({STOPPED: ConfigRecord({"reason": "budget"})}), reply_to=msg)
        kind = msg.metadata.message_type
        if kind.split(".")[0] != MessageType.TRAIN:
            return (
                call_next(msg, ctxt)
                if kind in self._unprotected
                else _refusal(msg, f"{kind} messages are not protected by this client")
            )
        steps, problem = None, "training failed"
        try:
            out = call_next(msg, ctxt)
            if not out.has_error():
                problem = "update refused"
                update = _flat(_arrays(out)) - _flat(_arrays(msg))
                self._terms.on_lattice(update)  # checks the shape before anything is spent
                problem = "budget refused"
                payment = self._paid(ctxt)
                problem = "update refused"
                steps = self._terms.message(update, payment, entropy=self._entropy)
        except Exception:  # any error text may quote the data, and Flower would send it
            _LOG.exception("hush: %s", problem)
        if steps is None:
            return _refusal(msg, problem)
        record = RecordDict(
            {UPDATE: ArrayRecord({"steps": Array(steps)}), "metrics": MetricRecord({"num-examples": 1})}
        )
        return Message(record, reply_to=msg)

    def _paid(self, ctxt: Context) -> Payment:
        """A payment from the client's ledger; without one it is unaccounted. The answer is counted first."""
        answered = _answers(ctxt)
        if answered >= self._terms.rounds:
            raise BudgetExceeded(f"this client has answered the {self._terms.rounds} rounds of its terms.")
        ctxt.state[ANSWERS] = ConfigRecord({"count": answered + 1})
        own = self._ledger if self._ledger is None or isinstance(self._ledger, Ledger) else self._ledger(ctxt)
        return self._terms.pay(own, view=self._view, label=f"run {ctxt.run_id}")


def _answers(ctxt: Context) -> int:
    """How many training messages the client has answered in this run."""
    kept = ctxt.state.config_records.get(ANSWERS)
    return 0 if kept is None else int(kept["count"])  # type: ignore[arg-type]


def _refusal(msg: Message, reason: str) -> Message:
    return Message(Error(code=REFUSED, reason=f"hush: {reason}"), reply_to=msg)


def _is_stop(msg: Message) -> bool:
    return msg.has_content() and any(STOP in record for record in msg.content.config_records.values())


def _arrays(msg: Message) -> list[Any]:
    records = list(msg.content.array_records.values())
    if len(records) != 1:
        raise InvalidParameter(f"a training message must hold one ArrayRecord, the model; got {len(records)} of them.")
    return list(records[0].to_numpy_ndarrays())


def _flat(arrays: list[Any]) -> Any:
    return np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in arrays])


class ShareStrategy(FedAvg):
    """Federated averaging with shares of noise and a budget for every client.

    Write ShareStrategy(terms, Budgets(folder, epsilon=, delta=), view=). Each client's ledger is charged before the
    model is sent to the client. A client whose budget is used up receives one stop message and no further messages. If
    a round has fewer answers than `terms.share.honest` plus `colluding`, the number of clients that may collude with
    the server, its sum is discarded: it would contain less noise than was paid for. If fewer clients than that can
    pay, no client is charged and no model is sent.

    view: "central" if a secure aggregation protocol carries the messages, "local" if the server sees each of them, as
    with Flower's normal messages.
    client: a function from a node's number to the name of its ledger. Budgets in a folder need it: a node that is
    restarted has a new number and would get a new budget.
    """

    def __init__(
        self,
        terms: Terms,
        budgets: Budgets,
        *,
        view: str,
        colluding: int = 0,
        client: Callable[[int], str] | None = None,
        **options: Any,
    ) -> None:
        self._needed = terms.share.honest + whole("colluding", colluding, 0)
        if self._needed > terms.share.parties:
            raise reject(
                "colluding", colluding, f"at most parties - honest = {terms.share.parties - terms.share.honest}"
            )
        if client is None and budgets.folder is not None:
            raise InvalidParameter(
                "client must be a function that gives the name of a node's ledger if budgets are kept in a folder: a "
                "restarted node has a new number and would get a new budget; write client=lambda node: names[node]."
            )
        super().__init__(
            **{"fraction_evaluate": 0.0, "min_train_nodes": 1, "min_available_nodes": self._needed} | options
        )
        self.terms, self.budgets, self.view = terms, budgets, one_of("view", view, ("central", "local"))
        self._client: Callable[[int], str] = client or str
        self._extra_delta = terms.extra_delta(rounds=1, view=view, epsilon=budgets.epsilon)
        try:
            Access(budgets.fresh()).pay("", terms.charges(view), extra_delta=self._extra_delta)
        except (BudgetExceeded, InvalidParameter, Unsupported) as refused:
            raise InvalidParameter(
                f"no client can ever pay for a round in the {view} view with these budgets: {refused}"
            ) from refused
        self._stopped: set[int] = set()  # nodes that were sent a stop message
        self._model: ArrayRecord | None = None
        #: for each round: (number, clients that were charged, answers, whether the sum was used)
        self.history: list[tuple[int, int, int, bool]] = []
        self._paid = 0

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Charge the clients that can pay and send them the model, if they are enough; send "stop" to the others."""
        self._model, out, self._paid = arrays, [], 0
        charges, label = self.terms.charges(self.view), f"round {server_round}"
        messages = list(super().configure_train(server_round, arrays, config, grid))
        named = [
            (message, message.metadata.dst_node_id, self._client(message.metadata.dst_node_id)) for message in messages
        ]
        able = [self.budgets.covers(client, charges, extra_delta=self._extra_delta) for _, _, client in named]
        enough = sum(able) >= self._needed
        for (message, node, client), can in zip(named, able, strict=True):
            if can and not enough:
                continue  # too few clients can pay, so the sum could not be used: keep this client's budget
            if self.budgets.charge(client, charges, label=label, extra_delta=self._extra_delta):
                out.append(message)
                self._paid += 1
            elif node not in self._stopped:
                self._stopped.add(node)
                notice = RecordDict({"config": ConfigRecord({STOP: self.budgets.reason(client)})})
                out.append(Message(notice, dst_node_id=node, message_type=MessageType.TRAIN))
        return out

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The model plus the mean update, projected to the set of possible updates; None if too few answered."""
        messages = [steps for reply in replies if (steps := _steps(reply, self.terms.coordinates)) is not None]
        opened = len(messages) >= self._needed
        self.history.append((server_round, self._paid, len(messages), opened))
        if not opened or self._model is None:
            return None, None
        update, start, fresh = self.terms.possible(self.terms.mean_update(messages)), 0, {}
        for name, array in zip(self._model.keys(), self._model.to_numpy_ndarrays(), strict=True):
            part = update[start : start + array.size].reshape(array.shape)
            fresh[name] = Array((array + part).astype(array.dtype))
            start += array.size
        return ArrayRecord(fresh), MetricRecord({"answers": len(messages)})


def _steps(reply: Message, coordinates: int) -> Any:
    """The integers that a client sent; None for errors, for stopped clients, and for malformed replies."""
    if reply.has_error() or UPDATE not in reply.content.array_records:
        return None
    found = reply.content.array_records[UPDATE].to_numpy_ndarrays()
    good = len(found) == 1 and found[0].dtype == np.int64 and found[0].shape == (coordinates,)
    return found[0] if good else None
