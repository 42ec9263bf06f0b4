"""Names that are too long are refused by name, in a few lines."""

from pathlib import Path

import pytest

from mesh.cli.main import main
from tests.mesh.cli.fake import Given

Capture = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    "typed",
    [
        ["backup", "create", "NAME"],
        ["backup", "check", "NAME"],
        ["backup", "restore", "NAME"],
        ["config", "check", "NAME"],
        ["config", "check", "--properties", "NAME"],
        ["join", "--file", "NAME"],
        ["weights", "apply", "NAME"],
        ["service", "show", "--id", "NAME"],
        ["service", "install", "--config", "NAME"],
        ["snapshots", "sync", "--from", "NAME", "--to", "NAME"],
        ["context", "add", "NAME"],
        ["NAME"],
        ["ls", "--NAME"],
        ["check", "--lag", "NAME"],
    ],
)
@pytest.mark.parametrize("length", [300, 100_000])
def test_trial_C_no_long_name_is_a_mistake_of_ours_or_fills_the_screen(
    typed: list[str],
    length: int,
    given: Given,
    capsys: Capture,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path / "state"))
    given()
    name = "x" * length
    assert main([name if word == "NAME" else word.replace("NAME", name) for word in typed]) in (1, 2, 3)
    said = capsys.readouterr()
    assert "[BUG]" not in said.err + said.out and len(said.err) + len(said.out) < 4000
