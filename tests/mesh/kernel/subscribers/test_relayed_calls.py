"""Sessions that visit a node which cannot link with their masters and former nodes: another node relays."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.kernel.subscribers.visiting import Visiting
from mesh.wire.calls import AskRelease
from mesh.wire.limits import HOPS
from mesh.wire.replies import SessionReleased
from tests.mesh.kernel.subscribers.relayed import Relayed


@pytest.mark.parametrize("start", ["heron", "avalon"])
def test_a_session_resumes_behind_a_relay_and_its_former_node_is_released(start: str) -> None:
    it = Relayed()
    joe, sub = it.joe(start)
    it.publish(b"1")
    it.arrives(sub, b"1")
    it.c.net.cut(joe.name, start)
    it.publish(b"2", b"3")
    it.move(joe, "bilbo")
    it.arrives(sub, b"1", b"2", b"3")
    it.publish(b"4")
    it.arrives(sub, b"1", b"2", b"3", b"4")
    it.ends(joe)
    assert joe.core.visits.former == {}


def test_a_session_leaves_a_node_behind_a_relay_that_holds_messages() -> None:
    it = Relayed()
    joe, sub = it.joe("bilbo")
    it.c.net.cut(joe.name, "bilbo")
    it.publish(b"1", b"2")
    it.move(joe, "avalon")
    it.arrives(sub, b"1", b"2")
    it.ends(joe)
    assert joe.core.visits.former == {}


@pytest.mark.parametrize("dead", ["bilbo", "frodo"])
def test_a_master_that_a_client_has_nothing_of_counts_from_what_it_owes_the_relay(dead: str) -> None:
    it = Relayed()
    joe, sub = it.joe("bilbo")
    it.c[dead].kill()
    it.publish(b"1", b"2")
    it.move(joe, "avalon")
    it.arrives(sub, b"1", b"2")
    it.c[dead].start()
    it.ends(joe)


def test_a_master_that_only_the_relay_knows_is_asked_before_the_former_node_returns() -> None:
    it = Relayed()
    joe, sub = it.joe("avalon")
    it.c["avalon"].kill()
    it.publish(b"1", b"2")
    it.move(joe, "bilbo")
    it.arrives(sub, b"1", b"2")
    it.c["avalon"].start()
    it.ends(joe)


@pytest.mark.parametrize("name", ["frodo", "heron", "bilbo"])
def test_a_move_behind_a_relay_outlives_a_restart_of_each_node(name: str) -> None:
    it = Relayed()
    joe, sub = it.joe("avalon")
    joe.use(sub, 0.0)
    it.publish(b"1", b"2")
    it.c.net.run(1)
    it.move(joe, "bilbo")
    it.c.net.run(2)
    it.c[name].restart()
    it.c.net.run(8)
    it.c.net.until(lambda: joe.is_up, 30.0)
    joe.use(sub)
    it.publish(b"3")
    it.arrives(sub, b"1", b"2", b"3")
    it.ends(joe)


# --- nodes that lie -----------------------------------------------------------------------------------------


class Asker(Relayed):
    """joe visits bilbo, and one of the nodes asks its next hop about that."""

    def __init__(self) -> None:
        super().__init__()
        self.client, _ = self.joe("heron")
        self.move(self.client, "bilbo")
        self.ends(self.client)
        proof = self.c["bilbo"].core.parts.context.visits.find(self.client.core.stream)
        assert proof is not None
        self.proof = proof

    def asks(self, node: str, hop: str, target: str, **changed: Any) -> str:
        """Let a node ask for a release at `target`, and return the code of the reply."""
        parts, codes = self.c[node].core.parts, list[str]()

        def came(replies: Any, missing: Any) -> None:
            codes.extend([reply.code for reply in replies.values()] or ["no reply"])

        ask = AskRelease(certificate=self.proof, target=self.c[target].uuid)
        peers = [parts.neighbours.peers[self.c[hop].uuid]]
        parts.questions.ask_all(peers, replace(ask, **changed), SessionReleased, came, 5.0)
        self.c.net.until(lambda: codes, 10.0)
        return codes[0]


def test_law_2_a_relay_passes_no_question_on_without_the_certificate_of_the_first_asker() -> None:
    it = Asker()
    assert it.asks("bilbo", "frodo", "heron") == ""
    bad = replace(it.proof, attach=9)
    assert it.asks("bilbo", "frodo", "heron", certificate=bad) == "FORGED_VISIT"
    others = replace(it.proof, node=it.c["avalon"].uuid)
    assert it.asks("bilbo", "frodo", "heron", certificate=others) == "FORGED_VISIT"
    assert it.c["heron"].metric("forged_visits") == 0 < it.c["frodo"].metric("forged_visits")


def test_law_2_a_question_goes_in_no_circle_and_not_on_for_ever() -> None:
    it = Asker()
    assert it.asks("bilbo", "frodo", "heron", visited=["frodo"]) == "UNKNOWN_NODE"
    assert it.asks("bilbo", "frodo", "heron", visited=["x"] * HOPS) == "UNKNOWN_NODE"
    assert it.asks("bilbo", "frodo", "heron", visited=["x"] * (HOPS - 1)) == ""


def test_law_3_a_relay_cannot_ask_for_a_node_that_is_linked() -> None:
    it = Asker()
    assert it.asks("frodo", "heron", "heron", visited=["frodo"]) == ""
    assert it.asks("frodo", "heron", "heron") == "FORGED_VISIT", "the certificate names bilbo"
    assert it.asks("heron", "frodo", "frodo", visited=["heron"]) == "FORGED_VISIT", (
        "frodo is linked with bilbo"
    )


def test_a_subscription_that_ends_behind_a_relay_releases_its_pin() -> None:
    it = Relayed()
    joe, sub = it.joe("avalon")
    joe.use(sub, 0.0)
    it.publish(b"1", b"2")
    it.c.net.run(1)
    it.move(joe, "bilbo")
    it.c.net.until(lambda: it.c["heron"].metric("resume_pins") > 0, 30.0)
    joe.unsubscribe(sub)
    it.ends(joe)


def test_a_relay_knows_behind_which_peer_a_session_is_without_a_notice(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Visiting, "_on_moved", lambda *_: None)
    it = Relayed()
    joe, _ = it.joe("avalon")
    peer = it.c["frodo"].core.parts.neighbours.peers[it.c["bilbo"].uuid]
    assert not peer.exchange.feed.arrival
    it.move(joe, "bilbo")
    it.ends(joe)
    assert peer.exchange.feed.arrival
