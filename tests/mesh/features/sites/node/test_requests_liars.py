"""A gateway of another site that lies about requests harms nobody here."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.features.sites.node import remote_sessions
from mesh.features.sites.node.parts import SiteParts
from mesh.features.sites.node.site_direct_messages import SiteDirectMessages
from mesh.values import Hop, Route
from mesh.wire.commands import Answer, Outcome, Respond, Sends, Sent
from mesh.wire.envelope import REQUEST, Envelope
from tests.each import each
from tests.mesh.features.sites.node.meshes import FIRST, gateway, gateway_to, links, member, say
from tests.mesh.features.sites.node.test_requests import User, fate_at_once, table, two_sites
from tests.simulation import SimNetwork, SimNode


@pytest.fixture
def linked() -> tuple[SimNode, SimNode, User]:
    """Return a gateway of LON, one of NYC, and a server at NYC. No refused command changes any of them."""
    a, _, c, _ = two_sites(SimNetwork())
    server = User(c, "server")
    server.serve("calc/add")
    return a, c, server


def hops(*names: str) -> Route:
    return tuple(Hop(name, 0, 1) for name in names)


def forged(**changes: Any) -> Envelope:
    sizes = (1).to_bytes(4, "little")
    plain = Envelope(
        bytes(16), "address/", 1, 1, ("",), 1, sizes, b"x", flags=REQUEST, to="/site/NYC/calc/add",
        sender="/site/LON/node/b/client/asker/session/1", sent=1,
    )  # fmt: skip
    return replace(plain, **{"route": hops("site:LON/b"), **changes})


@each(
    "changes",
    [
        {"sender": "/node/d/client/x/session/1"}, {"sender": "/site/SFO/node/b/client/asker/session/1"},
        {"sender": "/site/NYC/node/d/client/x/session/1"},
        {"sender": "/site/LON/node/b/client/__sys__/session/1"},
        {"sender": ""}, {"sender": "x"}, {"route": ()}, {"route": hops("b")}, {"domain": "STOCK"},
        {"flags": 2}, {"flags": 2**40}, {"to": "calc/add"}, {"to": "/site/SFO/calc/add"},
        {"to": "/site/NYC/__sys__x"}, {"to": "/site/NYC/queue/x"}, {"to": "/site/NYC/client/x"},
        {"to": "/site/NYC/"}, {"to": "/site/NYC//node/d/client/x"}, {"to": "/site/NYC/site/SFO"},
        {"to": "/site/NYC//site/SFO/calc"},
        {"keys": ("__sys__x",)}, {"numbers": (1, 1)}, {"sent": 0},
    ],
)  # fmt: skip
def test_what_it_may_not_ask_is_refused_and_the_connection_stays(
    linked: tuple[SimNode, SimNode, User], changes: dict[str, Any]
) -> None:
    a, c, server = linked
    before = c.metric("refused")
    say(a, "NYC", Sends((1,)), forged(**changes))
    c.net.run(1)
    assert not server.contents() and links(c) == 1 and c.metric("refused") == before + 1


def test_it_replies_to_nobody_but_who_has_asked_it_and_for_nobody_but_its_own() -> None:
    net = SimNetwork()
    a, b, c, d = two_sites(net)
    server, asker, other = User(d, "server"), User(b, "asker"), User(a, "other")
    server.serve("calc/add")
    n = asker.request("/site/NYC/calc/add", b"1")
    net.until(lambda: server.contents())
    fine = replace(
        forged(), stream=asker.stream, first=n, last=n, flags=8192, route=(), to=f"/site/LON{asker.session}"
    )
    liar = "/site/NYC/node/d/client/server/session/1"
    for changes in (
        {"sender": "/node/a/client/x/session/1"}, {"sender": "/site/SFO/node/e/client/x/session/1"},
        {"sender": liar, "to": f"/site/LON{other.session}"}, {"sender": liar, "to": asker.session},
        {"sender": liar, "stream": other.stream}, {"sender": liar, "first": n + 1, "last": n + 1},
        {"sender": liar, "domain": "STOCK"}, {"sender": liar, "keys": ("k",)},
    ):  # fmt: skip
        say(c, "LON", Respond((1,)), replace(fine, **changes))
    say(c, "LON", Sent((Outcome(other.stream, Answer("address/", 1, 9, "NO_HANDLERS")),)))
    say(c, "LON", Sent((Outcome(asker.stream, Answer("STOCK", 1, 9, "NO_HANDLERS")),)))
    net.run(1)
    assert not asker.replies and not other.replies and links(a) == 1
    assert asker.state(n) in ("OK", "")
    server.reply((1, b"true"))
    net.until(lambda: asker.replies)
    assert asker.replies[0][1] == b"true"


def test_what_one_site_has_open_here_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remote_sessions, "OPEN", 10)
    net = SimNetwork()
    _, b, _, d = two_sites(net)
    server, asker = User(d, "server"), User(b, "asker")
    server.serve("slow", credit=1)
    numbers = [asker.request("/site/NYC/slow", b"%d" % n) for n in range(30)]
    net.until(lambda: sum(asker.fate(n) == "TOO_MANY_REQUESTS" for n in numbers) == 20)
    net.until(lambda: server.contents())
    server.reply((1, b"x"))
    net.until(lambda: asker.replies)
    net.run(2)
    assert fate_is_open(asker, asker.request("/site/NYC/slow", b"y"))


def fate_is_open(asker: User, number: int) -> bool:
    asker.net.run(1)
    return asker.fate(number) in ("", "OK")


@pytest.mark.parametrize("older", ["there", "here"])
def test_gateways_of_an_earlier_release_are_asked_nothing_and_the_sender_is_told(
    older: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    net = SimNetwork()
    with monkeypatch.context() as old:
        if older == "there":
            old.setattr(SiteDirectMessages, "features", lambda self: ())
        c = gateway(net, "c", "NYC", "LON", tables=table("LON"))
    with monkeypatch.context() as old:
        if older == "here":
            old.setattr(SiteDirectMessages, "features", lambda self: ())
        a = gateway(net, "a", "LON", "NYC", FIRST, tables=table("NYC"))
    b = member(net, "b", "LON", "a", tables=table("NYC"))
    net.until(lambda: links(a) == 1 and b.alive)
    assert fate_at_once(User(b, "asker"), "/site/NYC/calc/add") == "SITE_UNREACHABLE"
    assert links(c) == 1


def test_a_gateway_replies_to_nothing_that_another_one_was_asked() -> None:
    net = SimNetwork()
    c = gateway(net, "c", "NYC", "LON", tables=table("LON"))
    e = gateway(net, "e", "NYC", "LON", "", "c", tables=table("LON"))
    a = gateway(net, "a", "LON", "NYC", FIRST, tables=table("NYC"))
    gateway_to(net, "h", "LON", {"NYC": e.address}, "a", tables=table("NYC"))
    net.until(lambda: links(a) >= 1 and links(e) >= 1)
    asker = User(a, "asker")
    for node in (c, e):
        User(node, f"server-{node.name}").serve("calc/add")
    n = asker.request("/site/NYC/calc/add", b"1")
    net.until(lambda: asker.state(n) == "OK")
    liar = "/site/NYC/node/d/client/server/session/1"
    reply = replace(
        forged(), stream=asker.stream, first=n, last=n, flags=8192, route=(), to=f"/site/LON{asker.session}",
        sender=liar,
    )  # fmt: skip
    gate = a.core.parts[SiteParts].gateways._gates["NYC"]
    trips = a.core.parts[SiteParts].requests._open[asker.stream]
    others = [conn for conn in gate.conns() if conn is not trips[n].conn]
    if not others:  # it has one connection: pretend another was asked
        trips[n].conn = next(iter(c.core.parts[SiteParts].gateways._gates["LON"].conns()))
    say(c, "LON", Respond((1,)), reply)
    net.run(1)
    assert not asker.replies
