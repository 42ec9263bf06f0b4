"""What does a node take before anybody can reach it? Its directory, its keys, its store, its snapshots."""

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
from mesh.shell.preparing import Preparation
from mesh.shell.queuestores import Taken, check_places, take_all
from mesh.shell.teller import Teller
from mesh.store.base import NodeStore
from mesh.store.opening import open_store
from mesh.store.room import Tell

log = logging.getLogger("mesh.node")
DRAIN = 10.0  # s that what is written may take at the end


@dataclass(frozen=True, slots=True)
class Holdings:
    """The things that one node holds of its machine."""

    name: str
    data: DataDir
    keys: MeshKeys | None
    store: NodeStore
    queue_stores: Mapping[str, NodeStore]
    unowned: ExitStack  # closes the stores, until workers do
    snapshots: SegmentLog | None
    snapshots_dir: Path

    @property
    def stores(self) -> dict[str, NodeStore]:
        """All stores by their names."""
        return {"": self.store, **self.queue_stores}


def take(
    config: Config, state: Path, ready: Preparation, accept_rollback: bool, teller: Teller, undo: ExitStack
) -> tuple[Holdings, Mapping[str, Image]]:
    """All of that, and what each store holds, "" the node's own; `undo` lets go.

    BadConfig, DataDirRefused, NodeInUse, KeysRefused, NotAvailable, StoreError.
    """
    name, data = pick_name(state, config.node.id, socket.gethostname(), ready.data)
    undo.callback(data.close)
    if config.node.store == MEMORY:
        # Others would drop as known what this node numbers from one again.
        data.be_another()
    check_original(state, data.uuid, data.path)
    keys = keys_of(config, state, data)
    unowned = undo.enter_context(ExitStack())
    store, taken = _stores(config, data, accept_rollback, teller.of("disk"), unowned)
    place = (ready.snapshots or data.path / "snapshots").absolute()
    snapshots = None
    if config.snapshots.enabled:
        limit = config.snapshots.limit_bytes
        snapshots = SegmentLog(place, name, data.uuid, data.boot, limit, teller.of("snapshots"))
        undo.callback(in_time, snapshots.close)
    return Holdings(name, data, keys, store, taken.stores, unowned, snapshots, place), taken.images


def in_time(close: Callable[[float], None]) -> None:
    """Close what writes. What a disk does not take in time is told, and the rest is closed, too."""
    try:
        close(DRAIN)
    except (StoreError, MeshTimeout) as error:
        log.error("%s", error)


def keys_of(config: Config, state: Path, data: DataDir) -> MeshKeys | None:
    """The keys of a node with that configuration; None when its mesh has none. KeysRefused."""
    node = config.node
    passwds = {record.name: record.passwd for record in config.nodes if record.passwd is not None}
    sites = [site.name for site in config.sites]
    return keyring(state, data.path, node.cluster, node.passwd or "", passwds, sites)


def _stores(
    config: Config, data: DataDir, accept_rollback: bool, tell: Tell, undo: ExitStack
) -> tuple[NodeStore, Taken]:
    """The store that was chosen, on a disk that was looked at first; those of queues; and what they hold."""
    if not config.node.allow_network_disk:
        check_disk(data.path)
    check_places(config, data.path)
    reserve = config.limits.disk_reserve_bytes
    store = open_store(config.node.store, data.path, data.uuid, data.boot, reserve, tell, accept_rollback)
    undo.callback(store.close)
    return store, take_all(config, data, store, accept_rollback, tell, undo)
