"""Contribution limits that are chosen privately: the groups and the rows of a person that count.

A small part of the budget buys a noisy histogram of people by their number of groups and rows. The limits with the
least expected error, of noise and of what is left out, follow from it.
"""

from __future__ import annotations

from hush.tables.advice.plan import LimitsPlan
from hush.tables.advice.search import Advice, advise

__all__ = ["Advice", "LimitsPlan", "advise"]
