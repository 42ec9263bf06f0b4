"""Stores of queues in a configuration: read in order, and refused with their line."""

from pathlib import Path

import pytest

from mesh.config import Config, load
from mesh.config.queues import MOST, MOST_STORES, QueueStore
from mesh.config.source import parsed
from mesh.errors import BadConfig

FILE = Path("mesh.toml")


def read(*entries: str) -> Config:
    return load(parsed(FILE, "".join(f"[[queues]]\n{entry}\n" for entry in entries)), {}, {})


def refusal(*entries: str) -> str:
    with pytest.raises(BadConfig) as caught:
        read(*entries)
    return str(caught.value)


def named(name: str, store: str = "memory") -> str:
    return f'name = "{name}"\nstore = "{store}"'


def test_stores_are_read_in_their_order() -> None:
    found = read(named("orders/#", "sqlite:///srv/orders.db"), named("bills")).queues
    assert found == (
        QueueStore("orders/#", "sqlite:///srv/orders.db", "mesh.toml:1"),
        QueueStore("bills", "memory", "mesh.toml:4"),
    )
    assert [one.origin for one in found] == ["mesh.toml:1", "mesh.toml:4"]


@pytest.mark.parametrize(
    ("text", "line", "says"),
    [
        ('store = "memory"', 1, "has no name"),
        ('name = "orders"', 1, "has no store"),
        ('name = "a/#/b"\nstore = "memory"', 2, "continues after '#'"),
        ('name = ""\nstore = "memory"', 2, "empty"),
        (f'name = "{"n" * 201}"\nstore = "memory"', 2, "201 characters"),
        ('name = "queue/orders"\nstore = "memory"', 2, "not the name of a queue"),
        ('name = 1\nstore = "memory"', 2, "is invalid"),
        ('name = "orders"\nstores = "memory"', 3, "Did you mean 'store'"),
        ('name = "orders"\nstore = "oracle"', 3, "is not a store"),
        ('name = "orders"\nstore = "sqlite"', 3, "absolute path"),
        ('name = "orders"\nstore = "sqlite://orders.db"', 3, "does not name a file"),
        ('name = "orders"\nstore = "sqlite:///tmp/"', 3, "does not name a file"),
        ('name = "orders"\nstore = "sqlite:///tmp/../x.db"', 3, "contains `..`"),
        ('name = "orders"\nstore = "sqlite:///tmp/\\u0000"', 3, "a path cannot have"),
        ('name = "sub/audit"\nstore = "memory"', 3, "a durable subscription cannot be in memory"),
        ('name = "sub/#"\nstore = "memory"', 3, "a durable subscription cannot be in memory"),
        ('name = "orders"\nstore = "postgresql://joe:secret@/mesh"', 3, "password"),
    ],
)
def test_what_cannot_be_is_refused_with_its_line(text: str, line: int, says: str) -> None:
    told = refusal(text)
    assert told.startswith(f"mesh.toml:{line}: ") and says in told and "secret" not in told


def test_a_name_stands_once_and_there_are_not_too_many() -> None:
    assert refusal(named("a"), named("a")).startswith(
        "mesh.toml:4: [[queues]] name = 'a' is a duplicate of mesh.toml:1"
    )
    in_a_line = 'queues = [{name = "a", store = "memory"}, {name = "a", store = "memory"}]'
    with pytest.raises(BadConfig, match="name = 'a' is a duplicate of an earlier entry"):
        load(parsed(FILE, in_a_line), {}, {})
    many = [named(f"q{number}") for number in range(MOST)]
    assert len(read(*many).queues) == MOST
    assert f"has {MOST + 1:,} entries" in refusal(*many, named("more"))
    stores = [named(f"q{number}", f"sqlite:///srv/{number}.db") for number in range(MOST_STORES + 1)]
    assert f"has {MOST_STORES + 1:,} stores" in refusal(*stores)
