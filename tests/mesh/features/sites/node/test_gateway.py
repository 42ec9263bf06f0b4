"""Links between gateways of two sites: admission, allowed commands, and reports of lost sites."""

from typing import Any

import pytest

from mesh.features.queues.wire import Transferred
from mesh.features.sites.node.parts import SiteParts
from mesh.features.sites.node.site_connection import Gateway, SiteConnection
from mesh.features.sites.wire import Site
from mesh.links.table import LinkAction
from mesh.wire import commands as c
from mesh.wire.commands import Command
from tests.mesh.features.sites.node.meshes import FIRST, SECOND, events, gateway, links, member, say
from tests.mesh.kernel.hole import hole
from tests.seeds import scenarios
from tests.simulation import SimNetwork, SimNode


def pair(net: SimNetwork, **wrong: Any) -> tuple[SimNode, SimNode]:
    """Create a gateway of NYC, and one of LON that dials it."""
    nyc = gateway(net, "gull", "NYC", "LON")
    return nyc, gateway(net, "heron", "LON", "NYC", FIRST, **wrong)


def test_two_gateways_are_linked_and_each_knows_who_is_in_the_other_site() -> None:
    net = SimNetwork()
    nyc, lon = pair(net)
    net.until(lambda: links(nyc) == links(lon) == 1)
    net.until(lambda: events(nyc, "site-up") and events(lon, "site-up"))
    assert lon.core.parts[SiteParts].gateways.views.view("NYC").members == ("gull",)  # type: ignore[union-attr]
    assert nyc.core.parts[SiteParts].gateways.views.has_member("LON", "heron")


def test_a_gateway_of_another_site_is_no_member_of_this_one() -> None:
    net = SimNetwork()
    nyc, lon = pair(net)
    net.until(lambda: links(lon) == 1)
    net.run(30)
    assert links(nyc) == links(lon) == 1
    assert not nyc.core.parts.neighbours.peers and not lon.core.parts.neighbours.peers


def test_all_nodes_of_a_site_are_told_of_and_the_one_that_left_is_not() -> None:
    net = SimNetwork()
    nyc, _ = pair(net)
    swift = member(net, "swift", "LON", "heron")
    views = nyc.core.parts[SiteParts].gateways.views
    net.until(lambda: views.has_member("LON", "swift"))
    swift.close()
    net.until(lambda: not views.has_member("LON", "swift"))
    assert views.has_member("LON", "heron")


def test_who_connects_while_a_node_is_away_for_a_moment_hears_that_it_is_back() -> None:
    net = SimNetwork()
    gull = gateway(net, "gull", "NYC", "LON")
    heron = gateway(net, "heron", "LON", "NYC", FIRST)
    net.until(lambda: links(heron) == 1)
    net.run(3)
    gates = gull.core.parts[SiteParts].gateways
    gates._announcer._alive = lambda: ["tern"]
    gates.on_second()
    net.run(1)
    assert heron.core.parts[SiteParts].gateways.views.has_member("NYC", "tern")
    gates._announcer._alive = lambda: []
    heron.restart()
    net.until(lambda: links(heron) == 1)
    gates._announcer._alive = lambda: ["tern"]
    net.run(3)
    assert heron.core.parts[SiteParts].gateways.views.has_member("NYC", "tern")


def test_what_comes_and_goes_within_a_second_is_told_of_once() -> None:
    net = SimNetwork()
    nyc, lon = pair(net)
    net.until(lambda: links(lon) == 1)
    net.run(3)
    net.is_watched = True
    member(net, "swift", "LON", "heron")
    member(net, "stork", "LON", "heron")
    views = nyc.core.parts[SiteParts].gateways.views
    net.until(lambda: views.has_member("LON", "swift") and views.has_member("LON", "stork"))
    net.run(5)
    assert len([seen for seen in net.seen if seen == ("heron", "gull", "Site")]) <= 2


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"secret": b"?" * 32}, "WRONG_SECRET"),
        ({"cluster": "another mesh"}, "CLUSTER"),
        ({"cluster": ""}, "CLUSTER"),
        ({"called": "SFO"}, "SITE"),
        ({"called": "NYC"}, "SITE"),
        ({"server": "server of SFO"}, "WRONG_SECRET"),
    ],
)
def test_who_has_not_what_was_given_to_that_site_stays_outside(wrong: dict[str, Any], code: str) -> None:
    net = SimNetwork()
    nyc, lon = pair(net, **wrong)
    net.until(lambda: any(f"[{code}]" in note for note in events(nyc, "refused")))
    net.run(30)
    assert not links(nyc) and not links(lon)
    assert len(events(nyc, "refused")) == 1
    assert code in lon.core.parts[SiteParts].gateways._gates["NYC"].link.describe(net.now)


@pytest.mark.parametrize("role", [c.NODE_CONTROL, c.NODE_DATA, c.CLIENT])
def test_what_was_given_to_gateways_makes_nobody_a_node_or_a_client(role: str) -> None:
    net = SimNetwork()
    nyc, lon = pair(net)
    greet = lon.core.parts[SiteParts].gateways.greet

    def as_another(conn: Any) -> c.Hello:
        said = greet(conn)
        return c.Hello(said.versions, role, said.cluster, said.nonce, node=said.node, process=said.process)

    lon.core.parts[SiteParts].gateways.greet = as_another  # type: ignore[method-assign]
    net.until(lambda: nyc.metric("hello_refused"))
    net.run(10)
    assert (
        not links(nyc)
        and not nyc.core.parts.neighbours.living_peers()
        and not nyc.core.parts.clients.sessions
    )


def test_a_node_that_is_no_gateway_lets_none_in() -> None:
    net = SimNetwork()
    nyc = member(net, "gull", "NYC")
    gateway(net, "heron", "LON", "NYC", FIRST)
    net.until(lambda: any("[ROLE]" in note for note in events(nyc, "refused")))


@pytest.mark.parametrize(
    "command",
    scenarios(
        [
            c.Publish(()),
            c.Hello((1, 1), c.CLIENT, "", b"n" * 16),
            Site("SFO"),
            Site("LON", (("heron", b"short"),)),
            c.Forward(()),
            c.Items(1, ()),
            c.Ack(1),
            c.Interest(1, True),
            c.Peers(()),
            c.Rumours(()),
            c.States(b""),
            c.Login(),
            c.Call(1, "status"),
            c.Watch(1, True),
            Transferred("jobs"),
            c.Pong(1),
            Site("LON", (("", b""),)),
            Site("LON", (("he ron", b""),)),
        ],
        4,
    ),
    ids=lambda command: f"{type(command).__name__}",
)
def test_what_a_gateway_may_not_say_costs_it_the_connection(command: Command) -> None:
    net = SimNetwork()
    nyc, lon = pair(net)
    net.until(lambda: links(nyc) == links(lon) == 1)
    net.run(1)
    say(lon, "NYC", command)
    net.until(lambda: not links(nyc))
    net.until(lambda: not links(lon))
    assert any("a gateway of the site LON broke the protocol" in note for note in nyc.notes)


def test_who_waits_to_be_dialled_beside_one_that_is_linked_warns_of_nothing() -> None:
    net = SimNetwork()
    gull = gateway(net, "gull", "NYC", "LON")
    tern = gateway(net, "tern", "NYC", "LON", "", "gull")
    heron = gateway(net, "heron", "LON", "NYC", FIRST)
    net.until(lambda: links(gull) == 1)
    net.run(40)
    assert links(tern) == 0 and not events(tern, "site-unreachable") and tern.metric("sites_away") == 0
    heron.kill()
    net.until(lambda: events(gull, "site-unreachable"))
    assert gull.metric("sites_away") == tern.metric("sites_away") == 1


def test_of_gateways_that_are_lost_one_after_the_other_the_last_one_counts() -> None:
    net = SimNetwork()
    gull = gateway(net, "gull", "NYC", "LON")
    heron = gateway(net, "heron", "LON", "NYC", FIRST)
    hawk = gateway(net, "hawk", "LON", "NYC", FIRST, "heron")
    net.until(lambda: links(gull) == 2 and links(heron) == links(hawk) == 1)
    net.run(2)
    net.cut("gull", "heron")
    net.run(40)
    assert links(heron) == 0 and links(hawk) == 1 and not events(heron, "site-unreachable")
    hawk.kill()
    net.run(14)
    assert not events(heron, "site-unreachable")
    net.until(lambda: events(heron, "site-unreachable"), 40)
    net.heal()
    net.until(lambda: len(events(heron, "site-up")) == 2)
    assert len(events(heron, "site-unreachable")) == 1


def test_a_gateway_that_says_nothing_more_is_given_up_and_dialled_again() -> None:
    net = SimNetwork()
    nyc, lon = pair(net)
    net.until(lambda: links(nyc) == links(lon) == 1)
    net.run(20)
    assert links(nyc) == links(lon) == 1  # pings keep the links
    lon.kill()
    net.cut("gull", "heron")
    net.until(lambda: not links(nyc), 16)
    net.until(lambda: events(nyc, "site-unreachable"), 16)
    assert nyc.metric("sites_away") == 1
    net.heal()
    lon.start()
    net.until(lambda: links(nyc) == links(lon) == 1)
    net.until(lambda: len(events(nyc, "site-up")) == 2)
    assert nyc.metric("sites_away") == 0


def test_who_does_not_know_the_connection_any_more_is_dialled_again_and_has_broken_nothing() -> None:
    net = SimNetwork()
    nyc, lon = pair(net)
    net.until(lambda: links(nyc) == links(lon) == 1)
    say(nyc, "LON", c.Who())
    net.until(lambda: not links(lon))
    net.until(lambda: links(nyc) == links(lon) == 1)
    assert not any("protocol" in note for note in lon.notes)


def test_half_a_hello_is_waited_for_only_so_long() -> None:
    net = SimNetwork()
    net.bound["tcp://127.0.0.1:9"] = hole()
    lon = gateway(net, "heron", "LON", "NYC", "tcp://127.0.0.1:9")
    gate = lon.core.parts[SiteParts].gateways._gates["NYC"]
    net.until(lambda: gate.link.is_dialling and gate.dial)
    net.until(lambda: gate.link.attempt > 2)
    assert gate.dial is None or not gate.dial.closed
    assert len([conn for conn in lon.core.parts.dialler.conns.values() if not conn.closed]) <= 1


def test_of_two_that_dial_each_other_one_connection_stays() -> None:
    for seed in range(4):
        net = SimNetwork(seed)
        nyc = gateway(net, "gull", "NYC", "LON", SECOND)
        lon = gateway(net, "heron", "LON", "NYC", FIRST)
        net.until(lambda nyc=nyc, lon=lon: links(nyc) == links(lon) == 1)  # type: ignore[misc]
        net.run(40)
        assert links(nyc) == links(lon) == 1
        assert len([p for p in net.pipes if p.is_open]) == 1
        assert not events(nyc, "site-unreachable") and len(events(lon, "site-up")) == 1


def test_a_line_that_flaps_is_no_storm_of_events_nor_of_dials() -> None:
    net = SimNetwork()
    nyc, lon = pair(net)
    net.until(lambda: links(nyc) == 1)
    gate = lon.core.parts[SiteParts].gateways._gates["NYC"]
    for _ in range(60):
        net.break_all("gull", "heron")
        net.run(1)
    assert len(events(lon, "site-up")) <= 3 and len(events(lon, "site-unreachable")) <= 2
    assert gate._dials < 40
    net.until(lambda: links(nyc) == links(lon) == 1)


def test_a_site_whose_last_node_stops_is_down_and_not_unreachable() -> None:
    net = SimNetwork()
    nyc, lon = pair(net)
    net.until(lambda: events(nyc, "site-up"))
    lon.close()
    net.until(lambda: events(nyc, "site-down"), 2)
    net.run(60)
    assert not events(nyc, "site-unreachable")


def test_a_gateway_that_stops_while_others_live_there_leaves_the_site_unreachable() -> None:
    net = SimNetwork()
    nyc, lon = pair(net)
    member(net, "swift", "LON", "heron")
    net.until(lambda: nyc.core.parts[SiteParts].gateways.views.has_member("LON", "swift"))
    lon.close()
    net.until(lambda: events(nyc, "site-unreachable"))
    assert not events(nyc, "site-down")


def test_two_gateways_of_a_site_are_both_linked_and_one_that_goes_takes_nothing_with_it() -> None:
    net = SimNetwork()
    nyc = gateway(net, "gull", "NYC", "LON")
    lon = [gateway(net, name, "LON", "NYC", FIRST) for name in ("heron", "stork")]
    net.until(lambda: links(nyc) == 2)
    net.run(3)
    gateways = nyc.core.parts[SiteParts].gateways._gates["LON"].gateways
    kept = gateways[lon[1].uuid].conn
    lon[0].kill()
    net.until(lambda: links(nyc) == 1, 40)
    net.run(30)
    assert not events(nyc, "site-unreachable") and gateways[lon[1].uuid].conn is kept


def test_a_gateway_whose_line_stands_and_who_says_nothing_is_given_up() -> None:
    net = SimNetwork()
    nyc, lon = pair(net)
    net.until(lambda: links(nyc) == links(lon) == 1)

    def keep_silent(gate: SiteConnection, gateway: Gateway) -> None:
        gateway.said = net.now

    lon.core.parts[SiteParts].gateways._keep_alive = keep_silent  # type: ignore[method-assign]
    net.until(lambda: any("heron of the site LON does not answer" in note for note in nyc.notes), 20)


def test_who_dials_whoever_dials_him_and_has_the_higher_uuid_gives_way() -> None:
    net = SimNetwork()
    nyc = gateway(net, "gull", "NYC", "LON", SECOND)
    lon = gateway(net, "heron", "LON", "NYC", FIRST)
    gateways = nyc.core.parts[SiteParts].gateways
    gateways._connections.apply(gateways._gates["LON"], (LinkAction.DIAL,))
    nyc._carry_out_all()
    net.until(lambda: links(nyc) == links(lon) == 1)
    assert any("both nodes dialed" in note for note in nyc.notes)
    net.run(40)
    assert len([pipe for pipe in net.pipes if pipe.is_open]) == 1 and not events(lon, "refused")
