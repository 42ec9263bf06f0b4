"""The expired messages of an envelope."""

from array import array

from msgspec.structs import replace

from mesh.wire.codec import pack
from mesh.wire.envelope import HELD, Envelope
from mesh.wire.expiry import NEVER, all_void, expiry, shifted, unexpired
from mesh.wire.properties import Properties, encode_properties


def expiring(*times: int) -> Envelope:
    """Return an envelope with a message for each expiry time; 0 means never."""
    own = [encode_properties(Properties(expires=time)) for time in times]
    sizes = array("I", map(len, own)).tobytes()
    return Envelope(
        stream=b"s" * 16, domain="", first=1, last=len(times), keys=("a",), count=len(times), sizes=sizes,
        body=b"".join(own), props=sizes, expires=min(filter(None, times), default=NEVER),
    )  # fmt: skip


def test_each_message_expires_at_its_own_time() -> None:
    e = expiring(5, 0, 7)
    assert [expiry(e, i) for i in range(3)] == [5, NEVER, 7]
    assert [unexpired(e, range(3), wall) for wall in (4, 5, 6, 7, 99)] == [
        (0, 1, 2),
        (1, 2),
        (1, 2),
        (1,),
        (1,),
    ]
    assert unexpired(e, (2,), 6) == (2,)


def test_an_envelope_is_void_with_its_last_message_or_at_the_limit() -> None:
    assert [all_void(e) for e in (expiring(5, 7), expiring(5, 0), expiring(0), expiring(5))] == [7, 0, 0, 5]
    assert [all_void(e, 6) for e in (expiring(5, 7), expiring(5, 0), expiring(0), expiring(5))] == [
        6,
        6,
        6,
        5,
    ]


def test_properties_that_cannot_be_read_never_expire() -> None:
    e = expiring(5)
    broken = Envelope(
        stream=e.stream, domain="", first=1, last=1, keys=("a",), count=1, sizes=1, body=b"\xc1",
        props=array("I", [1]).tobytes(), expires=5,
    )  # fmt: skip
    assert expiry(broken, 0) == NEVER and unexpired(broken, (0,), 9) == (0,)


def test_a_shifted_envelope_expires_by_another_clock_and_is_else_the_same() -> None:
    at = 1_700_000_000 * 10**9
    e = replace(expiring(at + 5, 0, at + 7), sent=9)
    moved = shifted(e, 3)
    assert [expiry(moved, i) for i in range(3)] == [at + 2, NEVER, at + 4]
    assert (moved.expires, replace(moved, expires=e.expires, body=e.body)) == (at + 2, e)
    assert shifted(moved, -3) == e
    assert shifted(e, 0) is e and shifted(expiring(0), 3) == expiring(0)


def test_a_time_before_1970_is_not_never() -> None:
    moved = shifted(expiring(5, 7), 100)
    assert [moved.expires, expiry(moved, 0), expiry(moved, 1)] == [1, 1, 1]


def test_what_shifting_does_not_know_stays_as_it_is() -> None:
    later = pack([[["a", "b"]], 5, 7, "me", "", False, "of a later release"])
    e = replace(expiring(5), body=later + b"content", sizes=len(later) + 7, props=len(later))
    [(own, content)] = [shifted(e, 2).message(0)]
    assert (own, content) == (pack([[["a", "b"]], 3, 7, "me", "", False, "of a later release"]), b"content")
    broken = replace(expiring(5), body=b"\xc1", sizes=1, props=1)
    assert shifted(broken, 2) == replace(broken, expires=3)
    held = replace(expiring(5, 7), body=b"", flags=HELD)
    assert shifted(held, 2) == replace(held, expires=3)
