"""`mesh service`, the script of the containers, and the owner of a node's files."""

import json
import os
import stat
import subprocess
import sys
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from mesh.cli.main import main
from mesh.local.unit import MARK
from tests.mesh.running import LIMIT, environment, run_mesh, running, state_directory, until
from tests.pages import free_port

DEPLOY = Path(__file__).parents[3] / "docs" / "deploy"
Capture = pytest.CaptureFixture[str]


@pytest.fixture
def called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Replace `systemctl` by a script that records its calls. Return the path of the record."""
    (tmp_path / "bin").mkdir()
    fake = tmp_path / "bin" / "systemctl"
    fake.write_text(f'#!/bin/sh\necho "$@" >> {tmp_path}/called\n')
    fake.chmod(0o755)
    monkeypatch.setenv("PATH", str(fake.parent))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "called"


def test_a_service_is_installed_shown_and_removed(called: Path, tmp_path: Path, capsys: Capture) -> None:
    unit = tmp_path / "systemd" / "user" / "heronry-heron.service"
    assert main(["service", "show", "--id", "heron"]) == 1
    assert main(["service", "install", "--id", "heron"]) == 0
    assert unit.read_text().startswith(MARK) and f"{sys.executable} -m mesh up --id heron" in unit.read_text()
    assert main(["service", "install", "--id", "heron"]) == 0  # again, over its own file
    capsys.readouterr()
    assert main(["service", "show", "--id", "heron"]) == 0
    assert capsys.readouterr().out == unit.read_text()
    assert main(["service", "uninstall", "--id", "heron"]) == 0
    assert not unit.exists()
    assert called.read_text().splitlines()[:2] == [
        "--user daemon-reload", "--user enable --now heronry-heron.service",
    ]  # fmt: skip
    assert "--user disable --now heronry-heron.service" in called.read_text()


def test_a_dry_run_prints_the_unit_and_does_nothing(called: Path, tmp_path: Path, capsys: Capture) -> None:
    config = tmp_path / "my mesh.toml"
    config.write_text('[node]\nid = "swift"\n[[queues]]\nname = "x"\nstore = "sqlite:///srv/q/x.db"\n')
    assert main(["service", "install", "--dry-run", "--system", "--config", str(config)]) == 0
    out = capsys.readouterr().out
    assert f'--id swift --config "{config}"' in out and "ReadWritePaths=/srv/q" in out
    assert not called.exists() and not (tmp_path / "systemd").exists()


def test_what_cannot_be_is_refused_before_anything_is_written(
    called: Path, tmp_path: Path, capsys: Capture
) -> None:
    (tmp_path / "bad.toml").write_text("[node]\nid = 7\n")
    assert main(["service", "install", "--config", str(tmp_path / "bad.toml")]) == 2
    assert main(["service", "install", "--id", "../x"]) == 2
    assert main(["service", "install", "--system", "--user", "nobody-of-that-name"]) == 2
    for verb in ("show", "uninstall", "install"):
        for name in ("x" * 100_000, "x" * 300, "../x", "a\0b", "\ud800"):
            capsys.readouterr()
            assert main(["service", verb, "--id", name]) == 2
            assert "[BAD_" in (said := capsys.readouterr().err) and len(said) < 1000
    unit = tmp_path / "systemd" / "user" / "heronry-heron.service"
    (tmp_path / "systemd").write_text("a file where a directory must be")
    assert main(["service", "install", "--id", "heron"]) == 2
    assert "cannot be changed: " in capsys.readouterr().err
    (tmp_path / "systemd").unlink()
    unit.mkdir(parents=True)
    assert main(["service", "show", "--id", "heron"]) == 2
    assert "cannot be read: Is a directory" in capsys.readouterr().err
    unit.rmdir()
    unit.write_text("[Unit]\n# of somebody else\n")
    assert main(["service", "install", "--id", "heron"]) == 2
    assert main(["service", "uninstall", "--id", "heron"]) == 2
    assert "somebody else" in unit.read_text() and not called.exists()


@pytest.mark.parametrize("file", ["compose.yml", "Dockerfile"])
def test_the_files_of_containers_name_what_is_there(file: str) -> None:
    text, entry = (DEPLOY / file).read_text(), (DEPLOY / "entry.sh").read_text()
    if file == "compose.yml":
        assert all(name in entry for name in ("MESH_NAME", "MESH_TOKEN_FILE", "MESH_SEEDS"))
        assert "MESH_TOKEN_FILE" in text and "./entry.sh:/entry.sh:ro" in text
    else:
        assert '"mesh", "check"' in text and "[metrics]" in text
    assert os.access(DEPLOY / "entry.sh", os.X_OK)


@pytest.mark.slow
def test_three_nodes_begin_by_the_script_of_the_containers_and_meet(tmp_path: Path) -> None:
    """Each node has a state directory of its own, as a container has a volume."""
    names = ("heron", "frodo", "bilbo")
    binds = {name: f"tcp://127.0.0.1:{free_port()}" for name in names}
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    with ExitStack() as ends:
        keys = ends.enter_context(state_directory())
        assert run_mesh("init", environ=environment(keys)).returncode == 0
        token = tmp_path / "token"
        token.write_text(run_mesh("token", "--expires", "never", environ=environment(keys)).stdout)
        token.chmod(0o600)
        environs = []
        for number, name in enumerate(names):
            state = ends.enter_context(state_directory())
            environ = {
                **environment(state), "PATH": path, "MESH_NAME": name, "MESH_BIND": binds[name],
                "MESH_TOKEN_FILE": str(token), "MESH_SEEDS": " ".join(binds[each] for each in names[:number]),
            }  # fmt: skip
            log = ends.enter_context((tmp_path / f"{name}.log").open("wb"))
            process = subprocess.Popen([DEPLOY / "entry.sh"], env=environ, cwd=state, stdout=log, stderr=log)
            ends.callback(process.wait, LIMIT)
            ends.callback(process.terminate)
            environs.append(environ)
        for environ in environs:
            until(partial(is_well, environ))
            said = run_mesh("check", "--nodes", "3,3", "--json", environ=environ).stdout
            [nodes] = [row for row in json.loads(said)["checks"] if row["name"] == "nodes"]
            assert nodes["value"] == 3


def is_well(environ: dict[str, str]) -> bool:
    """Return whether the node sees the two others."""
    return run_mesh("check", "--nodes", "3,3", environ=environ).returncode in (0, 1)


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


@pytest.mark.slow
def test_what_a_node_has_is_its_users_alone_and_others_come_by_tcp_as_their_token_says(
    tmp_path: Path,
) -> None:
    with state_directory() as other, running("keyless") as alone:
        assert mode(alone.state) == mode(Path(alone.it["data"])) == 0o700
        for name in (
            "cookie",
            "data/keyless/identity.json",
            "data/keyless/node.sock",
            "data/keyless/witness",
        ):
            assert mode(alone.state / name) == 0o600, name
        if os.geteuid() == 0:  # only root can try it as another user
            for tried in (["cat", str(alone.state / "cookie")], ["test", "-e", alone.it["ipc"][6:]]):
                done = subprocess.run(tried, user=65534, group=65534, extra_groups=[], capture_output=True)
                assert done.returncode != 0
        theirs = environment(other)
        refused = run_mesh("pub", "--url", alone.tcp, "x", "y", environ=theirs)
        assert refused.returncode != 0  # another cookie
    with state_directory() as node, state_directory() as joe:
        ours, theirs = environment(node), environment(joe)
        assert run_mesh("init", environ=ours).returncode == 0
        token = run_mesh("token", "--role", "client", environ=ours).stdout
        assert run_mesh("join", environ=theirs, content=token).returncode == 0
        address = f"tcp://127.0.0.1:{free_port()}"
        up = [sys.executable, "-m", "mesh", "up", "--id", "heron", "--bind", address, "--json"]
        with subprocess.Popen(up, env=ours, cwd=node, stdout=subprocess.PIPE, text=True) as process:
            try:
                assert process.stdout is not None and json.loads(process.stdout.readline())["keys"]
                assert run_mesh("pub", "--url", address, "x", "y", environ=theirs).returncode == 0
                for denied in (
                    ["down"],
                    ["log", "level", "debug"],
                    ["backup", "create", str(tmp_path / "b")],
                ):
                    assert run_mesh(*denied, "--url", address, environ=theirs).returncode == 2, denied
                assert process.poll() is None and mode(node / "keys" / "default.json") == 0o600
            finally:
                process.terminate()
                process.communicate(timeout=LIMIT)
