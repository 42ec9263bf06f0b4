"""An interrupted iteration: Ctrl-C loses at most the message that was being returned."""

import sys
import threading
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

import mesh
import mesh.sync
import mesh.sync.subscription
import mesh.sync.thread
from mesh.client import subscription
from mesh.client.client import Client
from mesh.client.core.intake import Intake, Terms
from mesh.client.message import Message
from mesh.errors import BadArgument, Closed, MeshTimeout, NoQueue
from mesh.sync.thread import LoopThread
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope
from tests.mesh.envelopes import envelope
from tests.mesh.running import LIMIT, RunningNode

OURS = {mesh.sync.subscription.__file__, mesh.sync.thread.__file__}
BATCHES, SIZE = 3, 4


class Interrupter:
    """A profiler that raises KeyboardInterrupt at the n-th place of our code where a signal can arrive.

    A signal can arrive at the start of a function, and at the return from one written in C.
    """

    def __init__(self, at: int) -> None:
        self._left = at

    def __call__(self, frame: FrameType, event: str, _: Any) -> None:
        if frame.f_code.co_filename in OURS and event in {"call", "c_return"}:
            self._left -= 1
            if self._left == 0:
                raise KeyboardInterrupt

    @property
    def has_struck(self) -> bool:
        return self._left <= 0


@pytest.fixture
def thread() -> Iterator[LoopThread]:
    thread = LoopThread()
    thread.start()
    yield thread
    thread.close()


def filled() -> subscription.Subscription:
    client = Client()
    intake = Intake(1, Query("exact", "k"), False, Terms(), lambda _: None)
    intake.confirm()
    for batch in range(BATCHES):
        intake.on_item(b"m" * 16, sent(batch), None, 0)
    return subscription.Subscription(client, client._shell, intake)


def sent(batch: int) -> Envelope:
    return envelope(
        "k " * SIZE, first=1 + batch * SIZE, contents=[b"%d" % (batch * SIZE + i) for i in range(SIZE)]
    )


def taken(messages: mesh.sync.subscription.Subscription, at: int) -> tuple[list[int], bool]:
    """Return the messages of an iteration interrupted at the place `at`, and whether it was interrupted."""
    interrupter, numbers = Interrupter(at), list[int]()
    while not numbers or numbers[-1] < BATCHES * SIZE - 1:
        sys.setprofile(None if interrupter.has_struck else interrupter)
        try:
            message = messages.next_message(timeout=20.0)
        except KeyboardInterrupt:
            continue
        finally:
            sys.setprofile(None)
        assert message is not None
        numbers.append(int(message.content))
    return numbers, interrupter.has_struck


def test_nothing_but_the_message_just_given_is_lost_wherever_it_comes(thread: LoopThread) -> None:
    at, struck = 1, True
    while struck:
        numbers, struck = taken(mesh.sync.subscription.Subscription(None, thread, filled()), at)
        assert numbers == sorted(set(numbers)), f"given twice or out of order at place {at}"
        assert len(numbers) >= BATCHES * SIZE - 1, f"lost at place {at}: {numbers}"
        at += 1
    assert at > BATCHES * SIZE


@pytest.mark.slow
def test_many_messages_arrive_once_and_in_order_in_batches(m: mesh.sync.Client) -> None:
    contents = [str(number).encode() for number in range(50_000)]
    with m.subscribe("many") as subscription:
        publishing = threading.Thread(target=m.publish_many, args=("many", contents))
        publishing.start()
        got: list[bytes] = []
        for batch in subscription.batches():
            got += batch.contents()
            if len(got) >= len(contents):
                break
        publishing.join()
    assert got == contents
    assert subscription.dropped == 0


@pytest.mark.slow
def test_a_batch_can_be_waited_for_in_vain_without_losing_the_next(m: mesh.sync.Client) -> None:
    with m.subscribe("patience") as subscription:
        with pytest.raises(MeshTimeout):
            subscription.next_batch(timeout=0.01)
        m.publish("patience", "at last")
        batch = subscription.next_batch(timeout=LIMIT)
        assert batch is not None
        assert batch.contents() == [b"at last"]


@pytest.mark.slow
def test_an_iteration_ends_when_another_thread_unsubscribes_or_closes(node: RunningNode) -> None:
    for end in ("unsubscribe", "close"):
        m = mesh.sync.connect(environ=node.environ)
        with m:
            subscription = m.subscribe("quiet")
            subscription.__enter__()
            got: list[list[Message]] = []
            reading = threading.Thread(target=lambda s=subscription, got=got: got.append(list(s)))
            reading.start()
            if end == "unsubscribe":
                m.unsubscribe(subscription)
            else:
                m.close()
            reading.join(LIMIT)
            assert (got, list(subscription)) == ([[]], [])


@pytest.mark.slow
def test_what_was_never_entered_is_told_and_not_waited_for(node: RunningNode) -> None:
    with mesh.sync.connect(environ=node.environ) as m:
        s = m.subscribe("k")
        with pytest.raises(Closed, match="not open"):
            s.next_message(2)
    with pytest.raises(Closed, match="not open"):
        next(s)


@pytest.mark.slow
def test_only_a_subscription_can_be_unsubscribed(m: mesh.sync.Client) -> None:
    for wrong in (None, b"k", 5):
        with pytest.raises(BadArgument, match="is not a subscription"):
            m.unsubscribe(wrong)  # type: ignore[arg-type]
    with pytest.raises(NoQueue, match="The durable subscription 'k'"):
        m.unsubscribe("k")
