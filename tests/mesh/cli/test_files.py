"""The choice of the configuration file, and the files that are not trusted."""

import os
from pathlib import Path

import pytest

from mesh.cli.files import config_file, distrust
from mesh.cli.main import main
from mesh.errors import BadConfig


@pytest.fixture(autouse=True)
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    here = tmp_path / "here"
    here.mkdir()
    monkeypatch.chdir(here)
    return here


def test_the_given_file_wins_even_if_it_is_missing(elsewhere: Path) -> None:
    (elsewhere / "mesh.toml").touch()
    assert config_file("given.toml", {}) == Path("given.toml")


def test_next_comes_the_one_of_this_directory(elsewhere: Path, tmp_path: Path) -> None:
    (tmp_path / "mesh").mkdir()
    (tmp_path / "mesh" / "mesh.toml").touch()
    (elsewhere / "mesh.toml").touch()
    assert config_file(None, {"XDG_CONFIG_HOME": str(tmp_path)}) == Path("mesh.toml")


def test_then_the_users_own(tmp_path: Path) -> None:
    (tmp_path / ".config" / "mesh").mkdir(parents=True)
    (tmp_path / ".config" / "mesh" / "mesh.toml").touch()
    own = tmp_path / ".config" / "mesh" / "mesh.toml"
    assert config_file(None, {"XDG_CONFIG_HOME": str(tmp_path / ".config"), "HOME": "/nowhere"}) == own
    assert config_file(None, {"HOME": str(tmp_path)}) == own
    assert config_file(None, {"HOME": str(tmp_path), "XDG_CONFIG_HOME": "relative"}) == own


def test_and_without_any_all_is_default(tmp_path: Path) -> None:
    assert config_file(None, {"HOME": str(tmp_path)}) is None


def test_only_files_of_this_user_and_of_root_are_believed_unasked() -> None:
    assert distrust(1000, 0o100644, 1000) == distrust(0, 0o100644, 1000) == distrust(0, 0o100664, 0) == ""
    assert "belongs to user 1001" in distrust(1001, 0o100600, 1000)
    assert "belongs to user 1000" in distrust(1000, 0o100600, 0)  # with sudo, in the directory of a user
    assert "by every user" in distrust(1000, 0o100646, 1000)
    assert distrust(1000, 0o120777, 1000) == ""


def test_a_file_here_that_another_user_could_have_written_is_not_read_unasked(
    elsewhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = elsewhere / "mesh.toml"
    file.touch()
    if os.geteuid() == 0:
        os.chown(file, 1234, -1)  # files of root are trusted
    owner = file.stat().st_uid
    monkeypatch.setattr("os.geteuid", lambda: owner + 1)
    with pytest.raises(BadConfig, match=f"belongs to user {owner}") as caught:
        config_file(None)
    assert caught.value.code == "FOREIGN_CONFIG" and "--config mesh.toml" in caught.value.hint
    for verb in (["up"], ["service", "install", "--dry-run", "--system"], ["config", "check"]):
        assert main(verb) == 2
    assert config_file("mesh.toml") == Path("mesh.toml")


def test_a_file_here_that_everybody_may_write_is_not_read_unasked_nor_by_a_link(
    elsewhere: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.toml").touch()
    (tmp_path / "other.toml").chmod(0o666)
    (elsewhere / "mesh.toml").symlink_to(tmp_path / "other.toml")
    with pytest.raises(BadConfig, match="can be written by every user"):
        config_file(None)
    (tmp_path / "other.toml").chmod(0o644)
    assert config_file(None) == Path("mesh.toml")
