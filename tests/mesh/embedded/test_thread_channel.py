"""The channel between two threads: complete, in order, in batches, and with a defined end."""

import asyncio
import threading
from collections.abc import Sequence

import pytest

from mesh.embedded.thread_channel import MOST, TURN, ThreadChannel
from tests.mesh.meshes import LIMIT


class Reader:
    """The items and ends that the reader of a channel received."""

    def __init__(self) -> None:
        self.turns: list[list[int]] = []
        self.ends = 0

    def hear(self, items: Sequence[int], is_over: bool) -> None:
        self.turns.append(list(items))
        self.ends += is_over

    @property
    def all(self) -> list[int]:
        return [item for turn in self.turns for item in turn]


async def until_over(reader: Reader) -> None:
    async with asyncio.timeout(LIMIT):
        while not reader.ends:
            await asyncio.sleep(0)


def test_what_another_thread_puts_comes_once_and_in_order() -> None:
    async def scenario() -> None:
        reader = Reader()
        lane = ThreadChannel(asyncio.get_running_loop(), reader.hear)

        def put() -> None:
            for number in range(20_000):
                while not lane.put_item(number):
                    pass
            lane.end_stream()

        thread = threading.Thread(target=put)
        thread.start()
        await until_over(reader)
        thread.join()
        assert reader.all == list(range(20_000))
        assert max(map(len, reader.turns)) <= TURN and reader.ends == 1

    asyncio.run(scenario())


def test_it_wakes_its_reader_once_a_turn_and_never_calls_it_within_a_put(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def scenario() -> None:
        reader, loop = Reader(), asyncio.get_running_loop()
        woken: list[object] = []
        wake = loop.call_soon_threadsafe

        def counted(function: object, *args: object) -> object:
            woken.append(function)
            return wake(function, *args)  # type: ignore[arg-type]

        monkeypatch.setattr(loop, "call_soon_threadsafe", counted)
        lane = ThreadChannel(loop, reader.hear)
        for number in range(3 * TURN):
            lane.put_item(number)
        assert len(woken) == 1 and not reader.turns
        await asyncio.sleep(0)
        assert [len(turn) for turn in reader.turns] == [TURN]  # other tasks get their turns
        for _ in range(3):
            await asyncio.sleep(0)
        assert reader.all == list(range(3 * TURN)) and len(woken) == 1

    asyncio.run(scenario())


def test_it_is_bounded_while_nobody_reads_and_after_the_loop_has_ended() -> None:
    loop, reader = asyncio.new_event_loop(), Reader()
    lane = ThreadChannel(loop, reader.hear)
    assert all(lane.put_item(number) for number in range(MOST)) and not lane.put_item(MOST)
    lane.end_stream()  # the end always fits
    loop.close()
    lane.end_stream()
    other = ThreadChannel(loop, reader.hear)
    assert sum(other.put_item(number) for number in range(2 * MOST)) == MOST
    assert not reader.turns


def test_what_was_stopped_is_heard_no_more_and_what_comes_behind_the_end_is_nothing() -> None:
    async def scenario() -> None:
        first, second = Reader(), Reader()
        loop = asyncio.get_running_loop()
        stopped, ended = ThreadChannel(loop, first.hear), ThreadChannel(loop, second.hear)
        stopped.put_item(1)
        stopped.stop()
        ended.put_item(1)
        ended.end_stream()
        ended.put_item(2)
        await until_over(second)
        assert (first.turns, second.all, second.ends) == ([], [1], 1)

    asyncio.run(scenario())


def test_a_look_takes_what_is_there_now() -> None:
    async def scenario() -> None:
        reader = Reader()
        lane = ThreadChannel(asyncio.get_running_loop(), reader.hear)
        lane.put_item(1)
        lane.read_arrived()
        assert reader.all == [1]
        await asyncio.sleep(0)
        assert reader.all == [1]

    asyncio.run(scenario())
