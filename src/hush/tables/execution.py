"""Run a query in its engine, charge the ledger, add exact noise and make the answers.

For an answer in memory the engine runs first, so a failure there spends nothing. A result that is too large for memory
is streamed to a file: then the charge comes first, and a failure wastes it.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hush.errors import NotCertified, NotPaid
from hush.ledger.account import keeps
from hush.ledger.entry import LONGEST_TEXT, printable
from hush.ledger.payment import Draws, Payment, pay
from hush.ledger.series import Turn
from hush.privacy.charge import Budget
from hush.releasing.destination import must_be_writable, part_file
from hush.releasing.receipt import Receipt
from hush.sampling.witness import cells_of
from hush.tables.answer import Answer
from hush.tables.arrow import arrow, chosen_rows, number_column, plain_numbers
from hush.tables.asking import Asking
from hush.tables.blocks import block_of
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
from hush.tables.planned import Kept, kept_release, must_be_same_noise, packed, unpacked
from hush.tables.private_bounds import bounds_from
from hush.tables.publish.basis import Basis
from hush.tables.query_receipt import bounds_in, plain_bounds, receipt_of
from hush.tables.question import question_digest
from hush.tables.selection.spending import chosen_columns

__all__ = ["Request"]

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

    def answer(self) -> Answer:
        """The answer in memory. Nothing is spent before the engine has run. Where bounds are to be found, the engine
        first runs with placeholders, to show that it can. A release of a series that was made before is read.
        """
        self._prepare()
        if (kept := self._kept()) is not None:
            return self._of_kept(kept)
        self.asked.progress("aggregating in the engine")
        exact, beside = self._exact()
        if self.query.search is not None:
            exact = self._magnitudes(self.query.search)
        try:
            payment = self._pay()
        except NotPaid:
            if (kept := self._kept()) is None:
                raise
            return self._of_kept(kept)  # another process made this release in the meantime
        settled = self
        if self.query.search is not None:
            settled = self._bounded(exact, payment)
            exact, beside = settled._exact()
        self.asked.progress("drawing noise")
        keys, released = settled._noisy(exact, settled.spent.open(payment, "answers"))
        released |= settled._chosen(keys, payment)
        receipt = settled._receipt(payment, *beside) | {"groups": keys.num_rows}
        if (spent := self.shares.other) is not None:
            receipt = receipt | {"other": measured(settled.query, keys, spent, payment, self.asked.level)}
        if self.turn is not None and self.asked.ledger is not None and payment.number is not None:
            own = packed(keys, released, receipt | {"question": question_digest(self.query)})
            if self.asked.ledger.keep_answer(payment.number, own) != own and (kept := self._kept()) is not None:
                return self._of_kept(kept)  # what another process kept first is the answer of both
            keys, released, receipt = unpacked(own)
        return settled._made(keys, released, receipt)

    def _kept(self) -> Kept | None:
        """Keys, noisy columns and receipt of this release, if it was made before."""
        if self.turn is None or self.asked.ledger is None:
            return None
        return kept_release(self.asked.ledger, self.turn, self.spent.charge, self.query)

    def _of_kept(self, kept: Kept) -> Answer:
        """The answer that a ledger keeps."""
        return self._with_found(bounds_in(kept[2]))._made(*kept)

    def _made(self, keys: Any, released: Mapping[str, Any], receipt: Receipt) -> Answer:
        """The answer from released numbers."""
        recipe = Recipe.of(self.query, self.spent, self.level_of_each)
        noisy = arrow().table({name: number_column(column) for name, column in released.items()})
        level = self.asked.level
        basis, table = Basis.of(self.query, self.spent, level), answer_table(recipe, keys, released)
        return Answer(table, receipt | {"level": level}, noisy, recipe.names, basis)

    def check(self) -> None:
        """Run everything but payment and noise: what can fail, fails here."""
        self._prepare()
        self._exact()

    def write(self, path: str | os.PathLike[str]) -> Receipt:
        """Write the answer to a Parquet file (on Spark, a folder), one batch of groups at a time; returns the
        receipt.
        """
        on_executors = engine_of(self.query.table.source.backend).executors and self.query.grouping.keys is None
        must_be_writable(path, folder=on_executors)
        self._prepare()
        self.asked.progress("charging the ledger")
        magnitudes = self._magnitudes(self.query.search) if self.query.search is not None else None
        with nullcontext() if on_executors else part_file(Path(path)) as part:
            payment = self._pay()
            settled = self if magnitudes is None else self._bounded(magnitudes, payment)
            self.asked.progress("aggregating, adding noise and writing")
            asked, aggregates = settled._asked()
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

    def _prepare(self) -> None:
        """Run everything that can fail without the data, so that it fails before anything is spent."""
        if self.asked.ledger is not None:
            self.asked.ledger.must_protect(self.query.table.fingerprint)
        for spent in (self.spent, self.shares.bounds, self.shares.limits, self.shares.other, self.shares.choices):
            for made in spent.sources.values() if spent else ():
                made.prepare()
        recipe = Recipe.of(self.query, self.spent, self.level_of_each)  # with placeholders for bounds to be found
        nothing = {name: np.zeros(1) for name in (*self.spent.mechanisms, *self.query.chosen_columns)}
        for aggregate in recipe.shown:
            aggregate.answer(nothing), aggregate.ends(nothing)
        Basis.of(self.query, self.spent, self.asked.level)

    def _magnitudes(self, search: QueryDescription) -> Any:
        """The exact columns of the query that finds bounds."""
        return search.aggregates(**self.options).to_arrow()

    def _asked(self) -> tuple[LeftOut | None, Aggregates]:
        """What measures the effect of the limits, and the exact aggregates, with it."""
        asked = left_out(self.query) if self.shares.limits is not None else None
        return asked, self.query.exact(asked.beside if asked else None, **self.options)

    def _exact(self) -> tuple[Any, tuple[LeftOut | None, dict[str, Any]]]:
        """The exact columns of all groups, and the exact shares that the limits leave out; not private yet."""
        asked, aggregates = self._asked()
        about, batches = aggregates.read()
        return aggregates.whole(batches), (asked, about)

    def _pay(self) -> Payment:
        shares = self.shares
        named = (self.spent, shares.bounds, shares.limits, shares.other, shares.choices)
        questions = [spent for spent in named if spent]
        asked = Budget(self.shares.epsilon, self.shares.delta)
        # the requested pair is the sum of the parts' pairs; their composition on a grid may give a slightly larger one
        parts = tuple(spent.charge for spent in questions)
        one = self.shares.bounds is None or keeps(parts, asked.epsilon, asked.delta)
        budget = asked if one and self.spent.times == 1 else None
        payment = pay(
            self.asked.ledger,
            list(parts),
            label=self.asked.label or self.query.table.file,
            budget=budget,
            source=self.query.table.fingerprint,
            turn=self.turn,
            account=self.asked.account,
            block=block_of(self.query.table, self.asked.ledger),
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
