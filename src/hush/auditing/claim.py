"""What an audit attacks: the target under one or more pairs of inputs, and the claimed epsilon and delta."""

from __future__ import annotations

from typing import Any

from hush.auditing.lattice import of_lattice, start_of
from hush.auditing.moves import numbers_of, vector_moves
from hush.auditing.target import Target, of_callable, of_moves
from hush.errors import InvalidParameter, budgets, deltas, reject
from hush.privacy.sensitivity import Sensitivity

__all__ = ["claim_of"]


def claim_of(
    target: Any, epsilon: Any, delta: Any, inputs: Any, sensitivity: Any, vectorised: bool | None
) -> tuple[list[Target], float, float]:
    """The target under each pair of inputs, epsilon and delta."""
    share = deltas("delta", 0.0 if delta is None else delta, zero=True)
    if sensitivity is not None and not isinstance(sensitivity, Sensitivity):
        raise reject("sensitivity", sensitivity, "a Sensitivity", "write hush.Sensitivity(linf=1.0, dimension=10)")
    ours = of_lattice(target, inputs, sensitivity, float(share.max()))
    if ours is None and not callable(target):
        raise reject("target", target, "a function, a Plan, a Mechanism or a noise", "write hush.audit(f, epsilon=1.0)")
    subjects, (own_epsilon, own_delta) = ours or (_black_box(target, inputs, sensitivity, vectorised), (None, None))
    if epsilon is None and own_epsilon is None:
        raise InvalidParameter(
            "epsilon is missing: it is the claim to attack; write hush.audit(target, epsilon=1.0, delta=1e-6)."
        )
    budget = budgets("epsilon", own_epsilon if epsilon is None else epsilon)
    share = deltas("delta", own_delta, zero=True) if delta is None and own_delta is not None else share
    if budget.ndim or share.ndim:
        raise InvalidParameter("audit takes one epsilon and one delta; call it once for each pair.")
    return subjects, float(budget), float(share)


def _black_box(target: Any, inputs: Any, sensitivity: Sensitivity | None, vectorised: bool | None) -> list[Target]:
    """A function under one pair of inputs, or under the moves of a sensitivity."""
    if sensitivity is None:
        return [of_callable(target, (0.0, 1.0) if inputs is None else inputs, vectorised)]
    size = numbers_of(sensitivity)
    return of_moves(target, start_of(inputs, size), vector_moves(sensitivity, size), vectorised)
