"""Reports on other sites, which are the same at every node."""

from typing import Any

import pytest

from mesh.config.sites import RemoteSite
from mesh.features.sites.node.listing import merged
from mesh.wire.calls import AskSites
from mesh.wire.replies import SiteLink, SiteRow, SiteRows
from tests.mesh.features.services.node.test_listing import called
from tests.mesh.features.services.node.user import User
from tests.mesh.features.sites.node.meshes import FIRST, gateway, gateway_to, links, member
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

SITES = ("HF", "LON", "NYC", "SFO")


def seen(asker: User) -> dict[str, Any]:
    """Return what `asker` is told of the other sites, by name."""
    return {row["site"]: row for row in called(asker, "sites")["sites"]}


def members(asker: User, site: str) -> list[str]:
    return sorted(seen(asker)[site]["nodes"])


def asking(*nodes: SimNode) -> list[User]:
    """Return a client at each of the nodes."""
    return [User(node, f"asker-{node.name}") for node in nodes]


def test_whoever_is_asked_the_list_is_that_of_the_gateways() -> None:
    net = SimNetwork()
    gull = gateway(net, "gull", "NYC", "LON")
    heron = gateway(net, "heron", "LON", "NYC", FIRST)
    swift = member(net, "swift", "LON", "heron", sites={"NYC": (FIRST,)})
    net.until(lambda: links(gull) == links(heron) == 1)
    askers = asking(heron, swift)
    net.until(lambda: members(askers[1], "NYC") == ["gull"])
    for asker in askers:
        row = seen(asker)["NYC"]
        assert (row["state"], row["nodes"], row["count"]) == ("up", ["gull"], 1)
        [link] = row["links"]
        assert (link["node"], link["gateways"], link["state"]) == ("heron", ["gull"], "logged in")
        assert row["since"] is not None


def test_of_a_site_nobody_here_can_reach_it_is_told_why() -> None:
    net = SimNetwork()
    heron = gateway(net, "heron", "LON", "NYC", "tcp://127.0.0.1:9")
    net.run(20)
    row = seen(*asking(heron))["NYC"]
    assert (row["state"], row["nodes"]) == ("unreachable", [])
    assert row["links"][0]["state"].startswith("polling")
    alone = member(net, "swift", "SFO", sites={"NYC": (FIRST,)})
    row = seen(*asking(alone))["NYC"]
    assert (row["state"], row["since"], row["links"]) == ("unreachable", None, [])


def test_a_gateway_without_what_it_needs_says_what_is_missing() -> None:
    net = SimNetwork()
    waits = gateway(net, "gull", "NYC", "LON")
    [link] = seen(*asking(waits))["LON"]["links"]
    assert (link["state"], link["gateways"]) == ("waits for the other site to dial", [])
    bare = member(net, "heron", "SFO", site="SFO", is_relay=True, sites={"NYC": (FIRST,)})
    [link] = seen(*asking(bare))["NYC"]["links"]
    assert link["state"] == "no token" and "mesh join --site NYC" in link["why"]


def test_a_mesh_without_keys_says_that_it_can_have_no_gateway() -> None:
    net = SimNetwork()
    heron = net.node("heron", site="LON", is_relay=True, sites={"NYC": (FIRST,)}, ways={"NYC": "NYC"})
    [link] = seen(*asking(heron))["NYC"]["links"]
    assert link["state"] == "no keys" and "mesh init" in link["why"]
    assert any("no gateway" in note for note in heron.notes)


def why(asker: User, site: str) -> dict[str, str]:
    """Return the rank of each reason that all nodes give, by code."""
    found = called(asker, "why", kind="site", text=site, domain="")["reasons"]
    return {each["code"]: each["rank"] for each in found}


def test_why_a_site_is_or_is_not_reached_is_said_by_its_gateways() -> None:
    net = SimNetwork()
    gull = gateway(net, "gull", "NYC", "LON")
    heron = gateway(net, "heron", "LON", "NYC", FIRST)
    swift = gateway(net, "swift", "LON", "NYC", "tcp://127.0.0.1:9", "heron")
    plain = member(net, "stork", "LON", "heron", sites={"NYC": (FIRST,)})
    [asker] = asking(plain)
    net.until(lambda: why(asker, "NYC") == {"SITE_LINKED": "state", "SITE_NOT_LINKED": "perhaps"})
    heron.kill()
    swift.kill()
    net.until(lambda: set(why(asker, "NYC")) == {"SITE_UNREACHED", "NODE_DEAD"})
    assert set(why(asker, "NYK")) == {"SITE_UNKNOWN", "NEAR_SITE", "SITE_UNREACHED", "NODE_DEAD"}
    [there] = asking(gull)
    net.until(lambda: set(why(there, "LON")) == {"SITE_NOT_LINKED", "SITE_UNREACHED"})


@pytest.mark.parametrize(
    ("kind", "to"), [("client", "/site/{}/node/gull/client/ann"), ("address", "/site/{}/calc/add")]
)
def test_of_whoever_is_in_another_site_it_is_told_how_the_way_there_is(kind: str, to: str) -> None:
    net = SimNetwork()
    gateway(net, "gull", "NYC", "LON")
    gateway(net, "heron", "LON", "NYC", FIRST)
    [asker] = asking(member(net, "stork", "LON", "heron", sites={"NYC": (FIRST,)}))

    def told(site: str) -> dict[str, str]:
        found = called(asker, "why", kind=kind, text=to.format(site), domain="")["reasons"]
        return {each["code"]: each["says"] for each in found}

    net.until(lambda: "SITE_LINKED" in told("NYC"))
    assert set(told("NYC")) == {"IN_SITE", "SITE_LINKED"} and to.format("NYC") in told("NYC")["IN_SITE"]
    assert {"IN_SITE", "SITE_UNKNOWN", "SITE_UNREACHED"} < set(told("NYK"))
    [(code, says)] = told("LON").items()
    assert code in ("CLIENT_UNKNOWN", "NOBODY_SERVES") and "LON" not in says, "that is asked for here"
    assert why(asker, "LON") == {"SITE_OWN": "state"}


def test_what_waits_for_a_site_is_said_of_each_node_letters_too() -> None:
    net = SimNetwork()
    gull = gateway(net, "gull", "NYC", "LON")
    heron = gateway(net, "heron", "LON", "NYC", FIRST)
    [asker] = asking(heron)
    net.until(lambda: why(asker, "NYC") == {"SITE_LINKED": "state"})
    joe = client_of(heron, "joe")
    gull.kill()
    net.run(60)
    joe.send("/site/NYC/node/gull/client/ann/session/1", b"x", force=True)
    net.run(2)
    found = called(asker, "why", kind="site", text="NYC", domain="")["reasons"]
    [says] = [each["says"] for each in found if each["code"] == "SITE_WAITS"]
    assert says.startswith("waiting here for NYC: 1 message, ")


def test_why_a_site_that_said_that_it_stops_is_not_reached() -> None:
    net = SimNetwork()
    gull = gateway(net, "gull", "NYC", "LON")
    heron = gateway(net, "heron", "LON", "NYC", FIRST)
    [asker] = asking(gull)
    net.until(lambda: why(asker, "LON") == {"SITE_LINKED": "state"})
    heron.close()
    net.until(lambda: set(why(asker, "LON")) == {"SITE_STOPPED", "SITE_UNREACHED"})


def test_D10_the_other_gateway_goes_on_when_one_leaves_and_then_the_site_is_down() -> None:
    net = SimNetwork()
    x = gateway(net, "x", "NYC", "LON")
    a = gateway(net, "a", "LON", "NYC", FIRST)
    b = gateway(net, "b", "LON", "NYC", FIRST, "a")
    at_x, at_b = asking(x, b)
    net.until(lambda: links(x) == 2 and members(at_x, "LON") == ["a", "b"])
    a.close()
    net.until(lambda: members(at_x, "LON") == ["b"])
    assert links(x) == 1 and seen(at_x)["LON"]["state"] == "up" and members(at_b, "NYC") == ["x"]
    b.close()
    net.until(lambda: seen(at_x)["LON"]["state"] == "down")
    assert members(at_x, "LON") == [] and links(x) == 0


def test_D11_a_site_that_returns_is_up_again_on_both_sides() -> None:
    net = SimNetwork()
    a = gateway(net, "a", "LON", "SFO")
    x = gateway(net, "x", "SFO", "LON", FIRST)
    [at_a] = asking(a)
    net.until(lambda: members(at_a, "SFO") == ["x"] and links(x))
    x.kill()
    net.until(lambda: seen(at_a)["SFO"]["state"] == "unreachable")
    x.start()
    net.until(lambda: members(at_a, "SFO") == ["x"])
    net.run(60)  # no late timer reports the site as down
    assert seen(at_a)["SFO"]["state"] == seen(*asking(x))["LON"]["state"] == "up"


def test_D23_every_member_sees_four_sites_of_three() -> None:
    net = SimNetwork()
    every = {site: sorted(f"{site.lower()}{n}" for n in range(3)) for site in SITES}
    known: dict[str, str] = {}
    askers: list[tuple[str, User]] = []
    for number, (site, (first, *others)) in enumerate(every.items()):
        dials = {other: known.get(other, "") for other in SITES if other != site}
        known[site] = f"tcp://127.0.0.1:{5001 + 3 * number}"
        nodes = [gateway_to(net, first, site, dials)]
        nodes += [member(net, name, site, first, sites=dict.fromkeys(dials, ())) for name in others]
        askers += [(site, asker) for asker in asking(*nodes)]
    for site, asker in askers:
        for other in SITES:
            if other != site:
                net.until(lambda asker=asker, other=other: members(asker, other) == every[other])  # type: ignore[misc]


# --- pages ------------------------------------------------------------------------------------------------


def row(site: str, state: Any, by: str = "", since: float | None = None, nodes: int = 0) -> SiteRow:
    made = [SiteLink(node=by, state="logged in")] if by else []
    return SiteRow(site=site, state=state, since=since, count=nodes, links=made)


def test_what_one_gateway_can_reach_the_mesh_can() -> None:
    pages = [
        SiteRows(site="LON", sites=[row("NYC", "unreachable")]),
        SiteRows(site="LON", sites=[row("NYC", "unreachable", "b", 3.0)]),
        SiteRows(site="LON", sites=[row("NYC", "up", "a", 9.0, 2)]),
        SiteRows(site="LON", sites=[row("NYC", "down", "c", 1.0)]),
    ]
    found = merged(pages, AskSites(), ["d"])
    [whole] = found.sites
    assert (whole.state, whole.since, whole.count) == ("up", 9.0, 2)
    assert [link.node for link in whole.links] == ["a", "b", "c"]
    assert (found.site, found.missing) == ("LON", ["d"])


def test_of_a_node_that_says_no_more_nothing_is_told_behind_the_end_of_its_page() -> None:
    pages = [
        SiteRows(site="LON", sites=[row("A", "up", "a"), row("B", "up", "a")], next="B"),
        SiteRows(site="LON", sites=[row(site, "up", "b") for site in "ABC"]),
    ]
    found = merged(pages, AskSites(), [])
    assert ([r.site for r in found.sites], found.next) == (["A", "B"], "B")
    last = merged([SiteRows(site="LON"), SiteRows(sites=[row("C", "up", "b")])], AskSites(after="B"), [])
    assert ([r.site for r in last.sites], last.next) == (["C"], "")


def test_why_a_topic_reaches_nobody_here_is_told_with_the_sites_that_get_it() -> None:
    net = SimNetwork()
    tables = {"NYC": RemoteSite("NYC", topics=("sensors/#",))}
    heron = gateway_to(net, "heron", "LON", {"NYC": FIRST}, tables=tables)
    [asker] = asking(heron)
    found = called(asker, "why", kind="topic", text="sensors/x", domain="")["reasons"]
    assert [each["says"] for each in found if each["code"] == "SITES_TAKE"] == [
        "the message goes to the sites NYC"
    ]
    assert "NO_SUBSCRIBER" not in {each["code"] for each in found}
    found = called(asker, "why", kind="topic", text="motors/x", domain="")["reasons"]
    assert "NO_SUBSCRIBER" in {each["code"] for each in found}
