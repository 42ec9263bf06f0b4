"""Messages of transactions whose masters are other nodes: in the outbound buffer, by the same commit."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import structs

from mesh.mapping.rules import Rule
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from mesh.wire.properties import decode_properties
from tests.mesh.features.queues.node.worker import dead_letters
from tests.mesh.features.transactions.node.clerk import Clerk
from tests.mesh.kernel.masters import RUGBY, Cluster, cluster
from tests.simulated_client import client_of

DEAD = "__sys__deadMessage/#"
WARNED = ["FORWARD_WARNING", 0]


class Desk:
    """A client of golan, which is the master of STOCK; heron is the master of RUGBY, and ann its reader."""

    def __init__(self, **settings: Any) -> None:
        self.nodes: Cluster = cluster("heron", "golan", **settings)
        self.net, self.golan, self.heron = self.nodes.net, self.nodes["golan"], self.nodes["heron"]
        self.joe = Clerk(self.golan, "joe")
        self.joe.declare("jobs")
        self.heard = client_of(self.heron, "ann").subscribed(pattern="a/#", domain=RUGBY)
        self.net.run(1.0)

    def far(self, content: bytes, **more: int) -> Envelope:
        return self.joe.message("a/k", content, domain=RUGBY, **more)

    def final(self, number: int, domain: str = RUGBY) -> str:
        """Return the state of the latest answer."""
        answers = reversed(self.joe.answers)
        return next((a.state for a in answers if a.domain == domain and a.first <= number <= a.last), "")

    def until_final(self, number: int, state: str = "OK", domain: str = RUGBY) -> None:
        self.net.until(lambda: self.final(number, domain) == state)


def test_a_message_for_another_master_leaves_after_the_commit_and_gets_its_final_answer() -> None:
    it = Desk()
    reply = it.joe.commit([], it.joe.envelope("jobs", b"1"), it.far(b"2"))
    assert not reply.code
    assert [each[:2] for each in reply.value] == [["OK", 1], WARNED]
    assert "heron" in reply.value[1][2]
    it.until_final(1)
    it.net.until(lambda: it.heard.contents == [b"2"])
    assert it.joe.info("jobs")["ready"] == 1
    it.net.run(1.0)
    assert it.golan.metric("tailed_back") == 0
    assert len(list(it.golan.disk.load().envelopes)) == 1  # the put alone


@pytest.mark.parametrize("seed", range(10))
def test_a_crash_at_any_moment_sends_all_or_nothing(seed: int) -> None:
    it = Desk()
    parts = it.joe.envelope("jobs", b"1"), it.far(b"2")
    it.joe.commits([], *parts)
    it.net.run(0.0007 * seed)
    it.golan.kill()
    is_there = bool(it.golan.disk.load().tables.get("done"))
    it.golan.restart()
    it.nodes.met()
    if is_there:
        it.net.until(lambda: it.heard.contents == [b"2"])
    else:
        it.net.run(2.0)
        assert it.heard.contents == []
    it.joe.connect()
    assert it.joe.code([], *parts, count=1) == ""
    it.until_final(1)
    it.net.until(lambda: it.heard.contents == [b"2"])
    assert it.joe.info("jobs")["ready"] == 1


def test_a_refused_transaction_sends_nothing_and_gives_its_numbers_up() -> None:
    it = Desk()
    far = it.far(b"1")
    assert it.joe.code([], far, it.joe.envelope("nowhere", b"2")) == "NO_QUEUE"
    it.golan.disk.is_full = True
    full = it.far(b"2")
    request = it.joe.commits([], it.joe.envelope("jobs", b"3"), full)
    it.joe.publish_again(it.far(b"3", flags=0))  # sent at once, but behind it
    assert it.joe.reply_to(request).code == "STORE_FULL"
    it.until_final(3)
    it.golan.disk.is_full = False
    it.joe.vanish()
    it.joe.connect()
    for each in (far, full):
        it.joe.publish_again(each)
    it.joe.publish_again(it.far(b"4"))
    it.until_final(4)
    assert (it.final(1), it.final(2), it.heard.contents) == ("REFUSED", "REFUSED", [b"3", b"4"])
    assert (it.golan.metric("tailed_back"), it.joe.info("jobs")["ready"]) == (0, 0)


def test_messages_of_the_session_arrive_in_the_order_of_their_numbers() -> None:
    it = Desk()
    it.joe.publish_again(it.far(b"1"))
    it.joe.commits([], it.joe.envelope("jobs", b"x"), it.far(b"2"), it.far(b"3", flags=0))
    it.joe.publish_again(it.far(b"4", flags=0))
    it.joe.commits([], it.far(b"5"))
    it.until_final(5)
    assert it.heard.contents == [b"1", b"2", b"3", b"4", b"5"]


def test_earlier_messages_of_the_session_are_on_disk_with_it() -> None:
    it = Desk()
    it.net.cut("golan", "heron")
    it.joe.publish_again(it.far(b"1"))
    assert it.joe.code([], it.far(b"2")) == ""
    it.golan.kill()
    it.golan.restart()
    it.net.heal()
    it.net.until(lambda: it.heard.contents == [b"1", b"2"])


def test_it_waits_for_an_unreachable_master_over_a_restart_and_is_a_dead_letter_when_refused() -> None:
    it = Desk(tailback_ttl=60.0)
    it.heron.kill()
    reply = it.joe.commit([], it.far(b"1"), it.joe.envelope("jobs", b"2"))
    assert reply.value[0][:2] == WARNED
    it.golan.kill()
    it.golan.restart()
    it.joe.connect()
    it.net.run(70.0)
    it.heron.restart()
    it.nodes.met()
    (dead,) = it.golan.core.parts.router.log.retained.find_values(c.Query("pattern", DEAD, ""), 0)
    headers = decode_properties(dead.data[: dead.props]).headers
    assert (headers["dead-code"], headers["dead-transaction"]) == ("EXPIRED", "committed")
    events = [event.text for event in it.golan.core.parts.context.events.events_after(0)[0]]
    assert any("1 message of a committed transaction did not reach its master" in text for text in events)


def test_the_outbound_buffer_has_room_for_all_of_it_or_it_is_refused() -> None:
    it = Desk(tailback_count=3)
    it.heron.kill()
    four = [it.far(b"x") for _ in range(4)]
    reply = it.joe.commit([], it.joe.envelope("jobs", b"1"), *four)
    assert (reply.code, reply.value) == ("TAILBACK_FULL", 4)
    assert (it.joe.info("jobs")["ready"], it.golan.metric("tailed_back")) == (0, 0)
    assert it.joe.code([], *[it.far(b"x") for _ in range(3)]) == ""
    assert it.joe.code([], it.far(b"x")) == "TAILBACK_FULL"


@pytest.mark.parametrize("is_restarted", [False, True])
def test_room_in_the_outbound_buffer_is_kept_for_a_prepared_transaction(is_restarted: bool) -> None:
    it = Desk(tailback_count=3)
    it.heron.kill()
    assert it.joe.prepare("x", [], it.far(b"1"), it.far(b"2")) == ""
    assert it.joe.prepare("y", [], it.far(b"3")) == ""
    if is_restarted:
        it.golan.kill()
        it.golan.restart()
        it.joe.connect()
    assert it.joe.code([], it.far(b"x")) == "TAILBACK_FULL"
    assert it.joe.decide("golan/y", "rollback") == "refused"
    assert it.joe.code([], it.far(b"4")) == ""
    assert it.joe.code([], it.far(b"x")) == "TAILBACK_FULL"
    assert it.joe.decide("golan/x", "commit") == "committed"
    assert it.golan.metric("tailed_back") == 3
    it.heron.restart()
    it.nodes.met()
    it.net.until(lambda: sorted(it.heard.contents) == [b"1", b"2", b"4"])
    assert not dead_letters(it.golan)


def test_a_message_for_a_client_of_another_node_goes_the_same_way() -> None:
    it = Desk()
    eve = client_of(it.heron, "eve")
    inbox = eve.inbox()
    e = structs.replace(it.joe.message("", b"1"), domain="d", to=eve.session_name, keys=("",))
    reply = it.joe.commit([], e, it.joe.envelope("jobs", b"2"))
    assert reply.value[0][:2] == WARNED
    it.until_final(1, domain="d")
    assert inbox.contents == [b"1"]
    nobody = structs.replace(e, first=2, last=2, to="/node/heron/client/nobody")
    assert it.joe.commit([], nobody, it.joe.envelope("jobs", b"2")).value[0][:2] == WARNED
    it.until_final(2, "NOT_CONNECTED", domain="d")
    assert dead_letters(it.golan) == 1


SPLIT = (Rule("golan", keys=("near",)), Rule("heron", keys=("far",)))
BOTH = (Rule("golan", domains=("b",)), Rule("heron", domains=("b",)))


def test_an_envelope_for_two_masters_is_answered_as_a_whole_and_finally_in_parts() -> None:
    it = Desk(rules={"golan": SPLIT, "heron": SPLIT})
    near = client_of(it.golan, "bob").subscribed("near")
    e = it.joe.message("near", b"1")
    e = structs.replace(e, last=2, keys=("near", "far"), count=2, body=b"12", index=b"\0\0\1\0")
    assert [each[:2] for each in it.joe.commit([], e).value] == [WARNED]
    it.net.until(lambda: near.contents == [b"1"])
    it.until_final(1, domain="")
    it.until_final(2, domain="")
    assert (it.golan.metric("published"), it.heron.metric("published")) == (1, 1)


def test_a_message_for_several_masters_is_stored_here_until_each_has_it() -> None:
    it = Desk(rules={"golan": BOTH, "heron": BOTH})
    near = client_of(it.golan, "bob").subscribed("k", domain="b")
    it.net.run(1.0)
    it.heron.kill()
    assert [each[:2] for each in it.joe.commit([], it.joe.message("k", b"1", domain="b")).value] == [WARNED]
    it.net.until(lambda: near.contents == [b"1"])
    it.heron.restart()
    it.until_final(1, domain="b")
    assert it.heron.metric("published") == 1
