"""Attacks on privacy claims: `hush.audit` gives a lower bound on epsilon from outputs only; `check` tests a noise
class.

Import other names from this package or from its modules, such as hush.auditing.bound.
"""

from hush.auditing.attack import audit
from hush.auditing.noise_check import NoiseCheck, NoiseCheckRow, check
from hush.auditing.result import AuditResult, Evidence

__all__ = ["AuditResult", "Evidence", "NoiseCheck", "NoiseCheckRow", "audit", "check"]
