"""How many clients a node accepts, how fast, and where it sends the others."""

from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.discovery.state import Sample
from mesh.kernel import client_room
from mesh.kernel.client_room import LATEST, VISITS, VisitRate
from mesh.proof import stream_of
from mesh.site_policy.site_settings import SiteSettings
from mesh.wire import commands as c
from mesh.wire.limits import OPERATOR
from tests.mesh.kernel.stranger import Stranger
from tests.simulation import SimNetwork, SimNode


def idle() -> Sample:
    return Sample((90.0,), 1 << 30, 2 << 30)


TCP = "tcp://127.0.0.1:1"


def joined(node: SimNode, number: int, **more: Any) -> Stranger:
    stranger = Stranger(node)
    stranger.as_client(bytes([number]) * 32, **more)
    return stranger


def refuse(stranger: Stranger) -> c.Refuse:
    return next(said for said in stranger.heard if isinstance(said, c.Refuse))


def welcome(stranger: Stranger) -> c.Welcome:
    return next(said for said in stranger.heard if isinstance(said, c.Welcome))


def pair(there: int = 50, **settings: Any) -> tuple[SimNode, SimNode]:
    """Two linked nodes; the settings are those of the first."""
    net = SimNetwork()
    a = net.node("a", sample=idle, **settings)
    b = net.node("b", "a", sample=idle, max_connections=there)
    net.run(8)
    return a, b


# --- the limit ----------------------------------------------------------------------------------------


def test_a_full_node_refuses_the_next_client_and_accepts_it_when_one_has_left() -> None:
    a = SimNetwork().node("a", max_connections=2)
    first, _ = joined(a, 1), joined(a, 2)
    refusal = refuse(joined(a, 3))
    assert (refusal.code, refusal.final, refusal.forward) == ("NODE_FULL", False, ())
    assert refusal.reason == "a has 2 connections of clients, and the limit is 2 (node.max_connections)"
    assert a.core.parts.context.figures()["client_room"] == 0
    first.say(c.Bye("done"))
    assert a.core.parts.context.figures()["client_room"] == 1
    assert joined(a, 4).refusal == ""
    assert a.core.parts.context.figures()["node_full"] == 1


def test_closed_connections_are_looked_for_only_at_the_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = list[int]()
    drop = client_room._drop_closed

    def dropped(conns: Any) -> int:
        counted.append(len(conns))
        return drop(conns)

    a = SimNetwork().node("a", max_connections=5)
    monkeypatch.setattr(client_room, "_drop_closed", dropped)
    for number in range(1, 6):
        joined(a, number)
    assert counted == []
    assert (joined(a, 6).refusal, counted) == ("NODE_FULL", [5])


def test_a_client_that_comes_back_before_its_loss_is_noticed_needs_no_room() -> None:
    a = SimNetwork().node("a", max_connections=1)
    joined(a, 1)
    assert joined(a, 1).refusal == ""
    assert joined(a, 2).refusal == "NODE_FULL"


def test_operators_on_this_machine_have_a_reserve_with_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_room, "RESERVE", 1)
    a = SimNetwork().node("a", max_connections=1)
    joined(a, 1)
    assert joined(a, 2).refusal == "NODE_FULL"
    assert joined(a, 3, speaks=(OPERATOR,)).refusal == ""
    assert joined(a, 4, speaks=(OPERATOR,)).refusal == "NODE_FULL"


def test_one_address_is_full_while_another_accepts() -> None:
    ipc = SimNetwork().node("a").ipc
    a = SimNetwork().node("a", address_connections={ipc: 1})
    joined(a, 1)
    refusal = refuse(joined(a, 2))
    assert refusal.code == "NODE_FULL" and "the limit is 1 (node.address_max_connections)" in refusal.reason
    b = SimNetwork().node("a", address_connections={TCP: 1})
    joined(b, 1)
    assert joined(b, 2).refusal == ""


def test_nodes_are_admitted_by_a_node_without_room_for_clients() -> None:
    a, b = pair(max_connections=1)
    joined(a, 1)
    assert joined(a, 2).refusal == "NODE_FULL"
    assert [len(node.core.parts.neighbours.living_peers()) for node in (a, b)] == [1, 1]


# --- other nodes --------------------------------------------------------------------------------------


def test_a_full_node_names_another_one_with_room() -> None:
    a, b = pair(max_connections=1)
    joined(a, 1)
    refusal = refuse(joined(a, 2))
    assert refusal.forward == (b.address,) and b.address in refusal.hint


def test_a_node_without_sessions_left_names_another_one_too() -> None:
    a, b = pair(max_sessions=1)
    joined(a, 1)
    refusal = refuse(joined(a, 2))
    assert (refusal.code, refusal.forward) == ("TOO_MANY_SESSIONS", (b.address,))
    assert refuse(joined(a, 2, name="__sys__x")).forward == (), "it would be refused there, too"


def test_a_full_node_sends_no_operator_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client_room, "RESERVE", 0)
    a, _ = pair(max_connections=1)
    joined(a, 1)
    assert refuse(joined(a, 2, speaks=(OPERATOR,))).forward == ()


def test_nobody_is_sent_to_a_node_that_is_full_too() -> None:
    a, b = pair(there=1, max_connections=1)
    joined(b, 5)
    b.net.run(5)
    joined(a, 1)
    assert refuse(joined(a, 2)).forward == ()


def test_a_client_learns_of_other_nodes_when_it_is_welcome() -> None:
    a, b = pair()
    (node,) = welcome(joined(a, 1)).nodes
    assert (node.name, node.address, node.uuid) == ("b", b.address, b.core.parts.context.me.uuid)
    assert welcome(joined(SimNetwork().node("a"), 1)).nodes == ()


def test_a_client_learns_of_other_sites_by_addresses_that_it_can_dial() -> None:
    far, near = "tcp://10.0.0.1:7710", "tcp://127.0.0.1:7710"
    a = SimNetwork().node("a")
    context, room = a.core.parts.context, a.core.parts.room
    context.settings = replace(context.settings, site=SiteSettings(clients={"NYC": (near, far)}))
    assert welcome(joined(a, 1)).sites == (("NYC", (near, far)),), "over the local socket"
    for endpoint, found in (("tcp://127.0.0.1:5001", (near, far)), ("tcp://10.0.0.2:7710", (far,))):
        conn: Any = SimpleNamespace(trusted=False, endpoint=endpoint)
        assert room.sites(conn) == (("NYC", found),)


def test_a_dead_node_is_named_no_more() -> None:
    a, b = pair()
    b.kill()
    a.net.run(20)
    assert welcome(joined(a, 1)).nodes == ()


# --- the rate -----------------------------------------------------------------------------------------


def test_a_node_that_is_busy_says_when_to_come_again() -> None:
    a = SimNetwork().node("a")
    room = a.core.parts.admission._room
    now = a.core.parts.context.clock.now
    while room._rate.wait(now) == 0:
        pass
    refusal = refuse(joined(a, 1))
    assert (refusal.code, refusal.final) == ("NODE_BUSY", False) and 0 < refusal.retry_ms <= 2000
    assert joined(a, 2, speaks=(OPERATOR,)).refusal == ""
    assert a.core.parts.context.figures()["node_busy"] == 1
    a.net.run(1.1)
    assert joined(a, 1).refusal == ""


def test_a_client_with_a_session_is_no_visit() -> None:
    a = SimNetwork().node("a")
    joined(a, 1)
    while a.core.parts.admission._room._rate.wait(a.core.parts.context.clock.now) == 0:
        pass
    again = joined(a, 1)
    assert again.refusal == ""
    assert welcome(again).session.startswith("/node/a/client/stranger/")
    assert stream_of(bytes([1]) * 32) in a.core.parts.sessions.by_stream


@given(st.integers(0, 20 * VISITS), st.floats(0, 1e6))
def test_a_second_has_so_many_visits_and_the_others_are_spread(more: int, now: float) -> None:
    rate = VisitRate()
    assert [rate.wait(now) for _ in range(VISITS)] == [0.0] * VISITS
    waits = [rate.wait(now) for _ in range(more)]
    assert waits == sorted(waits) and all(0 < wait <= LATEST for wait in waits)
    for second in range(1, 1 + len(waits) // VISITS):
        due = sum(second <= wait + 1e-6 < second + 1 for wait in waits)
        assert due <= VISITS or wait_is_last(waits)


def wait_is_last(waits: list[float]) -> bool:
    return waits[-1] == LATEST


def test_the_next_second_admits_as_many_again_also_after_a_pause() -> None:
    rate = VisitRate()
    for now in (5.0, 6.0, 100.0, 99.0):  # even if a clock goes back
        assert [rate.wait(now) for _ in range(VISITS)] == [0.0] * VISITS
        assert rate.wait(now) > 0
