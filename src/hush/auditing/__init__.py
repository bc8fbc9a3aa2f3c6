"""Attacks on privacy claims: `hush.audit` gives a lower bound on epsilon from outputs only, `hush.audit.replay` finds
what depends on data in another way than by released numbers, `check` tests a noise class.

Import other names from this package or from its modules, such as hush.auditing.bound.
"""

from hush.auditing.attack import audit
from hush.auditing.noise_check import NoiseCheck, NoiseCheckRow, check
from hush.auditing.replay import Replay, ReplayFinding
from hush.auditing.result import AuditResult, Evidence

__all__ = ["AuditResult", "Evidence", "NoiseCheck", "NoiseCheckRow", "Replay", "ReplayFinding", "audit", "check"]
