"""The feed of a site: what it is owed after a restart of the master, and what leaves with it."""

from typing import Any

from mesh.config.sites import RemoteSite
from mesh.features.sites.node.parts import SiteParts
from mesh.site_policy.selection import Selection
from tests.mesh.features.sites.node.meshes import FIRST, SECOND, Reader, gateway, links
from tests.mesh.origins import silence
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork, SimNode

STOCK = "STOCK"


def pair(net: SimNetwork) -> tuple[SimNode, SimNode]:
    """Create gull of NYC and heron of LON. Each sends STOCK to the other, and accepts it from there."""
    gull = gateway(net, "gull", "NYC", "LON", tables={"LON": RemoteSite("LON", domains=(STOCK,))})
    here = {"NYC": RemoteSite("NYC", domains=(STOCK,))}
    heron = gateway(net, "heron", "LON", "NYC", FIRST, tables=here)
    net.until(lambda: links(gull) == links(heron) == 1)
    return gull, heron


def publisher(node: SimNode, count: int = 1) -> SimClient:
    """Publish `count` messages that are answered, while another client at that node does not read them."""
    eve = SimClient(node.net, node.ipc, "eve").connected()
    eve.subscribed("quote", domain=STOCK, rate=0)
    joe = SimClient(node.net, node.ipc, "joe").connected()
    for n in range(count):
        joe.publish("quote", b"%d" % n, domain=STOCK, persistent=True)
        joe.settled()
    return joe


def again(node: SimNode, **settings: Any) -> None:
    """Restart the node, with `settings` changed."""
    node.kill()
    node._settings.update(settings)
    node.start()
    node.net.run(3)


def test_what_came_from_a_site_and_still_waits_for_somebody_here_does_not_go_back() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    eve = SimClient(net, gull.ipc, "eve").connected()
    eve.subscribed("quote", domain=STOCK, rate=0)
    publisher(heron)
    net.until(lambda: gull.metric("stored_envelopes") == 1)
    again(gull)
    assert gull.metric("stored_envelopes") == 1, "eve is owed it"
    assert gull.metric("site_pending") == gull.metric("dead") == heron.metric("refused") == 0


def test_a_site_that_is_named_is_not_owed_what_was_published_before() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    named = {name: heron._settings[name] for name in ("selection", "outboxes")}
    again(heron, selection=Selection(), outboxes={})
    publisher(heron)
    net.run(2)
    again(heron, **named)
    assert heron.metric("stored_envelopes") == 1, "eve is owed it"
    assert heron.metric("site_pending") == gull.metric("published") == 0


def test_what_was_answered_does_not_go_again() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    publisher(heron, 3)
    net.until(lambda: not heron.metric("site_pending"))
    net.run(2)
    again(heron)
    net.until(lambda: links(heron) == 1)
    net.run(3)
    assert (gull.metric("published"), gull.metric("repeated")) == (3, 0)


def test_the_stamp_of_its_master_stays() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    publisher(heron)
    retained = [node.core.parts.router.log.retained for node in (gull, heron)]
    net.until(lambda: retained[0].get("quote", STOCK))
    there, here = [each.get("quote", STOCK) for each in retained]
    assert there is not None and here is not None
    assert there.envelope.sent == here.envelope.sent


def test_as_it_leaves_it_promises_nothing_that_the_site_has_not_answered() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    silence(gull.core.parts)
    publisher(heron, 3)
    parts = heron.core.parts[SiteParts]
    out = parts.outbound.by_name["NYC"]
    [key] = out.feed.in_flight.streams
    last = out.feed.in_flight.unanswered(key)[-1]
    assert last.envelope.low > 1, "its publisher has had the answers to those before"
    assert [each.low for each in parts.sender._as_it_leaves(out, last)] == [1]


def test_of_two_connections_one_is_lost_and_what_went_by_it_goes_by_the_other() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    grebe = gateway(net, "grebe", "NYC", "LON", SECOND, tables={"LON": RemoteSite("LON", domains=(STOCK,))})
    net.until(lambda: links(heron) == 2)
    for each in (gull, grebe):
        silence(each.core.parts)
    publisher(heron)
    net.until(lambda: gull.metric("published") + grebe.metric("published") == 1)
    first, other = (gull, grebe) if gull.metric("published") else (grebe, gull)
    first.kill()
    net.until(lambda: other.metric("published") == 1)


def test_a_gateway_reads_no_second_time_what_it_takes_as_another_one_has_before() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    there = {"LON": RemoteSite("LON", domains=(STOCK,))}
    grebe = gateway(net, "grebe", "NYC", "LON", SECOND, "gull", tables=there)
    net.until(lambda: links(heron) == 2 and "grebe" in gull.alive)
    readers = {each: Reader(net, each.ipc, f"ann-{each.name}").connected() for each in (gull, grebe)}
    heard = {each: reader.subscribed("quote", domain=STOCK) for each, reader in readers.items()}
    for each in (gull, grebe):
        silence(each.core.parts)
    publisher(heron)
    net.until(lambda: all(each.got for each in heard.values()))
    first, other = (gull, grebe) if gull.metric("published") else (grebe, gull)
    first.kill()
    net.until(lambda: other.metric("published") == 1)
    net.run(2)
    assert len(heard[other].got) == other.metric("delivered") == 1


def test_what_waits_for_a_site_is_no_more_than_was_set_and_somebody_is_told() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    again(heron, outboxes={"NYC": 2 * 1024 * 1024})
    gull.kill()
    net.run(20)
    joe = SimClient(net, heron.ipc, "joe").connected()
    for n in range(12):
        joe.publish("quote", bytes(512 * 1024), domain=STOCK, persistent=n % 2 > 0)
        joe.settled()
    assert heron.metric("site_bytes") <= 2 * 1024 * 1024 + 600 * 1024
    assert any("NYC will lack" in note for note in heron.notes)
