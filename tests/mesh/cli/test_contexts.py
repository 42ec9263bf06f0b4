"""Contexts: they fill in what nothing else sets, and their file is private."""

import json
import os
import stat
from pathlib import Path

import pytest

from mesh.cli import contexts
from mesh.cli.contexts import Context, Contexts, held
from mesh.cli.main import main
from mesh.errors import BadConfig
from tests.mesh.cli.fake import Given

LAB = Context(url="tcp://10.0.0.5:7710", cluster="lab")


@pytest.fixture
def environ(tmp_path: Path) -> dict[str, str]:
    return {"XDG_CONFIG_HOME": str(tmp_path)}


@pytest.fixture
def at_home(environ: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without contexts, for whole command lines. Return the path of the file."""
    for name in ("MESH_CONTEXT", *contexts.FIELDS.values()):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("XDG_CONFIG_HOME", environ["XDG_CONFIG_HOME"])
    return contexts.path_of(environ)


def test_what_was_written_is_read_again(environ: dict[str, str]) -> None:
    assert contexts.read(environ) == Contexts()
    written = Contexts({"lab": LAB, "home": Context(state="/tmp/ä b")}, "lab")
    path = contexts.write(written, environ)
    assert contexts.read(environ) == written
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert [each.name for each in path.parent.iterdir()] == [contexts.NAME]


def test_inside_the_environment_says_what_the_context_does_and_outside_it_does_not(
    environ: dict[str, str],
) -> None:
    contexts.write(Contexts({"lab": LAB}, "lab"), environ)
    before = dict(environ)
    with held(environ) as name:
        assert (name, environ["MESH_URL"], environ["MESH_CLUSTER"]) == ("lab", LAB.url, LAB.cluster)
        assert "MESH_STATE_DIR" not in environ
    assert environ == before


def test_what_the_environment_says_wins_field_by_field_and_comes_back(environ: dict[str, str]) -> None:
    contexts.write(Contexts({"lab": LAB}, "lab"), environ)
    environ |= {"MESH_URL": "heron", "MESH_CLUSTER": ""}
    with held(environ):
        assert (environ["MESH_URL"], environ["MESH_CLUSTER"]) == ("heron", "lab")
    assert (environ["MESH_URL"], environ["MESH_CLUSTER"]) == ("heron", "")


@pytest.mark.parametrize(("said", "url"), [("", None), ("home", "tcp://h:1"), (None, "tcp://10.0.0.5:7710")])
def test_mesh_context_chooses_another_or_none(
    environ: dict[str, str], said: str | None, url: str | None
) -> None:
    contexts.write(Contexts({"lab": LAB, "home": Context(url="tcp://h:1")}, "lab"), environ)
    if said is not None:
        environ["MESH_CONTEXT"] = said
    with held(environ):
        assert environ.get("MESH_URL") == url


def test_one_that_is_not_there_is_an_error_that_names_those_that_are(environ: dict[str, str]) -> None:
    contexts.write(Contexts({"lab": LAB}, ""), environ)
    with (
        pytest.raises(BadConfig, match=r"The context 'lba' does not exist; known: lab"),
        held({**environ, "MESH_CONTEXT": "lba"}),
    ):
        pass


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{", "null", "\ud800", '{"contexts": []}', '{"contexts": {"a": []}}',
        '{"contexts": {"a": {"url": 1}}}',
        '{"contexts": {"a": {"uri": "x"}}}', '{"contexts": {}, "used": "a"}', '{"contexts": {}, "used": 1}',
        '{"contexts": {"a": {"url": null}}}', "[" * 100_000, " " * (contexts.LONGEST + 1),
    ],
)  # fmt: skip
def test_a_damaged_file_is_an_error_that_says_what_to_type(environ: dict[str, str], text: str) -> None:
    path = contexts.write(Contexts(), environ)
    path.write_bytes(text.encode(errors="surrogatepass"))
    with pytest.raises(BadConfig, match=r"contexts\.json") as refused:
        contexts.read(environ)
    assert f"mv {path} {path}.old" in str(refused.value.hint)


def test_a_file_that_others_may_read_a_link_or_no_file_is_refused(
    environ: dict[str, str], tmp_path: Path
) -> None:
    path = contexts.write(Contexts({"lab": LAB}), environ)
    path.chmod(0o640)
    with pytest.raises(BadConfig, match="open to other users") as refused:
        contexts.read(environ)
    assert f"chmod 600 {path}" in str(refused.value.hint)
    path.rename(tmp_path / "elsewhere")
    path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(BadConfig, match="cannot be read"):
        contexts.read(environ)
    path.unlink()
    os.mkfifo(path)
    with pytest.raises(BadConfig, match="is not a regular file"):
        contexts.read(environ)


def test_contexts_are_added_changed_used_shown_and_removed(
    at_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["context", "ls"]) == 1
    assert main(["context", "add", "lab", "--url", "tcp://10.0.0.5"]) == 0
    assert main(["context", "add", "lab", "--cluster", "lab"]) == 0
    assert main(["context", "add", "home", "--url", "heron", "--use"]) == 0
    assert stat.S_IMODE(at_home.stat().st_mode) == 0o600
    capsys.readouterr()
    assert main(["context", "ls", "--json"]) == 0
    home = {"name": "home", "used": True, "url": "heron", "cluster": "", "state": ""}
    lab = {"name": "lab", "used": False, "url": "tcp://10.0.0.5:7710", "cluster": "lab", "state": ""}
    assert json.loads(capsys.readouterr().out) == [home, lab]
    assert main(["context", "use", "lab"]) == main(["context", "show"]) == 0
    assert capsys.readouterr().out.split() == ["name", "lab", "url", "tcp://10.0.0.5:7710", "cluster", "lab"]
    assert main(["context", "rm", "lab"]) == 0 and main(["context", "show"]) == 1
    assert contexts.read(os.environ) == Contexts({"home": Context(url="heron")})
    assert main(["context", "use", "--none"]) == 0


@pytest.mark.parametrize(
    "words",
    [
        ["add", "lab"], ["add", "a/b", "--url", "x"], ["add", "", "--url", "x"], ["use"],
        ["use", "lab", "--none"],
        ["use", "lab"], ["rm", "lab"], ["show", "lab"], ["add", "lab", "--url", "tcp://h:99999"],
        ["add", "lab", "--cluster", "a b"], ["add", "lab", "--token", "/no/such/file"],
    ],
)  # fmt: skip
def test_what_cannot_be_is_an_error_and_leaves_the_file_alone(
    at_home: Path, words: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["context", *words]) == 2
    assert not at_home.exists()
    assert "BUG" not in capsys.readouterr().err


def test_a_verb_asks_the_node_of_the_context_and_what_is_typed_wins(at_home: Path, given: Given) -> None:
    fake = given(call={"name": "x"})
    assert main(["context", "add", "lab", "--url", "tcp://10.0.0.5", "--use"]) == 0
    main(["info", "--json"])
    assert fake.opened["url"] == "tcp://10.0.0.5:7710"
    main(["info", "--json", "--url", "heron"])
    assert fake.opened["url"] == "heron" and "MESH_URL" not in os.environ


def test_what_is_of_this_machine_does_not_heed_a_context_nor_does_help(
    at_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["context", "add", "lab", "--cluster", "lab", "--use"]) == 0
    at_home.write_text("damaged")
    assert main(["passwd", "--help"]) == main(["ls", "--help"]) == main(["completion", "bash"]) == 0
    capsys.readouterr()
    assert main(["ls"]) == 2
    assert "contexts.json is damaged" in capsys.readouterr().err


def test_who_is_led_astray_by_a_context_is_told_of_it(
    at_home: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path / "state"))
    assert main(["context", "add", "lab", "--url", "nobody", "--use"]) == 0
    assert main(["ls"]) == 2
    said = capsys.readouterr().err
    assert (
        "No node named 'nobody' of this user runs here" in said
        and "The context 'lab' applies: see `mesh context ls`." in said
    )


def test_a_node_that_nobody_could_ask_is_no_context(
    at_home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for url in (
        "../x",
        "http://x",
        "ipc://",
        "ipc://a\x1b[2J",
        "tcp://a:99999",
        "\udcff",
        "a" * 100_000,
        "a b",
    ):
        assert main(["context", "add", "lab", "--url", url]) == 2, url
        assert len(capsys.readouterr().err) < 1000
    assert main(["context", "add", "lab", "--state", "~nobody-of-that-name/mesh"]) == 2
    assert "cannot be determined" in capsys.readouterr().err
    assert not at_home.exists()
    for url in ("heron", "nas.example.com:7710", "10.0.0.5", "[::1]:7710", "ipc:///tmp/x y"):
        assert main(["context", "add", "lab", "--url", url]) == 0, url
