"""A restored node: the same identity, an unused boot number, and no overwritten files."""

import os
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

from mesh.errors import DataDirRefused, StoreError
from mesh.local.backup import queue_stores
from mesh.local.datadir import DataDir, kept_identity
from mesh.local.queueplaces import QueuePlaces
from mesh.local.restore import LEAP, restore
from mesh.store.opening import WITNESS, open_guarded, open_queue_store
from mesh.store.sqlite import SQLiteStore
from tests.mesh.local.backups import Quiet, forged


def places(folder: Path) -> QueuePlaces:
    """Return the places of a machine whose configuration names the store of the queue."""
    return QueuePlaces([f"sqlite://{folder / 'orders.db'}"])


def test_a_restored_node_is_the_same_with_a_boot_that_never_was(
    backup: Path, data: Path, tmp_path: Path
) -> None:
    before = kept_identity(data)
    (tmp_path / "orders.db").rename(tmp_path / "gone.db")
    (tmp_path / f"orders.db{WITNESS}").unlink()
    restore(backup, tmp_path / "again", places=places(tmp_path))
    after = kept_identity(tmp_path / "again")
    assert before is not None and after is not None
    assert after[0] == before[0] and after[1] == before[1] + LEAP and after[2] == before[2]
    it = DataDir.open(tmp_path / "again")
    store = open_guarded(it.path, it.uuid, it.boot, 0, Quiet, accept_rollback=True)
    assert len(list(store.load().envelopes)) == 50
    store.close()
    file = f"sqlite://{tmp_path / 'orders.db'}"
    queue = open_queue_store(file, it.uuid, it.boot, 0, Quiet, it.path / "identity.json", True)
    assert len(list(queue.load().envelopes)) == 1
    queue.close()
    it.close()


def test_a_restored_node_wants_a_word_though_it_meets_nobody_and_only_once(
    backup: Path, tmp_path: Path
) -> None:
    (tmp_path / "orders.db").unlink()
    restore(backup, tmp_path / "again", places=places(tmp_path))
    for accepts in (False, False, True, False):
        it = DataDir.open(tmp_path / "again")
        store = open_guarded(it.path, it.uuid, it.boot, 0, Quiet, accept_rollback=accepts)
        try:
            store.load()
            is_taken = True
        except StoreError as error:
            is_taken = error.code != "STORE_ROLLED_BACK"
        store.close()
        it.close()
        assert is_taken == (accepts or it.boot == store._boot == LEAP + 6), accepts


def test_a_backup_is_restored_below_a_directory_of_all_users_and_not_where_nobody_may_write(
    backup: Path, tmp_path: Path
) -> None:
    (tmp_path / "orders.db").unlink()
    (tmp_path / "all").mkdir()
    (tmp_path / "all").chmod(0o1777)
    restore(backup, tmp_path / "all" / "new" / "heron", places=places(tmp_path))
    assert (tmp_path / "all" / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "all" / "new" / "heron").stat().st_mode & 0o777 == 0o700
    with pytest.raises(DataDirRefused, match="/proc/nowhere cannot be used"):
        restore(backup, Path("/proc/nowhere/heron"))


def test_a_node_that_runs_is_never_overwritten(backup: Path, data: Path) -> None:
    it = DataDir.open(data)
    for replace in (False, True):
        with pytest.raises(DataDirRefused, match="its node runs"):
            restore(backup, data, replace)
    it.close()


def test_a_file_in_place_of_a_directory_is_left_alone(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(DataDirRefused, match="a file has the name of a directory"):
        restore(backup, tmp_path / "file", True, places(tmp_path))
    assert (tmp_path / "file").read_text() == "mine"


def test_what_is_there_is_moved_aside_only_when_that_is_wanted_and_its_boots_count(
    backup: Path, data: Path, tmp_path: Path
) -> None:
    for _ in range(3):
        DataDir.open(data).close()
    with pytest.raises(DataDirRefused, match="--replace"):
        restore(backup, data)
    manifest, aside = restore(backup, data, True, places(tmp_path))
    after = kept_identity(data)
    assert after is not None and after[1] == manifest.boot + 3 + LEAP
    [old] = [path for path in aside if path.is_dir()]
    assert (old / "store.sqlite").exists() and any(path.name.startswith("orders.db.before") for path in aside)


def test_the_store_of_a_queue_that_a_node_has_open_is_left_alone(backup: Path, tmp_path: Path) -> None:
    queue = SQLiteStore(tmp_path / "orders.db")
    with pytest.raises(StoreError) as caught:
        restore(backup, tmp_path / "again", True, places(tmp_path))
    assert caught.value.code == "STORE_IN_USE" and not (tmp_path / "again").exists()
    queue.close()
    assert sorted(path.name for path in tmp_path.glob("orders.db*")) == ["orders.db", "orders.db.witness"]
    restore(backup, tmp_path / "again", True, places(tmp_path))


def test_a_directory_of_something_else_is_left_alone(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "diary").write_text("dear")
    with pytest.raises(DataDirRefused, match="not the directory of a node"):
        restore(backup, tmp_path / "home", replace=True)
    assert os.listdir(tmp_path / "home") == ["diary"]


LINE = b"\nssh-ed25519 AAAA attacker\n"


def test_a_backup_writes_to_no_path_that_it_alone_names(backup: Path, tmp_path: Path) -> None:
    path = tmp_path / "home" / "keys"
    path.parent.mkdir()
    file = forged(backup, path, LINE)
    for replace in (False, True):
        with pytest.raises(DataDirRefused, match="--queue-store") as caught:
            restore(file, tmp_path / "again", replace)
        assert caught.value.code == "BACKUP_PLACE" and str(path) in caught.value.what
    assert os.listdir(path.parent) == [] and not (tmp_path / "again").exists()


@pytest.mark.parametrize("kind", ["file", "link", "folder"])
def test_not_even_a_named_path_is_replaced_if_no_store_is_there(
    kind: str, backup: Path, tmp_path: Path
) -> None:
    path = tmp_path / "home" / "keys"
    path.parent.mkdir()
    if kind == "file":
        path.write_text("my keys")
    elif kind == "link":
        path.symlink_to(tmp_path / "orders.db")
    else:
        path.mkdir()
    named = QueuePlaces((), {"orders/#": str(path)})
    with pytest.raises(DataDirRefused, match="is not a store"):
        restore(backup, tmp_path / "again", True, named)
    assert os.listdir(path.parent) == ["keys"] and not (tmp_path / "again").exists()
    assert kind != "file" or path.read_text() == "my keys"


def test_a_store_of_queues_goes_where_the_user_says_and_its_node_finds_it_there(
    backup: Path, tmp_path: Path
) -> None:
    path = tmp_path / "other.db"
    said: list[tuple[str, Path]] = []

    def announced(files: Iterable[tuple[str, Path]]) -> None:
        said.extend(files)
        assert not path.exists()  # before anything is written

    restore(backup, tmp_path / "again", False, QueuePlaces((), {"orders/#": str(path)}), announce=announced)
    assert ("queues-1.sqlite", path) in said and ("store.sqlite", tmp_path / "again" / "store.sqlite") in said
    assert queue_stores(tmp_path / "again") == [("orders/#", f"sqlite://{path}")]
    it = DataDir.open(tmp_path / "again")
    queue = open_queue_store(
        f"sqlite://{path}", it.uuid, it.boot, 0, Quiet, it.path / "identity.json", True, False
    )
    assert len(list(queue.load().envelopes)) == 1 and path.stat().st_mode & 0o077 == 0
    queue.close()
    it.close()


def test_a_store_of_queues_within_the_directory_comes_back_with_it(backup: Path, tmp_path: Path) -> None:
    data = tmp_path / "again"
    restore(forged(backup, data / "queues" / "orders.db"), data)
    first = (data / "queues" / "orders.db").read_bytes()
    restore(forged(backup, data / "queues" / "orders.db"), data, replace=True)
    assert (data / "queues" / "orders.db").read_bytes() == first
    for name in ("identity.json", "store.sqlite-wal", "queues-1.sqlite", "lock", "backup/x", ""):
        with pytest.raises(DataDirRefused, match="kept for the node's own files") as caught:
            restore(forged(backup, data / name), data, replace=True)
        assert caught.value.code == "BACKUP_PLACE", name


def test_nothing_is_written_where_there_is_no_room(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    full = shutil.disk_usage(tmp_path)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
    with pytest.raises(DataDirRefused, match="has 1,000 bytes free"):
        restore(backup, tmp_path / "again", places=places(tmp_path))
    assert not (tmp_path / "again").exists()
