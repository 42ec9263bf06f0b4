"""Commits that are written once, although the connection or the server fails."""

import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from mesh.errors import StoreError
from mesh.features.postgres.store import PostgresStore
from mesh.operations import Append, Drop, Put
from mesh.store.lease import LeaseTiming
from tests.mesh.running import until
from tests.mesh.store.images import loaded, standing
from tests.postgres import PostgresServer

pytestmark = pytest.mark.slow  # killed servers and expiring leases take time

LONG = LeaseTiming(120)  # busy machines restart a server slowly


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


def refusal(attempt: Callable[[], object]) -> StoreError:
    with pytest.raises(StoreError) as refused:
        attempt()
    return refused.value


def sessions(postgres: PostgresServer) -> list[int]:
    """Return the processes of the server that serve stores."""
    rows = postgres.sql("SELECT pid FROM pg_stat_activity WHERE application_name = 'heronry'")
    return [row[0] for row in rows]


def test_a_lost_connection_is_made_again(opened: Open, postgres: PostgresServer) -> None:
    store = opened(postgres.database())
    for position in range(1, 6):
        store.commit([Append(position, b"", b"")])
        for pid in sessions(postgres):
            postgres.sql(f"SELECT pg_terminate_backend({pid})")
    store.commit([Append(6, b"", b"")])
    assert store.load().next_position == 7


def more_than(answered: list[int], count: int) -> Callable[[], bool]:
    return lambda: len(answered) > count


def test_every_commit_that_returned_is_there_once_though_the_server_is_killed(
    own_server: PostgresServer, uuid: bytes
) -> None:
    store, answered = PostgresStore(own_server.url(), uuid, 1, terms=LONG), [0]
    over = threading.Event()

    def write() -> None:
        position = 1
        while not over.is_set():
            store.commit(
                [Append(position, b"%d" % position, bytes(3000)), Put("feed", b"", b"%d" % position)]
            )
            answered.append(position)
            position += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        for _ in range(4):
            until(more_than(answered, len(answered) + 20))
            own_server.stop()
            own_server.start()
    finally:
        over.set()
        writer.join()
    image = loaded(store)
    store.close()
    with closing(PostgresStore(own_server.url(), uuid, 2)) as reopened:
        assert loaded(reopened) == image
    assert answered == list(range(answered[-1] + 1))
    assert [int(header) for _, header, _ in image.envelopes] == answered[1:]
    assert int(image.tables["feed"][b""]) == answered[-1]


class LostAnswer:
    """Replacement for a connection's `execute`. It hangs up at COMMIT, before or after it runs."""

    def __init__(self, real: Any, before: bool) -> None:
        self._real, self._before = real, before

    def __call__(self, sql: str, values: Any = ()) -> Any:
        if sql != "COMMIT":
            return self._real(sql, values)
        if self._before:
            self._real.__self__.hang_up()
        found = self._real(sql, values)
        self._real.__self__.hang_up()
        return self._real("SELECT 1", found)


@pytest.mark.parametrize("before", [True, False])
def test_a_commit_whose_answer_was_lost_is_written_once(
    opened: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, before: bool
) -> None:
    store = opened()
    store.commit([Append(1, b"", b"")])
    monkeypatch.setattr(store._connection, "execute", LostAnswer(store._connection.execute, before))
    with caplog.at_level(logging.WARNING):
        store.commit([Append(2, b"", b"once"), Drop((1,))])
    assert "trying again" in caplog.text
    store.commit([Append(3, b"", b"")])
    assert standing(store) == [(2, b"", b"once"), (3, b"", b"")]


def test_a_store_whose_database_stays_away_is_at_its_end(own_server: PostgresServer, uuid: bytes) -> None:
    store = PostgresStore(own_server.url(), uuid, 1, terms=LeaseTiming(8))
    store.commit([Append(1, b"", b"")])
    own_server.stop()
    assert refusal(lambda: store.commit([Append(2, b"", b"")])).code == "LEASE_LOST"
    own_server.start()
    for _ in range(2):
        again = refusal(lambda: store.commit([Append(2, b"", b"")]))
        assert (again.code, "has stopped" in str(again)) == ("LEASE_LOST", True)
    store.close()


def test_a_server_that_does_not_answer_keeps_nobody_waiting(own_server: PostgresServer, uuid: bytes) -> None:
    store = PostgresStore(own_server.url(), uuid, 1, terms=LeaseTiming(8))
    frozen = sessions(own_server)
    own_server.freeze(frozen)
    try:
        assert refusal(lambda: store.commit([Append(1, b"", b"")])).code == "LEASE_LOST"
        store.close()
    finally:
        own_server.thaw(frozen)
    with closing(PostgresStore(own_server.url(), uuid, 2)) as reopened:
        assert reopened.load().next_position in (1, 2)
