"""Transactions over several stores of a node: nothing is visible before everything is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from mesh.operations import Delete, Op, Put
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope
from tests.each import each
from tests.mesh.features.transactions.node.clerk import Clerk
from tests.mesh.kernel.masters import RUGBY, cluster
from tests.simulated_client import client_of
from tests.simulation import SimNetwork, SimNode

FAST, BIG, MEMORY = "sqlite:///fast", "sqlite:///big", "memory"
STORES = (("jobs", FAST), ("next", BIG), ("brief", MEMORY))
ALL = (["done"], 0, 1)  # retained values, bytes of `jobs`, ready messages of `next`


def with_stores(contents: tuple[bytes, ...] = (b"1",), **terms: int) -> Clerk:
    """Return a client with deliveries of `jobs`, which is in another store than `next` and topics."""
    node = SimNetwork().node("a", stores=STORES, volatile=frozenset((MEMORY,)))
    joe = Clerk(node, "joe")
    joe.declare("next", **terms)
    for name in ("jobs", "brief"):
        joe.declare(name)
    joe.take("jobs")
    joe.put("jobs", *contents)
    joe.net.until(lambda: len(joe.contents()) == len(contents))
    joe.net.run(2.0)
    return joe


def parts(joe: Clerk) -> tuple[Any, ...]:
    return [joe.ack(1)], joe.envelope("next", b"2"), joe.message("orders/42", b"done")


def seen(joe: Clerk) -> tuple[list[str], int, int]:
    """Return what others see: retained values, bytes of `jobs`, ready messages of `next`."""
    values = joe.node.core.parts.router.log.retained.find_values(Query("exact", "orders/42", ""), 0)
    jobs, after = joe.info("jobs"), joe.info("next")
    return [bytes(value.data).decode()[-4:] for value in values], jobs["bytes"], after["ready"]


def branches(node: SimNode) -> int:
    return sum(len(disk.load().tables["branch"]) for disk in (node.disk, *node.others.values()))


def test_all_of_it_is_visible_at_once_and_no_row_is_left() -> None:
    joe = with_stores()
    net, a = joe.net, joe.node
    reader, ann = client_of(a), Clerk(a, "ann")
    s = reader.subscribed("orders/42")
    ann.take("next")
    reply = joe.commit(*parts(joe))
    assert (reply.code, reply.value) == ("", [["OK", 1, ""], ["OK", 1, ""]])
    net.until(lambda: len(s.got) == 1 and ann.contents() == [b"2"])
    assert joe.info("jobs")["acked"] == 1
    assert branches(a) == 0


@each("step", range(0, 36, 2), str)
def test_a_crash_at_any_step_leaves_all_or_nothing(step: int) -> None:
    joe = with_stores((b"1", b"0"))
    net, a = joe.net, joe.node
    all_of_it = parts(joe)
    joe.commits(*all_of_it)
    net.run(0.0007 * step)  # 36 of these are longer than the transaction
    a.kill()
    a.restart()
    assert branches(a) == 0
    held = tuple((joe.held[1][0][0], (n, n)) for n in (1, 2))
    joe.connect()
    void = joe.take("jobs", held=held).value["void"]
    values, _, ready = seen(joe)
    assert (values, void, ready) in (([], [], 0), (["done"], [1, 1], 1))
    assert joe.code(*all_of_it, count=1) == ""
    assert seen(joe)[::2] == (["done"], 1)
    assert (joe.info("jobs")["out"], branches(a)) == (1, 0)


def full_after(node: SimNode, store: str, refuses: Callable[[list[Op]], bool]) -> None:
    """Have a store refuse a kind of commit, as if its disk were full."""
    disk = node.others[store] if store else node.disk
    disk.refuses = lambda ops: refuses(list(ops))  # type: ignore[method-assign]


def writes(prefix: bytes) -> Callable[[list[Op]], bool]:
    return lambda ops: any(
        isinstance(op, Put) and op.table == "branch" and op.key[:1] == prefix for op in ops
    )


def ends(ops: list[Op]) -> bool:
    return any(isinstance(op, Delete) and op.table == "branch" for op in ops)


@pytest.mark.parametrize(("store", "prefix"), [(FAST, b"\0"), (BIG, b"\0"), ("", b"\1")])
def test_a_store_that_is_full_before_the_decision_refuses_all_of_it(store: str, prefix: bytes) -> None:
    joe = with_stores()
    net, a = joe.net, joe.node
    full_after(a, store, writes(prefix))
    all_of_it = parts(joe)
    assert joe.code(*all_of_it) == "STORE_FULL"
    full_after(a, store, lambda ops: False)
    assert (seen(joe)[::2], joe.info("jobs")["out"]) == (([], 0), 1)
    net.run(2.0)
    assert branches(a) == 0
    a.kill()
    a.restart()
    joe.connect()
    joe.take("jobs", held=((joe.held[1][0][0], (1, 1)),))
    assert joe.code(*all_of_it, count=1) == "STORE_FULL"
    assert (
        joe.code([joe.ack(1)], joe.envelope("next", b"2"), joe.message("orders/42", b"done"), count=2) == ""
    )
    assert seen(joe) == ALL


@pytest.mark.parametrize("store", [FAST, BIG, ""])
def test_a_store_that_is_full_after_the_decision_delays_all_of_it(store: str) -> None:
    joe = with_stores()
    net, a = joe.net, joe.node
    full_after(a, store, ends)
    request = joe.commits(*parts(joe))
    figures = a.core.parts.context.figures
    net.until(lambda: figures()["transactions_finishing"] == 1)
    joe.publish_again(joe.message("orders/42", b"last"))
    other = client_of(a)
    other.publish("b", b"1", persistent=True)
    net.run(3.0)
    assert (joe.said(request), seen(joe)[::2], joe.info("jobs")["out"]) == (None, ([], 0), 1)
    full_after(a, store, lambda ops: False)
    assert joe.reply_to(request).code == ""
    net.until(lambda: seen(joe)[0] == ["last"])
    assert (seen(joe)[1:], figures()["transactions_finishing"], branches(a)) == ((0, 1), 0, 0)
    a.kill()
    a.restart()
    joe.connect()
    assert seen(joe) == (["last"], 0, 1)


def test_a_decided_transaction_whose_store_is_full_is_finished_by_a_start() -> None:
    joe = with_stores()
    net, a = joe.net, joe.node
    full_after(a, BIG, ends)
    all_of_it = parts(joe)
    joe.commits(*all_of_it)
    net.until(lambda: a.core.parts.context.figures()["transactions_finishing"] == 1)
    full_after(a, BIG, lambda ops: False)
    a.kill()
    a.restart()
    assert branches(a) == 0
    joe.connect()
    assert (seen(joe), joe.code(*all_of_it, count=1)) == (ALL, "")


def test_later_messages_and_transactions_of_the_session_wait_for_it() -> None:
    joe = with_stores()
    net, a = joe.net, joe.node
    reader = client_of(a)
    s = reader.subscribed("orders/42")
    first = joe.commits(*parts(joe))
    joe.publish_again(joe.message("orders/42", b"2", flags=0))
    second = joe.commits([], joe.message("orders/42", b"3"))
    joe.publish_again(joe.message("orders/42", b"4"))
    assert [joe.reply_to(request).code for request in (first, second)] == ["", ""]
    net.until(lambda: len(s.got) == 4)
    assert [got.content for got in s.got] == [b"done", b"2", b"3", b"4"]


def test_reserved_capacity_is_not_given_to_others() -> None:
    joe = with_stores(max_count=1)
    a = joe.node
    full_after(a, BIG, ends)
    joe.commits(*parts(joe))
    joe.net.until(lambda: a.core.parts.context.figures()["transactions_finishing"] == 1)
    ann = Clerk(a, "ann")
    assert ann.code([], ann.envelope("next", b"3")) == "QUEUE_FULL"
    full_after(a, BIG, lambda ops: False)
    joe.net.until(lambda: seen(joe) == ALL)


def test_a_store_in_memory_takes_part_without_rows() -> None:
    joe = with_stores()
    a = joe.node
    before = a.disk.reach.commits
    assert joe.code([], joe.envelope("brief", b"2"), joe.message("a", b"1")) == ""
    assert a.disk.reach.commits == before + 1
    assert joe.info("brief")["ready"] == 1
    ann = Clerk(a, "ann")
    ann.take("brief")
    ann.net.until(lambda: ann.contents() == [b"2"])
    settled = ann.ack(1, queue="brief")
    a.disk.is_full = True
    assert ann.code([settled], ann.envelope("brief", b"3"), ann.message("a", b"1")) == "STORE_FULL"
    a.disk.is_full = False
    assert (ann.info("brief")["ready"], ann.info("brief")["out"]) == (0, 1)
    assert ann.code([settled], ann.envelope("brief", b"4"), ann.message("a", b"1")) == ""
    ann.net.until(lambda: ann.contents() == [b"2", b"4"])
    assert ann.info("brief")["acked"] == 1


def test_three_stores_and_one_in_memory() -> None:
    joe = with_stores()
    assert joe.code(*parts(joe), joe.envelope("brief", b"5")) == ""
    assert (seen(joe), joe.info("brief")["ready"]) == (ALL, 1)


class Desk:
    """A client of golan, whose queue `jobs` has a store of its own; heron is the master of RUGBY."""

    def __init__(self) -> None:
        self.nodes = cluster("heron", "golan", stores=(("jobs", FAST),))
        self.net, self.golan = self.nodes.net, self.nodes["golan"]
        self.joe = Clerk(self.golan, "joe")
        self.joe.declare("jobs")
        self.heard = client_of(self.nodes["heron"], "ann").subscribed(pattern="a/#", domain=RUGBY)
        self.net.run(1.0)

    def parts(self) -> tuple[Envelope, Envelope]:
        return self.joe.envelope("jobs", b"1"), self.joe.message("a/k", b"2", domain=RUGBY)


@each("step", range(0, 30, 3), str)
def test_a_message_for_another_master_leaves_with_the_rest_also_after_a_crash(step: int) -> None:
    it = Desk()
    parts = it.parts()
    it.joe.commits([], *parts)
    it.net.run(0.0007 * step)
    it.golan.kill()
    is_decided = bool(it.golan.disk.load().tables["done"])
    it.golan.restart()
    it.nodes.met()
    it.joe.connect()
    assert it.joe.info("jobs")["ready"] == is_decided
    assert it.joe.code([], *parts, count=1) == ""
    it.net.until(lambda: it.heard.contents == [b"2"])
    it.net.run(2.0)
    assert (it.heard.contents, it.joe.info("jobs")["ready"], branches(it.golan)) == ([b"2"], 1, 0)


def test_a_message_for_another_master_waits_for_a_full_store() -> None:
    it = Desk()
    full_after(it.golan, "", ends)
    request = it.joe.commits([], *it.parts())
    it.net.run(3.0)
    assert (it.joe.said(request), it.heard.contents) == (None, [])
    full_after(it.golan, "", lambda ops: False)
    assert it.joe.reply_to(request).code == ""
    it.net.until(lambda: it.heard.contents == [b"2"])
    it.net.run(2.0)
    assert (it.joe.info("jobs")["ready"], branches(it.golan), it.golan.metric("tailed_back")) == (1, 0, 0)
