"""The public terms of a federation, fixed before the first round: the clip, the lattice, the shares, and two epsilons.

One client with its whole update is protected, and the update is clipped to a public bound. "add-remove" compares an
update with zeros; "replace" compares it with another update, which is twice as far away.

    noise     clip   reason
    Gaussian  l2     its privacy depends exactly on the l2 distance
    Stable    l1     epsilon = l1 sup|score|, a theorem for any number of coordinates. A box of K coordinates would
                     cost K eps(linf). Under l2 the theorem uses l1 <= sqrt(K) l2, which is worse than l1 clipping

Each party rounds its share to the lattice. `hush.federated.aliasing` proves that the curve of the unrounded sum
applies up to a small error. `extra_delta` bounds this error and the probability that a share overflows its 64-bit word;
it must be added to delta.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.ranking import calibrate
from hush.errors import InvalidParameter, NotPaid, called_like, one_of, positive, reject, shown, whole
from hush.federated.aliasing import rounding_variation
from hush.federated.clipping import as_vector, clipped_steps, projected
from hush.federated.noise_share import VIEWS, Share, share
from hush.federated.stable import one_budget, one_delta
from hush.ledger.access import Access
from hush.ledger.payment import Payment, must_be_payment
from hush.ledger.refusal import must_be_ledger
from hush.noise.catalogue import in_words
from hush.noise.contract import Law
from hush.noise.stable import Stable
from hush.numerics.rounding import ELEMENTARY, decimal_up, up
from hush.privacy.charge import Budget, Charge
from hush.privacy.compose import compose
from hush.privacy.curve import Curve
from hush.privacy.sensitivity import NEIGHBOURS, Sensitivity
from hush.sampling.entropy import Entropy

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["Terms", "agree"]

_FINE = 4096.0  # lattice steps in the median of |share|: rounding an update towards zero then changes it very little
_ALPHA = 1.70  # the alpha of least mean |noise| under an l1 bound, for every epsilon: sup|score| E|X| is least there


@dataclass(frozen=True)
class Terms:
    """The public terms of a federation; `agree` creates them.

    An update has `coordinates` numbers and is clipped in `norm` ("l1" or "l2") to at most `clip`. Messages are
    integers in units of `step`.
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
        if math.frexp(positive("step", self.step))[0] != 0.5:  # a power of two makes clip/step exact
            raise reject(
                "step",
                self.step,
                "a power of two",
                f"write step={shown(math.ldexp(1.0, math.frexp(self.step)[1] - 1))}",
            )

    # -- privacy ---------------------------------------------------------------------------------------------

    @property
    def sensitivity(self) -> Sensitivity:
        """The largest move of the sum by one client; it is exact, because clipped updates are checked as integers."""
        reach = self.clip * (2.0 if self.neighbours == "replace" else 1.0)
        return (
            Sensitivity(l1=reach, neighbours=self.neighbours)
            if self.norm == "l1"
            else Sensitivity(l2=reach, neighbours=self.neighbours)
        )

    def charges(self, view: str) -> list[Charge]:
        """The charges of one round: of showing the sum ("central"), or of showing the client's message ("local")."""
        return [self.share.charge(view, self.sensitivity)]

    def pay(self, ledger: Ledger | None, *, view: str, label: str = "") -> Payment:
        """Charge a client's ledger for one round, `extra_delta` included; `message` needs the payment.

        Without a ledger the payment is unaccounted: another party, such as the server, keeps the client's budget.
        """
        must_be_ledger(ledger)
        extra = 0.0 if ledger is None else self.extra_delta(rounds=1, view=view, epsilon=ledger.cap.epsilon)
        seen = "the sum of the updates of all parties" if view == "central" else "the update of one party"
        about = f"{seen}: {self.coordinates} numbers, each update limited to size {self.clip:g}"
        # no right to draw again: the message of an earlier call may have been sent
        return Access(ledger, label=label).pay("", self.charges(view), extra_delta=extra, about=about)

    def curve(self, view: str, *, rounds: int | None = None) -> Curve:
        """The privacy curve of `rounds` rounds (default: all) in a view; `extra_delta` must be added to its delta."""
        return compose([charge.repeated(self._turns(rounds)) for charge in self.charges(view)])

    def epsilon(self, view: str, delta: float, *, rounds: int | None = None) -> float:
        """An upper bound on the epsilon of `rounds` rounds (default: all) at delta; add `extra_delta` to delta."""
        return float(np.asarray(self.curve(view, rounds=rounds).epsilon(delta)))

    def extra_delta(self, *, rounds: int | None = None, view: str = "central", epsilon: float | None = None) -> float:
        """The addition to delta for aliasing and overflow, over all coordinates and rounds (see aliasing.py).

        A law within total variation v of an (epsilon, delta)-private one is (epsilon, delta + (1 + e^epsilon)
        v)-private. Here epsilon is the one at which the total delta is evaluated: the argument `epsilon` (a ledger's
        budget), or by default the epsilon of all rounds at delta 1e-12.
        If one round has a pure epsilon p, its curve rises by at most c = (1 + e^p) v everywhere. A loss that is
        infinite with probability c/(1 - delta(0)) <= (1 + e^p) c/2 accounts for this, and such probabilities add up
        over rounds at every epsilon.
        """
        turns = self._turns(rounds)
        variation = rounding_variation(
            self.share.noise.marginal.plain(), self.share.parties, self.step, self.coordinates
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
            else whole("rounds", rounds, 1, "write rounds=1, or leave rounds out for all rounds")
        )

    # -- what a client does ----------------------------------------------------------------------------------

    def on_lattice(self, update: Any) -> NDArray[np.int64]:
        """The update, clipped and rounded towards zero to integers in units of `step`.

        Its norm is at most `clip`, checked in integers. An update that is not finite (a diverged model) is replaced by
        zeros.
        """
        vector = as_vector("update", update)
        if vector.size != self.coordinates:
            raise InvalidParameter(
                f"the update must have {self.coordinates} numbers under these terms, got {vector.size}; "
                "call agree(...) with the size of the model."
            )
        vector = vector if np.isfinite(vector).all() else np.zeros(self.coordinates)
        return clipped_steps(vector, self.clip, self.norm, self.step)

    @called_like("terms.message(update, terms.pay(ledger, view='local'))")
    def message(self, update: Any, payment: Payment, *, entropy: Entropy | None = None) -> NDArray[np.int64]:
        """A client's message: its clipped update on the lattice plus its share, drawn with a payment of `pay`.

        Guarantees: a payment that is not for these terms, or was used before, raises `NotPaid` and draws nothing.
        """
        steps = self.on_lattice(update)
        must_be_payment(payment)
        paid = next((charge for view in VIEWS for charge in self.charges(view) if charge in payment.charges), None)
        if paid is None:
            raise NotPaid(
                "this payment is not for a round under these terms, so nothing was drawn; "
                "write terms.pay(ledger, view='local')."
            )
        return self.share.add_for(paid, steps, payment, self.step, entropy=entropy)

    # -- what the server does --------------------------------------------------------------------------------

    def mean_update(self, messages: list[NDArray[np.int64]]) -> NDArray[np.float64]:
        """The mean update, from the sum of messages modulo 2^64 that secure aggregation gives.

        Raises if there are fewer messages than planned.
        """
        try:
            messages = [np.asarray(message) for message in messages]
        except (TypeError, ValueError):
            raise InvalidParameter(
                "messages must be a list of client messages; write mean_update([first, second, ...])."
            ) from None
        if any(message.dtype.kind != "i" or message.shape != (self.coordinates,) for message in messages):
            raise InvalidParameter(
                f"messages must each be an array of {self.coordinates} integers, as terms.message returns."
            )
        if len(messages) < self.share.honest:
            raise InvalidParameter(
                f"{len(messages)} messages contain less noise than the planned {self.share.honest}; "
                "do not publish their sum."
            )
        words = np.zeros(self.coordinates, dtype=np.uint64)
        for message in messages:
            words += message.astype(np.int64).view(np.uint64)  # intended to wrap around
        return words.view(np.int64).astype(np.float64) * (self.step / len(messages))

    def possible(self, update: NDArray[np.float64]) -> NDArray[np.float64]:
        """The mean update projected to the set of possible ones: free post-processing, never further from the truth.

        The mean of clipped updates lies within the clip, a convex set, and the projection to a convex set that
        contains the true value is never further from it. It also limits the effect of a rare, very large stable draw.
        """
        vector = as_vector("update", update)
        if np.isnan(vector).any():
            raise InvalidParameter(
                "update must hold numbers without NaN; write terms.possible(terms.mean_update(messages))."
            )
        return projected(vector, self.clip, self.norm)

    def __str__(self) -> str:
        whom = "with or without a client" if self.neighbours == "add-remove" else "whatever update a client has"
        share, target = in_words(self.share.noise), in_words(self.share.target)
        return (
            f"{self.share.parties} clients, {self.coordinates} coordinates clipped to {self.norm} {self.clip:g}, each "
            f"client adds {share}, any {self.share.honest} together {target}, lattice step {self.step:g}; {whom}, "
            f"the sums have {self._in_words('central')}; the messages of a client have {self._in_words('local')}"
        )

    def _in_words(self, view: str) -> str:
        """The guarantee of one round and of all rounds: pure, or at delta 1e-6 if there is no pure one."""
        delta = 0.0 if math.isfinite(self.curve(view, rounds=1).pure_epsilon) else 1e-6
        found = [self.epsilon(view, delta, rounds=turns) for turns in (1, self.rounds)]
        if not math.isfinite(found[1]):
            return f"no finite epsilon at delta {delta:g}"
        one, all_of_them = (decimal_up(epsilon, 4) for epsilon in found)
        extra = decimal_up(self.extra_delta(view=view), 2)
        share_of = f"delta {extra}" if delta == 0.0 else f"delta {delta:g} + {extra}"
        return f"epsilon {one} in a round and {all_of_them} in all {self.rounds}, {share_of}"


def _gaussian_noise(budget: Budget, reach: float, rounds: int) -> Law:
    if budget.delta == 0.0:
        raise InvalidParameter("gaussian noise has no pure epsilon; write delta=1e-6, or family='stable'.")
    return calibrate(budget.epsilon, budget.delta, Sensitivity(l2=reach), family="gaussian", times=rounds).law


def _stable_noise(budget: Budget, reach: float, rounds: int) -> Law:
    return Stable(_ALPHA, up(rounds * reach * Stable(_ALPHA, 1.0).sup_score() / budget.epsilon, ELEMENTARY))


#: For each family: the norm of the clipping, and the noise for a budget, a sensitivity in that norm and a number of
#: rounds.
_RULES: dict[str, tuple[str, Callable[[Budget, float, int], Law]]] = {
    "stable": ("l1", _stable_noise),
    "gaussian": ("l2", _gaussian_noise),
}


@called_like("agree(1.0, clip=1.0, coordinates=8, parties=10, rounds=5, delta=0.0)")
def agree(
    epsilon: float,
    clip: float,
    coordinates: int,
    parties: int,
    *,
    rounds: int,
    delta: float,
    honest: int | None = None,
    family: str = "stable",
    neighbours: str = "add-remove",
) -> Terms:
    """Terms under which `rounds` rounds of sums cost (epsilon, delta) in the central view.

    At least `honest` clients (default: all) must answer in each round.
    family: "stable" (l1 clipping, pure epsilon) or "gaussian" (l2 clipping, needs delta > 0). Stable shares are for two
    to ten parties whose single messages may be seen, or for parties that drop out. With secure aggregation, shares of
    discrete Laplace noise have less error: `share(hush.Discrete(hush.Laplace(b), step), parties)`.

    Guarantees: terms.epsilon("central", delta) <= epsilon, where terms.extra_delta() must be added to delta.

    >>> terms = agree(2.0, 1.0, 10, 100, rounds=4, delta=0.0)
    >>> terms.norm, terms.epsilon("central", 0.0) <= 2.0 < terms.epsilon("local", 0.0)
    ('l1', True)
    """
    budget, share_of = one_budget(epsilon), one_delta(delta)
    bound, turns = positive("clip", clip, "write clip=1.0"), whole("rounds", rounds)
    one_of("family", family, _RULES)
    one_of("neighbours", neighbours, NEIGHBOURS)
    norm, rule = _RULES[family]
    chosen = rule(Budget(budget, share_of), bound * (2.0 if neighbours == "replace" else 1.0), turns)
    shares = share(chosen, parties, honest=honest)
    step = math.ldexp(1.0, math.frexp(float(np.asarray(shares.noise.marginal.isf(0.25))) / _FINE)[1] - 1)
    return Terms(shares, bound, norm, whole("coordinates", coordinates), step, turns, neighbours)
