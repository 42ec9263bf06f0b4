"""Messages that pass through sites in the middle: they are read once, while nodes fail there."""

from dataclasses import replace

import pytest

from mesh.features.sites.node.parts import SiteParts
from mesh.features.sites.wire import Relay
from mesh.wire.envelope import Envelope
from tests.mesh.features.sites.node.chains import (
    CHAIN,
    HF,
    NET1,
    NET2,
    NET3,
    RING,
    STAR,
    STOCK,
    Middle,
    Plan,
    Sites,
    tables,
)
from tests.mesh.features.sites.node.meshes import FIRST, SECOND, Reader, events, say
from tests.mesh.features.sites.node.test_gateway_reload import reloaded
from tests.mesh.features.sites.node.test_listing import asking, members
from tests.mesh.features.sites.node.test_pausing import said
from tests.mesh.features.sites.node.test_site_pass_through_liars import from_hf
from tests.seeds import scenarios


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    scenarios([(CHAIN, True, 2), (CHAIN, True, 3), (RING, True, 3), (CHAIN, False, 3), (STAR, False, 3)]),
    ids=str,
)
def test_D22_each_member_of_four_sites_has_each_multicast(case: tuple[Plan, bool, int]) -> None:
    plan, apart, members = case
    sites = Sites(plan, apart, members)
    for node in sites.all():
        sites.publish(node.name, node.name.encode())
    sites.settled()
    assert {len(sites.got(name)) for name in sites.heard} == {4 * members}


@pytest.mark.parametrize("plan", scenarios([CHAIN, STAR]), ids=["chain", "star"])
def test_D24_while_the_site_in_the_middle_is_down_multicasts_stay_and_go_when_it_is_back(plan: Plan) -> None:
    sites = Sites(plan, members=1)
    for node in sites.nodes[NET1]:
        node.kill()
        del sites.heard[node.name]
    for node in sites.nodes[HF] + sites.nodes[NET3]:
        sites.publish(node.name, node.name.encode())
    sites.net.run(30)
    here = {HF: [b"hf0"], NET3: [b"net30"]}
    here[NET2] = here[NET3] if plan is CHAIN else []
    for site, contents in here.items():
        for node in sites.nodes[site]:
            assert sorted(sites.got(node.name)) == contents
    for node in sites.nodes[NET1]:
        node.start()
    sites.settled()
    assert {len(sites.got(name)) for name in sites.heard} == {2}


@pytest.mark.parametrize("persistent", scenarios([True, False]), ids=["persistent", "transient"])
@pytest.mark.parametrize("which", scenarios([0, 1]))
def test_a_gateway_in_the_middle_dies_and_the_other_takes_over_in_order(which: int, persistent: bool) -> None:
    sites = Middle()
    sites.publish(5, persistent)
    sites.net.until(lambda: sites.heard.contents)
    sites.middle[which].kill()
    sites.publish(5, persistent)
    sites.net.run(0.2)
    sites.publish(5, persistent)
    sites.net.until(lambda: len(sites.heard.contents) == 60)
    sites.middle[which].start()
    sites.settled()


@pytest.mark.parametrize("which", scenarios([0, 1]))
def test_the_far_line_of_a_gateway_in_the_middle_is_lost_and_what_was_on_it_comes_once_in_order(
    which: int,
) -> None:
    sites = Middle()
    sites.publish(5)
    sites.net.until(lambda: sites.heard.contents)
    sites.net.break_all(sites.middle[which].name, "net20")
    sites.publish(5)
    sites.settled()


@pytest.mark.slow
def test_nothing_goes_while_the_far_site_is_cut_off_and_all_when_it_is_back() -> None:
    sites = Middle()
    sites.net2.kill()
    sites.publish(5)
    sites.net.run(20)
    assert not sites.heard.contents and sites.hf.metric("site_pending") == 20
    sites.net2.start()
    sites.heard = Reader(sites.net, sites.net2.ipc, "eve").connected().subscribed(pattern="#", domain=STOCK)
    sites.settled()


def test_what_a_site_in_the_middle_does_not_know_any_more_waits_until_it_does() -> None:
    sites = Middle()
    table = tables({HF: (NET1,), NET1: (HF, NET2), NET2: (NET1,)}, NET1)
    table = {name: replace(table[name], addresses=(at,)) for name, at in ((HF, FIRST), (NET2, SECOND))}
    for node in sites.middle:
        reloaded(node, {HF: table[HF]})
    sites.publish(3)
    sites.net.run(5)
    assert not sites.heard.contents and sites.hf.metric("site_pending") == 12
    view = sites.hf.core.parts[SiteParts].gateways.views.view(NET2)
    assert view is not None and view.state == "unreachable"
    for node in sites.middle:
        reloaded(node, table)
    sites.settled()


def test_a_site_is_reached_by_another_neighbour_from_a_reload_on() -> None:
    sites = Middle()
    known = sites.hf.core.parts[SiteParts].transit.announced(NET2)
    table = tables({HF: (NET1,), NET1: (HF, NET2), NET2: (NET1,)}, HF)
    reloaded(sites.hf, {NET1: table[NET1], "SFO": table[NET1], NET2: replace(table[NET2], via="SFO")})
    sites.net.run(1)
    assert known and not sites.hf.core.parts[SiteParts].transit.announced(NET2)
    sites.publish(3)
    sites.net.run(5)
    assert not sites.heard.contents
    reloaded(sites.hf, table)
    assert sites.hf.core.parts[SiteParts].transit.announced(NET2) != known
    sites.settled()


@pytest.mark.slow
@pytest.mark.parametrize("apart", [True, False], ids=["a gateway each", "one gateway"])
def test_D23_every_member_sees_four_sites_in_a_chain(apart: bool) -> None:
    sites = Sites(CHAIN, apart, members=2)
    every = {site: sorted(node.name for node in nodes) for site, nodes in sites.nodes.items()}
    askers = [(site, asker) for site, nodes in sites.nodes.items() for asker in asking(*nodes)]
    began = sites.net.now
    for site, asker in askers:
        for other in every.keys() - {site}:
            sites.net.until(lambda a=asker, o=other: members(a, o) == every[o], 3.0)  # type: ignore[misc]
    assert sites.net.now < began + 3.0


@pytest.mark.slow
def test_a_site_behind_another_is_down_when_its_last_node_stops_and_up_when_it_is_back() -> None:
    sites = Middle()
    views = sites.hf.core.parts[SiteParts].gateways.views
    sites.net.until(lambda: views.has_member(NET2, "net20"))
    sites.net2.close()
    sites.net.until(lambda: (view := views.view(NET2)) and view.state == "down", 2.0)
    sites.publish(5)
    sites.net.run(20)
    sites.net2.start()
    sites.heard = Reader(sites.net, sites.net2.ipc, "eve").connected().subscribed(pattern="#", domain=STOCK)
    sites.net.until(lambda: views.has_member(NET2, "net20"), 65.0)
    sites.net.until(lambda: len(sites.heard.contents) == 20, 2.0)
    sites.settled()


@pytest.mark.slow
@pytest.mark.parametrize("where", scenarios(["first", "hf"]))
def test_what_is_paused_waits_where_it_was_published_also_when_the_site_in_the_middle_does_that(
    where: str,
) -> None:
    sites = Middle()
    assert said(getattr(sites, where), site=NET2).value == {"changed": True}
    nodes = [sites.hf] if where == "hf" else sites.middle
    sites.net.until(lambda: all(node.core.parts[SiteParts].through._why_paused(NET2) for node in nodes))
    sites.publish(3)
    sites.net.run(10)
    assert not sites.heard.contents and sites.hf.metric("site_pending") == 12
    assert said(getattr(sites, where), site=NET2, pause=False).value == {"changed": True}
    sites.settled()


def test_readers_of_a_far_site_are_told_what_the_first_one_had_no_room_for() -> None:
    sites = Middle()
    says(sites, Relay(NET2, (1,), 5), from_hf(sites, sender="/site/HF/node/x/client/y/session/1"))
    says(sites, Relay(NET2, (1,), 2), from_hf(sites))  # the next message reports all dropped ones
    assert [n.partition(": site: ")[2] for n in events(sites.net2, "site")] == [
        "HF discarded 7 messages for this site: its buffer was full"
    ]


def says(sites: Middle, command: Relay, envelope: Envelope) -> None:
    say(sites.hf, NET1, command, envelope)
    sites.net.run(1)


@pytest.mark.slow
def test_a_long_message_passes_whole() -> None:
    sites = Middle()
    content = bytes(range(256)) * 3000
    sites.joes[0].publish("quote", content, domain=STOCK, persistent=True)
    sites.net.until(lambda: sites.heard.contents == [content])
