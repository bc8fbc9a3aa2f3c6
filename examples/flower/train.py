"""Logistic regression over ten clients with Flower, each adding its share of the noise: stable shares, then Gaussian
ones.

    python train.py --data FOLDER [--table adult|heart] [--epsilon 8] [--rounds 5]

The unit of privacy is a client with all its rows. Nothing about the data is used to prepare it: features are scaled
by public constants.
"""

from __future__ import annotations

import argparse
import gzip
import logging
import os
import sys
import tempfile
from pathlib import Path

import numpy as np

os.environ.setdefault("FLWR_TELEMETRY_ENABLED", "0")

CLIENTS, HONEST, COLLUDING = (
    10,
    8,
    1,
)  # the plan counts on eight of ten: one may vanish in any round and one collude with the server
CLIP = {"stable": 2.0, "gaussian": 1.0}  # l1 and l2 bounds of one client's update


def adult(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Does a person earn more than 50,000 dollars? Train and test as published (Kohavi 1996)."""

    def read(name: str) -> tuple[np.ndarray, np.ndarray]:
        with gzip.open(folder / name, "rt") as file:
            rows = [[cell.strip() for cell in line.split(",")] for line in file if line.count(",") == 14]
        number = {
            column: np.array([float(row[place]) for row in rows])
            for place, column in ((0, "age"), (4, "school"), (12, "hours"))
        }
        gain, loss = (np.array([float(row[place]) > 0 for row in rows]) for place in (10, 11))
        features = [
            np.ones(len(rows)),
            np.clip((number["age"] - 40) / 20, -1, 1),
            np.clip((number["school"] - 10) / 5, -1, 1),
            np.clip((number["hours"] - 40) / 20, -1, 1),
            gain,
            loss,
            np.array([row[5].startswith("Married") for row in rows]),
            np.array([row[6] in ("Exec-managerial", "Prof-specialty") for row in rows]),
        ]
        return np.stack(features, axis=1).astype(np.float64), np.array([">50K" in row[14] for row in rows])

    return *read("adult.data.gz"), *read("adult.test.gz")


def heart(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Heart disease present? The Statlog table; every fourth row is kept for the test."""
    table = np.loadtxt(folder / "heart.dat")
    x = table[:, :13]
    features = [
        np.ones(len(x)),
        (x[:, 0] - 55) / 15,
        x[:, 1] - 0.5,
        x[:, 2] - 3,
        (x[:, 7] - 150) / 25,
        x[:, 8] - 0.5,
        x[:, 9] - 1,
        x[:, 11] - 0.7,
        (x[:, 12] - 5) / 2,
    ]
    rows, labels, test = np.clip(np.stack(features, axis=1), -2, 2), table[:, 13] == 2, np.arange(len(x)) % 4 == 0
    return rows[~test], labels[~test], rows[test], labels[test]


TABLES = {"adult": (adult, "adult.data.gz"), "heart": (heart, "heart.dat")}


def fitted(start: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Newton steps from the model that came, with a little weight decay: what a client does on its own rows."""
    w = start.copy()
    for _ in range(8):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ w, -30, 30)))
        hessian = (x * (p * (1 - p))[:, None]).T @ x / len(y) + 0.02 * np.eye(w.size)
        w -= np.linalg.solve(hessian, x.T @ (p - y) / len(y) + 0.02 * w)
    return w


def accuracy(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    return float(((x @ w > 0) == y).mean())


def federation(parts: list, test: tuple, noise: str, options: argparse.Namespace, folder: Path) -> None:
    """One federation, printed round by round."""
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp

    from hush.federated import Budgets, agree
    from hush.federated.flower import ShareMod, ShareStrategy
    from hush.federated.simulate import rehearse

    logging.getLogger("flwr").setLevel(logging.ERROR)
    delta = options.delta if noise == "gaussian" else 0.0
    width = parts[0][0].shape[1]
    terms = agree(
        options.epsilon, CLIP[noise], width, CLIENTS, rounds=options.rounds, delta=delta, honest=HONEST, noise=noise
    )
    budgets = Budgets(folder / noise, epsilon=options.epsilon, delta=options.delta)
    names = {
        place + 1: f"client-{place + 1}" for place in range(CLIENTS)
    }  # a rehearsal's nodes; elsewhere names that outlast a restart
    # "central": as if secure aggregation carried the messages; where the server sees each of them, say "local" and
    # budget for it
    strategy = ShareStrategy(terms, budgets, view="central", colluding=COLLUDING, client=lambda node: names[node])
    client, server = ClientApp(mods=[ShareMod(terms)]), ServerApp()

    @client.train()
    def train(msg: Message, context: object) -> Message:
        x, y = parts[context.node_config["partition-id"]]
        model = msg.content["arrays"].to_numpy_ndarrays()[0]
        return Message(RecordDict({"arrays": ArrayRecord([fitted(model, x, y)])}), reply_to=msg)

    def report(turn: int, arrays: ArrayRecord) -> MetricRecord:
        reached = accuracy(arrays.to_numpy_ndarrays()[0], *test)
        asked = f"{strategy.history[-1][2]} of {CLIENTS} clients answered" if strategy.history else "before training"
        print(f"  round {turn}: accuracy {reached:.4f}   {asked}")
        return MetricRecord({"accuracy": reached})

    @server.main()
    def main(grid: object, context: object) -> None:
        strategy.start(grid, ArrayRecord([np.zeros(width)]), num_rounds=options.rounds + 1, evaluate_fn=report)

    print(f"\n{noise} shares: {terms}")
    rehearse(
        server, client, CLIENTS, away=lambda node, turn: node == 3 and turn == 3
    )  # client 3 misses the second round (a turn is a call)
    central, local = terms.epsilon("central", delta), terms.epsilon("local", delta)
    print(f"  after {options.rounds} rounds, delta {delta:g} (+ {terms.slip():.1g} for rounding and overflow):")
    print(f"  central epsilon {central:.3f}: against whoever sees sums and models, with one client on its side")
    print(f"  local epsilon {local:.2f}: against a server that sees each message")
    print("  " + str(budgets).replace("\n", "\n  "))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--data",
        default=os.environ.get("HUSH_DATA", ""),
        help="the folder with adult.data.gz or heart.dat (or HUSH_DATA)",
    )
    parser.add_argument("--table", choices=TABLES, default="adult")
    parser.add_argument("--epsilon", type=float, default=8.0, help="central, over all rounds")
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--ledgers", default="", help="a folder for the clients' ledgers; a new temporary one unless given"
    )
    options = parser.parse_args()
    read, name = TABLES[options.table]
    if not (Path(options.data) / name).is_file() or not options.data:
        print(
            f"no {name} in {options.data or 'no folder'!r}: give the folder with --data, or set HUSH_DATA.",
            file=sys.stderr,
        )
        return 2
    x, y, *test = read(Path(options.data))
    places = np.array_split(np.random.default_rng(7).permutation(len(y)), CLIENTS)
    parts = [(x[rows], y[rows]) for rows in places]
    together = accuracy(fitted(np.zeros(x.shape[1]), x, y), *test)
    print(f"{options.table}: {len(y)} rows over {CLIENTS} clients, {x.shape[1]} weights")
    larger = max(test[1].mean(), 1 - test[1].mean())
    print(f"accuracy on {len(test[1])} test rows: {larger:.4f} for the larger class, {together:.4f} without privacy")
    for noise in ("stable", "gaussian"):
        with tempfile.TemporaryDirectory() as folder:
            federation(parts, test, noise, options, Path(options.ledgers or folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
