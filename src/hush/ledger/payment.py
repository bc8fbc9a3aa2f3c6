"""A payment: the right to draw the noise that was charged, once for each release.

Noise on data is drawn only here. A payment comes from `Access.pay` or `Ledger.spend`, which return when the charge is
durable, or from `unaccounted`, for a caller who explicitly uses no ledger.
"""

from __future__ import annotations

import math
import os
import threading
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, field
from fractions import Fraction
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, NotPaid, QueryFailed, Unsupported
from hush.ledger.entry import Entry
from hush.privacy.charge import Charge, charges
from hush.sampling.choice import Draw, chosen, largest
from hush.sampling.entropy import Bits, Entropy, SecureEntropy, must_be_entropy
from hush.sampling.exact import draw, draw_from
from hush.sampling.mechanism import FURTHEST, Mechanism
from hush.sampling.witness import cells, must_not_be_watched, witness

__all__ = ["IN_MEMORY", "Draws", "Payment", "must_be_payment", "must_be_secure", "unaccounted"]

#: What a receipt names instead of a file.
IN_MEMORY = "a ledger in memory"

Steps = NDArray[np.int64]
_Made = TypeVar("_Made")


def must_be_secure(entropy: Entropy | None) -> None:
    """Reject randomness that can be repeated, because anybody who repeats it can subtract the noise."""
    must_be_entropy(entropy)
    if entropy is not None and not entropy.secure:
        raise Unsupported(
            "noise on data needs secure entropy, because anybody who has the seed of a test entropy can subtract the "
            "noise; leave entropy out."
        )


def must_be_payment(given: Any) -> None:
    """Reject anything but a payment, such as None or a ledger: nothing was charged."""
    if not isinstance(given, Payment):
        raise NotPaid(
            f"noise on data needs a payment, got {type(given).__name__}; nothing was drawn; write ledger.spend(...)."
        )


def _must_be_here(process: int) -> None:
    """Reject a payment or draws that a fork has copied: both processes could draw the same noise once each."""
    if process != os.getpid():
        raise NotPaid(
            "this payment was made in another process, which may draw its noise too; nothing was drawn; write "
            "ledger.spend(...) in the process that draws."
        )


def _must_be_steps(mechanism: Any, steps: Any) -> None:
    """Reject anything but whole steps, as many as one release of the mechanism has."""
    if not isinstance(mechanism, Mechanism):
        raise InvalidParameter(
            f"mechanism must be a Mechanism, got {type(mechanism).__name__}; write hush.Mechanism.of(plan)."
        )
    if not isinstance(steps, np.ndarray) or steps.dtype != np.int64:
        raise InvalidParameter("steps must be an array of whole numbers (int64); write mechanism.on_lattice(values).")
    if mechanism.part_of is None and steps.size != mechanism.coordinates:
        count = mechanism.coordinates
        raise InvalidParameter(
            f"the mechanism is for {count} numbers, got {steps.size}; write Mechanism(..., coordinates={steps.size})."
        )


@dataclass(frozen=True, eq=False)
class Draws:
    """Paid draws of one mechanism, made as they are needed.

    `left` is how many numbers may still be drawn. It is None for a column of a table, because nobody knows its
    length in advance: the table adds noise to each cell once. The executors of an engine receive a copy of the draws
    of such a column and use `add_from` with their own random bits. All other draws belong to one process.
    """

    mechanism: Mechanism
    _: KW_ONLY
    entropy: Entropy | None = None
    left: list[int] | None = None
    process: int = field(default_factory=os.getpid, repr=False)  # `dataclasses.replace` keeps it

    def add(self, steps: Steps) -> Steps:
        """Add fresh noise and clip the sum to +-2^61 steps. Clipping a draw earlier would not change the result."""
        watching = witness()
        return self._noisy(steps) if watching is None else watching.noisy(self.mechanism, steps, cells(), self._noisy)

    def _noisy(self, steps: Steps) -> Steps:
        return np.clip(steps + self._fresh(steps), -FURTHEST, FURTHEST)

    def ahead(self, count: int) -> Draws:
        """Draw `count` numbers now, in one call; later calls of `add` use them in order, each once."""
        self._take(count)
        made = self.mechanism
        vectors = count // (made.noise.dimension or 1)  # one joint draw for each vector
        drawn = draw(made.noise, vectors, made.step, self.entropy).reshape(-1)
        return _Ahead(made, entropy=self.entropy, left=[0], drawn=drawn)

    def add_from(self, bits: Bits, steps: Steps) -> Steps:
        """The same with given random bits, for engines that must be able to repeat a draw."""
        made = self.mechanism
        count = math.prod(np.atleast_1d(made.draw_shape(steps)))
        return np.clip(steps + draw_from(bits, made.noise, count, made.step).reshape(steps.shape), -FURTHEST, FURTHEST)

    def _fresh(self, steps: Steps) -> Steps:
        self._take(steps.size)
        made = self.mechanism
        return draw(made.noise, made.draw_shape(steps), made.step, self.entropy).reshape(steps.shape)

    def __reduce_ex__(self, protocol: Any) -> Any:
        if self.left is not None:
            raise NotPaid("these draws cannot be copied or sent to another process: they could be used twice.")
        return super().__reduce_ex__(protocol)

    def _take(self, count: int) -> None:
        _must_be_here(self.process)
        if self.left is None:
            return
        if count > self.left[0]:
            raise NotPaid(
                f"the payment covers {self.left[0]} more numbers, but {count} were requested; nothing was drawn."
            )
        self.left[0] -= count


@dataclass(frozen=True, eq=False)
class _Ahead(Draws):
    """Draws that were made in advance and are used in order."""

    drawn: Steps = field(kw_only=True, repr=False)
    given: list[int] = field(default_factory=lambda: [0], kw_only=True, repr=False)  # a copy shares the list

    def _fresh(self, steps: Steps) -> Steps:
        _must_be_here(self.process)
        start = self.given[0]
        if start + steps.size > self.drawn.size:
            raise NotPaid(
                "all draws that were made in advance are used, and the payment covers no more; nothing was drawn."
            )
        self.given[0] = start + steps.size
        return self.drawn[start : start + steps.size].reshape(steps.shape)


class Payment:
    """Noise that was paid for. `.noise(mechanism, steps)` draws it at once, `.open(mechanism)` over time.

    A charge with times=n allows n draws of its vector. If a vector is drawn in parts (the columns of a table, whose
    mechanisms state that they are parts of the charge), each part allows n draws; `part` names it.

    Guarantees: a `HushError` is raised, and nothing is drawn, for noise that was not charged, for a release or part
    that was drawn before, and for more numbers than the mechanism has. A payment cannot be copied, and only the
    process that made it can draw, but for the executors of an engine that repeat the draws of a table's column from
    given bits. It protects against mistakes, not against code that invents names of parts, or that adds the draws of
    `hush.draw` to data.

    >>> from hush import Gaussian, Ledger, Mechanism, Sensitivity
    >>> mechanism = Mechanism(Gaussian(20.0), Sensitivity(linf=1.0, l0=1), 1.0, coordinates=3)
    >>> payment = Ledger(None, epsilon=1.0, delta=1e-6).spend(mechanism.charge, label="three counts")
    >>> noisy = payment.noise(mechanism, mechanism.on_lattice([412, 87, 9]))
    >>> mechanism.value_of(noisy).shape
    (3,)
    """

    def __init__(
        self,
        paid: tuple[Charge, ...],
        entry: Entry | None,
        place: str | None,
        *,
        keeper: Callable[[int, bytes], bytes] | None = None,
        kept: bytes | None = None,
        failed: Callable[[], None] = lambda: None,
    ) -> None:
        self._allowed: Counter[Charge] = Counter()
        for charge in paid if kept is None else ():  # the noise of an answer that is kept was drawn
            self._allowed[charge.once] += charge.times
        self._keeper, self._kept, self._failed = keeper, kept, failed
        self._drawn: Counter[tuple[Charge, str]] = Counter()
        self._entry, self._place, self._paid, self._lock = entry, place, paid, threading.Lock()
        self._process = os.getpid()
        watching = witness()
        if watching is not None:
            watching.paid(paid)

    @property
    def entry(self) -> Entry | None:
        """The ledger's entry; None for an unaccounted payment."""
        return self._entry

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What was paid for."""
        return self._paid

    @property
    def number(self) -> int | None:
        """The number of the ledger's entry; None for an unaccounted payment."""
        return None if self._entry is None else self._entry.number

    @property
    def kept(self) -> bytes | None:
        """The answer, if an earlier call has kept it; then nothing is drawn, and this is what counts."""
        return self._kept

    def keep(self, content: bytes) -> bytes:
        """Keep the answer with its entry before anybody sees it; returns the answer that counts.

        That is the given one, unless another process has kept an answer of the same entry before. Without a ledger
        nothing is kept.
        """
        if self._kept is None and self._entry is not None and self._keeper is not None:
            self._kept = self._keeper(self._entry.number, content)
        return content if self._kept is None else self._kept

    def attempt(self, make: Callable[[], _Made], *, passing: tuple[type[Exception], ...] = ()) -> _Made:
        """What `make()` returns. It reads the data and draws; if it fails, one constant sentence is raised.

        The failure's own words may quote a row, and whether it fails may depend on one: so it is raised after the
        charge only, and the words are not kept as its context either. An interrupt passes through with a note, and so
        do the exceptions of `passing`: those of a file that cannot be written.
        """
        try:
            return make()
        except (NotPaid, QueryFailed):
            raise
        except passing as failure:
            self._failed()
            failure.add_note(f"{self._stays}.")
            raise
        except Exception:  # raised below, after the handler has ended
            pass
        except BaseException as interrupt:
            self._failed()
            interrupt.add_note(f"{self._stays}.")
            raise
        self._failed()
        raise QueryFailed(
            f"the question failed, and the reason is hidden, because it may quote the data; {self._stays}."
        )

    @property
    def _stays(self) -> str:
        """What a failure leaves behind, in words."""
        if self._entry is None:
            return "no ledger was charged"
        then = ", and the same call gets its one answer without another charge" if self._entry.has_right else ""
        return f"entry {self._entry.number} of {self._place} stays charged{then}"

    @property
    def receipt(self) -> dict[str, Any] | None:
        """Ledger, number and label of the entry, for a receipt; None if no ledger was charged."""
        if self._entry is None:
            return None
        return {"ledger": self._place, "number": self._entry.number, "label": self._entry.label}

    def noise(self, mechanism: Mechanism, steps: Steps, *, part: str = "", entropy: Entropy | None = None) -> Steps:
        """Steps with the noise of one release of the mechanism."""
        must_be_secure(entropy)
        _must_be_steps(mechanism, steps)
        self._take(mechanism, part, 1)
        return Draws(mechanism, entropy=entropy).add(steps)

    def open(
        self, mechanism: Mechanism, *, part: str = "", times: int | None = None, entropy: Entropy | None = None
    ) -> Draws:
        """`times` releases of the mechanism (default: all that remain), to be drawn as they are needed."""
        must_be_secure(entropy)
        _must_be_steps(
            mechanism, np.zeros(mechanism.coordinates, dtype=np.int64) if isinstance(mechanism, Mechanism) else None
        )
        releases = self._take(mechanism, part, times)
        left = None if mechanism.part_of is not None else [releases * mechanism.coordinates]
        return Draws(mechanism, entropy=entropy, left=left)

    def choose(self, charge: Charge, numbers: Steps, *, entropy: Entropy | None = None) -> Steps:
        """The places of the largest numbers, chosen under a charge, as many as its `times`."""
        must_be_secure(entropy)
        noise: Any = charge.noise
        if not getattr(noise, "chooses", False) or not charge.times <= numbers.size == (
            charge.sensitivity.dimension or 0
        ):
            raise InvalidParameter(f"the charge is for another choice than {charge.times} of {numbers.size} numbers.")
        self._take(charge, "", charge.times)

        def fresh(exact: Steps) -> Steps:
            return largest(exact, noise.scale, charge.times, entropy)

        watching = witness()
        return fresh(numbers) if watching is None else watching.chosen(charge, numbers, fresh)

    def select(self, charge: Charge, count: int, make: Callable[[Draw, Bits], Sequence[int]]) -> Steps:
        """`count` whole numbers that `make` chooses, all choices of one release of a charge for every group of a table.

        `make` gets what draws from runs, with the largest move of their scores by one person, and random bits for ties.
        The charge's scores move by at most 1, so a score that moves by at most m is divided by m.
        """
        noise: Any = charge.noise
        if not getattr(noise, "chooses", False):
            raise InvalidParameter("the charge is not for choices.")
        self._take(charge, "", charge.times)
        rate = 1 / Fraction(noise.scale)

        def fresh(_: Steps) -> Steps:
            bits = SecureEntropy().begin()
            found = make(lambda runs, move: chosen(runs, rate / move, bits), bits)
            return np.array(found, dtype=np.int64)

        nothing, watching = np.zeros(count, dtype=np.int64), witness()
        return fresh(nothing) if watching is None else watching.chosen(charge, nothing, fresh)

    def left(self, charge: Charge, *, part: str = "") -> int:
        """How many draws of this part of one release of the charge remain; 0 for a charge that was not paid."""
        with self._lock:
            return self._allowed[charge.once] - self._drawn[charge.once, part]

    def _take(self, what: Mechanism | Charge, part: str, times: int | None) -> int:
        _must_be_here(self._process)  # before the lock, which a fork may have copied while it was held
        if self._entry is not None and self._place != IN_MEMORY:
            must_not_be_watched(self._place)
        with self._lock:
            return self._taken(what, part, times)

    def _taken(self, what: Mechanism | Charge, part: str, times: int | None) -> int:
        one = (what if isinstance(what, Charge) else what.charge).once
        # a mechanism that is the whole charge has no parts
        named = part if isinstance(what, Mechanism) and what.part_of is not None else ""
        left = self._allowed[one] - self._drawn[one, named]
        wanted = left if times is None else times
        if one not in self._allowed:
            raise NotPaid(
                "this noise was not paid for, so nothing was drawn; write payment = ledger.spend(mechanism.charge)."
            )
        if left < max(wanted, 1):
            raise NotPaid(
                "this payment is used up: its noise was drawn before. Nothing was drawn; write ledger.spend(...) again."
            )
        self._drawn[one, named] += wanted
        return wanted

    def __reduce_ex__(self, _: Any) -> Any:
        raise NotPaid("a payment cannot be copied or sent to another process: its noise could be drawn twice.")

    def __repr__(self) -> str:
        return (
            "<Payment: no ledger was charged>"
            if self._entry is None
            else f"<Payment: entry {self._entry.number} of {self._place}>"
        )


def unaccounted(releases: Any) -> Payment:
    """A payment without a ledger: the caller is responsible for the budget."""
    return Payment(charges(releases), None, None)
