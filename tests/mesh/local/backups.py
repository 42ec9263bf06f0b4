"""Backups of a node with the stores of its queues, for tests of `mesh backup`."""

from pathlib import Path

from mesh.local.backup import BackupFile, Manifest, gather_stopped, pack
from mesh.local.datadir import kept_identity

Quiet = lambda level, text: None  # noqa: E731


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
