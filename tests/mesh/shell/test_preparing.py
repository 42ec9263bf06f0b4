"""Agreement of `mesh config check` with `mesh up`, for the same valid and invalid configurations."""

import asyncio
import json
import os
import shutil
import socket
import sqlite3
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mesh.cli.main import main
from mesh.config import load
from mesh.errors import MeshError
from mesh.local.datadir import DataDir
from mesh.security.joining import join, new_mesh, token_of
from mesh.shell.preparing import rehearsed
from mesh.shell.starting import start
from tests.mesh.running import environment, running, state_directory

QUIET = "[discovery]\nmdns = false\n[snapshots]\nenabled = false\n"


@pytest.fixture(scope="module")
def shared() -> Iterator[Path]:
    with state_directory() as state:
        yield state


@pytest.fixture
def fresh() -> Iterator[Path]:
    with state_directory() as state:
        yield state


def started(file: Path, environ: Mapping[str, str]) -> str:
    """Return the code with which the start refuses the configuration, or an empty string."""

    async def begin() -> None:
        node = await start(load(file, environ, {}), environ)
        await node.close()

    try:
        asyncio.run(begin())
    except MeshError as error:
        return error.code
    return ""


def checked(file: Path, environ: Mapping[str, str]) -> str:
    try:
        assert not rehearsed(load(file, environ, {}), environ).running
    except MeshError as error:
        return error.code
    return ""


def written(state: Path, text: str) -> tuple[Path, dict[str, str]]:
    file = state / "it.toml"
    file.write_text(text)
    return file, environment(state)


def both(state: Path, text: str) -> tuple[str, str]:
    """Return the result of the check, then that of the start."""
    file, environ = written(state, text)
    before = sorted(state.rglob("*"))
    found = checked(file, environ)
    assert sorted(state.rglob("*")) == before  # the check creates nothing
    return found, started(file, environ)


BAD = {
    "no such plug-in": ('[balancing]\nstrategy = "Nowhere"\n', "BAD_BALANCER"),
    "no store": ('[node]\nstore = "oracle"\n', "BAD_CONFIG"),
    "no database": ('[node]\nstore = "postgresql://heron@/mesh?host=/nowhere"\n', "STORE"),
    "no server": ('[node]\nstore = "postgresql://heron@127.0.0.1:1/mesh"\n', "STORE"),
    "a password without keys": ('[node]\ncluster = "void"\npasswd = "HASH"\n', "KEYS"),
    "keys of a client": ('[node]\ncluster = "guest"\n', "KEYS"),
    "damaged keys": ('[node]\ncluster = "broken"\n', "KEYS"),
    "no address to bind": ('[node]\nbind = ["nowhere"]\n', "BIND"),
    "a host that nobody has": ('[node]\nbind = ["10 0 0 1:7710"]\n', "BIND"),
    "an address that is not ours": ('[node]\ncluster = "keyed"\nbind = ["192.0.2.1:1"]\n', "BIND"),
    "an address in use": ('[node]\nbind = ["127.0.0.1:TAKEN"]\n', "BIND"),
    "an open address without keys": ('[node]\nbind = ["0.0.0.0:0"]\n', "BIND_WITHOUT_KEYS"),
    "a port that is none": ('[node]\nbind = ["127.0.0.1:70000"]\n', "BIND"),
    "a peer that is no address": ('[node]\npeers = ["not a host"]\n', "BIND"),
    "a node that is no address": ('[nodes.heron]\naddress = "not a host:1"\n', "BIND"),
    "a name of a directory": ('[node]\nid = ".."\n', "BAD_NAME"),
    "a cluster of a directory": ('[node]\ncluster = "."\n', "BAD_NAME"),
    "no probe": ('[node]\nprobe = "nowhere.json"\n', "BAD_CONFIG"),
    "a directory that cannot be": ('[node]\ndata = "/proc/nowhere"\n', "DATA_DIR"),
    "a directory that is a file": ('[node]\ndata = "FILE"\n', "DATA_DIR"),
    "a directory of nobody": ('[node]\ndata = "~nobody-here/x"\n', "BAD_CONFIG"),
    "a directory with a zero": ('[node]\ndata = "a\\u0000b"\n', "BAD_CONFIG"),
    "snapshots of nobody": ('[snapshots]\ndir = "~nobody-here/x"\n', "BAD_CONFIG"),
    "a store that is none": ('[node]\ndata = "NO_STORE"\n', "DATA_LOSS"),
    "a store of another release": ('[node]\ndata = "OTHER_STORE"\n', "STORE_VERSION"),
    "a damaged identity": ('[node]\ndata = "NO_IDENTITY"\n', "DATA_DIR"),
    "a lost identity": ('[node]\ndata = "LOST_IDENTITY"\n', "DATA_DIR"),
    "damaged keys of a node": (
        '[node]\ncluster = "keyed"\nbind = ["127.0.0.1:0"]\ndata = "BAD_KEYS"\n',
        "KEYS",
    ),
    "a directory of everybody": ('[node]\ndata = "OPEN"\n', "DATA_DIR"),
    "links of nobody": ('links = "configured"\n', "BAD_CONFIG"),
    "a node that is no name": ('[nodes."a b"]\n', "BAD_CONFIG"),
}


@pytest.fixture(scope="module")
def bad_places(shared: Path) -> Iterator[dict[str, str]]:
    """Yield the paths and values of invalid places, by the words that stand for them in BAD."""
    from mesh.password import hashed

    keys = new_mesh(shared / "other", "guest")
    (shared / "other").chmod(0o700)
    join(shared, token_of(keys, "client", 0), "")
    new_mesh(shared, "keyed")
    (shared / "keys" / "broken.json").write_text("{")
    (shared / "keys" / "broken.json").chmod(0o600)
    (shared / "file").write_text("")
    for name in ("no_store", "other_store", "no_identity", "lost_identity", "bad_keys", "open"):
        DataDir.open(shared / name).close()
    (shared / "no_store" / "store.sqlite").write_bytes(b"this is no database" * 1000)
    with sqlite3.connect(shared / "other_store" / "store.sqlite") as db:
        db.execute("CREATE TABLE t (a)")
        db.execute("PRAGMA user_version = 99")
    db.close()
    (shared / "bad_keys" / "keys.json").write_text("{")
    (shared / "bad_keys" / "keys.json").chmod(0o600)
    (shared / "open").chmod(0o777)
    (shared / "no_identity" / "identity.json").write_text("{")
    (shared / "lost_identity" / "store.sqlite").write_bytes(b"")
    (shared / "lost_identity" / "identity.json").unlink()
    with socket.create_server(("127.0.0.1", 0)) as taken:
        yield {
            "HASH": hashed("sesame", b"s" * 16), "TAKEN": str(taken.getsockname()[1]),
            **{name.upper(): str(shared / name) for name in
               ("file", "no_store", "other_store", "no_identity", "lost_identity", "bad_keys", "open")},
        }  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_trial_C_the_check_refuses_what_the_start_refuses(
    shared: Path, bad_places: dict[str, str], name: str
) -> None:
    text, code = BAD[name]
    for word in sorted(bad_places, key=len, reverse=True):
        text = text.replace(word, bad_places[word])
    mdns = "" if text.startswith("[snapshots]") else QUIET
    file, environ = written(shared, f"{text}{mdns}")
    assert (checked(file, environ), started(file, environ)) == (code, code)


GOOD = (
    "",
    '[node]\nstore = "memory"\n',
    '[node]\nid = "heron"\nbind = ["127.0.0.1:0", "localhost:0"]\n',
    '[nodes.heron]\naddress = "127.0.0.1:1"\n[node]\npeers = ["nas.lan:7710", "[::1]:7710"]\n',
    '[balancing]\nstrategy = "TwoChoices"\n',
)


@pytest.mark.parametrize("text", GOOD)
def test_trial_C_the_check_accepts_what_the_start_accepts_and_leaves_nothing(fresh: Path, text: str) -> None:
    assert both(fresh, text + QUIET) == ("", "")
    assert both(fresh, text + QUIET) == ("", "")  # again with the store of a node


TEXTS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(
        ["127.0.0.1:0", "localhost:0", "[::1]:0", "*", "a b", "..", "tcp://", "heron", "127.0.0.1:*",
         "sqlite", "memory", "postgresql://@", "postgres://a:b@c/d", "/", "~", "x/y", "RoundRobin"]
    ),
)  # fmt: skip
SETTINGS = st.sampled_from(
    ["node.id", "node.cluster", "node.store", "node.bind", "node.peers", "node.passwd", "node.probe",
     "balancing.strategy", "snapshots.dir", "default_scope", "links"]
)  # fmt: skip


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(SETTINGS, TEXTS, max_size=3))
def test_trial_C_whatever_is_set_check_and_start_agree(shared: Path, chosen: dict[str, str]) -> None:
    environ = environment(shared)
    environ["MESH_SNAPSHOTS__ENABLED"] = "false"
    over = {name: (text,) if name in ("node.bind", "node.peers") else text for name, text in chosen.items()}
    over.setdefault("node.id", "it")

    async def begin() -> None:
        node = await start(load(None, environ, over), environ)
        await node.close()

    def code(work: object) -> str:
        try:
            assert callable(work)
            work()
        except MeshError as error:
            return error.code
        return ""

    found = code(lambda: rehearsed(load(None, environ, over), environ))
    assert found == code(lambda: asyncio.run(begin()))


def test_trial_C_a_damaged_cookie_is_found_by_both(fresh: Path) -> None:
    (fresh / "cookie").write_bytes(b"too short")
    (fresh / "cookie").chmod(0o600)
    assert both(fresh, QUIET) == ("DATA_DIR", "DATA_DIR")
    (fresh / "cookie").unlink()
    assert both(fresh, QUIET) == ("", "")


def test_trial_C_what_a_start_would_only_complain_of_is_said_beforehand(fresh: Path) -> None:
    (fresh / "file").write_text("")
    file, environ = written(fresh, f'[discovery]\nmdns = false\n[snapshots]\ndir = "{fresh}/file"\n')
    [said] = rehearsed(load(file, environ, {}), environ).complaints
    assert str(fresh / "file") in said and started(file, environ) == ""


@pytest.mark.slow
def test_trial_C_the_configuration_of_a_node_that_runs_can_be_checked() -> None:
    with running("a") as a:
        (a.state / "mesh.toml").write_text(f'[node]\nid = "a"\nbind = ["{a.tcp}"]\n')
        result = a.mesh("config", "check")
        assert result.returncode == 0 and "node 'a' runs now" in result.stderr
        assert json.loads(a.mesh("config", "check", "--json").stdout)["running"] == "a"
        (a.state / "mesh.toml").write_text(f'[node]\nid = "b"\nbind = ["{a.tcp}"]\n')
        result = a.mesh("config", "check")
        assert (result.returncode, "[BIND]" in result.stderr, result.stdout) == (2, True, "")
        (a.state / "mesh.toml").write_text(f'[node]\nid = "a"\ndata = "{a.state}/elsewhere"\n')
        assert "[NAME_IN_USE]" in a.mesh("config", "check").stderr


def changed(file: Path) -> tuple[int, int]:
    """Return the size and the modification time of a file. Reading changes neither."""
    return file.stat().st_size, file.stat().st_mtime_ns


@pytest.mark.slow
def test_a_copy_of_the_data_of_a_node_that_runs_ends_before_it_opens_its_store() -> None:
    with running("a") as a:
        copy = a.state / "copy"
        shutil.copytree(a.it["data"], copy, ignore=shutil.ignore_patterns("*.sock", "*.pub"))
        copy.chmod(0o700)
        (a.state / "mesh.toml").write_text(f'[node]\nid = "b"\ndata = "{copy}"\n')
        store = copy / "store.sqlite"
        before = changed(store)
        for verb in (("config", "check"), ("up",)):
            result = a.mesh(*verb)
            assert result.returncode == 2 and "[CONFLICT]" in result.stderr and "'a'" in result.stderr
        assert changed(store) == before and not (copy / "store.sqlite-shm").exists()
        assert a.is_running


def test_trial_C_what_is_wrong_is_said_by_the_command_with_its_code(
    fresh: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    file, environ = written(fresh, '[balancing]\nstrategy = "RoundRobbin"\n')
    for name, value in environ.items():
        monkeypatch.setenv(name, value)
    assert os.environ["MESH_STATE_DIR"] == str(fresh)
    assert main(["config", "check", str(file)]) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("[BAD_BALANCER]") == 1 and "[BAD_CONFIG]" not in said.err
    assert "Did you mean RoundRobin?" in said.err
