"""release: charge the ledger, draw the noise, and return the answer with its error bars and a receipt."""

from __future__ import annotations

import dataclasses
import json
import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.ranking import Plan
from hush.errors import InvalidParameter, called_like, one_of, reals, shown
from hush.ledger.access import Access, digest
from hush.ledger.kept import KeptAnswer
from hush.ledger.payment import Payment, must_be_secure
from hush.ledger.refusal import must_be_ledger
from hush.noise.catalogue import from_plain_values, plain_values
from hush.privacy.charge import Guarantee
from hush.releasing.display import as_html, as_text
from hush.releasing.error_bars import ErrorBars, Total
from hush.releasing.postprocess import james_stein, soft_threshold
from hush.releasing.receipt import Receipt
from hush.releasing.values import are_integers, array_of, as_given, must_cover, plain_numbers
from hush.sampling.entropy import Entropy
from hush.sampling.mechanism import Mechanism

if TYPE_CHECKING:
    from hush.ledger import Ledger

__all__ = ["Release", "release"]


@dataclass(frozen=True, eq=False)
class Release:
    """A private answer: `value`, `error` (standard deviation, intervals) and `receipt` (guarantee, mechanism, time, and
    the ledger entry).

    Everything derived from it (rounding, clipping, denoising) is post-processing: it costs no privacy, and the receipt
    lists it. `value` has the shape of the input; a release does not contain the true values.
    """

    value: Any
    receipt: Receipt
    #: the output of the mechanism before any post-processing; intervals are computed from it
    noisy: Any = field(repr=False)

    @cached_property
    def error(self) -> ErrorBars:
        """The distribution of the errors: the noise on its lattice."""
        made, size = self.receipt["mechanism"], math.prod(self.receipt["shape"])
        return ErrorBars.of(from_plain_values(made["noise"]), made["step"], made["rounded"], size)

    def interval(self, *, level: float = 0.95) -> tuple[Any, Any]:
        """Lower and upper ends that contain the true value with at least this probability, for each number.

        A true value beyond the limit of the lattice (see the receipt) is released as the limit: an interval that
        reaches the limit is infinite on that side.
        """
        return self._around(self.error.half_width(level))

    def band(self, *, level: float = 0.95) -> tuple[Any, Any]:
        """Lower and upper ends that contain all true values at once with at least this probability.

        It is wider than `interval`, which may miss some of many numbers. It uses the joint law of the noise.
        """
        return self._around(self.error.band_half_width(level))

    def total(self, weights: Any = None, *, level: float = 0.95) -> Total:
        """The sum of all values, or a weighted sum of them, with an interval that knows how their errors depend on
        each other.

        `weights` has the shape of the value: [1, -1] is the difference of two numbers, [0.5, 0.5] their mean. The sum
        and the interval are those of the numbers before post-processing.
        """
        given = np.ones(np.shape(self.noisy)) if weights is None else reals("weights", weights)
        if given.shape != np.shape(self.noisy):
            raise InvalidParameter(
                f"weights must have the shape of the released value, {np.shape(self.noisy)}, got {given.shape}."
            )
        value, width = float((given * self.noisy).sum()), self.error.sum_half_width(given.ravel(), level)
        band = self._shaped(self.error.band_half_width(level))
        near = np.abs(np.asarray(self.noisy)) >= self._shaped(self.receipt["mechanism"]["limit"]) - band
        beyond = bool((near & (given != 0.0)).any())
        return Total(value, -math.inf if beyond else value - width, math.inf if beyond else value + width)

    def _around(self, width: Any) -> tuple[Any, Any]:
        """The noisy numbers minus and plus a width."""
        noisy = np.asarray(self.noisy)
        limit, width = self._shaped(self.receipt["mechanism"]["limit"]), self._shaped(width)
        low = np.where(noisy - width <= -limit, -np.inf, noisy - width)
        high = np.where(noisy + width >= limit, np.inf, noisy + width)
        if "non-negative" in self.receipt["post_processing"]:
            low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        return as_given(low), as_given(high)

    def _shaped(self, numbers: Any) -> Any:
        """One number for all, or one for each released number, in the shape of the value."""
        array = np.asarray(numbers, dtype=np.float64)
        return array.reshape(np.shape(self.noisy)) if array.size > 1 else array

    # -- post-processing -------------------------------------------------------------------------------------

    def _processed(self, value: Any, what: str) -> Release:
        receipt = self.receipt | {"post_processing": [*self.receipt["post_processing"], what]}
        return dataclasses.replace(self, value=as_given(value), receipt=receipt)

    def non_negative(self) -> Release:
        """Replace negative numbers by 0: suitable for counts, but it makes the average of many too high."""
        return self._processed(np.maximum(np.asarray(self.value), 0), "non-negative")

    def integers(self) -> Release:
        """Round to the nearest whole numbers."""
        value = np.asarray(self.value)
        whole = (
            value if value.dtype.kind == "i" else np.clip(np.rint(value), -(2.0**63), 2.0**63 - 1024.0).astype(np.int64)
        )
        return self._processed(whole, "integers")

    def denoised(self, *, method: str = "james-stein", threshold: float | None = None) -> Release:
        """A vector with less squared error, computed from the released numbers only (Balle and Wang 2018, Section 4,
        and their sources).

        "james-stein" shrinks all numbers towards their mean, by the share of their spread that noise explains.
        "soft-threshold" moves each number towards 0 by `threshold`, and suits sparse vectors. The default threshold is
        the size that one number of pure noise is expected to exceed.
        For Gaussian noise, both are proved to help on average over the vector; a single number can become worse.
        """
        one_of("method", method, ("james-stein", "soft-threshold"))
        if self.receipt["post_processing"]:
            raise InvalidParameter(
                "denoise first, then round or clip: this release already has the post-processing "
                f"{shown(self.receipt['post_processing'][-1])}; write release.denoised().non_negative()."
            )
        value = np.asarray(self.noisy, dtype=np.float64)
        if method == "james-stein":
            return self._processed(james_stein(value, self.error.variance_around_mean), "james-stein")
        cut = self._shaped(self.error.beyond(0.5 / max(value.size, 2)) if threshold is None else threshold)
        return self._processed(soft_threshold(value, cut), f"soft-threshold {float(np.max(cut)):.6g}")

    # -- JSON ------------------------------------------------------------------------------------------------

    def to_json(self, *, indent: int | None = None) -> str:
        """Value and receipt as JSON; `Release.from_json` reads it back."""
        value, noisy = np.asarray(self.value), np.asarray(self.noisy)
        document: dict[str, Any] = {"value": value.tolist(), "receipt": dict(self.receipt)}
        if self.receipt["post_processing"]:
            document["noisy"] = noisy.tolist()
        return json.dumps(document, indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Release:
        """Read the release that `to_json` wrote."""
        try:
            document = json.loads(text)
            receipt = Receipt(document["receipt"])
            value = as_given(np.array(document["value"]))
            made = cls(value, receipt, as_given(np.array(document["noisy"])) if "noisy" in document else value)
            repr(made)  # raises if a field that is used later is missing
        except (ValueError, KeyError, TypeError, AttributeError):
            raise InvalidParameter(
                "this is not the JSON of a release; write Release.from_json(release.to_json())."
            ) from None
        return made

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


@called_like("release(values, hush.calibrate(1.0, 1e-6), ledger=hush.Ledger('budget.ledger', epsilon=3.0, delta=1e-5))")
def release(
    values: Any,
    plan: Plan | Mechanism,
    *,
    ledger: Ledger | None,
    label: str = "",
    integers: bool | None = None,
    entropy: Entropy | None = None,
) -> Release:
    """A private version of `values` (a number or an array): charges the ledger, draws exact noise, and returns it
    with a receipt.

    `plan` comes from `calibrate`; its sensitivity must bound how far `values` can move. Values are rounded to a lattice
    whose step costs under 0.1 % of accuracy. integers=True states that values are whole numbers, which need no
    rounding. A numpy array of an integer type states this by its type; Python numbers do not, because sum([]) is an
    int and sum([2.5]) a float, and the lattice must not depend on the data. ledger=None charges nothing, and the
    receipt records that.

    Guarantees: the plan's (epsilon, delta) for the whole array. The entry in the ledger is durable before any noise is
    drawn: after a crash the same call gets its one answer and pays nothing more. BudgetExceeded, and every other error,
    releases nothing.

    >>> import hush
    >>> plan = hush.calibrate(1.0, 1e-6)
    >>> answer = hush.release(120, plan, ledger=hush.Ledger(None, epsilon=2.0, delta=1e-5))
    >>> abs(answer.value - 120) < 60 and answer.error.half_width95 < 4
    True
    """
    must_be_ledger(ledger)
    must_be_secure(entropy)
    array = array_of(values)
    mechanism = _mechanism(plan, array, are_integers(values, array, integers))
    steps = mechanism.on_lattice(values)
    mechanism.prepare()  # builds and validates the sampling tables before anything is spent
    guarantee = _guarantee(mechanism)
    receipt = _receipt(mechanism, guarantee, array.shape)  # before spending: raises if it cannot be stored
    claimed = mechanism.guarantee
    budget = claimed.budget if claimed is not None and (claimed.times, claimed.notion) == (1, "dp") else None
    question = digest("release", list(array.shape), mechanism.step)
    access = Access(ledger, label=label)
    while True:
        payment = access.pay(question, [mechanism.charge], budget=budget)
        if payment.kept is not None:
            return _kept(payment)
        noisy = as_given(mechanism.value_of(payment.noise(mechanism, steps, entropy=entropy)))
        made = Release(noisy, receipt | {"ledger": payment.receipt}, noisy)
        if payment.entry is None:
            return made
        own = KeptAnswer("release", repr(made), made.receipt, parts={"release": made.to_json().encode()}).to_bytes()
        if payment.keep(own) == own:
            return made  # if not, another call took the right first, for values that may be others: pay for these


def _kept(payment: Payment) -> Release:
    """The release that the ledger keeps for an entry."""
    assert payment.kept is not None
    return Release.from_json(KeptAnswer.from_bytes(payment.kept).parts["release"].decode())


def _mechanism(plan: Any, array: NDArray[Any], integers: bool) -> Mechanism:
    if isinstance(plan, Plan):
        must_cover(plan.sensitivity, array.size)
        return Mechanism.of(plan, integers=integers, coordinates=array.size)
    if not isinstance(plan, Mechanism):
        raise InvalidParameter(
            f"plan must be a Plan or a Mechanism, got {type(plan).__name__}; write plan=hush.calibrate(1.0, 1e-6)."
        )
    if plan.integers and array.dtype.kind not in "iub":
        raise InvalidParameter(
            f"the mechanism is for whole numbers, but values have the type {array.dtype}; write values.astype(int)."
        )
    must_cover(plan.sensitivity, array.size)
    if plan.part_of is not None:
        raise InvalidParameter(
            "this mechanism is a part of another charge, such as one column of a table; release the whole instead."
        )
    if plan.guarantee is not None and plan.guarantee.notion == "dp" and not plan.keeps_guarantee:
        raise InvalidParameter(
            "the noise of the mechanism does not satisfy its guarantee; leave guarantee= out, or use hush.calibrate."
        )
    plan.check_room()
    return dataclasses.replace(plan, coordinates=array.size)


def _guarantee(mechanism: Mechanism) -> Guarantee:
    """The guarantee of the mechanism. Without one, the epsilon of its curve at delta 1e-6, or its pure epsilon if it
    has one.
    """
    if mechanism.guarantee is not None:
        return mechanism.guarantee
    made = mechanism.curve()
    pure = made.pure_epsilon
    epsilon, delta = (pure, 0.0) if math.isfinite(pure) else (float(made.epsilon(1e-6)), 1e-6)
    return Guarantee(epsilon, delta, neighbours=mechanism.sensitivity.neighbours)


def _receipt(mechanism: Mechanism, guarantee: Guarantee, shape: tuple[int, ...]) -> Receipt:
    error = ErrorBars.of(mechanism.noise, mechanism.step, mechanism.rounds, math.prod(shape))
    deviation = error.standard_deviation
    band = plain_numbers(error.band_half_width(0.95)) if error.dependence else None
    together = {"band95": band, "dependence": error.dependence} if error.dependence else {}
    about = {
        "shape": list(shape),
        "error": {
            "standard_deviation": plain_numbers(deviation) if np.isfinite(deviation).all() else None,
            "half_width95": plain_numbers(error.half_width95),
            **together,
        },
        "mechanism": {
            "noise": plain_values(mechanism.noise),
            "step": mechanism.step,
            "limit": plain_numbers(mechanism.limit),
            "rounded": mechanism.rounds,
        },
        "post_processing": [],
    }
    charges = [mechanism.charge.repeated(guarantee.times)]
    promised = {"sensitivity": mechanism.sensitivity.to_plain()}
    return Receipt.of("release", guarantee, charges, promised=promised, about=about)
