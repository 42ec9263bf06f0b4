"""The messages of a slice, their expiry, and the totals of consecutive slices."""

from mesh.routing.envelope_slice import EnvelopeSlice, EnvelopeSlices
from mesh.routing.stored_envelope import StoredEnvelope
from tests.mesh.envelopes import STREAM, envelope


def test_a_slice_counts_only_its_messages() -> None:
    stored = StoredEnvelope(envelope("a b c d", [b"x" * 100] * 4), 1)
    whole, half = EnvelopeSlice(stored), EnvelopeSlice(stored, (1, 3))
    assert (whole.messages, list(whole.every), whole.size) == (4, [0, 1, 2, 3], stored.size)
    assert (half.messages, list(half.every), half.size) == (2, [1, 3], stored.size // 2)
    assert whole.is_persistent and not EnvelopeSlice(StoredEnvelope(envelope())).is_persistent


def test_a_slice_holds_the_messages_of_its_indices() -> None:
    slice_ = EnvelopeSlice(StoredEnvelope(envelope("a b c", first=5, domain="D")), (0, 2))
    assert [number for number in range(4, 9) if slice_.holds(STREAM, "D", number)] == [5, 7]
    assert not slice_.holds(STREAM, "", 5) and not slice_.holds(b"o" * 16, "D", 5)


def test_a_gap_is_reported_once() -> None:
    slice_ = EnvelopeSlice(StoredEnvelope(envelope()), gap=3)
    assert (slice_.take_gap(), slice_.take_gap()) == (3, 0)


def test_expired_messages_are_left_out_and_the_others_stay() -> None:
    slice_ = EnvelopeSlice(StoredEnvelope(envelope("a b", [b"1", b"2"], expires=100), 1), tries=bytes([3, 4]))
    assert (slice_.trim(99), slice_.is_void(99), slice_.messages) == ((), False, 2)
    assert slice_.is_void(100)
    assert (list(slice_.trim(100)), slice_.messages, slice_.tries) == ([0, 1], 0, b"")


def test_slices_in_a_row_add_up() -> None:
    several = [EnvelopeSlice(StoredEnvelope(envelope("a b", [bytes(n), b""]))) for n in (1, 10, 100)]
    row = EnvelopeSlices(several)

    def is_right() -> bool:
        return (row.bytes, row.messages) == (sum(p.size for p in row), sum(p.messages for p in row))

    assert (len(row), row.first, list(row), is_right()) == (3, several[0], several, True)
    assert row.remove_slice(several[1]) is several[1] and is_right()
    assert row.pop() is several[0] and is_right()
    assert row.take_all() == several[2:] and (len(row), row.bytes, row.messages) == (0, 0, 0)
