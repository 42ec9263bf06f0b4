"""Is this database one to rely on, and are our tables in it?"""

from mesh.errors import StoreError
from mesh.store.postgres_connection import Connection
from mesh.store.postgres_rows import SCHEMA, VERSION

# With any of these off the server says "committed" of what a crash can take back, or mix up.
_NEEDED = ("fsync", "full_page_writes", "synchronous_commit")
_LOCK = 0x6865726F6E7279  # any number that all nodes have in common


def check_settings(db: Connection, url: str) -> None:
    """StoreError STORE_UNSAFE if this server would lose what it has confirmed."""
    query = "SELECT name FROM pg_settings WHERE name = ANY(%s::text[]) AND setting = 'off' ORDER BY name"
    if found := [row[0] for row in db.execute(query, ([*_NEEDED],))]:
        raise StoreError(
            f"{url} would lose in a crash what it has confirmed: {', '.join(found)} is off there.",
            hint=f"ALTER SYSTEM SET {found[0]} = on, or wherever it is set, then reload the server.",
            code="STORE_UNSAFE",
        )


def prepare(db: Connection, url: str) -> None:
    """Make our tables where there are none. StoreError STORE_VERSION if another release made them."""
    if not _is_there(db):
        with db.transaction():
            # Two nodes may come first at once: IF NOT EXISTS alone fails for one of them.
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if not _is_there(db):
                _make(db)
    _check_version(db, url)


def look_at(db: Connection, url: str) -> None:
    """Would `prepare` succeed? StoreError as there, and STORE if this user may make no tables."""
    if _is_there(db):
        _check_version(db, url)
        return
    made = db.execute(
        "SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = 'heronry'"
    )
    if not (made or db.execute("SELECT has_database_privilege(current_database(), 'CREATE')"))[0][0]:
        what = f"{url} holds no stores yet, and this user may not make the tables for them."
        raise StoreError(what, hint="GRANT CREATE ON DATABASE … TO …, as its owner.")


def _check_version(db: Connection, url: str) -> None:
    found = [row[0] for row in db.execute("SELECT version FROM heronry.version")]
    if found != [VERSION]:
        raise StoreError(
            f"{url} does not hold stores of this release: their version is {found}, not {VERSION}.",
            hint="Use the release that wrote them, or another database to start with an empty store.",
            code="STORE_VERSION",
        )


def _make(db: Connection) -> None:
    # It may have been made for a user who may not make one, and who may then not even say IF NOT EXISTS.
    if not db.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'heronry'"):
        db.execute("CREATE SCHEMA heronry")
    for statement in SCHEMA:
        db.execute(statement)


def _is_there(db: Connection) -> bool:
    # Not by to_regclass, which goes by what this session remembers and misses what others have just made.
    return bool(db.execute("SELECT 1 FROM pg_tables WHERE (schemaname, tablename) = ('heronry', 'version')"))
