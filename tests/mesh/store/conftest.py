"""Each store in its turn: what is a law for one is a law for all."""

import secrets
from collections.abc import Iterator
from pathlib import Path

import pytest

from mesh.store.base import Store
from mesh.store.memory import MemoryStore
from mesh.store.postgres import PostgresStore
from mesh.store.sqlite import SQLiteStore


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    made: Store
    if request.param == "postgres":  # only now, so that the others need no server
        made = PostgresStore(request.getfixturevalue("postgres").url(), secrets.token_bytes(16), 1)
    else:
        made = MemoryStore() if request.param == "memory" else SQLiteStore(tmp_path / "store.sqlite")
    yield made
    made.close()
