"""Is a backup believed only as a whole, and is nothing overwritten by it?"""

import json
import os
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mesh.errors import DataDirRefused, MeshError, StoreError
from mesh.local.backup import BAD, FOLDER, MANIFEST, BackupFile, Manifest, gather_stopped, pack, verified
from mesh.local.datadir import DataDir, kept_identity
from mesh.local.restore import LEAP, restore
from mesh.operations import BOOT, Append
from mesh.store.opening import WITNESS, open_guarded, open_queue_store
from mesh.store.sqlite import SQLiteStore

Quiet = lambda level, text: None  # noqa: E731


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


def test_a_backup_that_is_whole_is_good_and_leaves_nothing_behind(backup: Path, tmp_path: Path) -> None:
    with verified(backup, tmp_path) as (it, folder):
        assert it.node == "heron" and set(it.files) >= {"identity.json", "store.sqlite", "queues-1.sqlite"}
        assert all((folder / name).stat().st_mode & 0o077 == 0 for name in it.files)
    assert not folder.exists() and backup.stat().st_mode & 0o077 == 0


def test_no_cut_makes_a_backup_that_is_taken(backup: Path, tmp_path: Path) -> None:
    whole = backup.read_bytes()
    part = tmp_path / "part"
    for length in (0, 1, 100, len(whole) // 3, len(whole) // 2, len(whole) - 1):
        part.write_bytes(whole[:length])
        with pytest.raises(DataDirRefused) as caught, verified(part):
            pass
        assert caught.value.code == BAD


def test_no_byte_that_was_changed_makes_one_that_is_taken(backup: Path, tmp_path: Path) -> None:
    whole = bytearray(backup.read_bytes())
    other = tmp_path / "other"
    with verified(backup) as (it, _):
        before = it
    for place in range(0, len(whole), max(1, len(whole) // 60)):
        changed = bytearray(whole)
        changed[place] ^= 0x41
        other.write_bytes(changed)
        try:
            with verified(other) as (it, _):
                assert it == before  # a byte that means nothing, such as a date of the zip
        except MeshError as error:
            assert error.code == BAD


def rewritten(backup: Path, change: Callable[[dict[str, bytes]], None]) -> Path:
    """The backup with other files, and a manifest that is right about them if that is left alone."""
    with zipfile.ZipFile(backup) as archive:
        files = {name: archive.read(name) for name in archive.namelist()}
    change(files)
    out = backup.with_name("rewritten")
    with zipfile.ZipFile(out, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return out


def in_manifest(**fields: object) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        files[MANIFEST] = msgspec.json.encode({**json.loads(files[MANIFEST]), **fields})

    return change


def without(name: str) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        del files[name]
        said = json.loads(files.get(MANIFEST, b'{"files": {}}'))
        said["files"].pop(name, None)
        if MANIFEST in files:
            files[MANIFEST] = msgspec.json.encode(said)

    return change


def another(name: str) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        files[name] = b"x"

    return change


def as_long(name: str) -> Callable[[dict[str, bytes]], None]:
    def change(files: dict[str, bytes]) -> None:
        files[name] = files[name].replace(b"true", b"null")
        assert b"null" in files[name]

    return change


@pytest.mark.parametrize(
    "change",
    [
        without(MANIFEST), without("store.sqlite"), without("identity.json"), without("queues-1.sqlite"),
        another("extra"), another("../evil"), another("store.sqlite"), as_long("stores.json"),
        in_manifest(format="tar"), in_manifest(version=99), in_manifest(node="../../evil"),
        in_manifest(node=""), in_manifest(uuid="00" * 16), in_manifest(boot=7), in_manifest(files={}),
        in_manifest(files={"../x": {}}),
        in_manifest(queues={"queues-1.sqlite": "relative"}), in_manifest(queues={"queues-9.sqlite": "/x"}),
        in_manifest(boot="2"), in_manifest(files=None),
    ],
)  # fmt: skip
def test_a_foreign_or_forged_one_is_refused_by_check_and_restore_alike(
    change: Callable[[dict[str, bytes]], None], backup: Path, tmp_path: Path
) -> None:
    file = rewritten(backup, change)
    with pytest.raises(DataDirRefused) as caught, verified(file):
        pass
    assert caught.value.code == BAD and str(file) in caught.value.what
    with pytest.raises(DataDirRefused) as again:
        restore(file, tmp_path / "there" / "heron")
    assert again.value.code == BAD and not any((tmp_path / "there").iterdir())


def test_a_store_with_a_damaged_row_is_refused(data: Path, tmp_path: Path) -> None:
    store = data / "store.sqlite"
    content = store.read_bytes()
    assert b"bodybody" in content
    store.write_bytes(content.replace(b"bodybody" * 50, b"bodyBODY" * 50))
    with (
        pytest.raises(DataDirRefused, match=r"store\.sqlite") as caught,
        verified(made(data, tmp_path / "out")),
    ):
        pass
    assert caught.value.code == BAD


def test_a_restored_node_is_the_same_with_a_boot_that_never_was(
    backup: Path, data: Path, tmp_path: Path
) -> None:
    before = kept_identity(data)
    (tmp_path / "orders.db").rename(tmp_path / "gone.db")
    (tmp_path / f"orders.db{WITNESS}").unlink()
    restore(backup, tmp_path / "again")
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
    restore(backup, tmp_path / "again")
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
    restore(backup, tmp_path / "all" / "new" / "heron")
    assert (tmp_path / "all" / "new").stat().st_mode & 0o777 == 0o700
    assert (tmp_path / "all" / "new" / "heron").stat().st_mode & 0o777 == 0o700
    with pytest.raises(DataDirRefused, match="/proc/nowhere cannot be used"):
        restore(backup, Path("/proc/nowhere/heron"))


@pytest.mark.parametrize("around", [(b"junk", b""), (b"", b"junk"), (b"", b"PK\x05\x06" + bytes(18))])
def test_what_is_before_or_behind_a_backup_makes_it_none(
    around: tuple[bytes, bytes], backup: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    other.write_bytes(around[0] + backup.read_bytes() + around[1])
    with pytest.raises(DataDirRefused) as caught, verified(other):
        pass
    assert caught.value.code == BAD


def test_a_comment_in_a_backup_makes_it_none(backup: Path) -> None:
    with zipfile.ZipFile(backup, "a") as archive:
        archive.comment = b"junk"
    with pytest.raises(DataDirRefused, match="before or behind"), verified(backup):
        pass


def test_a_node_that_runs_is_never_overwritten(backup: Path, data: Path) -> None:
    it = DataDir.open(data)
    for replace in (False, True):
        with pytest.raises(DataDirRefused, match="its node runs"):
            restore(backup, data, replace)
    it.close()


def test_what_is_there_is_moved_aside_only_when_that_is_wanted_and_its_boots_count(
    backup: Path, data: Path
) -> None:
    for _ in range(3):
        DataDir.open(data).close()
    with pytest.raises(DataDirRefused, match="--replace"):
        restore(backup, data)
    manifest, aside = restore(backup, data, replace=True)
    after = kept_identity(data)
    assert after is not None and after[1] == manifest.boot + 3 + LEAP
    [old] = [path for path in aside if path.is_dir()]
    assert (old / "store.sqlite").exists() and any(path.name.startswith("orders.db.before") for path in aside)


def test_the_store_of_a_queue_that_a_node_has_open_is_left_alone(backup: Path, tmp_path: Path) -> None:
    queue = SQLiteStore(tmp_path / "orders.db")
    with pytest.raises(StoreError) as caught:
        restore(backup, tmp_path / "again", replace=True)
    assert caught.value.code == "STORE_IN_USE" and not (tmp_path / "again").exists()
    queue.close()
    assert sorted(path.name for path in tmp_path.glob("orders.db*")) == ["orders.db", "orders.db.witness"]
    restore(backup, tmp_path / "again", replace=True)


def test_a_directory_of_something_else_is_left_alone(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    (tmp_path / "home" / "diary").write_text("dear")
    with pytest.raises(DataDirRefused, match="no node's"):
        restore(backup, tmp_path / "home", replace=True)
    assert os.listdir(tmp_path / "home") == ["diary"]


def test_a_backup_replaces_no_file(data: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(FileExistsError):
        made(data, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine" and not (tmp_path / ".out.part").exists()
    assert FOLDER == "backup"
