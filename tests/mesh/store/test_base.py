"""The laws that every store keeps."""

import secrets
import sqlite3
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from mesh.errors import StoreError
from mesh.features.postgres.store import PostgresStore
from mesh.operations import BOOT, FIRST_POSITION, TABLES, Append, Delete, Drop, Image, Op, Put, StoreReach
from mesh.store.base import Store, begin
from mesh.store.memory import MemoryStore
from mesh.store.sqlite import SQLiteStore
from tests.mesh.store.images import loaded, standing
from tests.postgres import PostgresServer
from tests.seeds import scenarios

EMPTY: dict[str, dict[bytes, bytes]] = {table: {} for table in TABLES}


def held(store: Store) -> list[int]:
    return [position for position, _, _ in standing(store)]


def refused(store: Store, *ops: Op) -> str:
    """Return the code of the refusal, and check that the store is unchanged."""
    before = loaded(store)
    with pytest.raises(StoreError) as refusal:
        store.commit(ops)
    assert loaded(store) == before
    return refusal.value.code


def test_a_new_store_is_empty_and_counts_from_one(store: Store) -> None:
    assert loaded(store) == Image([], EMPTY, 1)
    assert FIRST_POSITION == 1


def test_what_was_committed_is_loaded_as_it_was(store: Store) -> None:
    store.commit([Append(1, b"header", b"body"), Put("feed", b"joe", b"\x00\xff")])
    store.commit([Append(2, b"", b""), Put("retained", b"", b"")])
    image = loaded(store)
    assert image.envelopes == [(1, b"header", b"body"), (2, b"", b"")]
    assert image.tables == EMPTY | {"feed": {b"joe": b"\x00\xff"}, "retained": {b"": b""}}
    assert image.next_position == 3


@pytest.mark.parametrize("mib", scenarios([2, 64]))
def test_the_largest_bodies_come_back_whole(store: Store, mib: int) -> None:
    body = bytes(range(256)) * (mib * 4096)
    store.commit([Append(1, b"large", body)])
    assert standing(store) == [(1, b"large", body)]


def test_dropped_envelopes_are_gone_and_their_positions_never_come_back(store: Store) -> None:
    store.commit([Append(1, b"", b"a"), Append(2, b"", b"b"), Append(3, b"", b"c")])
    store.commit([Drop((2,))])
    assert held(store) == [1, 3]
    store.commit([Drop((3, 1))])
    assert loaded(store) == Image([], EMPTY, 4)
    assert refused(store, Append(3, b"", b"again")) == "BAD_OPS"


def test_an_envelope_can_be_dropped_twice(store: Store) -> None:
    store.commit([Append(1, b"", b""), Append(2, b"", b"")])
    store.commit([Drop((1, 1))])
    store.commit([Drop((1,))])
    assert held(store) == [2]


def test_an_envelope_dropped_within_its_own_commit_is_never_written(store: Store) -> None:
    store.commit([Append(1, b"", b"a"), Append(2, b"", b"b"), Drop((1,)), Append(3, b"", b"c")])
    assert held(store) == [2, 3]


def test_the_next_position_can_be_given_up(store: Store) -> None:
    store.commit([Drop((1, 2)), Append(3, b"", b"")])
    assert held(store) == [3]


def test_trial_A2_the_positions_of_each_boot_begin_above_all_that_were_ever_given(store: Store) -> None:
    """The same holds in a store whose log an earlier release began at 1. No position counts as missing."""
    store.commit([Append(1, b"", b"old"), Append(2, b"", b"")])
    for boot in (3, 4, 2**22 - 1):
        position = begin(store, boot).next_position
        assert position == boot * BOOT
        store.commit([Append(position, b"", b""), Append(position + 1, b"", b""), Drop((position,))])
    assert held(store) == [1, 2, 3 * BOOT + 1, 4 * BOOT + 1, (2**22 - 1) * BOOT + 1]
    assert refused(store, Append(4 * BOOT + 2, b"", b"")) == "BAD_OPS"
    store.commit([Drop(tuple(held(store)))])
    assert held(store) == []


def test_within_a_boot_there_is_still_no_hole(store: Store) -> None:
    position = begin(store, 5).next_position
    assert refused(store, Append(position + 1, b"", b"")) == "BAD_OPS"
    store.commit([Append(position, b"", b"")])
    assert refused(store, Append(position + 2, b"", b"")) == "BAD_OPS"
    assert begin(store, 4).next_position == position + 1, "nothing goes back"
    assert refused(store, Append(position - BOOT, b"", b"")) == "BAD_OPS"
    assert refused(store, Append(6 * BOOT + 1, b"", b"")) == "BAD_OPS"


def test_what_is_accepted_is_known_of_the_store_from_then_on(store: Store) -> None:
    store.commit([Append(1, b"", b"")])
    assert begin(store, 3).reach == begin(store, 3, accept_rollback=True).reach == StoreReach(1, 1)
    assert begin(store, 3).reach == StoreReach(3 * BOOT, 2)
    store.commit([Append(3 * BOOT + 1, b"", b"")])


def test_how_far_it_has_come_is_told_and_loaded(store: Store) -> None:
    assert store.load().reach == store.reach == StoreReach(0, 0)
    assert begin(store, 2).reach == StoreReach(0, 0), "as it was found"
    assert store.reach == StoreReach(0, 0), "nothing was written"
    store.commit([Append(2 * BOOT, b"", b"")])
    store.commit([Drop(())])
    store.commit([Put("feed", b"joe", b"")])
    assert store.load().reach == store.reach == StoreReach(2 * BOOT, 2)


@pytest.mark.parametrize("position", [0, 2, 4, -1])
def test_a_position_out_of_turn_is_refused(store: Store, position: int) -> None:
    store.commit([Append(1, b"", b""), Append(2, b"", b"")])
    assert refused(store, Append(position, b"", b"")) == "BAD_OPS"


@pytest.mark.parametrize("position", [0, 3, -1])
def test_a_drop_of_what_cannot_exist_is_refused(store: Store, position: int) -> None:
    store.commit([Append(1, b"", b"")])
    assert refused(store, Drop((position,))) == "BAD_OPS"


def test_a_table_that_does_not_exist_is_refused_by_name(store: Store) -> None:
    with pytest.raises(StoreError, match="'feeds' is not one of the tables stream, feed"):
        store.commit([Put("feeds", b"", b"")])
    assert refused(store, Delete("", b"")) == "BAD_OPS"


def test_a_commit_is_all_or_nothing(store: Store) -> None:
    assert refused(store, Append(1, b"", b""), Put("feed", b"a", b"1"), Append(3, b"", b"")) == "BAD_OPS"
    store.commit([Append(1, b"", b"")])
    assert held(store) == [1]


def test_of_several_puts_of_one_key_the_last_stands(store: Store) -> None:
    store.commit([Put("position", b"joe", b"1"), Put("position", b"joe", b"2")])
    store.commit([Put("position", b"joe", b"3"), Delete("position", b"joe"), Put("position", b"joe", b"4")])
    assert store.load().tables["position"] == {b"joe": b"4"}
    store.commit([Put("position", b"joe", b"5"), Delete("position", b"joe")])
    assert store.load().tables["position"] == {}


def test_the_tables_are_apart(store: Store) -> None:
    store.commit([Put(table, b"key", table.encode()) for table in TABLES])
    store.commit([Delete("feed", b"key"), Delete("feed", b"unknown")])
    assert store.load().tables == {table: {b"key": table.encode()} for table in TABLES} | {"feed": {}}


def test_keys_and_values_may_be_long_and_hold_any_byte(store: Store) -> None:
    key = secrets.token_bytes(70_000)
    store.commit([Put("retained", key, bytes(range(256))), Put("retained", key[:-1], b"")])
    store.commit([Put("retained", key, key), Delete("retained", key[:-1])])
    assert store.load().tables["retained"] == {key: key}


def test_many_rows_in_one_commit(store: Store) -> None:
    count = 2000
    store.commit([Append(i, b"%d" % i, b"") for i in range(1, count + 1)])
    store.commit([Drop(tuple(range(1, count + 1, 2))), *(Put("feed", b"%d" % i, b"") for i in range(count))])
    store.commit([Drop(tuple(range(2, count, 2))), *(Delete("feed", b"%d" % i) for i in range(1, count))])
    assert loaded(store) == Image([(count, b"%d" % count, b"")], EMPTY | {"feed": {b"0": b""}}, count + 1)


def test_an_empty_commit_changes_nothing(store: Store) -> None:
    store.commit([])
    assert loaded(store) == Image([], EMPTY, 1)


def test_what_was_loaded_is_not_the_store_itself(store: Store) -> None:
    store.commit([Append(1, b"", b""), Put("feed", b"joe", b"1")])
    image = store.load()
    if isinstance(image.envelopes, list):  # otherwise they are read on demand
        image.envelopes.clear()
    image.tables["feed"].clear()
    assert held(store) == [1]
    assert store.load().tables["feed"] == {b"joe": b"1"}


def test_a_closed_store_says_so(store: Store) -> None:
    store.close()
    store.close()
    with pytest.raises(StoreError, match="closed"):
        store.commit([Append(1, b"", b"")])
    with pytest.raises(StoreError, match="closed"):
        store.load()


# # --- checks of a store before it is opened

OURS = "SELECT count(*) FROM pg_tables WHERE schemaname = 'heronry'"


def test_trial_C_a_store_that_was_killed_is_looked_at_and_left_as_it_is(tmp_path: Path) -> None:
    SQLiteStore.check_openable(tmp_path / "store.sqlite")
    store = SQLiteStore(tmp_path / "store.sqlite")
    store.commit([Put("peer", b"a", b"b")])

    def files() -> dict[str, bytes]:
        return {path.name: path.read_bytes() for path in tmp_path.iterdir()}

    before = files()  # the log is not moved into the file
    SQLiteStore.check_openable(tmp_path / "store.sqlite")
    assert files() == before and "store.sqlite-wal" in before
    store.close()
    with sqlite3.connect(tmp_path / "store.sqlite") as db:
        db.execute("PRAGMA user_version = 99")
    db.close()
    with pytest.raises(StoreError) as refused:
        SQLiteStore.check_openable(tmp_path / "store.sqlite")
    assert refused.value.code == "STORE_VERSION"
    (tmp_path / "store.sqlite").unlink()
    (tmp_path / "store.sqlite").mkdir()
    with pytest.raises(StoreError):
        SQLiteStore.check_openable(tmp_path / "store.sqlite")


def test_trial_C_a_database_is_looked_at_and_gets_no_tables_of_ours(postgres: PostgresServer) -> None:
    url = postgres.database()
    PostgresStore.check_openable(url)
    assert postgres.sql(OURS, url) == [(0,)]
    PostgresStore(url, secrets.token_bytes(16), 1).close()
    PostgresStore.check_openable(url)
    postgres.sql("UPDATE heronry.version SET version = 99", url)
    with pytest.raises(StoreError) as refused:
        PostgresStore.check_openable(url)
    assert refused.value.code == "STORE_VERSION"
    with pytest.raises(StoreError, match="failed"):
        PostgresStore.check_openable(postgres.url("nowhere"))


def test_trial_C_who_may_make_no_tables_is_told_so_beforehand(postgres: PostgresServer) -> None:
    url = postgres.database()
    name = url.partition("@/")[2].partition("?")[0]
    guest = postgres.user()
    postgres.sql(f"REVOKE CREATE ON DATABASE {name} FROM PUBLIC")
    as_guest = postgres.url(name, guest)
    with pytest.raises(StoreError, match="may not create their tables"):
        PostgresStore.check_openable(as_guest)
    with pytest.raises(StoreError):
        PostgresStore(as_guest, secrets.token_bytes(16), 1)
    postgres.sql(f"CREATE SCHEMA heronry AUTHORIZATION {guest}", url)
    PostgresStore.check_openable(as_guest)
    PostgresStore(as_guest, secrets.token_bytes(16), 1).close()


# # --- all operations together

# A random commit: the number of appended envelopes, the shares of positions to drop, and the rows to set.
COMMITS = st.lists(
    st.tuples(
        st.integers(0, 4),
        st.lists(st.floats(0, 1), max_size=4),
        st.lists(st.tuples(st.sampled_from(TABLES), st.sampled_from([b"a", b"b"]), st.none() | st.binary())),
    ),
    max_size=12,
)


@pytest.mark.slow  # long
@settings(
    max_examples=settings().max_examples // 3, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(commits=COMMITS)
def test_all_stores_hold_the_same_after_any_commits(
    commits: list[tuple[int, list[float], list[tuple[str, bytes, bytes | None]]]],
    tmp_path_factory: pytest.TempPathFactory,
    postgres: PostgresServer,
) -> None:
    path, uuid = tmp_path_factory.mktemp("model") / "store.sqlite", secrets.token_bytes(16)
    memory, upcoming = MemoryStore(), 1
    lasting: list[Store] = [SQLiteStore(path), PostgresStore(postgres.url(), uuid, 1)]
    for appends, shares, rows in commits:
        ops: list[Op] = [Append(upcoming + i, b"h%d" % i, b"b" * i) for i in range(appends)]
        upcoming += appends
        ops += [Drop((1 + int(share * (upcoming - 2)),)) for share in shares if upcoming > 1]
        ops += [Delete(t, key) if value is None else Put(t, key, value) for t, key, value in rows]
        for store in (memory, *lasting):
            store.commit(ops)
    for store in lasting:
        store.close()
    for reopened in (SQLiteStore(path), PostgresStore(postgres.url(), uuid, 2)):
        assert loaded(reopened) == loaded(memory)
        reopened.close()
