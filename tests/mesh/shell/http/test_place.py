"""The HTTP address of a node, and the token that protects it."""

import errno
import os
import stat
from pathlib import Path
from unittest.mock import patch

import pytest

from mesh.errors import BadConfig, BindRefused, DataDirRefused
from mesh.shell.http.place import FILE, bound, check_listen, token_of


@pytest.mark.parametrize(
    ("text", "found"),
    [("127.0.0.1:7780", ("127.0.0.1", 7780)), ("localhost:0", ("127.0.0.1", 0)), ("[::1]:80", ("::1", 80))],
)
def test_an_address_of_this_machine_is_taken(text: str, found: tuple[str, int]) -> None:
    assert check_listen(text) == found


@pytest.mark.parametrize(
    "text",
    ["", "7780", ":7780", "0.0.0.0:7780", "[::]:7780", "10.0.0.1:7780", "127.0.0.1", "127.0.0.1:",
     "127.0.0.1:x", "127.0.0.1:65536", "127.0.0.1:-1", "127.0.0.1:²", "example.com:80", "http://127.0.0.1:80",
     "*:80", "\ud800:1"],
)  # fmt: skip
def test_any_other_is_refused(text: str) -> None:
    with pytest.raises(BadConfig):
        check_listen(text)


def test_a_port_that_somebody_has_is_refused_with_its_address() -> None:
    with bound("127.0.0.1:0") as server, pytest.raises(BindRefused, match=r"http\.listen"):
        bound(f"127.0.0.1:{server.getsockname()[1]}")


@pytest.mark.parametrize("number", [errno.EMFILE, errno.EAFNOSUPPORT])
def test_without_a_socket_an_address_is_refused_with_the_reason(number: int) -> None:
    with (
        patch("mesh.shell.http.place.socket.socket", side_effect=OSError(number, os.strerror(number))),
        pytest.raises(BindRefused, match=os.strerror(number)),
    ):
        bound("[::1]:0")


def test_the_users_own_token_is_made_once_and_nobody_else_may_read_it(tmp_path: Path) -> None:
    token = token_of(tmp_path, None)
    assert len(token) == 64 and token_of(tmp_path, None) == token
    assert stat.S_IMODE((tmp_path / FILE).stat().st_mode) == 0o600
    (tmp_path / FILE).chmod(0o644)
    with pytest.raises(DataDirRefused):
        token_of(tmp_path, None)


@pytest.mark.parametrize(("mode", "is_good"), [(0o600, True), (0o640, True), (0o660, False), (0o644, False)])
def test_a_file_that_is_named_may_be_read_by_its_group(tmp_path: Path, mode: int, is_good: bool) -> None:
    file = tmp_path / "token"
    file.write_text("0123456789abcdef\n")
    file.chmod(mode)
    if is_good:
        assert token_of(tmp_path, file) == "0123456789abcdef"
    else:
        with pytest.raises(DataDirRefused, match="is too open"):
            token_of(tmp_path, file)


@pytest.mark.parametrize(
    "text", ["", "short", "x" * 257, "0123456789 abcdef", "0123456789abcdef\nmore", "ä" * 20]
)
def test_what_is_no_token_is_refused(tmp_path: Path, text: str) -> None:
    file = tmp_path / "token"
    file.write_text(text)
    file.chmod(0o600)
    with pytest.raises(DataDirRefused, match="holds no token"):
        token_of(tmp_path, file)


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataDirRefused):
        token_of(tmp_path, tmp_path / "nowhere")
