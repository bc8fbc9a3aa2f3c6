"""A fit whose budget allows only the mean of the target: its noise, its sensitivity and its error."""

import numpy as np
import pytest

import hush
from hush.learn import Lasso, LogisticRegression, Ridge
from hush.learn.budget import allot
from hush.learn.level import LEVEL, NO_KNEE, level_knee, level_scaling, level_wish, stretched, tapered
from hush.learn.paid import Paid
from hush.learn.relation import Relation
from hush.learn.scaling import GRAIN, Span
from hush.ledger import unaccounted

PUBLIC = {"delta": 1e-6, "bounds": (-1, 1), "target_bounds": (0, 50)}


def _rows(count: int) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(3)
    return random.uniform(-1, 1, (count, 12)), np.clip(random.normal(22, 9, count), 0, 50)


def test_few_rows_give_the_mean_of_the_target() -> None:
    X, y = _rows(300)
    model = Ridge(epsilon=0.1, **PUBLIC).fit(X, y)
    assert model.receipt_["solver"] == "mean" and [part["name"] for part in model.receipt_["parts"]] == [LEVEL]
    assert not model.coef_.any() and model.guarantee_.holds and model.n_iter_ == 1
    assert model.receipt_["step"] is model.receipt_["clip"] is model.receipt_["grain"] is None
    assert (model.limits_ == [-1, 1]).all() and (model.predict(X) == model.intercept_).all()


def test_enough_rows_or_a_named_solver_use_the_features() -> None:
    X, y = _rows(2000)
    assert Ridge(epsilon=0.1, **PUBLIC).fit(X, y).receipt_["solver"] == "whitened"
    few = slice(300)
    assert Ridge(epsilon=0.1, solver="whitened", **PUBLIC).fit(X[few], y[few]).receipt_["solver"] == "whitened"
    assert Ridge(epsilon=0.1, fit_intercept=False, **PUBLIC).fit(X[few], y[few]).receipt_["solver"] == "whitened"
    weighted = Ridge(epsilon=0.1, **PUBLIC).fit(X[few], y[few], sample_weight=np.ones(300))
    assert weighted.receipt_["solver"] == "whitened"  # the mean is released without weights
    labels = LogisticRegression(epsilon=0.1, delta=1e-6, bounds=(-1, 1)).fit(X[few], (y[few] > 22).astype(int))
    assert labels.receipt_["solver"] == "whitened"


def test_pure_epsilon_gives_the_mean_earlier() -> None:
    """With delta = 0 the noise of vectors has longer tails: features need more rows."""
    X, y = _rows(1200)
    options = {"bounds": (-1, 1), "target_bounds": (0, 50)}
    assert Ridge(epsilon=0.1, delta=0.0, **options).fit(X[:, :5], y).receipt_["solver"] == "mean"
    assert Ridge(epsilon=0.1, delta=1e-6, **options).fit(X[:, :5], y).receipt_["solver"] == "whitened"
    assert Ridge(epsilon=0.3, delta=0.0, **options).fit(X[:, :5], y).receipt_["solver"] == "whitened"
    # a few columns are released at once: steps would divide epsilon
    assert Ridge(epsilon=0.1, delta=0.0, **options).fit(X[:, :3], y).receipt_["solver"] == "statistics"


def test_the_noise_is_the_least_for_one_number() -> None:
    X, y = _rows(300)
    model = Lasso(epsilon=0.1, **PUBLIC).fit(X, y)
    least = hush.limit(0.1, 1e-6, level_wish(level_knee(0.1, 300)).bound.linf).lower
    assert least <= model.noise_.variance <= 1.001 * least


def test_a_taper_is_used_where_the_noise_of_the_mean_is_large() -> None:
    """Many rows with very many columns release the mean too, and need no taper."""
    assert level_knee(0.1, 300) == level_knee(0.03, 1500) < level_knee(0.1, 700) == NO_KNEE
    assert level_wish(NO_KNEE).bound.linf == 2.0 * GRAIN
    assert 0.66 < level_wish(level_knee(0.1, 300)).bound.linf / (2.0 * GRAIN) < 0.68


@pytest.mark.parametrize("relation", [Relation(), Relation("add-remove", 3)])
@pytest.mark.parametrize("knee", [NO_KNEE, 0.45])
def test_every_neighbour_moves_the_sum_by_at_most_the_bound(relation: Relation, knee: float) -> None:
    span, ends = Span(np.array([0.0]), np.array([50.0])), np.array([-np.inf, 0.0, 1e-9, 25.0, 49.999, 50.0, np.inf])
    sums = tapered(ends, span, knee).tolist()
    moves = (
        [abs(a - b) for a in sums for b in sums]
        if relation.neighbours == "replace"
        else [abs(a + b + c) for a in sums for b in sums for c in sums]
    )
    assert max(moves) == level_wish(knee, relation).bound.linf


@pytest.mark.parametrize("knee", [NO_KNEE, 0.45])
def test_the_integers_grow_with_the_target_and_have_its_sign(knee: float) -> None:
    span = Span(np.array([-1.0]), np.array([1.0]))
    z = np.linspace(-1.2, 1.2, 4001)
    made = tapered(z, span, knee)
    assert (np.diff(made) >= 0).all() and (made == -made[::-1]).all() and (np.sign(made) == np.sign(z)).all()
    inside = np.abs(z) < knee
    assert (made[inside] == np.rint(z[inside] * GRAIN)).all()
    whole = stretched(1.0 if knee == NO_KNEE else made[-1] / GRAIN, knee)
    assert whole == pytest.approx(1.0, abs=1e-5) and stretched(0.3, knee) == 0.3 and stretched(-2.0, 0.45) == -1.0


@pytest.mark.parametrize("knee", [NO_KNEE, 0.45])
def test_the_error_has_the_size_of_the_noise(knee: float) -> None:
    """Squared errors over the variance of the noise, before shrinkage; a scale that is wrong by 3/2 or 2/3 is rejected.

    The noise has a kurtosis of at most 6.1, so a mean of 600 squares has a standard error of at most 0.093. Six of them
    are a false-alarm rate below 1e-6, also for a mean that is not quite normal. The wrong scales are 2.25 and 0.44. The
    targets are inside of the knee, and the tapered mean is at least four deviations below the place where it is
    stretched.
    """
    y, target = 20.0 + 0.1 * np.arange(300) % 7, Span(np.array([0.0]), np.array([50.0]))
    part = allot(0.2, 1e-6, (level_wish(knee),), family=None, accounting="exact")[0]
    error, truth, offs = part.deviation / (300 * GRAIN), (np.mean(y) - 25.0) / 25.0, []
    for _ in range(600):
        found = level_scaling(iter([y]), 300, target, target, knee, part, Paid(unaccounted(part.charge)))
        offs.append(((found.centre[-1] - 25.0) / 25.0 * (1.0 + 9.0 * error**2) - truth) / error)
    assert abs(float(np.mean(np.square(offs))) - 1.0) < 6.0 * 0.093


def test_a_noisy_mean_of_usual_targets_costs_less_than_a_plain_mean_would() -> None:
    """Skewed targets inside of half of their range, 350 rows, epsilon 0.1: the mean squared error of fits over the
    variance of the targets. The plain mean has an error of at least 0.040 by `hush.limit`; the taper has 0.0215.

    The mean of 1,600 fits has a deviation of 0.0013. The limit 0.030 is six of them away.
    """
    y, target = 50.0 * np.random.default_rng(5).beta(2.0, 2.8, 350), Span(np.array([0.0]), np.array([50.0]))
    knee = level_knee(0.1, 350)
    part = allot(0.1, 1e-6, (level_wish(knee),), family=None, accounting="exact")[0]
    found = [
        level_scaling(iter([y]), 350, target, target, knee, part, Paid(unaccounted(part.charge))).centre[-1]
        for _ in range(1600)
    ]
    error = float(np.mean((np.array(found) - y.mean()) ** 2)) / y.var()
    assert hush.limit(0.1, 1e-6, 50.0 / 350).lower / y.var() > 0.04 > 0.03 > error
