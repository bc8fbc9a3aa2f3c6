"""What a fit pays for: the parts composed anew, the ledger, and the numbers of the flipped Huber paper's route beside
exact ones.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
import pytest
from learn import small_fits as small

import hush
from hush import Gaussian, Laplace, Ledger, Sensitivity, calibrate, compose
from hush.errors import BudgetExceeded, NotCertified, Unsupported
from hush.learn import Lasso, LogisticRegression, PrivateSearchCV, Ridge, budget, zcdp
from hush.learn.budget import Wish, allot, allowed_families
from hush.learn.class_level import CLASSES, class_share
from hush.learn.defaults import setting
from hush.learn.descent import updates_wish
from hush.learn.means_and_spreads import moments_wish
from hush.learn.moment_solver import products_wish
from hush.learn.objective import SQUARED
from hush.learn.planning import plan
from hush.noise import catalogue
from hush.privacy.charge import Budget
from hush.sampling.entropy import SecureEntropy

slow = pytest.mark.exhaustive


def updates(times: int, share: float = 1.0, *, reach: float = 1.0, numbers: int = 1) -> Wish:
    bound = Sensitivity(linf=reach, l0=numbers, neighbours="replace")
    return Wish("updates", share, bound, bound, numbers, times)


def rows(count: int = 200):
    numbers = np.random.default_rng(12)
    X = numbers.uniform(-1.0, 1.0, (count, 2))
    return X, X @ [1.0, -1.0], (X[:, 0] > 0.0).astype(int)


# -- the parts together --------------------------------------------------------------------------------------

MIXES = {
    "scaling and updates": (moments_wish(4, 0.25), updates(100, 0.75, reach=2.0**33)),
    "scaling and full gradients": (moments_wish(4, 0.1), updates(20, 0.9, reach=2.0**33, numbers=5)),
    "scaling and products": (moments_wish(4, 0.25), products_wish(1000, 6, 2.4, 0.75)),
    "updates alone": (updates(60),),
    "products alone": (products_wish(1000, 3, 2.0, 1.0),),
}


@pytest.mark.parametrize(("epsilon", "delta"), [(0.1, 1e-9), (1.0, 1e-6), (8.0, 1e-3)])
@pytest.mark.parametrize("mix", list(MIXES))
def test_gaussian_parts_meet_the_budget_and_no_less_would(mix, epsilon, delta):
    parts = allot(epsilon, delta, MIXES[mix], family="gaussian", accounting="exact")
    charges = [part.charge for part in parts]
    assert float(compose(charges).delta(epsilon)) <= delta
    assert float(compose([charge.widened(0.999) for charge in charges]).delta(epsilon)) > delta
    squares = [charge.times * (charge.sensitivity.l2_bound / charge.noise.sigma) ** 2 for charge in charges]
    for part, square in zip(parts, squares, strict=True):  # the shares are of mu^2
        assert square / sum(squares) == pytest.approx(part.wish.share, rel=2e-3)


@pytest.mark.parametrize("mix", ["scaling and updates", "updates alone", "scaling and full gradients"])
@pytest.mark.parametrize(
    "family",
    [
        *("laplace", "truncated_laplace", "staircase"),
        *(pytest.param(name, marks=slow) for name in ("osgt", "flipped_huber", "exponential_power", "asinh", None)),
    ],
)
def test_every_family_meets_the_budget(mix, family):
    if mix == "scaling and full gradients" and family != "laplace":
        pytest.skip("one family shows it")
    wishes = tuple(dataclasses.replace(wish, times=min(wish.times, 6)) for wish in MIXES[mix])
    charges = [part.charge for part in allot(1.0, 1e-6, wishes, family=family, accounting="exact")]
    assert float(compose(charges).delta(1.0)) <= 1e-6
    shrunk = [*charges[:-1], charges[-1].widened(0.97)]
    assert float(compose(shrunk).delta(1.0)) > 1e-6


@pytest.mark.parametrize("mix", list(MIXES))
def test_without_delta_epsilons_add_up(mix):
    wishes = MIXES[mix]
    parts = allot(2.0, 0.0, wishes, family=None, accounting="exact")
    made = compose([part.charge for part in parts])
    assert 1.99 <= made.pure_epsilon <= 2.0
    for part in parts:
        assert compose([part.charge]).pure_epsilon == pytest.approx(2.0 * part.wish.share, rel=5e-3)


def test_families_without_a_proof_for_vectors_are_refused():
    for family in set(allowed_families()) - {"gaussian", "ball"}:
        with pytest.raises(Unsupported, match="solver='cd'"):
            allot(1.0, 1e-6, MIXES["products alone"], family=family, accounting="exact")
    for mix in ("products alone", "updates alone"):
        with pytest.raises(Unsupported, match="no pure epsilon"):
            allot(1.0, 0.0, MIXES[mix], family="gaussian", accounting="exact")
    with pytest.raises(Unsupported):
        allot(1.0, 1e-6, MIXES["updates alone"], family="stable", accounting="exact")


def test_the_default_family_is_never_worse_than_gaussian_noise():
    for times in (2, 90):
        wishes = (moments_wish(1, 0.25), updates(times, 0.75))
        least, plain = (allot(1.0, 1e-6, wishes, family=name, accounting="exact")[-1] for name in (None, "gaussian"))
        assert least.deviation <= plain.deviation
    huge = allot(600.0, 0.1, (moments_wish(1, 0.25), updates(2, 0.75)), family=None, accounting="exact")
    assert float(compose([part.charge for part in huge]).delta(600.0)) <= 0.1


# -- the paper's route, and exact accounting beside it ----------------------------------------------------


def test_where_the_papers_route_leaves_laplace_noise():
    """Section 8, number 1: the switch at T = epsilon^2/(4 eta_0) = 14.31, and the variance 2 (T/epsilon)^2 below it."""
    assert 1.0 / (4.0 * zcdp.eta_left(1.0, 1e-6)) == pytest.approx(14.31, abs=0.005)
    for times in (1, 5, 14):
        noise = zcdp.flipped_huber(1.0, 1e-6, times)
        assert isinstance(noise, Laplace) and noise.variance == pytest.approx(2.0 * times**2, rel=1e-9)
    for times in (15, 20, 100):
        assert isinstance(zcdp.flipped_huber(1.0, 1e-6, times), Gaussian)


@pytest.mark.parametrize("times", [1, 20, 500])
def test_gaussian_variances_per_update(times):
    """Section 8, number 2: Lemma 3.5 gives 28.62 and exact accounting 17.848 per update, whatever their number: 38 %
    less.
    """
    loose = zcdp.gaussian(1.0, 1e-6, times).variance / times
    exact = (
        allot(1.0, 1e-6, (updates(times),), family="gaussian", accounting="exact")[0].mechanism.noise.variance / times
    )
    assert loose == pytest.approx(28.62, abs=0.005)
    assert exact == pytest.approx(17.848, rel=2e-3)  # the lattice adds up to 1 in 1000
    assert float(np.asarray(hush.gaussian.sigma(1.0, 1e-6))) ** 2 == pytest.approx(17.848, abs=5e-4)
    assert 3.0 * math.log(1e6) == pytest.approx(
        41.45, abs=0.005
    )  # the closed form of Mangold et al. for the same sensitivity


@pytest.mark.parametrize(
    ("delta", "times", "ratio"),
    [
        *(
            (1e-6, 1, 0.0698),
            (1e-6, 5, 0.3493),
            (1e-6, 8, 0.5589),
            (1e-6, 10, 0.6987),
            (1e-6, 13, 0.9083),
            (1e-6, 20, 1.0),
        ),
        *((1e-8, 10, 0.5286), (1e-8, 13, 0.6871), (1e-8, 20, 1.0)),
    ],
)
def test_flipped_huber_by_theorem_9_beside_the_gaussian(delta, times, ratio):
    """Section 3, column 6 (its digits are cut off, not rounded), and the closed form min(1, 4 eta_0 T/epsilon^2)
    behind it.
    """
    found = zcdp.flipped_huber(1.0, delta, times).variance / zcdp.gaussian(1.0, delta, times).variance
    assert found == pytest.approx(min(1.0, 4.0 * zcdp.eta_left(1.0, delta) * times), rel=1e-9)
    assert -1e-12 <= found - ratio < 1.2e-4


@pytest.mark.parametrize(
    ("epsilon", "delta", "saved"), [(1.0, 1e-6, 0.3764), (1.0, 1e-8, 0.3125), (0.5, 1e-6, 0.42), (3.0, 1e-6, 0.30)]
)
def test_what_exact_accounting_saves_for_gaussian_noise(epsilon, delta, saved):
    loose = allot(epsilon, delta, (updates(40),), family="gaussian", accounting="zcdp")[0]
    exact = allot(epsilon, delta, (updates(40),), family="gaussian", accounting="exact")[0]
    assert 1.0 - (exact.deviation / loose.deviation) ** 2 == pytest.approx(saved, abs=0.005)


@pytest.mark.parametrize(
    ("times", "delta", "family", "variance"),
    [
        (10, 1e-6, "laplace", 1.1183 * 178.48),
        (50, 1e-6, "laplace", 1.8690 * 892.4),
        pytest.param(10, 1e-6, "flipped_huber", 178.09, marks=slow),
        pytest.param(5, 1e-6, "flipped_huber", 0.5594 * 89.24, marks=slow),
        pytest.param(8, 1e-6, "flipped_huber", 0.8887 * 142.784, marks=slow),
        pytest.param(20, 1e-6, "flipped_huber", 356.96, marks=slow),
        pytest.param(10, 1e-6, "exponential_power", 158.98, marks=slow),
        pytest.param(10, 1e-6, "asinh", 0.8896 * 178.48, marks=slow),
        pytest.param(20, 1e-8, "exponential_power", 488.1, marks=slow),
        pytest.param(20, 1e-8, "asinh", 486.4, marks=slow),
    ],
)
def test_exact_variances_of_other_shapes(times, delta, family, variance):
    """Section 8, number 3, and section 3."""
    assert calibrate(1.0, delta, 1.0, family=family, times=times).variance == pytest.approx(variance, rel=1e-3)


@slow
@pytest.mark.parametrize(("times", "saved"), [(5, 0.001), (8, 0.008), (10, 0.11), (13, 0.31), (20, 0.38)])
def test_what_exact_accounting_saves_for_flipped_huber_noise(times, saved):
    """Section 3, below the table."""
    exact = calibrate(1.0, 1e-6, 1.0, family="flipped_huber", times=times).variance
    assert 1.0 - exact / zcdp.flipped_huber(1.0, 1e-6, times).variance == pytest.approx(saved, abs=0.006)


@pytest.mark.parametrize("noise", ["gaussian", "flipped_huber"])
@pytest.mark.parametrize("times", [2, 40])
def test_the_papers_route_is_private_too_and_wastes_budget(noise, times):
    wishes = (moments_wish(2, 0.25), updates(times, 0.75))
    parts = allot(1.0, 1e-6, wishes, family=noise, accounting="zcdp")
    spent = float(compose([part.charge for part in parts]).delta(1.0))
    assert spent < (1e-6 if times == 2 else 1e-7)


def test_zcdp_is_refused_where_it_has_no_theorem():
    with pytest.raises(Unsupported, match="zCDP"):
        allot(1.0, 1e-6, (updates(3),), family="laplace", accounting="zcdp")
    with pytest.raises(Unsupported, match="delta = 0"):
        allot(1.0, 0.0, (updates(3),), family="gaussian", accounting="zcdp")


# -- a fit's own account -------------------------------------------------------------------------------------


def charges_of(ledger: Ledger):
    return list(ledger.entries[0].charges)


WAYS = [
    (Ridge, {"solver": "cd"}),
    (Ridge, {"solver": "gd"}),
    (Ridge, {"solver": "statistics"}),
    (Lasso, {"solver": "cd", "scaling": "public"}),
    (LogisticRegression, {"solver": "cd", "accounting": "zcdp"}),
    (LogisticRegression, {"solver": "statistics"}),
    (LogisticRegression, {"solver": "cd", "classes": "private"}),
    (Ridge, {"solver": "cd", "delta": 0.0, "family": "laplace"}),
    (Ridge, {"solver": "statistics", "delta": 0.0, "family": None}),
]


@pytest.mark.parametrize(("kind", "ways"), WAYS)
def test_the_ledger_is_charged_once_before_any_bit_with_what_is_used(kind, ways):
    X, y, labels = rows(3000)
    ledger = Ledger(None, epsilon=4.0, delta=1e-3)

    class Careful:
        secure = True
        calls = 0

        def begin(self):
            assert len(ledger.entries) == 1, "drawn before it was paid for"
            Careful.calls += 1
            return SecureEntropy().begin()

    settings = {"epsilon": 3.0, "delta": 1e-4, "bounds": (-1, 1), "family": "gaussian"} | ways
    if settings["solver"] != "statistics":
        settings["passes"] = 3
    if kind is not LogisticRegression:
        settings["target_bounds"] = (-2, 2)
    model = kind(**settings, ledger=ledger, entropy=Careful()).fit(X, labels if kind is LogisticRegression else y)
    assert len(ledger.entries) == 1 and Careful.calls > 0
    entry, delta = ledger.entries[0], settings["delta"]
    assert (entry.epsilon, entry.delta) == (3.0, delta) and type(model).__name__ in entry.label
    assert model.receipt_["ledger"]["number"] == 1
    made = compose(charges_of(ledger))
    if delta == 0.0:
        assert made.pure_epsilon <= 3.0
    else:
        assert float(made.delta(3.0)) + entry.extra_delta <= delta
    used = [part["noise"] for part in model.receipt_["parts"]]
    paid = [hush.noise.catalogue.plain_values(charge.noise) for charge in charges_of(ledger)]
    assert used == paid[: len(used)] and len(paid) - len(used) == (settings.get("classes") == "private")
    assert ledger.spent.epsilon <= 3.0 + 1e-9


def test_fits_add_up_in_the_ledger():
    X, y, _ = rows()
    ledger = Ledger(None, epsilon=2.0, delta=1e-6)
    for _ in range(2):
        Ridge(
            epsilon=1.0,
            delta=1e-6,
            bounds=(-1, 1),
            target_bounds=(-2, 2),
            family="gaussian",
            solver="cd",
            ledger=ledger,
        ).fit(X, y)
    assert 1.3 < ledger.spent.epsilon < 1.7  # Gaussian fits compose to about sqrt(2)


def test_the_receipt_counts_every_number():
    X, y, _ = rows()
    settings = {
        "epsilon": 1.0,
        "delta": 1e-6,
        "bounds": (-1, 1),
        "target_bounds": (-2, 2),
        "family": "gaussian",
        "passes": 7,
    }
    for solver, numbers, times in (("cd", 1, 21), ("gd", 3, 7)):
        parts = Ridge(**settings, solver=solver).fit(X, y).receipt_["parts"]
        assert [(part["name"], part["numbers"], part["times"]) for part in parts] == [
            ("means and spreads", 6, 1),
            ("updates", numbers, times),
        ]
        assert math.fsum(part["share"] for part in parts) == pytest.approx(1.0)


@pytest.mark.parametrize("epsilon", [0.1, 0.3, 1.0, 3.3, 7.7, 1e3, 1e6])
def test_pure_epsilon_never_passes_the_promise(epsilon):
    chosen = setting(SQUARED, 0.1, 3, solver="cd", passes=7, step=None, clip=None)
    wishes = (moments_wish(4, 0.3), updates_wish(2.0**20, 3, chosen, 0.7))
    parts = allot(epsilon, 0.0, wishes, family=None, accounting="exact")
    assert compose([part.charge for part in parts]).pure_epsilon <= epsilon


def test_parts_that_exceed_the_budget_together_are_refused(monkeypatch):
    real = budget._noises
    monkeypatch.setattr(budget, "_noises", lambda *given, **more: [law.scaled(0.9) for law in real(*given, **more)])
    wishes = (moments_wish(4, 0.3), moments_wish(3, 0.7))
    for delta in (0.0, 1e-6):
        with pytest.raises(NotCertified, match="exceed the budget"):
            allot(0.987, delta, wishes, family=None, accounting="exact")


@pytest.mark.parametrize("solver", ["statistics", "cd", "gd"])
def test_a_ledger_takes_every_pure_fit(solver):
    X, y, _ = small.rows(50)
    for epsilon, share in ((0.7, 0.9), (1e6, 0.25)):
        paid = small.ledger(epsilon=epsilon, delta=0.0)
        model = small.ridge(
            epsilon=epsilon, delta=0.0, solver=solver, family=None, ledger=paid, scaling_share=share
        ).fit(X, y)
        assert model.guarantee_.epsilon == epsilon and len(paid.entries) == 1


def test_zcdp_accounting_uses_gaussian_noise_by_default():
    X, y, _ = small.rows()
    model = small.ridge(family=None, accounting="zcdp").fit(X, y)
    assert {part["noise"]["family"] for part in model.receipt_["parts"]} == {"gaussian"}


@dataclasses.dataclass(frozen=True)
class Wider(Laplace):
    """Laplace noise as a family that a user registers."""


def test_a_registered_family_can_be_used_by_name():
    X, y, _ = small.rows(50)
    with catalogue.restored():
        hush.register(hush.Family("wider", Wider, unit=lambda: Wider(1.0), tail=catalogue.family("laplace").tail))
        model = small.ridge(family="wider", passes=1).fit(X, y)
        assert isinstance(model.noise_, Wider)
    with pytest.raises(hush.InvalidParameter, match="family must be one of"):
        small.ridge(family="wider", passes=1).fit(X, y)


@pytest.mark.parametrize("solver", ["whitened", "cd", "gd"])
def test_a_row_more_or_less_needs_half_the_noise_of_a_replaced_row(solver):
    """With the same clipping bound. Sums of products are compared in the tests of tables."""
    deviations = []
    for relation in ("replace", "add-remove"):
        model = small.ridge(solver=solver, passes=2, clip=0.5, neighbours=relation)
        model.n_features_in_ = 3
        made = plan(model._request_for(50), 50)
        deviations.append(made.parts[-1].deviation)
        assert Budget(1.0, 1e-6).covers(compose(list(made.charges)))
        assert {part.charge.neighbours for part in made.parts} == {relation}
    assert deviations[1] / deviations[0] == pytest.approx(0.5, rel=1e-3)


@pytest.mark.parametrize(
    "delta",
    [5e-7, 1e-6, 2e-6, 1e-5, *(pytest.param(delta, marks=pytest.mark.exhaustive) for delta in (9.9e-7, 1.5e-6))],
)
@pytest.mark.parametrize("kind", ["private labels", "search"])
def test_a_ledger_with_little_delta_refuses_before_the_number_of_rows_is_paid_for(kind, delta):
    """The check before the release of the number of rows sees the failure probability of labels and of searches too."""
    X, _, y = small.rows(2000)
    ledger = Ledger(None, epsilon=3.0, delta=delta)
    model = LogisticRegression(epsilon=1.0, delta=1e-6, bounds=(-1, 1), neighbours="add-remove", family="gaussian")
    if kind == "search":
        model = PrivateSearchCV(model, {"C": [0.1, 1.0]}, epsilon=1.0, delta=1e-6, tries=1.5, ledger=ledger)
    else:
        model.set_params(classes="private", ledger=ledger)
    try:
        model.fit(X, y)
    except BudgetExceeded:
        assert len(ledger.entries) == 0 and delta < 1e-6
    else:
        assert len(ledger.entries) == 2 and delta >= 1e-6


def test_what_exact_accounting_saves_counts_a_part_with_its_own_epsilon_on_both_sides():
    """The class counts have a separate pure epsilon: the paper's route has that much less epsilon."""
    X, _, y = small.rows(350)
    receipt = LogisticRegression(epsilon=0.1, delta=1e-6, bounds=(-1, 1)).fit(X, y).receipt_
    counts, *others = receipt["parts"]
    assert counts["name"] == CLASSES and "share" not in counts
    assert counts["epsilon"] == pytest.approx(class_share(9.0, 1, 350, 0.1) * 0.1)
    assert math.fsum(part["share"] for part in others) == pytest.approx(1.0)
    last, eta = others[-1], zcdp.eta_left(0.1 - counts["epsilon"], 1e-6)
    plain = last["sensitivity"]["l2"] ** 2 * last["times"] / (2.0 * eta * last["share"])
    saved = 1.0 - float(catalogue.from_plain_values(last["noise"]).variance) / plain
    assert receipt["saved_over_zcdp"] == pytest.approx(saved, rel=1e-3)
