"""Logistic regression over ten clients with Flower; each client adds its share of the noise (stable, then Gaussian).

    python train.py --data FOLDER [--table adult|heart] [--epsilon 8] [--rounds 5]

A client with all its rows is protected. Features are scaled by public constants, and not by statistics of the data.
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

# The plan needs eight of ten clients: in any round one may be lost and one may collude with the server.
CLIENTS, HONEST, COLLUDING = 10, 8, 1
CLIP = {"stable": 2.0, "gaussian": 1.0}  # l1 and l2 bounds of one client's update


def adult(folder: Path) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Whether a person earns more than 50,000 dollars; training and test rows as published (Kohavi 1996)."""

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
    """Whether heart disease is present, from the Statlog table; every fourth row is a test row."""
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
    """The model after eight Newton steps on the client's rows, with a small weight decay."""
    w = start.copy()
    for _ in range(8):
        p = 1.0 / (1.0 + np.exp(-np.clip(x @ w, -30, 30)))
        hessian = (x * (p * (1 - p))[:, None]).T @ x / len(y) + 0.02 * np.eye(w.size)
        w -= np.linalg.solve(hessian, x.T @ (p - y) / len(y) + 0.02 * w)
    return w


def accuracy(w: np.ndarray, x: np.ndarray, y: np.ndarray) -> float:
    return float(((x @ w > 0) == y).mean())


def federation(parts: list, test: tuple, family: str, options: argparse.Namespace, folder: Path) -> None:
    """Run one federation and print the accuracy of every round."""
    from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
    from flwr.clientapp import ClientApp
    from flwr.serverapp import ServerApp

    from hush.federated import Budgets, agree
    from hush.federated.flower import ShareMod, ShareStrategy
    from hush.federated.simulate import rehearse

    logging.getLogger("flwr").setLevel(logging.ERROR)
    delta = options.delta if family == "gaussian" else 0.0
    width = parts[0][0].shape[1]
    terms = agree(
        options.epsilon, CLIP[family], width, CLIENTS, rounds=options.rounds, delta=delta, honest=HONEST, family=family
    )
    budgets = Budgets(folder / family, epsilon=options.epsilon, delta=options.delta)
    # the nodes of a rehearsal; in production use names that do not change when a client restarts
    names = {place + 1: f"client-{place + 1}" for place in range(CLIENTS)}
    # "central" assumes that secure aggregation carries the messages. If the server sees each message, write "local" and
    # plan the budget for it.
    strategy = ShareStrategy(terms, budgets, view="central", colluding=COLLUDING, client=lambda node: names[node])
    client, server = ClientApp(mods=[ShareMod(terms, view="central")]), ServerApp()

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

    print(f"\n{family} shares: {terms}")
    # client 3 misses the second round (a turn is a call of the server)
    rehearse(server, client, CLIENTS, away=lambda node, turn: node == 3 and turn == 3)
    central, local = terms.epsilon("central", delta), terms.epsilon("local", delta)
    print(f"  after {options.rounds} rounds, delta {delta:g} (+ {terms.extra_delta():.1g} for rounding and overflow):")
    print(f"  central epsilon {central:.3f}: against an observer of sums and models who colludes with one client")
    print(f"  local epsilon {local:.2f}: against a server that sees each message")
    print("  " + str(budgets).replace("\n", "\n  "))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument(
        "--data",
        default=os.environ.get("HUSH_DATA", ""),
        help="the folder with adult.data.gz or heart.dat; the default is HUSH_DATA",
    )
    parser.add_argument("--table", choices=TABLES, default="adult")
    parser.add_argument("--epsilon", type=float, default=8.0, help="the central epsilon over all rounds")
    parser.add_argument("--delta", type=float, default=1e-5)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument(
        "--ledgers", default="", help="a folder for the clients' ledgers; the default is a new temporary folder"
    )
    options = parser.parse_args()
    read, name = TABLES[options.table]
    if not (Path(options.data) / name).is_file() or not options.data:
        print(
            f"{name} was not found in {options.data!r}; give its folder with --data, or set HUSH_DATA.",
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
    for family in ("stable", "gaussian"):
        with tempfile.TemporaryDirectory() as folder:
            federation(parts, test, family, options, Path(options.ledgers or folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
