"""Which store does a node have, as it is configured?"""

import re

from mesh.errors import BadConfig

MEMORY, SQLITE = "memory", "sqlite"

_URL = re.compile(r"postgres(?:ql)?://(?:[^@]*@)?[^@/?#\s]*(?:/[^@?#\s]*)?(?:\?(?P<rest>[^@#\s]*))?")
_SECRET = re.compile(r"(?:^|&)[^=&]*password[^=&]*=", re.IGNORECASE)

# Law: a URL that passes holds no password, so that it may be shown, logged and seen by `ps`.


def check_store(text: str) -> None:
    """BadConfig, which does not repeat the text: it may hold a password."""
    if text in (MEMORY, SQLITE):
        return
    if not text.startswith(("postgresql://", "postgres://")):
        what = f"{text!r:.40}" if "@" not in text and "=" not in text else "this"
        raise BadConfig(
            f"{what} is no store.", hint="There are sqlite, memory and postgresql://USER@HOST/DATABASE."
        )
    found = _URL.fullmatch(text)
    if _has_secret(text) or (found and _SECRET.search(found["rest"] or "")):
        raise BadConfig(
            "a password does not belong into this address.",
            hint="Write it into ~/.pgpass or the environment's PGPASSWORD; "
            "https://www.postgresql.org/docs/current/libpq-pgpass.html says how.",
        )
    if not found:
        raise BadConfig(
            "this is not an address of PostgreSQL.",
            hint="One looks like postgresql://USER@HOST:5432/DATABASE?sslmode=require; @ in a name is %40.",
        )


def _has_secret(text: str) -> bool:
    """Does a : come before the last @, as it would with a password that holds odd characters?"""
    before, at, _ = text.partition("://")[2].rpartition("@")
    return bool(at) and ":" in before
