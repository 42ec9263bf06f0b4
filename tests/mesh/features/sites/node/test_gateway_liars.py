"""Gateways of another site, or nodes of this one, that send false commands."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.config.sites import RemoteSite
from mesh.features.sites.wire import Relay, Relayed
from mesh.site_policy.accepting import Accepts
from mesh.values import Hop
from mesh.wire.commands import Answer, Outcome
from mesh.wire.envelope import Envelope
from tests.mesh.envelopes import envelope
from tests.mesh.features.sites.node.meshes import FIRST, gateway, links, member, say
from tests.mesh.origins import silence
from tests.seeds import scenarios
from tests.simulated_client import SimClient, Subscription
from tests.simulation import SimNetwork, SimNode

STOCK = "STOCK"
S = 10**9  # ns
ROUTE = (Hop("site:LON/heron", 0, 1),)
MALLORY = "/site/LON/node/heron/client/mallory/session/1"


class Pair:
    """NYC's gateway gull, with a reader, and LON's gateway heron, which sends what a test wants."""

    def __init__(self, **table: Any) -> None:
        self.net = net = SimNetwork()
        there = {"LON": RemoteSite("LON", **(table or {"accepts": Accepts((STOCK,))}))}
        self.gull: SimNode = gateway(net, "gull", "NYC", "LON", tables=there)
        here = {"NYC": RemoteSite("NYC", domains=(STOCK,))}
        self.heron: SimNode = gateway(net, "heron", "LON", "NYC", FIRST, tables=here)
        net.until(lambda: links(self.gull) == links(self.heron) == 1)
        self.ann = SimClient(net, self.gull.ipc, "ann").connected()
        self.heard: Subscription = self.ann.subscribed(pattern="#", domain=STOCK)

    def envelope(self, **fields: Any) -> Envelope:
        wall = self.gull.core.parts.context.clock.wall
        plain = {"first": 1, "domain": STOCK, "persistent": True}
        it = envelope("quote", **{**plain, **{k: fields.pop(k) for k in list(fields) if k in plain}})
        return replace(it, **{"sender": MALLORY, "route": ROUTE, "sent": wall, "low": 1, **fields})

    def says(self, *envelopes: Envelope, site: str = "NYC") -> None:
        say(self.heron, "NYC", Relay(site, (1,) * len(envelopes)), *envelopes)
        self.net.run(1)


def test_what_it_may_say_is_taken_once() -> None:
    pair = Pair()
    pair.says(pair.envelope())
    pair.says(pair.envelope())
    assert len(pair.heard.got) == 1


@pytest.mark.parametrize(
    "fields",
    scenarios(
        [
            {"domain": "NEWS"},
            {"sender": "/node/gull/client/ann/session/1"},
            {"sender": "/site/NYC/node/gull/client/ann/session/1"},
            {"sender": "/site/SFO/node/heron/client/mallory/session/1"},
            {"sender": "/site/LON/node/heron/client/__sys__/session/1"},
            {"route": ()},
            {"route": (Hop("gull", 0, 1),)},
            {"route": (Hop("site:NYC/gull", 0, 1), *ROUTE)},
            {"flags": 2**40},
            {"sent": 0},
            {"sent": 2**62},
            {"to": "client/ann"},
            {"keys": ("__sys__cluster.node.master[x]",)},
        ],
        5,
    ),
    ids=str,
)
def test_what_it_may_not_say_is_refused_and_the_connection_stays(fields: dict[str, Any]) -> None:
    pair = Pair()
    pair.says(pair.envelope(**fields))
    assert not pair.heard.got and links(pair.gull) == 1
    assert pair.gull.metric("refused") == 1


def test_what_follows_something_that_was_put_off_waits_until_that_has_come_again() -> None:
    pair = Pair()
    pair.says(pair.envelope(sent=pair.gull.core.parts.context.clock.wall + 700 * 10**9))
    pair.says(pair.envelope(first=2))
    assert not pair.heard.got and pair.gull.metric("refused") == 2
    pair.says(pair.envelope())
    pair.says(pair.envelope(first=2))
    assert len(pair.heard.got) == 2


def test_of_a_site_from_which_nothing_is_to_come_nothing_comes() -> None:
    pair = Pair(domains=(STOCK,), one_way=True)
    pair.says(pair.envelope())
    assert not pair.heard.got and pair.gull.metric("refused") == 1


def test_it_cannot_bring_numbers_in_the_stream_of_a_client_that_is_here() -> None:
    pair = Pair()
    pair.says(pair.envelope(stream=pair.ann.stream, first=1))
    pair.ann.publish("quote", b"mine", domain=STOCK, persistent=True)
    pair.ann.settled()
    pair.net.run(1)
    assert pair.ann.state(1, STOCK) == "OK"
    assert [m.content for m in pair.heard.got].count(b"mine") == 1


def test_what_is_for_another_site_is_not_passed_on() -> None:
    pair = Pair()
    pair.says(pair.envelope(), site="SFO")
    assert not pair.heard.got and pair.gull.metric("refused") == 1


def test_answers_that_nobody_asked_for_free_nothing() -> None:
    pair = Pair()
    joe = SimClient(pair.net, pair.heron.ipc, "joe").connected()
    silence(pair.gull.core.parts)
    joe.publish("quote", b"1", domain=STOCK, persistent=True)
    pair.net.until(lambda: pair.heard.got)
    wrong = (
        Outcome(joe.stream, Answer(STOCK, 2, 2**62)),
        Outcome(bytes(16), Answer(STOCK, 1, 1)),
        Outcome(joe.stream, Answer("NEWS", 1, 1)),
        Outcome(joe.stream, Answer(STOCK, 3, 1)),
    )
    say(pair.gull, "LON", Relayed("NYC", wrong))
    say(pair.gull, "LON", Relayed("SFO", (Outcome(joe.stream, Answer(STOCK, 1, 1)),)))
    pair.net.run(2)
    assert pair.heron.metric("site_pending") == 1 and links(pair.gull) == 1
    say(pair.gull, "LON", Relayed("NYC", (Outcome(joe.stream, Answer(STOCK, 1, 9)),)))
    pair.net.run(2)
    assert pair.heron.metric("site_pending") == 0


@pytest.mark.parametrize("seconds", [59, 61, 570])
def test_a_value_from_ahead_never_keeps_a_local_one_from_being_the_last(seconds: int) -> None:
    pair = Pair()
    pair.says(pair.envelope(sent=pair.gull.core.parts.context.clock.wall + seconds * S))
    pair.ann.publish("quote", b"local", domain=STOCK)
    pair.ann.settled()
    assert [e.content for e in pair.ann.get("quote", domain=STOCK)] == [b"local"]
    assert (len(pair.heard.got), pair.gull.metric("refused")) == ((2, 0) if seconds < 60 else (1, 1))


def test_a_gap_that_a_gateway_reports_is_for_those_whom_its_site_may_reach() -> None:
    pair = Pair(accepts=Accepts((STOCK,), ("sensors/#",)))
    here = {"LON": RemoteSite("LON", accepts=Accepts((STOCK,), ("sensors/#",)))}
    tern = member(pair.net, "tern", "NYC", "gull", tables=here, sites={})
    pair.net.until(lambda: "gull" in tern.alive)
    told: dict[str, Subscription] = {}
    for node in (pair.gull, tern):
        ann = SimClient(pair.net, node.ipc, f"of {node.name}".replace(" ", "-")).connected()
        for key, domain in (("quote", STOCK), ("quote", "NEWS"), ("sensors/1", "NEWS")):
            told[f"{node.name} {key} {domain}"] = ann.subscribed(key, domain=domain)
    finch = member(pair.net, "finch", "NYC", "gull", tables=here, sites={})
    SimClient(pair.net, finch.ipc, "joe").connected().subscribed("quote", domain="NEWS")
    pair.net.run(2)
    say(pair.heron, "NYC", Relay("NYC", (), 7))
    pair.net.run(1)
    peers = pair.gull.core.parts.neighbours.peers
    assert not peers[finch.uuid].exchange.outlet.passed_on and peers[tern.uuid].exchange.outlet.passed_on
    eve = SimClient(pair.net, pair.gull.ipc, "eve").connected()
    for key, domain in (("quote", STOCK), ("quote", "NEWS"), ("sensors/1", "NEWS")):
        eve.publish(key, b"after", domain=domain)
    pair.net.until(lambda: all(heard.got for heard in told.values()))
    assert {name: heard.dropped for name, heard in told.items() if heard.dropped} == dict.fromkeys(
        ("gull quote STOCK", "gull sensors/1 NEWS", "tern quote STOCK", "tern sensors/1 NEWS"), 7
    )
