"""Private hyper-parameter search: the best of a random number of private runs (Papernot and Steinke 2022)."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Self

from hush.errors import within
from hush.learn import label
from hush.learn.candidates import candidates_of, searched_names
from hush.learn.caution import NoRandomState, about_callers, about_delta
from hush.learn.construction import explained
from hush.learn.counting import Counted, Counting, declared_rows, must_need
from hush.learn.estimator import LogisticRegression
from hush.learn.fit_receipt import Receipt, charged, row_count
from hush.learn.holdout_score import noisy_score
from hush.learn.kept_fit import attempted, question_of, remember
from hush.learn.model import LinearModel
from hush.learn.planning import checked_budget
from hush.learn.progress import announce, level
from hush.learn.row_count import RowCount
from hush.learn.scikit_learn import (
    BaseEstimator,
    MetaEstimatorMixin,
    absent,
    available_if,
    check_is_fitted,
    clone,
    fitting,
    get_tags,
    python_numbers,
    sharing_clone,
)
from hush.learn.search_plan import Scheme, must_be_chargeable, parts_of, pay_for, scheme_of
from hush.learn.selection import Runs, any_of, apart, split
from hush.learn.two_releases import Alternatives
from hush.ledger import Access, Ledger
from hush.ledger.entry import Entry
from hush.ledger.payment import must_be_secure
from hush.ledger.refusal import must_be_ledger
from hush.noise.catalogue import plain_values
from hush.privacy.charge import Budget
from hush.sampling.entropy import Entropy, SecureEntropy
from hush.sampling.witness import now

__all__ = ["PrivateSearchCV"]


@explained
class PrivateSearchCV(NoRandomState, MetaEstimatorMixin, BaseEstimator):
    """Choose the best of several settings of a private estimator, privately: Papernot and Steinke 2022, Theorem 2.

    The rows are split once into a training part and a held-out part, by position and independently of their values (by
    one coin for each row if the estimator has neighbours="add-remove"). The number of runs K is random with mean
    `tries`. Each run draws a candidate from `param_grid`, trains it on the first part and scores it on the second, with
    noise on an integer (the number of wrong labels, or quantised squared errors). Only the best run is released; K and
    the other runs are not kept.

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

    Guarantees: all attributes of the fitted search together are (epsilon, delta)-private for the neighbours of the
    estimator. The running time of `fit` reveals information about K: do not publish it.

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

    cv_results_ = absent(
        "cv_results_ does not exist: only the best run is released; read best_params_ and best_score_."
    )

    def __sklearn_clone__(self) -> Self:
        made: Self = sharing_clone(self)
        return made

    def fit(self, X: Any, y: Any = None, *, n_rows: int | None = None) -> Self:
        """Run the search.

        best_estimator_, best_params_ and best_score_ describe the best run; guarantee_ and receipt_ cover the whole
        search. `n_rows` is for an estimator with neighbours="add-remove", as in `LinearModel.fit`.
        """
        with fitting(self):
            self._search(X, y, n_rows)
        return self

    def _search(self, X: Any, y: Any, n_rows: int | None) -> None:
        must_be_ledger(self.ledger)
        must_be_secure(self.entropy)
        about_callers(ledger=self.ledger, private=True)
        candidates = candidates_of(self.estimator, self.param_grid)
        loud, first = level("verbose", self.verbose) > 0, self._model(candidates[0])
        must_need(n_rows, first._relation)
        rows, target = first._checked(X, y, accept_sparse=False)
        if isinstance(first, LogisticRegression):
            label.declared(first.classes, target)
        name = f"search over {len(candidates)} settings of {type(first).__name__}"
        access, question = Access(self.ledger, label=name), question_of(self, rows.shape[1], n_rows)
        counting = Counting(first._relation, lambda: rows.shape[0], declared_rows(n_rows))
        counted, made = self._planned(candidates, first, counting, access, question)
        with counted.explained():
            payment = pay_for(made, access, question)
        begun = now().isoformat(timespec="seconds")
        if loud:
            parts = f"training on {made.kept} rows, scoring on {made.held} rows"
            announce(f"PrivateSearchCV: searching {len(made.models)} settings, {parts}")
        best = attempted(payment, lambda: self._best(made, rows, target))
        self._write(made, counted, *best, None if payment is None else payment.entry, begun)
        remember(self, payment)
        about_delta(self.delta, made.kept + made.held)
        if loud:
            announce("PrivateSearchCV: finished")

    def _planned(
        self, candidates: list[dict[str, Any]], first: LinearModel, counting: Counting, access: Access, question: str
    ) -> tuple[Counted, Scheme]:
        """The number of rows, released if it must be, and the plan of the search on so many rows."""
        tried = self._scheme(candidates, first, counting.guess)  # raises if an option is wrong
        if self.ledger is not None:
            must_be_chargeable(tried.budget.epsilon)
        counted = counting.counted(
            tried.budget.epsilon,
            access,
            question,
            self.entropy,
            delta=tried.budget.delta,
            rest=lambda made: _rest(tried, made),
        )
        if counted.made is None and counted.rows == counting.guess:
            return counted, tried
        with counted.explained():
            return counted, self._scheme(candidates, first, counted.rows, counted.made)

    def _best(self, made: Scheme, rows: Any, target: Any) -> tuple[LinearModel, float]:
        """The best run and its noisy score."""
        entropy = SecureEntropy() if self.entropy is None else self.entropy
        hidden, coins, bits = made.relation.hides_rows, entropy.begin(), entropy.begin()
        count = rows.shape[0]  # a row more or less must not move other rows from one part to the other
        kept, held = apart(coins, count, self.holdout) if hidden else split(coins, count, made.held)
        best, winner = -math.inf, made.models[0]
        for _ in range(made.runs.draw(bits)):
            drawn = made.models[any_of(bits, len(made.models))]
            model = _known(clone(drawn), drawn)  # a new, unfitted model
            model._fitted(rows[kept], target[kept], n_rows=made.kept if hidden else None)
            score = noisy_score(model, rows[held], target[held], made.score, self.entropy, made.held)
            if score > best:  # ties: keep the first run; all runs have the same law, so this is a fair choice
                best, winner = score, model
        return winner, best

    def _model(self, settings: dict[str, Any]) -> LinearModel:
        model: LinearModel = clone(self.estimator)
        model.set_params(**settings, verbose=0, entropy=self.entropy)
        model.__dict__.update(python_numbers(model.get_params(deep=False)))
        # Renyi accounting gains nothing from other families at these numbers of updates
        if model.family is None and self.delta != 0.0:
            model.family, model._searched = "gaussian", True
        return model

    def _scheme(
        self, candidates: list[dict[str, Any]], first: LinearModel, rows: int, counted: RowCount | None = None
    ) -> Scheme:
        budget = Budget.asked(*checked_budget(self))  # an infinite epsilon is refused
        holdout = within("holdout", self.holdout, 0.01, 0.9, "write holdout=0.2")
        parts = parts_of(rows, holdout, hidden=first._relation.hides_rows)
        runs = Runs.expected(2.0 * len(candidates) if self.tries is None else self.tries, self.eta)
        models = [_known(self._model(one), first) for one in candidates]
        return scheme_of(models, first, runs, _left(budget, counted), parts)

    def _write(
        self, made: Scheme, counted: Counted, winner: LinearModel, best: float, entry: Entry | None, begun: str
    ) -> None:
        """Set the fitted attributes: the best run, and public facts.

        The receipt of the best run would reveal the accounting of one run, so it gets the guarantee of the search.
        """
        promise = made.relation.guarantee(float(self.epsilon), float(self.delta))
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
            "rows_per_unit": 1,
            "started_from": list(counted.entries),
            "row_count": row_count(counted.made),
            "sharp_edge": "the running time reveals information about the number of runs; do not publish it",
        }
        whole = Receipt.of("private search", promise, [], ledger=charged(entry), about=about) | {"time": begun}
        winner.guarantee_ = promise
        same = ("guarantee", "charges", "extra_delta", "ledger", "time", "started_from", "row_count")
        winner.receipt_ = winner.receipt_ | {name: whole[name] for name in same}  # not the values of one run
        if counted.made is not None:
            winner.receipt_ |= {"public": ["the number of features", *winner.receipt_["public"][1:]]}
        self.best_estimator_ = winner.set_params(epsilon=self.epsilon, delta=self.delta)
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
        for name in ("estimator_type", "classifier_tags", "regressor_tags", "target_tags"):
            setattr(tags, name, getattr(inner, name))
        tags.non_deterministic, tags.input_tags.sparse = True, False
        return tags


def _left(budget: Budget, counted: RowCount | None) -> Budget:
    """The budget without that of the number of rows."""
    return budget if counted is None else Budget(counted.left, budget.delta)


def _rest(made: Scheme, counted: RowCount) -> list[Alternatives]:
    """What a search charges after every number of rows; its delta is the chance that the pair fails."""
    left = _left(made.budget, counted)
    return [lambda: [([replace(made, budget=left).charge], left, left.delta)]]


def _known(model: LinearModel, other: LinearModel) -> LinearModel:
    """The model with the column names of another one, and whether a search chose its family."""
    for name in ("n_features_in_", "feature_names_in_", "_searched"):
        if hasattr(other, name):
            setattr(model, name, getattr(other, name))
    return model
