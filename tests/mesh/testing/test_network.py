"""Connections in memory: first in, first out, also over a cut."""

from __future__ import annotations

from functools import partial

from mesh.testing import Mesh
from mesh.testing.clock import Clock
from mesh.testing.network import PATIENCE, Network, Pipe
from tests.mesh.testing.scenarios import scenario


class Ear:
    """An end of a connection that records what it receives."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.heard: list[bytes] = []

    def hear(self, pipe: Pipe, frames: list[bytes]) -> None:
        self.heard += frames

    def on_closed(self, pipe: Pipe) -> None:
        self.heard.append(b"gone")

    def turn(self) -> None:
        self.heard.append(b".")


def joined() -> tuple[Network, Pipe, Ear, Ear]:
    net = Network(Clock(True, lambda: None))
    one, other = Ear("one"), Ear("other")
    net.bound["there"] = other
    return net, net.dial(one, "there"), one, other


def test_what_was_held_arrives_in_order_in_both_directions() -> None:
    net, pipe, one, other = joined()
    for end in (one, other):
        pipe.send(end, [b"1"])
    net.cut("one", "other")
    for end in (one, other):
        pipe.send(end, [b"2", b"3"])
    net.deliver_all()
    assert one.heard == other.heard == []
    for end in (one, other):
        pipe.send(end, [b"4"])
    net.heal()
    for end in (one, other):
        pipe.send(end, [b"5"])
    net.deliver_all()
    assert one.heard == other.heard == [b"1", b"2", b"3", b"4", b"5", b"."]


def test_who_hangs_up_is_heard_to_the_end() -> None:
    net, pipe, one, other = joined()
    pipe.send(one, [b"bye"])
    pipe.close_end(one)
    pipe.send(other, [b"in vain"])
    net.deliver_all()
    assert other.heard[0] == b"bye" and b"gone" in other.heard and b"in vain" not in one.heard
    assert not pipe.is_open


def test_a_cut_that_does_not_heal_is_the_end_of_a_connection() -> None:
    net, pipe, one, other = joined()
    net.cut("one", "other")
    late = net.dial(one, "there")
    while net.clock.step(PATIENCE - 0.1):
        pass
    assert pipe.is_open and late.is_open
    while net.clock.step(PATIENCE):
        pass
    net.deliver_all()
    assert not pipe.is_open and not late.is_open
    assert one.heard == [b"gone", b"gone", b"."] == other.heard


def test_where_nobody_listens_a_connection_is_lost_at_once() -> None:
    net, _, one, _ = joined()
    assert not net.dial(one, "nowhere").is_open
    net.deliver_all()
    assert one.heard == [b"gone", b"."]


@scenario(1)
async def test_what_a_process_waits_for_is_not_told_to_the_next(m: Mesh) -> None:
    heard: list[int] = []
    node = m._nodes["a"]
    for _ in range(2):
        m._passing.net.soon(partial(node._later, node._boot, "a test", lambda now, wall: heard.append(1)))
        m.kill("a")
        m.start("a")
        await m.pass_time(0)
    assert heard == []
