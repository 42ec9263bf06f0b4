"""Does `mesh config check` say what is set, where, and what is wrong?"""

import json
from pathlib import Path

import pytest

from mesh.cli.main import main

GOOD = '[node]\nid = "heron"\npeers = ["127.0.0.1:7710"]\n'


@pytest.fixture(autouse=True)
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    return tmp_path


def test_it_prints_each_value_that_is_set_and_where(
    alone: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (alone / "mesh.toml").write_text(GOOD)
    monkeypatch.setenv("MESH_TIMING__PING", "1.5")
    assert main(["config", "check"]) == 0
    said = capsys.readouterr()
    assert [line.split() for line in said.out.splitlines()] == [
        ["SETTING", "VALUE", "SET", "BY"],
        ["node.id", '"heron"', "mesh.toml:2"],
        ["node.peers", '["127.0.0.1:7710"]', "mesh.toml:3"],
        ["timing.ping", "1.5", "environment", "MESH_TIMING__PING"],
    ]
    assert said.err == "mesh.toml: right; 3 values set, all else by default\n"


def test_as_json_it_tells_everything_in_one_document(alone: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (alone / "x.toml").write_text(GOOD)
    assert main(["config", "check", "x.toml", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["file"] == "x.toml"
    assert {"name": "node.id", "value": "heron", "origin": "x.toml:2"} in told["settings"]
    assert {"name": "node.cluster", "value": "default", "origin": "default"} in told["settings"]


def test_without_a_file_all_is_default(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check"]) == 0
    assert capsys.readouterr() == ("", "no file: right; 0 values set, all else by default\n")


def test_an_unknown_key_is_refused_with_its_place_and_a_suggestion(
    alone: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (alone / "bad.toml").write_text('[node]\nid = "x"\n\n[limits]\nmax_contnt = 5\n')
    assert main(["config", "check", "bad.toml"]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err == (
        "mesh: bad.toml:5: unknown key 'max_contnt' in section [limits]. [BAD_CONFIG]\n"
        "      Did you mean 'max_content'?\n"
    )


def test_a_missing_file_is_an_error(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["config", "check", "nowhere.toml"]) == 2
    assert "nowhere.toml: there is no such file" in capsys.readouterr().err
