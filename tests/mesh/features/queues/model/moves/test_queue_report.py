"""Reports of a local queue on its messages and consumers, and checks of a peer's reports."""

from __future__ import annotations

from math import inf, nan
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import RemoteError
from mesh.features.queues.model.consumers.queue_consumer import QueueConsumer
from mesh.features.queues.model.moves.queue_report import (
    SELECTORS,
    Matching,
    QueueReport,
    is_news,
    is_only_wish,
    is_wanted_more,
    is_worth_telling,
    matching,
    matching_here,
    stock_of,
)
from mesh.features.queues.model.selecting.selector import Selector
from mesh.values import NO_HEADERS, Headers
from mesh.wire.codec import pack
from mesh.wire.limits import LARGEST_NUMBER, NOTE
from tests.each import each
from tests.mesh.features.queues.model.making import queued, taker

RED = Headers([("colour", "red")])
WANTS_RED = "colour == 'red'"


def busy(it: QueueConsumer, n: int) -> QueueConsumer:
    it.holding.add_delivery(queued(1, n), [(1, n)], inf)
    return it


def away(it: QueueConsumer) -> QueueConsumer:
    it.away = 1.0
    return it


def stock(
    *takers: QueueConsumer, ready: int = 0, coming: int = 0, leaves: float = 0.0, **more: bool
) -> QueueReport:
    return stock_of(takers, ready, coming, leaves, **more)


@pytest.mark.parametrize(
    ("found", "wants"),
    [
        (stock(), 0),
        (stock(taker(credit=10)), 10),
        (stock(taker(credit=10), taker(credit=5)), 15),
        (stock(busy(taker(credit=10), 4)), 6),
        (stock(taker(credit=10), ready=3, coming=4), 3),
        (stock(taker(credit=10), ready=300), 0),
        (stock(busy(taker(credit=10), 10)), 0),  # a slow consumer gets no backlog
        (stock(busy(taker(credit=1), 1), leaves=0.9), 0),
        (stock(busy(taker(credit=1), 1), leaves=5.0), 2),  # a fast one need not wait for transfers
        (stock(busy(taker(credit=1), 1), leaves=5.0, coming=1), 1),
        (stock(taker(credit=10), leaves=4.0), 12),
        (stock(taker(credit=10), leaves=4000.0), 2010),
        (stock(away(taker(credit=10)), leaves=50.0), 0),
        (stock(taker(credit=10), is_leaving=True), 0),
    ],
)
def test_a_part_wants_what_its_takers_have_room_for_or_soon_will(found: QueueReport, wants: int) -> None:
    assert found.wants == wants


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [(1, 2, True), (1, 1, False), (4, 7, False), (4, 8, True), (0, 9, False), (9, 0, False)],
)
def test_twice_as_much_is_told_soon(old: int, new: int, more: bool) -> None:
    assert is_wanted_more(QueueReport(old), QueueReport(new)) is more


def test_who_is_not_on_disk_yet_wants_nothing_but_is_there() -> None:
    it = taker(selector=WANTS_RED)
    it.is_paused = True
    assert stock(it) == QueueReport(0, selectors=(WANTS_RED,), is_any=False)


def test_a_part_names_the_selectors_of_its_takers() -> None:
    some = [taker(selector=f"size == {n}") for n in (2, 1, 1)]
    assert stock(*some) == QueueReport(30, selectors=("size == 1", "size == 2"), is_any=False)
    assert stock(*some, taker()) == QueueReport(40)
    assert stock(*some, away(taker())).selectors == ("size == 1", "size == 2")
    assert stock(away(taker())) == QueueReport(is_any=False) == stock()
    assert stock(is_volatile=True).is_volatile and stock(is_leaving=True).is_leaving


def test_with_too_many_or_too_long_selectors_whatever_comes_is_taken() -> None:
    most = [taker(selector=f"size == {n}") for n in range(SELECTORS)]
    assert not stock(*most).is_any
    assert stock(*most, taker(selector="size == 99")) == QueueReport(10 * SELECTORS + 10)
    long = [taker(selector=f"'{'ü' * 240}' == a{n}") for n in range(SELECTORS)]
    assert not stock(*long[:6]).is_any and stock(*long).is_any


def test_a_rate_that_falls_for_ever_is_0_in_the_end() -> None:
    assert stock(leaves=0.04).leaves == 0.0
    assert stock(leaves=12.345678).leaves == 12.3


# --- reports in transit -------------------------------------------------------------------------------------

numbers = st.integers(0, LARGEST_NUMBER)
texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=60), max_size=12)
rates = st.floats(0, allow_nan=False, allow_infinity=False)
stocks = st.builds(
    QueueReport, numbers, numbers, rates, texts.map(tuple), st.booleans(), st.booleans(), st.booleans()
)


@given(stocks)
def test_it_is_read_as_it_was_told(it: QueueReport) -> None:
    assert QueueReport.unpack(it.pack()) == it


@given(st.binary(max_size=40) | st.lists(st.none() | st.integers() | st.floats() | st.text()).map(
    lambda fields: pack([f if not isinstance(f, int) else f % 2**64 for f in fields])))  # fmt: skip
def test_whatever_a_peer_says_is_refused_or_a_stock(note: bytes) -> None:
    try:
        it = QueueReport.unpack(note)
    except RemoteError:
        return
    assert 0 <= it.wants <= LARGEST_NUMBER and 0 <= it.leaves < inf
    assert matching(it).takes("key", 5, NO_HEADERS) in (True, False)


@each(
    "said",
    [
        b"",
        pack(5),
        pack({}),
        pack([-1]),
        pack([2**63]),
        pack([0, -1]),
        pack([0.5]),
        pack([True]),
        pack([None]),
        pack([0, 0, nan]),
        pack([0, 0, inf]),
        pack([0, 0, -inf]),
        pack([0, 0, -0.1]),
        pack([0, 0, 0.0, "a"]),
        pack([0, 0, 0.0, [1]]),
        b"\x94\0\0\0\x91\xa3\xed\xa0\x80",  # half of a surrogate pair
        pack([0, 0, 0.0, ["x" * NOTE]]),
        pack([0, 0, 0.0, [], 1]),
        pack([0]) + b"\0",
    ],
)
def test_what_is_no_stock_is_refused(said: bytes) -> None:
    with pytest.raises(RemoteError):
        QueueReport.unpack(said)


def test_a_later_release_may_add_fields_and_an_earlier_one_has_fewer() -> None:
    assert QueueReport.unpack(pack([7, 1, 2.5, [], True, False, True, "new", {"more": 1}])) == QueueReport(
        7, 1, 2.5, is_leaving=True
    )
    assert QueueReport.unpack(pack([7])) == QueueReport(7)
    assert QueueReport.unpack(pack([7, 1, 2])).leaves == 2.0


def test_what_is_told_fits_into_a_note() -> None:
    long = [taker(selector=f"'{'ü' * 240}' == a{n}") for n in range(6)]
    it = stock_of(long, LARGEST_NUMBER, 0, 1e300)
    assert it.selectors and len(it.pack()) <= NOTE


# --- the time of reports ------------------------------------------------------------------------------------

HAS = QueueReport(100, 50, 20.0)


def changed(**fields: Any) -> QueueReport:
    known: dict[str, Any] = {"wants": 100, "ready": 50, "leaves": 20.0}
    return QueueReport(**known | fields)


@pytest.mark.parametrize(
    ("old", "new", "news", "worth"),
    [
        (HAS, HAS, False, False),
        (HAS, changed(wants=0), True, True),
        (changed(wants=0), HAS, True, True),
        (HAS, changed(selectors=("a",), is_any=False), True, True),
        (HAS, changed(is_leaving=True), True, True),
        (HAS, changed(is_volatile=True), True, True),
        (HAS, changed(wants=1), False, True),
        (HAS, changed(wants=111), False, False),
        (HAS, changed(wants=112), False, True),
        (HAS, changed(wants=90), False, False),
        (HAS, changed(ready=0), False, True),
        (changed(ready=0), changed(ready=1), False, True),
        (HAS, changed(ready=51), False, False),
        (HAS, changed(leaves=17.0), False, True),
        (HAS, changed(leaves=18.5), False, False),
    ],
)
def test_edges_are_told_at_once_and_a_tenth_with_the_next_ones(
    old: QueueReport, new: QueueReport, news: bool, worth: bool
) -> None:
    assert (is_news(old, new), is_worth_telling(old, new)) == (news, worth)


def test_that_somebody_takes_or_nobody_any_more_is_news() -> None:
    assert is_news(None, HAS) and is_news(HAS, None) and not is_news(None, None)


# --- accepted messages --------------------------------------------------------------------------------------


def test_what_a_part_takes_is_what_its_selectors_want() -> None:
    it = matching(QueueReport(selectors=(WANTS_RED, "priority > 7"), is_any=False))
    assert it and not it.takes_all
    assert it.takes("k", 5, RED) and it.takes("k", 8, NO_HEADERS) and not it.takes("k", 5, NO_HEADERS)


@pytest.mark.parametrize(
    ("it", "may"),
    [
        (QueueReport(), True),
        (QueueReport(selectors=("nonsense ==",)), True),  # another consumer accepts any message
        (QueueReport(is_any=False), False),
        (QueueReport(is_leaving=True), False),
        (QueueReport(selectors=("nonsense ==",), is_any=False), False),
        (QueueReport(selectors=("",), is_any=False), False),
        (QueueReport(selectors=("x" * 3000,), is_any=False), False),
        (QueueReport(selectors=("\ud800",), is_any=False), False),
        (QueueReport(selectors=("((((((((((((((((((a",), is_any=False), False),
        (QueueReport(selectors=(*["a == 1"] * SELECTORS, WANTS_RED), is_any=False), False),
    ],
)
def test_a_selector_that_is_none_or_one_too_many_takes_nothing(it: QueueReport, may: bool) -> None:
    assert matching(it).takes("key", 5, RED) == may == matching(it).takes_all


def test_here_each_taker_takes_what_he_selects() -> None:
    it = matching_here([taker(selector=WANTS_RED), away(taker())])
    assert it.takes("k", 5, RED) and not it.takes("k", 5, NO_HEADERS)
    assert matching_here([taker(selector=WANTS_RED), taker()]).takes_all
    assert not matching_here([]) and not matching_here([away(taker())])
    many = [taker(selector=f"size == {n}") for n in range(50)]
    assert not matching_here(many).takes_all


def test_a_selector_is_compiled_once() -> None:
    one, two = (matching(QueueReport(n, selectors=(WANTS_RED,), is_any=False)) for n in (1, 2))
    assert one._selectors[0] is two._selectors[0]
    assert isinstance(one._selectors[0], Selector) and isinstance(one, Matching)


@pytest.mark.parametrize(
    ("old", "new", "only"),
    [
        (QueueReport(0), QueueReport(5), True),
        (QueueReport(0, 9, 1.0), QueueReport(5, 0, 7.0), True),
        (QueueReport(5), QueueReport(0), False),
        (QueueReport(4), QueueReport(5), False),
        (QueueReport(0), QueueReport(0), False),
        (None, QueueReport(5), False),
        (QueueReport(0), None, False),
        (QueueReport(0), QueueReport(5, is_leaving=True), False),
        (QueueReport(0), QueueReport(5, selectors=("a = 1",), is_any=False), False),
        (QueueReport(0), QueueReport(5, is_volatile=True), False),
    ],
)
def test_what_is_no_other_news_than_a_wish(
    old: QueueReport | None, new: QueueReport | None, only: bool
) -> None:
    assert is_only_wish(old, new) is only
