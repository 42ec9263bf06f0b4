"""Versions of the tables of outbox and inbox."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

import mesh
from mesh.features.transactions.database import schema
from mesh.features.transactions.database.adapter import Adapter, drive
from mesh.features.transactions.database.adapters import adapter_of
from mesh.features.transactions.database.dialect import SQLITE, Dialect
from mesh.features.transactions.database.schema import check_version, migrate, statements, version_of

BROKEN = "INSERT INTO nowhere VALUES (1)"


@pytest.fixture
def adapter(tmp_path: Path) -> Iterator[Adapter]:
    with closing(sqlite3.connect(tmp_path / "shop.db")) as db:
        yield adapter_of(db)


def _second(d: Dialect) -> tuple[str, ...]:
    return (
        "ALTER TABLE heronry_inbox ADD COLUMN note text",
        "UPDATE heronry_meta SET value = '2' WHERE name = 'version'",
    )


def test_tables_of_an_older_release_are_migrated(adapter: Adapter, monkeypatch: pytest.MonkeyPatch) -> None:
    """Law 1."""
    assert (drive(version_of(adapter)), drive(migrate(adapter)), drive(version_of(adapter))) == (0, 0, 1)
    seeds = drive(adapter.execute("SELECT seed FROM heronry_stream"))
    monkeypatch.setattr(schema, "VERSION", 2)
    monkeypatch.setitem(schema.MIGRATIONS, 2, lambda d: (*_second(d), BROKEN))
    with pytest.raises(mesh.LocalError) as raised:
        drive(check_version(adapter))
    assert raised.value.code == "DB_VERSION" and "init-db" in raised.value.hint
    with pytest.raises(sqlite3.OperationalError):
        drive(migrate(adapter))
    assert drive(version_of(adapter)) == 1  # nothing of it is there
    monkeypatch.setitem(schema.MIGRATIONS, 2, _second)
    assert (drive(migrate(adapter)), drive(version_of(adapter))) == (1, 2)
    drive(adapter.execute("SELECT note FROM heronry_inbox"))
    assert drive(adapter.execute("SELECT seed FROM heronry_stream")) == seeds


def test_the_statements_since_a_version() -> None:
    assert statements(SQLITE, since=schema.VERSION) == []
    assert any("heronry_outbox" in each for each in statements(SQLITE))


def test_tables_of_a_newer_release_are_not_changed(adapter: Adapter) -> None:
    """Law 2."""
    drive(migrate(adapter))
    drive(adapter.execute("UPDATE heronry_meta SET value = '9' WHERE name = 'version'"))
    drive(adapter.commit())
    with pytest.raises(mesh.LocalError) as raised:
        drive(migrate(adapter))
    assert raised.value.code == "DB_VERSION"
