"""A node in a process of its own, and a blocking client of it."""

from collections.abc import Iterator

import pytest

import mesh.sync
from tests.mesh.running import RunningNode, running


@pytest.fixture(scope="module")
def node() -> Iterator[RunningNode]:
    with running("a") as node:
        yield node


@pytest.fixture
def m(node: RunningNode) -> Iterator[mesh.sync.Client]:
    with mesh.sync.connect(environ=node.environ) as m:
        yield m
