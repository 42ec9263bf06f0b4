"""Takes, renews and releases leases in PostgreSQL."""

import contextlib
import logging
import time
from collections.abc import Callable
from threading import Event, Thread, Timer
from uuid import UUID

from mesh.errors import StoreError
from mesh.features.postgres.connection import Connection, FailureKind, Trouble
from mesh.store.lease import (
    LEASE_LOST,
    Lease,
    LeaseClaim,
    LeaseTiming,
    may_serve,
    may_take,
    pause,
    refusal,
    serves_until,
)

_log = logging.getLogger("mesh.store")

_READ = (
    "SELECT holder, boot, place, epoch, extract(epoch FROM expires - clock_timestamp())::float8 "
    "FROM (SELECT * FROM heronry.lease WHERE res = %s {lock}) AS lease"
)
_FIRST = "INSERT INTO heronry.lease VALUES (%s, %s, %s, %s, 0, to_timestamp(0)) ON CONFLICT DO NOTHING"
_TAKE = (
    "UPDATE heronry.lease SET holder = %s, boot = %s, place = %s, epoch = epoch + 1, "
    "expires = clock_timestamp() + make_interval(secs => %s) WHERE res = %s RETURNING epoch"
)
_RENEW = (
    "UPDATE heronry.lease SET expires = clock_timestamp() + make_interval(secs => %s) "
    "WHERE res = %s AND epoch = %s AND expires > clock_timestamp() RETURNING epoch"
)
_RELEASE = "UPDATE heronry.lease SET expires = clock_timestamp() WHERE res = %s AND epoch = %s"


def read(db: Connection, resource: str, lock: str = "") -> Lease | None:
    """Return the lease in the database, or `None`.

    `lock` is an SQL locking clause for the row, which applies until the transaction ends.
    """
    rows = db.execute(_READ.format(lock=lock), (resource,))
    return Lease(rows[0][0].bytes, *rows[0][1:]) if rows else None


def acquire(db: Connection, claim: LeaseClaim, terms: LeaseTiming) -> int | Lease:
    """Take the lease in the caller's transaction. Return the new epoch, or the lease of another holder."""
    me = (UUID(bytes=claim.holder), claim.boot, claim.place)
    db.execute(_FIRST, (claim.resource, *me))
    there = read(db, claim.resource, "FOR UPDATE")
    assert there is not None
    if not may_take(there):
        return there
    return int(db.execute(_TAKE, (*me, terms.ttl, claim.resource))[0][0])


def fence(db: Connection, claim: LeaseClaim, epoch: int) -> None:
    """Prevent a takeover until this transaction ends. Raises: StoreError if the lease is lost.

    The row is locked, because a mere check would let a holder commit after a takeover. A takeover locks the
    row FOR UPDATE and waits for this transaction. A renewal changes no key, so it does not wait.
    The remaining time of the lease is measured after the wait for the lock.
    """
    lease = read(db, claim.resource, "FOR KEY SHARE")
    if why := refusal(lease, epoch):
        raise lost(claim, why, lease, epoch)


def lost(claim: LeaseClaim, code: str, lease: Lease | None, epoch: int, words: str = "") -> StoreError:
    if code == LEASE_LOST:
        return StoreError(
            f"The lease on {claim.resource} in PostgreSQL expired before it could be renewed{words}.",
            hint="Check the database, the network to it, and whether this process was suspended; then "
            "restart the node.",
            code=code,
        )
    if lease is None or lease.epoch < epoch:
        what = "was deleted from the database"
        if lease is not None:
            what = f"has epoch {lease.epoch}, below epoch {epoch} of this process"
        return StoreError(
            f"The lease row of {claim.resource} in PostgreSQL {what}.",
            hint="Check whether the tables were restored or emptied, then restart the node.",
            code=code,
        )
    return StoreError(
        f"Another process has taken over {claim.resource} in PostgreSQL: {lease}.",
        hint="Only one process may run this node. If the other process is the intended one, leave this one "
        "stopped.",
        code=code,
    )


class Keeper:
    """Holds and renews a lease, on its own connection, until it is released or lost.

    One thread renews, and another watches the clock, since an answer may never come. When the lease is lost,
    the thread that detects the loss calls `on_loss`; it can be a thread that called `check_lease`.
    """

    def __init__(
        self,
        reach: Callable[[], Connection],
        claim: LeaseClaim,
        terms: LeaseTiming,
        first: Callable[[Connection], None],
        on_loss: Callable[[], None],
    ) -> None:
        """Take the lease. `reach` opens a connection; `first` runs in the transaction that creates the lease.

        If another process has the lease, wait a little longer than one lease for its release or expiry.
        Raises: StoreError STORE_IN_USE; Trouble if the database fails.
        """
        self._reach, self._claim, self._terms, self._on_loss = reach, claim, terms, on_loss
        self._words = ""  # the database's text for a failed renewal
        self._loss: StoreError | None = None
        self._ending = Event()
        self._connection = reach()
        try:
            self.epoch = self._obtain(first)
        except BaseException:
            self._connection.close()
            raise
        # Daemon threads: if the process ends, the lease expires by itself.
        self._threads = [
            Thread(target=self._renewing, name="mesh-lease", daemon=True),
            Thread(target=self._watching, name="mesh-lease-watch", daemon=True),
        ]
        for thread in self._threads:
            thread.start()

    def check_lease(self) -> None:
        """Raise StoreError if the store must no longer be used."""
        if not may_serve(self._sent, time.monotonic(), self._terms):
            self._lose(LEASE_LOST)
        if self._loss is not None:
            raise self._loss

    def pause(self) -> None:
        """Wait before a retry, but at most until the lease is released or lost."""
        self._ending.wait(self._terms.retry)

    def close(self) -> None:
        """Release the lease, so that the next holder need not wait."""
        self._ending.set()
        limit = Timer(self._terms.patience, lambda: self._connection.hang_up())
        limit.start()
        for thread in self._threads:
            thread.join()
        if self._loss is None:
            self._release()
        limit.cancel()
        limit.join()
        self._connection.close()

    def _obtain(self, first: Callable[[Connection], None]) -> int:
        self._sent = begun = time.monotonic()
        there = self._try(first)
        if not isinstance(there, int):
            _log.warning("waiting up to %g s for the lease of %s", self._terms.ttl, there)
        while not isinstance(there, int):
            if time.monotonic() > begun + 1.1 * self._terms.ttl:
                raise _in_use(self._claim, there)
            time.sleep(self._terms.retry)
            self._sent = time.monotonic()
            there = self._try(first)
        return there

    def _try(self, first: Callable[[Connection], None]) -> int | Lease | None:
        """Return the new epoch, or the lease of another holder, or `None` if no lease can be read."""
        try:
            with self._connection.transaction():
                taken = acquire(self._connection, self._claim, self._terms)
                if taken == 1:
                    first(self._connection)
                return taken
        except Trouble as trouble:
            if trouble.kind is not FailureKind.AGAIN or self._connection.is_broken:
                raise
            return read(self._connection, self._claim.resource)

    def _release(self) -> None:
        for _ in range(2):  # a broken connection may show only now
            with contextlib.suppress(Trouble):
                self._connected().execute(_RELEASE, (self._claim.resource, self.epoch))
                return

    def _connected(self) -> Connection:
        if self._connection.is_broken:
            self._connection.close()
            self._connection = self._reach()
        return self._connection

    def _renewing(self) -> None:
        failed = False
        while not self._ending.wait(pause(self._sent, failed, time.monotonic(), self._terms)):
            try:
                self._renew()
                failed, self._words = False, ""
            except Trouble as trouble:
                failed, self._words = True, f": {trouble}"

    def _renew(self) -> None:
        db, resource = self._connected(), self._claim.resource
        sent = time.monotonic()
        if db.execute(_RENEW, (self._terms.ttl, resource, self.epoch)):
            self._sent = sent
        else:
            lease = read(db, resource)
            self._lose(refusal(lease, self.epoch) or LEASE_LOST, lease)

    def _watching(self) -> None:
        while not self._ending.wait(max(0.0, serves_until(self._sent, self._terms) - time.monotonic())):
            with contextlib.suppress(StoreError):
                self.check_lease()

    def _lose(self, code: str, lease: Lease | None = None) -> None:
        if self._loss is None:
            self._loss = lost(self._claim, code, lease, self.epoch, self._words)
            self._ending.set()
            self._connection.hang_up()
            self._on_loss()


def _in_use(claim: LeaseClaim, lease: Lease | None) -> StoreError:
    if lease is None or may_take(lease):
        return StoreError(
            f"The lease on {claim.resource} in PostgreSQL was not taken: the database rejected the last "
            "attempt.",
            hint="See the log of the database for the cause, then start the node again.",
            code="STORE_IN_USE",
        )
    return StoreError(
        f"{claim.resource} in PostgreSQL is open in another process: {lease}.",
        hint="Stop that process, or give this node another data directory.",
        code="STORE_IN_USE",
    )
