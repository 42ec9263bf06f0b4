"""A member that sends false service commands: disconnected, answered or counted, while others continue."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pytest

from mesh.features.services.node.parts import ServiceParts
from mesh.kernel.presence.presence import NAMES
from mesh.kernel.presence.reply_batch import ReplyBatch
from mesh.names import SENDS
from mesh.wire import commands as c
from mesh.wire.envelope import EVERY, REPLY, REQUEST, RESENT, Envelope
from mesh.wire.limits import HOPS
from tests.each import each
from tests.mesh.features.services.node.user import User
from tests.seeds import scenarios
from tests.simulation import SimNetwork

MOST = 2**63 - 1
X = ("address", "x")
THERE = "/node/c/client/mallory/session/1"


class Stage:
    """Nodes a, which serves, b, which asks, and c, which sends any commands that a test wants."""

    def __init__(self) -> None:
        self.net = SimNetwork()
        self.a, self.b, self.c = self.net.mesh("a", "b", "c")
        self.server, self.asker = User(self.a, "server"), User(self.b, "asker")
        self.server.serve("x", credit=10_000)
        near = User(self.c, "near")  # so c is logged in to both
        n = near.send("x", b"near")
        self.net.until(lambda: near.state(n) == "OK")
        self.given = 1
        self.works()

    def works(self) -> None:
        n = self.asker.request("x", b"?", ttl=60_000)
        self.given += 1
        self.net.until(lambda: len(self.server.contents()) >= self.given)
        self.given = len(self.server.contents())
        self.server.reply((self.given, b"!"))
        self.net.until(lambda: (n, b"!") in {reply[:2] for reply in self.asker.replies})

    def says(self, to: str, *commands: c.Command, envelopes: Sequence[Envelope] = ()) -> str:
        """Send commands from c to a node. Return the code that ends the connection, or ""."""
        node = self.net.nodes[to]
        before = len(node.notes)
        for command in commands:
            peer = self.c.core.parts.neighbours.peers[node.uuid]
            self.c.core.parts.context.out.send(peer.data, command, list(envelopes))
        self.c.core.tick(self.net.now, self.c.wall)
        self.c._carry_out_all()
        self.net.run(1)
        self.works()
        said = " ".join(node.notes[before:])
        return said[said.rindex("[") + 1 : said.rindex("]")] if "[" in said else ""

    def figure(self, node: str, name: str) -> float:
        return self.net.nodes[node].core.parts.context.figures()[name]


@pytest.fixture
def stage() -> Stage:
    return Stage()


def envelope(stream: bytes = b"m" * 16, **more: Any) -> Envelope:
    fields = {"domain": SENDS, "first": 1, "last": 1, "flags": REQUEST, "sender": THERE, "to": "x", **more}
    return Envelope(stream=stream, keys=("",), count=1, sizes=1, body=b"f", **fields)


@pytest.mark.parametrize("number", scenarios([99, 0, MOST]))
def test_news_with_a_hole_end_the_connection(stage: Stage, number: int) -> None:
    told = stage.b.core.parts.presence._registry._received[stage.c.uuid]
    assert told + 1 != number
    assert stage.says("b", c.Serving(number, MOST, (c.Row(*X, MOST),))) == "OUT_OF_ORDER"


def test_rows_of_names_that_nobody_watches_are_counted(stage: Stage) -> None:
    told = stage.b.core.parts.presence._registry._received[stage.c.uuid]
    rows = tuple(c.Row("address", f"n/{n}", 1) for n in range(1000))
    stage.says("b", c.Serving(told + 1, 0, rows))
    assert stage.figure("b", "unasked") == 1000
    assert len(list(stage.b.core.parts.presence._registry.names())) <= 1


@pytest.mark.parametrize("most", scenarios([3_000, NAMES]))
def test_of_more_names_than_one_may_watch_the_rest_ends_it(
    stage: Stage, most: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    followers = stage.b.core.parts.presence._peers._followers
    monkeypatch.setattr("mesh.kernel.presence.presence.NAMES", most)
    for part in range(3 * most // 2_000):
        names = tuple(("address", f"{part}/{n}") for n in range(1000))
        peer = stage.c.core.parts.neighbours.peers[stage.b.uuid]
        stage.c.core.parts.context.out.send(peer.data, c.Watch(5, False, True, names))
    stage.says("b", c.Watch(5, False, True, (), (("address", "never"),)))
    assert sum(len(follower.keys) for follower in followers.values()) <= most + 1
    assert any("TOO_MANY_NAMES" in note for note in stage.b.notes)


@each(
    "forged",
    [{"sender": "/node/b/client/asker/session/1"}, {"sender": ""}, {"sender": "x"}, {"domain": "D"},
     {"flags": REPLY}, {"flags": RESENT}, {"numbers": (1, 1)}, {"route": ()}],
)  # fmt: skip
def test_sends_of_others_are_refused_and_counted(stage: Stage, forged: dict[str, Any]) -> None:
    hop = stage.c.core.parts.context.hop(0)
    e = envelope(**{"route": (hop,), **forged})
    before = stage.figure("a", "forged")
    assert stage.says("a", c.Sends((1,)), envelopes=(e,)) == ""
    assert stage.figure("a", "forged") == before + 1
    assert b"f" not in stage.server.contents()


@each("case", [({"flags": REPLY}, 1, "FORGED_SENDER", 1), ({}, HOPS, "TOO_MANY_HOPS", 0)])
def test_an_invalid_group_request_is_refused_for_its_reason(
    stage: Stage, case: tuple[dict[str, Any], int, str, int]
) -> None:
    more, hops, code, forged = case
    route = (stage.c.core.parts.context.hop(0),) * hops
    before = stage.figure("a", "forged")
    with patch.object(ReplyBatch, "outcome") as answered:
        stage.says(
            "a", c.Sends((1,)), envelopes=(envelope(**{"to": "g\n\n#", "flags": 0, "route": route, **more}),)
        )
    assert [call.args[2].state for call in answered.mock_calls if call.args[1] == b"m" * 16] == [code]
    assert stage.figure("a", "forged") == before + forged


@each("to", ["", "nobody", "client/joe", "map/x", "\n\n\n", "g\n\n#", "x\0"])
def test_sends_to_what_nobody_serves_are_answered(stage: Stage, to: str) -> None:
    e = envelope(route=(stage.c.core.parts.context.hop(0),), to=to, flags=EVERY)
    stage.says("a", c.Sends((1,)), envelopes=(e,))
    assert b"f" not in stage.server.contents()
    assert to not in stage.a.core.parts[ServiceParts].serving.addresses


def test_other_times_than_envelopes_end_it(stage: Stage) -> None:
    e = envelope(route=(stage.c.core.parts.context.hop(0),))
    stage.says("a", c.Sends((1,), (1, 2, 3)), envelopes=(e,))
    assert b"f" not in stage.server.contents()


@pytest.mark.parametrize("sender", scenarios([THERE, "", "/node/a/client/server/session/1"]))
@pytest.mark.parametrize("to", ["mine", "other"])
def test_replies_to_what_another_node_has_are_dropped(stage: Stage, sender: str, to: str) -> None:
    n = stage.asker.request("x", b"mine", ttl=60_000)
    stage.net.until(lambda: stage.asker.state(n) == "OK")
    stage.given += 1
    whom = stage.asker.session if to == "mine" else "/node/b/client/other/session/1"
    e = envelope(stage.asker.stream, first=n, last=n, flags=REPLY, numbers=(n, n), sender=sender, to=whom)
    stage.says("b", c.Respond((1, 1)), envelopes=(e, envelope(flags=REPLY, sender=sender, to=whom)))
    assert not [reply for reply in stage.asker.replies if reply[0] == n]
    assert stage.figure("b", "late_replies") + stage.figure("b", "forged") == 2


@pytest.mark.parametrize("state", scenarios(["NO_HANDLERS", "OK", "HANDLER_LOST", "NONSENSE"], 2))
def test_answers_to_what_another_node_has_are_counted(stage: Stage, state: str) -> None:
    User(stage.a, "slow").serve("slow", credit=1)
    waiting = [stage.asker.request("slow", b"%d" % n, ttl=60_000) for n in range(3)]
    stage.net.until(lambda: stage.asker.state(waiting[0]) == "OK")
    wide = c.Answer(SENDS, 1, MOST, state, MOST, "no")
    said = [c.Outcome(stream, wide) for stream in (stage.asker.stream, b"u" * 16)]
    stage.says("b", c.Sent((*said, c.Outcome(b"u" * 16, c.Answer("D", 9, 1)))))
    assert stage.asker.state(waiting[2]) == "" and stage.figure("b", "unasked") >= 3


def test_groups_that_are_none_and_more_than_one_may_have(stage: Stage) -> None:
    told = stage.b.core.parts.members._registry._received.get(stage.c.uuid, 0)
    odd = tuple((name, MOST) for name in ("", "g", "\n\n", "g\n\n", "x" * 9999, "g\n\na/#/b"))
    stage.says("b", c.Members(told + 1, odd))
    assert stage.figure("b", "unknown_kinds") == 6
    stage.says("b", c.Heard(MOST))
    assert stage.b.core.parts.members._registry.count_names(stage.c.uuid) == 0


def test_a_node_with_as_many_groups_as_it_may_have_changes_them(
    stage: Stage, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("mesh.kernel.presence.members.MOST", 2)
    here, there = (node.core.parts.members for node in (stage.b, stage.c))
    groups = [f"g\n\na/{n}" for n in range(3)]
    for name, number in [(groups[0], 1), (groups[1], 1), (groups[0], 2)]:
        there.joined(name, number, lambda: None)
        assert stage.says("b") == ""
    assert [here.members(name) for name in groups] == [{stage.c.uuid: 2}, {stage.c.uuid: 1}, {}]
    there.joined(groups[2], 1, lambda: None)
    assert stage.says("b") == "TOO_MANY_GROUPS"
