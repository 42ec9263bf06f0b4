"""A node with stores, and its backup."""

import json
from pathlib import Path

import pytest

from mesh.local.datadir import DataDir
from mesh.operations import BOOT, Append
from mesh.store.opening import open_guarded, open_queue_store
from tests.mesh.local.backups import Quiet, made


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The directory of a node that had two boots, whose store has some envelopes, and a queue's store."""
    place = tmp_path / "heron"
    DataDir.open(place).close()
    it = DataDir.open(place)
    store = open_guarded(place, it.uuid, it.boot, 0, Quiet)
    store.commit([Append(it.boot * BOOT + n, b"header", b"body" * 100) for n in range(50)])
    store.close()
    queue = tmp_path / "orders.db"
    other = open_queue_store(f"sqlite://{queue}", it.uuid, it.boot, 0, Quiet, place / "identity.json", False)
    other.commit([Append(it.boot * BOOT, b"q", b"q")])
    other.close()
    stores = {"settled": True, "queues": [["orders/#", f"sqlite://{queue}"]]}
    (place / "stores.json").write_text(json.dumps(stores))
    it.close()
    return place


@pytest.fixture
def backup(data: Path, tmp_path: Path) -> Path:
    return made(data, tmp_path / "heron.backup")
