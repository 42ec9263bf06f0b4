"""Causes that keep something from being delivered: a mesh for each cause, and a client that asks why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mesh.mapping.rules import Rule
from mesh.values import message_id
from mesh.wire.envelope import LOCAL_ONLY
from tests.mesh.features.queues.node.reader import Reader
from tests.mesh.features.queues.node.spread import Several
from tests.mesh.features.services.node.user import User
from tests.mesh.kernel.masters import RUGBY, cluster
from tests.mesh.kernel.sharing.weighing import applied
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode

Told = tuple[SimClient, str, str, str]  # asking client, kind, text and domain of `why`


def reasons(who: SimClient, kind: str, text: str, domain: str = "") -> list[dict[str, Any]]:
    return list(who.call("why", kind=kind, text=text, domain=domain)["reasons"])


def mesh(*names: str, **settings: Any) -> tuple[SimNetwork, list[SimNode]]:
    net = SimNetwork(1)
    return net, net.mesh(*names, **settings)


def two(**settings: Any) -> tuple[SimNetwork, SimNode, SimNode, SimClient]:
    net, (a, b) = mesh("a", "b", **settings)
    return net, a, b, client_of(a, "pub")


def number_of(who: SimClient, n: int = 1, domain: str = "") -> str:
    return message_id(who.stream, domain, n)


def typo_in_key() -> Told:
    _, _, b, pub = two()
    client_of(b, "ear").subscribed("news/sports")
    pub.publish("news/sprots", b"1")
    pub.settled()
    return pub, "topic", "news/sprots", ""


def typo_in_domain() -> Told:
    _, _, b, pub = two()
    client_of(b, "ear").subscribed("news", domain="RUGBY_NEWS")
    return pub, "topic", "news", "RUGBY_NEW"


def topic_above() -> Told:
    _, _, b, pub = two()
    client_of(b, "ear").subscribed("news")
    return pub, "topic", "news/sports", ""


def no_subscriber() -> Told:
    *_, pub = two()
    return pub, "topic", "news/sports", ""


def master_away() -> Told:
    c = cluster("heron", "frodo", "bilbo")
    c.client("heron", "ear").subscribed("k", domain=RUGBY)
    joe = c.client("bilbo")
    c["frodo"].kill()
    c.net.until(lambda: "frodo" not in c["bilbo"].alive)
    return joe, "topic", "k", RUGBY


def master_behind_a_way_is_away() -> Told:
    c = cluster("heron", "frodo", "bilbo")
    joe = c.client("bilbo")
    c.client("frodo", "ear").subscribed("k", domain=RUGBY)
    c["heron"].kill()
    c.net.until(lambda: "heron" not in c["frodo"].alive)
    return joe, "topic", "k", RUGBY


def no_rule() -> Told:
    c = cluster("heron", "frodo")
    c.client("heron", "ear").subscribed("k", domain="OTHER")
    return c.client("frodo"), "topic", "k", "OTHER"


def circular_rules() -> Told:
    rules = {"heron": (Rule("frodo", domains=("D",)),), "frodo": (Rule("heron", domains=("D",)),)}
    c = cluster("heron", "frodo", rules=rules, known=("heron", "frodo"))
    c.client("heron", "ear").subscribed("k", domain="D")
    return c.client("frodo"), "topic", "k", "D"


def rule_of_another_node() -> Told:
    net = SimNetwork(1)
    rule = {"rules": (Rule("c", domains=("D",)),)}
    a = net.node("a")
    b, c = net.node("b", "a", **rule), net.node("c", "a")
    net.until(lambda: all(len(node.alive) == 2 for node in (a, b, c)))
    client_of(b, "ear").subscribed("k", domain="D")
    return client_of(a, "pub"), "topic", "k", "D"


def local_only() -> Told:
    net, _, b, pub = two()
    client_of(b, "ear").subscribed("k")
    pub.publish("k", b"1", flags=LOCAL_ONLY)
    pub.settled()
    net.run(1)
    return pub, "topic", "k", ""


def erased() -> Told:
    _, _, b, pub = two()
    pub.publish("k", b"1")
    pub.settled()
    ear = client_of(b, "ear")
    assert ear.erase("k") == ["k"]
    ear.subscribed("k")
    return pub, "topic", "k", ""


def emptied() -> Told:
    _, _, b, pub = two()
    pub.publish("k", b"1")
    pub.settled()
    ear = client_of(b, "ear")
    assert ear.erase("k", mode="history") == ["k"]
    ear.subscribed("k")
    return pub, "topic", "k", ""


def expired() -> Told:
    net, _, b, pub = two()
    client_of(b, "ear").subscribed("k")
    pub.publish("k", b"1", expires=net.wall + 10**9)
    pub.settled()
    net.run(5)
    return pub, "topic", "k", ""


def group_takes() -> Told:
    _, a, b, pub = two()
    for node in (a, b):
        User(node, f"w{node.name}").serve("workers\n\njobs/#", credit=100)
    return pub, "topic", "jobs/1", ""


def subscriber_away() -> Told:
    net, _, b, pub = two()
    ear = client_of(b, "ear")
    ear.subscribed("k")
    ear.die()
    net.run(20)
    pub.publish("k", b"1", persistent=True)
    pub.settled()
    net.run(1)
    return pub, "topic", "k", ""


def overrun() -> Told:
    net, _, b, pub = two()
    client_of(b, "slow").subscribed("k", rate=0, overflow="drop_newest", max_queue=5)
    for _ in range(50):
        pub.publish("k", b"1")
    pub.settled()
    net.run(2)
    return pub, "topic", "k", ""


def node_dead() -> Told:
    net, _, b, pub = two()
    b.kill()
    net.run(30)
    return pub, "node", "b", ""


def node_suspect() -> Told:
    net, a, _, pub = two()
    net.cut("a", "b")  # silence without a notice means suspicion first
    net.until(lambda: "b" not in a.alive or a.core.parts.neighbours.named("b").suspect)  # type: ignore[union-attr]
    return pub, "node", "b", ""


def node_left() -> Told:
    net, _, b, pub = two()
    b.close()
    net.run(1)
    return pub, "node", "b", ""


def node_unknown() -> Told:
    *_, pub = mesh_of_three()
    return pub, "node", "robot3", ""


def mesh_of_three() -> tuple[SimNetwork, SimClient]:
    net, nodes = mesh("a", "robot1", "b")
    return net, client_of(nodes[0], "pub")


def link_refused() -> Told:
    net, (a, b) = mesh("a", "b")
    a._settings["cluster"] = "other"
    a.restart()
    peer = b.core.parts.neighbours.peers[a.uuid]
    net.until(lambda: peer.link.describe(net.now) == "not allowed by peer: CLUSTER")
    return client_of(b, "pub"), "node", "a", ""


def key_of_another_mesh() -> Told:
    net, a, _, pub = two()
    a.core.on_foreign_mesh("stranger", "tcp://10.0.0.9:7710", net.now, net.wall)
    a._carry_out_all()
    return pub, "node", "stranger", ""


def no_way_between() -> Told:
    c = cluster(
        "heron", "golan", "avalon", known=("heron",), rules=dict.fromkeys(("heron", "golan", "avalon"), ())
    )
    return c.client("golan"), "node", "avalon", ""


def waits_for_its_master() -> Told:
    c = cluster("heron", "frodo", "bilbo")
    joe = c.client("bilbo")
    c["frodo"].kill()
    c.net.until(lambda: "frodo" not in c["bilbo"].alive)
    joe.publish("k", b"1", domain=RUGBY, persistent=True)
    joe.settled()
    return joe, "message", number_of(joe, 1, RUGBY), ""


def refused_in_a_circle() -> Told:
    who, _, key, domain = circular_rules()
    who.publish(key, b"1", domain=domain)
    who.settled()
    return who, "message", number_of(who, 1, domain), ""


def waited_too_long() -> Told:
    c = cluster("heron", "frodo", "bilbo")
    joe = c.client("bilbo")
    c["frodo"].kill()
    c.net.until(lambda: "frodo" not in c["bilbo"].alive)
    joe.publish("k", b"1", domain=RUGBY, persistent=True, expires=c.net.wall + 5 * 10**9)
    joe.settled()
    c.net.run(6)
    return joe, "message", number_of(joe, 1, RUGBY), ""


def nobody_wants_the_message() -> Told:
    *_, pub = two()
    pub.publish("k", b"1")
    pub.settled()
    return pub, "message", number_of(pub), ""


def was_local_only() -> Told:
    who, *_ = local_only()
    return who, "message", number_of(who), ""


def not_taken_yet() -> Told:
    net, _, b, pub = two()
    client_of(b, "slow").subscribed("k", rate=0)
    pub.publish("k", b"1")
    pub.settled()
    net.run(1)
    return pub, "message", number_of(pub), ""


def unknown_message() -> Told:
    *_, pub = two()
    return pub, "message", "ab" * 16 + ":7", ""


def client_away() -> Told:
    net, _, b, pub = two()
    ear = client_of(b, "ear")
    ear.subscribed("k")
    ear.die()
    net.run(20)
    return pub, "client", "ear", ""


def typo_in_client() -> Told:
    _, _, b, pub = two()
    client_of(b, "robot-1").connected()
    return pub, "client", "robot_1", ""


def full_inbox() -> Told:
    net = SimNetwork(1)
    a = net.node("a", backlog_bytes=4000)
    pub = client_of(a, "pub")
    for _ in range(5):
        pub.send("client/joe/session/1", bytes(1000), force=True)
    pub.settled()
    return pub, "client", "joe", ""


def slow_consumer_cut() -> Told:
    net = SimNetwork(1)
    a = net.node("a")
    slow, pub = client_of(a, "slow"), client_of(a, "pub")
    slow.subscribed("k", rate=0, overflow="drop_newest", max_queue=5)
    for _ in range(20):
        pub.publish("k", b"1")
    pub.settled()
    net.until(lambda: slow.refusals)
    return pub, "client", "slow", ""


def typo_in_address() -> Told:
    _, _, b, pub = two()
    User(b, "adder").serve("calc/add")
    return pub, "address", "calc/ad", ""


def nobody_serves() -> Told:
    *_, pub = two()
    return pub, "address", "calc/add", ""


def weights_are_stale() -> Told:
    net, a, b, pub = two()
    User(b, "adder").serve("calc/add")
    applied(a, {"b": [0.5, "slow disk"]}, seconds=5.0)
    net.run(10)
    return pub, "address", "calc/add", ""


def weight_is_low() -> Told:
    _, a, b, pub = two()
    User(b, "adder").serve("calc/add")
    applied(a, {"b": [0.5, "slow disk"]})
    return pub, "address", "calc/add", ""


def selector_matches_nobody() -> Told:
    it = Several(2)
    it.take(0, selector="kind == 'x'")
    it.put(0, [1, 2])
    it.net.run(5)
    return client_of(it.nodes[1], "pub"), "queue", "jobs", ""


def queue_full() -> Told:
    it = Several(2, max_count=2)
    it.put(0, [1, 2])
    return client_of(it.nodes[1], "pub"), "queue", "jobs", ""


def durable_full() -> Told:
    net = SimNetwork()
    node = net.node("heron", durable_bytes=2_000)
    joe = Reader(node, "joe")
    joe.ok(joe.durable("audit"))
    joe.published(bytes(1_500))
    joe.published(bytes(1_500))
    return client_of(node, "pub"), "queue", "sub/audit", ""


def typo_in_queue() -> Told:
    it = Several(2)
    return client_of(it.nodes[0], "pub"), "queue", "job", ""


CASES: dict[Callable[[], Told], str] = {
    typo_in_key: "NEAR_KEY",
    typo_in_domain: "OTHER_DOMAIN",
    topic_above: "NEAR_KEY",
    no_subscriber: "NO_SUBSCRIBER",
    master_away: "MASTER_AWAY",
    master_behind_a_way_is_away: "MASTER_AWAY",
    no_rule: "NO_MASTER",
    circular_rules: "CIRCULAR_LOOP",
    rule_of_another_node: "RULES_DIFFER",
    local_only: "LOCAL_ONLY",
    erased: "ERASED",
    emptied: "EMPTIED",
    expired: "VALUE_EXPIRED",
    group_takes: "GROUP_TAKES",
    subscriber_away: "SUBSCRIBER_AWAY",
    overrun: "UNDELIVERED",
    node_dead: "NODE_DEAD",
    node_suspect: "NODE_SUSPECT",
    node_left: "NODE_LEFT",
    node_unknown: "NEAR_NODE",
    link_refused: "LINK_REFUSED",
    key_of_another_mesh: "OTHER_MESH",
    no_way_between: "NOT_LINKABLE",
    waits_for_its_master: "WAITS_FOR",
    refused_in_a_circle: "REFUSED",
    waited_too_long: "DEAD",
    nobody_wants_the_message: "UNWANTED",
    was_local_only: "LOCAL_ONLY",
    not_taken_yet: "HELD_FOR",
    unknown_message: "MESSAGE_UNKNOWN",
    client_away: "CLIENT_AWAY",
    typo_in_client: "NEAR_CLIENT",
    full_inbox: "UNDELIVERED",
    slow_consumer_cut: "UNDELIVERED",
    typo_in_address: "NEAR_ADDRESS",
    nobody_serves: "NOBODY_SERVES",
    weights_are_stale: "WEIGHTS_EXPIRED",
    weight_is_low: "WEIGHT_LOW",
    selector_matches_nobody: "NOBODY_TAKES",
    queue_full: "QUEUE_FULL",
    durable_full: "QUEUE_DROPS",
    typo_in_queue: "NEAR_QUEUE",
}
