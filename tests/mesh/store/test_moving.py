"""Data of a queue, which moves along when the queue gets another store."""

from mesh.operations import Append, Put
from mesh.store.base import begin
from mesh.store.memory import MemoryStore
from mesh.store.moving import Place, finish, move
from mesh.wire.envelope import PERSISTENT, Envelope

UUID = b"u" * 16


def test_what_has_come_from_other_nodes_is_known_there_too() -> None:
    old, new = MemoryStore(), MemoryStore()
    begin(old, 1), begin(new, 1)
    for queue in (b"jobs", b"others"):
        old.commit([Put("moved", queue + b"\0" + UUID, b"known of " + queue)])
    old.commit([Put("moved", b"\0sqlite:///x", b"")])  # of an interrupted move
    places = {"": Place(old, old.load()), "x": Place(new, new.load())}
    assert move(places, lambda name: "x" if name == "jobs" else "") == 0
    assert new.load().tables["moved"] == {b"jobs\0" + UUID: b"known of jobs"}
    assert old.load().tables["moved"] == {b"others\0" + UUID: b"known of others", b"\0sqlite:///x": b""}
    assert not finish({"": old, "x": new}, {"": old.load(), "x": new.load()})


def test_the_rows_of_transactions_move_with_their_envelopes() -> None:
    e = Envelope(b"s" * 16, "queue/jobs", 1, 2, ("k",), 2, 1, b"ab", flags=PERSISTENT, to="queue/jobs")
    old, new = MemoryStore(), MemoryStore()
    key, other = b"jobs\0" + (1).to_bytes(8), b"jobs\0" + (1).to_bytes(8) + b"\0\0\0\1"
    rows = {key: b"row", other: b"settled", b"jobs\0": b"marks"}
    old.commit([Append(1, e.header(), e.body), *(Put("part", at, value) for at, value in rows.items())])
    new.commit([Append(1, e.header(), e.body), Append(2, e.header(), e.body)])
    places = {"": Place(old, old.load()), "fast": Place(new, new.load())}
    assert move(places, lambda queue: "fast") == 1
    moved = (3).to_bytes(8)
    expected = {b"jobs\0" + moved: b"row", b"jobs\0" + moved + b"\0\0\0\1": b"settled", b"jobs\0": b"marks"}
    assert new.load().tables["part"] == expected
    assert old.load().tables["part"] == {}
