"""The index of envelopes on disk, which forgets a priority with its last envelope."""

from mesh.features.queues.model.envelopes.disk_index import VOID, DiskIndex
from mesh.routing.stored_envelope import StoredEnvelope
from mesh.wire.envelope import Envelope

PRIORITY = 5


def with_one(expires: int = 0) -> DiskIndex:
    found = DiskIndex()
    envelope = Envelope(b"s" * 16, "", 1, 1, ("k",), 1, 1, b"x", sent=1, expires=expires)
    found.add_stored(StoredEnvelope(envelope, position=7), PRIORITY, 1, None)
    return found


def test_a_priority_ends_with_the_last_envelope_that_is_taken_out() -> None:
    index = with_one()
    assert index and list(index) == [PRIORITY]
    assert index.take_out(PRIORITY, 7) and not index.take_out(PRIORITY, 7)
    assert (bool(index), list(index), index.has(PRIORITY)) == (False, [], False)


def test_a_priority_ends_with_the_last_envelope_that_has_expired() -> None:
    index = with_one(expires=2)
    assert index.void_to_load(3) == (VOID, (7,))
    assert (bool(index), list(index)) == (False, [])
    assert index.loaded(VOID) and index.void_to_load(3) is None


def test_a_priority_stays_while_its_last_envelope_is_read() -> None:
    index = with_one()
    assert index.to_load(PRIORITY) == (PRIORITY, (7,))
    assert not index.take_out(PRIORITY, 7)
    assert index and list(index) == [PRIORITY] and index.has(PRIORITY)
    assert index.loaded(PRIORITY) and not index
