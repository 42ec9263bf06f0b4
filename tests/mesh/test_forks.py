"""Descriptors that a forked child closes or keeps."""

import gc
import os
import socket
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from mesh.features.postgres.connection import Connection
from mesh.forks import close_in_child
from mesh.local.datadir import DataDir
from mesh.shell.http.place import bound
from mesh.shell.http.serving import HttpThread
from tests.children import in_a_child, is_open


class Owner:
    """An object with a descriptor."""

    def __init__(self) -> None:
        self.number = os.open(os.devnull, os.O_RDONLY)
        close_in_child(self, Owner.close)

    def close(self) -> None:
        os.close(self.number)


def test_what_is_registered_is_closed_in_the_child_only_though_another_one_fails() -> None:
    broken, one, free = Owner(), Owner(), os.open(os.devnull, os.O_RDONLY)
    os.close(broken.number)
    broken.number = -1  # its close() fails in the child
    assert in_a_child(lambda: [is_open(one.number), is_open(free)]) == [False, True]
    assert is_open(one.number)
    os.close(one.number)
    os.close(free)


def test_an_owner_that_nobody_has_any_more_is_forgotten() -> None:
    owner = Owner()
    owner.close()
    seen = weakref.ref(owner)
    del owner
    gc.collect()
    assert seen() is None


@contextmanager
def data_directory(path: Path) -> Iterator[list[int]]:
    """Yield the descriptor of the lock of a data directory."""
    held = DataDir.open(path / "data")
    assert held._lock is not None
    yield [held._lock]
    held.close()


@contextmanager
def http_server(path: Path) -> Iterator[list[int]]:
    """Yield the descriptor of the listening socket of an HTTP server."""
    server = bound("127.0.0.1:0")
    thread = HttpThread(server, "token", lambda answer: None)
    thread.start()
    yield [server.fileno()]
    thread.close()


@contextmanager
def postgres_connection(path: Path) -> Iterator[list[int]]:
    """Yield the descriptor of a PostgreSQL connection, and our duplicate of it."""
    one, other = socket.socketpair()
    db: Any = one  # only its fileno() is called
    connection = Connection(db)
    yield [one.fileno(), connection._socket.fileno()]
    connection._socket.close()
    one.close()
    other.close()


@pytest.mark.parametrize("opened", [data_directory, http_server, postgres_connection])
def test_a_child_has_nothing_open_that_only_a_node_shall_have(
    opened: Callable[[Path], Any], tmp_path: Path
) -> None:
    with opened(tmp_path) as numbers:
        assert in_a_child(lambda: [is_open(number) for number in numbers]) == [False] * len(numbers)
        assert all(map(is_open, numbers))


def test_a_number_that_is_anothers_by_now_stays_open() -> None:
    """The PostgreSQL library can close its own descriptor at any moment."""
    one, other = socket.socketpair()
    db: Any = one
    connection = Connection(db)
    os.dup2(other.fileno(), one.fileno())
    assert in_a_child(lambda: [is_open(one.fileno())]) == [True]
    connection._socket.close()
    one.close()
    other.close()
