"""Which last value of each topic is on disk, or on its way there? Of several masters one may get it late."""

from collections.abc import Callable
from dataclasses import replace

from mesh.routing.retained import Last, Retained
from mesh.store.base import Op, Put


class LastOnDisk:
    """By the row of the topic. `later(table, key, op)` has something written with the next commit."""

    def __init__(self, retained: Retained, later: Callable[[str, bytes, Op], None]) -> None:
        self._retained = retained
        self._later = later
        self._newest: dict[bytes, Last] = {}  # without its data
        self._before: dict[bytes, Last | None] = {}  # what is there for certain, while that is on its way
        self._passed_over: dict[bytes, Last] = {}  # the newest that was taken, should that one not get there

    def is_there(self, value: Last) -> None:
        """Or on its way."""
        self._newest[value.store_key] = replace(value, data=b"")

    def goes(self, value: Last) -> bool:
        """Is it the newest? Then it goes there, says the caller, with its message."""
        on_disk = self._newest.get(value.store_key)
        if on_disk is not None and on_disk.is_newer_than(value):
            return False
        self._before.setdefault(value.store_key, on_disk)
        self.is_there(value)
        return True

    def ends(self, end: Last) -> None:
        """Its topic is to be no more: what is older does not go there meanwhile."""
        self._before.setdefault(end.store_key, self._newest.get(end.store_key))
        self.is_there(end)

    def ended(self, end: Last) -> None:
        """It is no more: of what came before, nothing is there, or counts."""
        row, newest = end.store_key, self._newest.get(end.store_key)
        if newest is None or newest.stamp == end.stamp:
            self.forget(row)
        else:  # somebody publishes it again
            self._before[row] = None
            self._passed_over.pop(row, None)

    def forget(self, row: bytes) -> None:
        """The topic is no more."""
        for known in (self._newest, self._before, self._passed_over):
            known.pop(row, None)

    def taken(self, value: Last) -> None:
        """It counts. Unless it, or a newer one, is on disk or on its way there, it goes there now."""
        row, on_disk = value.store_key, self._newest.get(value.store_key)
        if on_disk is None or value.is_newer_than(on_disk):
            self._before.setdefault(row, on_disk)
            self.is_there(value)
            self._passed_over[row] = (
                value  # a newer one may take its place before it is there, and be refused
            )
            self._later("retained", row, Put("retained", row, value.pack()))
        elif on_disk.stamp == value.stamp:  # it is there
            self._before.pop(row, None)
            self._passed_over.pop(row, None)
        elif row not in self._passed_over or value.is_newer_than(self._passed_over[row]):
            self._passed_over[row] = value

    def refused(self, value: Last) -> None:
        """There was no room for it: what was there is there, and what is newer than that goes there."""
        row, on_disk = value.store_key, self._newest.get(value.store_key)
        if on_disk is None or on_disk.stamp != value.stamp:
            return
        before = self._before.get(row)
        if before is None:
            del self._newest[row]
        else:
            self._newest[row] = before
        last = self._passed_over.get(row)
        known = self._retained.get(value.key, value.envelope.domain)
        if known is not None and known.envelope.persistent and (last is None or known.is_newer_than(last)):
            last = known
        if last is not None and (before is None or last.is_newer_than(before)):
            self.taken(last)
