"""Files of keys: private to their user, and refused when others can read them or they are damaged."""

import errno
from pathlib import Path

import msgspec
import pytest

from mesh.errors import BadName, DataDirRefused, KeysRefused
from mesh.security.joining import new_mesh
from mesh.security.keyfiles import (
    clusters,
    mesh_path,
    node_keys,
    read_admin,
    read_mesh,
    read_site,
    site_path,
    write_mesh,
)
from tests.mesh.running import environment


def test_a_new_mesh_is_kept_in_a_file_of_this_user_alone(tmp_path: Path) -> None:
    tmp_path.chmod(0o700)
    made = new_mesh(tmp_path, "prod")
    path = mesh_path(tmp_path, "prod")
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert read_mesh(tmp_path, "prod") == made
    assert clusters(tmp_path) == ["prod"]
    assert read_mesh(tmp_path, "other") is None


def test_keys_that_others_may_read_are_refused_with_what_to_type(tmp_path: Path) -> None:
    new_mesh(tmp_path, "prod")
    path = mesh_path(tmp_path, "prod")
    path.chmod(0o640)
    with pytest.raises(DataDirRefused, match=f"chmod 600 {path}"):
        read_mesh(tmp_path, "prod")


@pytest.mark.parametrize("content", [b"", b"{}", b'{"cluster": "prod"}', b"\xff" * 100, b"[1]"])
def test_damaged_keys_are_refused_and_stay(tmp_path: Path, content: bytes) -> None:
    for read, path in (
        (lambda: read_mesh(tmp_path, "prod"), mesh_path(tmp_path, "prod")),
        (lambda: node_keys(tmp_path), tmp_path / "keys.json"),
    ):
        path.parent.mkdir(mode=0o700, exist_ok=True)
        path.write_bytes(content)
        path.chmod(0o600)
        with pytest.raises(KeysRefused, match="damaged"):
            read()
        assert path.read_bytes() == content


def test_keys_that_could_not_be_read_for_a_moment_are_not_to_be_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_descriptor(*_: object) -> bytes:
        raise OSError(errno.EMFILE, "Too many open files")

    new_mesh(tmp_path, "prod")
    monkeypatch.setattr("mesh.security.keyfiles.read_private", no_descriptor)
    for read in (read_mesh, read_site, read_admin):
        with pytest.raises(DataDirRefused, match="Too many open files") as caught:
            read(tmp_path, "prod")
        assert "rm " not in caught.value.hint


def test_trial_A7_keys_damaged_at_any_byte_are_refused_as_keys(tmp_path: Path) -> None:
    """A damaged file can still be valid: a flaw in the secret itself shows at the handshake.

    No error but KEYS is ever raised.
    """
    new_mesh(tmp_path, "prod")
    node_keys(tmp_path)
    for read, path in (
        (lambda: read_mesh(tmp_path, "prod"), mesh_path(tmp_path, "prod")),
        (lambda: node_keys(tmp_path), tmp_path / "keys.json"),
    ):
        sound = path.read_bytes()
        for at in range(len(sound)):
            for letter in (0xFF, 0x00, 0x5C, sound[at] ^ 1):
                path.write_bytes(sound[:at] + bytes([letter]) + sound[at + 1 :])
                try:
                    read()
                except KeysRefused as refused:
                    assert refused.code == "KEYS"
        path.write_bytes(sound)
        read()


@pytest.mark.parametrize(
    "content",
    [b'{"cluster": "\xff"}', b'{"cluster": "\xed\xa0\x80"}', b"[" * 4000],
    ids=["utf", "half", "deep"],
)
def test_trial_A7_what_is_no_text_is_damaged_too(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "keys.json"
    path.write_bytes(content)
    path.chmod(0o600)
    with pytest.raises(KeysRefused, match="damaged"):
        node_keys(tmp_path)


@pytest.mark.parametrize("field", ["server", "public", "private"])
def test_trial_A7_a_key_that_is_none_is_damage_before_anybody_dials_with_it(
    tmp_path: Path, field: str
) -> None:
    made = new_mesh(tmp_path, "prod")
    another = new_mesh(tmp_path, "another")
    for wrong in ("~" * 40, "#" * 40, "é" * 40, getattr(another, field)):
        write_mesh(tmp_path, msgspec.structs.replace(made, **{field: wrong}))
        with pytest.raises(KeysRefused, match="damaged"):
            read_mesh(tmp_path, "prod")
    write_mesh(tmp_path, made)
    assert read_mesh(tmp_path, "prod") == made


def test_keys_of_another_mesh_in_the_place_of_these_are_refused(tmp_path: Path) -> None:
    new_mesh(tmp_path, "prod")
    mesh_path(tmp_path, "prod").rename(mesh_path(tmp_path, "test"))
    with pytest.raises(KeysRefused, match="damaged"):
        read_mesh(tmp_path, "test")


@pytest.mark.parametrize("name", ["..", ".", "a/b", "", "../x"])
def test_a_name_that_would_lead_elsewhere_is_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadName):
        mesh_path(tmp_path, name)


def test_a_nodes_own_keys_are_made_once_and_for_it_alone(tmp_path: Path) -> None:
    made = node_keys(tmp_path)
    assert (tmp_path / "keys.json").stat().st_mode & 0o777 == 0o600
    assert node_keys(tmp_path) == made
    assert len({made.curve, made.seed}) == 2
    assert made.seed.hex() not in repr(made)


def test_the_environment_of_tests_holds_no_keys(tmp_path: Path) -> None:
    assert "MESH_CLUSTER" not in environment(tmp_path)


@pytest.mark.parametrize("site", ["", ".", "..", "a/b", "../x", "a b"])
def test_no_site_is_kept_outside_its_directory(tmp_path: Path, site: str) -> None:
    with pytest.raises(BadName):
        site_path(tmp_path, site)
