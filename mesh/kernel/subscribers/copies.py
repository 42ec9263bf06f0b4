"""Copies of retained values at a master and its backups, each of which keeps all values."""

# Law 1: of two values, the one with the newer timestamp of its master stays. An erased topic stays erased.
# Law 2: a node keeps only values of topics for which the rules name it.

from __future__ import annotations

from collections.abc import Iterable

from mesh.kernel.context.disk import Disk
from mesh.kernel.context.node_clock import AHEAD
from mesh.kernel.context.node_context import NodeContext
from mesh.mapping.mapping import Mapping
from mesh.routing.log import Log
from mesh.routing.retained_value import RetainedValue, last_values
from mesh.wire.envelope import ERASED, Envelope


class Copies:
    """The copies that this node keeps, in its own log."""

    def __init__(self, context: NodeContext, mapping: Mapping, log: Log, disk: Disk) -> None:
        self._context = context
        self._mapping = mapping
        self._log = log
        self._disk = disk

    def keep_values(self, e: Envelope) -> None:
        """Keep the values of another master's envelope, for the topics for which the rules name this node.

        An erasure removes a kept value. An envelope with a timestamp too far ahead is ignored.
        """
        if not self._mapping.has_backups:
            return
        mine = [key for key in e.keys if self._mapping.is_kept(key, e)]
        if not mine or e.sent > self._context.clock.believed + AHEAD:
            return
        if e.flags & ERASED:
            self._log.inherit_end(e)
        else:
            self._store_values(last_values(e, without=set(e.keys) - set(mine)))
        self._disk.commit_later()

    def store_copies(self, values: Iterable[Envelope]) -> int:
        """Keep the values of another master that are newer than those here, and return their number.

        Expired values are ignored, and so are values of other topics or with a timestamp too far ahead.
        """
        latest, is_kept = self._context.clock.believed + AHEAD, self._mapping.is_kept
        ours = [e for e in values if e.count == 1 and e.sent <= latest and is_kept(e.keys[0], e)]
        count = self._store_values(last for e in ours for last in last_values(e))
        self._disk.commit_later()
        return count

    def _store_values(self, values: Iterable[RetainedValue]) -> int:
        return self._log.inherit(last for last in values if not last.is_void(self._context.clock.believed))
