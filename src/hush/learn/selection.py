"""The privacy cost of releasing the best of a random number of private runs.

K is drawn from the truncated negative binomial law D(eta, gamma) on 1, 2, 3, ...:

    P(k) = (1 - gamma)^k / (gamma^-eta - 1) prod over l < k of (l + eta)/(l + 1)
    E[K] = eta (1 - gamma) / (gamma (1 - gamma^eta))
    eta = 0:  P(k) = (1 - gamma)^k / (k log(1/gamma)),  E[K] = (1/gamma - 1) / log(1/gamma)

If one run has Renyi divergence D(order), the best of K independent runs, released without K and without the other
runs, has at most

    D(order) + (1 + eta) (1 - 1/b) D(b) + (1 + eta) log(1/gamma)/b + log(E[K])/(order - 1)         for every b >= 1

(Papernot and Steinke 2022, "Hyperparameter Tuning with Renyi Differential Privacy", Theorem 2). In the limit of
infinite order and b: if each run is epsilon-private, the best of them is (2 + eta) epsilon-private.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, within
from hush.noise.contract import Noise
from hush.numerics.ball import flint_module
from hush.numerics.rounding import CLOSED_FORM, down, up
from hush.numerics.search import safe_end
from hush.privacy.charge import Charge
from hush.privacy.conversion import best_epsilon
from hush.privacy.theorem import renyi_divergence
from hush.sampling.entropy import Bits
from hush.sampling.tail_ball import precision

__all__ = ["Charges", "Runs", "any_of", "apart", "largest_base", "run_divergence", "split"]

#: The charges of one run.
Charges = tuple[Charge, ...]
Divergence = Callable[[float], float]

_ORDERS = 1.0 + np.geomspace(1e-3, 1e6, 64)


@dataclass(frozen=True)
class Runs:
    """The law D(eta, gamma) of the number of runs.

    >>> runs = Runs.expected(8.0, 0.0)
    >>> round(runs.mean, 6), round(runs.gamma, 4)
    (8.0, 0.0363)
    """

    eta: float
    gamma: float

    @classmethod
    def expected(cls, tries: float, eta: float) -> Runs:
        """The law with this eta whose mean is `tries`."""
        wanted = within("tries", tries, 1.01, 1e4, "write tries=8")
        eta = within("eta", eta, -0.75, 10.0, "write eta=0.0")
        # search over log gamma: the mean decreases with gamma
        log = safe_end(lambda log_gamma: cls(eta, math.exp(log_gamma)).mean <= wanted, -200.0, math.log1p(-1e-6))
        return cls(eta, math.exp(log))

    @property
    def mean(self) -> float:
        """E[K]."""
        log = -math.log(self.gamma)
        shrunk = log if self.eta == 0.0 else -math.expm1(-self.eta * log) / self.eta  # (1 - gamma^eta)/eta
        return (1.0 - self.gamma) / (self.gamma * shrunk)

    def draw(self, bits: Bits) -> int:
        """Draw K exactly from this law: the least k with F(k) above a uniform random number.

        More bits of the uniform number are drawn until ball arithmetic can decide. Every k >= 1 is possible. Only the
        running time reveals K.
        """
        known, length = 0, 0
        while True:
            known, length = known << 64 | int(bits.words(1, np.uint64)[0, 0]), length + 64
            found = self.quantile(known, length)
            if found is not None:
                return found

    def quantile(self, known: int, length: int) -> int | None:
        """The k of all numbers in [known, known + 1] 2^-length; None if they differ or if balls cannot decide."""
        arb = flint_module().arb
        with precision(length + 64):
            low, high = arb(known) / arb(2) ** length, arb(known + 1) / arb(2) ** length
            eta, rest, log = arb(self.eta), 1 - arb(self.gamma), -arb(self.gamma).log()
            mass = rest / (log if self.eta == 0.0 else (eta * log).expm1() / eta)
            total, k = mass, 1
            while total <= low:  # for balls this means: certainly at most
                mass = mass * rest * (k + eta) / (k + 1)
                total, k = total + mass, k + 1
            return k if total >= high else None

    def divergence(self, one: Divergence) -> Divergence:
        """The bound of Theorem 2 for the best of K runs of divergence `one`, minimised over a grid of b."""
        spread = 1.0 + self.eta
        extra = min(spread * ((1.0 - 1.0 / b) * one(b) - math.log(self.gamma) / b) for b in map(float, _ORDERS))
        log_mean = math.log(up(self.mean, CLOSED_FORM))
        return lambda order: up(one(order) + extra + log_mean / (order - 1.0), CLOSED_FORM)

    def epsilon(self, one: Divergence, delta: float) -> float:
        """The epsilon of the best of K runs at delta, by eq. (20) of the OSGT paper, minimised over the orders."""
        return best_epsilon(self.divergence(one), delta)

    def pure(self, epsilon: float) -> float:
        """The epsilon of one run for which the best of K is epsilon-private with delta = 0: epsilon/(2 + eta)."""
        return down(epsilon / (2.0 + self.eta), CLOSED_FORM)


def run_divergence(alternatives: Iterable[Charges]) -> Divergence:
    """The divergence of a run that uses one of several alternatives: the largest divergence at every order.

    Guarantees: an upper bound if the alternative is chosen independently of the data (Renyi divergences are
    quasi-convex), or if it is determined by the part that contains the replaced row (of two mechanisms on separate
    rows only one is affected).
    """
    different = tuple(dict.fromkeys(alternatives))

    @cache
    def largest(order: float) -> float:
        sums = (math.fsum(charge.times * _divergence(charge.once, order) for charge in one) for one in different)
        return up(max(sums), CLOSED_FORM)

    return largest


@lru_cache(maxsize=1 << 14)  # fits with the same settings ask for the same ones
def _divergence(charge: Charge, order: float) -> float:
    joint = (
        isinstance(charge.noise, Noise)
        and charge.noise.dimension is not None
        and not getattr(charge.noise, "chooses", False)
    )
    if joint:
        raise Unsupported(
            "a search needs many Renyi divergences, and those of joint noise take too long; write family=None."
        )
    found = renyi_divergence(charge, order)
    if not math.isfinite(found):
        raise Unsupported(
            f"{type(charge.noise).__name__} noise has no Renyi divergence, which the proof of a search needs; "
            "write family='gaussian'."
        )
    return found


def largest_base(fits: Callable[[float], bool], most: float) -> float:
    """The largest epsilon of one run for which `fits` is true, to a relative error of 1/5000 on the safe side."""
    low, high = most, most
    while not fits(low):
        low, high = 0.5 * low, low
        if low < 1e-4 * most:
            raise Unsupported("the budget is too small for a single run; use fewer tries, or a larger epsilon.")
    return safe_end(fits, high, low, relative=2e-4, geometric=True)


def split(bits: Bits, rows: int, held: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Sorted positions for training and for scoring; the `held` positions with the largest random words are held out.

    Privacy only requires that the split does not depend on the values of the rows.
    """
    order = np.argsort(bits.words(rows, np.uint64)[0], kind="stable")
    return np.sort(order[: rows - held]), np.sort(order[rows - held :])


def apart(bits: Bits, rows: int, holdout: float) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Positions for training and for scoring; each row is held out with probability `holdout`, by a coin of its own.

    A row more or less changes one part by this row, and leaves the coins of all other rows as they are. `split` would
    also move another row from one part to the other.
    """
    coins = bits.words(rows, np.uint64)[0] < np.uint64(round(holdout * 2.0**53) << 11)
    return np.flatnonzero(~coins), np.flatnonzero(coins)


def any_of(bits: Bits, count: int) -> int:
    """A uniform random integer from 0 to count - 1."""
    while True:
        word = int(bits.words(1, np.uint64)[0, 0])
        if word < (1 << 64) // count * count:
            return word % count
