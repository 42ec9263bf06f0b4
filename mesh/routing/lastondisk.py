"""Which last value of each topic is on disk, or on its way there? Of several masters one may get it late."""

from collections.abc import Callable

from msgspec.structs import replace

from mesh.operations import Op, Put
from mesh.routing.last import Last
from mesh.routing.retained import Retained


class LastOnDisk:
    """By the row of the topic. `later(table, key, op)` has something written with the next commit."""

    def __init__(self, retained: Retained, later: Callable[[str, bytes, Op], None], here: str = "") -> None:
        """`here`: the name of this site."""
        self._here = here
        self._retained = retained
        self._later = later
        self._newest: dict[bytes, Last] = {}  # without its data
        self._before: dict[bytes, Last | None] = {}  # what is there for certain, while that is on its way
        self._ending: dict[bytes, Last] = {}  # the end of the topic, while that is on its way
        self._passed_over: dict[bytes, Last] = {}  # the newest that was taken, should that one not get there

    def is_there(self, value: Last) -> None:
        """Or on its way."""
        self._newest[value.store_key] = replace(value, data=b"")

    def has(self, row: bytes) -> bool:
        """Is something of it there, or on its way?"""
        return row in self._newest

    def goes(self, value: Last) -> bool:
        """Is it the newest? Then it goes there, says the caller, with its message."""
        row, on_disk = value.store_key, self._newest.get(value.store_key)
        if row in self._ending and on_disk is self._ending[row]:
            on_disk = self._before.get(row)
        if on_disk is not None and on_disk.is_newer_than(value, self._here):
            return False
        self._before.setdefault(row, on_disk)
        self.is_there(value)
        return True

    def ends(self, end: Last) -> None:
        """Its topic is to be no more."""
        row = end.store_key
        self._before.setdefault(row, self._newest.get(row))
        self._ending[row] = self._newest[row] = end

    def ended(self, end: Last) -> None:
        """Forget a topic that has ended: of what came before, nothing is there, or counts."""
        row, ending = end.store_key, self._ending.get(end.store_key)
        self._passed_over.pop(row, None)
        self._before[row] = None
        if ending is not None and ending.stamp == end.stamp:  # else it ends once more
            del self._ending[row]
            if self._newest.get(row) is ending:  # else somebody publishes it again
                self.forget(row)

    def forget(self, row: bytes) -> None:
        """The topic is no more."""
        for known in (self._newest, self._before, self._ending, self._passed_over):
            known.pop(row, None)

    def taken(self, value: Last) -> bool:
        """Count a value. Unless it, or a newer one, is on disk or on its way there, it goes there now. True:
        it is certain with the next commit only."""
        row, on_disk = value.store_key, self._newest.get(value.store_key)
        if row in self._ending:
            self._pass_over(value)
        elif on_disk is None or value.is_newer_than(on_disk, self._here):
            self._before.setdefault(row, on_disk)
            self.is_there(value)
            self._passed_over[row] = value  # a newer one may take its place on the way, and be refused
            self._later("retained", row, Put("retained", row, value.pack()))
            return True
        elif on_disk.stamp == value.stamp:  # it is there
            self._before.pop(row, None)
            self._passed_over.pop(row, None)
        else:
            self._pass_over(value)
            there = self._before.get(row, on_disk)
            return there is None or value.is_newer_than(there, self._here)
        return False

    def _pass_over(self, value: Last) -> None:
        known = self._passed_over.get(value.store_key)
        if known is None or value.is_newer_than(known, self._here):
            self._passed_over[value.store_key] = value

    def refused(self, value: Last) -> None:
        """There was no room for it, or for the end of its topic: what was there is there, and what is newer
        than that goes there."""
        row = value.store_key
        newest, on_its_way = self._newest.get(row), self._ending.get(row, self._newest.get(row))
        if on_its_way is None or on_its_way.stamp != value.stamp:
            return
        self._ending.pop(row, None)
        if newest is on_its_way:  # else somebody has published it again since
            self._is_as_before(row)
        last, there = self._passed_over.get(row), self._newest.get(row)
        known = self._retained.get(value.key, value.envelope.domain)
        if known is not None and known.envelope.persistent:
            last = known if last is None or known.is_newer_than(last, self._here) else last
        if last is not None and (there is None or last.is_newer_than(there, self._here)):
            self.taken(last)

    def _is_as_before(self, row: bytes) -> None:
        before = self._before.get(row)
        if before is None:
            del self._newest[row]
        else:
            self._newest[row] = before
