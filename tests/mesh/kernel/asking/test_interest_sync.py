"""The work of a node when others come and go is done in turns, however much waits or is wanted."""

from collections.abc import Callable
from typing import Any

import pytest

from mesh.kernel.asking import interest_sync as demands
from mesh.kernel.peers.peer import Peer
from mesh.kernel.peers.reach_table import ReachState
from mesh.kernel.subscribers import firstvalues
from mesh.mapping.rules import Rule
from mesh.routing import decision_table, interest
from mesh.routing.upstream import Upstream
from mesh.wire.commands import Query
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

NEWS = "NEWS"
WAYS = (Rule("heron", domains=(NEWS,)), Rule("egret", 1, (NEWS,)), Rule("stork", 1, (NEWS,)))
BEHIND = (Rule("egret", 1, (NEWS,)), Rule("stork", 1, (NEWS,)))  # rules without heron
LOOKS = 4
SOON = 0.1  # s


class Counted:
    """A function that counts its calls.

    `most` is the highest number of calls in one turn of a node.
    """

    def __init__(self, right: Callable[..., Any]) -> None:
        self._right = right
        self.calls = self.most = self._now = 0

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        self.calls += 1
        self._now += 1
        self.most = max(self.most, self._now)
        return self._right(*arguments, **options)

    def per_turn(self, node: SimNode) -> "Counted":
        """Count the calls between two collections of the node's effects as one turn."""
        right = node.core.take_effects

        def take_effects() -> Any:
            effects = right()
            self._now = 0
            return effects

        node.core.take_effects = take_effects  # type: ignore[method-assign]
        return self


def mesh(rules: dict[str, tuple[Rule, ...]], *names: str) -> tuple[SimNetwork, dict[str, SimNode]]:
    """Return nodes that all see each other, each with its own rules or those of the first node."""
    net = SimNetwork(1)
    nodes = {n: net.node(n, *names[:1], rules=rules.get(n, rules[names[0]]), known=names) for n in names}
    net.until(lambda: all(len(node.alive) == len(nodes) - 1 for node in nodes.values()))
    return net, nodes


def test_trial_18_6_all_that_waits_for_one_master_is_decided_once_when_a_stranger_comes_or_goes() -> None:
    net, nodes = mesh({"ibis": (Rule("heron", domains=(NEWS,)),)}, "ibis", "heron")
    joe = client_of(nodes["ibis"])
    nodes["heron"].kill()
    net.run(20)
    for n in range(100):
        joe.publish("k", b"%d" % n, domain=NEWS)
    joe.settled()
    core = nodes["ibis"].core
    decide = core.parts.mapping.decide = Counted(core.parts.mapping.decide)  # type: ignore[method-assign]
    go = core.parts.forwarder.routing.send_on = Counted(core.parts.forwarder.routing.send_on)  # type: ignore[method-assign]
    crane = net.node("crane", "ibis")
    net.until(lambda: "crane" in nodes["ibis"].alive)
    crane.kill()
    net.until(lambda: "crane" not in nodes["ibis"].alive)
    assert 2 <= decide.calls <= 6, "once for each that came or went"
    assert not go.calls, "nothing of it goes another way"


def test_trial_18_6_what_has_to_go_another_way_goes_in_turns_and_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decision_table, "LOOKS", LOOKS)
    net, nodes = mesh(
        {"ibis": BEHIND, "egret": WAYS, "stork": WAYS, "heron": WAYS}, "ibis", "egret", "stork", "heron"
    )
    ann, joe, sam = (
        client_of(nodes["heron"], "ann"),
        client_of(nodes["ibis"]),
        client_of(nodes["ibis"], "sam"),
    )
    heard = ann.subscribed("k", domain=NEWS)
    for way in ("egret", "stork"):
        nodes[way].kill()
    net.run(20)
    for n in range(60):
        joe.publish("k", b"joe %d" % n, domain=NEWS, persistent=n % 2 > 0)
        sam.publish("k", b"sam %d" % n, domain=NEWS)
    joe.settled()
    sam.settled()
    onward = nodes["ibis"].core.parts.forwarder.onward
    waits_for = onward.hops()[0]
    core = nodes["ibis"].core
    routing = core.parts.forwarder.routing
    go = routing.send_on = Counted(routing.send_on).per_turn(nodes["ibis"])  # type: ignore[method-assign]
    back = {"egret": "stork", "stork": "egret"}[waits_for]
    nodes[back].start()
    net.until(lambda: core.parts.forwarder.rulings.is_open)
    joe.publish("k", b"joe 60", domain=NEWS)
    began = net.now
    net.until(lambda: not core.parts.forwarder.rulings.is_open)
    assert net.now - began < SOON, "it does not wait for the next time that something is due"
    net.until(lambda: len(heard.contents) == 121)
    for name in (b"joe", b"sam"):
        mine = [content for content in heard.contents if content.startswith(name)]
        assert mine == [b"%s %d" % (name, n) for n in range(len(mine))]
    assert go.calls >= 60 and go.most <= LOOKS + 1, "and the one that was published"


def test_trial_18_6_what_waits_is_told_of_when_its_master_dies_though_nothing_goes_another_way(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(decision_table, "LOOKS", 1)
    net, nodes = mesh({"ibis": (Rule("heron", domains=(NEWS,)),)}, "ibis", "heron")
    joe = client_of(nodes["ibis"])
    joe.publish("k", b"0", domain=NEWS)
    joe.settled()
    core = nodes["ibis"].core
    core.parts.forwarder.onward._window = (1, 1)  # the others wait behind one envelope
    nodes["heron"].net.cuts.add(frozenset(("ibis", "heron")))
    for n in range(1, 10):
        joe.publish("k", b"%d" % n, domain=NEWS)
    entries: list[Any] = []
    net.until(lambda: len(core.parts.forwarder.onward) == 9)
    entries += core.parts.forwarder.onward.entries()
    assert not any(entry.warned for entry in entries)
    peer = core.parts.neighbours.peers[nodes["heron"].uuid]
    peer.reach.state = ReachState.AWAY
    core.parts.forwarder.review()
    turns = 0
    while core.parts.forwarder.rulings.is_open:
        core.parts.forwarder.routing._end_turn()
        core.parts.forwarder.tick()
        turns += 1
    assert all(entry.warned for entry in entries) and turns >= 9


def test_trial_18_6_what_is_wanted_is_looked_up_once_when_a_stranger_comes_or_goes() -> None:
    net, nodes = mesh({"ibis": (Rule("heron", domains=(NEWS,)),)}, "ibis", "heron")
    interest_sync = nodes["ibis"].core.parts.demand
    for n in range(300):
        interest_sync.want(Query("exact", f"k{n}", NEWS))
    net.run(5)
    sources = interest_sync._mapping.sources = Counted(interest_sync._mapping.sources)  # type: ignore[method-assign]
    crane = net.node("crane", "ibis")
    net.until(lambda: "crane" in nodes["ibis"].alive)
    crane.kill()
    net.until(lambda: "crane" not in nodes["ibis"].alive)
    assert 2 <= sources.calls <= 6


def test_trial_18_6_whoever_comes_is_asked_for_all_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(demands, "TURN", 10)
    net, nodes = mesh({"ibis": ()}, "ibis", "heron")
    ann = client_of(nodes["ibis"], "ann")
    heard = ann.subscribed("k7")
    core = nodes["ibis"].core
    for n in range(100):
        core.parts.demand.want(Query("exact", f"k{n}"))
    aim_all = core.parts.demand.interests.aim_all
    sizes: list[int] = []

    def counted(queries: Any, targets: Any, peers: Any, now: float) -> Any:
        sizes.append(len(queries))
        assert set(peers) == {crane.uuid}, "nobody else is told anything"
        return aim_all(queries, targets, peers, now)

    core.parts.demand.interests.aim_all = counted  # type: ignore[method-assign]
    crane = net.node("crane", "ibis")
    net.until(lambda: sizes)
    began, late = net.now, next(iter(core.parts.demand.interests.queries()))
    asked = core.parts.demand.interests.interest_of(crane.uuid).queries
    assert late not in asked
    core.parts.demand.want(late)
    assert late in asked, "whoever subscribes to it now must not wait for the others"
    net.until(lambda: sum(sizes) >= 100)
    assert max(sizes) == 10 and net.now - began < SOON
    peers, ibis = crane.core.parts.neighbours.peers, nodes["ibis"].uuid
    net.until(lambda: ibis in peers and len(peers[ibis].exchange.feed.queries) == 100)
    joe = client_of(crane)
    joe.publish("k7", b"1")
    net.until(lambda: heard.contents == [b"1"])


def test_trial_18_6_what_was_asked_of_one_that_died_goes_to_the_other_way_in_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(demands, "TURN", 10)
    names = ("ibis", "egret", "stork", "heron")
    net, nodes = mesh({**dict.fromkeys(names, WAYS), "ibis": BEHIND}, *names)
    ann = client_of(nodes["ibis"], "ann")
    heard = ann.subscribed("k7", domain=NEWS)
    interest_sync = nodes["ibis"].core.parts.demand
    for n in range(100):
        interest_sync.want(Query("exact", f"k{n}", NEWS))
    net.run(5)
    asked = {name: interest_sync.interests.interest_of(nodes[name].uuid) for name in ("egret", "stork")}
    (way,) = [name for name in asked if asked[name].queries]
    (other,) = set(asked) - {way}
    nodes[way].kill()
    net.until(lambda: len(asked[other].queries) == 100)
    joe = client_of(nodes["heron"])
    net.run(5)
    joe.publish("k7", b"1", domain=NEWS)
    net.until(lambda: heard.contents == [b"1"])


def test_trial_18_6_who_is_away_is_asked_no_more_only_when_it_is_back_and_in_parts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(interest, "OVER", 10)
    interests = interest.Interests()
    queries = [Query("exact", f"k{n}") for n in range(25)]
    for query in queries:
        interests.add(query, interest.CLIENTS)
        interests.aim(query, {b"x"}, 0.0)
        interests.aim(query, {b"y"}, 1.0)
    assert interests.sweep(5.0, lambda uuid: True) == []
    assert interests.sweep(100.0, lambda uuid: uuid != b"x") == []  # it may still have messages for this node
    assert interests.sweep(100.0 + interest.LINGER - 1, lambda uuid: True) == []
    gone = [interests.sweep(100.0 + interest.LINGER, lambda uuid: True) for _ in range(4)]
    assert [len(told[0][1].remove) if told else 0 for told in gone] == [10, 10, 5, 0]


def test_trial_18_6_last_values_that_were_away_are_looked_for_once_and_come_in_turns(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(firstvalues, "TURN", 4)
    net, nodes = mesh({"ibis": (Rule("heron", domains=(NEWS,)),)}, "ibis", "heron")
    joe, ann = client_of(nodes["heron"]), client_of(nodes["ibis"], "ann")
    for n in range(30):
        joe.publish(f"k{n}", b"%d" % n, domain=NEWS, persistent=True)
    joe.settled()
    nodes["heron"].close()
    net.run(5)
    heard = [ann.subscribed(f"k{n}", domain=NEWS) for n in range(30)]
    gone = ann.subscribed("k0", domain=NEWS)
    ann.unsubscribe(gone)
    net.run(1)
    core = nodes["ibis"].core
    assert sum(map(len, core.parts.first_values._lacking.values())) == 30, "what is given up lacks nothing"
    sources = core.parts.demand._mapping.sources = Counted(core.parts.demand._mapping.sources)  # type: ignore[method-assign]
    core.parts.first_values.fetch_missing()
    assert sources.calls == 1
    confirm = Counted(core.parts.questions.call_when_confirmed).per_turn(nodes["ibis"])
    core.parts.questions.call_when_confirmed = confirm  # type: ignore[method-assign]
    nodes["heron"].start()
    net.until(lambda: confirm.calls)
    began = net.now
    net.until(lambda: confirm.calls >= 30)
    assert confirm.most <= 4 and net.now - began < SOON
    net.until(lambda: all(each.contents for each in heard))
    assert not core.parts.first_values._lacking and not core.parts.first_values._ready


def test_trial_18_6_how_far_logs_have_come_is_kept_and_goes_back_with_who_brought_them(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    net, nodes = mesh({"ibis": ()}, "ibis", "heron", "egret")
    ann = client_of(nodes["ibis"], "ann")
    heard = ann.subscribed(pattern="#")
    for name in ("heron", "egret"):
        joe = client_of(nodes[name])
        for n in range(3):
            joe.publish("k", b"%d" % n, persistent=True)
        joe.settled()
    net.until(lambda: len(heard.contents) == 6)
    core = nodes["ibis"].core
    links, peers = core.parts.links, core.parts.neighbours.peers
    heron, egret = nodes["heron"].uuid, nodes["egret"].uuid
    found = {m: u.received for peer in peers.values() for m, u in peer.exchange.upstreams.items()}
    assert found and dict(links.received()) == found
    # Another node sent a part of heron's log, too. Then heron itself is forgotten.
    peers[egret].exchange.upstreams[heron] = Upstream()
    peers[egret].exchange.upstreams[heron].received = 1
    assert links.received()[heron] > 1
    monkeypatch.setattr(Peer, "is_active", False)
    monkeypatch.setattr(core.parts.neighbours.membership, "member_of", lambda uuid: None)
    monkeypatch.setattr(core.parts.neighbours.rounds, "_needs_login", lambda peer: False)
    peers[heron].reach.state = ReachState.AWAY
    core.parts.neighbours.rounds._sweep()
    core._flush()
    assert heron not in peers and links.received()[heron] == 1
    assert links.received()[egret] == found[egret]
    peers[egret].reach.state = ReachState.AWAY
    core.parts.neighbours.rounds._sweep()
    core._flush()
    assert not links.received()
