"""hush: differentially private answers with the least noise that provable privacy allows.

A noise is a shape and a scale; a sensitivity is how far an answer can move; together they make a privacy curve; a
calibrated curve is the least noise for a budget.

>>> import hush
>>> round(hush.epsilon(hush.Gaussian(4.0), 1e-6), 6)
1.060702

The names are loaded at their first use. `import hush` by itself loads no other module, so that a command or a script
loads only what it needs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hush.auditing import AuditResult, NoiseCheck, audit, check
    from hush.calibration.limit import limit
    from hush.calibration.one_number import optimal
    from hush.calibration.ranking import Plan, RankedNoise, calibrate
    from hush.calibration.training import Training, noise_multiplier, training
    from hush.errors import (
        BudgetExceeded,
        HushError,
        IncompleteCall,
        InvalidParameter,
        LedgerError,
        MissingExtra,
        NotCertified,
        NotPaid,
        NotWritten,
        UnknownFamily,
        Unsupported,
        WeakGuarantee,
    )
    from hush.learn import torch as torch  # `as` exports it; it is not in __all__
    from hush.ledger import Ledger, LedgerView, Payment, unaccounted
    from hush.noise.asinh import Asinh
    from hush.noise.ball import Ball
    from hush.noise.bump import Bump
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
    from hush.noise.lifted import Lifted
    from hush.noise.optimal_rule import OptimalRule
    from hush.noise.osgt import OSGT
    from hush.noise.plateau import Plateau
    from hush.noise.scaled import Scaled
    from hush.noise.skellam import Skellam
    from hush.noise.stable import Stable
    from hush.noise.staircase import Staircase
    from hush.noise.stairs import Stairs
    from hush.noise.stepped import Stepped
    from hush.noise.truncated_laplace import TruncatedLaplace
    from hush.numerics.bracket import Bracket
    from hush.privacy import gaussian
    from hush.privacy.charge import Budget, Charge, Guarantee
    from hush.privacy.compose import compose, curve, delta, epsilon, renyi, subsample
    from hush.privacy.curve import Curve, epsilon_for_error_sum, error_sum
    from hush.privacy.keys import Keys
    from hush.privacy.sensitivity import Sensitivity
    from hush.releasing.receipt import Receipt
    from hush.releasing.release import Release, release
    from hush.report.citation import cite
    from hush.sampling.exact import draw
    from hush.sampling.mechanism import Mechanism
    from hush.stream import package as stream
    from hush.tables.accuracy import plan_all
    from hush.tables.sql import sql

__all__ = [
    "OSGT",
    "Asinh",
    "AuditResult",
    "Ball",
    "Bracket",
    "Budget",
    "BudgetExceeded",
    "Bump",
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
    "Keys",
    "Laplace",
    "Law",
    "Ledger",
    "LedgerError",
    "LedgerView",
    "Lifted",
    "Mechanism",
    "MissingExtra",
    "Noise",
    "NoiseCheck",
    "NotCertified",
    "NotPaid",
    "NotWritten",
    "OptimalRule",
    "Payment",
    "Plan",
    "Plateau",
    "RankedNoise",
    "Receipt",
    "Release",
    "Scaled",
    "Sensitivity",
    "Shape",
    "Skellam",
    "Stable",
    "Staircase",
    "Stairs",
    "Stepped",
    "Training",
    "TruncatedLaplace",
    "UnknownFamily",
    "Unsupported",
    "WeakGuarantee",
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
    "noise_multiplier",
    "optimal",
    "plan_all",
    "register",
    "release",
    "renyi",
    "sql",
    "stream",
    "subsample",
    "training",
    "unaccounted",
]

#: The modules of the names above. It repeats the imports, which only type checkers and editors read.
_MODULES = {
    "hush.auditing": ("AuditResult", "NoiseCheck", "audit", "check"),
    "hush.calibration.limit": ("limit",),
    "hush.calibration.one_number": ("optimal",),
    "hush.calibration.ranking": ("Plan", "RankedNoise", "calibrate"),
    "hush.calibration.training": ("Training", "noise_multiplier", "training"),
    "hush.errors": (
        "BudgetExceeded",
        "HushError",
        "IncompleteCall",
        "InvalidParameter",
        "LedgerError",
        "MissingExtra",
        "NotCertified",
        "NotPaid",
        "WeakGuarantee",
        "NotWritten",
        "UnknownFamily",
        "Unsupported",
    ),
    "hush.ledger": ("Ledger", "LedgerView", "Payment", "unaccounted"),
    "hush.noise.asinh": ("Asinh",),
    "hush.noise.ball": ("Ball",),
    "hush.noise.bump": ("Bump",),
    "hush.noise.catalogue": ("register",),
    "hush.noise.contract": ("Law", "Noise"),
    "hush.noise.correlated": ("Correlated",),
    "hush.noise.cube": ("Cube",),
    "hush.noise.discrete": ("Discrete",),
    "hush.noise.exponential_power": ("ExponentialPower",),
    "hush.noise.family": ("Family", "Shape"),
    "hush.noise.flipped_huber": ("FlippedHuber",),
    "hush.noise.gaussian": ("Gaussian",),
    "hush.noise.hull": ("Hull",),
    "hush.noise.interval": ("Interval",),
    "hush.noise.laplace": ("Laplace",),
    "hush.noise.lifted": ("Lifted",),
    "hush.noise.optimal_rule": ("OptimalRule",),
    "hush.noise.osgt": ("OSGT",),
    "hush.noise.plateau": ("Plateau",),
    "hush.noise.scaled": ("Scaled",),
    "hush.noise.skellam": ("Skellam",),
    "hush.noise.stable": ("Stable",),
    "hush.noise.staircase": ("Staircase",),
    "hush.noise.stairs": ("Stairs",),
    "hush.noise.stepped": ("Stepped",),
    "hush.noise.truncated_laplace": ("TruncatedLaplace",),
    "hush.numerics.bracket": ("Bracket",),
    "hush.privacy": ("gaussian",),
    "hush.privacy.charge": ("Budget", "Charge", "Guarantee"),
    "hush.privacy.compose": ("compose", "curve", "delta", "epsilon", "renyi", "subsample"),
    "hush.privacy.curve": ("Curve", "epsilon_for_error_sum", "error_sum"),
    "hush.privacy.keys": ("Keys",),
    "hush.privacy.sensitivity": ("Sensitivity",),
    "hush.releasing.receipt": ("Receipt",),
    "hush.releasing.release": ("Release", "release"),
    "hush.report.citation": ("cite",),
    "hush.sampling.exact": ("draw",),
    "hush.sampling.mechanism": ("Mechanism",),
    "hush.stream": ("stream",),
    "hush.tables.accuracy": ("plan_all",),
    "hush.tables.sql": ("sql",),
}
_HOME = {name: module for module, names in _MODULES.items() for name in names}
_ROOMS = (
    *("auditing", "calibration", "cli", "errors", "explorer", "federated", "learn", "ledger", "noise", "numerics"),
    *("privacy", "releasing", "report", "sampling", "stream", "tables", "workload"),
)


def __getattr__(name: str) -> object:
    """A public name, a package of hush or the version. It is kept, so that this is called once for each name."""
    if name == "__version__":
        from importlib.metadata import version

        return version("hush")
    if name in _ROOMS:
        import importlib

        return importlib.import_module(f"hush.{name}")
    if name == "torch":  # not in __all__: `from hush import *` must not hide PyTorch's own name
        from hush.learn import torch

        return torch
    if name in _HOME:
        home = __import__(_HOME[name], fromlist=[name])  # what `from home import name` does
        found = globals()[name] = getattr(home, name)
        return found
    from hush.errors import nearest

    near = "" if name.startswith("_") else nearest(name, [*__all__, *_ROOMS])
    raise AttributeError(f"module 'hush' has no attribute '{name}'" + (f"; {near}" if near else ""), name=name)


def __dir__() -> list[str]:
    """The public names and the packages."""
    return sorted({*globals(), *__all__, *_ROOMS, "torch"})
