"""The result of an audit, with its evidence."""

from __future__ import annotations

import json
from dataclasses import KW_ONLY, asdict, dataclass
from typing import Any

__all__ = ["AuditResult", "Evidence"]


@dataclass(frozen=True)
class Evidence:
    """One event counted on held-out draws: `hits` under the input that makes it likelier, `other_hits` under the other.

    kind is "set" for a set of output values, "precision" for a pattern of low bits. p_lower and q_upper are the
    Clopper-Pearson bounds.
    """

    kind: str
    event: str
    likelier: str
    other: str
    hits: int
    other_hits: int
    trials: int
    p_lower: float
    q_upper: float
    epsilon_lower: float
    _: KW_ONLY
    examples: tuple[str, ...] = ()

    @property
    def counts(self) -> str:
        other = f"{self.other_hits:,} of {self.trials:,} under {self.other}"
        return f"{self.hits:,} of {self.trials:,} under {self.likelier}, {other}"


@dataclass(frozen=True, repr=False)
class AuditResult:
    """The outcome of an audit: the claim, and every event that was counted on held-out draws.

    Guarantees: if the target is (epsilon, delta)-private for this pair of inputs and its outputs are independent
    draws, then `violated` is True with probability at most 1 - confidence (hush.auditing.bound). `violated` False
    proves nothing: another attack may succeed.
    """

    epsilon: float
    delta: float
    inputs: tuple[str, str]
    samples: int
    confidence: float
    tests: tuple[Evidence, ...]
    _: KW_ONLY
    #: How many pairs of inputs the search looked at; `inputs` is the pair with the strongest evidence.
    pairs: int = 1

    @property
    def best(self) -> Evidence:
        """The event with the highest bound."""
        return max(self.tests, key=lambda test: test.epsilon_lower)

    @property
    def epsilon_lower(self) -> float:
        """No epsilon below this holds at the claimed delta, at the stated confidence for all events together."""
        return self.best.epsilon_lower

    @property
    def violated(self) -> bool:
        """Is the claim refuted? True is a proof, up to the stated probability of error; False proves nothing."""
        return self.epsilon_lower > self.epsilon

    @property
    def event(self) -> str:
        """The description of the best event."""
        return self.best.event

    @property
    def counts(self) -> str:
        """How often the best event occurred under each input."""
        return self.best.counts

    @property
    def precision(self) -> Evidence | None:
        """The strongest pattern of low bits, whether or not it refutes the claim; None if the two inputs never reach a
        common magnitude.
        """
        return max((t for t in self.tests if t.kind == "precision"), key=lambda test: test.epsilon_lower, default=None)

    @property
    def collisions(self) -> Evidence | None:
        """Outputs of one input that the other never produced, often enough to refute the claim; None if there are none.

        Draws cannot prove that something is impossible: what is certified is that its probability under the other input
        is at most q_upper.
        """
        found = self.precision
        return found if found is not None and found.other_hits == 0 and found.epsilon_lower > self.epsilon else None

    @property
    def why(self) -> str:
        """The result in one sentence."""
        claim = f"({self.epsilon:g}, {self.delta:g})"
        sure = f"at confidence 1 - {1.0 - self.confidence:.2g}"
        if not self.violated:
            best = f"the best of {len(self.tests)} events shows epsilon >= {self.epsilon_lower:.4g} {sure}"
            return f"Nothing found against {claim}: {best}; this is no proof of privacy."
        shown = self.collisions or self.best
        how = f"[{shown.event}] occurred {shown.hits:,} times in {shown.trials:,} under {shown.likelier} and "
        how += f"{shown.other_hits:,} times under {shown.other}" if shown.other_hits else f"never under {shown.other}"
        return f"Not {claim}-private: {how}, so epsilon >= {self.epsilon_lower:.4g} {sure}."

    def __repr__(self) -> str:
        word, (first, second) = "VIOLATED" if self.violated else "nothing found", self.inputs
        lines = [
            f"AuditResult: {word}",
            f"  claim       epsilon = {self.epsilon:g}, delta = {self.delta:g}, inputs {first} and {second}",
            f"  shown       epsilon >= {self.epsilon_lower:.6g} at confidence 1 - {1.0 - self.confidence:.2g}",
            f"  event       {self.event}",
            f"  counts      {self.counts}",
        ]
        low = self.precision
        if low is not None:
            lines.append(f"  precision   {low.event}: {low.counts}; epsilon >= {low.epsilon_lower:.6g}")
        if self.collisions is not None and self.collisions.examples:
            lines.append(f"  for example {', '.join(self.collisions.examples)}")
        each = f"{self.samples:,} per input" + (f" of {self.pairs} pairs of inputs" if self.pairs > 1 else "")
        lines.append(f"  samples     {each}, half to search and half to test {len(self.tests)} events")
        return "\n".join([*lines, f"  {self.why}"])

    def to_dict(self) -> dict[str, Any]:
        """The result as values for JSON, all finite."""
        return {
            "violated": self.violated,
            "epsilon_lower": self.epsilon_lower,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "event": self.event,
            "hits": self.best.hits,
            "other_hits": self.best.other_hits,
            "trials": self.best.trials,
            "inputs": list(self.inputs),
            "pairs": self.pairs,
            "samples": self.samples,
            "confidence": self.confidence,
            "collisions": None if self.collisions is None else asdict(self.collisions),
            "tests": [asdict(test) for test in self.tests],
            "why": self.why,
        }

    def to_json(self) -> str:
        """The result as JSON text."""
        return json.dumps(self.to_dict(), indent=2)
