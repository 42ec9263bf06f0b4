"""Is the right configuration file taken?"""

from pathlib import Path

import pytest

from mesh.cli.files import config_file


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
