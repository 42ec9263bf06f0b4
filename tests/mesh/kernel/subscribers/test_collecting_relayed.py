"""The inbox of a session that visits a node which cannot link with its home: a node in the middle relays."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.kernel.subscribers.remote_inboxes import SILENCE
from mesh.wire.replies import Collected
from tests.mesh.kernel.masters import Cluster, cluster
from tests.simulated_client import SimClient, Subscription


class Relayed:
    """joe's home is heron. joe has moved to bilbo, which reaches heron through frodo. ann is at heron."""

    def __init__(self) -> None:
        self.c: Cluster = cluster("heron", "frodo", "bilbo")
        self.joe: SimClient = self.c.roamer("heron")
        self.inbox: Subscription = self.joe.inbox()
        self.ann = self.c.client("heron", "ann")
        self.c.net.cut("heron", "bilbo")
        self.move("bilbo")

    def move(self, node: str) -> None:
        self.joe.move(self.c[node].ipc)
        self.c.net.until(lambda: self.joe.is_up and self.joe.core.line.home == node, 30.0)

    def send(self, *contents: bytes) -> None:
        for content in contents:
            self.ann.send(self.joe.session_name, content, persistent=True, force=True)

    def arrives(self, *contents: bytes) -> None:
        self.c.net.until(lambda: len(self.inbox.contents) >= len(contents), 30.0)
        self.c.net.run(3)
        assert self.inbox.contents == list(contents), "in order, and once"


def test_what_waits_and_what_is_new_comes_through_the_node_in_the_middle() -> None:
    it = Relayed()
    it.send(b"1", b"2")
    it.arrives(b"1", b"2")
    assert it.inbox.got[0].route == ("heron", "frodo", "bilbo")
    it.send(b"3")
    it.arrives(b"1", b"2", b"3")
    heron = it.c["heron"]
    it.c.net.until(lambda: heron.metric("stored_envelopes") == 0, 10.0)
    peer = heron.core.parts.neighbours.peers[it.c["bilbo"].uuid]
    assert peer.data is None, "heron and bilbo are not linked"


def test_unread_messages_outlive_each_of_the_three_nodes() -> None:
    it = Relayed()
    it.joe.use(it.inbox, 0.0)
    it.send(b"1", b"2")
    it.c.net.until(lambda: len(it.inbox.waiting) == 2, 30.0)
    for name in ("frodo", "heron", "bilbo"):
        it.c[name].restart()
        it.c.net.run(8)
    it.c.net.until(lambda: it.joe.is_up, 30.0)
    it.joe.use(it.inbox)
    it.send(b"3")
    it.arrives(b"1", b"2", b"3")


def test_law_3_without_questions_the_session_is_disconnected_and_returns() -> None:
    it = Relayed()
    it.send(b"1")
    it.arrives(b"1")
    [reader] = it.c["heron"].core.parts.inboxes.remote
    assert reader.is_connected
    it.c["frodo"].kill()
    it.c.net.until(lambda: not reader.is_connected, SILENCE + 5)
    it.send(b"2")
    it.c["frodo"].start()
    it.arrives(b"1", b"2")


@pytest.mark.parametrize(("visited", "code"), [([], ""), (["bilbo"], "FORGED_VISIT")])
def test_law_4_a_relay_cannot_collect_for_a_node_that_is_linked(visited: list[str], code: str) -> None:
    it = Relayed()
    it.move("frodo")
    it.send(b"1")
    it.arrives(b"1")
    frodo = it.c["frodo"].core.parts
    [found] = frodo.subscribing._inboxes._collections.values()
    ready, codes = frodo.subscribing._inboxes._home_of(found), list[str]()
    assert ready is not None

    def came(replies: Any, missing: Any) -> None:
        codes.extend(reply.code for reply in replies.values())

    ask = replace(found.question(ready[1]), visited=visited)
    frodo.questions.ask_all([ready[0]], ask, Collected, came, 5.0)
    it.c.net.until(lambda: codes, 10.0)
    assert codes == [code]


def test_the_direct_link_is_used_again_as_soon_as_there_is_one() -> None:
    it = Relayed()
    it.send(b"1")
    it.arrives(b"1")
    it.c.net.heal()
    [reader] = it.c["heron"].core.parts.inboxes.remote
    it.c.net.until(lambda: not reader.is_relayed, 60.0)
    it.send(b"2")
    it.arrives(b"1", b"2")
