"""`mesh init`, `join`, `token` and `passwd` make keys, and name the next command."""

import io
import json
from pathlib import Path

import pytest

from mesh.cli.main import main
from mesh.password import COST, Password
from mesh.security.keyfiles import read_mesh
from mesh.security.token import read_token

Capture = pytest.CaptureFixture[str]


class Machine:
    """A user on a machine, where `mesh ARGUMENTS` returns (exit code, stdout, stderr)."""

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
    for variable in ("MESH_CLUSTER", "MESH_NODE__CLUSTER", "MESH_TOKEN"):
        monkeypatch.delenv(variable, raising=False)
    return Machine(tmp_path / "a", monkeypatch, capsys), Machine(tmp_path / "b", monkeypatch, capsys)


def test_two_commands_bring_a_second_machine_in(machines: tuple[Machine, Machine]) -> None:
    first, second = machines
    code, out, err = first.mesh("init")
    assert code == 0
    assert out.startswith("HERON1") and len(out.split()) == 1  # the token, alone on stdout
    assert str(first.state / "keys" / "default.json") in err
    code, out, err = second.mesh("join", stdin=out)
    assert (code, out) == (0, "")
    assert "you have joined mesh 'default', as a node" in err
    ours, theirs = read_mesh(first.state, "default"), read_mesh(second.state, "default")
    assert ours is not None and theirs is not None
    assert (ours.secret, ours.server) == (theirs.secret, theirs.server)


def test_the_keys_are_those_of_the_mesh_that_a_node_here_would_join(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, _ = machines
    monkeypatch.setenv("MESH_NODE__CLUSTER", "lab")
    assert first.mesh("init")[0] == 0
    assert (first.state / "keys" / "lab.json").exists()
    monkeypatch.setenv("MESH_CLUSTER", "hall")
    assert first.mesh("init")[0] == 0
    assert (first.state / "keys" / "hall.json").exists()
    code, out, _ = first.mesh("token", "--cluster", "lab", "--json")
    assert code == 0 and '"lab"' in out
    monkeypatch.delenv("MESH_CLUSTER")
    assert '"lab"' in first.mesh("token", "--json")[1]


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
    assert made.keys() == {"cluster", "file", "token", "admin"}
    told = json.loads(first.mesh("token", "--role", "monitor", "--expires", "never", "--json")[1])
    assert (told["cluster"], told["role"], told["expires"]) == ("prod", "monitor", None)
    joined = json.loads(second.mesh("join", told["token"], "--json")[1])
    assert joined == {
        "cluster": "prod",
        "role": "monitor",
        "changed": True,
        "file": str(second.state / "keys" / "prod.json"),
    }
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
    assert second.mesh("join", "-", stdin=out)[0] == 0  # from stdin, so that no history has it
    found = read_mesh(second.state, "default")
    assert found is not None
    assert found.role == role


def test_a_gateways_token_is_joined_for_the_site_that_it_is_of(machines: tuple[Machine, Machine]) -> None:
    first, second = machines
    for one in machines:
        one.mesh("init")
    code, token, err = first.mesh("token", "--role", "relay", "--site", "LON")
    assert (code, "lets a relay into mesh 'default'" in err) == (0, True)
    assert first.mesh("token", "--role", "relay")[0] == first.mesh("token", "--site", "LON")[0] == 2
    code, _, err = second.mesh("join", "-", stdin=token)
    assert (code, "mesh join --site NAME" in err) == (2, True)
    code, _, err = second.mesh("join", "-", "--site", "NYC", stdin=token)
    kept = str(second.state / "keys" / "sites" / "NYC.json")
    assert (code, kept in err) == (0, True)
    said = second.mesh("join", "-", "--site", "NYC", "--json", stdin=token)[1]
    assert json.loads(said) == {"site": "NYC", "cluster": "default", "file": kept, "changed": False}
    assert second.mesh("join", "-", "--site", "N Y", stdin=token)[0] == 2
    assert second.mesh("join", "-", "--site", "NYC", "--passwd", stdin=token)[0] == 2


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
    assert "cannot create tokens" in err


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


def test_the_hash_of_a_password_is_alone_on_stdout(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(COST, "n", 2)
    code, out, err = machines[0].mesh("passwd", stdin="sesame\n")
    assert code == 0
    assert Password(out.strip()).refusal("joe", "sesame", 0.0) == ""
    assert "passwd" in err
    assert machines[0].mesh("passwd", stdin="sesame\n")[1] != out  # the salt differs
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
    [line] = [line for line in err.splitlines() if "Restart" in line]
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
    assert "Dial a node of another machine or user: --url tcp://HOST:7710" in err and "mesh up" not in err
    assert "mesh up" in first.mesh("ls")[2]


def test_trial_A7_what_init_prints_need_not_stand_on_a_command_line(
    machines: tuple[Machine, Machine],
) -> None:
    first, second = machines
    _, token, said = first.mesh("init")
    assert "mesh join HERON1" not in said + token and "run  mesh join  and paste" in said
    code, _, err = second.mesh("join", "-", stdin=token)
    assert (code, "command line" in err) == (0, False)


def test_trial_A7_a_token_as_an_argument_is_taken_with_a_warning(machines: tuple[Machine, Machine]) -> None:
    first, second = machines
    code, _, err = second.mesh("join", first.mesh("init")[1].strip())
    assert code == 0 and "command line" in err
    assert read_mesh(second.state, "default") is not None


def test_trial_A7_at_a_terminal_the_token_is_asked_for_and_not_shown(
    machines: tuple[Machine, Machine], monkeypatch: pytest.MonkeyPatch
) -> None:
    first, second = machines
    token, asked = first.mesh("init")[1], []

    def prompt(text: str, **how: object) -> str:
        asked.append((text, how.get("hide_input"), how.get("err")))
        return token

    monkeypatch.setattr("click.prompt", prompt)
    monkeypatch.setattr("mesh.cli.join.sys.stdin", Terminal())
    monkeypatch.setenv("MESH_STATE_DIR", str(second.state))
    assert main(["join"]) == 0
    assert asked == [("token", True, True)]


class Terminal(io.StringIO):
    """A terminal at which the user types nothing."""

    def isatty(self) -> bool:
        return True


def test_trial_A7_a_file_may_hold_the_token_and_what_is_wrong_with_it_is_named(
    machines: tuple[Machine, Machine], tmp_path: Path
) -> None:
    first, second = machines
    file = tmp_path / "the token"
    code, _, err = second.mesh("join", "--file", str(file))
    assert (code, "[TOKEN]" in err, str(file) in err) == (2, True, True)
    file.write_bytes(b"\xff\xfe")
    assert second.mesh("join", "--file", str(file))[0] == 2
    file.write_text(first.mesh("init")[1])
    assert second.mesh("join", "--file", str(file), "HERON1")[0] == 2  # either a file or a token
    code, _, err = second.mesh("join", "--file", str(file))
    assert (code, "command line" in err) == (0, False)


def test_trial_C_a_machine_leaves_a_mesh_and_can_come_back(machines: tuple[Machine, Machine]) -> None:
    first, _ = machines
    first.mesh("init")
    before = read_mesh(first.state, "default")
    code, _, err = first.mesh("leave")
    left = first.state / "keys" / "default.json.left"
    assert (code, str(left) in err) == (0, True)
    assert read_mesh(first.state, "default") is None and left.stat().st_mode & 0o077 == 0
    left.rename(first.state / "keys" / "default.json")  # as the message advises
    assert read_mesh(first.state, "default") == before
    code, _, err = first.mesh("leave", "--cluster", "other")
    assert (code, "[KEYS]" in err) == (2, True)
    for _ in range(2):  # each former state is kept
        first.mesh("leave")
        first.mesh("init")
    assert len(list((first.state / "keys").glob("*.json.left*"))) == 2
    assert first.mesh("leave")[0] == 0
    assert first.mesh("leave")[0] == 2


def test_trial_C_two_that_both_said_init_become_one_mesh(machines: tuple[Machine, Machine]) -> None:
    first, second = machines
    token = first.mesh("init")[1]
    second.mesh("init")
    before = read_mesh(second.state, "default")
    code, _, err = second.mesh("join", stdin=token)
    assert (code, "[KEYS_EXIST]" in err, "mesh join --replace" in err) == (2, True, True)
    assert read_mesh(second.state, "default") == before
    code, _, err = second.mesh("join", "--replace", stdin=token)
    left = second.state / "keys" / "default.json.left"
    assert (code, str(left) in err) == (0, True)
    ours, theirs = read_mesh(first.state, "default"), read_mesh(second.state, "default")
    assert ours is not None and theirs is not None and ours.secret == theirs.secret
    assert before is not None and ours.secret != before.secret and left.exists()
    assert second.mesh("join", "--replace", stdin=token)[0] == 0  # nothing to replace
    assert len(list((second.state / "keys").glob("*.left*"))) == 1
