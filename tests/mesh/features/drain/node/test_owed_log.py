"""How much of its log a drained node still owes to a peer."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from mesh.features.drain.node.owed_log import OwedLog
from mesh.kernel.context.leaving import Leaving, Step
from mesh.routing.peerfeed import PeerFeed
from tests.mesh.routing.feeds import ME, Ends, stored


class Drained:
    """A node in the step LOG, which owed its only peer the first two messages when the step began."""

    def __init__(self) -> None:
        self.ends, leaving = Ends(kind=PeerFeed), Leaving()
        shelf = SimpleNamespace(next_position=3)
        peer = SimpleNamespace(node=SimpleNamespace(name="stork"), begun=SimpleNamespace(feed=self.ends.feed))
        context: Any = SimpleNamespace(
            leaving=leaving, visits=None, me=SimpleNamespace(uuid=ME, name="heron")
        )
        disk: Any = SimpleNamespace(shelf=shelf)
        nodes: Any = SimpleNamespace(is_alive=lambda name: True)
        inboxes: Any = SimpleNamespace(feeds=list)
        peers: Any = {b"p" * 16: peer}
        sessions: Any = SimpleNamespace(by_stream={})
        self._log = OwedLog(context, disk, nodes, peers, sessions, inboxes)
        self.ends.offer(stored(1), stored(2))
        leaving.enter_step(Step.LOG, 0.0)
        self._log._on_leaving()

    @property
    def owed(self) -> int:
        return sum(left.amount for left in self._log.remains())


def test_messages_that_a_peer_has_not_settled_are_owed_again_after_its_restart_whatever_came_since() -> None:
    it = Drained()
    feed = it.ends.feed
    feed.connect(0.0)
    it.ends.offer(stored(3), stored(0))
    feed.on_processed(3, 0.0)
    assert it.owed == 2
    it.ends.offer(stored(4))
    feed.restart()
    assert it.owed == 2
    feed.connect(0.0)
    feed.on_processed(3, 0.0)
    feed.settle_master(ME, 1)
    assert it.owed == 1
    feed.settle_master(ME, 2)
    assert it.owed == 0 and feed.is_owed
