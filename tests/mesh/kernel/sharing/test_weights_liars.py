"""Weights and nodes that lie about them."""

from __future__ import annotations

from typing import Any

import pytest

from mesh.discovery.state import Summary
from mesh.wire import commands as c
from mesh.wire.calls import AskRows, AskWeights
from mesh.wire.codec import pack
from tests.mesh.kernel.lying import replies
from tests.mesh.kernel.sharing.weighing import GIVEN, HOUR, applied, in_force, node, told
from tests.mesh.kernel.stranger import Stranger
from tests.seeds import scenarios
from tests.simulation import SimNetwork, SimNode

# --- nodes that lie ---------------------------------------------------------------------------------------


RELEASES = pytest.mark.parametrize("old", [{}, {"wire_version": 1}], ids=["rows", "sets"])


def with_liar(net: SimNetwork, old: dict[str, Any]) -> list[SimNode]:
    """Return three nodes, the last of which will lie, and has this release or an earlier one."""
    nodes = [node(net, "a"), node(net, "b", "a"), node(net, "c", "a", **old)]
    net.until(lambda: all(len(each.alive) == 2 for each in nodes), 10)
    net.run(1)
    return nodes


def says_it_has(at: SimNode, stamp: int) -> None:
    """Let a node announce a set of weights, and accept no other set from now on."""
    at.core.parts.shared._accept_row = lambda row, by: None  # type: ignore[method-assign]
    at.core.parts.gossiping.shared["weights"] = Summary("weights", stamp, b"boasting")


def lies(at: SimNode, stamp: int, answer: dict[str, Any]) -> None:
    """Let a node announce a set of weights, and return `answer` when it is asked."""
    says_it_has(at, stamp)
    replies(at, AskWeights, answer)
    fields = answer.get("set")
    row = ["weights", "", fields[0], pack(fields), at.uuid, 1] if isinstance(fields, list) else fields
    replies(at, AskRows, {"rows": [row]} if "set" in answer else {})


def wild(wall: int, **fields: Any) -> dict[str, Any]:
    whole = {"stamp": wall + HOUR, "made": wall, "expires": wall + HOUR, "by": "me", "weights": GIVEN}
    return {"set": list({**whole, **fields}.values())}


@pytest.mark.parametrize(
    "fields",
    scenarios(
        [
            {"weights": {"a": [400.0, ""]}},
            {"stamp": 2**63 - 1},
            {"weights": {"a": [float("nan"), ""]}},
            {"weights": {"\x1b[2J": [1.0, ""]}},
            {"weights": {"a": [1.0, "x" * 300]}},
            {"weights": "many"},
            {"stamp": -1},
            {"expires": 2**62},
            {"by": "x" * 300},
            {"by": "\x1b[2J"},
        ]
    ),
    ids=str,
)
@RELEASES
def test_what_another_node_tells_is_checked_like_a_file(
    net: SimNetwork, fields: dict[str, Any], old: dict[str, Any]
) -> None:
    a, b, liar = with_liar(net, old)
    applied(a)
    net.until(lambda: in_force(b)[0] == 2.0, 5)
    lies(liar, 2**63 - 1, wild(net.wall, **fields))
    net.run(20)
    assert in_force(a) == in_force(b) == [2.0, 0.5, 1.0]
    assert sum("rows of c were rejected" in text for text in told(a)) == 1
    assert applied(b, {"c": [3.0, ""]}) < net.wall + HOUR
    net.until(lambda: in_force(a) == [1.0, 1.0, 3.0], 10)


@pytest.mark.parametrize("answer", scenarios([{"set": None}, {}, {"sets": [1]}]))
@RELEASES
def test_who_boasts_of_weights_and_tells_none_keeps_nobody_from_those_of_others(
    net: SimNetwork, answer: dict[str, Any], old: dict[str, Any]
) -> None:
    a, b, liar = with_liar(net, old)
    lies(liar, 2**62, answer)
    net.run(5)
    applied(a)
    net.until(lambda: in_force(b) == [2.0, 0.5, 1.0], 20)


@pytest.mark.parametrize("old", scenarios([{}, {"wire_version": 1}]))
def test_who_never_answers_keeps_nobody_from_those_of_others_and_is_not_pestered(
    net: SimNetwork, old: dict[str, Any]
) -> None:
    mute = node(net, "a", **old)  # its state always comes first, also when another node could be asked
    net.run(3.4)
    a, b = node(net, "b", "a"), node(net, "c", "a")
    net.run(3)
    says_it_has(mute, 2**62)
    mute.core.parts.context.face.from_peers[c.Call] = lambda *_: None
    net.run(5)
    applied(a)
    net.is_watched = True
    net.until(lambda: in_force(b) == [2.0, 0.5, 1.0], 15)
    net.run(60 - net.now)
    assert 5 < net.seen.count(("c", "a", "Call")) <= 11  # at most one in 5 s


@pytest.mark.parametrize("old", scenarios([{}, {"wire_version": 1}]))
def test_an_old_set_does_not_replace_a_newer_one_whatever_was_said_of_it(
    net: SimNetwork, old: dict[str, Any]
) -> None:
    a, b, liar = with_liar(net, old)
    applied(a)
    net.until(lambda: in_force(b)[0] == 2.0, 5)
    lies(liar, 2**62, wild(net.wall, stamp=5, weights={"a": [4.0, ""]}))
    net.run(20)
    assert in_force(a) == in_force(b) == [2.0, 0.5, 1.0]


def test_a_reply_that_nobody_asked_for_changes_nothing(net: SimNetwork) -> None:
    a = node(net, "a")
    applied(a)
    stranger = Stranger(a)
    stranger.as_node(c.NODE_CONTROL)
    for request in range(5):
        stranger.say(c.Reply(request, wild(net.wall + 9 * HOUR)))
    net.run(3)
    assert in_force(a) == [2.0, 0.5, 1.0]
