"""Moves the data of queues whose store has changed, before the node starts."""

# Law: moved data is on disk in its new store before it leaves the old one, in the order of positions, with a
#      row that records its origin. A crash in between loses nothing and duplicates nothing.

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from mesh.errors import StoreError
from mesh.names import PUTS
from mesh.operations import Append, Delete, Drop, Image, Op, Put, moved_key
from mesh.store.base import Store
from mesh.wire.envelope import decode

MOST, MOST_BYTES = 1000, 8 << 20  # limits of one commit
PLACE = 8  # bytes of a position
STREAM, PART, CONSUMER, MOVED = "stream", "part", "consumer", "moved"  # tables


@dataclass(slots=True)
class Place:
    """A store with its content at the start. `keeps` means that the store outlives the process."""

    store: Store
    image: Image
    keeps: bool = True
    next_position: int = field(init=False)

    def __post_init__(self) -> None:
        self.next_position = self.image.next_position

    def append_op(self, header: bytes, body: bytes) -> Append:
        self.next_position += 1
        return Append(self.next_position - 1, header, body)

    def rows(self, table: str) -> Mapping[bytes, bytes]:
        return self.image.tables.get(table, {})


@dataclass(slots=True)
class _Misplaced:
    """Data of one store that belongs in another: envelopes as (position, size of the body), and rows."""

    envelopes: list[tuple[int, int]] = field(default_factory=list)
    rows: list[tuple[str, bytes, bytes]] = field(default_factory=list)
    names: set[str] = field(default_factory=set)  # of queues with envelopes

    def batches(self) -> Iterator[list[int]]:
        batch, size = list[int](), 0
        for position, length in self.envelopes:
            batch.append(position)
            size += length
            if len(batch) >= MOST or size >= MOST_BYTES:
                yield batch
                batch, size = [], 0
        if batch:
            yield batch


def move(places: Mapping[str, Place], store_of: Callable[[str], str]) -> int:
    """Move each queue to the store `store_of(name)`. Return the number of moved envelopes.

    Raises: StoreError STORE_MISPLACED, before any change, if messages on disk would move to a store in
    memory; StoreError of a store.
    """
    found = {source: _misplaced(place, source, store_of) for source, place in places.items()}
    for source, by_target in found.items():
        for target, misplaced in by_target.items():
            if misplaced.envelopes and places[source].keeps and not places[target].keeps:
                raise _would_be_lost(source, sorted(misplaced.names))
    moved = 0
    for source, by_target in found.items():
        for target, misplaced in by_target.items():
            _move(source, places[source], places[target], misplaced)
            moved += len(misplaced.envelopes)
    return moved


def _misplaced(place: Place, source: str, store_of: Callable[[str], str]) -> dict[str, _Misplaced]:
    found: dict[str, _Misplaced] = {}
    known: dict[str, str] = {}

    def where(name: str) -> _Misplaced | None:
        target = known[name] if name in known else known.setdefault(name, store_of(name))
        return None if target == source else found.setdefault(target, _Misplaced())

    for position, header, body in place.image.envelopes:
        to = decode(header, body).to
        if to.startswith(PUTS) and (there := where(name := to.removeprefix(PUTS))) is not None:
            there.envelopes.append((position, len(body)))
            there.names.add(name)
    for table in (STREAM, PART, CONSUMER, MOVED):
        for key, value in place.rows(table).items():
            name = _queue_of(table, key)
            if name and (there := where(name)) is not None:
                there.rows.append((table, key, value))
    return found


def _queue_of(table: str, key: bytes) -> str:
    """Return the name of the queue to which a row belongs, or "" if there is none."""
    if table != STREAM:
        return key.partition(b"\0")[0].decode()
    domain = key[16:].decode()
    return domain.removeprefix(PUTS) if domain.startswith(PUTS) else ""


def _move(source: str, old: Place, new: Place, misplaced: _Misplaced) -> None:
    parts = {key: value for table, key, value in misplaced.rows if table == PART and _place_in(key)}
    keys = _keys_by_place(parts)
    for batch in misplaced.batches():
        ops: list[Op] = []
        for position, header, body in old.store.read(batch):
            append = new.append_op(header, body)
            ops.append(append)
            for key in keys.get(position.to_bytes(8), ()):
                ops.append(Put(PART, _moved_to(append.position, key), parts[key]))
        places = b"".join(position.to_bytes(8) for position in batch)
        new.store.commit([*ops, Put(MOVED, moved_key(source), places)])
        _leave(old.store, new.store, source, places, keys)
    rest = [row for row in misplaced.rows if row[1] not in parts]
    if rest:
        new.store.commit([Put(*row) for row in rest])
        old.store.commit([Delete(table, key) for table, key, _ in rest])


def _leave(old: Store, new: Store, source: str, places: bytes, keys: Mapping[bytes, Sequence[bytes]]) -> None:
    """Remove moved envelopes from the old store, and then the record of their batch from the new one."""
    each = [places[i : i + 8] for i in range(0, len(places), 8)]
    ops: list[Op] = [Delete(PART, key) for place in each for key in keys.get(place, ())]
    old.commit([Drop(tuple(map(int.from_bytes, each))), *ops])
    new.commit([Delete(MOVED, moved_key(source))])


def finish(stores: Mapping[str, Store], images: Mapping[str, Image]) -> bool:
    """Complete moves that a crash has interrupted. Return whether `images` must be loaded again."""
    is_changed = False
    for target, image in images.items():
        for source, old in stores.items():
            places = image.tables.get(MOVED, {}).get(moved_key(source))
            if places is not None:
                parts = images[source].tables.get(PART, {})
                _leave(old, stores[target], source, places, _keys_by_place(parts))
                is_changed = True
    return is_changed


def _place_in(key: bytes) -> bytes:
    """Return the position in the key of an envelope's row; empty for a queue's row."""
    return key.partition(b"\0")[2][:PLACE]


def _keys_by_place(keys: Iterable[bytes]) -> dict[bytes, list[bytes]]:
    """Return the keys of the rows of each envelope: its state, and settlements of transactions."""
    found: dict[bytes, list[bytes]] = {}
    for key in keys:
        if place := _place_in(key):
            found.setdefault(place, []).append(key)
    return found


def _moved_to(position: int, key: bytes) -> bytes:
    name, _, place = key.partition(b"\0")
    return name + b"\0" + position.to_bytes(PLACE) + place[PLACE:]


def _would_be_lost(source: str, names: Sequence[str]) -> StoreError:
    shown = ", ".join(map(repr, names[:3])) + (f" and {len(names) - 3} more" if names[3:] else "")
    return StoreError(
        f"{source or 'The store of this node'} has messages of queues whose store is now memory: {shown}. "
        "They would be lost with the process.",
        hint="Keep the earlier store of these queues until they are empty: consume their "
        "messages, or discard them with `mesh queue purge`.",
        code="STORE_MISPLACED",
    )
