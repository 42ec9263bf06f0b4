"""Message groups: which consumer receives the messages of a group."""

# Law: all outstanding messages of a group are with one consumer. The group stays with that consumer until all
# messages are done or the consumer leaves; with a selector, only while messages are outstanding.

from __future__ import annotations

from msgspec import Struct

from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer


class MessageGroup(Struct, eq=False):
    """A message group that has messages in the queue."""

    messages: int = 0  # messages that are not done
    home: QueueConsumer | None = None
    out: int = 0  # outstanding messages
    held: int = 0  # delayed redeliveries, which block the group
    late: int = 0  # messages published with a delay, not blocking
    going: int = 0  # messages that move to another node
    line: object = None  # where all its messages wait for a move


class MessageGroups:
    """Message groups by name; a group is removed with its last message."""

    def __init__(self) -> None:
        self._all: dict[str, MessageGroup] = {}

    def __bool__(self) -> bool:
        return bool(self._all)

    def add(self, name: str, n: int) -> None:
        if name:
            self._all.setdefault(name, MessageGroup()).messages += n

    def may_have(self, name: str, taker: QueueConsumer) -> bool:
        """Return whether a consumer may receive messages of a group; True for "", which is no group."""
        if not name:
            return True
        group = self._all[name]
        home = group.home
        is_free = home is None or home is taker or (home.selector is not None and not group.out)
        return is_free and not group.held

    def is_out(self, name: str) -> bool:
        """Return whether messages of a group are outstanding, or are delayed redeliveries, which block it."""
        group = self._all.get(name) if name else None
        return group is not None and bool(group.out or group.held)

    def add_delayed(self, name: str, n: int) -> None:
        """Add `n` to the delayed redeliveries of a group; a negative `n` subtracts."""
        if name in self._all:
            self._all[name].held += n

    def add_published_late(self, name: str, n: int) -> None:
        """Add `n` to the messages of a group that were published with a delay; a negative `n` subtracts."""
        if name in self._all:
            self._all[name].late += n

    def add_moving(self, name: str, n: int) -> None:
        """Add `n` to the messages of a group that move to another node; a negative `n` subtracts."""
        if name in self._all:
            self._all[name].going += n

    def follows(self, name: str, new: int, line: object) -> bool:
        """Return whether new messages of a group may wait in `line` for a move to another node.

        If older messages of the group wait elsewhere, the new messages stay here, and so do later ones. `new`
        counts the messages that wait in no line yet. `line` is `None` if they do not all move to one node.
        """
        group = self._all.get(name)
        if group is None:
            return True
        is_all = group.messages - group.out - group.late - group.going <= new
        is_behind = line is not None and group.line is line
        group.line = line if is_all or is_behind else None
        return is_all or is_behind

    def out(self, name: str, taker: QueueConsumer, n: int) -> None:
        """Record that a consumer received `n` messages of a group, and make it the home of the group."""
        if name:
            group = self._all[name]
            group.home = taker
            group.out += n

    def remove_outstanding(self, name: str, n: int) -> bool:
        """Remove `n` outstanding messages, and return whether that releases the group from its consumer."""
        if not name:
            return False
        group = self._all[name]
        group.out -= n
        return not group.out and group.home is not None and group.home.selector is not None

    def done(self, name: str, n: int) -> None:
        if name:
            group = self._all[name]
            group.messages -= n
            if not group.messages:
                del self._all[name]

    def free_groups(self, taker: QueueConsumer) -> bool:
        """Free the groups of a consumer that has left, and return whether it had any."""
        his = [group for group in self._all.values() if group.home is taker]
        for group in his:
            group.home = None
        return bool(his)
