"""The rows of transactions over several stores of a node, and their recovery when the node starts."""

# Law 1: nothing of a transaction over several stores is visible before every store has its operations.
# Law 2: abort is presumed: hidden operations without a decision in the node's own store are dropped.
# Law 3: a decision is final. A start completes the transaction in the other stores first, then in the node's
#   own, whose decision goes in the commit that makes the rest durable.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import Enum

import msgspec

from mesh.errors import RemoteError, StoreError
from mesh.operations import Append, Delete, Image, Op, Put
from mesh.routing.retained_value import RetainedValue
from mesh.wire.codec import reader

BRANCH = "branch"  # table
HIDDEN, MAIN = b"\0", b"\1"  # first byte of a key: operations of a store, and the row of the node's own store
STREAM, COUNT, SERIAL = 16, 8, 4  # bytes of the parts of a key
PIECE = 2**20  # bytes of a row
RETAINED = "retained"  # table

NO_ROW, DECIDED, PREPARED = "", "decided", "prepared"  # states of the row of the node's own store

TransactionKey = tuple[bytes, int]  # stream, number


class Recovery(Enum):
    """A step of a node for a transaction, when the node starts."""

    FINISH = "make the hidden rows of a decided transaction visible"
    REMOVE = "remove the decision, whose transaction is complete"
    DROP = "drop hidden rows"
    SERVE = "serve"


def recovery(branch: str, has_hidden_rows: bool) -> Recovery:
    """Return the next step of a start, by the row of the main store: abort is presumed without one."""
    if branch == DECIDED:
        return Recovery.FINISH if has_hidden_rows else Recovery.REMOVE
    return Recovery.DROP if has_hidden_rows and branch != PREPARED else Recovery.SERVE


class HiddenOps(msgspec.Struct, frozen=True, array_like=True):
    """The operations of a transaction in one store, which a start may still have to carry out.

    Attributes:
        envelopes: Header and body of each; the position is assigned when the envelope becomes visible.
        rows: Table, key and value of each.
    """

    envelopes: tuple[tuple[bytes, bytes], ...] = ()
    rows: tuple[tuple[str, bytes, bytes], ...] = ()


class MainRow(msgspec.Struct, frozen=True, array_like=True):
    """The row of a transaction in the node's own store.

    Attributes:
        state: `decided`.
        stores: The other stores that have hidden operations at the decision.
    """

    state: str = NO_ROW
    stores: tuple[str, ...] = ()


_read_ops = reader(HiddenOps, 2**28)
_read_main = reader(MainRow, 2**16)


def main_key(key: TransactionKey) -> bytes:
    return MAIN + key[0] + key[1].to_bytes(COUNT)


def decision_row(key: TransactionKey, stores: Iterable[str] = ()) -> Put:
    return Put(BRANCH, main_key(key), msgspec.msgpack.encode(MainRow(DECIDED, tuple(stores))))


def hidden_rows(key: TransactionKey, ops: HiddenOps) -> list[Put]:
    """Return the rows that keep hidden operations, in pieces."""
    return [Put(BRANCH, place, piece) for place, piece in pieces(HIDDEN, key, msgspec.msgpack.encode(ops))]


def pieces(kind: bytes, key: TransactionKey, data: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield key and value of the rows of `data`."""
    prefix = kind + key[0] + key[1].to_bytes(COUNT)
    for serial in range(max(1, -(-len(data) // PIECE))):
        yield prefix + serial.to_bytes(SERIAL), data[serial * PIECE : (serial + 1) * PIECE]


def deletions(rows: Iterable[Put]) -> list[Op]:
    return [Delete(BRANCH, row.key) for row in rows]


def hidden_of(rows: Mapping[bytes, bytes], kind: bytes = HIDDEN) -> dict[TransactionKey, list[bytes]]:
    """Return the keys of the pieces of each transaction in one store, in order."""
    found: dict[TransactionKey, list[bytes]] = {}
    for key in sorted(rows):
        if key[:1] == kind:
            if len(key) != 1 + STREAM + COUNT + SERIAL:
                raise _damaged("A row", ValueError(f"its key is {key[:40]!r}"))
            end = 1 + STREAM + COUNT
            found.setdefault((key[1 : 1 + STREAM], int.from_bytes(key[1 + STREAM : end])), []).append(key)
    return found


def decided(rows: Mapping[bytes, bytes]) -> dict[TransactionKey, MainRow]:
    """Return the rows of transactions in the node's own store. Raises: StoreError if one cannot be read."""
    found: dict[TransactionKey, MainRow] = {}
    for key, value in rows.items():
        if key[:1] == MAIN:
            try:
                row = _read_main(value)
            except RemoteError as error:
                raise _damaged("The decision", error) from error
            found[key[1 : 1 + STREAM], int.from_bytes(key[1 + STREAM :])] = row
    return found


# --- recovery -----------------------------------------------------------------------------------------------


class Completion(msgspec.Struct, frozen=True):
    """A commit that a start makes in one store."""

    store: str
    ops: list[Op]


def completions(images: Mapping[str, Image], keeps_undecided: bool = False) -> list[Completion]:
    """Return the commits that end the transactions which a crash has interrupted, in their order.

    `images` has the content of each store; "" is the node's own. `keeps_undecided`: the node's own store was
    rolled back, so a decision may be missing, and an operator has to look at hidden operations.
    Raises: StoreError if a row cannot be read.
    """
    own = decided(images[""].tables.get(BRANCH, {}))
    hidden = {store: hidden_of(image.tables.get(BRANCH, {})) for store, image in images.items()}
    position = {store: image.next_position for store, image in images.items()}
    found: list[Completion] = []
    for key in {**dict.fromkeys(own), **{key: None for each in hidden.values() for key in each}}:
        stores = [store for store, each in hidden.items() if key in each]
        step = recovery(own.get(key, MainRow()).state, bool(stores))
        if step in (Recovery.FINISH, Recovery.REMOVE):
            for store in [*(store for store in stores if store), ""]:
                ops = _completed(images[store], position[store], hidden[store].get(key, ()))
                position[store] += sum(isinstance(op, Append) for op in ops)
                ops += [Delete(BRANCH, main_key(key))] if not store else []
                found.append(Completion(store, ops))
        elif step is Recovery.DROP and not keeps_undecided:
            found += [Completion(s, [Delete(BRANCH, row) for row in hidden[s][key]]) for s in stores]
    return found


def unknown_ends(images: Mapping[str, Image]) -> Iterator[tuple[TransactionKey, str]]:
    """Yield the decided transactions, each with a store that has no hidden operations any more.

    Either the operations took effect there before the node ended, or the store was rolled back without them.
    """
    hidden = {store: hidden_of(image.tables.get(BRANCH, {})) for store, image in images.items()}
    for key, row in decided(images[""].tables.get(BRANCH, {})).items():
        yield from ((key, store) for store in row.stores if key not in hidden.get(store, ()))


def _completed(image: Image, position: int, keys: Sequence[bytes]) -> list[Op]:
    """Return the operations that make the hidden ones of one store visible, and delete their rows."""
    if not keys:
        return []
    rows = image.tables[BRANCH]
    try:
        hidden = _read_ops(b"".join(rows[key] for key in keys))
    except RemoteError as error:
        raise _damaged("Hidden operations", error) from error
    ops: list[Op] = [Append(position + i, *parts) for i, parts in enumerate(hidden.envelopes)]
    known = image.tables.get(RETAINED, {})
    ops += [Put(*row) for row in hidden.rows if row[0] != RETAINED or not _is_outdone(row, known)]
    return [*ops, *(Delete(BRANCH, key) for key in keys)]


def _is_outdone(row: tuple[str, bytes, bytes], known: Mapping[bytes, bytes]) -> bool:
    """Return whether the store has a newer value of a topic, of another publisher."""
    _, key, value = row
    return key in known and RetainedValue.unpack(known[key]).is_newer_than(RetainedValue.unpack(value))


def _damaged(what: str, error: Exception) -> StoreError:
    hint = "Restore the node from a backup: mesh backup restore FILE --replace"
    return StoreError(f"{what} of a transaction cannot be read: {error}.", hint=hint)
