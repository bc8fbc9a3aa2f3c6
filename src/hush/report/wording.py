"""A guarantee in plain words and in three numbers, each rounded to the safe side."""

from __future__ import annotations

import math
from dataclasses import dataclass

from hush.numerics.rounding import CLOSED_FORM, FEW_ROUNDINGS, down, percent_up, rounded_up, up
from hush.privacy.curve import Curve, error_sum
from hush.privacy.gaussian import pdp_from_dp

__all__ = ["Promise"]

#: The odds are bounded by e^epsilon times this factor: see `Promise.exception`.
_SLACK = 1.1
#: The largest epsilon for which a bound on the odds is useful.
_LARGEST = 100.0
#: What an attacker tries to find out, for each neighbouring relation: as a fact, and as a question.
_QUESTION = {
    "add-remove": ("that a given person is in the data", "whether a given person is in the data"),
    "replace": (
        "that a given person's record is the true one and not another",
        "whether a given record is the true one",
    ),
}


@dataclass(frozen=True)
class Promise:
    """A guarantee: (epsilon, delta) for a neighbouring relation, and the privacy curve if it is known.

    `extra` is the part of delta that the curve does not include. Every number is an upper bound.
    """

    epsilon: float
    delta: float
    neighbours: str = "add-remove"
    curve: Curve | None = None
    extra: float = 0.0

    @property
    def factor(self) -> float:
        """The largest change of the odds: e^epsilon if delta = 0, else 1.1 e^epsilon outside the exception."""
        return up(math.exp(min(self.epsilon, 700.0)), FEW_ROUNDINGS) * (1.0 if self.delta == 0.0 else _SLACK)

    @property
    def exception(self) -> float:
        """The probability that the odds change by more than `factor`: 0 if delta = 0.

        (epsilon, delta) does not mean that the loss is within epsilon except with probability delta. For every larger
        e* it is within e* except with probability delta (1 + e^-e*)/(1 - e^(epsilon - e*)) (Zhao et al. 2019, Lemma
        4); here e* = epsilon + log 1.1.
        """
        if self.delta == 0.0:
            return 0.0
        larger = self.epsilon + math.log(_SLACK)
        return min(up(pdp_from_dp(self.epsilon, self.delta, down(larger, FEW_ROUNDINGS))[1], CLOSED_FORM), 1.0)

    @property
    def chance(self) -> float:
        """The largest probability to decide correctly between two neighbours that are equally likely.

        It is 1 - s/2, where s is the least sum of false alarms and misses: 2 (1 - delta)/(1 + e^epsilon) under
        (epsilon, delta) (Kairouz, Oh and Viswanath 2015, Theorem 2.1), and 1 - delta(0) if the whole curve is known.
        """
        if self.curve is None:
            return self.chance_of_pair
        known = 1.0 - 0.5 * self.curve.least_error_sum + 0.5 * self.extra
        return min(up(known, FEW_ROUNDINGS), self.chance_of_pair)

    @property
    def chance_of_pair(self) -> float:
        """The bound on that probability from epsilon and delta alone, for any noise."""
        return min(up(1.0 - 0.5 * error_sum(self.epsilon, self.delta), FEW_ROUNDINGS), 1.0)

    # -- in words --------------------------------------------------------------------------------------------

    def main(self, seen: str) -> str:
        """The guarantee in one sentence; `seen` is what an attacker sees, such as "all of these answers"."""
        if self.epsilon > _LARGEST:
            return "An epsilon this large gives no meaningful protection: treat the answers as if they had no noise."
        return (
            f"For an attacker who sees {seen}, the probability of a correct guess {_QUESTION[self.neighbours][1]} goes "
            f"from 50 % to at most {percent_up(self.chance)}."
        )

    def three_numbers(self, seen: str, point: str) -> tuple[tuple[str, str], ...]:
        """The guarantee as (epsilon, delta), as odds and as a chance, each explained; `point` is the reason for this
        pair, "" for a pure guarantee.
        """
        rows = [("Epsilon and delta", self._pair_in_words(point))]
        if self.epsilon <= _LARGEST:
            rows.append(("Odds", self._odds_in_words(seen)))
        return (*rows, ("Chance", self._chance_in_words(seen)))

    def _pair_in_words(self, point: str) -> str:
        text = f"{self.numbers}. This is the usual form in scientific work."
        if self.delta == 0.0:
            return text
        return (
            f"{text} Other documents may show other (epsilon, delta) pairs for the same answers, because a larger "
            f"delta allows a smaller epsilon. They describe the same guarantee. This page uses delta = "
            f"{rounded_up(self.delta)} throughout: {point}."
        )

    def _odds_in_words(self, seen: str) -> str:
        exact = self.delta == 0.0
        but = "" if exact else f", except with probability at most {rounded_up(self.exception, 3)}"
        why = (
            ""
            if exact
            else " The factor is 10 % above e^epsilon; for e^epsilon itself no such probability can be stated."
        )
        return (
            f"an attacker who sees {seen}, and knows the data of everybody else, can change the odds "
            f"{_QUESTION[self.neighbours][0]} by at most a factor of {rounded_up(self.factor, 3)}, up "
            f"or down{but}.{why}"
        )

    def _chance_in_words(self, seen: str) -> str:
        alone = percent_up(self.chance_of_pair)
        other = (
            "" if percent_up(self.chance) == alone else f" Epsilon and delta alone, for any noise, would give {alone}."
        )
        return (
            f"before, both cases are equally likely, and a guess is right with probability 50 %. An attacker who sees "
            f"{seen} is right with probability at most {percent_up(self.chance)}.{other}"
        )

    @property
    def numbers(self) -> str:
        """The pair in its usual form."""
        kind = "pure differential privacy" if self.delta == 0.0 else "differential privacy"
        return f"(epsilon, delta) = ({rounded_up(self.epsilon)}, {rounded_up(self.delta)})-{kind}"

    @property
    def facts(self) -> dict[str, float | str]:
        """The numbers as a dictionary for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "neighbours": self.neighbours,
            "odds_factor": self.factor,
            "odds_exception": self.exception,
            "chance": self.chance,
        }

    @property
    def sources(self) -> str:
        """The theorems behind the odds and the chance."""
        odds = "e^epsilon, by definition" if self.delta == 0.0 else "Zhao et al. 2019, Lemma 4, at epsilon + log 1.1"
        chance = "Kairouz, Oh and Viswanath 2015, Theorem 2.1, or the exact privacy curve if that is smaller"
        return f"Source of the odds: {odds}. Source of the chance: {chance}."
