"""The history that a node records of its mesh, and its figures compared with the node's own counts."""

import pytest
from msgspec.structs import replace

from mesh.discovery.state import Sample
from mesh.mapping.rules import Rule
from mesh.snapshots.line import BALANCE, EVENT, LINK, QUEUE, STATE, TOPIC, HistoryLine
from tests.mesh.kernel.masters import RUGBY, Cluster, cluster
from tests.simulation import SimNetwork, SimNode

IDLE = Sample((90.0, 70.0), 4_000_000_000, 8_000_000_000, 0.001, "0a1b2c3d")
EVERY = 10.0


def lines(by: SimNode, kind: str, **fields: object) -> list[HistoryLine]:
    return [
        line
        for line in by.lines
        if line.kind == kind and all(getattr(line, name) == value for name, value in fields.items())
    ]


def mesh(*names: str) -> list[SimNode]:
    return SimNetwork(1).mesh(*names, sample=lambda: IDLE, snapshots=EVERY)


def balanced() -> Cluster:
    """Create the masters heron and stork of one domain, and ibis, which publishes to them."""
    both = (Rule("heron", domains=(RUGBY,)), Rule("stork", domains=(RUGBY,)))
    names = ("heron", "stork", "ibis")
    return cluster(*names, rules=dict.fromkeys(names, both), known=names, snapshots=EVERY)


# --- states and events ----------------------------------------------------------------------------------


def test_every_state_that_is_heard_is_written_once_and_numbered_without_gaps() -> None:
    a, b, c = mesh("a", "b", "c")
    a.net.run(20)
    for node in (a, b, c):
        assert [line.line for line in node.lines] == list(range(1, len(node.lines) + 1))
        for other in (a, b, c):
            versions = [line.version or 0 for line in lines(node, STATE, node=other.name)]
            assert versions == sorted(set(versions)) and len(versions) >= 9
    [state] = lines(a, STATE, node="b", version=5)
    assert (state.observer, state.observer_uuid, state.observer_boot) == ("a", a.uuid.hex(), 1)
    assert (state.uuid, state.boot, state.cores, state.cpu) == (b.uuid.hex(), 1, 2, 20.0)
    assert (state.ram_free, state.ram_total, state.lag) == (4_000_000_000, 8_000_000_000, 0.001)
    assert state.machine == "0a1b2c3d"
    assert state.wall is not None and state.wall < state.ts < "2023-11-14T22:14"
    assert state.age is not None and 0 <= state.age < 3


def test_a_state_says_the_same_whoever_writes_it_down() -> None:
    a, b, _ = mesh("a", "b", "c")
    a.net.run(10)
    own = {"observer", "observer_uuid", "observer_boot", "line", "ts", "age"}

    def said(node: SimNode) -> list[dict[str, object]]:
        found = [
            {f: getattr(line, f) for f in line.__struct_fields__} for line in lines(node, STATE, node="c")
        ]
        # The first state may be sent before all nodes are there to receive it.
        found = [line for line in found if int(str(line["version"])) > 1]
        return [{f: value for f, value in line.items() if f not in own} for line in found[:4]]

    assert said(a) == said(b) and len(said(a)) == 4


def test_without_an_interval_nothing_is_written() -> None:
    a, b = SimNetwork(1).mesh("a", "b", sample=lambda: IDLE)
    a.net.run(20)
    b.close()
    assert a.lines == b.lines == []


def test_a_death_is_an_event_with_the_time_since_the_last_word() -> None:
    a, b, _ = mesh("a", "b", "c")
    b.kill()
    a.net.until(lambda: lines(a, EVENT, event="dead"))
    [dead] = lines(a, EVENT, event="dead")
    assert (dead.node, dead.uuid, dead.boot, dead.text) == (
        "b",
        b.uuid.hex(),
        1,
        "b (boot 1) is dead: no answer",
    )
    assert dead.age is not None and 0 < dead.age < 10


def test_a_boot_begins_and_ends_with_an_event_of_its_own_unless_it_is_killed() -> None:
    a, b, _ = mesh("a", "b", "c")
    b.kill()
    a.net.run(1)
    b.start()
    a.net.run(1)
    b.close()
    own = [(line.observer_boot, line.event) for line in lines(b, EVENT, node="b")]
    assert own == [(1, "started"), (2, "started"), (2, "stopped")]
    assert b.lines[-1].event == "stopped"
    assert next(line.line for line in b.lines if line.observer_boot == 2) == 1


def test_above_eight_nodes_each_is_written_down_by_itself_and_two_others() -> None:
    net = SimNetwork(3)
    nodes = [net.node("n0", sample=lambda: IDLE, snapshots=EVERY)]
    nodes += [net.node(f"n{i}", "n0", sample=lambda: IDLE, snapshots=EVERY) for i in range(1, 9)]
    net.until(lambda: all(len(node.alive) == 8 for node in nodes))
    net.run(2)
    start = {node.name: len(node.lines) for node in nodes}
    net.run(5)
    for node in nodes:
        writers = {
            other.name
            for other in nodes
            for line in other.lines[start[other.name] :]
            if line.kind == STATE and line.node == node.name
        }
        assert len(writers) == 3 and node.name in writers


def test_a_clock_that_is_ahead_shows_as_skew() -> None:
    a, b = mesh("a", "b")
    a.net.run(2 * EVERY)
    assert all(line.skew is not None and abs(line.skew) < 0.1 for line in lines(a, LINK, node="b")[1:])
    assert lines(a, LINK)[-1].state == "polling" and lines(a, LINK)[-1].rtt is not None
    assert b.name == lines(a, LINK)[-1].node


# --- figures --------------------------------------------------------------------------------------------


def test_what_is_given_to_each_candidate_is_what_the_node_counted_to_the_last_one() -> None:
    c = balanced()
    joe = c.client("ibis")
    joe.publish("k", b"We win", domain=RUGBY)
    joe.settled()
    for _ in range(21):
        joe.get("k", domain=RUGBY)
        joe.settled()
    c.net.run(1)
    metric = c["ibis"].metric
    counted = {what: metric(f"balance_{what}") for what in ("chosen", "asked", "answered")}
    assert counted["answered"] == counted["asked"] >= 21 and counted["chosen"] >= 21
    forwarded = metric("forwarded")
    c["ibis"].close()
    last = {line.node: line for line in lines(c["ibis"], BALANCE)}
    assert set(last) == {"heron", "stork"}
    for what, total in counted.items():
        assert sum(getattr(line, what) for line in last.values()) == total
    assert sum(line.sent or 0 for line in last.values()) == forwarded == 2
    asked = [line.asked or 0 for line in last.values()]
    assert abs(asked[0] - asked[1]) <= 1, "in turn"
    for line in last.values():
        assert (line.strategy, line.weight) == ("RoundRobin", 1.0)
        assert line.seconds is not None and line.answered and 0 < line.seconds / line.answered < 0.1


def test_what_waits_for_a_master_that_is_away_is_a_queue_until_it_has_gone() -> None:
    c = balanced()
    c["heron"].kill()
    c["stork"].kill()
    joe = c.client("ibis")
    for number in range(5):
        joe.publish("k", b"%d" % number, domain=RUGBY)
    joe.settled()
    c.net.until(lambda: lines(c["ibis"], QUEUE, queue="tailback/heron", depth=5), limit=40)
    [line, *_] = lines(c["ibis"], QUEUE, queue="tailback/heron", depth=5)
    assert line.bytes and line.oldest and line.oldest > 0 and line.node == "ibis"
    c["heron"].start()
    c["stork"].start()
    c.net.until(lambda: lines(c["ibis"], QUEUE, queue="tailback/heron", depth=0), limit=60)
    c.net.run(3 * EVERY)
    assert len(lines(c["ibis"], QUEUE, queue="tailback/heron", depth=0)) == 1, "an empty one is told once"


@pytest.mark.parametrize("one_envelope", [True, False])
def test_the_master_counts_messages_and_bytes_of_a_topic(one_envelope: bool) -> None:
    c = balanced()
    joe = c.client("heron")
    for number in range(6):
        joe.publish(f"k{number % 2}", b"1234", domain=RUGBY)
        if not one_envelope:
            joe.settled()
    joe.settled()
    c.net.run(EVERY)
    c["stork"].close()
    last = {line.topic: line for line in lines(c["stork"], TOPIC)}
    assert {topic: (line.messages, line.domain) for topic, line in last.items()} == {
        "k0": (3, RUGBY),
        "k1": (3, RUGBY),
    }
    assert all(line.content is not None and line.content >= 12 for line in last.values())


def test_what_leaves_with_the_goodbye_is_in_the_last_figures() -> None:
    c = balanced()
    joe = c.client("ibis")
    joe.publish("k", b"We win", domain=RUGBY)
    joe.settled()
    ibis, net = c["ibis"], c.net
    # The node is stopped as it accepts a message, which is not in transit yet.
    carry_out, ibis._carry_out_all = ibis._carry_out_all, lambda: None  # type: ignore[method-assign]
    joe.publish("k", b"Again", domain=RUGBY)
    net.until(lambda: ibis.core.parts.forwarder.onward.messages)
    ibis.core.goodbye(net.now, net.wall)
    carry_out()
    last = {line.node: line for line in lines(ibis, BALANCE)}
    assert sum(line.sent or 0 for line in last.values()) == ibis.metric("forwarded") == 4
    assert ibis.lines[-1].event == "stopped"


def test_a_clock_that_goes_back_makes_nothing_wait_for_less_than_no_time() -> None:
    c = balanced()
    c["heron"].kill()
    c["stork"].kill()
    joe = c.client("ibis")
    joe.publish("k", b"We win", domain=RUGBY)
    joe.settled()
    tailback, context = c["ibis"].core.parts.forwarder.tailback, c["ibis"].core.parts.context
    waits = tailback.depth("heron")
    context.clock.believed -= 3600 * 10**9
    assert (waits.messages, waits.age > 0) == (1, True)
    assert tailback.depth("heron") == replace(waits, age=0)


def test_of_a_candidate_that_is_gone_nothing_is_told_again_and_its_last_figures_stand() -> None:
    c = balanced()
    joe = c.client("ibis")
    joe.publish("k", b"We win", domain=RUGBY)
    joe.settled()
    c["stork"].close()
    c.net.run(3 * EVERY)
    told = lines(c["ibis"], BALANCE, node="stork")
    c.net.run(4 * EVERY)
    c["ibis"].close()
    assert lines(c["ibis"], BALANCE, node="stork") == told and len(told) <= 3
    assert told[-1].sent == 1
    assert len(lines(c["ibis"], BALANCE, node="heron")) >= 7
