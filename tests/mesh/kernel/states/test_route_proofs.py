"""Proofs of the peers that may forward messages of other nodes, on nodes with keys, one of which lies."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.discovery.gossip import StateLine, StateMessage, encode
from mesh.discovery.state import NodeState
from mesh.kernel.context.component import Beginning
from mesh.kernel.context.effects import LogLine
from mesh.kernel.context.node_context import NodeContext
from mesh.kernel.context.settings import Settings
from mesh.kernel.peers import held
from mesh.kernel.routes.facts import RouteLearned
from mesh.kernel.states.facts import OurWaysChanged
from mesh.kernel.states.gossiping import signed_text
from mesh.kernel.states.ways import OwnWays, by_rules
from mesh.mapping.rules import Rule
from mesh.operations import Image, StoreReach
from mesh.security.signing import public_key, sign
from mesh.values import Hop
from mesh.wire import commands as c
from mesh.wire.envelope import Envelope
from tests.mesh.envelopes import envelope
from tests.mesh.kernel.keyed import forward, keyed, logged_in, met, seed_of
from tests.mesh.kernel.masters import RUGBY
from tests.seeds import scenarios
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

JOE = "/node/bilbo/client/joe/session/1"
K = "news/today"
# As in examples/masters: heron's file names no route.
HERON = (Rule("heron", domains=(RUGBY,)),)
BILBO = (Rule("frodo", 1, (RUGBY,)),)
SLAVES: dict[str, Any] = {"scope": "local", "links": "configured"}


def chain(net: SimNetwork | None = None, *more: str, **settings: Any) -> list[SimNode]:
    """Return heron, frodo and bilbo, and nodes with the names `more`."""
    net = net or SimNetwork(1)
    given = {**SLAVES, **settings}
    nodes = [
        keyed(net, "heron", rules=HERON, known=("heron",), **given),
        keyed(net, "frodo", "heron", rules=HERON, known=("heron",), **given),
        keyed(net, "bilbo", "heron", rules=BILBO, known=("frodo",), **given),
        *(keyed(net, name, "heron", rules=HERON, known=("heron",), **given) for name in more),
    ]
    met(net, *nodes)
    return nodes


def spread(node: SimNode, *names: str) -> None:
    """Wait until a node has the states of the nodes `names`."""
    said = node.core.parts.vouching._said
    node.net.until(lambda: all((b"", name) in said for name in names))


def said(*route: str, sender: str = JOE, content: bytes = b"forged", **more: Any) -> Envelope:
    """Return an envelope in transit over `route`."""
    hops = tuple(Hop(node, 0, 1) for node in route)
    e = envelope(K, [content], domain=RUGBY, **more)
    return replace(e, sender=sender, route=hops, sent=1_700_000_000_000_000_000)


# --- honest nodes ------------------------------------------------------------------------------------


def test_trial_A4_the_chain_of_the_seed_works_with_keys_and_nothing_waits() -> None:
    heron, _, bilbo = chain()
    joe, ann = client_of(bilbo, "joe"), client_of(heron, "ann")
    start = heron.net.now
    joe.publish(K, b"We win", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "OK"
    assert heron.net.now - start < 0.5, "who names whom is known, or asked for at once"
    assert [(m.content, m.route) for m in ann.get(K)] == [(b"We win", ("bilbo", "frodo", "heron"))]
    assert heron.metric("forged") == 0


def test_trial_A4_a_letter_by_a_way_that_was_asked_for_arrives() -> None:
    heron, _, bilbo = chain()
    ann = client_of(heron, "ann", session=1)
    inbox = ann.inbox()
    joe = client_of(bilbo, "joe")
    joe.send("/node/heron/client/ann/session/1", b"see you")
    heron.net.until(lambda: inbox.contents == [b"see you"])
    assert "frodo" in bilbo.core.parts.gossiping.mine.ways  # type: ignore[union-attr]


def test_trial_A4_a_node_that_the_master_never_met_is_believed_by_its_own_signature() -> None:
    net = SimNetwork(2)
    heron = keyed(net, "heron", rules=HERON, known=("heron",), **SLAVES)
    frodo = keyed(net, "frodo", "heron", rules=HERON, known=("heron",), **SLAVES)
    net.cuts.add(frozenset(("heron", "bilbo")))
    bilbo = keyed(net, "bilbo", "frodo", rules=BILBO, known=("frodo",), **SLAVES)
    net.until(lambda: "bilbo" in frodo.alive and "heron" in frodo.alive)
    joe = client_of(bilbo, "joe")
    joe.publish(K, b"We win", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "OK"
    assert [m.content for m in client_of(heron, "ann").get(K)] == [b"We win"]


def test_trial_A4_a_master_that_has_just_started_asks_who_brings_it() -> None:
    heron, _, bilbo = chain()
    joe = client_of(bilbo, "joe")
    for n in range(5):
        heron.restart()
        joe.publish(K, b"%d" % n, domain=RUGBY)
        assert joe.settled()
        heron.net.until(lambda n=n: joe.state(n + 1, RUGBY) == "OK")  # type: ignore[misc]
    assert heron.metric("forged") == 0


def test_trial_A4_a_master_that_has_just_started_takes_all_that_is_under_way_to_it() -> None:
    """A window of envelopes is accepted before the master knows the route."""
    heron, _, bilbo = chain(window_bytes=900, window_count=6)
    joe = client_of(bilbo, "joe")
    heron.kill()
    for n in range(6):
        joe.publish(K, b"%d" % n, domain=RUGBY)
    heron.net.run(1)
    heron.start()
    heron.net.until(lambda: all(joe.state(n + 1, RUGBY) == "OK" for n in range(6)))
    assert not any("broke the protocol" in note for note in heron.notes)


def test_trial_A4_what_a_dead_node_had_sent_on_its_way_is_still_believed() -> None:
    heron, _, bilbo = chain()
    joe = client_of(bilbo, "joe")
    joe.publish(K, b"1", domain=RUGBY)
    joe.settled()
    net = heron.net
    net.cut("heron", "frodo")
    net.run(20)
    joe.publish(K, b"2", domain=RUGBY)
    net.run(1)
    bilbo.kill()
    net.until(lambda: "bilbo" not in heron.alive)
    heron.restart()
    net.heal()
    ann = client_of(heron, "ann")
    net.until(lambda: [m.content for m in ann.get(K)] == [b"2"])
    assert heron.metric("forged") == 0


def test_trial_A4_several_masters_get_their_copies_from_the_one_that_divides() -> None:
    net = SimNetwork(3)
    both = (Rule("heron", domains=(RUGBY,)), Rule("avalon", domains=(RUGBY,)))
    way = (Rule("heron", 1, (RUGBY,)),)
    heron = keyed(net, "heron", rules=both, known=("avalon",), **SLAVES)
    avalon = keyed(net, "avalon", "heron", rules=both, known=("heron",), **SLAVES)
    bilbo = keyed(net, "bilbo", "heron", rules=way, known=("heron",), **SLAVES)
    met(net, heron, avalon, bilbo)
    joe = client_of(bilbo, "joe")
    joe.publish(K, b"We win", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "OK"
    assert [m.content for m in client_of(avalon, "ann").get(K)] == [b"We win"]


@pytest.mark.slow
def test_trial_A4_in_a_crowd_the_way_is_known_too() -> None:
    net = SimNetwork(4)
    settings = {"probe": 1.0, "links": "any", "scope": "mesh"}
    heron = keyed(net, "heron", rules=HERON, **settings)
    frodo = keyed(net, "frodo", "heron", rules=HERON, **settings)
    bilbo = keyed(net, "bilbo", "heron", rules=BILBO, **settings)
    others = [keyed(net, f"n{i}", "heron", rules=HERON, **settings) for i in range(34)]
    net.until(lambda: all(len(n.alive) == 36 for n in (heron, frodo, bilbo, *others)), 120)
    joe = client_of(bilbo, "joe")
    start = net.now
    joe.publish(K, b"We win", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "OK"
    assert net.now - start < 2.0 and heron.metric("forged") == 0


# --- liars --------------------------------------------------------------------------------------------


def test_trial_A4_what_a_node_that_nobody_names_brings_of_another_is_refused() -> None:
    heron, _, bilbo, mallory = chain(None, "mallory")
    spread(heron, "bilbo")
    logged_in(mallory, heron)
    told: list[c.Outcome] = []
    mallory.core.parts.forwarder.outcomes = lambda peer, command: told.extend(command.outcomes)
    start = heron.net.now
    forward(mallory, heron, said("bilbo", "mallory"))
    heron.net.until(lambda: told)
    assert told[0].answer.state == "FORGED_SENDER"
    assert held.PATIENCE <= heron.net.now - start < held.PATIENCE + 1
    ann = client_of(heron, "ann")
    assert (ann.get(K), heron.metric("forged")) == ([], 1)
    events = [e.text for e in heron.core.parts.context.events.events_after(0)[0] if e.kind == "refused"]
    assert any("mallory forwards" in text and "FORGED_SENDER" in text for text in events)
    joe = client_of(bilbo, "joe")
    joe.publish(K, b"We win", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "OK"


def test_trial_A4_a_way_brings_only_what_is_of_those_who_name_it() -> None:
    heron, frodo, _, avalon = chain(None, "avalon")
    logged_in(frodo, heron)
    forward(frodo, heron, said("avalon", "frodo", sender="/node/avalon/client/joe/session/1"))
    heron.net.until(lambda: heron.metric("forged") == 1)
    assert client_of(heron, "ann").get(K) == [] and avalon.is_up


def test_trial_A4_each_hop_has_to_name_the_next_not_only_the_first() -> None:
    """bilbo names frodo, and frodo names heron, but neither names mallory."""
    heron, _, _, mallory = chain(None, "mallory")
    spread(heron, "bilbo", "frodo")
    logged_in(mallory, heron)
    forward(mallory, heron, said("bilbo", "frodo", "mallory"))
    heron.net.until(lambda: heron.metric("forged") == 1)
    assert client_of(heron, "ann").get(K) == []


@pytest.mark.parametrize("name", scenarios(["bilbo", "nobody"]))
def test_trial_A4_a_state_that_another_made_up_proves_nothing_for_a_node_that_is_known(name: str) -> None:
    """mallory answers the question about bilbo's routes with an invented node."""
    heron, _, bilbo, mallory = chain(None, "mallory")
    logged_in(mallory, heron)
    vouching = mallory.core.parts.vouching
    heron_s = mallory.core.parts.neighbours.named("heron")
    line = _line(b"T" * 16, name, ("mallory",))
    node = c.Introduction(b"T" * 16, name, 1, "", key=_key("twin"))
    say = c.Ways((), (node,), _message(mallory, line))
    vouching.on_proofs = lambda peer, command: mallory.core.parts.context.out.send(heron_s.data, say)  # type: ignore[method-assign,union-attr]
    sender = f"/node/{name}/client/joe/session/1"
    forward(mallory, heron, said(name, "mallory", sender=sender))
    heron.net.run(5)
    found = [m.content for m in client_of(heron, "ann").get(K)]
    if name == "bilbo":
        assert (found, heron.metric("forged")) == ([], 1)
        assert (mallory.uuid, "bilbo") not in heron.core.parts.vouching._said
    else:  # as if mallory had started a node of that name, which vouches for no real node
        assert found == [b"forged"]
        logged_in(bilbo, heron)
        forward(bilbo, heron, said(name, "bilbo", sender=sender, first=2))
        heron.net.run(5)
        assert heron.metric("forged") == 1, "that counts for what mallory brings, and for nobody else"


def test_trial_A4_what_follows_what_waits_of_one_publisher_stays_behind_it() -> None:
    heron, _, bilbo, mallory = chain(None, "mallory")
    logged_in(mallory, heron)
    heard = client_of(heron, "ear").subscribed(K, domain=RUGBY)
    own = "/node/mallory/client/joe/session/1"
    forward(
        mallory,
        heron,
        said("bilbo", "mallory", content=b"1"),
        said("mallory", sender=own, first=2, content=b"2"),
        said("mallory", sender=own, content=b"other", stream=b"o" * 16),
    )
    heron.net.run(1.0)
    assert heard.contents == [b"other"]
    bilbo.core.parts.context.facts.publish_fact(RouteLearned("mallory"))
    heron.net.until(lambda: len(heard.contents) == 3)
    assert heard.contents == [b"other", b"1", b"2"]


def test_trial_A4_what_waits_is_bounded_and_comes_again_on_another_connection() -> None:
    heron, _, _, mallory = chain(None, "mallory", window_bytes=2000, window_count=1)
    logged_in(mallory, heron)
    for n in range(8):
        forward(mallory, heron, said("bilbo", "mallory", first=n + 1, content=b"x" * 1000))
    heron.net.run(0.5)
    assert len(heron.core.parts.forwarder.incoming.provenance.held) < 4
    assert any("FORGED_SENDER" in note for note in heron.notes)


def test_trial_A4_what_a_liar_puts_on_the_way_of_others_parts_no_two_of_them() -> None:
    """The messages are mallory's, which claims other hops. What exceeds the limit is refused at once."""
    heron, frodo, _, mallory = chain(None, "mallory", window_bytes=900, window_count=1)
    spread(heron, "mallory")
    logged_in(mallory, frodo)
    one = said("mallory", sender="/node/mallory/client/joe/session/1")
    letters = (replace(one, first=n, last=n, to=f"/node/n{n}/client/joe") for n in range(1, 41))
    forward(mallory, frodo, *letters)  # each has a window of its own
    joe = client_of(frodo, "joe")
    joe.publish(K, b"We win", domain=RUGBY, persistent=True)
    heron.net.until(lambda: joe.state(1, RUGBY) == "OK")
    assert [m.content for m in client_of(heron, "ann").get(K)] == [b"We win"]
    assert not any("broke the protocol" in note for note in heron.notes)


def test_trial_A4_a_node_that_was_never_asked_has_no_last_word() -> None:
    heron, _, bilbo, mallory = chain(None, "mallory")
    joe = client_of(bilbo, "joe")
    heron.net.cut("bilbo", "frodo")
    joe.publish(K, b"We win", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "FORWARD_WARNING"
    peer = bilbo.core.parts.neighbours.named("mallory")
    assert peer is not None
    word = c.Outcome(joe.stream, c.Answer(RUGBY, 1, 1, "OK"))
    bilbo.core.parts.forwarder.outcomes(peer, c.Outcomes((word,)))
    heron.net.run(1)
    assert joe.state(1, RUGBY) == "FORWARD_WARNING"
    heron.net.heal()
    heron.net.until(lambda: joe.state(1, RUGBY) == "OK")
    assert [m.content for m in client_of(heron, "ann").get(K)] == [b"We win"] and mallory.is_up


def test_without_keys_nodes_are_of_one_user_and_nothing_waits() -> None:
    net = SimNetwork(5)
    heron = net.node("heron", rules=HERON, known=("heron",), **SLAVES)
    frodo = net.node("frodo", "heron", rules=HERON, known=("heron",), **SLAVES)
    bilbo = net.node("bilbo", "heron", rules=BILBO, known=("frodo",), **SLAVES)
    met(net, heron, frodo, bilbo)
    joe = client_of(bilbo, "joe")
    joe.publish(K, b"We win", domain=RUGBY)
    assert joe.settled().state(1, RUGBY) == "OK"
    assert (len(heron.core.parts.forwarder.incoming.provenance.held), heron.metric("forged")) == (0, 0)


# --- the routes that a node names ---------------------------------------------------------------------


def test_trial_A4_ways_are_named_before_those_that_keep_what_they_get() -> None:
    rules = (Rule("me", domains=("a",)), Rule("heron", domains=("b",)), Rule("frodo", 2, ("c",)))
    assert by_rules("me", rules) == (("frodo",), ("heron",))
    both = (*rules, Rule("avalon", domains=("b",)))
    assert by_rules("me", both) == (("heron", "frodo", "avalon"), ())


NOTHING = Beginning(Image([], {}, 1), None, lambda: StoreReach(0, 0))


def ways_of(*rules: Rule) -> tuple[OwnWays, NodeContext]:
    context = NodeContext(
        Settings(me=c.Introduction(b"m" * 16, "me", 1, ""), rules=rules), bytes, lambda: 0.5
    )
    return OwnWays(context), context


def test_trial_A4_a_way_that_was_found_is_told_at_once_and_not_taken_back() -> None:
    ways, context = ways_of(Rule("heron", domains=("a",)))
    ((_, found),) = ways.fact_handlers()
    found(RouteLearned("frodo"))
    found(RouteLearned("frodo"))
    assert (ways.names, list(context.facts.queue)) == (("frodo", "heron"), [OurWaysChanged()])
    for n in range(40):
        found(RouteLearned(f"n{n}"))
    assert len(ways.names) == 16 and ways.names[0] == "n39"


def test_trial_A4_more_ways_than_can_be_named_are_told_to_people() -> None:
    ways, context = ways_of(*(Rule(f"n{i}", 1, ("a",)) for i in range(16)))
    ways.start(NOTHING)
    assert not context.out.effects
    ways, context = ways_of(*(Rule(f"n{i}", 1, ("a",)) for i in range(18)))
    ways.start(NOTHING)
    (told,) = [effect.text for effect in context.out.effects if isinstance(effect, LogLine)]
    assert len(ways.names) == 16 and "n16, n17" in told


def _key(name: str) -> bytes:
    return public_key(seed_of(name))


def _line(uuid: bytes, name: str, ways: tuple[str, ...]) -> StateLine:
    """Return a state with the signature of `twin`."""
    state = NodeState(
        uuid=uuid, name=name, boot=1, counter=1, wall=1, up=1.0, software="x", cpu=(), ram_free=0,
        ram_total=0, load=0.0, lag=0.0, published=0.0, delivered=0.0, pending=0, tailback=0, stored=0,
        sessions=0, subscriptions=0, links=0, ways=ways,
    )  # fmt: skip
    line = StateLine(uuid, 1, 1, state.encode())
    return StateLine(uuid, 1, 1, line.state, sign(seed_of("twin"), signed_text(line)))


def _message(node: SimNode, *lines: StateLine) -> bytes:
    return encode(StateMessage(node.uuid, 1, 0, lines))
