"""The base class of models that are computed from a few noisy integer sums over the rows.

The noise is planned from public facts, the ledger is charged once, then the rows are read. Everything else is
post-processing of released numbers.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported
from hush.learn.budget import Part, Wish, allot, must_be_allowed, vector_families
from hush.learn.caution import NoRandomState, about_callers, about_delta
from hush.learn.fit_receipt import charged, part_words
from hush.learn.kept_fit import question_of, remember
from hush.learn.ledger_noise import family_for
from hush.learn.most_numbers import must_be_few
from hush.learn.paid import Paid
from hush.learn.planning import checked_budget
from hush.learn.scaling import Span, span_of, to_be_found
from hush.learn.scikit_learn import (
    Absent,
    BaseEstimator,
    check_is_fitted,
    checked_rows,
    fitting,
    one_thread,
    sharing_clone,
)
from hush.learn.wide_bounds import Seen, about_features
from hush.ledger import Access, Ledger
from hush.ledger.payment import must_be_secure
from hush.ledger.refusal import must_be_ledger
from hush.privacy.charge import Budget, Guarantee
from hush.releasing.receipt import Receipt
from hush.sampling.entropy import Entropy

__all__ = ["SumModel", "common_unit"]

Array = NDArray[np.float64]


@dataclass(kw_only=True, eq=False, repr=False)
class SumModel(NoRandomState, BaseEstimator):
    """A model from noisy sums. Its parameters, all keyword-only:

    epsilon, delta: the budget of one fit. epsilon = inf gives the model without noise and without privacy.
    bounds: the public ranges of the features: one pair (low, high), a pair per feature, or a mapping from column names
        to pairs. Values outside are moved to the nearest end, in `fit` and afterwards.
    family: "gaussian" or "ball" ("laplace" or "ball" if delta = 0); None chooses the least noise,
        or Gaussian noise if the ledger has a budget of rho or mu.
    ledger: a hush.Ledger that is charged before any noise is drawn.
    entropy: a secure source of random bits; None is the operating system.

    Neighbours have the same number of rows and differ in one replaced row. After a fit `guarantee_`, `receipt_` and
    `noise_` describe the fit.
    """

    epsilon: float
    delta: float
    bounds: Any
    family: str | None = None
    ledger: Ledger | None = None
    entropy: Entropy | None = None

    def __sklearn_clone__(self) -> Self:
        made: Self = sharing_clone(self)
        return made

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.non_deterministic = True  # every fit draws new noise
        return tags

    @contextlib.contextmanager
    def _fitting(self) -> Iterator[list[Seen]]:
        """Warn about the callers, restore the model if the fit fails, and use one thread for small matrices.

        A fit with noise adds its released means and spreads to the list; they may lead to warnings about the bounds.
        """
        about_callers(ledger=self.ledger, private=self.epsilon != math.inf)
        found = list[Seen]()
        with fitting(self), one_thread():
            yield found
        if self.epsilon == math.inf:
            return
        about_delta(self.delta, self.receipt_["rows"])
        names = getattr(self, "feature_names_in_", range(self.n_features_in_))
        for seen in found:
            about_features(seen, names, "declare narrower bounds")

    @property
    def partial_fit(self) -> Any:
        """Not supported; the error says why."""
        raise Absent(
            "partial_fit is not supported, because each call would release numbers about its rows that must be "
            "charged; call fit once with all rows."
        )

    def _checked(self, *given: Any, **options: Any) -> Any:
        """The rows, and the labels if there are any, as scikit-learn checks them; errors quote no value."""
        return checked_rows(self, *given, dtype=np.float64, **options)

    def _span(self) -> Span:
        if self.bounds is None:
            raise InvalidParameter(
                "bounds must be given: ranges are public knowledge and are never computed from the data without noise; "
                "write bounds=(0.0, 100.0)."
            )
        if to_be_found(self.bounds):
            raise Unsupported(f"{type(self).__name__} needs declared bounds; write bounds=(0.0, 100.0).")
        return span_of("bounds", self.bounds, self.n_features_in_, getattr(self, "feature_names_in_", None))

    def _planned(self, *wishes: Wish) -> tuple[Part, ...]:
        """The noise of each part of the fit; none if epsilon = inf."""
        must_be_ledger(self.ledger)
        must_be_secure(self.entropy)
        epsilon, delta = checked_budget(self)
        family = must_be_allowed(self.family)
        if family not in (None, *vector_families(delta)):
            raise Unsupported(
                f"{type(self).__name__} releases a vector, for which {' and '.join(vector_families(delta))} noise have "
                "a proof at this delta; write family=None."
            )
        if math.isinf(epsilon):
            if self.ledger is not None:
                raise InvalidParameter(
                    "epsilon = inf gives no privacy, which no ledger can pay for; leave ledger= out."
                )
            return ()
        must_be_few(wishes, int(self.n_features_in_), "give fewer columns")
        return allot(epsilon, delta, wishes, family=family_for(family, delta, self.ledger), accounting="exact")

    def _paid(self, parts: tuple[Part, ...], rows: int, public: list[str]) -> Paid:
        """Charge the ledger, and set the guarantee and the receipt."""
        name = type(self).__name__
        entry, payment, charges = None, None, [part.charge for part in parts]
        if not parts:
            promise = Guarantee(
                math.inf, 1.0, neighbours="replace", reason="epsilon = inf means that no noise is added"
            )
        else:
            promise = Guarantee(float(self.epsilon), float(self.delta), neighbours="replace")
            for part in parts:
                part.mechanism.prepare()
            budget = Budget(promise.epsilon, promise.delta)
            access = Access(self.ledger, label=f"fit of {name}")
            payment = access.pay(question_of(self, rows, self.n_features_in_, public), charges, budget=budget)
            remember(self, payment)
            entry = payment.entry
        about = {
            "model": name,
            "leaks": [] if promise.holds else [promise.reason],
            "public": ["the number of rows and the number of features", "the ranges in bounds", *public],
            "rows": rows,
            "features": int(self.n_features_in_),
            "accounting": "exact",
            "parts": [part_words(part) for part in parts],
        }
        self.guarantee_ = promise
        self.receipt_ = Receipt.of("private fit", promise, charges, ledger=charged(entry), about=about)
        self.noise_ = parts[-1].mechanism.noise if parts else None
        return Paid(payment, self.entropy)

    def _limited(self, X: Any) -> Array:
        """The rows of new data, limited to the bounds as in `fit`."""
        check_is_fitted(self)
        rows = checked_rows(self, X, dtype=np.float64, reset=False)
        return np.clip(rows, self.limits_[:, 0], self.limits_[:, 1])


def common_unit(span: Span) -> float:
    """One unit for all columns: the root mean square of half their ranges."""
    largest = float(span.half.max())
    return largest * math.sqrt(float(np.mean((span.half / largest) ** 2)))
