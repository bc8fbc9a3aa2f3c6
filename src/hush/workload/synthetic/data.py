"""`SyntheticRows`: rows that follow released tables, and `SyntheticReport`: which tables they keep, and how well."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, needs, whole
from hush.releasing.receipt import Receipt
from hush.sampling.entropy import Entropy, SecureEntropy, must_be_entropy
from hush.workload.residual import Subset
from hush.workload.synthetic.drawing import drawn_rows
from hush.workload.synthetic.fitting import fitted_model

__all__ = ["MOST_CELLS", "SyntheticReport", "SyntheticRows", "TableFit", "synthesised"]

Array = NDArray[np.float64]
Whole = NDArray[np.int64]

#: The default limit on the cells of the model's tables.
MOST_CELLS = 1 << 18
_MOST_ROWS = 1 << 28


@dataclass(frozen=True)
class TableFit:
    """How well the rows keep one released table.

    `kept` says if the model fits the table itself; else the table follows from smaller ones. `difference` is the root
    mean square, over the cells, of the count of the rows, scaled to the released total, less the released count.
    `noise` is the standard deviation of the noise of a released cell. A difference near the noise is all that the
    release can show. `excess` is the part of the difference that the noise does not explain.
    """

    names: tuple[str, ...]
    kept: bool
    difference: float
    noise: float

    @property
    def excess(self) -> float:
        """The root of difference^2 - noise^2, at least 0."""
        return math.sqrt(max(self.difference**2 - self.noise**2, 0.0))


@dataclass(frozen=True)
class SyntheticReport:
    """One line for each released table, in the order of the workload."""

    tables: tuple[TableFit, ...]

    def __iter__(self) -> Iterator[TableFit]:
        return iter(self.tables)

    def __len__(self) -> int:
        return len(self.tables)

    def as_dicts(self) -> list[dict[str, Any]]:
        """The lines as plain values, for JSON."""
        shown = ("kept", "difference", "noise", "excess")
        return [{"table": list(one.names), **{key: getattr(one, key) for key in shown}} for one in self.tables]

    def __str__(self) -> str:
        kept = [one for one in self.tables if one.kept]
        lines = [f"{len(kept)} of {len(self.tables)} tables are kept."]
        if len(kept) < len(self.tables):
            lines[0] += " The others follow from kept ones."
        lines += [f"{'table':40}  kept  difference       noise      excess"]
        for one in sorted(self.tables, key=lambda one: (one.kept, -one.excess)):
            name = ", ".join(one.names) or "(all rows)"
            numbers = f"{one.difference:10.4g}  {one.noise:10.4g}  {one.excess:10.4g}"
            lines.append(f"{name:40.40}  {'yes' if one.kept else 'no':4}  {numbers}")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False, repr=False)
class SyntheticRows:
    """Rows drawn from a model that fits released tables. They are post-processing and cost no privacy.

    `rows` has the places of the values, one column for each attribute; `columns` has the values themselves. `receipt`
    is that of the released tables.
    """

    names: tuple[str, ...]
    rows: Whole = field(repr=False)
    cliques: tuple[Subset, ...]
    answer: Any = field(repr=False)
    values: Mapping[str, Sequence[Any]] | None = None

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def receipt(self) -> Receipt:
        """The receipt of the released tables."""
        found: Receipt = self.answer.receipt
        return found

    @property
    def columns(self) -> dict[str, Any]:
        """The values of each attribute: an array of places, or a list of the values of a table's column."""
        if self.values is None:
            return {name: self.rows[:, i] for i, name in enumerate(self.names)}
        listed = {name: list(self.values[name]) for name in self.names}
        return {name: [listed[name][place] for place in self.rows[:, i]] for i, name in enumerate(self.names)}

    def to_arrow(self) -> Any:
        """The rows as an Arrow table."""
        with needs("pyarrow", "to_arrow", extra="tables"):
            import pyarrow

        return pyarrow.table(self.columns)

    def to_pandas(self) -> Any:
        """The rows as a pandas frame."""
        with needs("pandas", "to_pandas"):
            import pandas  # type: ignore[import-untyped]

        return pandas.DataFrame(self.columns)

    def report(self) -> SyntheticReport:
        """Which of the released tables the rows keep, and how far each is from the released one."""
        return SyntheticReport(tuple(self._fit(table) for table in self.answer.workload.asked))

    def _fit(self, table: Subset) -> TableFit:
        answer, names = self.answer, tuple(self.names[i] for i in table)
        estimate = answer.estimate(*names)
        code = np.zeros(len(self.rows), dtype=np.int64)
        for i in table:
            code = code * answer.workload.sizes[i] + self.rows[:, i]
        counts = np.bincount(code, minlength=estimate.size).reshape(estimate.shape)
        off = counts * (max(answer.total, 0) / max(len(self.rows), 1)) - estimate
        noise = math.sqrt(answer.strategy.box_variance(table, dict.fromkeys(table, 1)))
        varied = {i for i in table if answer.workload.sizes[i] > 1}
        kept = any(varied <= set(clique) for clique in self.cliques)
        return TableFit(names, kept, math.sqrt(float(np.mean(off**2))), noise)

    def __repr__(self) -> str:
        return f"SyntheticRows: {len(self)} rows of {', '.join(self.names)[:200]}; {self.receipt.guarantee}"


def synthesised(
    answer: Any,
    count: int | None,
    *,
    most_cells: int = MOST_CELLS,
    values: Mapping[str, Sequence[Any]] | None = None,
    entropy: Entropy | None = None,
) -> SyntheticRows:
    """Rows that follow the tables of an answer to `Marginals`."""
    must_be_entropy(entropy)
    rows = max(answer.total, 0) if count is None else whole("n", count, 0, "write synthesise(10_000)")
    if rows > _MOST_ROWS:
        raise InvalidParameter(f"n must be at most {_MOST_ROWS}, got {rows}.")
    most = whole("most_cells", most_cells, 1, "write most_cells=250_000")
    work = answer.workload
    model = fitted_model(work.asked, answer.residuals, answer.strategy.spreads, work.sizes, most)
    bits = (SecureEntropy() if entropy is None else entropy).begin()
    return SyntheticRows(work.names, drawn_rows(model, rows, work.sizes, bits), model.tree.cliques, answer, values)
