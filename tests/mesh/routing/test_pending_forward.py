"""Origins that wait for the answer to a resent entry, and the marks of an entry that is forwarded again."""

import pytest
from msgspec.structs import replace

from mesh.routing.origin import Origin
from mesh.routing.pending_forward import SOMEBODY, PendingForward
from mesh.wire.envelope import RESENT
from tests.mesh.envelopes import envelope
from tests.mesh.origins import CLIENT, Party


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> set[bytes]:
    """Return the names of the connected parties, a set that a test may change."""
    monkeypatch.setattr(Party, "there", set[bytes]())
    return Party.there


def askers(entry: PendingForward) -> list[Origin]:
    return list(entry.askers)


def test_each_origin_waits_once_for_the_answer_and_the_last_is_the_origin(there: set[bytes]) -> None:
    frodo: Origin = Party(b"frodo")
    stork: Origin = Party(b"stork")
    there |= {b"frodo", b"stork"}
    entry = PendingForward(envelope("k"), frodo, 0.0, 1)
    assert askers(entry) == [frodo]
    for origin in (frodo, stork, CLIENT, frodo, frodo, CLIENT, stork, frodo):
        entry.add_origin(origin)
        assert entry.origin == origin
    assert askers(entry) == [CLIENT, stork, frodo]


def test_a_disconnected_origin_does_not_wait_any_longer_when_another_comes(there: set[bytes]) -> None:
    entry = PendingForward(envelope("k"), Party(b"0"), 0.0, 1)
    for n in range(1, 100):
        there.clear()
        there |= {b"%d" % (n - 1)} if n % 2 else set()
        entry.add_origin(Party(b"%d" % n))
        assert [asker.name for asker in entry.askers if isinstance(asker, Party)] == [*there, b"%d" % n]


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
