"""A node copies what it keeps while it runs: only it can open its stores. `mesh backup create` packs the
copy."""

import json
import logging
import shutil
from collections.abc import Mapping
from pathlib import Path
from threading import Event, Lock, Thread

from mesh.errors import MeshError, StoreError
from mesh.local.backup import DONE, FOLDER, gather_plain, queue_files
from mesh.local.manifest import STORE
from mesh.local.private import write_private
from mesh.store.worker import StoreWorker

log = logging.getLogger("mesh.node")


class Backing:
    """Copies into `FOLDER` in the node's directory, in a thread of its own; `DONE` there is the last file.

    Stores of queues come before the node's own: what goes from one of them to that meanwhile is in both then,
    and never in neither.
    """

    def __init__(self, data: Path, workers: Mapping[str, StoreWorker]) -> None:
        self._data, self._workers = data, workers
        self._under_way = Lock()

    def begin(self) -> None:
        """Never blocks. If one is under way, whoever asks waits for that."""
        if self._under_way.acquire(blocking=False):
            Thread(target=self._make, name="mesh-backup", daemon=True).start()

    def _make(self) -> None:
        folder = self._data / FOLDER
        try:
            try:
                shutil.rmtree(folder, ignore_errors=True)
                folder.mkdir(0o700)
                said = self._copy(folder)
            except (MeshError, OSError) as error:
                said = {"error": str(error)}
            write_private(folder / DONE, json.dumps(said).encode(), durable=True)
        except OSError as error:
            log.error("no backup could be made: %s", error)
        finally:
            self._under_way.release()

    def _copy(self, folder: Path) -> dict[str, object]:
        gather_plain(self._data, folder)
        queues, left_out = queue_files(self._workers)
        by_path = {store.removeprefix("sqlite://"): worker for store, worker in self._workers.items()}
        for name, path in queues.items():
            _copied(by_path[path], folder / name)
        _copied(self._workers[""], folder / STORE)
        return {"queues": queues, "left_out": left_out}


def _copied(worker: StoreWorker, path: Path) -> None:
    """Wait until it is there. StoreError."""
    found: list[StoreError | None] = []
    is_over = Event()

    def done(error: StoreError | None) -> None:
        found.append(error)
        is_over.set()

    worker.copy(path, done)
    is_over.wait()
    if found[0] is not None:
        raise found[0]
