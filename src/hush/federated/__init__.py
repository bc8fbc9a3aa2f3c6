"""Privacy without a trusted centre: noise in shares, local reports, secure aggregation.

>>> from hush import Gaussian, federated
>>> federated.share(Gaussian(10.0), 100).noise
Gaussian(sigma=1.0000000000000004)
"""

from hush.federated.share import Share, share
from hush.federated.stable import StablePlan, calibrate_stable

__all__ = ["Share", "StablePlan", "calibrate_stable", "share"]
