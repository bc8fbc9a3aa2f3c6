"""Locally private answers to a question with a few possible ones.

    method       one person sends                                             variance of a count, per person
    response     their answer with odds e^epsilon against any other one       (k - 2 + e^epsilon)/(e^epsilon - 1)^2
    unary        k bits: their own is 1 with probability 1/2,                 4 e^epsilon/(e^epsilon - 1)^2
                 any other with probability 1/(e^epsilon + 1)
    (noise)      k numbers with Laplace noise, l1 sensitivity 2               8/epsilon^2: more than unary at every epsilon

The first is Warner's randomised response over k answers (Kairouz, Oh and Viswanath 2016), better for k < 3 e^epsilon
+ 2; the second is optimised unary encoding (Wang, Blocki, Li and Jha 2017, Section 4). Odds are whole numbers a : b
with a/b <= e^epsilon, so that draws from fair bits are exact.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, one_of, reject
from hush.federated.stable import one_budget
from hush.numerics.rounding import ELEMENTARY, down, rounded_up
from hush.sampling.entropy import Bits, Entropy, SecureEntropy

__all__ = ["Answers", "answers", "chances"]

_UNIT = 1 << 30  # b
_MOST_ODDS = 1 << 31  # a/b: beyond epsilon = 21 the odds stay here, on the private side


@dataclass(frozen=True, eq=False)
class Answers:
    """Locally private answers: for "response" one place in `categories` each, for "unary" a row of 0 and 1.

    `keep` is the probability that a person's own category is reported, `stray` that a given other one is.
    """

    sent: NDArray[Any] = field(repr=False)
    categories: tuple[Any, ...]
    epsilon: float
    method: str
    keep: Fraction
    stray: Fraction
    why: str

    @property
    def count(self) -> int:
        """How many people answered."""
        return int(self.sent.shape[0])

    @property
    def tallies(self) -> NDArray[np.int64]:
        """How often each category was reported."""
        if self.method == "response":
            return np.bincount(self.sent, minlength=len(self.categories)).astype(np.int64)
        return self.sent.sum(axis=0, dtype=np.int64)


def answers(
    values: Sequence[Any],
    epsilon: float,
    categories: Sequence[Any],
    *,
    method: str = "auto",
    entropy: Entropy | None = None,
) -> Answers:
    """Every person's category, reported with pure local privacy; `histogram` estimates the counts.

    method: "response", "unary", or "auto", the one of less variance.

    Guarantees: epsilon-private for a person's change from any category to any other; the categories must be public.

    >>> made = answers(["yes", "no", "no"], 1.0, ["yes", "no"])
    >>> made.method, made.count
    ('response', 3)
    """
    budget = one_budget(epsilon)
    try:
        names = tuple(categories)
        places = {name: place for place, name in enumerate(names)}
    except TypeError as failure:
        raise reject(
            "categories", categories, "a list of at least two different ones", "write categories=['yes', 'no']"
        ) from failure
    if len(names) < 2 or len(places) != len(names):
        raise InvalidParameter("categories must be at least two different ones; write categories=['yes', 'no'].")
    try:
        own = np.array([places[value] for value in values], dtype=np.int64)
    except (KeyError, TypeError):  # without its text, which would name a person's answer
        raise InvalidParameter(
            "values must be a list of answers that are all among the categories; add a category 'other' and map to it before."
        ) from None
    one_of("method", method, ("auto", "response", "unary"))
    k, odds = len(names), _odds(budget)
    response, unary = float((k - 2 + odds) / (odds - 1) ** 2), float(4 * odds / (odds - 1) ** 2)
    chosen = method if method != "auto" else ("response" if response <= unary else "unary")
    why = f"variance of a count per person: response {response:.4g}, unary {unary:.4g}, Laplace noise on k numbers {8.0 / budget**2:.4g}"
    bits = (SecureEntropy() if entropy is None else entropy).begin()
    sent: NDArray[Any] = _responded(bits, own, k, odds) if chosen == "response" else _unary(bits, own, k, odds)
    return Answers(sent, names, budget, chosen, *chances(budget, k, chosen), why)


def chances(epsilon: float, k: int, method: str) -> tuple[Fraction, Fraction]:
    """The probabilities that one's own category is reported, and that a given other one is."""
    odds = _odds(epsilon)
    return (odds / (odds + k - 1), 1 / (odds + k - 1)) if method == "response" else (Fraction(1, 2), 1 / (odds + 1))


def _odds(epsilon: float) -> Fraction:
    """a/b just below e^epsilon, at least one step above 1."""
    if epsilon >= math.log(_MOST_ODDS):
        return Fraction(_MOST_ODDS)
    above = down(math.expm1(epsilon) * _UNIT, ELEMENTARY)
    if above < 1.0:
        raise InvalidParameter(
            f"epsilon must be at least {rounded_up(1.0 / _UNIT, 3)} here, got {epsilon:g}; such answers would tell nothing."
        )
    return 1 + Fraction(math.floor(above), _UNIT)


def _below(bits: Bits, count: int, bound: int) -> NDArray[np.int64]:
    """`count` whole numbers, uniform on 0 ... bound - 1: words modulo the bound, those of the last incomplete cycle
    drawn again.
    """
    last = np.uint64((1 << 64) // bound * bound - 1)
    out = np.empty(count, dtype=np.int64)
    left = np.arange(count)
    while left.size:
        words = bits.words(left.size, np.uint64)[0]
        fair = words <= last
        out[left[fair]] = (words[fair] % np.uint64(bound)).astype(np.int64)
        left = left[~fair]
    return out


def _responded(bits: Bits, own: NDArray[np.int64], k: int, odds: Fraction) -> NDArray[np.int64]:
    a, b = odds.numerator, odds.denominator
    drawn = _below(bits, own.size, a + (k - 1) * b)
    other = (drawn - a) // b
    return np.where(drawn < a, own, other + (other >= own))  # the others in order, the own one left out


def _unary(bits: Bits, own: NDArray[np.int64], k: int, odds: Fraction) -> NDArray[np.uint8]:
    a, b = odds.numerator, odds.denominator
    sent = (_below(bits, own.size * k, a + b) < b).astype(np.uint8).reshape(own.size, k)
    sent[np.arange(own.size), own] = _below(bits, own.size, 2)
    return sent
