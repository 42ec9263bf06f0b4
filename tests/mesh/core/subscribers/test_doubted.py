"""Items that wait because their sender is in doubt."""

import pytest
from msgspec.structs import replace

from mesh.core.subscribers.doubted import PATIENCE
from mesh.values import Hop
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from tests.mesh.core.stranger import Stranger
from tests.mesh.envelopes import envelope
from tests.simulated_client import Subscription, client_of
from tests.simulation import SimNetwork, SimNode

ITSELF = b"S" * 16  # uuid of the stranger


def item(number: int, node: str, content: bytes = b"") -> Envelope:
    """Return a message of a client of that node, which reached the stranger by its route."""
    route = tuple(Hop(name, 0, 1) for name in dict.fromkeys((node, "stranger")))
    said = envelope("k", [content or b"%d" % number], first=number, persistent=True)
    return replace(said, sender=f"/node/{node}/client/joe/session/1", route=route)


def say(stranger: Stranger, number: int, *envelopes: Envelope) -> None:
    heads = tuple(c.ItemHead(1, number + i, ITSELF) for i in range(len(envelopes)))
    stranger.say(c.Items(number, heads), *envelopes)


@pytest.fixture
def meeting() -> tuple[SimNode, Stranger, Subscription]:
    """Return a node, a stranger that is logged in there as a node, and a subscription."""
    a = SimNetwork().node("a")
    heard = client_of(a).subscribed("k")
    stranger = Stranger(a)
    stranger.as_node()
    return a, stranger, heard


def have(stranger: Stranger) -> int:
    """Return the last item that was acknowledged to the stranger."""
    return max((command.have for command in stranger.heard if isinstance(command, c.Ack)), default=0)


def test_items_behind_one_in_doubt_wait_in_their_order(
    meeting: tuple[SimNode, Stranger, Subscription],
) -> None:
    a, stranger, heard = meeting
    say(stranger, 1, item(1, "c"))
    say(stranger, 2, item(2, "stranger"))
    a.net.run(1)
    assert (heard.contents, have(stranger)) == ([], 0)
    a.core.parts.doubted.origins.declared("c", ("stranger",))
    a.net.run(1)
    assert (heard.contents, have(stranger), a.metric("forged")) == ([b"1", b"2"], 2, 0)


def test_an_invented_node_is_refused_after_a_while_and_later_items_are_accepted(
    meeting: tuple[SimNode, Stranger, Subscription],
) -> None:
    a, stranger, heard = meeting
    say(stranger, 1, item(1, "c"))
    a.net.run(2)
    say(stranger, 2, item(2, "stranger"))
    a.net.run(PATIENCE - 3)
    assert (heard.contents, a.metric("forged")) == ([], 0)
    a.net.run(2)
    assert (heard.contents, have(stranger), a.metric("forged")) == ([b"2"], 2, 1)
    assert not stranger.is_gone


def test_of_one_item_message_only_forged_envelopes_are_dropped(
    meeting: tuple[SimNode, Stranger, Subscription],
) -> None:
    a, stranger, heard = meeting
    say(stranger, 1, item(1, "stranger"), item(2, "a"), item(3, "stranger"))
    assert (heard.contents, a.metric("forged"), a.metric("unasked")) == ([b"1", b"3"], 1, 0)


def test_a_repeated_item_message_is_counted_once(meeting: tuple[SimNode, Stranger, Subscription]) -> None:
    a, stranger, heard = meeting
    say(stranger, 1, item(1, "a"))
    say(stranger, 1, item(1, "a"))
    assert (heard.contents, a.metric("forged")) == ([], 1)


def test_held_items_end_with_their_connection_and_come_again_with_the_next(
    meeting: tuple[SimNode, Stranger, Subscription],
) -> None:
    a, stranger, heard = meeting
    say(stranger, 1, item(1, "c"))
    assert stranger._pipe is not None
    stranger._pipe.lose()
    a.net.run(PATIENCE + 1)
    assert (heard.contents, a.metric("forged"), a.core.parts.doubted._held) == ([], 0, {})
    again = Stranger(a)
    again.as_node()
    a.core.parts.doubted.origins.declared("c", ("stranger",))
    say(again, 1, item(1, "c"))
    assert heard.contents == [b"1"]


def test_items_of_the_next_connection_do_not_follow_those_of_the_last_one(
    meeting: tuple[SimNode, Stranger, Subscription],
) -> None:
    a, stranger, heard = meeting
    say(stranger, 1, item(1, "c"))
    again = Stranger(a)
    again.as_node()
    say(again, 1, item(1, "stranger"))
    assert heard.contents == [b"1"]
    a.net.run(PATIENCE + 1)
    assert (heard.contents, a.metric("forged")) == ([b"1"], 0)


def test_a_broken_rule_of_the_protocol_is_found_after_the_wait(
    meeting: tuple[SimNode, Stranger, Subscription],
) -> None:
    a, stranger, heard = meeting
    say(stranger, 1, item(1, "c"))
    for number in (3, 4, 5):
        say(stranger, number, item(number, "stranger"))
    a.net.run(PATIENCE + 1)
    assert (heard.contents, stranger.refusal, a.metric("malformed")) == ([], "GAP", 1)


def test_too_much_behind_a_sender_in_doubt_ends_the_connection() -> None:
    a = SimNetwork().node("a", window_bytes=1000, window_count=1)
    heard = client_of(a).subscribed("k")
    stranger = Stranger(a)
    stranger.as_node()
    say(stranger, 1, item(1, "c"))
    say(stranger, 2, item(2, "c", bytes(2000)))
    assert stranger.refusal == ""
    say(stranger, 3, item(3, "c", bytes(6000)))
    assert (stranger.refusal, heard.contents) == ("FORGED_SENDER", [])
    assert a.core.parts.doubted._held == {}


def test_items_of_other_peers_do_not_wait() -> None:
    net = SimNetwork()
    a, b = net.mesh("a", "b")
    heard = client_of(a).subscribed("k")
    stranger = Stranger(a)
    stranger.as_node()
    say(stranger, 1, item(1, "c"))
    a.net.run(1)
    client_of(b, "true").publish("k", b"true", persistent=True)
    a.net.run(1)
    assert heard.contents == [b"true"]
