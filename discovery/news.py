"""Which rumours go with the next packet? Each goes out often enough to reach everybody, and no more."""

from __future__ import annotations

from math import ceil, log10

from discovery.member import NodeLife, Rumour

PACKET = 32  # rumours in one packet
FRESH = 3  # times that we sent it, up to which a rumour is fresh
REPEATS = 4  # times the decimal digits of the number of nodes, how often we send each
URGENT, PLAIN = 0, 1


def urgency(rumour: Rumour) -> int:
    """The order of news: whom we lose, and who denies it, comes before who is new, as these may be many."""
    is_new = rumour.state is NodeLife.ALIVE and rumour.incarnation == 0
    return PLAIN if is_new else URGENT


class News:
    """The latest rumour about each node."""

    def __init__(self) -> None:
        self._place: dict[bytes, tuple[int, int]] = {}  # uuid: urgency, and how often it went out
        self._queues: tuple[list[dict[bytes, Rumour]], ...] = ([{}], [{}])  # [urgency][sent], the newest last

    def __len__(self) -> int:
        return len(self._place)

    def add(self, rumour: Rumour) -> None:
        """Spread it, in place of what we last said of that node."""
        self.drop(rumour.node.uuid)
        self._put(rumour, urgency(rumour), 0)

    def drop(self, uuid: bytes) -> None:
        """Say nothing of this node."""
        place = self._place.pop(uuid, None)
        if place is not None:
            del self._queues[place[0]][place[1]][uuid]

    def take(self, alive: int, most: int = PACKET, sent: int | None = None) -> tuple[Rumour, ...]:
        """For one packet: of the urgent first what was sent least often, of these the newest first.

        `sent`: only what went out less often than that.
        """
        if not self._place:
            return ()
        picked: list[Rumour] = []
        for queue in (*self._queues[URGENT][:sent], *self._queues[PLAIN][:sent]):
            for uuid in reversed(queue):
                if len(picked) == most:
                    break
                picked.append(queue[uuid])
        limit = REPEATS * ceil(log10(alive + 1))
        for rumour in reversed(picked):  # so that among equals the newest stays the newest
            self._sent(rumour, limit)
        return tuple(picked)

    def _sent(self, rumour: Rumour, limit: int) -> None:
        urgent, sent = self._place[rumour.node.uuid]
        self.drop(rumour.node.uuid)
        if sent + 1 < limit:
            self._put(rumour, urgent, sent + 1)

    def _put(self, rumour: Rumour, urgent: int, sent: int) -> None:
        queues = self._queues[urgent]
        if sent == len(queues):
            queues.append({})
        queues[sent][rumour.node.uuid] = rumour
        self._place[rumour.node.uuid] = (urgent, sent)
