"""Other sites in a configuration that a running node reads again."""

from dataclasses import replace
from typing import Any

from mesh.config.sites import RemoteSite
from mesh.features.sites.model.ways import ways
from mesh.features.sites.node.parts import SiteParts
from mesh.kernel.context.component import Reloaded
from mesh.kernel.context.settings import Keyring, SiteKeys
from mesh.site_policy.accepting import Accepting
from mesh.site_policy.selection import Selection
from tests.mesh.features.sites.node.meshes import FIRST, SECOND, gateway_to, links, secret
from tests.mesh.features.sites.node.test_sitefeed import STOCK, again, pair, publisher
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork, SimNode
from tools.simulator.world.identity import combined

STOCKS = {site: RemoteSite(site, domains=(STOCK,)) for site in ("LON", "NYC", "SFO")}


def reloaded(node: SimNode, tables: dict[str, RemoteSite], **more: Any) -> None:
    """Reload the node with a configuration that has the sites of `tables`."""
    found = {
        "sites": {name: table.addresses for name, table in tables.items() if not table.via},
        "ways": ways({name: table.via for name, table in tables.items()}),
        "selection": Selection.of(tables.values()),
        "outboxes": {n: table.max_bytes for n, table in tables.items() if table.domains or table.topics},
        "accepting": {name: Accepting(table) for name, table in tables.items()},
        **more,
    }
    settings = combined(found, node.core.parts.context.settings.site)
    node.core.parts.ruling._read = lambda: Reloaded(None, settings, (), ())
    node.core.reload(node.now, node.wall, "joe")
    node._carry_out_all()
    node.net.run(0.1)


def keys(node: SimNode, here: str, *sites: str) -> Keyring:
    """Return the node's keys, with those of these sites only."""
    ring = node.core.parts.context.settings.keyring
    assert ring is not None
    given = {
        there: SiteKeys(f"mesh of {there}", secret(there, f"relay {here}"), f"server of {there}")
        for there in sites
    }
    return replace(ring, relays={there: secret(here, f"relay {there}") for there in sites}, sites=given)


def lone(net: SimNetwork, name: str, here: str) -> SimNode:
    """Create a gateway that knows no site yet."""
    return gateway_to(net, name, here, {})


def test_a_site_that_is_named_is_dialled_let_in_and_gets_what_comes_from_then_on() -> None:
    net = SimNetwork()
    gull, heron = lone(net, "gull", "NYC"), lone(net, "heron", "LON")
    net.run(1)
    publisher(heron)
    reloaded(gull, {"LON": STOCKS["LON"]}, keyring=keys(gull, "NYC", "LON"))
    reloaded(heron, {"NYC": replace(STOCKS["NYC"], addresses=(FIRST,))}, keyring=keys(heron, "LON", "NYC"))
    net.until(lambda: links(gull) == links(heron) == 1)
    publisher(heron, 2)
    net.until(lambda: gull.metric("published") == 2)
    net.run(2)
    assert (gull.metric("published"), heron.metric("site_pending")) == (2, 0)
    assert heron.core.parts[SiteParts].gateways.views.is_reachable("NYC")


def test_a_site_that_was_named_while_it_ran_is_owed_nothing_of_before_after_a_start_either() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    reloaded(heron, {}, keyring=keys(heron, "LON"))
    publisher(heron)
    assert heron.metric("stored_envelopes") == 1, "somebody here is owed it"
    reloaded(heron, {"NYC": replace(STOCKS["NYC"], addresses=(FIRST,))}, keyring=keys(heron, "LON", "NYC"))
    net.run(2)
    again(heron)
    net.until(lambda: links(heron) == 1)
    net.run(3)
    assert (heron.metric("stored_envelopes"), gull.metric("published")) == (1, 0)


def test_a_site_that_is_named_no_more_is_parted_from_and_owed_nothing() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    gull.kill()
    net.run(20)
    publisher(heron, 2)
    assert heron.metric("site_pending") == 2
    reloaded(heron, {}, keyring=keys(heron, "LON"))
    net.run(2)
    assert heron.metric("site_pending") == 0 and heron.core.parts[SiteParts].gateways.views.all() == ()
    assert any("2 messages for site NYC" in note for note in heron.notes), heron.notes[-5:]
    gull.start()
    net.run(40)
    assert links(gull) == links(heron) == 0
    heron.kill()
    heron.start()  # with its old file: nothing earlier is owed
    net.until(lambda: links(gull) == 1)
    net.run(2)
    assert gull.metric("published") == 0


def test_whoever_was_connected_is_told_and_let_in_no_more() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    reloaded(gull, {}, keyring=keys(gull, "NYC"))
    net.run(1)
    assert links(gull) == links(heron) == 0
    assert heron.core.parts[SiteParts].gateways.link("NYC").state == "not allowed by peer: SITE"  # type: ignore[union-attr]
    publisher(heron)
    reloaded(gull, {"LON": STOCKS["LON"]}, keyring=keys(gull, "NYC", "LON"))
    net.until(lambda: gull.metric("published") == 1)  # it waited: the other site retries rarely


def test_what_goes_there_and_what_may_come_in_change_at_once() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    publisher(heron)
    net.until(lambda: gull.metric("published") == 1)
    reloaded(heron, {"NYC": RemoteSite("NYC", (FIRST,), topics=("sensors/#",))})
    publisher(heron)
    net.run(2)
    assert gull.metric("published") == 1 and links(heron) == 1
    joe = SimClient(net, heron.ipc, "joe").connected()
    joe.publish("sensors/a", b"1", persistent=True)
    net.until(lambda: heron.metric("dead") == 1)
    reloaded(gull, {"LON": RemoteSite("LON", topics=("sensors/#",))})
    joe.publish("sensors/a", b"2", persistent=True)
    net.until(lambda: gull.metric("published") == 2)
    reloaded(gull, {"LON": RemoteSite("LON", topics=("sensors/#",), one_way=True)})
    joe.publish("sensors/a", b"3", persistent=True)
    net.until(lambda: heron.metric("dead") == 2)


def test_keys_that_came_later_and_another_address_are_tried_at_once() -> None:
    net = SimNetwork()
    gull = gateway_to(net, "gull", "NYC", {"LON": ""}, tables={"LON": STOCKS["LON"]})
    heron = gateway_to(net, "heron", "LON", {"NYC": SECOND}, secret=b"x" * 32, tables={"NYC": STOCKS["NYC"]})
    net.run(30)
    there = {"NYC": replace(STOCKS["NYC"], addresses=(FIRST,))}
    reloaded(heron, there)
    net.run(2)
    assert heron.core.parts[SiteParts].gateways.link("NYC").state == "not allowed by peer: WRONG_SECRET"  # type: ignore[union-attr]
    reloaded(heron, there, keyring=keys(heron, "LON", "NYC"))
    net.run(2)
    assert links(gull) == links(heron) == 1
    before = heron.core.parts[SiteParts].gateways.gate("NYC").conns()  # type: ignore[union-attr]
    reloaded(heron, {"NYC": replace(STOCKS["NYC"], addresses=(FIRST, SECOND))})
    net.run(20)
    assert heron.core.parts[SiteParts].gateways.gate("NYC").conns() == before, "what is connected stays"  # type: ignore[union-attr]


def test_a_node_that_is_no_gateway_any_more_has_another_one_take_over() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    egret = gateway_to(net, "egret", "LON", {"NYC": FIRST}, "heron", tables={"NYC": STOCKS["NYC"]})
    net.until(lambda: links(gull) == 2 and "egret" in heron.alive)
    reloaded(heron, {"NYC": replace(STOCKS["NYC"], addresses=(FIRST,))}, is_relay=False)
    net.run(1)
    assert (links(heron), links(egret), links(gull)) == (0, 1, 1)
    assert heron.uuid not in egret.core.parts[SiteParts].transit.announced("NYC")
    publisher(heron)
    net.until(lambda: gull.metric("published") == 1)
    reloaded(heron, {"NYC": replace(STOCKS["NYC"], addresses=(FIRST,))}, is_relay=True)
    net.until(lambda: links(gull) == 2)


def test_what_may_wait_changes_at_once() -> None:
    net = SimNetwork()
    _, heron = pair(net)
    feed = heron.core.parts[SiteParts].outbound.by_name["NYC"].feed
    reloaded(heron, {"NYC": replace(STOCKS["NYC"], addresses=(FIRST,), max_bytes=3 * 1024 * 1024)})
    assert heron.core.parts[SiteParts].outbound.by_name["NYC"].feed is feed
    assert feed.credit.backlog == feed._backlog._credit.backlog == 3 * 1024 * 1024
