"""Data of a queue, which moves along when the queue gets another store."""

from mesh.operations import Put
from mesh.store.base import begin
from mesh.store.memory import MemoryStore
from mesh.store.moving import Place, finish, move

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
