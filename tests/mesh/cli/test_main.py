"""The command line as a whole: few imports, common options, and errors with a hint."""

import signal
import subprocess
import sys
from importlib import import_module
from typing import NoReturn

import click
import pytest

from mesh.cli.main import main
from mesh.cli.verbs import VERBS, module_of
from mesh.client import operating
from mesh.errors import BadKey, BadName, MeshTimeout
from tests.mesh.cli.fake import Given
from tests.mesh.running import LIMIT

# Verbs that call no node, or have subcommands that do.
OFFLINE = {
    "context", "completion", "leave", "up", "config", "peer", "node", "rule", "relay", "dlq", "backup",
    "service", "log", "queue", "why", "init", "join", "token", "passwd", "report", "ingest", "snapshots",
    "weights",
}  # fmt: skip


def python(text: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=LIMIT)


@pytest.fixture
def failing(monkeypatch: pytest.MonkeyPatch) -> list[BaseException]:
    """Errors for `mesh ls`, which raises the first one."""
    errors: list[BaseException] = []

    @click.command("ls")
    def command() -> NoReturn:
        raise errors[0]

    monkeypatch.setattr(import_module("mesh.cli.ls"), "command", command)
    return errors


def test_help_needs_neither_zmq_nor_rich_nor_asyncio() -> None:
    result = python(
        "import sys; from mesh.cli.main import main; main(['--help'])\n"
        "heavy = {'zmq', 'rich', 'asyncio', 'msgspec', 'msgpack', 'sqlite3', 'psutil'}\n"
        "sys.exit(str(heavy & set(sys.modules)) if heavy & set(sys.modules) else 0)"
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert all(verb in result.stdout for verb in VERBS)


def test_a_node_needs_neither_rich_nor_http_nor_e_mail() -> None:
    result = python(
        "import sys, mesh.cli.up; heavy = {'rich', 'http', 'email', 'urllib.request'} & set(sys.modules)\n"
        "sys.exit(str(heavy) if heavy else 0)"
    )
    assert (result.returncode, result.stderr) == (0, "")


def options_of(verb: str) -> dict[str, click.Option]:
    command: click.Command = import_module(module_of(verb)).command
    below = command.commands.values() if isinstance(command, click.Group) else ()
    params = [param for each in (command, *below) for param in each.params]
    return {name: it for it in params if isinstance(it, click.Option) for name in it.opts}


def test_every_verb_that_reads_has_json() -> None:
    verbs = ("ls", "top", "events", "info", "get", "sub", "inbox", "req", "route")
    assert [verb for verb in verbs if "--json" not in options_of(verb)] == []


def test_every_verb_that_asks_a_node_has_url() -> None:
    asking = sorted(VERBS.keys() - OFFLINE)
    assert [verb for verb in asking if options_of(verb)["--url"].envvar != "MESH_URL"] == []


def test_a_misspelt_verb_is_an_error_of_usage_with_a_suggestion(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["dwon"]) == 2
    said = capsys.readouterr()
    assert (said.out, "Did you mean 'down'?" in said.err) == ("", True)


def test_the_version_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == "mesh 0.1.0\n"


def test_an_error_says_what_and_its_code_and_then_what_to_type(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(BadKey("this is wrong.", hint="Type that."))
    assert main(["ls"]) == 2
    assert capsys.readouterr() == ("", "mesh: this is wrong. [BAD_KEY]\n      Type that.\n")


def test_a_timeout_has_its_own_exit_code(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str]
) -> None:
    failing.append(MeshTimeout("too late."))
    assert main(["ls"]) == 124
    assert capsys.readouterr().err == "mesh: too late. [TIMEOUT]\n"


def test_ctrl_c_is_quiet(failing: list[BaseException], capsys: pytest.CaptureFixture[str]) -> None:
    failing.append(KeyboardInterrupt())
    assert main(["ls"]) == 130
    assert capsys.readouterr() == ("", "\n")


def test_what_nobody_foresaw_is_one_line_and_how_to_see_more(
    failing: list[BaseException], capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("MESH_DEBUG", raising=False)
    failing.append(ZeroDivisionError("division by zero"))
    assert main(["ls"]) == 2
    said = capsys.readouterr().err
    assert said.startswith("mesh: ZeroDivisionError: division by zero [BUG]\n")
    assert "MESH_DEBUG=1" in said
    assert "Traceback" not in said


@pytest.mark.parametrize("error", [ZeroDivisionError("x"), BadKey("x")])
def test_with_mesh_debug_the_traceback_is_shown(
    error: Exception,
    failing: list[BaseException],
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MESH_DEBUG", "1")
    failing.append(error)
    assert main(["ls"]) == 2
    assert "Traceback" in capsys.readouterr().err


def test_sigterm_ends_what_waits_by_way_of_its_contexts() -> None:
    process = subprocess.Popen(
        [
            sys.executable,
            "-c",
            "import click, signal, sys; from mesh.cli import completion, main\n"
            "@click.command('completion')\n"
            "def command():\n"
            "    try:\n"
            "        print('ready', flush=True); signal.pause()\n"
            "    finally:\n"
            "        print('closed')\n"
            "completion.command = command; sys.argv[1:] = ['completion']; sys.exit(main.main())",
        ],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    process.send_signal(signal.SIGTERM)
    out, _ = process.communicate(timeout=LIMIT)
    assert (process.returncode, out) == (128 + signal.SIGTERM, "closed\n")


def test_the_list_of_verbs_and_their_modules_agree() -> None:
    for verb in VERBS:
        assert import_module(module_of(verb)).command.name == verb


def test_trial_C_an_error_has_its_code_once(capsys: pytest.CaptureFixture[str], given: Given) -> None:
    given(call=BadName("'a b' is not a name.", hint="Write another."))
    assert main(["ls"]) == 2
    assert capsys.readouterr().err.count("[BAD_NAME]") == 1


def test_commands_that_look_at_a_node_or_change_it_are_the_operators(monkeypatch: pytest.MonkeyPatch) -> None:
    marked: list[bool] = []
    monkeypatch.setattr(operating, "mark", marked.append)
    verbs = ("ls", "why", "queue", "down", "wait", "weights")
    for verb in (*verbs, "pub", "sub"):
        main([verb, "--help"])
    assert marked == [True, False] * len(verbs) + [False, False] * 2, "and nothing else in this process is"


@pytest.mark.parametrize(
    ("line", "is_hinted"), [("drain heron", True), ("queue ls a b c", True), ("passwd a", False)]
)
def test_a_superfluous_argument_is_refused_with_the_option_for_a_node(
    line: str, is_hinted: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(line.split()) == 2
    assert ("To choose a node: --url NAME" in capsys.readouterr().err) is is_hinted
