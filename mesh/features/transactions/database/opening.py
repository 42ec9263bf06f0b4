"""Opens the database of a URL, for senders and commands."""

from __future__ import annotations

import re
import sqlite3
from typing import Any, NamedTuple

from mesh.errors import BadArgument, LocalError, NotAvailable
from mesh.features.transactions.database.adapter import Adapter
from mesh.features.transactions.database.adapters import PsycopgAdapter, SqliteAdapter

PATIENCE = 10.0  # s to wait for a lock or a connection
_URL = re.compile(r"(?P<kind>sqlite|postgres(?:ql)?)(?:\+\w+)?:(?P<rest>//.*)")
HINT = "Write sqlite:///FILE, or postgresql://USER@HOST/DATABASE."


class OpenDatabase(NamedTuple):
    """A connection of a blocking driver, and the class of the driver's errors."""

    adapter: Adapter
    errors: type[Exception]

    def close(self) -> None:
        self.adapter.connection.close()


def check_url(url: Any) -> tuple[bool, str]:
    """Return whether a URL is of SQLite, and the path, or the URL for psycopg. Raises: BadArgument."""
    if not isinstance(url, str):
        raise BadArgument("The URL of a database must be a str.", hint=HINT)
    found = _URL.fullmatch(url)
    if found is None:
        raise BadArgument(f"{_harmless(url)!r} is not the URL of a database.", hint=HINT)
    if found["kind"] == "sqlite":
        path = found["rest"].removeprefix("///")
        if not path or path == found["rest"] or path == ":memory:":
            raise BadArgument(f"{url!r} names no file.", hint="Write sqlite:///FILE.")
        return True, path
    return False, f"postgresql:{found['rest']}"


def open_database(url: str) -> OpenDatabase:
    """Open a database. Raises: BadArgument, NotAvailable without psycopg, or the driver's error."""
    is_sqlite, place = check_url(url)
    return _open_sqlite(place) if is_sqlite else _open_postgres(place)


def _open_sqlite(path: str) -> OpenDatabase:
    db = sqlite3.connect(path, timeout=PATIENCE, check_same_thread=False)
    db.execute("PRAGMA synchronous = FULL")
    return OpenDatabase(SqliteAdapter(db), sqlite3.Error)


def _open_postgres(url: str) -> OpenDatabase:
    try:
        import psycopg
    except ImportError as error:
        what = f"An outbox or inbox in PostgreSQL needs psycopg, which cannot be imported: {error}."
        raise NotAvailable(what, hint="Run:  pip install 'heronry[postgres]'") from error
    db = psycopg.connect(url, connect_timeout=round(PATIENCE), application_name="heronry outbox")
    return OpenDatabase(PsycopgAdapter(db), psycopg.Error)


def failed(url: str, error: Exception) -> LocalError:
    """Return the error for a failure of the database of a URL, without its password."""
    words = " ".join(str(error).split()).rstrip(".") or type(error).__name__
    what = f"The database {_harmless(url)} failed: {words}."
    return LocalError(what, hint="Check that it runs, and that its address is right.", code="DB_FAILED")


def _harmless(url: str) -> str:
    return re.sub(r"//([^:@/]*):[^@]*@", r"//\1:…@", url)
