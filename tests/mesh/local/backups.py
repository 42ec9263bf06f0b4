"""Backups of a node with queue stores, for tests of `mesh backup`."""

import hashlib
import json
import zipfile
from collections.abc import Callable
from pathlib import Path

from mesh.local.backup import gather_stopped, pack
from mesh.local.datadir import DataDir, kept_identity
from mesh.local.manifest import BackupFile, Manifest
from mesh.local.unpacking import MANIFEST
from mesh.operations import BOOT, Append
from mesh.store.opening import open_guarded, open_queue_store
from mesh.store.sqlite import SQLiteStore

Quiet = lambda level, text: None  # noqa: E731


def node_with_stores(folder: Path) -> Path:
    """Create the directory of a node with two boots, some stored envelopes, and a store of a queue."""
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


Files = dict[str, bytes]


def rewritten(backup: Path, change: Callable[[Files], None], correct: bool = False) -> Path:
    """Return the backup after a change of its files. If `correct`, its manifest matches them."""
    with zipfile.ZipFile(backup) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    if correct:
        it = json.loads(files[MANIFEST])
        it["files"] = {
            name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
            for name, content in files.items()
            if name != MANIFEST
        }
        files[MANIFEST] = json.dumps(it).encode()
    out = backup.with_name("rewritten")
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out


def forged(backup: Path, path: Path, line: bytes = b"line") -> Path:
    """Return a valid backup that restores the store of its queue, with this line in it, to `path`."""
    store = backup.with_name("forged.sqlite")
    store.unlink(missing_ok=True)
    sqlite = SQLiteStore(store)
    sqlite.commit([Append(BOOT, b"q", line)])
    sqlite.close()

    def change(files: Files) -> None:
        files["queues-1.sqlite"] = store.read_bytes()
        files["stores.json"] = json.dumps(
            {"settled": True, "queues": [["orders/#", f"sqlite://{path}"]]}
        ).encode()
        it = {**json.loads(files[MANIFEST]), "queues": {"queues-1.sqlite": str(path)}}
        files[MANIFEST] = json.dumps(it).encode()

    return rewritten(backup, change, correct=True)
