"""A direct message reaches exactly its receivers, on simulated nodes."""

import asyncio

import pytest

from mesh.cli.send import explained
from mesh.errors import NotConnected
from mesh.testing import Mesh
from tests.mesh.kernel.masters import cluster
from tests.simulated_client import SimClient, Subscription, client_of
from tests.simulation import SimNetwork, SimNode


def test_A26_all_sessions_of_a_client_or_the_one_that_is_named() -> None:
    c = cluster(
        "heron", "avalon", "frodo", rules=dict.fromkeys(("heron", "avalon", "frodo"), ()), links="any"
    )
    ann = c.client("frodo", "ann")
    one, two = c.client("heron", "joe", session=1), c.client("heron", "joe", session=2)
    first, second = one.inbox(), two.inbox()
    ann.send("/node/heron/client/joe", b"both", persistent=True)
    ann.send("/node/heron/client/joe/session/2", b"two")
    ann.send("/node/heron/client/joe/session/3", b"nobody")
    ann.settled()
    c.net.until(lambda: (first.contents, second.contents) == ([b"both"], [b"both", b"two"]))
    assert [ann.state(n) for n in (1, 2, 3)] == ["OK", "OK", "NOT_CONNECTED"]
    assert ann.answers["", 1].matched == 2


def test_what_waits_for_a_session_survives_a_crash_of_its_node() -> None:
    c = cluster(
        "heron", "avalon", "frodo", rules=dict.fromkeys(("heron", "avalon", "frodo"), ()), links="any"
    )
    ann = c.client("frodo", "ann")
    for n in range(10):
        ann.send("/node/heron/client/joe/session/1", b"%d" % n, force=True, persistent=True)
    ann.settled()
    c["heron"].restart()
    inbox = c.client("heron", "joe", session=1).inbox()
    c.net.until(lambda: inbox.contents == [b"%d" % n for n in range(10)])
    c.net.run(3)
    c["heron"].restart()
    c.net.run(10)
    assert len(inbox.got) == 10
    assert c["heron"].metric("stored_envelopes") == 0


def test_a_letter_on_its_way_to_a_client_as_a_whole_reaches_the_session_that_opens_meanwhile() -> None:
    net = SimNetwork()
    net.disk = (0.3, 0.3)
    node = net.node("a")
    sender = client_of(node, "pub")
    sender.send("/node/a/client/joe", b"1", force=True, persistent=True)
    net.run(0.1)  # the message is being stored
    joe = client_of(node, "joe", session=1)
    inbox = joe.inbox()
    for n in range(2, 6):
        sender.send("/node/a/client/joe", b"%d" % n, force=True, persistent=n % 2 == 0)
        net.run(0.1)
    net.until(lambda: len(inbox.got) == 5)
    assert inbox.contents == [b"1", b"2", b"3", b"4", b"5"]
    net.run(5)
    assert (node.metric("stored_envelopes"), node.metric("pending")) == (0, 0)


def test_a_letter_that_comes_while_a_session_leaves_reaches_one_that_opens_before_it_is_stored() -> None:
    net = SimNetwork()
    net.disk = (0.3, 0.3)
    node = net.node("a")
    sender, joe = client_of(node, "pub"), client_of(node, "joe", session=1)
    joe.inbox()
    net.run(1)
    joe.core.close()
    net.run(0.1)
    sender.send("/node/a/client/joe", b"1", force=True, persistent=True)
    net.run(0.1)
    inbox = client_of(node, "joe", session=2).inbox()
    net.run(3)
    assert inbox.contents == [b"1"]


def one_waits_for_joe() -> tuple[SimNetwork, SimNode, SimClient]:
    """Return a node with a message that waits for joe, and the sender."""
    net = SimNetwork()
    node = net.node("a")
    sender = client_of(node, "pub")
    sender.send("/node/a/client/joe", b"1", force=True, persistent=True)
    sender.settled()
    return net, node, sender


def test_a_letter_that_comes_before_the_session_has_opened_its_inbox_passes_none_that_wait() -> None:
    net, node, sender = one_waits_for_joe()
    joe = client_of(node, "joe", session=1)
    sender.send("/node/a/client/joe", b"2", persistent=True)
    sender.settled()
    inbox = joe.inbox()
    net.until(lambda: len(inbox.got) == 2)
    assert inbox.contents == [b"1", b"2"]
    sender.send("/node/a/client/joe", b"3")
    net.until(lambda: inbox.contents == [b"1", b"2", b"3"])  # no backlog, and an open inbox


def test_nor_does_it_pass_one_that_is_on_its_way_to_the_disk() -> None:
    net = SimNetwork()
    net.disk = (0.3, 0.3)
    node = net.node("a")
    sender = client_of(node, "pub")
    sender.send("/node/a/client/joe", b"1", force=True, persistent=True)
    net.run(0.05)
    joe = client_of(node, "joe", session=1)
    sender.send("/node/a/client/joe", b"2", persistent=True)
    net.run(0.05)
    inbox = joe.inbox()
    assert sender.state(1) == ""  # the message is still being stored
    net.until(lambda: len(inbox.got) == 2)
    assert inbox.contents == [b"1", b"2"]


def test_nor_when_the_session_is_back_and_has_not_opened_its_inbox_again() -> None:
    net = SimNetwork()
    node = net.node("a")
    sender, joe = client_of(node, "pub"), client_of(node, "joe", session=1)
    joe.inbox()
    joe.core.subscriptions._all.clear()  # so that the client does not ask at once
    home, joe.address = joe.address, "nowhere"
    joe.lose()
    net.until(lambda: node.metric("connected_sessions") == 1)
    sender.send("/node/a/client/joe", b"1", force=True, persistent=True)
    sender.settled()
    joe.address = home
    joe.connected()
    sender.send("/node/a/client/joe", b"2", persistent=True)
    sender.settled()
    inbox = joe.inbox()
    net.until(lambda: len(inbox.got) == 2)
    assert inbox.contents == [b"1", b"2"]


def test_what_waits_comes_while_the_disk_is_full_too_and_nothing_passes_it() -> None:
    net, node, sender = one_waits_for_joe()
    node.disk.has_reserve = True
    net.disk, node.disk.is_full = (0.3, 0.3), True
    inbox = client_of(node, "joe", session=1).inbox()
    sender.send("/node/a/client/joe", b"2")
    net.until(lambda: inbox.contents == [b"1", b"2"])
    node.disk.is_full = False
    net.run(5)
    assert (node.metric("stored_envelopes"), node.metric("pending")) == (0, 0)


def test_of_letters_that_were_sent_together_only_the_void_ones_are_given_up() -> None:
    net = SimNetwork()
    node = net.node("a")
    sender = client_of(node, "pub")
    soon, later = node.wall + 5 * 10**9, node.wall + 500 * 10**9
    for n, expires in enumerate((soon, later, soon)):
        sender.send("/node/a/client/joe/session/1", b"%d" % n, force=True, expires=expires)
    net.run(8)
    inbox = client_of(node, "joe", session=1).inbox()
    net.until(lambda: inbox.contents == [b"1"])
    assert node.metric("dead") == 2


# --- messages that a session did not read -------------------------------------------------------------------


def sent(node: SimNode, n: int, persistent: bool = False) -> SimClient:
    """Send `n` direct messages to joe's client, every other one persistent, or all. Return the sender."""
    sender = client_of(node, "pub")
    for i in range(1, n + 1):
        sender.send("/node/a/client/joe", b"%d" % i, force=True, persistent=persistent or i % 2 == 1)
    sender.settled()
    return sender


def opened(joe: SimClient) -> Subscription:
    """Open joe's inbox, without reading any message."""
    inbox = joe.read_inbox()
    inbox.rate = 1e-9
    joe.net.until(lambda: inbox.is_confirmed)
    return inbox


def reads(joe: SimClient, inbox: Subscription, n: int) -> None:
    joe.net.run(1)
    for _ in range(n):
        joe._use_one(inbox)
    joe._turn()
    joe.net.run(1)


def read(node: SimNode, n: int, session: int = 0) -> list[bytes]:
    """Return what a session of joe reads that closes after `n` messages."""
    joe = client_of(node, "joe", session=session)
    inbox = opened(joe)
    reads(joe, inbox, n)
    joe.close()
    node.net.run(1)
    return inbox.contents


@pytest.mark.parametrize("session", [0, 7])
def test_each_session_reads_one_letter_to_the_client_as_a_whole(session: int) -> None:
    net = SimNetwork()
    node = net.node("a")
    sent(node, 3)
    read_by = [read(node, 1, session + i if session else 0) for i in range(4)]
    assert read_by == [[b"1"], [b"2"], [b"3"], []]
    net.run(5)
    assert (node.metric("stored_envelopes"), node.metric("pending"), node.metric("dead")) == (0, 0, 0)


def test_a_letter_that_was_given_to_a_session_and_not_read_waits_for_the_client_after_a_crash() -> None:
    net = SimNetwork()
    node = net.node("a")
    sent(node, 3, persistent=True)
    joe = client_of(node, "joe")
    reads(joe, opened(joe), 1)
    net.run(3)
    joe.die()
    node.restart()
    assert read(node, 9) == [b"2", b"3"]


def test_another_session_that_reads_is_given_what_one_left_before_what_is_sent_then() -> None:
    net = SimNetwork()
    net.disk = (0.3, 0.3)
    node = net.node("a")
    one = client_of(node, "joe")
    first = opened(one)
    sender = sent(node, 3, persistent=True)
    second = client_of(node, "joe").inbox()
    reads(one, first, 1)
    one.close()
    net.run(0.1)
    sender.send("/node/a/client/joe", b"4")
    net.until(lambda: len(second.got) == 3)
    assert second.contents == [b"2", b"3", b"4"]


def test_a_letter_for_one_session_and_its_copy_for_each_of_several_wait_for_that_session() -> None:
    net = SimNetwork()
    node = net.node("a")
    one, two = client_of(node, "joe", session=1), client_of(node, "joe", session=2)
    opened(one)
    second = two.inbox()
    sender = sent(node, 1)
    sender.send("/node/a/client/joe/session/1", b"own", persistent=True)
    net.run(1)
    one.close()
    net.run(3)
    assert second.contents == [b"1"]
    again = client_of(node, "joe", session=1).inbox()
    net.until(lambda: again.contents == [b"1", b"own"])


def test_a_letter_to_a_client_whose_only_session_never_opens_its_inbox_waits_for_the_next_one() -> None:
    net = SimNetwork()
    node = net.node("a")
    joe = client_of(node, "joe")
    sent(node, 2)
    joe.close()
    assert read(node, 9) == [b"1", b"2"]


def test_a_client_with_a_default_name_has_no_inbox_of_that_name() -> None:
    async def scenario() -> None:
        async with Mesh(1) as m, m.connect() as other, m.connect(client="ann") as ann:
            name = other.name.split("/client/")[1].split("/")[0]
            with pytest.raises(NotConnected, match="default name, which has no inbox") as found:
                await ann.send(f"client/{name}", b"1")
            text = str(explained(found.value, 0, False))
            assert f"client='{name}'" in text and other.name in text and "queu" not in text
            async with other.inbox() as inbox:
                await ann.send(other.name, b"2")
                assert (await anext(inbox)).content == b"2"
            with pytest.raises(NotConnected, match="is not connected"):
                await ann.send("client/nowhere", b"3")

    asyncio.run(scenario())
