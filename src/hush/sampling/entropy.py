"""Where random bits come from.

A draw call asks its entropy to `begin`, takes one word per draw from a stream, and for the few draws that one word
does not decide asks for `more`: bits that are a function of (secret key, call, draw, round) alone. So what a draw
comes out as does not depend on which other draws needed refinement, and a test can force refinement on every draw and
must see the same samples.

    stream    AES-256 in counter mode, one key per call
    more      AES-256 of the block (draw number, round), another key per call

Under the standard assumption that AES is a pseudorandom permutation, both are indistinguishable from independent fair
bits (a call would have to use about 2^64 blocks before the missing repetitions of a permutation could show).
"""

from __future__ import annotations

import hashlib
import os
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hush.errors import reject, whole

__all__ = ["Bits", "DeterministicTestEntropy", "Entropy", "KeyedBits", "NamedBits", "SecureEntropy", "must_be_entropy"]

_ZEROS = bytes(1 << 19)


class Bits(Protocol):
    """The bits of one draw call."""

    def words(self, count: int, dtype: Any, lanes: int = 1) -> NDArray[Any]:
        """Unsigned words for the next `count` draws: a row for each lane."""

    def more(self, draws: NDArray[np.int64], turn: int) -> NDArray[np.uint64]:
        """128 more bits for each of the numbered draws, as two words a row, in the given round."""


class Entropy(Protocol):
    """A source of bits."""

    #: May a release use it?
    secure: bool

    def begin(self) -> Bits:
        """Fresh bits for one draw call; calls at the same time, in several threads, do not meet."""


def must_be_entropy(given: Any) -> None:
    """Refuse what is no source of bits, a number first of all: there is no seed to set."""
    if given is not None and not (callable(getattr(given, "begin", None)) and hasattr(given, "secure")):
        raise reject(
            "entropy",
            given,
            "a source of bits, or None",
            "leave it out: noise comes from the operating system, and has no seed",
        )


class KeyedBits:
    """Bits from 64 secret bytes: two AES-256 keys, one for the stream, one for `more`."""

    def __init__(self, secret: bytes) -> None:
        from cryptography.hazmat.primitives.ciphers import (
            Cipher,
            algorithms,
            modes,
        )  # here, because it is slow to import

        self._stream = Cipher(algorithms.AES(secret[:32]), modes.CTR(bytes(16))).encryptor()
        # a single block at a time is a pseudorandom function; every block here is different, so ECB shows nothing
        self._block = Cipher(algorithms.AES(secret[32:64]), modes.ECB()).encryptor()

    def words(self, count: int, dtype: Any, lanes: int = 1) -> NDArray[Any]:
        size = lanes * count * np.dtype(dtype).itemsize
        zeros = memoryview(_ZEROS)[:size] if size <= len(_ZEROS) else bytes(size)
        return np.frombuffer(self._stream.update(zeros), dtype=np.dtype(dtype).newbyteorder("<")).reshape(lanes, count)

    def more(self, draws: NDArray[np.int64], turn: int) -> NDArray[np.uint64]:
        blocks = np.empty((draws.size, 2), dtype="<u8")
        blocks[:, 0], blocks[:, 1] = draws, turn
        return np.frombuffer(self._block.update(blocks.tobytes()), dtype="<u8").reshape(-1, 2)


class NamedBits:
    """Bits that are a function of 64 secret bytes and of each draw's own name (128 bits, two words a row).

    Where a computation may be repeated (a distributed engine retries tasks), the same name then gives the same noise:
    a repetition is not a second release. Names must be different, and the secret fresh for every release.
    """

    def __init__(self, secret: bytes, names: NDArray[np.uint64]) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._first, self._later = (
            Cipher(algorithms.AES(key), modes.ECB()).encryptor() for key in (secret[:32], secret[32:64])
        )
        self._names, self._at = np.ascontiguousarray(names, dtype="<u8"), 0

    def words(self, count: int, dtype: Any, lanes: int = 1) -> NDArray[Any]:
        own = self._names[self._at : self._at + count]
        self._at += count
        rows = [self._encrypted(self._first, own, lane)[:, 0] for lane in range(lanes)]
        return np.stack(rows).astype(np.dtype(dtype))  # the low bits of each word

    def more(self, draws: NDArray[np.int64], turn: int) -> NDArray[np.uint64]:
        return self._encrypted(self._later, self._names[draws], turn)

    @staticmethod
    def _encrypted(key: Any, names: NDArray[np.uint64], number: int) -> NDArray[np.uint64]:
        """AES of AES(name) + number: a message of two blocks, so that no two (name, number) meet."""
        inner = np.frombuffer(key.update(names.tobytes()), dtype="<u8").reshape(-1, 2).copy()
        inner[:, 1] ^= np.uint64(number)
        return np.frombuffer(key.update(inner.tobytes()), dtype="<u8").reshape(-1, 2)


class SecureEntropy:
    """Keys fresh from the operating system at every draw call; there is no seed to set, to store or to share with a
    forked child.
    """

    secure = True

    def begin(self) -> Bits:
        return KeyedBits(os.urandom(64))


class DeterministicTestEntropy:
    """The same bits for the same number: for tests only, since whoever knows the number can take the noise away.
    `release` refuses it.
    """

    secure = False

    def __init__(self, number: int) -> None:
        self._name, self._calls = whole("number", number, 0), 0

    def begin(self) -> Bits:
        self._calls += 1
        return KeyedBits(hashlib.sha512(b"hush test entropy %d %d" % (self._name, self._calls)).digest())
