"""`mesh relay`, without a node: the files that it writes, and its reports on the configuration in force."""

import json
from pathlib import Path
from typing import Any

import pytest

from mesh.cli.main import main
from mesh.errors import LocalError, NodeNotFound
from tests.mesh.cli.fake import Given

Capture = pytest.CaptureFixture[str]
LON = '[site]\nname = "LON"\n'
COUNTS = {"now": ["site NYC is known"], "later": []}


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mesh.toml"
    path.write_text(LON)
    path.chmod(0o640)
    return path


def answers(reload: Any, waiting: int = 0, paused: bool = False) -> Any:
    rows = {"sites": [{"site": "NYC", "waiting": {"messages": waiting}, "paused": paused}]}

    def call(verb: str, **_: Any) -> Any:
        found = {"reload": reload, "sites": rows}[verb]
        if isinstance(found, Exception):
            raise found
        return found

    return call


def test_a_site_is_written_and_counts(given: Given, file: Path, capsys: Capture) -> None:
    client = given(call=answers(COUNTS))
    words = ["--address", "tcp://10.1.0.5:7710", "--topic", "a/#", "--domain", "D", "--max-bytes", "1GiB"]
    assert main(["relay", "add", "NYC", *words, "--one-way"]) == 0
    assert file.read_text() == (
        f'{LON}\n[sites.NYC]\naddresses = ["tcp://10.1.0.5:7710"]\ndomains = ["D"]\ntopics = ["a/#"]\n'
        'max_bytes = "1GiB"\none_way = true\n'
    )
    assert file.stat().st_mode & 0o777 == 0o640
    assert "site NYC is known: set in mesh.toml, and in force" in capsys.readouterr().err
    assert [arguments for _, arguments, _ in client.asked] == [("reload",), ("sites",)]
    assert [path.name for path in file.parent.iterdir()] == ["mesh.toml"]


@pytest.mark.parametrize("paused", [False, True])
def test_one_whose_name_is_paused_still_is_said_to_be(
    given: Given, file: Path, capsys: Capture, paused: bool
) -> None:
    given(call=answers(COUNTS, paused=paused))
    assert main(["relay", "add", "NYC"]) == 0
    assert ("mesh relay resume NYC" in capsys.readouterr().err) == paused


def test_a_site_that_another_one_leads_to_is_written(given: Given, file: Path) -> None:
    given(call=answers(COUNTS))
    assert main(["relay", "add", "NYC", "--serves", "site/SFO"]) == 0
    assert main(["relay", "add", "SFO", "--via", "NYC", "--topic", "a/#"]) == 0
    there = '[sites.NYC]\nserves = ["site/SFO"]\n'
    assert file.read_text() == f'{LON}\n{there}\n[sites.SFO]\nvia = "NYC"\ntopics = ["a/#"]\n'
    assert main(["relay", "add", "ROM", "--via", "", "--topic", "a/#"]) == 2
    assert main(["relay", "add", "ROM", "--via", "HKG"]) == main(["relay", "rm", "NYC", "--force"]) == 2
    assert "ROM" not in file.read_text() and there in file.read_text()


@pytest.mark.parametrize(
    ("reload", "why"),
    [
        (NodeNotFound("nobody"), "no node runs here"),
        ({"now": [], "later": ["site.name", "sites"]}, "the change requires a restart"),
        ({"now": ["site SFO is known"], "later": []}, "reads another file"),
        (LocalError("KEYS", code="KEYS"), "rejected the change: KEYS"),
    ],
)
def test_what_does_not_count_yet_is_said(
    given: Given, file: Path, capsys: Capture, reload: Any, why: str
) -> None:
    given(call=answers(reload))
    assert main(["relay", "add", "NYC"]) == 0
    assert why in capsys.readouterr().err and "[sites.NYC]" in file.read_text()
    assert main(["relay", "rm", "NYC", "--force", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"file": "mesh.toml", "counts": False}
    assert "NYC" not in file.read_text()


@pytest.mark.parametrize(
    "words",
    [
        ["LON"],
        ["a b"],
        ["\x1b"],
        [""],
        ["NYC", "--topic", "__sys__#"],
        ["NYC", "--address", "x"],
        ["NYC", "--address", "tcp://1.2.3.4:0"],
        ["x" * 65],
    ],
)
def test_what_a_start_would_refuse_is_not_written(given: Given, file: Path, words: list[str]) -> None:
    client = given(call=answers(COUNTS))
    assert main(["relay", "add", *words]) == 2
    assert file.read_text() == LON and not client.asked


def test_one_for_which_messages_wait_stays_unless_that_is_said(
    given: Given, file: Path, capsys: Capture
) -> None:
    file.write_text(f"{LON}[sites.NYC]\n")
    given(call=answers({"now": ["site NYC is no longer configured"], "later": []}, 1200))
    assert main(["relay", "rm", "NYC"]) == 1
    assert (
        "1,200 messages for NYC would be discarded" in capsys.readouterr().err and "NYC" in file.read_text()
    )
    assert main(["relay", "rm", "NYC", "--force"]) == 0
    assert file.read_text() == LON


def test_without_a_file_it_says_what_to_write(
    given: Given, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    given(call=answers(COUNTS))
    assert main(["relay", "add", "NYC"]) == 2 and "No mesh.toml" in capsys.readouterr().err


def test_pause_and_resume_say_what_they_have_done(given: Given, capsys: Capture) -> None:
    client = given(call={"changed": True})
    assert main(["relay", "pause", "NYC"]) == 0 and "wait" in capsys.readouterr().err
    assert main(["relay", "resume", "NYC", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"site": "NYC", "paused": False, "changed": True}
    assert [options for *_, options in client.asked] == [
        {"site": "NYC", "pause": True},
        {"site": "NYC", "pause": False},
    ]
    given(call={"changed": False})
    assert main(["relay", "resume", "NYC"]) == 0 and "not paused" in capsys.readouterr().err


@pytest.mark.parametrize("verb", ["rm", "pause", "resume", "sync"])
@pytest.mark.parametrize("name", ["", "x" * 65, "a b"])
def test_what_is_no_name_is_said_to_be_none_and_nobody_is_asked(
    given: Given, file: Path, capsys: Capture, verb: str, name: str
) -> None:
    client = given(call=answers(COUNTS))
    assert main(["relay", verb, name]) == 2
    assert "A name has 1 to 64 of the characters" in capsys.readouterr().err and not client.asked
