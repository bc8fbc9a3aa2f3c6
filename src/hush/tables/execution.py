"""Asking: run the query in its engine, charge the ledger, add exact noise, turn it into answers.

In memory the engine's work comes first, so that a failure there spends nothing. A result too large for that is
streamed to a file: then the charge comes first, and a failure wastes it.
"""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, replace
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified
from hush.ledger.payment import Draws, Payment, pay
from hush.noise.catalogue import plain_values
from hush.privacy.charge import Budget, Guarantee
from hush.releasing.receipt import Receipt
from hush.tables.answer import Answer
from hush.tables.arrow import arrow
from hush.tables.column_noise import Shares, Spending
from hush.tables.destination import must_be_writable
from hush.tables.distributed import write_on_executors
from hush.tables.left_out import LeftOut, left_out, limits_in_words
from hush.tables.output import Recipe, answer_table
from hush.tables.private_bounds import bounds_from

if TYPE_CHECKING:
    from hush.ledger import Ledger
    from hush.tables.query import Aggregates, Query

__all__ = ["Request", "noisy_columns"]

_ROW_GROUP = 65_536  # shown groups in a row group of a file


def noisy_columns(
    columns: Mapping[str, Any], spent: Spending, draws: Mapping[str, Draws]
) -> dict[str, NDArray[np.float64]]:
    """Those integer columns that the noise is for, with it, in grid steps. Always float64: a type that depends on how
    large the numbers are would tell of hidden ones.
    """
    alike: dict[int, list[str]] = {}
    for name, paid in draws.items():
        if name in columns:
            alike.setdefault(id(paid.mechanism), []).append(name)
    out: dict[str, NDArray[np.float64]] = {}
    for names in alike.values():  # columns of one law are drawn for in one call
        paid = draws[names[0]]
        made = paid.mechanism
        steps = paid.add(made.on_lattice(np.stack([np.asarray(columns[name], dtype=np.int64) for name in names])))
        out |= dict(zip(names, steps.astype(np.float64) * made.step, strict=True))
    return {name: out[spent.shared.get(name, name)] for name in spent.mechanisms if name in columns}


def _columns_of(table: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: table.column(name).to_numpy(zero_copy_only=False) for name in names}


def _silent(text: str) -> None:
    """No progress to report."""


@dataclass(frozen=True)
class Request:
    """A query with its noise, and how to ask it."""

    query: Query
    spent: Spending
    options: Mapping[str, Any]
    shares: Shares
    ledger: Ledger | None = None
    label: str = ""
    level: float = 0.95
    progress: Callable[[str], None] = _silent

    def answer(self) -> Answer:
        """In memory. Nothing is spent unless the engine has done its work; where bounds are to be found, it first
        does it with stand-ins, to see whether it can.
        """
        self._prepare()
        self.progress("aggregating in the engine")
        exact, beside = self._exact(self.query), self._exact_limits()
        if self.query.search is not None:
            exact = self._exact(self.query.search)
        payment = self._pay()
        settled, found = self, None
        if self.query.search is not None:
            settled, found = self._bounded(exact, payment)
            exact, beside = settled._exact(settled.query), settled._exact_limits()
        self.progress("drawing noise")
        keys, released = settled._noisy(exact, settled.spent.open(payment, "answers"))
        recipe = Recipe.of(settled.query, settled.spent, self.level)
        noisy = arrow().table({name: arrow().array(column) for name, column in released.items()})
        receipt = settled._receipt(payment, found, beside) | {"groups": keys.num_rows}
        return Answer(answer_table(recipe, keys, released), receipt, noisy, recipe.names)

    def write(self, path: str | os.PathLike[str]) -> Receipt:
        """To a Parquet file (a folder of them on Spark), a batch of groups at a time; returns the receipt."""
        on_executors = self.query.table.engine == "pyspark" and self.query.grouping.keys is None
        must_be_writable(path, folder=on_executors)
        self._prepare()
        self.progress("charging the ledger")
        magnitudes = self._exact(self.query.search) if self.query.search is not None else None
        with nullcontext() if on_executors else _part_of(Path(path)) as part:
            payment = self._pay()
            settled, found = (self, None) if magnitudes is None else self._bounded(magnitudes, payment)
            self.progress("aggregating, adding noise and writing")
            receipt = settled._receipt(payment, found, settled._exact_limits())
            draws = settled.spent.open(payment, "answers")
            recipe = Recipe.of(settled.query, settled.spent, self.level)
            aggregates = settled.query.aggregates(**self.options)
            if part is None:
                write_on_executors(aggregates, settled.spent, draws, recipe, str(path))
                Path(path, "_hush_receipt.json").write_text(receipt.to_json())
            else:
                settled._stream(aggregates, recipe, draws, part, receipt)
                os.replace(part, path)
        return receipt

    # -- steps -----------------------------------------------------------------------------------------------

    def _prepare(self) -> None:
        """Everything that can fail without the data does so here."""
        if self.ledger is not None:
            self.ledger.must_protect(self.query.table.fingerprint)
        for spent in (self.spent, self.shares.bounds, self.shares.limits):
            for made in spent.mechanisms.values() if spent else ():
                made.prepare()
        recipe = Recipe.of(self.query, self.spent, self.level)  # bounds to be found have stand-ins
        nothing = {name: np.zeros(1) for name in self.spent.mechanisms}
        for measure, ends in zip(recipe.measures, recipe.ends, strict=True):
            measure.answer(nothing), ends(nothing)

    def _exact(self, query: Query) -> Any:
        return query.aggregates(**self.options).to_arrow()

    def _exact_limits(self) -> tuple[LeftOut, Any] | None:
        """What the limits leave out, exactly; not private yet."""
        asked = left_out(self.query) if self.shares.limits is not None else None
        return None if asked is None else (asked, self._exact(asked.query))

    def _pay(self) -> Payment:
        questions = [spent for spent in (self.spent, self.shares.bounds, self.shares.limits) if spent]
        # parts keep the pair asked for, because it is the sum of theirs; their composition on a grid may say a little
        # more than that
        budget = Budget(self.shares.epsilon, self.shares.delta) if self.shares.bounds is None else None
        return pay(
            self.ledger,
            [spent.charge for spent in questions],
            label=self.label,
            extra_delta=self.spent.key_delta,
            budget=budget,
            source=self.query.table.fingerprint,
        )

    def _bounded(self, magnitudes: Any, payment: Payment) -> tuple[Request, dict[str, tuple[Any, Any] | None]]:
        """The same request with the bounds that the noisy magnitudes give."""
        search, spent = self.query.search, self.shares.bounds
        assert search is not None and spent is not None
        found = bounds_from(
            search,
            spent,
            noisy_columns(_columns_of(magnitudes, spent.mechanisms), spent, spent.open(payment, "bounds")),
        )
        query = self.query.with_bounds(found)
        if query.sensitivity.l0 > self.spent.reach.l0:
            raise NotCertified(
                "the bounds found would let a unit reach further than was charged for; nothing was released."
            )
        return replace(self, query=query, spent=replace(self.spent, reach=query.sensitivity)), found

    def _noisy(self, exact: Any, draws: Mapping[str, Draws]) -> tuple[Any, dict[str, NDArray[np.float64]]]:
        """Keys and noisy columns of the groups to show."""
        spent, columns = self.spent, exact.schema.names
        keys = exact.select([name for name in self.query.grouping.names if name in columns])
        released = noisy_columns(_columns_of(exact, spent.mechanisms), spent, draws)
        if spent.threshold is None or spent.units is None:
            return keys, released
        shown = np.flatnonzero(released[spent.units] >= spent.threshold)
        return keys.take(arrow().array(shown)), {name: column[shown] for name, column in released.items()}

    def _stream(
        self, aggregates: Aggregates, recipe: Recipe, draws: Mapping[str, Draws], part: Path, receipt: Receipt
    ) -> None:
        """Batch by batch into a file. Row groups hold shown groups only, a fixed number each: where the engine's
        batches began and ended would tell of groups that are not shown.
        """
        import pyarrow.parquet

        note, held = {"hush": receipt.to_json()}, self._answers(recipe, aggregates.empty(), draws)
        with pyarrow.parquet.ParquetWriter(part, held.schema.with_metadata(note)) as writer:
            for batch in aggregates.batches():
                held = arrow().concat_tables([held, self._answers(recipe, arrow().Table.from_batches([batch]), draws)])
                while held.num_rows >= _ROW_GROUP:
                    writer.write_table(held.slice(0, _ROW_GROUP).combine_chunks().replace_schema_metadata(note))
                    held = held.slice(_ROW_GROUP)
            writer.write_table(held.combine_chunks().replace_schema_metadata(note))

    def _answers(self, recipe: Recipe, exact: Any, draws: Mapping[str, Draws]) -> Any:
        return answer_table(recipe, *self._noisy(exact, draws))

    def _receipt(
        self, payment: Payment, found: Mapping[str, Any] | None, beside: tuple[LeftOut, Any] | None
    ) -> Receipt:
        receipt = receipt_of(self.query, self.spent, self.shares, self.level, payment.receipt)
        if found is not None:
            plain = {name: None if ends is None else [_plain_end(end) for end in ends] for name, ends in found.items()}
            receipt = receipt | {"bounds_found": plain}
        if beside is not None and self.shares.limits is not None:
            (asked, exact), spent = beside, self.shares.limits
            draws = spent.open(payment, "limits")
            released = noisy_columns(_columns_of(exact, asked.query.sensitivity.columns), spent, draws)
            receipt = receipt | {"left_out": asked.told(released, spent.mechanisms, self.level)}
        return receipt


@contextmanager
def _part_of(path: Path) -> Iterator[Path]:
    """A file beside the one to be written, made before anything is spent and gone if the work fails."""
    handle, name = tempfile.mkstemp(
        dir=path.absolute().parent, prefix=f".{path.name}.", suffix=".part"
    )  # new, and never a link
    os.close(handle)
    part = Path(name)
    try:
        part.chmod(0o666 & ~_umask())
        yield part
    finally:
        part.unlink(missing_ok=True)


def _umask() -> int:
    """The bits that new files of this process do not get."""
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _plain_end(end: Any) -> Any:
    """A bound as JSON has it."""
    return end.isoformat() if isinstance(end, date) else end


def _part(what: str, spent: Spending) -> dict[str, Any]:
    """One part of the budget: what it buys, and the noise that it pays for."""
    bound = spent.plan.sensitivity
    return {
        "what": what,
        "epsilon": spent.epsilon,
        "delta": spent.delta,
        "noise": plain_values(spent.noise),
        "linf": bound.linf,
        "l0": bound.l0,
    }


def receipt_of(
    query: Query, spent: Spending, shares: Shares, level: float, charged: Mapping[str, Any] | None
) -> Receipt:
    """What was promised, how, when and where it was charged. Nothing in it depends on the data but what was
    released.
    """
    parts = [
        (what, part)
        for what, part in (("answers", spent), ("bounds", shares.bounds), ("limits", shares.limits))
        if part
    ]
    promised = {
        "unit": query.table.unit,
        "groups_per_unit": spent.reach.groups,
        "linf": spent.plan.sensitivity.linf,
        "l0": spent.plan.sensitivity.l0,
    }
    about = {
        "source": query.table.fingerprint,
        "engine": query.table.engine,
        "filters": list(query.table.filters),
        "bounds": [measure.bounds_text for measure in query.measures if not measure.name.startswith(".")],
        "noise": plain_values(spent.noise),
        "parts": [_part(what, part) for what, part in parts],
        "rows_per_unit": {m.name: m.rows for m in query.measures if m.kind == "count"},
        "limits": limits_in_words(query),
        "why": _used(spent.plan.why),
        "columns": {
            name: {"moves_by": spent.reach.linf[name], "step": made.step} for name, made in spent.mechanisms.items()
        },
        "threshold": spent.threshold,
        "key_delta": spent.key_delta,
        "level": level,
    }
    return Receipt.of(
        "answer",
        Guarantee(shares.epsilon, shares.delta),
        [part.charge for _, part in parts],
        extra_delta=spent.key_delta,
        ledger=charged,
        promised=promised,
        about=about,
    )


def _used(why: str) -> str:
    """A plan says what to use; a receipt says what was used."""
    noise, colon, rest = why.removeprefix("Use ").partition(": ")
    return f"{noise} was used{colon}{rest}" if why.startswith("Use ") and colon else why
