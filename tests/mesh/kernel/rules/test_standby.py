"""Backup masters: one accepts messages while the master is unreachable, which has them on its return."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import replace
from typing import Any

import pytest

from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerReply, Replies
from mesh.kernel.rules.standby import Standby
from mesh.wire.commands import Query
from mesh.wire.envelope import FIRST, RESENT, Envelope
from mesh.wire.replies import Values
from tests.mesh.kernel.backed import HOLDERS, RULES, Backed, backed, last_value
from tests.mesh.kernel.masters import RUGBY, Cluster
from tests.seeds import scenarios
from tests.simulated_client import SimClient


def mesh() -> Cluster:
    return backed("heron", "frodo", "golan", "bilbo")


def lose(c: Cluster, *names: str) -> None:
    """Kill these nodes, and wait until all others know that."""
    for name in names:
        c[name].kill()
    up = [node for node in c.nodes.values() if node.is_up]
    c.net.until(lambda: not any(node.alive & set(names) for node in up))


def published(client: SimClient, content: bytes, key: str = "k") -> str:
    """Publish a message, and return the state of its answer: the final one, or FORWARD_WARNING."""
    client.publish(key, content, domain=RUGBY, persistent=True)
    client.settled()
    return client.state(max(number for _, number in client.sent), RUGBY)


def test_while_the_master_is_there_it_takes_all_and_backups_have_its_values() -> None:
    c = mesh()
    ear = c.client("golan", "ear").subscribed("k", domain=RUGBY)
    assert published(c.client("bilbo"), b"1") == "OK"
    c.net.until(lambda: [last_value(c[name]) for name in HOLDERS] == [b"1"] * 3)
    c.net.until(lambda: ear.contents == [b"1"])
    assert [c[name].metric("published") for name in HOLDERS] == [1, 0, 0]


def test_a_master_that_is_killed_is_read_and_written_through_its_backup_and_has_all_when_it_is_back() -> None:
    c = mesh()
    ears = [
        c.client(name, f"ear-{name}").subscribed(pattern="#", domain=RUGBY) for name in ("bilbo", "frodo")
    ]
    joe = c.client("bilbo")
    assert published(joe, b"1") == published(joe, b"other", "o") == "OK"
    lose(c, "heron")
    assert published(joe, b"2") == "OK"
    assert joe.answers[RUGBY, 3].text == "at frodo, because heron cannot be reached"
    assert [(m.key, m.content) for m in joe.get(pattern="#", domain=RUGBY)] == [("k", b"2"), ("o", b"other")]
    assert [source for source, _ in joe.sources] == ["frodo", "frodo"]
    c["heron"].start()
    c.met()
    c.net.until(lambda: last_value(c["heron"]) == b"2")
    assert published(joe, b"3") == "OK"
    for ear in ears:
        c.net.until(lambda ear=ear: ear.contents == [b"1", b"other", b"2", b"3"])  # type: ignore[misc]
    c.net.run(5)
    assert [c[name].metric("published") for name in HOLDERS] == [1, 1, 0]
    assert [last_value(c[name]) for name in HOLDERS] == [b"3"] * 3
    assert all(len(ear.contents) == 4 for ear in ears)


def test_a_subscriber_of_the_master_itself_gets_what_the_backup_took() -> None:
    c = mesh()
    ear = c.client("heron", "ear").subscribed("k", domain=RUGBY)
    lose(c, "heron")
    joe = c.client("bilbo")
    assert [published(joe, b"%d" % n) for n in range(3)] == ["OK"] * 3
    c["heron"].start()
    c.net.until(lambda: ear.contents == [b"0", b"1", b"2"])


def test_the_second_backup_stands_in_when_the_first_is_away_too() -> None:
    c = mesh()
    joe = c.client("bilbo")
    assert published(joe, b"1") == "OK"
    c.net.run(2)
    lose(c, "heron", "frodo")
    assert published(joe, b"2") == "OK"
    assert c["golan"].metric("published") == 1
    c["frodo"].start()
    c["heron"].start()
    c.net.until(lambda: [last_value(c[name]) for name in HOLDERS] == [b"2"] * 3)


def test_a_mesh_that_is_cut_in_two_takes_on_both_sides_and_is_one_afterwards() -> None:
    c = mesh()
    ears = [c.client(name, f"ear-{name}").subscribed("k", domain=RUGBY) for name in c.nodes]
    for one in ("heron", "bilbo"):
        for other in ("frodo", "golan"):
            c.net.cut(one, other)
    c.net.until(lambda: not any(len(node.alive) > 1 for node in c.nodes.values()))
    near, far = c.client("bilbo", "near"), c.client("golan", "far")
    assert published(near, b"at heron") == published(far, b"at frodo") == "OK"
    c.net.heal()
    for ear in ears:
        c.net.until(lambda ear=ear: sorted(ear.contents) == [b"at frodo", b"at heron"])  # type: ignore[misc]
    c.net.run(5)
    assert all(len(ear.contents) == 2 for ear in ears)


def test_a_master_that_is_cut_off_keeps_messages_until_it_reaches_enough_nodes() -> None:
    c = backed(*HOLDERS, "bilbo", rules=tuple(replace(rule, min_nodes=3) for rule in RULES))
    ears = [c.client(name, f"ear-{name}").subscribed("k", domain=RUGBY) for name in c.nodes]
    for other in ("bilbo", "frodo", "golan"):
        c.net.cut("heron", other)
    c.net.until(lambda: not c["heron"].alive & {"bilbo", "frodo", "golan"})
    c.net.until(lambda: "heron" not in c["frodo"].alive | c["bilbo"].alive)
    near, far = c.client("heron", "near"), c.client("golan", "far")
    assert (published(near, b"1"), published(far, b"2")) == ("FORWARD_WARNING", "OK")
    assert "1 of at least 3 nodes are reachable" in near.answers[RUGBY, 1].text
    c.net.run(5)
    assert [len(ear.contents) for ear in ears] == [0, 1, 1, 1]
    c.net.heal()
    for ear in ears:
        c.net.until(lambda ear=ear: sorted(ear.contents) == [b"1", b"2"])  # type: ignore[misc]
    assert near.state(1, RUGBY) == "OK"
    assert [c[name].metric("published") for name in HOLDERS] == [1, 1, 0]
    assert len({last_value(c[name]) for name in HOLDERS}) == 1
    assert [c[name].metric("published") for name in HOLDERS] == [1, 1, 0]


def test_what_the_master_took_and_did_not_answer_goes_to_the_backup_and_comes_to_nobody_twice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    c = mesh()
    ears = [c.client(name, f"ear-{name}").subscribed("k", domain=RUGBY) for name in ("bilbo", "frodo")]
    router, came = c["frodo"].core.parts.router, list[int]()
    publish = router.publish_here

    def seen(source: Hashable, e: Envelope, *rest: Any) -> None:
        came.append(e.flags & (FIRST | RESENT))
        publish(source, e, *rest)

    monkeypatch.setattr(router, "publish_here", seen)
    joe = c.client("bilbo")
    joe.publish("k", b"1", domain=RUGBY, persistent=True)
    c.net.until(lambda: c["heron"].metric("published") == 1)
    for other in ("bilbo", "frodo", "golan"):  # while its disk writes
        c.net.cut("heron", other)
    c.net.until(lambda: last_value(c["heron"]) == b"1")
    c["heron"].kill()
    c.net.heal()
    c.net.until(lambda: joe.state(1, RUGBY) == "OK")
    assert joe.answers[RUGBY, 1].text == "at frodo, because heron cannot be reached"
    assert came == [FIRST | RESENT], "durable subscriptions are told that it may be for the second time"
    c["heron"].start()
    c.met()
    assert published(joe, b"2") in ("OK", "FORWARD_WARNING")
    c.net.until(lambda: joe.state(2, RUGBY) == "OK")
    for ear in ears:
        c.net.until(lambda ear=ear: ear.contents[-1:] == [b"2"])  # type: ignore[misc]
    c.net.run(5)
    assert [ear.contents for ear in ears] == [[b"1", b"2"]] * 2
    assert c["frodo"].metric("repeated") == 1, "heron had kept it for frodo"


def test_what_is_erased_through_the_backup_stays_erased_when_the_master_is_back() -> None:
    c = mesh()
    joe = c.client("bilbo")
    assert published(joe, b"1") == "OK"
    c.net.until(lambda: last_value(c["frodo"]) == b"1")
    lose(c, "heron")
    assert joe.erase("k", domain=RUGBY) == ["k"]
    c["heron"].start()
    c.met()
    c.net.until(lambda: last_value(c["heron"]) is None)
    c.net.run(5)
    assert [last_value(c[name]) for name in HOLDERS] == [None] * 3
    assert joe.get("k", domain=RUGBY) == []
    c["heron"].kill()
    c["heron"].start()
    assert last_value(c["heron"]) is None, "it is off the disk, too"


def test_a_backup_knows_over_a_restart_what_it_has_erased_while_the_master_was_away() -> None:
    c = mesh()
    joe = c.client("bilbo")
    assert published(joe, b"1") == "OK"
    c.net.until(lambda: last_value(c["frodo"]) == b"1")
    lose(c, "heron", "golan")
    assert joe.erase("k", domain=RUGBY) == ["k"]
    c["frodo"].kill()
    for name in ("frodo", "golan", "heron"):
        c[name].start()
    c.met()
    c.net.until(lambda: last_value(c["heron"]) is last_value(c["golan"]) is None)
    c.net.run(5)
    assert [last_value(c[name]) for name in HOLDERS] == [None] * 3
    c["frodo"].kill()
    c["frodo"].start()
    c.met()
    assert published(joe, b"2") == "OK"
    c.net.until(lambda: [last_value(c[name]) for name in HOLDERS] == [b"2"] * 3)


def test_a_backup_that_is_new_has_what_was_before_it() -> None:
    c = backed("heron", "bilbo")
    joe = c.client("bilbo")
    assert published(joe, b"1") == "OK"
    c.nodes["frodo"] = c.net.node("frodo", "heron", rules=RULES)
    c.met()
    c.net.until(lambda: last_value(c["frodo"]) == b"1")
    c.net.run(1)
    c["frodo"].kill()
    c["frodo"].start()
    assert last_value(c["frodo"]) == b"1", "it is on its disk"


@pytest.mark.parametrize("is_whole", [True, False])  # refused, or cut off in the middle
def test_values_that_cannot_be_told_at_once_are_asked_for_again(
    is_whole: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    refused = list[str]()

    def came(self: Standby, peer: Peer, query: Query, replies: Replies[Values], **whole: bool) -> None:
        if self._context.me.name == "frodo" and not refused:
            refused.append(peer.node.name)
            replies = {peer.node.uuid: PeerReply(Values(), code="BUSY" if is_whole else "")}
            whole = {"is_whole": is_whole}
        took(self, peer, query, replies, **whole)

    c = backed("heron", "bilbo")
    assert published(c.client("bilbo"), b"1") == "OK"
    took = Standby._on_values
    monkeypatch.setattr(Standby, "_on_values", came)
    c.nodes["frodo"] = c.net.node("frodo", "heron", rules=RULES)
    c.met()
    c.net.until(lambda: last_value(c["frodo"]) == b"1")
    assert refused


def test_a_value_that_may_have_been_left_behind_says_since_when() -> None:
    c = mesh()
    joe = c.client("bilbo")
    assert published(joe, b"1") == "OK"
    c.net.until(lambda: last_value(c["frodo"]) == b"1")
    lose(c, "heron")
    joe.get("k", domain=RUGBY)
    [(source, age)] = joe.sources
    assert source == "frodo" and age is not None and age > 0
    assert published(joe, b"2") == "OK"
    joe.get("k", domain=RUGBY)
    assert joe.sources == [["frodo", None]], "of what it took itself it knows that it is the last"


@pytest.mark.parametrize("seed", scenarios([1, *range(2, 5)]))
def test_a_random_scenario_of_a_master_and_its_backups_loses_nothing(seed: int) -> None:
    scenario = Backed(seed, subscribers=4)
    scenario.run(8.0)
    scenario.check()
