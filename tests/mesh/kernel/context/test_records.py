"""The queries of other nodes that a node keeps on disk."""

from mesh.kernel.context.records import read_record, write_record
from mesh.operations import Delete, Put
from tests.simulation import SimNetwork, SimNode
from tools.simulator.clients.client import SimClient, client_of


def rows(node: SimNode) -> dict[bytes, bytes]:
    """Return the stored rows of queries of other nodes."""
    feeds = node.disk.store.load().tables["feed"]
    return {key: value for key, value in feeds.items() if key[:1] == b"n"}


def wanted(node: SimNode) -> list[str]:
    return sorted(query.text for value in rows(node).values() for query, _ in read_record(value).queries)


def met() -> tuple[SimNetwork, SimNode, SimNode, SimClient]:
    """Two nodes, and a client at the second one."""
    net = SimNetwork(3)
    heron, stork = net.mesh("heron", "stork")
    return net, heron, stork, client_of(stork)


def test_each_query_has_a_row_that_goes_with_it() -> None:
    net, heron, _, joe = met()
    kept = [joe.subscribed(f"room/{i}") for i in range(3)]
    net.until(lambda: wanted(heron) == ["room/0", "room/1", "room/2"])
    joe.unsubscribe(kept[1])
    net.until(lambda: wanted(heron) == ["room/0", "room/2"])


def test_after_a_restart_what_was_wanted_is_still_owed() -> None:
    net, heron, _, joe = met()
    kept = [joe.subscribed(f"room/{i}") for i in range(3)]
    net.cut("heron", "stork")
    heron.restart()
    ann = client_of(heron, "ann")
    ann.publish("room/0 room/2", b"x", b"y", persistent=True)
    ann.settled()
    net.heal()
    net.until(lambda: [s.contents for s in kept] == [[b"x"], [], [b"y"]])
    assert wanted(heron) == ["room/0", "room/1", "room/2"]


def test_one_row_with_all_as_an_earlier_release_kept_it_is_taken_up() -> None:
    net, heron, stork, joe = met()
    kept = [joe.subscribed(f"room/{i}") for i in range(2)]
    feed = heron.core.parts.neighbours.peers[stork.uuid].exchange.feed
    old = [Delete("feed", key) for key in rows(heron)]
    heron.kill()
    heron.disk.store.commit([*old, Put("feed", feed.key, write_record("stork", feed))])
    assert list(rows(heron)) == [feed.key]
    heron.start()
    net.until(lambda: feed.key not in rows(heron) and wanted(heron) == ["room/0", "room/1"])
    client_of(heron, "ann").publish("room/0 room/1", b"x", b"y", persistent=True)
    net.until(lambda: [s.contents for s in kept] == [[b"x"], [b"y"]])


def test_one_more_among_many_writes_what_it_writes_among_few() -> None:
    def written(count: int) -> int:
        net, heron, _, joe = met()
        for i in range(count):
            joe.subscribe(f"room/{i:03}")
        net.until(lambda: len(rows(heron)) == count)
        before = rows(heron)
        joe.subscribed("room/one more")
        return sum(len(value) for key, value in rows(heron).items() if before.get(key) != value)

    assert 0 < written(100) == written(10) < 100
