"""Which states of others does a node hand on? Asked only where nodes are too many to hear each other."""

# Law 1: an owner marks one in n/FULL of its states as far. A far one is handed on by each node that learns
#        it, once: with n nodes FULL lines in each interval, however large n is.
# Law 2: who shows by its digest that it lacks a state, or missed the last ones, gets it from all who hear
#        the digest; such lines are not handed on any further.
# Law 3: no message holds more than LINES; what waits, waits in the order in which it came.

from bisect import bisect_left, insort
from collections.abc import Callable, Mapping
from itertools import islice

from msgspec.structs import replace

from discovery.lines import DigestEntry, StateLine, StateMessage
from discovery.listening import FULL

LINES = 48  # of others in one message: half as many again as come on average
DIGEST = 32  # entries in one message,
LONG_DIGEST = 128  # and while any node is unknown
MISSED = 8  # states that may be under way: being as many behind, and two rounds of far ones, is a loss


class LineRelay:
    """Lines that wait to be handed on, and what was compared last."""

    def __init__(self, me: bytes, jitter: Callable[[], float]) -> None:
        self._me = me
        self._order: list[bytes] = []  # uuids whose state we know, in order
        self._far: dict[bytes, StateLine] = {}
        self._wanted: dict[bytes, None] = {}
        self._share = jitter()  # of the next far state of our own; no two nodes begin alike
        self._next = b""  # where the next digest begins

    def learnt(self, line: StateLine, is_new: bool) -> None:
        """A newer state came; `is_new` when that node had none before."""
        if is_new:
            insort(self._order, line.uuid)
        if line.far:
            self._far[line.uuid] = line  # in the place of an older one that waits

    def forget(self, uuid: bytes) -> None:
        """Hand on nothing of this node, which had a state."""
        del self._order[bisect_left(self._order, uuid)]
        self._far.pop(uuid, None)
        self._wanted.pop(uuid, None)

    def own(self, line: StateLine, alive: int) -> StateLine:
        """Our line, marked as far when it is its turn."""
        self._share += FULL / alive
        if self._share < 1:
            return line
        self._share -= 1
        return replace(line, far=True)

    def take(self, known: Mapping[bytes, StateLine]) -> list[StateLine]:
        """The lines to hand on now."""
        far = [self._far.pop(uuid) for uuid in list(islice(self._far, LINES))]
        wanted = list(islice(self._wanted, LINES - len(far)))
        for uuid in wanted:
            del self._wanted[uuid]
        return far + [replace(known[uuid], far=False) for uuid in wanted]

    def digest(
        self, known: Mapping[bytes, StateLine], alive: int
    ) -> tuple[tuple[bytes, bytes], list[DigestEntry]]:
        """The next part of what we know, and its span."""
        size = DIGEST if len(known) >= alive - 1 else LONG_DIGEST  # they are the others
        begin = bisect_left(self._order, self._next)
        part = self._order[begin : begin + size]
        end = self._order[begin + size] if begin + size < len(self._order) else b""
        span, self._next = (self._next, end), end
        return span, [(uuid, *known[uuid].version) for uuid in part]

    def compare(self, message: StateMessage, known: Mapping[bytes, StateLine], alive: int) -> None:
        """Note what the sender of this digest lacks, as far as there is room for it."""
        if message.span is None or len(self._wanted) >= LINES:
            return
        first, end = message.span
        begin = bisect_left(self._order, first)
        uuids = self._order[begin : bisect_left(self._order, end) if end else None]
        # All who hear the digest answer it: each begins elsewhere, so that they do not say the same.
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
