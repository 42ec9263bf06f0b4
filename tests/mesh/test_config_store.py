"""Texts that name a store, and refusals that do not repeat a password."""

import pytest

from mesh.config import load
from mesh.config_store import NoSuchKind, check_store
from mesh.errors import BadConfig


@pytest.mark.parametrize(
    "text",
    [
        "sqlite",
        "memory",
        "postgresql://heron@db.example.com/mesh",
        "postgres://db/mesh",
        "postgresql://",
        "postgresql://heron@[::1]:5432/mesh",
        "postgresql://heron@a:5432,b:5433/mesh?sslmode=require",
        "postgresql://heron@/mesh?host=%2Fvar%2Frun%2Fpostgresql",
        "postgresql://%40dmin@db/mesh",
        "postgresql://heron@db/mesh?passfile=/etc/mesh/pgpass",
    ],
)
def test_it_names_a_store(text: str) -> None:
    check_store(text)


@pytest.mark.parametrize(
    "text",
    [
        "postgresql://heron:hush@db/mesh",
        "postgresql://heron:hush@",
        "postgresql://heron:12/hush@db/mesh",
        "postgresql://heron:12?hush@db/mesh",
        "postgresql://heron:12#hush@db/mesh",
        "postgres://h:hush @db",
        "postgresql://heron:hu@sh@db/mesh",
        "postgresql://heron@db/mesh?password=hush",
        "postgresql://heron@db/mesh?sslmode=require&sslPassword=hush",
    ],
)
def test_a_password_in_the_address_is_refused_and_not_repeated(text: str) -> None:
    with pytest.raises(BadConfig, match=r"node\.store: The address of a store") as refused:
        load(None, {"MESH_NODE__STORE": text}, {})
    assert "hush" not in str(refused.value)
    assert "~/.pgpass or PGPASSWORD" in refused.value.hint


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("SQLite", "'SQLite' is not a store"),
        ("", "'' is not a store"),
        ("mysql://db", "No store of the kind 'mysql' is installed"),
        ("host=db password=hush", "The value is not a store"),
        ("mysql://heron:hush@db", "No store of the kind 'mysql' is installed"),
        ("postgresql://heron@db/mesh more", "not a PostgreSQL address"),
        ("postgresql://heron@db/mesh#more", "not a PostgreSQL address"),
    ],
)
def test_anything_else_is_refused(text: str, words: str) -> None:
    with pytest.raises(BadConfig, match=words) as refused:
        check_store(text)
    assert "hush" not in str(refused.value)


def test_a_node_keeps_itself_in_sqlite_unless_told() -> None:
    assert load(None, {}, {}).node.store == "sqlite"
    assert load(None, {}, {"node.store": "memory"}).node.store == "memory"


def test_a_kind_of_store_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NoSuchKind, match="No store of the kind 'foo' is installed"):
        check_store("foo://user:secret@host")
    monkeypatch.setattr("mesh.entry_points.entries", lambda group: [])  # as without the metadata of Heronry
    with pytest.raises(NoSuchKind, match="kind 'postgresql'"):
        check_store("postgresql://heron@/mesh")
