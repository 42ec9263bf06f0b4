"""Checks and opens the stores of queues that do not use the node's own store, and moves queues to them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from mesh.config import Config
from mesh.config.queues import check_lasting
from mesh.config_store import MEMORY, file_of
from mesh.errors import BadConfig, DataDirRefused, NotAvailable, StoreError
from mesh.local.datadir import DataDir
from mesh.local.looking import could_write
from mesh.local.mounts import check_disk
from mesh.local.private import refused, write_private
from mesh.names import SUBS, store_of
from mesh.operations import Image
from mesh.printable import typed
from mesh.store.base import NodeStore, begin
from mesh.store.branches import finish_branches
from mesh.store.moving import Place, finish, move
from mesh.store.opening import files_beside, look_queue_store, open_queue_store
from mesh.store.room import Tell, is_full

FILE = "stores.json"  # in the data directory: settings of the last start
Stores = tuple[tuple[str, str], ...]  # (pattern of queues, their store); the first match counts

# Law: the file names each store that may hold data of a queue, before any data is put there. So a store that
# is no longer configured is found.


def stores_of(config: Config) -> Stores:
    return tuple((one.name, one.store) for one in config.queues)


def check_places(config: Config, data: Path) -> None:
    """Check that a node in the directory `data` could use all stores. Raises: BadConfig, DataDirRefused."""
    check_lasting(config.node.store, config.queues)
    taken = {file.resolve(): "the node's own store" for file in files_beside(data / "store.sqlite")}
    for one in {one.store: one for one in config.queues}.values():
        where = f"{one.origin}: [[queues]] store = {one.store!r:.80}"
        path = file_of(one.store)
        if not path:
            continue
        if not Path(path).parent.is_dir():
            hint = f"Name another file, or create the directory: mkdir -p {typed(Path(path).parent)}"
            raise BadConfig(f"{where}: {Path(path).parent} is not an existing directory.", hint=hint)
        for file in files_beside(Path(path)):
            if other := taken.get(file.resolve()):
                raise BadConfig(
                    f"{where} would use {file}, as {other} does.", hint="Name another file in [[queues]]."
                )
        taken |= {file.resolve(): repr(one.store) for file in files_beside(Path(path))}
        if not config.node.allow_network_disk:
            check_disk(Path(path).parent)
        could_write(Path(path).parent)


def look(config: Config, data: Path, uuid: bytes | None) -> None:
    """Check that the present queue stores and those of the last start can be opened, without changing them.

    `uuid` is that of the node, or `None` before its first start. Raises: DataDirRefused, StoreError,
    NotAvailable.
    """
    before, now = _last(data)[0], _names(stores_of(config))
    used = {_same(store) for _, store in before}
    for store in now:
        look_queue_store(store, uuid or bytes(16), _same(store) in used)
    for store in _names(before):
        if store == MEMORY or _same(store) in map(_same, now):
            continue
        with _named_before(store, data):
            look_queue_store(store, uuid or bytes(16), True)


@dataclass(frozen=True, slots=True)
class Taken:
    """Queue stores by name, and the content of each store; in `images`, "" is the node's own store."""

    stores: Mapping[str, NodeStore]
    images: Mapping[str, Image]


def take_all(
    config: Config, data: DataDir, own: NodeStore, accept_rollback: bool, tell: Tell, undo: ExitStack
) -> Taken:
    """Open the queue stores, and move each queue to the store that the configuration names.

    Raises: StoreError, DataDirRefused, NotAvailable.
    """
    (before, is_settled), now = _last(data.path), stores_of(config)
    used = {_same(store) for _, store in before}
    stores: dict[str, NodeStore] = {"": own}

    def opened(store: str, undo: ExitStack) -> None:
        stores[store] = open_queue_store(
            store,
            data.uuid,
            data.boot,
            config.limits.disk_reserve_bytes,
            tell,
            data.path / "identity.json",
            _same(store) in used,
            accept_rollback,
        )
        undo.callback(stores[store].close)

    for store in _names(now):
        opened(store, undo)
    has_spools = any(pattern.startswith(SUBS) for pattern, _ in now)  # whose last batch may be incomplete
    if before != now or not is_settled or has_spools:
        with ExitStack() as gone:
            for store in _names(before):
                if store == MEMORY or _same(store) in map(_same, stores):
                    continue
                if accept_rollback and _is_missing(store):
                    continue
                with _named_before(store, data.path):
                    opened(store, gone)
            _write(data.path, tuple(dict.fromkeys((*before, *now))), is_settled=False)
            _settle(stores, now, config, data.boot, accept_rollback, tell)
        _write(data.path, now)
        accept_rollback = False  # accepted once, in `_settle`
    stores = {store: stores[store] for store in ("", *_names(now))}
    images = {store: begin(each, data.boot, accept_rollback) for store, each in stores.items()}
    if finish_branches(stores, images, accept_rollback, tell):
        images = {store: begin(each, data.boot) for store, each in stores.items()}
    return Taken({store: each for store, each in stores.items() if store}, images)


def merged_status(stores: Iterable[NodeStore]) -> dict[str, int | float]:
    """Return the metrics of several stores as one.

    Of `disk_free` the smallest counts, of `disk_short` the largest; others are added.
    """
    found: dict[str, int | float] = {}
    for store in stores:
        for name, value in store.status().items():
            if name not in found:
                found[name] = value
            elif name == "disk_free":
                found[name] = min(found[name], value)
            else:
                found[name] = max(found[name], value) if name == "disk_short" else found[name] + value
    return found


def _settle(
    stores: Mapping[str, NodeStore], now: Stores, config: Config, boot: int, accept_rollback: bool, tell: Tell
) -> None:
    """Move the data of queues to the stores that the present settings name."""
    images = {store: begin(each, boot, accept_rollback) for store, each in stores.items()}
    if finish(stores, images) or finish_branches(stores, images, accept_rollback, tell):
        images = {store: begin(each, boot) for store, each in stores.items()}
    places = {
        store: Place(each, images[store], (store or config.node.store) != MEMORY)
        for store, each in stores.items()
    }
    if moved := move(places, lambda name: store_of(name, now)):
        tell("info", f"{moved:,} envelopes were moved, because their queues have other stores now")


def _names(stores: Stores) -> list[str]:
    return list(dict.fromkeys(store for _, store in stores))


def _same(store: str) -> str:
    """Return the resolved path of a store's file, so that two spellings are equal; else `store` itself."""
    path = file_of(store)
    return str(Path(path).resolve()) if path else store


def _is_missing(store: str) -> bool:
    return bool(file_of(store)) and not Path(file_of(store)).exists()


@contextmanager
def _named_before(store: str, data: Path) -> Iterator[None]:
    """Explain in errors that a store is no longer configured but had queues at the last start."""
    try:
        yield
    except (StoreError, NotAvailable) as error:
        what = f"{error.what} It had queues at the last start, according to {data / FILE}."
        raise type(error)(what, hint=error.hint, code=error.code) from error


def _write(data: Path, stores: Stores, is_settled: bool = True) -> None:
    path = data / FILE
    try:
        write_private(path, json.dumps({"settled": is_settled, "queues": stores}).encode(), durable=True)
    except OSError as error:
        hint = (
            "Free space on that disk."
            if is_full(error)
            else "Allow this user to write it, and check the disk."
        )
        raise refused(path, error, hint) from error


def _last(data: Path) -> tuple[Stores, bool]:
    """Return the settings of the last start, and whether all data was moved. Raises: DataDirRefused."""
    path = data / FILE
    try:
        found = json.loads(path.read_bytes())
        return tuple((str(pattern), str(store)) for pattern, store in found["queues"]), bool(found["settled"])
    except FileNotFoundError:
        return (), True
    except OSError as error:
        raise refused(path, error, "Allow this user to read it.") from error
    except (ValueError, TypeError, KeyError) as error:
        raise DataDirRefused(
            f"{path}, the record of the queue stores of the last start, is damaged.",
            hint="Restore it from a copy; or remove it, if [[queues]] is unchanged since then.",
        ) from error
