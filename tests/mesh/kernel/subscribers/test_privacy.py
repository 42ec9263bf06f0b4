"""The clients that may read a dead letter."""

from typing import Any
from unittest.mock import patch

import pytest

from mesh.kernel.context.conn import MONITOR
from mesh.kernel.forwarding.deadletters import DeadLetterContents
from mesh.kernel.subscribers.privacy import as_seen_by
from mesh.values import Headers
from mesh.wire.envelope import decode
from mesh.wire.properties import Properties, encode_properties
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.keyed_client import Keyed
from tests.mesh.kernel.stranger import STREAM
from tests.simulated_client import Got, SimClient
from tests.simulation import SimNetwork, SimNode

LINGER = 5.0

DEAD = "__sys__deadMessage/#"


def node(**settings: Any) -> SimNode:
    return SimNetwork().node("a", linger=LINGER, **settings)


def letters(client: SimClient) -> list[Got]:
    return client.get(pattern=DEAD)


def dead_letter(a: SimNode, to: str = "client/joe", text: bytes = b"secret") -> Keyed:
    """Send a message that expires, and return its sender once it is a dead letter."""
    sender = Keyed(a, "ann's key", "ann")
    sender.send(to, text, force=True, expires=a.wall + 1_000_000_000)
    sender.settled()
    before = a.metric("dead")
    a.net.until(lambda: a.metric("dead") > before)
    return sender


def test_trial_A5_a_dead_letter_is_read_by_its_sender_its_receiver_and_nodes_only() -> None:
    a = node()
    joe = Keyed(a, "joe's key", "joe")
    joe.inbox()
    joe.close()
    mallory = Keyed(a, "mallory's key", "mallory")
    following = mallory.subscribed(pattern=DEAD)
    sender = dead_letter(a)
    a.net.run(3 * LINGER)  # any client may take the inbox now, but not its dead letters
    heir = Keyed(a, "mallory's key", "joe")
    assert heir.opens() == ""
    receiver = Keyed(a, "joe's key", "other")
    local = SimClient(a.net, a.ipc, "owner").connected()
    assert [[m.content for m in letters(who)] for who in (sender, receiver)] == [[b"secret"]] * 2
    monitor = Keyed(a, "monitor's key", "m", grant=MONITOR)
    for who in (mallory, heir, monitor):
        (letter,) = letters(who)
        assert letter.content == b""
    a.net.until(lambda: following.got)
    assert following.contents == [b""]
    local.connected()
    (whole,) = local.subscribed(pattern=DEAD).got or letters(local)
    assert whole.content == b"secret"


@pytest.mark.parametrize("words", ["__sys__deadMessage/x", "__sys__deadMessage/x __sys__deadMessage/y"])
def test_trial_A5_a_dead_letter_that_does_not_say_whose_it_was_is_shown_to_nodes_only(words: str) -> None:
    a = node()
    mallory, owner = Keyed(a, "mallory's key", "m"), SimClient(a.net, a.ipc, "owner").connected()
    letter = envelope(words, [b"secret"] * len(words.split()))
    closed = as_seen_by(a.core.parts.clients.sessions[mallory.stream], letter)
    assert b"secret" not in closed.body and closed.count == letter.count
    assert decode(closed.header(), closed.body) == closed
    assert as_seen_by(a.core.parts.clients.sessions[owner.stream], letter) is letter


@pytest.mark.parametrize(("to", "is_whole"), [("queue/jobs", True), ("jobs", False), ("client/joe", False)])
def test_a_dead_letter_of_a_queue_is_for_all_as_its_messages_are(to: str, is_whole: bool) -> None:
    mallory = Keyed(node(), "mallory's key", "m")
    headers = Headers([("dead-code", "REJECTED"), ("dead-to", to)])
    said = DeadLetterContents("x", "k", encode_properties(Properties(headers)), b"job", 0, ())
    letter = said.envelope(STREAM, 1, "__sys__deadMessage/x", "", "a")
    seen = as_seen_by(mallory.node.core.parts.clients.sessions[mallory.stream], letter)
    assert (seen is letter, seen.message(0)[1]) == ((True, b"job") if is_whole else (False, b""))


def test_trial_A5_a_dead_letter_is_erased_by_those_who_may_read_it() -> None:
    a = node()
    mallory = Keyed(a, "mallory's key", "mallory")
    sender = dead_letter(a)
    (letter,) = letters(sender)
    assert mallory.erase(letter.key) == "NOT_ALLOWED"
    assert len(letters(sender)) == 1
    assert sender.erase(letter.key) == [letter.key]
    assert letters(sender) == []


def test_a_dead_letter_that_cannot_be_erased_yet_is_refused_after_the_lookup() -> None:
    a, _ = SimNetwork().mesh("a", "b")
    sender = dead_letter(a)
    with patch.object(type(a.core.parts.forwarder.onward), "holds", return_value=True):
        assert sender.erase(letters(sender)[0].key) == "MASTER_AWAY"
