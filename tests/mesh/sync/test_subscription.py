"""Does Ctrl-C, whenever it comes, take no more from an iteration than the message that was being given?"""

import sys
from collections.abc import Iterator
from types import FrameType
from typing import Any

import pytest

import mesh.sync.subscription
import mesh.sync.thread
from mesh.client import subscription
from mesh.client.client import Client
from mesh.client.core.intake import Intake, Terms
from mesh.sync.thread import LoopThread
from mesh.wire.commands import Query
from mesh.wire.envelope import Envelope
from tests.mesh.envelopes import envelope

OURS = {mesh.sync.subscription.__file__, mesh.sync.thread.__file__}
BATCHES, SIZE = 3, 4


class Interrupter:
    """A KeyboardInterrupt at the n-th place of ours where a signal may be told.

    These are the begin of a function, and after a call of one written in C.
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
        intake.arrived(b"m" * 16, sent(batch), None, 0)
    return subscription.Subscription(client, client._shell, intake)


def sent(batch: int) -> Envelope:
    return envelope(
        "k " * SIZE, first=1 + batch * SIZE, contents=[b"%d" % (batch * SIZE + i) for i in range(SIZE)]
    )


def taken(messages: mesh.sync.subscription.Subscription, at: int) -> tuple[list[int], bool]:
    """(what was given over an interrupt at the place `at`, whether there was one)."""
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
