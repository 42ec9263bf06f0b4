"""Who waits for the last word on what is brought again, and again by others?"""

from mesh.routing.entry import Entry
from tests.mesh.envelopes import envelope

CLIENT = b""


def test_each_who_brings_it_is_one_asker_and_the_last_is_its_source() -> None:
    entry = Entry(envelope("k"), b"frodo", 0.0, 1)
    assert list(entry.askers) == [b"frodo"]
    for source in (b"frodo", b"stork", CLIENT, b"frodo", b"frodo", CLIENT, b"stork", b"frodo"):
        entry.brought_by(source, lambda each: True)
        assert entry.source == source
    assert list(entry.askers) == [CLIENT, b"stork", b"frodo"]


def test_who_is_gone_is_no_asker_any_more_when_another_comes() -> None:
    entry, there = Entry(envelope("k"), b"0", 0.0, 1), {b"0"}
    for n in range(1, 100):
        there = {b"%d" % (n - 1)} if n % 2 else set()
        entry.brought_by(b"%d" % n, there.__contains__)
        assert list(entry.askers) == sorted({*there, b"%d" % n}, key=int)
