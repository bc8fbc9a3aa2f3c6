"""The estimators: scikit-learn's models of the same names, learned privately."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, positive, within
from hush.learn import label
from hush.learn.model import ClassifierMixin, LinearModel, RegressorMixin, span_of
from hush.learn.objective import LOGISTIC, SQUARED

__all__ = ["ElasticNet", "Lasso", "LogisticRegression", "Ridge"]
