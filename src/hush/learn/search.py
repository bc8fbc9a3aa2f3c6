"""Private choice among settings: the best of a random number of private runs (Papernot and Steinke 2022), with its
cost charged.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.calibration.ranking import calibrate
from hush.errors import InvalidParameter, Unsupported, as_float, budgets, deltas, reject, within
from hush.learn import label
from hush.learn.estimator import LogisticRegression
from hush.learn.fit_receipt import RELATION, Receipt, charged
from hush.learn.model import (
    BaseEstimator,
    LinearModel,
    MetaEstimatorMixin,
    ParameterGrid,
    available_if,
    check_is_fitted,
    clone,
    get_tags,
    sharing_clone,
)
from hush.learn.paid import Paid
from hush.learn.progress import announce, level
from hush.learn.scaling import span_of
from hush.learn.selection import Charges, Runs, any_of, largest_base, run_divergence, split
from hush.learn.training import plan
from hush.ledger import Ledger
from hush.ledger.entry import Entry
from hush.ledger.payment import must_be_secure, pay, unaccounted
from hush.ledger.refusal import must_be_ledger
from hush.noise.catalogue import plain_values
from hush.noise.staircase import Staircase
from hush.privacy.charge import Budget, Charge, Guarantee
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.entropy import Entropy, SecureEntropy
from hush.sampling.mechanism import Mechanism

__all__ = ["PrivateSearchCV"]

Array = NDArray[np.float64]

#: What a grid may not hold: the budget and where it goes, and what must be public for the runs to be comparable.
_FIXED = ("epsilon", "delta", "ledger", "bounds", "target_bounds", "classes", "warm_start", "verbose", "entropy")
_GRAIN = 1 << 20  # steps of the largest squared error
# of the target's range: errors beyond count as this much, since a score's noise grows with the square of what it may
# move by
_LIMIT = 0.25


@dataclass(frozen=True)
class _Scheme:
    """What a search will do, all of it from public facts: who may win, how often to run, and with how much noise."""

    models: list[LinearModel]
    runs: Runs
    base: float
    score: Mechanism
    kept: int
    held: int


class PrivateSearchCV(MetaEstimatorMixin, BaseEstimator):
    """The best of several settings of a private estimator, chosen privately: Papernot and Steinke 2022, Theorem 2.

    The rows are split once into a training and a held-out part, by position and without looking at them. A random
    number K of runs, of mean `tries`, is made; each draws a candidate from `param_grid`, trains it on the first part
    and scores it on the second with noise on a whole number (wrong labels, or quantised squared errors). Only the
    best run is shown: K and the others are not kept.

    estimator: one of hush.learn's; its epsilon and delta are replaced, and noise="auto" means Gaussian noise here.
    param_grid: as in scikit-learn's GridSearchCV; its values must have been chosen without the data.
    epsilon, delta: of the whole search. holdout: the share of rows for scoring.
    tries: the expected number of runs; None for twice the number of candidates. eta: the shape of K's law, 0 is the
    logarithmic series;
        smaller values cost less and vary more. ledger: charged once, before anything is drawn. verbose: 1 to be told
        when it starts and when it ends, and no more, since progress would tell K. entropy: as in the estimators, and
        only here.

    Guarantees: (epsilon, delta)-privacy of everything on the fitted search, for one row exchanged. How long `fit`
    takes tells about K: do not publish it.

    What it costs: of (1, 1e-6), a run has epsilon 0.55 with a grid of 4 (noise 1.7 times as large as without a
    search) and 0.49 with a grid of 16 (1.9 times), on 80 % of the rows; `receipt_` has the number. The defaults are
    made to need no search: use this where a setting changes the errors by more than that, such as the penalty.

    >>> import numpy as np, hush.learn
    >>> rng = np.random.default_rng()
    >>> X = rng.uniform(-1, 1, (5000, 2)); y = (X[:, 0] > 0).astype(int)
    >>> model = hush.learn.LogisticRegression(epsilon=1.0, delta=1e-6, bounds=(-1, 1))
    >>> search = hush.learn.PrivateSearchCV(model, {"C": [0.001, 1.0]}, epsilon=2.0, delta=1e-6).fit(X, y)
    >>> search.guarantee_.epsilon, set(search.best_params_), bool(search.best_score_ > 0.6)
    (2.0, {'C'}, True)
    """

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        epsilon: float,
        delta: float,
        holdout: float = 0.2,
        tries: float | None = None,
        eta: float = 0.0,
        ledger: Ledger | None = None,
        verbose: int = 0,
        entropy: Entropy | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.epsilon = epsilon
        self.delta = delta
        self.holdout = holdout
        self.tries = tries
        self.eta = eta
        self.ledger = ledger
        self.verbose = verbose
        self.entropy = entropy

    def __sklearn_clone__(self) -> Self:
        made: Self = sharing_clone(self)
        return made

    def fit(self, X: Any, y: Any) -> Self:
        """Search; best_estimator_, best_params_ and best_score_ are the winner, guarantee_ and receipt_ are of the
        whole search.
        """
        must_be_ledger(self.ledger)
        must_be_secure(self.entropy)
        candidates = self._candidates()
        told = level("verbose", self.verbose)
        first = self._model(candidates[0])
        rows, target = first._checked(X, y)
        if isinstance(first, LogisticRegression):
            label.declared(first.classes, target)
        made = self._scheme(candidates, first, rows.shape[0])
        entry = self._pay(made, self.ledger)
        begun = datetime.now(UTC).isoformat(timespec="seconds")
        if told:
            announce(
                f"PrivateSearchCV: searching {len(made.models)} settings, on {made.kept} rows, scored on {made.held}"
            )
        bits = (SecureEntropy() if self.entropy is None else self.entropy).begin()
        kept, held = split(bits, rows.shape[0], made.held)
        best, winner = -math.inf, made.models[0]
        for _ in range(made.runs.draw(bits)):
            model = _copy(made.models[any_of(bits, len(made.models))])
            model._fitted(rows[kept], target[kept])
            score = _noisy_score(model, rows[held], target[held], made.score, self.entropy)
            if score > best:  # of equals the first: as good as a fair coin, since runs are drawn alike
                best, winner = score, model
        self._write(made, winner, best, entry, begun)
        if told:
            announce("PrivateSearchCV: finished")
        return self

    # -- what will be done -----------------------------------------------------------------------------------

    def _candidates(self) -> list[dict[str, Any]]:
        model = self.estimator
        if not isinstance(model, LinearModel):
            raise reject(
                "estimator", model, "an estimator of hush.learn", "write PrivateSearchCV(hush.learn.Ridge(...), ...)"
            )
        if model.ledger is not None or model.warm_start:
            raise Unsupported(
                "the search pays for all runs at once: give the ledger to PrivateSearchCV, and none, nor warm_start, to the model."
            )
        if model.entropy is not None:
            raise Unsupported(
                "all runs draw from the search's entropy: give entropy= to PrivateSearchCV, and none to the model."
            )
        if model.scaling == "paper":
            raise Unsupported(
                "scaling='paper' has no privacy guarantee that a search could pay for; write scaling='private'."
            )
        if isinstance(model, LogisticRegression) and label.to_be_found(model.classes):
            raise Unsupported(
                "classes='private' would be found anew in every run; declare classes=(a, b) on the estimator of a search."
            )
        try:
            candidates = list(ParameterGrid(self.param_grid))
        except (TypeError, ValueError) as failure:
            raise reject(
                "param_grid",
                self.param_grid,
                "a dictionary of lists, or a list of these",
                "write {'alpha': [0.1, 1.0]}",
            ) from failure
        if not candidates:
            raise reject(
                "param_grid", self.param_grid, "settings to choose among, at least one", "write {'alpha': [0.1, 1.0]}"
            )
        known = model.get_params(deep=False)
        for name in sorted({name for one in candidates for name in one}):
            if name in _FIXED:
                raise Unsupported(
                    f"{name} cannot be searched over: it is part of what is promised; give it to the estimator or the search."
                )
            if name not in known:
                raise reject(
                    "param_grid",
                    name,
                    f"made of parameters of {type(model).__name__}",
                    f"it has {', '.join(sorted(known))}",
                )
        if any(one.get("scaling") == "paper" for one in candidates):
            raise Unsupported(
                "scaling='paper' has no privacy guarantee that a search could pay for; leave it out of param_grid."
            )
        return candidates

    def _model(self, settings: dict[str, Any]) -> LinearModel:
        model: LinearModel = clone(self.estimator)
        model.set_params(**settings, verbose=0, entropy=self.entropy)
        if (
            model.noise == "auto" and self.delta != 0.0
        ):  # a Renyi account gains nothing from other shapes at these numbers of updates
            model.noise = "gaussian"
        return model

    def _scheme(self, candidates: list[dict[str, Any]], first: LinearModel, rows: int) -> _Scheme:
        epsilon = float(
            budgets("epsilon", as_float("epsilon", self.epsilon, "a number greater than 0", "write epsilon=1.0"))
        )
        delta = float(deltas("delta", as_float("delta", self.delta, "in [0, 1)", "write delta=1e-6"), zero=True))
        held = round(rows * within("holdout", self.holdout, 0.01, 0.9, "write holdout=0.2"))
        if held < 1 or rows - held < 2:
            raise InvalidParameter(f"{rows} rows are too few to hold out {self.holdout:g} of them; nothing was spent.")
        runs = Runs.expected(2.0 * len(candidates) if self.tries is None else self.tries, self.eta)
        models = [_known(self._model(one), first) for one in candidates]

        def charges(base: float) -> Iterator[Charges]:
            """Of every candidate's training, and of the score: each row is in one of the two parts."""
            for model in models:
                model.set_params(epsilon=base, delta=delta)
                yield tuple(part.charge for part in plan(model._asked(rows - held), rows - held).parts)
            yield (_score_mechanism(first, base, delta).charge,)

        def fits(base: float) -> bool:
            return runs.epsilon(run_divergence(charges(base)), delta) <= epsilon

        base = runs.pure(epsilon) if delta == 0.0 else largest_base(fits, epsilon)
        for model in models:
            model.set_params(epsilon=base, delta=delta)
        return _Scheme(models, runs, base, _score_mechanism(first, base, delta), rows - held, held)

    def _pay(self, made: _Scheme, ledger: Ledger | None) -> Entry | None:
        """Build every sampler, then charge the pair (epsilon, delta) itself: nothing is known of the search but that
        it keeps it.

        Every (epsilon, delta)-private algorithm is dominated by randomised response that fails with probability delta
        (Kairouz, Oh and Viswanath 2015, Theorem 3.4); staircase noise of gamma = 1/2 has just its loss, always
        epsilon or -epsilon. No noise is drawn for the pair itself: it pays for all runs together, and each run and
        each score then draws by an unaccounted payment of its own.
        """
        for model in made.models:
            for part in plan(model._asked(made.kept), made.kept).parts:
                part.mechanism.prepare()
        made.score.prepare()
        if ledger is None:
            return None
        if self.epsilon > 700.0:
            raise reject(
                "epsilon", self.epsilon, "at most 700 where a ledger is charged for a search", "write epsilon=1.0"
            )
        name = f"search over {len(made.models)} settings of {type(made.models[0]).__name__}"
        pair = Charge(Staircase(self.epsilon, 1.0, gamma=0.5), Sensitivity(linf=1.0, l0=1, neighbours=RELATION))
        budget = Budget(self.epsilon, self.delta)
        return pay(ledger, [pair], label=name, extra_delta=self.delta, budget=budget).entry

    # -- what may be known -----------------------------------------------------------------------------------

    def _write(self, made: _Scheme, winner: LinearModel, best: float, entry: Entry | None, begun: str) -> None:
        """Only the winner, and what was public before. Its own receipt would reveal one run, so it gets the
        search's.
        """
        promise = Guarantee(float(self.epsilon), float(self.delta), neighbours=RELATION)
        about = {
            "model": type(winner).__name__,
            "rule": "best of K runs, K of a truncated negative binomial law (Papernot and Steinke 2022, Theorem 2); K is not released",
            "candidates": len(made.models),
            "expected_runs": made.runs.mean,
            "eta": made.runs.eta,
            "gamma": made.runs.gamma,
            "epsilon_of_one_run": made.base,
            "cost": f"each run has epsilon {made.base:.3g} of {promise.epsilon:g}, on {made.kept} of {made.kept + made.held} rows",
            "score": {"noise": plain_values(made.score.noise), "rows": made.held},
            "sharp_edge": "the running time tells about the number of runs; do not publish it",
        }
        whole = Receipt.of("private search", promise, [], ledger=charged(entry), about=about) | {"time": begun}
        winner.guarantee_ = promise
        same = ("guarantee", "charges", "extra_delta", "ledger", "time")  # those of its own run would tell of one run
        winner.receipt_ = winner.receipt_ | {name: whole[name] for name in same}
        winner.set_params(epsilon=self.epsilon, delta=self.delta)
        self.best_estimator_ = winner
        self.best_params_ = {name: getattr(winner, name) for name in _names(self.param_grid)}
        self.best_score_ = best
        self.guarantee_ = promise
        self.receipt_ = whole
        self.n_features_in_ = winner.n_features_in_
        if hasattr(winner, "feature_names_in_"):
            self.feature_names_in_ = winner.feature_names_in_

    @property
    def classes_(self) -> Any:
        return self._winner("classes_").classes_

    def predict(self, X: Any) -> Any:
        """The winner's prediction."""
        return self._winner("predict").predict(X)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """The winner's probabilities of the classes."""
        return self._winner("predict_proba").predict_proba(X)

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: Any) -> Any:
        """The winner's log-odds."""
        return self._winner("decision_function").decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """The winner's accuracy or R^2 on the given rows: a fact about those rows, without noise."""
        return float(self._winner("score").score(X, y))

    def _winner(self, name: str) -> Any:
        check_is_fitted(self, "best_estimator_", msg=f"This PrivateSearchCV is not fitted yet; call fit before {name}.")
        return self.best_estimator_

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.estimator)
        tags.estimator_type, tags.classifier_tags, tags.regressor_tags = (
            inner.estimator_type,
            inner.classifier_tags,
            inner.regressor_tags,
        )
        tags.target_tags, tags.non_deterministic, tags.input_tags.sparse = inner.target_tags, True, False
        return tags


def _copy(model: LinearModel) -> LinearModel:
    """A fresh model of the same settings that knows its columns."""
    return _known(clone(model), model)


def _known(model: LinearModel, other: LinearModel) -> LinearModel:
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(other, name):
            setattr(model, name, getattr(other, name))
    return model


def _names(grid: Any) -> list[str]:
    return sorted({name for one in ParameterGrid(grid) for name in one})


def _score_mechanism(model: LinearModel, epsilon: float, delta: float) -> Mechanism:
    """Noise for one whole number: wrong labels move by at most 1, quantised squared errors by at most their grain."""
    reach = 1.0 if isinstance(model, LogisticRegression) else float(_GRAIN)
    bound = Sensitivity(linf=reach, l0=1, neighbours="replace")
    made = calibrate(epsilon, delta, bound, family="laplace" if delta == 0.0 else "gaussian")
    return Mechanism.of(made, integers=True)


def _noisy_score(model: LinearModel, rows: Array, target: Any, mechanism: Mechanism, entropy: Entropy | None) -> float:
    """Accuracy, or minus the mean squared error, from a noisy whole number; errors are limited to a quarter of the
    target's range.

    The search has paid for the score, so its own payment is unaccounted.
    """
    if isinstance(model, LogisticRegression):
        second = label.where(target, model.classes_[1]) > 0.0
        total, unit = int(np.sum((model._linear(rows) > 0.0) != second)), 1.0
    else:
        span = span_of("target_bounds", model.target_bounds, 1)
        low, high = float(span.low[0]), float(span.high[0])
        largest = _LIMIT * (high - low)
        off = (np.clip(model._linear(rows), low, high) - np.clip(target.astype(np.float64), low, high)) / largest
        # a row whose error is no number counts as the largest: every row gives a whole number from 0 to the grain
        total = int(np.rint(np.nan_to_num(np.minimum(off * off, 1.0), nan=1.0) * _GRAIN).astype(np.int64).sum())
        unit = largest**2 / _GRAIN
    noisy = Paid(unaccounted(mechanism.charge), entropy).release(mechanism, np.array([total]), "score")
    error = float(noisy[0]) * unit / rows.shape[0]
    return 1.0 - error if isinstance(model, LogisticRegression) else -error
