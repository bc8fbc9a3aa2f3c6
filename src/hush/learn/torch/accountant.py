"""The account of a training run as Opacus keeps it: steps with a noise multiplier and a sampling rate.

A history is a list of (noise multiplier, sampling rate, steps). Each step is a Gaussian release on a Poisson sample of
the rows. Equal steps are composed as one. A run whose noise changes at every step has thousands of different ones;
similar steps are then treated as equal: with the least noise and the largest rate of their group for an upper bound,
with the most noise and the least rate for a lower bound. More noise is post-processing of less noise, and the curve of
a release on a sample grows with the rate, so both bounds hold.
"""

from __future__ import annotations

import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, MutableMapping
from functools import lru_cache
from typing import Any

from hush.errors import InvalidParameter, Unsupported, deltas, non_negative, reject, whole
from hush.noise.gaussian import Gaussian
from hush.numerics.bracket import Bracket
from hush.numerics.rounding import FEW_ROUNDINGS, down
from hush.privacy.charge import Charge
from hush.privacy.compose import compose, subsample
from hush.privacy.composed_curve import compose_parts
from hush.privacy.curve import Curve
from hush.privacy.subsampling import sampling_rate
from hush.privacy.theorem import sampled

__all__ = ["Accountant"]

Row = tuple[float, float, int]

NAME = "hush"
_FEW = 8  # different steps, up to which the finest grid is used
_MOST = 128  # different steps, above which similar ones are treated as equal
_COARSER = 1e-4  # the share of the mean square loss that a coarser grid costs
_FINEST = 1e-6  # relative difference of the first groups that are tried
_LEAST_NOISE = 0.05  # noise multipliers below this are accounted without sampling
_HINT = "write accountant.step(noise_multiplier=1.1, sample_rate=0.01)"


class Accountant:
    """The privacy of a training run, step by step, with the methods of Opacus' accountants.

    Guarantees: `get_epsilon` is a proved upper bound for one row more or less, if every step takes a Poisson sample of
    the rows and adds Gaussian noise to the sum of clipped gradients, and if noise, rate, number of steps and divisor do
    not depend on the rows, nor on their number. It does not cover batches from a shuffled list.

    >>> account = Accountant()
    >>> for _ in range(1000):
    ...     account.step(noise_multiplier=1.0, sample_rate=0.01)
    >>> round(account.get_epsilon(1e-5), 4), len(account)
    (1.8282, 1000)
    """

    def __init__(self) -> None:
        #: Triples (noise multiplier, sampling rate, steps), in order.
        self.history: list[Row] = []
        #: The rate of the engine that this accountant belongs to; None unless `hush.torch.engine` made that engine.
        self.public_rate: float | None = None

    @classmethod
    def mechanism(cls) -> str:
        """The name under which Opacus finds this accountant."""
        return NAME

    def step(self, *, noise_multiplier: float, sample_rate: float, times: int = 1) -> None:
        """Add a step: noise of standard deviation noise_multiplier * clip on a Poisson sample with this rate."""
        sigma, rate, count = _row((noise_multiplier, sample_rate, times))
        if self.history and tuple(self.history[-1][:2]) == (sigma, rate):
            count += self.history.pop()[2]
        self.history.append((sigma, rate, count))

    def __len__(self) -> int:
        """The number of steps so far."""
        return sum(row[2] for row in self.history)

    def get_epsilon(self, delta: float, *_: Any, **__: Any) -> float:
        """The epsilon of all steps at this delta, a proved upper bound. It is infinite for steps without noise.

        The options of Opacus' other accountants, such as `eps_error` and `alphas`, have no meaning here: the bound has
        no tolerance to choose. They are ignored.
        """
        share = float(deltas("delta", delta, zero=True))
        rows = _merged(self.history)
        if not rows:
            return 0.0
        if share == 0.0 or any(sigma == 0.0 for sigma, _, _ in rows):
            return math.inf
        return _epsilon(rows, share)

    def epsilon_bracket(self, delta: float) -> Bracket:
        """The epsilon of all steps at this delta, from below and above."""
        upper = self.get_epsilon(delta)
        if not 0.0 < upper < math.inf:
            return Bracket(upper, upper)
        # steps that `_charge` overstates are left out, which only lowers epsilon
        rows = tuple(row for row in _merged(self.history) if row[0] >= _LEAST_NOISE or row[1] == 1.0)
        if not rows:
            return Bracket(0.0, upper)
        try:
            lower = float(_curve(_grouped(rows, safe=False)).epsilon_bracket(delta).lower)
        except Unsupported:
            lower = 0.0
        return Bracket(min(lower, upper), upper)

    @property
    def charges(self) -> tuple[Charge, ...]:
        """The steps as charges, for `hush.compose` and `Ledger.spend`."""
        rows = _merged(self.history)
        if any(sigma == 0.0 for sigma, _, _ in rows):
            raise Unsupported("a step without noise is not private, so it has no charge; write noise_multiplier=1.0.")
        return tuple(map(_charge, rows))

    # -- what Opacus calls -----------------------------------------------------------------------------------

    def get_optimizer_hook_fn(self, sample_rate: float) -> Callable[[Any], None]:
        """The function that an optimizer of Opacus calls at every step. It counts the public rate of the engine that
        `hush.torch.engine` made. The given rate is one that Opacus computed from its loader; it is not used.

        If the sum of k Poisson samples is released with one noise, a row may be in it up to k times. The noise is the
        sum of k noises of sigma/sqrt(k), so the step is post-processing of k steps with that much noise each.
        """
        rate = self.public_rate
        if rate is None:
            raise Unsupported(
                "Opacus' own engine computes its rate and its divisor from the number of rows, which is private, so no "
                "epsilon is proved for it; write engine = hush.torch.engine(batches=20, divisor=50)."
            )

        def hook(optimizer: Any) -> None:
            samples = int(optimizer.accumulated_iterations)
            sigma = float(optimizer.noise_multiplier)
            each = sigma if samples == 1 else down(sigma / math.sqrt(samples), FEW_ROUNDINGS)
            self.step(noise_multiplier=each, sample_rate=rate, times=samples)

        return hook

    def state_dict(self, destination: MutableMapping[str, Any] | None = None) -> MutableMapping[str, Any]:
        """The history and the name of the accountant, for a checkpoint."""
        state = OrderedDict() if destination is None else destination
        state["history"], state["mechanism"] = [tuple(row) for row in self.history], self.mechanism()
        return state

    def load_state_dict(self, state_dict: MutableMapping[str, Any]) -> None:
        """Continue from a checkpoint. One of Opacus' accountants "rdp", "gdp" and "prv" has the same history, so it can
        be loaded too.
        """
        known = (NAME, "rdp", "gdp", "prv")
        if not state_dict or "history" not in state_dict or state_dict.get("mechanism") not in known:
            raise InvalidParameter(
                f"the state of an accountant has a history and a mechanism, one of {', '.join(known)}; "
                "write accountant.state_dict()."
            )
        history = state_dict["history"]
        if not isinstance(history, list | tuple):
            raise reject("history", history, "a list of (noise multiplier, sampling rate, steps)", _HINT)
        self.history = [_row(row) for row in history]


def _row(values: Iterable[Any]) -> Row:
    """One entry of a history, checked."""
    try:
        sigma, rate, count = values
    except (TypeError, ValueError):
        raise reject("history", values, "a list of (noise multiplier, sampling rate, steps)", _HINT) from None
    return (non_negative("noise_multiplier", sigma, _HINT), sampling_rate(rate), whole("steps", count))


def _charge(row: Row) -> Charge:
    """The charge of equal steps. A sample of all rows is no sample. Very little noise is accounted as if all rows were
    used: the losses would overflow, and an epsilon above 200 is no protection in either case.
    """
    sigma, rate, count = row
    if rate < 1.0 and sigma >= _LEAST_NOISE:
        return subsample(Gaussian(sigma), rate, times=count)
    return Charge.of((Gaussian(sigma), 1.0, count))


def _merged(history: Iterable[Iterable[Any]]) -> tuple[Row, ...]:
    """The history with equal steps counted together, in a fixed order."""
    found: dict[tuple[float, float], int] = {}
    for sigma, rate, count in map(_row, history):
        found[sigma, rate] = found.get((sigma, rate), 0) + count
    return tuple((*kind, count) for kind, count in sorted(found.items()))


def _grouped(rows: tuple[Row, ...], *, safe: bool) -> tuple[Row, ...]:
    """At most `_MOST` different steps. Similar ones get the least noise and the largest rate of their group if `safe`,
    else the most noise and the least rate.
    """
    width, groups = _FINEST, {(row[0], row[1]): [row] for row in rows}
    while len(groups) > _MOST:
        groups = {}
        for row in rows:
            place = (math.floor(math.log(row[0]) / width), math.floor(math.log(row[1]) / width))
            groups.setdefault(place, []).append(row)
        width *= 1.25
    least, most = (min, max) if safe else (max, min)
    return tuple(
        (least(row[0] for row in group), most(row[1] for row in group), sum(row[2] for row in group))
        for group in groups.values()
    )


@lru_cache(maxsize=2)
def _curve(rows: tuple[Row, ...]) -> Curve:
    """The curve of these steps. Many different ones are composed on a coarser grid, because each takes a transform."""
    steps = [_charge(row) for row in rows]
    if len(rows) <= _FEW or any(step.rate is None for step in steps):
        return compose(steps)
    return compose_parts([(sampled(step), step.times) for step in steps], relative=_COARSER)


@lru_cache(maxsize=256)
def _epsilon(rows: tuple[Row, ...], delta: float) -> float:
    try:
        return float(_curve(_grouped(rows, safe=True)).epsilon(delta))
    except Unsupported:  # very little noise: the bound without sampling, where all steps are one Gaussian release
        return float(compose([(Gaussian(sigma), 1.0, count) for sigma, _, count in rows]).epsilon(delta))
