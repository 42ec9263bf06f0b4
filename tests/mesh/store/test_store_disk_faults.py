"""Faults of the disk under a store: each reported commit is kept, or its loss is reported.

Each fault has a number, and its tests have that number in their names: row_43 to row_48. Row 49 is a test of
nodes.
"""

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from mesh.errors import StoreError, StoreFull
from mesh.operations import Append, Drop, Image, Op, Put
from mesh.store.opening import open_guarded
from mesh.store.sqlite import SQLiteStore
from mesh.store.witnessed import PERIOD, Witnessed
from tests.mesh.running import LIMIT
from tests.mesh.store.disks import BOOTS, ME, failing, fill_up, load, small_disk
from tests.mesh.store.images import loaded
from tests.seeds import scenarios

ROOT = Path(__file__).parents[3]
WANTED = 1 << 20  # bytes to keep free on these disks


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def guarded(place: Path, wanted: int = WANTED) -> tuple[Witnessed, Clock, list[str]]:
    """Return an opened and loaded store, its clock, and the list of its reports."""
    told: list[str] = []
    clock = Clock()
    store = open_guarded(
        place, ME, next(BOOTS), wanted, lambda level, text: told.append(f"{level}: {text}"), clock=clock
    )
    store.load()
    return store, clock, told


def fill_store(store: Witnessed, clock: Clock, position: int) -> int:
    """Append envelopes until the store refuses one. Return the position that was refused."""
    while True:
        clock.now += PERIOD
        try:
            store.commit([Append(position, b"", os.urandom(20_000))])
        except StoreFull:
            return position
        store.tend()
        position += 1


# --- 43: the disk is full ---------------------------------------------------------------------------------


def test_row_43_publishes_are_refused_while_there_is_room_for_acks() -> None:
    """The disk fills up with messages.

    Long before it is full, the store refuses more, and consumers can still acknowledge. Space that this frees
    within the store is used again, though the disk has no more.
    """
    with small_disk("6m") as place:
        store, clock, told = guarded(place)
        end = fill_store(store, clock, 1)
        assert end > 50
        free = store.status()["disk_free"]
        assert WANTED // 2 < free < WANTED
        for position in range(1, end, 2):
            store.commit([Drop((position,)), Put("position", b"joe", b"%d" % position)])
        clock.now += PERIOD
        store.tend()
        again = fill_store(store, clock, end)
        assert again > end + 10
        assert store.status()["disk_free"] > WANTED // 4
        assert [line.split(":")[0] for line in told[:2]] == ["warning", "info"]
        store.close()
        image, _ = load(place)
        assert [p for p, _, _ in image.envelopes] == [p for p in range(1, again) if p >= end or not p % 2]


def test_row_43_on_a_disk_that_somebody_else_filled_acks_and_witness_still_work() -> None:
    """The disk has no free byte.

    The reserve is released for acknowledgements, for moving the log into the file, and for the witness. When
    there is space again, the reserve is taken again and publishing continues.
    """
    with small_disk("6m") as place:
        store, clock, told = guarded(place)
        store.commit([Append(position, b"", os.urandom(20_000)) for position in range(1, 61)])
        other = fill_up(place)
        clock.now += PERIOD
        with pytest.raises(StoreFull):
            store.commit([Append(61, b"", b"more")])
        for position in range(1, 61):
            store.commit([Drop((position,))])
            clock.now += PERIOD
            store.tend()
        assert not (place / "reserve").exists()
        store._store._store.checkpoint()
        assert not store._store._store.is_cramped
        with pytest.raises(StoreFull):
            store.commit([Append(61, b"", b"more")])
        other.unlink()
        clock.now += PERIOD
        store.tend()
        store.commit([Append(61, b"", b"more")])
        assert (place / "reserve").stat().st_size == WANTED // 4
        assert "has space again" in told[-1]
        store.close()
        image, commits = load(place)
        assert (image.envelopes, commits) == ([(61, b"", b"more")], 62)


def test_row_43_a_checkpoint_without_room_gets_the_reserve(monkeypatch: pytest.MonkeyPatch) -> None:
    """The log is due to be moved into the file, which cannot grow."""
    with small_disk("6m") as place:
        store, _, told = guarded(place)
        monkeypatch.setattr(store._store._store, "_most_logged", 1 << 30)
        store.commit([Append(1, b"", os.urandom(200_000))])
        fill_up(place)
        monkeypatch.setattr(store._store._store, "_most_logged", 1)
        store.commit([Put("position", b"joe", b"1")])
        assert not (place / "reserve").exists() and "the reserve is in use" in told[-1]
        assert not store._store._store.is_cramped
        assert (place / "store.sqlite").stat().st_size > 200_000
        store.close()
        assert len(list(load(place)[0].envelopes)) == 1


def test_row_43_a_witness_without_room_gets_the_reserve_too() -> None:
    """The witness is lost, and must be written again on a full disk."""
    with small_disk("6m") as place:
        store, clock, _ = guarded(place)
        store.commit([Append(1, b"", b"one")])
        os.truncate(place / "witness", 0)
        fill_up(place)
        clock.now += PERIOD
        store.tend()
        assert (place / "witness").stat().st_blocks > 0
        assert not (place / "reserve").exists()
        store.close()
        (place / "store.sqlite").unlink()
        with pytest.raises(StoreError, match="but had 1 and was at 2") as found:
            load(place)
        assert found.value.code == "STORE_ROLLED_BACK"


def test_row_43_without_a_reserve_a_full_disk_refuses_and_loses_nothing() -> None:
    """With limits.disk_reserve_bytes = 0, writes that find no space are refused, and nothing else changes."""
    with small_disk("4m") as place:
        store, clock, _ = guarded(place, wanted=0)
        end = fill_store(store, clock, 1)
        assert store.status()["disk_refused"] == 1
        with pytest.raises(StoreFull):
            store.commit([Append(end, b"", os.urandom(20_000))])
        store.close()
        image, _ = load(place)
        assert [p for p, _, _ in image.envelopes] == list(range(1, end))


# --- 44: an error at fsync --------------------------------------------------------------------------------


@pytest.mark.parametrize("when", scenarios(["23", "9+", "4", "9", "23+", "40+"]))
def test_row_44_after_an_error_at_fsync_nothing_is_reported_committed(tmp_path: Path, when: str) -> None:
    """An fsync fails once, or every fsync fails from then on.

    The next fsync could succeed although the data of the failed one is lost, so the store stops. The next
    start finds at least every reported commit.
    """
    inject = failing(f"fsync,fdatasync:error=EIO:when={when}")
    program = [sys.executable, "-m", "tests.mesh.store.committing", str(tmp_path), "60"]
    said = subprocess.run([*inject, *program], capture_output=True, text=True, timeout=2 * LIMIT, cwd=ROOT)
    lines = said.stdout.split("\n")[:-1]
    assert "Traceback" not in said.stderr, said.stderr
    done = [int(line.split()[1]) for line in lines if line.startswith("ok")]
    first_error = next(i for i, line in enumerate(lines) if line.split()[0] in ("error", "failed"))
    assert not any(line.startswith("ok") for line in lines[first_error:])
    assert set(lines[first_error:]) in ({"error STORE"}, {"failed STORE"})
    image, commits = load(tmp_path)
    assert image.next_position - 1 in (len(done), len(done) + 1), "one may be there that was not reported"
    assert commits == image.next_position - 1
    there = {position for position, _, _ in image.envelopes}
    assert there == {p for p in range(1, image.next_position) if p % 10 != 5 or p + 5 >= image.next_position}


# --- 45, 46, 47: the disk does not hold what was written --------------------------------------------------


FILES = ("store.sqlite", "store.sqlite-wal", "witness")


class Written:
    """A store as a power cut leaves it: part of it in the file, the rest in the log, and the witness.

    `images` maps each number of commits to what the store held then.
    """

    def __init__(self, place: Path, in_file: int, in_log: int) -> None:
        self.place, live = place, place / "live"
        live.mkdir(parents=True)
        self.images: dict[int, Image] = {}
        for count in (in_file, in_log):
            store, clock, _ = guarded(live, 0)
            self.images[store.reach.commits] = loaded(store._store._store)
            for _ in range(count):
                self._commit(store)
            clock.now += PERIOD
            store.tend()
            for name in FILES:
                shutil.copy(live / name, place / name)
            store.close()
        self.image, self.commits = self.images[store.reach.commits], store.reach.commits

    def _commit(self, store: Witnessed) -> None:
        position = store.reach.log + 1
        text = b"%d" % position
        ops: list[Op] = [Append(position, b"head " + text, b"body " + text * 50)]
        ops += [Put("position", b"joe", text), *([Drop((position - 2,))] if position % 3 == 0 else [])]
        store.commit(ops)
        self.images[store.reach.commits] = loaded(store._store._store)

    def copy(self, to: Path) -> Path:
        return copy(self.place, to)


def copy(source: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for name in FILES:
        if (source / name).exists():
            shutil.copy(source / name, to / name)
    return to


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Written:
    return Written(tmp_path_factory.mktemp("written") / "store", in_file=10, in_log=8)


def code_of(place: Path) -> str:
    """Return the code with which a node refuses to start here, or "" if it starts."""
    try:
        load(place)
    except StoreError as error:
        return error.code
    return ""


def test_as_it_was_left_it_is_sound(written: Written, tmp_path: Path) -> None:
    assert load(written.copy(tmp_path / "copy")) == (written.image, written.commits)


@pytest.mark.parametrize("tail", [b"", bytes(5000), b"\xa5" * 5000], ids=["short", "zeros", "garbage"])
def test_row_45_of_a_torn_log_a_whole_number_of_commits_is_left_and_the_loss_is_told(
    written: Written, tmp_path: Path, tail: bytes
) -> None:
    """The end of the log is missing or overwritten. SQLite opens the part before it."""
    whole = (written.place / "store.sqlite-wal").read_bytes()
    rng = random.Random(0)
    found = set[int]()
    for length in range(rng.randrange(97), len(whole), 97 * 41):
        place = written.copy(tmp_path / "copy")
        (place / "store.sqlite-wal").write_bytes(whole[:length] + tail[: len(whole) - length])
        assert code_of(place) == "STORE_ROLLED_BACK", f"cut after {length} bytes"
        store = SQLiteStore(place / "store.sqlite")
        assert loaded(store) == written.images[store.reach.commits]
        assert store.reach.commits < written.commits
        found.add(store.reach.commits)
        store.close()
    assert found == set(range(10, written.commits))


DAMAGED = ("DATA_LOSS", "STORE_ROLLED_BACK", "STORE_VERSION")


@pytest.mark.slow  # long: every bit is another load
@pytest.mark.parametrize(
    ("name", "least"), [("store.sqlite-wal", 300), ("store.sqlite", 3)], ids=["log", "file beneath the log"]
)
def test_row_46_no_flipped_bit_changes_in_silence_what_is_loaded(
    written: Written, tmp_path: Path, name: str, least: int
) -> None:
    """A bit of the file or of its log is flipped.

    Either no error is reported and all contents are as written, or the node does not start and reports the
    reason.
    """
    source, place = written.place, tmp_path / "copy"
    whole = (source / name).read_bytes()
    rng = random.Random(1)
    reported = 0
    for _ in range(300):
        bit = rng.randrange(8 * len(whole))
        copy(source, place)
        flipped = bytearray(whole)
        flipped[bit // 8] ^= 1 << bit % 8
        (place / name).write_bytes(flipped)
        code = code_of(place)
        if code:
            assert code in DAMAGED, f"bit {bit}"
            reported += 1
        else:
            assert load(place) == (written.image, written.commits), f"bit {bit}"
    assert reported >= least, "the rest is superseded by the log, or free"


def flip(file: Path, find: bytes) -> None:
    """Flip a bit of the last occurrence of `find`."""
    content = bytearray(file.read_bytes())
    content[content.rindex(find)] ^= 4
    file.write_bytes(content)


@pytest.mark.parametrize(
    ("find", "named"), [(b"body 1010", "envelope 10 is damaged"), (b"head 10", "envelope 10 is damaged")]
)
def test_row_46_a_flipped_bit_in_a_row_is_named(tmp_path: Path, find: bytes, named: str) -> None:
    """SQLite has no checksums, and returns the damaged contents."""
    written = Written(tmp_path / "store", 10, 1)
    flip(written.place / "live" / "store.sqlite", find)
    with pytest.raises(StoreError, match=named) as found:
        load(written.place / "live")
    assert found.value.code == "DATA_LOSS"


def test_row_46_a_flipped_bit_in_the_middle_of_the_log_is_a_step_back(
    written: Written, tmp_path: Path
) -> None:
    """SQLite opens the part before the damage, and reports no error."""
    place = written.copy(tmp_path / "copy")
    middle = b"head %d" % (written.image.next_position - 4)
    content = bytearray((place / "store.sqlite-wal").read_bytes())
    content[content.index(middle)] ^= 1
    (place / "store.sqlite-wal").write_bytes(content)
    with pytest.raises(StoreError, match=r"holds 14 commits .* but had 18") as found:
        load(place)
    assert found.value.code == "STORE_ROLLED_BACK"


def _without_log(written: Written, place: Path) -> None:
    (place / "store.sqlite-wal").unlink()


def _without_store(written: Written, place: Path) -> None:
    (place / "store.sqlite").unlink()
    (place / "store.sqlite-wal").unlink()


def _old_copy(written: Written, place: Path) -> None:
    """Replace the file with an older copy that was closed cleanly, and delete its log."""
    old = SQLiteStore(place / "old.sqlite")
    old.commit([Append(1, b"", b"")])
    old.close()
    os.replace(place / "old.sqlite", place / "store.sqlite")
    (place / "store.sqlite-wal").unlink()


@pytest.mark.parametrize("loss", [_without_log, _without_store, _old_copy])
def test_row_47_a_store_that_went_backwards_is_refused(
    written: Written, tmp_path: Path, loss: Callable[[Written, Path], None]
) -> None:
    """Delete the log or the store, or replace it by an old copy.

    The rest is consistent, but messages are missing. A node that accepted it would give their positions
    to other messages.
    """
    place = written.copy(tmp_path / "copy")
    loss(written, place)
    for _ in range(2):
        assert code_of(place) == "STORE_ROLLED_BACK"
    image, _ = load(place, accept=True)
    assert load(place)[0] == image, "accepted once, it is as any other"


def test_row_48_a_store_is_opened_once(tmp_path: Path) -> None:
    """Two processes that write one file would destroy it."""
    store, _, _ = guarded(tmp_path, 0)
    with pytest.raises(StoreError) as found:
        load(tmp_path)
    assert found.value.code == "STORE_IN_USE"
    store.commit([Append(1, b"", b"as if nothing had been")])
    store.close()
    assert len(list(load(tmp_path)[0].envelopes)) == 1
