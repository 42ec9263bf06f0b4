"""Records which retained value of each topic is on disk or being written."""

from collections.abc import Callable

from msgspec.structs import replace

from mesh.operations import Op, Put
from mesh.routing.retained import Retained
from mesh.routing.retained_value import RetainedValue


class RetainedValueRows:
    """Retained values on disk, by the row of the topic.

    `later(table, key, op)` writes with the next commit. `here` is the name of this site.
    """

    def __init__(self, retained: Retained, later: Callable[[str, bytes, Op], None], here: str = "") -> None:
        self._here = here
        self._retained = retained
        self._later = later
        self._newest: dict[bytes, RetainedValue] = {}  # without data
        # On disk for certain, while `_newest` is being written.
        self._before: dict[bytes, RetainedValue | None] = {}
        self._ending: dict[bytes, RetainedValue] = {}  # end of the topic that is being written
        # The newest value not written, in case that write fails.
        self._passed_over: dict[bytes, RetainedValue] = {}

    def is_there(self, value: RetainedValue) -> None:
        """Record that the value is on disk or being written."""
        self._newest[value.store_key] = replace(value, data=b"")

    def has_value(self, row: bytes) -> bool:
        """Return whether the row has a value on disk or being written."""
        return row in self._newest

    def goes(self, value: RetainedValue) -> bool:
        """Return whether no newer value is on disk or being written, and record the value if so.

        The caller then writes it with its message.
        """
        row, on_disk = value.store_key, self._newest.get(value.store_key)
        if row in self._ending and on_disk is self._ending[row]:
            on_disk = self._before.get(row)
        if on_disk is not None and on_disk.is_newer_than(value, self._here):
            return False
        self._before.setdefault(row, on_disk)
        self.is_there(value)
        return True

    def ends(self, end: RetainedValue) -> None:
        """Record that the end of the topic is being written."""
        row = end.store_key
        self._before.setdefault(row, self._newest.get(row))
        self._ending[row] = self._newest[row] = end

    def record_end(self, end: RetainedValue) -> None:
        """Record that the topic has ended: earlier values no longer count."""
        row, ending = end.store_key, self._ending.get(end.store_key)
        self._passed_over.pop(row, None)
        self._before[row] = None
        if ending is not None and ending.stamp == end.stamp:  # false if it ends once more
            del self._ending[row]
            if self._newest.get(row) is ending:  # false if it was published again
                self.forget_topic(row)

    def forget_topic(self, row: bytes) -> None:
        for known in (self._newest, self._before, self._ending, self._passed_over):
            known.pop(row, None)

    def record_accepted(self, value: RetainedValue) -> bool:
        """Record an accepted value, and write it unless it or a newer one is on disk or being written.

        Return whether the value is safely on disk only after the next commit.
        """
        row, on_disk = value.store_key, self._newest.get(value.store_key)
        if row in self._ending:
            self._pass_over(value)
            there = self._before.get(row)
            return there is None or value.is_newer_than(there, self._here)
        if on_disk is None or value.is_newer_than(on_disk, self._here):
            self._before.setdefault(row, on_disk)
            self.is_there(value)
            self._passed_over[row] = value  # a newer one may replace it and be refused
            self._later("retained", row, Put("retained", row, value.pack()))
            return True
        elif on_disk.stamp == value.stamp:  # already on disk
            self._before.pop(row, None)
            self._passed_over.pop(row, None)
        else:
            self._pass_over(value)
            there = self._before.get(row, on_disk)
            return there is None or value.is_newer_than(there, self._here)
        return False

    def _pass_over(self, value: RetainedValue) -> None:
        known = self._passed_over.get(value.store_key)
        if known is None or value.is_newer_than(known, self._here):
            self._passed_over[value.store_key] = value

    def restore_previous(self, value: RetainedValue) -> None:
        """Restore the previous state after a value, or the end of a topic, could not be stored.

        If a newer value was skipped because of it, the newer value is written instead.
        """
        row = value.store_key
        newest, on_its_way = self._newest.get(row), self._ending.get(row, self._newest.get(row))
        if on_its_way is None or on_its_way.stamp != value.stamp:
            return
        self._ending.pop(row, None)
        if newest is on_its_way:  # false if it was published again
            self._is_as_before(row)
        last, there = self._passed_over.get(row), self._newest.get(row)
        known = self._retained.get(value.key, value.envelope.domain)
        if known is not None and known.envelope.persistent:
            last = known if last is None or known.is_newer_than(last, self._here) else last
        if last is not None and (there is None or last.is_newer_than(there, self._here)):
            self.record_accepted(last)

    def _is_as_before(self, row: bytes) -> None:
        before = self._before.get(row)
        if before is None:
            del self._newest[row]
        else:
            self._newest[row] = before
