"""Charge the ledger, run a query in its engine, add exact noise, keep the answer, and show it: in this order.

What can be refused without reading a row is refused before the charge. After it, a failure says one constant sentence,
and the same call gets its answer without another charge. An answer in memory is kept in the ledger. A result that is
too large for memory is streamed to a file, and the ledger keeps the name of the file.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import InvalidParameter, NotCertified
from hush.ledger.access import Access
from hush.ledger.entry import LONGEST_TEXT, printable
from hush.ledger.kept import KeptAnswer
from hush.ledger.payment import Draws, Payment
from hush.ledger.series import Turn
from hush.privacy.charge import Budget
from hush.releasing.destination import must_be_writable, on_disk, part_file
from hush.releasing.receipt import Receipt
from hush.sampling.witness import cells_of
from hush.tables.answer import Answer
from hush.tables.arrow import arrow, chosen_rows, number_column, plain_numbers
from hush.tables.asking import Asking
from hush.tables.column_draws import noisy_columns
from hush.tables.column_noise import Shares, Spending
from hush.tables.description import QueryDescription
from hush.tables.distributed import write_on_executors
from hush.tables.engines import engine_of
from hush.tables.exact_aggregates import Aggregates
from hush.tables.left_out import LeftOut, left_out
from hush.tables.other_row import measured
from hush.tables.output import Recipe, answer_table
from hush.tables.plan_words import question_in_words
from hush.tables.planned import kept_release, must_be_same_noise, packed, unpacked
from hush.tables.private_bounds import bounds_from
from hush.tables.publish.basis import Basis
from hush.tables.query_receipt import bounds_in, plain_bounds, receipt_of
from hush.tables.question import question_digest
from hush.tables.selection.spending import ChoiceSpending, chosen_columns

__all__ = ["Request"]

#: What measures the effect of the limits, and what the engine runs.
_Ready = tuple[LeftOut | None, Aggregates]

_ROW_GROUP = 65_536  # shown groups in one row group of a Parquet file


def _columns_of(table: Any, names: Iterable[str]) -> dict[str, Any]:
    return {name: plain_numbers(table.column(name)) for name in names}


@dataclass(frozen=True)
class Request:
    """A query with its noise, its ledger and its options, ready to run."""

    query: QueryDescription
    spent: Spending
    options: Mapping[str, Any]
    shares: Shares
    asked: Asking
    #: The place of this release in a series that was planned together.
    turn: Turn | None = None
    #: Bounds that an earlier release of the series found privately; None: none are needed, or they are still open.
    found: Mapping[str, tuple[Any, Any] | None] | None = None
    #: the digest of the question, which the charge pays one answer to
    question: str = ""
    #: makes of the released numbers what is shown, such as the columns of a statement
    finish: Callable[[Answer], Answer] = lambda answer: answer

    @property
    def access(self) -> Access:
        """The door that the answer is paid at."""
        return self.query.table.access(self.asked.ledger, label=self.asked.label, account=self.asked.account)

    def answer(self) -> Answer:
        """The answer in memory. It is charged before the engine runs, and kept before it is shown. A release of a
        series that was made before is read.
        """
        ready = self.prepared()
        while (payment := self._pay()).kept is None:
            made, content = self._drawn(payment, ready)
            if payment.keep(content) == content:
                return made
            if self.turn is not None or not self.query.table.in_memory:
                break  # what another process kept first is the answer of both; of another frame it is not
        return self._of_kept(payment)

    def _drawn(self, payment: Payment, ready: _Ready) -> tuple[Answer, bytes]:
        """The answer and what a ledger keeps of it; a failure is one constant sentence."""
        return payment.attempt(lambda: self._run(payment, ready))

    def _run(self, payment: Payment, ready: _Ready) -> tuple[Answer, bytes]:
        """Run the query, draw, and make the answer; and the answer as a ledger keeps it."""
        self.asked.progress("aggregating in the engine")
        settled, ready = self._settled(payment, ready)
        exact, beside = settled._exact(ready)
        self.asked.progress("drawing noise")
        keys, released = settled._noisy(exact, settled.spent.open(payment, "answers"))
        released |= settled._chosen(keys, payment)
        receipt = settled._receipt(payment, *beside) | {"groups": keys.num_rows}
        if (spent := self.shares.other) is not None:
            receipt = receipt | {"other": measured(settled.query, keys, spent, payment, self.asked.level)}
        made = settled._made(keys, released, receipt)
        return made, packed(made, keys, released, receipt | {"question": question_digest(self.query)})

    def _of_kept(self, payment: Payment) -> Answer:
        """The answer that the ledger keeps."""
        kept = unpacked(payment.kept) if self.turn is None else kept_release(payment, self.spent.charge, self.query)
        return self._with_found(bounds_in(kept[2]))._made(*kept)

    def _made(self, keys: Any, released: Mapping[str, Any], receipt: Receipt) -> Answer:
        """The answer from released numbers."""
        self._must_be_level(receipt)
        recipe = Recipe.of(self.query, self.spent, self.level_of_each)
        noisy = arrow().table({name: number_column(column) for name, column in released.items()})
        level = self.asked.level
        basis, table = Basis.of(self.query, self.spent, level), answer_table(recipe, keys, released)
        return self.finish(Answer(table, receipt | {"level": level}, noisy, recipe.names, basis))

    def write(self, path: str | os.PathLike[str]) -> Receipt:
        """Write the answer to a Parquet file (on Spark, a folder), one batch of groups at a time; returns the
        receipt.
        """
        on_executors = engine_of(self.query.table.source.backend).executors and self.query.grouping.keys is None
        must_be_writable(path, folder=on_executors)
        ready = self.prepared()
        self.asked.progress("charging the ledger")
        with nullcontext() if on_executors else part_file(Path(path)) as part:
            payment = self._pay(right=not on_executors)  # files of a failed Spark job may be seen: no second draw
            if payment.kept is not None:
                return self._written_before(payment, part)
            receipt = payment.attempt(lambda: self._written(payment, ready, part, path), passing=(OSError,))
            if part is not None:
                on_disk(part)
                payment.keep(_file_words(path, part, receipt))  # from here on nobody draws again
        return receipt

    def _written_before(self, payment: Payment, part: Path | None) -> Receipt:
        """Write the answer that an unfinished command has kept; the receipt. An answer in a file is not repeated."""
        kept = KeptAnswer.from_bytes(payment.kept)
        if not kept.holds("answer") or part is None:
            raise InvalidParameter(f"this question was answered before, by entry {payment.number}: {kept.text}.")
        Answer.from_kept(kept).to_parquet(part)
        return Receipt(kept.receipt)

    def _written(self, payment: Payment, ready: _Ready, part: Path | None, path: str | os.PathLike[str]) -> Receipt:
        """Write the answer to the part file, or let the executors write the folder; the receipt."""
        settled, (asked, aggregates) = self._settled(payment, ready)
        self.asked.progress("aggregating, adding noise and writing")
        about, batches = (aggregates.people(), iter(())) if part is None else aggregates.read()
        receipt = settled._receipt(payment, asked, about)
        draws = settled.spent.open(payment, "answers")
        recipe = Recipe.of(settled.query, settled.spent, settled.level_of_each)
        if part is None:
            write_on_executors(aggregates.without_people(), settled.spent, draws, recipe, str(path))
            Path(path, "_hush_receipt.json").write_text(receipt.to_json())
        else:
            tables = settled._tables(aggregates, batches)
            settled._stream(aggregates.empty(), tables, recipe, draws, part, receipt)
        return receipt

    @property
    def level_of_each(self) -> float:
        """The level of a single interval. If all intervals of a row must hold at once, the probability of a miss is
        divided among them; that is valid however their errors depend on each other.
        """
        numbers = sum(len(measure.output_names) for measure in self.query.shown)
        return 1.0 - (1.0 - self.asked.level) / numbers if self.asked.together else self.asked.level

    # -- steps -----------------------------------------------------------------------------------------------

    def prepared(self) -> _Ready:
        """What the engine will run. What can be refused without reading a row is refused here, before the charge."""
        self.access.check()
        for spent in self._parts:
            for made in spent.sources.values():
                made.prepare()
        recipe = Recipe.of(self.query, self.spent, self.level_of_each)  # with placeholders for bounds to be found
        nothing = {name: np.zeros(1) for name in (*self.spent.mechanisms, *self.query.chosen_columns)}
        for aggregate in recipe.shown:
            aggregate.answer(nothing), aggregate.ends(nothing)
        Basis.of(self.query, self.spent, self.asked.level)
        ready = self._ready()
        ready[1].check()
        if self.query.search is not None:
            self.query.search.aggregates(**self.options).check()
        return ready

    @property
    def _parts(self) -> list[Spending | ChoiceSpending]:
        """What is paid for: the answers, and the other parts of the budget."""
        shares = self.shares
        named = (self.spent, shares.bounds, shares.limits, shares.other, shares.choices)
        return [spent for spent in named if spent]

    def _ready(self) -> _Ready:
        """What measures the effect of the limits, and the exact aggregates, with it."""
        asked = left_out(self.query) if self.shares.limits is not None else None
        return asked, self.query.exact(asked.beside if asked else None, **self.options)

    def _settled(self, payment: Payment, ready: _Ready) -> tuple[Request, _Ready]:
        """The request and what the engine runs; with bounds, if they are to be found privately."""
        search = self.query.search
        if search is None:
            return self, ready
        settled = self._bounded(search.aggregates(**self.options).to_arrow(), payment)
        return settled, settled._ready()

    @staticmethod
    def _exact(ready: _Ready) -> tuple[Any, tuple[LeftOut | None, dict[str, Any]]]:
        """The exact columns of all groups, and the exact shares that the limits leave out; not private yet."""
        asked, aggregates = ready
        about, batches = aggregates.read()
        return aggregates.whole(batches), (asked, about)

    def _pay(self, *, right: bool = True) -> Payment:
        """The payment; without `right` a failure wastes it."""
        shares = self.shares
        parts = tuple(spent.charge for spent in self._parts)
        payment = self.access.pay(
            self.question if right else "",
            list(parts),
            budget=Budget(shares.epsilon, shares.delta),
            turn=self.turn,
            about=self._about(),
        )
        must_be_same_noise(payment, parts)
        return payment

    def _about(self) -> str:
        """What is asked; with the file whose rows answer it, where neither the label nor the people name it."""
        text, table = question_in_words(self.query), self.query.table
        named = not table.file or table.file in f"{self.asked.label or table.file} {table.fingerprint}"
        return text if named else f"{text[: LONGEST_TEXT - 400]}; rows of {printable(table.file, 300)}"

    def _bounded(self, magnitudes: Any, payment: Payment) -> Request:
        """The same request with the bounds found from the noisy magnitudes."""
        search, spent = self.query.search, self.shares.bounds
        assert search is not None and spent is not None
        found = bounds_from(
            search.measures,
            spent,
            noisy_columns(_columns_of(magnitudes, spent.mechanisms), spent, spent.open(payment, "bounds")),
        )
        return self._with_found(found)

    def _with_found(self, found: Mapping[str, tuple[Any, Any] | None] | None) -> Request:
        """The same request with bounds that were found privately; unchanged if there are none to find."""
        if self.query.search is None or found is None:
            return self
        query = self.query.with_bounds(found)
        settled = query.shared
        still_equal = all(
            settled.get(column, column) == settled.get(first, first) for column, first in self.spent.shared.items()
        )
        if query.sensitivity.l0 > self.spent.reach.l0 or not still_equal:
            raise NotCertified(
                "the bounds found would let one person move more numbers than was charged for; nothing was released."
            )
        return replace(self, query=query, spent=replace(self.spent, reach=query.sensitivity), found=found)

    def after(self, first: Receipt) -> Request:
        """The request of a later release of a series: with the bounds that the first release found, and without their
        cost.
        """
        later = self._with_found(bounds_in(first))
        return replace(later, shares=replace(self.shares, bounds=None))

    def _noisy(self, exact: Any, draws: Mapping[str, Draws]) -> tuple[Any, dict[str, NDArray[np.float64]]]:
        """Keys and noisy columns of the groups that are shown."""
        spent, columns = self.spent, exact.schema.names
        keys = exact.select([name for name in self.query.grouping.names if name in columns])
        plain = _columns_of(exact, spent.reach.columns)
        with cells_of(keys if self.query.grouping.keys is None else None):
            released = noisy_columns(plain, spent, draws)
        shown = spent.shown(released, plain)
        if shown is None:
            return keys, released
        return chosen_rows(keys, shown), {name: column[shown] for name, column in released.items()}

    def _must_be_level(self, receipt: Receipt) -> None:
        """Reject another level than that of the ends of quantiles that were released before: they cannot be moved."""
        known = receipt.get("level")
        if self.shares.choices is not None and known is not None and known != self.asked.level:
            raise InvalidParameter(
                f"the ends of quantiles of this release were chosen for the level {known:g}; write level={known:g}."
            )

    def _chosen(self, keys: Any, payment: Payment) -> dict[str, NDArray[np.float64]]:
        """The quantiles of the groups that are shown, and their ends."""
        choices = self.shares.choices
        if choices is None:
            return {}
        self.asked.progress("choosing quantiles")
        keyed = self.query.keyed(None, self.options.get("hash"))
        return chosen_columns(self.query, choices, keys, payment, keyed, self.level_of_each)

    def _stream(
        self,
        empty: Any,
        tables: Iterator[Any],
        recipe: Recipe,
        draws: Mapping[str, Draws],
        part: Path,
        receipt: Receipt,
    ) -> None:
        """Write batch by batch to a file. Each row group holds a fixed number of shown groups: the engine's batches
        would reveal groups that are not shown.
        """
        import pyarrow.parquet

        note, held = {"hush": receipt.to_json()}, self._answers(recipe, empty, draws)
        with pyarrow.parquet.ParquetWriter(part, held.schema.with_metadata(note)) as writer:
            for table in tables:
                held = arrow().concat_tables([held, self._answers(recipe, table, draws)])
                while held.num_rows >= _ROW_GROUP:
                    writer.write_table(held.slice(0, _ROW_GROUP).combine_chunks().replace_schema_metadata(note))
                    held = held.slice(_ROW_GROUP)
            writer.write_table(held.combine_chunks().replace_schema_metadata(note))

    def _tables(self, aggregates: Aggregates, batches: Iterator[Any]) -> Iterator[Any]:
        """The exact columns, one batch of groups at a time; all of them at once if they share one draw."""
        if self.spent.whole_table:
            yield aggregates.whole(batches)
        else:
            yield from (arrow().Table.from_batches([batch]) for batch in batches)

    def _answers(self, recipe: Recipe, exact: Any, draws: Mapping[str, Draws]) -> Any:
        return answer_table(recipe, *self._noisy(exact, draws))

    def _receipt(self, payment: Payment, asked: LeftOut | None, about: Mapping[str, Any]) -> Receipt:
        receipt = receipt_of(self.query, self.spent, self.shares, self.asked.level, payment.receipt)
        receipt = receipt if self.turn is None else receipt | {"release": [self.turn.release, self.turn.times]}
        receipt = receipt | {"together": True} if self.asked.together else receipt
        if self.found is not None:
            receipt = receipt | {"bounds_found": plain_bounds(self.found)}
        if asked is not None and self.shares.limits is not None:
            spent = self.shares.limits
            released = noisy_columns(dict(about), spent, spent.open(payment, "limits"))
            receipt = receipt | {"left_out": asked.measured(released, spent.mechanisms, self.asked.level)}
        return receipt


def _file_words(path: str | os.PathLike[str], part: Path, receipt: Receipt) -> bytes:
    """What a ledger keeps of an answer in a file: its name."""
    text = f"the answer was written to {os.fspath(path)}; if that file is missing, the process ended before {part.name}"
    numbers = {"path": os.path.abspath(path), "part": str(part)}
    return KeptAnswer("file", f"{text} got its name", receipt, numbers).to_bytes()
