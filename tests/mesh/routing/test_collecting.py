"""Numbers and pages of the direct messages that a visited node collects from the home."""

import pytest

from mesh.errors import RemoteError
from mesh.routing.collecting import CollectedItems, SentItems
from mesh.routing.envelope_slice import EnvelopeSlice
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import Envelope
from mesh.wire.limits import ENVELOPES_A_MESSAGE, MIB


def slice_of(body: bytes = b"x") -> EnvelopeSlice:
    return EnvelopeSlice(StoredEnvelope(Envelope(b"s" * 16, "", 1, 1, ("",), 1, 0, body)))


def sent(count: int, body: bytes = b"x") -> tuple[SentItems, list[EnvelopeSlice]]:
    items, slices = SentItems(), [slice_of(body) for _ in range(count)]
    for slice_ in slices:
        items.add_item(slice_)
    return items, slices


def test_law_1_an_item_is_kept_until_it_is_settled() -> None:
    items, slices = sent(3)
    assert items.page(1) == items.page(1) == slices
    items.settle(2)
    assert (items.first, items.next, items.page(3), items.page(4)) == (3, 4, slices[2:], [])
    items.settle(2)
    items.settle(1)
    assert items.page(1) == slices[2:], "an old question changes nothing"
    items.settle(9)
    assert (items.first, items.next) == (4, 4)


def test_a_page_has_few_items_or_one_large_one() -> None:
    items, slices = sent(ENVELOPES_A_MESSAGE + 1)
    assert items.page(1) == slices[:-1]
    items, slices = sent(3, bytes(MIB * 2 // 3))
    assert items.page(2) == slices[1:2]
    items, slices = sent(2, bytes(MIB * 2))
    assert items.page(1) == slices[:1]


def test_law_2_pages_follow_one_another() -> None:
    items = CollectedItems()
    assert list(items.take_page(1, 2)) == [1, 2]
    for first in (1, 2, 4):
        with pytest.raises(RemoteError, match=f"begins with item {first} instead of 3"):
            items.take_page(first, 1)
    assert list(items.take_page(9, 0)) == []
    assert (items.next, items.done) == (3, 0)


def test_done_is_the_number_up_to_which_all_items_are_processed() -> None:
    items = CollectedItems()
    items.take_page(1, 3)
    items.release(2)
    assert items.done == 0
    items.release(1)
    assert items.done == 2
    items.release(3)
    assert (items.done, items.next) == (3, 4)
