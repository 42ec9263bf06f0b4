"""Messages over one link: each arrives once and in order, over any connection."""

from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mesh.errors import RemoteError
from mesh.streams.link import LinkReceiver, LinkSender

Message = tuple[int, str]  # number, content


def send(sender: LinkSender[Message], content: str, size: int = 1) -> Message:
    message = (sender.next, content)
    sender.sent(message, size)
    return message


def test_what_was_not_acknowledged_is_sent_again_after_a_reconnect() -> None:
    sender: LinkSender[Message] = LinkSender(100, 10)
    for content in "abc":
        send(sender, content)
    assert sender.resume(1) == [(2, "b"), (3, "c")]
    assert sender.flight == 2
    sender.on_acked(3)
    assert sender.resume(3) == []


def test_an_acknowledgement_is_cumulative_and_an_older_one_changes_nothing() -> None:
    sender: LinkSender[Message] = LinkSender(100, 10)
    for content in "abc":
        send(sender, content)
    sender.on_acked(2)
    sender.on_acked(1)
    assert sender.flight == 1


def test_an_acknowledgement_of_what_was_never_sent_is_refused_by_name() -> None:
    sender: LinkSender[Message] = LinkSender(100, 10)
    send(sender, "a")
    with pytest.raises(RemoteError, match="message 2 is acknowledged, but 1 were sent") as caught:
        sender.on_acked(2)
    assert caught.value.code == "FORGED_ACK"
    assert sender.flight == 1


def test_the_window_closes_by_count() -> None:
    sender: LinkSender[Message] = LinkSender(100, 2)
    send(sender, "a")
    assert sender.open
    send(sender, "b")
    assert not sender.open
    sender.on_acked(1)
    assert sender.open


def test_the_window_closes_by_bytes_and_one_message_may_overdraw_them() -> None:
    sender: LinkSender[Message] = LinkSender(100, 10)
    send(sender, "a", size=99)
    assert sender.open
    send(sender, "b", size=1000)
    assert not sender.open
    sender.on_acked(1)
    assert not sender.open
    sender.on_acked(2)
    assert sender.open


def test_a_repeat_is_dropped_and_a_gap_is_an_error() -> None:
    receiver = LinkReceiver()
    assert receiver.accept_number(1)
    assert not receiver.accept_number(1)
    with pytest.raises(RemoteError, match="item message 3 follows 1: messages are missing") as caught:
        receiver.accept_number(3)
    assert caught.value.code == "GAP"
    assert receiver.have == 1
    assert receiver.accept_number(2)


class Wire:
    """A sender, a receiver, and a connection between them. Messages in transit are lost when it breaks."""

    def __init__(self) -> None:
        self.sender: LinkSender[Message] = LinkSender(6, 4)
        self.receiver = LinkReceiver()
        self.sent: list[str] = []
        self.got: list[str] = []
        self.forth: deque[Message] = deque()
        self.back: deque[int] = deque()
        self.gaps = 0

    def say(self) -> None:
        if self.sender.open:
            self.sent.append(f"m{len(self.sent)}")
            self.forth.append(send(self.sender, self.sent[-1], size=2))

    def hear(self) -> None:
        if self.forth:
            number, content = self.forth.popleft()
            try:
                fresh = self.receiver.accept_number(number)
            except RemoteError:
                self.gaps += 1
                self.reconnect()
                return
            if fresh:
                self.got.append(content)
            self.back.append(self.receiver.have)

    def double(self) -> None:
        if self.forth:
            self.forth.appendleft(self.forth[0])

    def lose(self) -> None:
        if self.forth:
            self.forth.popleft()

    def acknowledge(self) -> None:
        if self.back:
            self.sender.on_acked(self.back.popleft())

    def reconnect(self) -> None:
        self.forth.clear()
        self.back.clear()
        self.forth.extend(self.sender.resume(self.receiver.have))


SCENARIO = st.lists(
    st.sampled_from(["say", "say", "hear", "hear", "double", "lose", "acknowledge", "reconnect"]), max_size=80
)


@given(SCENARIO)
def test_each_message_arrives_once_and_in_order_over_any_connection(scenario: list[str]) -> None:
    wire = Wire()
    for step in scenario:
        getattr(wire, step)()
        assert wire.got == wire.sent[: len(wire.got)]
        assert wire.sender.flight <= 4
    wire.reconnect()
    while wire.forth:
        wire.hear()
    assert wire.got == wire.sent
    while wire.back:
        wire.acknowledge()
    assert wire.sender.flight == 0
    assert wire.sender.open
