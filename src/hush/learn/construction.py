"""Sentences for a model that is made without an argument it needs, or with a parameter that only scikit-learn has."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from hush.errors import IncompleteCall, Unsupported, nearest

__all__ = ["explained"]

_Model = TypeVar("_Model", bound=type)

#: What is missing, why it is needed, and what to write.
_NEEDED = {
    "epsilon": ("the privacy budget of the fit", "epsilon=1.0"),
    "delta": ("the small probability that belongs to epsilon, well below one over the number of rows", "delta=1e-6"),
    "bounds": (
        "the ranges are public knowledge and are never computed from the data without noise",
        "bounds=(0.0, 100.0)",
    ),
    "target_bounds": (
        "the range of y is public knowledge and is never computed from the data without noise",
        "target_bounds=(0.0, 100.0)",
    ),
    "estimator": ("the private model whose settings are tried", ""),
    "param_grid": ("the settings that are tried", ""),
}
_SEARCH = "PrivateSearchCV(model, {'C': [0.01, 1.0]}, epsilon=1.0, delta=1e-6)"
_LATER = {
    "bounds": ", one pair for each column, or bounds='private' to find them with a part of the budget",
    "target_bounds": ", or target_bounds='private' to find it with a part of the budget",
}
_OUT, _STEPS = "leave it out", "a private fit pays for a fixed number of steps in advance"
#: Parameters of scikit-learn's models: a parameter of the model, or "" for any model, and what to do if it has it.
_ELSEWHERE: dict[str, tuple[tuple[str, str], ...]] = {
    "class_weight": (
        ("max_weight", "write fit(X, y, sample_weight=...) and max_weight=2.0, the public limit of a weight"),
        ("priors", "write priors=(0.5, 0.5)"),
        ("", _OUT),
    ),
    "penalty": (
        ("C", "write l1_ratio=1.0 for an l1 penalty and l1_ratio=0.0 for an l2 penalty, and C=1.0 for its strength"),
        ("alpha", "choose Lasso, Ridge or ElasticNet; alpha is the strength, and its default here is {alpha}"),
        ("", _OUT),
    ),
    "max_iter": (("passes", f"{_STEPS}; leave it out, or write passes=10"), ("", _OUT)),
    "alpha": (("C", "the strength of the penalty is C, as in scikit-learn; write C=1.0"), ("", _OUT)),
    "C": (("alpha", "the strength of the penalty is alpha, as in scikit-learn; write alpha={alpha}"), ("", _OUT)),
    "multi_class": (("classes", "all classes are fitted together; write classes=('a', 'b', 'c')"), ("", _OUT)),
    "cv": (("holdout", "a private search holds rows out once; write holdout=0.2"), ("", "write PrivateSearchCV")),
    "scoring": (
        ("", "a search compares the accuracy of classifiers and the squared error of regressions; leave it out"),
    ),
    "tol": (("", f"{_STEPS}; leave it out"),),
    "n_jobs": (("", "a fit uses one thread; leave it out"),),
    "n_init": (("", "there is one start, because each further one would need budget; leave it out"),),
    "init": (("", "the start is computed from released numbers; leave it out"),),
    "positive": (("", "there is no fit with a limit on signs; leave it out"),),
    "normalize": (("", "columns are scaled by released numbers; leave it out"),),
    "alphas": (("alpha", "write alpha={alpha}, or search with PrivateSearchCV"), ("", _OUT)),
    "Cs": (("C", "write C=1.0, or search with PrivateSearchCV"), ("", _OUT)),
    "refit": (("", "a refit would need more budget; leave it out"),),
} | dict.fromkeys(("copy_X", "copy_x", "copy"), (("", "X is never changed; leave it out"),))
#: The same, without a reason.
_WITHOUT = {
    "precompute",
    "selection",
    "dual",
    "intercept_scaling",
    "svd_solver",
    "iterated_power",
    "algorithm",
    "batch_size",
}
_WITHOUT |= {"tol", "return_train_score", "error_score", "pre_dispatch", "max_no_improvement", "n_oversamples"}


def explained(kind: _Model) -> _Model:
    """Decorate a model, above @dataclass: a call that does not fit raises an error that says what to write."""
    make: Callable[..., None] = kind.__init__  # type: ignore[misc]
    known = inspect.signature(make).parameters
    by_name = all(one.kind is one.KEYWORD_ONLY for name, one in known.items() if name != "self")
    needed = [name for name, one in known.items() if one.default is one.empty and name != "self"]
    order = list(known)[1:]

    @functools.wraps(make)
    def call(self: Any, *given: Any, **named: Any) -> None:
        _must_be_known(kind.__name__, named, known)
        if given and by_name:
            example = ", ".join(_NEEDED[name][1] for name in needed)
            raise IncompleteCall(f"{kind.__name__} takes its parameters by name; write {kind.__name__}({example}).")
        missing = [name for name in needed if name not in named and name not in order[: len(given)]]
        if missing:
            raise _incomplete(kind.__name__, missing, by_name, findable="refine_bounds" in known)
        make(self, *given, **named)

    kind.__init__ = call  # type: ignore[misc]
    return kind


def _must_be_known(kind: str, named: Iterable[str], known: Mapping[str, inspect.Parameter]) -> None:
    """Refuse a parameter that the model does not have."""
    for name in named:
        if name in known:
            continue
        if name in _ELSEWHERE or name in _WITHOUT:
            found = _ELSEWHERE.get(name, (("", _OUT),))
            words = next(text for needed, text in found if not needed or needed in known)
            if "alpha" in known:
                words = words.format(alpha=known["alpha"].default)
            raise Unsupported(f"{name} is no parameter of hush.learn.{kind}: {words}.")
        near = nearest(name, [one for one in known if one != "self"])
        raise IncompleteCall(f"{kind} has no parameter {name}{f', {near}?' if near else '; leave it out.'}")


def _incomplete(kind: str, missing: list[str], by_name: bool, *, findable: bool) -> IncompleteCall:
    """The error about missing arguments; it explains a single one. `findable` bounds can be found privately."""
    first = missing[0]
    if len(missing) == 1 and first in _LATER:
        later = _LATER[first] if findable else ""
        return IncompleteCall(f"{first} must be given: {_NEEDED[first][0]}; write {_NEEDED[first][1]}{later}.")
    names = f"{', '.join(missing[:-1])} and {missing[-1]}" if len(missing) > 1 else f"{first}: {_NEEDED[first][0]}"
    example = ", ".join(_NEEDED[name][1] for name in missing) if by_name else _SEARCH
    return IncompleteCall(f"{kind} needs {names}; write {example}.")
