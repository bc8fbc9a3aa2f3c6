"""Flower: a client mod that clips an update and adds the client's share, and a strategy that pays for every client
before it asks.

    server                                              client
    configure_train: charge each client's ledger
      refused: tell it to stop, once          ----->    mod: replies "stopped"; the app does not run, nothing is drawn
      paid:    the model                      ----->    app trains; mod clips the update, adds its share on the lattice
    aggregate_train: sum the integers         <-----    whole numbers; no other record leaves the client
      fewer than `honest`: the sum is not opened

Who is protected: a client with its whole update. Against whom: `terms.epsilon("central")` against whoever sees the
sums, the models and the own shares of `colluding` clients, if a secure aggregation protocol carries the integers;
`terms.epsilon("local")` against a server that sees each message. Flower without such a protocol shows the server each
message. Needs the extra `hush[federated]`.
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
from hush.ledger import Ledger, Payment
from hush.sampling.entropy import Entropy

with needs("Flower", "hush.federated.flower", extra="federated"), warnings.catch_warnings():
    warnings.simplefilter("ignore")  # of the packages that Flower loads
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

#: Names in messages.
UPDATE, STOP, STOPPED = "hush-update", "hush-stop", "hush-stopped"
REFUSED = 6  # Flower's code for a mod that cannot go on
_LOG = logging.getLogger("hush.federated")  # the client's own: what went wrong may speak of the data, and stays there


class ShareMod:
    """A Flower client mod: `ClientApp(mods=[ShareMod(terms)])`.

    The update is the model that the app returns less the model that came, over all arrays in order. It is clipped,
    put on the lattice and the client's share is added (`terms.message`). Nothing else that the app returns leaves the
    client: no metrics, no number of examples.
    Messages other than training would go around the protection and are refused, unless their type is named in
    `unprotected`.

    ledger: the client's own ledger, or a function of Flower's Context that gives it; it is charged before the draw,
    for `view` ("local": what this message alone tells), and "budget refused" is all that the server gets then. A
    client that has one need not trust the server's book-keeping.

    Whatever goes wrong from training on, the server gets one of three constant texts; the cause goes to the client's
    log "hush.federated".
    """

    def __init__(
        self,
        terms: Terms,
        *,
        ledger: Ledger | Callable[[Context], Ledger] | None = None,
        view: str = "local",
        unprotected: Iterable[str] = (),
        entropy: Entropy | None = None,
    ) -> None:
        self._terms, self._ledger, self._view = terms, ledger, one_of("view", view, ("central", "local"))
        self._unprotected, self._entropy = frozenset(unprotected), entropy

    def __call__(self, msg: Message, ctxt: Context, call_next: Callable[[Message, Context], Message]) -> Message:
        if _asked_to_stop(msg):
            return Message(RecordDict({STOPPED: ConfigRecord({"reason": "budget"})}), reply_to=msg)
        kind = msg.metadata.message_type
        if kind.split(".")[0] != MessageType.TRAIN:
            return (
                call_next(msg, ctxt)
                if kind in self._unprotected
                else _refusal(msg, f"{kind} messages are not protected by this client")
            )
        words, doing = None, "training failed"
        try:
            out = call_next(msg, ctxt)
            if not out.has_error():
                doing = "update refused"
                update = _flat(_arrays(out)) - _flat(_arrays(msg))
                self._terms.on_lattice(update)  # its shape is checked before anything is spent
                doing = "budget refused"
                payment = self._paid(ctxt)
                doing = "update refused"
                words = self._terms.message(update, payment, entropy=self._entropy)
        except Exception:  # any of them may quote the data, and Flower would send it
            _LOG.exception("hush: %s", doing)
        if words is None:
            return _refusal(msg, doing)
        record = RecordDict(
            {UPDATE: ArrayRecord({"steps": Array(words)}), "metrics": MetricRecord({"num-examples": 1})}
        )
        return Message(record, reply_to=msg)

    def _paid(self, ctxt: Context) -> Payment:
        """Charged to the client's own ledger; without one the server's book-keeping is trusted, and the payment is
        unaccounted.
        """
        own = self._ledger if self._ledger is None or isinstance(self._ledger, Ledger) else self._ledger(ctxt)
        return self._terms.pay(own, view=self._view, label=f"run {ctxt.run_id}")


def _refusal(msg: Message, reason: str) -> Message:
    return Message(Error(code=REFUSED, reason=f"hush: {reason}"), reply_to=msg)


def _asked_to_stop(msg: Message) -> bool:
    return msg.has_content() and any(STOP in record for record in msg.content.config_records.values())


def _arrays(msg: Message) -> list[Any]:
    records = list(msg.content.array_records.values())
    if len(records) != 1:
        raise InvalidParameter(f"a training message must hold one ArrayRecord, the model; it holds {len(records)}.")
    return list(records[0].to_numpy_ndarrays())


def _flat(arrays: list[Any]) -> Any:
    return np.concatenate([np.asarray(array, dtype=np.float64).ravel() for array in arrays])


class ShareStrategy(FedAvg):
    """Federated averaging of shares, with a budget for every client: `ShareStrategy(terms, Budgets(folder, epsilon=,
    delta=), view=)`.

    Each client's ledger is charged before the client is asked. view: "central" if a secure aggregation protocol
    carries the messages, "local" if the server sees each of them, as Flower's plain messages show it. A client whose
    budget is used up is told to stop once and not asked again. A round with fewer answers than `terms.share.honest`
    plus `colluding`, the clients that may be on the server's side, is not opened: its sum would hold less noise than
    was paid for; where fewer than that can pay, nobody is charged or asked.

    client: names the ledger of a node. Budgets in a folder need it: a node that is started anew has a new number, and
    by that a new budget.
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
                "client must name the ledger of a node when budgets are kept in a folder: a node that is started anew has a new number and "
                "would get a new budget; write client=lambda node: names[node]."
            )
        super().__init__(
            **{"fraction_evaluate": 0.0, "min_train_nodes": 1, "min_available_nodes": self._needed} | options
        )
        self.terms, self.budgets, self.view = terms, budgets, one_of("view", view, ("central", "local"))
        self._client: Callable[[int], str] = client or str
        self._slip = terms.slip(rounds=1, view=view, epsilon=budgets.epsilon)
        try:
            budgets.fresh().spend(terms.charges(view), extra_delta=self._slip)
        except (BudgetExceeded, InvalidParameter, Unsupported) as refused:
            raise InvalidParameter(
                f"no client can ever pay for a round in the {view} view, so none would be asked: {refused}"
            ) from refused
        self._told: set[int] = set()
        self._model: ArrayRecord | None = None
        #: (round, clients paid for, answers, was the sum opened?)
        self.history: list[tuple[int, int, int, bool]] = []
        self._paid = 0

    def configure_train(
        self, server_round: int, arrays: ArrayRecord, config: ConfigRecord, grid: Grid
    ) -> Iterable[Message]:
        """Count who can pay; if they are enough, charge, then ask. Those that cannot pay are told to stop."""
        self._model, out, self._paid = arrays, [], 0
        charges, label = self.terms.charges(self.view), f"round {server_round}"
        messages = list(super().configure_train(server_round, arrays, config, grid))
        named = [
            (message, message.metadata.dst_node_id, self._client(message.metadata.dst_node_id)) for message in messages
        ]
        able = [self.budgets.covers(client, charges, extra_delta=self._slip) for _, _, client in named]
        enough = sum(able) >= self._needed
        for (message, node, client), can in zip(named, able, strict=True):
            if can and not enough:
                continue  # it keeps its budget: the sum could not be opened
            if self.budgets.charge(client, charges, label=label, extra_delta=self._slip):
                out.append(message)
                self._paid += 1
            elif node not in self._told:
                self._told.add(node)
                notice = RecordDict({"config": ConfigRecord({STOP: self.budgets.reason(client)})})
                out.append(Message(notice, dst_node_id=node, message_type=MessageType.TRAIN))
        return out

    def aggregate_train(
        self, server_round: int, replies: Iterable[Message]
    ) -> tuple[ArrayRecord | None, MetricRecord | None]:
        """The model plus the mean update, cut to what clipped clients can have sent; unchanged where too few
        answered.
        """
        messages = [words for reply in replies if (words := _words(reply, self.terms.coordinates)) is not None]
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


def _words(reply: Message, coordinates: int) -> Any:
    """A client's whole numbers; None for errors, for clients that stopped, and for anything malformed."""
    if reply.has_error() or UPDATE not in reply.content.array_records:
        return None
    found = reply.content.array_records[UPDATE].to_numpy_ndarrays()
    good = len(found) == 1 and found[0].dtype == np.int64 and found[0].shape == (coordinates,)
    return found[0] if good else None
