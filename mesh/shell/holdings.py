"""Resources that a node acquires before it is reachable: data directory, keys, stores, snapshots."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from mesh.config import Config
from mesh.config_store import MEMORY
from mesh.errors import MeshTimeout, StoreError
from mesh.local.datadir import DataDir
from mesh.local.localnodes import check_original, pick_name
from mesh.local.mounts import check_disk
from mesh.local.segments import SegmentLog
from mesh.operations import Image
from mesh.security.keyring import MeshKeys, keyring
from mesh.shell.event_reporter import EventReporter
from mesh.shell.preparing import Preparation
from mesh.shell.queuestores import Taken, check_places, take_all
from mesh.store.base import NodeStore
from mesh.store.opening import open_store
from mesh.store.room import Tell

log = logging.getLogger("mesh.node")
DRAIN = 10.0  # s to write pending data at the end


@dataclass(frozen=True, slots=True)
class Holdings:
    """The resources of one node on its machine."""

    name: str
    data: DataDir
    keys: MeshKeys | None
    store: NodeStore
    queue_stores: Mapping[str, NodeStore]
    unowned: ExitStack  # closes the stores until workers own them
    snapshots: SegmentLog | None
    snapshots_dir: Path

    @property
    def stores(self) -> dict[str, NodeStore]:
        """The stores by name; "" is the node's own."""
        return {"": self.store, **self.queue_stores}


def take(
    config: Config,
    state: Path,
    ready: Preparation,
    accept_rollback: bool,
    teller: EventReporter,
    undo: ExitStack,
) -> tuple[Holdings, Mapping[str, Image]]:
    """Acquire all resources, and return them with the content of each store; `undo` releases them.

    Raises: BadConfig, DataDirRefused, NodeInUse, KeysRefused, NotAvailable, StoreError.
    """
    name, data = pick_name(state, config.node.id, socket.gethostname(), ready.data)
    undo.callback(data.close)
    if config.node.store == MEMORY:
        # In memory, numbers start at 1 again: others would drop them as known under the old uuid.
        data.be_another()
    check_original(state, data.uuid, data.path)
    keys = keys_of(config, state, data)
    unowned = undo.enter_context(ExitStack())
    store, taken = _stores(config, data, accept_rollback, teller.reporter_of("disk"), unowned)
    place = (ready.snapshots or data.path / "snapshots").absolute()
    snapshots = None
    if config.snapshots.enabled:
        limit = config.snapshots.limit_bytes
        snapshots = SegmentLog(place, name, data.uuid, data.boot, limit, teller.reporter_of("snapshots"))
        undo.callback(in_time, snapshots.close)
    return Holdings(name, data, keys, store, taken.stores, unowned, snapshots, place), taken.images


def in_time(close: Callable[[float], None]) -> None:
    """Close a writer within DRAIN seconds.

    A failure is logged, so that other writers are closed, too.
    """
    try:
        close(DRAIN)
    except (StoreError, MeshTimeout) as error:
        log.error("%s", error)


def keys_of(config: Config, state: Path, data: DataDir) -> MeshKeys | None:
    """Return the keys for a configuration, or `None` if its mesh has none. Raises: KeysRefused."""
    node = config.node
    passwds = {record.name: record.passwd for record in config.nodes if record.passwd is not None}
    sites = [site.name for site in config.sites]
    return keyring(state, data.path, node.cluster, node.passwd or "", passwds, sites)


def _stores(
    config: Config, data: DataDir, accept_rollback: bool, tell: Tell, undo: ExitStack
) -> tuple[NodeStore, Taken]:
    """Check the disk, open the node's store and the queue stores, and read the contents of all of them."""
    if not config.node.allow_network_disk:
        check_disk(data.path)
    check_places(config, data.path)
    reserve = config.limits.disk_reserve_bytes
    store = open_store(config.node.store, data.path, data.uuid, data.boot, reserve, tell, accept_rollback)
    undo.callback(store.close)
    return store, take_all(config, data, store, accept_rollback, tell, undo)
