"""Conflicts of two sites that set one topic: one value stays at both, and the other is kept and reported."""

from typing import Any

import pytest

from mesh.config.sites import RemoteSite
from mesh.features.sites.node import site_conflicts
from mesh.features.sites.node.parts import SiteParts
from mesh.features.sites.node.pausing import Pausing
from mesh.values import Headers, parse_message_id
from mesh.wire import commands as c
from mesh.wire.properties import decode_properties
from tests.mesh.features.sites.node.meshes import Reader, events, member
from tests.mesh.features.sites.node.test_site_relay_full import MIB, full
from tests.mesh.features.sites.node.test_sitefeed import STOCK, again, pair
from tests.mesh.features.sites.node.test_transferring import synced
from tests.seeds import scenarios
from tests.simulated_client import SimClient, Subscription
from tests.simulation import SimNetwork, SimNode

LOST = "__sys__conflict/#"
OF_QUOTE = "__sys__conflict/quote@STOCK"


class Two:
    """NYC with gull and eve, LON with heron and joe, and a reader of the lost values at each."""

    def __init__(self, persistent: bool = True) -> None:
        self.net = net = SimNetwork()
        self.persistent = persistent
        self.gull, self.heron = pair(net)
        self.eve = SimClient(net, self.gull.ipc, "eve").connected()
        self.joe = SimClient(net, self.heron.ipc, "joe").connected()
        self.lost = {"NYC": self.reads(self.gull, LOST), "LON": self.reads(self.heron, LOST)}
        self.net.run(1)

    def reads(self, node: SimNode, pattern: str, domain: str = "") -> Subscription:
        return Reader(self.net, node.ipc, "ann").connected().subscribed(pattern=pattern, domain=domain)

    def says(self, client: SimClient, text: bytes, key: str = "quote", **more: Any) -> None:
        client.publish(key, text, domain=STOCK, persistent=self.persistent, **more)

    def value(self, node: SimNode, key: str = "quote") -> bytes | None:
        last = node.core.parts.router.log.retained.get(key, STOCK)
        return last.data[last.props :] if last is not None else None

    def conflicts(self) -> int:
        return sum(node.metric("site_conflicts") for node in (self.gull, self.heron))

    def hold(self) -> None:
        """Stop all messages to other sites from now on."""
        for node in (self.gull, self.heron):
            node.core.parts[SiteParts].sender._is_paused = lambda site: True

    def quiet(self) -> None:
        """Send all waiting messages, and wait until they have arrived."""
        for node, site in ((self.gull, "LON"), (self.heron, "NYC")):
            node.core.parts[SiteParts].sender._is_paused = lambda site: False
            node.core.parts[SiteParts].sender._is_due(site)
        self.net.until(lambda: not (self.gull.metric("site_pending") or self.heron.metric("site_pending")))
        self.net.run(2)


def told(node: SimNode, key: str = OF_QUOTE) -> Headers:
    last = node.core.parts.router.log.retained.get(key, "")
    assert last is not None
    return decode_properties(last.data[: last.props]).headers


@pytest.mark.parametrize("persistent", scenarios([True, False]), ids=["persistent", "transient"])
@pytest.mark.parametrize("first", ["NYC", "LON"])
def test_the_newer_of_two_stays_at_both_sites_and_the_other_is_kept_where_that_is_found(
    persistent: bool, first: str
) -> None:
    two = Two(persistent)
    clients, nodes = {"NYC": two.eve, "LON": two.joe}, {"NYC": two.gull, "LON": two.heron}
    later = "LON" if first == "NYC" else "NYC"
    two.hold()
    two.says(clients[first], b"older")
    two.net.until(lambda: two.value(nodes[first]))
    two.says(clients[later], b"newer")
    two.net.until(lambda: two.value(nodes[later]))
    two.quiet()
    assert two.value(two.gull) == two.value(two.heron) == b"newer"
    (letter,) = two.lost[later].got
    assert two.lost[first].got == [] and two.conflicts() == 1
    assert (letter.key, letter.content, letter.is_persistent) == (OF_QUOTE, b"older", persistent)
    said = told(nodes[later])
    assert (said["conflict-site"], said["conflict-winner-site"]) == (first, later)
    assert (said["conflict-key"], said["conflict-domain"]) == ("quote", STOCK)
    assert int(said["conflict-sent"]) < int(said["conflict-winner-sent"])
    assert said["conflict-sender"].startswith(f"/site/{first}/node/")
    assert parse_message_id(said["conflict-winner-id"]) == (clients[later].stream, STOCK, 1)
    assert parse_message_id(said["conflict-id"])[1:] == (STOCK, 1)
    assert any(OF_QUOTE in note for note in events(nodes[later], "site"))


def test_who_knew_the_other_value_when_he_set_his_own_is_in_conflict_with_nobody() -> None:
    two = Two()
    for n in range(6):
        two.says((two.eve, two.joe)[n % 2], b"%d" % n)
        two.quiet()
        assert two.value(two.gull) == two.value(two.heron) == b"%d" % n
    assert two.conflicts() == 0 and two.lost["NYC"].got == two.lost["LON"].got == []


def test_of_two_that_are_as_new_that_of_the_later_name_stays_at_both() -> None:
    two = Two()
    two.hold()
    for node in (two.gull, two.heron):
        node.core.parts.context.clock._stamp = two.net.wall + 10**9
    two.says(two.joe, b"of LON")
    two.says(two.eve, b"of NYC")
    two.net.run(0.5)
    last = [node.core.parts.router.log.retained.get("quote", STOCK) for node in (two.gull, two.heron)]
    assert last[0] and last[1] and last[0].envelope.sent == last[1].envelope.sent
    two.quiet()
    assert two.value(two.gull) == two.value(two.heron) == b"of NYC"
    assert two.conflicts() == 1 and two.lost["NYC"].contents == [b"of LON"]


def test_what_lost_stays_over_a_restart_is_read_at_other_nodes_and_taken_away() -> None:
    two = Two()
    owl = member(two.net, "owl", "NYC", "gull", tables={"LON": RemoteSite("LON", domains=(STOCK,))})
    two.net.until(lambda: len(owl.alive) == 1)
    lost(two, 1)
    again(two.gull)
    two.net.until(lambda: len(owl.alive) == 1)
    heard = two.reads(owl, LOST)
    two.net.until(lambda: heard.contents == [b"of LON"])
    bob = SimClient(two.net, owl.ipc, "bob").connected()
    call = bob.ask(lambda request: c.Call(request, "erase", {"key": "__sys__conflict/k0@STOCK"}))
    two.net.until(lambda: call.reply)
    two.net.until(lambda: len(heard.got) == 2 and heard.got[1].is_erased)
    assert two.gull.core.parts.router.log.retained.get("__sys__conflict/k0@STOCK", "") is None


def lost(two: Two, count: int) -> None:
    """Create conflicts of `count` topics, which NYC wins."""
    two.hold()
    for n in range(count):
        two.says(two.joe, b"of LON", f"k{n}")
    two.net.run(0.5)
    for n in range(count):
        two.says(two.eve, b"of NYC", f"k{n}")
    two.net.run(0.5)
    two.quiet()


def test_of_very_many_that_lose_at_once_no_more_are_kept_than_a_bound_and_all_are_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(site_conflicts, "AT_ONCE", 5.0)
    monkeypatch.setattr(site_conflicts, "A_SECOND", 0.001)
    two = Two(persistent=False)
    lost(two, 40)
    assert two.conflicts() == 40
    keys = two.gull.core.parts.router.log.retained.keys()
    kept = [key for key in keys if key.startswith(LOST[:-1])]
    assert len(kept) in (5, 6) and len(two.lost["NYC"].got) == len(kept)
    assert len([note for note in events(two.gull, "site") if "was set by both" in note]) == 1


def test_a_transfer_tells_of_what_lost_unless_its_winner_knew_it() -> None:
    two = Two()
    two.says(two.joe, b"known")
    two.quiet()
    two.hold()
    two.says(two.eve, b"newer")  # it replaces the known value
    two.net.until(lambda: two.value(two.gull) == b"newer")
    two.says(two.joe, b"unknown", "other")
    two.net.until(lambda: two.value(two.heron, "other"))
    two.says(two.eve, b"of NYC", "other")
    two.net.until(lambda: two.value(two.gull, "other") == b"of NYC")
    assert two.value(two.heron) == b"known"
    two.heron.core.parts[SiteParts].outbound.by_name[
        "NYC"
    ].feed.in_flight._promises._open.clear()  # it found no space
    for _ in range(2):
        synced(two.heron)
        two.net.until(lambda: not two.heron.metric("sites_marked"))
        two.net.run(2)
    assert two.value(two.gull) == b"newer" and two.value(two.gull, "other") == b"of NYC"
    assert two.lost["NYC"].contents == [b"unknown"] and two.conflicts() == 1


def test_of_what_is_older_than_its_process_a_master_says_no_more_than_it_knows() -> None:
    two = Two()
    two.says(two.joe, b"known")
    two.quiet()
    two.hold()
    two.says(two.eve, b"newer")
    two.net.until(lambda: two.value(two.gull) == b"newer")
    again(two.gull, outboxes={})
    synced(two.heron)
    assert two.value(two.heron) == b"known"
    two.net.until(lambda: not two.heron.metric("sites_marked"))
    assert two.conflicts() == 0 and two.value(two.gull) == b"newer"


def test_what_found_no_room_on_its_way_and_is_gone_past_by_the_other_site_is_kept() -> None:
    gull, heron, _ = full()
    pausing = next(part for part in heron.core.parts.context.face if isinstance(part, Pausing))
    pausing._rows["NYC"] = True
    gull.start()
    eve = SimClient(gull.net, gull.ipc, "eve").connected()
    heard = SimClient(gull.net, heron.ipc, "ann").connected().subscribed(pattern=LOST)
    eve.publish("quote", b"of NYC", domain=STOCK, persistent=True)
    gull.net.until(lambda: heard.got)
    assert heard.contents == [bytes(MIB // 2)] and heard.got[0].key == OF_QUOTE
    assert told(heron)["conflict-winner-site"] == "NYC" and heron.metric("site_conflicts") == 1
    eve.publish("quote", b"again", domain=STOCK, persistent=True)
    gull.net.run(3)
    assert heron.metric("site_conflicts") == 1
