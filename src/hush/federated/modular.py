"""Secure aggregation: values and shares as integers modulo 2^b."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, Unsupported, as_float, called_like, deltas, positive, shown, whole
from hush.federated.lattice import beyond
from hush.federated.noise_share import Share, numbers
from hush.federated.sum_curve import saturated
from hush.ledger.access import Access
from hush.ledger.payment import Payment
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import next_up, rounded_up
from hush.privacy.curve import Curve
from hush.sampling.entropy import Entropy

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["Charged", "Ring", "ring"]

Array = NDArray[np.float64]
Integers = NDArray[np.int64]


@dataclass(frozen=True)
class Charged(Curve):
    """A curve with a failure probability added to its delta, which covers every outcome of the failure."""

    inner: Curve
    failure: float

    def _forward(self, epsilon: Array) -> Bracket:
        found = self.inner.delta_bracket(epsilon)
        upper = np.minimum(next_up(np.asarray(found.upper) + self.failure), 1.0)
        return Bracket(np.asarray(found.lower), upper)

    @property
    def pure_epsilon(self) -> float:
        return self.inner.pure_epsilon if self.failure == 0.0 else math.inf


@dataclass(frozen=True)
class Ring:
    """Messages of parties as integers modulo 2^bits: value plus share, in lattice steps.

    Guarantees: if the sum of the values is at most `bound` steps in absolute value, the centred sum of all messages is
    the sum of values and shares, except with probability at most `overflow` for each number. Reduction modulo 2^bits
    is post-processing and costs no privacy. The overflow is added to delta nevertheless, so that an implementation may
    do anything when it occurs.
    """

    share: Share
    step: float
    bound: int
    bits: int
    overflow: float

    @property
    def modulus(self) -> int:
        """2^bits."""
        return 1 << self.bits

    def pay(
        self, ledger: Ledger | None, *, view: str, sensitivity: Any = 1.0, coordinates: int = 1, label: str = ""
    ) -> Payment:
        """Charge a party's ledger for one message.

        view: "central" charges the cost of showing the sum, "local" the cost of showing this message alone. Without a
        ledger the payment is unaccounted. In the central view the overflow of each of `coordinates` numbers is added
        to delta. Sums of rounded shares have a privacy curve (`central`), but a ledger cannot compose it.
        """
        cost, extra = self.share.charge(view, sensitivity), 0.0
        if view == "central":
            extra = self._failure(numbers(sensitivity, coordinates, self.share.noise))
            if ledger is not None and not self.share.noise.discrete:
                raise Unsupported(
                    "a ledger cannot compose sums of rounded shares here; use Skellam or Discrete(Laplace(...)) noise, "
                    "or write view='local', or use federated.agree(...)."
                )
        # no right to draw again: the message of an earlier call may have been sent
        return Access(ledger, label=label).pay("", [cost], extra_delta=extra)

    @called_like("ring.message(steps, ring.pay(ledger, view='local'))")
    def message(self, steps: Any, payment: Payment, *, entropy: Entropy | None = None) -> Integers:
        """One party's message: its values (integers, in lattice steps) plus a new share each, modulo 2^bits."""
        return self.share.add(steps, payment, self.step, entropy=entropy) & np.int64(self.modulus - 1)

    def total(self, messages: Any) -> Integers:
        """The sum over parties (the first axis) modulo 2^bits, centred: in [-2^(bits-1), 2^(bits-1))."""
        half = np.int64(self.modulus // 2)
        added = np.asarray(messages, dtype=np.int64).sum(axis=0)  # wraps modulo 2^64, which 2^bits divides
        return ((added + half) & np.int64(self.modulus - 1)) - half

    def central(self, sensitivity: Any = 1.0, *, answering: int | None = None, coordinates: int = 1) -> Curve:
        """The privacy curve of the sums on the lattice, with the overflow of each of `coordinates` numbers in delta."""
        count = numbers(sensitivity, coordinates, self.share.noise)
        inner = self.share.central(sensitivity, answering=answering, step=self.step, coordinates=count)
        return Charged(inner, self._failure(count))

    def _failure(self, count: int) -> float:
        """A bound on the probability that one of `count` sums overflows."""
        return min(next_up(count * self.overflow), 1.0)

    def __str__(self) -> str:
        return (
            f"{self.share.parties} messages modulo 2^{self.bits} in steps of {self.step:g}: "
            f"the values sum to at most {self.bound} steps, "
            f"and the overflow probability of at most {rounded_up(self.overflow, 3)} is added to delta"
        )


def ring(share: Share, *, bound: int, overflow: float, step: float | None = None) -> Ring:
    """The smallest modulus 2^b for shares of `share` on the lattice of `step` and a sum of values of at most `bound`.

    The overflow probability includes the shares of all parties, and draws that saturate their 64-bit word.

    >>> from hush import Skellam
    >>> from hush.federated import share
    >>> ring(share(Skellam(100.0), 1000), bound=100_000, overflow=1e-9).bits
    18
    """
    if not isinstance(share, Share):
        raise InvalidParameter(
            f"share must be the result of federated.share, got {type(share).__name__}; "
            "write ring(share(Skellam(100.0), 1000), bound=100_000, overflow=1e-9)."
        )
    law = share.noise.marginal  # a number of a vector overflows as its own law does
    if law.discrete:
        if step is not None and positive("step", step) != law.step:
            raise Unsupported(f"{law} has its own lattice; write step={shown(law.step)} or leave step out.")
        step = law.step
    if step is None:
        raise InvalidParameter("step must be given for noise that is rounded to a lattice; write step=0.1.")
    step = positive("step", step)
    most, allowed = whole("bound", bound, 0, "write bound=100_000"), _chance(overflow)
    lost_draws = saturated(law, share.parties, step)
    for bits in range(max(2, most.bit_length() + 1), 62):
        spare = float((1 << (bits - 1)) - 1 - most)
        if spare >= 1.0 and (lost := beyond(law, share.parties, spare, step) + lost_draws) <= allowed:
            return Ring(share, step, most, bits, max(lost, 1e-300))  # a bound of 0 would be an underflow
    raise Unsupported(
        f"no modulus below 2^62 has an overflow of at most {allowed:g}; "
        f"use a coarser step than {step:g}, or a larger overflow."
    )


def _chance(overflow: Any) -> float:
    allowed = "one number in (0, 1)"
    return float(deltas("overflow", as_float("overflow", overflow, allowed, "write overflow=1e-9"), zero=False))
