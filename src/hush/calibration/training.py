"""Private training: the noise for a number of steps on Poisson samples of the rows, and what other accounts of it say.

A step of DP-SGD takes a Poisson sample of the rows, clips the gradient of every row to norm C, and adds Gaussian noise
of standard deviation sigma C to the sum. The sum is a vector that one row moves by at most C, so a step is a subsampled
Gaussian release of one number with noise multiplier sigma.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from hush.errors import InvalidParameter, Unsupported, budgets, deltas, positive, warn_if_weak, whole
from hush.noise.gaussian import Gaussian
from hush.numerics import special
from hush.numerics.bracket import Bracket
from hush.numerics.search import safe_secant
from hush.privacy.compose import compose, subsample
from hush.privacy.curve import Curve
from hush.privacy.gaussian import sigma as gaussian_sigma
from hush.privacy.subsampling import sampling_rate

__all__ = ["Training", "noise_multiplier", "training"]

_PRECISION = 1e-6  # of the noise multiplier, relative
_LEAST, _MOST = 0.2, 1e6
_ORDERS = np.concatenate([np.arange(2.0, 64.0), np.geomspace(64.0, 4096.0, 40).round()])


@dataclass(frozen=True)
class Training:
    """Steps of DP-SGD: the noise multiplier (noise over clipping norm), the rate of the Poisson sample, the number of
    steps. All three are public: they may not depend on the rows, nor on their private number.
    """

    sigma: float
    rate: float
    steps: int

    @cached_property
    def curve(self) -> Curve:
        """The privacy curve of all steps together, for one row more or less."""
        return compose([subsample(Gaussian(self.sigma), self.rate, times=self.steps)])

    def epsilon(self, delta: float) -> float:
        """The epsilon of all steps at this delta, a proved upper bound."""
        return float(self.curve.epsilon(delta))

    def epsilon_bracket(self, delta: float) -> Bracket:
        """The epsilon of all steps at this delta, from below and above."""
        return self.curve.epsilon_bracket(delta)

    def renyi_epsilon(self, delta: float) -> float:
        """What an account by Renyi divergences of whole orders says (Mironov, Talwar and Zhang 2019, Section 3.3;
        converted by Canonne, Kamath and Steinke 2020, Proposition 12): a valid bound, and a looser one.
        """
        found = math.inf
        for order in _ORDERS:
            spent = self.steps * self._renyi(float(order))
            found = min(found, spent + math.log1p(-1.0 / order) - math.log(delta * order) / (order - 1.0))
        return max(found, 0.0)

    def _renyi(self, order: float) -> float:
        """The Renyi divergence of one step, for a whole order."""
        if self.rate == 1.0:
            return order / (2.0 * self.sigma**2)
        k = np.arange(order + 1.0)
        choices = special.gammaln(order + 1.0) - special.gammaln(k + 1.0) - special.gammaln(order - k + 1.0)
        mixed = k * math.log(self.rate) + (order - k) * math.log1p(-self.rate)
        return float(np.logaddexp.reduce(choices + mixed + k * (k - 1.0) / (2.0 * self.sigma**2))) / (order - 1.0)

    def limit_epsilon(self, delta: float) -> float:
        """What the central limit theorem says: Gaussian differential privacy with mu = q sqrt(T (e^(1/sigma^2) - 1))
        (Bu, Dong, Long and Su 2020). It is an approximation for many steps, not a bound.
        """
        if self.sigma**-2 > 600.0:
            return math.inf
        mu = self.rate * math.sqrt(self.steps * math.expm1(self.sigma**-2))
        return float(np.asarray(compose([(Gaussian(1.0 / mu), 1.0, 1)]).epsilon(delta)))


def noise_multiplier(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """The least noise multiplier with which `steps` steps of DP-SGD are (epsilon, delta)-private, each on a Poisson
    sample of the rows with this rate.

    Guarantees: compose([subsample(Gaussian(sigma), rate, times=steps)]) has at most this delta at epsilon, for one row
    more or less. The result is within 1e-6 of the least for which this is proved.

    >>> round(noise_multiplier(2.0, 1e-5, 256 / 60000, 14_062), 3)
    1.224
    """
    target = float(budgets("epsilon", epsilon))
    share = float(deltas("delta", delta, zero=False))
    warn_if_weak(target, share)
    rate, steps = sampling_rate(rate), whole("steps", steps)

    def excess(sigma: float) -> float:
        spent = float(np.asarray(Training(sigma, rate, steps).curve.delta(target)))
        return math.log(max(spent, 1e-300) / share)

    safe = _guess(target, share, rate, steps)
    while excess(safe) > 0.0:
        safe *= 1.3
        if safe > _MOST:
            raise Unsupported("no noise multiplier below 1e6 is enough; use a larger epsilon or fewer steps.")
    unsafe = safe / 1.1
    while excess(unsafe) <= 0.0:
        safe, unsafe = unsafe, unsafe / 1.3
        if unsafe < _LEAST:
            raise InvalidParameter(
                f"epsilon = {target:g} allows a noise multiplier below {_LEAST}, which is hardly private; use less."
            )
    return safe_secant(excess, unsafe, safe, relative=_PRECISION)


def _guess(epsilon: float, delta: float, rate: float, steps: int) -> float:
    """A multiplier near the least, by the central limit theorem."""
    mu = 1.0 / float(np.asarray(gaussian_sigma(epsilon, delta)))
    return 1.02 / math.sqrt(math.log1p(mu * mu / (rate * rate * steps)))


def training(
    *,
    rows: int,
    batch: int,
    epochs: float | None = None,
    steps: int | None = None,
    sigma: float | None = None,
    epsilon: float | None = None,
    delta: float | None = None,
) -> Training:
    """Training as people describe it: rows, the expected size of a batch, epochs or steps, and either the noise
    multiplier sigma or a budget, for which the least multiplier is found.

    Guarantees: the epsilon holds for one row more or less if the training uses this noise, rate and number of steps,
    and divides by a public number, whatever the number of rows is. So `rows` must be public: a round number near the
    true one, or a count released with noise. With the true number, and batches that follow from it, the epsilon holds
    for data with the same number of rows, one of which is replaced by a row without gradient: the number is not hidden.

    >>> plan = training(rows=60_000, batch=256, epochs=60, sigma=1.1)
    >>> plan.steps, round(plan.epsilon(1e-5), 3)
    (14063, 2.382)
    """
    rows, batch = whole("rows", rows), whole("batch", batch)
    if batch > rows:
        raise InvalidParameter(f"batch = {batch} is larger than rows = {rows}; it is the expected size of one sample.")
    if (epochs is None) == (steps is None):
        raise InvalidParameter("give either epochs= or steps=.")
    count = whole("steps", steps) if steps is not None else math.ceil(positive("epochs", epochs) * rows / batch)
    if (sigma is None) == (epsilon is None):
        raise InvalidParameter("give either sigma=, or epsilon= and delta=.")
    if sigma is None:
        if epsilon is None or delta is None:
            raise InvalidParameter("epsilon needs a delta; a common choice is delta=1/rows or less, such as 1e-5.")
        sigma = noise_multiplier(epsilon, delta, batch / rows, count)
    return Training(positive("sigma", sigma), batch / rows, count)
