"""`mesh up` and `down`: start and stop of a node by a person, a script or a service manager."""

import fcntl
import json
import os
import pty
import signal
import subprocess
import sys
import termios
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from mesh.cli.main import main
from mesh.cli.up import described
from tests.mesh import running as nodes
from tests.mesh.running import ANEW, LIMIT, environment, run_mesh, state_directory, until

running = partial(nodes.running, inside=ANEW)  # nodes that start as from a shell


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--bind", "0.0.0.0:7710"], "[BIND_WITHOUT_KEYS]"),
        (["--bind", "nowhere"], "'nowhere' is not a TCP address"),
        (["--advertise", "nowhere"], "'nowhere' is not an address that other nodes can dial"),
        (["--advertise", "0.0.0.0"], "'0.0.0.0' is not an address that other nodes can dial"),
        (["--peer", "nowhere"], "'nowhere' is not a TCP address"),
        (["--id", "no name"], "'no name' is not a name"),
        (["--probe", "nowhere.json"], "nowhere.json cannot be read: No such file"),
        (["--config", "nowhere.toml"], "nowhere.toml: the file does not exist"),
        (["--properties", "nowhere.properties"], "nowhere.properties: the file does not exist"),
        (["--data", "/proc/nowhere"], "[DATA_DIR]"),
        (["--store", "oracle"], "command line: node.store: 'oracle' is not a store. [BAD_CONFIG]"),
        (["--store", "postgresql://heron@/mesh?host=/nowhere"], "No such file or directory"),
        (["--store", "postgresql://heron@127.0.0.1:1/mesh"], "Connection refused"),
    ],
)
def test_what_cannot_be_is_refused_before_anything_starts(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    with state_directory() as state:
        monkeypatch.setenv("MESH_STATE_DIR", str(state))
        assert main(["up", *arguments]) == 2
        assert said in capsys.readouterr().err


@pytest.mark.slow
@pytest.mark.parametrize("given", ["127.0.0.2:7799", "127.0.0.2"])
def test_a_node_advertises_the_given_address(given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MESH_NODE__ADVERTISE", "127.0.0.3")  # the option wins
    with nodes.running("a", options=("--advertise", given)) as a:
        port = a.tcp.rpartition(":")[2]
        address = f"tcp://{given}" if ":" in given else f"tcp://{given}:{port}"
        assert a.it["named"] == address
        assert json.loads(a.mesh("info", "--json").stdout)["address"] == address


@pytest.mark.slow
def test_a_node_keeps_its_uuid_and_address_and_counts_its_boots() -> None:
    with running("a") as a:
        first = a.it
        a.kill()
        a.start()
        assert a.it["boot"] == first["boot"] + 1
        assert (a.it["uuid"], a.tcp) == (first["uuid"], first["tcp"][0])
        assert a.stop() == 0


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_sent_as_soon_as_it_is_ready_ends_it_cleanly(number: signal.Signals) -> None:
    with running("a") as a:
        os.kill(a.pid, number)
        assert a.wait() == 0
        begun, ended = a.log.splitlines()
        assert "mesh.node  node 'a' begins: " in begun and "mesh.node  node 'a' ends after " in ended
        assert list((a.state / "nodes").iterdir()) == []


@pytest.mark.slow
def test_trial_C_a_service_is_not_ended_by_a_hangup_and_says_what_is_other_than_before() -> None:
    with running("a", inside=("setsid", "--wait")) as a:
        pid = a.it["pid"]
        os.kill(pid, signal.SIGHUP)
        until(lambda: "SIGHUP: no setting has changed" in a.log)
        assert json.loads(a.mesh("info", "--json").stdout)["pid"] == pid
        [event] = map(json.loads, a.mesh("events", "--json", "--kind", "settings").stdout.splitlines())
        assert "SIGHUP" in event["text"]
        a.mesh("down")
        assert a.wait() == 0


def take_terminal() -> None:
    """Make stdin the terminal of this process, as in a window of its own."""
    os.setsid()
    fcntl.ioctl(0, termios.TIOCSCTTY, 0)


@pytest.mark.slow
def test_trial_C_a_terminal_that_is_closed_takes_its_node_along_after_a_goodbye() -> None:
    with running("a") as a:
        ours, theirs = pty.openpty()
        said = a.state / "b.log"
        with said.open("wb") as log:
            process = subprocess.Popen(
                [sys.executable, "-m", "mesh", "up", "--id", "b", "--cluster", a.cluster, "--peer", a.tcp],
                env=a.environ,
                cwd=a.state,
                stdin=theirs,
                stdout=log,
                stderr=log,
                preexec_fn=take_terminal,
            )
        os.close(theirs)

        def states() -> dict[str, str]:
            nodes = json.loads(a.mesh("ls", "--all", "--url", "a", "--json").stdout)["nodes"]
            return {node["name"]: node["state"] for node in nodes}

        until(lambda: states().get("b") == "alive")
        os.close(ours)
        assert process.wait(LIMIT) == 0
        until(lambda: states()["b"] == "left")  # the node has announced its stop


def said_by(state: Path, *options: str) -> tuple[list[str], str]:
    """Return the lines that `mesh up` prints until it is ready, and its stderr."""
    process = subprocess.Popen(
        [sys.executable, "-m", "mesh", "up", "--id", "a", "--log-level", "warning", *options],
        env=environment(state),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=state,
    )
    assert process.stdout is not None
    lines: list[str] = []
    while not lines or lines[-1] not in ("", "Ctrl-C stops it."):
        lines.append(process.stdout.readline().rstrip())
    process.terminate()
    out, err = process.communicate()
    assert (out, process.returncode) == ("", 0)
    return lines, err


@pytest.mark.slow
def test_it_stops_cleanly_also_when_nobody_reads_its_last_word() -> None:
    with running("a") as a:
        stdout = a._running().stdout
        assert stdout is not None
        stdout.close()
        assert (a.stop(), len(a.log.splitlines())) == (0, 2)


@pytest.mark.slow
def test_for_a_person_it_says_where_it_is_and_what_to_type_next() -> None:
    with state_directory() as state:
        lines, err = said_by(state, "--bind", "127.0.0.1:0", "--bind", "localhost:0")
    assert lines[0].startswith("mesh 0.1.0  node 'a'  id ")
    assert lines[0].endswith("boot 1  cluster 'default'")
    addresses = [line.removeprefix("listening   ") for line in lines if line.startswith("listening")]
    assert [address[:16] for address in addresses[:2]] == ["tcp://127.0.0.1:"] * 2
    assert addresses[2].startswith("ipc://")
    assert "discovery   no mdns · no peers configured" in lines
    assert f"next        mesh up --id NAME --peer {addresses[0]}   (another node)" in lines
    assert any(line.startswith("security    no keys") and "mesh init" in line for line in lines)
    assert all(len(line) <= 80 for line in lines if "ipc://" not in line)
    assert err == ""


@pytest.mark.slow
def test_it_says_in_which_ways_it_finds_others() -> None:
    with state_directory() as state, running("b") as b:
        lines, _ = said_by(state, "--mdns", "--peer", b.tcp, "--cluster", b.cluster)
    assert f"discovery   mdns on 127.0.0.1 · peers {b.tcp}" in lines
    assert "next        mesh up --id NAME   (another node)" in lines


KEYED: dict[str, Any] = {
    "name": "a", "uuid": "b0" * 16, "boot": 3, "cluster": "flock", "tcp": ["tcp://0.0.0.0:7710"],
    "ipc": "ipc:///x", "pub": "tcp://*:7711", "data": "/y", "config": "mesh.toml",
    "mdns": ("10.0.0.5", "fe80::5%eth0"),
    "at": ["tcp://10.0.0.5:7710", "tcp://[fe80::5%eth0]:7710"],
    "skipped": [("docker0", "container bridge")], "peers": (), "remembered": 2, "keys": True,
}  # fmt: skip


def test_with_keys_it_says_on_which_interfaces_it_is_and_which_it_ignores() -> None:
    lines = described(KEYED).splitlines()
    assert "listening   tcp://10.0.0.5:7710   (and every other interface)" in lines
    assert "ignored     docker0 (container bridge)" in lines
    assert "discovery   mdns on 10.0.0.5, fe80::5%eth0 · no peers configured · 2 remembered" in lines
    assert any(line.startswith("security    keys") and line.endswith("mesh token") for line in lines)


def test_it_names_its_second_port_for_a_firewall_if_it_has_one() -> None:
    assert "gossip      port 7711, next to the first: open both in a firewall" in described(KEYED)
    assert "gossip" not in described({**KEYED, "pub": "ipc:///x.pub"})


def test_nobody_is_told_to_dial_a_wildcard() -> None:
    lines = described({**KEYED, "mdns": ()}).splitlines()
    assert "next        mesh up --id NAME --peer tcp://10.0.0.5:7710   (another node)" in lines


@pytest.mark.parametrize("bound", ["tcp://[::]:7710", "tcp://0.0.0.0:7710", "tcp://*:7710"])
def test_trial_C_what_is_printed_as_its_address_can_be_typed_elsewhere(bound: str) -> None:
    at = ["tcp://10.0.0.5:7710", "tcp://[2001:db8::5]:7710", "tcp://[fe80::5%eth0]:7710"]
    told = described({**KEYED, "tcp": [bound, "tcp://127.0.0.1:1"], "at": [*at, "tcp://127.0.0.1:1"]})
    listed = [line.split()[1] for line in told.splitlines() if line.startswith("listening")]
    assert listed == ["tcp://127.0.0.1:1", *at[:2], "ipc:///x"]
    alone = described({**KEYED, "tcp": [bound], "at": at[2:]})
    assert at[2] in alone and bound not in alone


def test_a_configured_address_is_printed_beside_those_on_which_the_node_listens() -> None:
    named = "tcp://203.0.113.7:17710"
    hint = described({**KEYED, "named": named, "at": [named, *KEYED["at"]]})
    assert f"advertised  {named}" in hint and "listening   tcp://10.0.0.5:7710   (and every" in hint
    alone = described({**KEYED, "named": named, "at": [named]})
    assert f"advertised  {named}" in alone and f"listening   {named}" not in alone
    assert "advertised" not in described(KEYED)


@pytest.mark.slow
def test_figures_of_a_file_are_reported_in_place_of_the_machine() -> None:
    with state_directory() as state:
        file = state / "probe.json"
        file.write_text('{"cpu": [10, 30], "ram_free": 1000, "ram_total": 4000}')
        with running("a", options=("--probe", str(file))) as a:

            def mine() -> dict[str, float]:
                [row] = json.loads(a.mesh("ls", "--json").stdout)["nodes"]
                return {name: row[name] for name in ("cpu", "ram_free", "ram_total")}

            until(lambda: mine() == {"cpu": 20.0, "ram_free": 1000, "ram_total": 4000})
            file.write_text('{"cpu": [100, 100], "ram_free": 1000, "ram_total": 4000}')
            until(lambda: mine()["cpu"] == 100)


@pytest.mark.slow
def test_json_is_one_line_with_all_that_a_script_needs() -> None:
    with running("a") as a:
        assert a.it["name"] == "a"
        assert a.it["cluster"] == a.cluster
        assert a.it["pid"] == a.pid
        assert Path(a.it["ipc"].removeprefix("ipc://")).is_socket()
        assert Path(a.it["data"]).is_dir()
        assert len(a.it["uuid"]) == 32


@pytest.mark.slow
def test_the_command_line_wins_over_the_environment_and_that_over_the_file() -> None:
    with state_directory() as state:
        (state / "mesh.toml").write_text('[node]\nid = "file"\ncluster = "file"\n[timing]\nping = 1.0\n')
        environ = {**environment(state), "MESH_NODE__CLUSTER": "environment"}
        process = subprocess.Popen(
            [sys.executable, "-m", "mesh", "up", "--json", "--id", "typed"],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=state,
        )
        assert process.stdout is not None
        it = json.loads(process.stdout.readline())
        process.terminate()
        process.communicate()
    assert (it["name"], it["cluster"], it["config"]) == ("typed", "environment", "mesh.toml")


@pytest.mark.slow
def test_a_second_node_of_that_name_is_refused_with_what_to_do() -> None:
    with running("a") as a:
        result = a.mesh("up", "--id", "a")
        assert result.returncode == 2
        assert f"is in use by process {a.pid}" in result.stderr
        assert "--id" in result.stderr


@pytest.mark.slow
def test_an_address_that_is_in_use_is_refused_and_nothing_is_left() -> None:
    with running("a") as a:
        result = a.mesh("up", "--id", "b", "--bind", a.tcp)
        assert (result.returncode, result.stdout) == (2, "")
        assert result.stderr.startswith(f"mesh: The address {a.tcp} cannot be bound: Address already in use")
        assert [path.name for path in (a.state / "nodes").iterdir()] == ["a.json"]


@pytest.mark.slow
def test_without_a_name_a_second_node_takes_the_next_one() -> None:
    with state_directory() as state:
        environ = environment(state)
        options = ["--json", "--cluster", f"test-{state.name}"]
        processes = []
        names = []
        for _ in range(2):
            process = subprocess.Popen(
                [sys.executable, "-m", "mesh", "up", *options],
                env=environ,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                text=True,
            )
            processes.append(process)
            assert process.stdout is not None
            names.append(json.loads(process.stdout.readline())["name"])
        for process in processes:
            process.terminate()
            process.communicate()
    assert names[1] == f"{names[0]}-2"


@pytest.mark.slow
def test_down_returns_when_the_node_is_gone() -> None:
    with running("a") as a:
        result = a.mesh("down")
        assert (result.returncode, result.stdout, result.stderr) == (0, "", "node 'a' has stopped\n")
        assert a.wait() == 0
        a.start()
        assert a.it["boot"] == 2


@pytest.mark.slow
def test_down_without_a_node_says_so() -> None:
    with state_directory() as state:
        result = run_mesh("down", environ=environment(state))
        assert result.returncode == 2
        assert "No node of this user runs here" in result.stderr


Capture = pytest.CaptureFixture[str]


def test_trial_C_property_files_are_read_or_refused_by_name(capsys: Capture) -> None:
    assert main(["up", "--properties", "x"]) == 2
    assert "x: the file does not exist" in capsys.readouterr().err
    assert main(["up", "--lenient"]) == 2 and main(["up", "--", "-pingInterval", "2000"]) == 2
    said = capsys.readouterr().err
    assert "--lenient requires --properties" in said and "properties require --properties FILE" in said
    assert main(["up", "--help"]) == 0
    assert "later release" not in " ".join(capsys.readouterr().out.split())
