"""Fits whose number of rows is hidden: the ledger covers both releases, or nothing is paid for."""

import numpy as np
import pytest

from hush import Gaussian, Laplace, Ledger, Sensitivity, tables
from hush.errors import HushError
from hush.learn import LogisticRegression, PrivateSearchCV, Ridge

ROWS = (2, 30, 50, 200, 3000)
#: The ledger's epsilon, and that of the fit. A regression has the most kinds of plans, so it is tried with all of them
#: and all numbers of rows; the other models take turns.
BUDGETS = ((1.05, 1.0), (1.0, 0.5), (10.0, 0.1))
LEDGERS = {
    "adaptive": lambda epsilon: Ledger(None, epsilon=epsilon, delta=1e-6),
    "twice delta": lambda epsilon: Ledger(None, epsilon=epsilon, delta=2e-6),
    "order": lambda epsilon: Ledger(None, epsilon=2.0 * epsilon, delta=1e-6, order=40.0),
    "rho": lambda epsilon: Ledger(None, rho=epsilon**2 / 24.0, delta=1e-6),
    "mu": lambda epsilon: Ledger(None, mu=epsilon / 4.0, delta=1e-6),
    "pure": lambda epsilon: Ledger(None, epsilon=epsilon, delta=0.0),
}
TARGET = {"target_bounds": (-2, 2)}
MODELS = {
    "regression": lambda given: Ridge(**given, **TARGET),
    "laplace": lambda given: Ridge(**given, **TARGET, family="laplace"),
    "few columns": lambda given: Ridge(**given, **TARGET, n_features_to_keep=2),
    "two classes": lambda given: LogisticRegression(**given, classes=(0, 1)),
    "four classes": lambda given: LogisticRegression(**given, classes=(0, 1, 2, 3)),
}


def rows_of(count, model):
    rng = np.random.default_rng(count)
    X = rng.uniform(-1.0, 1.0, (count, 4))
    y = X @ np.ones(4) / 2.0
    classes = {"two classes": [0.0], "four classes": [-0.4, 0.0, 0.4]}.get(model)
    return X, y if classes is None else np.digitize(y, classes)


def fitted(model, ledger, epsilon, count, delta=1e-6):
    """Was the fit made? If it was not, then nothing was paid for."""
    given = {"epsilon": epsilon, "delta": delta, "bounds": (-1, 1), "neighbours": "add-remove", "ledger": ledger}
    before = len(ledger.entries)
    try:
        MODELS[model](given).fit(*rows_of(count, model))
    except HushError:
        made = False
    else:
        made = True
    assert len(ledger.entries) == before + 2 * made, f"{model} with {count} rows"
    return made


@pytest.mark.parametrize("kind", LEDGERS)
@pytest.mark.parametrize("model", MODELS)
def test_a_number_of_rows_is_paid_for_only_if_the_fit_is_covered(kind, model):
    made, turn = {}, list(LEDGERS).index(kind) + list(MODELS).index(model)
    whole = model == "regression"
    for place, count in enumerate(ROWS if whole else ROWS[turn % 2 :: 2]):
        for cap, epsilon in BUDGETS if whole else [BUDGETS[(place + turn) % len(BUDGETS)]]:
            delta = 0.0 if kind == "pure" else 1e-6
            made[cap, epsilon, count] = fitted(model, LEDGERS[kind](cap), epsilon, count, delta)
    unsure = kind in ("rho", "mu") and model in ("laplace", "few columns")  # these cost more than Gaussian noise
    assert unsure or all(made.values()), [each for each, done in made.items() if not done]


def test_a_ledger_with_entries_loses_nothing_either():
    """More fits than the ledger covers: they are refused before a payment."""
    one = Sensitivity(linf=1.0, l0=1, neighbours="add-remove")
    for first in (Gaussian(9.0), None):
        ledger = Ledger(None, epsilon=1.0, delta=2e-6)
        if first is not None:
            ledger.spend([(first, one, 1)])
        made = [fitted("regression", ledger, 0.5, count) for count in (30, 3000, 50, 30)]
        assert made[0] and not all(made)


def test_several_fits_with_few_rows_fit_in_one_ledger():
    """The noise of the mean of a target has a pure epsilon where the ledger has no delta left for it."""
    ledger, (X, y) = Ledger(None, epsilon=10.0, delta=1e-6), rows_of(100, "regression")
    ledger.spend([(Laplace(100.0), Sensitivity(linf=1.0, l0=1, neighbours="add-remove"), 1)])
    given = {"epsilon": 0.1, "delta": 1e-6, "bounds": (-1, 1), "neighbours": "add-remove", "ledger": ledger}
    for _ in range(5):
        assert Ridge(**given, **TARGET).fit(X, y, n_rows=100).guarantee_.delta == 0.0
    assert 0.5 < ledger.spent.epsilon < 0.52


def test_a_table_with_few_rows_fits_too():
    X, y = rows_of(50, "regression")
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(X, columns=list("abcd")).assign(y=y, person=range(50))
    given = {"epsilon": 0.3, "delta": 1e-6, "bounds": dict.fromkeys("abcd", (-1.0, 1.0)), "target_bounds": (-2, 2)}
    for kind in ("twice delta", "order", "rho", "mu"):
        ledger = LEDGERS[kind](1.0)
        Ridge(**given, ledger=ledger).fit(tables.table(frame, unit="person", population=kind), "y")
        assert len(ledger.entries) == 2


@pytest.mark.parametrize("kind", ["rho", "mu"])
def test_a_budget_of_rho_or_mu_gets_gaussian_noise(kind):
    """Sums of products would else have ball noise, which such a ledger counts by its pure epsilon."""
    X, y = rows_of(3000, "regression")
    ledger = LEDGERS[kind](1.0)
    given = {"epsilon": 1.0, "delta": 1e-6, "bounds": (-1, 1), **TARGET, "solver": "statistics"}
    model = Ridge(**given, ledger=ledger).fit(X, y)
    assert isinstance(model.noise_, Gaussian) and len(ledger.entries) == 1
    assert not isinstance(Ridge(**given).fit(X, y).noise_, Gaussian)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_a_search_checks_every_setting_before_it_pays(delta):
    X, _ = rows_of(500, "regression")
    given = {"epsilon": 1.0, "delta": delta}
    inner = LogisticRegression(**given, bounds=(-3, 3), classes=(0, 1, 2), neighbours="add-remove")
    ledger = Ledger(None, **given)
    search = PrivateSearchCV(inner, {"solver": ["whitened", "gd"]}, **given, ledger=ledger)
    with pytest.raises(HushError, match="solver='gd' is for two classes") as failure:
        search.fit(X, np.arange(500) % 3)
    assert not ledger.entries and "paid for" not in str(failure.value)
