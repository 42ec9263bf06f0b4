"""Verification of backups: only a whole one is accepted, and no file is overwritten."""

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mesh.errors import DataDirRefused, MeshError
from mesh.local.backup import FOLDER, verified
from mesh.local.manifest import BAD
from mesh.local.restore import restore
from mesh.local.unpacking import MANIFEST
from tests.mesh.local.backups import Files, made, node_with_stores, rewritten


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    folder = tmp_path_factory.mktemp("backup")
    return made(node_with_stores(folder), folder / "heron.backup").read_bytes()


@pytest.fixture
def backup(whole: bytes, tmp_path: Path) -> Path:
    path = tmp_path / "heron.backup"
    path.write_bytes(whole)
    return path


def test_a_backup_that_is_whole_is_good_and_leaves_nothing_behind(data: Path, tmp_path: Path) -> None:
    backup = made(data, tmp_path / "heron.backup")
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
                assert it == before  # insignificant byte, such as a date
        except MeshError as error:
            assert error.code == BAD


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
        in_manifest(queues={"queues-1.sqlite": "/srv/../etc/x"}), in_manifest(queues={"store.sqlite": "/x"}),
        in_manifest(queues={"queues-1.sqlite": "/srv/"}), in_manifest(queues={"queues-1.sqlite": "/another"}),
        in_manifest(queues={}), in_manifest(left_out=["postgresql://x/y"]),
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


@pytest.mark.parametrize(
    "stores",
    [
        [["a", "sqlite:///another"]], [["a", "postgresql://evil/x"]], [["a", "sqlite:///srv/../x"]],
        [["a", "postgresql://me:secret@evil/x"]], ["a"], 7,
    ],
)  # fmt: skip
def test_a_backup_is_refused_whose_node_would_open_a_store_that_its_manifest_does_not_name(
    stores: object, backup: Path
) -> None:
    def change(files: Files) -> None:
        files["stores.json"] = json.dumps({"settled": True, "queues": stores}).encode()

    with pytest.raises(DataDirRefused) as caught, verified(rewritten(backup, change, correct=True)):
        pass
    assert caught.value.code == BAD and "stores.json" in caught.value.what


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
    with pytest.raises(DataDirRefused, match="before or after"), verified(backup):
        pass


def test_a_backup_replaces_no_file(data: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("mine")
    with pytest.raises(FileExistsError):
        made(data, tmp_path / "out")
    assert (tmp_path / "out").read_text() == "mine" and not (tmp_path / ".out.part").exists()
    assert FOLDER == "backup"
