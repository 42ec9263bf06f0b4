"""Fixtures of the stores, for the PostgreSQL store."""

from tests.mesh.store.conftest import own_server, uuid

__all__ = ["own_server", "uuid"]
