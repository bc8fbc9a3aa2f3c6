"""A keyed hash that every engine computes to the same bit, or the engine's hash for speed.

Privacy does not depend on the hash, as long as it is a function of the person's values and the key: see `bound`. It is
keyed so that nobody can choose an id that is always kept, and it mixes well so that groups and rows are kept evenly.
The key is drawn from the operating system for each release and never from the data.

"portable" uses whole numbers below 2^63 only. A whole number, negative or not, is cut into halves of 32 bits, each
half is multiplied by a secret odd number below 2^31, and the low 32 bits of the products are added. That alone is
visibly uneven, because it is linear. Two rounds of s -> ((s xor (s >> k)) * odd) mod 2^32 remove the linear structure;
each round is one-to-one. If any part is text, all parts go through md5 as text, each after its length, so that no two
lists of parts give the same text. The last eight digits, read as hexadecimal, are the hash.

"native" is one call of the engine's hash function. It is faster, above all on text, and the default. Its 63 bits can
rank the groups of a person without their keys. But it keeps other groups and rows on each engine and version, so
comparisons of engines ask for "portable".

An engine's hash must be a function of the values of its arguments alone: not of other rows, of the order of rows, of
time or of a random number. It is keyed by two secret numbers, one before the columns and one after them. Engines hash
one column after the other, and some join the hash of a column to the hashes so far by one exclusive or. A single key at
the end would then only flip bits: of five groups, a person's first group would be kept half of the time for some people
and hardly ever for others. A single key at the beginning would favour the same groups for all people.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from hush.errors import InvalidParameter, Unsupported, one_of
from hush.sampling.witness import secret_bytes
from hush.tables.expression import as_int64, as_text, ibis

__all__ = ["HASHES", "Keyed", "fresh_salt"]

HASHES = ("portable", "native")
MASK = 2**32 - 1
SALT_BYTES = 32


def fresh_salt() -> bytes:
    """A new secret key."""
    return secret_bytes(SALT_BYTES)


@dataclass(frozen=True)
class Keyed:
    """Hashes of a person and a group under one salt, with a separate hash for each `purpose`."""

    salt: bytes
    hash: str = "portable"
    function: Callable[[list[Any], Any], Any] | None = None  # the engine's hash of columns and a key
    digits: Callable[[Any], Any] | None = None  # the engine's way to read the last eight hexadecimal digits

    def __post_init__(self) -> None:
        one_of("hash", self.hash, HASHES)
        if not isinstance(self.salt, bytes) or len(self.salt) < 16:
            raise InvalidParameter("salt must be at least 16 secret random bytes; leave it out to draw a fresh one.")
        if self.hash == "native" and self.function is None:
            raise Unsupported('this engine has no hash="native"; write hash="portable".')

    def numbers(self, purpose: str, count: int, below: int) -> list[int]:
        """Secret odd numbers below `below`, a power of two, from the salt and the purpose."""
        stream = hashlib.shake_256(self.salt + purpose.encode()).digest(8 * count)
        return [int.from_bytes(stream[8 * i : 8 * i + 8], "big") % below | 1 for i in range(count)]

    def of(self, columns: list[Any], purpose: str, *, nulls: bool) -> Any:
        """The hash of the columns, the person first, as a column of whole numbers in [0, 2^32), never null. `nulls`:
        can the other columns be null?

        Even without nulls a part may become null: DuckDB's infinite dates do when days are counted. Such parts have
        equal hashes, which only makes ties.
        """
        if self.hash == "native":
            hashed = self.native(columns, purpose)
        elif any(is_text(column) for column in columns):
            hashed = self.digest(columns, purpose)
        else:
            hashed = self.mixed(columns, purpose, nulls)
        return ibis().coalesce(hashed, ibis().literal(0, type="int64"))

    def tells_apart(self, rows: Any, keys: list[str], *, public: bool) -> bool:
        """Is the hash alone enough to rank the groups of a person (`hush.tables.bound.keep_groups`)? It is where a
        group has one private key whose least value can be taken, and the hash has 63 bits.
        """
        return self.hash == "native" and not public and len(keys) == 1 and not rows[keys[0]].type().is_boolean()

    def wide(self, columns: list[Any], purpose: str) -> Any:
        """63 bits of the engine's hash of the columns between two numbers from the salt."""
        return ibis().coalesce(as_int64(self._keyed(columns, purpose) >> 1), ibis().literal(0, type="int64"))

    def mixed(self, columns: list[Any], purpose: str, nulls: bool) -> Any:
        """The hash of whole numbers: a secret linear map of their halves, then two rounds of mixing."""
        words: list[Any] = []
        null = self.numbers(f"{purpose} null", 1, 2**62)[0]
        for i, column in enumerate(columns):
            words += halves(column, null if (nulls and i > 0) or column.type().is_date() else None)
        state = ibis().literal(self.numbers(f"{purpose} start", 1, 2**32)[0], type="int64")
        for word, odd in zip(words, self.numbers(f"{purpose} linear", len(words), 2**31), strict=True):
            state = state + ((word * odd) & MASK)  # below 2^32 times below 2^31: no overflow
        state = state & MASK
        for shift, odd in zip((16, 13), self.numbers(f"{purpose} mix", 2, 2**31), strict=True):
            state = ((state ^ (state >> shift)) * odd) & MASK
        return state

    def below(self, hashed: Any, count: Any) -> Any:
        """A whole number in [0, count) from the high bits of the hash. A count beyond 2^31 is cut to it, to stay in
        int64.
        """
        return (hashed * ibis().least(count, 2**31 - 1)) >> 32

    def digest(self, columns: list[Any], purpose: str) -> Any:
        """The last eight digits of md5, as a number."""
        message = ibis().literal(hashlib.sha256(self.salt + purpose.encode()).hexdigest())
        for column in columns:
            plain = as_text(column if is_text(column) else as_whole(column))
            part = plain.length().cast("string") + ":" + plain
            message = message + ";" + ibis().coalesce(part, ibis().literal("null"))
        digits = message.hexdigest("md5")
        return last_digits(digits) if self.digits is None else self.digits(digits)

    def native(self, columns: list[Any], purpose: str) -> Any:
        """32 bits of the engine's hash of the columns between two numbers from the salt."""
        return as_int64(self._keyed(columns, purpose) & MASK)

    def _keyed(self, columns: list[Any], purpose: str) -> Any:
        before, after = (ibis().literal(n, type="int64") for n in self.numbers(f"{purpose} native", 2, 2**62))
        assert self.function is not None
        return self.function([before, *columns], after)


def last_digits(digits: Any) -> Any:
    """The last eight hexadecimal digits as a number. Engines parse hexadecimal differently, so each digit is computed
    from its character code.
    """
    total = ibis().literal(0, type="int64")
    for i in range(8):
        # the code of the first character: 48 to 57 for 0-9, 97 to 102 for a-f
        code = as_int64(digits.right(i + 1).ascii_str())
        total = total + ((code & 15) + (code >> 6) * 9) * 16**i
    return total


def is_text(column: Any) -> bool:
    """Is it hashed as text? Strings are, and types without an exact int64."""
    kind = column.type()
    return bool(kind.is_string() or kind.is_uuid() or kind.is_uint64())


def as_whole(column: Any) -> Any:
    """A whole number, a date (in days) or a truth value as int64. An infinite date of DuckDB becomes null, so the
    caller must coalesce.
    """
    if column.type().is_date():
        column = column.delta(ibis().date(1970, 1, 1), unit="day")
    return as_int64(column)


def halves(column: Any, null: int | None) -> list[Any]:
    """The low and high 32 bits of a whole number, a date or a truth value. They depend on the value, not on the width
    of its type.

    Nulls and infinite dates become the number `null`. A clash with a true value only makes a tie, and the value itself
    breaks ties.
    """
    wide = as_whole(column)
    if null is not None:
        wide = ibis().coalesce(wide, ibis().literal(null, type="int64"))
    return [wide & MASK, (wide >> 32) & MASK]
