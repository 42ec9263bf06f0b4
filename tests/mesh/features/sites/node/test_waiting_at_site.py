"""Messages that another site cannot accept now: they arrive later, once and in order, and delay no others."""

from typing import Any

import pytest

from mesh.config.sites import RemoteSite
from mesh.features.sites.node.parts import SiteParts
from mesh.features.sites.wire import Relayed
from mesh.mapping.rules import Rule
from mesh.wire.commands import Answer, Outcome
from tests.mesh.features.sites.node.meshes import FIRST, Reader, events, gateway, links, member, say
from tests.seeds import scenarios
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork, SimNode

RUGBY, STOCK = "RUGBY", "STOCK"
S = 10**9  # ns


class Pair:
    """LON's heron, where joe publishes, and NYC's gull and tern, which is the master of RUGBY."""

    def __init__(self, *, here: dict[str, Any] | None = None, there: dict[str, Any] | None = None) -> None:
        self.net = net = SimNetwork()
        rules: dict[str, Any] = {"rules": (Rule("tern", domains=(RUGBY,)),)}
        tables = {site: RemoteSite(site, domains=(RUGBY, STOCK)) for site in ("LON", "NYC")}
        self.gull = gateway(net, "gull", "NYC", "LON", tables={"LON": tables["LON"]}, **rules)
        self.tern: SimNode = member(net, "tern", "NYC", "gull", tables={"LON": tables["LON"]}, **rules)
        self.heron = gateway(net, "heron", "LON", "NYC", FIRST, tables={"NYC": tables["NYC"]})
        for node, settings in ((self.heron, here), (self.gull, there)):
            if settings:
                node.kill()
                node._settings.update(settings)
                node.start()
        net.until(lambda: links(self.gull) == links(self.heron) == 1 and len(self.gull.alive) == 1)
        self.joe = SimClient(net, self.heron.ipc, "joe").connected()
        self.ann = Reader(net, self.gull.ipc, "ann").connected()
        self.heard = {domain: self.ann.subscribed(pattern="#", domain=domain) for domain in (RUGBY, STOCK)}
        self.sent: dict[str, list[bytes]] = {RUGBY: [], STOCK: []}

    def publish(self, domain: str, count: int = 1, persistent: bool = True) -> None:
        for _ in range(count):
            self.sent[domain].append(b"%d" % (len(self.sent[domain]) + 1))
            self.joe.publish("k", self.sent[domain][-1], domain=domain, persistent=persistent)
            self.net.run(0.01)  # each in an envelope of its own

    def settled(self) -> None:
        self.net.until(lambda: not self.pending, limit=200)
        self.net.run(2)
        assert {domain: heard.contents for domain, heard in self.heard.items()} == self.sent
        assert self.heron.metric("dead") == 0

    @property
    def pending(self) -> int:
        return self.heron.metric("site_pending")

    def lacks_master(self) -> None:
        self.tern.kill()
        self.net.until(lambda: not self.gull.alive)


def test_what_has_too_late_a_stamp_waits_and_people_are_told_whose_clock_is_wrong() -> None:
    it = Pair()
    it.heron.leap(700 * S)
    it.publish(STOCK, 3)
    it.net.run(5)
    assert it.pending == 3 and it.gull.metric("published") == 0
    [told] = events(it.heron, "site")
    assert "NYC" in told and "CLOCK_AHEAD" in told and "of the site LON is" in told
    it.gull.leap(700 * S)
    it.tern.leap(700 * S)
    it.publish(STOCK)
    it.settled()


def test_what_waits_there_for_a_master_holds_up_nothing_else() -> None:
    it = Pair(here={"window_count": 4})
    it.lacks_master()
    it.publish(RUGBY, 12)
    it.publish(STOCK, 5)
    it.net.until(lambda: it.heard[STOCK].contents == it.sent[STOCK])
    assert it.pending == 12
    it.publish(RUGBY, 10)  # more than four windows in all
    it.tern.start()
    it.settled()


def test_a_start_sends_again_what_waits_there_though_later_ones_are_done() -> None:
    it = Pair()
    it.lacks_master()
    it.publish(RUGBY, 2)
    it.publish(STOCK, 2)
    it.net.until(lambda: it.pending == 2)
    it.net.run(2)
    it.heron.kill()
    it.gull.kill()  # gull had them in memory
    it.heron.start()
    it.gull.start()
    it.net.until(lambda: it.pending == 2)
    it.tern.start()
    it.net.until(lambda: it.tern.metric("published") == 2)
    it.net.until(lambda: not it.pending)


@pytest.mark.parametrize("limits", scenarios([{"tailback_bytes": 500}, {"tailback_count": 8}]), ids=str)
def test_when_too_much_waits_there_the_rest_waits_here(limits: dict[str, Any]) -> None:
    it = Pair(there=limits)
    it.lacks_master()
    it.publish(RUGBY, 20)
    it.net.run(5)
    assert it.pending == 20 and it.gull.metric("tailed_back") < 8
    assert "TAILBACK_FULL" in events(it.heron, "site")[0]
    it.tern.start()
    it.settled()


def test_no_time_is_too_long_to_wait_there() -> None:
    it = Pair(there={"tailback_ttl": 5.0})
    it.lacks_master()
    it.publish(RUGBY, 3)
    it.net.run(20)
    assert it.pending == 3 and it.gull.metric("expired") == 0
    it.tern.start()
    it.settled()


@pytest.mark.parametrize("domain", scenarios([RUGBY, STOCK]), ids=["elsewhere", "at the gateway"])
def test_a_disk_that_is_full_there_has_it_later(domain: str) -> None:
    it = Pair()
    master = it.tern if domain == RUGBY else it.gull
    master.disk.is_full = True
    it.publish(domain, 5)
    it.net.run(3)
    assert it.pending == 5 and it.heard[domain].contents == []
    master.disk.is_full = False
    it.publish(domain)
    it.settled()


def test_what_is_void_by_itself_waits_for_nobody() -> None:
    it = Pair()
    it.lacks_master()
    it.joe.publish("k", b"soon void", domain=RUGBY, persistent=True, expires=it.heron.wall + 2 * S)
    it.net.until(lambda: it.heron.metric("dead") == 1, limit=30)
    assert it.pending == 0


def test_a_site_that_puts_off_what_it_was_not_given_changes_nothing() -> None:
    it = Pair()
    it.publish(STOCK)
    it.settled()
    parts = it.heron.core.parts[SiteParts]
    for stream in (it.joe.stream, bytes(16)):
        answer = Answer(STOCK, 1, 2**60, "STORE_FULL", text="x" * 10**5)
        say(it.gull, "LON", Relayed("NYC", (Outcome(stream, answer),)))
        say(it.gull, "LON", Relayed("NYC", (Outcome(stream, Answer(STOCK, 1, 1, "FORWARD_WARNING")),)))
        parts.sender._on_outcomes("NYC", [Outcome(stream, answer)])  # as from a gateway of this site
    it.net.run(1)
    assert not parts.outbound.by_name["NYC"].pauses._pauses and links(it.heron) == 1
    assert not events(it.heron, "site")
