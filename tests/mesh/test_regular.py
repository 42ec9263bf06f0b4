"""Files that a user names: only regular ones are read, and others are refused at once."""

import os
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mesh.cli import contexts, join, weights_file
from mesh.config.source import read_text
from mesh.errors import MeshError
from mesh.features.xmlblaster.properties import read_properties
from mesh.local.backup import verified
from mesh.local.private import read_private
from mesh.local.restore import restore
from mesh.regular import open_regular
from mesh.shell.http.place import token_of
from mesh.shell.probe import FileProbe


def fifo(tmp_path: Path) -> Path:
    os.mkfifo(tmp_path / "pipe", 0o600)
    return tmp_path / "pipe"


def listening(tmp_path: Path) -> Path:
    folder = os.open(tmp_path, os.O_DIRECTORY)  # a socket path has at most 107 bytes
    with socket.socket(socket.AF_UNIX) as it:
        it.bind(f"/proc/self/fd/{folder}/socket")
    os.close(folder)
    return tmp_path / "socket"


def test_a_regular_file_is_read_also_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"content")
    (tmp_path / "link").symlink_to("file")
    for name in ("file", "link"):
        with open_regular(tmp_path / name) as file:
            assert file.read() == b"content"
    with pytest.raises(OSError, match="symbolic"):
        open_regular(tmp_path / "link", os.O_NOFOLLOW)


@pytest.mark.parametrize(
    "made", [fifo, listening, lambda _: Path("/dev/zero"), lambda tmp_path: tmp_path, lambda _: Path("a\0b")]
)
def test_anything_else_is_refused_and_leaves_no_descriptor(
    made: Callable[[Path], Path], tmp_path: Path
) -> None:
    path, before = made(tmp_path), os.listdir("/proc/self/fd")
    with pytest.raises(OSError):
        open_regular(path)
    assert os.listdir("/proc/self/fd") == before


def checked(path: Path) -> None:
    with verified(path):
        pass


READERS: dict[str, Callable[[Path], Any]] = {
    "backup check": checked,
    "backup restore": lambda path: restore(path, path.parent / "again"),
    "config": read_text,
    "properties": read_properties,
    "token": join._read,
    "weights": weights_file.read,
    "http.token_file": lambda path: token_of(path.parent, path),
    "node.probe": FileProbe,
    "contexts": lambda path: contexts.read({"XDG_CONFIG_HOME": str(path.parent)}),
}


@pytest.mark.parametrize("reader", READERS)
def test_trial_C_no_verb_waits_for_a_pipe_into_which_nobody_writes(reader: str, tmp_path: Path) -> None:
    path = fifo(tmp_path)
    if reader == "contexts":
        (tmp_path / "mesh").mkdir()
        path.rename(contexts.path_of({"XDG_CONFIG_HOME": str(tmp_path)}))
    with pytest.raises(MeshError, match=r"regular file|belongs to another user"):
        READERS[reader](path)
    assert not (tmp_path / "again").exists()


def test_what_is_ours_alone_is_no_pipe_either(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="regular file"):
        read_private(fifo(tmp_path), 10, "")
