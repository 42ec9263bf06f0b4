"""`mesh backup check` and `restore` of a backup that comes from outside."""

from pathlib import Path

import pytest

from mesh.cli.main import main
from tests.mesh.local.backups import forged, made, node_with_stores

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def backup(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    monkeypatch.chdir(tmp_path)
    return made(node_with_stores(tmp_path), tmp_path / "heron.backup")


def configured(tmp_path: Path, path: Path) -> None:
    file = tmp_path / "config" / "mesh" / "mesh.toml"
    file.parent.mkdir(parents=True)
    file.write_text(f'[[queues]]\nname = "x"\nstore = "sqlite://{path}"\n')


def test_a_place_is_named_by_the_configuration_or_by_the_user(
    backup: Path, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "orders.db").rename(tmp_path / "before.db")
    assert main(["backup", "check", str(backup)]) == 1
    said = capsys.readouterr().err
    assert "is complete" in said and "is valid" not in said and "--queue-store queues-1.sqlite=PATH" in said
    assert main(["backup", "restore", str(backup)]) == 2
    assert "[BACKUP_PLACE]" in capsys.readouterr().err and not (tmp_path / "orders.db").exists()
    option = ["--queue-store", f"orders/#={tmp_path / 'else.db'}"]
    assert main(["backup", "check", str(backup), *option]) == 0
    assert main(["backup", "restore", str(backup), *option]) == 0
    said = capsys.readouterr().err
    assert f"queues-1.sqlite -> {tmp_path / 'else.db'}" in said and (tmp_path / "else.db").exists()
    configured(tmp_path, tmp_path / "orders.db")
    assert main(["backup", "check", str(backup)]) == 0
    assert main(["backup", "restore", str(backup), "--data", str(tmp_path / "again")]) == 0
    assert (tmp_path / "orders.db").exists() and (tmp_path / "again").exists()


def test_the_last_start_of_the_node_that_was_there_names_a_place_too(backup: Path, tmp_path: Path) -> None:
    (tmp_path / "orders.db").unlink()
    (tmp_path / "orders.db.witness").unlink()
    assert main(["backup", "restore", str(backup), "--data", str(tmp_path / "heron"), "--replace"]) == 0
    assert (tmp_path / "orders.db").exists()


def test_a_backup_that_would_replace_something_else_is_bad(
    backup: Path, tmp_path: Path, capsys: Capture
) -> None:
    keys = tmp_path / "authorized_keys"
    keys.write_text("ssh-ed25519 mine\n")
    file = str(forged(backup, keys, b"\nssh-ed25519 theirs\n"))
    assert main(["backup", "check", file]) == 2
    assert "[BAD_BACKUP]" in capsys.readouterr().err
    for more in ([], ["--replace"], ["--queue-store", f"orders/#={keys}", "--replace"]):
        assert main(["backup", "restore", file, *more]) == 2
        assert "[BACKUP_PLACE]" in capsys.readouterr().err
    configured(tmp_path, keys)  # even if the configuration names it
    assert main(["backup", "check", file]) == main(["backup", "restore", file, "--replace"]) == 2
    assert keys.read_text() == "ssh-ed25519 mine\n"


def test_an_odd_place_is_refused(backup: Path, capsys: Capture) -> None:
    for given in ("orders/#", "=x", "orders/#=", "other=/srv/x", "orders/#=/srv/../x"):
        assert main(["backup", "check", str(backup), "--queue-store", given]) == 2, given
        assert "[BAD_ARGUMENT]" in capsys.readouterr().err, given
    assert main(["backup", "restore", str(backup), "--queue-store", "queues-1.sqlite=/proc/x"]) == 2
