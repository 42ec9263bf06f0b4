"""Space on the disk: when it is short, growth is refused, and writes that free space continue."""

import contextlib
import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest

from mesh.errors import StoreFull
from mesh.operations import Append, Delete, Drop, Put
from mesh.store.opening import open_guarded
from mesh.store.room import RESERVE, START, DiskSpace, Reserve, make_room
from mesh.store.witnessed import PERIOD
from tests.mesh.store.images import standing

KIB = 1024


class Disk(DiskSpace):
    """Disk space whose free bytes a test sets."""

    def __init__(self, directory: Path, wanted: int) -> None:
        self.told: list[str] = []
        self.left, self.inside, self.now = 10 * wanted, 0, 0.0
        super().__init__(
            directory,
            wanted,
            lambda: self.inside,
            lambda level, text: self.told.append(f"{level}: {text}"),
            clock=lambda: self.now,
        )

    @property
    def free(self) -> int:
        return self.left


def test_a_reserve_has_its_blocks_and_gives_them_back(tmp_path: Path) -> None:
    reserve = Reserve(tmp_path / "reserve", 256 * KIB)
    assert reserve.acquire() and reserve.is_held
    assert reserve.path.stat().st_blocks * 512 >= 256 * KIB, "no hole in it"
    reserve.release()
    reserve.release()
    assert not reserve.is_held and not reserve.path.exists()


def test_a_reserve_of_another_size_is_made_fit(tmp_path: Path) -> None:
    for size in (256 * KIB, 64 * KIB, 128 * KIB):
        reserve = Reserve(tmp_path / "reserve", size)
        assert reserve.acquire()
        assert (reserve.path.stat().st_size, reserve.path.stat().st_blocks) == (size, size // 512)
        assert Reserve(reserve.path, size).is_held, "by the start before"
        assert not Reserve(reserve.path, size + 1).is_held


def test_what_cannot_be_had_leaves_nothing_behind(tmp_path: Path) -> None:
    free = os.statvfs(tmp_path)
    reserve = Reserve(tmp_path / "reserve", 2 * free.f_blocks * free.f_frsize)
    with contextlib.suppress(OSError):  # larger than any file may be there
        assert not reserve.acquire()
    assert not reserve.is_held and not reserve.path.exists()


class Full:
    """Replacement for `posix_fallocate` on a disk that has `left` bytes for all files together."""

    def __init__(self, directory: Path, left: int) -> None:
        self._directory, self._all = directory, left + taken(directory)

    def __call__(self, file: int, start: int, size: int) -> None:
        if taken(self._directory, apart_from=os.fstat(file).st_ino) + size > self._all:
            raise OSError(errno.ENOSPC, "full")


def taken(directory: Path, apart_from: int = 0) -> int:
    files = [file.stat() for file in directory.iterdir()]
    return sum(file.st_size for file in files if file.st_ino != apart_from)


def test_what_is_held_in_part_is_not_lost_when_the_rest_cannot_be_had(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reserve = Reserve(tmp_path / "reserve", 256 * KIB)
    assert reserve.acquire()
    reserve.lend(64 * KIB)
    monkeypatch.setattr(os, "posix_fallocate", Full(tmp_path, 63 * KIB))
    again = Reserve(tmp_path / "reserve", 256 * KIB)
    assert not again.is_held and not again.acquire() and not again.is_held
    assert again.path.stat().st_size == 192 * KIB
    monkeypatch.setattr(os, "posix_fallocate", Full(tmp_path, 64 * KIB))
    assert again.acquire() and again.path.stat().st_size == 256 * KIB


@pytest.mark.parametrize(
    ("held", "free", "left"),
    [(1024, 256, 1024), (1024, 255, 768), (257, 0, 1), (256, 0, None), (16, 0, None), (None, 0, None)],
)
def test_trial_B5_a_full_disk_gets_from_the_reserve_what_a_start_needs_and_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, held: int | None, free: int, left: int | None
) -> None:
    file = tmp_path / "reserve"
    if held is not None:
        file.write_bytes(bytes(held * KIB))
    monkeypatch.setattr(os, "posix_fallocate", Full(tmp_path, free * KIB))
    make_room(tmp_path)
    assert (file.stat().st_size if file.exists() else None) == (left and left * KIB)
    assert [found.name for found in tmp_path.iterdir()] == (["reserve"] if left else [])


def test_queues_are_told_to_stop_while_others_still_have_room(tmp_path: Path) -> None:
    room = Disk(tmp_path, 400 * KIB)
    seen = []
    for left in (801, 800, 799, 849, 850, 300):
        room.left, room.inside = left * KIB - 10 * KIB, 10 * KIB  # free space within the store counts
        room.measure()
        seen.append((room.is_tight, room.is_short))
    assert seen == [(False, False)] * 2 + [(True, False)] * 2 + [(False, False), (True, True)]


def test_trial_B5_the_reserve_is_not_taken_again_while_a_start_has_more_to_write(tmp_path: Path) -> None:
    class Starting(Disk):
        left_then = 1024 * KIB + START - 1

        @property
        def free(self) -> int:
            return self.left_then

    Starting(tmp_path, 4096 * KIB)
    assert not (tmp_path / "reserve").exists()
    Starting.left_then += 1
    Starting(tmp_path, 4096 * KIB)
    assert (tmp_path / "reserve").stat().st_size == 1024 * KIB


def test_the_reserve_is_a_quarter_and_not_more_than_16_mib(tmp_path: Path) -> None:
    for wanted, size in ((1024 * KIB, 256 * KIB), (1 << 30, RESERVE)):
        disk = Disk(tmp_path, wanted)
        disk.measure()
        assert (tmp_path / "reserve").stat().st_size == size


def test_without_a_bound_nothing_is_reserved_or_refused(tmp_path: Path) -> None:
    (tmp_path / "reserve").write_bytes(b"of an earlier start")
    disk = Disk(tmp_path, 0)
    disk.left = 0
    disk.measure()
    disk.release_reserve()
    assert not disk.is_short and not (tmp_path / "reserve").exists() and disk.told == []


def test_a_file_system_that_cannot_reserve_does_without(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no(*_: object) -> None:
        raise OSError(errno.EOPNOTSUPP, "no")

    monkeypatch.setattr(os, "posix_fallocate", no)
    disk = Disk(tmp_path, 800 * KIB)
    disk.measure()
    assert not disk.is_short and not (tmp_path / "reserve").exists()
    disk.left = 100 * KIB
    disk.measure()
    assert disk.is_short


def test_it_is_told_once_when_room_gets_little_and_once_when_there_is_some_more(tmp_path: Path) -> None:
    disk = Disk(tmp_path, 800 * KIB)
    disk.measure()
    for left in (900, 799, 600, 800, 899, 900, 850):
        disk.left = left * KIB
        disk.measure()
        disk.measure()
    assert [line.split(":")[0] for line in disk.told] == ["warning", "info"]
    assert f"{799 * KIB} bytes are free, {800 * KIB} are required" in disk.told[0]
    assert not disk.is_short


def test_room_within_the_store_counts_but_not_alone(tmp_path: Path) -> None:
    disk = Disk(tmp_path, 800 * KIB)
    disk.measure()
    found = []
    for left, inside in ((799, 0), (799, 50), (799, 101), (201, 599), (199, 9999)):
        disk.left, disk.inside = left * KIB, inside * KIB
        disk.measure()
        found.append(disk.is_short)
    assert found == [True, True, False, False, True]


def test_a_reserve_that_was_given_up_is_taken_again_before_anything_is_added(tmp_path: Path) -> None:
    disk = Disk(tmp_path, 800 * KIB)
    disk.measure()
    disk.release_reserve()
    assert disk.is_short and not (tmp_path / "reserve").exists()
    disk.left = 1000 * KIB
    disk.measure()
    assert disk.is_short, "the reserve itself will take 200 of them"
    disk.left = 1100 * KIB
    disk.measure()
    assert not disk.is_short and (tmp_path / "reserve").stat().st_size == 200 * KIB


def test_where_writes_find_no_room_though_much_is_free_they_are_tried_once_a_minute(tmp_path: Path) -> None:
    disk = Disk(tmp_path, 800 * KIB)
    for second in range(180):
        disk.now = float(second)
        disk.measure()
        if not disk.is_short:
            disk.release_reserve()  # a quota, for example
    assert [line.split(":")[0] for line in disk.told] == ["warning", "info"] * 2 + ["warning"]
    disk.left += 100 * KIB
    disk.measure()
    assert not disk.is_short, "somebody made room"


def test_trial_B5_last_values_that_nobody_subscribes_to_do_not_fill_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(DiskSpace, "free", property(lambda room: 0))
    store = open_guarded(tmp_path, b"m" * 16, 1, 800 * KIB, lambda level, text: None)
    store.load()
    value, row = Put("retained", b"k", b"v"), Put("stream", b"s", b"row", (1, 1))
    with pytest.raises(StoreFull):
        store.commit([row, value])
    store.commit([value, Put("position", b"joe", b"1")])  # acks, and what waited for space
    store.commit([replace(row, value=b"erased"), Delete("retained", b"k")])
    assert store.load().tables["retained"] == {}
    store.close()


def test_a_store_with_little_room_refuses_what_adds_and_takes_what_frees(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    left = [10_000 * KIB]
    monkeypatch.setattr(DiskSpace, "free", property(lambda room: left[0]))
    now = [0.0]
    store = open_guarded(
        tmp_path, b"m" * 16, 1, 800 * KIB, lambda level, text: told.append(level), clock=lambda: now[0]
    )
    store.load()
    store.commit([Append(1, b"", b"one")])
    left[0] = 300 * KIB
    now[0] += PERIOD
    with pytest.raises(StoreFull, match=r"limits\.disk_reserve_bytes") as found:
        store.commit([Append(2, b"", b"two"), Put("feed", b"joe", b"")])
    assert found.value.code == "STORE_FULL"
    store.commit([Drop((1,)), Put("position", b"joe", b"1")])
    assert (store.status(), told) == (
        {"disk_free": 300 * KIB, "disk_short": 1, "disk_refused": 1},
        ["warning"],
    )
    left[0] = 2000 * KIB
    assert store.tend() == PERIOD, "it looks again by itself"
    now[0] += PERIOD
    store.tend()
    store.commit([Append(2, b"", b"two")])
    assert (standing(store), told) == ([(2, b"", b"two")], ["warning", "info"])
    store.close()
