"""PostgreSQL as a kind of store: checks addresses, and loads psycopg when a store is opened."""

# Law 1: a URL that passes the check contains no password, so it may be shown, logged and listed by `ps`.

import re

from mesh.errors import BadConfig, NotAvailable
from mesh.store.base import Store
from mesh.store.foreign import ForeignStoreKind

_URL = re.compile(r"postgres(?:ql)?://(?:[^@]*@)?[^@/?#\s]*(?:/[^@?#\s]*)?(?:\?(?P<rest>[^@#\s]*))?")
_SECRET = re.compile(r"(?:^|&)[^=&]*password[^=&]*=", re.IGNORECASE)


class Postgres(ForeignStoreKind):
    """The entry points `postgresql` and `postgres` of `mesh.stores`."""

    def check(self, address: str) -> None:
        found = _URL.fullmatch(address)
        is_named = bool(found and _SECRET.search(found["rest"] or ""))
        if is_named or _has_secret(address):
            why = "contains" if is_named else "has a colon before its last @, so it may contain"
            raise BadConfig(
                f"The address of a store {why} a password.",
                hint="Put the password into ~/.pgpass or PGPASSWORD; see "
                "https://www.postgresql.org/docs/current/libpq-pgpass.html. Write any other @ as %40.",
            )
        if not found:
            raise BadConfig(
                "The value is not a PostgreSQL address.",
                hint="Write it as postgresql://USER@HOST:5432/DATABASE?sslmode=require; "
                "an @ in a name is %40.",
            )

    def open(self, address: str, owner: bytes, boot: int) -> Store:
        _need_psycopg()
        from mesh.features.postgres.store import PostgresStore

        return PostgresStore(address, owner, boot)

    def check_openable(self, address: str) -> None:
        _need_psycopg()
        from mesh.features.postgres.store import PostgresStore

        PostgresStore.check_openable(address)


def _has_secret(text: str) -> bool:
    """Return whether a colon precedes the last @, as in an address with a password."""
    before, at, _ = text.partition("://")[2].rpartition("@")
    return bool(at) and ":" in before


def _need_psycopg() -> None:
    try:
        import mesh.features.postgres.connection  # noqa: F401
    except ImportError as error:
        raise NotAvailable(
            f"A store in PostgreSQL needs psycopg, which cannot be imported: {error}.",
            hint="Run:  pip install 'heronry[postgres]'",
        ) from error


postgres = Postgres()
