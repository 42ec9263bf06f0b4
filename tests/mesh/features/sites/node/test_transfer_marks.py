"""Automatic transfers of retained values to a site that lost its store, and to no other."""

from typing import Any

import pytest

from mesh.config.sites import RemoteSite
from mesh.features.sites.node import transfer_marks
from mesh.features.sites.node.transfer_marks import TABLE
from mesh.store.memory import MemoryStore
from tests.mesh.features.sites.node.meshes import SECOND, events, gateway, links
from tests.mesh.features.sites.node.test_sitefeed import STOCK, again, pair
from tests.mesh.features.sites.node.test_transferring import puts, values
from tests.simulation import Disk, SimNetwork, SimNode

WANTED = {f"k{n}": b"%d" % n for n in range(5)}


def two() -> tuple[SimNode, SimNode]:
    """Create gull, which was restarted, and heron, whose values gull has."""
    net = SimNetwork()
    gull, heron = pair(net)
    again(gull)
    puts(heron, "joe", WANTED, persistent=True)
    net.until(lambda: values(gull, 5) == WANTED)
    net.run(2)
    return gull, heron


def emptied(node: SimNode) -> None:
    node.kill()
    node.disk = Disk(MemoryStore())
    node.start()


def told(heron: SimNode) -> int:
    return len([note for note in events(heron, "site") if "has a new store" in note])


@pytest.mark.parametrize("restarts", [False, True])
def test_who_comes_with_a_store_that_is_new_is_sent_last_values(restarts: bool) -> None:
    gull, heron = two()
    if restarts:
        again(heron)
    emptied(gull)
    assert values(gull, 5) == {}
    gull.net.until(lambda: values(gull, 5) == WANTED and not heron.metric("sites_marked"))
    assert told(heron) == 1 and heron.metric("dead") == 0


def test_another_gateway_in_its_place_is_a_new_store_and_is_known_from_then_on() -> None:
    gull, heron = two()
    gull.kill()
    net = gull.net
    assert isinstance(net, SimNetwork)
    tables = {"LON": RemoteSite("LON", domains=(STOCK,))}
    grebe = gateway(net, "grebe", "NYC", "LON", SECOND, tables=tables)
    net.until(lambda: values(grebe, 5) == WANTED and not heron.metric("sites_marked"))
    for _ in range(2):
        again(heron)
        again(grebe)
        net.until(lambda: links(heron) == 1)
        net.run(3)
    assert told(heron) == 1


def test_restarts_and_lines_that_come_and_go_are_no_news() -> None:
    gull, heron = two()
    for node in (gull, heron, gull):
        again(node)
        gull.net.until(lambda: links(heron) == 1)
        gull.net.run(2)
    assert told(heron) == 0 and gull.metric("repeated") == 0


def test_who_shows_ever_new_stores_is_sent_last_values_once_an_hour_and_not_forgotten(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(transfer_marks, "AGAIN", 30.0)
    gull, heron = two()
    emptied(gull)
    gull.net.until(lambda: values(gull, 5) == WANTED and not heron.metric("sites_marked"))
    again(gull)
    gull.net.run(3)
    emptied(gull)
    gull.net.run(10)
    assert told(heron) == 1 and values(gull, 5) == {}
    gull.net.run(30)
    assert told(heron) == 2 and values(gull, 5) == WANTED


def test_of_a_site_that_is_named_no_more_nothing_stays_on_the_disk() -> None:
    gull, heron = two()
    again(gull)
    heron.net.run(3)

    def rows() -> Any:
        return list(heron.disk.load().tables.get(TABLE, {}))

    assert rows() == [b"\0NYC"]
    again(heron, outboxes={})
    heron.net.run(3)
    assert rows() == []
