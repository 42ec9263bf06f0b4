"""How does a node take its own disk into use? Looked at first, then the store, guarded."""

from mesh.config import Config
from mesh.local.datadir import DataDir
from mesh.local.mounts import check_disk
from mesh.store.base import Image
from mesh.store.guard import GuardedStore
from mesh.store.room import Tell


def open_store(
    data: DataDir, config: Config, accept_rollback: bool, tell: Tell
) -> tuple[GuardedStore, Image]:
    """The node's store in its own directory, and what it holds. StoreError, DataDirRefused."""
    if not config.node.allow_network_disk:
        check_disk(data.path)
    wanted = config.limits.disk_reserve_bytes
    store = GuardedStore(data.path, data.uuid, data.boot, wanted, tell, accept_rollback)
    try:
        return store, store.load()
    except BaseException:
        store.close()
        raise
