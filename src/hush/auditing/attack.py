"""audit: draw outputs, search for events on one half of them, count these events on the other half."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from hush.auditing.bound import clopper_pearson, epsilon_lower, trials_needed
from hush.auditing.event import Event, Pair, Proposal, choose
from hush.auditing.lattice import of_lattice
from hush.auditing.precision import bit_proposals
from hush.auditing.result import AuditResult, Evidence
from hush.auditing.search import coordinates, set_proposals, views
from hush.auditing.target import Target, collect, of_callable
from hush.errors import InvalidParameter, budgets, deltas, reject, whole, within

__all__ = ["audit"]

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


def audit(
    target: Any,
    *,
    epsilon: float | None = None,
    delta: float | None = None,
    inputs: Any = None,
    samples: int = 200_000,
    confidence: float = 0.999999,
    batch: int = 100_000,
    vectorised: bool | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> AuditResult:
    """Attack a claim of (epsilon, delta)-privacy: a lower bound on epsilon at delta, from outputs under two
    neighbouring inputs.

    target: a function f(value, size) that returns `size` independent outputs (numbers, or rows of numbers), or f(value)
    that returns one (vectorised= states which, if the signature is unclear); or a Plan, a Mechanism or a noise, which
    is drawn exactly on its lattice, as a release would be. For a Plan, the claim is its guarantee, and the inputs
    differ by as much as its sensitivity allows. Otherwise epsilon is required; delta defaults to 0 and inputs to
    (0.0, 1.0).

    `samples` outputs are drawn from each input, `batch` at a time; progress(done, samples) is called after each batch.
    One half is used to construct and choose at most four events (a set of values and a pattern of low bits, for each
    input). These are counted on the other half.

    Guarantees: if the claim is true for these inputs and outputs are independent, `violated` is False with probability
    at least `confidence` (by default one false alarm in a million audits). hush.auditing.bound has the theorem.

    >>> import numpy as np
    >>> rng = np.random.default_rng()
    >>> finding = audit(lambda value, size: value + rng.laplace(scale=1.0, size=size), epsilon=1.0)
    >>> finding.violated, finding.collisions is not None
    (True, True)
    """
    subject, budget, share = _subject(target, epsilon, delta, inputs, vectorised)
    sure = within("confidence", confidence, 0.5, 0.999_999_999_999_999, "write confidence=0.999999")
    count, size = whole("samples", samples), whole("batch", batch)
    risk = (1.0 - sure) / (2.0 * _TESTS)
    _check_samples(count, budget, 2.0 * trials_needed(budget, share, risk))
    draws = collect(subject, count, size, progress)
    start = 2 * (count // 4)  # the search uses only the draws before this position
    held = draws[0][start:], draws[1][start:]
    events = _search((draws[0][:start], draws[1][:start]), subject, share, risk, budget)
    return AuditResult(
        budget, share, subject.inputs, count, sure, tuple(_test(*event, held, subject, share, risk) for event in events)
    )


def _subject(
    target: Any, epsilon: Any, delta: Any, inputs: Any, vectorised: bool | None
) -> tuple[Target, float, float]:
    """The target as a function of (input, size), and the claim."""
    ours = of_lattice(target, inputs)
    if ours is None and not callable(target):
        raise reject("target", target, "a function, a Plan, a Mechanism or a noise", "write hush.audit(f, epsilon=1.0)")
    if ours is None:
        ours = of_callable(target, (0.0, 1.0) if inputs is None else inputs, vectorised), (None, None)
    subject, (own_epsilon, own_delta) = ours
    if epsilon is None and own_epsilon is None:
        raise InvalidParameter(
            "epsilon is missing: it is the claim to attack; write hush.audit(target, epsilon=1.0, delta=1e-6)."
        )
    budget = budgets("epsilon", own_epsilon if epsilon is None else epsilon)
    share = deltas("delta", (own_delta or 0.0) if delta is None else delta, zero=True)
    if budget.ndim or share.ndim:
        raise InvalidParameter("audit takes one epsilon and one delta; call it once for each pair.")
    return subject, float(budget), float(share)


def _search(training: Pair, subject: Target, delta: float, risk: float, enough: float) -> list[tuple[str, int, Event]]:
    """(kind, input that makes it likelier, event): constructed on one half of the training draws, chosen on the
    other.
    """
    half = training[0].shape[0] // 2
    rank = training[0][:half], training[1][:half]
    hold = training[0][half:], training[1][half:]

    def sets() -> Iterator[Proposal]:
        for view in views(rank, subject.shift):
            yield from set_proposals(view, rank, hold)

    def bits() -> Iterator[Proposal]:
        for view in coordinates(rank):
            yield from bit_proposals(view, rank, hold)

    found = [("set", *chosen) for chosen in choose(sets(), half, delta, risk)]
    return found + [("precision", *chosen) for chosen in choose(bits(), half, delta, risk, enough)]


def _test(kind: str, likelier: int, event: Event, held: Pair, subject: Target, delta: float, risk: float) -> Evidence:
    """Count one event on the held-out draws."""
    trials = held[0].shape[0]
    inside = event.hits(held[likelier])
    hits, other = int(inside.sum()), int(event.hits(held[1 - likelier]).sum())
    examples = event.view.of(held[likelier][inside][:3])
    return Evidence(
        kind,
        event.text,
        subject.inputs[likelier],
        subject.inputs[1 - likelier],
        hits,
        other,
        trials,
        p_lower=float(clopper_pearson(hits, trials, risk)[0]),
        q_upper=float(clopper_pearson(other, trials, risk)[1]),
        epsilon_lower=float(epsilon_lower(hits, other, trials, delta, risk)),
        examples=tuple(float(y).hex() if isinstance(y, np.floating) else repr(int(y)) for y in examples)
        if kind == "precision"
        else (),
    )
