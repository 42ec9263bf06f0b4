"""The speed of RabbitMQ's classic durable queues with pika, persistent messages.

Operations: commit: tx.commit of acks and messages; plain: confirmed messages, then one ack of all. One
channel for each transaction at a time.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import pika
from pika.adapters.asyncio_connection import AsyncioConnection

from tools.benchmarks.operations.timing import Operation, Run, main
from tools.benchmarks.peers.client import host_and_port

PERSISTENT = pika.BasicProperties(delivery_mode=2)


async def _answered(call: Any, *values: Any, **named: Any) -> Any:
    """Await the callback of a method."""
    answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    call(*values, callback=answer.set_result, **named)
    return await answer


class _Channel:
    """A channel of one worker, with its consumer and its confirms."""

    def __init__(self, source: str, target: str, jobs: int, is_tx: bool) -> None:
        self._source, self._target, self._jobs, self._is_tx = source, target, jobs, is_tx
        self._taken: asyncio.Queue[tuple[int, bytes]] = asyncio.Queue()
        self._published = self._confirmed = 0
        self._confirms = asyncio.Event()

    async def open(self, channel: Any) -> None:
        self._channel = channel
        for name in (self._source, self._target):
            await _answered(channel.queue_declare, name, durable=True)
        if self._is_tx:
            await _answered(channel.tx_select)
        else:
            await _answered(channel.confirm_delivery, self._on_confirm)

    async def consume(self) -> None:
        await _answered(self._channel.basic_qos, prefetch_count=2 * self._jobs)
        await _answered(self._channel.basic_consume, self._source, self._on_message)

    def _on_message(self, _channel: Any, method: Any, _properties: Any, content: bytes) -> None:
        self._taken.put_nowait((method.delivery_tag, content))

    def _on_confirm(self, frame: Any) -> None:
        method = frame.method
        if method.NAME != "Basic.Ack":
            raise SystemExit(f"refused: {method}")
        self._confirmed = (
            max(self._confirmed, method.delivery_tag) if method.multiple else self._confirmed + 1
        )
        self._confirms.set()

    def _publish(self, queue: str, content: bytes) -> None:
        self._channel.basic_publish("", queue, content, PERSISTENT)
        self._published += 1

    async def fill(self, contents: list[bytes]) -> None:
        for content in contents:
            self._publish(self._source, content)
        await (_answered(self._channel.tx_commit) if self._is_tx else self._confirmed_all())

    async def _confirmed_all(self) -> None:
        while self._confirmed < self._published:
            self._confirms.clear()
            await self._confirms.wait()

    async def commit(self) -> None:
        taken = [await self._taken.get() for _ in range(self._jobs)]
        self._channel.basic_ack(taken[-1][0], multiple=True)
        for _, content in taken:
            self._publish(self._target, content)
        await _answered(self._channel.tx_commit)

    async def move(self) -> None:
        taken = [await self._taken.get() for _ in range(self._jobs)]
        for _, content in taken:
            self._publish(self._target, content)
        await self._confirmed_all()
        self._channel.basic_ack(taken[-1][0], multiple=True)

    async def close(self) -> None:
        """Close the channel, which returns unacked messages."""
        closed: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._channel.add_on_close_callback(lambda *_: closed.set_result(None))
        self._channel.close()
        await closed


async def _connected(address: str) -> AsyncioConnection:
    host, port = host_and_port(address)
    opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    connection = AsyncioConnection(
        pika.ConnectionParameters(host, port),
        on_open_callback=opened.set_result,
        on_open_error_callback=lambda _, error: opened.set_exception(error),
    )
    await opened
    return connection


async def _channel(connection: AsyncioConnection) -> Any:
    opened: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    connection.channel(on_open_callback=opened.set_result)
    return await opened


@asynccontextmanager
async def opening(address: str, run: Run) -> AsyncIterator[Operation]:
    load, is_tx = run.load, run.load.what == "commit"
    names = f"{load.name}-from", f"{load.name}-to"
    connection = await _connected(address)
    channels = [_Channel(*names, load.jobs, is_tx) for _ in range(load.window)]
    for channel in channels:
        await channel.open(await _channel(connection))
    await channels[0].fill(load.contents())
    for channel in channels:
        await channel.consume()

    async def operation(worker: int, _number: int) -> None:
        await (channels[worker].commit() if is_tx else channels[worker].move())

    yield operation
    for channel in channels:
        await channel.close()
    last = await _channel(connection)
    states = [await _answered(last.queue_declare, name, passive=True) for name in names]
    connection.close()
    run.check_queues(*[state.method.message_count for state in states])


if __name__ == "__main__":
    main(opening)
