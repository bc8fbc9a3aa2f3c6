"""Privacy without a trusted centre: noise in shares, local reports, secure aggregation.

>>> from hush import Gaussian, federated
>>> federated.share(Gaussian(10.0), 100).noise
Gaussian(sigma=1.000000000000001)
"""

from hush.federated.budget import Budgets
from hush.federated.category import Answers, answers
from hush.federated.dropout import dropout
from hush.federated.estimate import Estimate, Histogram, histogram, mean, total
from hush.federated.lattice import RoundedSum
from hush.federated.local import Reports, gather, local
from hush.federated.planner import ReportPlan, answers_needed, reports_needed
from hush.federated.ring import Ring, ring
from hush.federated.share import Share, share
from hush.federated.stable import StablePlan, calibrate_stable
from hush.federated.terms import Terms, agree

__all__ = [
    "Answers",
    "Budgets",
    "Estimate",
    "Histogram",
    "ReportPlan",
    "Reports",
    "Ring",
    "RoundedSum",
    "Share",
    "StablePlan",
    "Terms",
    "agree",
    "answers",
    "answers_needed",
    "calibrate_stable",
    "dropout",
    "gather",
    "histogram",
    "local",
    "mean",
    "reports_needed",
    "ring",
    "share",
    "total",
]
