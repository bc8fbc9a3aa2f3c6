"""What server and clients agree on before the first round: the clip, the lattice, the shares, and both epsilons that
follow.

The unit of privacy is a client: its whole update counts, clipped to a public bound. "add-remove" compares an update
with none at all (zeros), "replace" one update with another, twice as far.

    noise     clip   why
    Gaussian  l2     its privacy depends on the l2 distance alone, exactly
    Stable    l1     epsilon = l1 sup|score|, a theorem for any number of coordinates. A box of K coordinates would
                     cost K eps(linf); under l2 the theorem goes through l1 <= sqrt(K) l2 and is worse than clipping
                     l1 itself

**Sums of rounded shares.** Each party rounds its own share z_i to the lattice of step h, and a sum of rounded numbers
is not the rounded sum. Yet the law of sum round(z_i) is that of round(T + U_1 + ... + U_(m-1)), with T = sum z_i and
U_i uniform on (-h/2, h/2), but for aliasing. Both have a periodic characteristic function, the first (sum_j a_j)^m
and the second sum_j a_j^m, where a_j = phi((t + 2 pi j)/h) sinc(t/2 + pi j) (Poisson summation). They differ by
products that hold a factor a_j with j != 0. With b = sum over j != 0 of |a_j| <= 2 (phi(pi/h) + phi(3 pi/h) + ...)
the difference is at most m b (1 + b)^(m-1) + b at any t, hence at any point of the law. Without aliasing the sum is
post-processing of T, and T's curve applies, for any sensitivity. `slip` bounds what is left, and the chance that a
share leaves the 64 bits; it is charged to delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.ranking import calibrate
from hush.errors import InvalidParameter, NotPaid, Unsupported, called_like, one_of, positive, reject, whole
from hush.federated.noise_share import VIEWS, Share, share
from hush.federated.stable import one_budget, one_delta
from hush.ledger.payment import Payment, must_be_payment, pay
from hush.noise.catalogue import in_words
from hush.noise.contract import Law
from hush.noise.stable import Stable
from hush.numerics.rounding import CLOSED_FORM, ELEMENTARY, SPECIAL_FUNCTION, down, next_down, up
from hush.privacy.charge import Budget, Charge
from hush.privacy.compose import compose
from hush.privacy.curve import Curve
from hush.privacy.sensitivity import NEIGHBOURS, Sensitivity
from hush.sampling.entropy import Entropy

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["Terms", "agree"]

_FINE = 4096.0  # steps in the median of |share|: rounding towards zero then shortens an update by next to nothing
_ALPHA = 1.70  # the least mean |noise| for an epsilon under l1, whatever the epsilon: sup|score| E|X| is least there
_BITS = 61  # shares beyond 2^61 steps leave the word that a sum is kept in


@dataclass(frozen=True)
class Terms:
    """The public terms of a federation: `agree` makes them.

    `norm` says how an update of `coordinates` numbers is clipped ("l1" or "l2") to at most `clip`; messages are whole
    numbers of `step`.
    """

    share: Share
    clip: float
    norm: str
    coordinates: int
    step: float
    rounds: int
    neighbours: str = "add-remove"

    def __post_init__(self) -> None:
        one_of("norm", self.norm, ("l1", "l2"))
        one_of("neighbours", self.neighbours, NEIGHBOURS)
        positive("clip", self.clip, "write clip=1.0")
        if (
            math.frexp(positive("step", self.step))[0] != 0.5
        ):  # so that the clip is a whole number of steps, or not, exactly
            raise reject(
                "step", self.step, "a power of two", f"write step={math.ldexp(1.0, math.frexp(self.step)[1] - 1)!r}"
            )

    # -- privacy ---------------------------------------------------------------------------------------------

    @property
    def sensitivity(self) -> Sensitivity:
        """How far one client moves the sum; exact, since clipped updates are checked as integers."""
        reach = self.clip * (2.0 if self.neighbours == "replace" else 1.0)
        return (
            Sensitivity(l1=reach, neighbours=self.neighbours)
            if self.norm == "l1"
            else Sensitivity(l2=reach, neighbours=self.neighbours)
        )

    def charges(self, view: str) -> list[Charge]:
        """What a ledger is charged for one round: "central", what the sum tells; "local", what the client's own
        message tells.
        """
        return [self.share.charge(view, self.sensitivity)]

    def pay(self, ledger: Ledger | None, *, view: str, label: str = "") -> Payment:
        """Charge a client's ledger for one round, `slip` included; `message` then draws with the payment.

        Without a ledger the payment is unaccounted: somebody else, such as the server, keeps the client's budget.
        """
        slip = 0.0 if ledger is None else self.slip(rounds=1, view=view, epsilon=ledger.cap.epsilon)
        return pay(ledger, self.charges(view), label=label, extra_delta=slip)

    def curve(self, view: str, *, rounds: int | None = None) -> Curve:
        """The privacy curve of `rounds` rounds (all of them, unless told) in a view; `slip` comes on top of its
        delta.
        """
        return compose([charge.repeated(self._turns(rounds)) for charge in self.charges(view)])

    def epsilon(self, view: str, delta: float = 0.0, *, rounds: int | None = None) -> float:
        """The epsilon of `rounds` rounds at delta, an upper bound; at delta = 0 it is pure but for `slip`."""
        return float(np.asarray(self.curve(view, rounds=rounds).epsilon(delta)))

    def slip(self, *, rounds: int | None = None, view: str = "central", epsilon: float | None = None) -> float:
        """What is added to delta for aliasing and for overflow, over all coordinates and rounds (see the module's
        theorem).

        A law within total variation v of one that is (epsilon, delta)-private is (epsilon, delta + (1 + e^epsilon)
        v)-private, at the epsilon where the delta of everything is read: `epsilon` (a ledger's cap), or unless told
        that of all rounds at delta 1e-12.
        Where one round has a pure epsilon p its curve rises by c = (1 + e^p) v at most, everywhere; a loss that is
        infinite with probability c/(1 - delta(0)) <= (1 + e^p) c/2 accounts for that, and such probabilities add up
        over rounds, whatever is read.
        """
        turns = self._turns(rounds)
        one, m = self.share.noise.plain(), self.share.parties
        leaves = 2.0 * m * float(np.asarray(one.sf(down(math.ldexp(self.step, _BITS), SPECIAL_FUNCTION))))
        variation = self.coordinates * (
            leaves + math.exp(min(_log_aliasing(one, m, self.step) + 64.0 * math.log(2.0), 0.0))
        )
        pure = self.epsilon(view, 0.0, rounds=1)
        if math.isfinite(pure):
            factor = 0.5 * (1.0 + math.exp(min(pure, 350.0))) ** 2
        else:
            factor = 1.0 + math.exp(min(self.epsilon(view, 1e-12) if epsilon is None else one_budget(epsilon), 700.0))
        return max(turns * variation * factor, 5e-324)

    def _turns(self, rounds: int | None) -> int:
        return (
            self.rounds
            if rounds is None
            else whole("rounds", rounds, 1, "write rounds=1, or leave it out for all of them")
        )

    # -- what a client does ----------------------------------------------------------------------------------

    def on_lattice(self, update: Any) -> NDArray[np.int64]:
        """An update clipped and rounded towards zero to whole numbers of steps, whose norm is at most `clip`: checked
        in integers.

        An update that is not finite (a diverged model) counts as zeros.
        """
        vector = _numbers("update", update)
        if vector.size != self.coordinates:
            raise InvalidParameter(
                f"the update has {vector.size} numbers and the terms say {self.coordinates}; agree on the model first."
            )
        vector = vector if np.isfinite(vector).all() else np.zeros(self.coordinates)
        largest = float(np.abs(vector).max())
        if largest == 0.0:
            return np.zeros(self.coordinates, dtype=np.int64)
        shape = vector / largest  # so that no norm overflows
        norm = float(np.abs(shape).sum()) if self.norm == "l1" else float(np.sqrt(np.square(shape).sum()))
        scaled = shape * min(largest, self.clip / norm)
        steps = np.trunc(scaled / self.step).astype(np.int64)
        while not self._within(steps):  # rounding went above the bound: shorter by less than one step, which is enough
            scaled = down(scaled, CLOSED_FORM) - np.sign(scaled) * self.step * 1e-3
            steps = np.trunc(scaled / self.step).astype(np.int64)
        return steps

    def _within(self, steps: NDArray[np.int64]) -> bool:
        sizes = [abs(int(k)) for k in steps]
        bound = self.clip / self.step  # exact: the step is a power of two
        return sum(sizes) <= bound if self.norm == "l1" else sum(k * k for k in sizes) <= next_down(bound * bound)

    @called_like("terms.message(update, terms.pay(ledger, view='local'))")
    def message(self, update: Any, payment: Payment, *, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """What a client sends: its clipped update on the lattice plus its share, drawn with a payment of `pay`.

        Guarantees: a payment that is not for these terms, or was used before, raises `NotPaid`, and nothing is drawn.
        """
        steps = self.on_lattice(update)
        must_be_payment(payment)
        paid = next((charge for view in VIEWS for charge in self.charges(view) if charge in payment.charges), None)
        if paid is None:
            raise NotPaid(
                "this payment is not for a round under these terms, so nothing was drawn; write terms.pay(ledger, view='local')."
            )
        return self.share.add_for(paid, steps, payment, self.step, entropy=entropy)

    # -- what the server does --------------------------------------------------------------------------------

    def mean_update(self, messages: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        """The sum of messages, modulo 2^64 as secure aggregation gives it, as a mean update. Fewer than planned for
        are not opened.
        """
        try:
            messages = [np.asarray(message) for message in messages]
        except (TypeError, ValueError) as failure:
            raise InvalidParameter(
                "messages must be a list of what clients sent; write mean_update([first, second, ...])."
            ) from failure
        if any(message.dtype.kind != "i" or message.shape != (self.coordinates,) for message in messages):
            raise InvalidParameter(
                f"messages must each be {self.coordinates} whole numbers, as terms.message makes them."
            )
        if len(messages) < self.share.honest:
            raise InvalidParameter(
                f"{len(messages)} messages hold less noise than the {self.share.honest} planned for; do not open their sum."
            )
        words = np.zeros(self.coordinates, dtype=np.uint64)
        for message in messages:
            words += message.astype(np.int64).view(np.uint64)  # wraps around, as it should
        return words.view(np.int64).astype(np.float64) * (self.step / len(messages))

    def possible(self, update: NDArray[np.float64]) -> NDArray[np.float64]:
        """The nearest mean update that clipped clients can have: post-processing that costs nothing and is never
        further from the truth.

        The mean of clipped updates is within the clip itself, a convex set, and the nearest point of a convex set
        that holds the truth is nearer to it. What a rare huge stable draw does to one number is cut down to the clip.
        """
        vector = _numbers("update", update)
        if np.isnan(vector).any():
            raise InvalidParameter("update must be numbers without NaN; write possible(terms.mean_update(messages)).")
        inside = np.clip(vector, -self.clip, self.clip)
        sizes = np.abs(inside)
        if self.norm == "l2":
            return inside * min(1.0, self.clip / max(float(np.linalg.norm(inside)), 5e-324))
        if float(sizes.sum()) <= self.clip:
            return inside
        falling = np.sort(sizes)[::-1]
        excess = (np.cumsum(falling) - self.clip) / np.arange(1, sizes.size + 1)
        cut = float(
            excess[np.flatnonzero(falling > excess)[-1]]
        )  # take the same from every number (Duchi et al. 2008, Figure 1)
        return np.copysign(np.maximum(sizes - cut, 0.0), inside)

    def __str__(self) -> str:
        return (
            f"{self.share.parties} clients, {self.coordinates} coordinates clipped to {self.norm} {self.clip:g}, {self.share}, "
            f"any {self.share.honest} together {in_words(self.share.target)}, lattice step {self.step:g}"
        )


def _numbers(name: str, value: Any) -> NDArray[np.float64]:
    """A vector of floats; the message does not show it, for it is a person's or a client's."""
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise TypeError
        return array.astype(np.float64).ravel()
    except (TypeError, ValueError, OverflowError):
        raise InvalidParameter(f"{name} must be an array of numbers, got {type(value).__name__}.") from None


def _log_aliasing(share_noise: Law, parties: int, step: float) -> float:
    """The logarithm of m b (1 + b)^(m-1) + b."""
    if share_noise.stability is None:
        raise Unsupported(
            f"no theorem here about sums of rounded {type(share_noise).__name__} shares; use Stable or Gaussian noise."
        )
    alpha, scale = share_noise.stability
    ratio = scale * math.pi / step
    first = -(ratio**alpha)
    b = (
        math.log(2.0) + first - math.log1p(-math.exp(first))
    )  # phi((2j-1) r) <= phi(r)^(2j-1): a geometric series bounds the sum
    return b + math.log(parties + 1.0) + (parties - 1) * math.log1p(math.exp(b))


def _gaussian_noise(budget: Budget, reach: float, rounds: int) -> Law:
    if budget.delta == 0.0:
        raise InvalidParameter("noise='gaussian' has no pure epsilon; write delta=1e-6, or noise='stable'.")
    return calibrate(budget.epsilon, budget.delta, Sensitivity(l2=reach), family="gaussian", times=rounds).noise


def _stable_noise(budget: Budget, reach: float, rounds: int) -> Law:
    return Stable(_ALPHA, up(rounds * reach * Stable(_ALPHA, 1.0).sup_score() / budget.epsilon, ELEMENTARY))


#: The noises to agree on, by name: how updates are clipped, and the noise for a budget, a reach in that norm and a
#: number of rounds.
_RULES: dict[str, tuple[str, Callable[[Budget, float, int], Law]]] = {
    "stable": ("l1", _stable_noise),
    "gaussian": ("l2", _gaussian_noise),
}


def agree(
    epsilon: float,
    clip: float,
    coordinates: int,
    parties: int,
    *,
    rounds: int,
    delta: float = 0.0,
    honest: int | None = None,
    noise: str = "stable",
    neighbours: str = "add-remove",
) -> Terms:
    """Terms under which `rounds` rounds of sums cost (epsilon, delta) centrally, as long as `honest` clients answer
    each of them.

    noise: "stable" (l1 clipping, pure epsilon) or "gaussian" (l2 clipping, needs delta > 0).

    Guarantees: terms.epsilon("central", delta) <= epsilon, with terms.slip() to be added to delta.

    >>> terms = agree(2.0, 1.0, 10, 100, rounds=4)
    >>> terms.norm, terms.epsilon("central") <= 2.0 < terms.epsilon("local")
    ('l1', True)
    """
    budget, share_of = one_budget(epsilon), one_delta(delta)
    bound, turns = positive("clip", clip, "write clip=1.0"), whole("rounds", rounds)
    one_of("noise", noise, _RULES)
    one_of("neighbours", neighbours, NEIGHBOURS)
    norm, rule = _RULES[noise]
    chosen = rule(Budget(budget, share_of), bound * (2.0 if neighbours == "replace" else 1.0), turns)
    shares = share(chosen, parties, honest=honest)
    step = math.ldexp(1.0, math.frexp(float(np.asarray(shares.noise.isf(0.25))) / _FINE)[1] - 1)
    return Terms(shares, bound, norm, whole("coordinates", coordinates), step, turns, neighbours)
