"""Conflicts of two sites of two nodes each: the lost value is where docs/sites.md says."""

from itertools import product
from typing import Any

import pytest
from msgspec.structs import replace

from mesh.config.sites import RemoteSite
from mesh.features.sites.node.parts import SiteParts
from mesh.mapping.rules import Rule
from mesh.values import Hop
from mesh.wire.envelope import ERASED, INITIAL, Envelope
from tests.mesh.envelopes import envelope
from tests.mesh.features.sites.node.meshes import FIRST, Reader, events, gateway, links, member
from tests.mesh.features.sites.node.test_site_conflicts import LOST, OF_QUOTE
from tests.mesh.features.sites.node.test_sitefeed import STOCK
from tests.mesh.features.sites.node.test_transferring import synced
from tests.pages import ROOT
from tests.seeds import scenarios
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork

GATEWAYS = ("gull", "heron")
SITE_OF = {"gull": "NYC", "tern": "NYC", "heron": "LON", "hawk": "LON"}
PAIRS = [(a, b) for a in SITE_OF for b in SITE_OF if SITE_OF[a] != SITE_OF[b]]
# The first three are two gateways without a rule, then a gateway and a member with and without one.
FIRST_CASES = [(PAIRS[0], False), (PAIRS[1], True), (PAIRS[2], False)]
CASES = FIRST_CASES + [case for case in product(PAIRS, (True, False)) if case not in FIRST_CASES]


class Four:
    """NYC with its gateway gull and tern, and LON with its gateway heron and hawk.

    If `is_ruled`, tern and hawk are the masters of STOCK. Otherwise each node is master of what its clients
    publish.
    """

    def __init__(self, is_ruled: bool) -> None:
        self.net = net = SimNetwork()
        to_lon, to_nyc = ({site: RemoteSite(site, domains=(STOCK,))} for site in ("LON", "NYC"))

        def rules(master: str) -> dict[str, Any]:
            return {"rules": (Rule(master, domains=(STOCK,)),)} if is_ruled else {}

        gull = gateway(net, "gull", "NYC", "LON", tables=to_lon, **rules("tern"))
        heron = gateway(net, "heron", "LON", "NYC", FIRST, tables=to_nyc, **rules("hawk"))
        tern = member(net, "tern", "NYC", "gull", tables=to_lon, **rules("tern"))
        hawk = member(net, "hawk", "LON", "heron", tables=to_nyc, **rules("hawk"))
        self.nodes = {node.name: node for node in (gull, tern, heron, hawk)}
        net.until(lambda: links(gull) == links(heron) == 1)
        net.until(lambda: all(len(node.alive) == 1 for node in self.nodes.values()))
        self.readers = {name: Reader(net, node.ipc, "ann").connected() for name, node in self.nodes.items()}
        self.lost = {name: ann.subscribed(pattern=LOST) for name, ann in self.readers.items()}
        net.run(1)

    def set_apart(self, older: str, newer: str) -> None:
        """Set the topic at two nodes while nothing leaves for other sites, and then send all of it."""
        for node in self.nodes.values():
            node.core.parts[SiteParts].sender._is_paused = lambda site: True
        for name, text in ((older, b"older"), (newer, b"newer")):
            client = SimClient(self.net, self.nodes[name].ipc, "joe").connected()
            client.publish("quote", text, domain=STOCK, persistent=True)
            client.settled()
        for node in self.nodes.values():
            node.core.parts[SiteParts].sender._is_paused = lambda site: False
            node.core.parts[SiteParts].sender._is_due("LON" if SITE_OF[node.name] == "NYC" else "NYC")
        self.net.until(lambda: not any(node.metric("site_pending") for node in self.nodes.values()))
        self.net.run(2)

    def values(self) -> set[bytes]:
        """Return the values that are read at the nodes."""
        found = [ann.get("quote", domain=STOCK, fresh=True) for ann in self.readers.values()]
        return {message.content for (message,) in found}

    def keeps(self) -> set[str]:
        """Return the sites that keep the older value. There it is read at all nodes, reported and counted."""
        reads = {name for name, lost in self.lost.items() if lost.got}
        letters = [(letter.key, letter.content) for name in reads for letter in self.lost[name].got]
        assert letters == [(OF_QUOTE, b"older")] * len(reads)
        told = {name for name, node in self.nodes.items() if any(OF_QUOTE in n for n in events(node, "site"))}
        counted = {name: node.metric("site_conflicts") for name, node in self.nodes.items()}
        assert dict.fromkeys(told, 1) == {name: count for name, count in counted.items() if count}
        sites = {SITE_OF[name] for name in told}
        assert reads == {name for name, site in SITE_OF.items() if site in sites}
        return sites


@pytest.mark.parametrize("case", scenarios(CASES[1:] + CASES[:1], 2), ids=str)
def test_the_newer_stays_everywhere_and_the_other_is_kept_in_its_site(
    case: tuple[tuple[str, str], bool],
) -> None:
    (older, newer), is_ruled = case
    four = Four(is_ruled)
    four.set_apart(older, newer)
    assert four.values() == {b"newer"}
    assert four.keeps() == {SITE_OF[newer]}


@pytest.mark.parametrize("case", scenarios(CASES[1:] + CASES[:1]), ids=str)
def test_who_has_read_the_value_of_the_other_site_before_is_in_conflict_with_nobody(
    case: tuple[tuple[str, str], bool],
) -> None:
    first_then, is_ruled = case
    four = Four(is_ruled)
    for number in range(4):
        name = first_then[number % 2]
        client = SimClient(four.net, four.nodes[name].ipc, f"joe{number}").connected()
        client.publish("quote", b"%d" % number, domain=STOCK, persistent=True)
        client.settled()
        four.net.run(2)
        assert four.values() == {b"%d" % number}
    for name in GATEWAYS:
        assert not synced(four.nodes[name], "LON" if SITE_OF[name] == "NYC" else "NYC").code
    four.net.run(10)
    assert four.keeps() == set() and four.values() == {b"3"}


@pytest.mark.parametrize("is_told", scenarios([True, False]), ids=["told", "asked for"])
def test_who_has_read_it_where_the_clock_is_behind_that_of_the_gateway_is_in_conflict_with_nobody(
    is_told: bool,
) -> None:
    four = Four(is_ruled=False)
    four.nodes["heron"].jumped = 20 * 10**9
    net, reader = four.net, four.readers["hawk"]
    if is_told:
        heard = reader.subscribed("quote", domain=STOCK)
    net.run(1)
    for name in ("tern", "hawk"):
        if name == "hawk":
            net.until(
                (lambda: heard.got) if is_told else lambda: reader.get("quote", domain=STOCK, fresh=True)
            )
        client = SimClient(net, four.nodes[name].ipc, f"joe-{name}").connected()
        client.publish("quote", name.encode(), domain=STOCK, persistent=True)
        client.settled()
    net.run(2)
    assert four.keeps() == set() and four.values() == {b"hawk"}


OURS, THEIRS = "/site/LON/node/hawk/client/joe/session/1", "/site/NYC/node/tern/client/ann/session/1"


def test_what_is_of_one_site_or_is_transferred_or_passes_by_is_no_conflict() -> None:
    four = Four(is_ruled=False)
    heron = four.nodes["heron"]
    joe = SimClient(four.net, heron.ipc, "joe").connected()
    joe.publish("quote", b"ours", domain=STOCK)
    joe.settled()
    conflicting, later = heron.core.parts[SiteParts].conflicting, heron.core.parts.context.clock.wall + 10**9

    def made(sender: str, sent: int, flags: int = 0) -> Envelope:
        stream = sender.encode()[-16:]
        plain = envelope("quote", domain=STOCK, sent=sent, flags=flags, stream=stream)
        return replace(plain, sender=sender, route=(Hop("heron", 0, later),))

    conflicting.leaves(made(THEIRS, later))
    four.net.run(1)
    assert conflicting._left["quote", STOCK].site("LON") == "LON", "the other passes from site to site"
    conflicting._arrived["quote", STOCK] = later + 1
    conflicting.leaves(made(OURS, later))
    for flag in (INITIAL, ERASED):
        conflicting.on_passed(made(THEIRS, later - 2, flag))
    assert conflicting.figures() == {"site_conflicts": 0}
    conflicting.on_passed(made(THEIRS, later - 2))
    assert conflicting.figures() == {"site_conflicts": 1}


def test_what_a_gateway_remembers_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("mesh.features.sites.node.site_conflicts.KNOWN", 8)
    four = Four(is_ruled=False)
    for name in GATEWAYS:
        client = SimClient(four.net, four.nodes[name].ipc, "joe").connected()
        for number in range(40):
            client.publish(f"quote/{name}/{number}", b"x", domain=STOCK)
        client.settled()
    four.net.run(2)
    for name in GATEWAYS:
        conflicting = four.nodes[name].core.parts[SiteParts].conflicting
        assert len(conflicting._left) == len(conflicting._arrived) == 8


def test_of_what_left_nothing_is_kept_that_a_publisher_makes_long() -> None:
    conflicting = Four(is_ruled=False).nodes["heron"].core.parts[SiteParts].conflicting
    route, xml = (Hop("hawk", 0, 1),) * 16, f"<a>{'x' * 16_000}</a>"
    whole = envelope("quote", [b"x" * 1000], domain=STOCK, sent=5)
    conflicting.leaves(replace(whole, sender=OURS, route=route, xml=xml))
    kept = conflicting._left["quote", STOCK]
    assert len(kept.pack()) < 300 and (kept.number, kept.envelope.sent) == (1, 5)


def test_the_page_says_where_none_is_kept() -> None:
    page = " ".join((ROOT / "docs" / "sites.md").read_text().split())
    assert "**The common master detects conflicts.**" in page
    assert "If values of one topic pass several gateways without a rule, a conflict may be missed" in page
