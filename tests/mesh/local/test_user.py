"""The home directory of a user without an entry in the system, as in many containers."""

import pwd
from pathlib import Path

import pytest

from mesh.cli.files import config_file, config_home
from mesh.local.private import state_dir
from mesh.local.user import home_directory, user_name


@pytest.fixture(autouse=True)
def unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the user's entry from the system, and the variables that name the user."""

    def nobody(uid: int) -> None:
        raise KeyError(uid)

    monkeypatch.setattr(pwd, "getpwuid", nobody)
    for name in ("HOME", "LOGNAME", "USER", "LNAME", "USERNAME"):
        monkeypatch.delenv(name, raising=False)


def test_such_a_user_has_the_root_for_a_home_and_no_name() -> None:
    assert home_directory({}) == home_directory({"HOME": ""}) == Path("/")
    assert home_directory({"HOME": "/srv/ann"}) == Path("/srv/ann")
    assert user_name() == ""


def test_and_finds_the_places_that_are_named(tmp_path: Path) -> None:
    assert state_dir({"MESH_STATE_DIR": str(tmp_path / "s")}) == tmp_path / "s"
    assert config_home({}) == Path("/.config/mesh")
    assert config_file(str(tmp_path / "mesh.toml"), {}) == tmp_path / "mesh.toml"
