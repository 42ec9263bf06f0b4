"""Queues with a store of their own, which holds all data of their messages."""

import pytest

from mesh.errors import StoreError
from mesh.operations import Append, Op, Put
from mesh.store.base import begin
from mesh.streams.origin import OriginStream
from mesh.wire import commands as c
from mesh.wire.envelope import decode
from tests.mesh.features.queues.node.worker import Worker
from tests.simulated_client import client_of
from tests.simulation import Disk, SimNetwork, SimNode

ORDERS, BILLS = "sqlite:///orders", "sqlite:///bills"
STORES = (("orders/#", ORDERS), ("bills", BILLS), ("bills", ORDERS))


def a_node(**settings: object) -> tuple[SimNetwork, SimNode]:
    net = SimNetwork()
    a = net.node("a", stores=STORES, **settings)
    a.start()
    return net, a


def waiting(disk: Disk) -> list[tuple[str, bytes]]:
    """Return the address and content of each message in a store."""
    found = [decode(header, body) for _, header, body in disk.store.load().envelopes]
    return [(e.to, content) for e in found for content in e.contents()]


def rows(disk: Disk, table: str) -> set[bytes]:
    """Return the names of queues, or the domains, of the rows in a table."""
    keys = disk.store.load().tables[table]
    return {key[16:] if table == "stream" else key.partition(b"\0")[0] for key in keys}


def put(worker: Worker, queue: str, *contents: bytes) -> None:
    first = worker.put(queue, *contents)
    worker.net.until(lambda: worker.state_of(queue, first) != "")
    assert worker.state_of(queue, first) == "OK"


def test_what_is_put_lies_in_the_store_of_the_first_pattern_that_fits_with_its_dedup_row() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    for name in ("orders", "orders/eu", "bills", "others"):
        boss.declare(name)
        put(boss, name, name.encode())
    assert waiting(a.others[ORDERS]) == [("queue/orders", b"orders"), ("queue/orders/eu", b"orders/eu")]
    assert waiting(a.others[BILLS]) == [("queue/bills", b"bills")]
    assert waiting(a.disk) == [("queue/others", b"others")]
    assert rows(a.others[ORDERS], "stream") == {b"queue/orders", b"queue/orders/eu"}
    assert rows(a.others[BILLS], "stream") == {b"queue/bills"}
    assert rows(a.disk, "stream") == {b"queue/others"}
    net.until(lambda: bool(rows(a.disk, "rule")))
    for store in (ORDERS, BILLS):
        assert not any(rows(a.others[store], table) for table in ("queue", "rule", "peer", "feed"))
    assert a.metric("stored_envelopes") == 4


def test_an_ack_and_what_it_drops_are_one_commit_in_that_store() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("orders")
    put(boss, "orders", b"1", b"2", b"3")
    joe.take("orders")
    net.until(lambda: joe.contents() == [b"1", b"2", b"3"])
    assert rows(a.others[ORDERS], "consumer") == rows(a.others[ORDERS], "part") == {b"orders"}
    own = a.disk.reach
    assert joe.settle(1, 2) == []
    assert rows(a.others[ORDERS], "part") == {b"orders"} and waiting(a.others[ORDERS])
    assert joe.settle(3, 3) == []
    assert waiting(a.others[ORDERS]) == [], "answered when the drop is on disk"
    assert rows(a.disk, "part") == rows(a.disk, "consumer") == set()
    net.run(3)
    assert a.disk.reach.log == own.log
    assert a.metric("stored_envelopes") == 0


def test_after_a_crash_each_store_gives_back_what_is_its_own_and_repeats_are_known() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    for name in ("orders", "bills", "others"):
        boss.declare(name)
        put(boss, name, *(b"%s %d" % (name.encode(), n) for n in range(4)))
    joe.take("orders")
    net.until(lambda: len(joe.contents()) == 4)
    assert joe.settle(1, 2) == []
    a.kill()
    a.restart()
    boss = Worker(a, "tim")
    assert [boss.info(name)["ready"] for name in ("bills", "others")] == [4, 4]
    assert boss.info("orders")["ready"] == 0, "joe may come back for what he has"
    ann = Worker(a, "ann")
    ann.take("orders")
    net.until(lambda: len(ann.contents()) == 2)
    assert ann.contents() == [b"orders 2", b"orders 3"] and ann.tries[1] == [1, 1]
    assert ann.settle(1, 2) == []
    put(boss, "orders", b"new")
    net.until(lambda: len(ann.contents()) == 3)
    assert ann.settle(3, 3) == [] and waiting(a.others[ORDERS]) == []


def test_a_put_whose_answer_was_lost_with_the_node_is_there_once() -> None:
    _, a = a_node()
    boss = Worker(a, "boss")
    boss.declare("orders")
    put(boss, "orders", b"1")
    a.kill()
    a.restart()
    again = Worker(a, "boss")
    assert again.stream == boss.stream
    put(again, "orders", b"1")
    assert a.metric("repeated") == 1 and again.info("orders")["ready"] == 1
    assert waiting(a.others[ORDERS]) == [("queue/orders", b"1")]


def test_places_in_another_store_are_told_to_nobody_as_places_in_the_log() -> None:
    net, a = a_node(memory_bytes=10)
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    for name, count in (("others", 5), ("orders", 9)):
        boss.declare(name)
        for n in range(count):
            put(boss, name, b"%d" % n)
    passed = a.core.parts.router.log.passed
    assert passed == a.core.parts.router.shelf.next_position - 1
    told: dict[str, list[int]] = {}

    def noted(command: c.Items, envelopes: list[object]) -> None:
        for head, e in zip(command.heads, envelopes, strict=True):
            told.setdefault(e.to, []).append(head.position)  # type: ignore[attr-defined]
        items(command, envelopes)  # type: ignore[arg-type]

    items, joe._items = joe._items, noted  # type: ignore[method-assign, assignment]
    joe.take("orders", 1)
    joe.take("others", 2)
    net.until(lambda: len(joe.contents()) + len(joe.got[2]) == 14)
    assert told["queue/orders"] == [0] * 9
    assert 0 not in told["queue/others"]


def test_a_full_store_refuses_what_is_put_there_and_nothing_else() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    for name in ("orders", "bills", "others"):
        boss.declare(name)
    put(boss, "orders", b"before")
    joe.take("orders")
    net.until(lambda: joe.contents() == [b"before"])
    a.others[ORDERS].is_full = a.others[ORDERS].has_reserve = True
    first = boss.put("orders", b"refused")
    net.until(lambda: boss.state_of("orders", first) == "STORE_FULL")
    put(boss, "bills", b"1")
    put(boss, "others", b"1")
    assert joe.settle(1, 1) == [], "acks pass"
    a.others[ORDERS].is_full = False
    put(boss, "orders", b"again")
    net.until(lambda: joe.contents() == [b"before", b"again"])
    assert a.stop is None and waiting(a.others[ORDERS]) == [("queue/orders", b"again")]


def test_what_was_refused_for_want_of_room_stays_so_over_a_crash() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    boss.declare("orders")
    put(boss, "orders", b"before")
    a.others[ORDERS].is_full = a.others[ORDERS].has_reserve = True
    for _ in range(20):
        first = boss.put("orders", b"refused")
        net.until(lambda first=first: boss.state_of("orders", first) == "STORE_FULL")  # type: ignore[misc]
        (row,) = a.others[ORDERS].store.load().tables["stream"].values()
        assert OriginStream.unpack(row).refused.covers(first, first), "before it is answered"
    a.kill()
    a.others[ORDERS].is_full = False
    a.restart()
    again = Worker(a, "boss")
    again.put("orders", b"refused", first=first)
    net.until(lambda: again.state_of("orders", first) == "REFUSED")
    assert waiting(a.others[ORDERS]) == [("queue/orders", b"before")]


def test_a_purge_and_a_removal_are_answered_when_that_store_has_them() -> None:
    _, a = a_node()
    boss = Worker(a, "boss")
    boss.declare("orders", scope="node")
    put(boss, "orders", b"1", b"2")
    assert boss.ok(boss.ask("queue_purge", name="orders")) == {"purged": 2, "missing": [], "away": []}
    assert waiting(a.others[ORDERS]) == []
    put(boss, "orders", b"3")
    assert boss.ok(boss.ask("queue_remove", name="orders", if_unused=False)) == {"removed": 1}
    assert waiting(a.others[ORDERS]) == [] and rows(a.disk, "queue") == set()
    a.kill()
    a.restart()
    assert Worker(a, "joe").ask("queue_info", name="orders").code == "NO_QUEUE"


def test_the_dead_go_where_they_are_published() -> None:
    net, a = a_node()
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("orders", dead_letter="queue/bills")
    boss.declare("bills")
    put(boss, "orders", b"poison")
    joe.take("orders")
    net.until(lambda: joe.contents() == [b"poison"])
    assert joe.settle(entries=((1, 1, c.REJECT, 0, "no"),)) == []
    net.until(lambda: waiting(a.others[ORDERS]) == [])
    assert waiting(a.others[BILLS]) == [("queue/bills", b"poison")]


def test_what_is_paged_out_comes_from_that_store() -> None:
    net, a = a_node(memory_bytes=10)
    boss, joe = Worker(a, "boss"), Worker(a, "joe")
    boss.declare("orders")
    boss.declare("others")
    for n in range(300):
        boss.put("orders", b"%d" % n)
        boss.put("others", b"x%d" % n)
    net.until(lambda: boss.state_of("orders", 300) == boss.state_of("others", 300) == "OK")
    a.kill()
    a.restart()
    joe = Worker(a, "joe")
    joe.take("orders", credit=500)
    net.until(lambda: len(joe.contents()) == 300)
    assert joe.contents() == [b"%d" % n for n in range(300)]
    assert joe.settle(1, 300) == []
    net.until(lambda: waiting(a.others[ORDERS]) == [])
    assert len(waiting(a.disk)) == 300


def test_a_closed_session_leaves_no_row_in_any_store() -> None:
    net, a = a_node()
    boss = Worker(a, "boss")
    for name in ("orders", "others"):
        boss.declare(name)
        put(boss, name, b"1")
    boss.say(c.Bye())
    net.until(lambda: not rows(a.others[ORDERS], "stream") and not rows(a.disk, "stream"))


def test_a_message_that_lies_in_the_wrong_store_is_an_error_at_the_start() -> None:
    _, a = a_node()
    boss = Worker(a, "boss")
    boss.declare("orders")
    put(boss, "orders", b"1")
    a.kill()
    ((_, header, body),) = a.others[ORDERS].store.load().envelopes
    for there in (a.disk, a.others[BILLS]):
        kept = there.store.load()
        position = begin(there.store, 9).next_position
        ops: list[Op] = [Append(position, header, body)]
        there.store.commit(ops)
        with pytest.raises(StoreError, match="queue/orders") as error:
            a.start()
        assert error.value.code == "STORE_MISPLACED"
        a._fall_silent()
        there.store = type(there.store)()
        there.store.commit([Put(t, k, v) for t, them in kept.tables.items() for k, v in them.items()])


def test_a_pattern_for_queues_does_not_fit_durable_subscriptions() -> None:
    net = SimNetwork()
    a = net.node("a", stores=(("#", ORDERS), ("+/audit", ORDERS)))
    boss = Worker(a, "boss")
    boss.ok(boss.ask("durable", name="audit", queries=[("exact", "k", "")]))
    boss.declare("orders")
    put(boss, "orders", b"order")
    joe = client_of(a)
    joe.publish("k", b"1")
    joe.settled()
    for _ in range(2):
        assert waiting(a.disk) == [("queue/sub/audit", b"1")]
        assert waiting(a.others[ORDERS]) == [("queue/orders", b"order")]
        a.restart()
    boss = Worker(a, "boss")
    assert boss.info("sub/audit")["ready"] == boss.info("orders")["ready"] == 1
