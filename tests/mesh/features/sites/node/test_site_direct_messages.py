"""Direct messages between sites: they arrive once and in order, or are refused at once."""

from collections.abc import Sequence
from typing import Any
from unittest.mock import patch

import pytest
from msgspec.structs import replace

from mesh.config.sites import RemoteSite
from mesh.features.sites.node import site_direct_messages
from mesh.features.sites.node.gateway_relay import GatewayRelay
from mesh.features.sites.node.site_direct_messages import SiteDirectMessages
from mesh.features.sites.wire import Relay, Relayed
from mesh.remote_names import UNKNOWN
from mesh.site_policy.accepting import Accepts
from mesh.values import Hop
from mesh.wire.commands import Answer, Outcome
from mesh.wire.frames import write
from tests.mesh.envelopes import envelope
from tests.mesh.features.sites.node.meshes import FIRST, gateway, gateway_to, links, member, say
from tests.mesh.features.sites.node.site_direct_messages import (
    FROM_LON,
    FROM_NYC,
    client,
    name_at,
    refused,
    two_sites,
)
from tests.mesh.origins import silenced
from tests.simulation import SimNetwork, SimNode


def test_D7_a_letter_comes_once_to_whom_it_is_for_and_the_answer_to_who_sent_it() -> None:
    net = SimNetwork()
    nodes = two_sites(net)
    site = dict(zip("abcd", ("LON", "LON", "NYC", "NYC"), strict=True))
    people = {node.name: client(node, f"of-{node.name}") for node in nodes}
    at = {node.name: node for node in nodes}
    inbox = {name: each.inbox() for name, each in people.items()}
    pairs = [("a", "c"), ("c", "a"), ("b", "c"), ("a", "d"), ("b", "d")]
    for origin, goal in pairs:
        people[origin].send(name_at(site[goal], at[goal], f"of-{goal}"), f"{origin} to {goal}".encode())
    net.until(lambda: sum(len(each.got) for each in inbox.values()) == 5)
    for name, each in inbox.items():
        for letter in list(each.got):
            people[name].send(letter.sender, b"re: " + letter.content)
    net.until(lambda: sum(len(each.got) for each in inbox.values()) == 10)
    net.run(5)
    for name, each in inbox.items():
        sent = [f"{o} to {g}" for o, g in pairs if g == name]
        answered = [f"re: {o} to {g}" for o, g in pairs if o == name]
        assert sorted(text.decode() for text in each.contents) == sorted([*sent, *answered])
    assert all(answer.state == "OK" for each in people.values() for answer in each.answers.values())


def test_what_a_letter_says_of_itself_is_where_its_sender_is() -> None:
    net = SimNetwork()
    _, b, _, d = two_sites(net)
    inbox = client(d, "ann").inbox()
    client(b, "joe").send(name_at("NYC", d, "ann"), b"x")
    net.until(lambda: len(inbox.got) == 1)
    assert inbox.got[0].sender == "/site/LON/node/b/client/joe/session/1"
    assert inbox.got[0].route == ("site:LON/b", "c", "d")


@pytest.mark.parametrize("name", ["node/d/client/ann", "calc/add"])
def test_the_way_to_another_site_is_told_as_it_would_be_gone(name: str) -> None:
    net = SimNetwork()
    _, b, c, _ = two_sites(net)
    joe = client(b, "joe")

    def step(site: str) -> dict[str, str]:
        (step,) = joe.call("route", to=f"/site/{site}/{name}")["steps"]
        return {key: step[key] for key in ("node", "decision", "next", "code")}

    assert step("NYC") == {"node": "b", "decision": "forward", "next": "site/NYC", "code": ""}
    refused = {"node": "b", "decision": "refuse", "code": "SITE_UNREACHABLE"}
    assert step("ROM") == {**refused, "next": "site/ROM"}
    c.close()
    net.run(1)
    assert step("NYC") == {**refused, "next": "site/NYC"}


@pytest.mark.parametrize("persistent", [False, True])
def test_D17_a_letter_to_a_site_that_is_unknown_or_away_or_to_a_dead_member_is_refused_at_once(
    persistent: bool,
) -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    joe = client(b, "joe")
    assert refused(joe, "/site/SFO/node/c/client/ann", 1, persistent=persistent) == "SITE_UNREACHABLE"
    assert refused(joe, "/site/NYC/node/zoe/client/ann", 2, persistent=persistent) == "UNKNOWN_NODE"
    d.kill()
    net.until(lambda: not c.alive)
    assert refused(joe, "/site/NYC/node/d/client/ann", 3, persistent=persistent) == "UNKNOWN_NODE"
    assert refused(joe, "/site/NYC/node/c/client/ann", 4, persistent=persistent) == "NOT_CONNECTED"
    c.close()
    net.run(1)
    assert refused(joe, "/site/NYC/node/c/client/ann", 5, persistent=persistent) == "SITE_UNREACHABLE"
    assert b.metric("tailed_back") == 0


def test_a_letter_of_who_came_back_before_he_sent_it_is_refused_as_that_of_anybody() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    c.close()
    d.close()
    joe = client(b, "joe")
    net.run(5)
    net.break_all(joe.name)
    net.run(60)
    joe.send("/site/NYC/node/d/client/ann", b"x")
    net.until(lambda: joe.state(1) == "SITE_UNREACHABLE")
    assert b.metric("tailed_back") == 0


@pytest.mark.parametrize("force", [False, True])
def test_a_letter_to_a_site_that_is_unknown_is_refused_also_if_it_may_wait_and_told_which_are_known(
    force: bool,
) -> None:
    net = SimNetwork()
    tables = {name: RemoteSite(name) for name in ("NET1", "NET2", "SFO")}
    joe = client(gateway_to(net, "a", "LON", dict.fromkeys(tables, ""), tables=tables), "joe")
    said = {"NYX": "it knows NET1, NET2, SFO.", "NET3": "(did you mean NET1 or NET2?)."}
    for number, (site, known) in enumerate(said.items(), 1):
        to = f"/site/{site}/node/c/client/ann"
        assert refused(joe, to, number, force=force) == "SITE_UNREACHABLE"
        assert f"a {UNKNOWN} {site}" in joe.answers["", number].text
        assert known in joe.answers["", number].text


@pytest.mark.parametrize(
    ("table", "state"),
    [
        (RemoteSite("LON"), "NO_RIGHT"),
        (RemoteSite("LON", letters=("joe",)), "NO_RIGHT"),
        (RemoteSite("LON", letters=("#",), one_way=True), "NO_RIGHT"),
        (RemoteSite("LON", letters=("ann",)), "OK"),
    ],
)
def test_only_who_is_named_gets_letters_from_another_site(table: RemoteSite, state: str) -> None:
    net = SimNetwork()
    _, b, c, _ = two_sites(net, there={"LON": table})
    inbox, joe = client(c, "ann").inbox(), client(b, "joe")
    joe.send(name_at("NYC", c, "ann"), b"x")
    joe.settled()
    assert joe.state(1) == state
    net.run(1)
    assert len(inbox.got) == (state == "OK")


def test_a_letter_that_names_its_own_site_stays_there() -> None:
    net = SimNetwork()
    a, b, *_ = two_sites(net)
    inbox, joe = client(a, "ann").inbox(), client(b, "joe")
    joe.send("/site/LON/node/a/client/ann/session/1", b"x")
    net.until(lambda: len(inbox.got) == 1)
    assert inbox.got[0].sender == "/node/b/client/joe/session/1"


@pytest.mark.slow
def test_D2_who_reads_what_is_published_everywhere_answers_each_sender_by_a_letter() -> None:
    net = SimNetwork()
    names = {"LON": ("a", "b"), "NYC": ("c", "d"), "SFO": ("e", "f")}
    nodes: dict[str, SimNode] = {}
    for site, (first, second) in names.items():
        tables = {s: RemoteSite(s, domains=("STOCK",), letters=("#",)) for s in names if s != site}
        known = {s: nodes[m[0]].address if m[0] in nodes else "" for s, m in names.items() if s != site}
        nodes[first] = gateway_to(net, first, site, known, tables=tables)
        nodes[second] = member(net, second, site, first, tables=tables)
    net.until(lambda: all(links(nodes[m[0]]) == 2 and nodes[m[1]].alive for m in names.values()))
    people = {name: client(node, f"of-{name}") for name, node in nodes.items()}
    heard = {name: each.subscribed("quote", domain="STOCK") for name, each in people.items()}
    inbox = {name: each.inbox() for name, each in people.items()}
    for name, each in people.items():
        each.publish("quote", name.encode(), domain="STOCK", persistent=True)
    net.until(lambda: all(len(each.got) == 6 for each in heard.values()))
    for name, each in people.items():
        for message in heard[name].got:
            each.send(message.sender, name.encode())
    net.until(lambda: all(len(each.got) >= 6 for each in inbox.values()))
    net.run(5)
    site_of = {name: site for site, both in names.items() for name in both}
    for name in nodes:
        assert len(heard[name].got) == len(inbox[name].got) == 6
        senders = {
            f"{'' if site_of[n] == site_of[name] else f'/site/{site_of[n]}'}/node/{n}/client/of-{n}/session/1"
            for n in nodes
        }
        assert {letter.sender for letter in inbox[name].got} == senders


@pytest.mark.parametrize("older", ["there", "here"])
def test_gateways_of_an_earlier_release_are_given_no_letter_and_its_sender_is_told(older: str) -> None:
    net = SimNetwork()
    silent = patch.object(SiteDirectMessages, "features", lambda self: ())
    if older == "there":
        with silent:
            c = gateway(net, "c", "NYC", "LON", tables=FROM_LON)
        a = gateway(net, "a", "LON", "NYC", FIRST, tables=FROM_NYC)
    else:
        c = gateway(net, "c", "NYC", "LON", tables=FROM_LON)
        with silent:
            a = gateway(net, "a", "LON", "NYC", FIRST, tables=FROM_NYC)
    b = member(net, "b", "LON", "a", tables=FROM_NYC)
    net.until(lambda: links(a) == 1 and b.alive)
    inbox, joe = client(c, "ann").inbox(), client(b, "joe")
    assert refused(joe, name_at("NYC", c, "ann")) == "SITE_UNREACHABLE"
    assert not inbox.got and links(c) == 1


def test_a_node_that_is_no_gateway_is_not_believed_what_became_of_a_letter() -> None:
    net = SimNetwork()
    a, b, _, d = two_sites(net)
    x = member(net, "x", "LON", "a", "b", tables=FROM_NYC)
    net.until(lambda: len(x.alive) == 2)
    joe = client(b, "joe")
    joe.send("/site/NYC/node/zoe/client/ann", b"x", force=True)
    net.until(lambda: joe.state(1) == "FORWARD_WARNING")
    peer = x.core.parts.neighbours.peers[b.uuid]
    net.until(lambda: peer.data is not None)
    assert peer.data is not None
    lie = Relayed("NYC", (Outcome(joe.stream, Answer("", 1, 9)),))
    x._send(peer.data.key, write(lie))
    net.run(2)
    assert b.metric("tailed_back") == 1
    del a, d


def test_what_is_published_meanwhile_in_the_same_domain_makes_no_letter_a_repeat() -> None:
    net = SimNetwork()
    tables = {"NYC": RemoteSite("NYC", domains=("STOCK",), letters=("#",))}
    c = gateway(net, "c", "NYC", "LON", tables={"LON": RemoteSite("LON", domains=("STOCK",), letters=("#",))})
    a = gateway(net, "a", "LON", "NYC", FIRST, tables=tables)
    net.until(lambda: links(a) == 1)
    ann, joe = client(c, "ann"), client(a, "joe")
    heard, inbox = ann.subscribed("quote", domain="STOCK"), ann.inbox()
    for n in range(20):
        joe.send(name_at("NYC", c, "ann"), b"l%d" % n, domain="STOCK", force=True)
        joe.publish("quote", b"p%d" % n, domain="STOCK", persistent=True)
        if n % 5 == 0:
            net.break_all("a", "c")
        net.run(0.05)
    net.until(lambda: len(heard.got) >= 20 and len(inbox.got) >= 20)
    net.run(5)
    assert heard.contents == [b"p%d" % n for n in range(20)]
    assert inbox.contents == [b"l%d" % n for n in range(20)]


def test_the_way_of_a_letter_is_told() -> None:
    net = SimNetwork()
    _, b, c, _ = two_sites(net)
    joe = client(b, "joe")

    def way(to: str) -> list[tuple[str, str]]:
        return [(step["decision"], step["next"]) for step in joe.call("route", to=to)["steps"]]

    assert way("/site/NYC/node/c/client/ann") == [("forward", "site/NYC")]
    assert way("/site/SFO/node/c/client/ann")[0][0] == "refuse"
    assert way("/site/LON/node/a/client/ann") == [("forward", "a"), ("here", "")]
    c.close()
    net.run(1)
    assert way("/site/NYC/node/c/client/ann")[0][0] == "refuse"


def test_another_site_fills_no_node_with_inboxes_of_who_is_not_there() -> None:
    net = SimNetwork()
    _, b, c, _ = two_sites(net)
    joe, here = client(b, "joe"), client(c, "of-c")
    with patch("mesh.kernel.subscribers.absent.ABROAD", 3):
        for n in range(5):
            joe.send(f"/site/NYC/node/c/client/nobody-{n}", b"x", force=True)
        joe.settled()
        here.send("/node/c/client/somebody", b"x", force=True)
        here.settled()
    assert [joe.state(n) for n in range(1, 6)] == ["OK"] * 3 + ["INBOX_FULL"] * 2
    assert here.state(1) == "OK"


def test_a_letter_that_waited_is_no_repeat_though_what_was_published_later_has_come() -> None:
    net = SimNetwork()
    a, _, c, _ = two_sites(net, there={"LON": RemoteSite("LON", accepts=Accepts(("STOCK",)), letters=("#",))})
    inbox = client(c, "ann").inbox()
    wall = c.core.parts.context.clock.wall
    plain = envelope("quote", first=10, low=10, domain="STOCK", persistent=True)
    published = replace(
        plain, sender="/site/LON/node/a/client/joe/session/1", route=(Hop("site:LON/a", 0, 1),), sent=wall
    )
    letter = replace(published, first=5, last=5, low=5, to=name_at("NYC", c, "ann"))
    for each in (published, letter):
        say(a, "NYC", Relay("NYC", (1,)), each)
    net.run(1)
    assert len(inbox.got) == 1 and c.metric("published") == 2


def test_what_leaves_promises_nothing_of_a_letter_that_still_waits() -> None:
    net = SimNetwork()
    a, *_, c, _ = two_sites(net)
    a._settings["sites"] = {"NYC": (), "SFO": ()}
    joe, left = client(a, "joe"), list[int]()
    take = GatewayRelay.forward

    def taken(self: GatewayRelay, source: bytes, site: str, envelopes: Any, dropped: int = 0) -> None:
        left.extend(envelope.low for envelope in envelopes)
        take(self, source, site, envelopes, dropped)

    with patch.object(GatewayRelay, "forward", taken):
        joe.send("/site/NYC/node/nobody/client/ann", b"1", force=True)
        joe.settled()
        for n in range(3):
            joe.send(name_at("NYC", c, "ann"), b"%d" % n, force=True)
            joe.settled()
    assert left == [1, 1, 1, 1]


def test_a_stream_stays_with_its_gateway_while_any_of_it_is_in_flight() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    second = gateway(net, "e", "LON", "NYC", FIRST, "a", tables=FROM_NYC)
    net.until(lambda: links(second) == 1 and "e" in b.alive)
    joe, inbox = client(b, "joe"), client(d, "ann").inbox()
    chosen: list[bytes] = []

    def other(stream: bytes, site: str, able: Sequence[bytes], relays: int) -> bytes:
        """Return the gateways in turn."""
        chosen.append(sorted(able)[len(chosen) % len(able)])
        return chosen[-1]

    with patch.object(site_direct_messages, "gateway", other), silenced(c.core.parts):
        for n in range(3):
            joe.send(name_at("NYC", d, "ann"), b"%d" % n, persistent=True)
            net.until(lambda n=n: len(inbox.got) == n + 1)  # type: ignore[misc]
    assert len(chosen) == 1 and inbox.contents == [b"0", b"1", b"2"]
