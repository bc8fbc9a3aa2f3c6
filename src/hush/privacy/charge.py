"""What a release costs and what it guarantees.

    Charge      noise under a sensitivity, released a number of times, perhaps on a Poisson sample of the people

`Budget` and `Guarantee` are in budget.py.

`Charge.of` is the only parser of what callers write. `to_plain` and `from_plain` are the only conversion to JSON and
back.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Any

from hush.errors import InvalidParameter, Unsupported, made_like, reject, shown, whole
from hush.noise.catalogue import from_plain_values, plain_values
from hush.noise.contract import Noise
from hush.privacy.budget import NEIGHBOURS_IN_WORDS, Budget, Guarantee
from hush.privacy.exchange import Imported
from hush.privacy.keys import Keys, must_fit
from hush.privacy.sensitivity import Sensitivity
from hush.privacy.subsampling import sampling_rate
from hush.privacy.units import in_units

__all__ = ["NEIGHBOURS_IN_WORDS", "Budget", "Charge", "Guarantee", "charges"]

_HINT = "write (Gaussian(1.0), 1.0, 1)"


@made_like("Charge(hush.Laplace(2.0), 1.0, times=3)")
@dataclass(frozen=True)
class Charge:
    """`noise` under a `sensitivity`, released `times` times. With a `rate`, on a Poisson sample of the people: each is
    kept with that probability. With `fixed` as well, on a batch of fixed size, drawn without replacement; the rate is
    then its share of all rows. With `keys`, for groups that are found in the data; the sensitivity is then that of all
    groups of one person.

    A charge fully determines its cost. `hush.compose` composes charges, and a ledger stores them.

    >>> from hush import Laplace
    >>> Charge.of((Laplace(2.0), 1.0, 3)).times
    3
    """

    noise: Noise | Imported
    sensitivity: Sensitivity
    _: KW_ONLY
    times: int = 1
    rate: float | None = None
    keys: Keys | None = None
    fixed: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.noise, Noise | Imported):
            raise reject("noise", type(self.noise), "a noise family", "write for example Gaussian(1.0)")
        object.__setattr__(self, "sensitivity", Sensitivity.of(self.sensitivity))
        object.__setattr__(self, "times", whole("times", self.times))
        made_for = self.noise.dimension if isinstance(self.noise, Noise) else None
        bound = self.sensitivity
        listed = next((len(each) for each in (bound.columns, bound.linf) if isinstance(each, tuple)), None)
        known = bound.dimension or listed or max(bound.l0 or 0, made_for or 0)
        if made_for is not None and known != made_for:
            raise InvalidParameter(
                f"{type(self.noise).__name__} noise is for {made_for} numbers, but the sensitivity is for {known}; "
                f"write Sensitivity(linf=1.0, dimension={made_for})."
            )
        if self.rate is not None:
            object.__setattr__(self, "rate", sampling_rate(self.rate))
            _must_fit_sample(self.noise, self.sensitivity, fixed=self.fixed)
        elif self.fixed:
            raise InvalidParameter("fixed=True is about a batch, so it needs a rate; write rate=batch/rows.")
        if self.keys is not None:
            must_fit(self.keys, self.sensitivity, proved=self.rate is None and isinstance(self.noise, Noise))

    @property
    def by_group(self) -> Charge:
        """The same cost in the terms of theorems. A joint noise has one draw for each group of a table, so a person who
        moves l0 groups moves l0 releases. Scaled noise costs what its base costs for moves divided by the factors.
        """
        noise, bound, times = self.noise, self.sensitivity, self.times
        if not isinstance(noise, Noise) or noise.dimension is None or not (self.rate is None is self.keys):
            return self
        if bound.columns is not None:
            bound, times = bound.of_one_group, times * (bound.l0 or 1)
        elif noise.factors is None:
            return self
        return Charge(noise.base, bound if noise.factors is None else in_units(bound, noise.factors), times=times)

    @cached_property
    def _hash(self) -> int:
        return hash((self.noise, self.sensitivity, self.times, self.rate, self.keys, self.fixed))

    def __hash__(self) -> int:  # kept, because accounts and caches look charges up very often
        return self._hash

    def __getstate__(self) -> dict[str, Any]:  # without the hash, which differs between processes
        return {f.name: getattr(self, f.name) for f in dataclasses.fields(self)}

    # -- parsing ---------------------------------------------------------------------------------------------

    @classmethod
    def of(cls, value: Any) -> Charge:
        """A charge from a charge, a noise, an imported curve, (noise, sensitivity, times) or (curve, times)."""
        if isinstance(value, Charge):
            return value
        if isinstance(getattr(value, "charge", None), Charge):  # a mechanism
            own: Charge = value.charge
            return own
        items = tuple(value) if isinstance(value, tuple | list) else (value,)
        first = items[0] if items else None
        if isinstance(first, Imported):
            if len(items) > 2:
                raise InvalidParameter("write an imported curve as (curve, times): it includes its sensitivity.")
            return cls(first, Sensitivity.of(1.0), times=items[1] if len(items) == 2 else 1)
        if not isinstance(first, Noise):
            raise reject("noise", type(first), "a noise family", "write for example Gaussian(1.0)")
        if len(items) > 3:
            raise InvalidParameter(f"a release is (noise, sensitivity, times), got {len(items)} items; {_HINT}.")
        bound = Sensitivity.of(items[1] if len(items) > 1 else 1.0)
        return cls(first, bound, times=items[2] if len(items) > 2 else 1)

    # -- derived charges -------------------------------------------------------------------------------------

    @property
    def neighbours(self) -> str:
        return self.sensitivity.neighbours

    @property
    def once(self) -> Charge:
        """One release, with the noise as the simplest family that has this law. Equal laws of different families then
        give equal charges.
        """
        plain = self.noise.plain() if isinstance(self.noise, Noise) else self.noise
        return self if self.times == 1 and plain is self.noise else dataclasses.replace(self, noise=plain, times=1)

    def repeated(self, times: int) -> Charge:
        """The same release, `times` times."""
        return self if times == self.times else dataclasses.replace(self, times=times)

    def widened(self, factor: float) -> Charge:
        """The same release with noise `factor` times as wide; a threshold of keys moves with it."""
        if not isinstance(self.noise, Noise):
            raise Unsupported("an imported curve has no noise that could be made larger.")
        return dataclasses.replace(self, noise=self.noise.widened(factor))

    @property
    def unsampled(self) -> Charge:
        """One release of the same noise on all people."""
        return dataclasses.replace(self, times=1, rate=None, fixed=False)

    def __str__(self) -> str:
        what = str(self.noise)
        if self.rate is not None:
            kind = "batches of" if self.fixed else "samples of rate"
            what = f"{what} on {kind} {self.rate:.6g}{' of the rows' if self.fixed else ''}"
        found = "" if self.keys is None else f" with keys of {self.keys.groups} groups found privately"
        return what + found + (f" x {self.times}" if self.times > 1 else "")

    # -- JSON ------------------------------------------------------------------------------------------------

    def to_plain(self) -> dict[str, Any]:
        """The charge as values for JSON, exact to the last bit."""
        if not isinstance(self.noise, Noise):
            raise Unsupported(
                "an imported loss distribution cannot be stored; spend the noise, or hush.subsample(noise, rate)."
            )
        return {
            "noise": plain_values(self.noise),
            **({} if self.rate is None else {"rate": self.rate}),
            **({"fixed": True} if self.fixed else {}),
            **({} if self.keys is None else {"keys": self.keys.to_plain()}),
            "sensitivity": self.sensitivity.to_plain(),
            "times": self.times,
        }

    @classmethod
    def from_plain(cls, values: Mapping[str, Any]) -> Charge:
        """The charge that `to_plain` of this or an earlier version wrote."""
        unknown = sorted(set(values) - {"noise", "rate", "fixed", "keys", "sensitivity", "times"})
        if unknown:
            raise InvalidParameter(f"a charge has no field {shown(unknown[0])}; a newer version of hush may be needed.")
        sensitivity = Sensitivity.from_plain(values["sensitivity"])
        noise = from_plain_values(values["noise"])
        keys = Keys.from_plain(values["keys"]) if "keys" in values else None
        fixed = values.get("fixed", False) is True
        return cls(noise, sensitivity, times=values["times"], rate=values.get("rate"), keys=keys, fixed=fixed)


def _must_fit_sample(noise: Noise | Imported, bound: Sensitivity, *, fixed: bool) -> None:
    """Raise unless the relation of neighbours is the one that the kind of sample is proved for."""
    if not isinstance(noise, Noise):
        raise Unsupported("the noise of an imported curve is not known, so it cannot be sampled; leave rate out.")
    if fixed and bound.neighbours != "replace":
        raise Unsupported(
            "batches of a fixed size are proved for neighbours='replace', where one row takes the place of another; "
            "write Sensitivity(l2=2.0, neighbours='replace') for rows of norm 1."
        )
    if not fixed and bound.neighbours != "add-remove":
        raise Unsupported(
            "subsampling is proved for neighbours='add-remove'; for neighbours='replace' use batches of a fixed size: "
            "write hush.subsample(noise, batch=256, rows=60000, sensitivity=...)."
        )


def charges(value: Any) -> tuple[Charge, ...]:
    """One release or a list of releases as charges, checked."""
    starts = isinstance(value, tuple) and value and isinstance(value[0], Noise | Imported)
    if starts or isinstance(value, Charge | Noise | Imported):
        return (Charge.of(value),)
    if isinstance(getattr(value, "charge", None), Charge):
        return (Charge.of(value),)
    if isinstance(value, Mapping | str) or not isinstance(value, Iterable):
        kinds = "a Charge, a Mechanism, a tuple (noise, sensitivity, times), or a list of releases"
        raise reject("releases", value, kinds, "write [(Gaussian(1.0), 1.0, 1)], or hush.Mechanism.of(plan) for a plan")
    rows = tuple(Charge.of(row) for row in value)
    if not rows:
        raise InvalidParameter("releases must contain at least one release; write [(Gaussian(1.0), 1.0, 1)].")
    return rows
