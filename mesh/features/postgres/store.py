"""A store in PostgreSQL, which several nodes may share: each has its own rows, and a fencing lease."""

import contextlib
import logging
import os
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar
from uuid import UUID

from mesh.errors import StoreError, StoreFull
from mesh.features.postgres.connection import Connection, FailureKind, Trouble
from mesh.features.postgres.lease import Keeper, fence
from mesh.features.postgres.rows import (
    create_owner,
    read_all,
    read_counters,
    read_page,
    read_some,
    read_span,
    write_change,
)
from mesh.features.postgres.setup import check_settings, look_at, prepare
from mesh.operations import Image, Op, Positions, Span, Stored, StoreReach
from mesh.store.change import Change, StoreProgress, fold
from mesh.store.integrity import Audit, possible, within
from mesh.store.lease import LeaseClaim, LeaseTiming
from mesh.store.reading import Reading

_log = logging.getLogger("mesh.store")
T = TypeVar("T")


class PostgresStore:
    """A store in a database that may serve other nodes as well.

    Any thread may use it, but only one at a time. Opening raises StoreError: STORE_UNSAFE, STORE_VERSION,
    STORE_IN_USE, DATA_LOSS, or STORE with the database's text. Most later errors end the use of the store,
    for example FENCED when another process has taken it over, or LEASE_LOST when the database was unreachable
    for too long.
    """

    # Rule 1: each commit locks the lease's row first, then the row of the counters. Thus a process that takes
    #         over waits for the commit. An attempt whose connection broke has ended, one way or the other,
    #         before the next attempt reads the counters.
    # Rule 2: a commit is retried until it is known to be written, for the duration of one lease.

    def __init__(
        self,
        url: str,
        owner: bytes,
        boot: int,
        *,
        terms: LeaseTiming | None = None,
        allow_unsafe: bool = False,
    ) -> None:
        """Connect and take the lease. `url` has no password, so it can be shown.

        `allow_unsafe` accepts a server that may lose confirmed data.
        """
        self._url, self._owner, self._allow_unsafe = url, UUID(bytes=owner), allow_unsafe
        self._terms = terms or LeaseTiming()
        place = f"{socket.gethostname()}, process {os.getpid()}"
        self._claim = LeaseClaim(f"store/{owner.hex()}", owner, boot, place)
        self._end: StoreError | None = None  # why the store must no longer be used
        self._closed = False
        try:
            self._connection = self._connect()
            try:
                prepare(self._connection, url)
                self._keeper = Keeper(self._reach, self._claim, self._terms, self._create, self._hang_up)
            except BaseException:
                self._connection.close()
                raise
            try:
                self._counters = self._read_counters()
            except BaseException:
                self.close()
                raise
        except Trouble as trouble:
            raise self._failure(trouble) from trouble

    @classmethod
    def check_openable(cls, url: str) -> None:
        """Check, without changing it, that the store can be opened. Raises: StoreError."""
        store = cls.__new__(cls)
        store._url, store._terms, store._allow_unsafe = url, LeaseTiming(), False
        try:
            with contextlib.closing(store._connect()) as connection:
                look_at(connection, url)
        except Trouble as trouble:
            raise store._failure(trouble) from trouble

    def load(self) -> Image:
        self._check_usable()
        audit = Audit()
        try:
            counters, tables = read_all(self._connection, self._owner, audit)
        except Trouble as trouble:
            self._keeper.check_lease()
            raise self._failure(trouble) from trouble
        self._judge(audit)
        return Image(Reading(self._envelopes), tables, counters.next_position, counters.reach)

    def read(self, positions: Positions) -> list[Stored]:
        self._check_usable()
        if isinstance(positions, Span):
            span = within(positions, self.reach.log)
            if span is None:
                return []
            return self._read_verified(lambda db, audit: read_span(db, self._owner, span, audit))
        wanted = possible(positions, self.reach.log)
        return self._read_verified(lambda db, audit: read_some(db, self._owner, wanted, audit))

    def commit(self, ops: Sequence[Op]) -> None:
        self._check_usable()
        change = fold(ops, self._counters.next_position)
        if not change:
            return
        after = StoreProgress(change.next_position, self._counters.commits + 1)
        try:
            self._write(change, after)
        except StoreError as error:
            if not isinstance(error, StoreFull):
                self._end = error
            raise
        self._counters = after

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self._connection.close()
            self._keeper.close()

    @property
    def reach(self) -> StoreReach:
        return self._counters.reach

    def _envelopes(self) -> Iterator[Stored]:
        last = 0
        while page := self._page(last):
            yield from page
            last = page[-1][0]

    def _page(self, after: int) -> list[Stored]:
        self._check_usable()
        return self._read_verified(lambda db, audit: read_page(db, self._owner, after, audit))

    def _read_verified(self, question: Callable[[Connection, Audit], T]) -> T:
        """Return the result of the query `question`, if no damage was found.

        After a broken connection the query is retried, for the duration of one lease.
        """
        begun, tried = time.monotonic(), False
        while True:
            self._keeper.check_lease()
            audit = Audit()
            try:
                answer = question(self._connected(), audit)
            except Trouble as trouble:
                is_late = tried and time.monotonic() - begun > self._terms.ttl
                if is_late or trouble.kind is not FailureKind.AGAIN:
                    raise self._failure(trouble) from trouble
                tried = True
                self._keeper.pause()
            else:
                self._judge(audit)
                return answer

    def _write(self, change: Change, after: StoreProgress) -> None:
        begun, tried = time.monotonic(), False
        while not self._try(change, after, tried):
            # The lease may be renewed although this commit never succeeds, as when a statement is too slow.
            # The first try is exempt: only a second one shows what happened while the process was suspended.
            if tried and time.monotonic() - begun > self._terms.ttl:
                raise StoreError(
                    f"{self._url} did not accept a commit within {self._terms.ttl:g} s, despite retries.",
                    hint="See the log of the database for the cause, then restart the node.",
                )
            tried = True
            self._keeper.pause()

    def _try(self, change: Change, after: StoreProgress, tried: bool) -> bool:
        """Return whether the change is written. With `tried`, an earlier attempt may have written it."""
        self._keeper.check_lease()
        unwritten = not tried
        try:
            db = self._connected()
            with db.transaction():
                fence(db, self._claim, self._keeper.epoch)
                if self._is_written(after, tried):
                    return True
                unwritten = True
                write_change(db, self._owner, change, after.commits)
            return True
        except Trouble as trouble:
            if trouble.kind is FailureKind.FULL and unwritten:
                raise self._full(trouble) from trouble
            if trouble.kind is FailureKind.FAILED:
                raise self._failure(trouble) from trouble
            if not tried:
                _log.warning("%s: %s; trying again", self._url, trouble)
            return False

    def _is_written(self, after: StoreProgress, tried: bool) -> bool:
        """Return whether the commit was written, and lock the counters until this transaction ends.

        Raises: StoreError if the counters show other commits than those of this process.
        """
        audit = Audit()
        found = read_counters(self._connection, self._owner, audit, lock=True)
        self._judge(audit)
        if found == self._counters or (tried and found == after):
            return found == after
        raise StoreError(
            f"The commit counter of this node in {self._url} is {found.commits} instead of "
            f"{self._counters.commits}.",
            hint="The database may have been restored from a copy, or be a replica that is behind. Provide "
            "the newest state, then restart the node.",
            code="STORE_ROLLED_BACK",
        )

    def _connect(self) -> Connection:
        connection = self._reach()
        try:
            if not self._allow_unsafe:
                check_settings(connection, self._url)
        except BaseException:
            connection.close()
            raise
        return connection

    def _reach(self) -> Connection:
        return Connection.open(self._url, self._terms.patience, self._terms.useful)

    def _connected(self) -> Connection:
        if self._connection.is_broken:
            self._connection.close()
            self._connection = self._connect()
            self._keeper.check_lease()  # a lost lease cannot close this connection
        return self._connection

    def _hang_up(self) -> None:
        self._connection.hang_up()

    def _create(self, db: Connection) -> None:
        create_owner(db, self._owner)

    def _read_counters(self) -> StoreProgress:
        audit = Audit()
        count = read_counters(self._connection, self._owner, audit)
        self._judge(audit)
        return count

    def _check_usable(self) -> None:
        if self._closed:
            raise StoreError(f"The store in {self._url} is closed.")
        if self._end is not None:
            raise StoreError(
                f"The store in {self._url} has stopped: {self._end.what}",
                hint=self._end.hint or "Restart the node.",
                code=self._end.code,
            )
        self._keeper.check_lease()

    def _judge(self, audit: Audit) -> None:
        if audit.losses:
            self._end = StoreError(
                f"{self._url} has lost data that was written to it: {audit.losses}.",
                hint="Restore the database from a copy, or use another one to start with an empty store.",
                code="DATA_LOSS",
            )
            raise self._end

    def _full(self, trouble: Trouble) -> StoreFull:
        return StoreFull(
            f"{self._url} is out of disk space or memory ({trouble}); nothing of this commit was written.",
            hint="Free some there; the node continues by itself.",
        )

    def _failure(self, trouble: Trouble) -> StoreError:
        self._end = StoreError(
            f"{self._url} failed: {trouble}.",
            hint="Check that the database runs, that the address is right, and that this user has access. A "
            "password belongs in ~/.pgpass or PGPASSWORD.",
        )
        return self._end
