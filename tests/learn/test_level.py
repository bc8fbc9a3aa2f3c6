"""The mean of the target, alone or beside a fit of the features: its noise, its sensitivity and its error."""

import math
import warnings
from unittest.mock import patch

import numpy as np
import pytest

import hush
from hush.learn import Lasso, LogisticRegression, PrivateSearchCV, Ridge, single_numbers
from hush.learn.budget import allot
from hush.learn.defaults import hopeless
from hush.learn.first_steps import first_steps
from hush.learn.level import (
    LEVEL,
    NO_KNEE,
    level_knee,
    level_part,
    level_scaling,
    level_share,
    level_wish,
    noisy_level,
    stretched,
    tapered,
)
from hush.learn.means_and_spreads import Level, moment_sums, moments_wish, private_scaling
from hush.learn.objective import SQUARED
from hush.learn.paid import Paid
from hush.learn.relation import Relation
from hush.learn.scaling import GRAIN, Span
from hush.learn.shrinkage import shrunk
from hush.learn.training import plan
from hush.ledger import unaccounted
from hush.privacy.charge import Budget
from hush.privacy.compose import compose

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


def test_the_mean_alone_is_said() -> None:
    """It is a public fact. Without noise, and by a fit of the features, nothing is said."""
    X, y = _rows(300)
    for changed, said in (({}, 1), ({"solver": "whitened"}, 0), ({"epsilon": math.inf}, 0)):
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            Ridge(**{"epsilon": 0.1} | PUBLIC | changed).fit(X, y)
        assert sum("the model is the mean of the target" in str(one.message) for one in seen) == said


def test_enough_rows_or_a_named_solver_use_the_features() -> None:
    X, y = _rows(2000)
    assert Ridge(epsilon=0.1, **PUBLIC).fit(X, y).receipt_["solver"] == "whitened"
    few = slice(300)
    assert Ridge(epsilon=0.1, solver="whitened", **PUBLIC).fit(X[few], y[few]).receipt_["solver"] == "whitened"
    assert Ridge(epsilon=0.1, fit_intercept=False, **PUBLIC).fit(X[few], y[few]).receipt_["solver"] == "whitened"
    weighted = Ridge(epsilon=0.1, max_weight=1.0, **PUBLIC).fit(X[few], y[few], sample_weight=np.ones(300))
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


# -- when features are used ------------------------------------------------------------------------------------


def test_the_rule_for_the_mean_alone_is_a_rule_of_public_facts() -> None:
    assert hopeless(1.51, 1, 1e6, pure=False) and not hopeless(1.49, 1, 1e6, pure=False)
    assert hopeless(0.41, 1, 99.0, pure=False) and not hopeless(0.41, 1, 101.0, pure=False)
    assert not hopeless(0.39, 1, 99.0, pure=False)  # two or three columns
    assert hopeless(0.4, 5, 1e6, pure=True) and not hopeless(0.7, 4, 99.0, pure=True)


def test_fewer_rows_than_100_over_epsilon_give_the_mean() -> None:
    """Before, a fit of twelve columns had 1.3 times the error of the mean here (wine quality, 800 rows)."""
    X, y = _rows(1100)
    for rows, solver in ((990, "mean"), (1010, "whitened")):
        assert Ridge(epsilon=0.1, **PUBLIC).fit(X[:rows], y[:rows]).receipt_["solver"] == solver
    assert Ridge(epsilon=0.1, **PUBLIC).fit(X[:990, :2], y[:990]).receipt_["solver"] == "whitened"
    people = Ridge(epsilon=0.1, neighbours="add-remove", **PUBLIC)  # a row more or less moves sums half as far
    assert people.fit(X[:900], y[:900], n_rows=900).receipt_["solver"] == "whitened"


@pytest.mark.parametrize("kept", ["auto", 5, "all"])
def test_the_mean_alone_does_not_pay_for_choices_of_columns(kept: object) -> None:
    """Before, it did: with nine times the variance of the noise."""
    random = np.random.default_rng(5)
    X, y = random.uniform(-1, 1, (300, 60)), random.uniform(0, 50, 300)
    model = Lasso(epsilon=0.1, alpha=0.01, n_features_to_keep=kept, **PUBLIC).fit(X, y)
    assert model.receipt_["solver"] == "mean" and model.receipt_["choices"] == [] and model.kept_features_.size == 60
    least = hush.limit(0.1, 1e-6, level_wish(level_knee(0.1, 300)).bound.linf).lower
    assert least <= model.noise_.variance <= 1.001 * least


def test_the_mean_alone_does_not_pay_for_bounds_of_features() -> None:
    """So many columns that 3,000 rows give only the mean, and enough rows to find their bounds."""
    random = np.random.default_rng(3)
    X, y = random.uniform(-1, 1, (3000, 300)), random.uniform(0, 50, 3000)
    refined = Ridge(epsilon=0.3, refine_bounds=True, **PUBLIC).fit(X, y)
    assert refined.receipt_["solver"] == "mean" and refined.receipt_["bounds"] == "found privately: target"
    request = refined._request_for(3000)
    only_target = first_steps(single_numbers.for_mean(request), 3000, 0.3, 1e-6)
    assert plan(request, 3000).first == only_target and only_target.share < first_steps(request, 3000, 0.3, 1e-6).share
    assert (refined.predict(X) == refined.intercept_).all()


# -- beside a fit of the features ------------------------------------------------------------------------------


def _names(model: Ridge) -> list[str]:
    return [part["name"] for part in model.receipt_["parts"]]


def test_its_share_is_a_rule_of_public_facts() -> None:
    assert level_share(0.2, 1e6, 1.0) == 0.0 and level_share(0.21, 1e6, 1.0) == 20.0 / 1e6
    assert level_share(1.0, 400.0, 0.3) == pytest.approx(20.0 / 120.0) and level_share(1.0, 100.0, 0.3) == 0.4


@pytest.mark.parametrize(
    "changed",
    [
        {"epsilon": 10.0},
        {"solver": "cd"},
        {"fit_intercept": False},
        {"family": "gaussian"},
        {"accounting": "zcdp"},
        {"epsilon": math.inf},
        {"scaling": "paper"},
    ],
)
def test_fits_with_other_needs_do_not_release_it(changed: dict[str, object]) -> None:
    X, y = _rows(1200)
    given = PUBLIC | {"epsilon": 0.1}
    assert (
        _names(Ridge(**given).fit(X, y))[0] == LEVEL and _names(Ridge(**given, scaling="public").fit(X, y))[0] == LEVEL
    )
    assert LEVEL not in _names(Ridge(**(given | changed)).fit(X, y))
    assert LEVEL not in _names(Ridge(**given, max_weight=1.0).fit(X, y, sample_weight=np.ones(1200)))


def test_a_search_releases_it_too() -> None:
    """Before, a search named Gaussian noise, and a fit with a named family has no such release."""
    X, y = _rows(2000)
    model = Ridge(epsilon=0.2, **PUBLIC)
    found = PrivateSearchCV(model, {"alpha": [0.1, 1.0]}, epsilon=0.3, delta=1e-6, tries=1.5).fit(X, y).best_estimator_
    assert _names(found)[0] == LEVEL
    named = PrivateSearchCV(Ridge(epsilon=0.2, family="gaussian", **PUBLIC), {"alpha": [0.1]}, epsilon=0.3, delta=1e-6)
    assert LEVEL not in _names(named.fit(X, y).best_estimator_)


@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_the_whole_fit_meets_its_budget_with_it(delta: float) -> None:
    X, y = _rows(2500)
    model = Ridge(epsilon=0.1, **(PUBLIC | {"delta": delta})).fit(X, y)
    assert _names(model)[0] == LEVEL and Budget(0.1, delta).covers(compose(model.receipt_.charges))
    twice = compose([*model.receipt_.charges, model.receipt_.charges[0]])
    assert not Budget(0.1, delta).covers(twice)


def test_two_means_are_joined_by_the_inverse_of_their_variances() -> None:
    """Squared errors over the stated variance; a scale that is wrong by 3/2 or 2/3 is rejected.

    The kurtosis of the joined noise is at most 6, so a mean of 600 squares has a standard error below 0.092. Six of
    them are a false-alarm rate below 1e-6. The wrong scales are 2.25 and 0.44. The bound 3 of the second assertion is
    that of the moments alone, whose variance is at least five times as large.
    """
    y, target = 20.0 + 0.1 * np.arange(300) % 7, Span(np.array([0.0]), np.array([50.0]))
    part = level_part(NO_KNEE, 1.0, 0.3)
    moments = allot(0.6, 1e-6, (moments_wish(1, 0.25),), family="gaussian", accounting="exact")[0]
    scale, truth = 300 * GRAIN, (np.mean(y) - 25.0) / 25.0
    both = (1.0 / part.deviation**2 + 1.0 / moments.deviation**2) ** -0.5 / scale
    offs, sums = [], moment_sums(y[:, None], target)
    for _ in range(600):
        known = Level(*noisy_level(iter([y]), 300, target, NO_KNEE, part, Paid(unaccounted(part.charge))), 0.0)
        found = private_scaling(sums, 300, target, moments, Paid(unaccounted(moments.charge)), known)
        offs.append(((found.centre[0] - 25.0) / 25.0 * (1.0 + 9.0 * both**2) - truth) / both)
    assert abs(float(np.mean(np.square(offs))) - 1.0) < 6.0 * 0.092


def _off_level(model: Ridge, X: np.ndarray, y: np.ndarray, fits: int) -> float:
    """The mean distance between the mean prediction and the mean target, in standard deviations of the target."""
    return float(np.mean([abs(np.mean(model.fit(X, y).predict(X) - y)) for _ in range(fits)]) / np.std(y))


def test_a_target_at_the_low_end_of_its_range_keeps_its_mean() -> None:
    """Incomes of 400 rows with four columns that say nothing, epsilon 0.3: 80 fits with the release and 80 without it.

    The distance of a fit is 0.69 +- 0.72 and 2.38 +- 1.32 (300 fits each). So the limits are more than five standard
    errors of 80 fits away, a false-alarm rate below 1e-6.
    """
    random = np.random.default_rng(6)
    X, y = random.uniform(-1, 1, (400, 4)), np.minimum(random.exponential(12.0, 400), 300.0)
    model = Ridge(epsilon=0.3, delta=1e-6, bounds=(-1, 1), target_bounds=(0, 300))
    with_it = _off_level(model, X, y, 80)
    assert _names(model)[0] == LEVEL
    with patch.object(single_numbers, "level_share", lambda *facts: 0.0):
        without = _off_level(model, X, y, 80)
    assert LEVEL not in _names(model) and with_it < 1.25 < 1.5 < without


def test_the_intercept_of_a_skewed_target_is_the_released_mean_and_not_what_clips_leave():
    """12,000 targets of 0 and 1 with mean 1/4 and no signal. Clipped gradients pull the intercept to the median.

    The error is 1.001 times that of the mean, with a deviation of 0.003 over fits (at most 1.014 of 40); it was 1.07
    with a deviation of 0.015. So the median of five is above 1.03 with a probability below 1e-8.
    """
    numbers = np.random.default_rng(0)
    X, y = numbers.uniform(-1.0, 1.0, (12_000, 5)), (numbers.random(12_000) < 0.25).astype(float)
    model = Ridge(epsilon=0.1, delta=1e-6, bounds=(-1, 1), target_bounds=(0, 1))
    errors = [np.mean((model.fit(X, y).predict(X) - y) ** 2) / y.var() for _ in range(5)]
    assert np.median(errors) < 1.03


def test_intercepts_within_the_errors_of_the_centres_are_kept_and_those_of_clips_are_not():
    kept, noise, weights = {}, 0.01, np.array([0.5, -0.5, 0.0])
    for name, doubt in (("exact centres", 0.0), ("noisy centres", 0.04), ("no idea of the centres", 100.0)):
        for size in (0.1, 3.0):
            weights[-1] = size
            kept[name, size] = shrunk(weights, np.eye(3), noise / 2.0, SQUARED, constant=True, doubt=np.full(3, doubt))[
                -1
            ]
    assert kept["exact centres", 0.1] == kept["exact centres", 3.0] == 0.0
    assert 0.08 < kept["noisy centres", 0.1] < 0.1 and kept["noisy centres", 3.0] < 0.1
    assert kept["no idea of the centres", 0.1] > 0.099 and kept["no idea of the centres", 3.0] > 2.99
