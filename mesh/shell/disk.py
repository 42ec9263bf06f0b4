"""How does a node take its own disk into use? Looked at first, then the store that was chosen."""

from mesh.config import Config
from mesh.local.datadir import DataDir
from mesh.local.mounts import check_disk
from mesh.operations import Image
from mesh.store.base import NodeStore, begin
from mesh.store.opening import open_store
from mesh.store.room import Tell


def take_store(data: DataDir, config: Config, accept_rollback: bool, tell: Tell) -> tuple[NodeStore, Image]:
    """The node's store, and what it holds. StoreError, DataDirRefused, NotAvailable."""
    if not config.node.allow_network_disk:
        check_disk(data.path)
    reserve = config.limits.disk_reserve_bytes
    store = open_store(config.node.store, data.path, data.uuid, data.boot, reserve, tell, accept_rollback)
    try:
        return store, begin(store, data.boot, accept_rollback)
    except BaseException:
        store.close()
        raise
