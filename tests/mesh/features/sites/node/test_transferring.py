"""Transfers of retained values to a site that lacks them: newer ones there stay, while nodes fail."""

from typing import Any

import pytest
from msgspec.structs import replace

from mesh.config.sites import RemoteSite
from mesh.features.sites.model.transfers import SiteTransfer
from mesh.features.sites.node.parts import SiteParts
from mesh.mapping.rules import Rule
from mesh.site_policy.accepting import Accepting, Accepts
from mesh.wire import commands as c
from mesh.wire.envelope import NO_RELAY
from tests.mesh.features.sites.node.meshes import SECOND, Reader, events, gateway, links
from tests.mesh.features.sites.node.test_site_relay import Sites
from tests.mesh.features.sites.node.test_site_relay_full import full
from tests.mesh.features.sites.node.test_sitefeed import STOCK, again, pair
from tests.seeds import scenarios
from tests.simulated_client import SimClient, client_of
from tests.simulation import SimNetwork, SimNode


def synced(node: SimNode, site: str = "NYC") -> Any:
    """Return the reply to a `site_sync` call with node rights, as `mesh relay sync` makes it."""
    client = client_of(node).connected()
    for conn in node.core._conns.values():
        conn.grant = "node"
    call = client.ask(lambda request: c.Call(request, "site_sync", {"site": site}))
    node.net.until(lambda: call.reply)
    return call.reply


def puts(node: SimNode, name: str, values: dict[str, bytes], **more: Any) -> SimClient:
    client = SimClient(node.net, node.ipc, name).connected()
    for key, value in values.items():
        client.publish(key, value, domain=STOCK, **more)
    client.settled()
    return client


def values(node: SimNode, count: int) -> dict[str, bytes]:
    """Return the retained values of the first `count` topics at the node."""
    retained = node.core.parts.router.log.retained
    found = {f"k{n}": retained.get(f"k{n}", STOCK) for n in range(count)}
    return {key: last.data for key, last in found.items() if last is not None}


def before(count: int, **more: Any) -> tuple[SimNode, SimNode, dict[str, bytes]]:
    """Create gull and heron. heron has `count` retained values from before it knew NYC."""
    net = SimNetwork()
    gull, heron = pair(net)
    outboxes = heron._settings["outboxes"]
    again(heron, outboxes={})
    wanted = {f"k{n}": b"%d" % n for n in range(count)}
    puts(heron, "joe", wanted, persistent=True, **more)
    again(heron, outboxes=outboxes)
    net.until(lambda: links(heron) == 1)
    net.run(2)
    assert values(gull, count) == {}
    return gull, heron, wanted


def test_D9_a_site_that_starts_empty_is_sent_all_last_values_and_told_to_its_subscribers() -> None:
    gull, heron, wanted = before(200)
    ann = SimClient(gull.net, gull.ipc, "ann").connected()
    heard = ann.subscribed("k7", domain=STOCK)
    reply = synced(heron)
    assert (reply.value["nodes"], reply.value["missing"]) == (["heron"], [])
    gull.net.until(lambda: values(gull, 200) == wanted)
    gull.net.until(lambda: not heron.metric("sites_marked"))
    gull.net.until(lambda: heard.contents == [b"7"])
    assert heard.got[0].sender.startswith("/site/LON/node/heron/")
    assert any("all its retained values: 200" in note for note in events(heron, "site"))
    assert heron.metric("site_transfers") == 0
    assert synced(heron, "SFO").code == "UNKNOWN_SITE"


def test_what_is_newer_or_the_same_over_there_stays_and_nobody_gets_it_twice() -> None:
    gull, heron, wanted = before(3)
    puts(gull, "eve", {"k1": b"newer"}, persistent=True)
    ann = SimClient(gull.net, gull.ipc, "ann").connected()
    heard = [ann.subscribed(f"k{n}", domain=STOCK) for n in range(3)]
    gull.net.run(1)
    for _ in range(2):
        synced(heron)
        gull.net.until(lambda: not heron.metric("sites_marked"))
        gull.net.run(2)
    assert values(gull, 3) == {**wanted, "k1": b"newer"}
    assert [each.contents for each in heard] == [[b"0"], [b"newer"], [b"2"]]


def test_what_is_on_its_way_by_itself_is_not_sent_besides() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    ann = SimClient(net, gull.ipc, "ann").connected()
    heard = ann.subscribed("k0", domain=STOCK)
    sender = heron.core.parts[SiteParts].sender
    is_paused, sender._is_paused = sender._is_paused, lambda site: True
    puts(heron, "joe", {"k0": b"live"}, persistent=True)
    synced(heron)
    net.until(lambda: not heron.metric("sites_marked"))
    assert heard.got == []
    sender._is_paused = is_paused
    sender._is_due("NYC")
    net.until(lambda: heard.got)
    net.run(2)
    assert heard.contents == [b"live"] and not heard.got[0].is_initial


def erases(node: SimNode, key: str, domain: str = STOCK) -> None:
    """Erase a topic at that node."""
    bob = Reader(node.net, node.ipc, "bob").connected()
    call = bob.ask(lambda request: c.Call(request, "erase", {"key": key, "domain": domain}))
    node.net.until(lambda: call.reply)
    assert call.reply is not None and call.reply.code == "", call.reply
    node.net.run(2)


@pytest.mark.parametrize("domain", scenarios([STOCK, ""]), ids=["in its domain", "in all"])
@pytest.mark.parametrize("restarts", scenarios([True, False]), ids=["after a restart", "at once"])
def test_what_was_erased_over_there_since_stays_erased(restarts: bool, domain: str) -> None:
    gull, heron, wanted = before(3)
    synced(heron)
    gull.net.until(lambda: values(gull, 3) == wanted)
    erases(gull, "k1", domain)
    erases(gull, "k2", domain)
    puts(gull, "eve", {"k2": b"anew"}, persistent=True)
    if restarts:
        again(gull)
        gull.net.until(lambda: links(heron) == 1)
    synced(heron)
    gull.net.until(lambda: not heron.metric("sites_marked"))
    assert values(gull, 3) == {"k0": b"0", "k2": b"anew"}


def two_gateways(gull: SimNode) -> SimNode:
    """Create grebe, another gateway of NYC."""
    net = gull.net
    assert isinstance(net, SimNetwork)
    tables = {"LON": RemoteSite("LON", domains=(STOCK,))}
    grebe = gateway(net, "grebe", "NYC", "LON", SECOND, "gull", tables=tables)
    net.until(lambda: links(grebe) == 1 and len(gull.alive) == 1)
    return grebe


@pytest.mark.parametrize("domain", scenarios([STOCK, ""]), ids=["in its domain", "in all"])
def test_what_was_erased_at_one_gateway_is_not_brought_back_by_another(domain: str) -> None:
    gull, heron, wanted = before(20)
    synced(heron)
    gull.net.until(lambda: values(gull, 20) == wanted)
    grebe = two_gateways(gull)
    for n in range(10):
        erases(gull, f"k{n}", domain)
    again(grebe)
    gull.kill()
    heron.net.until(lambda: links(heron) == 1 and heron.core.parts[SiteParts].relaying.has_way("NYC"))
    synced(heron)
    heron.net.until(lambda: not heron.metric("sites_marked"))
    assert values(grebe, 20) == {f"k{n}": b"%d" % n for n in range(10, 20)}


@pytest.mark.parametrize("who", scenarios(["both", "heron", "gull"]))
def test_who_dies_in_the_middle_goes_on_and_nothing_is_lacking(who: str) -> None:
    gull, heron, wanted = before(250)
    synced(heron)
    gull.net.until(lambda: len(values(gull, 250)) > 100)
    assert len(values(gull, 250)) < 250, "it is in the middle"
    for node in (heron, gull):
        if who in (node.name, "both"):
            node.kill()
    gull.net.run(3)
    for node in (gull, heron):
        if who in (node.name, "both"):
            node.start()
    gull.net.until(lambda: values(gull, 250) == wanted and not heron.metric("sites_marked"))


@pytest.mark.slow
def test_of_two_gateways_there_one_dies_and_the_other_takes_what_is_lacking() -> None:
    gull, heron, wanted = before(250)
    net = gull.net
    assert isinstance(net, SimNetwork)
    there = {"LON": RemoteSite("LON", domains=(STOCK,))}
    rules = (Rule("gull", domains=(STOCK,)),)
    grebe = gateway(net, "grebe", "NYC", "LON", SECOND, "gull", tables=there, rules=rules)
    gull.net.until(lambda: links(heron) == 2)
    synced(heron)
    net.until(lambda: 100 < len(values(gull, 250) | values(grebe, 250)) < 250)
    grebe.kill()
    gull.net.until(lambda: not heron.metric("sites_marked"))
    assert values(gull, 250) | values(grebe, 250) == wanted


def test_a_site_that_lacks_what_found_no_room_is_sent_its_last_value_by_itself() -> None:
    gull, heron, joe = full()
    joe.publish("quote", b"last", domain=STOCK, persistent=True)
    joe.settled()
    last = heron.core.parts.router.log.retained.get("quote", STOCK)
    gull.start()
    gull.net.until(lambda: not heron.metric("sites_marked"))
    there = gull.core.parts.router.log.retained.get("quote", STOCK)
    assert last is not None and there is not None and there.data == last.data == b"last"
    assert heron.metric("site_dropped") == 0, "so nothing is lacking any more"


def test_what_stays_at_home_or_came_from_there_is_not_sent() -> None:
    gull, heron, wanted = before(1)
    puts(heron, "eve", {"k1": b"home"}, persistent=True, flags=NO_RELAY)
    puts(gull, "ann", {"k2": b"theirs"}, persistent=True)
    heron.net.until(lambda: values(heron, 3).get("k2"))
    synced(heron)
    gull.net.until(lambda: not heron.metric("sites_marked"))
    assert values(gull, 3) == {**wanted, "k2": b"theirs"}
    assert any("its retained values: 1" in note for note in events(heron, "site"))


def test_a_site_that_may_not_write_there_is_refused_and_that_is_told() -> None:
    gull, heron, _ = before(2)
    again(gull, accepting={"LON": Accepting(RemoteSite("LON", accepts=Accepts(("NEWS",))))})
    gull.net.until(lambda: links(heron) == 1)
    synced(heron)
    gull.net.until(lambda: not heron.metric("sites_marked"))
    assert any("it refused 2" in note for note in events(heron, "site")) and values(gull, 2) == {}
    assert heron.metric("dead") == 0


def test_an_older_site_takes_none_which_is_told_and_no_value_is_a_dead_letter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gull, heron, _ = before(2)
    monkeypatch.setattr("mesh.features.sites.node.arrivals.INITIAL", 0)  # as in an older release
    synced(heron)
    gull.net.until(lambda: any("does not accept retained values" in note for note in events(heron, "site")))
    gull.net.run(60)
    assert len([n for n in events(heron, "site") if "does not accept retained values" in n]) == 1
    assert heron.metric("dead") == 0 and heron.metric("sites_marked") == 1


@pytest.mark.parametrize("persistent", scenarios([True, False]), ids=["persistent", "transient"])
def test_where_a_rule_names_the_master_there_that_one_has_them(persistent: bool) -> None:
    sites = Sites("tern")
    puts(sites.wren, "eve", {f"k{n}": b"%d" % n for n in range(20)}, persistent=persistent)
    sites.net.until(lambda: len(values(sites.tern, 20)) == 20)
    retained = sites.tern.core.parts.router.log.retained
    for n in range(10):
        retained.remove_value(f"k{n}", STOCK)
    heard = [sites.ann.subscribed(f"k{n}", domain=STOCK, initial=False) for n in range(20)]
    sites.net.run(1)
    assert sorted(synced(sites.heron).value["nodes"]) == ["hawk", "heron", "wren"]
    sites.net.until(lambda: len(values(sites.tern, 20)) == 20 and not sites.wren.metric("sites_marked"))
    sites.net.run(2)
    assert [each.contents for each in heard] == [[b"%d" % n] if n < 10 else [] for n in range(20)]


def test_what_finds_no_room_during_a_transfer_is_lacking_until_the_next_one_is_over(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    gull, heron, wanted = before(250)
    begun: list[SiteTransfer] = []

    def begin(*given: Any) -> SiteTransfer:
        begun.append(SiteTransfer(*given))
        return begun[-1]

    monkeypatch.setattr("mesh.features.sites.node.transferring.SiteTransfer", begin)
    synced(heron)
    gull.net.until(lambda: len(values(gull, 250)) > 100)
    heron.core.parts[SiteParts].sender._marking.dropped("NYC", 5)
    gull.net.until(lambda: not heron.metric("sites_marked"))
    assert values(gull, 250) == wanted
    assert [each.dropped for each in begun] == [0, 5], "the first may have gone past what was lost"


@pytest.mark.parametrize("who", scenarios(["gull", "heron"]))
def test_a_disk_that_is_full_during_a_transfer_makes_it_wait_and_nothing_is_lacking(who: str) -> None:
    gull, heron, wanted = before(90)
    synced(heron)
    gull.net.until(lambda: len(values(gull, 90)) > 20)
    node = {"heron": heron, "gull": gull}[who]
    node.disk.is_full = True
    gull.net.run(5)
    if who == "gull":
        assert len(values(gull, 90)) < 90 and heron.metric("sites_marked") == 1
    node.disk.is_full = False
    gull.net.until(lambda: values(gull, 90) == wanted and not heron.metric("sites_marked"), limit=200)
    assert heron.metric("dead") == 0 and gull.metric("site_conflicts") == 0
    again(gull)
    assert values(gull, 90) == wanted, "and it is on the disk"


def test_a_mark_that_finds_no_room_on_the_disk_has_the_transfer_done_all_the_same() -> None:
    gull, heron, wanted = before(20)
    heron.disk.is_full = True
    client = client_of(heron).connected()
    for conn in heron.core._conns.values():
        conn.grant = "node"
    client.ask(lambda request: c.Call(request, "site_sync", {"site": "NYC"}))
    gull.net.until(lambda: values(gull, 20) == wanted)
    heron.disk.is_full = False
    gull.net.run(5)
    assert heron.metric("sites_marked") == 0


@pytest.mark.parametrize("year", scenarios([2554, 2100]))
def test_a_last_value_of_the_year_2100_stays_at_home_and_holds_up_no_other_one(year: int) -> None:
    gull, heron, _ = before(3)
    stamp = (year - 1970) * 31_556_952 * 10**9
    values_of = heron.core.parts.router.log.retained
    last = values_of.get("k1", STOCK)
    assert last is not None
    values_of.put_all([replace(last, envelope=replace(last.envelope, sent=stamp, stream=b"x" * 16))])
    synced(heron)
    gull.net.until(lambda: not heron.metric("sites_marked"))
    assert values(gull, 3) == {"k0": b"0", "k2": b"2"}
    assert "1 stay here" in events(heron, "site")[-1]
    for node in (gull, heron):
        assert node.core.parts.context.clock.last_stamp < node.wall + 10**9
    puts(heron, "eve", {"k0": b"live"}, persistent=True)
    gull.net.until(lambda: values(gull, 3)["k0"] == b"live")
