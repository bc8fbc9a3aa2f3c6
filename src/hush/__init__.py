"""hush: differentially private answers with the least noise that provable privacy allows.

A noise is a shape and a scale; a sensitivity is how far an answer can move; together they make a privacy curve; a
calibrated curve is the least noise for a budget.

>>> import hush
>>> round(hush.epsilon(hush.Gaussian(4.0), 1e-6), 6)
1.060702
"""

from hush.auditing import AuditResult, NoiseCheck, audit, check
from hush.calibration.limit import limit
from hush.calibration.one_number import optimal
from hush.calibration.ranking import Plan, RankedNoise, calibrate
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
from hush.noise.asinh import Asinh
from hush.noise.ball import Ball
from hush.noise.catalogue import register
from hush.noise.contract import Law, Noise
from hush.noise.correlated import Correlated
from hush.noise.cube import Cube
from hush.noise.discrete import Discrete
from hush.noise.exponential_power import ExponentialPower
from hush.noise.family import Family, Shape
from hush.noise.flipped_huber import FlippedHuber
from hush.noise.gaussian import Gaussian
from hush.noise.hull import Hull
from hush.noise.interval import Interval
from hush.noise.laplace import Laplace
from hush.noise.osgt import OSGT
from hush.noise.plateau import Plateau
from hush.noise.skellam import Skellam
from hush.noise.stable import Stable
from hush.noise.staircase import Staircase
from hush.noise.stepped import Stepped
from hush.noise.truncated_laplace import TruncatedLaplace
from hush.numerics.bracket import Bracket
from hush.privacy import gaussian
from hush.privacy.charge import Budget, Charge, Guarantee
from hush.privacy.compose import compose, curve, delta, epsilon, renyi, subsample
from hush.privacy.curve import Curve, epsilon_for_error_sum, error_sum
from hush.privacy.sensitivity import Sensitivity
from hush.releasing.receipt import Receipt
from hush.releasing.release import Release, release
from hush.report.citation import cite
from hush.sampling.exact import draw
from hush.sampling.mechanism import Mechanism

__all__ = [
    "OSGT",
    "Asinh",
    "AuditResult",
    "Ball",
    "Bracket",
    "Budget",
    "BudgetExceeded",
    "Charge",
    "Correlated",
    "Cube",
    "Curve",
    "Discrete",
    "ExponentialPower",
    "Family",
    "FlippedHuber",
    "Gaussian",
    "Guarantee",
    "Hull",
    "HushError",
    "IncompleteCall",
    "Interval",
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
    "Plateau",
    "RankedNoise",
    "Receipt",
    "Release",
    "Sensitivity",
    "Shape",
    "Skellam",
    "Stable",
    "Staircase",
    "Stepped",
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
    "subsample",
    "unaccounted",
]


def __getattr__(name: str) -> object:
    """Packages that import large libraries are loaded on first use, and so is the version."""
    if name == "__version__":
        from importlib.metadata import version

        return version("hush")
    if name == "sql":
        from hush.tables.sql import sql

        return sql
    if name in ("explorer", "federated", "learn", "report", "tables"):
        import importlib

        return importlib.import_module(f"hush.{name}")
    from hush.errors import nearest

    near = (
        ""
        if name.startswith("_")
        else nearest(name, [*__all__, "explorer", "federated", "learn", "report", "sql", "tables"])
    )
    raise AttributeError(f"module 'hush' has no attribute {name!r}" + (f"; {near}" if near else ""), name=name)
