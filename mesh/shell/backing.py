"""Copies a running node's stores, which only the node can open.

`mesh backup create` packs the copy.
"""

import json
import logging
import shutil
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from threading import Event, Lock, Thread

from mesh.errors import MeshError, StoreError
from mesh.local.backup import DONE, FOLDER, gather_plain, queue_files
from mesh.local.manifest import STORE
from mesh.local.private import write_private
from mesh.store.worker import StoreWorker

log = logging.getLogger("mesh.node")


class Backing:
    """Copies the stores into `FOLDER` in the data directory, on a thread.

    The file `DONE` is written last, with the names of the queue stores or the error. Queue stores are copied
    before the node's own: a message that moves to the node's store meanwhile is in both copies, never in
    neither. Messages that move from the node's store wait for `ended`, which is called on the thread.
    """

    def __init__(
        self, data: Path, workers: Mapping[str, StoreWorker], ended: Callable[[], object] = lambda: None
    ) -> None:
        self._data, self._workers, self._ended = data, workers, ended
        self._under_way = Lock()

    def start_copy(self) -> None:
        """Start a copy without blocking.

        A copy in progress serves this request, too.
        """
        if self._under_way.acquire(blocking=False):
            Thread(target=self._make, name="mesh-backup", daemon=True).start()

    def _make(self) -> None:
        folder = self._data / FOLDER
        try:
            try:
                _clear(folder)
                _report(folder, self._copy(folder))
            except MeshError as error:
                _report(folder, {"error": error.what, "hint": error.hint})
            except OSError as error:  # a full disk, perhaps: the copy makes room for the report
                _clear(folder)
                what = f"{error.filename}: {error.strerror}" if error.filename else str(error)
                _report(folder, {"error": what})
        except OSError as error:
            log.error("backup failed: %s", error)
        finally:
            self._under_way.release()
            with suppress(RuntimeError):  # the node has ended
                self._ended()

    def _copy(self, folder: Path) -> dict[str, object]:
        gather_plain(self._data, folder)
        queues, left_out = queue_files(self._workers)
        by_path = {store.removeprefix("sqlite://"): worker for store, worker in self._workers.items()}
        for name, path in queues.items():
            _copied(by_path[path], folder / name)
        _copied(self._workers[""], folder / STORE)
        return {"queues": queues, "left_out": left_out}


def _clear(folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(0o700)


def _report(folder: Path, said: Mapping[str, object]) -> None:
    write_private(folder / DONE, json.dumps(said).encode(), durable=True)


def _copied(worker: StoreWorker, path: Path) -> None:
    """Copy a store and wait until it is done. Raises: StoreError."""
    found: list[StoreError | None] = []
    is_over = Event()

    def done(error: StoreError | None) -> None:
        found.append(error)
        is_over.set()

    worker.copy(path, done)
    is_over.wait()
    if found[0] is not None:
        raise found[0]
