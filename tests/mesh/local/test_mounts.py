"""The file system of a directory, and the refusal of network file systems."""

from pathlib import Path

import pytest

from mesh.errors import DataDirRefused
from mesh.local.mounts import MOUNTS, NETWORK, check_disk, file_system

MOUNTINFO = r"""
21 1 254:0 / / rw,relatime shared:1 - ext4 /dev/vda rw
22 21 0:20 / /proc rw - proc proc rw
30 21 0:44 / /home rw,relatime shared:9 - nfs4 server:/home rw,vers=4.2,addr=10.0.0.9
31 30 0:45 / /home/joe/local\040disk rw - xfs /dev/vdb rw
32 21 0:46 / /mnt/share\134name rw master:3 propagate_from:2 - fuse.sshfs joe@far:/ rw
33 21 0:47 / /srv rw - cifs //server/srv rw
34 33 0:48 / /srv rw - tmpfs tmpfs rw
35 21 0:49 / /var/lib/containers rw - overlay overlay rw
36 21 0:50
"""


@pytest.mark.parametrize(
    ("path", "kind"),
    [
        ("/", "ext4"),
        ("/var/data", "ext4"),
        ("/home", "nfs4"),
        ("/home/joe/mesh", "nfs4"),
        ("/homework", "ext4"),
        ("/home/joe/local disk/mesh", "xfs"),
        ("/mnt/share\\name/x", "fuse.sshfs"),
        ("/srv/x", "tmpfs"),
        ("/var/lib/containers/1", "overlay"),
    ],
)
def test_the_innermost_and_latest_mount_counts(path: str, kind: str) -> None:
    assert file_system(MOUNTINFO, path) == kind


def test_of_what_cannot_be_read_nothing_is_known() -> None:
    assert file_system("", "/home") == file_system("nonsense\n - nfs\n1 2 3 4 5", "/home") == ""


def fake(tmp_path: Path, kind: str) -> Path:
    mounts = tmp_path / "mountinfo"
    mounts.write_text(f"21 1 254:0 / / rw - ext4 /dev/vda rw\n30 21 0:44 / {tmp_path} rw - {kind} far rw\n")
    return mounts


@pytest.mark.parametrize("kind", sorted(NETWORK))
def test_row_48_a_network_file_system_is_refused_by_name(tmp_path: Path, kind: str) -> None:
    """A lock there may bind one machine only, so two machines could have the same store open at once."""
    with pytest.raises(DataDirRefused, match="is on a network file system") as found:
        check_disk(tmp_path / "data", fake(tmp_path, kind))
    assert found.value.code == "DATA_DIR"
    assert f"({kind})" in str(found.value) and "node.allow_network_disk = true" in str(found.value)


@pytest.mark.parametrize(
    "kind", ["ext4", "xfs", "btrfs", "tmpfs", "overlay", "9p", "virtiofs", "fuse.ntfs-3g"]
)
def test_a_disk_of_this_machine_is_taken(tmp_path: Path, kind: str) -> None:
    check_disk(tmp_path / "data", fake(tmp_path, kind))


def test_a_link_does_not_hide_where_a_directory_is(tmp_path: Path) -> None:
    far = tmp_path / "far"
    far.mkdir()
    mounts = fake(tmp_path, "nfs")
    mounts.write_text(mounts.read_text().replace(f" {tmp_path} ", f" {far} "))
    (tmp_path / "near").symlink_to(far)
    check_disk(tmp_path, mounts)
    with pytest.raises(DataDirRefused):
        check_disk(tmp_path / "near" / "data", mounts)


def test_where_nobody_tells_all_is_well(tmp_path: Path) -> None:
    check_disk(tmp_path, tmp_path / "no-such-file")


@pytest.mark.skipif(not MOUNTS.exists(), reason="no /proc here")
def test_this_machine_s_own_list_is_understood() -> None:
    assert file_system(MOUNTS.read_text(), "/proc/self") == "proc"
