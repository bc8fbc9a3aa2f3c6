"""Spend, draw, and hand over the answer with its error bars and a receipt."""

from __future__ import annotations

import dataclasses
import html
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.calibration.ranking import Plan
from hush.errors import InvalidParameter, called_like, one_of
from hush.ledger.payment import must_be_secure, pay
from hush.ledger.refusal import must_be_ledger
from hush.noise.catalogue import from_plain_values, in_words, plain_values
from hush.numerics.rounding import rounded_up
from hush.privacy.charge import Guarantee
from hush.privacy.sensitivity import Sensitivity
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
    """A private answer: `value`, `error` (standard deviation, intervals) and `receipt` (what was guaranteed, how,
    when, and where charged).

    Everything derived from it (rounding, clipping, denoising) is post-processing: it costs no privacy and is listed
    in the receipt.
    `value` has the shape of what was asked; the true values are nowhere in it.
    """

    value: Any
    receipt: Receipt
    #: what the mechanism gave, before any post-processing; intervals are about it
    noisy: Any = field(repr=False)

    @cached_property
    def error(self) -> ErrorBars:
        """The law of the error of one value: the noise on its lattice."""
        made = self.receipt["mechanism"]
        return ErrorBars(from_plain_values(made["noise"]).marginal, made["step"], made["rounded"])

    def interval(self, level: float = 0.95) -> tuple[Any, Any]:
        """Lower and upper ends that hold the true value with at least this probability, for each number.

        A true value beyond the lattice's limit (see the receipt) is released as the limit: an interval that reaches
        it is open there.
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
        """Negative numbers become 0: right for counts, but the average of many is then too high."""
        return self._processed(np.maximum(np.asarray(self.value), 0), "non-negative")

    def integers(self) -> Release:
        """The nearest whole numbers."""
        value = np.asarray(self.value)
        whole = (
            value if value.dtype.kind == "i" else np.clip(np.rint(value), -(2.0**63), 2.0**63 - 1024.0).astype(np.int64)
        )
        return self._processed(whole, "integers")

    def denoised(self, method: str = "james-stein", *, threshold: float | None = None) -> Release:
        """A vector with less squared error, made from the released numbers alone (Balle and Wang 2018, Section 4, and
        their sources).

        "james-stein" shrinks all numbers towards their mean, by the share of their spread that noise explains.
        "soft-threshold" moves each number towards 0 by `threshold` (the size that one number of pure noise is
        expected to pass), right for sparse vectors.
        Both are proved to help for Gaussian noise, on average over the vector; single numbers can come out worse.
        """
        one_of("method", method, ("james-stein", "soft-threshold"))
        if self.receipt["post_processing"]:
            raise InvalidParameter(
                f"denoise first, then round or clip: this release is already {self.receipt['post_processing'][-1]}."
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
        """The release that `to_json` wrote."""
        try:
            document = json.loads(text)
            receipt = Receipt(document["receipt"])
            value = _as_given(np.array(document["value"]))
            made = cls(value, receipt, _as_given(np.array(document["noisy"])) if "noisy" in document else value)
            repr(made)  # everything that is ever looked up is there
        except (ValueError, KeyError, TypeError, AttributeError) as failure:
            raise InvalidParameter(
                "this is not the JSON of a release; write Release.from_json(release.to_json())."
            ) from failure
        return made

    # -- on screen -------------------------------------------------------------------------------------------

    def _lines(self) -> list[tuple[str, str]]:
        guarantee, made = self.receipt["guarantee"], self.receipt["mechanism"]
        pair = f"({guarantee['epsilon']:.6g}, {guarantee['delta']:.6g})"
        times = f" over {guarantee['times']} releases" if guarantee["times"] > 1 else ""
        relation = {"add-remove": "one unit added or removed", "replace": "one unit's data replaced"}[
            guarantee["neighbours"]
        ]
        entry = self.receipt["ledger"]
        noise = from_plain_values(made["noise"])
        return [
            (
                "95 % error",
                f"+-{rounded_up(self.error.half_width95)}, standard deviation {self.error.standard_deviation:.6g}",
            ),
            ("guarantee", f"(epsilon, delta) = {pair}{times}, {relation}, {_described(guarantee['sensitivity'])}"),
            ("noise", f"{in_words(noise)} on the lattice of step {made['step']:.6g}"),
            ("afterwards", ", ".join(self.receipt["post_processing"]) or "nothing"),
            ("ledger", "none was charged" if entry is None else f"entry {entry['number']} of {entry['ledger']}"),
            ("made", f"{self.receipt['time']} by hush {self.receipt['hush']}"),
        ]

    def __repr__(self) -> str:
        value = np.asarray(self.value)
        shown = f"{value[()]}" if value.ndim == 0 else np.array2string(value, threshold=8, precision=6)
        head = "1 number" if value.ndim == 0 else f"{value.size} numbers"
        body = "\n".join(
            f"  {name + ':':12}{text}"
            for name, text in [("value", shown.replace("\n", "\n" + " " * 14)), *self._lines()]
        )
        return f"Release of {head}\n{body}"

    def _repr_html_(self) -> str:
        value = np.asarray(self.value).ravel()
        low, high = (np.asarray(end).ravel() for end in self.interval())
        rows = "".join(
            f"<tr><td>{v:.6g}</td><td>{a:.6g}</td><td>{b:.6g}</td></tr>"
            for v, a, b in zip(value[:10], low, high, strict=False)
        )
        more = f"<tr><td colspan=3>and {value.size - 10} more</td></tr>" if value.size > 10 else ""
        facts = "".join(
            f"<tr><th>{html.escape(name)}</th><td colspan=2>{html.escape(text)}</td></tr>"
            for name, text in self._lines()
        )
        return f"<table><tr><th>value</th><th>95 % from</th><th>to</th></tr>{rows}{more}{facts}</table>"


def _as_given(value: Any) -> Any:
    """A plain number for a scalar, else the array."""
    array = np.asarray(value)
    return array.item() if array.ndim == 0 else array


def _described(sensitivity: Mapping[str, Any]) -> str:
    facts = {name: sensitivity.get(name) for name in ("linf", "l0", "l1", "l2", "dimension")}
    known = [f"{name} {value:g}" for name, value in facts.items() if isinstance(value, int | float)]
    listed = ["linf listed"] if isinstance(facts["linf"], list | tuple) else []
    return "sensitivity " + ", ".join(listed + known)


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
    """A private version of `values` (a number or an array): charge the ledger, draw exact noise, return it with a
    receipt.

    `plan` comes from `calibrate`; its sensitivity must bound how far `values` can move. Values are rounded to a
    lattice whose step costs under 0.1 % of accuracy; integers=True promises whole numbers, which need no rounding (a
    numpy array of an integer type promises it by its type; plain Python numbers do not, because sum([]) is an int and
    sum([2.5]) a float, and the lattice must not depend on the data). ledger=None charges nothing and says so in the
    receipt.

    Guarantees: the plan's (epsilon, delta) for the whole array. The ledger's entry is durable before any noise
    exists: a crash wastes budget and leaks nothing. BudgetExceeded, and every other error, releases nothing.

    >>> import hush
    >>> plan = hush.calibrate(1.0, 1e-6)
    >>> answer = hush.release(120, plan, ledger=hush.Ledger(None, epsilon=2.0, delta=1e-5))
    >>> abs(answer.value - 120) < 60 and answer.error.half_width95 < 4
    True
    """
    must_be_ledger(ledger)
    must_be_secure(entropy)
    array = _array(values)
    if integers is None:
        integers = getattr(getattr(values, "dtype", None), "kind", "") in ("i", "u", "b")
    if integers and array.dtype.kind not in "iub":
        raise InvalidParameter(
            f"integers=True needs values of an integer type, got an array of {array.dtype}; write numpy.asarray(values, int)."
        )
    mechanism = _mechanism(plan, array, integers)
    steps = mechanism.on_lattice(values)
    mechanism.prepare()  # tables are built and validated before anything is spent
    guarantee = _guarantee(mechanism)
    receipt = _receipt(
        mechanism, guarantee, array.shape
    )  # before anything is spent: what cannot be written down fails here
    claimed = mechanism.guarantee
    budget = claimed.budget if claimed is not None and (claimed.times, claimed.notion) == (1, "dp") else None
    payment = pay(ledger, [mechanism.charge], label=label, budget=budget)
    receipt = receipt | {"ledger": payment.receipt}
    noisy = _as_given(mechanism.value_of(payment.noise(mechanism, steps, entropy=entropy)))
    return Release(noisy, receipt, noisy)


def _array(values: Any) -> NDArray[Any]:
    """The values as an array of numbers; a message says what kind of thing they are, never what they are."""
    try:
        array = np.asarray(values)
    except ValueError as failure:
        raise InvalidParameter(
            "values must be a number or an array of numbers, got lists of different lengths."
        ) from failure
    if array.dtype.kind not in "iubf":
        what = {"U": "text", "S": "text", "c": "complex numbers", "M": "dates"}.get(
            array.dtype.kind, type(values).__name__
        )
        raise InvalidParameter(
            f"values must be numbers, got {what}; write for example release([412, 87], plan, ledger=ledger)."
        )
    if array.size == 0:
        raise InvalidParameter("values must hold at least one number.")
    return array


def _mechanism(plan: Any, array: NDArray[Any], integers: bool) -> Mechanism:
    if isinstance(plan, Plan):
        _must_say_how_many(plan.sensitivity, array.size)
        return Mechanism.of(plan, integers=integers, coordinates=array.size)
    if not isinstance(plan, Mechanism):
        raise InvalidParameter(
            f"plan must come from hush.calibrate, or be a Mechanism, got {type(plan).__name__}; write plan=hush.calibrate(1.0, 1e-6)."
        )
    if plan.integers and array.dtype.kind not in "iub":
        raise InvalidParameter(f"the mechanism is for whole numbers, but the values are of type {array.dtype}.")
    _must_say_how_many(plan.sensitivity, array.size)
    if plan.part_of is not None:
        raise InvalidParameter(
            "this mechanism is a part of another charge, such as one column of a table, and is not released by itself."
        )
    if plan.guarantee is not None and plan.guarantee.notion == "dp" and not plan.keeps_guarantee:
        raise InvalidParameter(
            "the mechanism's noise does not keep the guarantee that it states; leave guarantee out, or calibrate."
        )
    plan.check_room()
    return dataclasses.replace(plan, coordinates=array.size)


def _must_say_how_many(sensitivity: Sensitivity, size: int) -> None:
    """Several numbers need a sensitivity that speaks of several: a bare number is the sensitivity of one."""
    if size > 1 and sensitivity.dimension == 1:
        raise InvalidParameter(
            f"the plan's sensitivity is a plain number, which is for one number, but {size} are released; write for example "
            f"hush.calibrate(..., hush.Sensitivity(linf={sensitivity.linf!r}, l0=1)) where one unit moves one of them, or dimension={size} "
            "where it may move all."
        )
    if sensitivity.dimension not in (None, size):
        raise InvalidParameter(f"the sensitivity is of {sensitivity.dimension} numbers, but {size} are released.")


def _guarantee(mechanism: Mechanism) -> Guarantee:
    """The calibrated one, or for a hand-made mechanism the epsilon of its own curve at delta 1e-6 (pure if it has
    one).
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
