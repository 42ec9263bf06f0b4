"""Scenarios of sites: views and messages while gateways and whole sites come and go."""

import pytest

from mesh.config.sites import RemoteSite
from mesh.features.sites.node.parts import SiteParts
from tests.mesh.features.sites.node.meshes import FIRST, events, gateway, gateway_to, links, member
from tests.mesh.features.sites.node.test_sitefeed import STOCK, pair
from tests.seeds import scenarios
from tests.simulated_client import SimClient, Subscription
from tests.simulation import SimNetwork, SimNode

NYC, LON, SFO = ({site: RemoteSite(site, domains=(STOCK,))} for site in ("NYC", "LON", "SFO"))
TOLD = ("site-up", "site-down", "site-unreachable")


def reader(node: SimNode, name: str = "ann") -> Subscription:
    return SimClient(node.net, node.ipc, name).connected().subscribed("quote", domain=STOCK)


def publisher(node: SimNode, name: str = "joe") -> SimClient:
    return SimClient(node.net, node.ipc, name).connected()


def publish(client: SimClient, *texts: bytes) -> None:
    for text in texts:
        client.publish("quote", text, domain=STOCK, persistent=True)


def state(node: SimNode, site: str) -> tuple[str, list[str]]:
    view = node.core.parts[SiteParts].gateways.views.view(site)
    assert view is not None
    return view.state, sorted(view.members)


def told(node: SimNode) -> list[str]:
    """Return the kinds of the node's reports of other sites, in order."""
    return [kind for note in node.notes for kind in TOLD if f": {kind}: " in note]


def test_D8_a_long_message_goes_there_and_back_whole() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    at_gull, at_heron = reader(gull), reader(heron)
    for node in (gull, heron):
        publish(publisher(node), node.name.encode() * 1000)
    net.until(lambda: len(at_gull.contents) == len(at_heron.contents) == 2)
    assert set(at_gull.contents) == set(at_heron.contents) == {b"gull" * 1000, b"heron" * 1000}


def test_D12_a_site_that_is_split_and_merged_is_reached_all_the_time_and_nothing_comes_twice() -> None:
    net = SimNetwork()
    x = gateway(net, "x", "NYC", "LON", tables=LON)
    a = gateway(net, "a", "LON", "NYC", FIRST, tables=NYC)
    b = gateway(net, "b", "LON", "NYC", FIRST, "a", tables=NYC)
    net.until(lambda: links(x) == 2 and "b" in a.alive and state(x, "LON")[1] == ["a", "b"])
    heard, publishers = reader(x), {node: publisher(node, f"joe-{node.name}") for node in (a, b)}
    sent: dict[str, list[bytes]] = {"a": [], "b": []}

    def go_on(rounds: int) -> None:
        for _ in range(rounds):
            for node, client in publishers.items():
                sent[node.name].append(f"{node.name} {len(sent[node.name])}".encode())
                publish(client, sent[node.name][-1])
            net.run(1)
            assert state(x, "LON") == ("up", ["a", "b"])

    go_on(2)
    net.cut("a", "b")
    net.until(lambda: not a.alive and not b.alive)
    go_on(5)
    net.heal()
    net.until(lambda: "b" in a.alive and "a" in b.alive)
    go_on(5)
    net.until(lambda: len(heard.contents) >= 24)
    net.run(5)
    for name, texts in sent.items():
        assert [text for text in heard.contents if text.startswith(name.encode())] == texts
    assert len(heard.contents) == 24 and links(x) == 2
    assert told(x) == ["site-up"]


def test_D12_one_half_that_stops_does_not_take_the_site_down_though_it_knows_of_no_other() -> None:
    net = SimNetwork()
    x = gateway(net, "x", "NYC", "LON")
    a = gateway(net, "a", "LON", "NYC", FIRST)
    b = gateway(net, "b", "LON", "NYC", FIRST)  # a and b have never met
    net.until(lambda: links(x) == 2 and state(x, "LON") == ("up", ["a", "b"]))
    a.close()
    net.run(2)
    assert state(x, "LON") == ("up", ["b"]) and "site-down" not in told(x)
    b.close()
    net.run(2)
    assert state(x, "LON") == ("down", []) and told(x)[-1] == "site-down"


def test_D20_who_takes_over_in_time_is_no_news_and_nothing_is_told_twice() -> None:
    net = SimNetwork()
    watcher = gateway_to(net, "d", "NYC", {"LON": "", "SFO": ""})
    gateway(net, "g", "SFO", "NYC", watcher.address)
    a = gateway(net, "a", "LON", "NYC", watcher.address)
    b = gateway(net, "b", "LON", "NYC", watcher.address, "a")
    c = member(net, "c", "LON", "a")
    net.until(lambda: state(watcher, "LON") == ("up", ["a", "b", "c"]) and state(watcher, "SFO")[0] == "up")
    net.run(2)
    assert sorted(told(watcher)) == ["site-up", "site-up"]
    a.close()
    net.until(lambda: state(watcher, "LON")[1] == ["b", "c"])
    net.run(17)
    assert told(watcher) == ["site-up", "site-up"]
    c.close()
    net.until(lambda: not b.alive)
    b.close()
    net.run(17)
    assert told(watcher) == ["site-up", "site-up", "site-down"]
    assert state(watcher, "SFO")[0] == "up"


def test_D21_what_is_on_its_way_to_one_site_is_not_touched_when_another_one_leaves() -> None:
    net = SimNetwork()
    c = gateway(net, "c", "NYC", "LON", tables=LON)
    d = gateway(net, "d", "SFO", "LON", tables=LON)
    a = gateway_to(net, "a", "LON", {"NYC": c.address, "SFO": d.address}, tables=NYC | SFO)
    net.until(lambda: links(a) == 2)
    at_c, at_d, joe = reader(c), reader(d), publisher(a)
    publish(joe, b"1")
    net.until(lambda: at_c.contents == at_d.contents == [b"1"])
    c.close()
    net.run(2)
    net.break_all("a", "d")  # together with what is in transit
    publish(joe, b"2", b"3")
    net.until(lambda: at_d.contents == [b"1", b"2", b"3"])
    net.run(5)
    relaying = a.core.parts[SiteParts].relaying
    assert (relaying.depth("SFO").messages, relaying.depth("NYC").messages) == (0, 2)
    assert d.metric("published") == 3
    c.start()
    net.until(lambda: c.metric("published") == 2)


@pytest.mark.parametrize("lost", scenarios([2, 0, 1, 3, 4]))
def test_D27_of_five_messages_some_are_lost_on_the_way_and_all_come(lost: int) -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    heard, joe = reader(gull), publisher(heron)
    for n in range(5):
        publish(joe, b"%d" % n)
        if n >= lost:
            net.break_all("gull", "heron")
    net.until(lambda: len(heard.contents) >= 5)
    net.run(5)
    assert heard.contents == [b"0", b"1", b"2", b"3", b"4"] and not heron.metric("site_pending")


@pytest.mark.slow
def test_D30_a_site_that_says_goodbye_is_gone_at_once_and_gateways_keep_nothing_for_it() -> None:
    net = SimNetwork()
    gull = gateway(net, "gull", "NYC", "LON", tables=LON)
    heron = gateway(net, "heron", "LON", "NYC", FIRST, tables=NYC)
    hawk = gateway(net, "hawk", "LON", "NYC", FIRST, "heron", tables=NYC)
    wren = member(net, "wren", "LON", "heron", "hawk", tables=NYC)
    net.until(lambda: links(gull) == 2 and len(wren.alive) == 2)
    heard, joe = reader(gull), publisher(wren)
    publish(joe, b"0")
    net.until(lambda: heard.contents == [b"0"])
    gull.close()
    net.run(0.5)
    for node in (heron, hawk):
        assert state(node, "NYC") == ("down", []) and events(node, "site-down")
    publish(joe, b"1", b"2")
    net.run(20)
    for node in (heron, hawk):
        assert node.metric("site_pending") == 0 and "site-unreachable" not in told(node)
    assert wren.metric("site_pending") == 2, "what the file names for it waits at its master, and there alone"
    gull.start()
    back = reader(gull, "eve")
    net.until(lambda: not wren.metric("site_pending"))
    net.run(5)
    assert gull.metric("published") == 2 and set(back.contents) <= {b"0", b"1", b"2"}


@pytest.mark.slow
def test_while_the_line_is_cut_for_an_hour_nobody_here_waits_longer_and_then_all_goes() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    heard, joe = reader(gull), publisher(heron)

    sent: list[bytes] = []

    def taken() -> float:
        """Return the longest wait of ten publishes for their answers, in virtual time."""
        longest = 0.0
        for _ in range(10):
            sent.append(b"%d" % len(sent))
            begun = net.now
            publish(joe, sent[-1])
            joe.settled()
            longest = max(longest, net.now - begun)
        return longest

    before = max(taken() for _ in range(12))
    net.until(lambda: heard.contents == sent and not heron.metric("site_pending"))
    net.cut("gull", "heron")
    during = []
    for _ in range(12):
        net.run(300)
        during.append(taken())
    assert heard.contents == sent[:120] and heron.metric("site_pending") == 120
    assert max(during) <= before * 1.05
    net.heal()
    net.until(lambda: len(heard.contents) >= len(sent))
    net.run(5)
    assert heard.contents == sent
