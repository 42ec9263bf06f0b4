"""Connections to PostgreSQL, the only code that uses psycopg. Failures are sorted into three kinds."""

import contextlib
import logging
import os
import socket
from collections.abc import Iterator, Mapping, Sequence
from enum import Enum
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus

from mesh.forks import close_in_child

logging.getLogger("psycopg").setLevel(logging.ERROR)  # its warnings are raised as well

CONNECTING = 3  # s for one attempt to connect

# Over a network, the kernel reports a lost peer after about six seconds.
_NETWORK: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 3,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 6000,
}
_LIMITS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")


class FailureKind(Enum):
    """Kinds of failure, by whether the request can be retried."""

    AGAIN = "a retry may succeed; a commit may have been written"
    FULL = "there was no space, and nothing was written"
    FAILED = "a retry will not succeed"


# The first key that is a prefix of an error's SQLSTATE decides.
_KINDS = {
    "53300": FailureKind.AGAIN,  # too many connections
    "53": FailureKind.FULL,  # disk full, out of memory
    "08": FailureKind.AGAIN,  # connection exceptions
    "57P": FailureKind.AGAIN,  # the server stops, has crashed, or is starting
    "57014": FailureKind.AGAIN,  # statement_timeout
    "55P03": FailureKind.AGAIN,  # lock_timeout
    "25P03": FailureKind.AGAIN,  # idle_in_transaction_session_timeout
    "40": FailureKind.AGAIN,  # rolled back for the sake of another transaction
}


class Trouble(Exception):
    """A failure of the database, with its kind and the database's text."""

    def __init__(self, kind: FailureKind, words: str) -> None:
        super().__init__(words)
        self.kind = kind


class Connection:
    """A connection, used by one thread at a time. Only `hang_up` is thread-safe.

    A request ends within the limits given to `open` while the server is alive. If the server is dead,
    `hang_up` ends the wait.
    """

    def __init__(self, db: "psycopg.Connection[Any]") -> None:
        self._db = db
        # A duplicate: the library may close its own at any moment, and the number be reused.
        self._socket = socket.socket(fileno=os.dup(db.fileno()))
        close_in_child(self, Connection._close_copies)

    @classmethod
    def open(cls, url: str, patience: float, longest: float) -> "Connection":
        """Connect to the database.

        `patience` limits lock waits and idle transactions, `longest` a statement, both in seconds.
        """
        with _told():
            db = psycopg.connect(
                url,
                autocommit=True,
                connect_timeout=CONNECTING,
                application_name="heronry",
                client_encoding="utf8",
                **_NETWORK,
            )
        connection = cls(db)
        try:
            for limit, seconds in zip(_LIMITS, (longest, patience, patience), strict=True):
                connection.execute("SELECT set_config(%s, %s, false)", (limit, f"{seconds * 1000:.0f}ms"))
        except BaseException:
            connection.close()
            raise
        return connection

    def _close_copies(self) -> None:
        """Close a forked child's copies of the descriptors without sending: the parent keeps the session."""
        with contextlib.suppress(psycopg.Error):  # closed by the library
            number = self._db.fileno()
            if os.path.sameopenfile(number, self._socket.fileno()):
                os.close(number)
        self._socket.close()

    def execute(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """Execute a statement, and return its rows: none if it is not a query."""
        with _told():
            cursor = self._db.execute(sql.encode(), values, binary=True)
            return cursor.fetchall() if cursor.description else []

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        if rows:
            with _told(), self._db.cursor() as cursor:
                cursor.executemany(sql.encode(), rows)

    def stream(self, sql: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """Yield the rows of a large answer in small batches. The caller must be inside a transaction."""
        with _told(), self._db.cursor(name="stream", binary=True) as cursor:
            cursor.itersize = 64
            cursor.execute(sql.encode(), values)
            yield from cursor

    @contextlib.contextmanager
    def transaction(self, how: str = "") -> Iterator[None]:
        """Run a transaction: commit at the end, roll back after an exception. `how` follows BEGIN."""
        self.execute(f"BEGIN {how}")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            # If the rollback fails, the connection is broken, and the transaction ends with it.
            with contextlib.suppress(Trouble):
                if self._db.info.transaction_status != TransactionStatus.IDLE:
                    self.execute("ROLLBACK")
            raise

    @property
    def is_broken(self) -> bool:
        return self._db.closed

    def hang_up(self) -> None:
        """Shut down the socket, so that a thread waiting for an answer fails immediately. Thread-safe."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Close the connection. Idempotent."""
        self._db.close()
        self._socket.close()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    try:
        yield
    except psycopg.Error as error:
        raise Trouble(_kind(error), _words(error)) from error


def _kind(error: psycopg.Error) -> FailureKind:
    if error.sqlstate is None:  # no answer: unreachable or disconnected
        reached = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
        return FailureKind.AGAIN if reached else FailureKind.FAILED
    return next(
        (kind for begin, kind in _KINDS.items() if error.sqlstate.startswith(begin)), FailureKind.FAILED
    )


def _words(error: psycopg.Error) -> str:
    words = error.diag.message_primary or " ".join(str(error).split()) or type(error).__name__
    return words.rstrip(".?")
