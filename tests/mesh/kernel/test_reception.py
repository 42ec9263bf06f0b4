"""Commands of later releases: a node counts and reports them, and closes no connection."""

from typing import Any

import pytest

from mesh.routing.interest import CLIENTS
from mesh.wire import commands as c
from mesh.wire.codec import pack
from mesh.wire.limits import CONTROL_FRAME, FRAME
from mesh.wire.pieces import cut
from mesh.wire.spoken import A_SECOND
from tests.mesh.kernel.stranger import Stranger
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

LATER = 99  # an unknown tag


def later(*fields: Any) -> list[bytes]:
    """Return a command of a later release, with an unreadable envelope."""
    return [pack([LATER, *fields]), b"a header", b"a body"]


def joined(node: SimNode, newest: int = 2, role: str = "client") -> Stranger:
    stranger = Stranger(node)
    if role == "client":
        stranger.as_client(versions=(1, newest))
    else:
        stranger.as_node(role, versions=(1, newest))
    stranger.heard.clear()
    return stranger


def unknown(stranger: Stranger) -> list[tuple[int, Any]]:
    return [(said.command, said.field) for said in stranger.heard if isinstance(said, c.Unknown)]


@pytest.mark.parametrize("role", ["client", c.NODE_DATA, c.NODE_CONTROL])
def test_an_unknown_command_is_told_of_and_the_connection_goes_on(role: str) -> None:
    a = SimNetwork().node("a")
    stranger = joined(a, role=role)
    stranger.put(later(7, "more"))
    assert unknown(stranger) == [(LATER, 7)] and a.metric("unknown_commands") == 1
    stranger.say(c.Ping(3))
    assert c.Pong(3) in stranger.heard and not stranger.is_gone


@pytest.mark.parametrize(
    ("fields", "told"),
    [((), None), ((2**63 - 1,), 2**63 - 1), (("x" * 60,), "x" * 60), (("x" * 80,), None),
     (([1, [2]],), [1, [2]]), (({"a": b"b"},), {"a": b"b"}), (({1: 2},), None), ((-1.5, "z"), -1.5)],
)  # fmt: skip
def test_its_first_field_comes_back_as_it_stood_if_it_is_small_and_plain(fields: Any, told: Any) -> None:
    stranger = joined(SimNetwork().node("a"))
    stranger.put(later(*fields))
    assert unknown(stranger) == [(LATER, told)]


@pytest.mark.parametrize("frame", [b"\xc7\x01\x05x", b"\xd6\xff\x00\x00\x00\x00"])
def test_a_first_field_that_is_of_no_type_of_the_wire_does_not_come_back(frame: bytes) -> None:
    stranger = joined(SimNetwork().node("a"))
    stranger.put([b"\x92" + bytes((LATER,)) + frame])
    assert unknown(stranger) == [(LATER, None)]


def test_whoever_says_it_all_the_time_is_told_ten_times_a_second() -> None:
    a = SimNetwork().node("a")
    stranger = joined(a)
    pipe = stranger._pipe
    assert pipe is not None
    for seconds in (1, 2):
        for number in range(100):
            pipe.send(0, later(number))
        stranger.net.run(1)
        assert len(unknown(stranger)) == A_SECOND * seconds
    assert a.metric("unknown_commands") == 200 and a.metric("malformed") == 0 and not stranger.is_gone


def test_what_says_that_something_is_unknown_is_never_answered() -> None:
    a = SimNetwork().node("a")
    stranger = joined(a)
    stranger.say(c.Unknown(41, 7))
    assert stranger.heard == [] and a.metric("not_understood") == 1


@pytest.mark.parametrize("newest", [1, 2])
def test_version_1_hears_what_it_heard_before(newest: int) -> None:
    stranger = joined(SimNetwork().node("a"), newest)
    stranger.put(later(7))
    assert stranger.refusal == ("MALFORMED" if newest == 1 else "")
    assert bool(unknown(stranger)) is (newest == 2)


def test_before_welcome_it_is_a_refusal() -> None:
    a = SimNetwork().node("a")
    stranger = Stranger(a)
    stranger.put(later(7))
    assert (stranger.refusal, unknown(stranger), a.metric("malformed")) == ("MALFORMED", [], 1)


@pytest.mark.parametrize(
    "frame",
    [pack([LATER, 7])[:-1], pack([LATER, 7]) + b"x", pack([-1, 7]), pack(["x"]), pack({}), b"\x91", b""],
)
def test_what_is_no_command_at_all_ends_the_connection(frame: bytes) -> None:
    stranger = joined(SimNetwork().node("a"))
    stranger.put([frame])
    assert stranger.refusal == "MALFORMED"


def test_a_long_one_is_unknown_as_well_and_one_in_pieces() -> None:
    a = SimNetwork().node("a")
    stranger = joined(a)
    stranger.put([pack([LATER, 7, b"x" * (FRAME - 100)])])
    for piece in cut(later(8, b"x" * CONTROL_FRAME)):
        stranger.say(piece)
    assert unknown(stranger) == [(LATER, 7), (LATER, 8)]


def test_a_tag_that_is_written_longer_than_it_must_be_is_known() -> None:
    stranger = joined(SimNetwork().node("a"))
    stranger.put([b"\x92\xcc\x06\x05"])
    stranger.put([b"\xdc\x00\x02\x06\x05"])
    assert [said for said in stranger.heard if isinstance(said, c.Pong)] == [c.Pong(5)] * 2


def wanted(node: SimNode, other: SimNode) -> set[str]:
    return {query.text for query in node.core.parts.neighbours.peers[other.uuid].exchange.feed.queries}


@pytest.mark.parametrize("version", [1, 2])
def test_a_query_of_an_unknown_kind_is_passed_over_from_version_2_on(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """b behaves like a later release that sends what it should not."""
    net = SimNetwork()
    a, b = net.node("a"), net.node("b", "a", wire_version=version)
    subscriber = client_of(b)
    heard = subscriber.subscribed("k")
    net.until(lambda: wanted(a, b) == {"k"})
    interests, hour = b.core.parts.demand.interests, c.Query("hour", "12")
    interests.add(hour, CLIENTS)
    conn = b.core.parts.neighbours.peers[a.uuid].data
    b.core.parts.context.out.send(conn, interests.interest_of(a.uuid).change((hour, c.Query("exact", "m"))))
    b._carry_out_all()
    net.run(0.1)
    assert a.metric("unknown_kinds") == (1 if version == 2 else 0)
    assert a.metric("malformed") == (0 if version == 2 else 1)
    if version == 2:
        assert wanted(a, b) == {"k", "m"}
        client_of(a, "pub").publish("k", b"1")
        net.until(lambda: heard.contents == [b"1"])
