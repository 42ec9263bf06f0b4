"""Which messages of an envelope have expired?"""

from array import array

from mesh.wire.envelope import Envelope
from mesh.wire.expiry import NEVER, all_void, expiry, unexpired
from mesh.wire.properties import Properties, encode_properties


def expiring(*times: int) -> Envelope:
    """An envelope with a message for each time; 0 is never."""
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
