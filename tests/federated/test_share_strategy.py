"""ShareStrategy: which budgets it accepts, and when nobody is charged."""

from __future__ import annotations

import os

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
from hush.federated.simulate import rehearse


def test_a_folder_of_budgets_needs_names(tmp_path):
    """A node that is started anew has a new number: by default it would have a new budget."""
    terms = agree(2.0, 1.0, 3, 3, rounds=1, delta=0.0)
    kept = Budgets(tmp_path, epsilon=2.0, delta=1e-9)
    with pytest.raises(hush.InvalidParameter, match="new number"):
        ShareStrategy(terms, kept, view="central")
    ShareStrategy(terms, kept, view="central", client=lambda node: f"ward-{node}")
    ShareStrategy(terms, Budgets(None, epsilon=2.0, delta=1e-9), view="central")


def test_the_view_is_said():
    with pytest.raises(TypeError, match="view"):
        ShareStrategy(agree(2.0, 1.0, 3, 3, rounds=1, delta=0.0), Budgets(None, epsilon=2.0, delta=1e-9))


@pytest.mark.parametrize(("view", "epsilon", "delta"), [("central", 2.0, 0.0), ("local", 2.0, 1e-9)])
def test_a_budget_that_can_never_pay_is_refused_at_once(view, epsilon, delta):
    terms = agree(2.0, 1.0, 3, 3, rounds=1, delta=0.0)
    assert terms.extra_delta() > 0.0 and terms.epsilon("local", 0.0, rounds=1) > 2.0
    with pytest.raises(hush.InvalidParameter, match=f"no client can ever pay for a round in the {view} view"):
        ShareStrategy(terms, Budgets(None, epsilon=epsilon, delta=delta), view=view)


def test_nobody_pays_for_a_round_that_cannot_be_opened():
    """Two of four have spent everything before, three are needed: the two others keep what they have, and no app
    runs.
    """
    terms, ran = agree(2.0, 1.0, 3, 4, rounds=1, honest=3, delta=0.0), []
    budgets = Budgets(None, epsilon=2.0, delta=1e-9)
    for node in (1, 2):
        assert budgets.charge(str(node), terms.charges("central"))
    strategy, server = ShareStrategy(terms, budgets, view="central"), ServerApp()
    app = ClientApp(mods=[ShareMod(terms, view="central")])

    @app.train()
    def train(msg: Message, context: object) -> Message:
        ran.append(1)
        return Message(RecordDict({"arrays": ArrayRecord([np.zeros(3)])}), reply_to=msg)

    @server.main()
    def main(grid: object, context: object) -> None:
        strategy.start(grid, ArrayRecord([np.zeros(3)]), num_rounds=2)

    rehearse(server, app, 4)
    assert ran == [] and [row[1:] for row in strategy.history] == [(0, 0, False)] * 2
    assert all(budgets.ledger(str(node)).entries == () for node in (3, 4))
    assert sorted(budgets.stopped) == ["1", "2"]
