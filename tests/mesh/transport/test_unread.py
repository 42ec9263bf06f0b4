"""The guard of connections: its limits on whole messages that wait to be read, from figures only."""

import asyncio

import pytest

from mesh.transport.guard import Allowance, Guard
from mesh.transport.unfinished import CLIENT, NODE, STRANGER, TOGETHER, UNPROVEN
from mesh.transport.unfinished import size as in_words
from mesh.transport.unread import FRAME_HEAD, IN_ALL, LIMITS
from mesh.wire.limits import MIB
from tests.mesh.transport.ends import End, eventually
from tests.mesh.transport.test_guard import come, proven
from tests.mesh.transport.test_watch import ANY, ended, line_to, linux
from tests.pages import ROOT


class Bench:
    """A guard, and how much of each connection has been received and read."""

    def __init__(self, allowance: Allowance = Allowance()) -> None:  # noqa: B008
        self.guard = Guard(allowance)
        self.received: dict[int, int] = {}
        self.read: dict[int, int] = {}

    def come(self, number: int, role: str) -> None:
        if role == STRANGER:
            come(self.guard, number)
        else:
            proven(self.guard, number, role)
        self.received[number] = self.read[number] = 0

    def look(self, emptied: tuple[int, ...] = ()) -> list[int]:
        """Return the connections that must end. Each has had a whole message read since the last review."""
        numbers = tuple(self.received)
        endings, _ = self.guard.check_connections(dict(self.received), numbers, 0.0, self.read, emptied)
        for ending in endings:
            self.guard.ending(ending.number)
        return [ending.number for ending in endings]


@pytest.mark.parametrize("role", list(LIMITS))
def test_each_role_may_leave_so_much_unread(role: str) -> None:
    bench = Bench()
    bench.come(1, role)
    bench.received[1] = LIMITS[role]
    assert bench.look() == []
    bench.received[1] += 50
    bench.read[1] += 50
    assert bench.look() == []
    bench.received[1] += 1
    assert bench.look() == [1]


def test_what_was_read_frees_its_room_for_as_long_as_anybody_likes() -> None:
    bench = Bench()
    bench.come(1, CLIENT)
    for _ in range(50):
        bench.received[1] += LIMITS[CLIENT]
        assert bench.look() == []
        bench.read[1] += LIMITS[CLIENT]


def test_a_socket_that_was_seen_empty_has_no_errors_of_the_past() -> None:
    """The bytes of handshakes, and of pings from earlier releases, are never read as messages."""
    bench = Bench()
    bench.come(1, CLIENT)
    for _ in range(50):
        bench.received[1] += LIMITS[CLIENT]  # none of it was a message
        assert bench.look(emptied=(1,)) == []
    bench.received[1] += 1
    assert bench.look() == [1], "nothing was seen empty since the last look, where it had all that it may"


def test_what_is_counted_as_read_too_much_excuses_nobody_later() -> None:
    bench = Bench()
    bench.come(1, CLIENT)
    bench.read[1] += 9 * LIMITS[CLIENT]
    bench.received[1] += 10
    assert bench.look(emptied=(1,)) == []
    bench.received[1] += LIMITS[CLIENT] - 10
    assert bench.look() == []
    bench.received[1] += 1
    assert bench.look() == [1]


def test_all_together_may_leave_so_much_unread_and_the_largest_goes_first() -> None:
    bench = Bench()
    nodes = IN_ALL // LIMITS[NODE]
    for number in range(nodes + 1):
        bench.come(number, NODE)
        bench.received[number] = LIMITS[NODE]
    bench.received[nodes] = 1
    assert bench.look() == [nodes - 1]
    assert bench.look() == []


def test_strangers_have_one_room_together() -> None:
    bench = Bench(Allowance(strangers=10_000, connections=10_000))
    for number in range(TOGETHER // UNPROVEN + 1):
        bench.come(number, STRANGER)
        bench.received[number] = UNPROVEN
    assert len(bench.look()) == 1


@linux
def test_a_stranger_whose_whole_messages_nobody_can_read_so_fast_is_ended() -> None:
    async def scenario() -> None:
        listener = End()
        address = listener.sockets.bind(ANY, trusted=False)
        flood = b"\0\1x" * 1000
        with line_to(address) as line:
            with pytest.raises(OSError):
                for _ in range(1000 * MIB // len(flood)):
                    await asyncio.get_running_loop().sock_sendall(line, flood)
            await eventually(lambda: ended(listener, "of unread data, before HELLO"))
        listener.sockets.close()

    asyncio.run(scenario())


class Noted(set[str]):
    """A set that keeps all items that were ever added."""

    def clear(self) -> None:
        pass


def test_a_socket_that_was_read_to_its_end_is_known_as_empty_and_its_bytes_as_read() -> None:
    async def scenario() -> None:
        listener, friend = End(), End()
        address = listener.sockets.bind(ANY, trusted=False)
        watch, frames = listener.sockets._watch, [b"hello", bytes(300)]
        watch.emptied = Noted()
        friend.sockets.dial(1, address)
        friend.sockets.send(1, frames)
        await eventually(lambda: listener.has(1))
        friend.sockets.send(1, frames)
        await eventually(lambda: listener.has(2))
        await eventually(lambda: watch._lines)
        [number] = watch._lines
        assert watch.emptied == {address} and watch._emptied([number, 99]) == {number}
        assert watch.read.get(number, 0) in (305 + 2 * FRAME_HEAD, 2 * (305 + 2 * FRAME_HEAD))
        for end in (listener, friend):
            end.sockets.close()

    asyncio.run(scenario())


def test_the_page_names_the_same_figures() -> None:
    page = (ROOT / "docs/security.md").read_text()
    page = page.partition("## Limits on unread bytes")[2].partition("\n## ")[0]
    for role, limit in LIMITS.items():
        assert f"| {role} | {in_words(limit)}" in page, role
    assert in_words(IN_ALL) in page
