"""Checks the configured store of a node or queue."""

import re

from mesh.errors import BadConfig
from mesh.values import check_path

MEMORY, SQLITE = "memory", "sqlite"
FILE = "sqlite://"  # prefix of a store's absolute path

_URL = re.compile(r"postgres(?:ql)?://(?:[^@]*@)?[^@/?#\s]*(?:/[^@?#\s]*)?(?:\?(?P<rest>[^@#\s]*))?")
_SECRET = re.compile(r"(?:^|&)[^=&]*password[^=&]*=", re.IGNORECASE)

# Law 1: a URL that passes the check contains no password, so it may be shown, logged and listed by `ps`.


def check_store(text: str) -> None:
    """Raise BadConfig for an invalid store of a node.

    The error does not repeat a text that may contain a password.
    """
    if text in (MEMORY, SQLITE):
        return
    if not text.startswith(("postgresql://", "postgres://")):
        what = f"{text!r:.40}" if "@" not in text and "=" not in text else "the value"
        raise BadConfig(
            f"{what} is not a store.", hint="Use sqlite, memory or postgresql://USER@HOST/DATABASE."
        )
    found = _URL.fullmatch(text)
    if _has_secret(text) or (found and _SECRET.search(found["rest"] or "")):
        raise BadConfig(
            "The address of a store must not contain a password.",
            hint="Put the password into ~/.pgpass or PGPASSWORD; see "
            "https://www.postgresql.org/docs/current/libpq-pgpass.html.",
        )
    if not found:
        raise BadConfig(
            "The value is not a PostgreSQL address.",
            hint="Write it as postgresql://USER@HOST:5432/DATABASE?sslmode=require; an @ in a name is %40.",
        )


def check_queue_store(text: str) -> None:
    """Raise BadConfig for a store that a queue cannot have, such as the node's own ("sqlite")."""
    if text == MEMORY or not text.startswith("sqlite"):
        check_store(text)
        return
    path = text.removeprefix(FILE)
    if path == text or not path.startswith("/") or path.endswith("/"):
        what = (
            "The value 'sqlite' stands for the node's own store, and names no file"
            if text == SQLITE
            else f"The store {text!r:.80} names no file"
        )
        raise BadConfig(
            f"{what}.", hint="Name the file with its absolute path, such as sqlite:///var/lib/mesh/orders.db."
        )
    check_path(f"{text!r:.80}", path, BadConfig)
    if ".." in path.split("/"):
        raise BadConfig(f"The path {text!r:.80} contains `..`.", hint="Write the path without `..`.")


def file_of(text: str) -> str:
    """Return the file path of a `sqlite://` store; "" for any other store."""
    return text.removeprefix(FILE) if text.startswith(FILE) else ""


def _has_secret(text: str) -> bool:
    """Return whether a colon precedes the last @, as in an address with a password."""
    before, at, _ = text.partition("://")[2].rpartition("@")
    return bool(at) and ":" in before
