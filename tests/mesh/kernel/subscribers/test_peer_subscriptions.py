"""The queries of another node come in parts: all count after the last one, and none is lost."""

from typing import Any

import pytest

from mesh.errors import RemoteError
from mesh.kernel.asking import interest_sync as demands
from mesh.kernel.subscribers import saying
from mesh.mapping.rules import Rule
from mesh.routing import told
from mesh.routing.interest import weight
from mesh.wire import commands as c
from mesh.wire.commands import Interest, Query
from mesh.wire.frames import read
from mesh.wire.limits import INTEREST_PART
from tests.mesh.kernel.subscribers.linked import Linked, exact, saying_on, wants
from tests.seeds import scenarios
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode


@pytest.mark.parametrize("many", scenarios([4_000, 200_000]))
def test_very_many_things_are_wanted_and_confirmed_after_each_login(many: int) -> None:
    it = Linked()
    wants(it.b, it.a, exact(0, many))
    flushes: list[int] = []
    flush = it.b.core.take_effects

    def take_effects() -> Any:
        before = len(it.said)
        effects = flush()
        flushes.append(sum(getattr(e, "frames", [b""])[0][1:2] == b"\x1e" for e in effects))
        assert before == len(it.said)
        return effects

    it.b.core.take_effects = take_effects  # type: ignore[method-assign]
    it.a.restart()
    it.net.until(lambda: it.is_confirmed)
    assert len(it.wanted) == many + 1
    assert max(size for size, _ in it.said) <= INTEREST_PART
    assert {len(part.add) for _, part in it.said[:-1]} == {told.EACH}
    assert max(flushes) == len(it.said) > many // 1000, "one right behind the other"
    it.goes_through(b"1")
    assert not [note for note in it.a.notes + it.b.notes if "refused" in note or "broke" in note]


def cut_off(it: Linked, after: int) -> None:
    """Break the connection after `after` parts."""
    hear = it.a.core.parts.wanted.interest
    parts = [0]

    def few(peer: Any, command: Interest) -> None:
        hear(peer, command)
        parts[0] += 1
        if parts[0] == after:
            it.a.core.parts.wanted.interest = hear  # type: ignore[method-assign]
            it.a.core.parts.context.out.hang_up(peer.data)
            it.a.core._closer.on_protocol_error(peer.data, RemoteError("cut"))

    it.a.core.parts.wanted.interest = few  # type: ignore[method-assign]


def test_what_was_half_heard_is_heard_whole_on_the_next_connection_and_nothing_is_lost() -> None:
    it = Linked()
    wants(it.b, it.a, exact(0, 2000))
    cut_off(it, after=3)
    it.net.break_all("b")
    it.net.until(lambda: it.peer.data is None)
    it.publisher.publish("k", b"meanwhile", persistent=True)
    it.net.until(lambda: len(it.wanted) > 1 and it.peer.data is None)
    assert not it.a.core.parts.wanted._saying
    assert 1 < len(it.wanted) < 2000 and "k" in it.wanted
    assert it.heard.contents == [], "nothing flows before all is said"
    it.net.until(lambda: it.is_confirmed)
    assert len(it.wanted) == 2001
    it.net.until(lambda: it.heard.contents == [b"meanwhile"])


def deaf_to_all_but_a_login(node: SimNode) -> None:
    """Deliver only challenges and commands of incoming connections, without the HELLO of control ones."""
    hear = node.hear

    def deaf(key: Any, frames: list[bytes]) -> None:
        command = read(frames)[0]
        is_first = isinstance(command, c.Hello) and command.role == c.NODE_CONTROL
        if isinstance(command, c.Challenge) or (key[0] == "in" and not is_first):
            hear(key, frames)

    node.hear = deaf  # type: ignore[method-assign]
    node.gossiped = lambda frames: None  # type: ignore[method-assign]


def test_who_logs_in_before_anything_is_heard_of_it_is_asked_for_all_at_once_and_nothing_is_lost() -> None:
    it = Linked()
    it.b.kill()
    contents = [b"0"]
    it.publisher.publish("k", b"0", persistent=True)
    it.net.run(1)
    deaf_to_all_but_a_login(it.b)
    it.b.start()
    assert not it.b.core.parts.neighbours.peers
    it.net.until(lambda: it.said)
    while not it.is_confirmed:
        contents.append(b"%d" % len(contents))
        it.publisher.publish("k", contents[-1], persistent=True)
        it.net.run(0.0002)
        assert len(contents) < 1000 and it.wanted == {"k"}, "never anything else"
    first = it.said[0][1]
    assert first.full and [query.text for query in first.add] == ["k"]
    it.net.until(lambda: it.heard.contents == contents)


def test_who_logs_in_in_the_midst_of_turns_is_asked_for_all_as_well(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demands, "TURN", 10)
    net = SimNetwork()
    b = net.node("b")
    interest_sync = b.core.parts.demand
    for query in exact(0, 100):
        interest_sync.want(query)
    a = net.node("a", "b")
    net.until(lambda: interest_sync.interests.interest_of(a.uuid).queries)
    assert len(interest_sync.interests.interest_of(a.uuid).queries) == 10
    interest_sync._send_pending = lambda: None  # type: ignore[method-assign]  # its next turn is late
    net.until(lambda: b.core.parts.neighbours.peers[a.uuid].data is not None)
    net.run(1)
    assert set(a.core.parts.neighbours.peers[b.uuid].exchange.feed.queries) == set(exact(0, 100))


def test_a_change_of_many_is_confirmed_at_its_last_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(told, "EACH", 10)
    monkeypatch.setattr(demands, "TURN", 100)
    it = Linked()
    confirmed: list[int] = []
    hear = it.b.core.parts.wanted.interested

    def noted(peer: Any, command: c.Interested) -> None:
        confirmed.append(command.version)
        hear(peer, command)

    it.b.core.parts.wanted.interested = noted  # type: ignore[method-assign]
    asked = it.b.core.parts.demand.interests.interest_of(it.a.uuid)
    change = asked.change(exact(0, 95), (Query("exact", "k"),))
    it.b.core.parts.demand._send_interests([(it.a.uuid, change)])
    it.b._carry_out_all()
    it.net.until(lambda: it.is_confirmed)
    it.net.run(1)
    assert confirmed == [change.version] and len(it.said) == 11
    assert it.wanted == {query.text for query in exact(0, 95)}


@pytest.mark.slow  # for its length; the next one is of the same
def test_to_version_1_it_is_one_frame_as_before() -> None:
    it = Linked(version=1)
    wants(it.b, it.a, exact(0, 40_000))
    it.a.restart()
    it.net.until(lambda: it.is_confirmed)
    assert len(it.wanted) == 40_001 and not it.said, "it went in pieces"
    it.goes_through(b"1")


def test_to_version_1_what_does_not_fit_is_told_of_and_nobody_goes_round_in_circles(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demands, "INTEREST_FRAME", 2**14)
    it = Linked(version=1)
    wants(it.b, it.a, exact(0, 1250))
    it.a.restart()
    it.net.until(lambda: len(it.wanted) == 1251)
    it.net.run(10)
    assert len([part for _, part in it.said if part.full]) == 1
    assert not any(part.more for _, part in it.said)
    assert [note for note in it.b.notes if "an earlier release" in note]
    it.goes_through(b"1")


def test_another_interest_before_the_last_part_breaks_the_protocol() -> None:
    for other in (Interest(8, True), Interest(7, False, exact(0, 1)), Interest(8, False)):
        it = Linked()
        with pytest.raises(RemoteError) as refused:
            saying_on(it, Interest(7, True, exact(0, 2), more=True), other)
        assert refused.value.code == "UNEXPECTED"


def test_a_peer_that_never_comes_to_an_end_holds_what_two_may_want_and_no_more(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(saying, "WANTED", 100)
    it = Linked()
    saying_on(it, Interest(5, True, exact(0, 100)))
    for version in range(6, 12):  # each time other queries, and then a lost connection
        with pytest.raises(RemoteError) as refused:
            for number in range(100):
                first = 1000 * version + 10 * number
                saying_on(it, Interest(version, True, exact(first, first + 10), more=True))
        assert refused.value.code == "TOO_MANY_QUERIES"
        assert len(it.peer.exchange.feed.queries) <= 200 and not it.a.core.parts.wanted._saying
    saying_on(it, Interest(12, True, exact(0, 100)))
    assert it.wanted == {query.text for query in exact(0, 100)}


def test_a_peer_may_want_as_much_that_is_new_as_it_wanted_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saying, "WANTED", 100)
    it = Linked()
    saying_on(it, Interest(5, True, exact(0, 100)))
    saying_on(it, Interest(6, True, exact(100, 150), more=True), Interest(6, True, exact(150, 200)))
    assert it.wanted == {query.text for query in exact(100, 200)}
    assert it.peer.exchange.feed.wanted_bytes == sum(map(weight, exact(100, 200)))


def test_what_is_both_wanted_and_not_is_wanted() -> None:
    it = Linked()
    (query,) = exact(0, 1)
    saying_on(it, Interest(5, True, (query,), (query,)))
    assert it.wanted == {query.text}
    saying_on(it, Interest(6, False, (query,), (query, query)))
    assert it.wanted == {query.text}
    saying_on(it, Interest(7, True, (), (query,)))
    assert it.wanted == set()


def test_a_peer_that_has_been_away_for_long_is_not_forgotten_while_it_says_what_it_wants() -> None:
    it = Linked()
    saying_on(it, Interest(5, True, exact(0, 2)))
    it.peer.exchange.feed.disconnect(
        it.a.core.parts.context.clock.now - 2 * it.a.core.parts.context.settings.peer_linger
    )
    saying_on(it, Interest(6, True, exact(0, 1), more=True))
    it.a.core.parts.wanted.on_second()
    saying_on(it, Interest(6, True, exact(1, 3)))
    assert it.wanted == {query.text for query in exact(0, 3)}


def test_what_cannot_be_wanted_ends_the_connection_though_it_is_found_later() -> None:
    it = Linked()
    bad = (*exact(0, 1000), Query("exact", "k", "d" * 1000))
    asked = it.b.core.parts.demand.interests.interest_of(it.a.uuid)
    it.b.core.parts.demand._send_interests([(it.a.uuid, asked.change(bad))])
    it.b._carry_out_all()
    it.net.until(lambda: it.a.metric("malformed") == 1)
    assert [note for note in it.a.notes if "b broke the protocol" in note]
    it.net.until(lambda: [note for note in it.b.notes if "not allowed by peer: BAD_KEY" in note])
    it.b.restart()
    it.net.until(lambda: it.wanted == {"k"})
    it.goes_through(b"1")


@pytest.mark.parametrize("version", scenarios([2, 1]))
def test_what_another_asks_a_way_for_is_confirmed_when_its_master_knows_it(
    version: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(told, "EACH", 3)
    net = SimNetwork()
    rules = (Rule("heron", domains=("NEWS",)),)
    heron = net.node("heron", rules=rules)
    frodo = net.node("frodo", "heron", rules=rules, wire_version=version)
    bilbo = net.node(
        "bilbo", "frodo", rules=(Rule("frodo", 1, ("NEWS",)),), known=("frodo",), links="configured"
    )
    net.until(lambda: "frodo" in bilbo.alive and "heron" in frodo.alive)
    clients: list[SimClient] = [client_of(bilbo, f"c{n}") for n in range(10)]
    heard = [client.subscribed(f"k{n}", domain="NEWS") for n, client in enumerate(clients)]
    frodo.restart()
    net.run(5)
    publisher = client_of(heron, "pub")
    for n in range(10):
        publisher.publish(f"k{n}", b"x", domain="NEWS")
    net.until(lambda: all(each.contents == [b"x"] for each in heard))
