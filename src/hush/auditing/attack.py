"""audit: draw outputs, search for events on one half of them, count these events on the other half.

An audit of a vector does this for many pairs of inputs. The search then also chooses among the pairs, so that no more
events are counted than for one pair.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from hush.auditing.bound import clopper_pearson, epsilon_lower, trials_needed
from hush.auditing.claim import claim_of
from hush.auditing.event import Choice, Pair, Proposal, choose
from hush.auditing.precision import bit_proposals
from hush.auditing.replay import replay
from hush.auditing.result import AuditResult, Evidence
from hush.auditing.search import coordinates, set_proposals, views
from hush.auditing.target import Target, collect
from hush.errors import reject, whole, within
from hush.privacy.sensitivity import Sensitivity

__all__ = ["Audit", "Found", "audit"]

_TESTS = 4  # events: one set and one pattern of low bits, for each input
_MOST = 100_000_000  # draws per input; with their sorted copies they need about 6 GB of memory for single numbers
_FEWEST = 1000  # draws per input; with fewer the search cannot find an event


def _check_samples(count: int, epsilon: float, needed: float) -> None:
    """Raise if there are too few draws to refute the claim, or too many for the memory."""
    least = max(_FEWEST, needed)
    if count < least:
        reason = "the search cannot find an event"
        if least != _FEWEST:
            reason = f"no outcome could refute epsilon = {epsilon:g}"
        raise reject("samples", count, f"at least {least:,.0f}", f"with fewer, {reason} at this confidence")
    if count > _MOST:
        raise reject("samples", count, f"at most {_MOST:,}", "all draws are kept in memory")


@dataclass(frozen=True)
class Found:
    """An event that the search found for one pair of inputs, and the draws on which it is to be counted."""

    kind: str
    choice: Choice
    target: Target
    held: Pair


class Audit:
    """`hush.audit(target, epsilon=1.0)` attacks a claim of (epsilon, delta)-privacy: a lower bound on epsilon at delta,
    from outputs under two neighbouring inputs. `hush.audit.replay(function, data, neighbour)` runs a function on two
    data sets with the same released numbers and compares what it shows.
    """

    replay = staticmethod(replay)

    def __call__(
        self,
        target: Any,
        *,
        epsilon: float | None = None,
        delta: float | None = None,
        inputs: Any = None,
        sensitivity: Sensitivity | None = None,
        samples: int = 200_000,
        confidence: float = 0.999999,
        batch: int = 100_000,
        vectorised: bool | None = None,
        progress: Callable[[int, int], None] | None = None,
    ) -> AuditResult:
        """Attack a claim of (epsilon, delta)-privacy: a lower bound on epsilon at delta, from outputs under two
        neighbouring inputs.

        target: a function f(value, size) that returns `size` independent outputs (numbers, or rows of numbers), or
        f(value) that returns one (vectorised= states which, if the signature is unclear); or a Plan, a Mechanism or a
        noise, which is drawn exactly on its lattice, as a release would be. For a Plan, the claim is its guarantee, and
        the inputs differ by as much as its sensitivity allows. Otherwise epsilon is required; delta defaults to 0 and
        inputs to (0.0, 1.0).

        sensitivity=Sensitivity(linf=1.0, dimension=10) attacks a release of vectors: all numbers move, one of them,
        half of them, in one direction or, unless one_sided=True, in both. A plan with joint noise is always attacked in
        this way. `inputs` is then the one vector that the moves start from (default: zeros). For a noise with
        sensitivity=, the claim defaults to what hush proves.

        `samples` outputs are drawn from each input of every pair, `batch` at a time; progress(done, total) is called
        after each batch. One half is used to construct and choose at most four events (a set of values and a pattern of
        low bits, for each of two inputs). These are counted on the other half.

        Guarantees: if the claim is true for these inputs and outputs are independent, `violated` is False with
        probability at least `confidence` (by default one false alarm in a million audits). hush.auditing.bound has the
        theorem.

        >>> import numpy as np
        >>> rng = np.random.default_rng()
        >>> finding = audit(lambda value, size: value + rng.laplace(scale=1.0, size=size), epsilon=1.0)
        >>> finding.violated, finding.collisions is not None
        (True, True)
        """
        subjects, budget, share = claim_of(target, epsilon, delta, inputs, sensitivity, vectorised)
        sure = within("confidence", confidence, 0.5, 0.999_999_999_999_999, "write confidence=0.999999")
        count, size = whole("samples", samples), whole("batch", batch)
        risk = (1.0 - sure) / (2.0 * _TESTS)
        _check_samples(count, budget, 2.0 * trials_needed(budget, share, risk))
        best: dict[tuple[str, int], Found] = {}
        for number, subject in enumerate(subjects):
            draws = collect(subject, count, size, _onwards(progress, number * count, len(subjects) * count))
            for found in _search(draws, subject, share, risk, budget, few=number > 0):
                known = best.get((found.kind, found.choice.likelier))
                if known is None or found.choice.bound > known.choice.bound:
                    best[found.kind, found.choice.likelier] = found
        ordered = sorted(best.values(), key=lambda found: found.kind != "set")
        tests = tuple(_test(found, share, risk) for found in ordered)
        shown = max(range(len(tests)), key=lambda i: tests[i].epsilon_lower)
        return AuditResult(budget, share, ordered[shown].target.inputs, count, sure, tests, pairs=len(subjects))


audit = Audit()
"""Called with a target, it attacks a claim of privacy; `audit.replay` runs a function on two neighbouring data sets."""


def _onwards(progress: Callable[[int, int], None] | None, before: int, total: int) -> Callable[[int, int], None] | None:
    """Progress of one pair of inputs among several."""
    return None if progress is None else lambda done, _: progress(before + done, total)


def _search(draws: Pair, subject: Target, delta: float, risk: float, enough: float, *, few: bool) -> list[Found]:
    """Events that are constructed on one half of the training draws and chosen on the other. The training draws are
    the first half of all draws. few: look at few single coordinates.
    """
    start, half = 2 * (draws[0].shape[0] // 4), draws[0].shape[0] // 4
    held = draws[0][start:], draws[1][start:]
    rank = draws[0][:half], draws[1][:half]
    hold = draws[0][half:start], draws[1][half:start]

    def sets() -> Iterator[Proposal]:
        for view in views(rank, subject, few=few):
            yield from set_proposals(view, rank, hold)

    def bits() -> Iterator[Proposal]:
        for view in coordinates(rank, few=few):
            yield from bit_proposals(view, rank, hold)

    found = [Found("set", chosen, subject, held) for chosen in choose(sets(), half, delta, risk)]
    low = choose(bits(), half, delta, risk, enough)
    return found + [Found("precision", chosen, subject, held) for chosen in low]


def _test(found: Found, delta: float, risk: float) -> Evidence:
    """Count one event on the held-out draws."""
    likelier, event, held = found.choice.likelier, found.choice.event, found.held
    trials = held[0].shape[0]
    inside = event.hits(held[likelier])
    hits, other = int(inside.sum()), int(event.hits(held[1 - likelier]).sum())
    examples = event.view.of(held[likelier][inside][:3])
    return Evidence(
        found.kind,
        event.text,
        found.target.inputs[likelier],
        found.target.inputs[1 - likelier],
        hits,
        other,
        trials,
        p_lower=float(clopper_pearson(hits, trials, risk)[0]),
        q_upper=float(clopper_pearson(other, trials, risk)[1]),
        epsilon_lower=float(epsilon_lower(hits, other, trials, delta, risk)),
        examples=tuple(float(y).hex() if isinstance(y, np.floating) else repr(int(y)) for y in examples)
        if found.kind == "precision"
        else (),
    )
