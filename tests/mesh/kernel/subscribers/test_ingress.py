"""Messages for a queue: the names and domains that they may have, up to the node of their client.

The tests have no queues, so each message ends at that node.
"""

from typing import Any

import pytest

from mesh.names import SENDS
from mesh.wire import commands as c
from mesh.wire.envelope import (
    ERASED,
    EVERY,
    FORCE_QUEUING,
    INITIAL,
    LOCAL_ONLY,
    NO_RELAY,
    ONE_SESSION,
    PERSISTENT,
    REPLY,
    REQUEST,
    TAILED,
    Envelope,
)
from tests.mesh.kernel.stranger import STREAM, Stranger
from tests.simulated_client import client_of
from tests.simulation import SimNetwork

JOBS = "queue/jobs"


def put(number: int = 1, to: str = JOBS, domain: str | None = None, **more: Any) -> Envelope:
    domain = to if domain is None else domain
    return Envelope(STREAM, domain, number, number, ("",), 1, 3, b"job", to=to, **more)


class Stage:
    """A node with a subscriber to all messages, and a client that sends anything."""

    def __init__(self) -> None:
        self.node = SimNetwork().node("a")
        self.reader = client_of(self.node, "reader").subscribed(pattern="#")
        self.stranger = Stranger(self.node)
        self.stranger.as_client()

    def says(self, *envelopes: Envelope) -> list[str]:
        """Return the states of the answers, or the code with which the connection ends."""
        self.stranger.say(c.Publish((1,) * len(envelopes)), *envelopes)
        self.node.net.run(0.2)
        assert self.node.is_up and not self.reader.contents
        if self.stranger.refusal:
            return [self.stranger.refusal]
        said = [a for heard in self.stranger.heard if isinstance(heard, c.Answers) for a in heard.answers]
        return [a.state for a in said for _ in range(a.first, a.last + 1)]


@pytest.fixture
def stage() -> Stage:
    return Stage()


@pytest.mark.parametrize("flags", [0, PERSISTENT])
def test_a_queue_that_is_not_there_is_no_queue(stage: Stage, flags: int) -> None:
    assert (
        stage.says(put(1, flags=flags), put(2, flags=flags, put=(9, 2**32 - 1, "g" * 200)))
        == ["NO_QUEUE"] * 2
    )
    assert (stage.node.metric("published"), stage.node.metric("stored_envelopes")) == (0, 0)
    (text, *_) = [a.text for x in stage.stranger.heard if isinstance(x, c.Answers) for a in x.answers]
    assert "'jobs' does not exist at a." in text


@pytest.mark.parametrize("name", ["x" * 200, "a/b/c", "queues", "j"])
def test_names_that_a_queue_may_have(stage: Stage, name: str) -> None:
    assert stage.says(put(to=f"queue/{name}")) == ["NO_QUEUE"]


@pytest.mark.parametrize(
    "name",
    [
        "",
        "x" * 201,
        "+",
        "a/#",
        "a\0b",
        "a\nb",
        "queue/a",
        "address/a",
        "map",
        "client/joe",
        "/node/a",
        "__sys__x",
    ],
)
def test_names_that_no_queue_can_have(stage: Stage, name: str) -> None:
    assert stage.says(put(to=f"queue/{name}")) == ["BAD_NAME"]


@pytest.mark.parametrize(
    ("to", "domain", "code"),
    [
        (JOBS, "", "BAD_NAME"), (JOBS, "WEATHER", "BAD_NAME"), (JOBS, "queue/other", "BAD_NAME"),
        (JOBS, SENDS, "BAD_NAME"), (JOBS, "map/x", "RESERVED"), ("", JOBS, "RESERVED"),
        ("client/joe", JOBS, "RESERVED"), ("calc/add", JOBS, "RESERVED"),
        ("/node/a/queue/jobs", JOBS, "RESERVED"),
        ("queue/", "queue/", "BAD_NAME"), ("queue", "queue", "BAD_NAME"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("flags", [0, PERSISTENT])
def test_a_queue_and_its_domain_go_together(
    stage: Stage, to: str, domain: str, code: str, flags: int
) -> None:
    assert stage.says(put(to=to, domain=domain, flags=flags)) == [code]


@pytest.mark.parametrize(
    ("to", "code"), [("", "RESERVED"), ("client/joe", "RESERVED"), ("queue/b", "BAD_NAME")]
)
def test_they_go_together_in_each_envelope_and_not_just_in_the_first(
    stage: Stage, to: str, code: str
) -> None:
    assert stage.says(put(1), put(2, to=to, domain=JOBS), put(3)) == ["NO_QUEUE", code, "NO_QUEUE"]


def test_a_queue_is_not_reached_by_a_domain_that_is_known_already(stage: Stage) -> None:
    letters = [put(n, to="client/joe", domain="") for n in (1, 3)]
    assert stage.says(letters[0], put(2, domain=""), letters[1]) == [
        "NOT_CONNECTED", "BAD_NAME", "NOT_CONNECTED",
    ]  # fmt: skip


@pytest.mark.parametrize("flag", [LOCAL_ONLY, FORCE_QUEUING, NO_RELAY])
def test_what_is_put_neither_waits_nor_stays(stage: Stage, flag: int) -> None:
    assert stage.says(put(flags=flag), put(2, flags=flag | PERSISTENT)) == ["BAD_ARGUMENT"] * 2


@pytest.mark.parametrize(
    "flag", [INITIAL, ERASED, TAILED, REPLY, EVERY, REQUEST, ONE_SESSION, 1024, 2048, 2**62]
)
def test_flags_of_others_end_the_connection(stage: Stage, flag: int) -> None:
    assert stage.says(put(flags=flag)) == ["FORGED_SENDER"]


@pytest.mark.parametrize("to", ["", "client/joe", "calc/add", "/node/a/client/joe", "queue"])
@pytest.mark.parametrize("domain", ["", "WEATHER"])
def test_who_puts_something_into_no_queue_is_hung_up_on(stage: Stage, to: str, domain: str) -> None:
    assert stage.says(put(to=to, domain=domain, put=(9, 0, ""))) == ["MALFORMED"]


@pytest.mark.parametrize("group", ["a\0b", "a\nb", "\x7f"])
def test_a_group_that_nobody_could_print_is_refused(stage: Stage, group: str) -> None:
    assert stage.says(put(put=(5, 0, group))) == ["BAD_ARGUMENT"]


@pytest.mark.parametrize("ttls", [(), (5000,), (0,)])
def test_a_time_to_live_changes_nothing(stage: Stage, ttls: tuple[int, ...]) -> None:
    stage.stranger.say(c.Publish((1,), ttls), put())
    states = [a.state for said in stage.stranger.heard if isinstance(said, c.Answers) for a in said.answers]
    assert states == ["NO_QUEUE"]


def test_numbers_of_a_queue_are_its_own_and_grow(stage: Stage) -> None:
    assert stage.says(put(5), put(1, to="queue/b"), put(6)) == ["NO_QUEUE"] * 3
    assert stage.says(put(6)) == ["OUT_OF_ORDER"]


# --- messages of other nodes ------------------------------------------------------------------------------


@pytest.mark.parametrize("to", [JOBS, "", "client/joe"])
@pytest.mark.parametrize("domain", [JOBS, ""])
def test_another_node_forwards_nothing_into_a_queue(to: str, domain: str) -> None:
    """Messages from a peer in the domain of a queue could pass for those of a local client."""
    if not to and not domain:
        return
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    client_of(b, "near").send("/node/a/client/nobody", b"x")  # so that b is logged in to a
    net.run(2)
    hop = c.Forward((1,))
    sender = "/node/b/client/mallory/session/1"
    e = put(to=to, domain=domain, sender=sender, flags=PERSISTENT).passed(b.core.parts.context.hop(1), 5)
    peer = b.core.parts.neighbours.peers[a.uuid]
    b.core.parts.context.out.send(peer.data, hop, [e])
    b._carry_out_all()
    net.run(1)
    assert a.is_up and b.is_up
    assert (a.metric("published"), a.metric("stored_envelopes")) == (0, 0)
    forged, refused = a.metric("forged"), a.metric("refused")
    assert (forged > 0) is (domain == JOBS) and refused > 0
