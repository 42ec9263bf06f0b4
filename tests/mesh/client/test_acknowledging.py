"""What does a client acknowledge, once it has many subscriptions?"""

from types import SimpleNamespace
from typing import Any, cast

from mesh.client.session import Session
from mesh.client.subscriptions import Subscriptions

from mesh.client.subscription import Terms
from mesh.wire import commands as c


class Acknowledging:
    """Some subscriptions, each of which has used up an item, and what the node is told."""

    def __init__(self, count: int) -> None:
        self.said: list[c.Ack] = []
        self.is_up = True
        session = SimpleNamespace(inlet=SimpleNamespace(have=5), send=self._send, loop=SimpleNamespace())
        session.loop.call_later = lambda *_: None
        self.subscriptions = Subscriptions(cast(Any, None), lambda: cast(Session, session))
        query = c.Query("exact", "room")
        self.all = [self.subscriptions.make(query, True, Terms()) for _ in range(count)]
        for s in self.all:
            self.subscriptions._all[s.number] = s
            s.count()

    def _send(self, command: c.Ack) -> bool:
        self.said.append(command)
        return self.is_up

    def taken(self) -> tuple[tuple[int, int], ...]:
        self.subscriptions.send_ack()
        return self.said[-1].taken


def test_only_what_is_news_is_told() -> None:
    client = Acknowledging(1_000)
    assert len(client.taken()) == 1_000
    client.all[6].count()
    assert client.taken() == ((7, 2),)
    assert client.taken() == () and client.said[-1].have == 5


def test_what_nobody_heard_is_told_again() -> None:
    client = Acknowledging(2)
    client.is_up = False
    assert client.taken() == ((1, 1), (2, 1))
    client.is_up = True
    assert client.taken() == ((1, 1), (2, 1))


def test_a_new_connection_is_told_all() -> None:
    client = Acknowledging(2)
    client.taken()
    client.subscriptions.again(is_new=False)
    assert client.taken() == ((1, 1), (2, 1))


def test_what_a_new_process_gave_counts_from_nothing() -> None:
    client = Acknowledging(1)
    client.taken()
    client.subscriptions.again(is_new=True)
    assert client.taken() == ()
    client.all[0].count()
    assert client.taken() == ((1, 1),)
