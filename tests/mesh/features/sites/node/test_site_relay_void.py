"""Expired messages for a site: they use no space, and are counted and not delivered."""

from typing import Any

import pytest

from mesh.features.sites.node.parts import SiteParts
from tests.mesh.features.sites.node.meshes import Reader
from tests.mesh.features.sites.node.test_pausing import said
from tests.mesh.features.sites.node.test_sitefeed import STOCK, again, pair
from tests.mesh.origins import silence
from tests.seeds import scenarios
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork

KIB, S = 1024, 10**9
ROOM = 2 * KIB * KIB
# Where a message waits: sent to a gateway but not to the other site, or not sent. It is in memory, or on disk
# only.
KINDS: dict[str, dict[str, Any]] = {
    "left": {},
    "waiting": {"window_count": 2},
    "on the disk": {"window_count": 2, "memory_bytes": 0},
    "read in parts": {"window_bytes": 300 * KIB, "memory_bytes": 0},
}
MARKS, REJECTS = frozenset[str](), frozenset({"NYC"})
# The first four cases have each kind once, and each reaction to a full buffer twice.
CASES = [(kind, (MARKS, REJECTS)[(at + other) % 2]) for other in (0, 1) for at, kind in enumerate(KINDS)]


class Full:
    """Two sites, of which NYC is paused. The messages that wait for it expire in 30 s, but for the first."""

    def __init__(self, **settings: Any) -> None:
        self.net = net = SimNetwork()
        self.gull, self.heron = pair(net)
        again(self.heron, outboxes={"NYC": ROOM}, **settings)
        said(self.heron, site="NYC")
        self.heard = Reader(net, self.gull.ipc, "ann").connected().subscribed("quote", domain=STOCK)
        self.joe = SimClient(net, self.heron.ipc, "joe").connected()
        self.count = 0
        self.publish(0)
        while self.waits < 12 and not self.lacks and self.publish(30) == "OK":
            pass

    def publish(self, seconds: int, persistent: bool = True) -> str:
        self.count += 1
        expires = self.heron.wall + seconds * S if seconds else 0
        content = b"%d" % self.count + bytes(256 * KIB)
        self.joe.publish("quote", content, domain=STOCK, persistent=persistent, expires=expires)
        self.joe.settled()
        return self.joe.state(self.count, STOCK)

    @property
    def waits(self) -> int:
        return self.heron.metric("site_pending")

    @property
    def lacks(self) -> int:
        return self.heron.metric("site_dropped")

    @property
    def got(self) -> list[bytes]:
        return [content.rstrip(b"\0") for content in self.heard.contents]

    def goes_on(self) -> None:
        said(self.heron, site="NYC", pause=False)
        self.net.until(lambda: not self.waits)
        self.net.run(2)


@pytest.mark.parametrize("case", scenarios(CASES, 2), ids=str)
def test_what_is_void_holds_no_room(case: tuple[str, frozenset[str]]) -> None:
    kind, rejecting = case
    it = Full(rejecting=rejecting, **KINDS[kind])
    waits, lacks = it.waits, it.lacks
    assert waits > 5 and (it.publish(0) == "SITE_FULL") == bool(rejecting)
    it.net.run(40)
    assert it.waits == 1 and it.heron.metric("stored_envelopes") == 1
    assert it.heron.metric("undelivered") == waits - 1 + it.lacks
    assert it.publish(0) == "OK"
    assert it.lacks == lacks + (not rejecting)
    it.goes_on()
    assert it.got == [b"1", b"%d" % it.count]
    out = it.heron.core.parts[SiteParts].outbound.by_name["NYC"]
    left = out.unsent, out.feed.in_flight.streams, out.feed.waiting_bytes
    assert not any(left) and not out.feed.in_flight._promises and out.feed.position >= it.count - it.lacks
    feed = out.feed
    assert feed.matched == feed.delivered + feed.dropped + feed.expired and feed.expired == waits - 1
    again(it.heron)
    assert it.waits == 0


def test_what_became_void_just_now_is_not_sent() -> None:
    it = Full()
    it.heron.leap(40 * S)
    it.goes_on()
    assert it.got == [b"1"]


def test_transient_messages_hold_no_room_either() -> None:
    it = Full(window_count=2, backlog_bytes=KIB * KIB, rejecting=frozenset({"NYC"}))
    assert it.publish(30, persistent=False) == "SITE_FULL"
    it.net.run(40)
    while it.publish(30, persistent=False) == "OK":
        pass
    assert 3 < it.waits < 8, "of those"
    it.net.run(40)
    assert (it.waits, it.publish(0, persistent=False)) == (1, "OK")


def test_what_was_sent_may_be_there_and_is_kept_until_it_is_answered() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    silence(gull.core.parts)
    joe = SimClient(net, heron.ipc, "joe").connected()
    joe.publish("quote", b"1", domain=STOCK, persistent=True, expires=heron.wall + 30 * S)
    net.until(lambda: gull.metric("published") == 1)
    net.run(40)
    assert (heron.metric("site_pending"), heron.metric("undelivered")) == (1, 0)
    again(gull)
    net.until(lambda: not heron.metric("site_pending"))
    assert heron.metric("undelivered") == 0, "it says now that it has it"
