"""The contract of an aggregate: the integer columns that it needs, and the estimate that is made from them.

The user's description is a `Measure`. Its `prepare` joins it to a table and gives a `Prepared`, from declared bounds
alone. Neighbouring tables differ in all rows of one person. A `Prepared` states:

- `value`: the value of a row as a whole number of fine grid steps (`hush.tables.quantise`), if a value is needed;
- `rows`: how many rows of a person count in a group, where the bounds are per row;
- `totals`: integer columns. Each adds up a person's rows in a group, clamps the sum to [low, high] fine steps, adds
  the clamped sums over persons and rounds the group's sum to whole steps. One person moves the column by at most
  linf = max(|low|, |high|), rounded up to whole steps (the proof is in `hush.tables.bound`);
- `bins`: a count of rows for each bin. At most `rows` rows of a person fall in the bins of a group;
- `answer`: the estimate. It is post-processing: it sees noisy columns only.

No other module compares the `kind` of an aggregate: it is a word for receipts. A new aggregate is therefore one file
with a `Measure`, its estimate and a public function (docs/add_an_aggregate.md).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from hush.errors import InvalidParameter, shown, whole
from hush.tables.column_law import ColumnLaw
from hush.tables.contribution import Part
from hush.tables.estimate import Array, Estimate, Released
from hush.tables.policy.rules import is_private
from hush.tables.quantise import Limits

if TYPE_CHECKING:
    from hush.tables.policy.facts import Facts
    from hush.tables.selection.chosen import Chosen

__all__ = [
    "Limit",
    "Measure",
    "Prepared",
    "Total",
    "bounds_in_words",
    "number_of_rows",
    "number_of_values",
    "optional_rows",
    "row_limit",
    "sum_of_values",
]


def number_of_rows(rows: Any, value: Any) -> Any:
    """A person's number of rows in a group."""
    return rows.count()


def number_of_values(rows: Any, value: Any) -> Any:
    """A person's number of rows with a value in a group."""
    return value.count()


def sum_of_values(rows: Any, value: Any) -> Any:
    """A person's sum of values in a group."""
    return value.sum()


@dataclass(frozen=True)
class Total:
    """One integer column: `sum_over` of a person's rows in a group, clamped to [low, high] fine steps. A step has
    2^fine fine steps.
    """

    name: str
    low: int
    high: int
    sum_over: Callable[[Any, Any], Any]  # (rows, value column) -> an Ibis aggregate
    fine: int = 0
    #: True: `hush.tables.sharing` may find that it equals another column; then both are released once
    shareable: bool = False

    @property
    def counts_people(self) -> bool:
        """Is it 1 for each person with a row in the group? The number of values is not: values may be missing."""
        return self.sum_over is number_of_rows and (self.low, self.high, self.fine) == (0, 1, 0)

    @property
    def linf(self) -> int:
        """The most one person moves the column, in steps."""
        return max(-(-abs(end) >> self.fine) for end in (self.low, self.high))


@dataclass(frozen=True)
class Limit:
    """The rows that the limits of an aggregate affect, as true-or-false columns of the table.

    `valued`: does the row have a value? `outside`: does that value lie outside the bounds? Such values are clipped or
    dropped (`fate`). None where no bound is per row. `bounds` is the text of the bounds.
    """

    valued: Any
    outside: Any = None
    fate: str = "clipped"
    bounds: str = ""


@dataclass(frozen=True)
class Prepared:
    """An aggregate joined to its table: its row value, its integer columns and its estimate."""

    name: str
    kind: str  # the aggregate's name in receipts; nothing else may depend on it
    answer: Estimate
    value: Any = None  # an int64 column of the table, null where a row has no value
    rows: int | None = None  # at most this many rows per (person, group); None: all of them
    totals: tuple[Total, ...] = ()
    bins: int = 0
    labels: tuple[Any, ...] = ()  # one for each bin
    bounds_text: str = ""  # the declared bounds, for people
    limit: Limit | None = None  # None: no limit of this aggregate changes or drops a row
    answer_names: tuple[str, ...] = ()  # the columns of the answer; empty: one column with the aggregate's name
    #: False: the number of bins follows bounds that may be found later, so the sensitivity must not depend on it
    fixed_bins: bool = True
    counts_rows: bool = False  # the answer is a number of rows: its heading states the row limit
    counts_people: bool = False  # its one total is the number of people: private keys may use it for their threshold
    shown: bool = True  # False: it serves the threshold only and is not in the answer
    one_source: bool = False  # its several answers are made from the same columns, so they have the same noise
    #: "date" for days since 1970 that are shown as dates; "time" or "time in UTC" for microseconds; empty: numbers
    shown_as: str = ""
    #: how its columns are measured, in words; empty: each of them by itself
    note: str = ""
    #: values that are chosen by exact selection; the aggregate then has no column with noise
    chosen: Chosen | None = None
    #: the same answer from other columns; it is used where other aggregates of the query measure all of these columns
    instead: Prepared | None = None

    def __post_init__(self) -> None:
        if self.counts_people and [(t.low, t.high, t.fine) for t in self.totals] != [(0, 1, 0)]:
            raise InvalidParameter(
                f"{shown(self.name)} has counts_people=True, but its total is not 0 or 1 per person."
            )
        if self.bins and self.rows is None:
            raise InvalidParameter(
                f"{shown(self.name)} has bins, so it needs a limit on the rows of a person (rows=...)."
            )

    @property
    def output_names(self) -> tuple[str, ...]:
        """The columns of the answer, without the ends of their intervals."""
        return self.answer_names or (self.name,)

    @property
    def bin_columns(self) -> tuple[str, ...]:
        """The integer columns of the bins."""
        return tuple(f"{self.name}.{i}" for i in range(self.bins))

    @property
    def parts(self) -> tuple[Part, ...]:
        """The integer columns, and how far one person moves them in one group."""
        totals = tuple(
            Part(self.name, (total.name,), total.linf, one_sided=total.low >= 0, people=total.counts_people)
            for total in self.totals
        )
        if not self.bins:
            return totals
        assert self.rows is not None
        reached = min(self.rows, self.bins) if self.fixed_bins else self.rows
        return (*totals, Part(self.name, self.bin_columns, self.rows, reached, self.rows, one_sided=True))

    def interval(self, released: Released, mechanisms: Mapping[str, ColumnLaw], level: float) -> tuple[Array, Array]:
        """The lower and upper ends of the answer of each group, from its released columns."""
        return self.answer.ends(mechanisms, level)(released)

    def same_column(self, total: Total, other: Prepared, theirs: Total) -> bool:
        """Are a total of this aggregate and one of another the same integer column under two names?"""
        mine, yours = ((t.sum_over, t.low, t.high, t.fine) for t in (total, theirs))
        if not (total.shareable and theirs.shareable) or mine != yours:
            return False
        # the number of all rows depends on no value, and so on no sample of values
        return total.sum_over is number_of_rows or self._same_sample(other)

    def same_bins(self, other: Prepared) -> bool:
        """Are the bins of this aggregate and those of another the same integer columns under two names?"""
        return 0 < self.bins == other.bins and self._same_sample(other)

    def _same_sample(self, other: Prepared) -> bool:
        """Do both use the same value of the same rows?"""
        if self.value is None or other.value is None or self.rows != other.rows:
            return False
        return bool(self.value.equals(other.value))


class Measure(ABC):
    """An aggregate as the user describes it. `prepare` joins it to a table."""

    column: Any

    @property
    def wants_bounds(self) -> bool:
        """Are its bounds to be found privately?"""
        return False

    def with_bounds(self, low: Any, high: Any) -> Measure:
        """The same aggregate with declared bounds."""
        return self

    def declared(self, name: str, facts: Facts) -> Measure:
        """The same aggregate with what a policy declares where something was left out. Arguments that are looser than
        the policy are refused.
        """
        return self

    @property
    def wants_rows(self) -> bool:
        """Is its limit on rows to be chosen privately?"""
        return is_private(getattr(self, "rows_per_unit", None))

    def with_rows(self, rows: int) -> Measure:
        """The same aggregate with a limit on the rows of a person in a group."""
        changed: Measure = replace(self, rows_per_unit=rows)  # type: ignore[type-var]  # a dataclass with this field
        return changed

    def of_one_row(self) -> Measure:
        """The same aggregate of a table in which a person has at most one row: a larger limit would only add noise."""
        if getattr(self, "rows_per_unit", None) is None:
            return self
        return self.with_rows(1)

    @abstractmethod
    def prepare(self, name: str, relation: Any, limits: Limits) -> Prepared:
        """The row value, integer columns and estimate for this table."""


def optional_rows(rows: Any, hint: str = "") -> Any:
    """rows_per_unit as given, checked; None: left out; "private": to be chosen privately."""
    return rows if rows is None or is_private(rows) else whole("rows_per_unit", rows, 1, hint)


def row_limit(name: str, rows: int | None, limits: Limits) -> int:
    """rows_per_unit (None: 1), checked to be so small that the sum of a person's rows stays in int64."""
    rows, most = 1 if rows is None else rows, limits.rows_per_unit
    if rows > most:
        raise InvalidParameter(
            f"rows_per_unit of {shown(name)} must be at most {most} for a table of {limits.rows} rows, got {rows}."
        )
    return rows


def bounds_in_words(name: str, rows: int | None, low: Any = None, high: Any = None) -> str:
    """The declared bounds as text."""
    inside = f" in [{low}, {high}]" if low is not None else ""
    if rows is None:
        return f"{name}: each person's total{inside}"
    at_most = f"{name}: at most {rows} row{'' if rows == 1 else 's'} per person and group"
    return at_most + (f", each{inside}" if inside else "")
