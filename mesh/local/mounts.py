"""Detects network file systems, where locks and fsync are unreliable."""

import os
from collections.abc import Iterator
from pathlib import Path

from mesh.errors import DataDirRefused

MOUNTS = Path("/proc/self/mountinfo")
# Network file systems. The disks of virtual machines' hosts (9p, virtiofs) and overlay do not count.
NETWORK = frozenset(
    {"nfs", "nfs4", "cifs", "smb3", "smbfs", "ncpfs", "afs", "coda", "ceph", "glusterfs", "lustre", "gpfs",
     "beegfs", "pvfs2", "orangefs", "fuse.sshfs", "fuse.ceph", "fuse.ceph-fuse", "fuse.glusterfs",
     "fuse.s3fs", "fuse.goofys", "fuse.rclone", "fuse.davfs2", "fuse.curlftpfs", "fuse.smbnetfs"}
)  # fmt: skip


def check_disk(path: Path, mounts: Path | None = None) -> None:
    """Raise DataDirRefused if a directory is on a network file system. An unknown type counts as local."""
    try:
        text = (mounts or MOUNTS).read_bytes().decode(errors="surrogateescape")
    except OSError:
        return
    found = file_system(text, os.path.realpath(path))
    if found in NETWORK:
        raise DataDirRefused(
            f"{path} is on a network file system ({found}), where the store's locks and fsync "
            "are unreliable and two machines could open it at the same time.",
            hint="Choose a directory on a local disk: with --data DIR, or for a queue with `store` in "
            "[[queues]]. At your own risk, set node.allow_network_disk = true.",
        )


def file_system(mountinfo: str, path: str) -> str:
    """Return the type of the file system of an absolute path, or "" if unknown."""
    longest, found = -1, ""
    for place, kind in _mounts(mountinfo):
        is_above = path == place or path.startswith(place.rstrip("/") + "/")
        if is_above and len(place) >= longest:  # a later mount hides an earlier one
            longest, found = len(place), kind
    return found


def _mounts(mountinfo: str) -> Iterator[tuple[str, str]]:
    """Yield the mount point and the type of each line.

    A line looks like 36 35 98:0 / /mnt rw,noatime master:1 - ext3 /dev/root rw
    """
    for line in mountinfo.split("\n"):
        place, dash, rest = line.partition(" - ")
        fields, kind = place.split(" "), rest.split(" ")[0]
        if dash and len(fields) > 4 and kind:
            yield _unescaped(fields[4]), kind


def _unescaped(text: str) -> str:
    for number in (0o40, 0o11, 0o12, 0o134):  # blank, tab, newline; last the backslash itself
        text = text.replace(f"\\{number:03o}", chr(number))
    return text
