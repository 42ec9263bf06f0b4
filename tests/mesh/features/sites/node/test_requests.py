"""Requests and other messages to addresses in other sites: one reply each, or a reason at once."""

from typing import Any

import pytest

from mesh.config.sites import RemoteSite
from mesh.wire.envelope import EVERY, REQUEST
from mesh.wire.limits import LETTERS
from tests.mesh.features.services.node import user
from tests.mesh.features.sites.node.meshes import FIRST, gateway, gateway_to, links, member
from tests.mesh.features.sites.node.test_gateway_reload import reloaded
from tests.seeds import scenarios
from tests.simulation import SimNetwork, SimNode
from tools.simulator.world import network

SITES = {"LON": ("a", "b"), "NYC": ("c", "d"), "SFO": ("e", "f")}


class User(user.User):
    """A client that knows other sites."""

    speaks = (*user.SPEAKS, LETTERS)

    def answer_all(self, count: int) -> None:
        """Wait for `count` requests, and reply to all that have arrived."""
        self.net.until(lambda: len(self.contents()) >= count)
        self.reply(*((n, b"re: " + content) for n, content in self.got[1]))


def table(name: str, **options: Any) -> dict[str, RemoteSite]:
    return {name: RemoteSite(name, **{"serves": ("#",), **options})}


def two_sites(net: SimNetwork, **there: Any) -> tuple[SimNode, SimNode, SimNode, SimNode]:
    """Create LON with gateway a and member b, and NYC with gateway c and member d."""
    c = gateway(net, "c", "NYC", "LON", tables=table("LON", **there))
    a = gateway(net, "a", "LON", "NYC", FIRST, tables=table("NYC"))
    b = member(net, "b", "LON", "a", tables=table("NYC"))
    d = member(net, "d", "NYC", "c", tables=table("LON", **there))
    net.until(lambda: links(a) == links(c) == 1 and "b" in a.alive and "d" in c.alive)
    return a, b, c, d


@pytest.mark.parametrize("asks", scenarios(["b", "a"]))
@pytest.mark.parametrize("serves", scenarios(["d", "c"]))
def test_D7_a_request_is_answered_once_from_the_other_site(asks: str, serves: str) -> None:
    net = SimNetwork()
    nodes = {node.name: node for node in two_sites(net)}
    server, asker = User(nodes[serves], "server"), User(nodes[asks], "asker")
    server.serve("calc/add")
    others = set(nodes["c"].core.parts.sessions.others)
    n = asker.request("/site/NYC/calc/add", b"1 2")
    server.answer_all(1)
    net.until(lambda: asker.replies)
    net.run(3)
    assert asker.replies == [(n, b"re: 1 2", "", f"/site/NYC{server.session}")]
    assert asker.state(n) in ("OK", "") and server.contents() == [b"1 2"]
    assert sum(node.metric("site_requests") + node.metric("requests_open") for node in nodes.values()) == 0
    assert not [s for s in nodes["c"].core.parts.sessions.others if s not in others]


def test_D3_every_member_asks_whoever_stands_for_each_site() -> None:
    net = SimNetwork()
    nodes: dict[str, SimNode] = {}
    for site, (first, second) in SITES.items():
        tables = {s: RemoteSite(s, serves=("master",)) for s in SITES if s != site}
        known = {s: nodes[m[0]].address if m[0] in nodes else "" for s, m in SITES.items() if s != site}
        nodes[first] = gateway_to(net, first, site, known, tables=tables)
        nodes[second] = member(net, second, site, first, tables=tables)
    net.until(lambda: all(links(nodes[m[0]]) == 2 and nodes[m[1]].alive for m in SITES.values()))
    people = {name: User(node, f"of-{name}") for name, node in nodes.items()}
    masters = [people[first] for first, _ in SITES.values()]
    for master in masters:
        master.serve("master")
    for person in people.values():
        for site in SITES:
            person.request(f"/site/{site}/master", f"{person.name} asks {site}".encode())
    for master in masters:
        master.answer_all(6)
    net.until(lambda: all(len(person.replies) == 3 for person in people.values()))
    net.run(3)
    for name, person in people.items():
        is_master = person in masters
        assert len(person.contents()) + len(person.replies) == (9 if is_master else 3), name
        assert not any(person.codes().values())


def fate_at_once(asker: User, to: str, flags: int = REQUEST) -> str:
    begun = asker.net.now
    n = asker.send(to, b"x", flags=flags, ttl=5000)
    asker.net.until(lambda: asker.fate(n) not in ("", "OK"))
    assert asker.net.now - begun < 1
    return asker.fate(n)


@pytest.mark.parametrize("flags", scenarios([REQUEST, REQUEST | EVERY, 0], 2))
def test_D17_a_request_to_a_site_that_is_unknown_or_away_fails_at_once(flags: int) -> None:
    net = SimNetwork()
    _, b, c, _ = two_sites(net)
    asker = User(b, "asker")
    assert fate_at_once(asker, "/site/SFO/calc/add", flags) == "SITE_UNREACHABLE"
    assert fate_at_once(asker, "/site/NYC/calc/add", flags) == "NO_HANDLERS"
    c.close()
    net.run(1)
    assert fate_at_once(asker, "/site/NYC/calc/add", flags) == "SITE_UNREACHABLE"


def test_D17_a_request_to_a_dead_member_of_a_live_site_fails_at_once() -> None:
    net = SimNetwork()
    _, b, c, d = two_sites(net)
    server, asker = User(d, "server"), User(b, "asker")
    server.serve("calc/add")
    n = asker.request("/site/NYC/calc/add", b"1")
    server.answer_all(1)
    net.until(lambda: asker.fate(n) == "OK" or asker.replies)
    d.kill()
    net.until(lambda: not c.alive)
    assert fate_at_once(asker, "/site/NYC/calc/add") == "NO_HANDLERS"


@pytest.mark.parametrize("dies", scenarios(["c", "d", "a"], 2))
def test_what_somebody_had_when_a_node_on_the_way_dies_is_told_as_lost_and_once(dies: str) -> None:
    net = SimNetwork()
    nodes = {node.name: node for node in two_sites(net)}
    server, asker = User(nodes["d"], "server"), User(nodes["b"], "asker")
    server.serve("calc/add")
    n = asker.request("/site/NYC/calc/add", b"1", ttl=60_000)
    net.until(lambda: server.contents() and asker.state(n) == "OK")
    nodes[dies].kill()
    net.until(lambda: asker.replies, limit=60)
    net.run(5)
    assert [(number, code) for number, _, code, _ in asker.replies] == [(n, "HANDLER_LOST")]


def test_a_request_whose_time_is_over_is_forgotten_on_all_its_way() -> None:
    net = SimNetwork()
    nodes = two_sites(net)
    server, asker = User(nodes[3], "server"), User(nodes[1], "asker")
    server.serve("calc/add")
    asker.request("/site/NYC/calc/add", b"1", ttl=2000)
    net.until(lambda: server.contents())
    net.run(20)
    assert sum(node.metric("site_requests") + node.metric("requests_open") for node in nodes) == 0
    server.reply((1, b"late"))
    net.run(2)
    assert not asker.replies


@pytest.mark.parametrize("flags", scenarios([REQUEST | EVERY, 0, REQUEST, EVERY]))
def test_what_nobody_has_answered_when_its_time_is_long_over_is_told_as_lost(
    flags: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "PATIENCE", 60.0)  # the lost connection is not noticed
    net = SimNetwork()
    nodes = two_sites(net)
    server, asker = User(nodes[3], "server"), User(nodes[1], "asker")
    server.serve("calc/add")
    net.cut("a", "c")
    n = asker.send("/site/NYC/calc/add", b"1", flags=flags, ttl=2000)
    net.until(lambda: asker.state(n))
    assert asker.state(n) == "HANDLER_LOST" and links(nodes[0]) == 1
    assert sum(node.metric("site_requests") for node in nodes) == 0


def test_to_all_there_a_line_that_is_lost_and_a_right_that_lacks_are_told_as_they_are() -> None:
    net = SimNetwork()
    _, b, _, d = two_sites(net, serves=("who",))
    server, asker = User(d, "server"), User(b, "asker")
    server.serve("who")
    n = asker.request("/site/NYC/calc/add", b"?", flags=EVERY)
    net.until(lambda: asker.state(n))
    assert asker.state(n) == "NO_RIGHT"
    net.cut("a", "c")
    n = asker.request("/site/NYC/who", b"?", flags=EVERY)
    net.until(lambda: asker.state(n))
    assert asker.state(n) == "HANDLER_LOST", "somebody may have it"


def test_that_nobody_there_serves_it_is_asked_of_one_gateway_only() -> None:
    """Another gateway would get the request between later ones, and take it for lost."""
    net = SimNetwork()
    c = gateway(net, "c", "NYC", "LON", tables=table("LON"))
    a = gateway(net, "a", "LON", "NYC", FIRST, tables=table("NYC"))
    b = gateway(net, "b", "LON", "NYC", FIRST, "a", tables=table("NYC"))
    net.until(lambda: links(c) == 2 and "b" in a.alive)
    server, asker = User(c, "server"), User(b, "asker")
    server.serve("calc/add")
    numbers = [asker.request("/site/NYC/" + to, b"1") for to in ("calc/mul", "calc/add", "calc/add")]
    net.until(lambda: all(asker.state(n) for n in numbers))
    assert [asker.state(n) for n in numbers] == ["NO_HANDLERS", "OK", "OK"]


def test_all_who_serve_it_there_are_asked_and_the_count_is_told() -> None:
    net = SimNetwork()
    a, b, c, d = two_sites(net)
    servers = [User(c, "s1"), User(d, "s2"), User(d, "s3")]
    elsewhere = User(a, "s4")
    for server in (*servers, elsewhere):
        server.serve("who")
    asker = User(b, "asker")
    n = asker.request("/site/NYC/who", b"?", flags=EVERY)
    for server in servers:
        server.answer_all(1)
    net.until(lambda: len(asker.replies) == 3)
    assert {(number, sender) for number, _, _, sender in asker.replies} == {
        (n, f"/site/NYC{server.session}") for server in servers
    }
    assert [a.matched for a in asker.answers if a.first == n] == [3] and not elsewhere.contents()


def test_messages_of_one_sender_come_in_their_order() -> None:
    net = SimNetwork()
    _, b, _, d = two_sites(net)
    server, sender = User(d, "server"), User(b, "sender")
    server.serve("orders")
    for n in range(50):
        sender.send("/site/NYC/orders", b"%d" % n)
    net.until(lambda: len(server.contents()) == 50)
    assert server.contents() == [b"%d" % n for n in range(50)]
    net.until(lambda: all(sender.state(n) == "OK" for n in range(1, 51)))


@pytest.mark.parametrize(
    "case",
    scenarios(
        [
            ({"serves": ("news/#",)}, "NO_RIGHT"), ({"serves": ("calc/+",)}, "OK"),
            ({"serves": ("#",), "one_way": True}, "NO_RIGHT"), ({"serves": ()}, "NO_RIGHT"),
            ({"serves": (), "letters": ("#",)}, "NO_RIGHT"),
        ],
        3,
    ),
    ids=str,
)  # fmt: skip
def test_only_what_is_served_to_that_site_can_be_asked(case: tuple[dict[str, Any], str]) -> None:
    there, fate = case
    net = SimNetwork()
    _, b, c, _ = two_sites(net, **there)
    server, asker = User(c, "server"), User(b, "asker")
    server.serve("calc/add")
    n = asker.send("/site/NYC/calc/add", b"x")
    net.until(lambda: asker.fate(n))
    assert asker.fate(n) == fate


def test_what_is_refused_over_there_names_the_site_and_the_node_whose_settings_say_so() -> None:
    net = SimNetwork()
    _, b, c, _ = two_sites(net)
    reloaded(c, table("LON", serves=("calc/#",)), max_content=10)
    asker = User(b, "asker")
    no_right, too_long = asker.send("/site/NYC/news", b""), asker.send("/site/NYC/calc/add", b"x" * 11)
    net.until(lambda: asker.state(no_right) and asker.state(too_long))
    texts = {answer.state: answer.text for answer in asker.answers}
    assert "See `serves` in [sites.LON] at the site NYC, in mesh.toml of the node c." in texts["NO_RIGHT"]
    assert "c accepts at most 10 bytes per message. Raise `limits.max_content` at NYC" in texts["TOO_LARGE"]


def test_who_serves_an_address_for_its_own_node_only_is_not_asked_from_another_site() -> None:
    net = SimNetwork()
    _, b, c, _ = two_sites(net)
    server, asker = User(c, "server"), User(b, "asker")
    server.serve("calc/add", local_only=True)
    assert fate_at_once(asker, "/site/NYC/calc/add") == "NO_HANDLERS"
    assert not server.contents()


@pytest.mark.slow
def test_D16_a_hundred_requests_to_a_site_that_is_down_are_a_hundred_failures() -> None:
    net = SimNetwork()
    a, b, c, d = two_sites(net)
    for node in (d, c):
        node.close()
    net.run(2)
    for node in (a, b):
        asker = User(node, "asker")
        numbers = [asker.request("/site/NYC/calc/add", b"x") for _ in range(100)]
        net.until(lambda: all(asker.fate(n) == "SITE_UNREACHABLE" for n in numbers))  # noqa: B023
