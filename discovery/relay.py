"""Relay of node states in a mesh that is too large for direct gossip between all nodes."""

# Law 1: an owner marks one in n/FULL of its states as far. Each node that receives a far state relays it
# once: with n nodes these are FULL lines in each interval, for any n.
# Law 2: if a node's digest shows that the node lacks a state, or missed its last versions, all receivers of
# the digest send the state. Such lines are not relayed further.
# Law 3: a message has at most LINES relayed lines. The others wait, first in, first out.

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from itertools import islice

from msgspec.structs import replace

from mesh.discovery.lines import DigestEntry, StateLine, StateMessage
from mesh.discovery.listening import FULL

LINES = 48  # relayed in a message: 1.5 times the average
DIGEST = 32  # entries in one message
LONG_DIGEST = 128  # entries while a living node is unknown
# States that may be in transit. A node behind by this many and two rounds of far states has missed some.
MISSED = 8


class LineRelay:
    """Lines that wait to be relayed, and the position of the next digest."""

    def __init__(self, me: bytes, jitter: Callable[[], float]) -> None:
        self._me = me
        self._order: list[bytes] = []  # uuids with a known state, sorted
        self._far: dict[bytes, StateLine] = {}
        self._wanted: dict[bytes, None] = {}
        self._share = jitter()  # fraction of the next own far state, random at the start
        self._next = b""  # where the next digest begins

    def learnt(self, line: StateLine, is_new: bool) -> None:
        """Record `line`, which is newer than the known state of its node.

        `is_new` means that no state of the node was known.
        """
        if is_new:
            insort(self._order, line.uuid)
        if line.far:
            self._far[line.uuid] = line  # replaces an older line that waits

    def drop_node(self, uuid: bytes) -> None:
        """Drop a node that had a state, with its waiting lines."""
        del self._order[bisect_left(self._order, uuid)]
        self._far.pop(uuid, None)
        self._wanted.pop(uuid, None)

    def own(self, line: StateLine, alive: int) -> StateLine:
        """Return this node's line, marked as far at the rate of Law 1."""
        self._share += FULL / alive
        if self._share < 1:
            return line
        self._share -= 1
        return replace(line, far=True)

    def take(self, known: Mapping[bytes, StateLine]) -> list[StateLine]:
        """Remove and return at most LINES lines to relay now, far ones first."""
        far = [self._far.pop(uuid) for uuid in list(islice(self._far, LINES))]
        wanted = list(islice(self._wanted, LINES - len(far)))
        for uuid in wanted:
            del self._wanted[uuid]
        return far + [replace(known[uuid], far=False) for uuid in wanted]

    def digest(
        self, known: Mapping[bytes, StateLine], alive: int
    ) -> tuple[tuple[bytes, bytes], list[DigestEntry]]:
        """Return the span and the entries of the next digest, which begins where the previous one ended."""
        size = DIGEST if len(known) >= alive - 1 else LONG_DIGEST  # `alive` includes this node
        begin = bisect_left(self._order, self._next)
        part = self._order[begin : begin + size]
        end = self._order[begin + size] if begin + size < len(self._order) else b""
        span, self._next = (self._next, end), end
        return span, [(uuid, *known[uuid].version) for uuid in part]

    def compare(self, message: StateMessage, known: Mapping[bytes, StateLine], alive: int) -> None:
        """Queue states that the sender of `message` lacks, until LINES are queued."""
        if message.span is None or len(self._wanted) >= LINES:
            return
        first, end = message.span
        begin = bisect_left(self._order, first)
        uuids = self._order[begin : bisect_left(self._order, end) if end else None]
        # All receivers answer the digest. Each begins elsewhere, so that their answers differ.
        middle = int.from_bytes(self._me[-4:]) % max(1, len(uuids))
        theirs = {entry[0]: entry for entry in message.digest}
        behind = MISSED + 2 * alive // FULL
        for uuid in uuids[middle:] + uuids[:middle]:
            if len(self._wanted) >= LINES:
                return
            if uuid != message.sender and _is_lacking(theirs.get(uuid), known[uuid], behind):
                self._wanted[uuid] = None


def _is_lacking(theirs: DigestEntry | None, line: StateLine, behind: int) -> bool:
    if theirs is None:
        return True
    _, boot, counter = theirs
    return line.boot > boot or (line.boot == boot and line.counter > counter + behind)
