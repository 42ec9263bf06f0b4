"""Messages without space for a site that is unreachable for long: they are refused, or counted."""

from typing import Any

import pytest

from mesh.config.sites import RemoteSite
from mesh.features.sites.node.parts import SiteParts
from mesh.features.sites.wire import Relay
from mesh.site_policy.selection import Selection
from tests.mesh.features.sites.node.meshes import Reader, events, links, member, say
from tests.mesh.features.sites.node.test_gateway_reload import reloaded
from tests.mesh.features.sites.node.test_listing import asking, seen, why
from tests.mesh.features.sites.node.test_sitefeed import STOCK, again, pair
from tests.seeds import scenarios
from tests.simulated_client import SimClient
from tests.simulation import SimNetwork, SimNode

MIB = 1024 * 1024
ROOM = 2 * MIB
REJECTING = frozenset({"NYC"})


def full(count: int = 12, persistent: bool = True, **settings: Any) -> tuple[SimNode, SimNode, SimClient]:
    """Publish `count` halves of a MiB for NYC, which is down, in LON, which has space for four."""
    net = SimNetwork()
    gull, heron = pair(net)
    again(heron, outboxes={"NYC": ROOM}, **settings)
    gull.kill()
    net.run(20)
    joe = SimClient(net, heron.ipc, "joe").connected()
    for _ in range(count):
        half(joe, persistent)
    return gull, heron, joe


def half(joe: SimClient, persistent: bool = True) -> None:
    joe.publish("quote", bytes(MIB // 2), domain=STOCK, persistent=persistent)
    joe.settled()


def states(joe: SimClient, count: int) -> list[str]:
    return [joe.state(n + 1, STOCK) for n in range(count)]


@pytest.mark.parametrize("persistent", scenarios([True, False]), ids=["persistent", "transient"])
def test_what_was_answered_and_found_no_room_is_counted_told_and_listed(persistent: bool) -> None:
    gull, heron, joe = full(persistent=persistent)
    assert set(states(joe, 12)) == {"OK"}
    lacks = 12 - heron.metric("site_pending")
    assert 5 <= lacks <= 9 and (heron.metric("sites_marked"), heron.metric("site_dropped")) == (1, lacks)
    heron.net.run(10)
    told = events(heron, "site")
    assert any(f"will lack {lacks} messages" in note for note in told) and len(told) <= 4, told
    assert any("will lack 1 message:" in note for note in told), told
    [asker] = asking(heron)
    assert seen(asker)["NYC"]["lacks"] == lacks and why(asker, "NYC")["SITE_LACKS"] == "perhaps"
    gull.start()
    heron.net.until(lambda: not heron.metric("sites_marked"))
    heron.net.run(5)
    assert gull.metric("published") == 12 - lacks + 1, "and the last value of the topic"


def test_what_a_site_lacks_is_known_after_a_start_too() -> None:
    gull, heron, _ = full()
    lacks = heron.metric("site_dropped")
    half(SimClient(heron.net, heron.ipc, "eve").connected())
    again(heron)
    assert heron.metric("site_dropped") in (lacks, lacks + 1) and lacks
    gull.start()
    heron.net.until(lambda: gull.metric("published") >= 12 - lacks)


@pytest.mark.parametrize("persistent", scenarios([True, False]), ids=["persistent", "transient"])
def test_where_it_is_so_configured_it_is_refused_before_anybody_has_it(persistent: bool) -> None:
    gull, heron, joe = full(0, persistent, rejecting=REJECTING)
    heard = SimClient(heron.net, heron.ipc, "ann").connected().subscribed("quote", domain=STOCK)
    for _ in range(12):
        half(joe, persistent)
    found = states(joe, 12)
    taken = found.count("OK")
    assert 3 <= taken <= 7 and found == ["OK"] * taken + ["SITE_FULL"] * (12 - taken)
    assert heron.metric("site_pending") == len(heard.got) == taken
    assert heron.metric("site_dropped") == heron.metric("sites_marked") == 0
    gull.start()
    heron.net.until(lambda: gull.metric("published") == taken and not heron.metric("site_pending"))
    half(joe, persistent)
    assert joe.state(13, STOCK) == "OK", "there is room again"


def test_what_is_on_its_way_to_the_disk_when_the_last_room_goes_is_kept() -> None:
    gull, heron, joe = full(0, rejecting=REJECTING)
    for _ in range(12):
        joe.publish("quote", bytes(MIB // 2), domain=STOCK, persistent=True)
    joe.settled()
    taken = states(joe, 12).count("OK")
    assert heron.metric("site_pending") == taken and heron.metric("site_dropped") == 0
    gull.start()
    heron.net.until(lambda: gull.metric("published") == taken)


def test_what_is_for_nobody_else_goes_on_being_taken() -> None:
    _, _, joe = full(rejecting=REJECTING)
    joe.publish("quote", b"here", domain="NEWS", persistent=True)
    joe.settled()
    assert joe.state(1, "NEWS") == "OK"


def test_a_site_that_is_named_no_more_lacks_nothing() -> None:
    _, heron, _ = full()
    assert heron.metric("sites_marked") == 1
    named = {name: heron._settings[name] for name in ("selection", "outboxes")}
    again(heron, outboxes={}, selection=Selection())
    assert heron.metric("sites_marked") == 0
    SimClient(heron.net, heron.ipc, "eve").connected().publish("quote", b"", domain="NEWS", persistent=True)
    heron.net.run(2)
    again(heron, **named)
    assert heron.metric("sites_marked") == 0


def test_readers_over_there_are_told_of_the_gap_at_the_gateway_and_behind_it() -> None:
    gull, heron, _ = full(0)
    net = heron.net
    assert isinstance(net, SimNetwork)
    gull.start()
    tern = member(net, "tern", "NYC", "gull", tables={"LON": RemoteSite("LON", domains=(STOCK,))})
    net.until(lambda: "tern" in gull.alive and links(heron))
    readers = [Reader(net, node.ipc, f"ann-{node.name}").connected() for node in (gull, tern)]
    heard = [reader.subscribed("quote", domain=STOCK) for reader in readers]
    net.cut("gull", "heron")
    net.run(20)
    joe = SimClient(net, heron.ipc, "jim").connected()
    for _ in range(12):
        half(joe)
    lacks = heron.metric("site_dropped")
    assert lacks > 3
    net.heal()
    net.until(lambda: all(len(each.got) >= 12 - lacks for each in heard))
    half(joe)
    net.until(lambda: all(each.dropped == lacks for each in heard))
    assert len([note for note in events(gull, "site") if "its buffer was full" in note]) == 1


def test_a_site_that_claims_to_have_dropped_without_end_harms_no_reader_and_is_told_of_rarely() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    heard = SimClient(net, gull.ipc, "ann").connected().subscribed("quote", domain=STOCK)
    for _ in range(50):
        say(heron, "NYC", Relay("NYC", (), 2**32 - 1))
    net.run(1)
    half(SimClient(net, heron.ipc, "joe").connected())
    net.until(lambda: heard.got)
    assert heard.dropped == 50 * (2**32 - 1) and len(events(gull, "site")) == 1


def owed_here(node: SimNode) -> None:
    """Subscribe at the node without reading, so that all messages stay in its log."""
    SimClient(node.net, node.ipc, "eve").connected().subscribed("quote", domain=STOCK, rate=0)


def test_what_found_no_room_is_not_judged_anew_after_a_start_though_others_are_owed_it() -> None:
    net = SimNetwork()
    gull, heron = pair(net)
    again(heron, outboxes={"NYC": ROOM})
    gull.kill()
    net.run(20)
    owed_here(heron)
    joe = SimClient(net, heron.ipc, "joe").connected()
    for n in range(12):
        joe.publish("quote", b"%d" % n + bytes(MIB // 2), domain=STOCK, persistent=True)
        joe.publish("quote", b"", domain="NEWS", persistent=True)  # not for NYC
        joe.settled()
    net.run(5)
    kept, lacks = heron.metric("site_pending"), heron.metric("site_dropped")
    assert (kept + lacks, heron.metric("stored_envelopes")) == (12, 12) and lacks > 3
    for _ in range(3):
        again(heron)
        assert (heron.metric("site_pending"), heron.metric("site_dropped")) == (kept, lacks)
    assert len(heron.core.parts[SiteParts].outbound.by_name["NYC"].feed.passed_over.places()) == 1
    gull.start()
    got = Reader(net, gull.ipc, "ann").connected().subscribed("quote", domain=STOCK)
    net.until(lambda: not heron.metric("site_pending") and not heron.metric("sites_marked"))
    net.run(3)
    assert [content.rstrip(b"\0") for content in got.contents] == [b"%d" % n for n in (*range(kept), 11)]
    again(heron)
    assert (heron.metric("site_pending"), heron.metric("site_dropped")) == (0, 0)


def test_what_was_kept_stays_over_a_start_with_a_smaller_bound() -> None:
    _, heron, _ = full(3)
    assert heron.metric("site_pending") == 3
    again(heron, outboxes={"NYC": MIB})
    assert (heron.metric("site_pending"), heron.metric("site_dropped")) == (3, 0)
    half(SimClient(heron.net, heron.ipc, "jim").connected())
    assert (heron.metric("site_pending"), heron.metric("site_dropped")) == (3, 1), "but no more"


@pytest.mark.parametrize("size", scenarios([MIB, 4 * MIB]))
def test_a_bound_that_is_read_again_counts_at_once_and_costs_nothing_that_waits(size: int) -> None:
    _, heron, joe = full(3)
    reloaded(heron, {"NYC": RemoteSite("NYC", domains=(STOCK,), max_bytes=size)})
    assert (heron.metric("site_pending"), heron.metric("site_dropped")) == (3, 0)
    for _ in range(3):
        half(joe)
    lacks = 0 if size > ROOM else 3
    assert (heron.metric("site_pending"), heron.metric("site_dropped")) == (6 - lacks, lacks)
