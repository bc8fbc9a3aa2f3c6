"""The calls of an answer that make other numbers and tables of its released numbers. They cost no privacy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self, overload

import numpy as np
from numpy.typing import NDArray

from hush.releasing.receipt import Receipt
from hush.tables.publish import derive, reshape
from hush.tables.publish.basis import Basis, Figure
from hush.tables.publish.largest import largest
from hush.tables.publish.unlimited import bias, unlimited

__all__ = ["MadeFromAnswer"]


class MadeFromAnswer:
    """What can be made of an answer."""

    receipt: Receipt
    basis: Basis | None
    released: Any

    @property
    def left_out(self) -> Mapping[str, Any] | None:
        """The shares that the limits left out, measured privately, with intervals. None if this was switched off, or
        if no limit can leave anything out.
        """
        found: Mapping[str, Any] | None = self.receipt.get("left_out")
        return found

    @property
    def bias(self) -> Figure | None:
        """How many people a group may lack because of the limit on groups: from 0 to an upper bound that was measured
        privately. None if it was not measured.
        """
        return bias(self)

    @property
    def other(self) -> Figure | None:
        """The number of people who are in at least one group that is not shown, with an interval. None if the plan was
        made without other=True.
        """
        found = self.receipt.get("other")
        if found is None:
            return None
        value, low, high = found["people"]
        return Figure(value, low, high, found["level"], ("people who are in at least one group that is not shown",))

    @property
    def near_threshold(self) -> NDArray[np.bool_] | None:
        """Which groups are near the threshold of private keys; None where keys are public. Such a group is shown only
        if its noise is high enough, so its numbers are too high on average.
        """
        gate = None if self.basis is None else self.basis.gate
        return None if gate is None else gate.near(self.released)

    @overload
    def total(self, name: str, *, by: None = None, level: float | None = None) -> Figure: ...

    @overload
    def total(self, name: str, *, by: str | list[str] | tuple[str, ...], level: float | None = None) -> Self: ...

    def total(self, name: str, *, by: Any = None, level: float | None = None) -> Any:
        """The sum of a column of counts or sums over all groups, with an interval; with `by`, a table of the totals for
        each value of these keys. Where keys were found privately, it is the total of the released groups only.
        """
        return derive.total(self, name, by, level)

    def share(self, name: str, *, by: Any = None, level: float | None = None) -> Self:
        """Each group's share of the total of a column, from 0 to 1, with an interval. With `by`, the share among the
        groups with the same value of these keys.
        """
        made: Self = derive.share(self, name, by, level)
        return made

    def ratio(self, top: str, bottom: str, *, level: float | None = None) -> Self:
        """One column divided by another one in each group, with an interval, for example visits per person."""
        made: Self = derive.ratio(self, top, bottom, level)
        return made

    def difference(
        self, name: str, other: str | None = None, *, between: Any = None, level: float | None = None
    ) -> Self | Figure:
        """A column less another column, in each group; or with `between`, a column in one group less that in another:
        `difference("people", between=("surgery", "burns"))`. Each has an interval.
        """
        made: Self | Figure = derive.difference(self, name, other, between, level)
        return made

    def non_negative(self, *names: str) -> Self:
        """A copy with 0 in the place of negative values and ends: in the named columns, or in all counts and sums that
        cannot be negative without noise. Totals and shares still use the numbers before this change.
        """
        made: Self = reshape.non_negative(self, names)
        return made

    def unlimited(self) -> Self:
        """A copy in which the intervals of numbers of people hold for the numbers without the limit on groups: the
        upper ends are larger by the people who are in too many groups.
        """
        made: Self = unlimited(self)
        return made

    def long(self, name: str | None = None) -> Self:
        """A copy with one row for each group and number (of a histogram, each bin), with `value`, `low` and `high`;
        with a name, of that aggregate only.
        """
        made: Self = reshape.long_table(self, name)
        return made

    def top(self, k: int, *, by: str | None = None) -> Self:
        """The k groups with the largest numbers of a column, the largest first; of the first column of counts or sums
        if `by` is left out. It is made from released numbers, so it costs nothing, also where keys were found
        privately.
        """
        made: Self = largest(self, k, by)
        return made
