"""A node that is alive but answers no calls, and its cost for others."""

import pytest

from mesh.errors import BadName
from mesh.kernel.context.settings import CONFIRM
from mesh.kernel.peers.peer import Peer
from mesh.kernel.routes.peer_calls import PeerCalls, Question
from mesh.kernel.routes.unresponsive_peers import SHORT, TRY
from mesh.mapping.rules import Rule
from mesh.wire import commands as c
from mesh.wire.calls import AskGet, AskRoute, AskState
from mesh.wire.replies import StateTold, Values
from tests.mesh.kernel.mute import Mute
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode

LITTLE = 0.1  # s that nodes and their disks need


def took(client: SimClient, key: str = "k", initial: bool = True) -> float:
    """Subscribe, and return the seconds until the confirmation."""
    start = client.net.now
    client.subscribed(key, initial=initial)
    return client.net.now - start


def replied(a: SimNode, peer: Peer, reply: c.Reply) -> None:
    assert peer.data is not None
    a.core.parts.context.face.from_peers[c.Reply](peer.data, peer, reply, [])


def events(a: SimNode) -> list[str]:
    return [e.text for e in a.core.parts.context.events.events_after(0)[0] if e.kind == "link"]


def test_trial_A7_a_silent_member_is_waited_for_once() -> None:
    net = SimNetwork(1)
    a, b, _ = net.mesh("a", "b", "c")
    mute = Mute(b)
    client = client_of(a)
    assert took(client, "first") < CONFIRM + SHORT + LITTLE, (
        "not for its confirmation, and then for its values"
    )
    assert [took(client, f"k{n}", initial=False) < LITTLE for n in range(5)] == [True] * 5
    assert [took(client, f"v{n}") < SHORT + LITTLE for n in range(5)] == [True] * 5
    told = [text for text in events(a) if "is alive but does not answer" in text]
    assert len(told) == 1 and told[0].startswith("b ")
    assert b.name in a.alive and mute.missed > 5


def test_trial_A7_a_get_and_an_erase_do_not_wait_for_it_again_and_again() -> None:
    net = SimNetwork(2)
    rules = (Rule("b", keys=("k",)),)
    a, b = net.node("a", rules=rules), net.node("b", "a", rules=rules)
    net.until(lambda: a.alive == {"b"} and b.alive == {"a"})
    client = client_of(a)
    Mute(b)
    spent = []
    for _ in range(4):
        start = net.now
        assert client.get("k", fresh=True) == [] and client.sources == "MASTER_AWAY"
        spent.append(net.now - start)
    start = net.now
    assert client.erase("k") == "MASTER_AWAY"
    spent.append(net.now - start)
    assert CONFIRM <= spent[0] < CONFIRM + LITTLE and max(spent[1:]) < SHORT + LITTLE
    peer = a.core.parts.neighbours.named("b")
    assert peer is not None and not peer.reads, "what nobody waits for is not kept, nor asked again"


def test_trial_A7_who_answers_in_time_again_is_waited_for_again() -> None:
    net = SimNetwork(3)
    a, b = net.mesh("a", "b")
    mute = Mute(b)
    client = client_of(a)
    took(client, "first")
    mute.speak()
    ann = client_of(b, "ann")
    ann.publish("k", b"1")
    ann.settled()
    assert [m.content for m in client.get("k", fresh=True)] == [b"1"]
    assert any("b answers in time again" in text for text in events(a))
    assert b.core.parts.context.me.uuid not in a.core.parts.questions.slow


def test_trial_A7_a_confirmation_in_time_does_as_well_and_a_late_one_does_not() -> None:
    net = SimNetwork(4)
    a, b = net.mesh("a", "b")
    client = client_of(a)
    took(client, "first", initial=False)
    slow, uuid = a.core.parts.questions.slow, b.core.parts.context.me.uuid
    Mute(b)  # b answers no further call either
    slow.waited_for(uuid, CONFIRM)
    peer = a.core.parts.neighbours.peers[uuid]
    slow.tells(uuid, 50)
    net.run(CONFIRM + 1)
    a.core.parts.wanted.interested(peer, c.Interested(50))
    assert uuid in slow, "it is as slow as it was"
    slow.tells(uuid, 51)
    net.run(0.5)
    slow.tells(uuid, 52)
    a.core.parts.wanted.interested(peer, c.Interested(51))
    assert uuid not in slow


@pytest.mark.parametrize("what", ["an answer", "a confirmation"])
def test_trial_A7_who_was_only_cut_off_is_waited_for_again_before_the_next_question(what: str) -> None:
    net = SimNetwork(7)
    a, b = net.mesh("a", "b")
    client = client_of(a)
    took(client, "first", initial=False)
    slow, uuid = a.core.parts.questions.slow, b.core.parts.context.me.uuid
    slow.waited_for(uuid, CONFIRM)
    if what == "an answer":
        slow.tries(uuid, 77, net.now)
    else:
        slow.tells(uuid, 77)
    net.run(CONFIRM + 1)  # the connection is good again
    assert uuid in slow
    peer = a.core.parts.neighbours.peers[uuid]
    if what == "an answer":
        replied(a, peer, c.Reply(77))
    else:
        a.core.parts.wanted.interested(peer, c.Interested(77))
    net.run(CONFIRM)
    assert uuid not in slow


def test_trial_A7_who_always_answers_late_is_asked_again_now_and_then_only() -> None:
    net = SimNetwork(8)
    a, b = net.mesh("a", "b")
    took(client_of(a), "first", initial=False)
    slow, uuid = a.core.parts.questions.slow, b.core.parts.context.me.uuid
    mute = Mute(b)
    slow.waited_for(uuid, CONFIRM)
    for request in range(1000, 1100):
        slow.tries(uuid, request, net.now - 1)
        slow.tried(uuid, request)
    net.run(CONFIRM)
    assert mute.missed == 1 and uuid in slow


def test_trial_A7_an_answer_that_nobody_asked_for_makes_nobody_quick() -> None:
    net = SimNetwork(5)
    a, b = net.mesh("a", "b")
    Mute(b)
    client = client_of(a)
    took(client, "first")
    peer = a.core.parts.neighbours.named("b")
    assert peer is not None
    for number in range(100):
        replied(a, peer, c.Reply(1_000_000 + number))
    a.core.parts.wanted.interested(peer, c.Interested(0))
    assert took(client, "second", initial=False) < LITTLE


@pytest.mark.parametrize("within", [0.0, -1.0, 0.5])
def test_trial_A7_who_is_given_no_time_is_not_called_slow(within: float) -> None:
    net = SimNetwork(6)
    a, b = net.mesh("a", "b")
    questions: PeerCalls = a.core.parts.questions
    peer = a.core.parts.neighbours.named("b")
    assert peer is not None
    Mute(b)
    done: list[list[str]] = []
    question = AskGet(kind="exact", text="k")
    questions.ask_all([peer], question, Values, lambda r, missing: done.append(missing), within)
    net.run(1.0)
    assert (done, peer.node.uuid in questions.slow) == ([["b"]], False)


def test_open_questions_are_looked_at_only_when_one_may_be_over(monkeypatch: pytest.MonkeyPatch) -> None:
    net = SimNetwork(6)
    a, b = net.mesh("a", "b")
    questions: PeerCalls = a.core.parts.questions
    peer = a.core.parts.neighbours.named("b")
    assert peer is not None
    Mute(b)
    ended: list[float] = []
    for _ in range(20):
        questions.ask_all([peer], AskState(), StateTold, lambda r, missing: ended.append(net.now), 4.0)
    looks, due = list[object](), questions._due

    def look(question: Question[StateTold]) -> float:
        looks.append(question)
        return due(question)

    monkeypatch.setattr(questions, "_due", look)
    net.run(2.0)
    assert len(looks) <= 20, "after the first tick, the earliest deadline is known"
    questions.slow.waited_for(peer.node.uuid, 1.0)
    net.run(1.5)
    assert len(ended) == 20, "another wait has found the node slow"


def test_trial_D_who_does_not_answer_by_another_way_than_the_data_connection_is_not_called_slow() -> None:
    net = SimNetwork(6)
    a, b = net.mesh("a", "b")
    peer = a.core.parts.neighbours.named("b")
    assert peer is not None
    done: list[list[str]] = []
    a.core.parts.questions.ask_all(
        [peer], AskState(), StateTold, lambda r, missing: done.append(missing), CONFIRM, lambda *_: None
    )
    net.run(CONFIRM + LITTLE)
    assert (done, b.core.parts.context.me.uuid in a.core.parts.questions.slow) == ([["b"]], False)


def test_trial_D_that_it_is_well_again_is_found_out_though_nobody_asks_it() -> None:
    net = SimNetwork(9)
    a, b = net.mesh("a", "b")
    client, uuid = client_of(a), b.core.parts.context.me.uuid
    mute = Mute(b)
    assert client.get("k", fresh=True) == [] and uuid in a.core.parts.questions.slow
    net.run(60)
    assert uuid in a.core.parts.questions.slow and mute.missed <= 2 + 60 / TRY
    mute.speak()
    net.until(lambda: uuid not in a.core.parts.questions.slow)


def test_trial_A7_another_process_of_it_begins_anew() -> None:
    net = SimNetwork(7)
    a, b = net.mesh("a", "b")
    Mute(b)
    took(client_of(a), "first")
    assert b.core.parts.context.me.uuid in a.core.parts.questions.slow
    b.restart()
    net.until(lambda: b.core.parts.context.me.uuid not in a.core.parts.questions.slow)


def test_a_route_to_a_name_that_cannot_be_is_refused_although_the_peers_are_not_known_yet(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    parts = SimNetwork(3).node("a").core.parts
    monkeypatch.setattr(parts.neighbours, "is_settled", lambda: False)
    with pytest.raises(BadName):
        parts.routes.trace(AskRoute(to="client/a b"), lambda steps: None)
    assert not parts.questions._early


def test_work_that_fails_keeps_no_later_work_from_being_done(monkeypatch: pytest.MonkeyPatch) -> None:
    parts, done = SimNetwork(3).node("a").core.parts, list[int]()
    monkeypatch.setattr(parts.neighbours, "is_settled", lambda: False)
    parts.questions.when_settled(lambda: done.append(int("no number")))
    parts.questions.when_settled(lambda: done.append(1))
    monkeypatch.setattr(parts.neighbours, "is_settled", lambda: True)
    with pytest.raises(ValueError, match="no number"):
        parts.questions.finish_waits()
    parts.questions.finish_waits()
    assert done == [1]
