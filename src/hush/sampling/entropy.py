"""Sources of random bits.

A call of `draw` begins with `Entropy.begin`, which returns the bits of this call. Each draw takes one word from a
stream. The few draws that one word does not decide take `more` bits, which are a function of (secret key, call, draw,
round) alone. The result of a draw therefore does not depend on which other draws needed more bits. A test can force
more bits for every draw and must get the same samples.

    stream    AES-256 in counter mode, one key per call
    more      AES-256 of the block (draw number, round), another key per call

Under the standard assumption that AES is a pseudorandom permutation, both are indistinguishable from independent fair
bits. (A permutation never repeats a block; this could be noticed after about 2^64 blocks in one call.)
"""

from __future__ import annotations

import hashlib
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from hush.errors import Unsupported, reject, whole
from hush.sampling.witness import secret_bytes

__all__ = ["Bits", "DeterministicTestEntropy", "Entropy", "KeyedBits", "NamedBits", "SecureEntropy", "must_be_entropy"]

_ZEROS = bytes(1 << 19)
_LANES = 1 << 32  # the numbers of lanes begin here; the numbers of words are below


class Bits(Protocol):
    """The bits of one draw call."""

    def words(self, count: int, dtype: Any, lanes: int = 1) -> NDArray[Any]:
        """Return unsigned words for the next `count` draws: one row for each lane."""

    def more(self, draws: NDArray[np.int64], turn: int) -> NDArray[np.uint64]:
        """Return 128 more bits for each of the numbered draws in the given round: one row of two words for each."""

    def lanes(self, draws: NDArray[np.int64], first: int, count: int) -> NDArray[np.uint64]:
        """Return `count` words of 32 bits for each of the numbered draws, one row for each draw.

        They are the lanes first, first + 1, ... of the draws; each lane is used once. Joint noise takes one lane for
        each of its numbers.
        """

    def part(self, number: int) -> Bits:
        """Return separate bits for the same draws, for the numbered part of a joint noise; each number is used once."""


class Entropy(Protocol):
    """A source of bits."""

    #: True if a release may use it.
    secure: bool

    def begin(self) -> Bits:
        """Return fresh bits for one draw call. Calls in several threads at the same time get different bits."""


def must_be_entropy(given: Any) -> None:
    """Raise unless the argument is a source of bits or None. A number is rejected: there is no seed."""
    if given is not None and not (callable(getattr(given, "begin", None)) and hasattr(given, "secure")):
        raise reject(
            "entropy",
            given,
            "a source of bits, or None",
            "omit it: random bits come from the operating system, and there is no seed",
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
        # AES of single blocks is a pseudorandom function. All blocks here are different, so ECB mode reveals nothing.
        self._block = Cipher(algorithms.AES(secret[32:64]), modes.ECB()).encryptor()

    def words(self, count: int, dtype: Any, lanes: int = 1) -> NDArray[Any]:
        size = lanes * count * np.dtype(dtype).itemsize
        zeros = memoryview(_ZEROS)[:size] if size <= len(_ZEROS) else bytes(size)
        return np.frombuffer(self._stream.update(zeros), dtype=np.dtype(dtype).newbyteorder("<")).reshape(lanes, count)

    def more(self, draws: NDArray[np.int64], turn: int) -> NDArray[np.uint64]:
        blocks = np.empty((draws.size, 2), dtype="<u8")
        blocks[:, 0], blocks[:, 1] = draws, turn
        return np.frombuffer(self._block.update(blocks.tobytes()), dtype="<u8").reshape(-1, 2)

    def lanes(self, draws: NDArray[np.int64], first: int, count: int) -> NDArray[np.uint64]:
        return self.words(draws.size * count, np.uint32)[0].astype(np.uint64).reshape(draws.size, count)

    def part(self, number: int) -> KeyedBits:
        return KeyedBits(self._stream.update(bytes(64)))


class NamedBits:
    """Bits that are a function of 64 secret bytes and of the name of each draw (128 bits, two words in a row).

    A distributed engine may run a task twice. The same name gives the same noise, so a repetition is not a second
    release. The names must all be different, and every release needs a fresh secret.
    """

    def __init__(self, secret: bytes, names: NDArray[np.uint64]) -> None:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        self._first, self._later = (
            Cipher(algorithms.AES(key), modes.ECB()).encryptor() for key in (secret[:32], secret[32:64])
        )
        self._names, self._at, self._secret = np.ascontiguousarray(names, dtype="<u8"), 0, secret

    def words(self, count: int, dtype: Any, lanes: int = 1) -> NDArray[Any]:
        if self._at + count > len(self._names):
            raise Unsupported("named bits give one word for each draw; this noise cannot be drawn by name.")
        own = self._names[self._at : self._at + count]
        self._at += count
        rows = [self._encrypted(self._first, own, lane)[:, 0] for lane in range(lanes)]
        return np.stack(rows).astype(np.dtype(dtype))  # the low bits of each word

    def more(self, draws: NDArray[np.int64], turn: int) -> NDArray[np.uint64]:
        return self._encrypted(self._later, self._names[draws], turn)

    def lanes(self, draws: NDArray[np.int64], first: int, count: int) -> NDArray[np.uint64]:
        names = self._names[draws]
        columns = [self._encrypted(self._first, names, _LANES + first + lane)[:, 0] for lane in range(count)]
        return np.stack(columns, axis=1) & np.uint64(0xFFFFFFFF)

    def part(self, number: int) -> NamedBits:
        secret = hashlib.blake2b(b"part %d" % number, key=self._secret[:64], digest_size=64).digest()
        return NamedBits(secret, self._names)

    @staticmethod
    def _encrypted(key: Any, names: NDArray[np.uint64], number: int) -> NDArray[np.uint64]:
        """Return AES(AES(name) xor number): a message of two blocks, so that all (name, number) have separate bits."""
        inner = np.frombuffer(key.update(names.tobytes()), dtype="<u8").reshape(-1, 2).copy()
        inner[:, 1] ^= np.uint64(number)
        return np.frombuffer(key.update(inner.tobytes()), dtype="<u8").reshape(-1, 2)


class SecureEntropy:
    """Bits from keys that the operating system generates anew at every draw call.

    There is no seed that could be set, stored, or shared with a forked process.
    """

    secure = True

    def begin(self) -> Bits:
        return KeyedBits(secret_bytes(64))


class DeterministicTestEntropy:
    """The same bits for the same number, for tests only; `release` rejects it.

    Anyone who knows the number can subtract the noise.
    """

    secure = False

    def __init__(self, number: int) -> None:
        self._name, self._calls = whole("number", number, 0), 0

    def begin(self) -> Bits:
        self._calls += 1
        return KeyedBits(hashlib.sha512(b"hush test entropy %d %d" % (self._name, self._calls)).digest())
