"""A node's directory: one owner, one uuid, and a boot number that only grows."""

import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.errors import DataDirRefused
from mesh.local import datadir
from mesh.local.datadir import DataDir, read_identity, try_lock
from mesh.store.room import START
from tests.waiting import LIMIT

HOLDER = """
import sys
from pathlib import Path
from mesh.errors import DataDirRefused
from mesh.local.datadir import DataDir

print("ready", flush=True)
sys.stdin.readline()
try:
    held = DataDir.open(Path(sys.argv[1]))
except DataDirRefused as refusal:
    print(refusal.code, flush=True)
else:
    print(held.uuid.hex(), held.boot, flush=True)
    sys.stdin.readline()
"""


class Holder:
    """A process that opens a data directory on request, and holds it until the process ends."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HOLDER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self.line() == "ready"

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("go\n")
        self.process.stdin.flush()

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate(timeout=LIMIT)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "data"


def identity(path: Path) -> Path:
    return path / "identity.json"


def test_a_new_directory_gets_a_uuid_and_begins_with_boot_one(path: Path) -> None:
    data = DataDir.open(path)
    assert len(data.uuid) == 16
    assert data.boot == 1
    assert data.path == path
    assert path.stat().st_mode & 0o777 == 0o700
    assert {p.stat().st_mode & 0o777 for p in path.iterdir()} == {0o600}
    data.close()


def test_the_uuid_stays_and_the_boot_grows(path: Path) -> None:
    uuids, boots = set(), []
    for _ in range(3):
        data = DataDir.open(path)
        uuids.add(data.uuid)
        boots.append(data.boot)
        data.close()
    assert len(uuids) == 1
    assert boots == [1, 2, 3]


def test_two_directories_have_two_uuids(tmp_path: Path) -> None:
    a, b = DataDir.open(tmp_path / "a"), DataDir.open(tmp_path / "b")
    assert a.uuid != b.uuid
    a.close()
    b.close()


def test_the_boot_grows_though_the_process_is_killed_each_time(path: Path) -> None:
    told = []
    for _ in range(2):
        holder = Holder(path)
        holder.go()
        told.append(holder.line().split())
        holder.kill()
    assert [int(boot) for _, boot in told] == [1, 2]
    assert len({uuid for uuid, _ in told}) == 1


def test_identity_and_boot_are_on_disk_before_open_returns(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[tuple[str, bytes]] = []
    fsync = os.fsync

    def note(handle: int) -> None:
        name = os.readlink(f"/proc/self/fd/{handle}")
        synced.append((os.path.basename(name), b"" if os.path.isdir(name) else Path(name).read_bytes()))
        fsync(handle)

    monkeypatch.setattr(os, "fsync", note)
    for boot in (1, 2):
        data = DataDir.open(path)
        data.close()
        (_, content), directory = synced
        assert json.loads(content) == {"uuid": data.uuid.hex(), "boot": boot, "seal": data.seal.hex()}
        assert directory == ("data", b"")
        synced.clear()


def test_a_directory_in_use_is_refused_and_its_holder_named(path: Path) -> None:
    data = DataDir.open(path)
    with pytest.raises(DataDirRefused, match=f"{path} is in use by process {os.getpid()}") as refusal:
        DataDir.open(path)
    assert refusal.value.code == "DATA_DIR_IN_USE"
    data.close()
    data.close()
    again = DataDir.open(path)
    assert again.boot == 2
    again.close()


def test_a_holder_that_did_not_say_who_it_is_is_another_process(path: Path) -> None:
    data = DataDir.open(path)
    (path / "lock").write_bytes(b"")
    with pytest.raises(DataDirRefused, match="in use by another process"):
        DataDir.open(path)
    data.close()


@pytest.mark.slow
def test_of_processes_that_race_for_a_directory_one_gets_it(path: Path) -> None:
    holders = [Holder(path) for _ in range(3)]
    for holder in holders:
        holder.go()
    told = [holder.line() for holder in holders]
    assert told.count("DATA_DIR_IN_USE") == 2
    assert [line.split()[1] for line in told if line != "DATA_DIR_IN_USE"] == ["1"]
    for holder in holders:
        holder.kill()


def test_a_look_at_the_lock_does_not_keep_its_owner_out(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    DataDir.open(path).close()
    look = try_lock(path, shared=True)
    assert look is not None
    second = try_lock(path, shared=True)
    assert second is not None
    os.close(second)
    monkeypatch.setattr("time.sleep", lambda seconds: os.close(look))  # released during the first pause
    data = DataDir.open(path)
    assert data.boot == 2
    data.close()


@pytest.mark.parametrize(
    "content",
    [
        "",
        "{",
        "[]",
        "{}",
        '{"uuid": "00", "boot": 1}',
        '{"uuid": "zz", "boot": 1}',
        '{"uuid": "00000000000000000000000000000000"}',
        '{"uuid": "00000000000000000000000000000000", "boot": 0}',
        '{"uuid": "00000000000000000000000000000000", "boot": true}',
        '{"uuid": "00000000000000000000000000000000", "boot": "1"}',
        '{"uuid": 7, "boot": 1}',
        '{"uuid": "00000000000000000000000000000000", "boot": 4194304}',
        '{"uuid": "00000000000000000000000000000000", "boot": 1, "seal": "00"}',
        '{"uuid": "00000000000000000000000000000000", "boot": 1, "seal": null}',
        "\x00" * 60,
    ],
)
def test_a_damaged_identity_is_refused_with_what_to_type_and_left_as_it_is(path: Path, content: str) -> None:
    DataDir.open(path).close()
    identity(path).write_text(content)
    for _ in range(2):  # each refusal releases the lock
        with pytest.raises(
            DataDirRefused, match=rf"identity.json is damaged.*mv {path} {path}.old"
        ) as refusal:
            DataDir.open(path)
        assert refusal.value.code == "DATA_DIR"
    assert identity(path).read_text() == content


def test_a_store_without_an_identity_is_refused(path: Path) -> None:
    data = DataDir.open(path)
    (data.path / "store.sqlite").touch()
    data.close()
    identity(path).unlink()
    with pytest.raises(DataDirRefused, match="is missing, although a store exists"):
        DataDir.open(path)


def test_a_half_written_identity_of_a_killed_start_does_no_harm(path: Path) -> None:
    first = DataDir.open(path)
    first.close()
    (path / ".identity.json.new").write_text('{"uu')
    data = DataDir.open(path)
    assert (data.uuid, data.boot) == (first.uuid, 2)
    data.close()


def test_a_file_in_its_place_is_refused(path: Path) -> None:
    path.touch()
    with pytest.raises(DataDirRefused, match=r"a file has the name of the directory.*--data DIR"):
        DataDir.open(path)


def test_a_directory_open_to_others_is_refused(path: Path) -> None:
    path.mkdir()
    path.chmod(0o755)
    with pytest.raises(DataDirRefused, match=f"chmod 700 {path}"):
        DataDir.open(path)


def test_a_directory_that_cannot_be_written_is_refused() -> None:
    # Even root cannot create a file here.
    with pytest.raises(DataDirRefused, match="/proc/self/fd cannot be used"):
        DataDir.open(Path("/proc/self/fd"))


def test_a_full_disk_is_a_refusal_and_lets_the_lock_go(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    DataDir.open(path).close()
    with monkeypatch.context() as patched:
        patched.setattr(os, "replace", lambda *names: (_ for _ in ()).throw(OSError(28, "No space left")))
        with pytest.raises(DataDirRefused, match="No space left"):
            DataDir.open(path)
    data = DataDir.open(path)
    assert data.boot == 2
    data.close()


@pytest.fixture
def data(path: Path) -> Iterator[DataDir]:
    opened = DataDir.open(path)
    yield opened
    opened.close()


def test_the_last_port_is_remembered(data: DataDir) -> None:
    assert data.port is None
    data.port = 5001
    assert data.port == 5001
    data.port = 65535
    data.close()
    again = DataDir.open(data.path)
    assert again.port == 65535
    again.close()


@pytest.mark.parametrize("content", [b"", b"many", b"0", b"65536", b"-1", b"\xff"])
def test_a_damaged_port_counts_as_unknown(data: DataDir, content: bytes) -> None:
    (data.path / "port").write_bytes(content)
    assert data.port is None


def test_a_port_that_cannot_be_written_does_no_harm(data: DataDir) -> None:
    (data.path / "port").mkdir()
    data.port = 5001
    assert data.port is None


def test_a_relative_path_is_made_absolute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = DataDir.open(Path("here"))
    assert data.path == tmp_path / "here"
    data.close()


def test_a_seal_is_made_once_and_also_for_a_node_of_an_earlier_release(path: Path) -> None:
    first = DataDir.open(path)
    first.be_another()
    first.close()
    again = DataDir.open(path)
    again.close()
    assert len(first.seal) == 32 and again.seal == first.seal
    identity(path).write_text(json.dumps({"uuid": first.uuid.hex(), "boot": 3}))
    later = DataDir.open(path)
    later.close()
    assert (later.uuid, later.boot) == (first.uuid, 4) and len(later.seal) == 32


def test_more_starts_than_a_log_has_room_for_are_refused(path: Path) -> None:
    DataDir.open(path).close()
    for boot, is_refused in ((2**22 - 3, False), (2**22 - 2, False), (2**22 - 1, True)):
        content = json.loads(identity(path).read_text())
        identity(path).write_text(json.dumps({**content, "boot": boot}))
        if is_refused:
            with pytest.raises(DataDirRefused, match=r"was started 4,194,303 times"):
                DataDir.open(path)
        else:
            DataDir.open(path).close()


def test_a_node_that_keeps_nothing_is_another_one_at_each_start(tmp_path: Path) -> None:
    path = tmp_path / "heron"
    kept = DataDir.open(path)
    kept.close()
    uuids = {kept.uuid}
    for boot in (2, 3):
        passing = DataDir.open(path)
        passing.be_another()
        assert read_identity(path) == (passing.uuid, boot)
        uuids.add(passing.uuid)
        passing.close()
    assert len(uuids) == 3
    again = DataDir.open(path)
    assert (again.uuid, again.boot) == read_identity(path) == (kept.uuid, 4)
    again.close()


@pytest.mark.parametrize("now", ['"abc"', "5", "null", '"00"'])
def test_a_damaged_uuid_of_one_start_is_refused(tmp_path: Path, now: str) -> None:
    path = tmp_path / "heron"
    DataDir.open(path).close()
    identity = path / "identity.json"
    identity.write_text(identity.read_text().replace("}", f', "now": {now}}}'))
    with pytest.raises(DataDirRefused, match=r"identity\.json is damaged"):
        DataDir.open(path)


def test_trial_B5_a_start_on_a_full_disk_takes_from_its_own_reserve_and_from_no_running_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    path = tmp_path / "heron"
    DataDir.open(path).close()
    reserve = path / "reserve"
    reserve.write_bytes(bytes(START + 1))
    with monkeypatch.context() as patch:
        patch.setattr(os, "posix_fallocate", full)
        held = DataDir.open(path)
        assert reserve.stat().st_size == 1
        with pytest.raises(DataDirRefused, match="in use"):
            DataDir.open(path)
        assert reserve.stat().st_size == 1
        held.close()
    reserve.write_bytes(bytes(START + 1))
    DataDir.open(path).close()
    assert reserve.stat().st_size == START + 1, "there is room"


@pytest.mark.parametrize(
    ("number", "hint"), [(errno.ENOSPC, "Free space"), (errno.EDQUOT, "Free space"), (errno.EROFS, "--data")]
)
def test_trial_B5_what_to_do_is_to_make_room_where_there_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, hint: str
) -> None:
    def fails(*_: object, **__: object) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(datadir, "write_private", fails)
    with pytest.raises(DataDirRefused) as refused:
        DataDir.open(tmp_path / "heron")
    assert hint in refused.value.hint and os.strerror(number) in refused.value.what
