"""An attack on a mechanism's privacy claim: a lower bound on epsilon, from its outputs alone.

`hush.audit` is the function; its rooms are reached as `from hush.auditing import AuditResult`, `from
hush.auditing.bound import ...`.
"""

from hush.auditing.attack import audit
from hush.auditing.noise_check import NoiseCheck, NoiseCheckRow, check
from hush.auditing.result import AuditResult, Evidence

__all__ = ["AuditResult", "Evidence", "NoiseCheck", "NoiseCheckRow", "audit", "check"]
