"""The state directory, the cookie, the path of the socket, and files that are replaced as a whole."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.errors import DataDirRefused
from mesh.local.private import cookie, private_directory, socket_path, state_dir, write_private
from tests.waiting import LIMIT


def mode(path: Path) -> int:
    return path.stat().st_mode & 0o777


def test_the_state_directory_is_the_one_that_was_named(tmp_path: Path) -> None:
    environ = {"MESH_STATE_DIR": str(tmp_path / "mine"), "XDG_STATE_HOME": "/nowhere", "HOME": "/nowhere"}
    assert state_dir(environ) == tmp_path / "mine"
    assert mode(tmp_path / "mine") == 0o700


def test_else_it_follows_xdg_and_else_the_home(tmp_path: Path) -> None:
    xdg, home = tmp_path / "xdg", tmp_path / "home"
    assert state_dir({"XDG_STATE_HOME": str(xdg), "HOME": str(home)}) == xdg / "mesh"
    assert state_dir({"HOME": str(home)}) == home / ".local/state/mesh"
    assert state_dir({"XDG_STATE_HOME": "relative", "HOME": str(home)}) == home / ".local/state/mesh"
    assert state_dir({"MESH_STATE_DIR": "", "HOME": str(home)}) == home / ".local/state/mesh"
    assert mode(home / ".local/state/mesh") == 0o700


def test_trial_A7_directories_on_the_way_to_it_are_as_private_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        state_dir({"MESH_STATE_DIR": str(tmp_path / "a" / "b" / "c")})
        private_directory(tmp_path / "d" / "e" / "f", "")
    finally:
        os.umask(before)
    made = sorted(tmp_path.rglob("*"))
    assert [path.name for path in made] == list("abcdef")
    assert {mode(path) for path in made} == {0o700}


def test_trial_A7_a_directory_that_was_there_keeps_its_mode(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir(mode=0o755)
    (tmp_path / "there").chmod(0o755)
    state_dir({"MESH_STATE_DIR": str(tmp_path / "there" / "b")})
    assert (mode(tmp_path / "there"), mode(tmp_path / "there" / "b")) == (0o755, 0o700)


def test_a_relative_state_directory_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert state_dir({"MESH_STATE_DIR": "here"}) == tmp_path / "here"


@pytest.mark.parametrize("bits", [0o720, 0o702, 0o777])
def test_a_state_directory_that_others_may_write_is_refused_with_what_to_type(
    tmp_path: Path, bits: int
) -> None:
    tmp_path.chmod(bits)
    with pytest.raises(DataDirRefused, match=f"chmod 700 {tmp_path}") as refusal:
        state_dir({"MESH_STATE_DIR": str(tmp_path)})
    assert refusal.value.code == "DATA_DIR"


def test_a_state_directory_that_others_may_read_is_taken(tmp_path: Path) -> None:
    tmp_path.chmod(0o755)
    assert state_dir({"MESH_STATE_DIR": str(tmp_path)}) == tmp_path


def test_a_directory_of_another_user_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: tmp_path.stat().st_uid + 1)
    with pytest.raises(DataDirRefused, match="belongs to user"):
        state_dir({"MESH_STATE_DIR": str(tmp_path)})
    with pytest.raises(DataDirRefused, match="belongs to user"):
        private_directory(tmp_path, "")


def test_a_file_in_the_place_of_the_directory_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for place in ("file", "file/below"):
        with pytest.raises(DataDirRefused, match="a file has the name of"):
            state_dir({"MESH_STATE_DIR": str(tmp_path / place)})


def test_a_directory_that_cannot_be_made_is_named() -> None:
    with pytest.raises(DataDirRefused, match="/proc/nowhere cannot be used"):
        state_dir({"MESH_STATE_DIR": "/proc/nowhere"})


def test_a_private_directory_is_closed_to_all_others(tmp_path: Path) -> None:
    tmp_path.chmod(0o750)
    with pytest.raises(DataDirRefused, match="mode 750") as caught:
        private_directory(tmp_path, "Choose another directory.")
    assert caught.value.hint == f"Run: chmod 700 {tmp_path}. Or choose another directory."
    with pytest.raises(DataDirRefused) as caught:
        private_directory(tmp_path, "")
    assert caught.value.hint == f"Run: chmod 700 {tmp_path}."


def test_trial_C_nobody_is_told_to_close_a_directory_that_all_users_need(tmp_path: Path) -> None:
    tmp_path.chmod(0o1777)
    with pytest.raises(DataDirRefused, match="mode 1777") as caught:
        private_directory(tmp_path, "Choose another directory with --data DIR")
    assert caught.value.hint == (
        "Keep its mode, as other programs need it. Choose another directory with --data DIR"
    )
    with pytest.raises(DataDirRefused) as caught:
        private_directory(Path("/usr"), "Choose another directory with --data DIR")
    assert "chmod" not in caught.value.hint


def test_a_cookie_is_made_once_and_for_its_owner_only(tmp_path: Path) -> None:
    found = cookie(tmp_path)
    assert len(found) == 32
    assert cookie(tmp_path) == found == (tmp_path / "cookie").read_bytes()
    assert mode(tmp_path / "cookie") == 0o600
    assert os.listdir(tmp_path) == ["cookie"]
    (tmp_path / "other").mkdir()
    assert cookie(tmp_path / "other") != found


RACER = """
import sys
from pathlib import Path
from mesh.local.private import cookie

print("ready", flush=True)
sys.stdin.readline()
print(cookie(Path(sys.argv[1])).hex())
"""


@pytest.mark.slow
def test_processes_that_race_for_the_cookie_get_the_same(tmp_path: Path) -> None:
    racers = [
        subprocess.Popen(
            [sys.executable, "-c", RACER, str(tmp_path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(4)
    ]
    for racer in racers:
        assert racer.stdout is not None
        assert racer.stdout.readline() == "ready\n"
    for racer in racers:
        assert racer.stdin is not None
        racer.stdin.write("go\n")
        racer.stdin.flush()
    cookies = {racer.communicate(timeout=LIMIT)[0] for racer in racers}
    assert cookies == {cookie(tmp_path).hex() + "\n"}
    assert os.listdir(tmp_path) == ["cookie"]


def test_of_two_cookies_made_at_once_the_first_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    link = os.link

    def link_too_late(source: str, target: Path) -> None:
        target.write_bytes(b"f" * 32)
        target.chmod(0o600)
        link(source, target)

    monkeypatch.setattr(os, "link", link_too_late)
    assert cookie(tmp_path) == b"f" * 32
    assert os.listdir(tmp_path) == ["cookie"]


@pytest.mark.parametrize("bits", [0o640, 0o604, 0o620])
def test_a_cookie_that_others_can_read_is_refused_with_what_to_type(tmp_path: Path, bits: int) -> None:
    cookie(tmp_path)
    (tmp_path / "cookie").chmod(bits)
    with pytest.raises(DataDirRefused, match=f"chmod 600 {tmp_path}/cookie"):
        cookie(tmp_path)


@pytest.mark.parametrize("length", [0, 31, 33])
def test_a_cookie_of_another_length_is_refused(tmp_path: Path, length: int) -> None:
    (tmp_path / "cookie").write_bytes(bytes(length))
    (tmp_path / "cookie").chmod(0o600)
    with pytest.raises(DataDirRefused, match=f"rm {tmp_path}/cookie"):
        cookie(tmp_path)


def test_a_cookie_that_is_a_link_is_refused(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").write_bytes(bytes(32))
    (tmp_path / "elsewhere").chmod(0o600)
    (tmp_path / "cookie").symlink_to("elsewhere")
    with pytest.raises(DataDirRefused, match="cookie cannot be used"):
        cookie(tmp_path)


UUID = bytes.fromhex("0123456789abcdef0123456789abcdef")


@pytest.fixture
def short_tmp(monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Replace the temporary directory of the system by one with a short path."""
    with tempfile.TemporaryDirectory(dir="/tmp") as short:
        monkeypatch.setattr(tempfile, "tempdir", short)
        yield Path(short)


def test_the_socket_stands_beside_the_data_where_the_path_is_short() -> None:
    assert socket_path(Path("/d" * 45), UUID) == Path("/d" * 45) / "node.sock"
    assert len(str(socket_path(Path("/d" * 45), UUID))) == 100


@pytest.mark.parametrize("data", ["/d" * 45 + "d", "/" + "é" * 45])
def test_the_socket_of_a_long_path_stands_in_a_private_place(short_tmp: Path, data: str) -> None:
    path = socket_path(Path(data), UUID)
    assert path == short_tmp / f"mesh-{os.geteuid()}" / "01234567.sock"
    assert mode(path.parent) == 0o700
    assert socket_path(Path(data), UUID) == path


def test_a_private_place_that_others_can_enter_is_refused(short_tmp: Path) -> None:
    place = short_tmp / f"mesh-{os.geteuid()}"
    place.mkdir(mode=0o755)
    with pytest.raises(DataDirRefused, match=f"chmod 700 {place}"):
        socket_path(Path("/" + "d" * 100), UUID)


def test_a_private_place_that_is_a_link_is_refused(short_tmp: Path) -> None:
    place = short_tmp / f"mesh-{os.geteuid()}"
    (short_tmp / "mine").mkdir(mode=0o700)
    place.symlink_to(short_tmp / "mine")
    with pytest.raises(DataDirRefused, match=f"symbolic link.*rm {place}"):
        socket_path(Path("/" + "d" * 100), UUID)


def test_no_place_is_short_enough(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tempfile, "tempdir", "/" + "t" * 100)
    with pytest.raises(DataDirRefused, match="TMPDIR=/tmp"):
        socket_path(Path("/" + "d" * 100), UUID)


def test_a_private_file_is_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_private(path, b"old and longer", durable=True)
    with monkeypatch.context() as patched:
        patched.setattr(os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(5, "a broken disk")))
        with pytest.raises(OSError, match="a broken disk"):
            write_private(path, b"new", durable=True)
    assert path.read_bytes() == b"old and longer"
    write_private(path, b"new", durable=False)
    assert path.read_bytes() == b"new"
    assert mode(path) == 0o600
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.parametrize("name", ["a\0b", "a\ud800"])
def test_a_state_directory_that_nobody_could_make_is_refused(name: str) -> None:
    with pytest.raises(DataDirRefused, match="a path cannot have the character"):
        state_dir({"MESH_STATE_DIR": name})


@pytest.mark.parametrize("path", ["/proc/sys", "/etc", "/usr/lib", "/dev/shm"])
def test_nobody_is_told_to_close_a_directory_of_the_system(path: str) -> None:
    with pytest.raises(DataDirRefused) as refusal:
        private_directory(Path(path), "Choose another directory with --data DIR")
    assert "chmod" not in str(refusal.value) and "another directory with --data DIR" in refusal.value.hint
