"""Do `mesh init`, `join`, `token` and `passwd` make keys, and say what to type next?"""

import io
import json
from pathlib import Path

import pytest

from mesh.cli.main import main
from mesh.core.password import Password
from mesh.security.keyfiles import read_mesh
from mesh.security.token import read_token

Capture = pytest.CaptureFixture[str]


class Machine:
    """One user on one machine: `mesh ARGUMENTS` gives (exit code, stdout, stderr)."""

    def __init__(self, state: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> None:
        self.state = state
        self._monkeypatch, self._capsys = monkeypatch, capsys

    def mesh(self, *arguments: str, stdin: str = "") -> tuple[int, str, str]:
        self._monkeypatch.setenv("MESH_STATE_DIR", str(self.state))
        self._monkeypatch.setattr("sys.stdin", io.StringIO(stdin))
        code = main(arguments)
        said = self._capsys.readouterr()
        return code, said.out, said.err


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture) -> tuple[Machine, Machine]:
    for variable in ("MESH_CLUSTER", "MESH_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    return Machine(tmp_path / "a", monkeypatch, capsys), Machine(tmp_path / "b", monkeypatch, capsys)


def test_two_commands_bring_a_second_machine_in(machines: tuple[Machine, Machine]) -> None:
    first, second = machines
    code, out, err = first.mesh("init")
    assert code == 0
    assert out.startswith("mesh join HERON1")  # the line to be typed, alone on stdout
    assert str(first.state / "keys" / "default.json") in err
    code, out, err = second.mesh(*out.split()[1:])
    assert (code, out) == (0, "")
    assert "you are in mesh 'default', as a node" in err
    ours, theirs = read_mesh(first.state, "default"), read_mesh(second.state, "default")
    assert ours is not None and theirs is not None
    assert (ours.secret, ours.server) == (theirs.secret, theirs.server)


def test_a_second_init_says_what_there_is_and_changes_nothing(machines: tuple[Machine, Machine]) -> None:
    first, _ = machines
    first.mesh("init")
    before = read_mesh(first.state, "default")
    code, out, err = first.mesh("init")
    assert (code, out) == (2, "")
    assert "[KEYS_EXIST]" in err
    assert "mesh token" in err
    assert read_mesh(first.state, "default") == before
    assert first.mesh("init", "--cluster", "other")[0] == 0


def test_in_json_everything_is_there(machines: tuple[Machine, Machine]) -> None:
    first, second = machines
    made = json.loads(first.mesh("init", "--cluster", "prod", "--json")[1])
    assert made.keys() == {"cluster", "file", "token"}
    told = json.loads(first.mesh("token", "--role", "monitor", "--expires", "never", "--json")[1])
    assert (told["cluster"], told["role"], told["expires"]) == ("prod", "monitor", None)
    joined = json.loads(second.mesh("join", told["token"], "--json")[1])
    assert joined == {
        "cluster": "prod", "role": "monitor", "changed": True,
        "file": str(second.state / "keys" / "prod.json"),
    }  # fmt: skip
    assert json.loads(second.mesh("join", told["token"], "--json")[1])["changed"] is False


@pytest.mark.parametrize("role", ["node", "client", "monitor"])
def test_a_token_is_alone_on_stdout_and_its_meaning_beside_it(
    machines: tuple[Machine, Machine], role: str
) -> None:
    first, second = machines
    first.mesh("init")
    code, out, err = first.mesh("token", "--role", role, "--expires", "30m")
    assert code == 0
    assert read_token(out, 0.0).role == role
    assert f"lets a {role} into mesh 'default', for 30 m" in err
    assert second.mesh("join", "-", stdin=out)[0] == 0  # so that it is in no history
    found = read_mesh(second.state, "default")
    assert found is not None
    assert found.role == role


@pytest.mark.parametrize("time", ["0h", "soon", "-1h", "24", "1w"])
def test_a_time_that_is_none_is_refused(machines: tuple[Machine, Machine], time: str) -> None:
    first, _ = machines
    first.mesh("init")
    code, _, err = first.mesh("token", "--expires", time)
    assert code == 2
    assert "write 30m, 24h, 7d or never" in err


def test_without_keys_or_with_several_it_says_how_to_go_on(machines: tuple[Machine, Machine]) -> None:
    first, _ = machines
    code, _, err = first.mesh("token")
    assert (code, "mesh init" in err) == (2, True)
    first.mesh("init", "--cluster", "a")
    first.mesh("init", "--cluster", "b")
    code, _, err = first.mesh("token")
    assert (code, "a, b" in err, "--cluster NAME" in err) == (2, True, True)
    assert first.mesh("token", "--cluster", "b")[0] == 0
    code, _, err = first.mesh("token", "--cluster", "c")
    assert (code, "[KEYS]" in err) == (2, True)


def test_what_a_client_joined_with_lets_nobody_else_in(machines: tuple[Machine, Machine]) -> None:
    first, second = machines
    first.mesh("init")
    second.mesh("join", first.mesh("token", "--role", "client")[1].strip())
    code, out, err = second.mesh("token", "--role", "client")
    assert (code, out) == (2, "")
    assert "let nobody else in" in err


@pytest.mark.parametrize(("token", "code"), [("HELLO", "TOKEN"), ("HERON1ABCDEF", "TOKEN_DAMAGED")])
def test_what_is_no_token_is_refused(machines: tuple[Machine, Machine], token: str, code: str) -> None:
    result, out, err = machines[0].mesh("join", token)
    assert (result, out) == (2, "")
    assert f"[{code}]" in err
    assert "mesh token" in err


def test_the_environment_may_hold_the_token(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = machines
    first.mesh("init")
    monkeypatch.setenv("MESH_TOKEN", first.mesh("token")[1])
    assert second.mesh("join")[0] == 0


def test_a_password_that_is_asked_for_is_kept(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = machines
    first.mesh("init")
    monkeypatch.setattr("click.prompt", lambda *_, **__: "sesame")
    assert second.mesh("join", first.mesh("token")[1].strip(), "--passwd")[0] == 0
    found = read_mesh(second.state, "default")
    assert found is not None
    assert found.passwd == "sesame"


def test_the_hash_of_a_password_is_alone_on_stdout(machines: tuple[Machine, Machine]) -> None:
    code, out, err = machines[0].mesh("passwd", stdin="sesame\n")
    assert code == 0
    assert Password(out.strip()).refuse("joe", "sesame", 0.0) == ""
    assert "passwd" in err
    assert machines[0].mesh("passwd", stdin="sesame\n")[1] != out  # has salt
    assert machines[0].mesh("passwd", stdin="\n")[0] == 2


def test_init_names_the_nodes_that_run_without_keys(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    nodes = [
        {"name": "heron", "cluster": "default", "keyed": False},
        {"name": "stork", "cluster": "default", "keyed": True},
        {"name": "egret", "cluster": "other", "keyed": False},
    ]
    monkeypatch.setattr("mesh.cli.init.running_nodes", lambda _: nodes)
    code, out, err = machines[0].mesh("init")
    [line] = [line for line in err.splitlines() if "started again" in line]
    assert code == 0 and len(out.splitlines()) == 1
    assert line.endswith(":  heron")
    monkeypatch.undo()
    assert "started again" not in machines[1].mesh("init")[2]


@pytest.mark.parametrize("role", ["client", "monitor"])
def test_who_joined_without_the_keys_of_a_node_is_told_to_dial_one(
    machines: tuple[Machine, Machine], role: str
) -> None:
    first, second = machines
    first.mesh("init")
    second.mesh("join", first.mesh("token", "--role", role)[1].strip())
    code, _, err = second.mesh("ls")
    assert (code, "[NO_NODE]" in err) == (2, True)
    assert "Dial one: --url tcp://HOST:7710" in err and "mesh up" not in err
    assert "mesh up" in first.mesh("ls")[2]
