"""Which taker has the messages of a group?"""

# Law: all that is out of a group is with one taker. It is his while he is there, until all of it is done. But
#      who chooses may not want the rest: of him it is only while he has something of it.

from __future__ import annotations

from msgspec import Struct

from mesh.queues.takers.taker import QueueTaker


class MessageGroup(Struct, eq=False):
    """A group that has messages in the queue."""

    messages: int = 0  # that are not done
    home: QueueTaker | None = None
    out: int = 0  # messages that he has
    held: int = 0  # times that somebody gave something back for later: nothing goes past that
    late: int = 0  # messages that were put for later: anything goes past these
    going: int = 0  # messages that are on their way to another node
    line: object = None  # all that waits of it for room on its way stands there; None: not so


class MessageGroups:
    """By name; one is forgotten with its last message."""

    def __init__(self) -> None:
        self._all: dict[str, MessageGroup] = {}

    def __bool__(self) -> bool:
        return bool(self._all)

    def add(self, name: str, n: int) -> None:
        """So many messages of it have come."""
        if name:
            self._all.setdefault(name, MessageGroup()).messages += n

    def may_have(self, name: str, taker: QueueTaker) -> bool:
        """May he be given something of it?"""
        if not name:
            return True
        group = self._all[name]
        home = group.home
        is_free = home is None or home is taker or (home.selector is not None and not group.out)
        return is_free and not group.held

    def is_out(self, name: str) -> bool:
        """Has somebody something of it, or given it back for later?"""
        group = self._all.get(name) if name else None
        return group is not None and bool(group.out or group.held)

    def hold(self, name: str, n: int) -> None:
        """Something was given back for later, or its time has come."""
        if name in self._all:
            self._all[name].held += n

    def put_off(self, name: str, n: int) -> None:
        """So many messages of it were put for later, or their time has come."""
        if name in self._all:
            self._all[name].late += n

    def go(self, name: str, n: int) -> None:
        """So many messages of it are on their way to another node, or no more."""
        if name in self._all:
            self._all[name].going += n

    def follows(self, name: str, new: int, line: object) -> bool:
        """May what was just put of it stand in that line to another node? Not if some of it waits elsewhere:
        then it stays, and so does what comes next. `new`: messages of it that were put, and stand nowhere
        yet; None for a line: not all of these go, or not to one node.
        """
        group = self._all.get(name)
        if group is None:
            return True
        is_all = group.messages - group.out - group.late - group.going <= new
        is_behind = line is not None and group.line is line
        group.line = line if is_all or is_behind else None
        return is_all or is_behind

    def out(self, name: str, taker: QueueTaker, n: int) -> None:
        """He was given so many messages of it: it is his while he is there."""
        if name:
            group = self._all[name]
            group.home = taker
            group.out += n

    def back(self, name: str, n: int) -> bool:
        """So many messages of it are out no more. May others have it now who could not before?"""
        if not name:
            return False
        group = self._all[name]
        group.out -= n
        return not group.out and group.home is not None and group.home.selector is not None

    def done(self, name: str, n: int) -> None:
        """So many messages of it are done."""
        if name:
            group = self._all[name]
            group.messages -= n
            if not group.messages:
                del self._all[name]

    def leave(self, taker: QueueTaker) -> bool:
        """He has gone; did any belong to him?"""
        his = [group for group in self._all.values() if group.home is taker]
        for group in his:
            group.home = None
        return bool(his)
