"""Sizes and positions of stored envelopes whose envelope is on disk only."""

from mesh.operations import BOOT
from mesh.routing.shares import LARGE
from mesh.routing.stored_envelope import StoredEnvelope, nameless, refilled
from tests.mesh.envelopes import envelope


def test_the_boot_of_an_envelope_is_that_of_its_position() -> None:
    e = envelope()
    assert [StoredEnvelope(e, position).boot for position in (0, 1, 3 * BOOT, 3 * BOOT + 5)] == [0, 0, 3, 3]
    assert StoredEnvelope(e, after=3 * BOOT - 1).boot == 3, "the last position before a boot"


def test_an_envelope_leaves_memory_when_all_that_are_owed_it_read_it_from_disk() -> None:
    e = envelope("a b", [b"x" * 50, b"y" * 70])
    stored = StoredEnvelope(e, 1, owed=2, frames=[b"frame"])
    size = stored.size
    stored.paged = 1
    stored.give_away()
    assert stored.is_here
    stored.paged = 2
    stored.give_away()
    assert (stored.is_here, stored.envelope.count, stored.frames) == (False, 2, [])
    assert stored.size == size
    stored.found(e)
    assert (stored.envelope, stored.size, stored.lacks) == (e, size, 0)


def test_an_envelope_that_was_cut_on_disk_has_all_its_places_again() -> None:
    e = envelope("a b a", [b"1", b"22", b"3" * LARGE])
    stored = StoredEnvelope(e, 1)
    stored.owe([("joe", (2,)), ("ann", (0, 2))])
    stored.paged, size = 2, stored.size
    stored.give_away()
    stored.found(e.cut([2]))
    assert (stored.envelope.count, stored.size) == (3, size)
    assert stored.envelope.contents() == [b"", b"", b"3" * LARGE]
    assert [stored.envelope.number(i) for i in range(3)] == [1, 2, 3]


def test_a_refilled_piece_keeps_keys_and_properties_of_what_is_there() -> None:
    whole = envelope("a b c", [b"1", b"2", b"3"], expires=9)
    full = refilled(whole.cut([0, 2]), whole)
    assert [full.keys[full.row(i)] for i in (0, 2)] == ["a", "c"]
    assert [full.message(i) for i in (0, 2)] == [whole.message(i) for i in (0, 2)]


def test_an_envelope_that_nobody_cuts_is_represented_by_its_count() -> None:
    assert (nameless(3).count, nameless(3, 7).expires, nameless(3).body) == (3, 7, b"")
