"""SQLite stores under restarts, kills, flipped bits, and full or broken disks."""

import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from mesh.errors import StoreError, StoreFull
from mesh.operations import TABLES, Append, Drop, Image, Put
from mesh.store.sqlite import SQLiteStore
from tests.mesh.store.images import loaded, standing


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.sqlite"


@pytest.fixture
def opened() -> Iterator[Callable[[Path], SQLiteStore]]:
    """Yield a function that opens stores, and close them at the end of the test."""
    stores: list[SQLiteStore] = []

    def open_store(path: Path) -> SQLiteStore:
        stores.append(SQLiteStore(path))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


Open = Callable[[Path], SQLiteStore]


def fill(path: Path, count: int = 20) -> Image:
    """Fill a store with envelopes and rows, drop a few envelopes, and close it."""
    store = SQLiteStore(path)
    store.commit([Append(i, b"head %d" % i, b"body %d" % i * 40) for i in range(1, count + 1)])
    store.commit([Drop((3, 4, 9)), Put("feed", b"joe", b"feed" * 20), Put("position", b"joe", b"\x07")])
    store.commit([Put("stream", b"stream %d" % i, b"ranges" * 9) for i in range(60)])
    image = loaded(store)
    store.close()
    return image


def surgery(path: Path, statement: str) -> None:
    """Change the closed file without the store's knowledge."""
    db = sqlite3.connect(path)
    with db:
        db.execute(statement)
    db.close()


def loss(store: SQLiteStore) -> str:
    with pytest.raises(StoreError) as found:
        store.load()
    assert found.value.code == "DATA_LOSS"
    return str(found.value)


def test_a_reopened_store_holds_what_it_held(path: Path, opened: Open) -> None:
    image = fill(path)
    store = opened(path)
    assert loaded(store) == image
    assert image.next_position == 21
    store.commit([Append(21, b"", b"")])


def test_positions_go_on_after_everything_was_dropped(path: Path, opened: Open) -> None:
    store = opened(path)
    store.commit([Append(1, b"", b""), Append(2, b"", b"")])
    store.commit([Drop((1, 2))])
    store.close()
    assert loaded(opened(path)) == Image([], store_tables(), 3)


def store_tables() -> dict[str, dict[bytes, bytes]]:
    return {table: {} for table in TABLES}


def test_every_commit_waits_for_the_disk(path: Path) -> None:
    # SQLite cannot be asked for this from outside, so the test reads the setting of the open handle.
    store = SQLiteStore(path)
    assert store._db.execute("PRAGMA synchronous").fetchone() == (2,)
    assert store._db.execute("PRAGMA journal_mode").fetchone() == (b"wal",)
    store.close()


def test_the_account_of_dropped_envelopes_stays_small(path: Path) -> None:
    store = SQLiteStore(path)
    store.commit([Append(i, b"", b"") for i in range(1, 1001)])
    order = list(range(1, 1001))
    random.Random(0).shuffle(order)
    for start in range(0, 1000, 50):
        store.commit([Drop(tuple(order[start : start + 50]))])
    store.close()
    db = sqlite3.connect(path)
    assert db.execute("SELECT first, last FROM dropped").fetchall() == [(1, 1000)]
    db.close()


def test_a_large_log_is_moved_into_the_file(path: Path, opened: Open) -> None:
    store = opened(path)
    for position in range(1, 25):
        store.commit([Append(position, b"", bytes(2 * 1024 * 1024))])
    assert path.stat().st_size > 24 * 1024 * 1024
    assert Path(f"{path}-wal").stat().st_size < 16 * 1024 * 1024


WRITER = """
import sys
from pathlib import Path
from mesh.operations import Append, Drop, Put
from mesh.store.sqlite import SQLiteStore

store = SQLiteStore(Path(sys.argv[1]))
position = store.load().next_position
while True:
    last = position + 4
    store.commit(
        [Append(i, b"%d" % i, bytes(3000)) for i in range(position, last + 1)]
        + [Drop((position,)), Put("position", b"last", b"%d" % last)]
    )
    print(last, flush=True)
    position = last + 1
"""


def test_a_killed_process_leaves_all_that_commit_returned_for_and_no_half_commit(path: Path) -> None:
    rng = random.Random(0)
    for _ in range(2):
        with subprocess.Popen(
            [sys.executable, "-c", WRITER, str(path)], stdout=subprocess.PIPE, text=True
        ) as writer:
            assert writer.stdout is not None
            answered = [int(writer.stdout.readline()) for _ in range(rng.randrange(20, 120))]
            writer.send_signal(signal.SIGKILL)
            answered += [int(line) for line in writer.stdout.read().split()]
        store = SQLiteStore(path)
        image = loaded(store)
        store.close()
        last = int(image.tables["position"][b"last"])
        # At most one commit may have become durable without its answer.
        assert last in (answered[-1], answered[-1] + 5)
        assert image.next_position == last + 1
        assert [p for p, _, _ in image.envelopes] == [p for p in range(1, last + 1) if p % 5 != 1]


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE envelope SET body = X'00' WHERE position = 7", "envelope 7 is damaged"),
        ("UPDATE envelope SET header = NULL WHERE position = 7", "envelope 7 is damaged"),
        ("UPDATE envelope SET crc = crc + 1 WHERE position = 20", "envelope 20 is damaged"),
        (
            "UPDATE envelope SET position = 99 WHERE position = 7",
            "envelope 99 is damaged; missing: envelope 7",
        ),
        ("DELETE FROM envelope WHERE position = 1", "missing: envelope 1"),
        ("DELETE FROM envelope WHERE position IN (15, 16)", "missing: envelopes 15..16"),
        ("DELETE FROM envelope WHERE position = 20", "missing: envelope 20"),
        ("DELETE FROM dropped WHERE first = 3", "missing: envelopes 3..4"),
        ("UPDATE dropped SET last = 5 WHERE first = 3", "dropped positions from 3 on is damaged"),
        (
            "UPDATE side SET value = X'08' WHERE name = 'position'",
            "row b'joe' of table b'position' is damaged",
        ),
        ("UPDATE side SET name = 'retained' WHERE name = 'position'", "table b'retained' is damaged"),
    ],
)
def test_a_changed_or_missing_row_is_named(path: Path, opened: Open, statement: str, named: str) -> None:
    fill(path)
    surgery(path, statement)
    assert named in loss(opened(path))


@pytest.mark.parametrize("statement", ["UPDATE meta SET next_position = 20", "DELETE FROM meta"])
def test_a_damaged_count_of_positions_is_found_at_opening(path: Path, statement: str) -> None:
    fill(path)
    surgery(path, statement)
    with pytest.raises(StoreError, match="the count of positions is") as found:
        SQLiteStore(path)
    assert found.value.code == "DATA_LOSS"


def test_many_losses_are_counted_and_not_all_spelt_out(path: Path, opened: Open) -> None:
    fill(path, 100)
    surgery(path, "UPDATE envelope SET crc = 0")
    words = loss(opened(path))
    assert "envelope 1 is damaged" in words
    assert "and 85 more" in words


def test_nothing_is_written_on_top_of_a_loss(path: Path, opened: Open) -> None:
    fill(path)
    surgery(path, "DELETE FROM envelope WHERE position = 7")
    store = opened(path)
    loss(store)
    with pytest.raises(StoreError, match="missing: envelope 7"):
        store.commit([Append(21, b"", b"")])


def test_no_flipped_bit_changes_what_is_loaded(path: Path, tmp_path: Path) -> None:
    image = fill(path)
    sound = path.read_bytes()
    rng, found = random.Random(0), 0
    damaged = tmp_path / "damaged.sqlite"
    schema = range(sound.index(b"CREATE TABLE meta") - 40, 4096, 11)  # its text ends the first page
    for place in [*schema, *(rng.randrange(len(sound)) for _ in range(120))]:
        flipped = bytes([sound[place] ^ 1 << rng.randrange(8)])
        damaged.write_bytes(sound[:place] + flipped + sound[place + 1 :])
        try:
            store = SQLiteStore(damaged)
        except StoreError:
            found += 1
            continue
        try:
            assert loaded(store) == image, f"a bit of byte {place} was flipped"
        except StoreError:
            found += 1
        store.close()
    # The other bits are in free space, or in numbers that SQLite does not need.
    assert found > 60


def test_a_page_that_hides_a_row_is_found(path: Path, tmp_path: Path, opened: Open) -> None:
    fill(path)
    sound = path.read_bytes()
    leaves = [page for page in range(4096, len(sound), 4096) if sound[page] == 13 and sound[page + 4]]
    assert len(leaves) > 4, "the store has several tables, each with a page of rows or more"
    for page in leaves:
        hiding = bytearray(sound)
        hiding[page + 4] -= 1  # the number of rows in this page
        damaged = tmp_path / f"{page}.sqlite"
        damaged.write_bytes(hiding)
        with pytest.raises(StoreError) as found:
            opened(damaged).load()
        assert found.value.code == "DATA_LOSS"


def test_a_cut_file_is_found(path: Path, opened: Open) -> None:
    fill(path, 200)
    os.truncate(path, path.stat().st_size // 2)
    with pytest.raises(StoreError) as found:
        opened(path).load()
    assert found.value.code == "DATA_LOSS"


def test_what_is_no_store_is_left_alone(path: Path) -> None:
    path.write_bytes(b"a letter to a friend\n" * 100)
    with pytest.raises(StoreError, match="is not an intact store: ") as found:
        SQLiteStore(path)
    assert found.value.code == "DATA_LOSS"
    assert path.read_bytes() == b"a letter to a friend\n" * 100


@pytest.mark.parametrize(
    "statement", ["PRAGMA user_version=4", "PRAGMA user_version=0", "PRAGMA user_version=-1"]
)
def test_a_file_of_another_release_is_refused(path: Path, statement: str) -> None:
    fill(path)
    surgery(path, statement)
    with pytest.raises(StoreError, match=r"is not a store of a node|reads only up to") as found:
        SQLiteStore(path)
    assert found.value.code == "STORE_VERSION"


def test_a_path_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="no-such-directory") as found:
        SQLiteStore(tmp_path / "no-such-directory" / "store.sqlite")
    assert found.value.code == "STORE"


def test_a_full_store_refuses_whole_and_goes_on(path: Path, opened: Open) -> None:
    store = opened(path)
    store.commit([Append(1, b"", b"first")])
    store._db.execute("PRAGMA max_page_count=40")
    with pytest.raises(StoreFull) as full:
        store.commit([Append(2, b"", b"small"), Put("feed", b"joe", b"1"), Append(3, b"", bytes(1_000_000))])
    assert full.value.code == "STORE_FULL"
    store.commit([Append(2, b"", b"second"), Drop((1,))])
    assert standing(store) == [(2, b"", b"second")]
    assert store.load().tables == store_tables()
    store._db.execute("PRAGMA max_page_count=4000")
    store.commit([Append(3, b"", bytes(1_000_000))])
    store.close()
    assert opened(path).load().next_position == 4


def test_a_mistake_in_the_middle_of_a_commit_leaves_nothing_behind(path: Path, opened: Open) -> None:
    store = opened(path)
    with pytest.raises(TypeError):
        store.commit([Append(1, b"", b""), Append(2, b"", "no bytes")])  # type: ignore[arg-type]
    assert loaded(store) == Image([], store_tables(), 1)
    store.commit([Append(1, b"", b"")])


class Fault:
    """Replaces the open write-ahead log with another file, until `mend` is called."""

    def __init__(self, path: Path, other: str, flags: int) -> None:
        log = f"{path}-wal"
        self._place = next(
            int(link.name) for link in Path("/proc/self/fd").iterdir() if os.path.realpath(link) == log
        )
        self._kept = os.dup(self._place)
        replacement = os.open(other, flags)
        os.dup2(replacement, self._place)
        os.close(replacement)

    def mend(self) -> None:
        os.dup2(self._kept, self._place)
        os.close(self._kept)


def test_a_full_disk_is_a_full_store(path: Path, opened: Open) -> None:
    store = opened(path)
    store.commit([Append(1, b"", b"first")])
    fault = Fault(path, "/dev/full", os.O_RDWR)
    with pytest.raises(StoreFull):
        store.commit([Append(2, b"", b"second")])
    fault.mend()
    store.commit([Append(2, b"", b"again")])
    store.close()
    assert standing(opened(path)) == [(1, b"", b"first"), (2, b"", b"again")]


def test_after_a_failed_write_the_store_is_at_its_end_though_the_disk_recovers(
    path: Path, opened: Open
) -> None:
    store = opened(path)
    store.commit([Append(1, b"", b"first")])
    fault = Fault(path, "/dev/null", os.O_RDONLY)
    with pytest.raises(StoreError) as broken:
        store.commit([Append(2, b"", b"second")])
    assert broken.value.code == "STORE"
    fault.mend()
    for _ in range(2):
        with pytest.raises(StoreError, match="has stopped") as stopped:
            store.commit([Append(2, b"", b"second")])
        assert stopped.value.hint == broken.value.hint
    store.close()
    assert standing(opened(path)) == [(1, b"", b"first")]


def test_a_copy_of_the_file_taken_after_a_commit_holds_that_commit(path: Path, tmp_path: Path) -> None:
    """The copy is what a machine finds after a power loss: the files as the kernel has them, not closed."""
    store = SQLiteStore(path)
    copy = tmp_path / "copy.sqlite"
    for position in range(1, 6):
        store.commit([Append(position, b"", b"x" * position)])
        shutil.copy(path, copy)
        shutil.copy(f"{path}-wal", f"{copy}-wal")
        after = SQLiteStore(copy)
        assert loaded(after) == loaded(store)
        after.close()
    store.close()
