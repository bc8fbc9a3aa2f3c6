"""(epsilon, delta) in words and in the numbers that words need, each rounded to the safe side."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from hush.numerics.rounding import CLOSED_FORM, FEW_ROUNDINGS, down, percent_up, rounded_up, up
from hush.privacy.curve import Curve, error_sum
from hush.privacy.gaussian import pdp_from_dp

__all__ = ["Promise", "left_out_lines"]

#: The odds may move by e^epsilon times this much, at the price of a slightly larger exception: see `Promise.exception`.
_SLACK = 1.1
#: Beyond this the odds are no bound worth a sentence.
_LARGEST = 100.0


@dataclass(frozen=True)
class Promise:
    """What is promised: (epsilon, delta) for neighbours of a kind, and the curve behind it where there is one.

    `extra` is the part of delta that the curve does not show. Every number is an upper bound.
    """

    epsilon: float
    delta: float
    neighbours: str = "add-remove"
    curve: Curve | None = None
    extra: float = 0.0

    @property
    def factor(self) -> float:
        """How far the odds can move: e^epsilon where delta = 0, else 1.1 e^epsilon, outside the exception."""
        return up(math.exp(min(self.epsilon, 700.0)), FEW_ROUNDINGS) * (1.0 if self.delta == 0.0 else _SLACK)

    @property
    def exception(self) -> float:
        """The probability that the odds move further: 0 where delta = 0.

        (epsilon, delta) does not say that the loss is within epsilon but for delta. For every larger e* it is within
        e* but for delta (1 + e^-e*)/(1 - e^(epsilon - e*)) (Zhao et al. 2019, Lemma 4); here e* = epsilon + log 1.1.
        """
        if self.delta == 0.0:
            return 0.0
        larger = self.epsilon + math.log(_SLACK)
        return min(up(pdp_from_dp(self.epsilon, self.delta, down(larger, FEW_ROUNDINGS))[1], CLOSED_FORM), 1.0)

    @property
    def chance(self) -> float:
        """The best chance of telling two neighbours apart, when a coin decided between them.

        Half of 2 less the least sum of false alarms and misses: 2 (1 - delta)/(1 + e^epsilon) under (epsilon, delta)
        (Kairouz, Oh and Viswanath 2015, Theorem 2.1), and 1 - delta(0) where the whole curve is known.
        """
        if self.curve is None:
            return self.chance_of_pair
        known = 1.0 - 0.5 * self.curve.least_error_sum + 0.5 * self.extra
        return min(up(known, FEW_ROUNDINGS), self.chance_of_pair)

    @property
    def chance_of_pair(self) -> float:
        """That chance as epsilon and delta alone bound it, whatever the noise."""
        return min(up(1.0 - 0.5 * error_sum(self.epsilon, self.delta), FEW_ROUNDINGS), 1.0)

    def words(self, seen: str) -> list[str]:
        """The promise in sentences; `seen` says what an attacker sees, such as "all of these answers"."""
        question, known = _QUESTION[self.neighbours]
        sentences = []
        if self.epsilon <= _LARGEST:
            text = (
                f"Whoever sees {seen}, and even knows {known}, can move the odds {question[0]} by at most a factor of "
                f"{rounded_up(self.factor, 3)}, up or down"
            )
            but = f", except with probability at most {rounded_up(self.exception, 3)}" if self.delta > 0.0 else ""
            sentences.append(f"{text}{but}.")
        else:
            sentences.append(
                "An epsilon this large bounds nothing that matters: treat the answers as if they had no noise."
            )
        sentences.append(f"The chance of telling {question[1]} goes from 50 % to at most {percent_up(self.chance)}.")
        return sentences

    def note(self, point: str) -> str:
        """Why other numbers are told of the same answers; `point` says why this pair. Nothing where there are no
        others.
        """
        reasons = []
        if self.delta > 0.0:
            pair = f"({rounded_up(self.epsilon)}, {rounded_up(self.delta)})"
            reasons.append(
                f"Privacy is a curve, the larger the delta the smaller the epsilon: this page takes its point {pair}, {point}."
            )
            if self.epsilon <= _LARGEST:
                reasons.append(
                    "The odds above hold for each single outcome: that takes a factor 1.1 times e^epsilon, and a larger "
                    "probability than delta."
                )
        if percent_up(self.chance) != percent_up(self.chance_of_pair):
            alone = percent_up(self.chance_of_pair)
            reasons.append(
                f"The chance above is that of the noise really used: epsilon and delta alone would give {alone}."
            )
        return (
            " ".join(["You may read other numbers of the same answers, and all are true.", *reasons]) if reasons else ""
        )

    @property
    def numbers(self) -> str:
        """The pair, in the usual words."""
        kind = "pure differential privacy" if self.delta == 0.0 else "differential privacy"
        return f"(epsilon, delta) = ({rounded_up(self.epsilon)}, {rounded_up(self.delta)})-{kind}"

    @property
    def facts(self) -> dict[str, float | str]:
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
        """Where the words come from."""
        odds = "e^epsilon, by definition" if self.delta == 0.0 else "Zhao et al. 2019, Lemma 4, at epsilon + log 1.1"
        return f"Odds: {odds}. Chance: Kairouz, Oh and Viswanath 2015, Theorem 2.1, or the exact curve where that says less."


_QUESTION = {
    "add-remove": (("that you are in the data", "whether you are in the data"), "everybody else's data"),
    "replace": (
        ("that your record is what it is and not another one", "your record from any other one in its place"),
        "everybody else's data",
    ),
}


def left_out_lines(receipt: Mapping[str, Any]) -> list[str]:
    """What the limits left out, one sentence each."""
    found = receipt.get("left_out")
    if found is None:
        return []
    return [
        f"{_tenth(share['share'], round)} % [{_tenth(share['low'], math.floor)}, {_tenth(share['high'], math.ceil)}] {share['what']}"
        for share in found["shares"]
    ]


def _tenth(share: float, way: Callable[[float], int]) -> str:
    """A share in per cent, to a tenth; ends of intervals are rounded outwards."""
    return f"{way(1000.0 * share) / 10.0:g}"
