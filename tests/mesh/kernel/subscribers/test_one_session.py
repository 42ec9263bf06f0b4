"""A message for one session of a client reaches exactly one, on simulated nodes."""

from collections import Counter

import pytest

from mesh.kernel.subscribers.client_finder import ClientFinder
from mesh.kernel.subscribers.one_session import choose
from mesh.wire import commands as c
from mesh.wire.envelope import ONE_SESSION
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.masters import cluster
from tests.mesh.kernel.stranger import STREAM, Stranger
from tests.simulated_client import SimClient, Subscription, client_of
from tests.simulation import SimNetwork, SimNode

JOE = "/node/a/client/joe"


def joe_at(node: SimNode, *sessions: int) -> list[tuple[SimClient, Subscription]]:
    """Return sessions of joe with their open inboxes."""
    joes = [client_of(node, "joe", session=number) for number in sessions]
    return [(joe, joe.inbox()) for joe in joes]


def test_the_inbox_with_the_fewest_unread_bytes_is_chosen_and_equal_ones_take_turns() -> None:
    turns: dict[str, int] = {}
    for sizes, unread, chosen in (
        ([10], {"x": 5, "y": 0}, {"y": [0]}),
        ([10], {"x": 0, "y": 0}, {"x": [0]}),  # y was chosen before
        ([10], {"x": 0, "y": 0}, {"y": [0]}),
        ([10, 10, 10], {"x": 0, "y": 15}, {"x": [0, 1], "y": [2]}),
        ([0, 0, 0, 0], {"x": 0, "y": 0, "z": 0}, {"z": [0, 3], "x": [1], "y": [2]}),
        ([7], {"x": 100}, {"x": [0]}),
    ):
        assert choose(sizes, unread, turns) == chosen, (sizes, unread)
    assert choose([], {"x": 0}, turns) == {}


def test_each_message_goes_to_one_session_and_all_sessions_get_some() -> None:
    net = SimNetwork()
    node = net.node("a")
    joes = joe_at(node, 1, 2, 3)
    net.run(1)
    sender = client_of(node, "pub")
    for n in range(30):
        sender.send(JOE, b"%d" % n, to_one=True, persistent=n % 2 == 0)
        if n % 3 == 0:
            sender.settled()
    sender.settled()
    assert {sender.answers["", n + 1].matched for n in range(30)} == {1}
    net.until(lambda: sum(len(inbox.got) for _, inbox in joes) == 30)
    net.run(5)
    got = Counter(content for _, inbox in joes for content in inbox.contents)
    assert set(got.values()) == {1} and len(got) == 30
    assert all(len(inbox.got) >= 8 for _, inbox in joes), [len(inbox.got) for _, inbox in joes]
    net.until(lambda: node.metric("stored_envelopes") == 0)


def test_without_to_one_all_sessions_get_it_as_before() -> None:
    net = SimNetwork()
    node = net.node("a")
    joes = joe_at(node, 1, 2)
    net.run(1)
    sender = client_of(node, "pub")
    sender.send(JOE, b"all")
    sender.settled()
    assert sender.answers["", 1].matched == 2
    net.until(lambda: all(inbox.contents == [b"all"] for _, inbox in joes))


def test_it_waits_for_the_client_when_nobody_is_there_and_goes_to_another_session_when_one_leaves() -> None:
    net = SimNetwork()
    node = net.node("a")
    sender = client_of(node, "pub")
    sender.send(JOE, b"early", to_one=True)
    sender.send(JOE, b"waits", to_one=True, force=True, persistent=True)
    sender.settled()
    assert (sender.state(1), sender.state(2)) == ("NOT_CONNECTED", "OK")
    (_, first), (_, second) = joe_at(node, 1, 2)
    net.until(lambda: first.contents + second.contents == [b"waits"])
    sender.send("/node/a/client/joe/session/2", b"named", to_one=True)  # a session is one anyway
    sender.settled()
    net.until(lambda: second.contents[-1:] == [b"named"])


def test_messages_that_a_session_has_not_read_reach_another_one_also_after_a_restart() -> None:
    net = SimNetwork()
    node = net.node("a")
    joes = [client_of(node, "joe", session=number) for number in (1, 2)]
    inboxes = [joe.inbox() for joe in joes]
    net.run(1)
    joes[0].die()
    sender = client_of(node, "pub")
    for n in range(6):
        sender.send(JOE, b"%d" % n, to_one=True, persistent=True, force=True)
    sender.settled()
    node.restart()
    joes[1].die()
    late = client_of(node, "joe", session=3).inbox()
    net.until(lambda: len({*inboxes[1].contents, *late.contents}) == 6)
    net.run(5)
    for inbox in (inboxes[1], late):
        assert len(set(inbox.contents)) == len(inbox.contents), "no session gets a message twice"


def test_a_topic_with_the_flag_breaks_the_protocol() -> None:
    a = SimNetwork().node("a")
    subscription = client_of(a).subscribed("k")
    stranger = Stranger(a)
    stranger.as_client()
    stranger.say(c.Publish((1,)), envelope("k", stream=STREAM, flags=ONE_SESSION))
    assert (stranger.refusal, subscription.got) == ("FORGED_SENDER", [])


def test_a_node_of_an_earlier_release_is_never_sent_it(monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as earlier:
        earlier.setattr(ClientFinder, "features", lambda self: ())
        few = cluster("frodo", rules={"frodo": ()}, links="any")
        old = few["frodo"]
    new = few.net.node("bilbo", "frodo", links="any")
    joe = client_of(old, "joe", session=1)
    inbox = joe.inbox()
    sender = client_of(new, "pub")
    few.net.run(3)
    sender.send("/node/frodo/client/joe", b"one", to_one=True)
    sender.send("/node/frodo/client/joe", b"all")
    sender.settled()
    assert (sender.state(1), sender.state(2)) == ("NOT_AVAILABLE", "OK")
    assert "earlier release" in sender.answers["", 1].text
    few.net.until(lambda: inbox.contents == [b"all"])


def test_what_waits_for_a_node_that_comes_back_with_an_earlier_release_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    few = cluster("frodo", "bilbo", rules=dict.fromkeys(("frodo", "bilbo"), ()), links="any")
    sender = client_of(few["bilbo"], "pub")
    few.net.run(2)
    few["frodo"].kill()
    few.net.run(20)
    sender.send("/node/frodo/client/joe", b"one", to_one=True, force=True, persistent=True)
    sender.settled()
    assert sender.state(1) == "FORWARD_WARNING"
    monkeypatch.setattr(ClientFinder, "features", lambda self: ())
    few["frodo"].start()
    few.net.until(lambda: sender.state(1) == "NOT_AVAILABLE")
    assert few["frodo"].metric("published") == 0
