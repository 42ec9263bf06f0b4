"""Leases of a store in PostgreSQL, on real servers and processes: at most one process owns a node."""

import logging
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

import psycopg
import pytest

from mesh.errors import StoreError
from mesh.features.postgres import lease as postgres_lease
from mesh.features.postgres.store import PostgresStore
from mesh.operations import Append, Put
from mesh.store.lease import LeaseTiming
from tests.mesh.running import LIMIT, until
from tests.mesh.store.images import loaded, standing
from tests.postgres import PostgresServer

pytestmark = pytest.mark.slow  # killed servers and expiring leases take time

SHORT = LeaseTiming(1.0)


@dataclass(frozen=True)
class Sleeper(LeaseTiming):
    """Timing of a holder that neither renews nor reads its clock, as if it were stopped."""

    idle: float = 60.0  # s until the server ends its open transaction

    interval = property(lambda self: 1e5)
    useful = property(lambda self: 1e5)
    patience = property(lambda self: self.idle)


class Busy(LeaseTiming):
    """Timing of a holder that renews all the time, so that its lease expires on no machine."""

    interval = property(lambda self: 0.2)


def refusal(attempt: Callable[[], object]) -> StoreError:
    with pytest.raises(StoreError) as refused:
        attempt()
    return refused.value


def lease(postgres: PostgresServer, uuid: bytes) -> tuple[int, bool]:
    """Return the epoch of the lease, and whether it has expired."""
    where = f"FROM heronry.lease WHERE res = 'store/{uuid.hex()}'"
    return postgres.sql(f"SELECT epoch, expires < clock_timestamp() {where}")[0]


def test_a_store_that_was_closed_is_taken_at_once_under_a_higher_epoch(
    postgres: PostgresServer, uuid: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    for boot in (1, 2, 3):
        with closing(PostgresStore(postgres.url(), uuid, boot)):
            assert lease(postgres, uuid) == (boot, False)
        assert lease(postgres, uuid) == (boot, True)
    assert "waiting" not in caplog.text


def test_a_holder_that_renews_stays_and_is_named_to_who_waits(
    postgres: PostgresServer, uuid: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with closing(PostgresStore(postgres.url(), uuid, 7, terms=Busy(120.0))) as holder:
        for _ in range(2):
            until(renewed_after(postgres, uuid))
        refused = refusal(lambda: PostgresStore(postgres.url(), uuid, 8, terms=LeaseTiming(1.0)))
        assert refused.code == "STORE_IN_USE"
        assert f"boot 7 of node {uuid.hex()[:8]} at " in str(refused)
        assert "waiting up to 1 s for the lease of boot 7 of node" in caplog.text
        holder.commit([Append(1, b"", b"")])
        assert holder.load().next_position == 2


def test_who_was_overtaken_is_fenced_and_nothing_of_its_commit_is_there(
    postgres: PostgresServer, uuid: bytes
) -> None:
    old = PostgresStore(postgres.url(), uuid, 1, terms=Sleeper(5.0))
    old.commit([Append(1, b"old", b"")])
    with closing(PostgresStore(postgres.url(), uuid, 2)) as new:
        new.commit([Append(2, b"new", b"")])
        fenced = refusal(lambda: old.commit([Append(2, b"old", b""), Put("feed", b"joe", b"old")]))
        assert fenced.code == "FENCED"
        assert f"boot 2 of node {uuid.hex()[:8]} at " in str(fenced)
        assert refusal(lambda: old.commit([])).code == "FENCED"
        assert [header for _, header, _ in standing(new)] == [b"old", b"new"]
        assert new.load().tables["feed"] == {}
        old.close()
        assert lease(postgres, uuid) == (2, False)  # not the old store's to release
        new.commit([Append(3, b"new", b"")])


def test_a_lease_that_ran_out_is_lost_though_nobody_took_it(postgres: PostgresServer, uuid: bytes) -> None:
    with closing(PostgresStore(postgres.url(), uuid, 1, terms=Sleeper(0.2))) as store:
        until(lambda: lease(postgres, uuid) == (1, True))
        assert refusal(lambda: store.commit([Append(1, b"", b"")])).code == "LEASE_LOST"
    with closing(PostgresStore(postgres.url(), uuid, 2)) as store:
        assert standing(store) == []


def test_a_renewal_learns_of_a_takeover(postgres: PostgresServer, uuid: bytes) -> None:
    with closing(PostgresStore(postgres.url(), uuid, 1, terms=SHORT)) as store:
        postgres.sql(f"UPDATE heronry.lease SET epoch = 9, boot = 5 WHERE res = 'store/{uuid.hex()}'")
        until(lambda: threads() == 0)
        refused = refusal(store.load)
        assert (refused.code, "boot 5 of node" in str(refused)) == ("FENCED", True)


def threads() -> int:
    """Return the number of threads that renew a lease."""
    return sum(thread.name.startswith("mesh-lease") for thread in threading.enumerate())


class Stopper:
    """Replacement for a connection's `execute_many`. It waits at its first call, after the lease check."""

    def __init__(self, real: Any) -> None:
        self._real = real
        self.reached, self.go_on = threading.Event(), threading.Event()

    def __call__(self, sql: str, rows: Any) -> None:
        self.reached.set()
        assert self.go_on.wait(LIMIT)
        self._real(sql, rows)


@pytest.mark.parametrize(
    ("idle", "first"),
    [(60.0, b"old"), (0.5, b"new")],
    ids=["the transaction goes on", "the server ends the transaction"],
)
def test_of_a_takeover_in_the_middle_of_a_commit_one_waits_for_the_other(
    postgres: PostgresServer, uuid: bytes, monkeypatch: pytest.MonkeyPatch, idle: float, first: bytes
) -> None:
    old = PostgresStore(postgres.url(), uuid, 1, terms=Sleeper(5.0, idle))
    stopper = Stopper(old._connection.execute_many)
    monkeypatch.setattr(old._connection, "execute_many", stopper)
    with ThreadPoolExecutor(2) as pool:
        commit = pool.submit(old.commit, [Append(1, b"old", b"")])
        assert stopper.reached.wait(LIMIT)
        taken = pool.submit(PostgresStore, postgres.url(), uuid, 2, terms=LeaseTiming(30.0))
        if first == b"old":
            until(lambda: lease(postgres, uuid) == (1, True) and waits_for_a_lock(postgres))
            assert not taken.done()
        else:
            taken.result(LIMIT).commit([Append(1, b"new", b"")])
        stopper.go_on.set()
        error = commit.exception(LIMIT)
        with closing(taken.result(2 * LIMIT)) as new:
            assert getattr(error, "code", None) == (None if first == b"old" else "FENCED")
            assert [header for _, header, _ in standing(new)] == [first]
            new.commit([Append(2, b"new", b"")])
            assert refusal(lambda: old.commit([Append(2, b"old", b"")])).code == "FENCED"
            assert len(standing(new)) == 2
    old.close()


def waits_for_a_lock(postgres: PostgresServer) -> bool:
    query = "SELECT 1 FROM pg_stat_activity WHERE application_name = 'heronry' AND wait_event_type = 'Lock'"
    return len(postgres.sql(query)) > 0


class Patient(Busy):
    """Timing of a holder whose open transactions are not ended, so that a commit may take any time."""

    patience = property(lambda self: 60.0)


def test_trial_B7_a_long_commit_does_not_hold_up_the_renewals_of_its_own_node(
    postgres: PostgresServer, uuid: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process asks for the lease meanwhile, and its error names the holder as alive."""
    store = PostgresStore(postgres.url(), uuid, 1, terms=Patient(120.0))
    stopper = Stopper(store._connection.execute_many)
    monkeypatch.setattr(store._connection, "execute_many", stopper)
    with ThreadPoolExecutor(2) as pool:
        commit = pool.submit(store.commit, [Append(1, b"long", b"")])
        try:
            assert stopper.reached.wait(LIMIT)
            for _ in range(2):
                until(renewed_after(postgres, uuid))
            other = pool.submit(PostgresStore, postgres.url(), uuid, 2, terms=LeaseTiming(1.0))
            refused = refusal(lambda: other.result(LIMIT))
            assert refused.code == "STORE_IN_USE" and "boot 1 of node" in str(refused)
            until(renewed_after(postgres, uuid))
        finally:
            stopper.go_on.set()
        commit.result(LIMIT)
    assert store.load().next_position == 2
    store.close()


def renewed_after(postgres: PostgresServer, uuid: bytes) -> Callable[[], bool]:
    """Return a function that tells whether the lease was renewed after this call."""
    query = f"SELECT expires FROM heronry.lease WHERE res = 'store/{uuid.hex()}'"
    begun = postgres.sql(query)
    return lambda: postgres.sql(query) != begun


def test_trial_B7_statements_that_are_slow_one_by_one_do_not_cost_the_lease(
    postgres: PostgresServer, uuid: bytes
) -> None:
    """Each statement takes less than its limit. Together they take longer than the lease lasts."""
    url = postgres.database()
    with closing(PostgresStore(url, uuid, 1, terms=LeaseTiming(12.0))) as store:
        postgres.sql(
            "CREATE FUNCTION heronry.slow() RETURNS trigger LANGUAGE plpgsql "
            "AS 'BEGIN PERFORM pg_sleep(4.5); RETURN NULL; END'",
            url,
        )
        for when in ("INSERT ON heronry.envelope", "INSERT ON heronry.side", "UPDATE ON heronry.meta"):
            postgres.sql(f"CREATE TRIGGER slow AFTER {when} EXECUTE FUNCTION heronry.slow()", url)
        store.commit([Append(1, b"slow", b""), Put("feed", b"joe", b"1")])
        assert store.load().next_position == 2


def test_trial_B7_a_commit_that_began_before_a_renewal_and_a_takeover_is_fenced(
    postgres: PostgresServer, uuid: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The commit reads the lease as it was when its statement began, and locks it after both changes."""
    old = PostgresStore(postgres.url(), uuid, 1, terms=Sleeper(60.0))
    row, gate = f"res = 'store/{uuid.hex()}'", 77
    slow_look = postgres_lease._READ.replace(
        "WHERE res = %s", f"WHERE res = %s AND pg_advisory_lock_shared({gate})::text IS NOT NULL"
    )
    assert slow_look != postgres_lease._READ
    with psycopg.connect(postgres.url(), autocommit=True) as other, ThreadPoolExecutor(1) as pool:
        other.execute(f"SELECT pg_advisory_lock({gate})".encode())
        monkeypatch.setattr(postgres_lease, "_READ", slow_look)
        commit = pool.submit(old.commit, [Append(1, b"old", b"")])
        until(lambda: waits_for_a_lock(postgres))
        monkeypatch.undo()
        postgres.sql(f"UPDATE heronry.lease SET expires = clock_timestamp() WHERE {row}")
        with closing(PostgresStore(postgres.url(), uuid, 2)) as new:
            other.execute(f"SELECT pg_advisory_unlock({gate})".encode())
            assert refusal(lambda: commit.result(LIMIT)).code == "FENCED"
            assert standing(new) == []
    old.close()


HOLDER = """
import sys
from mesh.errors import StoreError
from mesh.operations import Append
from mesh.store.lease import LeaseTiming
from mesh.features.postgres.store import PostgresStore

store = PostgresStore(sys.argv[1], bytes.fromhex(sys.argv[2]), 1, terms=LeaseTiming(6.0))
position = 1
try:
    while True:
        store.commit([Append(position, b"old", b"")])
        print(position, flush=True)
        position += 1
except StoreError as error:
    print(error.code)
"""


@contextmanager
def holder(postgres: PostgresServer, uuid: bytes) -> Iterator["subprocess.Popen[str]"]:
    """Yield a process that commits without a pause until a commit fails, and prints its answers."""
    command = [sys.executable, "-c", HOLDER, postgres.url(), uuid.hex()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def test_a_process_that_was_stopped_for_longer_than_its_lease_commits_nothing_any_more(
    postgres: PostgresServer, uuid: bytes
) -> None:
    with holder(postgres, uuid) as old:
        assert old.stdout is not None
        answered = [int(old.stdout.readline()) for _ in range(20)]
        old.send_signal(signal.SIGSTOP)
        with closing(PostgresStore(postgres.url(), uuid, 2, terms=LeaseTiming(60.0))) as new:
            held = loaded(new)
            new.commit([Append(held.next_position, b"new", b"")])
            old.send_signal(signal.SIGCONT)
            *more, code = old.stdout.read().split()
            answered += map(int, more)
            assert code in ("FENCED", "LEASE_LOST")
            headers = [header for _, header, _ in standing(new)]
    # Its last commit may be stored without an answer, but no commit after the takeover.
    assert headers == [b"old"] * (held.next_position - 1) + [b"new"]
    assert answered[-1] in (held.next_position - 1, held.next_position - 2)


def test_a_killed_process_is_followed_as_soon_as_its_lease_has_run_out(
    postgres: PostgresServer, uuid: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    with holder(postgres, uuid) as old:
        assert old.stdout is not None
        answered = [int(old.stdout.readline()) for _ in range(20)]
        old.kill()
        answered += map(int, old.stdout.read().split())
    with (
        caplog.at_level(logging.WARNING),
        closing(PostgresStore(postgres.url(), uuid, 2, terms=LeaseTiming(60.0))) as store,
    ):
        assert store.load().next_position in (answered[-1] + 1, answered[-1] + 2)
        assert lease(postgres, uuid) == (2, False)
    assert "waiting up to 60 s for the lease of boot 1 of node" in caplog.text
