"""Checks the settings of a PostgreSQL server, and creates or upgrades the tables."""

from mesh.errors import StoreError
from mesh.features.postgres.connection import Connection
from mesh.features.postgres.rows import SCHEMA, UPGRADE, VERSION

_PER_USER = "synchronous_commit"  # roles and databases may set it, too
# If one of these is off, a crash can lose or damage confirmed data.
_NEEDED = ("fsync", "full_page_writes", _PER_USER)
_EARLIER = 1  # the version that can be upgraded
_MAKER = "SELECT tableowner::text FROM pg_tables WHERE (schemaname, tablename) = ('heronry', 'lease')"
_LOCK = 0x6865726F6E7279  # any number that all nodes share


def check_settings(db: Connection, url: str) -> None:
    """Raise StoreError STORE_UNSAFE if the server may lose confirmed data."""
    query = "SELECT name FROM pg_settings WHERE name = ANY(%s::text[]) AND setting = 'off' ORDER BY name"
    if found := [row[0] for row in db.execute(query, ([*_NEEDED],))]:
        are_off = f"{' and '.join(found)} {'is' if len(found) == 1 else 'are'} off"
        settings = "; ".join(f"ALTER SYSTEM SET {name} = on" for name in found)
        of_user = ""
        if _PER_USER in found:
            of_user = f" A setting of {_PER_USER} for the role or the database overrides that of the server."
        raise StoreError(
            f"{url} may lose confirmed data in a crash, because {are_off}.",
            hint=f"Run {settings}; or change the configuration file. Then reload the server.{of_user}",
            code="STORE_UNSAFE",
        )


def prepare(db: Connection, url: str) -> None:
    """Create the tables if they are missing, or upgrade those of the previous release.

    Raises: StoreError STORE_VERSION if another release made the tables and this user may not upgrade them.
    """
    if not _is_there(db) or _may_upgrade(db):
        with db.transaction():
            # Two nodes may arrive at the same time: IF NOT EXISTS alone fails for one of them.
            db.execute("SELECT pg_advisory_xact_lock(%s)", (_LOCK,))
            if not _is_there(db):
                _make(db)
            elif _may_upgrade(db):
                for statement in UPGRADE:
                    db.execute(statement)
    _check_version(db, url)


def look_at(db: Connection, url: str) -> None:
    """Check, without changing the database, that `prepare` would succeed.

    Raises: as `prepare`, and StoreError STORE if this user may not create tables.
    """
    if _is_there(db):
        if not _may_upgrade(db):
            _check_version(db, url)
        return
    made = db.execute(
        "SELECT has_schema_privilege(oid, 'CREATE') FROM pg_namespace WHERE nspname = 'heronry'"
    )
    if not (made or db.execute("SELECT has_database_privilege(current_database(), 'CREATE')"))[0][0]:
        name, user = db.execute("SELECT quote_ident(current_database()), quote_ident(current_user)")[0]
        what = f"{url} has no stores yet, and the user {user} may not create their tables."
        place, owned = ("SCHEMA heronry", "schema") if made else (f"DATABASE {name}", "database")
        raise StoreError(what, hint=f"As the owner of the {owned}, run GRANT CREATE ON {place} TO {user}.")


def _check_version(db: Connection, url: str) -> None:
    found = _versions(db)
    if found == [VERSION]:
        return
    shown = ", ".join(map(str, found)) or "unknown"
    hint = "Use the release that wrote them, or another database to start with an empty store."
    if found == [_EARLIER]:
        hint = f"Start a node of this release once as the user {_maker(db)}, who owns the tables."
    raise StoreError(
        f"{url} has stores of another release: version {shown} instead of {VERSION}.",
        hint=hint,
        code="STORE_VERSION",
    )


def _versions(db: Connection) -> list[int]:
    return [row[0] for row in db.execute("SELECT version FROM heronry.version")]


def _may_upgrade(db: Connection) -> bool:
    return _versions(db) == [_EARLIER] and bool(db.execute(f"{_MAKER} AND pg_has_role(tableowner, 'USAGE')"))


def _maker(db: Connection) -> str:
    return str(db.execute(_MAKER)[0][0])


def _make(db: Connection) -> None:
    # An administrator may have created the schema for a user who must not create one, not even with IF NOT
    # EXISTS.
    if not db.execute("SELECT 1 FROM pg_namespace WHERE nspname = 'heronry'"):
        db.execute("CREATE SCHEMA heronry")
    for statement in SCHEMA:
        db.execute(statement)


def _is_there(db: Connection) -> bool:
    # to_regclass uses this session's cache, which misses tables that others have just created.
    return bool(db.execute("SELECT 1 FROM pg_tables WHERE (schemaname, tablename) = ('heronry', 'version')"))
