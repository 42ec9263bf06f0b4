"""Stores in PostgreSQL: several nodes in one database, server crashes, damage, and bad settings."""

import gc
import os
import secrets
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from functools import partial
from typing import Any

import psycopg
import pytest

from mesh.errors import StoreError, StoreFull
from mesh.features.postgres.store import PostgresStore
from mesh.operations import TABLES, Append, Drop, Image, Put
from mesh.store.lease import LeaseTiming
from tests.mesh.store.images import loaded, standing
from tests.postgres import USER, PostgresServer
from tests.waiting import until

pytestmark = pytest.mark.slow  # killed servers and expiring leases take time

EMPTY: dict[str, dict[bytes, bytes]] = {table: {} for table in TABLES}


Open = Callable[..., PostgresStore]


@pytest.fixture
def opened(postgres: PostgresServer, uuid: bytes) -> Iterator[Open]:
    """Yield a function that opens stores, by default this node's in the common database, and close them."""
    stores: list[PostgresStore] = []

    def open_store(url: str = "", owner: bytes = uuid, boot: int = 1, **more: Any) -> PostgresStore:
        stores.append(PostgresStore(url or postgres.url(), owner, boot, **more))
        return stores[-1]

    yield open_store
    for store in stores:
        store.close()


def fill(store: PostgresStore) -> Image:
    """Fill a store with envelopes and rows, drop a few envelopes, and close it."""
    store.commit([Append(i, b"head %d" % i, b"body %d" % i * 40) for i in range(1, 21)])
    store.commit([Drop((3, 4, 9)), Put("feed", b"joe", b"feed" * 20), Put("position", b"joe", b"\x07")])
    image = loaded(store)
    store.close()
    return image


def refusal(attempt: Callable[[], object]) -> StoreError:
    with pytest.raises(StoreError) as refused:
        attempt()
    return refused.value


def test_a_reopened_store_holds_what_it_held(opened: Open) -> None:
    image = fill(opened())
    store = opened(boot=2)
    assert loaded(store) == image
    store.commit([Append(21, b"", b"")])
    assert store.load().next_position == 22


def test_nodes_in_one_database_see_only_their_own(opened: Open, uuid: bytes) -> None:
    other = secrets.token_bytes(16)
    mine, theirs = opened(), opened(owner=other)
    mine.commit([Append(1, b"mine", b""), Append(2, b"", b""), Put("feed", b"joe", b"mine")])
    theirs.commit([Append(1, b"theirs", b""), Put("feed", b"joe", b"theirs")])
    mine.commit([Drop((1,)), Put("feed", b"joe", b"again")])
    assert loaded(mine) == Image([(2, b"", b"")], EMPTY | {"feed": {b"joe": b"again"}}, 3)
    assert loaded(theirs) == Image([(1, b"theirs", b"")], EMPTY | {"feed": {b"joe": b"theirs"}}, 2)


def test_nodes_that_come_first_at_once_share_what_one_of_them_made(
    postgres: PostgresServer, opened: Open
) -> None:
    url, start, failures = postgres.database(), threading.Barrier(6), []

    def node(number: int) -> None:
        start.wait()
        try:
            opened(url, owner=bytes([number]) * 16).commit([Append(1, b"%d" % number, b"")])
        except StoreError as error:
            failures.append(error)

    threads = [threading.Thread(target=node, args=(number,)) for number in range(start.parties)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert postgres.sql("SELECT count(*) FROM heronry.envelope", url) == [(start.parties,)]


def test_a_mistake_in_the_middle_of_a_commit_leaves_nothing_behind(opened: Open) -> None:
    store = opened()
    with pytest.raises(TypeError):
        store.commit([Append(1, b"", b""), Append(2, b"", "no bytes")])  # type: ignore[arg-type]
    assert loaded(store) == Image([], EMPTY, 1)
    store.commit([Append(1, b"", b"")])


def test_the_account_of_dropped_envelopes_stays_small(
    opened: Open, postgres: PostgresServer, uuid: bytes
) -> None:
    store = opened()
    store.commit([Append(i, b"", b"") for i in range(1, 101)])
    for start in (5, 1, 4, 2, 3):  # in fifths, so that ranges begin and merge
        store.commit([Drop(tuple(range(start, 101, 5)))])
    ranges = f"SELECT first, last FROM heronry.dropped WHERE owner = '{uuid.hex()}'"
    assert postgres.sql(ranges) == [(1, 100)]


@pytest.mark.parametrize(
    ("statement", "named"),
    [
        ("UPDATE envelope SET body = '' WHERE position = 7", "envelope 7 is damaged"),
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
        ("UPDATE side SET value = '8' WHERE name = 'position'", "row b'joe' of table 'position' is damaged"),
        ("UPDATE side SET name = 'retained' WHERE name = 'position'", "table 'retained' is damaged"),
        ("UPDATE side SET name = 'unknown' WHERE name = 'position'", "table 'unknown' is damaged"),
        ("UPDATE meta SET next_position = 20", "the count of positions is damaged"),
        ("UPDATE meta SET commits = 1", "the count of positions is damaged"),
        ("DELETE FROM meta", "the count of positions is missing"),
    ],
)
def test_a_changed_or_missing_row_is_named(
    opened: Open, postgres: PostgresServer, uuid: bytes, statement: str, named: str
) -> None:
    fill(opened())
    behind = statement + (" AND" if "WHERE" in statement else " WHERE") + f" owner = '{uuid.hex()}'"
    for word in ("FROM ", "UPDATE "):
        behind = behind.replace(word, f"{word}heronry.")
    postgres.sql(behind)
    loss = refusal(lambda: opened(boot=2).load())
    assert loss.code == "DATA_LOSS"
    assert named in str(loss)


def test_nothing_is_written_on_top_of_a_loss(opened: Open, postgres: PostgresServer, uuid: bytes) -> None:
    fill(opened())
    postgres.sql(f"DELETE FROM heronry.envelope WHERE owner = '{uuid.hex()}' AND position = 7")
    store = opened(boot=2)
    refusal(store.load)
    assert "missing: envelope 7" in str(refusal(lambda: store.commit([Append(21, b"", b"")])))


def test_rows_that_others_put_back_in_time_are_noticed(
    opened: Open, postgres: PostgresServer, uuid: bytes
) -> None:
    store = opened()
    store.commit([Append(1, b"", b"")])
    kept = postgres.sql(f"SELECT next_position, commits, crc FROM heronry.meta WHERE owner = '{uuid.hex()}'")
    store.commit([Append(2, b"", b"")])
    values = "(next_position, commits, crc) = ({}, {}, {})".format(*kept[0])
    postgres.sql(f"UPDATE heronry.meta SET {values} WHERE owner = '{uuid.hex()}'")
    assert refusal(lambda: store.commit([Append(3, b"", b"")])).code == "STORE_ROLLED_BACK"


def test_tables_of_another_release_are_refused(postgres: PostgresServer, opened: Open) -> None:
    url = postgres.database()
    opened(url).close()
    for statement in ("UPDATE heronry.version SET version = 3", "DELETE FROM heronry.version"):
        postgres.sql(statement, url)
        refused = refusal(lambda: opened(url, boot=2))
        assert (refused.code, "has stores of another release" in str(refused)) == ("STORE_VERSION", True)


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes", "synchronous_commit"])
def test_a_server_that_loses_what_it_has_confirmed_is_refused(
    own_server: PostgresServer, uuid: bytes, setting: str
) -> None:
    own_server.stop()
    own_server.start(f"{setting}=off")
    refused = refusal(lambda: PostgresStore(own_server.url(), uuid, 1))
    assert (refused.code, f"{setting} is off" in str(refused)) == ("STORE_UNSAFE", True)
    with closing(PostgresStore(own_server.url(), uuid, 1, allow_unsafe=True)) as store:
        store.commit([Append(1, b"", b"")])
    own_server.stop()
    own_server.start()


def test_a_database_that_cannot_be_used_is_named(postgres: PostgresServer, opened: Open) -> None:
    guest = postgres.user()
    for url, words in [
        (postgres.url("nowhere"), 'database "nowhere" does not exist'),
        (postgres.url(user="nobody"), 'role "nobody" does not exist'),
        ("postgresql://heron@/mesh?host=/nowhere", "No such file or directory"),
        ("postgresql://heron@127.0.0.1:1/mesh", "Connection refused"),
        ("postgresql://heron@/mesh?wrong=1", "wrong"),
        (postgres.database().replace(f"{USER}@", f"{guest}@"), "permission denied for database"),
    ]:
        refused = refusal(partial(opened, url))
        assert refused.code == "STORE"
        assert url in str(refused) and words in str(refused)
        assert "the address is right" in refused.hint


def test_users_with_few_rights_come_in_as_the_page_says(postgres: PostgresServer, opened: Open) -> None:
    url = postgres.database()
    first, other = postgres.user(), postgres.user()
    postgres.sql(f"CREATE SCHEMA heronry AUTHORIZATION {first}", url)
    opened(url.replace(f"{USER}@", f"{first}@")).commit([Append(1, b"", b"")])
    second = partial(opened, url.replace(f"{USER}@", f"{other}@"), owner=secrets.token_bytes(16))
    assert "permission denied for schema heronry" in str(refusal(second))
    for statement in (
        f"GRANT USAGE ON SCHEMA heronry TO {other}",
        f"GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA heronry TO {other}",
    ):
        postgres.sql(statement, url)
    store = second()
    store.commit([Append(1, b"", b""), Put("feed", b"", b"")])
    store.commit([Drop((1,))])
    assert store.load().next_position == 2


class Hasty(LeaseTiming):
    """Timing of a node that waits only a moment for a lock, so that its renewals run in between."""

    patience = property(lambda self: 0.1)


def test_a_commit_that_is_kept_waiting_ends_the_store_though_the_lease_is_fine(
    opened: Open, postgres: PostgresServer, uuid: bytes
) -> None:
    store = opened(terms=Hasty(4))
    row = f"SELECT 1 FROM heronry.meta WHERE owner = '{uuid.hex()}' FOR UPDATE"
    with psycopg.connect(postgres.url()) as other:
        other.execute(row.encode())
        refused = refusal(lambda: store.commit([Append(1, b"", b"")]))
        assert (refused.code, "did not accept a commit within 4 s" in str(refused)) == ("STORE", True)
    assert "has stopped" in str(refusal(lambda: store.commit([Append(1, b"", b"")])))


def test_a_full_disk_refuses_whole_and_the_store_goes_on(opened: Open, postgres: PostgresServer) -> None:
    url = postgres.database()
    store = opened(url)
    store.commit([Append(1, b"", b"first")])
    [(path,)] = postgres.sql("SELECT pg_relation_filepath('heronry.side')", url)
    file = postgres.directory / "data" / str(path)
    # The next write to this file, which is still empty, gets ENOSPC from the kernel.
    assert (stat.S_ISREG(file.stat().st_mode), file.stat().st_size) == (True, 0)
    aside = file.with_name("aside")
    disconnect(postgres, url)
    file.rename(aside)
    file.symlink_to("/dev/full")
    try:
        refused = refusal(lambda: store.commit([Append(2, b"", b"second"), Put("feed", b"joe", b"1")]))
        assert isinstance(refused, StoreFull) and refused.code == "STORE_FULL"
        assert "No space left on device" in str(refused)
        store.commit([Append(2, b"", b"small")])
    finally:
        disconnect(postgres, url)
        file.unlink()
        aside.rename(file)
    store.commit([Append(3, b"", b"third"), Put("feed", b"joe", b"2")])
    assert standing(store) == [(1, b"", b"first"), (2, b"", b"small"), (3, b"", b"third")]
    assert store.load().tables["feed"] == {b"joe": b"2"}


def disconnect(postgres: PostgresServer, url: str) -> None:
    """End the sessions of a database, which have its files open."""
    database = url.partition("@/")[2].partition("?")[0]
    end = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE datname ="
    postgres.sql(f"{end} '{database}'")


def test_what_fails_for_good_ends_the_store(opened: Open, postgres: PostgresServer) -> None:
    url = postgres.database()
    store = opened(url)
    postgres.sql("DROP TABLE heronry.side", url)
    failed = refusal(lambda: store.commit([Append(1, b"", b""), Put("feed", b"", b"")]))
    assert (failed.code, 'relation "heronry.side" does not exist' in str(failed)) == ("STORE", True)
    assert "has stopped" in str(refusal(lambda: store.commit([Append(1, b"", b"")])))


def test_no_thread_and_no_descriptor_is_left_behind(opened: Open) -> None:
    opened().close()
    gc.collect()  # release what earlier tests have left

    def held() -> tuple[int, int]:
        return threading.active_count(), len(os.listdir("/proc/self/fd"))

    threads, files = held()
    for boot in range(2, 5):
        opened(boot=boot).close()
    until(lambda: held()[0] <= threads and held()[1] <= files)
