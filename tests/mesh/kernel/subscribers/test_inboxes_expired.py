"""Each direct message that expires unread becomes one dead letter, on simulated nodes."""

import pytest

from mesh.kernel.subscribers.inboxes import Inboxes
from mesh.wire.envelope import FORCE_QUEUING, PERSISTENT
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.store.images import standing
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode

DEAD = "__sys__deadMessage/#"
JOE, ONE = "/node/a/client/joe", "/node/a/client/joe/session/1"
SECOND = 10**9


@pytest.fixture(autouse=True)
def _no_tick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prevent ticks, which may dead-letter first. test_inboxes.py tests them."""
    monkeypatch.setattr(Inboxes, "tick", lambda self: None)


def a_node(**settings: int) -> tuple[SimNode, SimClient]:
    """Return a node and a client that sends to it."""
    node = SimNetwork().node("a", **settings)
    return node, client_of(node, "pub")


def write(
    sender: SimClient, node: SimNode, *contents: bytes, to: str = ONE, persistent: bool = False
) -> None:
    """Send direct messages that expire after five seconds."""
    for content in contents:
        sender.send(to, content, force=True, persistent=persistent, expires=node.wall + 5 * SECOND)
    sender.settled()


def dead(node: SimNode) -> list[bytes]:
    """Return the contents of all dead letters. Each published one must be there."""
    node.net.until(lambda: not node.core.parts.disk.storing)
    letters = client_of(node, "clerk").get(pattern=DEAD)
    assert node.metric("dead") == len(letters)
    return sorted(letter.content for letter in letters)


@pytest.mark.parametrize("to", [ONE, JOE])
@pytest.mark.parametrize("persistent", [False, True])
def test_trial_B4_a_reader_that_comes_too_late_finds_a_dead_letter(to: str, persistent: bool) -> None:
    node, sender = a_node()
    write(sender, node, b"void", to=to, persistent=persistent)
    sender.send(to, b"good", force=True, persistent=persistent)
    node.net.run(6)
    inbox = client_of(node, "joe", session=1).inbox()
    node.net.until(lambda: inbox.contents == [b"good"])
    assert dead(node) == [b"void"]
    assert (node.metric("buried"), node.metric("expired_waiting"), node.metric("expired")) == (1, 0, 1)
    node.net.run(5)
    assert node.metric("stored_envelopes") == 0


def test_trial_B4_what_was_sent_to_an_open_inbox_too_late_is_a_dead_letter() -> None:
    node, sender = a_node()
    inbox = client_of(node, "joe", session=1).inbox()
    sender.send(ONE, b"void", expires=node.wall - SECOND)
    sender.send(ONE, b"good", expires=node.wall + 100 * SECOND)
    sender.settled()
    node.net.until(lambda: inbox.contents == [b"good"])
    assert dead(node) == [b"void"]


@pytest.mark.parametrize("persistent", [False, True])
def test_trial_B4_what_waited_for_a_slow_reader_too_long_is_a_dead_letter(persistent: bool) -> None:
    node, sender = a_node(window_count=2)
    joe = client_of(node, "joe", session=1)
    inbox = joe.inbox()
    inbox.rate = 1e-9
    write(sender, node, b"1", b"2", b"3", b"4", persistent=persistent)
    sender.send(ONE, b"5", persistent=persistent)
    node.net.run(6)
    joe.use(inbox)
    node.net.until(lambda: inbox.contents == [b"1", b"2", b"5"])
    assert dead(node) == [b"3", b"4"]
    node.net.run(5)
    assert node.metric("stored_envelopes") == 0


def test_trial_B4_what_a_reader_had_under_way_when_it_went_is_a_dead_letter_when_it_is_back() -> None:
    node, sender = a_node()
    joe = client_of(node, "joe", session=1)
    joe.inbox().rate = 1e-9
    write(sender, node, b"1", b"2", persistent=True)
    node.net.run(1)
    joe.die()
    node.net.run(40)
    inbox = client_of(node, "joe", session=1).inbox()
    node.net.run(2)
    assert inbox.contents == []
    assert dead(node) == [b"1", b"2"]


def test_trial_B4_a_letter_that_expired_while_its_node_was_down_is_a_dead_letter_once() -> None:
    node, sender = a_node()
    write(sender, node, b"void", persistent=True)
    node.kill()
    node.net.run(6)
    node.start()
    before = client_of(node, "joe", session=1)
    before.inbox()
    node.net.run(2)
    assert dead(node) == [b"void"]
    before.die()
    node.restart()
    client_of(node, "joe", session=1).inbox()
    node.net.run(2)
    assert node.metric("dead") == 0
    assert len(client_of(node, "clerk").get(pattern=DEAD)) == 1


def three(sender: SimClient, node: SimNode) -> None:
    """Store three direct messages in one envelope. The first and the last expire after five seconds."""
    soon, later = node.wall + 5 * SECOND, node.wall + 500 * SECOND
    owns = [encode_properties(Properties(expires=at)) for at in (soon, later, soon)]
    publisher, flags = sender.core.publisher, PERSISTENT | FORCE_QUEUING
    for own, content in zip(owns, (b"1", b"2", b"3"), strict=True):
        publisher.append_message("", content, "", flags, own, soon, ONE)
    assert publisher.accumulator.builder is not None and len(publisher.accumulator.builder.slices) == 3
    sender.settled()


def test_trial_B4_of_letters_in_one_envelope_those_that_are_void_are_dead_letters_once() -> None:
    """A crash changes nothing: the commit of the dead letters also removes the messages."""
    node, sender = a_node()
    three(sender, node)
    node.net.run(6)
    joe = client_of(node, "joe", session=1)
    inbox = joe.inbox()
    inbox.rate = 1e-9
    node.net.run(2)
    assert dead(node) == [b"1", b"3"]
    joe.die()
    node.restart()
    inbox = client_of(node, "joe", session=1).inbox()
    node.net.until(lambda: inbox.contents == [b"2"])
    assert node.metric("dead") == 0
    node.net.run(5)
    assert node.metric("stored_envelopes") == 0


def test_trial_B4_a_reader_that_is_cut_off_loses_no_letter() -> None:
    """The client reads nothing while other messages are dropped for it. Its inbox drops none."""
    node, sender = a_node(window_count=2)
    joe = client_of(node, "joe", session=1)
    inbox, s = joe.inbox(), joe.subscribed("k", overflow="drop_newest", max_queue=2, rate=1e-9)
    inbox.rate = 1e-9
    for n in range(6):
        sender.send(ONE, b"%d" % n)
    for n in range(20):
        sender.publish("k", b"%d" % n)
    sender.settled()
    node.net.until(lambda: joe.refusals)
    joe.use(s)
    joe.use(inbox)
    node.net.until(lambda: len(inbox.got) == 6)
    assert inbox.contents == [b"%d" % n for n in range(6)]


def test_trial_B4_a_letter_that_moves_to_a_session_is_on_disk_once_at_every_moment() -> None:
    """Otherwise the message could be read or dead-lettered twice after a crash."""
    node, sender = a_node()
    write(sender, node, b"1", to=JOE, persistent=True)
    inbox = client_of(node, "joe", session=1).inbox()
    node.net.until(lambda: inbox.got)
    node.kill()
    assert len(standing(node.disk.store)) == 1
