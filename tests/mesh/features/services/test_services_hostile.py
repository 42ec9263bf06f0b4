"""Hostile clients of services: refused by name, disconnected or counted, while other clients continue."""

from typing import Any

import pytest

from mesh.features.services.node.parts import ServiceParts
from mesh.kernel.presence import members
from mesh.names import SENDS
from mesh.wire import commands as c
from mesh.wire.envelope import EVERY, FORCE_QUEUING, PERSISTENT, REPLY, REQUEST, RESENT, Envelope
from mesh.wire.frames import body_frames
from tests.each import each
from tests.mesh.features.services.node.user import REPLIES, User
from tests.seeds import scenarios
from tests.simulation import SimNetwork

MOST = 2**32 - 1


class Stage:
    """Two nodes, an honest client at each, one that serves and one that asks, and a hostile client."""

    def __init__(self) -> None:
        self.net = SimNetwork()
        self.a, self.b = self.net.mesh("a", "b")
        self.server, self.asker = User(self.a, "server"), User(self.b, "asker")
        self.server.serve("good", credit=10_000)
        self.liar = User(self.a, "liar")
        self.given = 0
        self.works()

    def works(self) -> None:
        """Send an honest request, and wait for its reply."""
        n = self.asker.request("good", b"?")
        self.given += 1
        self.net.until(lambda: len(self.server.contents()) == self.given)
        self.server.reply((self.given, b"!"))
        self.net.until(lambda: self.asker.replies and self.asker.replies[-1][0] == n)
        assert self.asker.replies[-1][1:3] == (b"!", "")

    def refusal(self, *said: c.Command, envelopes: tuple[Envelope, ...] = ()) -> str:
        """Return the code with which the hostile client is disconnected, or "". Others must continue."""
        for command in said:
            self.liar.say(command, *envelopes)
        self.net.run(0.5)
        self.works()
        found = [x.code for x in self.liar.heard if isinstance(x, c.Refuse)]
        return found[-1] if found else ""

    def reply(self, command: c.Consume) -> str:
        """Return the code of the reply to `command`."""
        assert self.refusal(command) == ""
        said = self.liar.said(command.request)
        assert said is not None
        return said.code


@pytest.fixture
def stage() -> Stage:
    return Stage()


def contents(user: User, count: int, props: bytes = b"") -> Envelope:
    piece = props + b"x"
    return Envelope(
        user.stream, "", 1, count, ("",), count, len(piece), piece * count,
        props=len(props).to_bytes(4, "little") * count if props else 0,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("done", "replied", "code"),
    [((1, 1), (), "FORGED_ACK"), ((1, MOST), (), "FORGED_ACK"), ((0, 0), (), "FORGED_ACK"),
     ((1,), (), "MALFORMED"), ((2, 1), (), "FORGED_ACK"), ((), (1,), "FORGED_ACK"), ((), (0,), "FORGED_ACK"),
     ((), (MOST,), "FORGED_ACK"), ((), (), "")],
)  # fmt: skip
def test_counts_that_were_never_given(
    stage: Stage, done: tuple[int, ...], replied: tuple[int, ...], code: str
) -> None:
    stage.liar.serve("bad")
    envelopes = (contents(stage.liar, len(replied)),) if replied else ()
    settle = c.Settle(1, stage.liar.epoch, done, replied, (1,) * len(envelopes))
    assert stage.refusal(settle, envelopes=envelopes) == code


@pytest.mark.parametrize("epoch", [0, 1, 2**63 - 1])
def test_what_is_said_of_another_epoch_or_of_anothers_subscription_is_counted(
    stage: Stage, epoch: int
) -> None:
    stage.liar.serve("bad", number=7)
    for number in (1, 7, 0, REPLIES):
        assert stage.refusal(c.Settle(number, epoch, (1, MOST))) == ""
    assert stage.a.core.parts.context.figures()["settled_late"] == 4


@pytest.mark.parametrize("counts", [1, 3])
def test_other_replies_than_counts(stage: Stage, counts: int) -> None:
    stage.liar.serve("bad")
    settle = c.Settle(1, stage.liar.epoch, (), tuple(range(1, counts + 1)), (1,))
    assert stage.refusal(settle, envelopes=(contents(stage.liar, 2),)) == "MALFORMED"


def test_replies_whose_properties_nobody_can_read(stage: Stage) -> None:
    stage.liar.serve("bad")
    n = stage.asker.request("bad", b"1")
    stage.net.until(lambda: stage.liar.contents())
    settle = c.Settle(1, stage.liar.epoch, (), (1,), (1,))
    stage.liar.say(settle, contents(stage.liar, 1, b"\xc1"))
    stage.net.until(lambda: (n, "HANDLER_LOST") in {(x[0], x[2]) for x in stage.asker.replies})
    assert [x.code for x in stage.liar.heard if isinstance(x, c.Refuse)] == ["BAD_PROPERTIES"]


@each(
    "address",
    ["", "map/x", "queue/map/x", "client/joe", "/node/a/client/x", "__sys__x", "+", "a/#", "x" * 600, "a\0b",
     "\n\n", "g\n\n", "g\nx", "\n" * 500, "address/x"],
)  # fmt: skip
def test_addresses_that_cannot_be_served(stage: Stage, address: str) -> None:
    assert stage.reply(c.Consume(9, 9, address, 1)) in ("BAD_NAME", "BAD_KEY", "BAD_QUERY", "RESERVED")
    assert address not in stage.a.core.parts[ServiceParts].serving.addresses


@each("more", [{"selector": "x"}, {"lease": 1}, {"held": ((b"s" * 16, (1, 1)),)}])
def test_what_is_said_of_queues_only(stage: Stage, more: dict[str, Any]) -> None:
    assert stage.reply(c.Consume(9, 9, "bad", 1, **more)) == "BAD_ARGUMENT"
    assert "bad" not in stage.a.core.parts[ServiceParts].serving.addresses


@pytest.mark.parametrize("more", [{"request": 3}, {"entries": ((1, 1, c.NACK, 0, ""),)}])
def test_what_becomes_of_messages_of_queues_only(stage: Stage, more: dict[str, Any]) -> None:
    stage.liar.serve("bad")
    assert stage.refusal(c.Settle(1, stage.liar.epoch, **more)) == "MALFORMED"


@each("number", [0, REPLIES])
def test_numbers_of_the_inbox_and_of_replies(stage: Stage, number: int) -> None:
    assert stage.reply(c.Consume(9, number, "bad", 1)) == "BAD_ARGUMENT"


def test_too_much_credit_and_too_many_addresses(stage: Stage) -> None:
    assert stage.reply(c.Consume(9, 9, "bad", MOST)) == "BAD_ARGUMENT"
    assert "bad" not in stage.a.core.parts[ServiceParts].serving.addresses
    for n in range(1100):
        stage.liar.say(c.Consume(100 + n, 100 + n, f"bad/{n}", 1))
    assert stage.refusal() == ""
    assert len(stage.a.core.parts[ServiceParts].serving.addresses) <= 1001
    said = [x.code for x in stage.liar.heard if isinstance(x, c.Reply) and x.request >= 100]
    assert said.count("TOO_MANY_ADDRESSES") == 100


def test_more_groups_than_a_node_may_have(stage: Stage, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(members, "MOST", 2)
    said = [stage.reply(c.Consume(9 + n, 9 + n, f"g{n}\n\n#", 1)) for n in range(4)]
    parts = stage.a.core.parts
    assert said == ["", "", "TOO_MANY_GROUPS", "TOO_MANY_GROUPS"]
    assert len(parts.members.own) == 2 and len(parts[ServiceParts].serving.addresses) == 3


def test_one_number_for_several_things(stage: Stage) -> None:
    stage.liar.serve("one", number=5)
    stage.liar.serve("two", number=5)
    assert stage.refusal(c.Subscribe(50, 5, c.Query("exact", "k")), c.Consume(51, 5, "three", 1)) == ""
    assert {"one", "two"}.isdisjoint(stage.a.core.parts[ServiceParts].serving.addresses)
    stage.asker.send("three", b"1")
    assert stage.refusal(c.Unsubscribe(52, 5), c.Unsubscribe(53, REPLIES), c.Ack(0, ((5, 1),))) in (
        "",
        "FORGED_ACK",
    )


def test_more_names_than_one_may_watch(stage: Stage) -> None:
    names = tuple(("address", f"n/{n}") for n in range(1001))
    stage.server.watch(1, "n/700")
    stage.net.run(0.1)
    assert (
        stage.refusal(c.Watch(1, True, False, names[:500]), c.Watch(2, False, False, names[500:]))
        == "TOO_MANY_NAMES"
    )
    presence = stage.a.core.parts.presence
    assert len(presence._clients) == 1
    held = {name: watched.held for name, watched in presence._watching.names.items() if watched.held}
    assert held == {names[700]: 1}, "by the other client"


def test_a_watch_that_never_ends_and_what_was_never_added(stage: Stage) -> None:
    watches = [c.Watch(n, True, True, (("address", f"n/{n}"),), (("address", "never"),)) for n in range(100)]
    assert stage.refusal(*watches) == ""
    assert stage.refusal(c.Watch(1, True, False, (("queue", "x"),))) == "MALFORMED"


@each(
    "case",
    [("good", SENDS, PERSISTENT, "BAD_ARGUMENT"), ("good", SENDS, FORCE_QUEUING, "BAD_ARGUMENT"),
     ("", SENDS, 0, "BAD_NAME"), ("client/joe", SENDS, 0, "BAD_NAME"),
     ("/node/a/client/x", SENDS, 0, "BAD_NAME"),
     ("map/x", SENDS, REQUEST, "BAD_NAME"), ("g\n\n#", SENDS, 0, "BAD_NAME"), ("x\0", SENDS, 0, "BAD_NAME"),
     ("nobody", SENDS, REQUEST | RESENT, "HANDLER_LOST"), ("nobody", SENDS, REQUEST | EVERY, "NO_HANDLERS")],
)  # fmt: skip
def test_sends_to_what_is_no_address(stage: Stage, case: tuple[str, str, int, str]) -> None:
    to, domain, flags, code = case
    n = stage.liar.number = stage.liar.number + 1
    e = Envelope(stage.liar.stream, domain, n, n, ("",), 1, 1, b"x", flags=flags, to=to)
    assert stage.refusal(c.Publish((1,)), envelopes=(e,)) == ""
    assert [x.state for x in stage.liar.answers if x.first == n] == [code]


@pytest.mark.parametrize(
    ("domain", "flags", "ttls", "code"),
    [("", EVERY, (), "FORGED_SENDER"), ("D", REQUEST, (), "FORGED_SENDER"),
     ("", RESENT | REPLY, (), "FORGED_SENDER"),
     (SENDS, REPLY, (), "FORGED_SENDER"),
     (SENDS, 2**40, (), "FORGED_SENDER"), (SENDS, 0, (1, 2), "MALFORMED")],
)  # fmt: skip
def test_flags_and_times_that_cannot_be(
    stage: Stage, domain: str, flags: int, ttls: tuple[int, ...], code: str
) -> None:
    e = Envelope(stage.liar.stream, domain, 1, 1, ("k",), 1, 1, b"x", flags=flags, to="good")
    assert stage.refusal(c.Publish((1,), ttls), envelopes=(e,)) == code


@pytest.mark.parametrize(
    "command",
    scenarios([c.Sends((1,)), c.Serving(1, 1), c.Sent(()), c.Respond((1,)), c.Heard(1), c.Members(1)], 2),
)
def test_what_only_nodes_say(stage: Stage, command: c.Command) -> None:
    envelopes = (contents(stage.liar, 1),) if isinstance(command, c.Sends | c.Respond) else ()
    assert stage.refusal(command, envelopes=envelopes) == "UNEXPECTED"


def test_resent_numbers_cost_no_memory_and_are_given_to_nobody(stage: Stage) -> None:
    for n in range(6):
        e = Envelope(
            stage.liar.stream,
            SENDS,
            1 + 2000 * n,
            2000 + 2000 * n,
            ("",),
            2000,
            0,
            b"",
            flags=RESENT,
            to="good",
        )
        stage.liar.say(c.Publish((body_frames(e),)), e)
    stage.net.run(5)
    assert stage.refusal() == "" and stage.liar.state(12_000) == "HANDLER_LOST"
    assert len(stage.server.contents()) == stage.given
    memory = stage.a.core.parts[ServiceParts].open_requests.streams[stage.liar.stream]
    assert len(memory._refused) <= 1024 and not memory.unanswered
