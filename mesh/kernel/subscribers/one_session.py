"""Chooses the session that receives a message for one session of a client."""

# Law 1: each message goes to exactly one inbox: that with the fewest unread bytes.
# Law 2: of inboxes with equally many, the one that was chosen longest ago gets the message.

from __future__ import annotations

from collections.abc import Mapping, MutableMapping, Sequence

from mesh.wire.envelope import Envelope


class OneSession:
    """The turns of the inboxes of a node, by name: the larger the number, the later an inbox was chosen."""

    def __init__(self) -> None:
        self._turns: dict[str, int] = {}

    def share_out(self, envelope: Envelope, unread: Mapping[str, int]) -> dict[str, Envelope]:
        """Return the part of the envelope for each inbox that gets messages.

        `unread` has the unread bytes of each inbox that may get messages, which must be at least one.
        """
        sizes = [end - start for start, end in map(envelope.slice, range(envelope.count))]
        chosen = choose(sizes, unread, self._turns)
        return {name: envelope.cut(indices) for name, indices in chosen.items()}

    def forget_inbox(self, name: str) -> None:
        self._turns.pop(name, None)


def choose(
    sizes: Sequence[int], unread: Mapping[str, int], turns: MutableMapping[str, int]
) -> dict[str, list[int]]:
    """Return the indices of the messages for each inbox, and update `turns`.

    `sizes` has the bytes of each message. Bytes of earlier messages count as unread for later ones.
    """
    loads = dict(unread)
    turn = max((turns.get(name, 0) for name in loads), default=0)
    found: dict[str, list[int]] = {}
    for index, size in enumerate(sizes):
        name = min(loads, key=lambda name: (loads[name], turns.get(name, 0), name))
        loads[name] += size
        turn += 1
        turns[name] = turn
        found.setdefault(name, []).append(index)
    return found
