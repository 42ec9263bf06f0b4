"""A client's connection when several nodes may accept the client."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.client.access import Access
from mesh.client.core.effects import DialNode, Find, SaveNodes
from mesh.client.core.known_nodes import KnownNode
from mesh.client.core.node_connection import PATIENCE, REDIAL_MAX
from mesh.client.core.saved_nodes import LONG_LIVED
from mesh.errors import NodeNotFound, Refused
from mesh.wire import commands as c
from tests.mesh.client.core.benches import LineBench, result
from tools.costing.wire import WELCOME

THERE = "tcp://10.0.0.2:7710"
STORK = c.Introduction(b"s" * 16, "stork", 7, THERE)
FULL = c.Refuse("NODE_FULL", "heron has 1 connection of clients", "Wait.", forward=(THERE,))
AWAY = NodeNotFound("nobody is there.")


class Places(LineBench):
    """A connection of a client that named nodes."""

    def __init__(self, *names: str) -> None:
        super().__init__(True, *names)
        self._seen = 0

    def asked(self, seconds: float = REDIAL_MAX + 1) -> str:
        """Let time pass until the connection searches for another place, and return the place.

        Raises: TimeoutError.
        """
        end = self.context.now + seconds
        while not (found := [it.place for it in self.done[self._seen :] if isinstance(it, Find)]):
            if self.context.now >= end:
                raise TimeoutError("it searches no more")
            self.wait(0.05)
        self._seen = len(self.done)
        return found[-1]

    def dial(self, address: str) -> None:
        """Find the place at an address, and dial it. The node there needs no proof."""
        self.context.set_time(self.context.now)
        self.line.found(Access(address.replace("tcp:", "test:")))
        assert any(isinstance(effect, DialNode) for effect in self.wait())

    def lack(self) -> None:
        self.context.set_time(self.context.now)
        self.line.not_found(AWAY)

    def begin(self, waits: bool = False) -> Any:
        promise = self.line.connect(waits)
        [find] = self.wait()
        assert isinstance(find, Find)
        self.first, self._seen = find.place, len(self.done)
        return promise

    def hello(self) -> c.Hello:
        return [command for command in self.sent() if isinstance(command, c.Hello)][-1]


def test_the_next_name_is_tried_at_once_and_its_node_is_the_clients_own() -> None:
    bench = Places("heron", "stork")
    opening = bench.begin()
    assert bench.first == "heron"
    bench.lack()
    assert bench.asked(0.1) == "stork"
    bench.dial(THERE)
    bench.hear(replace(WELCOME, node=STORK))
    assert result(opening) is None and bench.line.home == "stork"
    bench.line.lose("disconnected")
    assert bench.asked() == "stork", "it waits for its node, as sessions do not move yet"


def test_all_names_without_a_node_are_listed_each_with_its_reason() -> None:
    bench = Places("heron", "stork")
    opening = bench.begin()
    bench.lack()
    bench.asked(0.1)
    bench.lack()
    with pytest.raises(NodeNotFound, match="heron: nobody is there; stork: nobody is there") as caught:
        result(opening)
    assert caught.value.code == "NO_NODE"


def test_a_client_that_waits_goes_on_from_name_to_name() -> None:
    bench = Places("heron", "stork")
    opening = bench.begin(waits=True)
    found = [bench.first]
    for _ in range(5):
        bench.lack()
        found.append(bench.asked())
    assert found == ["heron", "stork"] * 3 and not opening.done()


def test_a_silent_node_has_a_second_while_another_one_waits_and_its_reason_is_told() -> None:
    bench = Places("heron", "stork")
    bench.begin()
    bench.dial(THERE)
    assert bench.asked(1.2) == "stork"
    bench.dial("tcp://10.0.0.3:7710")
    with pytest.raises(TimeoutError, match="it searches no more"):
        bench.asked(PATIENCE - 1)
    bench.line.lose("disconnected")
    bench.asked()
    error = bench.line.failure()
    assert isinstance(error, NodeNotFound)
    assert "heron: test://10.0.0.2:7710 did not answer; stork: test://10.0.0.3:7710 accepted no" in error.what


def test_a_full_node_sends_the_client_to_another_one() -> None:
    bench = Places()
    opening = bench.begin()
    bench.dial("tcp://10.0.0.1:7710")
    bench.hear(FULL)
    assert not opening.done() and bench.asked(0.1) == THERE
    bench.dial(THERE)
    bench.hear(replace(WELCOME, node=STORK))
    assert result(opening) is None and bench.line.home == "stork"


def test_when_the_other_node_is_of_another_mesh_the_first_reason_counts() -> None:
    bench = Places()
    opening = bench.begin()
    bench.dial("tcp://10.0.0.1:7710")
    bench.hear(FULL)
    bench.asked(0.1)
    bench.dial(THERE)
    bench.line.on_failed(Refused("it has other keys.", code="NO_KEYS_THERE"))
    bench.line.lose("disconnected")
    assert bench.asked() == "" and not opening.done()
    error = bench.line.failure()
    assert isinstance(error, Refused) and error.code == "NODE_FULL"


def test_a_final_refusal_of_one_name_leaves_the_other_one_to_try() -> None:
    bench = Places("heron", "stork")
    opening = bench.begin()
    bench.dial("tcp://10.0.0.1:7710")
    bench.hear(c.Refuse("VERSION", "no common version", final=True))
    assert not opening.done() and bench.asked(0.1) == "stork"
    bench.dial(THERE)
    bench.hear(c.Refuse("WRONG_SECRET", "the secret is wrong", final=True))
    with pytest.raises(Refused, match="the secret is wrong"):
        result(opening)


def test_a_busy_node_is_dialed_when_it_asked_for_it() -> None:
    bench = Places()
    bench.begin()
    bench.dial("tcp://10.0.0.1:7710")
    bench.hear(c.Refuse("NODE_BUSY", "too many", retry_ms=3000))
    with pytest.raises(TimeoutError, match="it searches no more"):
        bench.asked(2.8)
    assert bench.asked(0.4) == ""


def test_a_node_with_another_key_than_the_saved_one_is_not_entered() -> None:
    bench = Places("heron", "stork")
    bench.line.choice.saved = [KnownNode("crane", (THERE,), b"k" * 32)]
    bench.begin(waits=True)
    bench.lack()
    bench.asked()
    bench.lack()
    assert bench.asked() == THERE
    bench.dial(THERE)
    bench.hear(replace(WELCOME, node=replace(STORK, key=b"x" * 32)))
    assert not bench.line.is_up and bench.told()[-1][1].endswith("[OTHER_KEY]")


# --- visits, once sessions move -----------------------------------------------------------------------


def test_a_visit_takes_the_session_along_but_nothing_that_only_the_own_node_knows(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    bench = Places()
    monkeypatch.setattr(bench.line.handshake, "may_visit", lambda place: True)
    bench.line.choice._may_visit = lambda place: True
    bench.begin()
    bench.dial("tcp://10.0.0.1:7710")
    bench.hear(replace(WELCOME, token=b"t" * 32, nodes=(STORK,)))
    bench.line.lose("disconnected")
    assert bench.asked() == ""
    bench.dial("tcp://10.0.0.1:7710")
    assert (bench.hello().token, bench.hello().boot_seen) == (b"t" * 32, WELCOME.node.boot)
    bench.wait(1.1)
    bench.line.lose("disconnected")
    assert bench.asked() == THERE
    bench.dial(THERE)
    visit = bench.hello()
    assert (visit.token, visit.session, visit.home) == (b"t" * 32, 1, "heron")
    assert (visit.boot_seen, visit.have) == (0, 0)
    bench.line.lose("disconnected")
    assert bench.asked() == ""
    bench.dial("tcp://10.0.0.1:7710")
    assert bench.hello().token == b"t" * 32


def test_a_visited_node_with_the_same_boot_has_a_new_session() -> None:
    bench = Places()
    bench.line.choice._may_visit = lambda place: True
    bench.begin()
    bench.dial("tcp://10.0.0.1:7710")
    bench.hear(replace(WELCOME, token=b"t" * 32, nodes=(STORK,)))
    bench.context.now += 5
    bench.hear(c.Bye("draining"))
    assert bench.asked() == THERE
    bench.dial(THERE)
    bench.hear(replace(WELCOME, node=replace(STORK, boot=WELCOME.node.boot), token=b"u" * 32))
    assert bench.welcomed[-1][1] is True, "the session is new"
    assert bench.line.home == "stork"


# --- the saved list -----------------------------------------------------------------------------------


def saved(bench: LineBench) -> list[SaveNodes]:
    return [effect for effect in bench.done if isinstance(effect, SaveNodes)]


def test_a_client_of_several_nodes_saves_them_at_once_and_one_of_one_node_after_a_minute() -> None:
    welcome = replace(WELCOME, nodes=(STORK,), node=replace(WELCOME.node, address="tcp://10.0.0.1:7710"))
    nodes = KnownNode("heron", ("tcp://10.0.0.1:7710",)), KnownNode("stork", (THERE,))
    for names in ((), ("heron", "stork")):
        bench = Places(*names)
        bench.begin()
        bench.dial("tcp://10.0.0.1:7710")
        bench.hear(welcome)
        assert bool(saved(bench)) is bool(names)
        bench.keep_up(LONG_LIVED + 1)
        assert saved(bench) == [SaveNodes(WELCOME.cluster, nodes, True)]


def test_a_client_that_reconnects_often_saves_once_a_minute_and_a_closed_one_never() -> None:
    bench = Places("heron", "stork")
    bench.begin()
    for _ in range(5):
        bench.dial("tcp://10.0.0.1:7710")
        bench.hear(replace(WELCOME, nodes=(STORK,)))
        bench.keep_up(2)
        bench.line.lose("disconnected")
        bench.asked()
    assert len(saved(bench)) == 1
    alone = Places()
    alone.begin()
    alone.dial("tcp://10.0.0.1:7710")
    alone.hear(replace(WELCOME, nodes=(STORK,)))
    alone.line.close()
    alone.wait(2 * LONG_LIVED)
    assert saved(alone) == []
