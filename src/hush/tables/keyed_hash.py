"""A keyed hash that every engine computes to the same bit, or the engine's own for speed.

For privacy the hash may be anything that depends on the unit's own values and the key: see `bound`. It is keyed so
that nobody can choose an id that wins a place, and it mixes well so that places are given evenly. The key is drawn
from the operating system for each release and never from the data.

"portable" uses whole numbers below 2^63 only. A whole number, negative or not, is cut into halves of 32 bits, each
half is multiplied by a secret odd number below 2^31, and the low 32 bits of the products are added. Two rounds of s
-> ((s xor (s >> k)) * odd) mod 2^32 then remove the linear structure, which alone is visibly uneven; each round is
one-to-one. If any part is text, all parts go through md5 as text, each with its length before it, so that no two
lists of parts read alike; the last eight digits, read as hexadecimal, are the hash.

"native" is one call of the engine's own hash function: faster, above all on text, but another choice on each engine
and version.
"""

from __future__ import annotations

import hashlib
import inspect
import os
from dataclasses import dataclass
from typing import Any

from hush.errors import InvalidParameter, Unsupported, one_of
from hush.tables.expression import as_int64, as_text, ibis

__all__ = ["HASHES", "Keyed", "fresh_salt"]

HASHES = ("portable", "native")
MASK = 2**32 - 1
SALT_BYTES = 32


def fresh_salt() -> bytes:
    """A new secret key."""
    return os.urandom(SALT_BYTES)


@dataclass(frozen=True)
class Keyed:
    """Hashes of a unit and a group under one salt, a separate one for each `purpose`."""

    salt: bytes
    hash: str = "portable"
    function: str | None = None  # the engine's own hash, a function of any number of arguments

    def __post_init__(self) -> None:
        one_of("hash", self.hash, HASHES)
        if not isinstance(self.salt, bytes) or len(self.salt) < 16:
            raise InvalidParameter(
                "salt must be at least 16 secret random bytes; leave it out and a fresh one is drawn."
            )
        if self.hash == "native" and self.function is None:
            raise Unsupported('hash="native" is not known for this engine; write hash="portable".')

    def numbers(self, purpose: str, count: int, below: int) -> list[int]:
        """Secret odd numbers below `below`, a power of two, from the salt and the purpose."""
        stream = hashlib.shake_256(self.salt + purpose.encode()).digest(8 * count)
        return [int.from_bytes(stream[8 * i : 8 * i + 8], "big") % below | 1 for i in range(count)]

    def of(self, columns: list[Any], purpose: str, *, nulls: bool) -> Any:
        """The hash of the columns, the unit first, as a column of whole numbers in [0, 2^32), never null. `nulls`:
        can the others be null?

        Even without nulls a part may turn null on its way, as DuckDB's infinite dates do when days are counted. Such
        parts hash alike, which only makes ties.
        """
        if self.hash == "native":
            hashed = self.native(columns, purpose)
        elif any(is_text(column) for column in columns):
            hashed = self.digest(columns, purpose)
        else:
            hashed = self.mixed(columns, purpose, nulls)
        return ibis().coalesce(hashed, ibis().literal(0, type="int64"))

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
        """A whole number in [0, count) from the hash; its high bits decide. A count beyond 2^31 is cut there, to stay
        in int64.
        """
        return (hashed * ibis().least(count, 2**31 - 1)) >> 32

    def digest(self, columns: list[Any], purpose: str) -> Any:
        """The last eight digits of md5, as a number. Engines read hexadecimal in ways of their own, so each digit is
        made from its code.
        """
        message = ibis().literal(hashlib.sha256(self.salt + purpose.encode()).hexdigest())
        for column in columns:
            plain = as_text(column if is_text(column) else as_whole(column))
            part = plain.length().cast("string") + ":" + plain
            message = message + ";" + ibis().coalesce(part, ibis().literal("null"))
        digits = message.hexdigest("md5")
        total = None
        for i in range(8):
            code = as_int64(
                digits.right(i + 1).ascii_str()
            )  # of the first character: 48 to 57 for 0-9, 97 to 102 for a-f
            digit = ((code & 15) + (code >> 6) * 9) * 16**i
            total = digit if total is None else total + digit
        return total

    def native(self, columns: list[Any], purpose: str) -> Any:
        """32 bits of the engine's own hash of the columns and a number from the salt."""
        key = ibis().literal(self.numbers(f"{purpose} native", 1, 2**62)[0], type="int64")
        kinds = tuple(column.type() for column in [*columns, key])

        def own() -> Any: ...

        places = [inspect.Parameter(f"argument{i}", inspect.Parameter.POSITIONAL_OR_KEYWORD) for i in range(len(kinds))]
        own.__signature__ = inspect.Signature(places)  # type: ignore[attr-defined]  # Ibis reads the number of arguments here
        call = ibis().udf.scalar.builtin(own, name=self.function, signature=(kinds, "uint64"))
        return as_int64(call(*columns, key) & MASK)


def is_text(column: Any) -> bool:
    """Is it hashed as text? Strings, and what has no exact int64."""
    kind = column.type()
    return bool(kind.is_string() or kind.is_uuid() or kind.is_uint64())


def as_whole(column: Any) -> Any:
    """A whole number, a date (in days) or a truth value as int64; null for an infinite date of DuckDB, so what uses
    it must coalesce.
    """
    if column.type().is_date():
        column = column.delta(ibis().date(1970, 1, 1), unit="day")
    return as_int64(column)


def halves(column: Any, null: int | None) -> list[Any]:
    """The low and high 32 bits of a whole number, a date or a truth value: of its value, whatever the width of its
    type.

    Null, and a date that is no number of days, become the number given: a clash with a true value only makes a tie,
    and ties are broken by the value itself.
    """
    wide = as_whole(column)
    if null is not None:
        wide = ibis().coalesce(wide, ibis().literal(null, type="int64"))
    return [wide & MASK, (wide >> 32) & MASK]
