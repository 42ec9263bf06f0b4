"""Refusal of a hostile archive before it fills a disk or names a file."""

import json
import os
import stat
import zipfile
from pathlib import Path

import pytest

from mesh.errors import DataDirRefused
from mesh.local import unpacking
from mesh.local.backup import verified
from mesh.local.manifest import BAD
from mesh.local.unpacking import MANIFEST, RATIO, SMALL, check_room, is_too_tight
from tests.mesh.local.backups import Files, made, rewritten


def test_few_bytes_that_become_many_are_too_tight_unless_they_are_few_at_all() -> None:
    assert not is_too_tight(SMALL, 1)
    assert is_too_tight(SMALL + 1, 1)
    assert not is_too_tight(SMALL * RATIO, SMALL)
    assert is_too_tight(SMALL * RATIO + 1, SMALL)


def test_directories_on_one_disk_need_their_room_together(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    free = os.statvfs(tmp_path).f_bavail * os.statvfs(tmp_path).f_frsize
    check_room([(tmp_path / "a", free // 3), (tmp_path / "b", free // 3)])
    with pytest.raises(DataDirRefused, match="to unpack the backup takes"):
        check_room([(tmp_path / "a", free), (tmp_path / "b", free)])


def deflated(backup: Path, size: int) -> Path:
    """Return a copy of `backup` whose store is filled with zeros."""
    out = backup.with_name("bomb")
    with zipfile.ZipFile(backup) as archive, zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as bomb:
        for name in archive.namelist():
            content = archive.read(name)
            if name == "store.sqlite":
                content = content.ljust(size, b"\0")
            elif name == MANIFEST:
                it = json.loads(content)
                it["files"]["store.sqlite"]["bytes"] = size
                content = json.dumps(it).encode()
            bomb.writestr(name, content)
    return out


def test_a_bomb_is_refused_before_a_byte_of_it_is_unpacked(
    backup: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "SMALL", 1024 * 1024)
    taken: list[str] = []
    monkeypatch.setattr(unpacking, "_take", lambda file, archive, name, entry, folder: taken.append(name))
    file = deflated(backup, 5 * 1024 * 1024)
    with pytest.raises(DataDirRefused, match="--any-ratio") as caught, verified(file, tmp_path):
        pass
    assert caught.value.code == BAD and not taken
    with pytest.raises(DataDirRefused) as again, verified(file, tmp_path, any_ratio=True):
        pass
    assert again.value.code == BAD and taken  # unpacked, but its digest is wrong


def test_a_store_that_is_nearly_empty_makes_a_backup_that_can_be_unpacked(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(unpacking, "SMALL", 1024)
    monkeypatch.setattr(unpacking, "RATIO", 3)
    with verified(made(data, tmp_path / "out")) as (manifest, _):
        assert manifest.node == "heron"


def test_an_archive_with_a_link_is_refused(backup: Path, tmp_path: Path) -> None:
    for kind in (stat.S_IFLNK, stat.S_IFDIR, stat.S_IFIFO):
        out = tmp_path / "linked"
        with zipfile.ZipFile(backup) as archive, zipfile.ZipFile(out, "w") as linked:
            for name in archive.namelist():
                entry = zipfile.ZipInfo(name)
                entry.external_attr = ((kind if name == "witness" else stat.S_IFREG) | 0o777) << 16
                linked.writestr(entry, archive.read(name))
        with pytest.raises(DataDirRefused, match="'witness' in it is a link") as caught, verified(out):
            pass
        assert caught.value.code == BAD


@pytest.mark.parametrize(
    "name",
    ["../evil", "/tmp/evil", "lock", "http-token", "store.sqlite-wal", "witness\n", "queues-0.sqlite", "a/b"],
)  # fmt: skip
def test_an_archive_with_a_name_that_no_backup_has_is_refused(name: str, backup: Path) -> None:
    def change(files: Files) -> None:
        files[name] = b"x"

    file = rewritten(backup, change, correct=True)
    with pytest.raises(DataDirRefused, match="a backup has no file") as caught, verified(file):
        pass
    assert caught.value.code == BAD
