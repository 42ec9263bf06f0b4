"""A route that no honest node reports is refused, whichever node vouches for it."""

import pytest
from msgspec.structs import replace

from mesh.kernel.states.cameby import is_way
from mesh.values import Hop
from mesh.wire import commands as c
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.stranger import Stranger
from tests.simulated_client import client_of
from tests.simulation import SimNetwork

JOE = "/node/mal/client/joe/session/-3"


@pytest.mark.parametrize(
    ("sender", "nodes"),
    [(JOE, ["mal"]), (JOE, ["mal", "b", "c"]), ("/node/mal/client/joe/session/1", ["mal", "b"])],
)
def test_a_session_and_each_node_once_is_a_way(sender: str, nodes: list[str]) -> None:
    assert is_way(sender, nodes, nodes[-1])
    assert not is_way(sender, nodes, "another")
    assert not is_way(sender, ["another", *nodes], nodes[-1])


ODD = {
    "no session": ("/node/mal/client/x", ["mal"]),
    "no client's": ("/node/mal/client/__sys__/session/1", ["mal"]),
    "a site": ("/site/far/node/mal/client/x/session/1", ["mal"]),
    "no node": ("client/x/session/1", ["mal"]),
    "spelt otherwise": ("/node/mal/client/x/session/01", ["mal"]),
    "a node twice": (JOE, ["mal", "b", "mal"]),
    "two of a name": (JOE, ["mal", "b", "b", "mal"]),
    "what is no name": (JOE, ["mal", "\x1b[2J", "mal2"]),
    "nobody": (JOE, []),
}


@pytest.mark.parametrize(("sender", "nodes"), ODD.values(), ids=ODD)
def test_trial_4_what_no_honest_node_says_is_no_way(sender: str, nodes: list[str]) -> None:
    assert not is_way(sender, nodes, nodes[-1] if nodes else "mal")


def told(sender: str, nodes: list[str]) -> tuple[str, str, list[bytes]]:
    """Return the state and code of a forward and an erase with this route, and what a subscriber receives."""
    a = SimNetwork().node("a")
    heard = client_of(a).subscribed("k")
    peer = Stranger(a)
    peer.as_node(name=nodes[-1])
    route = tuple(Hop(node, 0, a.wall) for node in nodes)
    peer.say(c.Forward((1,)), replace(envelope("k", [b"x"]), sender=sender, route=route))
    said = {"key": "k", "domain": "", "stream": b"s" * 16, "number": 2, "sender": sender, "route": nodes}
    peer.say(c.Call(1, "erase", said))
    a.net.run(1)
    (outcome,) = [
        o.answer.state for told in peer.heard if isinstance(told, c.Outcomes) for o in told.outcomes
    ]
    (reply,) = [told.code for told in peer.heard if isinstance(told, c.Reply)]
    return outcome, reply, heard.contents


@pytest.mark.parametrize("which", ["no session", "a node twice"])
def test_trial_4_a_node_that_forwards_what_no_honest_one_would_is_refused(which: str) -> None:
    assert told(*ODD[which])[:2] == ("FORGED_SENDER", "FORGED_SENDER")


def test_trial_4_and_what_an_honest_one_forwards_is_taken() -> None:
    outcome, reply, got = told(JOE, ["mal"])
    assert (outcome, reply, got[0]) == ("OK", "", b"x")
