"""Messages that are not to leave their site, on every route."""

from typing import Any

import pytest

from mesh.config.sites import RemoteSite
from mesh.features.sites.node.site_relay import SiteRelay
from mesh.kernel.forwarding.incoming import Incoming
from mesh.kernel.peers.peer import Peer
from mesh.mapping.rules import Rule
from mesh.wire.envelope import NO_RELAY, Envelope
from mesh.wire.limits import STAYS
from tests.mesh.features.sites.node.meshes import FIRST, gateway, links, member
from tests.seeds import scenarios
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork

STOCK = "STOCK"
TABLES = {site: {site: RemoteSite(site, domains=(STOCK,))} for site in ("LON", "NYC")}


@pytest.mark.parametrize("master", scenarios(["wren", "", "heron"]))
def test_D5_what_is_not_to_be_relayed_is_read_in_its_site_and_in_no_other(master: str) -> None:
    net = SimNetwork()
    rules: dict[str, Any] = {"rules": (Rule(master, domains=(STOCK,)),)} if master else {}
    gull = gateway(net, "gull", "NYC", "LON", tables=TABLES["LON"])
    heron = gateway(net, "heron", "LON", "NYC", FIRST, tables=TABLES["NYC"], **rules)
    wren = member(net, "wren", "LON", "heron", tables=TABLES["NYC"], **rules)
    net.until(lambda: links(heron) == 1 and len(wren.alive) == len(heron.alive) == 1)
    readers = {node: SimClient(net, node.ipc, f"ann-{node.name}").connected() for node in (gull, heron, wren)}
    heard = {node.name: ann.subscribed("quote", domain=STOCK) for node, ann in readers.items()}
    eve = SimClient(net, wren.ipc, "eve").connected()
    eve.subscribed("quote", domain=STOCK, rate=0)  # she reads nothing, so the store keeps all
    joe = SimClient(net, wren.ipc, "joe").connected()
    for content, flags in ((b"1", NO_RELAY), (b"2", 0), (b"3", NO_RELAY)):
        joe.publish("quote", content, domain=STOCK, persistent=True, flags=flags)
        joe.settled()
    net.run(3)
    assert heard["heron"].contents == heard["wren"].contents == [b"1", b"2", b"3"]
    assert heard["gull"].contents == [b"2"]
    keeper = heron if master == "heron" else wren
    keeper.kill()
    keeper.start()
    net.until(lambda: links(heron) == 1)
    net.run(3)
    assert heard["gull"].contents == [b"2"] and keeper.metric("site_pending") == 0


@pytest.mark.parametrize("words", [(), (STAYS,)], ids=str)
def test_a_master_is_told_so_if_it_knows_what_that_is(
    words: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    flags: list[int] = []
    right = Incoming.forwarded

    def forwarded(it: Incoming, peer: Peer, envelopes: list[Envelope]) -> None:
        flags.extend(each.flags for each in envelopes)
        right(it, peer, envelopes)

    monkeypatch.setattr(Incoming, "forwarded", forwarded)
    monkeypatch.setattr(SiteRelay, "features", lambda it: words if it._context.me.name == "b" else (STAYS,))
    net = SimNetwork()
    rules = (Rule("b", domains=(STOCK,)),)
    net.node("b", rules=rules)
    a = net.node("a", "b", rules=rules)
    net.until(lambda: a.alive)
    joe = SimClient(net, a.ipc, "joe").connected()
    joe.publish("quote", b"1", domain=STOCK, flags=NO_RELAY)
    joe.settled()
    assert joe.state(1, STOCK) == "OK" and flags == [NO_RELAY if words else 0]
