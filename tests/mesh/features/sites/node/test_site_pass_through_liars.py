"""Sites that send false commands to a site in the middle, and to those behind it."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.features.sites.node.gateway import Gateways
from mesh.features.sites.node.parts import SiteParts
from mesh.features.sites.wire import Behind, Relay, Relayed
from mesh.site_policy.accepting import Accepts
from mesh.values import Hop
from mesh.wire.commands import Answer, Outcome
from mesh.wire.envelope import Envelope
from mesh.wire.limits import CHAINS, SITES
from tests.mesh.envelopes import envelope
from tests.mesh.features.sites.node.chains import HF, NET1, NET2, NET3, STOCK, Middle
from tests.mesh.features.sites.node.meshes import links, say
from tests.mesh.origins import silence, silenced
from tests.seeds import scenarios
from tests.simulated_client import SimClient

MALLORY = "/site/HF/node/hf0/client/mallory/session/1"
ROUTE = (Hop("site:HF/hf0", 0, 1),)


def from_hf(sites: Middle, first: int = 1, content: bytes = b"x", **fields: Any) -> Envelope:
    it = envelope("quote", [content], first=first, domain=STOCK)
    return replace(
        it, **{"sender": MALLORY, "route": ROUTE, "sent": sites.hf.core.parts.context.clock.wall, **fields}
    )


def says(sites: Middle, *envelopes: Envelope) -> None:
    """Send envelopes for NET2 from HF to both gateways of NET1."""
    for each in envelopes:
        say(sites.hf, NET1, Relay(NET2, (1,)), each)
    sites.net.run(1)


def test_what_it_may_say_passes_and_is_read_once_though_it_came_by_two_gateways() -> None:
    sites = Middle()
    says(sites, from_hf(sites))
    assert len(sites.heard.got) == 1
    assert [hop.split("/")[0] for hop in sites.heard.got[0].route[:2]] == ["site:HF", "site:NET1"]
    assert sites.heard.got[0].sender == MALLORY


@pytest.mark.parametrize("serves", scenarios([("site/NET3",), (), ("#",)]), ids=str)
def test_nothing_passes_that_the_site_in_the_middle_does_not_serve(serves: tuple[str, ...]) -> None:
    sites = Middle(NET1={"serves": serves})
    sites.publish(1)
    says(sites, from_hf(sites))
    sites.net.run(20)
    assert not sites.heard.got and sites.hf.metric("site_pending") == 4  # they wait until NET1 serves NET2
    assert sum(node.metric("refused") for node in sites.middle) == 2
    link = sites.hf.core.parts[SiteParts].gateways.link(NET2)
    assert link is not None and (link.gateways, link.state) == ([], "not reached by NET1")


def test_the_site_at_the_end_lets_in_only_what_it_accepts_of_the_first_one() -> None:
    sites = Middle(NET2={"accepts": Accepts(("NEWS",))})
    sites.publish(1)
    sites.net.run(2)
    assert not sites.heard.got and sites.hf.metric("dead") == 4


def test_answers_for_a_stream_of_another_site_free_nothing_that_is_kept_here() -> None:
    sites = Middle()
    joe = SimClient(sites.net, sites.first.ipc, "joe").connected()
    with silenced(sites.net2.core.parts):
        joe.publish("quote", b"mine", domain=STOCK, persistent=True)
        sites.net.run(1)
    assert sites.first.core.parts[SiteParts].relaying.depth(NET2).messages == 1
    says(sites, from_hf(sites, stream=joe.stream, content=b"yours"))
    assert sorted(sites.heard.contents) == [b"mine", b"yours"]
    assert sites.first.core.parts[SiteParts].relaying.depth(NET2).messages == 1


def test_what_one_site_has_under_way_is_bounded_when_the_next_answers_nothing() -> None:
    sites = Middle()
    silence(sites.net2.core.parts)
    most = sites.first.core.parts.context.settings.tailback_bytes // 2
    through = sites.first.core.parts[SiteParts].through
    says(sites, *(from_hf(sites, n, b"x" * 500_000, stream=b"%016d" % n) for n in range(1, 101)))
    assert most - 600_000 < through.figures()["site_passing_bytes"] <= most
    assert sites.first.metric("refused")


def test_the_same_numbers_again_do_not_go_on_while_they_are_under_way() -> None:
    sites = Middle()
    sites.net.cut("net10", "net20")
    sites.net.cut("net11", "net20")
    says(sites, *[from_hf(sites)] * 50)
    assert sites.first.core.parts[SiteParts].through.figures()["site_passing_bytes"] < 1000


def test_an_answer_that_nobody_asked_for_changes_nothing() -> None:
    sites = Middle()
    for outcome in (Outcome(bytes(16), Answer(STOCK, 1, 1)), Outcome(bytes(16), Answer(STOCK, 0, 2**62))):
        for site in (NET2, HF, NET1, "x"):
            say(sites.net2, NET1, Relayed(site, (outcome,)))
    sites.net.run(1)
    assert links(sites.net2) == 2
    sites.publish(1)
    sites.settled()


@pytest.mark.parametrize("old", scenarios(["net10 net11", "hf0", "net20"]))
def test_a_site_of_an_older_release_is_given_nothing_that_it_does_not_know(
    old: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def speaks(it: Gateways) -> tuple[str, ...]:
        return (SITES,) if it._context.me.name in old.split() else (SITES, CHAINS)

    monkeypatch.setattr(Gateways, "features", speaks)
    sites = Middle()
    sites.publish(1)
    sites.net.run(5)
    assert not sites.heard.got and sites.hf.metric("site_pending") == 4
    assert not sites.hf.metric("dead")


def test_what_a_neighbour_says_of_sites_counts_only_of_those_that_are_reached_by_it() -> None:
    sites = Middle()
    views, gate = (
        sites.net2.core.parts[SiteParts].gateways.views,
        sites.net2.core.parts[SiteParts].gateways.gate(NET1),
    )
    assert gate is not None
    sites.net.until(lambda: views.has_member(HF, "hf0"))
    for name in (NET1, NET2, "SFO", *(f"x{n}" for n in range(200))):
        say(sites.first, NET2, Behind(name, "up", ("liar",)))
        say(sites.first, NET2, Behind(name, "down", ("liar",)))
    say(sites.first, NET2, Behind(HF, "sideways", ("liar",)))
    sites.net.run(0.5)
    assert not views.has_member(NET1, "liar") and views.view(NET2) is None and views.view("SFO") is None
    assert views.has_member(HF, "hf0")  # the other gateway still reports it
    assert all(len(each.behind) <= 64 for each in gate.gateways.values()) and links(sites.net2) == 2


def test_of_all_sites_behind_a_neighbour_so_many_nodes_are_kept_as_of_one() -> None:
    sites = Middle()
    gate = sites.net2.core.parts[SiteParts].gateways.gate(NET1)
    assert gate is not None
    for site in (HF, "SFO", "ROM"):
        say(sites.first, NET2, Behind(site, "up", tuple(f"n{n}" for n in range(2000))))
    sites.net.run(0.5)
    counts = sorted(sum(len(one.nodes) for one in each.behind.values()) for each in gate.gateways.values())
    assert counts == [1, 4096]


def test_a_name_that_is_none_ends_the_connection() -> None:
    sites = Middle()
    say(sites.first, NET2, Behind(HF, "up", ("a b",)))
    sites.net.until(lambda: links(sites.net2) == 1, 1.0)


def test_of_a_gateway_that_is_gone_nothing_is_under_way_any_more() -> None:
    sites = Middle()
    silence(sites.net2.core.parts)
    says(sites, from_hf(sites, content=b"x" * 1000))
    assert all(
        node.core.parts[SiteParts].through.figures()["site_passing_bytes"] > 1000 for node in sites.middle
    )
    sites.hf.kill()
    sites.net.until(lambda: not links(sites.first) - 1 and not links(sites.second) - 1)
    assert not any(
        node.core.parts[SiteParts].through.figures()["site_passing_bytes"] for node in sites.middle
    )
    assert not any(node.core.parts[SiteParts].through._flights[NET2] for node in sites.middle)


def test_what_is_put_off_for_one_site_holds_up_nothing_that_goes_to_another_one() -> None:
    sites = Middle()
    for to in (NET3, NET2):
        say(sites.hf, NET1, Relay(to, (1,)), from_hf(sites, 1 if to == NET3 else 2))
        sites.net.run(1)
    assert sites.first.metric("refused") == 1 and len(sites.heard.got) == 1


def test_what_overtook_something_that_was_lost_is_asked_for_again() -> None:
    sites = Middle()
    transit, source = sites.first.core.parts[SiteParts].transit, sites.second.uuid
    it = from_hf(sites, 2)
    transit._lost[NET2, (it.stream, it.domain), (source, False)] = 1
    refused: list[tuple[bytes, str]] = []

    def refuse(source: bytes, site: str, envelope: Envelope, state: str = "") -> None:
        refused.append((source, site))

    transit._refuse = refuse  # type: ignore[method-assign]
    transit.forward(source, NET2, [it])
    sites.net.run(1)
    assert refused == [(source, NET2)] and not sites.heard.got
