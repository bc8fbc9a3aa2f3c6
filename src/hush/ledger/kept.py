"""An answer as a ledger keeps it: one form for every kind, so that it can be printed again, and written again.

It holds released numbers only. The form is a mark, the length of a header, the header (compressed JSON), and parts,
such as tables in Arrow's format.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Self

from hush.errors import LedgerError, needs

__all__ = ["MARK", "TABLE", "KeptAnswer", "arrow_bytes", "arrow_table"]

MARK = b"hush answer 1\n"
_LENGTH = 8  # bytes of the length of the header
#: The part that is the finished table of an answer.
TABLE = "table"


@dataclass(frozen=True, eq=False, repr=False)
class KeptAnswer:
    """The answer of one entry of a ledger: `print` it, or take its `table`, its `numbers` and its `receipt`."""

    #: the kind of its receipt: "answer", "release", "workload", "private fit" ...; "file" if it was written to a file
    kind: str
    #: the answer as it prints
    text: str
    receipt: Mapping[str, Any] = field(default_factory=dict)
    #: numbers and names, as values for JSON
    numbers: Mapping[str, Any] = field(default_factory=dict)
    parts: Mapping[str, bytes] = field(default_factory=dict)

    def holds(self, kind: str) -> bool:
        """Is it an answer of this kind?"""
        return self.kind == kind

    @property
    def table(self) -> Any:
        """The finished table, as a pyarrow table; None if the answer has none."""
        return arrow_table(self.parts[TABLE]) if TABLE in self.parts else None

    def to_bytes(self) -> bytes:
        """The answer as a ledger stores it."""
        sizes = {name: len(part) for name, part in self.parts.items()}
        plain = {"kind": self.kind, "text": self.text, "receipt": dict(self.receipt), "numbers": dict(self.numbers)}
        header = zlib.compress(json.dumps(plain | {"parts": sizes}).encode("utf-8", "surrogatepass"))
        return b"".join([MARK, len(header).to_bytes(_LENGTH, "big"), header, *self.parts.values()])

    @classmethod
    def from_bytes(cls, content: bytes | None) -> Self:
        """What `to_bytes` wrote."""
        start = len(MARK) + _LENGTH
        try:
            if content is None or not content.startswith(MARK):
                raise ValueError("not an answer")
            place = start + int.from_bytes(content[len(MARK) : start], "big")
            header = json.loads(zlib.decompress(content[start:place]).decode("utf-8", "surrogatepass"))
            parts = {}
            for name, size in header["parts"].items():
                parts[str(name)] = content[place : place + size]
                place += size
            return cls(header["kind"], header["text"], header["receipt"], header["numbers"], parts)
        except (ValueError, KeyError, TypeError, AttributeError, zlib.error) as failure:
            raise LedgerError("an answer that the ledger keeps cannot be read.") from failure

    def __repr__(self) -> str:
        return self.text


def arrow_bytes(table: Any) -> bytes:
    """A pyarrow table in Arrow's stream format, compressed."""
    import pyarrow as pa

    sink, codec = pa.BufferOutputStream(), "zstd" if pa.Codec.is_available("zstd") else None
    table = table.combine_chunks()
    with pa.ipc.new_stream(sink, table.schema, options=pa.ipc.IpcWriteOptions(compression=codec)) as writer:
        writer.write_table(table)
    return bytes(sink.getvalue())


def arrow_table(content: bytes) -> Any:
    """What `arrow_bytes` wrote."""
    with needs("pyarrow", "a table that a ledger keeps"):
        import pyarrow as pa
    try:
        return pa.ipc.open_stream(pa.py_buffer(content)).read_all().combine_chunks()
    except (pa.ArrowException, ValueError) as failure:
        raise LedgerError("an answer that the ledger keeps cannot be read.") from failure
