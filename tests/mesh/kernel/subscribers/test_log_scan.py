"""Scans of the log: what belongs to each page, where pages end, and which page is served next."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import Mock

import pytest
from msgspec.structs import replace

from mesh.kernel.subscribers.log_scan import PAGE, READS, LogScan, Page, PageSet
from mesh.operations import Span
from mesh.wire.commands import Query
from mesh.wire.envelope import LOCAL_ONLY, TAILED, Envelope
from mesh.wire.limits import MIB
from tests.mesh.envelopes import envelope


class Stage:
    """A log, and the replies that are read from it at the end of one event."""

    def __init__(self, log: dict[int, Envelope]) -> None:
        self.log, self.reads = log, list[Span]()
        self.waiting: list[tuple[Span, Callable[[Any], None]]] = []
        self.out: Any = Mock(ending={})
        self.scan = LogScan(self.out, Mock(fetch=lambda span, then: self.waiting.append((span, then))))
        self.finished: list[PageSet] = []

    def request(self, *pages: Page, is_own: bool = False) -> PageSet:
        asked = PageSet(is_own, lambda: self.finished.append(asked), list(pages))
        self.scan.add_pages(asked)
        return asked

    def run(self) -> Stage:
        self.end_event()
        while self.waiting:
            self.answer_read()
            self.end_event()
        return self

    def end_event(self) -> None:
        while self.out.ending:
            self.out.ending.popitem()[0]()

    def answer_read(self) -> None:
        span, then = self.waiting.pop(0)
        self.reads.append(span)
        within = [at for at in sorted(self.log) if span.first <= at <= span.last]
        then({at: self.log[at] for at in within[: span.most]})


def log(*keys: str) -> dict[int, Envelope]:
    return {at: envelope(each, persistent=True) for at, each in enumerate(keys, start=1)}


def page(at: int, end: int, key: str = "k", domain: str = "") -> Page:
    return Page(Query("pattern" if "#" in key else "exact", key, domain), at, end)


def test_one_scan_serves_all_pages_of_an_event_each_with_its_own_matches() -> None:
    it = Stage(log("k", "a", "k a", "b", "k"))
    k, a, every = page(2, 5), page(1, 3, "a"), page(1, 4, "#")
    it.request(k, a)
    it.request(every)
    it.run()
    assert len(it.reads) == 1 and len(it.finished) == 2
    assert (k.positions, a.positions, every.positions) == ([3, 5], [2, 3], [1, 2, 3, 4])
    assert [list(each.keys) for each in k.envelopes] == [["k"], ["k"]]
    assert [list(each.keys) for each in a.envelopes] == [["a"], ["a"]]
    assert all(each.is_complete and each.at == each.end + 1 for each in (k, a, every))


@pytest.mark.parametrize(
    ("change", "others", "own"),
    [
        ({}, [1], [1]),
        ({"flags": 1 | LOCAL_ONLY}, [], [1]),
        ({"flags": 1 | TAILED}, [], []),
        ({"to": "joe"}, [], []),
    ],
)
def test_messages_that_stay_at_their_master_are_read_for_its_own_node_only(
    change: dict[str, Any], others: list[int], own: list[int]
) -> None:
    it = Stage({1: replace(envelope("k", persistent=True), **change)})
    far, near = page(1, 1), page(1, 1)
    it.request(far)
    it.request(near, is_own=True)
    it.run()
    assert (far.positions, near.positions) == (others, own)


@pytest.mark.parametrize(
    ("wanted", "domain", "found"),
    [("", "", True), ("", "A", True), ("A", "A", True), ("A", "B", False), ("A", "", False)],
)
def test_a_query_matches_in_its_domain_only(wanted: str, domain: str, found: bool) -> None:
    it = Stage({1: envelope("k", persistent=True, domain=domain)})
    one = page(1, 1, domain=wanted)
    it.request(one)
    it.run()
    assert bool(one.positions) == found


def test_an_xpath_is_matched_too() -> None:
    it = Stage(log("k", "a") | {3: replace(envelope("a", persistent=True), xml="<STOCK/>")})
    one = Page(Query("xpath", "//STOCK"), 1, 3)
    it.request(one)
    it.run()
    assert one.positions == [3]


def test_law_2_the_pages_of_a_reply_end_where_it_is_full_and_those_of_others_do_not() -> None:
    big = envelope("k a", [b"x" * (MIB // 2), b"y"], persistent=True)
    it = Stage({1: big, 2: envelope("a", persistent=True), 3: big, 4: big})
    k, a, late, other = page(1, 4), page(1, 4, "a"), page(4, 4, "a"), page(2, 4, "a")
    it.request(k, a, late)
    it.request(other)
    it.run()
    assert (k.positions, k.at) == ([1], 3)
    assert (a.positions, a.at) == ([1, 2], 3)
    assert (late.positions, late.at) == ([], 4)
    assert (other.positions, other.is_complete) == ([2, 3, 4], True)


def test_the_first_envelope_of_a_reply_always_fits() -> None:
    it = Stage({1: envelope("k", [b"x" * 2 * MIB], persistent=True)})
    one = page(1, 1)
    it.request(one)
    it.run()
    assert (one.positions, one.is_complete) == ([1], True)


def test_law_3_the_oldest_page_is_served_next_and_ends_after_its_reads() -> None:
    it = Stage(log(*["other"] * 10 * READS * PAGE))
    first, last, near = page(1, len(it.log)), page(5 * READS * PAGE, len(it.log)), page(PAGE, len(it.log))
    for each in (first, last, near):
        it.request(each)
    it.run()
    assert (first.at, last.at, near.at) == (1 + READS * PAGE, (5 + 1) * READS * PAGE, 1 + READS * PAGE)
    assert len(it.reads) == 2 * READS


def test_pages_that_come_during_a_scan_join_it() -> None:
    it = Stage(log(*["k"] * 10))
    first, second, third = page(1, 8), page(3, 9), page(5, 10)
    it.request(first)
    it.end_event()
    it.request(second)
    it.end_event()
    it.answer_read()
    assert (first.positions, second.positions) == ([*range(1, 9)], [*range(3, 9)])
    it.request(third)
    it.run()
    assert (second.positions, third.positions) == ([*range(3, 10)], [*range(5, 11)])
    assert [each.first for each in it.reads] == [1, 9, 5]


def test_pages_without_a_log_to_read_are_over_at_once() -> None:
    it = Stage({})
    it.request(page(5, 4))
    it.request()
    it.run()
    assert (len(it.finished), it.reads) == (2, [])
