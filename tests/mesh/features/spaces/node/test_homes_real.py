"""Homes of real nodes: killed, stopped and moved under load."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from mesh import sync
from mesh.errors import MeshError
from tests.mesh.running import RunningNode, running
from tests.waiting import until

pytestmark = pytest.mark.slow


@contextmanager
def three() -> Iterator[list[RunningNode]]:
    """Run three nodes that know each other."""
    with ExitStack() as stack:
        first = stack.enter_context(running("a"))
        nodes = [first, *(stack.enter_context(running(name, beside=first)) for name in "bc")]
        until(lambda: all(node.mesh("ls", "--url", node.name).stdout.count("alive") >= 2 for node in nodes))
        yield nodes


def _met(node: RunningNode) -> bool:
    with sync.connect(node.name, environ=node.environ) as m:
        return sum(each.state == "alive" for each in m.nodes()) >= 3


class Adding:
    """Threads that add 1 to a counter, each at its node, and what they were answered."""

    def __init__(self, nodes: list[RunningNode]) -> None:
        self.values: list[int] = []
        self.doubtful = 0
        self._is_over = False
        self._threads = [threading.Thread(target=self._add, args=(node,)) for node in nodes]

    def _add(self, node: RunningNode) -> None:
        with sync.connect(node.name, environ=node.environ) as m:
            while not self._is_over:
                try:
                    self.values.append(m.counter("n").add(1))
                except MeshError:
                    self.doubtful += 1

    def __enter__(self) -> Adding:
        for thread in self._threads:
            thread.start()
        self.wait_for(20)
        return self

    def wait_for(self, more: int) -> None:
        """Wait until so many more additions were answered."""
        need = len(self.values) + more
        until(lambda: len(self.values) >= need)

    def __exit__(self, *_: Any) -> None:
        self._is_over = True
        for thread in self._threads:
            thread.join()

    def check(self, total: int) -> None:
        """Check that no addition counted twice, and that none that was answered is lost."""
        assert len(set(self.values)) == len(self.values)
        assert len(self.values) <= total <= len(self.values) + self.doubtful


def value(node: RunningNode) -> int:
    with sync.connect(node.name, environ=node.environ) as m:
        return m.counter("n").value()


def test_k1_a_home_that_is_killed_under_load_loses_and_doubles_nothing() -> None:
    with three() as (a, b, c):
        with sync.connect(a.name, environ=a.environ) as m:
            m.counter("n").add(0)
        with Adding([b, c]) as adding:
            for _ in range(2):
                a.kill()
                a.start()
                adding.wait_for(20)
        assert "home is a" in " ".join(b.mesh("why", "counter", "--url", b.name).stdout.split())
        adding.check(value(c))


def test_k1_moves_under_load_lose_and_double_nothing() -> None:
    with three() as (a, b, c):
        with sync.connect(a.name, environ=a.environ) as m:
            m.counter("n").add(0)
            with Adding([b, c]) as adding:
                for to in ("b", "c", "a", "b"):
                    m.counter("n").move(to)
                    adding.wait_for(20)
        assert adding.doubtful == 0
        adding.check(value(a))


def test_a_home_that_was_stopped_by_a_signal_does_not_act_after_a_forced_move() -> None:
    with three() as (a, b, c):
        with sync.connect(a.name, environ=a.environ) as m, sync.connect(b.name, environ=b.environ) as n:
            m.map("m").put("k", 1)
            assert n.map("m").get("k").value == 1  # type: ignore[union-attr]
            a.pause()
            force = ("map", "move", "m", "--to", "b", "--force", "--accept-loss", "--url", b.name)
            until(lambda: b.mesh(*force).returncode == 0)
            version = n.map("m").put("k", 2)
            a.resume()
            entry = m.map("m").get("k")
            assert entry is not None and (entry.value, entry.version) == (2, version)
            assert m.map("m").put_if("k", 3, version=version) is not None
            assert c.mesh("map", "get", "m", "k", "--url", c.name).stdout == "3\n"
