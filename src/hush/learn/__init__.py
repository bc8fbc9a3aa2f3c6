"""Private linear models with scikit-learn's interface, trained by noisy gradients with exact accounting.

    model = hush.learn.LogisticRegression(epsilon=1.0, delta=1e-6, bounds=[(18, 90), (0, 1)]).fit(X, y)
    model.coef_, model.guarantee_, model.receipt_

One row must be one person. Neighbouring data sets differ in one replaced row. See docs/learn.md.
"""

from __future__ import annotations

from hush.learn.estimator import ElasticNet, Lasso, LogisticRegression, Ridge
from hush.learn.search import PrivateSearchCV

__all__ = ["ElasticNet", "Lasso", "LogisticRegression", "PrivateSearchCV", "Ridge"]
