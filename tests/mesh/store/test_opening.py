"""Is the store opened that was chosen, and is what cannot be opened named?"""

import secrets
import subprocess
import sys
from pathlib import Path

import pytest

from mesh.errors import NotAvailable, StoreError
from mesh.store.memory import MemoryStore
from mesh.store.opening import open_store
from mesh.store.postgres import PostgresStore
from mesh.store.sqlite import SQLiteStore
from tests.postgres import PostgresServer


def test_each_name_opens_its_store(postgres: PostgresServer, tmp_path: Path) -> None:
    chosen = {"memory": MemoryStore, "sqlite": SQLiteStore, postgres.url(): PostgresStore}
    for name, kind in chosen.items():
        store = open_store(name, tmp_path / "store.sqlite", secrets.token_bytes(16), 1)
        assert type(store) is kind
        store.close()


def test_a_file_that_is_not_read_any_more_is_told_of(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "store.sqlite"
    for name, told in [("memory", False), ("sqlite", False), ("memory", True)]:
        open_store(name, path, bytes(16), 1).close()
        assert (f"{path} is not read: the store is memory" in caplog.text) == told


def test_without_psycopg_it_says_what_to_type(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("mesh.store.postgres", "mesh.store.postgres_connection"):
        monkeypatch.delitem(sys.modules, module, raising=False)
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as if it were not installed
    with pytest.raises(NotAvailable, match=r"pip install 'heronry\[postgres\]'"):
        open_store("postgresql://heron@db/mesh", tmp_path / "store.sqlite", bytes(16), 1)


def test_nobody_pays_for_psycopg_who_does_not_use_it() -> None:
    program = "import sys, mesh.store.opening; print('psycopg' in sys.modules)"
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
    assert result.stdout == "False\n"


def test_a_database_that_is_not_there_is_a_store_error(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="No such file or directory"):
        open_store("postgresql:///mesh?host=/nowhere", tmp_path / "store.sqlite", bytes(16), 1)
