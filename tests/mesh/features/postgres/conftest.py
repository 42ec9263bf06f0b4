"""Fixtures of stores, for the one in PostgreSQL."""

from tests.mesh.store.conftest import own_server, uuid

__all__ = ["own_server", "uuid"]
