"""Corrects rows of streams that were built before an earlier commit was refused."""

from collections.abc import Iterable
from dataclasses import replace

from mesh.operations import Delete, Op, Put
from mesh.streams.origin import OriginStream
from mesh.streams.ranges import Ranges


class Refusals:
    """Refused sequence numbers of publishers' streams, by the key of the stream's row.

    Law: a stream's row includes the numbers of all earlier commits. If an earlier commit was refused, the row
    must be corrected before it is written. Otherwise the refused messages would count as known after a crash,
    and be confirmed without being stored.
    """

    def __init__(self) -> None:
        self._rows: dict[bytes, Ranges] = {}

    def record(self, ops: Iterable[Op]) -> None:
        """Record the numbers of operations that were not written."""
        for op in ops:
            if isinstance(op, Put) and op.numbers is not None:
                self._rows.setdefault(op.key, Ranges()).add(*op.numbers)

    def amended(self, ops: Iterable[Op]) -> Iterable[Op]:
        """Return the operations, with rows of streams corrected for refused numbers."""
        return map(self._amended, ops) if self._rows else ops

    def _amended(self, op: Op) -> Op:
        if isinstance(op, Delete) and op.table == "stream":
            self._rows.pop(op.key, None)
        if not isinstance(op, Put) or op.table != "stream" or op.key not in self._rows:
            return op
        stream, refused = OriginStream.unpack(op.value), self._rows[op.key]
        refused.drop_below(stream.low)  # already known to its publisher
        for first, last in refused:
            stream.refuse_numbers(first, last)
        if not refused:
            del self._rows[op.key]
        return replace(op, value=stream.pack())
