"""Completion with the Tab key: in time, in order, and without text that a shell would run."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.shell_completion import BashComplete
from hypothesis import given
from hypothesis import strategies as st

from mesh import sync
from mesh.cli import completing, contexts
from mesh.cli.completing import MOST, VARIABLE, in_time, offered
from mesh.cli.contexts import Context, Contexts
from mesh.cli.main import main, mesh
from mesh.cli.verbs import VERBS
from tests.mesh.running import LIMIT, RunningNode, running, until


def complete(words: str) -> list[str]:
    """Return click's completions of the last word, in the environment of this process."""
    *before, incomplete = words.split(" ")[1:]
    return [
        item.value for item in BashComplete(mesh, {}, "mesh", VARIABLE).get_completions(before, incomplete)
    ]


def answered(words: str, environ: dict[str, str]) -> list[str]:
    """Return the completions that a shell receives. The process must succeed without further output."""
    asked = {VARIABLE: "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(words.count(" "))}
    command = [sys.executable, "-m", "mesh"]
    done = subprocess.run(
        command, env={**environ, **asked}, capture_output=True, text=True, timeout=2 * LIMIT
    )
    assert (done.returncode, done.stderr) == (0, "")
    return [line.partition(",")[2] for line in done.stdout.split()]


@pytest.fixture
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without a node. Return the directory of the user's settings."""
    for name in [name for name in os.environ if name.startswith("MESH_")]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("MESH_STATE_DIR", str(tmp_path / "state"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "mesh"


def test_what_is_offered_begins_so_in_order_and_is_not_too_much() -> None:
    assert offered(["stork", "egret", "heron", "egret"], "") == ["egret", "heron", "stork"]
    assert offered(["sensors/a", "sensors/b", "other"], "sensors/") == ["sensors/a", "sensors/b"]
    assert len(offered([f"n{number}" for number in range(10 * MOST)], "n")) == MOST


@given(st.lists(st.text(max_size=8)), st.text(max_size=2))
def test_no_name_is_offered_that_a_shell_takes_for_more(names: list[str], incomplete: str) -> None:
    for name in offered(
        [*names, "$(reboot)", "a b", "a;b", "`x`", "a\nb", "'", '"', "a\x1b[2J", "~x*?"], incomplete
    ):
        assert name.startswith(incomplete) and not set(name) & set(" \t\n\r\x1b\"'`$;&|<>(){}[]*?!~\\")


def test_who_answers_too_late_or_fails_is_passed_over_at_once() -> None:
    forever = threading.Event()

    def slow() -> Iterator[str]:
        forever.wait()
        yield "late"

    def broken() -> list[str]:
        raise SystemExit(3)

    assert in_time(slow, 0.05) == [] and in_time(broken, LIMIT) == []
    forever.set()
    assert in_time(lambda: ["heron"], LIMIT) == ["heron"]


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_what_a_shell_has_to_know_names_the_variable_that_it_asks_by(
    shell: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["completion", shell]) == 0
    assert f"_MESH_COMPLETE={shell}_complete" in capsys.readouterr().out


def test_without_a_node_verbs_and_options_are_completed_and_names_are_not(nowhere: Path) -> None:
    assert complete("mesh ") == sorted(VERBS)
    assert complete("mesh qu") == ["queue"]
    assert "take" in complete("mesh queue ")
    assert complete("mesh pub --per") == ["--persistent"]
    assert complete("mesh log level mesh.r") == ["mesh.routes"]
    assert complete("mesh log level de") == complete("mesh log level mesh.routes d") == ["debug"]
    for words in ("mesh ls --url ", "mesh get ", "mesh queue take ", "mesh context use "):
        assert complete(words) == []


def test_contexts_are_completed_and_a_damaged_file_of_them_is_not(nowhere: Path) -> None:
    contexts.write(Contexts({"lab": Context(url="x"), "home": Context(url="y")}), os.environ)
    assert complete("mesh context use ") == ["home", "lab"]
    (nowhere / "contexts.json").write_text("{")
    assert complete("mesh context use ") == []
    assert complete("mesh qu") == ["queue"]


@pytest.mark.slow
def test_a_tab_is_answered_with_nothing_where_a_node_says_nothing(nowhere: Path) -> None:
    """A damaged file of contexts has the same effect, because a completion can show no error."""
    nowhere.mkdir()
    (nowhere / "contexts.json").write_text("{")
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        environ = {**os.environ, "MESH_URL": f"tcp://127.0.0.1:{silent.getsockname()[1]}"}
        assert answered("mesh get sensors/", environ) == []
    assert answered("mesh queue ta", dict(os.environ)) == ["take"]
    assert answered("mesh ls --url tcp://[ ", dict(os.environ)) == []


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running("heron") as node:
        yield node


@pytest.mark.slow
def test_names_of_nodes_topics_and_queues_are_completed(
    node: RunningNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in node.environ.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(completing, "LIMIT", LIMIT)  # a busy machine needs more time
    with sync.connect("heron") as m:
        for key in ("sensors/kitchen/temp", "sensors/attic/temp", "other", "sensors/$(reboot)"):
            m.publish(key, "1")
        m.publish("sensors/hidden", "1", domain="HOUSE")
        m.queue("jobs").declare()
    found = {"j": "jobs", "sensors/h": "sensors/hidden", "h": "heron"}
    assert complete("mesh ls --url ") == ["heron"]
    assert complete("mesh get sensors/") == ["sensors/attic/temp", "sensors/hidden", "sensors/kitchen/temp"]
    assert complete("mesh get --domain HOUSE se") == ["sensors/hidden"]
    assert complete("mesh queue take j") == ["jobs"]
    for verb in ("why queue", "why topic", "why node", "rule set", "rule rm pip", "node deny"):
        typed = {"why queue": "j", "why topic": "sensors/h"}.get(verb, "h")
        assert complete(f"mesh {verb} {typed}") == [found[typed]], verb
    assert complete("mesh get --url nobody sensors/") == []
    with running("stork", beside=node):
        until(lambda: complete("mesh top --url ") == ["heron", "stork"])
