"""Queue of rumors for outgoing packets.

Each rumor is sent a number of times that grows with the logarithm of the number of nodes, and then dropped.
"""

from __future__ import annotations

from math import ceil, log10

from mesh.discovery.member import NodeLife, Rumour

PACKET = 32  # rumors in one packet
FRESH = 3  # times sent, below which a rumor is fresh
# Each rumor is sent this often, times the decimal digits of the number of nodes.
REPEATS = 4
URGENT, PLAIN = 0, 1


def urgency(rumour: Rumour) -> int:
    """Return PLAIN for a new node, of which there may be many, and URGENT for any other rumor."""
    is_new = rumour.state is NodeLife.ALIVE and rumour.incarnation == 0
    return PLAIN if is_new else URGENT


class RumorQueue:
    """The latest rumor about each node, by priority and by how often it was sent."""

    def __init__(self) -> None:
        self._place: dict[bytes, tuple[int, int]] = {}  # uuid: priority, times sent
        self._queues: tuple[list[dict[bytes, Rumour]], ...] = ([{}], [{}])  # [priority][times sent]

    def __len__(self) -> int:
        return len(self._place)

    def add(self, rumour: Rumour) -> None:
        """Queue a rumor in place of the previous one about the same node."""
        self.drop(rumour.node.uuid)
        self._put(rumour, urgency(rumour), 0)

    def drop(self, uuid: bytes) -> None:
        place = self._place.pop(uuid, None)
        if place is not None:
            del self._queues[place[0]][place[1]][uuid]

    def next_batch(self, alive: int, most: int = PACKET, sent: int | None = None) -> tuple[Rumour, ...]:
        """Return at most `most` rumors for one packet, and count them as sent.

        Urgent rumors come first, then the least sent, then the newest. With `sent`, only rumors that were
        sent fewer than `sent` times are returned.
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
        for rumour in reversed(picked):  # keeps the newest first among equals
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
