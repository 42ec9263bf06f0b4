"""The size of the outbound buffer: the number, bytes and age of the messages that wait for each node."""

from __future__ import annotations

from mesh.errors import TailBackFull
from mesh.kernel.context.node_context import NodeContext
from mesh.printable import count
from mesh.remote_names import WAY
from mesh.routing.forward_table import ForwardTable
from mesh.wire.replies import Depth

# Law 1: entries without a warning count against the limits, but not in the age or the backlog of a node.
# Law 2: above half of a limit only publishers of this node may add entries.
# Law 3: room that is reserved for prepared transactions counts against the limits.


class OutboundSize:
    """The size of `onward`, compared with the limits of this node."""

    def __init__(self, context: NodeContext, onward: ForwardTable) -> None:
        self._context = context
        self._onward = onward
        self._reserved_messages = self._reserved_bytes = 0

    def reserve(self, messages: int, size: int) -> None:
        """Reserve room for messages that are added later, or release it with negative numbers."""
        self._reserved_messages += messages
        self._reserved_bytes += size
        assert self._reserved_messages >= 0 and self._reserved_bytes >= 0

    @property
    def _messages(self) -> int:
        return self._onward.messages + self._reserved_messages

    @property
    def _bytes(self) -> int:
        return self._onward.bytes + self._reserved_bytes

    @property
    def is_full(self) -> bool:
        """Whether the waiting entries exceed a limit."""
        return self._exceeds(self._messages, self._bytes)

    def _exceeds(self, messages: int, size: int) -> bool:
        s = self._context.settings
        return messages > s.tailback_count or size > s.tailback_bytes

    def check_room(self, messages: int, size: int) -> None:
        """Raise TailBackFull if that many more messages or bytes exceed a limit."""
        messages, size = messages + self._messages, size + self._bytes
        if self._exceeds(messages, size):
            raise self._full_error(messages, size)

    def is_half_full(self) -> bool:
        """Return whether only publishers of this node may add entries.

        Direct messages to other sites do not count: two sites full of them for each other would block
        forever.
        """
        s, onward = self._context.settings, self._onward
        messages, size = self._messages, self._bytes
        if 2 * messages <= s.tailback_count and 2 * size <= s.tailback_bytes:
            return False
        away = [line for hop in onward.hops() if hop.startswith(WAY) for line in onward.lines(hop)]
        messages -= sum(line.messages for line in away)
        size -= sum(line.bytes for line in away)
        return 2 * messages > s.tailback_count or 2 * size > s.tailback_bytes

    @property
    def full_error(self) -> TailBackFull:
        """The error for a refused entry, which still counts as waiting."""
        return self._full_error(self._messages, self._bytes)

    def _full_error(self, messages: int, size: int) -> TailBackFull:
        me, s = self._context.me.name, self._context.settings
        what = (
            f"The outbound buffer of {me} would hold {count(messages, 'message')} and {size:,} bytes; "
            f"the limits are {s.tailback_count:,} messages and {s.tailback_bytes:,} bytes."
        )
        return TailBackFull(what, hint="Publish more slowly, or see `mesh ls` for unreachable masters.")

    def age(self) -> float:
        """Return the age in s of the oldest waiting message, judged by the first entry of each queue.

        Entries without a warning do not count. If no others wait, the age is 0.
        """
        lines = [line for hop in self._onward.hops() for line in self._onward.lines(hop)]
        first = [entry for line in lines if (entry := next(iter(line), None)) is not None and entry.warned]
        now = self._context.clock.believed
        return max([0.0, *((now - each.envelope.route[-1].at) / 1e9 for each in first)])

    def depth(self, hop: str) -> Depth:
        """Return the backlog for a node, without entries whose publishers were not warned.

        With `hop` "", return the backlog of messages whose node is unknown.
        """
        messages = size = 0
        oldest = self._context.clock.believed  # never negative, even if a clock went back
        for line in self._onward.lines(hop):
            entries = list(line)
            early = [e for e in entries if not e.warned]  # their answers may arrive soon
            messages += line.messages - sum(e.lacking[hop].count() for e in early)
            size += line.bytes - sum(e.size for e in early)
            oldest = min([oldest, *(e.envelope.route[-1].at for e in entries if e.warned)])
        return Depth(messages=messages, bytes=size, age=(self._context.clock.believed - oldest) / 1e9)
