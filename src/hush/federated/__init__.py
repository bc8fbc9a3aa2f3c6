"""Privacy without a trusted server: shares of noise, local reports, secure aggregation.

>>> from hush import Gaussian, federated
>>> federated.share(Gaussian(10.0), 100).noise
Gaussian(sigma=1.000000000000001)
"""

from hush.federated.budget import Budgets
from hush.federated.category import Answers, answers
from hush.federated.category_count import Histogram, histogram
from hush.federated.estimate import Estimate, mean, total
from hush.federated.lattice import RoundedSum
from hush.federated.local_report import Reports, gather, local
from hush.federated.lost_parties import dropout
from hush.federated.mean_report import LocalMean, local_mean
from hush.federated.modular import Ring, ring
from hush.federated.noise_share import Share, share
from hush.federated.planner import ReportPlan, answers_needed, reports_needed
from hush.federated.protocol import Terms, agree
from hush.federated.stable import StablePlan, calibrate_stable

__all__ = [
    "Answers",
    "Budgets",
    "Estimate",
    "Histogram",
    "LocalMean",
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
    "local_mean",
    "mean",
    "reports_needed",
    "ring",
    "share",
    "total",
]
