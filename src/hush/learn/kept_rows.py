"""Blocks of integer rows that are kept between the passes of a fit.

They are held in memory up to a limit. Beyond it they are written to a temporary file without a name, which the system
removes when the fit ends. The file is encrypted with AES-256 in counter mode. The key is never written, so nothing on
the disk can be read, and no two bytes of the file use the same part of the key stream: blocks are only appended.
"""

from __future__ import annotations

import os
import tempfile
import weakref
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

__all__ = ["KeptBlocks"]

_ALIGNED = 16  # bytes: the block of AES; every array begins at a multiple of it


class KeptBlocks:
    """Groups of arrays, appended once and read in the same order as often as needed.

    >>> kept = KeptBlocks(in_memory=100)
    >>> for number in range(9):
    ...     kept.append(np.full((2, 3), number, dtype=np.int16), np.arange(2.0))
    >>> [int(first[0, 0]) for first, _ in kept], kept.on_disk
    ([0, 1, 2, 3, 4, 5, 6, 7, 8], True)
    """

    def __init__(self, *, in_memory: int) -> None:
        self._left = in_memory
        self._held: list[tuple[NDArray[Any], ...]] = []
        self._file: BinaryIO | None = None
        self._places: list[tuple[tuple[int, tuple[int, ...], np.dtype[Any]], ...]] = []
        self._end = 0
        #: whether the disk was full; then nothing is kept
        self.lost = False

    @property
    def on_disk(self) -> bool:
        """Whether a part is in a file."""
        return self._file is not None

    def append(self, *arrays: NDArray[Any]) -> None:
        """Keep a copy of the arrays."""
        if self.lost:
            return
        size = sum(array.nbytes for array in arrays)
        if self._file is None and size <= self._left:
            self._left -= size
            self._held.append(tuple(array.copy() for array in arrays))
            return
        try:
            if self._file is None:
                self._secret, self._file = os.urandom(32), tempfile.TemporaryFile(buffering=0)  # noqa: SIM115
                weakref.finalize(self, self._file.close)  # a fit that is finished or fails leaves no open file
                self._writer = self._cipher()
            self._places.append(tuple(self._written(array) for array in arrays))
        except OSError:
            self.close()
            self.lost = True

    def __iter__(self) -> Iterator[tuple[NDArray[Any], ...]]:
        """The groups of arrays. The arrays of one group may be overwritten by the next."""
        yield from self._held
        if self._file is None:
            return
        self._file.seek(0)
        cipher, room, plain = self._cipher(), bytearray(0), bytearray(0)
        for group in self._places:
            first, (start, shape, kind) = group[0][0], group[-1]
            size = start + _padded(int(np.prod(shape)) * kind.itemsize) - first
            if len(room) < size:
                room, plain = bytearray(size), bytearray(size + _ALIGNED)
            with memoryview(room)[:size] as read:
                _fill(self._file, read)
                cipher.update_into(read, plain)
            yield tuple(_view(plain, start - first, shape, kind) for start, shape, kind in group)

    def close(self) -> None:
        """Forget everything."""
        self._held, self._places = [], []
        if self._file is not None:
            self._file.close()
            self._file = None

    def _cipher(self) -> Any:
        from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

        return Cipher(algorithms.AES(self._secret), modes.CTR(bytes(_ALIGNED))).encryptor()

    def _written(self, array: NDArray[Any]) -> tuple[int, tuple[int, ...], np.dtype[Any]]:
        assert self._file is not None
        self._file.seek(self._end)
        start, content = self._end, array.tobytes()
        content += bytes(_padded(len(content)) - len(content))
        with memoryview(self._writer.update(content)) as rest:
            done = 0
            while done < len(rest):
                done += self._file.write(rest[done:])
        self._end += len(content)
        return start, array.shape, array.dtype


def _padded(size: int) -> int:
    return -(-size // _ALIGNED) * _ALIGNED


def _fill(file: BinaryIO, room: memoryview) -> None:
    """Read as many bytes as the room holds."""
    done = 0
    while done < len(room):
        got = file.readinto(room[done:])  # type: ignore[attr-defined]
        if not got:
            raise OSError("the temporary file of a fit is shorter than what was written to it.")
        done += got


def _view(plain: bytearray, start: int, shape: tuple[int, ...], kind: np.dtype[Any]) -> NDArray[Any]:
    return np.frombuffer(plain, dtype=kind, count=int(np.prod(shape)), offset=start).reshape(shape)
