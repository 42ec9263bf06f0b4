"""How is PostgreSQL spoken to? The only code that knows psycopg, and sorts its failures into three kinds."""

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

logging.getLogger("psycopg").setLevel(logging.ERROR)  # it warns of what it raises anyway

CONNECTING = 3  # s that one try to connect may take

# Of an answer that never comes the kernel tells after six seconds or so, where there is a network between.
_NETWORK: dict[str, Any] = {
    "keepalives": 1,
    "keepalives_idle": 3,
    "keepalives_interval": 1,
    "keepalives_count": 3,
    "tcp_user_timeout": 6000,
}
_LIMITS = ("statement_timeout", "lock_timeout", "idle_in_transaction_session_timeout")


class FailureKind(Enum):
    """The kinds of failure, by what each means for what was asked."""

    AGAIN = "it may succeed if it is asked again; a commit may have been written"
    FULL = "there was no room, and nothing was written"
    FAILED = "it will not succeed"


# The first that an error's SQLSTATE begins with decides.
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
    """The database did not do what was asked. The text is the database's."""

    def __init__(self, kind: FailureKind, words: str) -> None:
        super().__init__(words)
        self.kind = kind


class Connection:
    """One connection, of one thread at a time; only `hang_up` may be called from another.

    No answer is waited for longer than the limits that `open` was told, as long as the server lives;
    where it does not, `hang_up` ends the waiting.
    """

    def __init__(self, db: "psycopg.Connection[Any]") -> None:
        self._db = db
        # A duplicate, since the library may close its own at any moment, and the number be another's then.
        self._socket = socket.socket(fileno=os.dup(db.fileno()))
        close_in_child(self, Connection._close_copies)

    @classmethod
    def open(cls, url: str, patience: float, longest: float) -> "Connection":
        """`patience`: seconds that a lock is waited for, and a transaction idles; `longest`: a statement."""
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
        """In a forked child: the session at the server shall end with the parent. Nothing is sent."""
        with contextlib.suppress(psycopg.Error):  # the library has closed its own
            number = self._db.fileno()
            if os.path.sameopenfile(number, self._socket.fileno()):
                os.close(number)
        self._socket.close()

    def execute(self, sql: str, values: Sequence[Any] | Mapping[str, Any] = ()) -> list[tuple[Any, ...]]:
        """The rows of the answer, none for a statement without rows."""
        with _told():
            cursor = self._db.execute(sql.encode(), values, binary=True)
            return cursor.fetchall() if cursor.description else []

    def execute_many(self, sql: str, rows: Sequence[Sequence[Any]]) -> None:
        """Once for each row, without waiting in between."""
        if rows:
            with _told(), self._db.cursor() as cursor:
                cursor.executemany(sql.encode(), rows)

    def stream(self, sql: str, values: Sequence[Any]) -> Iterator[tuple[Any, ...]]:
        """The rows of a large answer, fetched a few at a time; inside a transaction only."""
        with _told(), self._db.cursor(name="stream", binary=True) as cursor:
            cursor.itersize = 64
            cursor.execute(sql.encode(), values)
            yield from cursor

    @contextlib.contextmanager
    def transaction(self, how: str = "") -> Iterator[None]:
        """Commits at its end; rolls back when an exception leaves it."""
        self.execute(f"BEGIN {how}")
        try:
            yield
            self.execute("COMMIT")
        except BaseException:
            # Where it fails the connection is gone, and the transaction with it.
            with contextlib.suppress(Trouble):
                if self._db.info.transaction_status != TransactionStatus.IDLE:
                    self.execute("ROLLBACK")
            raise

    @property
    def is_broken(self) -> bool:
        return self._db.closed

    def hang_up(self) -> None:
        """Have whoever waits for an answer get an error now."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """A second time does no harm."""
        self._db.close()
        self._socket.close()


@contextlib.contextmanager
def _told() -> Iterator[None]:
    """The library's errors as Trouble."""
    try:
        yield
    except psycopg.Error as error:
        raise Trouble(_kind(error), _words(error)) from error


def _kind(error: psycopg.Error) -> FailureKind:
    if error.sqlstate is None:  # the server said nothing: it could not be reached, or is no longer there
        reached = isinstance(error, (psycopg.OperationalError, psycopg.InterfaceError))
        return FailureKind.AGAIN if reached else FailureKind.FAILED
    return next(
        (kind for begin, kind in _KINDS.items() if error.sqlstate.startswith(begin)), FailureKind.FAILED
    )


def _words(error: psycopg.Error) -> str:
    words = error.diag.message_primary or " ".join(str(error).split()) or type(error).__name__
    return words.rstrip(".?")
