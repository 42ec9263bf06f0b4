"""A node in a process of its own, and a blocking client of it."""

from collections.abc import Iterator

import pytest

import mesh.sync
from mesh.client import connected
from tests.mesh.running import LIMIT, RunningNode, running


@pytest.fixture(autouse=True)
def patience(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give every client time, because the machine may be busy."""
    monkeypatch.setattr(connected, "TIMEOUT", LIMIT)


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running("a") as node:
        yield node


@pytest.fixture
def m(node: RunningNode) -> Iterator[mesh.sync.Client]:
    with mesh.sync.connect(environ=node.environ) as m:
        yield m
