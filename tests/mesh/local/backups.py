"""Backups of a node with the stores of its queues, for tests of `mesh backup`."""

import json
from pathlib import Path

from mesh.local.backup import BackupFile, Manifest, gather_stopped, pack
from mesh.local.datadir import DataDir, kept_identity
from mesh.operations import BOOT, Append
from mesh.store.opening import open_guarded, open_queue_store

Quiet = lambda level, text: None  # noqa: E731


def node_with_stores(folder: Path) -> Path:
    """The directory of a node that had two boots, whose store has some envelopes, and a queue's store."""
    place = folder / "heron"
    DataDir.open(place).close()
    it = DataDir.open(place)
    store = open_guarded(place, it.uuid, it.boot, 0, Quiet)
    store.commit([Append(it.boot * BOOT + n, b"header", b"body" * 100) for n in range(50)])
    store.close()
    queue = folder / "orders.db"
    other = open_queue_store(f"sqlite://{queue}", it.uuid, it.boot, 0, Quiet, place / "identity.json", False)
    other.commit([Append(it.boot * BOOT, b"q", b"q")])
    other.close()
    stores = {"settled": True, "queues": [["orders/#", f"sqlite://{queue}"]]}
    (place / "stores.json").write_text(json.dumps(stores))
    it.close()
    return place


def made(data: Path, out: Path) -> Path:
    folder = out.with_name("gathered")
    folder.mkdir()
    queues, left_out = gather_stopped(data, folder)
    identity = kept_identity(data)
    assert identity is not None
    pack(folder, out, lambda files: manifest(identity[0], identity[1], files, queues, left_out))
    return out


def manifest(
    uuid: bytes, boot: int, files: dict[str, BackupFile], queues: dict[str, str], left_out: list[str]
) -> Manifest:
    return Manifest(
        node="heron", uuid=uuid.hex(), boot=boot, made=1, software="x", files=files, queues=queues,
        left_out=left_out,
    )  # fmt: skip
