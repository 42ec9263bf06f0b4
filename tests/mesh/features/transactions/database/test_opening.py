"""URLs of databases, and a missing driver."""

from __future__ import annotations

import builtins
from typing import Any

import pytest

import mesh
from mesh.features.transactions.database.opening import check_url, failed, open_database


@pytest.mark.parametrize(
    ("url", "place"),
    [
        ("sqlite:///shop.db", (True, "shop.db")),
        ("sqlite:////srv/shop.db", (True, "/srv/shop.db")),
        ("postgresql://joe@db/shop", (False, "postgresql://joe@db/shop")),
        ("postgres:///shop", (False, "postgresql:///shop")),
        ("postgresql+psycopg://joe@db/shop", (False, "postgresql://joe@db/shop")),
    ],
)
def test_urls(url: str, place: tuple[bool, str]) -> None:
    assert check_url(url) == place


def test_a_missing_driver_names_its_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    imported = builtins.__import__

    def without(name: str, *arguments: Any, **more: Any) -> Any:
        if name == "psycopg":
            raise ImportError("No module named 'psycopg'")
        return imported(name, *arguments, **more)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(mesh.NotAvailable) as raised:
        open_database("postgresql:///shop")
    assert "heronry[postgres]" in raised.value.hint


def test_an_error_shows_no_password() -> None:
    error = failed("postgresql://joe:secret@db/shop", OSError("unreachable"))
    assert "secret" not in str(error) and "joe" in str(error) and "unreachable" in str(error)
    with pytest.raises(mesh.BadArgument) as raised:
        check_url("mysql://joe:secret@db/shop")
    assert "secret" not in str(raised.value)
