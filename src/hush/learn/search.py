"""Private hyper-parameter search: the best of a random number of private runs (Papernot and Steinke 2022)."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, Self

from hush.errors import InvalidParameter, as_float, budgets, deltas, reject, within
from hush.learn import label
from hush.learn.candidates import candidates_of, searched_names
from hush.learn.caution import NoRandomState, about_callers
from hush.learn.estimator import LogisticRegression
from hush.learn.fit_receipt import RELATION, Receipt, charged
from hush.learn.holdout_score import noisy_score, score_mechanism
from hush.learn.model import LinearModel
from hush.learn.progress import announce, level
from hush.learn.scikit_learn import (
    BaseEstimator,
    MetaEstimatorMixin,
    available_if,
    check_is_fitted,
    clone,
    get_tags,
    sharing_clone,
)
from hush.learn.selection import Charges, Runs, any_of, largest_base, run_divergence, split
from hush.learn.training import plan
from hush.ledger import Ledger
from hush.ledger.entry import Entry
from hush.ledger.payment import must_be_secure, pay
from hush.ledger.refusal import must_be_ledger
from hush.noise.catalogue import plain_values
from hush.noise.staircase import Staircase
from hush.privacy.charge import Budget, Charge, Guarantee
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.entropy import Entropy, SecureEntropy
from hush.sampling.mechanism import Mechanism

__all__ = ["PrivateSearchCV"]

_LARGEST_CHARGED_EPSILON = 700.0  # e^epsilon must be a finite float


@dataclass(frozen=True)
class _Scheme:
    """The plan of a search, from public facts only: the candidates, the law of the number of runs, and the noise."""

    models: list[LinearModel]
    runs: Runs
    base: float
    score: Mechanism
    kept: int
    held: int


class PrivateSearchCV(NoRandomState, MetaEstimatorMixin, BaseEstimator):
    """Choose the best of several settings of a private estimator, privately: Papernot and Steinke 2022, Theorem 2.

    The rows are split once into a training part and a held-out part, by position and independently of their values.
    The number of runs K is random with mean `tries`. Each run draws a candidate from `param_grid`, trains it on the
    first part and scores it on the second, with noise on an integer (the number of wrong labels, or quantised squared
    errors). Only the best run is released; K and the other runs are not kept.

    estimator: an estimator of hush.learn. Its epsilon and delta are replaced, and family=None means Gaussian noise
        here (Laplace noise if delta = 0).
    param_grid: as in scikit-learn's GridSearchCV. Its values must be chosen without the data.
    epsilon, delta: the budget of the whole search.
    holdout: the fraction of rows that is used for scoring.
    tries: the expected number of runs; None is twice the number of candidates.
    eta: the shape of the law of K; 0 is the logarithmic series. Smaller values cost less and vary more.
    ledger: charged once, before anything is drawn.
    verbose: 1 prints a line at the start and at the end. There is no progress bar, because it would reveal K.
    entropy: as in the estimators; it must be given here and not to the estimator.

    Guarantees: all attributes of the fitted search together are (epsilon, delta)-private for one replaced row. The
    running time of `fit` reveals information about K: do not publish it.

    Cost: with a budget of (1, 1e-6), one run has epsilon 0.55 for a grid of 4 (its noise is 1.7 times as large as
    without a search) and 0.49 for a grid of 16 (1.9 times), on 80 % of the rows; `receipt_` holds the exact number.
    The defaults are made to need no search. Use this for a setting, such as the penalty, that changes the errors more.

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
        """Run the search.

        best_estimator_, best_params_ and best_score_ describe the best run; guarantee_ and receipt_ cover the whole
        search.
        """
        must_be_ledger(self.ledger)
        must_be_secure(self.entropy)
        about_callers(charged=self.ledger is not None, private=True)
        candidates = candidates_of(self.estimator, self.param_grid)
        loud = level("verbose", self.verbose) > 0
        first = self._model(candidates[0])
        rows, target = first._checked(X, y, accept_sparse=False)
        if isinstance(first, LogisticRegression):
            label.declared(first.classes, target)
        made = self._scheme(candidates, first, rows.shape[0])
        entry = self._pay(made, self.ledger)
        begun = datetime.now(UTC).isoformat(timespec="seconds")
        if loud:
            announce(
                f"PrivateSearchCV: searching {len(made.models)} settings, "
                f"training on {made.kept} rows, scoring on {made.held} rows"
            )
        bits = (SecureEntropy() if self.entropy is None else self.entropy).begin()
        kept, held = split(bits, rows.shape[0], made.held)
        best, winner = -math.inf, made.models[0]
        for _ in range(made.runs.draw(bits)):
            model = _copy(made.models[any_of(bits, len(made.models))])
            model._fitted(rows[kept], target[kept])
            score = noisy_score(model, rows[held], target[held], made.score, self.entropy)
            if score > best:  # ties: keep the first run; all runs have the same law, so this is a fair choice
                best, winner = score, model
        self._write(made, winner, best, entry, begun)
        if loud:
            announce("PrivateSearchCV: finished")
        return self

    def _model(self, settings: dict[str, Any]) -> LinearModel:
        model: LinearModel = clone(self.estimator)
        model.set_params(**settings, verbose=0, entropy=self.entropy)
        # Renyi accounting gains nothing from other families at these numbers of updates
        if model.family is None and self.delta != 0.0:
            model.family = "gaussian"
        return model

    def _scheme(self, candidates: list[dict[str, Any]], first: LinearModel, rows: int) -> _Scheme:
        epsilon = float(
            budgets("epsilon", as_float("epsilon", self.epsilon, "a number greater than 0", "write epsilon=1.0"))
        )
        delta = float(deltas("delta", as_float("delta", self.delta, "in [0, 1)", "write delta=1e-6"), zero=True))
        held = round(rows * within("holdout", self.holdout, 0.01, 0.9, "write holdout=0.2"))
        if held < 1 or rows - held < 2:
            raise InvalidParameter(
                f"{rows} rows are too few for holdout={self.holdout:g}: both parts need rows; nothing was spent."
            )
        runs = Runs.expected(2.0 * len(candidates) if self.tries is None else self.tries, self.eta)
        models = [_known(self._model(one), first) for one in candidates]

        def charges(base: float) -> Iterator[Charges]:
            """The charges of every candidate's training, and of the score: each row is in one of the two parts."""
            for model in models:
                model.set_params(epsilon=base, delta=delta)
                yield plan(model._request_for(rows - held), rows - held).charges
            yield (score_mechanism(first, base, delta).charge,)

        def fits(base: float) -> bool:
            return runs.epsilon(run_divergence(charges(base)), delta) <= epsilon

        base = runs.pure(epsilon) if delta == 0.0 else largest_base(fits, epsilon)
        for model in models:
            model.set_params(epsilon=base, delta=delta)
        return _Scheme(models, runs, base, score_mechanism(first, base, delta), rows - held, held)

    def _pay(self, made: _Scheme, ledger: Ledger | None) -> Entry | None:
        """Build every sampler, then charge the pair (epsilon, delta): it is all that is proved about a search.

        Every (epsilon, delta)-private algorithm is dominated by randomised response that fails with probability delta
        (Kairouz, Oh and Viswanath 2015, Theorem 3.4). Staircase noise with gamma = 1/2 has the same privacy loss,
        which is always epsilon or -epsilon. No noise is drawn for the pair: it pays for all runs together, and each
        run and each score then draws with an unaccounted payment.
        """
        for model in made.models:
            for part in plan(model._request_for(made.kept), made.kept).parts:
                part.mechanism.prepare()
        made.score.prepare()
        if ledger is None:
            return None
        if self.epsilon > _LARGEST_CHARGED_EPSILON:
            raise reject(
                "epsilon", self.epsilon, "at most 700 if a ledger is charged for a search", "write epsilon=1.0"
            )
        name = f"search over {len(made.models)} settings of {type(made.models[0]).__name__}"
        pair = Charge(Staircase(self.epsilon, 1.0, gamma=0.5), Sensitivity(linf=1.0, l0=1, neighbours=RELATION))
        budget = Budget(self.epsilon, self.delta)
        return pay(ledger, [pair], label=name, extra_delta=self.delta, budget=budget).entry

    def _write(self, made: _Scheme, winner: LinearModel, best: float, entry: Entry | None, begun: str) -> None:
        """Set the fitted attributes: the best run, and public facts.

        The receipt of the best run would reveal the accounting of one run, so it gets the guarantee of the search.
        """
        promise = Guarantee(float(self.epsilon), float(self.delta), neighbours=RELATION)
        about = {
            "model": type(winner).__name__,
            "rule": "best of K runs, where K has a truncated negative binomial law (Papernot and Steinke 2022, "
            "Theorem 2); K is not released",
            "candidates": len(made.models),
            "expected_runs": made.runs.mean,
            "eta": made.runs.eta,
            "gamma": made.runs.gamma,
            "epsilon_of_one_run": made.base,
            "cost": f"each run has epsilon {made.base:.3g} of {promise.epsilon:g}, "
            f"on {made.kept} of {made.kept + made.held} rows",
            "score": {"noise": plain_values(made.score.noise), "rows": made.held},
            "sharp_edge": "the running time reveals information about the number of runs; do not publish it",
        }
        whole = Receipt.of("private search", promise, [], ledger=charged(entry), about=about) | {"time": begun}
        winner.guarantee_ = promise
        same = ("guarantee", "charges", "extra_delta", "ledger", "time")  # the values of one run must not be shown
        winner.receipt_ = winner.receipt_ | {name: whole[name] for name in same}
        winner.set_params(epsilon=self.epsilon, delta=self.delta)
        self.best_estimator_ = winner
        self.best_params_ = {name: getattr(winner, name) for name in searched_names(self.param_grid)}
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
        """The predictions of the best estimator."""
        return self._winner("predict").predict(X)

    @available_if(lambda self: hasattr(self.estimator, "predict_proba"))
    def predict_proba(self, X: Any) -> Any:
        """The class probabilities of the best estimator."""
        return self._winner("predict_proba").predict_proba(X)

    @available_if(lambda self: hasattr(self.estimator, "decision_function"))
    def decision_function(self, X: Any) -> Any:
        """The log-odds of the best estimator."""
        return self._winner("decision_function").decision_function(X)

    def score(self, X: Any, y: Any) -> float:
        """The accuracy or R^2 of the best estimator on the given rows, without noise: it is not private."""
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
    """A new, unfitted model with the same settings and column names."""
    return _known(clone(model), model)


def _known(model: LinearModel, other: LinearModel) -> LinearModel:
    """The model with the column names of another one."""
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(other, name):
            setattr(model, name, getattr(other, name))
    return model
