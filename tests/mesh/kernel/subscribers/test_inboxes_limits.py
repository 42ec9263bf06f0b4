"""Limits of an inbox: what a node refuses beyond them, and when there is room again."""

import pytest

from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

ONE = "/node/a/client/joe/session/1"


def a_node(**settings: int) -> SimNode:
    return SimNetwork().node("a", **settings)


@pytest.mark.parametrize("persistent", [True, False])
def test_trial_7_a_burst_passes_the_limit_of_an_inbox_no_more_than_one_by_one_does(persistent: bool) -> None:
    """Accepted messages count before they are stored, and so do messages behind them."""
    node = a_node(backlog_bytes=4000)
    sender = client_of(node, "pub")
    sender.publish("k", b"waits for the disk", persistent=True)
    for n in range(12):
        sender.send(ONE, b"%d" % n + bytes(999), force=True, persistent=persistent or n == 0)
    sender.settled()
    taken = [n for n in range(2, 14) if sender.state(n) == "OK"]
    assert len(taken) == 3 and {sender.state(n) for n in range(2, 14)} == {"OK", "INBOX_FULL"}
    assert [feed.coming for feed in node.core.parts.inboxes.feeds()] == [0]
    inbox = client_of(node, "joe", session=1).inbox()
    node.net.until(lambda: len(inbox.got) == 3)
    node.net.run(2)
    sender.send(ONE, bytes(3000), force=True, persistent=persistent)
    sender.settled()
    assert sender.state(14) == "OK", "nothing of it is counted for ever"


def test_trial_7_what_the_disk_refuses_counts_no_more() -> None:
    node = a_node(backlog_bytes=4000)
    sender = client_of(node, "pub")
    node.disk.is_full = True
    for _ in range(3):
        sender.send(ONE, bytes(1000), force=True, persistent=True)
    sender.settled()
    assert [sender.state(n) for n in (1, 2, 3)] == ["STORE_FULL"] * 3
    sender.send(ONE, bytes(3500), force=True)
    sender.settled()
    assert sender.state(4) == "OK"


def test_trial_D_an_inbox_has_so_many_bytes_and_a_reader_makes_room() -> None:
    node = a_node(backlog_bytes=4000)
    sender = client_of(node, "pub")
    for n in range(6):
        sender.send(ONE, b"%d" % n + bytes(999), force=True, persistent=True)
        sender.settled()
    assert [sender.state(n) for n in range(1, 7)] == ["OK"] * 3 + ["INBOX_FULL"] * 3
    sender.send(ONE, b"small", force=True)
    sender.settled()
    assert sender.state(7) == "OK", "there is room for a small one"
    node.restart()
    sender.send(ONE, bytes(1000), force=True)
    sender.settled()
    assert sender.state(8) == "INBOX_FULL", "what is on disk counts after a restart, too"
    inbox = client_of(node, "joe", session=1).inbox()
    node.net.until(lambda: len(inbox.got) == 3)
    assert [content[:1] for content in inbox.contents] == [b"0", b"1", b"2"]
    node.net.run(2)
    sender.send(ONE, b"there is room again" + bytes(3000))
    sender.settled()
    assert sender.state(9) == "OK"
    node.net.until(lambda: len(inbox.got) == 4)


@pytest.mark.parametrize("persistent", [True, False])
def test_letters_to_names_that_do_not_exist_have_one_room_together(persistent: bool) -> None:
    node = a_node(inboxes_bytes=100_000)
    sender, ann = client_of(node, "pub"), client_of(node, "ann", session=1)
    inbox = ann.inbox()
    for n in range(60):
        sender.send(f"/node/a/client/nobody-{n}", bytes(1000), force=True, persistent=persistent)
    sender.settled()
    states = [sender.state(n) for n in range(1, 61)]
    taken = states.count("OK")
    assert states == ["OK"] * taken + ["INBOX_FULL"] * (60 - taken) and 10 < taken < 20
    for _ in range(4):  # the rest is less than one more name costs
        sender.send("/node/a/client/nobody-1", bytes(1000), force=True, persistent=persistent)
    sender.settled()
    assert sender.state(64) == "INBOX_FULL"
    sender.send("/node/a/client/ann/session/1", b"for who is there", force=True)
    node.net.until(lambda: len(inbox.got) == 1)
    joe = client_of(node, "nobody-0").inbox()
    node.net.until(lambda: len(joe.got) == 1)
    node.net.run(15)
    sender.send("/node/a/client/nobody-1", bytes(900), force=True)
    sender.settled()
    assert sender.state(66) == "OK", "there is room again"
    assert node.metric("inboxes_bytes") < 100_000


def test_when_all_inboxes_are_full_only_those_that_are_read_get_more() -> None:
    node = a_node(inboxes_bytes=100_000)
    sender, reader = client_of(node, "pub"), client_of(node, "ann", session=1)
    inbox, unread = reader.inbox(), client_of(node, "bob", session=1)
    unread.inbox().rate = 0
    for _ in range(100):
        sender.send("/node/a/client/bob/session/1", bytes(1000))
    sender.settled()
    node.net.run(3)
    for name in ("bob", "ann"):
        sender.send(f"/node/a/client/{name}/session/1", bytes(1000))
    sender.settled()
    assert [sender.state(n) for n in (101, 102)] == ["INBOX_FULL", "OK"]
    node.net.until(lambda: len(inbox.got) == 1)


def test_names_count_and_not_only_bytes() -> None:
    node = a_node(inboxes_bytes=1_000_000)
    sender = client_of(node, "pub")
    for n in range(400):
        sender.send(f"/node/a/client/nobody-{n}", b"", force=True)
    sender.settled()
    assert 190 < sum(sender.state(n) == "OK" for n in range(1, 401)) < 200


def test_on_a_disk_with_little_room_nothing_more_waits_for_who_is_not_connected() -> None:
    node = a_node()
    sender, inbox = client_of(node, "pub"), client_of(node, "ann", session=1).inbox()
    node.disk.is_tight = True
    sender.send(ONE, b"1", force=True, persistent=True)
    sender.send(ONE, b"2", force=True)
    sender.send("/node/a/client/ann/session/1", b"3", force=True, persistent=True)
    sender.settled()
    assert [sender.state(n) for n in (1, 2, 3)] == ["STORE_FULL", "OK", "OK"]
    node.net.until(lambda: len(inbox.got) == 1)
