"""Private models with scikit-learn's interface: linear models, naive Bayes, principal components, k-means.

    model = hush.learn.LogisticRegression(epsilon=1.0, delta=1e-6, bounds=[(18, 90), (0, 1)]).fit(X, y)
    model.coef_, model.guarantee_, model.receipt_

Each row of an array must be one person: neighbouring data sets differ in one replaced row, or in one row more or less
with neighbours="add-remove". On a table the unit column names the person. See docs/learn.md.

`hush.learn.torch`, which is also `hush.torch`, is for neural networks. It does not need scikit-learn, so the models
above are loaded at their first use.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hush.learn.estimator import ElasticNet, Lasso, LogisticRegression, Ridge
    from hush.learn.k_means import KMeans
    from hush.learn.naive_bayes import GaussianNB
    from hush.learn.pca import PCA
    from hush.learn.search import PrivateSearchCV

__all__ = ["PCA", "ElasticNet", "GaussianNB", "KMeans", "Lasso", "LogisticRegression", "PrivateSearchCV", "Ridge"]
#: The modules of the models that are not in `estimator`.
_MODULES = {"GaussianNB": "naive_bayes", "KMeans": "k_means", "PCA": "pca", "PrivateSearchCV": "search"}


def __getattr__(name: str) -> object:
    """A model. It is kept, so that this is called once for each name."""
    if name not in __all__:
        raise AttributeError(f"module 'hush.learn' has no attribute '{name}'", name=name)
    module = importlib.import_module(f"hush.learn.{_MODULES.get(name, 'estimator')}")
    found = globals()[name] = getattr(module, name)
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
