"""Fixtures of stores: each kind in turn, and PostgreSQL servers."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.features.postgres.store import PostgresStore
from mesh.store.base import Store
from mesh.store.memory import MemoryStore
from mesh.store.sqlite import SQLiteStore
from tests.postgres import PostgresServer, server_or_skip


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store
    if request.param == "postgres":  # requested late, so that others need no server
        made = PostgresStore(request.getfixturevalue("postgres").url(), secrets.token_bytes(16), 1)
    else:
        made = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "store.sqlite")
    yield made
    made.close()


@pytest.fixture
def uuid() -> bytes:
    return secrets.token_bytes(16)


@pytest.fixture(scope="module")
def own_server() -> Iterator[PostgresServer]:
    """Start a server that a test may crash, if the test leaves it running."""
    yield from server_or_skip()
