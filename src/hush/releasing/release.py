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
from hush.errors import InvalidParameter, called_like, one_of
from hush.ledger.payment import must_be_secure, pay
from hush.ledger.refusal import must_be_ledger
from hush.noise.catalogue import from_plain_values, plain_values
from hush.privacy.charge import Guarantee
from hush.privacy.sensitivity import Sensitivity
from hush.releasing.display import as_html, as_text
from hush.releasing.error_bars import ErrorBars
from hush.releasing.postprocess import james_stein, soft_threshold
from hush.releasing.receipt import Receipt
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
        """The distribution of the error of one value: the noise on its lattice."""
        made = self.receipt["mechanism"]
        return ErrorBars(from_plain_values(made["noise"]).marginal, made["step"], made["rounded"])

    def interval(self, *, level: float = 0.95) -> tuple[Any, Any]:
        """Lower and upper ends that contain the true value with at least this probability, for each number.

        A true value beyond the limit of the lattice (see the receipt) is released as the limit: an interval that
        reaches the limit is infinite on that side.
        """
        width, limit = self.error.half_width(level), self.receipt["mechanism"]["limit"]
        noisy = np.asarray(self.noisy)
        low = np.where(noisy - width <= -limit, -np.inf, noisy - width)
        high = np.where(noisy + width >= limit, np.inf, noisy + width)
        for done in self.receipt["post_processing"]:
            if done == "non-negative":
                low, high = np.maximum(low, 0.0), np.maximum(high, 0.0)
        return _as_given(low), _as_given(high)

    # -- post-processing -------------------------------------------------------------------------------------

    def _processed(self, value: Any, what: str) -> Release:
        receipt = self.receipt | {"post_processing": [*self.receipt["post_processing"], what]}
        return dataclasses.replace(self, value=_as_given(value), receipt=receipt)

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
                f"{self.receipt['post_processing'][-1]!r}; write release.denoised().non_negative()."
            )
        value = np.asarray(self.noisy, dtype=np.float64)
        if method == "james-stein":
            return self._processed(james_stein(value, self.error.standard_deviation**2), "james-stein")
        cut = float(np.asarray(self.error.noise.isf(0.5 / max(value.size, 2)))) if threshold is None else threshold
        return self._processed(soft_threshold(value, cut), f"soft-threshold {cut:.6g}")

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
            value = _as_given(np.array(document["value"]))
            made = cls(value, receipt, _as_given(np.array(document["noisy"])) if "noisy" in document else value)
            repr(made)  # raises if a field that is used later is missing
        except (ValueError, KeyError, TypeError, AttributeError) as failure:
            raise InvalidParameter(
                "this is not the JSON of a release; write Release.from_json(release.to_json())."
            ) from failure
        return made

    def __repr__(self) -> str:
        return as_text(self)

    def _repr_html_(self) -> str:
        return as_html(self)


def _as_given(value: Any) -> Any:
    """A Python number for a scalar, otherwise the array."""
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else array


def _are_integers(values: Any, array: NDArray[Any], stated: bool | None) -> bool:
    """Whether values are whole numbers: as stated, or by the type of a numpy array."""
    if stated is None:
        return getattr(getattr(values, "dtype", None), "kind", "") in ("i", "u", "b")
    if stated and array.dtype.kind not in "iub":
        raise InvalidParameter(
            f"integers=True needs values of an integer type, got an array of {array.dtype}; "
            "write numpy.asarray(values, int)."
        )
    return stated


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
    drawn: a crash wastes budget and leaks nothing. BudgetExceeded, and every other error, releases nothing.

    >>> import hush
    >>> plan = hush.calibrate(1.0, 1e-6)
    >>> answer = hush.release(120, plan, ledger=hush.Ledger(None, epsilon=2.0, delta=1e-5))
    >>> abs(answer.value - 120) < 60 and answer.error.half_width95 < 4
    True
    """
    must_be_ledger(ledger)
    must_be_secure(entropy)
    array = _array(values)
    mechanism = _mechanism(plan, array, _are_integers(values, array, integers))
    steps = mechanism.on_lattice(values)
    mechanism.prepare()  # builds and validates the sampling tables before anything is spent
    guarantee = _guarantee(mechanism)
    receipt = _receipt(mechanism, guarantee, array.shape)  # before spending: raises if it cannot be stored
    claimed = mechanism.guarantee
    budget = claimed.budget if claimed is not None and (claimed.times, claimed.notion) == (1, "dp") else None
    payment = pay(ledger, [mechanism.charge], label=label, budget=budget)
    receipt = receipt | {"ledger": payment.receipt}
    noisy = _as_given(mechanism.value_of(payment.noise(mechanism, steps, entropy=entropy)))
    return Release(noisy, receipt, noisy)


def _array(values: Any) -> NDArray[Any]:
    """The values as an array of numbers. Messages name the type of the values, never a value."""
    try:
        array = np.asarray(values)
    except ValueError as failure:
        raise InvalidParameter(
            "values must be a number or an array of numbers, got lists of different lengths; "
            "write for example release([412, 87], plan, ledger=ledger)."
        ) from failure
    if array.dtype.kind not in "iubf":
        what = {"U": "text", "S": "text", "c": "complex numbers", "M": "dates"}.get(
            array.dtype.kind, type(values).__name__
        )
        raise InvalidParameter(
            f"values must be numbers, got {what}; write for example release([412, 87], plan, ledger=ledger)."
        )
    if array.size == 0:
        raise InvalidParameter("values must contain at least one number.")
    return array


def _mechanism(plan: Any, array: NDArray[Any], integers: bool) -> Mechanism:
    if isinstance(plan, Plan):
        _must_cover(plan.sensitivity, array.size)
        return Mechanism.of(plan, integers=integers, coordinates=array.size)
    if not isinstance(plan, Mechanism):
        raise InvalidParameter(
            f"plan must be a Plan or a Mechanism, got {type(plan).__name__}; write plan=hush.calibrate(1.0, 1e-6)."
        )
    if plan.integers and array.dtype.kind not in "iub":
        raise InvalidParameter(
            f"the mechanism is for whole numbers, but values have the type {array.dtype}; write values.astype(int)."
        )
    _must_cover(plan.sensitivity, array.size)
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


def _must_cover(sensitivity: Sensitivity, size: int) -> None:
    """Reject a sensitivity for another number of values; a single number is the sensitivity of one value."""
    if size > 1 and sensitivity.dimension == 1:
        call = f"hush.calibrate(..., hush.Sensitivity(linf={sensitivity.linf!r}, l0=1))"
        raise InvalidParameter(
            f"the plan's sensitivity is a single number, which is for one value, but {size} values are released; write "
            f"for example {call} if one person changes at most one of them, or dimension={size} if one person may "
            "change all."
        )
    if sensitivity.dimension not in (None, size):
        raise InvalidParameter(
            f"the sensitivity is for {sensitivity.dimension} numbers, but {size} are released; "
            f"write hush.Sensitivity(..., dimension={size})."
        )


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
    error = ErrorBars(mechanism.noise.marginal, mechanism.step, mechanism.rounds)
    deviation = error.standard_deviation
    about = {
        "shape": list(shape),
        "error": {
            "standard_deviation": deviation if math.isfinite(deviation) else None,
            "half_width95": error.half_width95,
        },
        "mechanism": {
            "noise": plain_values(mechanism.noise),
            "step": mechanism.step,
            "limit": mechanism.limit,
            "rounded": mechanism.rounds,
        },
        "post_processing": [],
    }
    charges = [mechanism.charge.repeated(guarantee.times)]
    promised = {"sensitivity": mechanism.sensitivity.to_plain()}
    return Receipt.of("release", guarantee, charges, promised=promised, about=about)
