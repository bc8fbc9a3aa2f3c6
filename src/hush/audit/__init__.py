"""An attack on a mechanism's privacy claim: a lower bound on epsilon, from its outputs alone.

`hush.audit` is the function; its rooms are reached as `from hush.audit import Finding`, `from hush.audit.bound import ...`.
"""

from hush.audit.attack import audit
from hush.audit.finding import Evidence, Finding
from hush.audit.noise_check import NoiseCheck, NoiseCheckRow, check

__all__ = ["Evidence", "Finding", "NoiseCheck", "NoiseCheckRow", "audit", "check"]
