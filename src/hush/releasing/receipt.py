"""Receipt: what a release guarantees and how it was made. One type for every kind of release, with a version, as JSON.

    schema, kind        the version of the format, and "release", "answer", "private fit" or "private search"
    hush, time          the version of hush that made it, and when
    guarantee           epsilon, delta, times, notion, neighbours (for an answer also its unit and bounds)
    charges             the noise and the sensitivity of everything released; empty if a receipt cannot list all of it
    extra_delta         a failure probability that the charges do not include
    ledger              the entry that was charged; None if there was no ledger

Each kind may add fields at the top level. Receipts of the first format, which had no version, are read as well.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Self

from hush.errors import HushError, InvalidParameter, shown
from hush.ledger.entry import hush_version
from hush.noise.catalogue import from_plain_values
from hush.privacy.charge import Charge, Guarantee
from hush.privacy.sensitivity import Sensitivity
from hush.sampling.witness import now

__all__ = ["KINDS", "SCHEMA", "Receipt"]

SCHEMA = 2
_LONG = 40  # longer lists are shortened where a receipt is shown
KINDS = ("release", "answer", "private fit", "private search", "workload", "stream")
_NOT_ONE = (
    "this is not a receipt of hush; use release.receipt, answer.receipt or model.receipt_, or the JSON of one of them."
)


class Receipt(dict[str, Any]):
    """A receipt: a dictionary of values for JSON, with the typed ones also as attributes.

    It is read-only: `receipt | {...}` makes another one.

    >>> import hush
    >>> receipt = hush.release(120, hush.calibrate(1.0, 1e-6), ledger=None).receipt
    >>> receipt.kind, receipt.guarantee.epsilon, Receipt.from_json(receipt.to_json()) == receipt
    ('release', 1.0, True)
    """

    def __init__(self, values: Mapping[str, Any]) -> None:
        try:
            known = dict(values)
            if "schema" not in known:
                known = _first_form(known)
            if known["schema"] != SCHEMA:
                raise InvalidParameter(
                    f"this receipt has schema {shown(known['schema'])}, which hush {hush_version()} cannot read; "
                    "use a newer version of hush."
                )
            super().__init__(known)
            _ = self.guarantee, self.charges
            if known["kind"] not in KINDS or not 0.0 <= known["extra_delta"] < 1.0:
                raise InvalidParameter(_NOT_ONE)
            _ = known["ledger"], known["hush"], known["time"]
        except HushError:
            raise
        except KeyError as failure:
            raise InvalidParameter(f"the field {failure} is missing: {_NOT_ONE}") from failure
        except (TypeError, AttributeError, ValueError) as failure:
            raise InvalidParameter(_NOT_ONE) from failure

    @classmethod
    def of(
        cls,
        kind: str,
        guarantee: Guarantee,
        charges: Sequence[Charge],
        *,
        extra_delta: float = 0.0,
        ledger: Mapping[str, Any] | None = None,
        promised: Mapping[str, Any] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> Self:
        """A new receipt; `promised` adds fields to "guarantee", `about` adds fields at the top level."""
        return cls(
            {
                "schema": SCHEMA,
                "kind": kind,
                "hush": hush_version(),
                "time": now().isoformat(timespec="seconds"),
                "guarantee": _plain(guarantee) | dict(promised or {}),
                "charges": [charge.to_plain() for charge in charges],
                "extra_delta": extra_delta,
                "ledger": None if ledger is None else dict(ledger),
            }
            | dict(about or {})
        )

    # -- fields of every receipt -----------------------------------------------------------------------------

    @property
    def kind(self) -> str:
        """The kind of release, one of KINDS."""
        return str(self["kind"])

    @property
    def guarantee(self) -> Guarantee:
        """The privacy guarantee."""
        return _guarantee(self["guarantee"])

    @property
    def charges(self) -> tuple[Charge, ...]:
        """What was released; empty if the receipt cannot list all of it (see the entry in the ledger)."""
        return tuple(Charge.from_plain(row) for row in self["charges"])

    @property
    def extra_delta(self) -> float:
        """A failure probability that the charges do not include."""
        return float(self["extra_delta"])

    @property
    def ledger(self) -> Mapping[str, Any] | None:
        """The entry that was charged; None if there was no ledger."""
        found: Mapping[str, Any] | None = self["ledger"]
        return found

    # -- read-only, and JSON ---------------------------------------------------------------------------------

    def _fixed(self, *_: Any, **__: Any) -> Any:
        raise InvalidParameter("a receipt cannot be changed; write receipt | {...} to make another one.")

    __setitem__ = __delitem__ = update = pop = popitem = clear = setdefault = _fixed

    def __ior__(self, other: Any) -> Self:  # type: ignore[override,misc]
        return self | other

    def __or__(self, other: Mapping[str, Any]) -> Self:  # type: ignore[override]
        return type(self)({**self, **other})

    def copy(self) -> Self:
        return self

    def __repr__(self) -> str:
        """The values, long lists with their ends only; `to_json` has all of them."""
        return f"Receipt({_shortened(dict(self))})"

    def __reduce__(self) -> Any:
        return type(self), (dict(self),)

    def to_json(self, *, indent: int | None = None) -> str:
        """The receipt as JSON; `Receipt.from_json` reads it back."""
        return json.dumps(self, indent=indent, allow_nan=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read the receipt that `to_json` of this or an earlier version wrote."""
        try:
            values = json.loads(text)
        except (TypeError, ValueError) as failure:
            raise InvalidParameter(_NOT_ONE) from failure
        if not isinstance(values, Mapping):
            raise InvalidParameter(_NOT_ONE)
        return cls(values)


def _shortened(value: Any) -> Any:
    """The value with a text in the place of what is left out of long lists."""
    if isinstance(value, Mapping):
        return {key: _shortened(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        kept = [*value[:3], f"... {len(value)} values ...", value[-1]] if len(value) > _LONG else value
        return [_shortened(one) for one in kept]
    return value


def _plain(guarantee: Guarantee) -> dict[str, Any]:
    holds = guarantee.holds
    known = {"epsilon": guarantee.epsilon if holds else None, "delta": guarantee.delta if holds else None}
    said = {"times": guarantee.times, "notion": guarantee.notion, "neighbours": guarantee.neighbours}
    words = {name: text for name, text in (("reason", guarantee.reason), ("covers", guarantee.covers)) if text}
    words |= {} if guarantee.protects == "person" else {"protects": guarantee.protects}
    return {**known, **said, **words}


def _guarantee(values: Mapping[str, Any]) -> Guarantee:
    reason = values.get("reason", "")
    if values["epsilon"] is None and not reason:
        raise InvalidParameter(_NOT_ONE)
    return Guarantee(
        math.inf if values["epsilon"] is None else values["epsilon"],
        1.0 if values["delta"] is None else values["delta"],
        times=values["times"],
        notion=values["notion"],
        neighbours=values["neighbours"],
        reason=reason,
        covers=values.get("covers", ""),
        protects=values.get("protects", "person"),
    )


# -- receipts of the first format ----------------------------------------------------------------------------


def _first_form(old: dict[str, Any]) -> dict[str, Any]:
    """Convert a receipt without a version to the present format."""
    if "kind" in old:
        return _old_fit(old)
    if "unit" in old["guarantee"]:
        given = {"times": 1, "notion": "dp"} | old["guarantee"]
        return old | _common("answer", given, _old_answer_charges(old), old["key_delta"])
    made, given = old["mechanism"], old["guarantee"]
    noise = from_plain_values(made["noise"])
    charge = Charge(noise, _facts(made["sensitivity_on_lattice"]), times=given["times"])
    return old | _common("release", given, [charge], 0.0)


def _common(kind: str, guarantee: Mapping[str, Any], charges: Sequence[Charge], extra: float) -> dict[str, Any]:
    plain = [charge.to_plain() for charge in charges]
    return {"schema": SCHEMA, "kind": kind, "guarantee": dict(guarantee), "charges": plain, "extra_delta": extra}


def _facts(values: Mapping[str, Any]) -> Sensitivity:
    return Sensitivity.from_plain({name: value for name, value in values.items() if value is not None})


def _old_answer_charges(old: Mapping[str, Any]) -> list[Charge]:
    """The charges of an answer. Older receipts list only one noise; then that one is returned."""
    given, listed = old["guarantee"], old.get("parts")
    if listed is None:
        known = given.get("linf") is not None and "bounds_found" not in old
        listed = [{"noise": old["noise"], "linf": given["linf"], "l0": given["l0"]}] if known else []
    return [
        Charge(from_plain_values(part["noise"]), _facts({"linf": part["linf"], "l0": part["l0"]})) for part in listed
    ]


def _old_fit(old: dict[str, Any]) -> dict[str, Any]:
    holds, own = old["epsilon"] is not None, old.get("this_fit") or {}
    # With private labels the receipt lacks a sensitivity. For a chain of fits or a search, epsilon and delta cover more
    # than the listed charges. In these cases no charges are kept.
    whole = not old.get("started_from") and old.get("labels") is None
    whole = whole and (own.get("epsilon"), own.get("delta")) == (old["epsilon"], old["delta"])
    charges = [
        Charge(
            from_plain_values(part["noise"]),
            _facts({"neighbours": "replace"} | part["sensitivity"]),
            times=part["times"],
        )
        for part in (old.get("parts", []) if whole else [])
    ]
    given = {"epsilon": old["epsilon"], "delta": old["delta"], "times": 1, "notion": "dp", "neighbours": "replace"}
    told = {} if holds else {"reason": old["guarantee"].removeprefix("no privacy guarantee: ")}
    rest = {name: value for name, value in old.items() if name not in ("epsilon", "delta", "neighbours", "version")}
    return rest | {"hush": old["version"]} | _common(old["kind"], given | told, charges, 0.0)
