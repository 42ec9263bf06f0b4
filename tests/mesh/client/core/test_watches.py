"""Watches of an address: the list of its servers and its changes, from a node that the test plays."""

from __future__ import annotations

import gc

import pytest

from mesh.client.core.watches import AddressWatch, Registration
from mesh.errors import Closed
from mesh.wire import commands as c
from mesh.wire.serving import pack_numbers
from tests.mesh.client.core.benches import CoreBench

UUID = {name: name.encode() * 16 for name in "abc"}
ADDRESS = ("address", "calc/add")


class Bench(CoreBench):
    def __init__(self) -> None:
        super().__init__()
        self.number = 0

    def tell(self, *rows: c.Row, number: int | None = None) -> None:
        self.number += 1
        self.hear(c.Serving(number or self.number, 0, rows))

    def asked(self) -> list[c.Watch]:
        return [said for said in self.sent() if isinstance(said, c.Watch)]


def row(node: str, consumers: int, boot: int = 1, name: str = "calc/add", note: bytes = b"") -> c.Row:
    return c.Row("address", name, consumers, node, UUID.get(node, b""), boot, note)


def news(watching: AddressWatch) -> list[tuple[str, int, str]]:
    found = iter(watching.take_change, None)
    return [(each.node, each.consumers, each.change) for each in found]


def test_first_all_who_serve_it_then_what_changes_in_absolute_numbers() -> None:
    bench = Bench()
    watching = bench.core.watches.watch("calc/add")
    bench.wait()
    assert bench.asked() == [c.Watch(1, False, add=(ADDRESS,))]
    assert watching.take_change() is None
    bench.tell(row("a", 2), row("b", 1))
    assert news(watching) == [("a", 2, "initial"), ("b", 1, "initial")]
    bench.tell(row("a", 2), row("b", 3), row("c", 1))
    assert news(watching) == [("b", 3, "changed"), ("c", 1, "added")]
    bench.tell(row("c", 1), row("c", 1, boot=2))
    assert sorted(news(watching)) == [("a", 0, "removed"), ("b", 0, "removed"), ("c", 1, "added")]
    bench.tell(row("", 0))
    bench.tell(row("a", 1))
    assert sorted(news(watching)) == [("a", 1, "added"), ("c", 0, "removed"), ("c", 0, "removed")]


def test_a_replaced_registration_is_a_change_although_the_count_is_the_same() -> None:
    bench = Bench()
    watching = bench.core.watches.watch("calc/add")
    bench.tell(row("a", 2, note=pack_numbers([9, 4])))
    bench.tell(row("a", 2, note=pack_numbers([9, 4])))
    assert [each.numbers for each in iter(watching.take_change, None)] == [(4, 9)]
    bench.tell(row("a", 2, note=pack_numbers([9, 12])))
    assert [(each.change, each.numbers) for each in iter(watching.take_change, None)] == [
        ("changed", (9, 12))
    ]
    bench.tell(row("", 0))
    assert [(each.change, each.numbers) for each in iter(watching.take_change, None)] == [("removed", ())]


@pytest.mark.parametrize("note", [b"", b"\xff", b"\x91\xff", b"\x91\xcb" + 8 * b"\x7f", b"\xc0", b"\x80" * 9])
def test_the_count_of_a_node_that_sends_no_numbers_or_wrong_ones_is_reported(note: bytes) -> None:
    bench = Bench()
    watching = bench.core.watches.watch("calc/add")
    bench.tell(row("a", 2, note=note))
    assert watching.take_change() == Registration("a", UUID["a"].hex(), 1, 2, "initial")


def test_that_nobody_serves_it_is_a_beginning_too() -> None:
    bench = Bench()
    watching = bench.core.watches.watch("calc/add")
    bench.tell(row("", 0))
    assert news(watching) == []
    bench.tell(row("a", 1))
    assert [watching.take_change()] == [Registration("a", UUID["a"].hex(), 1, 1, "added")]


def test_who_is_slow_misses_steps_and_never_the_last_word() -> None:
    bench = Bench()
    watching = bench.core.watches.watch("calc/add")
    bench.tell(row("a", 1))
    news(watching)
    for consumers in range(1, 1000):
        bench.tell(row("a", consumers), row("b", consumers))
        bench.tell(row("a", consumers))
    assert len(watching._due) <= 2
    assert news(watching) == [("a", 999, "changed")]


def test_two_who_look_at_one_address_ask_once_and_the_later_one_begins_with_all() -> None:
    bench = Bench()
    first = bench.core.watches.watch("calc/add")
    early = bench.core.watches.watch("calc/add")
    bench.tell(row("a", 1))
    second = bench.core.watches.watch("calc/add")
    bench.wait()
    assert len(bench.asked()) == 1
    assert [news(each) for each in (first, early, second)] == [[("a", 1, "initial")]] * 3
    bench.tell(row("a", 2))
    assert [news(each) for each in (first, early, second)] == [[("a", 2, "changed")]] * 3
    bench.core.watches.end_watch("calc/add", first)
    bench.core.watches.end_watch("calc/add", early)
    bench.core.watches.end_watch("calc/add", second)
    bench.core.watches.end_watch("calc/add", second)
    bench.wait()
    assert bench.asked()[1:] == [c.Watch(2, False, remove=(ADDRESS,))] and not len(bench.core.watches)


def test_who_is_dropped_is_forgotten_with_the_next_word() -> None:
    bench = Bench()
    watching = bench.core.watches.watch("calc/add")
    bench.tell(row("a", 1))
    assert watching.take_change() is not None
    del watching
    gc.collect()
    bench.tell(row("a", 2))
    assert bench.asked()[-1].remove == (ADDRESS,) and not len(bench.core.watches)


def test_after_a_reconnect_all_is_asked_for_anew_and_only_what_is_news_is_told() -> None:
    bench = Bench()
    watching = bench.core.watches.watch("calc/add")
    bench.tell(row("a", 1), row("b", 1))
    news(watching)
    bench.again()
    bench.number = 0
    assert bench.asked() == [c.Watch(2, True, add=(ADDRESS,))]
    bench.tell(row("b", 1), row("c", 1))
    assert sorted(news(watching)) == [("a", 0, "removed"), ("c", 1, "added")]


def test_many_are_asked_for_in_parts_that_a_node_can_read() -> None:
    bench = Bench()
    kept = [bench.core.watches.watch(f"{'x' * 500}/{i}") for i in range(1000)]
    bench.again()
    parts = bench.asked()
    assert len(parts) > 5 and {part.version for part in parts} == {1001}
    assert [part.more for part in parts] == [True] * (len(parts) - 1) + [False]
    assert sum(len(part.add) for part in parts) == len(kept)
    assert all(c.decode(c.encode(part)) == part for part in parts)


@pytest.mark.parametrize("number", [0, 2, 2**40])
def test_a_hole_in_what_is_said_costs_the_connection(number: int) -> None:
    bench = Bench()
    bench.hear(c.Serving(number, 0, (row("a", 1),)))
    assert not bench.core.line.is_up


def test_what_was_not_asked_for_is_passed_by_and_the_end_is_told() -> None:
    bench = Bench()
    watching = bench.core.watches.watch("calc/add")
    bench.tell(row("a", 1, name="other"), c.Row("queue", "calc/add", 1, "b"))
    assert watching.take_change() is None
    bench.core.close()
    assert isinstance(watching.error, Closed)
