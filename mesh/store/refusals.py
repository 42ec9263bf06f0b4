"""What was refused for want of room? What was put together before that was heard may count it in."""

from collections.abc import Iterable
from dataclasses import replace

from mesh.operations import Delete, Op, Put
from mesh.streams.origin import OriginStream
from mesh.streams.ranges import Ranges


class Refusals:
    """Numbers of publishers' streams whose commit was refused, by the key of the stream's row.

    Law: the row of a stream counts in what every commit before it has taken. Written as it is behind one
    that was refused, it would call that known: after a crash it would be answered OK, and be nowhere.
    """

    def __init__(self) -> None:
        self._rows: dict[bytes, Ranges] = {}

    def refuse(self, ops: Iterable[Op]) -> None:
        """These are not written."""
        for op in ops:
            if isinstance(op, Put) and op.numbers is not None:
                self._rows.setdefault(op.key, Ranges()).add(*op.numbers)

    def amended(self, ops: Iterable[Op]) -> Iterable[Op]:
        """The same, where no row calls known what was refused."""
        return map(self._amended, ops) if self._rows else ops

    def _amended(self, op: Op) -> Op:
        if isinstance(op, Delete) and op.table == "stream":
            self._rows.pop(op.key, None)
        if not isinstance(op, Put) or op.table != "stream" or op.key not in self._rows:
            return op
        stream, refused = OriginStream.unpack(op.value), self._rows[op.key]
        refused.drop_below(stream.low)  # its publisher knows of these
        for first, last in refused:
            stream.refuse(first, last)
        if not refused:
            del self._rows[op.key]
        return replace(op, value=stream.pack())
