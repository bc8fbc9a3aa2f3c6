"""Locally private answers to a question with k possible answers.

    method       one person sends                                            variance of a count, per person
    response     the true answer, with odds e^epsilon to any other answer    (k - 2 + e^epsilon)/(e^epsilon - 1)^2
    unary        k bits: the bit of the true answer is 1 with probability    4 e^epsilon/(e^epsilon - 1)^2
                 1/2, any other bit with probability 1/(e^epsilon + 1)
    (noise)      k numbers with Laplace noise, l1 sensitivity 2              8/epsilon^2: always more than unary

The first is Warner's randomised response over k answers (Kairouz, Oh and Viswanath 2016); it is better for k < 3
e^epsilon + 2. The second is optimised unary encoding (Wang, Blocki, Li and Jha 2017, Section 4). Odds are ratios of
integers a : b with a/b <= e^epsilon, so that draws from fair bits are exact.
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
from hush.federated.uniform import below
from hush.numerics.rounding import ELEMENTARY, down, rounded_up
from hush.sampling.entropy import Bits, Entropy, SecureEntropy

__all__ = ["Answers", "answers", "chances"]

_UNIT = 1 << 30  # b, the denominator of the odds
_MOST_ODDS = 1 << 31  # the largest a/b: above epsilon = 21 the odds are limited to it, which is more private
_METHODS = ("response", "unary")


@dataclass(frozen=True, eq=False)
class Answers:
    """Locally private answers: for "response" one index into `categories` per person, for "unary" a row of 0 and 1.

    `keep` is the probability that a person's true category is reported, `stray` the probability that a given other
    category is.
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
        """The number of people who answered."""
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
    """Report every person's category with pure local privacy; `histogram` estimates the counts.

    method: "response", "unary", or "auto" for the method with less variance.

    Guarantees: each answer is epsilon-private for a change of a person's category to any other. The categories must be
    public.

    >>> made = answers(["yes", "no", "no"], 1.0, ["yes", "no"])
    >>> made.method, made.count
    ('response', 3)
    """
    budget, names = one_budget(epsilon), _names(categories)
    true = _places(values, names)
    one_of("method", method, ("auto", *_METHODS))
    k, odds = len(names), _odds(budget)
    response, unary = float((k - 2 + odds) / (odds - 1) ** 2), float(4 * odds / (odds - 1) ** 2)
    chosen = method if method != "auto" else ("response" if response <= unary else "unary")
    why = (
        f"variance of a count per person: response {response:.4g}, unary {unary:.4g}, "
        f"Laplace noise on k numbers {8.0 / budget**2:.4g}"
    )
    bits = (SecureEntropy() if entropy is None else entropy).begin()
    sent: NDArray[Any] = _responded(bits, true, k, odds) if chosen == "response" else _unary(bits, true, k, odds)
    return Answers(sent, names, budget, chosen, *chances(budget, k, chosen), why)


def _names(categories: Any) -> tuple[Any, ...]:
    """The public categories: at least two, all different."""
    try:
        names = tuple(categories)
        different = len(set(names))
    except TypeError:
        raise reject(
            "categories", categories, "a list of at least two different values", "write categories=['yes', 'no']"
        ) from None
    if len(names) < 2 or different != len(names):
        raise InvalidParameter("categories must be at least two different values; write categories=['yes', 'no'].")
    return names


def _places(values: Any, names: tuple[Any, ...]) -> NDArray[np.int64]:
    """The index of each person's category."""
    places = {name: place for place, name in enumerate(names)}
    try:
        return np.array([places[value] for value in values], dtype=np.int64)
    except (KeyError, TypeError):  # without the original text, which would quote a person's answer
        raise InvalidParameter(
            "values must be a list in which every value is one of the categories; "
            "add a category 'other' and map all other values to it."
        ) from None


def chances(epsilon: float, k: int, method: str) -> tuple[Fraction, Fraction]:
    """The probabilities that the true category is reported, and that a given other category is."""
    odds = _odds(epsilon)
    return (odds / (odds + k - 1), 1 / (odds + k - 1)) if method == "response" else (Fraction(1, 2), 1 / (odds + 1))


def _odds(epsilon: float) -> Fraction:
    """a/b, the largest ratio with this denominator that is at most e^epsilon; always greater than 1."""
    if epsilon >= math.log(_MOST_ODDS):
        return Fraction(_MOST_ODDS)
    above = down(math.expm1(epsilon) * _UNIT, ELEMENTARY)
    if above < 1.0:
        raise InvalidParameter(
            f"epsilon must be at least {rounded_up(1.0 / _UNIT, 3)} here, got {epsilon:g}: "
            "with less the answers would hold no information; write epsilon=1.0."
        )
    return 1 + Fraction(math.floor(above), _UNIT)


def _responded(bits: Bits, true: NDArray[np.int64], k: int, odds: Fraction) -> NDArray[np.int64]:
    a, b = odds.numerator, odds.denominator
    drawn = below(bits, true.size, a + (k - 1) * b)
    other = (drawn - a) // b
    return np.where(drawn < a, true, other + (other >= true))  # the other categories in order, the true one skipped


def _unary(bits: Bits, true: NDArray[np.int64], k: int, odds: Fraction) -> NDArray[np.uint8]:
    a, b = odds.numerator, odds.denominator
    sent = (below(bits, true.size * k, a + b) < b).astype(np.uint8).reshape(true.size, k)
    sent[np.arange(true.size), true] = below(bits, true.size, 2)
    return sent
