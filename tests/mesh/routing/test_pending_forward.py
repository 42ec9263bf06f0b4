"""Who waits for the last word on what is brought again, and what is said of what goes on again?"""

import pytest
from msgspec.structs import replace

from mesh.routing.pending_forward import SOMEBODY, PendingForward
from mesh.wire.envelope import RESENT
from tests.mesh.envelopes import envelope

CLIENT = b""


def test_each_who_brings_it_is_one_asker_and_the_last_is_its_source() -> None:
    entry = PendingForward(envelope("k"), b"frodo", 0.0, 1)
    assert list(entry.askers) == [b"frodo"]
    for source in (b"frodo", b"stork", CLIENT, b"frodo", b"frodo", CLIENT, b"stork", b"frodo"):
        entry.add_source(source, lambda each: True)
        assert entry.source == source
    assert list(entry.askers) == [CLIENT, b"stork", b"frodo"]


def test_who_is_gone_is_no_asker_any_more_when_another_comes() -> None:
    entry, there = PendingForward(envelope("k"), b"0", 0.0, 1), {b"0"}
    for n in range(1, 100):
        there = {b"%d" % (n - 1)} if n % 2 else set()
        entry.add_source(b"%d" % n, there.__contains__)
        assert list(entry.askers) == sorted({*there, b"%d" % n}, key=int)


def test_it_says_so_when_it_goes_on_by_another_process_than_before_and_from_then_on() -> None:
    entry = PendingForward(envelope("k"), CLIENT, 0.0, 1)
    said = []
    for process in ((b"frodo", 1), (b"frodo", 1), (b"frodo", 2), (b"frodo", 2)):
        entry.mark_sent_to(process)
        said.append(bool(entry.envelope.flags & RESENT))
    assert said == [False, False, True, True]


@pytest.mark.parametrize(("to", "was_divided"), [("/node/frodo/client/joe", False), ("", True)])
def test_what_has_an_address_or_goes_to_each_master_does_not_say_that(to: str, was_divided: bool) -> None:
    entry = PendingForward(
        replace(envelope("k"), to=to), CLIENT, 0.0, 1, was_divided=was_divided, sent_to=SOMEBODY
    )
    entry.mark_sent_to((b"frodo", 1))
    assert not entry.envelope.flags & RESENT
