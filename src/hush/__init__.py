"""hush: differentially private answers with the least noise that provable privacy allows.

A noise is a shape and a scale; a sensitivity is how far an answer can move; together they make a privacy curve; a calibrated curve is
the least noise for a budget.

>>> import hush
>>> round(hush.epsilon(hush.Gaussian(4.0), 1e-6), 6)
1.060702
"""

from hush.audit import Finding, NoiseCheck, audit, check  # hush.audit is the function; `from hush.audit import ...` still finds the package
from hush.calibrate import Choice, Plan, calibrate
from hush.cite import cite
from hush.errors import (
    BudgetExceeded,
    HushError,
    IncompleteCall,
    InvalidParameter,
    LedgerError,
    MissingExtra,
    NotCertified,
    NotPaid,
    UnknownFamily,
    Unsupported,
)
from hush.ledger import Ledger, LedgerView, Payment, unaccounted
from hush.limit import limit, optimal
from hush.mechanism import Mechanism
from hush.noise.asinh import Asinh
from hush.noise.catalogue import register
from hush.noise.contract import Law, Noise
from hush.noise.discrete import Discrete
from hush.noise.exponential_power import ExponentialPower
from hush.noise.family import Family, Shape
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gaussian import Gaussian
from hush.noise.laplace import Laplace
from hush.noise.osgt import OSGT
from hush.noise.skellam import Skellam
from hush.noise.stable import Stable
from hush.noise.staircase import Staircase
from hush.noise.stepped import Stepped
from hush.noise.truncated_laplace import TruncatedLaplace
from hush.numerics.bracket import Bracket
from hush.privacy import gaussian
from hush.privacy.charge import Budget, Charge, Guarantee
from hush.privacy.compose import compose, curve, delta, epsilon, renyi
from hush.privacy.curve import Curve, epsilon_for_error_sum, error_sum
from hush.privacy.subsampling import Subsampled
from hush.receipt import Receipt
from hush.release import Release, release
from hush.sampling.exact import draw
from hush.sensitivity import Sensitivity
from hush.version import __version__

__all__ = [
    "OSGT",
    "Asinh",
    "Bracket",
    "Budget",
    "BudgetExceeded",
    "Charge",
    "Choice",
    "Curve",
    "Discrete",
    "ExponentialPower",
    "Family",
    "Finding",
    "FlippedHuber",
    "Gaussian",
    "Guarantee",
    "HushError",
    "IncompleteCall",
    "InvalidParameter",
    "Laplace",
    "Law",
    "Ledger",
    "LedgerError",
    "LedgerView",
    "Mechanism",
    "MissingExtra",
    "Noise",
    "NoiseCheck",
    "NotCertified",
    "NotPaid",
    "Payment",
    "Plan",
    "Receipt",
    "Release",
    "Sensitivity",
    "Shape",
    "Skellam",
    "Stable",
    "Staircase",
    "Stepped",
    "Subsampled",
    "TruncatedLaplace",
    "UnknownFamily",
    "Unsupported",
    "__version__",
    "audit",
    "calibrate",
    "check",
    "cite",
    "compose",
    "curve",
    "delta",
    "draw",
    "epsilon",
    "epsilon_for_error_sum",
    "error_sum",
    "gaussian",
    "limit",
    "optimal",
    "register",
    "release",
    "renyi",
    "unaccounted",
]


def __getattr__(name: str) -> object:
    """Rooms that import large libraries are loaded on first use."""
    if name in ("tables", "learn", "federated", "show"):
        import importlib

        return importlib.import_module(f"hush.{name}")
    from hush.errors import nearest

    near = "" if name.startswith("_") else nearest(name, [*__all__, "tables", "learn", "federated", "show"])
    raise AttributeError(f"module 'hush' has no attribute {name!r}" + (f"; {near}" if near else ""), name=name)
